# For people: the usual steps by short names. The build itself is CMakeLists.txt and its presets.

MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
export CTEST_PARALLEL_LEVEL ?= $(JOBS)

# A first configuration uses Ninja where it is installed; later ones keep what they have.
export CMAKE_GENERATOR ?= $(if $(shell command -v ninja 2>/dev/null),Ninja,Unix Makefiles)

# Configuring speaks up only (on stderr) about what is skipped or wrong.
build = cmake --preset $(1) >/dev/null && cmake --build --preset $(1) --parallel $(JOBS)
check = $(call build,$(1)) && ctest --preset $(1)

.PHONY: all help setup setup-test demo test test-dev test-asan test-tsan test-fuzz test-unity \
        test-aarch64 test-random test-hostile differential bench bench-scratch roofline zoo install asan tsan lint format clean

all: setup ## build the library and the command (build/release)
	@$(call build,release)

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:
	@tools/setup build

setup-test:
	@tools/setup test

demo: all ## a short tour with the model in examples/digits
	@examples/digits/demo.sh build/release/hone

# One after the other, so that each has all processors and failures are easy to read. But one large file
# keeps one processor busy, and an emulator another.
test: setup-test ## every test: plain, sanitized, fuzzed, as one unit, on emulated Arm
	@$(MAKE) test-dev
	@$(MAKE) test-asan
	@$(MAKE) test-tsan
	@$(MAKE) -j2 --output-sync=target test-unity test-aarch64
	@$(MAKE) test-fuzz

test-dev: ## all suites without instrumentation
	@$(call check,dev)

test-asan: ## the suites that also run under address and undefined-behaviour sanitizers
	@$(call check,asan)

test-tsan: ## the same suites under the thread sanitizer
	@$(call check,tsan)

test-unity: ## all files in one translation unit
	@$(call check,unity)

test-random: ## 20,000 random graphs through the optimizer
	@$(call build,dev) && build/dev/tests/random_graphs --graphs 20000 --seed 2

test-hostile: ## 200,000 graphs that contradict themselves, under the sanitizers
	@$(call build,asan) && build/asan/tests/hostile_graphs --graphs 200000 --seed 2

differential: ## 20,000 of them in hone and in onnxruntime; docs/differences.md has the classes
	@$(call build,dev) && for level in none all; do PYTHONPATH=build/dev/python build/venv/bin/python \
	    tests/hostile/differential.py --graphs 20000 --level $$level build/dev/tests/hostile_graphs || exit; done

test-fuzz: ## every fuzzer for a minute
	@if tools/setup has-fuzzer; then export CTEST_PARALLEL_LEVEL=3 && $(call check,fuzz); \
	else echo "skipped: fuzzers (clang with libFuzzer is missing)"; fi

test-aarch64: ## 64-bit Arm under an emulator
	@if tools/setup has-aarch64; then $(call check,aarch64); \
	else echo "skipped: 64-bit Arm (gcc-aarch64-linux-gnu or qemu-user is missing)"; fi

asan: setup-test test-asan ## build and test under address and undefined-behaviour sanitizers

tsan: setup-test test-tsan ## build and test under the thread sanitizer

lint: ## layers, and no warnings from either compiler
	@tools/check_layers
	@$(call build,ci-werror)
	@if command -v clang >/dev/null; then \
	    cmake --preset ci-werror -B build/ci-werror-clang -DCMAKE_C_COMPILER=clang >/dev/null && \
	    cmake --build build/ci-werror-clang --parallel $(JOBS); \
	else echo "skipped: clang is missing"; fi

format: ## lay out all C files as .clang-format says
	@git ls-files '*.c' '*.h' | xargs clang-format -i

bench: ## every published number, and the pages that show them; bench/run --help has the parts
	@bench/run

bench-scratch: ## some of them, from a tree with changes: WHAT="nodes small"
	@bench/run --scratch $(WHAT)

roofline: ## each architecture next to what this machine allows, into docs/roofline.md
	@bench/run roofline page

zoo: ## models of PyPI and npm packages beside onnxruntime, into docs/zoo.md (downloads 1.5 GB)
	@bench/run zoo --again --page $(WHAT)

install: all ## install under PREFIX (/usr/local); DESTDIR is respected
	@cmake --install build/release --prefix $(PREFIX)

clean: ## remove everything that was built
	rm -rf build

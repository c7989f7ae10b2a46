"""The published numbers and the options that they are measured with; bench/run builds and calls this.

usage: bench/run [--scratch] [WHAT...]
       bench/run page [WHAT...]

Without WHAT everything is measured, some hours on two processors that should have nothing else to do, and the pages are
written. Results go to bench/results; a tree with changes is refused, unless --scratch sends them to build/bench/results,
which no page shows. `page` measures nothing: it writes the tables of WHAT, or all, from bench/results. The exit status is not 0 when a bench failed, for whatever reason.
"""

import argparse
import subprocess
import sys

import meta
import page
import results

NETWORKS = "resnet mobilenet_v2 mobilenet_v3_large efficientnet squeezenet unet".split()  # ssdlite takes one image
TRANSFORMERS = ["bert", "minilm"]
SEVERAL = "resnext50 regnet densenet shufflenet convnext swin_t crnn conformer".split()
MORE = meta.ROOT / "build" / "more"
INT8 = meta.ROOT / "build" / "int8"
TURNS = ["--rounds", "9", "--seconds", "0.2"]
FEW_TURNS = ["--rounds", "5", "--seconds", "0.2"]

# Name of the result: what it shows, and the command.
PUBLISHED = {
    "speed": ("all architectures, batch 1, sequence 128, 1 and 2 threads", ["bench_speed.py", *TURNS]),
    "batch": ("convolutional networks with batch 8",
              ["bench_speed.py", *FEW_TURNS, "--size", "batch=8", "--", *NETWORKS]),
    "batch-32": ("some of them with batch 32",
                 ["bench_speed.py", *FEW_TURNS, "--size", "batch=32", "--", "efficientnet", "mobilenet_v3_large",
                  "resnet18", "squeezenet"]),
    "long": ("transformers with sequence 512", ["bench_speed.py", *FEW_TURNS, "--size", "seq=512", "--", *TRANSFORMERS]),
    "more": ("other architectures, made up by bench/more_models.py",
             ["bench_speed.py", *FEW_TURNS, "--models", "build/more"]),
    "more-batch": ("some of them with batch 8", ["bench_speed.py", *FEW_TURNS, "--models", "build/more/batch"]),
    "int8": ("architectures that onnxruntime's tool has quantized: QDQ, per channel",
             ["bench_speed.py", *FEW_TURNS, "--models", "build/int8/static"]),
    "int8-dynamic": ("the same, quantized dynamically", ["bench_speed.py", *FEW_TURNS, "--models", "build/int8/dynamic"]),
    "int8-float": ("architectures in 8 bits, static and dynamic, beside themselves in float",
                   ["bench_int8_float.py", *FEW_TURNS]),
    "calibration": ("calibrating bert_base beside running it", ["bench_calibration.py"]),
    "nodes": ("what a tiny node costs", ["bench_nodes.py", "--rounds", "15", "--seconds", "0.1"]),
    "small": ("published models that take less than 2 ms", ["bench_small.py", "--rounds", "15", "--seconds", "0.1"]),
    "create": ("from a file to a session and its first result",
               ["bench_create.py", "--threads", "2", "--processes", "5"]),
    "memory": ("peak resident memory",
               ["bench_memory.py", "--threads", "2", "--runs", "8", "--processes", "3"]),
    "load": ("loading and saving", ["bench_load.py", "--runs", "9"]),
    "python": ("what a call from Python costs", ["bench_python.py", "--runs", "3000", "--rounds", "9"]),
    "layouts": ("channels last against blocks of channels", ["bench_layouts.py"]),
    "roofline": ("each architecture and its slowest nodes beside what the machine allows",
                 ["bench_roofline.py", "--runs", "10", "build/dev/tests/test_kern"]),
}


def prepare(name):
    """What a bench needs beside the build."""
    if name == "more":
        run("bench/more_models.py", str(MORE))
    elif name == "more-batch":
        run("bench/more_models.py", str(MORE / "batch"), "--batch", "8", *SEVERAL)
    elif name in ("int8", "int8-dynamic"):
        form = "dynamic" if name == "int8-dynamic" else "static"
        run("bench/int8_models.py", str(INT8 / form), form)
    elif name == "roofline":
        for command in (["cmake", "--preset", "dev"], ["cmake", "--build", "--preset", "dev", "--target", "test_kern"]):
            subprocess.run(command, cwd=meta.ROOT, check=True, stdout=subprocess.DEVNULL)


def run(*command):
    subprocess.run([sys.executable, *command], cwd=meta.ROOT, check=True)


def measure(name, folder):
    """Returns whether the bench succeeded."""
    print(f"== {name}: {PUBLISHED[name][0]}", file=sys.stderr)
    script, *options = PUBLISHED[name][1]
    try:
        prepare(name)
        run(f"bench/{script}", "--json", str(folder.relative_to(meta.ROOT) / f"{name}.json"), *options)
    except subprocess.CalledProcessError as error:
        print(f"FAILED: {name} ({error})", file=sys.stderr)
        return False
    return True


def main():
    listing = "\n".join(f"  {name:11} {text}" for name, (text, _) in PUBLISHED.items())
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.split("\n\n", 1)[1], epilog="WHAT is one of\n" + listing
                                     + "\n  page        only writes the pages from bench/results",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="WHAT")
    parser.add_argument("--scratch", action="store_true", help="write to build/bench/results; changes in the tree are allowed")
    options = parser.parse_args()
    unknown = set(options.what) - PUBLISHED.keys() - {"page"}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    changed = meta.changed_files()
    if changed and not options.scratch:
        print(f"bench/run: the tree has changes ({', '.join(changed[:5])}); commit them, or use --scratch", file=sys.stderr)
        return 1
    if options.what[:1] == ["page"]:
        return page.write(names=options.what[1:])
    wanted = options.what or [*PUBLISHED, "page"]
    folder = meta.BUILD / "results" if options.scratch else results.FOLDER
    failed = [name for name in wanted if name != "page" and not measure(name, folder)]
    if failed:
        print(f"bench/run: failed: {', '.join(failed)}", file=sys.stderr)
    if "page" in wanted and not options.scratch and not failed:
        return page.write(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

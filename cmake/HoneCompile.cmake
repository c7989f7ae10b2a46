# How everything in this project is compiled and linked: hone_compile(target), hone_link(target).

include(CheckCCompilerFlag)
include(CheckLinkerFlag)

# Folders with other needs say so in CMakeLists.txt.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g${HONE_DEBUG_LEVEL}")

# Sets OUT to those of the given compiler flags that this compiler knows.
function(hone_known_flags out)
    set(known)
    foreach(flag IN LISTS ARGN)
        string(MAKE_C_IDENTIFIER "HONE_HAS${flag}" has_flag)
        check_c_compiler_flag(${flag} ${has_flag})
        if(${has_flag})
            list(APPEND known ${flag})
        endif()
    endforeach()
    set(${out} ${known} PARENT_SCOPE)
endfunction()

hone_known_flags(HONE_WARNING_FLAGS
    -Wall
    -Wextra
    -Wpedantic
    -Wconversion
    -Wmissing-prototypes
    -Wshadow
    -Wstrict-prototypes
    -Wundef
    -Wvla)
if(HONE_WERROR)
    list(APPEND HONE_WARNING_FLAGS -Werror)
endif()

# Nothing unwinds through C frames in a release; the tables would be a tenth of the library.
hone_known_flags(HONE_NO_UNWIND_FLAGS -fno-asynchronous-unwind-tables)

# One section per function and object lets the linker leave out what a program never reaches.
hone_known_flags(HONE_SECTION_FLAGS -ffunction-sections -fdata-sections)
check_linker_flag(C -Wl,--gc-sections HONE_HAS_GC_SECTIONS)
check_linker_flag(C -Wl,--no-undefined HONE_HAS_NO_UNDEFINED)

set(HONE_INSTRUMENT_COMPILE)
set(HONE_INSTRUMENT_LINK)
if(HONE_SANITIZE)
    # -O1 keeps the stack traces readable and the build short.
    list(APPEND HONE_INSTRUMENT_COMPILE
        -O1 -fsanitize=${HONE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    list(APPEND HONE_INSTRUMENT_LINK -fsanitize=${HONE_SANITIZE})
endif()
if(HONE_FUZZERS)
    list(APPEND HONE_INSTRUMENT_COMPILE -fsanitize=fuzzer-no-link)
endif()
if(HONE_COVERAGE)
    list(APPEND HONE_INSTRUMENT_COMPILE --coverage)
    list(APPEND HONE_INSTRUMENT_LINK --coverage)
endif()

function(hone_compile target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF)
    if(NOT HONE_SANITIZE) # there all names are visible, for tests that link the shared library
        set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
    endif()
    target_compile_options(${target} PRIVATE
        ${HONE_WARNING_FLAGS} ${HONE_SECTION_FLAGS} ${HONE_INSTRUMENT_COMPILE}
        $<$<CONFIG:Release>:${HONE_NO_UNWIND_FLAGS}>)
    if(CMAKE_UNITY_BUILD)
        # In one translation unit the first include fixes the feature level for all files. Defined
        # as empty, it equals the `#define _GNU_SOURCE` of the files that ask for it themselves.
        target_compile_definitions(${target} PRIVATE _GNU_SOURCE=)
        # Names of one file shadow those of another there, and what is inlined across files makes
        # the compiler unsure of what it was sure of.
        target_compile_options(${target} PRIVATE -Wno-shadow -Wno-maybe-uninitialized)
    endif()
endfunction()

function(hone_link target)
    get_target_property(type ${target} TYPE)
    if(HONE_HAS_GC_SECTIONS)
        target_link_options(${target} PRIVATE -Wl,--gc-sections)
    endif()
    # A sanitized library leaves the sanitizer's symbols to the program that loads it.
    if(type STREQUAL "SHARED_LIBRARY" AND HONE_HAS_NO_UNDEFINED AND NOT HONE_SANITIZE)
        target_link_options(${target} PRIVATE -Wl,--no-undefined)
    endif()
    target_link_options(${target} PRIVATE ${HONE_INSTRUMENT_LINK})
endfunction()

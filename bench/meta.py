"""What a number depends on: commit, build, machine, load, options, versions. Every result file has this record."""

import collections
import datetime
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "bench"
PACKAGES = ("onnxruntime", "openvino", "onnx", "numpy")
# What the benches write themselves; a change there changes no number.
WRITTEN = ("bench/results", "docs/performance.md", "docs/memory.md", "docs/python.md", "docs/roofline.md",
           "docs/zoo.md")
ENVIRONMENT = re.compile(r"HONE_|ONEDNN_|OMP_|KMP_|ORT_|OV_|MALLOC_|LD_PRELOAD$|CFLAGS$|CC$")
FEATURES = re.compile(r"sse4|avx|fma|f16c|bmi|amx|vaes|asimd|sve|bf16|i8mm|fphp")
NOT_FLAGS = re.compile(r"-I|-o$|-c$|-M|-D")


def output_of(*command, cwd=ROOT):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    except OSError:
        return ""
    return done.stdout.rstrip()


# ---- the tree ------------------------------------------------------------------------------------------

def commit(root=ROOT):
    return output_of("git", "rev-parse", "HEAD", cwd=root)


def changed_files(root=ROOT):
    """Files that are not as the commit has them, what the benches write left out."""
    lines = output_of("git", "status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN), cwd=root)
    return [line[3:] for line in lines.splitlines()]


# ---- the build -----------------------------------------------------------------------------------------

def flags_of(command):
    """The flags of one compilation that say how code is made, in their order."""
    words = shlex.split(command)
    start = next((i + 1 for i, word in enumerate(words) if re.search(r"(cc|clang)(-\d+)?$", word)), 1)
    return " ".join(word for word in words[start:] if word.startswith("-") and not NOT_FLAGS.match(word))


def build_record(build=BUILD):
    """Compiler, and the flags of the library's files: those of most, and others where files have their own."""
    cache = build / "CMakeCache.txt"
    commands = build / "compile_commands.json"
    if not cache.exists() or not commands.exists():
        return {"compiler": "unknown", "flags": "unknown", "other_flags": []}
    compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache.read_text(), re.M)
    version = output_of(compiler.group(1), "--version").splitlines() if compiler else []
    found = collections.Counter(flags_of(entry["command"]) for entry in json.loads(commands.read_text())
                                if str(ROOT / "src") in entry["file"])
    ranked = [flags for flags, _ in found.most_common()] or ["unknown"]
    return {"compiler": version[0] if version else "unknown", "flags": ranked[0], "other_flags": sorted(ranked[1:])}


# ---- the machine ---------------------------------------------------------------------------------------

def cpu_record():
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = re.search(r"^model name\s*: (.*)$", text, re.M)
    flags = re.search(r"^(?:flags|Features)\s*: (.*)$", text, re.M)
    features = sorted(flag for flag in flags.group(1).split() if FEATURES.search(flag)) if flags else []
    return {"name": name.group(1) if name else platform.processor(), "features": features}


def scheduler():
    """How the system schedules the benches; real-time ones (chrt) are not disturbed by other programs."""
    names = {os.SCHED_OTHER: "normal", os.SCHED_FIFO: "fifo", os.SCHED_RR: "round robin"}
    return names.get(os.sched_getscheduler(0), "other") if hasattr(os, "sched_getscheduler") else "unknown"


def versions():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    header = (ROOT / "include" / "hone" / "hone.h").read_text()
    found["hone"] = ".".join(re.findall(r"#define HONE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    return found


# ---- all -----------------------------------------------------------------------------------------------

def plain(value):
    return str(value.relative_to(ROOT) if value.is_absolute() and value.is_relative_to(ROOT) else value) \
        if isinstance(value, Path) else value


def begin(options):
    """The record before measuring; `end` completes it. `options` is what argparse made of the command line."""
    changed = changed_files()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(), "dirty": bool(changed), "changed_files": changed[:20],
        **build_record(),
        "cpu": cpu_record(), "processors": os.cpu_count(), "usable_processors": len(os.sched_getaffinity(0)),
        "system": platform.platform(), "scheduler": scheduler(), "load_before": list(os.getloadavg()),
        "command": [plain(Path(sys.argv[0]).resolve()), *sys.argv[1:]],
        "options": {name: plain(value) for name, value in vars(options).items()},
        "environment": {name: value for name, value in sorted(os.environ.items()) if ENVIRONMENT.match(name)},
        "versions": versions(), "python": platform.python_version(),
    }


def end(record):
    return record | {"load_after": list(os.getloadavg())}


def short_flags(record):
    """The flags without warnings, and what files with flags of their own add to them."""
    kept = [word for word in record["flags"].split() if not word.startswith("-W")]
    added = sorted({word for flags in record.get("other_flags", ()) for word in flags.split() if word not in record["flags"].split()})
    return " ".join(kept) + (f" (some files: {' '.join(added)})" if added else "")


def sentence(record):
    """One line for people, to stand over a table."""
    def load(name):
        return f"{record[name][0]:.1f}"

    found = record["versions"]
    engines = ", ".join(f"{name} {found[name]}" for name in ("onnxruntime", "openvino") if found.get(name))
    return (f"{record['cpu']['name']}, {record['usable_processors']} processors, load {load('load_before')} before and "
            f"{load('load_after')} after, scheduling {record['scheduler']}; hone {record['commit'][:10]}"
            f"{' and changes' if record['dirty'] else ''}, {record['compiler']}, `{short_flags(record)}`; {engines}. "
            f"`{' '.join(record['command'])}`")

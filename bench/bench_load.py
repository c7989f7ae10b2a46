"""Times loading and saving, each against its yardstick in the same run: `hone info` against
onnx.load, `hone save` against cp. The two of a pair alternate; medians are compared.

usage: python bench/bench_load.py HONE [--runs N] [--json FILE] [MODEL...]

Without models: the digits example and, where the folder HONE_SHARED (default ../shared) exists,
the filled bert_base architecture. Without the onnx package the comparison with it is left out.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("HONE_SHARED", ROOT.parent / "shared"))
WORK = ROOT / "build" / "bench"

try:
    import onnx
except ImportError:
    onnx = None


def bert_base():
    """The path of bert_base with weights, made on first use; None where it cannot be had."""
    target = WORK / "bert_base.onnx"
    archive = SHARED / "models" / "architectures.zip"
    if target.exists():
        return target
    if onnx is None or not archive.exists():
        return None
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        with zipfile.ZipFile(archive) as zipped:
            for suffix in ("onnx", "json"):
                zipped.extract(f"bert_base.{suffix}", folder)
        fill = [sys.executable, SHARED / "models" / "fill.py"]
        files = [Path(folder, name) for name in ("bert_base.onnx", "bert_base.json", "full.onnx")]
        subprocess.run([*fill, *files], check=True)
        files[-1].rename(target)
    return target


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def anonymous_peak_bytes(*command):
    """Most resident memory that is no file mapping, by sampling /proc; 0 where there is none."""
    peak_kb = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            for line in status.read_text().splitlines() if status.exists() else ():
                if line.startswith("RssAnon:"):
                    peak_kb = max(peak_kb, int(line.split()[1]))
    return peak_kb * 1024


def compare(n_runs, ours, yardstick):
    """Median seconds of both, alternating; the first round only warms the caches."""
    pairs = [(seconds(ours), seconds(yardstick)) for _ in range(n_runs + 1)][1:]
    return [statistics.median(column) for column in zip(*pairs)]


def bench_model(hone, model, n_runs):
    row = {"model": model.name, "bytes": model.stat().st_size}

    def onnx_load():
        if onnx is not None:
            onnx.load(model)

    row["info_s"], row["onnx_load_s"] = compare(n_runs, lambda: run(hone, "info", model), onnx_load)
    row["info_anonymous_bytes"] = anonymous_peak_bytes(hone, "info", model)
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        saved, copied = Path(folder, "saved.onnx"), Path(folder, "copied.onnx")
        row["save_s"], row["cp_s"] = compare(
            n_runs, lambda: run(hone, "save", model, "-o", saved), lambda: run("cp", model, copied)
        )
    if onnx is None:
        row["onnx_load_s"] = None
    return row


def print_row(row):
    print(f"{row['model']}, {row['bytes'] / 1e6:.2f} MB")
    line = f"  info  {row['info_s'] * 1e3:9.1f} ms"
    if row["onnx_load_s"] is not None:
        ratio = row["onnx_load_s"] / row["info_s"]
        line += f"   onnx.load {row['onnx_load_s'] * 1e3:9.1f} ms   {ratio:6.1f} x as fast"
    print(f"{line}   {row['info_anonymous_bytes'] / 1e6:.1f} MB beside the mapping")
    ratio = row["cp_s"] / row["save_s"]
    print(
        f"  save  {row['save_s'] * 1e3:9.1f} ms   cp        {row['cp_s'] * 1e3:9.1f} ms"
        f"   {ratio:6.2f} x as fast"
    )


def output_of(*command):
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.strip()


def cpu_name():
    for line in output_of("cat", "/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description="Times hone info and hone save.")
    parser.add_argument("hone", type=Path)
    parser.add_argument("models", type=Path, nargs="*")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()

    WORK.mkdir(parents=True, exist_ok=True)
    models = options.models or [ROOT / "examples/digits/digits.onnx", bert_base()]
    rows = []
    for model in filter(None, models):
        rows.append(bench_model(options.hone.resolve(), model, options.runs))
        print_row(rows[-1])
    if options.json:
        record = {
            "cpu": cpu_name(),
            "hone": output_of(str(options.hone.resolve()), "--version"),
            "commit": output_of("git", "rev-parse", "--short", "HEAD"),
            "onnx": onnx.__version__ if onnx else None,
            "runs": options.runs,
            "load": rows,
        }
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()

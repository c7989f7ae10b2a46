"""What calibration costs: bert_base over sentences of different lengths, beside running the same sentences.

usage: bench/run calibration, or python bench/bench_calibration.py [--samples N] [--threads N] [--json FILE]

`hone run --data` and `hone quantize --calib` with each method read the same lines of text, of 16 to 128 tokens, in
processes of their own. Time is that of the processor in user mode, which other programs do not change much; the peak of
memory counts the pages of the mapped model. The table has the share of the run's time, and memory beyond the file.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import engines
import meta
import models_to_measure
import results

MODEL = "bert_base"
METHODS = ("percentile", "entropy")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHORTEST, LONGEST = 16, 128  # tokens, [CLS] and [SEP] included
RUN = "run"


def write_sentences(folder, n):
    """A vocabulary of made-up words, and lines of them."""
    consonants, vowels = "bdfgklmnprst", "aeiou"
    words = [a + b + c + end for a in consonants for b in vowels for c in consonants for end in ("", *vowels)]
    chosen = random.Random(1)
    (folder / "vocab.txt").write_text("\n".join(SPECIAL + words) + "\n")
    lines = (" ".join(chosen.choices(words, k=chosen.randint(SHORTEST - 2, LONGEST - 2))) for _ in range(n))
    (folder / "lines.txt").write_text("\n".join(lines) + "\n")


def cost_of(command):
    """User seconds and the peak of resident memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime, usage.ru_maxrss * 1024 / 1e6


def measure(path, folder, what, options):
    data = [str(folder / "lines.txt"), "--vocab", str(folder / "vocab.txt"), "--threads", str(options.threads)]
    command = [str(meta.BUILD / "hone"), "run", str(path), "--data", *data] if what == RUN else \
        [str(meta.BUILD / "hone"), "quantize", str(path), "-o", str(folder / "q.onnx"), "--method", what, "--calib", *data]
    seconds, peak = cost_of(command)
    return {"user_seconds": seconds, "peak_mb": peak, "file_mb": path.stat().st_size / 1e6}


def table(result):
    lines = ["| what | user seconds | of the run | peak of memory, MB | beyond the file, MB |", "|---|---:|---:|---:|---:|"]
    run = result["summary"].get("run_seconds")
    for row in result["rows"]:
        if "failure" in row:
            lines.append(f"| {row['call']} | FAILED: {row['failure']} | | | |")
            continue
        lines.append(f"| {row['call']} | {row['user_seconds']:.1f} | {row['user_seconds'] / run:.2f} | {row['peak_mb']:.0f} | "
                     f"{row['peak_mb'] - row['file_mb']:.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Measures what calibration costs.")
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--threads", type=int, default=1)
    results.add_options(parser)
    options = parser.parse_args()
    engines.installed((engines.HONE, engines.ONNXRUNTIME))
    recorder = results.Recorder("calibration", options)
    path = models_to_measure.architectures([MODEL])[0]
    with tempfile.TemporaryDirectory() as scratch:
        write_sentences(Path(scratch), options.samples)
        for what in (RUN, *METHODS):
            row = recorder.measure({"model": MODEL, "call": what}, measure, path, Path(scratch), what, options)
            if what == RUN and "failure" not in row:
                recorder.summary = {"run_seconds": row["user_seconds"]}
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())

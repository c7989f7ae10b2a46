"""Channels last against blocks of channels, the same arithmetic over both: compiles and runs bench/layouts.c.

usage: bench/run layouts, or python bench/bench_layouts.py [--json FILE]
"""

import argparse
import os
import subprocess
import sys

import meta
import results


def measured():
    program = meta.BUILD / "layouts"
    source = meta.ROOT / "bench" / "layouts.c"
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O3", "-march=native", source, "-o", program], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.rstrip()


def rows_of(text):
    """The rows of the table that the program prints, as dictionaries by its headings."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [{"model": cells[0], **dict(zip(lines[0][1:], cells[1:]))} for cells in lines[2:]]


def table(result):
    return result["text"]


def main():
    parser = argparse.ArgumentParser(description="Compares two orders of a convolution's data.")
    results.add_options(parser)
    options = parser.parse_args()
    recorder = results.Recorder("layouts", options)
    text = measured()
    recorder.extra = {"text": text}
    for row in rows_of(text):
        recorder.add(row)
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())

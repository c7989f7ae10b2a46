"""How fast hone runs models in 8 bits, beside itself on the float models they were made of.

usage: bench/run int8-float, or python bench/bench_int8_float.py [--threads N...] [--forms FORM...] [--rounds N]
                                [--seconds S] [--json FILE] [--keep FOLDER] [NAME...]

Without names: every architecture. `hone.quantize` makes the files with its default options: static ones with the ranges
of the bench's inputs (speed does not depend on them), dynamic ones without samples. The sessions take turns in one
process as the engines of bench_speed.py do; with one thread the time of the processor counts, which other programs
change little. A row fails when outputs have other types or shapes than those of the float
model or are not finite; how far they are from them is recorded, but means little with seeded weights.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import engines
import means
import models_to_measure
import numpy
import results
import speed_rows
import turns
import verdict

FLOAT = "float"
FORMS = ("static", "dynamic")


def quantize(path, form, inputs, out):
    import hone

    hone.quantize(path, out, samples=[inputs] if form == "static" else None, mode=form)


def difference(outputs, expected):
    """The largest of all float outputs, of the largest number of the output; raises where they are of another kind."""
    worst = 0.0
    for name, real in expected.items():
        found = outputs[name]
        if found.dtype != real.dtype or found.ndim != real.ndim:
            raise verdict.Wrong(f"'{name}' is {found.dtype}{list(found.shape)} instead of {real.dtype}{list(real.shape)}")
        if real.dtype.kind != "f" or not real.size or found.shape != real.shape:
            continue  # of detections, integers another number may be found
        if not numpy.isfinite(found).all():
            raise verdict.Wrong(f"'{name}' has numbers that are not finite")
        worst = max(worst, float(abs(found - real).max() / max(abs(real).max(), 1e-30)))
    return worst


def measure(files, inputs, threads, options):
    made = {name: engines.Ort(engines.HONE, path, threads) for name, path in files.items()}
    outputs = {name: one.outputs(inputs) for name, one in made.items()}
    differences = {name: difference(found, outputs[FLOAT]) for name, found in outputs.items() if name != FLOAT}
    times = turns.take({name: one.runner(inputs) for name, one in made.items()}, options.rounds, options.seconds,
                       time_round=turns.round_processor_time if threads == 1 else turns.round_median)
    of_form = {name: turns.summary({name: times[name], FLOAT: times[FLOAT]}, name) for name in differences}
    row = {"input": models_to_measure.shapes_text(inputs), "difference": differences,
           "milliseconds": turns.summary(times, FLOAT)["milliseconds"],
           "ratio": {name: found["ratio"][FLOAT] for name, found in of_form.items()},
           "spread": {name: found["spread"][FLOAT] for name, found in of_form.items()}}
    return row


def table(result):
    forms = list(result["summary"])
    lines = ["| model | threads | float ms | " + " | ".join(f"{form} int8 ms | int8 is" for form in forms) + " |",
             "|---|---:|---:|" + "---:|---:|" * len(forms)]
    for row in result["rows"]:
        head = f"| {row['model']} | {row['threads']} | "
        if "failure" in row:
            lines.append(head + f"FAILED: {row['failure']} |" + " |" * (2 * len(forms)))
            continue
        cells = [speed_rows.digits(row["milliseconds"][FLOAT])]
        for form in forms:
            cells += [speed_rows.digits(row["milliseconds"][form]), f"{row['ratio'][form]:.2f} x ± {row['spread'][form]:.2f}"]
        lines.append(head + " | ".join(cells) + " |")
    for form in forms:
        for threads, found in result["summary"][form].items():
            lines += ["", f"{form}, {threads} thread{'s' if threads != '1' else ''}, geometric mean against float: "
                          f"{means.sentence(found)}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Compares the speed of 8-bit models with that of float ones.")
    parser.add_argument("names", nargs="*", help="parts of names of architectures")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=FORMS)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the files stay, and are taken from if they exist")
    turns.add_options(parser, rounds=9, seconds=0.2)
    results.add_options(parser)
    options = parser.parse_args()
    engines.installed((engines.HONE, engines.ONNXRUNTIME))
    recorder = results.Recorder("int8_float", options)
    for path in models_to_measure.architectures(options.names):
        inputs = models_to_measure.random_inputs(path)
        with tempfile.TemporaryDirectory() as scratch:
            files = {FLOAT: path} | {form: (options.keep or Path(scratch)) / form / path.name for form in options.forms}
            for form in options.forms:
                files[form].parent.mkdir(parents=True, exist_ok=True)
                if not files[form].exists():
                    quantize(path, form, inputs, files[form])
            for threads in options.threads:
                row = recorder.measure({"model": path.stem, "threads": threads}, measure, files, inputs, threads, options)
                print(f"{path.stem}, {threads}: {row.get('ratio')} {row.get('difference')}", file=sys.stderr)
    recorder.summary = {form: {str(threads): means.of(found) for threads, found in
                               means.per_key(recorder.rows, "threads", lambda row: row["ratio"][form]).items()}
                        for form in options.forms}
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())

"""One row of a bench of speed: a model, all engines in turns, results compared; and the table of such rows."""

import sys

import engines
import means
import models_to_measure
import results
import turns
import verdict

LONGEST_REFUSAL = 400  # characters


def opened(names, path, threads, inputs):
    """Engines that can run the model, and why others cannot. hone and onnxruntime must."""
    made, refusals = {}, {}
    for name in names:
        try:
            made[name] = engines.make(name, path, threads, inputs)
            made[name].runner(inputs)()
        except Exception as error:
            if name in (engines.HONE, engines.ONNXRUNTIME):
                raise
            made.pop(name, None)
            refusals[name] = str(error).strip()[:LONGEST_REFUSAL]
    return made, refusals


def measure(path, inputs, names, threads, options, pause=turns.PAUSE_SECONDS):
    made, refusals = opened(names, path, threads, inputs)
    hone, oracle = made[engines.HONE], made[engines.ONNXRUNTIME]
    judged = verdict.judge(path.stem, hone.outputs(inputs), oracle.outputs(inputs), oracle.session, inputs,
                           lambda: engines.Ort(engines.ONNXRUNTIME, path, threads, "none").outputs(inputs))
    times = turns.take({name: engine.runner(inputs) for name, engine in made.items()}, options.rounds, options.seconds,
                       pause)
    row = {"input": models_to_measure.shapes_text(inputs), **judged, **turns.summary(times)}
    if engines.OPENVINO_DEFAULT in made:
        row["openvino_default_precision"] = made[engines.OPENVINO_DEFAULT].precision
    if refusals:
        row["cannot_run"] = refusals
    print(f"{path.stem}, {threads}: " + ", ".join(f"{ratio:.2f} x {name}" for name, ratio in row["ratio"].items()),
          file=sys.stderr)
    return row


def summary(rows, names):
    """{engine: {threads: means}}"""
    return {name: {str(threads): means.of(found) for threads, found in
                   means.per_key(rows, "threads", lambda row: row["ratio"].get(name)).items()}
            for name in names if name != engines.HONE}


def digits(milliseconds):
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def cells(row, others):
    if "failure" in row:
        return [f"FAILED: {row['failure']}"] + [""] * (2 * len(others))
    found = [digits(row["milliseconds"][engines.HONE])]
    for name in others:
        if name in row["ratio"]:
            found += [digits(row["milliseconds"][name]), f"{row['ratio'][name]:.2f} x ± {row['spread'][name]:.2f}"]
        else:
            found += ["", ""]
    return found


def table(result):
    others = list(result["summary"])
    lines = ["| model | threads | hone ms | " + " | ".join(f"{name} ms | hone is" for name in others) + " |",
             "|---|---:|---:|" + "---:|---:|" * len(others)]
    for row in result["rows"]:
        lines.append("| " + " | ".join([row["model"], str(row["threads"]), *cells(row, others)]) + " |")
    for name in others:
        for threads, found in result["summary"][name].items():
            lines += ["", f"{threads} thread{'s' if threads != '1' else ''}, geometric mean against {name}: "
                          f"{means.sentence(found)}."]
    return "\n".join(lines + ["", *notes(result["rows"])])


def notes(rows):
    compared = [row for row in rows if "failure" not in row]
    if not compared:
        return ["Nothing was measured."]
    worst = max(compared, key=lambda row: row["difference"])
    lines = [f"Results differ from onnxruntime's by at most {worst['difference']:.1e} of the largest number of their "
             f"output ({worst['model']})."]
    precisions = sorted({row["openvino_default_precision"] for row in compared if "openvino_default_precision" in row})
    if precisions:
        lines.append(f"OpenVINO's default precision was {', '.join(precisions)}.")
    refused = sorted({f"{row['model']} ({name})" for row in compared for name in row.get("cannot_run", {})})
    if refused:
        lines.append(f"Empty cells: the engine cannot run {', '.join(refused)}.")
    return lines

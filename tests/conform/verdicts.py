"""What onnx.checker and hone say about model files, side by side.

Run as a program it is the half that asks onnx.checker: its C++ code aborts on some broken models,
so it works in a process of its own that is started again behind the model it died on.
"""
import collections
import json
import os
import subprocess
import sys

HONE = os.environ.get("HONE_BIN", "hone")
BATCH = 200  # models per process
CRASHED = "onnx.checker crashed"

# onnx: first words of the rejection, None when it accepts. errors: those of hone, as in its JSON.
Verdict = collections.namedtuple("Verdict", "path onnx errors")


def ask_onnx(paths):
    answers = []
    while len(answers) < len(paths):
        rest = [str(path) for path in paths[len(answers):]]
        run = subprocess.run([sys.executable, __file__, *rest], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False)
        answers += [json.loads(line) for line in run.stdout.splitlines()]
        if len(answers) < len(paths):
            answers.append(CRASHED)
    return answers


def ask_hone(paths):
    run = subprocess.run([HONE, "check", "--json", *map(str, paths)], stdout=subprocess.PIPE, check=False)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"hone check: exit status {run.returncode} for {paths[0]} and the following")
    reports = json.loads(run.stdout)
    if (run.returncode == 0) != all(report["valid"] for report in reports):
        raise RuntimeError(f"hone check: exit status {run.returncode} contradicts the report")
    return [[p for p in report["problems"] if p["severity"] == "error"] for report in reports]


def ask_both(paths):
    verdicts = []
    for i in range(0, len(paths), BATCH):
        batch = paths[i:i + BATCH]
        verdicts += map(Verdict, batch, ask_onnx(batch), ask_hone(batch))
    return verdicts


def main():
    import onnx

    for path in sys.argv[1:]:
        try:
            onnx.checker.check_model(path, full_check=True)
            answer = None
        except Exception as error:  # it throws several unrelated kinds
            answer = " ".join(str(error).split())[:300]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Optimized models are valid, small, and compute what they did.

    optimize_models.py [--time N] [NAME...]     parts of file names; all models when none is given

`hone optimize` writes every architecture with its weights laid in, every published and every trained
model at the levels basic and extended for both targets. Each file must satisfy onnx.checker, and give
in onnxruntime and in hone the outputs that onnxruntime gives for the original with all its own
optimizations off. With the target onnxruntime the level extended leaves no more nodes than
onnxruntime's own level of that name; of transformers it leaves at most three quarters, and every
attention is one operator.

With --time every file also runs N times in onnxruntime at its default level, in turns with the
original, on one thread, and the medians of the processor time are printed.

The command is found in HONE_BIN. Exits with 77 when onnxruntime or the models are missing.
"""
import argparse
import collections
import concurrent.futures
import filecmp
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx

import models
import run_models
from run_models import onnxruntime

NODE_COUNTS = models.SHARED / "models" / "onnxruntime_nodes.json"
Variant = collections.namedtuple("Variant", "level target opset")
VARIANTS = (Variant("basic", "onnx", None), Variant("basic", "onnxruntime", None),
            Variant("extended", "onnx", None), Variant("extended", "onnxruntime", None))
STANDARD_ATTENTION = Variant("extended", "onnx", 23)  # the first opset that has one
ATTENTION_OPS = ("Attention", "MultiHeadAttention", "GroupQueryAttention")
ATTENTIONS = {"bert_base": 12, "distilbert_sst2": 6, "gpt2": 12, "llama_small": 4, "minilm_l6": 6,
              "torch_encoder": 4, "vit_b_16": 12}
TRANSFORMER_SHARE = 0.75  # of onnxruntime's nodes

TOLERANCE = {"basic": 1e-5, "extended": 1e-4}  # of the largest number of the output
TOLERANCES = {  # of single models, where the numbers are known to be closer or farther
    "mobilenet_v2_bn": 1e-5,
    "resnet50_bn": 1e-5,
    "basic_pitch_nmp": run_models.LOOSE_TOLERANCES["basic_pitch_nmp"],
}
# TopK over the nearly equal scores of random weights picks other boxes: this one only has to run.
UNSTABLE = ("ssdlite320_mobilenet_v3",)
# Rounds every activation, so that two runtimes do not agree; run_models.py compares it in parts.
ROUNDING = ("mobilenetv2_imagenet_qdq_int8",)
HEAVY = 64 << 20  # bytes of a file; larger ones run once


def load_session(path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def plain_session(path):
    return load_session(path, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)


# ---- one file ------------------------------------------------------------------------------------------

def optimize(path, variant, to):
    """Weights stay in a file beside it: nobody has to read them to look at the graph."""
    command = [run_models.HONE, "optimize", str(path), "-o", str(to), "--level", variant.level,
               "--target", variant.target, "--external-data=always"]
    if variant.opset:
        command += ["--opset", str(variant.opset)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"hone optimize: {done.stderr.strip() or done.returncode}")


def operators(path):
    """How often each occurs; constants are no operators to onnxruntime."""
    graph = onnx.load(path, load_external_data=False).graph
    return collections.Counter(node.op_type for node in graph.node if node.op_type != "Constant")


def size_complaints(stem, variant, ops, theirs):
    """About the number of nodes and attentions."""
    if variant.target == "onnxruntime" and variant.level == "extended" and stem in theirs:
        most = theirs[stem]["extended"]["nodes"]
        if stem in ATTENTIONS:
            most = int(most * TRANSFORMER_SHARE)
        if ops.total() > most:
            yield f"{ops.total()} nodes, {most} were enough"
    if stem in ATTENTIONS and (variant.target == "onnxruntime" or variant.opset) and variant.level == "extended":
        found = sum(ops[op] for op in ATTENTION_OPS)
        if found != ATTENTIONS[stem]:
            yield f"{found} attention operators instead of {ATTENTIONS[stem]}"


def output_complaints(who, stem, variant, ours, wanted):
    tolerance = TOLERANCES.get(stem, TOLERANCE[variant.level])
    for name, theirs in wanted.items():
        found = run_models.difference(ours[name], theirs)
        if stem not in UNSTABLE and (isinstance(found, str) or found > tolerance):
            yield f"{who}: output '{name}': {found if isinstance(found, str) else f'differs by {found:.1e}'}"


# ---- one model -----------------------------------------------------------------------------------------

def chosen_feeds(path, session):
    """Not the first one of a heavy model: its sequences have one element."""
    feeds = list(run_models.feeds(path.stem, session.get_inputs()))
    return feeds[1:2] if path.stat().st_size > HEAVY else feeds[:2]


def check_variant(path, variant, file, runs):
    """Complaints about one optimized file. `runs`: inputs and the outputs wanted for them."""
    onnx.checker.check_model(str(file), full_check=True)
    session = plain_session(file)
    names = [output.name for output in session.get_outputs()]
    for feed, wanted in runs:
        ours = dict(zip(names, session.run(names, feed)))
        yield from output_complaints("onnxruntime", path.stem, variant, ours, wanted)
    del session
    if variant.level == "extended" and not variant.opset and path.stem not in ROUNDING:
        feed, wanted = runs[0]
        ours = run_models.hone_outputs(file, feed, file.parent)
        yield from output_complaints("hone", path.stem, variant, ours, wanted)


def medians(paths, feed, n_runs):
    """Milliseconds that each file takes in onnxruntime as it is used; other work on the machine counts little."""
    sessions = [load_session(p, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL) for p in paths]
    taken = [[] for _ in paths]
    for _ in range(n_runs + 1):
        for session, times in zip(sessions, taken):
            start = time.process_time()
            session.run(None, feed)
            times.append(1e3 * (time.process_time() - start))
    return [statistics.median(times[1:]) for times in taken]


def check_model(path, n_runs):
    """Lines to print, and how many of them are complaints."""
    theirs = json.loads(NODE_COUNTS.read_text()) if NODE_COUNTS.exists() else {}
    session = plain_session(path)
    names = [output.name for output in session.get_outputs()]
    runs = [(feed, dict(zip(names, session.run(names, feed)))) for feed in chosen_feeds(path, session)]
    del session
    counts, wrong, files, times = [str(operators(path).total())], [], {}, []
    variants = VARIANTS + ((STANDARD_ATTENTION,) if path.stem in ATTENTIONS else ())
    with tempfile.TemporaryDirectory() as folder:
        for variant in variants:
            file = Path(folder) / f"{variant.level}-{variant.target}-{variant.opset}" / "model.onnx"
            file.parent.mkdir()
            try:
                optimize(path, variant, file)
                ops = operators(file)
                counts.append(str(ops.total()))
                complaints = list(size_complaints(path.stem, variant, ops, theirs))
                if not any(filecmp.cmp(file, other, shallow=False) for other in files.values()):
                    complaints += check_variant(path, variant, file, runs)
                wrong += [f"{variant.level} {variant.target}: {c}" for c in complaints]
                files[variant] = file
            except Exception as error:  # one variant must not hide the others
                wrong.append(f"{variant.level} {variant.target}: {str(error)[:300]}")
        if n_runs:
            times = medians([path, *files.values()], runs[0][0], n_runs)
    limit = theirs.get(path.stem, {}).get("extended", {}).get("nodes", "")
    line = f"{path.stem:32} {' '.join(f'{c:>5}' for c in counts):36} {limit:>6}  "
    return [line + " ".join(f"{t:.1f}" for t in times), *(f"    WRONG {c}" for c in wrong)], len(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--time", type=int, default=0)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    paths = [p for p in models.find(run_models.GROUPS)
             if not options.names or any(name in p.name for name in options.names)]
    if not paths:
        print(f"skipped: {models.missing() or 'no such model'}")
        sys.exit(77)
    print(f"{'model':32} {'nodes: as is, basic x 2, extended x 2':36} {'theirs':>6}  {'ms' if options.time else ''}")
    paths.sort(key=lambda p: -p.stat().st_size)
    n_wrong = 0
    with concurrent.futures.ProcessPoolExecutor(1 if options.time else 2) as pool:
        for lines, n in pool.map(check_model, paths, [options.time] * len(paths)):
            print(*lines, sep="\n", flush=True)
            n_wrong += n
    print(f"{len(paths)} models, {n_wrong} complaints")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()

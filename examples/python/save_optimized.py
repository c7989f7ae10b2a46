"""Optimizes a model, proves that it still computes the same, and saves it.

usage: python save_optimized.py MODEL OUTPUT [--target onnxruntime]
"""

import argparse
import collections

import hone


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("output")
    parser.add_argument("--target", default="onnx", choices=["onnx", "onnxruntime"])
    arguments = parser.parse_args()

    model = hone.load(arguments.model)
    optimized = hone.optimize(model, arguments.output, target=arguments.target, verify=True)
    report = optimized.optimization

    print(f"{len(model.nodes)} nodes become {len(optimized.nodes)}")
    for (pass_name, rule), n in collections.Counter((r.pass_name, r.rule) for r in report.rewrites).most_common():
        print(f"  {n:4} x {pass_name}, rule {rule}")
    for miss in report.near_misses[:5]:
        print(f"  nearly: {miss.pass_name}, rule {miss.rule}, at {miss.node}: {miss.reason}")

    difference = hone.diff(model, arguments.output)
    for value in difference.values:
        print(f"{value.name}: largest difference {value.max_abs:.3g}")
    if not difference:
        raise SystemExit("the optimized model computes something else")


if __name__ == "__main__":
    main()

"""tools/check_layers reports each kind of violation, and none in a correct tree."""

import subprocess
import sys
import tempfile
from pathlib import Path

CHECKER = Path(__file__).resolve().parents[2] / "tools" / "check_layers"

GOOD = {
    "include/hone/hone.h": "",
    "src/base/base.h": '#include "hone/hone.h"\n',
    "src/base/cpu_x86.c": "#include <immintrin.h>\n",
    "src/ir/ir.h": '#include "base/base.h"\n',
    "src/ir/graph.c": '#include "ir/ir.h"\n',
    "src/cpu/kernels/kernel.h": '#include "base/base.h"\n',
    "src/cpu/kernels/simd/simd_avx2.h": "#include <immintrin.h>\n",
    "src/onnx/onnx.h": '#include "ir/ir.h"\n',
    "src/ops/ops.h": '#include "ir/ir.h"\n',
    "src/ops/eval/eval_int.h": '#include "ops/ops.h"\n',
    "src/ops/infer/rules/conv_infer.c": '#include "ops/eval/eval_int.h"\n',
    "src/ops/schema/schema_int.h": "",
    "src/cpu/lower/conv_lower.c": '#include "ops/eval/eval_int.h"\n',
    "src/ops/ops.def": "row\n" * 5000,
    "src/pass/pass.h": '#include "ops/ops.h"\n',
    "src/plan/plan.h": '#include "cpu/kernels/kernel.h"\n',
    "src/cpu/provider_cpu.h": '#include "pass/pass.h"\n#include "plan/plan.h"\n',
    "src/api/api.c": '#include "pass/pass.h"\n#include "plan/plan.h"\n',
    "cli/cli.h": '#include "hone/hone.h"\n',
    "cli/main.c": '#include "cli.h"\n#include <stdio.h>\n',
}

# (part of the message, path, text)
BAD = [
    ("base must not include ir", "src/base/up.c", '#include "ir/ir.h"\n'),
    ("ir must not include cpu/kernels", "src/ir/side.c", '#include "cpu/kernels/kernel.h"\n'),
    ("cpu/kernels must not include ir", "src/cpu/kernels/side2.c", '  #  include "ir/ir.h"\n'),
    ("onnx must not include ops", "src/onnx/side3.c", '#include "ops/ops.h"\n'),
    ("ops must not include onnx", "src/ops/side4.c", '#include "onnx/onnx.h"\n'),
    ("pass must not include plan", "src/pass/side5.c", '#include "plan/plan.h"\n'),
    ("plan must not include pass", "src/plan/side6.c", '#include "pass/pass.h"\n'),
    ("pass must not include cpu", "src/pass/side9.c", '#include "cpu/provider_cpu.h"\n'),
    ("plan must not include cpu", "src/plan/side10.c", '#include "cpu/provider_cpu.h"\n'),
    ("onnx must not include ops", "src/onnx/dots.c", '#include "../ops/ops.h"\n'),
    ("private to ops", "src/cpu/lower/side7.c", '#include "ops/schema/schema_int.h"\n'),
    ("private to ops", "src/plan/side8.c", '#include "ops/eval/eval_int.h"\n'),
    ("private to ops", "src/plan/dots2.c", '#include "../ops/eval/eval_int.h"\n'),
    ("is neither in src/", "src/ir/lost.c", '#include "no_such.h"\n'),
    ("has no layer", "src/extra/new.c", '#include "base/base.h"\n'),
    ("own headers only", "cli/inside.c", '#include "ir/ir.h"\n'),
    ("own headers only", "cli/inside2.c", '#include "../src/ir/ir.h"\n'),
    ("own headers only", "examples/inside3.c", '#include "base/base.h"\n'),
    ("name is already used", "src/onnx/graph.c", ""),
    ("name is already used", "cli/graph.c", ""),
    ("limit is 1000", "src/ir/long.c", "\n" * 1001),
    ("immintrin", "src/cpu/kernels/gemm.c", "#include <immintrin.h>\n"),
    ("immintrin", "src/base/half.c", "#include <immintrin.h>\n"),
]


def check(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run(
            [sys.executable, CHECKER, root], capture_output=True, text=True, check=False
        )


def main():
    result = check(GOOD)
    assert result.returncode == 0, result.stdout + result.stderr
    for words, path, text in BAD:
        result = check({**GOOD, path: text})
        lines = result.stdout.splitlines()
        assert result.returncode == 1, f"{path} was accepted"
        assert len(lines) == 1 and path in lines[0] and words in lines[0], result.stdout
    print(f"{len(BAD)} violations found")


if __name__ == "__main__":
    main()

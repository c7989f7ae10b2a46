"""tools/check_layers finds each kind of offence, and no offence where there is none."""

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
    "src/ops/ops.def": "row\n" * 5000,
    "src/pass/pass.h": '#include "ops/ops.h"\n',
    "src/plan/plan.h": '#include "cpu/kernels/kernel.h"\n',
    "src/cpu/provider_cpu.h": '#include "pass/pass.h"\n#include "plan/plan.h"\n',
    "src/api/api.c": '#include "pass/pass.h"\n#include "plan/plan.h"\n',
    "cli/cli.h": '#include "hone/hone.h"\n',
    "cli/main.c": '#include "cli.h"\n#include <stdio.h>\n',
}

# (what must be said, path, text)
BAD = [
    ("base must not see ir", "src/base/up.c", '#include "ir/ir.h"\n'),
    ("ir must not see cpu/kernels", "src/ir/side.c", '#include "cpu/kernels/kernel.h"\n'),
    ("cpu/kernels must not see ir", "src/cpu/kernels/side2.c", '  #  include "ir/ir.h"\n'),
    ("onnx must not see ops", "src/onnx/side3.c", '#include "ops/ops.h"\n'),
    ("ops must not see onnx", "src/ops/side4.c", '#include "onnx/onnx.h"\n'),
    ("pass must not see plan", "src/pass/side5.c", '#include "plan/plan.h"\n'),
    ("plan must not see pass", "src/plan/side6.c", '#include "pass/pass.h"\n'),
    ("pass must not see cpu", "src/pass/side7.c", '#include "cpu/provider_cpu.h"\n'),
    ("plan must not see cpu", "src/plan/side8.c", '#include "cpu/provider_cpu.h"\n'),
    ("onnx must not see ops", "src/onnx/dots.c", '#include "../ops/ops.h"\n'),
    ("is found neither", "src/ir/lost.c", '#include "no_such.h"\n'),
    ("has no layer", "src/extra/new.c", '#include "base/base.h"\n'),
    ("own headers only", "cli/inside.c", '#include "ir/ir.h"\n'),
    ("own headers only", "cli/inside2.c", '#include "../src/ir/ir.h"\n'),
    ("own headers only", "examples/inside3.c", '#include "base/base.h"\n'),
    ("name is taken", "src/onnx/graph.c", ""),
    ("name is taken", "cli/graph.c", ""),
    ("at most 1000", "src/ir/long.c", "\n" * 1001),
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
    print(f"{len(BAD)} offences found")


if __name__ == "__main__":
    main()

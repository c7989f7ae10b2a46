#!/usr/bin/env python3
"""Every C snippet in docs/api.md stands, but for its indentation, in one of the examples."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def flat(text):
    return "\n".join(line.strip() for line in text.strip().splitlines()) + "\n"


def main():
    sources = [flat(path.read_text()) for path in sorted((ROOT / "examples/c").glob("*.c"))]
    snippets = re.findall(r"```c\n(.*?)```", (ROOT / "docs/api.md").read_text(), re.DOTALL)
    strange = [s for s in snippets if not any(flat(s) in source for source in sources)]
    for snippet in strange:
        print(f"in no example:\n{snippet}")
    sys.exit(1 if strange or not snippets else 0)


if __name__ == "__main__":
    main()

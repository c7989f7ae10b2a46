"""python -m hone: the command line tool, which is part of the package."""

import os
import subprocess
import sys

_COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hone" + (".exe" if os.name == "nt" else ""))


def main():
    """Replaces this process by the command, with the same arguments."""
    arguments = [_COMMAND, *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(arguments))
    sys.stdout.flush()
    os.execv(_COMMAND, arguments)


if __name__ == "__main__":
    main()

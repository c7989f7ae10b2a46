#!/usr/bin/env python3
"""Runs a command on a terminal of its own and prints what it wrote there, one line per redrawn line,
with escape sequences as text. Exits with its status.

usage: on_terminal.py COMMAND ARGUMENT...
"""

import os
import pty
import sys


def main():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    written = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other side was closed
            break
        if not piece:
            break
        written += piece
    text = written.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").replace("\033", "^[")
    print(text, end="")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()

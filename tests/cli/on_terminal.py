#!/usr/bin/env python3
"""Runs a command on a terminal of its own and prints what it wrote there, one line per redrawn line,
with escape sequences as text. Exits with its status. --until ends the command as soon as it has written
something that matches, and prints only that: how long it takes depends on the machine.

usage: on_terminal.py [--until REGEX] COMMAND ARGUMENT...
"""

import os
import pty
import re
import signal
import sys


def as_lines(written):
    return written.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").replace("\033", "^[")


def main():
    arguments = sys.argv[1:]
    until = re.compile(arguments[1]) if arguments[0] == "--until" else None
    command = arguments[2:] if until else arguments
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    written, found = b"", None
    while not found:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other side was closed
            break
        if not piece:
            break
        written += piece
        found = until and until.search(as_lines(written))
    if found:
        print(found.group())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        sys.exit(0)
    print(as_lines(written), end="")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs a command, presses Ctrl-C when it has worked for a while, and prints what it wrote, how it ended
and which files it left. Work and patience are processor time, so that a busy machine changes nothing.

usage: interrupted.py SECONDS COMMAND ARGUMENT...
"""

import os
import resource
import signal
import subprocess
import sys
import time

PATIENCE = 2.0  # seconds that may pass between Ctrl-C and the end


def processor_seconds(pid):
    """That a process has used so far; infinite when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except FileNotFoundError:
        return float("inf")
    if fields[0] == "Z":
        return float("inf")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    work = float(sys.argv[1])
    before = set(os.listdir("."))
    command = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while (used := processor_seconds(command.pid)) < work:
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    written = command.communicate()[0]
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    late = usage.ru_utime + usage.ru_stime - used
    print(written, end="")
    if used == float("inf"):
        print("ended before Ctrl-C")
    elif late > PATIENCE:
        print(f"ended {late:.1f} seconds of processor time after Ctrl-C")
    left = sorted(set(os.listdir(".")) - before)
    if left:
        print("left", *left)
    # What a shell makes of it.
    sys.exit(command.returncode if command.returncode >= 0 else 128 - command.returncode)


if __name__ == "__main__":
    main()

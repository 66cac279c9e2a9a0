#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The turns of a worker's loop as the kernel saw them: how long each was, and how much of that another process had the processor.

  turns.py PID [--seconds 10]     the longest turns of the thread with that id, as they were in the next seconds (root, tracefs)

A turn lasts from the return of epoll_wait to its next call. Taken off is only what the scheduler took while the thread could run;
time in which the loop waited for a disk, a lock or a child is its own doing and counts.
"""
import argparse
import os
import pathlib
import re
import time

NOT_HERE = "the kernel does not tell of turns here: that takes root, and a tracefs at /sys/kernel/tracing that knows system calls"
TRACEFS = pathlib.Path("/sys/kernel/tracing")
LINE = re.compile(r"\s(\d+\.\d+): (?:sys_epoll_p?wait( ->|\()|sched_switch: .*prev_pid=(\d+) .*prev_state=(\S+) )")


class Turns:
    """Watches one thread until `stop()`; a context of its own in the kernel, so that nobody else's tracing is disturbed."""

    def __init__(self, thread):
        self.thread = thread
        self.folder = TRACEFS / "instances" / ("sallyport-%d-%d" % (os.getpid(), thread))
        self.folder.mkdir()
        self.set("trace_clock", "mono")
        self.set("buffer_size_kb", "24576")
        for call in ("epoll_wait", "epoll_pwait"):
            for end in ("enter", "exit"):
                self.enable("syscalls/sys_%s_%s" % (end, call), "common_pid == %d" % thread)
        self.enable("sched/sched_switch", "prev_pid == %d || next_pid == %d" % (thread, thread))

    @staticmethod
    def is_possible():
        """Whether the kernel tells of turns here: asked for by those who can do without."""
        return os.access(TRACEFS / "instances", os.W_OK) and (TRACEFS / "events/syscalls/sys_exit_epoll_wait").exists()

    def set(self, name, value):
        (self.folder / name).write_text(value + "\n")

    def enable(self, event, filter):
        self.set("events/%s/filter" % event, filter)
        self.set("events/%s/enable" % event, "1")

    def stop(self):
        """Every whole turn: (seconds of its own, seconds in which another had the processor, when it began)."""
        self.set("events/enable", "0")
        try:
            with open(self.folder / "trace") as lines:
                return list(self.read(lines))
        finally:
            self.folder.rmdir()

    def read(self, lines):
        began = taken = left = None
        for line in lines:
            if not (match := LINE.search(line)):
                continue
            at, call, before, state = float(match[1]), match[2], match[3], match[4]
            if call == " ->":
                began, taken, left = at, 0.0, None
            elif call and began is not None:
                yield at - began - taken, taken, began
                began = None
            elif before and began is not None:
                if int(before) == self.thread:
                    left = at if state.startswith("R") else None
                elif left is not None:
                    taken, left = taken + at - left, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pid", type=int)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    if not Turns.is_possible():
        parser.exit(2, NOT_HERE + "\n")
    turns = Turns(options.pid)
    time.sleep(options.seconds)
    made = sorted(turns.stop(), reverse=True)
    print("%d turns; the longest, in ms of their own (and in which another process ran):" % len(made))
    for own, taken, began in made[:10]:
        print("  %7.3f (%.3f) at %.6f" % (1000 * own, 1000 * taken, began))


if __name__ == "__main__":
    main()

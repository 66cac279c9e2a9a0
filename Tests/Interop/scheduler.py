# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Who had a processor meanwhile, as the kernel's scheduler saw it: so that what the machine did is not held against a process."""
import bisect
import os
import pathlib
import re

import gateway

TRACEFS = pathlib.Path("/sys/kernel/tracing")
SWITCH = re.compile(r"\s(\d+\.\d+): sched_switch: .*prev_pid=(\d+) .* next_pid=(\d+) ")


class Others:
    """Watches one processor until `stop()`; a context of its own in the kernel, so that nobody else's tracing is disturbed."""

    def __init__(self, processor):
        self.folder = TRACEFS / "instances" / ("sallyport-others-%d" % os.getpid())
        self.folder.mkdir()
        for name, value in {"trace_clock": "mono", "buffer_size_kb": "32768", "tracing_cpumask": "%x" % (1 << processor),
                            "events/sched/sched_switch/enable": "1"}.items():
            (self.folder / name).write_text(value + "\n")

    @staticmethod
    def is_possible():
        return os.access(TRACEFS / "instances", os.W_OK) and (TRACEFS / "events/sched/sched_switch").exists()

    def stop(self, ours, must):
        """When it was neither idle nor given to one of `ours`: None where the kernel does not know `must` by this number."""
        (self.folder / "events/enable").write_text("0\n")
        try:
            with open(self.folder / "trace") as lines:
                return Taken.read(lines, {0, *ours}, must)
        finally:
            self.folder.rmdir()


class Taken:
    """Spans of time in order, and how much of another span they take."""

    def __init__(self):
        self.begins, self.ends = [], []

    @classmethod
    def read(cls, lines, ours, must):
        taken, knows, since = cls(), False, None
        for line in lines:
            if not (match := SWITCH.search(line)):
                continue
            at, following = float(match[1]), int(match[3])
            knows |= following == must
            if since is not None:
                taken.begins.append(since)
                taken.ends.append(at)
            since = None if following in ours else at
        return taken if knows else None

    def within(self, begin, end):
        total, index = 0.0, bisect.bisect_right(self.ends, begin)
        while index < len(self.begins) and self.begins[index] < end:
            total += min(end, self.ends[index]) - max(begin, self.begins[index])
            index += 1
        return total


class Share:
    """What others had of all processors since this was made, as far as we or one of the processes below us waited for one meanwhile."""

    def __init__(self):
        self.before = self.look()

    @staticmethod
    def look():
        ours, at = [os.getpid()], 0
        while at < len(ours):
            ours += gateway.children_of(ours[at])
            at += 1
        spent = [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        # All but idle, and idle with a disk under way.
        busy = sum(spent) - sum(spent[3:5])
        return busy / os.sysconf("SC_CLK_TCK"), {(p, t): times for p in ours for t, times in run_and_waited(p)}

    def taken(self):
        """In seconds, of the thread that waited longest; 0 where the kernel does not say it."""
        (busy, threads), (busy_before, before) = self.look(), self.before
        # Of threads that have ended meanwhile nothing is known: what they ran counts as others', what they waited as nothing.
        since = [(ran - before.get(key, (0, 0))[0], waited - before.get(key, (0, 0))[1]) for key, (ran, waited) in threads.items()]
        return max(0, min(busy - busy_before - sum(ran for ran, _ in since), max((waited for _, waited in since), default=0)))


def run_and_waited(process):
    """Of each thread of a process: how long it ran, and how long it was ready to run and had no processor."""
    folder = pathlib.Path("/proc/%d/task" % process)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            ran, waited, _ = (folder / name / "schedstat").read_text().split()
        except OSError:
            continue
        yield name, (int(ran) / 1e9, int(waited) / 1e9)


def threads(processes):
    """The threads of all these processes."""
    return {int(thread) for process in processes for thread in os.listdir("/proc/%d/task" % process)}


def packet_threads():
    """The kernel's own that handle packets: what they do is done for whoever sends or receives."""
    return {int(entry.name) for entry in pathlib.Path("/proc").iterdir()
            if entry.name.isdigit() and name_of(entry).startswith("ksoftirqd/")}


def name_of(process):
    try:
        return (process / "comm").read_text()
    except OSError:
        return ""

#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Counts per request that do not depend on the machine: system calls, allocations and instructions in user mode.

  counts.py syscalls|allocations|instructions [--update]     compares with thresholds.json; exits 0 when they hold
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

import callgrind
import stand

THRESHOLDS = stand.HERE / "thresholds.json"
CONNECTIONS = 64
JOBS = ("plain", "key")


def arguments_of(bench, job):
    if job == "plain":
        return ["--path", "/1k"]
    return ["--path", "/key/1k", "--rotate", bench.file("our-keys"), "--rotate-prefix", "", "--hdr", "Origin: " + stand.ORIGIN]


def requests_served(gateway):
    return sum(v for n, v in gateway.metrics().items() if n.startswith("sallyport_http_requests_total"))


class Between:
    """Load with busy connections, and what happens in the worker between two marks while it goes on."""

    def __init__(self, bench, gateway, job, seconds):
        self.load = subprocess.Popen(
            ["taskset", "-c", str(stand.LOAD_CORE), str(bench.file("loadgen")), "--port", str(gateway.port), "--tls", "--host", stand.HOST,
             "--conns", str(CONNECTIONS), "--duration", str(seconds), *map(str, arguments_of(bench, job))], stdout=subprocess.PIPE)
        time.sleep(1)

    def end(self):
        result = json.loads(self.load.communicate()[0])
        assert result["errors"] == 0 and result["non2xx"] == 0, result
        return result


def syscalls(bench):
    """System calls of the one worker per request, by strace."""
    found = {}
    gateway = bench.gateway()
    try:
        bench.fill_registry(gateway, 16)
        worker = gateway.workers()[0]
        for job in JOBS:
            load = Between(bench, gateway, job, 8)
            table = bench.file("strace-" + job)
            trace = subprocess.Popen(["strace", "-f", "-c", "-o", str(table), "-p", str(worker)], stderr=subprocess.PIPE, text=True)
            trace.stderr.readline()
            served, began = requests_served(gateway), time.monotonic()
            time.sleep(4)
            served = requests_served(gateway) - served
            trace.terminate()
            trace.wait()
            load.end()
            calls = {m[2]: int(m[1]) for m in re.finditer(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", table.read_text(), re.M) if m[2] != "total"}
            found[job] = sum(calls.values()) / served
            print("%-6s %.2f system calls per request (%d requests in %.1f s): %s" % (
                job, found[job], served, time.monotonic() - began,
                ", ".join("%s %.2f" % (n, c / served) for n, c in sorted(calls.items(), key=lambda x: -x[1])[:6])))
    finally:
        gateway.remove()
    return found


def allocations(bench):
    """malloc, calloc, realloc and the like in the worker, per request."""
    found = {}
    with tempfile.TemporaryDirectory() as counts:
        gateway = bench.gateway(environment={"LD_PRELOAD": str(bench.file("mallocs.so")), "MALLOCS_DIR": counts})
        try:
            bench.fill_registry(gateway, 16)
            path = os.path.join(counts, str(gateway.workers()[0]))
            count = lambda: struct.unpack("Q", open(path, "rb").read(8))[0]
            for job in JOBS:
                load = Between(bench, gateway, job, 6)
                before, served = count(), requests_served(gateway)
                time.sleep(3)
                after, served = count(), requests_served(gateway) - served
                load.end()
                found[job] = (after - before) / served
                print("%-6s %.2f allocations per request (%d requests)" % (job, found[job], served))
        finally:
            gateway.remove()
    return found


COUNTS = {"syscalls": syscalls, "allocations": allocations, "instructions": callgrind.count}


def missing(kind):
    """What has to be installed before it can be counted; None when all is there."""
    return callgrind.missing() if kind == "instructions" else None


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else ""
    if kind not in COUNTS:
        sys.exit(__doc__)
    if why := missing(kind):
        print("%s: skipped, %s" % (kind, why))
        return
    bench = stand.Stand(stand.HERE / ".run")
    try:
        found = COUNTS[kind](bench)
    finally:
        bench.close()
    thresholds = json.loads(THRESHOLDS.read_text())
    slack = thresholds["slack"][kind]
    if "--update" in sys.argv:
        thresholds[kind] = {job: round(value + slack / 6, 1) if slack < 1 else round(value, -2) for job, value in found.items()}
        THRESHOLDS.write_text(json.dumps(thresholds, indent=2) + "\n")
    held = all(value <= thresholds[kind][job] + slack for job, value in found.items())
    print("%s per request: %s (at most %s, slack %s)" % (kind, "hold" if held else "TOO MANY", thresholds[kind], slack))
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Instructions in user mode per request, by callgrind: the same on every machine and in every run, to about one in a hundred.

The gateway runs as one process beside a Redis of its own, because callgrind follows one and lets it start no other. Two loads of different length are counted and subtracted,
so that handshakes, timers and what else is not a request's own cancel out.
"""
import re
import shutil
import time

import stand

import nodes  # of Tests/Interop, which `stand` has put on the path

# name → the path's folder, the file of what is rotated, the algorithm of the tokens
JOBS = {
    "plain": ("", None, "HS256"),
    "key": ("/key", "our-keys", "HS256"),
    "hs256": ("/tokens", "tokens", "HS256"),
    "hs256-redis": ("/shared", "tokens", "HS256"),
    "es256": ("/tokens", "tokens", "ES256"),
}
CONNECTIONS = 64
LENGTHS = (1024, 5120)
APPS = 16


def missing():
    """What has to be installed first; None when all is there."""
    return None if shutil.which("valgrind") else "valgrind is not here: apt-get install valgrind"


class Callgrind:
    """A gateway under callgrind, which counts only while it is told to."""

    def __init__(self, bench, algorithm):
        self.bench, self.runner = bench, bench.file("under-callgrind")
        self.counts = bench.file("callgrind.out")
        self.program = stand.binary.BINARY
        # valgrind reads symbols, but not every form of debugging information that the compiler writes.
        stripped = bench.file("sallyport")
        stand.run("objcopy", "--strip-debug", self.program, stripped)
        self.runner.write_text(
            "#!/bin/sh\n[ \"$1\" = run ] || exec %s \"$@\"\n"
            "exec valgrind -q --tool=callgrind --instr-atstart=no --callgrind-out-file=%s %s \"$@\" --single\n" % (self.program, self.counts, stripped))
        self.runner.chmod(0o755)
        self.gateway, self.redis = None, nodes.Redis()
        stand.binary.BINARY = self.runner
        try:
            self.gateway = bench.gateway(redis=self.redis, issuers=bench.issuers(algorithm))
            bench.mint(self.gateway, algorithm)
            bench.fill_registry(self.gateway, APPS)
        except BaseException:
            self.close()
            raise

    def close(self):
        stand.binary.BINARY = self.program
        if self.gateway:
            self.gateway.remove()
        self.redis.remove()

    def control(self, *words):
        stand.run("callgrind_control", *words, self.gateway.process.pid)

    def load(self, job, count):
        folder, kept, _ = JOBS[job]
        rotated = ["--rotate", self.bench.file(kept), "--rotate-prefix", "", "--hdr", "Origin: " + stand.ORIGIN] if kept else []
        result = self.bench.loadgen(self.gateway.port, 60, "--path", folder + "/1k", "--conns", CONNECTIONS, "--requests", count, *rotated)
        assert result["requests"] == count and not result["errors"] and not result["non2xx"], result

    def instructions(self, job, count):
        self.control("--zero")
        self.load(job, count)
        # What the closing of the connections costs belongs to both loads.
        time.sleep(0.5)
        self.control("--dump")
        return newest_total(self.counts)

    def per_request(self, job):
        self.control("--instr=off")
        self.load(job, 4 * stand.ROTATED)
        time.sleep(0.5)
        self.control("--instr=on")
        short, long = (self.instructions(job, count) for count in LENGTHS)
        return (long - short) / (LENGTHS[1] - LENGTHS[0])


def newest_total(counts):
    """The sum of the newest dump without the tasks that ran: no request starts one, and those of control come when they will."""
    dumps = sorted(counts.parent.glob(counts.name + ".*"), key=lambda file: int(file.name.rpartition(".")[2]))
    text = dumps[-1].read_text(errors="replace")
    total = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1])
    task = re.search(r"^c?fn=(\(\d+\)) swift_job_run$", text, re.M)
    if not task:
        return total
    calls = re.findall(r"^cfn=%s.*\ncalls=.*\n\S+ (\d+)$" % re.escape(task[1]), text, re.M)
    return total - sum(map(int, calls))


def count(bench):
    found = {}
    for algorithm in dict.fromkeys(algorithm for _, _, algorithm in JOBS.values()):
        for old in bench.directory.glob("callgrind.out*"):
            old.unlink()
        gateway = Callgrind(bench, algorithm)
        try:
            for job, (_, _, wanted) in JOBS.items():
                if wanted == algorithm:
                    found[job] = gateway.per_request(job)
                    print("%-12s %.0f instructions in user mode per request" % (job, found[job]), flush=True)
        finally:
            gateway.close()
    return found

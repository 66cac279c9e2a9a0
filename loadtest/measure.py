#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Measures the gateway beside Debian's haproxy and nginx in one run and holds the ratios against the gates.

  measure.py [--quick] [--jobs J0,J6,…] [--reps N] [--seconds S] [--json FILE]
  measure.py --self-test

CPU is that of the server's processes, Redis apart. A ratio is taken repetition by repetition, then the median; the order of
servers rotates. Exits 0 when every gate holds.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import time

import stand

# job → (peers, mode of the peers, what is printed)
JOBS = {
    "J0": "plain proxy, HTTP/1.1 over TLS 1.3, 1 KiB, 64 connections: CPU ms per request",
    "J1": "plain proxy, HTTP/2, 16 connections of 16 streams, 1 KiB: CPU ms per request",
    "J2-key": "API key among 10,000 and Origin: CPU ms per request",
    "J2-hs256": "1,024 HS256 tokens in turn and Origin: CPU ms per request",
    "J2-es256": "1,024 ES256 tokens in turn and Origin: CPU ms per request",
    "J3": "two exact windows in Redis at 2,000 requests a second",
    "J4-down": "1 MiB answers, 16 connections: MB per CPU second",
    "J4-up": "1 MiB uploads, 16 connections: MB per CPU second",
    "J4-down-h2": "1 MiB answers over HTTP/2: MB per CPU second",
    "J4-up-h2": "1 MiB uploads over HTTP/2: MB per CPU second",
    "J5-full": "a connection and a request each time, full handshake: handshakes per CPU second",
    "J5-resume": "the same with a ticket: handshakes per CPU second",
    "J6": "KiB per idle TLS connection",
    "memory": "MiB at start: PSS of supervisor, two workers and control, Redis apart",
}
# (job, what, against, at most); a ratio of costs when there is a peer, else an absolute figure
GATES = [
    ("J0", "ratio", "haproxy", 0.95),
    ("J1", "ratio", "haproxy", 1.0),
    ("J2-key", "ratio", "nginx", 0.75),
    ("J2-hs256", "ratio", "haproxy", 0.55),
    ("J2-es256", "ratio", "haproxy", 0.20),
    ("J6", "ratio", "haproxy", 1.05),
    ("memory", "mib", None, 40),
    ("J3", "redis_us", None, 20),
    ("J3", "p99_ms", None, 2),
]
PEERS = ("haproxy", "nginx")


class Run:
    def __init__(self, bench, options):
        self.bench, self.options = bench, options
        self.rows = {}  # job → server → [figures]

    def note(self, job, server, **figures):
        self.rows.setdefault(job, {}).setdefault(server, []).append(figures)

    def servers(self, mode):
        bench = self.bench
        algorithm = {"hs256": "HS256", "es256": "ES256"}.get(mode)
        # Debian's nginx checks no tokens.
        made = [bench.peer(name, mode) for name in PEERS if not algorithm or name == "haproxy"]
        gateway = bench.gateway(**({"issuers": bench.issuers(algorithm)} if algorithm else {}))
        if algorithm:
            bench.mint(gateway, algorithm)
        if mode == "key":
            apps = 500 if self.options.quick else 5000
            print("  filling the registry: %d apps, %d keys" % (apps, 2 * apps), flush=True)
            bench.fill_registry(gateway, apps)
        return made + [bench.server(gateway)]

    def rotate(self, servers):
        for rep in range(self.options.reps):
            at = rep % len(servers)
            yield from servers[at:] + servers[:at]

    def busy(self, job, mode, arguments, load=None):
        """A closed loop against each server in turn."""
        load = load or self.bench.loadgen
        servers = self.servers(mode)
        try:
            for server in servers:
                self.check(server, mode)
                load(server.port, 1, *arguments(server))
            for server in self.rotate(servers):
                result = self.bench.timed(server, self.options.seconds, *arguments(server), load=load)
                if result["errors"] or result["non2xx"]:
                    raise RuntimeError("%s %s: %d errors, %d answers outside 2xx" % (job, server.name, result["errors"], result["non2xx"]))
                self.note(job, server.name, cost=result["ms"], **{k: result[k] for k in ("rps", "p50_us", "p99_us", "foreign", "requests", "cpu", "resumed")})
        finally:
            for server in servers:
                server.stop()

    def check(self, server, mode):
        """The good request is answered and the bad ones are refused, before anything is timed."""
        ours = server.name == "sallyport"
        folder = {"key": "/key", "hs256": "/tokens", "es256": "/tokens"}.get(mode, "")
        path = (folder if ours else "") + "/1k"
        good = {}
        if folder:
            kept = "tokens" if folder == "/tokens" else "our-keys" if ours else "peer-keys"
            good = dict(part.split(": ", 1) for part in self.bench.file(kept).read_text().splitlines()[0].split("\t"))
            good["Origin"] = stand.ORIGIN
            name = "Authorization" if folder == "/tokens" else "X-Api-Key"
            # The last characters but two: the last of a token may carry bits that no byte has.
            bad = dict(good, **{name: good[name][:-5] + ("zzz" if good[name][-5:-2] != "zzz" else "yyy") + good[name][-2:]})
            for fields in (bad, {n: v for n, v in good.items() if n != name}):
                status, _ = self.bench.probe(server.port, path, fields)
                assert status in (401, 403), "%s lets in a bad credential: %d" % (server.name, status)
        assert self.bench.probe(server.port, path, good) == (200, 1024), "%s does not answer" % server.name

    # -- jobs ----------------------------------------------------------------------
    def J0(self):
        self.busy("J0", "plain", lambda server: ["--path", "/1k", "--conns", 64])

    def J1(self):
        self.busy("J1", "plain", lambda server: ["/1k"], self.bench.h2load)

    def J2_key(self):
        def arguments(server):
            ours = server.name == "sallyport"
            return ["--path", "/key/1k" if ours else "/1k", "--conns", 64, "--rotate", self.bench.file("our-keys" if ours else "peer-keys"),
                    "--rotate-prefix", "", "--hdr", "Origin: " + stand.ORIGIN]
        self.busy("J2-key", "key", arguments)

    def J2_hs256(self):
        self.tokens("J2-hs256", "hs256")

    def J2_es256(self):
        self.tokens("J2-es256", "es256")

    def tokens(self, job, mode):
        self.busy(job, mode, lambda server: ["--path", "/tokens/1k" if server.name == "sallyport" else "/1k", "--conns", 64, "--rotate",
                                             self.bench.file("tokens"), "--rotate-prefix", "", "--hdr", "Origin: " + stand.ORIGIN])

    def J4_down(self):
        self.busy("J4-down", "plain", lambda server: ["--path", "/1m", "--conns", 16])

    def J4_up(self):
        self.busy("J4-up", "plain", lambda server: ["--path", "/sink", "--conns", 16, "--body", 1 << 20])

    def J4_down_h2(self):
        self.busy("J4-down-h2", "plain", lambda server: ["/1m"], self.bench.h2load)

    def J4_up_h2(self):
        body = self.bench.file("body1m")
        body.write_bytes(b"x" * (1 << 20))
        self.busy("J4-up-h2", "plain", lambda server: ["/sink", "-d", body], self.bench.h2load)

    def J5_full(self):
        self.busy("J5-full", "plain", lambda server: ["--path", "/1k", "--conns", 32, "--mode", "conn"])

    def J5_resume(self):
        self.busy("J5-resume", "plain", lambda server: ["--path", "/1k", "--conns", 32, "--mode", "conn", "--resume"])

    def J3(self):
        """CPU of Redis with the windows less without them, at the same rate."""
        gateway = self.bench.gateway()
        try:
            self.bench.fill_registry(gateway, 64)
            redis, server = [gateway.redis()], self.bench.server(gateway)
            shared = ["--conns", 64, "--rate", 2000, "--rotate", self.bench.file("our-keys"), "--rotate-prefix", ""]
            self.bench.loadgen(server.port, 1, "--path", "/windows/1k", *shared)
            for _ in range(self.options.reps):
                used = {}
                for path in ("/key/1k", "/windows/1k"):
                    before = stand.cpu(redis)
                    result = self.bench.timed(server, 2 * self.options.seconds, "--path", path, *shared)
                    assert not result["errors"] and not result["non2xx"], result
                    used[path] = (stand.cpu(redis) - before) / result["requests"] * 1e6
                self.note("J3", "sallyport", redis_us=(used["/windows/1k"] - used["/key/1k"]) / 2, p99_ms=result["p99_us"] / 1e3,
                          p50_us=result["p50_us"], cost=result["ms"], foreign=result["foreign"])
        finally:
            gateway.remove()

    def J6(self):
        count = 1000 if self.options.quick else 5000
        servers = self.servers("plain")
        try:
            for server in self.rotate(servers):
                pids = server.pids()
                before = stand.binary.memory(pids)
                load = subprocess.Popen(
                    ["taskset", "-c", str(stand.LOAD_CORE), str(self.bench.file("loadgen")), "--port", str(server.port), "--tls", "--mode", "idle",
                     "--conns", str(count), "--host", stand.HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                ready, errors = map(int, re.match(r"READY (\d+) errors (\d+)", load.stdout.readline()).groups())
                assert ready == count and errors == 0, "%s: %d of %d connections" % (server.name, ready, count)
                time.sleep(1)
                grown = stand.binary.memory(pids) - before
                load.stdin.close()
                load.wait(30)
                time.sleep(1)
                # A second round reuses what the first left behind: only the first counts.
                if server.name not in self.rows.get("J6", {}):
                    self.note("J6", server.name, cost=grown / count)
        finally:
            for server in servers:
                server.stop()

    def memory(self):
        gateway = self.bench.gateway(workers=2)
        try:
            time.sleep(1)
            server = self.bench.server(gateway)
            by_process = {binary_name(pid): stand.binary.memory([pid], "Pss") / 1024 for pid in server.pids()}
            self.note("memory", "sallyport", mib=sum(by_process.values()), cost=sum(by_process.values()))
            print("  " + ", ".join("%s %.1f" % item for item in by_process.items()))
        finally:
            gateway.remove()


def binary_name(pid):
    return "%s %d" % (" ".join(stand.binary.command_line(pid).split()[:2])[-30:], pid)


def median(rows, name):
    values = [row[name] for row in rows if name in row]
    return statistics.median(values) if values else None


def ratio(rows, name, against):
    """The gateway's cost over a peer's: the median of the repetitions' own ratios."""
    pairs = [ours["cost"] / theirs["cost"] for ours, theirs in zip(rows[name], rows[against])]
    return statistics.median(pairs)


def table(rows):
    for job, servers in rows.items():
        print("\n%s  %s" % (job, JOBS[job]))
        for name, figures in servers.items():
            cells = ["%.4f" % median(figures, "cost") if job not in ("J6", "memory") else "%.2f" % median(figures, "cost")]
            if job.startswith("J4"):
                cells = ["%.0f MB/CPU-s" % (median(figures, "requests") * 1.048576 / median(figures, "cpu"))]
            if job.startswith("J5"):
                cells = ["%.0f /CPU-s" % (median(figures, "requests") / median(figures, "cpu")), "resumed %d" % median(figures, "resumed")]
            for key, shape in (("rps", "%.0f rps"), ("p50_us", "p50 %.0f us"), ("p99_us", "p99 %.0f us"), ("redis_us", "Redis %.1f us per window"),
                               ("p99_ms", "p99 %.2f ms")):
                value = median(figures, key)
                if value is not None:
                    cells.append(shape % value)
            for peer in PEERS:
                if name == "sallyport" and peer in servers:
                    cells.append("%.2f x %s" % (ratio(servers, name, peer), peer))
            worst = max(row.get("foreign", 0) for row in figures)
            print("  %-10s %s%s" % (name, "  ".join(cells), "   (others used %.0f %% of the core)" % (100 * worst) if worst > 0.15 else ""))


def judge(rows):
    """Prints each gate of the jobs that ran; True when all hold."""
    print("\ngates")
    held = True
    for job, what, against, most in GATES:
        if job not in rows:
            continue
        value = ratio(rows[job], "sallyport", against) if against else median(rows[job]["sallyport"], what)
        good = value <= most
        held = held and good
        print("  %-8s %-28s %8.2f   at most %-6s %s" % (job, what + (" to " + against if against else ""), value, most, "holds" if good else "FAILS"))
    return held


def self_test():
    rows = {"J0": {"sallyport": [{"cost": 2.0}, {"cost": 1.0}], "haproxy": [{"cost": 4.0}, {"cost": 2.0}]}}
    assert ratio(rows["J0"], "sallyport", "haproxy") == 0.5
    assert judge(rows)
    rows["J0"]["sallyport"] = [{"cost": 4.0}, {"cost": 2.0}]
    assert not judge(rows)
    print("measure.py: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short repetition")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--reps", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--json", help="write all figures here")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    options.reps = options.reps or (1 if options.quick else 3)
    options.seconds = options.seconds or (2 if options.quick else 4)
    wanted = options.jobs.split(",")
    if unknown := set(wanted) - set(JOBS):
        parser.error("unknown jobs: %s" % ", ".join(sorted(unknown)))
    bench = stand.Stand(stand.HERE / ".run")
    run = Run(bench, options)
    try:
        for job in wanted:
            print("%s …" % job, flush=True)
            getattr(run, job.replace("-", "_"))()
    finally:
        bench.close()
    table(run.rows)
    held = judge(run.rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(run.rows, file, indent=1)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The jobs that every proxy can do: each runs the same load against the gateway and its peers, one at a time."""
import re
import subprocess
import time

import stand
from gates import FLOOR, OURS

# job → who is measured beside the gateway; `+log` writes an access log, as the gateway does.
BESIDE = {
    "J0": ("haproxy", "nginx", "haproxy+log", "nginx+log", "relay"),
    "J1": ("haproxy", "nginx", "haproxy+log", "nginx+log"),
    "J2-key": ("haproxy", "nginx", "haproxy+log", "nginx+log", "relay"),
    "J2-hs256": ("haproxy", "haproxy+log", "relay"),
    "J2-es256": ("haproxy", "haproxy+log", "relay"),
    "J3-hs256": ("nginx-lua",),
    "J3-es256": ("nginx-lua",),
}
PEERS = ("haproxy", "nginx")
GATED = ("haproxy", "nginx", "nginx-lua")
# mode → the algorithm of its tokens
ALGORITHMS = {"hs256": "HS256", "es256": "ES256", "hs256-redis": "HS256", "es256-redis": "ES256"}


class ProxyJobs:
    """`rows`: job → server → what each repetition showed."""

    def __init__(self, bench, options):
        self.bench, self.options = bench, options
        self.rows = {}

    def note(self, job, server, **figures):
        self.rows.setdefault(job, {}).setdefault(server, []).append(figures)

    # -- servers
    def servers(self, mode, job):
        bench, algorithm = self.bench, ALGORITHMS.get(mode)
        made = []
        beside = BESIDE.get(job, PEERS)
        # What is no gate's other side is left out of a quick run.
        for name in [name for name in beside if name in GATED] if self.options.quick else beside:
            try:
                made.append(bench.peer(name, mode))
            except stand.Missing as why:
                self.note(job, name, missing=str(why))
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
        servers = self.servers(mode, job)
        try:
            for server in servers:
                self.check(server, mode)
                load(server.port, 1, *arguments(server))
            for server in self.rotate(servers):
                result = self.bench.timed(server, self.options.seconds, *arguments(server), load=load)
                if result["errors"] or result["non2xx"]:
                    raise RuntimeError("%s %s: %d errors, %d answers outside 2xx" % (job, server.name, result["errors"], result["non2xx"]))
                kept = ("rps", "p50_us", "p99_us", "foreign", "requests", "cpu", "resumed", "util", "load", "user")
                self.note(job, server.name, cost=result["ms"], **{k: result[k] for k in kept if k in result})
        finally:
            for server in servers:
                server.stop()

    def check(self, server, mode):
        """The good request is answered and the bad ones are refused, before anything is timed."""
        ours = server.name == OURS
        good = {}
        if mode != "plain":
            kept = "tokens" if mode in ALGORITHMS else "our-keys" if ours else "peer-keys"
            good = dict(part.split(": ", 1) for part in self.bench.file(kept).read_text().splitlines()[0].split("\t"))
            good["Origin"] = stand.ORIGIN
            name = "Authorization" if mode in ALGORITHMS else "X-Api-Key"
            # The last characters but two: the last of a token may carry bits that no byte has.
            bad = dict(good, **{name: good[name][:-5] + ("zzz" if good[name][-5:-2] != "zzz" else "yyy") + good[name][-2:]})
            for fields in () if server.name == FLOOR else (bad, {n: v for n, v in good.items() if n != name}):
                status, _ = self.bench.probe(server.port, self.path(server, mode), fields)
                assert status in (401, 403), "%s lets in a bad credential: %d" % (server.name, status)
        assert self.bench.probe(server.port, self.path(server, mode), good) == (200, 1024), "%s does not answer" % server.name

    def path(self, server, mode):
        folder = {"plain": "", "key": "/key", "hs256-redis": "/shared", "es256-redis": "/shared"}.get(mode, "/tokens")
        return (folder if server.name == OURS else "") + "/1k"

    # -- small answers
    def J0(self):
        self.busy("J0", "plain", lambda server: ["--path", "/1k", "--conns", 64])

    def J1(self):
        self.busy("J1", "plain", lambda server: ["/1k"], self.bench.h2load)

    def credentials(self, job, mode, kept):
        self.busy(job, mode, lambda server: ["--path", self.path(server, mode), "--conns", 64, "--rotate", self.bench.file(kept(server)),
                                             "--rotate-prefix", "", "--hdr", "Origin: " + stand.ORIGIN])

    def J2_key(self):
        self.credentials("J2-key", "key", lambda server: "our-keys" if server.name == OURS else "peer-keys")

    def J2_hs256(self):
        self.credentials("J2-hs256", "hs256", lambda server: "tokens")

    def J2_es256(self):
        self.credentials("J2-es256", "es256", lambda server: "tokens")

    def J3_hs256(self):
        self.credentials("J3-hs256", "hs256-redis", lambda server: "tokens")

    def J3_es256(self):
        self.credentials("J3-es256", "es256-redis", lambda server: "tokens")

    # -- large bodies
    def J4_down(self):
        self.busy("J4-down", "plain", lambda server: ["--path", "/1m", "--conns", 16])

    def J4_up(self):
        self.busy("J4-up", "plain", lambda server: ["--path", "/sink", "--conns", 16, "--body", 1 << 20])

    def J4_down_h2(self):
        self.busy("J4-down-h2", "plain", lambda server: ["/1m", "-c", 4, "-m", 4], self.bench.h2load)

    def J4_up_h2(self):
        body = self.bench.file("body1m")
        body.write_bytes(b"x" * (1 << 20))
        self.busy("J4-up-h2", "plain", lambda server: ["/sink", "-c", 4, "-m", 4, "-d", body], self.bench.h2load)

    # -- connections
    def J5_full(self):
        self.busy("J5-full", "plain", lambda server: ["--path", "/1k", "--conns", 32, "--mode", "conn"])

    def J5_resume(self):
        self.busy("J5-resume", "plain", lambda server: ["--path", "/1k", "--conns", 32, "--mode", "conn", "--resume"])

    def J5_full_h2(self):
        self.busy("J5-full-h2", "plain", lambda server: ["/1k"], self.bench.h2_connections)

    def J6(self):
        count = 5000
        servers = self.servers("plain", "J6")
        try:
            for server in servers:
                pids = server.pids()
                before = stand.binary.memory(pids)
                load = subprocess.Popen(
                    ["taskset", "-c", str(stand.LOAD_CORE), str(self.bench.file("loadgen")), "--port", str(server.port), "--tls", "--mode", "idle",
                     "--conns", str(count), "--host", stand.HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                ready, errors = map(int, re.match(r"READY (\d+) errors (\d+)", load.stdout.readline()).groups())
                assert ready == count and errors == 0, "%s: %d of %d connections" % (server.name, ready, count)
                time.sleep(1)
                # A second round would reuse what the first left behind: there is one only.
                self.note("J6", server.name, cost=(stand.binary.memory(pids) - before) / count)
                load.stdin.close()
                load.wait(30)
        finally:
            for server in servers:
                server.stop()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The jobs that no peer does: windows in Redis, a flood of tokens, confirmed revocations, memory."""
import itertools
import json
import re
import statistics
import subprocess
import time

import stand
from gates import OURS
from jobs import ProxyJobs

import nodes  # of Tests/Interop, which `stand` has put on the path

FLOOD_RATE = 5000
# From one address, and from so many that none uses up its failures.
FLOOD_ADDRESSES = (1, 64)
FLOOD_CONNECTIONS = 64
GOOD_RATE = 1000


class Jobs(ProxyJobs):
    """All jobs; a job's method has its name."""

    def windows(self):
        """CPU of Redis with two windows less without them, at the same rate."""
        gateway = self.bench.gateway()
        try:
            self.bench.fill_registry(gateway, 64)
            redis, server = [gateway.redis()], self.bench.server(gateway)
            shared = ["--conns", 64, "--rate", 2000, "--rotate", self.bench.file("our-keys"), "--rotate-prefix", ""]
            self.bench.loadgen(server.port, 1, "--path", "/windows/1k", *shared)
            for _ in range(self.options.reps):
                used, results = {}, {}
                for path in ("/key/1k", "/windows/1k"):
                    before = stand.cpu(redis)
                    result = results[path] = self.bench.timed(server, 2 * self.options.seconds, "--path", path, *shared)
                    assert not result["errors"] and not result["non2xx"], result
                    used[path] = (stand.cpu(redis) - before) / result["requests"] * 1e6
                result = results["/windows/1k"]
                self.note("windows", OURS, redis_us=(used["/windows/1k"] - used["/key/1k"]) / 2, p99_ms=result["p99_us"] / 1e3, p50_us=result["p50_us"],
                          plain_p99_ms=results["/key/1k"]["p99_us"] / 1e3, cost=result["ms"], foreign=result["foreign"])
        finally:
            gateway.remove()

    # -- a flood of tokens
    def flood(self):
        """Tokens that nobody has seen, each with a signature to check; the good client comes from another address.

        Short windows with and without the flood take turns, and the medians of their p99 are compared: one p99 alone moves by a half.
        From one address most are refused before any check, because it has used up its failures; from many, what holds is that
        checks get a fifth of the loop's time and no more.
        """
        bench, seconds = self.bench, 2
        windows = 3 if self.options.quick else 7
        gateway = bench.gateway(issuers=bench.issuers("ES256"))
        try:
            bench.mint(gateway, "ES256")
            server, check_us = bench.server(gateway), self.check_time()
            good = ["--path", "/tokens/1k", "--conns", 32, "--rate", GOOD_RATE, "--rotate", bench.file("tokens"), "--rotate-prefix", "",
                    "--hdr", "Origin: " + stand.ORIGIN]
            bench.loadgen(server.port, 2, *good)
            for spread in FLOOD_ADDRESSES:
                quiet, flooded = [], []
                for number in range(windows):
                    quiet.append(bench.loadgen(server.port, seconds, *good))
                    flooded.append(self.flooded(gateway, server, good, seconds, spread, number))
                middle = lambda rows, name: statistics.median(row[name] for row in rows)
                ratio = middle(flooded, "p99_us") / middle(quiet, "p99_us")
                checks = middle(flooded, "checks")
                figures = dict(p99_ms=middle(flooded, "p99_us") / 1e3, quiet_ms=middle(quiet, "p99_us") / 1e3, p99_ratio=ratio, checks=checks, check_us=check_us,
                               check_share=checks * check_us / 1e6, refused=middle(flooded, "refused"), util=middle(flooded, "util"), foreign=0)
                print("  from %3d: p99 %.2f ms, quiet %.2f ms (x %.2f); windows %s against %s ms; %.0f refused/s, %.0f checks/s of %.0f us" % (
                    spread, figures["p99_ms"], figures["quiet_ms"], ratio, *(" ".join("%.2f" % (row["p99_us"] / 1e3) for row in rows) for rows in (flooded, quiet)),
                    figures["refused"], checks, check_us), flush=True)
                self.note("flood" if spread > 1 else "flood-one", OURS, **figures)
        finally:
            gateway.remove()

    def flooded(self, gateway, server, good, seconds, spread, number):
        """What the good client sees of one window with the flood."""
        strangers = self.strangers(number, int(FLOOD_RATE * (seconds + 2)))
        # Addresses are new in every window too: their failures are not yet used up.
        first = "127.%d.%d.1" % (1 + (spread > 1), number)
        flood = subprocess.Popen(
            ["taskset", "-c", str(stand.LOAD_CORE), str(self.bench.file("loadgen")), "--port", str(server.port), "--tls", "--host", stand.HOST, "--from", first,
             "--spread", str(spread), "--duration", str(seconds + 1.5), "--path", "/tokens/1k", "--conns", str(FLOOD_CONNECTIONS), "--rate", str(FLOOD_RATE),
             "--rotate", str(strangers), "--rotate-prefix", "", "--hdr", "Origin: " + stand.ORIGIN], stdout=subprocess.PIPE)
        time.sleep(0.75)
        before, began = self.checks(gateway), time.monotonic()
        result = self.bench.timed(server, seconds, *good)
        result["checks"] = (self.checks(gateway) - before) / (time.monotonic() - began)
        refused = json.loads(flood.communicate()[0])
        assert not refused["errors"] and refused["non2xx"] == refused["requests"], refused
        assert not result["errors"] and not result["non2xx"], result
        result["refused"] = refused["rps"]
        return result

    def strangers(self, number, count):
        """Tokens of the right form with a signature by somebody else's key."""
        bench = self.bench
        key, file = bench.file("strangers-key.pem"), bench.file("strangers")
        stand.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
        app = bench.file("tokens").read_text().splitlines()[0].rpartition(": ")[2]
        made = stand.run(bench.file("loadgen"), "--mint", "ES256", "--key", key, "--count", count, "--exp", int(time.time()) + 3600 + number,
                         "--more", ',"app_id":"%s","app_trust":"hardware"' % app).decode()
        file.write_text("".join("Authorization: Bearer %s\tX-App-Id: %s\n" % (token, app) for token in made.split()))
        return file

    @staticmethod
    def checks(gateway):
        return sum(value for name, value in gateway.metrics().items() if name.startswith("sallyport_token_checks_total") and "dropped" not in name)

    @staticmethod
    def check_time():
        """Microseconds that one ES256 signature takes to check here."""
        said = stand.run("taskset", "-c", stand.SERVER_CORE, "openssl", "speed", "-mr", "-seconds", "1", "ecdsap256").decode()
        figure = float(re.search(r"^\+F4:\d+:256:[\d.e+-]+:([\d.e+-]+)", said, re.M)[1])
        return figure * 1e6 if figure < 1 else 1e6 / figure

    # -- revocations
    def revocation(self):
        """From the administrator's request to `confirmed`, while both nodes serve 60 % of what they can."""
        bench, trials = self.bench, 100 if self.options.quick else 300
        routes = [{"name": "api", "match": {"path": "/"}, "upstream": "origin", "dialect": "offlineid", "cors": {},
                   "access": {"organizations": ["load"], "credentials": ["api_key", "session_token"]}}]
        open_wide = {"per_worker": 20000, "per_client": 20000, "rate": "9999999 + 9999999/s", "handshakes": "9999999 + 9999999/s"}
        pair = nodes.Nodes((str(bench.file("cert.pem")), str(bench.file("key.pem"))), routes,
                           {"origin": {"endpoints": ["http://127.0.0.1:%d" % bench.origin_port]}}, connections=open_wide)
        try:
            bench.fill_registry(pair.one, 16)
            load = lambda node, seconds, *more: subprocess.Popen(
                [str(bench.file("loadgen")), "--port", str(node.port), "--tls", "--host", stand.HOST, "--duration", str(seconds), "--path", "/1k", "--conns", "32",
                 "--rotate", str(bench.file("our-keys")), "--rotate-prefix", "", *more], stdout=subprocess.PIPE)
            told = lambda loads: [json.loads(one.communicate()[0]) for one in loads]
            most = sum(result["rps"] for result in told([load(node, 2) for node in pair.all]))
            victims = [self.victim(pair.one, number) for number in range(trials)]
            loads = [load(node, 120, "--rate", str(0.6 * most / 2)) for node in pair.all]
            time.sleep(0.5)
            took = []
            for node, (method, target, body) in zip(itertools.cycle(pair.all), victims):
                began = time.monotonic()
                answer = node.admin(method, target, body)
                took.append((time.monotonic() - began) * 1e3)
                assert answer["confirmed"] is True, (target, answer)
            assert all(one.poll() is None for one in loads), "the load ended early"
            for one in loads:
                one.terminate()
                one.wait()
            took.sort()
            self.note("revocation", OURS, rps=0.6 * most, trials=trials, p50_ms=took[len(took) // 2], p99_ms=took[int(len(took) * 0.99) - 1])
        finally:
            pair.remove()

    @staticmethod
    def victim(node, number):
        """What is taken away: a key, an app's tokens, or one token."""
        app, keys = node.create_app_by_admin("victim-%d" % number, "load")
        if number % 3 == 0:
            key = node.admin("POST", "/apps/%s/api-keys" % app, {"name": "k"})
            return "DELETE", "/apps/%s/api-keys/%s" % (app, key["id"]), None
        if number % 3 == 1:
            return "POST", "/tokens/revoke", {"app": app}
        token = node.admin("POST", "/apps/%s/tokens" % app, {})
        return "POST", "/tokens/revoke", {"token_id": token["token_id"], "app": app}

    # -- memory
    def memory(self):
        gateway = self.bench.gateway(workers=2)
        try:
            time.sleep(1)
            by_process = {name_of(pid): stand.binary.memory([pid], "Pss") / 1024 for pid in self.bench.server(gateway).pids()}
            self.note("memory", OURS, mib=sum(by_process.values()), cost=sum(by_process.values()))
            print("  " + ", ".join("%s %.1f" % item for item in by_process.items()))
        finally:
            gateway.remove()


def name_of(pid):
    return "%s %d" % (" ".join(stand.binary.command_line(pid).split()[:2])[-30:], pid)

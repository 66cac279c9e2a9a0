#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Mixed traffic with a hostile tenth against the release binary: memory, descriptors and restarts as time goes by.

  soak.py [--minutes 30] [--rate 100] [--nice 10]

Good clients send about `rate` requests a second altogether: HTTP/1.1 and HTTP/2, kept and new connections, small and large
answers, uploads. For a tenth of the time one of the attacks of Tests/Interop/floods.py runs beside them, each from an
address of its own: what is kept of an address must be let go too. Prints a line at the start, after a sixth, a half and
the whole of the time, and ends with 1 when something grew or restarted. What grows is judged by the trend of the second
half (the median of the slopes between any two readings), because the first fills pools and tables. Needs nginx, the Python
packages of Tests/Interop/requirements.txt and a release build (SALLYPORT_BINARY names another).
"""
import argparse
import collections
import itertools
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "Tests/Interop"))
import certificates  # noqa: E402
import floods  # noqa: E402
import frames  # noqa: E402
import gateway as binary  # noqa: E402
import upstreams  # noqa: E402

KEPT = 40
MOST = 8  # MiB an hour of all workers together, by the trend of the second half
SETTLED = 8  # MiB that the first half may fill
EACH = 20  # seconds between two readings
ENOUGH = 10  # readings of the second half, without which there is no trend


class Good(threading.Thread):
    """One good client at a time: a connection, some requests on it, the next one."""

    def __init__(self, one, pause, end, seed):
        super().__init__(daemon=True)
        self.one, self.pause, self.end, self.random = one, pause, end, random.Random(seed)
        self.done = self.failed = 0
        self.reasons = collections.Counter()

    def run(self):
        while time.monotonic() < self.end:
            try:
                self.random.choice([self.http1, self.http1, self.http2])()
            except (OSError, EOFError, AssertionError) as error:
                self.failed += 1
                self.reasons[("%s: %s" % (type(error).__name__, error))[:80]] += 1
                time.sleep(0.1)

    def http1(self):
        with self.one.wire(tls=self.random.random() < 0.8) as client:
            for _ in range(self.random.randrange(1, KEPT)):
                if self.random.random() < 0.1:
                    answer = client.exchange("POST", "/ok", body=bytes(self.random.randrange(1, 20000)))
                else:
                    answer = client.exchange(target=self.random.choice(["/ok", "/ok", "/ok", "/file/small"]))
                self.count(answer.status, (200, 405))
                if answer["Connection"] == "close":
                    return

    def http2(self):
        with frames.Frames(self.one.port) as client:
            for _ in range(self.random.randrange(1, KEPT)):
                answer = client.exchange(path=self.random.choice(["/ok", "/ok", "/file/small"]))
                self.count(answer.status, (200,))

    def count(self, status, wanted):
        self.done += 1
        if status not in wanted:
            self.failed += 1
            self.reasons["status %s" % status] += 1
        time.sleep(self.random.uniform(0, 2 * self.pause))


class Hostile(threading.Thread):
    """For a tenth of the time, one attack after the other."""

    def __init__(self, one, end, level):
        super().__init__(daemon=True)
        self.one, self.end, self.level, self.run_of = one, end, level, []

    def run(self):
        names = [attack.__name__ for group in ("h1", "h2") for attack in floods.ATTACKS[group]]
        chosen = random.Random(3)
        while time.monotonic() < self.end - 30:
            name, number = chosen.choice(names), len(self.run_of)
            source = "127.%d.%d.66" % (100 + number // 250, number % 250)
            subprocess.run(
                ["nice", "-n", str(self.level), sys.executable, TOP / "Tests/Interop/floods.py", "attack", name, "--port", str(self.one.port),
                 "--clear-port", str(self.one.clear_port), "--seconds", "2", "--connections", "5", "--source", source], capture_output=True, timeout=60, check=False)
            self.run_of.append(name)
            time.sleep(18)


def figures(one):
    workers = one.workers()
    everyone = [one.process.pid, *one.descendants()]
    descriptors = sum(len(os.listdir("/proc/%d/fd" % p)) for p in workers)
    restarts = sum(v for n, v in one.metrics().items() if n.startswith("sallyport_process_restarts_total"))
    return binary.memory(workers, "Anonymous") / 1024, binary.memory(everyone, "Pss") / 1024, descriptors, int(restarts)


def line(label, one, clients, hostile):
    own, total, descriptors, restarts = figures(one)
    print("%-8s workers %6.1f MiB  all processes %6.1f MiB (PSS)  descriptors %5d  restarts %d  requests %8d  failed %d  attacks %d" % (
        label, own, total, descriptors, restarts, sum(c.done for c in clients), sum(c.failed for c in clients), len(hostile.run_of)), flush=True)
    return own, descriptors, restarts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--nice", type=int, default=10)
    options = parser.parse_args()
    os.nice(options.nice)
    with tempfile.TemporaryDirectory(prefix="sp-soak-") as folder:
        folder = pathlib.Path(folder)
        nginx = upstreams.start_nginx(folder)
        (nginx.files / "file/small").write_bytes(bytes(10000))
        with open(nginx.files / "file/big", "wb") as file:
            file.truncate(100_000_000)
        site = certificates.Authority(folder).issue("site", ["localhost", "127.0.0.1"])
        routes = [{"name": "all", "match": {"path": "/"}, "upstream": "api", "access": "open"}]
        one = binary.Gateway(site, routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % nginx.port]}}, workers=2, log={"access": str(folder / "access")},
                             timeouts={"handshake": "2s", "header": "2s", "idle": "5s", "keep_alive": "5s", "patience": "5s"})
        one.start()
        try:
            return soak(one, options, folder / "access")
        finally:
            one.remove()
            nginx.stop()


def trend(readings):
    """MiB an hour: the median of the slopes between any two of (seconds, MiB), which a few high readings do not move; 0 for a few."""
    if len(readings) < ENOUGH:
        return 0
    slopes = [(b - a) / (u - t) * 3600 for i, (t, a) in enumerate(readings) for u, b in readings[i + 1:]]
    return statistics.median(slopes)


def failures(access):
    """The lines of the access log of answers that say the upstream or we failed, the first few of them."""
    with open(access, errors="replace") as lines:
        return list(itertools.islice((line.strip() for line in lines if '"status":5' in line), 10))


def soak(one, options, access):
    began, whole = time.monotonic(), options.minutes * 60
    count = 8
    clients = [Good(one, count / options.rate, began + whole, seed) for seed in range(count)]
    hostile = Hostile(one, began + whole, options.nice)
    for thread in [*clients, hostile]:
        thread.start()
    time.sleep(min(30, whole / 10))
    line("start", one, clients, hostile)
    seen, readings, shares = [], [], [1 / 6, 1 / 2, 1]
    while shares:
        time.sleep(max(0, min(EACH, began + shares[0] * whole - time.monotonic())))
        passed = time.monotonic() - began
        if passed >= shares[0] * whole:
            share = shares.pop(0)
            if share == 1:
                for thread in clients:
                    thread.join(30)
                time.sleep(8)
            seen.append(line("%g min" % round(share * options.minutes, 1), one, clients, hostile))
        if passed >= whole / 2 and shares:
            readings.append((passed, figures(one)[0]))
    for reason, number in sum((c.reasons for c in clients), collections.Counter()).most_common():
        print("  failed %4d: %s" % (number, reason))
    for told in failures(access):
        print("  " + told)
    grew, hourly = seen[-1][0] - seen[0][0], trend(readings)
    good = grew < SETTLED and hourly < MOST and seen[-1][1] <= seen[0][1] + 20 and seen[-1][2] == 0
    print("grew by %.1f MiB between the first and the last reading, and by %.1f MiB an hour over the second half (%d readings): %s" % (
        grew, hourly, len(readings), "flat" if good else "NOT FLAT"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

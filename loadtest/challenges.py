#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A flood of challenge requests from many addresses: what Redis keeps of it, and whether a phone elsewhere still signs in.

  challenges.py [--count 1000000] [--addresses 32] [--nice 10]

Every challenge is asked for one app; nobody uses them. Beside the flood a phone at another address signs in again and again,
two seconds after it asked for its challenge. Prints a line at 0, 100,000, 500,000 and all of them. Ends with 1 when Redis
holds more than its bound, or a sign-in of the phone failed. Needs a release build (SALLYPORT_BINARY names another) and the
Python packages of Tests/Interop/requirements.txt.
"""
import argparse
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "Tests/Interop"))
import certificates  # noqa: E402
import devices  # noqa: E402
import gateway as binary  # noqa: E402
import signins  # noqa: E402

BATCH = 100
# 20,000 challenges of an app, each in two sorted sets and a hash: what they may take at most.
MOST_BYTES = 12 << 20


class Flooder(threading.Thread):
    """Asks for challenges from one address, a batch at a time on one connection."""

    def __init__(self, port, app, address, count):
        super().__init__(daemon=True)
        self.port, self.address, self.count, self.done, self.failed = port, address, count, 0, 0
        self.batch = BATCH * ("POST /users/attestation/challenge HTTP/1.1\r\nHost: localhost\r\nX-App-Id: %s\r\nContent-Length: 0\r\n\r\n" % app).encode()

    def run(self):
        with socket.create_connection(("127.0.0.1", self.port), 30, (self.address, 0)) as client:
            while self.done < self.count:
                client.sendall(self.batch)
                seen = b""
                while seen.count(b'"challenge":') + seen.count(b"HTTP/1.1 4") + seen.count(b"HTTP/1.1 5") < BATCH:
                    data = client.recv(1 << 16)
                    if not data:
                        raise ConnectionError("closed after %d" % self.done)
                    seen += data
                self.failed += BATCH - seen.count(b'"challenge":')
                self.done += BATCH


class Phone(threading.Thread):
    """Signs in from an address of its own until it is told to stop; `waits` between challenge and proof."""

    def __init__(self, one, app, authorities, waits):
        super().__init__(daemon=True)
        self.client, self.android, self.waits = signins.Client(one, app), devices.Android(authorities), waits
        self.signed_in, self.refused, self.slowest, self.ended = 0, [], 0.0, threading.Event()

    def run(self):
        while not self.ended.is_set():
            began = time.monotonic()
            challenge = self.client.post("/users/attestation/challenge", source="127.9.9.9").json()["data"]["challenge"]
            asked = time.monotonic()
            time.sleep(self.waits)
            proof = self.client.android(self.android, challenge)
            sent = time.monotonic()
            answer = self.client.verify(proof, source="127.9.9.9")
            self.slowest = max(self.slowest, asked - began, time.monotonic() - sent)
            if answer.status == 200:
                self.signed_in += 1
            else:
                self.refused.append(answer.json())


def redis_bytes(one):
    """What Redis says it uses for data, and what its process takes."""
    folder = one.directory / "state/redis"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder / "redis.sock"))
        client.sendall(b"AUTH sallyport %s\r\nINFO memory\r\n" % (folder / "password").read_bytes().strip())
        said = b""
        while b"used_memory_dataset:" not in said:
            said += client.recv(1 << 16)
    return int(said.split(b"used_memory:")[1].split(b"\r")[0]), binary.memory([one.redis()]) * 1024


def flood(one, app, authorities, count, addresses, waits, marks=(), tell=print):
    """Floods; answers (bytes before, most bytes, the phone, how many challenges were refused, how long it took)."""
    phone = Phone(one, app, authorities, waits)
    phone.start()
    while phone.signed_in + len(phone.refused) == 0:
        time.sleep(0.05)
    each = -(-count // addresses // BATCH) * BATCH
    flooders = [Flooder(one.clear_port, app, "127.0.%d.%d" % (1 + n // 250, 1 + n % 250), each) for n in range(addresses)]
    first, resident = redis_bytes(one)
    most, began, marks = first, time.monotonic(), sorted(marks)

    def line(done):
        tell("%9d challenges  %5.1f MB in Redis (%5.1f MB resident)  %6.1f s  phone elsewhere: %d of %d signed in" % (
            done, most / 1e6, resident / 1e6, time.monotonic() - began, phone.signed_in, phone.signed_in + len(phone.refused)))

    line(0)
    for flooder in flooders:
        flooder.start()
    while any(f.is_alive() for f in flooders):
        time.sleep(0.2)
        used, resident = redis_bytes(one)
        most = max(most, used)
        done = sum(f.done for f in flooders)
        while marks and done >= marks[0]:
            line(marks.pop(0))
    seconds, done = time.monotonic() - began, sum(f.done for f in flooders)
    used, resident = redis_bytes(one)
    most = max(most, used)
    phone.ended.set()
    phone.join()
    line(done)
    if done < each * addresses:
        raise RuntimeError("%d of %d challenges were asked for" % (done, each * addresses))
    return first, most, phone, sum(f.failed for f in flooders), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--addresses", type=int, default=32)
    parser.add_argument("--nice", type=int, default=10)
    options = parser.parse_args()
    os.nice(options.nice)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="challenges-"))
    authorities, backend = devices.Authorities(), signins.Backend()
    route = {"name": "api", "match": {"path": "/v1/"}, "upstream": "api", "dialect": "offlineid", "sign_in": {"verify": "/v1/auth/verify-code", "tokens": "opaque"},
             "access": {"organizations": ["acme"], "credentials": ["session_token"]}}
    one = binary.Gateway(certificates.Authority(folder).issue("site", ["localhost"]), [route], {"api": {"endpoints": ["http://127.0.0.1:%d" % backend.port]}}, workers=1,
                         trust={"directory": str(authorities.bundle(folder / "trust"))}, log={"access": "off"})
    for listener in one.configuration["listeners"]:
        listener["serves"] = ["offlineid"]
    one.write()
    with one:
        one.create_organization("acme")
        app = one.create_app("flooded", key=False)
        one.cli("native", "add", "android", "--package", "com.example.fieldapp", "--sha256", "11" * 32, "--app", app.id)
        first, most, phone, failed, seconds = flood(one, app.id, authorities, options.count, options.addresses, 2, (100_000, 500_000))
        print("%.0f challenges a second; Redis grew by %.1f MB at most; the phone's slowest answer took %.0f ms; %d refused" % (
            options.count / seconds, (most - first) / 1e6, phone.slowest * 1000, failed))
        for refusal in phone.refused[:3]:
            print("refused: %s" % refusal)
    backend.stop()
    sys.exit(most - first > MOST_BYTES or bool(phone.refused) or failed > 0)


if __name__ == "__main__":
    main()

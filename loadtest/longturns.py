#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What else runs on a worker's loop beside requests, and how long its longest turn is: one line for each work.

  longturns.py [--apps 5000] [--only WORD]

Turns are the kernel's word (`turns.py`; root): what another process took of the processor is not counted. Ends with 1 where a
turn took more than its bound: 2 ms, but 20 ms where many connections have closed. Then the heap's free pages are given back to the
system, once and a moment later (`malloc_trim`): that is one call, which cannot be cut into pieces, and holds the lock of the heap,
so that in a thread of its own it would hold up the loop as long.

Needs a release build and the Python packages of Tests/Interop/requirements.txt.
"""
import argparse
import http.server
import json
import os
import pathlib
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Tests/Interop"))
import certificates  # noqa: E402
import devices  # noqa: E402
import gateway as binary  # noqa: E402
import signins  # noqa: E402
import turns as kernel  # noqa: E402

MOST = 0.002
MOST_OF_TRIM = 0.020


class Bench:
    """One gateway of one worker, with many routes, certificates and apps."""

    def __init__(self, apps):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="turns-"))
        self.authority = certificates.Authority(self.folder)
        self.backend = signins.Backend()
        self.site = self.authority.issue("site", ["localhost", "127.0.0.1"])
        trust = devices.Authorities().bundle(self.folder / "trust")
        self.keys = KeySet(self.authority.issue("keys", ["localhost"]))
        sign_in = {"guest": "/v1/auth/guest", "tokens": "opaque"}
        access = {"organizations": ["acme"], "credentials": ["session_token", "api_key"]}
        routes = [{"name": "sign-in", "match": {"path": "/v1/auth/"}, "upstream": "api", "dialect": "offlineid", "sign_in": sign_in, "access": access},
                  {"name": "api", "match": {"path": "/v1/"}, "upstream": "api", "dialect": "offlineid", "access": access},
                  {"name": "open", "match": {"path": "/"}, "upstream": "api", "access": "open"}]
        routes += [{"name": "r%d" % n, "match": {"hosts": ["h%d.example.com" % (n % 100)], "path": "/v1/r%d/" % n}, "upstream": "u%d" % (n % 50),
                    "access": access, "limits": [{"name": "l", "per": ["app"], "limit": 1000, "window": "60s"}]} for n in range(500)]
        upstreams = {"api": {"endpoints": ["http://127.0.0.1:%d" % self.backend.port]}} | {"u%d" % n: {"endpoints": ["http://127.0.0.1:9"]} for n in range(50)}
        issuers = [{"name": "i%d" % n, "issuer": "https://i%d.example/" % n, "audiences": ["api"], "algorithms": ["ES256"], "organizations": ["acme"], "kind": "person", "private_networks": ["127.0.0.0/8"],
                    "keys": {"jwks_url": "https://localhost:%d/%d" % (self.keys.port, n), "ca": str(self.authority.path)}} for n in range(5)]
        self.one = binary.Gateway(self.site, routes, upstreams, workers=1, trust={"directory": str(trust)}, issuers=issuers)
        for listener in self.one.configuration["listeners"]:
            listener["serves"] = ["offlineid"]
        more = [self.authority.issue("c%d" % n, ["h%d.example.com" % n]) for n in range(100)]
        self.one.configuration["listeners"][0]["tls"]["certificates"] += [{"cert": cert, "key": key} for cert, key in more]
        self.one.write()
        self.one.start()
        self.one.create_organization("acme")
        self.apps, self.count, self.open = [], apps, []

    def close(self):
        self.one.remove()
        self.backend.stop()

    def watched(self, act):
        """The longest turn of the worker while `act` runs and a second after it, in milliseconds, and of how many."""
        [worker] = self.one.workers()
        watch = kernel.Turns(worker)
        try:
            act()
            time.sleep(1)
        finally:
            made = watch.stop()
        return 1000 * max(own for own, _, _ in made), len(made)

    # -- the works
    def makes_apps(self):
        """apps are made, as many as there will be"""
        while len(self.apps) < self.count:
            self.apps.append(self.one.create_app_by_admin("app-%d" % len(self.apps), "acme") if len(self.apps) < 64 else
                             (self.one.admin("POST", "/apps", {"name": "app-%d" % len(self.apps), "organization": "acme"})["app_id"], []))
        self.one.cli("native", "add", "android", "--package", "com.example.app", "--sha256", "11" * 32, "--app", self.apps[0][0])

    def asks(self):
        """every app is asked for once"""
        with self.one.wire() as client:
            for app, _ in self.apps:
                client.exchange("GET", "/v1/x", {"X-App-Id": app})

    def resyncs(self):
        """Redis is killed and comes back; every app is asked for again"""
        os.kill(self.one.redis(), signal.SIGKILL)
        time.sleep(2)
        self.one.wait_until_ready()
        self.asks()

    def splices(self, body, tls=False):
        """a sign-in's answer of a megabyte is told the verdict"""
        self.backend.raw = 200, {"Content-Type": "application/json"}, body
        for _ in range(5):
            with self.one.wire(tls) as client:
                answer = client.exchange("POST", "/v1/auth/guest", {"X-App-Id": self.apps[0][0], "Content-Type": "application/json"}, b'{"attestation":{"platform":"android","unavailable":"unsupported"}}')
                assert answer.status == 200 and b'"degraded"' in answer.body[-200:], answer.body[-200:]
        self.backend.raw = None

    def splices_values(self):
        """such an answer of many values"""
        self.splices(b'{"message":"OK","data":{"token":"sess_1","list":[' + b",".join(b'{"a":%d}' % n for n in range(80000)) + b"]}}")

    def splices_text(self):
        """such an answer of one text"""
        self.splices(b'{"message":"OK","data":{"text":"' + b"\\u00e9" * 170000 + b'","token":"sess_1"}}')

    def splices_plain(self):
        """such an answer of one text without an escape, over TLS"""
        self.splices(b'{"message":"OK","data":{"text":"' + b"a" * 1000000 + b'","token":"sess_1"}}', tls=True)

    def splices_members(self):
        """such an answer with members beside each other, over TLS"""
        self.splices(b'{"message":"OK","data":{' + b",".join(b'"m%d":%d' % (n, n) for n in range(60000)) + b',"token":"sess_1"}}', tls=True)

    def reloads(self):
        """the configuration is taken anew: 500 routes, 50 upstreams, 100 certificates"""
        for _ in range(3):
            self.one.cli("reload")

    def renews_certificates(self):
        """a certificate's file is renewed and taken by itself"""
        taken = self.one.output().count("configuration taken")
        (pathlib.Path(self.site[0])).write_bytes(pathlib.Path(self.site[0]).read_bytes() + b"\n")
        end = time.monotonic() + 20
        while self.one.output().count("configuration taken") == taken:
            if time.monotonic() > end:
                raise RuntimeError("the certificate was not taken")
            time.sleep(0.1)

    def takes_keys(self):
        """an issuer's set of 250 keys is taken anew"""
        self.keys.turn()
        for n in range(5):
            self.one.get("/v1/x", {"X-App-Id": self.apps[0][0], "Authorization": "Bearer " + self.keys.stranger(n)})
        time.sleep(3)

    def renders(self):
        """the metrics are asked for 100 times"""
        for _ in range(100):
            self.one.metrics()

    def connects(self):
        """2,000 connections with TLS are opened and used at once"""
        context = ssl._create_unverified_context()
        self.open = made = []
        for n in range(2000):
            made.append(context.wrap_socket(socket.create_connection(("127.0.0.1", self.one.port), source_address=("127.0.%d.1" % (n % 200), 0))))
        for one in made:
            one.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for one in made:
            one.recv(4096)

    def closes(self):
        """they are closed, and their memory is given back"""
        while self.open:
            self.open.pop().close()
        time.sleep(1)

    closes.most = MOST_OF_TRIM

    def revokes(self):
        """keys of 64 apps are revoked, and 500 tokens"""
        for app, _ in self.apps[:64]:
            for key in self.one.admin("GET", "/apps/%s/api-keys" % app)["keys"]:
                self.one.admin("DELETE", "/apps/%s/api-keys/%s" % (app, key["id"]))

    WORKS = [makes_apps, asks, splices_values, splices_text, splices_plain, splices_members, reloads, renews_certificates, takes_keys, renders, connects, closes, revokes, resyncs]


class KeySet:
    """An issuer's key set of 250 keys, which `turn` makes another."""

    def __init__(self, certificate):
        self.made = [devices.ec.generate_private_key(devices.ec.SECP256R1()) for _ in range(250)]
        self.round = 0
        keys = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                body = json.dumps({"keys": [keys.public(n, key) for n, key in enumerate(keys.made)]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def public(self, number, key):
        point = key.public_key().public_numbers()
        return {"kty": "EC", "crv": "P-256", "x": devices.b64url(point.x.to_bytes(32, "big")), "y": devices.b64url(point.y.to_bytes(32, "big")),
                "kid": "k%d-%d" % (self.round, number), "alg": "ES256", "use": "sig"}

    def turn(self):
        self.round += 1

    def stranger(self, issuer):
        """A token under a key that the gateway does not know yet, so that it asks."""
        part = lambda value: devices.b64url(json.dumps(value).encode())
        return ".".join([part({"alg": "ES256", "kid": "k%d-0" % self.round}), part({"iss": "https://i%d.example/" % issuer, "aud": "api", "exp": time.time() + 60}), devices.b64url(b"x" * 64)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apps", type=int, default=5000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if not kernel.Turns.is_possible():
        parser.exit(2, kernel.NOT_HERE + "\n")
    bench = Bench(options.apps)
    holds = True
    try:
        for work in Bench.WORKS:
            if options.only in work.__name__ or work is Bench.makes_apps or work is Bench.closes and bench.open:
                longest, count = bench.watched(lambda: work(bench))
                most = 1000 * getattr(work, "most", MOST)
                holds &= longest <= most
                print("%8.2f ms   (at most %.0f) the longest of %6d turns: %s" % (longest, most, count, work.__doc__), flush=True)
    finally:
        bench.close()
    sys.exit(not holds)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Writes the seeds of the fuzzers of the wire, one folder a target, from the conformance cases and by hand.

usage: fuzz-seeds-wire.py DIRECTORY
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def conformance():
    """The raw bytes of the cases, wherever they stand in the file."""
    def walk(value):
        if isinstance(value, dict):
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)
        elif isinstance(value, str) and "HTTP/1" in value:
            yield value.encode("latin-1", "replace")

    for path in sorted((TOP / "Tests/Interop/conformance").glob("*.json")):
        yield from walk(json.loads(path.read_text()))


def by_hand():
    get = b"\x82\x87\x84\x41\x01a"
    post = b"\x83\x87\x84\x41\x01a"
    yield "http2-server", b"\0" + frame(1, 5, 1, get) + frame(3, 0, 1, b"\0\0\0\x08")
    yield "http2-server", b"\0" + frame(1, 4, 1, post) + frame(0, 0, 1, b"hello") + frame(1, 5, 1, b"\x00\x01x\x01y")
    yield "http2-server", b"\0" + frame(1, 1, 1, get[:2]) + frame(9, 4, 1, get[2:]) + frame(8, 0, 0, b"\0\0\x10\0")
    yield "http2-server", b"\0" + frame(4, 0, 0, b"\0\4\0\0\0\1") + frame(1, 5, 1, get) + frame(8, 0, 1, b"\0\0\0\1") * 3
    yield "http2-server", b"\0" + frame(1, 0x2d, 1, b"\0\0\0\0\0\x10" + get) + frame(2, 0, 3, b"\0\0\0\0\5") + frame(6, 0, 0, bytes(8))
    yield "http2-server", b"\0" + frame(1, 5, 1, get + b"\x40\x01x\x7f\x80\x01" + b"a" * 255 + b"\xbe" * 50)
    yield "http2-client", b"\0" + frame(1, 4, 1, b"\x88") + frame(0, 1, 1, b"body")
    yield "http2-client", b"\0" + frame(1, 4, 1, b"\x08\x03100") + frame(1, 4, 1, b"\x88") + frame(1, 5, 1, b"\0\1x\1y")
    yield "http2-client", b"\0" + frame(7, 0, 0, bytes(8)) + frame(3, 0, 1, b"\0\0\0\7") + frame(5, 4, 1, b"\0\0\0\2" + get)
    for text in ("PROXY TCP4 192.0.2.7 203.0.113.1 54321 443\r\nGET /", "PROXY TCP6 2001:db8::9 ::1 8080 80\r\n", "PROXY UNKNOWN x\r\n"):
        yield "proxy", text.encode()
    for command, family, block in ((0x21, 0x11, bytes(12)), (0x21, 0x21, bytes(36)), (0x20, 0, b""), (0x21, 0x31, bytes(216)), (0x21, 0x11, bytes(20))):
        yield "proxy", SIGNATURE + bytes([command, family]) + struct.pack("!H", len(block)) + block + b"x"
    for path in ("a/b", "a/../b", "a//b", "%2e%2e/x", "a%2Fb", "a;x=y/b", "..;/x", "%41%7e", "a%00b", "a\\b", "%", "./.", "a/%c3%a9"):
        yield "path", path.encode()
    for body in ("5\r\nhello\r\n0\r\n\r\n", "1;a=b;c=\"d\"\r\nx\r\n000\r\nX-A: b\r\n\r\n", "ffffffffffffffff\r\n", "3 \r\nabc\r\n0\r\n\r\n"):
        yield "chunked", body.encode()
    yield "jose", b"eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxNyJ9.AAAA"
    yield "jose", b'{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},{"kty":"RSA","n":"AQ","e":"AQAB"},{"kty":"OKP","crv":"Ed25519","x":"AA"}]}'
    for path in (TOP / "config").glob("**/*.yaml"):
        yield "configuration", path.read_bytes()


def seeds():
    for text in conformance():
        if text.startswith(b"HTTP/1"):
            for method in b"\0\1\2\3":
                yield "response", bytes([method]) + text
        else:
            yield "request", text
    yield "request", b"GET /a?b HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxGET"
    yield "response", b"\0HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    yield from by_hand()


def main():
    out = Path(sys.argv[1])
    for target, seed in seeds():
        folder = out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(seed).hexdigest()[:20]).write_bytes(seed)


main()

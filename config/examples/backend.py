#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The example back end behind the gateway: HTTP/1.1 with keep-alive, one thread a connection, standard library only.

  backend.py [--address 127.0.0.1] [--port 9000] [--cert FILE --key FILE] [--unix PATH] [--log]
  backend.py --self-test

  any path            JSON: method, path, the Sallyport-* and X-Forwarded-* fields that arrived, size and SHA-256 of the body
  /headers            JSON: every field as it arrived, in order
  /bytes?n=N          N bytes, always the same (chunked=1: chunked)
  /upload             JSON: size, SHA-256 and trailers of the body
  /echo               the body, sent back while it arrives
  /stream?n=5&delay=0.1   chunks with a pause between them
  /sse?n=5&delay=0.1  server-sent events
  /trailers           a chunked answer with a trailer field
  /ws                 WebSocket: every message comes back
  /status?code=204    an answer with that status (204 and 304 without a body)
  /slow?s=2           waits before it answers
  /hints              103 Early Hints, then 200
  /early?code=413     answers before it reads the body, then closes
  /cut?n=1000         promises N bytes, sends half of them and closes
  /close              answers and closes the connection
"""
import argparse
import base64
import hashlib
import http.server
import json
import os
import socket
import socketserver
import ssl
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

BLOCK = 262144
MOST_IN_A_FRAME = 1 << 26
# The length is no multiple of any buffer size, so bytes that are moved or repeated show.
PATTERN = hashlib.shake_256(b"sallyport").digest(1048573)
WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def pattern(count):
    """Yields `count` bytes of the endless repeated pattern."""
    while count > 0:
        part = PATTERN[:count]
        yield part
        count -= len(part)


def pattern_sha256(count):
    digest = hashlib.sha256()
    for part in pattern(count):
        digest.update(part)
    return digest.hexdigest()


class WrongNumber(Exception):
    """A number of the query that is none, or out of bounds."""


class Exchange(http.server.BaseHTTPRequestHandler):
    """One connection of a client; the methods are called one request after the other."""

    protocol_version = "HTTP/1.1"
    server_version = "example"
    sys_version = ""
    disable_nagle_algorithm = False

    def setup(self):
        if self.request.family != socket.AF_UNIX:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()

    def log_message(self, format, *arguments):
        if self.server.verbose:
            sys.stderr.write("%s %s\n" % (self.log_date_time_string(), format % arguments))

    def address_string(self):
        return "unix" if self.request.family == socket.AF_UNIX else super().address_string()

    # -- the body of a request
    def body(self):
        """Yields the parts of the body; trailers land in `self.trailers`."""
        self.trailers = []
        self.body_read = True
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            while True:
                size = int(self.rfile.readline(1024).split(b";")[0], 16)
                if size == 0:
                    break
                while size:
                    part = self.rfile.read1(min(size, BLOCK))
                    if not part:
                        raise ConnectionError("the body ended early")
                    size -= len(part)
                    yield part
                self.rfile.readline(16)
            while (line := self.rfile.readline(65536)) not in (b"\r\n", b"\n", b""):
                name, _, value = line.decode("latin-1").partition(":")
                self.trailers.append([name, value.strip()])
            return
        left = int(self.headers.get("Content-Length") or 0)
        while left:
            part = self.rfile.read1(min(left, BLOCK))
            if not part:
                raise ConnectionError("the body ended early")
            left -= len(part)
            yield part

    def digest(self):
        count, digest = 0, hashlib.sha256()
        for part in self.body():
            count += len(part)
            digest.update(part)
        return count, digest.hexdigest()

    # -- answers
    def answer(self, status, body=b"", fields=(), kind="application/json"):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 204 and status >= 200:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        head_only = self.command == "HEAD" or status in (204, 304)
        self.flush_with(b"" if head_only else body)

    def answer_json(self, value, status=200, fields=()):
        self.answer(status, (json.dumps(value, indent=2) + "\n").encode(), fields)

    def flush_with(self, body):
        """Head and body leave in one write."""
        self._headers_buffer.append(b"\r\n" + body)
        self.flush_headers()

    def start_chunked(self, kind, fields=()):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, part):
        if part and self.command != "HEAD":
            self.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")

    def end_chunked(self, trailers=()):
        if self.command != "HEAD":
            self.wfile.write(b"0\r\n" + b"".join(b"%s: %s\r\n" % field for field in trailers) + b"\r\n")

    # -- the paths
    def route(self):
        self.body_read = False
        self.target = urllib.parse.urlsplit(self.path)
        self.query = {name: values[-1] for name, values in urllib.parse.parse_qs(self.target.query).items()}
        verb = PATHS.get(self.target.path) or PATHS.get("/" + self.target.path.rsplit("/", 1)[-1]) or Exchange.describe
        try:
            verb(self)
            if not self.body_read and not self.close_connection:
                self.digest()
        except WrongNumber as wrong:
            self.close_connection = True
            self.answer_json({"error": str(wrong)}, 400, [("Connection", "close")])
        except (ConnectionError, ValueError, socket.timeout, ssl.SSLError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = route

    def number(self, name, default, kind=int, most=1 << 40):
        """A number of the query; asked for before the answer begins."""
        try:
            value = kind(self.query.get(name, default))
        except ValueError:
            value = -1
        if not 0 <= value <= most:
            raise WrongNumber("%s must be a number from 0 to %d" % (name, most))
        return value

    def describe(self):
        count, digest = self.digest()
        named = lambda *starts: {n: v for n, v in self.headers.items() if n.lower().startswith(starts)}
        self.answer_json({
            "method": self.command,
            "path": self.path,
            "host": self.headers.get("Host"),
            "gateway": named("sallyport-"),
            "forwarded": named("x-forwarded-", "via", "x-request-id"),
            "body": {"bytes": count, "sha256": digest},
        })

    def headers_seen(self):
        self.digest()
        self.answer_json({"fields": [[n, v] for n, v in self.headers.items()], "trailers": self.trailers})

    def bytes_out(self):
        self.digest()
        count = self.number("n", 1024)
        if self.query.get("chunked"):
            self.start_chunked("application/octet-stream")
            for part in pattern(count):
                self.chunk(part)
            return self.end_chunked()
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(count))
        self.end_headers()
        if self.command != "HEAD":
            for part in pattern(count):
                self.wfile.write(part)

    def upload(self):
        if wait := self.number("delay", 0, float, 300):
            time.sleep(wait)
        count, digest = self.digest()
        self.answer_json({"bytes": count, "sha256": digest, "trailers": self.trailers})

    def echo(self):
        self.start_chunked(self.headers.get("Content-Type") or "application/octet-stream")
        for part in self.body():
            self.chunk(part)
        self.end_chunked([(n.encode("latin-1"), v.encode("latin-1")) for n, v in self.trailers])

    def stream(self):
        self.digest()
        count, delay = self.number("n", 5), self.number("delay", 0.1, float, 300)
        self.start_chunked("text/plain")
        for i in range(count):
            self.chunk(b"chunk %d\n" % i)
            time.sleep(delay)
        self.end_chunked()

    def sse(self):
        self.digest()
        count, delay = self.number("n", 5), self.number("delay", 0.1, float, 300)
        self.start_chunked("text/event-stream", [("Cache-Control", "no-cache")])
        for i in range(count):
            self.chunk(b"id: %d\ndata: %.3f\n\n" % (i, time.time()))
            time.sleep(delay)
        self.end_chunked()

    def trailers_out(self):
        self.digest()
        self.start_chunked("text/plain", [("Trailer", "X-Checksum")])
        self.chunk(b"body\n")
        self.end_chunked([(b"X-Checksum", hashlib.sha256(b"body\n").hexdigest().encode())])

    def status(self):
        self.digest()
        self.answer(self.number("code", 200, most=999), b"{}\n", [("ETag", '"one"')])

    def slow(self):
        self.digest()
        time.sleep(self.number("s", 2, float, 300))
        self.describe_after_body()

    def describe_after_body(self):
        self.answer_json({"path": self.path})

    def hints(self):
        self.digest()
        self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
        self.describe_after_body()

    def early(self):
        self.close_connection = True
        self.answer(self.number("code", 413, most=999), b'{"early": true}\n', [("Connection", "close")])

    def cut(self):
        self.digest()
        count = self.number("n", 1000)
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        self.wfile.write(PATTERN[: count // 2])

    def close_after(self):
        self.digest()
        self.close_connection = True
        self.answer(200, b"{}\n", [("Connection", "close")])

    def websocket(self):
        key = self.headers.get("Sec-WebSocket-Key")
        if (self.headers.get("Upgrade") or "").lower() != "websocket" or not key:
            return self.answer(426, b"{}\n", [("Upgrade", "websocket"), ("Connection", "Upgrade")])
        self.close_connection = True
        self.body_read = True
        accept = base64.b64encode(hashlib.sha1(key.encode() + WEBSOCKET_GUID).digest()).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
            self.send_header(name, value)
        self.end_headers()
        self.echo_frames()

    def echo_frames(self):
        """RFC 6455 5.2: data frames come back unmasked, pings as pongs, a close ends it."""
        while len(head := self.rfile.read(2)) == 2:
            opcode, size = head[0] & 15, head[1] & 127
            if size > 125:
                size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big")
            if size > MOST_IN_A_FRAME:
                return
            mask, data = self.rfile.read(4), self.rfile.read(size)
            if len(data) < size:
                return
            repeated = (mask * (size // 4 + 1))[:size]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
            length = bytes([size]) if size < 126 else (
                b"\x7e" + size.to_bytes(2, "big") if size < 65536 else b"\x7f" + size.to_bytes(8, "big"))
            if opcode != 10:
                self.wfile.write(bytes([head[0] & 0xF0 | (10 if opcode == 9 else opcode)]) + length + data)
            if opcode == 8:
                return


PATHS = {
    "/headers": Exchange.headers_seen, "/bytes": Exchange.bytes_out, "/upload": Exchange.upload, "/echo": Exchange.echo,
    "/stream": Exchange.stream, "/sse": Exchange.sse, "/trailers": Exchange.trailers_out, "/ws": Exchange.websocket,
    "/status": Exchange.status, "/slow": Exchange.slow, "/hints": Exchange.hints, "/early": Exchange.early,
    "/cut": Exchange.cut, "/close": Exchange.close_after,
}


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address, tls=None, verbose=False):
        self.tls, self.verbose = tls, verbose
        if isinstance(address, str):
            self.address_family = socket.AF_UNIX
        elif ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, Exchange)

    def finish_request(self, request, client_address):
        # The handshake belongs to the connection's own thread, or one slow client would stop them all.
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        if self.verbose:
            super().handle_error(request, client_address)


def self_test():
    server = Server(("127.0.0.1", 0))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d" % server.server_address[1]
    with urllib.request.urlopen(url + "/bytes?n=3000001") as answer:
        assert hashlib.sha256(answer.read()).hexdigest() == pattern_sha256(3000001)
    request = urllib.request.Request(url + "/hello", data=b"abc", headers={"Sallyport-App": "app_1"})
    with urllib.request.urlopen(request) as answer:
        seen = json.load(answer)
    assert seen["body"] == {"bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}, seen
    assert {n.lower(): v for n, v in seen["gateway"].items()} == {"sallyport-app": "app_1"}, seen
    with urllib.request.urlopen(url + "/stream?n=3&delay=0") as answer:
        assert answer.read() == b"chunk 0\nchunk 1\nchunk 2\n"
    for query in ("/bytes?n=x", "/bytes?n=-1", "/stream?delay=nan", "/slow?s=inf", "/status?code=1e3"):
        try:
            urllib.request.urlopen(url + query)
        except urllib.error.HTTPError as error:
            assert error.code == 400 and "must be a number" in json.load(error)["error"], query
        else:
            raise AssertionError(query)
    server.shutdown()
    print("backend.py: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9000, help="0: any free port, printed")
    parser.add_argument("--unix", help="listen on this Unix socket instead")
    parser.add_argument("--cert", help="certificate chain (PEM): answer by TLS")
    parser.add_argument("--key", help="private key (PEM)")
    parser.add_argument("--log", action="store_true", help="one line a request on standard error")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    tls = None
    if options.cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.cert, options.key)
        tls.set_alpn_protocols(["http/1.1"])
    if options.unix and os.path.exists(options.unix):
        os.unlink(options.unix)
    try:
        server = Server(options.unix or (options.address, options.port), tls, options.log)
    except (OSError, OverflowError) as fault:
        place = options.unix or "%s:%d" % (options.address, options.port)
        return "backend.py: cannot listen on %s: %s; --port takes another" % (place, fault)
    where = options.unix or "%s:%d" % (options.address, server.server_address[1])
    print("backend on %s%s" % (where, " (TLS)" if tls else ""), flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    sys.exit(main())

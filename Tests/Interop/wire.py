# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""HTTP/1.1 by hand: bytes in, bytes out, so that a test sees exactly what is on the wire."""
import dataclasses
import re
import socket
import ssl
import time


@dataclasses.dataclass
class Answer:
    status: int
    reason: str
    fields: list
    body: bytes = b""
    trailers: list = dataclasses.field(default_factory=list)
    interim: list = dataclasses.field(default_factory=list)
    complete: bool = True

    def __getitem__(self, name):
        """The value of the field, or None."""
        return next((v for n, v in self.fields if n.lower() == name.lower()), None)

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def json(self):
        import json

        return json.loads(self.body)


class Closed(ConnectionError, EOFError):
    """The other side ended the connection: by FIN as by RST the same, which of them a killed process leaves is chance."""


class Wire:
    """One client connection."""

    def __init__(self, port, tls=False, name="localhost", address="127.0.0.1", timeout=10, context=None, source=None):
        self.socket = socket.create_connection((address, port), timeout, source_address=(source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = (context or anything()).wrap_socket(self.socket, server_hostname=name)
        self.buffer = b""
        self.eof = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def request(self, method="GET", target="/", fields=(), body=None, host="localhost"):
        """Sends a whole request; a body gets its Content-Length."""
        fields = list(fields.items() if isinstance(fields, dict) else fields)
        if body is not None:
            fields.append(("Content-Length", str(len(body))))
        head = "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, target, host, "".join("%s: %s\r\n" % f for f in fields))
        self.send(head.encode("latin-1") + (body or b""))

    def exchange(self, method="GET", target="/", fields=(), body=None, host="localhost"):
        self.request(method, target, fields, body, host)
        return self.answer(method == "HEAD")

    # -- receiving
    def fill(self):
        part = b"" if self.eof else self.socket.recv(262144)
        self.eof = not part
        self.buffer += part
        return bool(part)

    def until(self, mark):
        while mark not in self.buffer:
            if not self.fill():
                raise Closed("closed after %r" % self.buffer[-200:])
        part, _, self.buffer = self.buffer.partition(mark)
        return part + mark

    def exactly(self, count):
        parts, have = [self.buffer[:count]], min(len(self.buffer), count)
        self.buffer = self.buffer[count:]
        while have < count:
            part = self.socket.recv(min(262144, count - have))
            if not part:
                self.eof = True
                raise Closed("closed with %d bytes missing" % (count - have))
            parts.append(part)
            have += len(part)
        return b"".join(parts)

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.[01] (\d{3}) ?(.*)", lines[0])
        assert match, "not a status line: %r" % lines[0]
        fields = [(n, v.strip()) for n, _, v in (line.partition(":") for line in lines[1:] if line)]
        return Answer(int(match[1]), match[2], fields)

    def answer(self, head_only=False):
        """Reads one final answer; interim ones are kept in it."""
        interim = []
        while (answer := self.head()).status < 200 and answer.status != 101:
            interim.append(answer)
        answer.interim = interim
        if head_only or answer.status in (101, 204, 304):
            return answer
        if (answer["Transfer-Encoding"] or "").lower() == "chunked":
            answer.body = b"".join(self.chunks(answer))
        elif answer["Content-Length"] is not None:
            answer.body = self.exactly(int(answer["Content-Length"]))
        else:
            while self.fill():
                pass
            answer.body, self.buffer = self.buffer, b""
        return answer

    def chunks(self, answer):
        while size := int(self.until(b"\r\n").split(b";")[0], 16):
            yield self.exactly(size)
            assert self.exactly(2) == b"\r\n"
        while (line := self.until(b"\r\n")) != b"\r\n":
            name, _, value = line.decode("latin-1").partition(":")
            answer.trailers.append((name, value.strip()))

    def is_closed(self, within=2.0):
        """The peer closes, with nothing more to read, in that time."""
        end = time.monotonic() + within
        while not self.eof:
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.socket.settimeout(left)
            try:
                self.fill()
            except (TimeoutError, ssl.SSLWantReadError):
                return False
            except OSError:
                self.eof = True
        return True


def anything():
    """A TLS client context that checks nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context

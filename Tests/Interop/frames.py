# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""HTTP/2 by hand: frames in, frames out, header blocks by `hpack`, so that a test can send what no client would."""
import dataclasses
import socket
import ssl
import struct
import time

import hpack

from wire import anything

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, \
    REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(12)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITISED = 1, 1, 4, 8, 32
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)


@dataclasses.dataclass
class Frame:
    type: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self):
        """The error code of RST_STREAM and GOAWAY."""
        return struct.unpack(">I", self.payload[4:8] if self.type == GOAWAY else self.payload[:4])[0]

    @property
    def last_stream(self):
        return struct.unpack(">I", self.payload[:4])[0] & 0x7FFFFFFF


@dataclasses.dataclass
class Stream:
    """What came on one stream so far."""

    heads: list = dataclasses.field(default_factory=list)
    body: bytes = b""
    trailers: list = None
    ended: bool = False
    reset: int = None

    @property
    def fields(self):
        """Those of the final answer."""
        return next((h for h in reversed(self.heads) if not h[0][1].startswith("1")), [])

    @property
    def status(self):
        return int(self.fields[0][1]) if self.fields else None

    def __getitem__(self, name):
        return next((v for n, v in self.fields if n == name), None)


def frame(type, flags=0, stream=0, payload=b"", length=None):
    return struct.pack(">I", len(payload) if length is None else length)[1:] + bytes([type, flags]) + struct.pack(">I", stream) + payload


def number(value):
    return struct.pack(">I", value)


def settings(values):
    return b"".join(struct.pack(">HI", n, v) for n, v in values.items())


class Frames:
    """One client connection that speaks frames."""

    def __init__(self, port, name="localhost", start=True, values=None, context=None, window=None, timeout=10):
        context = context or anything()
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection(("127.0.0.1", port), timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname=name)
        assert self.socket.selected_alpn_protocol() == "h2"
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.decoder.max_allowed_table_size = 65536
        self.buffer, self.eof = b"", False
        self.streams, self.frames, self.block = {}, [], None
        self.next_stream = 1
        self.goaway = None
        self.initial_window, self.sent = 65535, {}
        self.credits = True  # whether DATA is answered with WINDOW_UPDATE
        if start:
            self.send(PREFACE + frame(SETTINGS, payload=settings(values or {})))
            if window:
                self.send(frame(WINDOW_UPDATE, payload=number(window)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # -- sending
    def send(self, data):
        self.socket.sendall(data)

    def block_of(self, fields):
        return self.encoder.encode([(n, v) for n, v in fields])

    def raw_block(self, fields):
        """Literals without indexing, so that names and values may be any bytes."""
        out = b""
        for name, value in fields:
            out += b"\x00"
            for text in (name, value):
                data = text if isinstance(text, bytes) else text.encode("latin-1")
                assert len(data) < 127 + 128
                out += (bytes([len(data)]) if len(data) < 127 else bytes([127, len(data) - 127])) + data
        return out

    def headers(self, fields, end=True, stream=None, raw=False, flags=0):
        """Sends a header block; returns the stream's number."""
        if stream is None:
            stream, self.next_stream = self.next_stream, self.next_stream + 2
        block = self.raw_block(fields) if raw else self.block_of(fields)
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0) | flags, stream, block))
        return stream

    def request(self, method="GET", path="/open/x", fields=(), body=None, authority="localhost", end=None, stream=None):
        """Sends a request, its body in frames of at most 16 KiB."""
        ends = body is None if end is None else end
        stream = self.headers(head(method, path, authority) + list(fields), ends, stream)
        if body is not None:
            self.data(stream, body, end is None or end)
        return stream

    def data(self, stream, data, end=False):
        """Sends DATA, whatever the windows say."""
        parts = [data[i:i + 16384] for i in range(0, len(data), 16384)] or [b""]
        for index, part in enumerate(parts):
            self.send(frame(DATA, END_STREAM if end and index == len(parts) - 1 else 0, stream, part))

    def room(self, stream):
        """The bytes that the peer's windows let go on a stream, once its SETTINGS have come."""
        granted = lambda id: sum(int.from_bytes(f.payload, "big") for f in self.frames if f.type == WINDOW_UPDATE and f.stream == id)
        return min(65535 + granted(0) - self.sent.get(0, 0), self.initial_window + granted(stream) - self.sent.get(stream, 0))

    def upload(self, stream, count, end=True):
        """Sends `count` bytes as the windows allow."""
        while count > 0:
            part = min(16384, count, self.room(stream))
            if part <= 0:
                assert self.ping(), "the connection ended: %s" % self.goaway
                continue
            count -= part
            self.send(frame(DATA, END_STREAM if end and count == 0 else 0, stream, b"x" * part))
            for id in (0, stream):
                self.sent[id] = self.sent.get(id, 0) + part

    # -- receiving
    def read_frame(self, seconds=5):
        """The next frame; None at the end of the connection; TimeoutError when none comes."""
        end = time.monotonic() + seconds
        while True:
            if len(self.buffer) >= 9:
                length = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) >= 9 + length:
                    one = Frame(self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF, self.buffer[9:9 + length])
                    self.buffer = self.buffer[9 + length:]
                    self.take(one)
                    return one
            if self.eof:
                return None
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError("no frame in %g s" % seconds)
            self.socket.settimeout(left)
            try:
                part = self.socket.recv(262144)
            except (TimeoutError, ssl.SSLWantReadError):
                raise TimeoutError("no frame in %g s" % seconds) from None
            except (ConnectionError, ssl.SSLError):
                part = b""
            self.eof = not part
            self.buffer += part

    def take(self, one):
        """Keeps the books: settings and pings are acknowledged, windows credited, heads decoded."""
        self.frames.append(one)
        stream = self.streams.setdefault(one.stream, Stream())
        try:
            if one.type == SETTINGS and not one.flags & ACK:
                values = dict(struct.iter_unpack(">HI", one.payload))
                self.initial_window = values.get(INITIAL_WINDOW_SIZE, self.initial_window)
                self.send(frame(SETTINGS, ACK))
            elif one.type == PING and not one.flags & ACK:
                self.send(frame(PING, ACK, payload=one.payload))
            elif one.type == DATA:
                stream.body += one.payload
                if self.credits and one.payload:
                    self.send(frame(WINDOW_UPDATE, payload=number(len(one.payload))))
                    if not one.flags & END_STREAM:
                        self.send(frame(WINDOW_UPDATE, stream=one.stream, payload=number(len(one.payload))))
        except (ConnectionError, ssl.SSLError, OSError):
            pass
        if one.type in (HEADERS, CONTINUATION):
            self.block = one.payload if one.type == HEADERS else self.block + one.payload
            if one.type == HEADERS:
                self.block_flags = one.flags
            if one.flags & END_HEADERS:
                fields = [(n if isinstance(n, str) else n.decode("latin-1"), v if isinstance(v, str) else v.decode("latin-1"))
                          for n, v in self.decoder.decode(self.block)]
                if fields and fields[0][0] == ":status":
                    stream.heads.append(fields)
                else:
                    stream.trailers = fields
                stream.ended |= bool(self.block_flags & END_STREAM)
        elif one.type == DATA:
            stream.ended |= bool(one.flags & END_STREAM)
        elif one.type == RST_STREAM:
            stream.reset = one.code
        elif one.type == GOAWAY:
            self.goaway = one

    def until(self, wanted, seconds=5):
        """Reads until `wanted()` is true or the connection ends; whether it became true."""
        end = time.monotonic() + seconds
        while not wanted():
            left = end - time.monotonic()
            assert left > 0, "waited %g s; frames: %s" % (seconds, [(f.type, f.flags, f.stream, len(f.payload)) for f in self.frames[-20:]])
            try:
                if self.read_frame(left) is None:
                    return wanted()
            except TimeoutError:
                pass
        return True

    def answer(self, stream, seconds=5):
        """The whole answer, or what there is when the stream or the connection ended."""
        self.until(lambda: (s := self.streams.get(stream)) is not None and (s.ended or s.reset is not None), seconds)
        return self.streams.setdefault(stream, Stream())

    def exchange(self, *arguments, **options):
        return self.answer(self.request(*arguments, **options))

    def ping(self, seconds=5):
        """Whether the connection still answers: everything sent before has been handled then."""
        mark = struct.pack(">Q", time.monotonic_ns())
        try:
            self.send(frame(PING, payload=mark))
            return self.until(lambda: any(f.type == PING and f.flags & ACK and f.payload == mark for f in self.frames), seconds)
        except (ConnectionError, ssl.SSLError, OSError):
            return False

    def outcome(self, stream, seconds=5):
        """How the peer took what was sent: an answer's status, a reset, a GOAWAY, a bare close, or silence."""
        try:
            self.until(lambda: self.goaway is not None and self.goaway.code != NO_ERROR
                       or ((s := self.streams.get(stream)) is not None and (s.reset is not None or s.ended)), seconds)
        except AssertionError:
            return "silence"
        if self.goaway is not None and self.goaway.code != NO_ERROR:
            return "goaway %d" % self.goaway.code
        found = self.streams.get(stream)
        if found is not None and found.reset is not None:
            return "reset %d" % found.reset
        if found is not None and found.ended:
            return "status %d" % found.status
        return "closed"


def head(method="GET", path="/open/x", authority="localhost", scheme="https"):
    return [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]

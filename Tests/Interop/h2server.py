# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""An HTTP/2 server of which every frame can be scripted: one thread for each stream, over the `h2` package."""
import json
import queue
import socket
import ssl
import threading
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

import upstreams


class Stream:
    """One request; `headers` are its fields in order, `read()` gives its body piece by piece and None at its end."""

    def __init__(self, connection, number, headers):
        self.connection, self.number, self.headers = connection, number, headers
        self.pieces, self.trailers, self.reset_code = queue.Queue(), [], None
        self.window = threading.Condition(connection.lock)

    def get(self, name, default=None):
        return next((v for n, v in self.headers if n == name), default)

    @property
    def path(self):
        return self.get(":path")

    def read(self, timeout=30):
        piece = self.pieces.get(timeout=timeout)
        if piece is None:
            return None
        data, size = piece
        self.connection.do(lambda c: c.acknowledge_received_data(size, self.number))
        return data

    def body(self):
        parts = []
        while (piece := self.read()) is not None:
            parts.append(piece)
        return b"".join(parts)

    def head(self, status=200, headers=(), end=False):
        self.connection.do(lambda c: c.send_headers(self.number, [(":status", str(status)), *headers], end_stream=end))

    def send(self, data, end=False):
        """Sends as far and as fast as the peer's windows allow."""
        view = memoryview(data)
        while True:
            with self.connection.lock:
                while not (room := self.connection.room(self.number)) and view:
                    if self.reset_code is not None or self.connection.ended:
                        raise ConnectionError("the stream was reset")
                    self.window.wait(1)
                part = view[:room]
                view = view[len(part):]
                self.connection.do(lambda c: c.send_data(self.number, bytes(part), end_stream=end and not view))
            if not view:
                return

    def end(self, trailers=None):
        if trailers is None:
            self.connection.do(lambda c: c.end_stream(self.number))
        else:
            self.connection.do(lambda c: c.send_headers(self.number, trailers, end_stream=True))

    def answer(self, body=b"", status=200, headers=()):
        self.head(status, [("content-length", str(len(body))), *headers], end=not body)
        if body:
            self.send(body, end=True)

    def reset(self, code):
        self.connection.do(lambda c: c.reset_stream(self.number, code))


class Connection:
    def __init__(self, server, client, number):
        self.server, self.socket, self.number = server, client, number
        self.lock, self.ended = threading.RLock(), False
        self.streams = {}
        self.goaway = None
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
        self.pings, self.deaf = 0, False

    def do(self, act):
        with self.lock:
            act(self.h2)
            self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.socket.sendall(data)

    def send_raw(self, data):
        with self.lock:
            self.socket.sendall(data)

    def room(self, number):
        try:
            return min(self.h2.local_flow_control_window(number), self.h2.max_outbound_frame_size)
        except h2.exceptions.StreamClosedError:
            raise ConnectionError("the stream is closed") from None

    def run(self):
        if self.server.settings:
            self.h2.local_settings = h2.settings.Settings(client=False, initial_values={
                h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 100, h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: 65536, **self.server.settings})
        try:
            self.do(lambda c: c.initiate_connection())
            while data := self.socket.recv(65536):
                with self.lock:
                    events = self.h2.receive_data(data) if not self.deaf else []
                    for event in events:
                        self.take(event)
                    self.flush()
        except (OSError, h2.exceptions.ProtocolError) as error:
            self.server.errors.append(error)
        finally:
            self.ended = True
            for stream in list(self.streams.values()):
                stream.pieces.put(None)
            self.socket.close()

    def take(self, event):
        if isinstance(event, h2.events.RequestReceived):
            stream = self.streams[event.stream_id] = Stream(self, event.stream_id, event.headers)
            self.server.requests.append(stream)
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()
        elif isinstance(event, h2.events.DataReceived):
            self.streams[event.stream_id].pieces.put((event.data, event.flow_controlled_length))
        elif isinstance(event, h2.events.TrailersReceived):
            self.streams[event.stream_id].trailers = event.headers
        elif isinstance(event, h2.events.StreamEnded):
            self.streams[event.stream_id].pieces.put(None)
        elif isinstance(event, h2.events.StreamReset):
            stream = self.streams[event.stream_id]
            stream.reset_code = event.error_code
            stream.pieces.put(None)
            stream.window.notify_all()
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            for stream in self.streams.values():
                stream.window.notify_all()
        elif isinstance(event, h2.events.PingReceived):
            self.pings += 1
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = event.error_code

    def serve(self, stream):
        try:
            self.server.script(stream)
        except (ConnectionError, OSError, queue.Empty, h2.exceptions.ProtocolError) as error:
            self.server.errors.append(error)

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Server(upstreams.Listener):
    """`script(stream)` runs in a thread for each request."""

    def __init__(self, script, tls=None, alpn=("h2",), settings=None):
        self.script, self.tls, self.alpn, self.settings = script, tls, alpn, settings or {}
        self.connections, self.requests, self.errors = [], [], []
        super().__init__()

    @property
    def endpoint(self):
        return "%s://127.0.0.1:%d" % ("https" if self.tls else "http", self.port)

    def _take(self, client):
        threading.Thread(target=self.greet, args=(client,), daemon=True).start()

    def greet(self, client):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.tls)
            if self.alpn:
                context.set_alpn_protocols(list(self.alpn))
            try:
                client = context.wrap_socket(client, server_side=True)
            except OSError as error:
                self.errors.append(error)
                return
        connection = Connection(self, client, len(self.connections) + 1)
        self.connections.append(connection)
        connection.run()

    def stop(self):
        super().stop()
        for connection in self.connections:
            connection.close()


def everyday(stream):
    """What most cases need, by path."""
    path = stream.path.split("?")[0].rsplit("/", 1)[-1]
    if stream.get(":method") == "HEAD":
        stream.head(200, [("content-length", "2")], end=True)
    elif path == "headers":
        stream.body()
        body = json.dumps({"headers": stream.headers, "trailers": stream.trailers}).encode()
        stream.answer(body, headers=[("content-type", "application/json")])
    elif path == "echo":
        stream.head(200, [("content-type", stream.get("content-type", "application/octet-stream"))])
        count = 0
        while (piece := stream.read()) is not None:
            count += len(piece)
            stream.send(piece)
        stream.end([("x-count", str(count)), ("x-sum", dict(stream.trailers).get("x-sum", "none"))])
    elif path == "hints":
        stream.head(103, [("link", "</a.css>; rel=preload")])
        stream.answer(b"after hints")
    elif path == "empty":
        stream.head(200, [("x-empty", "1")], end=True)
    elif path == "no-content":
        stream.head(204, end=True)
    elif path == "big":
        size = int(stream.path.partition("?")[2] or 10_000_000)
        stream.head(200, [("content-length", str(size))])
        block = bytes(range(256)) * 256
        while size:
            part = block[:size]
            stream.send(part, end=len(part) == size)
            size -= len(part)
    elif path == "ticks":
        stream.head(200, [("content-type", "text/event-stream")])
        for tick in range(10):
            stream.send(b"data: %d %.6f\n\n" % (tick, time.time()))
            time.sleep(0.05)
        stream.end()
    else:
        stream.body()
        stream.answer(b"ok")

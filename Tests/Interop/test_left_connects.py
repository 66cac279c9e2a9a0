# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A client leaves while its upstream is being connected to: what comes of the connect is not the next request's."""
import ssl
import threading

import pytest

import upstreams
from conftest import route, url
from frames import CANCEL, RST_STREAM, Frames, frame, number
from test_upstream_metrics import becomes, value


class Hesitant(upstreams.Listener):
    """Accepts at once, and shakes hands, or hangs up, when it is told to; then answers every request with its name."""

    def __init__(self, name, tls):
        self.name, self.context = name, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*tls)
        self.accepted, self.go, self.settled, self.hangs_up = 0, threading.Event(), threading.Event(), False
        super().__init__()

    def _take(self, client):
        self.accepted += 1
        super()._take(client)

    def serve(self, client):
        self.go.wait(20)
        try:
            if self.hangs_up:
                return client.close()
            with self.context.wrap_socket(client, server_side=True) as secured:
                while secured.recv(65536):
                    self.settled.set()
                    secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(self.name), self.name))
        finally:
            self.settled.set()

    def stop(self):
        self.go.set()
        super().stop()


@pytest.mark.parametrize("outcome", ["connected", "failed"])
def test_a_connect_whose_client_has_left_serves_nobody_else(make, authority, outcome):
    tls = authority.issue("hesitant", ["localhost", "127.0.0.1"])
    first, second = Hesitant(b"first", tls), Hesitant(b"second", tls)
    first.hangs_up = outcome == "failed"
    gateway = make([route("first", "/first/", "first", access="open"), route("second", "/second/", "second", access="open")],
                   {name: {"endpoints": [url(server, "https")], "tls": {"ca": str(authority.path)}, "timeouts": {"connect": "20s"}}
                    for name, server in (("first", first), ("second", second))}, workers=1)
    try:
        with Frames(gateway.port) as client:
            left = client.request(path="/first/x")
            becomes(lambda: first.accepted == 1)
            client.send(frame(RST_STREAM, stream=left, payload=number(CANCEL)))
            assert client.ping()
            stream = client.request(path="/second/x")
            becomes(lambda: second.accepted == 1)
            first.go.set()
            if first.hangs_up:
                becomes(lambda: value(gateway, "sallyport_upstream_failures_total", 'upstream="first"') == 1)
            else:
                assert first.settled.wait(10)
            second.go.set()
            answer = client.answer(stream)
            assert (answer.status, answer.body) == (200, b"second")
    finally:
        first.stop()
        second.stop()

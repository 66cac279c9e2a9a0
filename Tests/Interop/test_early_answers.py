# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""An upstream answers an upload before all of it came, and closes at once: its answer reaches the client, every time.

The kernel resets such a connection while the rest of the upload is on its way, so the answer has to be read out of a connection that
is broken already. Other proxies are known to answer 502 in its place now and then: many tries, on every combination of protocols.
"""
import socket
import ssl

import pytest

import upstreams
from conftest import LONG, route, url
from frames import Frames

TRIES = 2000 if LONG else 60
SORRY = b"too much" * 100
ANSWER = b"HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(SORRY) + SORRY
PIECES, PIECE = 24, bytes(8192)


class Abrupt(upstreams.Listener):
    """Answers each request as soon as its head, and perhaps some of its body, is there, and closes with the rest unread."""

    def __init__(self, tls=None, body=0):
        self.body, self.context = body, None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        super().__init__()

    def serve(self, client):
        client.settimeout(5)
        # What waits behind tickets for their acknowledgement would be thrown away by our own kernel.
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = self.context.wrap_socket(client, server_side=True) if self.context else client
        seen = b""
        while b"\r\n\r\n" not in seen or len(seen) - seen.index(b"\r\n\r\n") - 4 < self.body:
            part = client.recv(4096)
            if not part:
                return client.close()
            seen += part
        client.sendall(ANSWER)
        client.close()


@pytest.fixture(scope="module")
def stand(make, files, authority):
    """A gateway before four such servers, and before an nginx that closes without lingering."""
    pair = authority.issue("abrupt", ["localhost", "127.0.0.1"])
    servers = {"head": Abrupt(), "body": Abrupt(body=20000), "tls": Abrupt(tls=pair), "tls-body": Abrupt(tls=pair, body=20000)}
    nginx = upstreams.start_nginx(files / "abrupt-nginx", more="lingering_close off; client_max_body_size 1k;")
    made = {n: {"endpoints": [url(s, "https" if s.context else "http")], **({"tls": {"ca": str(authority.path)}} if s.context else {})}
            for n, s in servers.items()}
    made["nginx"] = {"endpoints": [url(nginx)]}
    for upstream in made.values():
        upstream["ejection"] = {"failures": 0}
    routes = [route(n, "/%s/" % n, n, access="open") for n in made]
    yield make(routes, made, workers=1)
    for server in servers.values():
        server.stop()
    nginx.stop()


def over_http1(gateway, path, tls):
    with gateway.wire(tls=tls) as client:
        try:
            client.send("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path, PIECES * len(PIECE)))
            for _ in range(PIECES):
                client.send(PIECE)
        except OSError:
            pass
        answer = client.answer()
        return answer.status, answer.body


def over_http2(gateway, path):
    with Frames(gateway.port) as client:
        stream = client.request("POST", path, [("content-length", str(PIECES * len(PIECE)))], end=False)
        for _ in range(7):
            client.data(stream, PIECE)
        answer = client.answer(stream, 10)
        return answer.status, answer.body if answer.ended else b"cut"


WAYS = {"http/1.1": lambda g, p: over_http1(g, p, False), "http/1.1 over TLS": lambda g, p: over_http1(g, p, True), "http/2": over_http2}


@pytest.mark.parametrize("server", ["head", "body", "tls", "tls-body", "nginx"])
@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_comes_with_a_reset_is_passed_on(stand, way, server):
    got = [WAYS[way](stand, "/%s/x" % server) for _ in range(TRIES)]
    wrong = [(status, body[:200]) for status, body in got if status != 413 or server != "nginx" and body != SORRY]
    assert not wrong, "%d of %d: %s" % (len(wrong), TRIES, wrong[:3])


# -- the connection after an early answer
@pytest.fixture(scope="module")
def early(make, nginx):
    """nginx answers `/ok` at once, whatever comes with it."""
    return make([route("all", "/", "nginx", access="open")], {"nginx": {"endpoints": [url(nginx)]}}, workers=1)


@pytest.mark.parametrize("framing", ["Content-Length: 60000", "Transfer-Encoding: chunked"])
def test_a_small_rest_is_thrown_away_and_the_next_request_taken(early, framing):
    chunked = "chunked" in framing
    half = b"7530\r\n" + bytes(30000) + b"\r\n" if chunked else bytes(30000)
    with early.wire() as client:
        for _ in range(20):
            client.send("POST /ok HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n" % framing)
            client.send(half)
            answer = client.answer()
            assert answer.status == 200 and answer["Connection"] != "close"
            # The next request comes in one piece with the end of this one.
            client.send(half + (b"0\r\n\r\n" if chunked else b"") + b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.answer().status == 200


def test_a_large_rest_ends_the_connection(early):
    with early.wire() as client:
        client.send("POST /ok HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert client.answer().status == 200
        client.send(bytes(999999))
        assert client.is_closed()


def test_a_rest_that_does_not_come_ends_the_connection(early):
    with early.wire() as client:
        client.send("POST /ok HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        assert client.answer().status == 200
        assert client.is_closed(4)


def test_a_malformed_rest_ends_the_connection(early):
    with early.wire() as client:
        client.send("POST /ok HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert client.answer().status == 200
        client.send("nonsense\r\n\r\nGET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.is_closed()


def test_a_client_that_waits_to_send_its_body_is_told_that_the_connection_ends(early):
    with early.wire() as client:
        client.send("POST /ok HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
        answer = client.answer()
        assert answer.status == 200
        if not answer.interim:
            assert answer["Connection"] == "close" and client.is_closed(4)

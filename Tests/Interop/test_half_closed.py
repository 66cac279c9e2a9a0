# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A client that closes its writing half with its request, in one packet, still gets its answer: clear and TLS, HTTP/1.1 and HTTP/2."""
import contextlib
import itertools
import socket
import ssl

import pytest

import h2server
import wire
from conftest import route, to_h2, url
from frames import PREFACE, SETTINGS, Frames, frame
from upstreams import Scripted

ROUNDS = 200


def request(method="GET", target="/v1/hello", fields=(), body=b""):
    lines = "".join("%s: %s\r\n" % field for field in dict(fields).items())
    if body:
        lines += "Content-Length: %d\r\n" % len(body)
    return ("%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (method, target, lines)).encode() + body


def corked(sock):
    """What is written leaves with the FIN, in one packet where it fits."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)


def everything(sock):
    data = b""
    while part := sock.recv(65536):
        data += part
    return data


def connect(port):
    """From an address of its own: failed checks are counted for each."""
    number = next(clients)
    return socket.create_connection(("127.0.0.1", port), 10, source_address=("127.7.%d.%d" % (number >> 8 & 255, number & 255), 0))


clients = itertools.count(1)


def half_closed(gateway, data, tls):
    """All that comes back for `data` and a FIN with it."""
    with connect(gateway.port if tls else gateway.clear_port) as sock:
        if not tls:
            corked(sock)
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            return everything(sock)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = wire.anything()
        context.set_alpn_protocols(["http/1.1"])
        engine = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        shake(sock, engine, incoming, outgoing)
        engine.write(data)
        with contextlib.suppress(ssl.SSLWantReadError):
            if tls == "notify":
                engine.unwrap()
        corked(sock)
        sock.sendall(outgoing.read())
        sock.shutdown(socket.SHUT_WR)
        return decrypted(sock, engine, incoming)


def shake(sock, engine, incoming, outgoing):
    while True:
        try:
            engine.do_handshake()
            break
        except ssl.SSLWantReadError:
            sock.sendall(outgoing.read())
            incoming.write(sock.recv(65536))
    # The handshake's last flight leaves with what follows.


def decrypted(sock, engine, incoming):
    data = b""
    while True:
        part = sock.recv(65536)
        if not part:
            break
        incoming.write(part)
    while True:
        try:
            part = engine.read(65536)
        except (ssl.SSLWantReadError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return data
        if not part:
            return data
        data += part


LOCAL = {
    "no credential": (request(), b" 401 "),
    "an origin that is not listed": (request(fields={"Origin": "https://evil.example"}), b" 40"),
    "no route": (request(target="/nowhere"), b" 404 "),
    "a malformed head": (b"GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", b" 400 "),
    "two lengths": (request("POST", "/open/x", {"Content-Length": "1, 2"}), b" 400 "),
    "a line too long": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b" 414 "),
    "fields too long": (request(fields={"X-Long": "b" * 40000}), b" 431 "),
    "a body too long": (request("POST", "/small/x", body=b"x" * 2000), b" 413 "),
    "a body that is announced too long": (request("POST", "/small/x", {"Content-Length": "100000"}), b" 413 "),
    "too many requests": (request(target="/once/x"), b" 429 "),
    "a preflight": (request("OPTIONS", fields={"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}), b" 204 "),
}

ROUTED = {
    "an ordinary request": (request(target="/open/hello"), b" 200 "),
    "a body": (request("POST", "/open/upload", body=b"x" * 20000), b" 200 "),
    "a chunked body": (request("POST", "/open/upload", {"Transfer-Encoding": "chunked"}) + b"5\r\nhello\r\n0\r\n\r\n", b" 200 "),
    "a slow answer": (request(target="/open/slow?s=0.02"), b" 200 "),
}


@pytest.fixture(scope="module")
def served(make, backend):
    once = [{"name": "once", "per": ["route"], "limit": 1, "window": "3600s"}]
    gateway = make(
        [route("api", "/v1/"), route("small", "/small/", access="open", body="1KiB"), route("once", "/once/", access="open", limits=once),
         route("open", "/open/", access="open")],
        {"api": {"endpoints": [url(backend)]}}, workers=1)
    gateway.create_organization()
    gateway.create_app(origins=["https://app.example"])
    gateway.get("/once/x")
    return gateway


@pytest.mark.parametrize("tls", [None, "notify", "bare"], ids=["clear", "TLS with close_notify", "TLS without"])
@pytest.mark.parametrize("what", [*LOCAL, *ROUTED])
def test_no_answer_is_lost_to_a_fin_with_the_request(served, what, tls):
    data, status = {**LOCAL, **ROUTED}[what]
    lost = []
    for _ in range(ROUNDS):
        answer = half_closed(served, data, tls)
        whole = answer.startswith(b"HTTP/1.1" + status) and b"\r\n\r\n" in answer
        if b" 401 " in answer or b" 403 " in answer or b" 200 " in answer:
            whole = whole and answer.rstrip().endswith(b"}")
        if not whole:
            lost.append(answer[:80])
    assert not lost, "%d of %d lost: %s" % (len(lost), ROUNDS, lost[:3])


@pytest.mark.parametrize("tls", [None, "notify", "bare"], ids=["clear", "TLS with close_notify", "TLS without"])
def test_every_request_of_a_pipeline_is_answered(served, tls):
    for _ in range(20):
        answer = half_closed(served, request(target="/open/hello") + request() + request(target="/open/slow?s=0.01"), tls)
        assert [answer.count(b"HTTP/1.1 %d" % status) for status in (200, 401)] == [2, 1], answer


@pytest.mark.parametrize("tls", [None, "notify", "bare"], ids=["clear", "TLS with close_notify", "TLS without"])
@pytest.mark.parametrize("what", ["stream", "sse"])
def test_an_answer_that_streams_on_comes_whole(served, what, tls):
    answer = half_closed(served, request(target="/open/%s?n=10&delay=0.03" % what), tls)
    assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"0\r\n\r\n"), answer[-100:]
    assert answer.count(b"chunk " if what == "stream" else b"data: ") == 10


def test_half_a_request_is_no_request(served):
    """The refused sibling: what is cut is not forwarded as if it were whole."""
    before = len(served.access())
    for data in (b"GET /open/hello HTTP/1.1\r\nHost: a\r\n", request("POST", "/open/upload", {"Content-Length": "10"}) + b"half"):
        for tls in (None, "notify", "bare"):
            assert b" 200 " not in half_closed(served, data, tls)
    assert all(line["status"] != 200 for line in served.access()[before:])


# -- HTTP/2
def frames_half_closed(gateway, requests, tls):
    """Preface, requests and the FIN in one packet; the streams that came back."""
    client = Frames.__new__(Frames)
    with connect(gateway.port) as sock:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = wire.anything()
        context.set_alpn_protocols(["h2"])
        engine = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        shake(sock, engine, incoming, outgoing)
        client.__dict__.update(fake_client(engine))
        client.send(PREFACE + frame(SETTINGS))
        streams = [client.request(*arguments) for arguments in requests]
        with contextlib.suppress(ssl.SSLWantReadError):
            if tls == "notify":
                engine.unwrap()
        corked(sock)
        sock.sendall(outgoing.read())
        sock.shutdown(socket.SHUT_WR)
        client.buffer = decrypted(sock, engine, incoming)
        client.eof, client.send = True, lambda data: None
        while client.read_frame() is not None:
            pass
        return [client.streams.get(stream) for stream in streams]


def fake_client(engine):
    """A client whose bytes go into the TLS engine only."""
    import hpack

    decoder = hpack.Decoder()
    decoder.max_allowed_table_size = 65536
    return {"encoder": hpack.Encoder(), "decoder": decoder, "buffer": b"", "eof": False, "streams": {}, "frames": [], "block": None,
            "next_stream": 1, "goaway": None, "initial_window": 65535, "sent": {}, "credits": False, "send": engine.write}


H2 = {
    "no credential": (("GET", "/v1/hello"), 401),
    "no route": (("GET", "/nowhere"), 404),
    "a malformed head": (("GET", "/open/hello", (), None, "b@d"), 400),
    "a body too long": (("POST", "/small/x", (), b"x" * 2000), 413),
    "too many requests": (("GET", "/once/x"), 429),
    "an ordinary request": (("GET", "/open/hello"), 200),
    "a body": (("POST", "/open/upload", (), b"x" * 20000), 200),
    "a slow answer": (("GET", "/open/slow?s=0.02"), 200),
}


@pytest.mark.parametrize("tls", ["notify", "bare"], ids=["with close_notify", "without"])
@pytest.mark.parametrize("what", H2)
def test_no_answer_of_http2_is_lost_to_a_fin_with_the_request(served, what, tls):
    arguments, status = H2[what]
    lost = []
    for _ in range(ROUNDS):
        stream, = frames_half_closed(served, [arguments], tls)
        if stream is None or stream.status != status or not stream.ended:
            lost.append(stream)
    assert not lost, "%d of %d lost: %s" % (len(lost), ROUNDS, lost[:3])


def test_many_streams_of_a_half_closed_connection_are_answered(served):
    wanted = [H2[what] for what in ("no credential", "an ordinary request", "a slow answer", "no route")] * 5
    streams = frames_half_closed(served, [arguments for arguments, _ in wanted], "notify")
    assert [s.status for s in streams] == [status for _, status in wanted]
    assert all(s.ended for s in streams)


def test_half_a_request_of_http2_is_no_request(served):
    stream, = frames_half_closed(served, [("POST", "/open/upload", (), b"half", "localhost", False)], "notify")
    assert stream is None or stream.status is None


# -- the other direction
def test_an_upstreams_end_without_close_notify_is_still_a_cut(make, authority):
    """Only clients may end without close_notify: an answer that lasts until the end could be cut by anybody on the way."""
    def script(connection, _):
        while connection.request():
            connection.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it")
            raise EOFError

    server = Scripted(script, tls=authority.issue("bare", ["localhost", "127.0.0.1"]))
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": ["https://127.0.0.1:%d" % server.port], "tls": {"ca": str(authority.path)}}},
                   workers=1)
    with gateway.wire() as client:
        client.request("GET", "/x")
        with pytest.raises(wire.Closed):
            client.answer()
    server.stop()


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_an_upstream_of_either_protocol_answers_a_half_closed_client(make, authority, backend, protocol):
    server = h2server.Server(h2server.everyday) if protocol == "h2" else None
    gateway = make([route("all", "/", "all", access="open")], {"all": to_h2(server) if server else {"endpoints": [url(backend)]}}, workers=1)
    for tls in (None, "notify", "bare"):
        for _ in range(20):
            assert half_closed(gateway, request(target="/headers"), tls).startswith(b"HTTP/1.1 200 ")
    if server:
        server.stop()

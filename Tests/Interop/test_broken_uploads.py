# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Uploads that break their rules while their answer is under way: the answer is cut, and nobody else hears of it."""
import threading

import grpc
import pytest

import grpcserver
import h2server
import upstreams
from conftest import route, to_h2, url
from frames import Frames
from test_upstream_metrics import becomes
from wire import Closed

CHUNKED = "POST /%s/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
OPENED = b"3\r\nabc\r\n"
HELLO = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"


def early1(connection, number):
    """Answers a chunked upload as soon as its head is there, and never ends; tells what came of any other."""
    while b"chunked" not in (head := connection.head()).lower():
        count = int(head.lower().partition(b"content-length:")[2].split()[0])
        while len(connection.buffer) < count:
            connection.more()
        connection.ok(connection.buffer)
        connection.buffer = b""
    connection.send(HELLO)
    while True:
        connection.more()


def early2(stream):
    stream.head(200)
    stream.send(b"hello")
    while stream.read() is not None:
        pass


@pytest.fixture(scope="module")
def stand(make):
    first, second = upstreams.Scripted(early1), h2server.Server(early2)
    made = make([route("one", "/one/", "one", access="open"), route("two", "/two/", "two", access="open")],
               {"one": {"endpoints": [url(first)]}, "two": to_h2(second)}, workers=1,
               http={"body": "1KiB"}, timeouts={"idle": "300ms"})
    made.heads = first.requests
    yield made
    first.stop()
    second.stop()


def lines(gateway):
    return gateway.access_log.read_bytes().count(b"\n")


FAULTS = {"too long": b"7d0\r\n" + bytes(2000) + b"\r\n", "malformed": b"nonsense\r\n", "silent": b""}


@pytest.mark.parametrize("way", ["one", "two"])
@pytest.mark.parametrize("fault", FAULTS)
def test_http1_clients_see_the_answer_cut(stand, way, fault):
    with stand.wire() as client:
        client.send(CHUNKED % way)
        client.send(OPENED)
        assert client.head().status == 200 and client.until(b"hello\r\n") == b"5\r\nhello\r\n"
        client.send(FAULTS[fault])
        with pytest.raises((Closed, ConnectionError)):
            client.until(b"never")
        assert client.buffer == b""


@pytest.mark.parametrize("way", ["one", "two"])
def test_http2_clients_see_the_answer_cut(stand, way):
    with Frames(stand.port) as client:
        stream = client.request("POST", "/%s/x" % way, end=False)
        client.data(stream, b"abc")
        client.until(lambda: stream in client.streams and client.streams[stream].body == b"hello")
        client.data(stream, bytes(2000))
        answer = client.answer(stream)
        assert answer.reset is not None and len(answer.heads) == 1 and answer.body == b"hello"


@pytest.mark.parametrize("fault", ["malformed", "silent"])
def test_the_next_request_is_not_theirs(stand, fault):
    """What served the broken request serves somebody else now; what still comes of it must not reach that one's upstream."""
    with stand.wire() as broken, stand.wire() as other:
        broken.send(CHUNKED % "one")
        broken.send(OPENED)
        broken.until(b"hello\r\n")
        before = lines(stand)
        broken.send(FAULTS[fault])
        becomes(lambda: lines(stand) > before)
        other.send("POST /one/y HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\n")
        becomes(lambda: b"/one/y" in stand.heads[-1])
        try:
            broken.send(b"6\r\nstolen\r\n" * 3)
        except ConnectionError:
            pass
        other.send("honest")
        answer = other.answer()
        assert (answer.status, answer.body) == (200, b"honest")


def test_grpc_callers_hear_the_status(make, authority):
    server = grpcserver.Server()
    gateway = make([route("all", "/test.Echo/", "grpc", access="open")], {"grpc": to_h2(server)}, workers=1, http={"body": "10KiB"})
    go = threading.Event()

    def messages():
        yield b"x"
        go.wait(10)
        for _ in range(5):
            yield bytes(5000)

    try:
        with grpcserver.Client(gateway, authority) as client:
            answers = client.both("Chat")(messages(), timeout=20)
            assert next(answers) == b"heard x"
            go.set()
            with pytest.raises(grpc.RpcError) as raised:
                for _ in answers:
                    pass
            assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    finally:
        go.set()
        server.stop()

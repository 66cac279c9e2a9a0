# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Events and long polls on all four ways through: HTTP/1.1 and HTTP/2 on either side."""
import concurrent.futures
import ssl
import time

import httpx
import pytest

import h2server
import upstreams as peers
from conftest import route, to_h2, url
from nodes import usually

COUNT = 12


def ticks1(connection, number):
    while True:
        head = connection.head()
        if b"/wait" in head:
            time.sleep(0.7)
            connection.ok(b"at last")
            continue
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(COUNT):
            event = b"data: %.6f\n\n" % time.time()
            connection.send(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(0.04)
        connection.send(b"0\r\n\r\n")


def ticks2(stream):
    if stream.path.endswith("/wait"):
        time.sleep(0.7)
        return stream.answer(b"at last")
    stream.head(200, [("content-type", "text/event-stream")])
    for _ in range(COUNT):
        stream.send(b"data: %.6f\n\n" % time.time())
        time.sleep(0.04)
    stream.end()


@pytest.fixture(scope="module")
def over(make):
    first, second = peers.Scripted(ticks1), h2server.Server(ticks2)
    yield make([route("one", "/h1/", "one", access="open"), route("two", "/h2/", "two", access="open")],
               {"one": {"endpoints": [url(first)]}, "two": to_h2(second)}, workers=1)
    first.stop()
    second.stop()


@pytest.fixture(params=["http/1.1", "h2"])
def client(request, over, authority):
    trust = ssl.create_default_context(cafile=str(authority.path))
    with httpx.Client(http1=request.param == "http/1.1", http2=request.param == "h2", verify=trust, base_url=over.url, timeout=20) as made:
        made.expected = {"h2": "HTTP/2", "http/1.1": "HTTP/1.1"}[request.param]
        yield made


def lateness(client, path):
    late = []
    with client.stream("GET", path) as answer:
        assert answer.status_code == 200 and answer.http_version == client.expected
        assert answer.headers["content-type"] == "text/event-stream"
        for line in answer.iter_lines():
            if line.startswith("data: "):
                late.append(time.time() - float(line[6:]))
    return late


@pytest.mark.parametrize("way", ["h1", "h2"])
def test_each_event_arrives_within_50_milliseconds(client, way):
    lateness(client, "/%s/events" % way)

    def latest():
        late = lateness(client, "/%s/events" % way)
        assert len(late) == COUNT
        return max(late)

    usually(0.05, latest)


@pytest.mark.parametrize("way", ["h1", "h2"])
def test_events_of_many_streams_are_on_time(client, way, over, authority):
    trust = ssl.create_default_context(cafile=str(authority.path))

    def listen(_):
        # One client each: those of this package wait for one another.
        with httpx.Client(http1=client.expected == "HTTP/1.1", http2=client.expected == "HTTP/2", verify=trust, base_url=over.url, timeout=20) as own:
            own.expected = client.expected
            return lateness(own, "/%s/events" % way)

    def nearly_latest():
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            late = sorted(x for one in pool.map(listen, range(10)) for x in one)
        assert len(late) == 10 * COUNT
        return late[int(len(late) * 0.95)]

    usually(0.05, nearly_latest)


@pytest.mark.parametrize("way", ["h1", "h2"])
def test_a_long_poll_is_answered_when_the_upstream_does(client, way):
    def wait():
        began = time.monotonic()
        assert client.get("/%s/wait" % way).content == b"at last"
        took = time.monotonic() - began
        assert took > 0.6
        return took

    usually(1.2, wait)

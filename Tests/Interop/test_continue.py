# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""`Expect: 100-continue` with upstreams that say it, say it late, or never do."""
import time

import pytest

import upstreams
from conftest import route, url
from wire import Wire

HEAD = "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"


@pytest.fixture
def make(make):
    """There are many gateways here: each ends with its test."""
    made = []

    def one(*routes, **options):
        made.append(make(*routes, **options))
        return made[-1]

    yield one
    for gateway in made:
        gateway.remove()


def serving(make, script):
    server = upstreams.Scripted(script)
    return make([route("all", "/", "all", access="open")], {"all": {"endpoints": [url(server)]}}, workers=1), server


def test_the_gateway_says_it_when_the_upstream_does_not(make):
    def script(connection, _):
        connection.request()
        connection.ok(b"took it")

    gateway, server = serving(make, script)
    with Wire(gateway.clear_port) as client:
        began = time.monotonic()
        client.send(HEAD)
        assert client.head().status == 100
        assert 0.8 < time.monotonic() - began < 2
        client.send("hello")
        answer = client.answer()
        assert (answer.status, answer.body) == (200, b"took it")
    assert server.requests[0].count(b"100-continue") == 1


@pytest.mark.parametrize("late", [0, 1.5])
def test_the_client_hears_it_once(make, late):
    def script(connection, _):
        connection.head()
        time.sleep(late)
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        while len(connection.buffer) < 5:
            connection.more()
        connection.ok(connection.buffer)

    gateway, _ = serving(make, script)
    with Wire(gateway.clear_port) as client:
        client.send(HEAD)
        assert client.head().status == 100
        time.sleep(late + 1.5)
        client.send("hello")
        answer = client.answer()
        assert (answer.status, answer.body) == (200, b"hello")


@pytest.mark.parametrize("status", [b"200 OK", b"307 Temporary Redirect", b"403 Forbidden", b"417 Expectation Failed", b"503 Service Unavailable"])
@pytest.mark.parametrize("body", ["Content-Length: 5", "Transfer-Encoding: chunked"])
def test_an_early_answer_is_not_preceded_by_it(make, status, body):
    """A 417 too is the upstream's own word: the client may ask again without `Expect`, and the gateway does not for it."""
    def script(connection, _):
        connection.head()
        connection.send(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\nno")
        time.sleep(3)

    gateway, server = serving(make, script)
    with Wire(gateway.clear_port) as client:
        client.send(HEAD.replace("Content-Length: 5", body))
        answer = client.answer()
        assert (answer.status, answer.body, answer.interim) == (int(status[:3]), b"no", [])
        assert client.is_closed(5), "the body that is still owed must not be taken for a request"
    assert len(server.requests) == 1


@pytest.mark.parametrize("expectation", ["", "100-Continue, x", "200-ok", "100-continue\r\nExpect: 100-continue"])
def test_another_expectation_is_refused_here(make, expectation):
    gateway, server = serving(make, lambda connection, _: connection.ok())
    with Wire(gateway.clear_port) as client:
        client.send(HEAD.replace("100-continue", expectation))
        assert client.answer().status == 417
    assert server.requests == []

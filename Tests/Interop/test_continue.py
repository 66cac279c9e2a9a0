# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""`Expect: 100-continue` with upstreams that say it, say it late, or never do."""
import time

import pytest

import upstreams
from conftest import route, url
from wire import Wire

HEAD = "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"


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


def test_an_early_answer_is_not_preceded_by_it(make):
    def script(connection, _):
        connection.head()
        connection.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
        time.sleep(3)

    gateway, _ = serving(make, script)
    with Wire(gateway.clear_port) as client:
        client.send(HEAD)
        assert client.answer().status == 403

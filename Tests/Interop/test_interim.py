# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Interim answers on all four ways through: some are relayed, too many are no answer, and none fill the memory."""
import re
import time

import pytest

import gateway as binary
import h2server
import upstreams
from conftest import route, to_h2, url
from frames import Frames
from test_http2_upstream_framing import frame, literal

MOST = 32
KIB = 1024
LINK = "</" + "a" * 1000 + ".css>; rel=preload"
# Four of them are as much as may be together, and each is one frame.
LARGE = b"</" + b"a" * 15_900 + b".css>"
# To the upstream they mean: without end.
ENDLESS = 0


def first(connection, number):
    """`?n=` hints and then the answer, over HTTP/1.1; 100s where the path says so."""
    while True:
        head = connection.request()
        status = b"100 Continue" if b"/continue" in head else b"103 Early Hints"
        hint = b"HTTP/1.1 %s\r\nLink: %s\r\n\r\n" % (status, LARGE if b"/large" in head else LINK.encode())
        count = int(re.search(rb"n=(\d+)", head)[1])
        while count == ENDLESS:
            connection.send(hint * 100)
        connection.send(hint * count)
        connection.ok(b"connection %d" % number)


def second(stream):
    """The same over HTTP/2; by hand, because the package would count the table's bytes and the answers."""
    stream.body()
    status = "100" if "/continue" in stream.path else "103"
    value = LARGE.decode() if "/large" in stream.path else LINK[:100]
    hint = frame(1, 4, stream.number, literal([(":status", status), ("link", value)]))
    count = int(re.search(r"n=(\d+)", stream.path)[1])
    while count == ENDLESS:
        stream.connection.send_raw(hint * 1000)
    stream.connection.send_raw(hint * count)
    stream.answer(b"connection %d" % stream.connection.number)


@pytest.fixture(scope="module")
def over(make):
    one, two = upstreams.Scripted(first), h2server.Server(second)
    yield make([route("one", "/h1/", "one", access="open"), route("two", "/h2/", "two", access="open")],
               {"one": {"endpoints": [url(one)]}, "two": to_h2(two)}, workers=1)
    one.stop()
    two.stop()


def ask(gateway, client, path):
    """How many interim answers came, the final status, its Proxy-Status and its body."""
    if client == "h2":
        with Frames(gateway.port) as frames:
            stream = frames.exchange("GET", path)
            return len(stream.heads) - 1, stream.status, stream["proxy-status"], stream.body
    with gateway.wire() as wire:
        answer = wire.exchange("GET", path)
        return len(answer.interim), answer.status, answer["Proxy-Status"], answer.body


@pytest.mark.parametrize("client", ["h1", "h2"])
@pytest.mark.parametrize("upstream", ["h1", "h2"])
@pytest.mark.parametrize("count", [20, MOST])
def test_some_are_relayed_before_the_answer(over, client, upstream, count):
    came, status, _, body = ask(over, client, "/%s/x?n=%d" % (upstream, count))
    assert (came, status) == (count, 200) and body.startswith(b"connection")


@pytest.mark.parametrize("client", ["h1", "h2"])
@pytest.mark.parametrize("upstream", ["h1", "h2"])
@pytest.mark.parametrize("path", ["x", "continue"])
@pytest.mark.parametrize("count", [MOST + 1, 40, ENDLESS])
def test_too_many_are_no_answer_and_end_the_connection(over, client, upstream, path, count):
    before = ask(over, client, "/%s/x?n=1" % upstream)[3]
    came, status, why, _ = ask(over, client, "/%s/%s?n=%d" % (upstream, path, count))
    assert status == 502 and came <= MOST
    assert why == 'sallyport; error=http_protocol_error; details="too many interim answers"'
    after = ask(over, client, "/%s/x?n=1" % upstream)
    assert after[1] == 200 and after[3] != before


@pytest.mark.parametrize("client", ["h1", "h2"])
@pytest.mark.parametrize("upstream", ["h1", "h2"])
@pytest.mark.parametrize("count,status", [(4, 200), (5, 502)])
def test_large_ones_are_counted_by_their_bytes(over, client, upstream, count, status):
    came, seen, _, _ = ask(over, client, "/%s/large?n=%d" % (upstream, count))
    assert seen == status and came <= 4


@pytest.mark.parametrize("client", ["h1", "h2"])
@pytest.mark.parametrize("upstream", ["h1", "h2"])
def test_a_hundred_clients_that_do_not_read_large_ones_cost_little(over, client, upstream):
    pids = over.workers()
    before = binary.memory(pids)
    opened = []
    try:
        for _ in range(100 if client == "h1" else 10):
            one = Frames(over.port) if client == "h2" else over.wire()
            opened.append(one)
            for _ in range(10 if client == "h2" else 1):
                one.request("GET", "/%s/large?n=4" % upstream)
        time.sleep(0.5)
        most = binary.memory(pids)
    finally:
        for one in opened:
            one.close()
    assert most - before < 24 * KIB, "%d KiB" % (most - before)


@pytest.mark.parametrize("client", ["h1", "h2"])
@pytest.mark.parametrize("upstream", ["h1", "h2"])
def test_a_client_that_does_not_read_them_costs_no_memory(over, client, upstream):
    pids = over.workers()
    before = most = binary.memory(pids)
    end = time.monotonic() + 2
    opened = []
    path = "/%s/x?n=%d" % (upstream, ENDLESS)
    try:
        for _ in range(4):
            one = Frames(over.port) if client == "h2" else over.wire()
            opened.append(one)
            one.request("GET", path)
        while time.monotonic() < end:
            most = max(most, binary.memory(pids))
            time.sleep(0.02)
    finally:
        for one in opened:
            one.close()
    assert over.workers() == pids
    assert most - before < 16 * KIB, "%d KiB" % (most - before)


@pytest.mark.parametrize("client", ["h1", "h2"])
def test_trailers_without_end_are_not_kept(alone_with_trailers, client):
    """The siblings: a trailer section that never ends, and in HTTP/2 one after another."""
    gateway, path = alone_with_trailers
    pids = gateway.workers()
    before = most = binary.memory(pids)
    opened = Frames(gateway.port) if client == "h2" else gateway.wire()
    try:
        opened.request("GET", path)
        end = time.monotonic() + 2
        while time.monotonic() < end:
            most = max(most, binary.memory(pids))
            time.sleep(0.02)
    finally:
        opened.close()
    assert gateway.workers() == pids
    assert most - before < 16 * KIB, "%d KiB" % (most - before)


@pytest.fixture(scope="module", params=["h1", "h2"])
def alone_with_trailers(make, request):
    def endless1(connection, _):
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        while True:
            connection.send(b"X-More: yes\r\n" * 1000)

    def endless2(stream):
        stream.head(200)
        while True:
            stream.connection.send_raw(frame(1, 4, stream.number, literal([("x-more", "yes")])) * 1000)

    server = upstreams.Scripted(endless1) if request.param == "h1" else h2server.Server(endless2)
    upstream = {"endpoints": [url(server)]} if request.param == "h1" else to_h2(server)
    yield make([route("all", "/", "all", access="open")], {"all": upstream}, workers=1), "/x"
    server.stop()

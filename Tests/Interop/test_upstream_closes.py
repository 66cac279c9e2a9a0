# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Upstreams that close kept connections without saying so, and upstreams that cannot be connected to."""
import socket
import struct
import threading
import time

import pytest

import h2server
import upstreams
from conftest import route, to_h2, url
from test_drains import Stopped
from test_upstream_metrics import becomes, value

REQUESTS = 250
RESET = struct.pack("ii", 1, 0)


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def closes_after(count, way):
    """Serves so many requests on a connection; what comes of the next one is the way."""
    def script(connection, number):
        for _ in range(count):
            connection.request()
            connection.ok()
        if way == "at once":
            return
        if way == "unread":
            # The reset for bytes that nobody reads comes right after they were sent.
            connection.socket.recv(1, socket.MSG_PEEK)
            connection.socket.close()
            return
        connection.request()
        connection.server.lost.append(number)
        if way == "reset":
            reset(connection.socket)
            connection.socket.close()
    return script


def ask_all(gateway, method, body=None, callers=4):
    """The statuses of many requests, asked by several clients at once."""
    found, lock = [], threading.Lock()

    def ask():
        with gateway.wire() as client:
            for _ in range(REQUESTS // callers):
                status = client.exchange(method, "/x", body=body).status
                with lock:
                    found.append(status)

    threads = [threading.Thread(target=ask) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("way", ["at once", "unread", "after reading", "reset"])
@pytest.mark.parametrize("method,body", [("GET", None), ("PUT", b"x" * 2000)], ids=["GET", "PUT with a body"])
def test_what_may_be_repeated_survives_a_kept_connection_that_is_closed(make, way, method, body):
    server = upstreams.Scripted(closes_after(3, way))
    server.lost = []
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1)
    assert ask_all(gateway, method, body) == [200] * (REQUESTS // 4 * 4)
    if way in ("after reading", "reset"):
        # Each that was lost was sent again once.
        assert len(server.lost) > 20
        assert value(gateway, "sallyport_upstream_retries_total") >= len(server.lost)
    # A race with an idle limit is no fault.
    assert value(gateway, "sallyport_upstream_failures_total", 'upstream="api"') == 0
    server.stop()


@pytest.mark.parametrize("way", ["unread", "after reading", "reset"])
def test_what_may_not_be_repeated_is_sent_once(make, way):
    server = upstreams.Scripted(closes_after(1, way))
    server.lost = []
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1)
    with gateway.wire() as client:
        got = [client.exchange("POST", "/%d" % number, body=b"x").status for number in range(20)]
    assert got == [200, 502] * 10
    targets = [head.split()[1] for head in server.requests]
    assert len(targets) == len(set(targets))
    server.stop()


def test_what_may_not_be_repeated_is_not_sent_where_the_end_is_here_already(make):
    """The request is heard first, but the kernel knows of the upstream's end by then."""
    over = threading.Event()

    def script(connection, number):
        connection.request()
        connection.ok()
        if number > 1:
            return
        over.wait(10)
        connection.socket.shutdown(socket.SHUT_RDWR)
        server.ended.set()

    server = upstreams.Scripted(script)
    server.ended = threading.Event()
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1)
    with gateway.wire() as client:
        assert client.exchange("POST", "/x", body=b"x").status == 200
        with Stopped(gateway):
            client.request("POST", "/x", body=b"x")
            over.set()
            assert server.ended.wait(10)
        assert client.answer().status == 200
    assert len(server.requests) == 2
    server.stop()


def test_a_body_that_is_too_large_to_keep_is_sent_once(make):
    server = upstreams.Scripted(closes_after(1, "after reading"))
    server.lost = []
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1)
    with gateway.wire() as client:
        assert client.exchange("PUT", "/x", body=b"x" * 100_000).status == 200
        assert client.exchange("PUT", "/x", body=b"x" * 100_000).status == 502
    server.stop()


def test_who_lost_a_kept_connection_is_not_given_another_one(make):
    """One place only: the one who waits for a new connection finds those that others give back."""
    server = upstreams.Scripted(closes_after(1, "after reading"))
    server.lost = []
    gateway = make([route("all", "/", access="open")],
                   {"api": {"endpoints": [url(server)], "pool": {"connections": 1}, "timeouts": {"connect": "10s"}}}, workers=1)
    assert ask_all(gateway, "GET", callers=8) == [200] * (REQUESTS // 8 * 8)
    server.stop()


def test_a_retry_does_not_wait_for_a_place_that_an_idle_connection_has(make):
    """One endpoint loses a kept connection; the other has no place but that of one that is kept too."""
    def loses(connection, number):
        connection.request()
        connection.ok()
        connection.request()
        if number > 1:
            connection.ok()

    def keeps(connection, number):
        while True:
            connection.request()
            connection.ok()

    servers = [upstreams.Scripted(loses), upstreams.Scripted(keeps)]
    gateway = make([route("all", "/", access="open")],
                   {"api": {"endpoints": [url(server) for server in servers], "pool": {"connections": 1}}}, workers=1)
    with gateway.wire() as client:
        assert [client.exchange(target="/x").status for _ in range(3)] == [200] * 3
    assert value(gateway, "sallyport_upstream_retries_total") == 1
    for server in servers:
        server.stop()


def closing_h2(count, way):
    def script(stream):
        connection = stream.connection
        connection.served = getattr(connection, "served", 0) + 1
        if connection.served <= count:
            return stream.answer(b"ok")
        if way == "reset":
            reset(connection.socket)
        # The shutdown wakes who reads, and the connection is closed by him.
        connection.socket.shutdown(socket.SHUT_RD) if way == "reset" else connection.close()
    return script


@pytest.mark.parametrize("way", ["closed", "reset"])
@pytest.mark.parametrize("method,body", [("GET", None), ("PUT", b"x" * 2000)], ids=["GET", "PUT with a body"])
def test_what_may_be_repeated_survives_a_streamed_connection_that_is_closed(alone, way, method, body):
    gateway, server = alone(closing_h2(3, way))
    assert ask_all(gateway, method, body, callers=1) == [200] * REQUESTS
    assert value(gateway, "sallyport_upstream_retries_total") >= REQUESTS // 4
    assert value(gateway, "sallyport_upstream_failures_total", 'upstream="all"') == 0


def test_a_streamed_retry_is_not_given_a_connection_of_the_same_age(alone):
    """All connections that are there are lost without a word, one request after the other finds out."""
    import h2.settings

    together = threading.Barrier(4)

    def script(stream):
        if stream.path.endswith("together"):
            together.wait(10)
            stream.connection.old = True
            return stream.answer(b"ok")
        if getattr(stream.connection, "old", False):
            return stream.connection.close()
        stream.answer(b"ok")

    gateway, server = alone(script, settings={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1})
    clients = [gateway.wire() for _ in range(4)]
    for client in clients:
        client.request(target="/together")
    for client in clients:
        assert client.answer().status == 200
        client.close()
    with gateway.wire() as client:
        assert [client.exchange(target="/x").status for _ in range(4)] == [200] * 4


class Unreachable:
    """An address whose kernel answers no SYN, from now on: connects wait there in a full backlog."""

    def __init__(self, listener):
        self.waiting = []
        address = listener.getsockname()
        listener.listen(0)
        while True:
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(address)
            self.waiting.append(client)
            time.sleep(0.02)
            try:
                client.getpeername()
            except OSError:
                return

    def close(self):
        for client in self.waiting:
            client.close()


@pytest.fixture
def silent():
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    unreachable = Unreachable(listener)
    yield listener.getsockname()[1]
    unreachable.close()
    listener.close()


def took(gateway, target="/x"):
    began = time.monotonic()
    status = gateway.get(target).status
    return status, time.monotonic() - began


CONNECT = 2.0
TIMES = {"connect": "2s"}


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_a_connect_that_nobody_answers_takes_its_time_once(make, silent, protocol):
    gateway = make([route("all", "/", access="open", timeouts=TIMES)],
                   {"api": {"endpoints": ["http://127.0.0.1:%d" % silent], "protocol": protocol, "pool": {"connections": 1}}}, workers=1)
    status, seconds = took(gateway)
    assert status == 504 and CONNECT * 0.9 < seconds < CONNECT * 1.7
    # Another waits for the one place first: that is part of its time.
    first = threading.Thread(target=took, args=(gateway,))
    first.start()
    becomes(lambda: value(gateway, "sallyport_upstream_connections{", 'upstream="api"') == 1)
    threading.Event().wait(CONNECT / 4)
    status, seconds = took(gateway)
    first.join()
    assert status in (503, 504) and CONNECT * 0.6 < seconds < CONNECT * 1.5


class One:
    """Takes one connection, and leaves the next ones waiting."""

    def _accept(self):
        self._take(self.listener.accept()[0])


class OneScripted(One, upstreams.Scripted):
    pass


class OneStreamed(One, h2server.Server):
    pass


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_a_connect_after_a_lost_connection_takes_its_time_once(make, protocol):
    server = OneStreamed(closing_h2(1, "closed")) if protocol == "h2" else OneScripted(closes_after(1, "after reading"))
    server.lost = []
    upstream = to_h2(server) if protocol == "h2" else {"endpoints": [url(server)]}
    gateway = make([route("all", "/", access="open", timeouts=TIMES)], {"api": upstream}, workers=1)
    assert gateway.get("/x").status == 200
    full = Unreachable(server.listener)
    status, seconds = took(gateway)
    assert status == 504 and CONNECT * 0.9 < seconds < CONNECT * 1.7
    full.close()
    server.stop()

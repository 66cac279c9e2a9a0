# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""How streams and connections to HTTP/2 upstreams end, and what is sent again when they do."""
import concurrent.futures
import hashlib
import threading
import time

import h2.errors
import pytest

import h2server
import upstreams as peers
from conftest import route
from nodes import eventually

CODES = h2.errors.ErrorCodes


@pytest.mark.parametrize("method,body", [("GET", None), ("POST", b"x" * 5000), ("POST", b"x" * 16_000)])
def test_a_refused_stream_is_sent_again(alone, method, body):
    def script(stream):
        got = stream.body()
        if len(server.requests) == 1:
            return stream.reset(CODES.REFUSED_STREAM)
        stream.answer(hashlib.sha256(got).hexdigest().encode())

    gateway, server = alone(script)
    answer = gateway.get("/", method=method, body=body)
    assert answer.status == 200 and answer.body == hashlib.sha256(body or b"").hexdigest().encode()
    assert len(server.requests) == 2
    assert gateway.metrics()["sallyport_upstream_retries_total"] == 1


def test_a_body_too_large_to_keep_is_sent_once(alone):
    def script(stream):
        stream.body()
        stream.reset(CODES.REFUSED_STREAM)

    gateway, server = alone(script)
    answer = gateway.get("/", method="POST", body=b"x" * 100_000)
    assert answer.status == 502 and "connection_terminated" in answer["Proxy-Status"]
    assert len(server.requests) == 1


def test_a_stream_refused_again_and_again_ends(alone):
    gateway, server = alone(lambda stream: stream.reset(CODES.REFUSED_STREAM))
    assert gateway.get("/").status == 502
    assert len(server.requests) == 3


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_stream_behind_the_goaway_is_sent_again(alone, method):
    """GOAWAY with an earlier last stream: nothing was done about this one, so that even a POST goes elsewhere."""
    def script(stream):
        if stream.connection.number == 1 and len(server.requests) == 2:
            return stream.connection.do(lambda c: c.close_connection(last_stream_id=1))
        stream.answer(b"connection %d" % stream.connection.number)

    gateway, server = alone(script)
    assert gateway.get("/").body == b"connection 1"
    answer = gateway.get("/", method=method, body=b"hello" if method == "POST" else None)
    assert answer.body == b"connection 2"


def test_goaway_lets_what_is_under_way_end(alone):
    def script(stream):
        if stream.path == "/slow":
            stream.head(200)
            stream.connection.do(lambda c: c.close_connection(last_stream_id=stream.number))
            told.set()
            answered.wait(10)
            # The package thinks that nothing may be sent after GOAWAY; servers think otherwise.
            return stream.connection.send_raw(b"\x00\x00\x04\x00\x01" + stream.number.to_bytes(4, "big") + b"done")
        stream.answer(b"connection %d" % stream.connection.number)

    told, answered = threading.Event(), threading.Event()
    gateway, server = alone(script)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        slow = pool.submit(gateway.get, "/slow")
        assert told.wait(10)
        time.sleep(0.25)
        quick = gateway.get("/quick").body
        answered.set()
        assert quick == b"connection 2"
        assert slow.result().body == b"done"


def test_a_server_that_stops_in_two_steps_loses_no_request(alone):
    """The first GOAWAY announces the end, the second one names the last stream: between them requests are still served."""
    def goaway(connection, last):
        connection.send_raw(b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + last.to_bytes(4, "big") + b"\x00\x00\x00\x00")

    def script(stream):
        time.sleep(0.005)
        stream.answer(stream.body())

    gateway, server = alone(script)
    stop = threading.Event()

    def calls(number):
        made = 0
        with gateway.wire() as client:
            while not stop.is_set():
                answer = client.exchange("POST", "/", body=b"%d" % made)
                assert (answer.status, answer.body) == (200, b"%d" % made)
                made += 1
        return made

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        running = [pool.submit(calls, i) for i in range(8)]
        try:
            for _ in range(5):
                time.sleep(0.2)
                old = server.connections[-1]
                goaway(old, 2 ** 31 - 1)
                time.sleep(0.1)
                with old.lock:
                    last = max(old.streams)
                try:
                    goaway(old, last)
                except OSError:
                    # Its last answer was here already, and the gateway has closed it.
                    pass
            time.sleep(0.3)
        finally:
            stop.set()
        assert sum(r.result() for r in running) > 100
    assert len(server.connections) == 6
    end = time.monotonic() + 3
    while not all(c.ended for c in server.connections[:5]) and time.monotonic() < end:
        time.sleep(0.02)
    assert all(c.ended for c in server.connections[:5])


@pytest.mark.parametrize("code,status", [(CODES.INTERNAL_ERROR, 502), (CODES.CANCEL, 502), (CODES.NO_ERROR, 502), (CODES.ENHANCE_YOUR_CALM, 502)])
def test_a_reset_before_the_head_is_502(alone, code, status):
    gateway, server = alone(lambda stream: stream.reset(code))
    answer = gateway.get("/")
    assert answer.status == status and "connection_terminated" in answer["Proxy-Status"]
    assert len(server.requests) == 1


def test_a_connection_closed_in_idleness_is_not_a_failure(alone):
    gateway, server = alone(lambda stream: stream.answer(b"connection %d" % stream.connection.number))
    assert gateway.get("/").body == b"connection 1"
    server.connections[0].close()
    # What the gateway has not heard of yet would be a failure that it may not repeat.
    eventually(lambda: sum(v for n, v in gateway.metrics().items() if n.startswith("sallyport_upstream_connections{")) == 0)
    assert gateway.get("/", method="POST", body=b"x").body == b"connection 2"


def test_a_get_is_sent_again_when_the_connection_closes_under_it(alone):
    def script(stream):
        if stream.path == "/close" and stream.connection.number == 1:
            return stream.connection.close()
        stream.answer(b"connection %d" % stream.connection.number)

    gateway, server = alone(script)
    assert gateway.get("/").body == b"connection 1"
    assert gateway.get("/close").body == b"connection 2"


def test_a_post_is_not_sent_again_when_the_connection_closes_under_it(alone):
    def script(stream):
        if stream.path == "/close":
            return stream.connection.close()
        stream.answer(b"ok")

    gateway, server = alone(script)
    assert gateway.get("/").status == 200
    answer = gateway.get("/close", method="POST", body=b"x")
    assert answer.status == 502 and sum(s.path == "/close" for s in server.requests) == 1


def test_an_idle_connection_is_closed_in_order(alone):
    gateway, server = alone(lambda stream: stream.answer(b"ok"), pool={"idle_timeout": "300ms"})
    assert gateway.get("/").status == 200
    end = time.monotonic() + 3
    while not server.connections[0].ended and time.monotonic() < end:
        time.sleep(0.02)
    assert server.connections[0].ended and server.connections[0].goaway == 0
    assert gateway.metrics()['sallyport_upstream_connections{upstream="all",protocol="h2"}'] == 0


@pytest.mark.slow
def test_a_peer_that_vanished_is_found_out(alone):
    """Silence is asked about with one PING; without an answer, what may be sent again is, by a new connection."""
    def script(stream):
        if stream.path == "/x":
            return stream.answer(b"connection %d" % stream.connection.number)
        if stream.connection.number == 1:
            time.sleep(30)
        stream.answer(b"at last")

    gateway, server = alone(script)
    assert gateway.get("/x").body == b"connection 1"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(gateway.get, "/wait", {}, timeout=30)
        time.sleep(7)
        assert server.connections[0].pings == 1
        # It answered: the request goes on waiting. Deaf from now on, it is asked once more only after an answer.
        assert not answer.done()
        assert gateway.get("/x").body == b"connection 1"
        server.connections[0].deaf = True
        began = time.monotonic()
        assert answer.result().body == b"at last" and time.monotonic() - began < 14
    assert gateway.get("/x").body == b"connection 2"


def test_several_endpoints_take_turns_and_a_dead_one_is_passed_over(make):
    servers = [h2server.Server(lambda stream: stream.answer(b"%d" % stream.connection.server.port)) for _ in range(2)]
    dead = "http://127.0.0.1:%d" % peers.free_port()
    gateway = make([route("all", "/", "all", access="open")],
                   {"all": {"endpoints": [servers[0].endpoint, dead, servers[1].endpoint], "protocol": "h2"}}, workers=1)
    seen = [gateway.get("/") for _ in range(12)]
    assert {s.status for s in seen} == {200}
    assert {int(s.body) for s in seen} == {s.port for s in servers}
    for server in servers:
        server.stop()

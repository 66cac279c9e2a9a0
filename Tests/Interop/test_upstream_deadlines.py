# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Which deadline of an exchange runs, and whose fault its end is: the same for HTTP/1.1 and HTTP/2 upstreams."""
import threading
import time

import pytest

import h2server
import upstreams
from conftest import route, to_h2, url
from test_upstream_metrics import becomes, value

EVENTS = 12
BIG = 8 << 20


def script1(connection, number):
    while True:
        head = connection.head()
        path = head.split()[1].rpartition(b"/")[2]
        if path == b"events":
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(EVENTS):
                connection.send(b"9\r\ndata: x\n\n\r\n")
                time.sleep(0.05)
            connection.send(b"0\r\n\r\n")
        elif path == b"big":
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BIG)
            connection.send(bytes(BIG))
        elif path == b"never":
            connection.more()
        elif path == b"stalls":
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.more()
        else:
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            while len(connection.buffer) < length:
                connection.more()
            connection.buffer = b""
            connection.ok(b"%d" % length)


def script2(stream):
    path = stream.path.rpartition("/")[2]
    if path == "events":
        stream.head(200, [("content-type", "text/event-stream")])
        for _ in range(EVENTS):
            stream.send(b"data: x\n\n")
            time.sleep(0.05)
        stream.end()
    elif path == "big":
        stream.head(200, [("content-length", str(BIG))])
        stream.send(bytes(BIG), end=True)
    elif path == "never":
        while stream.reset_code is None and not stream.connection.ended:
            time.sleep(0.05)
    elif path == "stalls":
        stream.head(200, [("content-length", "10")])
        stream.send(b"abc")
    else:
        stream.answer(b"%d" % len(stream.body()))


TIMES = {"plain": {}, "short": {"total": "300ms"}, "late": {"first_byte": "200ms", "idle": "5s"}, "silent": {"idle": "500ms"}}


@pytest.fixture(scope="module", params=["http/1.1", "h2"])
def stand(request, make):
    server = h2server.Server(script2) if request.param == "h2" else upstreams.Scripted(script1)
    upstream = to_h2(server) if request.param == "h2" else {"endpoints": [url(server)]}
    # A pool of its own for each kind of times, so that each has failures of its own.
    made = make([route(name, "/%s/" % name, name, access="open", timeouts=times) for name, times in TIMES.items() if times]
                + [route("plain", "/plain/", "plain", access="open")],
                {name: {**upstream, "ejection": {"failures": 5, "duration": "60s"}} for name in TIMES}, workers=1)
    yield made
    server.stop()


def blames(gateway, name):
    return value(gateway, "sallyport_upstream_failures_total", 'upstream="%s"' % name)


def test_event_streams_outlive_the_total_time(stand):
    answer = stand.get("/short/events")
    assert answer.status == 200 and answer.body == b"data: x\n\n" * EVENTS


def test_other_answers_do_not(stand):
    with stand.wire() as client:
        client.request(target="/short/stalls")
        assert client.head().status == 200
        assert client.is_closed(5)
    assert blames(stand, "short") == 0


def test_the_upload_of_a_slow_client_is_not_a_late_answer(stand):
    with stand.wire() as client:
        client.send("POST /late/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
        time.sleep(0.5)
        client.send("b")
        assert client.answer().body == b"2"
    assert blames(stand, "late") == 0


def test_a_head_that_is_late_after_the_whole_request_ejects(stand):
    before = blames(stand, "late")
    threads = [threading.Thread(target=lambda: stand.get("/late/never")) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blames(stand, "late") == before + 5
    assert value(stand, "sallyport_upstream_ejections_total", 'upstream="late"') == 1


def test_a_reader_that_waits_is_not_a_silent_upstream(stand):
    with stand.wire() as client:
        client.request(target="/silent/big")
        assert client.head().status == 200
        time.sleep(1.2)
        assert len(client.exactly(BIG)) == BIG
    assert blames(stand, "silent") == 0


def test_silence_that_a_client_can_bring_about_ejects_nobody(stand):
    clients = [stand.wire() for _ in range(6)]
    for client in clients:
        client.request(target="/silent/stalls")
        assert client.head().status == 200
    for client in clients:
        assert client.is_closed(5)
        client.close()
    assert blames(stand, "silent") == 0


def test_deadlines_that_clients_choose_eject_nobody(stand):
    fields = {"Content-Type": "application/grpc", "Grpc-Timeout": "1n", "TE": "trailers"}
    for _ in range(6):
        answer = stand.get("/plain/never", fields, method="POST", body=b"")
        assert answer["grpc-status"] == "4"
    assert blames(stand, "plain") == 0


def test_websockets_outlive_the_total_time_and_may_fall_silent(make):
    def script(connection, number):
        connection.head()
        connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
        while True:
            connection.more()
            connection.send(b"\x82\x01" + b"x")

    server = upstreams.Scripted(script)
    gateway = make([route("all", "/", "all", access="open", timeouts={"total": "300ms", "idle": "1500ms"})], {"all": {"endpoints": [url(server)]}}, workers=1)
    asks = "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" \
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    clients = [gateway.wire() for _ in range(6)]
    try:
        for client in clients:
            client.send(asks)
            assert client.head().status == 101
        for _ in range(6):
            time.sleep(0.1)
            for client in clients:
                client.send(b"\x82\x81\0\0\0\0x")
                assert client.exactly(3) == b"\x82\x01x"
        for client in clients:
            assert client.is_closed(5)
        becomes(lambda: value(gateway, "sallyport_websockets_open") == 0)
        assert blames(gateway, "all") == 0
    finally:
        for client in clients:
            client.close()
        server.stop()

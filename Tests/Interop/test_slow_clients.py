# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Clients that are slow, silent or many."""
import time

import pytest

from conftest import route, url


@pytest.fixture(scope="module")
def stand(make, backend):
    return make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1,
                timeouts={"handshake": "1s", "header": "1s", "idle": "1s", "keep_alive": "1s"})


def test_a_silent_connection_is_closed(stand):
    with stand.wire() as client:
        assert client.is_closed(4)


def test_a_handshake_that_stops_is_closed(stand):
    from wire import Wire

    with Wire(stand.port) as client:
        client.send(b"\x16\x03\x01\x02\x00\x01")
        assert client.is_closed(4)


def test_a_head_that_trickles_is_cut(stand):
    with stand.wire() as client:
        began = time.monotonic()
        try:
            for byte in "GET /x HTTP/1.1\r\nHost: localhost\r\n" + "X: y\r\n" * 100:
                client.send(byte)
                time.sleep(0.05)
                if client.eof or time.monotonic() - began > 5:
                    break
        except OSError:
            pass
        assert time.monotonic() - began < 4
        assert client.is_closed(2)


def test_a_body_that_stops_is_cut(stand):
    with stand.wire() as client:
        client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc")
        began = time.monotonic()
        try:
            answer = client.answer()
            assert answer.status in (408, 502, 504)
        except (EOFError, OSError):
            pass
        assert time.monotonic() - began < 5


def test_a_reader_that_stops_is_cut(stand):
    with stand.wire() as client:
        client.request(target="/bytes?n=100000000")
        time.sleep(4)
        total = 0
        try:
            while client.fill():
                total += len(client.buffer)
                client.buffer = b""
        except OSError:
            pass
        assert total < 100000000


@pytest.mark.parametrize("tls", [False, True])
def test_an_upstream_that_waits_for_a_slow_reader_is_not_blamed(make, backend, tls):
    one = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)], "timeouts": {"idle": "1s"}}}, workers=1)
    with one.wire(tls=tls) as client:
        client.request(target="/bytes?n=20000000")
        assert client.head().status == 200
        time.sleep(2.5)
        assert len(client.exactly(20000000)) == 20000000
    assert one.metrics().get('sallyport_upstream_failures_total{upstream="api"}', 0) == 0


def test_an_idle_kept_connection_is_closed(stand):
    with stand.wire(tls=True) as client:
        assert client.exchange(target="/x").status == 200
        assert client.is_closed(4)


def test_a_slow_but_steady_client_is_served(stand):
    with stand.wire() as client:
        client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n")
        for _ in range(8):
            client.send("x")
            time.sleep(0.4)
        assert client.answer().json()["bytes"] == 8


def test_many_idle_connections_do_not_stop_the_others(stand):
    idle = [stand.wire() for _ in range(400)]
    assert stand.get("/x").status == 200
    for client in idle:
        client.close()


def test_failed_checks_of_one_address_are_slowed_down(make, backend):
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    gateway.create_organization()
    app = gateway.create_app()
    statuses = []
    for i in range(2000):
        statuses.append(gateway.get("/v1/x", {"X-App-Id": app.id, "X-Api-Key": app.key[:-12] + "%012d" % i}, source="127.0.0.9").status)
        if statuses[-1] == 429:
            break
    assert statuses[0] == 401 and statuses[-1] == 429
    assert gateway.get("/v1/x", app.fields, source="127.0.0.1").status == 200


def test_a_client_that_does_not_read_leaves_no_stopped_connection_to_the_next(make, nginx):
    """The last bytes of its answers find it congested; the upstream connection they came by serves somebody else then."""
    import socket
    (nginx.files / "file" / "some").write_bytes(bytes(10000))
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(nginx)]}}, workers=1)
    held = []
    for _ in range(10):
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        raw.connect(("127.0.0.1", gateway.clear_port))
        raw.setblocking(False)
        try:
            for _ in range(50):
                raw.send(b"GET /file/some HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
        except BlockingIOError:
            pass
        held.append(raw)
    time.sleep(1)
    for _ in range(20):
        assert gateway.get("/ok", timeout=5).status == 200
    for raw in held:
        raw.close()

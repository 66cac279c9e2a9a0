# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""WebSocket connections are judged like any request, then relayed."""
import concurrent.futures
import time

import pytest
import websockets.exceptions
import websockets.sync.client as client

from conftest import route, url


def connect(gateway, path="/v1/ws", fields=(), origin=None):
    return client.connect("ws://localhost:%d%s" % (gateway.clear_port, path), additional_headers=dict(fields), origin=origin, max_size=None)


@pytest.mark.parametrize("message", ["", "hello", "é" * 70000, b"\x00" * 3_000_000])
def test_messages_come_back(gateway, app, message):
    with connect(gateway, fields=app.fields) as socket:
        for _ in range(3):
            socket.send(message)
            assert socket.recv(timeout=10) == message
        socket.ping().wait(5)


def test_messages_come_back_by_tls(gateway, app, authority):
    import ssl

    trust = ssl.create_default_context(cafile=str(authority.path))
    with client.connect("wss://localhost:%d/v1/ws" % gateway.port, additional_headers=app.fields, ssl=trust) as socket:
        socket.send("hello")
        assert socket.recv(timeout=10) == "hello"


def test_many_connections_at_once(gateway, app):
    def talk(number):
        with connect(gateway, fields=app.fields) as socket:
            for i in range(20):
                socket.send("%d %d" % (number, i))
                assert socket.recv(timeout=20) == "%d %d" % (number, i)

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        list(pool.map(talk, range(40)))


@pytest.mark.parametrize("fields,origin,status", [({}, None, 401), ({}, "https://evil.example", 403)])
def test_a_handshake_without_a_credential_is_refused(gateway, app, fields, origin, status):
    with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
        connect(gateway, fields={"X-App-Id": app.id, **fields}, origin=origin)
    assert refused.value.response.status_code == status


def test_a_listed_origin_may_connect(gateway, app):
    with connect(gateway, fields={"X-App-Id": app.id}, origin="https://app.example") as socket:
        socket.send("x")
        assert socket.recv(timeout=5) == "x"


def test_an_upstream_that_declines_is_relayed(gateway):
    with gateway.wire() as wire:
        answer = wire.exchange(target="/open/hello", fields={
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
        assert answer.status == 200


@pytest.mark.parametrize("protocol", ["h2c", "tls/1.0", "foo", "websocket, h2c"])
def test_other_upgrades_are_not_passed_on(gateway, protocol):
    answer = gateway.get("/open/headers", {"Connection": "Upgrade", "Upgrade": protocol})
    assert answer.status != 101
    if answer.status == 200:
        assert "upgrade" not in [n.lower() for n, _ in answer.json()["fields"]]


def test_a_silent_connection_ends(make, backend):
    gateway = make([route("all", "/", access="open", timeouts={"idle": "1s"})], {"api": {"endpoints": [url(backend)]}}, workers=1)
    with client.connect("ws://localhost:%d/ws" % gateway.clear_port, ping_interval=None) as socket:
        socket.send("x")
        assert socket.recv(timeout=5) == "x"
        began = time.monotonic()
        with pytest.raises((websockets.exceptions.ConnectionClosed, TimeoutError)):
            socket.recv(timeout=6)
        assert time.monotonic() - began < 4

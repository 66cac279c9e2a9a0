# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What metrics say of upstreams, WebSockets, Redis and connections of one client."""
import time

import websockets.sync.client

import upstreams
from conftest import route, url
from wire import Wire


def value(gateway, name, *labels):
    return sum(v for n, v in gateway.metrics().items() if n.startswith(name) and all(label in n for label in labels))


def becomes(check, seconds=10):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not become so"
        time.sleep(0.05)


def test_idle_connections_and_failures_of_an_upstream(make, backend):
    dead = upstreams.free_port()
    gateway = make(
        [route("good", "/good", "good", access="open"), route("dead", "/dead", "dead", access="open")],
        {"good": {"endpoints": [url(backend)]}, "dead": {"endpoints": ["http://127.0.0.1:%d" % dead], "ejection": {"failures": 2, "duration": "5s"}}},
        workers=1)
    with Wire(gateway.clear_port) as client:
        assert client.exchange(target="/good").status < 500
        becomes(lambda: value(gateway, "sallyport_upstream_connections_idle", 'upstream="good"') == 1)
        for _ in range(3):
            assert client.exchange(target="/dead").status == 502
    becomes(lambda: value(gateway, "sallyport_upstream_failures_total", 'upstream="dead"') == 3)
    assert value(gateway, "sallyport_upstream_ejections_total", 'upstream="dead"') == 1
    assert value(gateway, "sallyport_upstream_failures_total", 'upstream="good"') == 0


def test_open_websockets(gateway, app):
    before = value(gateway, "sallyport_websockets_open")
    with websockets.sync.client.connect("ws://localhost:%d/v1/ws" % gateway.clear_port, additional_headers=app.fields) as socket:
        socket.send("hello")
        assert socket.recv(timeout=10) == "hello"
        becomes(lambda: value(gateway, "sallyport_websockets_open") == before + 1)
    becomes(lambda: value(gateway, "sallyport_websockets_open") == before)


def test_times_of_redis(gateway, app):
    becomes(lambda: value(gateway, "sallyport_redis_command_duration_seconds_count") > 0)
    counted = value(gateway, "sallyport_redis_command_duration_seconds_count")
    becomes(lambda: value(gateway, "sallyport_redis_command_duration_seconds_count") > counted, 10)


def test_connections_of_one_client(make, backend):
    gateway = make([route("all", "/", "all", access="open")], {"all": {"endpoints": [url(backend)]}}, workers=1,
                   connections={"per_client": 3})
    held = [Wire(gateway.clear_port) for _ in range(3)]
    for client in held:
        assert client.exchange(target="/echo").status < 500
    extra = Wire(gateway.clear_port)
    assert extra.is_closed()
    assert value(gateway, "sallyport_defence", "connections_per_client") == 1
    held.pop().close()
    time.sleep(0.2)
    with Wire(gateway.clear_port) as client:
        assert client.exchange(target="/echo").status < 500
    for client in held:
        client.close()

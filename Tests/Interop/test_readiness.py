# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A worker accepts when it can judge; until then another does, and where none can they say so."""
import os
import signal
import threading
import time

import pytest

from conftest import route, url
from nodes import Redis, eventually, usually

SERVE_STALE = 8


@pytest.fixture
def stand(make, backend):
    """stand(): a gateway over a Redis of somebody else's, with an app that both workers know."""
    made = []

    def stand(wait=True, known=True):
        redis = Redis()
        made.append(redis)
        gateway = make([route("api", "/v1/"), route("open", "/open/", access="open")], {"api": {"endpoints": [url(backend)]}},
                       workers=2, start=False)
        gateway.configuration["state"].update(redis="redis://127.0.0.1:%d" % redis.port, serve_stale="%ds" % SERVE_STALE)
        gateway.write()
        gateway.start()
        gateway.create_organization()
        app = gateway.create_app()
        for _ in range(24):
            assert gateway.get("/v1/x", app.fields).status == 200
        return gateway, app, redis

    yield stand
    for redis in made:
        redis.process.send_signal(signal.SIGCONT)
        redis.remove()


def watch_readiness(gateway, seen, stop):
    while not stop.is_set():
        seen.append(gateway.probe("/readyz"))
        time.sleep(0.005)


def test_a_killed_worker_does_not_take_the_node_out(stand):
    gateway, app, _ = stand()
    seen, stop = [], threading.Event()
    thread = threading.Thread(target=watch_readiness, args=(gateway, seen, stop))
    thread.start()

    def newcomers():
        slowest, old = 0, gateway.workers()
        os.kill(old[0], signal.SIGKILL)
        for _ in range(12):
            began = time.monotonic()
            assert gateway.get("/v1/x", app.fields).status == 200
            slowest = max(slowest, time.monotonic() - began)
        gateway.wait_for_workers(2, without=old[:1])
        time.sleep(0.4)
        return slowest

    slowest = usually(0.2, newcomers)
    stop.set()
    thread.join()
    print("slowest newcomer %.1f ms" % (slowest * 1e3))
    assert {status for status, _ in seen} == {200}, {text for status, text in seen if status != 200}


def test_a_worker_that_cannot_read_the_registry_leaves_newcomers_to_one_that_has(stand):
    """Redis is away when it starts; the other one's lease lasts still, and then both say 503."""
    gateway, app, redis = stand()
    stopped = time.monotonic()
    redis.process.send_signal(signal.SIGSTOP)
    old = gateway.workers()
    os.kill(old[0], signal.SIGKILL)
    gateway.wait_for_workers(2, without=old[:1])
    while time.monotonic() - stopped < SERVE_STALE - 3:
        assert gateway.get("/v1/x", app.fields, timeout=2).status == 200, "%.1f s" % (time.monotonic() - stopped)
        time.sleep(0.02)
    assert "a worker cannot judge yet" in gateway.output()
    assert gateway.metrics()["sallyport_workers_serving"] == 1
    time.sleep(max(0, stopped + SERVE_STALE + 2 - time.monotonic()))
    assert {gateway.get("/v1/x", app.fields, timeout=2).status for _ in range(24)} == {503}
    assert {gateway.get("/open/x", timeout=2).status for _ in range(24)} == {200}
    assert gateway.probe("/readyz")[0] == 503
    eventually(lambda: gateway.metrics()["sallyport_workers_serving"] == 2)
    redis.process.send_signal(signal.SIGCONT)
    eventually(lambda: gateway.probe("/readyz")[0] == 200)
    eventually(lambda: {gateway.get("/v1/x", app.fields, timeout=2).status for _ in range(24)} == {200})
    eventually(lambda: gateway.metrics()["sallyport_workers_judging"] == 2)


def test_a_node_that_starts_without_redis_serves_what_is_open_and_says_503_for_the_rest(stand):
    gateway, app, redis = stand()
    gateway.stop()
    redis.kill()
    began = time.monotonic()
    gateway.start(wait=False)
    eventually(lambda: opened(gateway))
    assert time.monotonic() - began < 4
    assert {gateway.get("/v1/x", app.fields, timeout=2).status for _ in range(8)} == {503}
    assert gateway.probe("/readyz")[0] == 503 and gateway.probe("/livez")[0] == 200
    redis.start()
    eventually(lambda: {gateway.get("/v1/x", app.fields, timeout=2).status for _ in range(8)} == {200})
    eventually(lambda: gateway.probe("/readyz")[0] == 200)


def opened(gateway):
    try:
        return gateway.get("/open/x", timeout=5).status == 200
    except OSError:
        return False


def test_the_first_answer_of_a_node_is_no_503(stand):
    """From the moment that it listens: whoever comes is served by the first worker that can judge."""
    gateway, app, _ = stand()
    for _ in range(5):
        gateway.stop()
        gateway.start(wait=False)
        statuses, end = set(), time.monotonic() + 3
        while time.monotonic() < end and len(statuses) < 2:
            try:
                statuses.add(gateway.get("/v1/x", app.fields, timeout=5).status)
            except ConnectionRefusedError:
                time.sleep(0.002)
                continue
            if gateway.probe("/readyz")[0] == 200:
                break
        assert statuses == {200}
        gateway.wait_until_ready()

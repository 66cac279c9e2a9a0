# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""kill -9: of a worker, of Redis, of everything."""
import concurrent.futures
import http.client
import os
import re
import signal
import socket
import threading
import time

import pytest

import gateway as binary
from conftest import LONG, route, url
from nodes import eventually


@pytest.fixture
def stand(make, backend):
    gateway = make([route("api", "/v1/"), route("open", "/open/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2)
    gateway.create_organization()
    return gateway, gateway.create_app(origins=["https://app.example"])


class Load:
    """Keep-alive clients in threads; every failure is kept with its kind and time."""

    def __init__(self, port, target, fields, clients=12):
        self.port, self.target, self.fields = port, target, fields
        self.running, self.good, self.failures, self.statuses = True, 0, [], {}
        self.threads = [threading.Thread(target=self.client, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def client(self):
        connection = None
        while self.running:
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("GET", self.target, headers=self.fields)
                answer = connection.getresponse()
                answer.read()
                self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
                self.good += answer.status == 200
                time.sleep(0.002)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append((time.monotonic(), type(error).__name__, str(error)))
                connection.close()
                connection = None

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join(15)


def counters(samples):
    return {n: v for n, v in samples.items() if n.partition("{")[0].endswith(("_total", "_count", "_sum", "_bucket"))}


def test_a_killed_worker_refuses_nobody_and_is_back_at_once(stand):
    gateway, app = stand
    load = Load(gateway.clear_port, "/v1/hello", app.fields)
    time.sleep(1)
    before = counters(gateway.metrics())
    lateness = []
    for _ in range(5):
        old = gateway.workers()
        assert len(old) == 2
        failed = len(load.failures)
        os.kill(old[0], signal.SIGKILL)
        # A new connection to either socket is served within 200 ms of the death.
        slowest = 0
        for _ in range(16):
            began = time.monotonic()
            assert gateway.get("/v1/hello", app.fields).status == 200
            slowest = max(slowest, time.monotonic() - began)
        lateness.append(slowest)
        gateway.wait_for_workers(2, without=old[:1])
        time.sleep(0.5)
        assert len(load.failures) - failed <= 12, "more failed than one worker's connections"
        after = counters(gateway.metrics())
        assert not [n for n, v in before.items() if after.get(n, -1) < v], "a counter went down"
        before = after
    load.stop()
    assert "ConnectionRefusedError" not in {kind for _, kind, _ in load.failures}, load.failures
    assert set(load.statuses) == {200}
    assert sorted(lateness)[len(lateness) // 2] < 0.2, lateness


def test_a_killed_redis_fails_no_request_of_a_known_app(stand):
    gateway, app = stand
    for _ in range(20):
        gateway.get("/v1/hello", app.fields)
    load = Load(gateway.clear_port, "/v1/hello", app.fields)
    for _ in range(3):
        time.sleep(0.5)
        old = gateway.redis()
        os.kill(old, signal.SIGKILL)
        eventually(lambda: any(pid != old and "redis-server" in binary.command_line(pid) for pid in gateway.descendants()))
        time.sleep(1)
    load.stop()
    assert load.failures == [] and set(load.statuses) == {200}, (load.statuses, load.failures)
    key, _ = gateway.create_key(app, "after")
    assert gateway.get("/v1/hello", {"X-App-Id": app.id, "X-Api-Key": key}).status == 200


@pytest.mark.slow
def test_a_key_that_was_shown_outlives_the_death_of_everything(stand):
    gateway, app = stand
    rounds = 100 if LONG else 25
    shown = []
    for i in range(rounds):
        if i % 25 == 24:
            app = gateway.create_app("web-%d" % i)  # an app has at most 32 keys
        shown.append({"X-App-Id": app.id, "X-Api-Key": gateway.create_key(app, "round-%d" % i)[0]})
        gateway.kill_everything()
        gateway.start()
        assert gateway.get("/v1/hello", shown[-1]).status == 200, "round %d" % i
    works = [gateway.get("/v1/hello", fields).status for fields in shown]
    assert works.count(200) == rounds
    print("keys that were shown %d, that work %d" % (rounds, works.count(200)))


def test_a_killed_supervisor_leaves_nobody_behind_and_can_be_started_again(stand):
    gateway, app = stand
    everyone = gateway.descendants()
    gateway.process.kill()
    gateway.process.wait()
    end = time.monotonic() + 10
    while [p for p in everyone if os.path.exists("/proc/%d" % p)] and time.monotonic() < end:
        time.sleep(0.05)
    left = [p for p in everyone if os.path.exists("/proc/%d" % p)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    gateway.start()
    assert gateway.get("/v1/hello", app.fields).status == 200
    assert left == []


def test_a_killed_supervisor_can_be_started_again_at_once(stand):
    gateway, app = stand
    for _ in range(3):
        gateway.process.kill()
        gateway.process.wait()
        gateway.start()
        assert gateway.get("/v1/hello", app.fields).status == 200


def listening(gateway, place):
    """A socket where the gateway listens, as a child of a killed one leaves it for the moment until it ends."""
    if place != "admin socket":
        return socket.create_server(("127.0.0.1", gateway.metrics_port if place == "metrics" else gateway.port))
    path = gateway.directory / "state/admin.sock"
    path.unlink(missing_ok=True)
    one = socket.socket(socket.AF_UNIX)
    one.bind(str(path))
    one.listen()
    return one


@pytest.mark.parametrize("place", ["clients", "metrics", "admin socket"])
def test_a_start_waits_for_what_a_killed_gateway_leaves(stand, place):
    gateway, app = stand
    gateway.stop()
    # It waits for half a second: on a busy machine this one may be late to let go, but not each time.
    for last in (False, False, True):
        with listening(gateway, place):
            gateway.start(wait=False)
            if place != "admin socket":
                eventually(lambda: "sallyport" == binary.command_line(gateway.process.pid).split(" ")[0] or gateway.process.poll() is not None)
            time.sleep(0.1)
        try:
            gateway.wait_until_ready()
            break
        except AssertionError:
            assert not last and gateway.process.wait(5) != 0
    assert gateway.get("/v1/hello", app.fields).status == 200


def test_a_killed_control_process_is_started_again(stand):
    gateway, app = stand
    control = [p for p in gateway.descendants() if p not in gateway.workers() and p != gateway.redis()]
    assert control
    for pid in control:
        os.kill(pid, signal.SIGKILL)
    assert gateway.get("/v1/hello", app.fields).status == 200
    end = time.monotonic() + 5
    while True:
        try:
            gateway.metrics()
            break
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)
    gateway.create_key(app, "after-control")


def test_term_lets_running_exchanges_end_and_takes_no_new_ones(stand):
    gateway, _ = stand
    with concurrent.futures.ThreadPoolExecutor(8) as pool, gateway.wire() as kept:
        kept.exchange(target="/open/x")
        slow = [pool.submit(gateway.get, "/open/slow?s=1.5") for _ in range(8)]
        time.sleep(0.4)
        told = len(gateway.output())
        began = time.monotonic()
        gateway.process.send_signal(signal.SIGTERM)
        assert [f.result().status for f in slow] == [200] * 8
        assert gateway.process.wait(10) == 0
        assert time.monotonic() - began < 8
        assert kept.is_closed()
    # Ending is no fault: nothing that it cuts off is told as one.
    assert not re.search(" (error|warning) ", gateway.output()[told:])


def test_an_answer_during_the_drain_says_close(stand):
    gateway, _ = stand
    with gateway.wire() as client:
        client.request(target="/open/slow?s=1")
        time.sleep(0.3)
        gateway.process.send_signal(signal.SIGTERM)
        answer = client.answer()
    assert answer.status == 200 and (answer["Connection"] or "").lower() == "close"
    assert gateway.process.wait(10) == 0


def test_int_stops_at_once(stand):
    gateway, _ = stand
    began = time.monotonic()
    gateway.process.send_signal(signal.SIGINT)
    gateway.process.wait(5)
    assert time.monotonic() - began < 3

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A child that hangs without dying: noticed, its connections taken by others, killed, started again."""
import concurrent.futures
import os
import signal
import threading
import time

import pytest

import hanging
import upstreams
from conftest import route, url
from nodes import eventually

#: Others take a child's connections after three seconds without a sign of life; it is killed after ten.
LATE, HUNG, TRACE = 3, 10, 2


@pytest.fixture
def stand(make, backend):
    gateway = make([route("api", "/v1/"), route("open", "/open/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2)
    gateway.create_organization()
    app = gateway.create_app()
    for _ in range(16):
        assert gateway.get("/v1/x", app.fields).status == 200
    yield gateway, app
    for pid in gateway.descendants():
        os.kill(pid, signal.SIGCONT)


def control(gateway):
    return next(p for p in gateway.descendants() if p not in gateway.workers() and p != gateway.redis())


def hangs(gateway, role):
    return gateway.metrics()['sallyport_process_hangs_total{role="%s"}' % role]


def statuses(gateway, app):
    """Of eight new connections; none where one was cut, as a killed worker leaves them."""
    try:
        return {gateway.get("/v1/x", app.fields).status for _ in range(8)}
    except OSError:
        return set()


def gone(pid):
    return not os.path.exists("/proc/%d" % pid)


class Newcomers:
    """A new connection every tenth of a second, each with its own thread: how long each waited, and for what."""

    def __init__(self, gateway, app):
        self.gateway, self.app, self.answers, self.stopping = gateway, app, [], threading.Event()
        self.threads = []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.is_set():
            one = threading.Thread(target=self.one)
            one.start()
            self.threads.append(one)
            time.sleep(0.1)

    def one(self):
        began = time.monotonic()
        try:
            status = self.gateway.get("/v1/x", self.app.fields, timeout=30).status
        except (OSError, EOFError) as error:
            status = type(error).__name__
        self.answers.append((began, time.monotonic() - began, status))

    def stop(self):
        self.stopping.set()
        self.thread.join()
        for one in self.threads:
            one.join()
        return self.answers


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stopped", "looping"])
def test_a_hung_worker_keeps_no_newcomer_and_is_started_again(stand, way):
    if way == "looping" and not hanging.POSSIBLE:
        pytest.skip("ptrace of x86-64 as root")
    gateway, app = stand
    old = gateway.workers()
    newcomers = Newcomers(gateway, app)
    time.sleep(0.5)
    began = time.monotonic()
    if way == "looping":
        hanging.loop_for_ever(old[0])
    else:
        os.kill(old[0], signal.SIGSTOP)
    eventually(lambda: gone(old[0]), HUNG + TRACE + 5)
    took = time.monotonic() - began
    gateway.wait_for_workers(2, without=old[:1])
    time.sleep(0.5)
    answers = newcomers.stop()
    assert HUNG - 1 < took < HUNG + TRACE + 3, took
    statuses = [status for _, _, status in answers]
    # What the hung worker had taken itself is lost with it.
    assert statuses.count(200) >= len(statuses) - 3, statuses
    assert set(statuses) <= {200, "ConnectionResetError", "EOFError"}
    waits = [wait for at, wait, status in answers if status == 200]
    assert max(waits) < LATE + 2.5, max(waits)
    later = [wait for at, wait, status in answers if status == 200 and at > began + LATE + 2.5]
    assert max(later) < 1, "newcomers wait although its sockets are lent"
    assert hangs(gateway, "worker") == 1 and hangs(gateway, "control") == 0
    assert 'a child hung' in gateway.output() and 'a child is late' in gateway.output()
    assert gateway.probe("/readyz")[0] == 200
    assert old[1] in gateway.workers(), "the other was left alone"


@pytest.mark.slow
def test_a_worker_that_was_only_late_is_left_alone(stand):
    gateway, app = stand
    old = gateway.workers()
    os.kill(old[0], signal.SIGSTOP)
    eventually(lambda: "a child is late" in gateway.output(), LATE + 4)
    assert gateway.probe("/readyz")[0] == 200, "one is enough"
    eventually(lambda: gateway.metrics()["sallyport_workers_serving"] == 1)
    for _ in range(16):
        assert gateway.get("/v1/x", app.fields, timeout=2).status == 200
    os.kill(old[0], signal.SIGCONT)
    eventually(lambda: "a child is well again" in gateway.output(), 4)
    time.sleep(HUNG - LATE)
    assert gateway.workers() == old and hangs(gateway, "worker") == 0
    assert gateway.metrics()["sallyport_workers_serving"] == 2


@pytest.mark.slow
def test_a_hung_control_is_started_again_and_no_request_notices(stand):
    gateway, app = stand
    old = control(gateway)
    newcomers = Newcomers(gateway, app)
    os.kill(old, signal.SIGSTOP)
    eventually(lambda: gone(old), HUNG + TRACE + 5)
    eventually(lambda: answers(gateway))
    assert {status for _, _, status in newcomers.stop()} == {200}
    assert hangs(gateway, "control") == 1 and hangs(gateway, "worker") == 0 and hangs(gateway, "redis") == 0
    key, _ = gateway.create_key(app, "after")
    assert gateway.get("/v1/x", {"X-App-Id": app.id, "X-Api-Key": key}).status == 200


def answers(gateway):
    try:
        return gateway.probe("/readyz")[0] == 200
    except OSError:
        return False


@pytest.mark.slow
def test_a_hung_redis_is_started_again_and_no_request_of_a_known_app_notices(stand):
    gateway, app = stand
    old = gateway.redis()
    newcomers = Newcomers(gateway, app)
    os.kill(old, signal.SIGSTOP)
    eventually(lambda: gone(old), HUNG + TRACE + 5)
    eventually(lambda: answers(gateway))
    assert {status for _, _, status in newcomers.stop()} == {200}
    assert hangs(gateway, "redis") == 1 and hangs(gateway, "control") == 0
    # Control finds the new one in its own time.
    eventually(lambda: gateway.run("keys", "create", "--app", app.id, "--name", "soon").returncode == 0)
    key, _ = gateway.create_key(app, "after")
    assert gateway.get("/v1/x", {"X-App-Id": app.id, "X-Api-Key": key}).status == 200


@pytest.mark.slow
def test_nobody_is_killed_because_the_machine_slept(stand):
    """As far as a process can tell: everything stands still, the supervisor too, and goes on."""
    gateway, app = stand
    everyone = [gateway.process.pid, *gateway.descendants()]
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(HUNG + TRACE + 3)
    # The supervisor first, and alone for a moment: its children are late then.
    for pid in everyone:
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.2)
    time.sleep(3)
    assert [gateway.process.pid, *gateway.descendants()] == everyone
    assert [hangs(gateway, role) for role in ("worker", "control", "redis")] == [0, 0, 0]
    assert {gateway.get("/v1/x", app.fields).status for _ in range(8)} == {200}


@pytest.mark.slow
def test_everything_that_hangs_at_once_comes_back_one_after_the_other(stand):
    gateway, app = stand
    everyone = gateway.descendants()
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    # Four that hang are found and killed in turn: some thirty seconds, on a busy machine more.
    eventually(lambda: all(gone(pid) for pid in everyone), 150)
    eventually(lambda: answers(gateway), 60)
    eventually(lambda: statuses(gateway, app) == {200}, 60)
    assert all(hangs(gateway, role) >= count for role, count in (("worker", 2), ("control", 1), ("redis", 1)))
    assert gateway.process.poll() is None


@pytest.mark.slow
def test_a_redis_that_hangs_while_control_starts_is_noticed(stand):
    """Control that is started again never meets a Redis that answers: its word counts all the same."""
    gateway, app = stand
    redis, old = gateway.redis(), control(gateway)
    os.kill(redis, signal.SIGSTOP)
    os.kill(old, signal.SIGKILL)
    eventually(lambda: gone(redis), 90)
    eventually(lambda: answers(gateway), 30)
    assert hangs(gateway, "redis") >= 1 and statuses(gateway, app) == {200}


def test_a_worker_that_was_stopped_takes_no_answer_for_late_that_was_there(make):
    """As when the machine sleeps, or its container is paused: first what has arrived, then what is overdue."""
    def script(connection, number):
        while connection.request():
            time.sleep(0.5)
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    server = upstreams.Scripted(script)
    gateway = make([route("all", "/", access="open", timeouts={"first_byte": "1s"})], {"api": {"endpoints": [url(server)]}}, workers=1)
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        answers = [pool.submit(lambda: gateway.get("/").status) for _ in range(100)]
        eventually(lambda: len(server.requests) == 100, pause=0.01)
        worker = gateway.workers()[0]
        os.kill(worker, signal.SIGSTOP)
        time.sleep(2)
        os.kill(worker, signal.SIGCONT)
        assert {answer.result() for answer in answers} == {200}
    server.stop()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A stop or reload that ends connections loses no request: what the kernel has acknowledged to a client is answered."""
import os
import signal
import socket
import struct
import threading
import time

import pytest

import gateway as binary
import upstreams
from conftest import route, url
from frames import Frames
from test_last_bytes import refused
from test_upstream_metrics import becomes
from wire import Wire

GET = b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"


def answers(connection, number):
    while True:
        connection.request()
        connection.ok()


def holds_back(connection, number):
    """The first part of an answer, and the rest when the test says so."""
    while True:
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        connection.server.go_on.wait(10)
        connection.send(b"cd")


@pytest.fixture(scope="module")
def server():
    made = upstreams.Scripted(answers)
    yield made
    made.stop()


def start(site, server, **more):
    return binary.Gateway(site, [route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1, **more)


class Stopped:
    """The one worker does not run: what clients send meanwhile lies in the kernel, behind what the supervisor said."""

    def __init__(self, gateway):
        self.worker = gateway.wait_for_workers(1)[0]

    def __enter__(self):
        os.kill(self.worker, signal.SIGSTOP)
        becomes(lambda: binary.state(self.worker) == "T")

    def __exit__(self, *_):
        os.kill(self.worker, signal.SIGCONT)


def told_to_drain(gateway):
    """TERM has come through: the supervisor holds none of the listeners, and has told its workers."""
    gateway.process.terminate()
    becomes(lambda: "draining" in gateway.output())
    port = struct.pack(">H", gateway.clear_port).hex().upper()
    listeners = {line.split()[9] for line in open("/proc/net/tcp") if line.split()[1].endswith(":" + port) and line.split()[3] == "0A"}
    becomes(lambda: not listeners & inodes(gateway.process.pid))
    # It closes them first and tells then: told it has when it waits again.
    becomes(lambda: binary.state(gateway.process.pid) == "S")


def inodes(pid):
    found = set()
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            link = os.readlink("/proc/%d/fd/%s" % (pid, name))
        except OSError:
            continue
        if link.startswith("socket:["):
            found.add(link[8:-1])
    return found


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_a_request_that_waits_on_a_kept_connection_when_the_stop_comes_is_served(site, server, tls):
    with start(site, server) as gateway:
        clients = [gateway.wire(tls) for _ in range(20)]
        for client in clients:
            assert client.exchange().status == 200
        silent = clients.pop()
        with Stopped(gateway):
            told_to_drain(gateway)
            for client in clients:
                client.send(GET)
        for client in clients:
            answer = client.answer()
            assert (answer.status, answer["Connection"]) == (200, "close")
            assert client.is_closed()
            client.close()
        assert silent.is_closed()
        silent.close()
        assert gateway.process.wait(10) == 0


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_a_connection_that_nobody_has_accepted_when_the_stop_comes_is_served(site, server, tls):
    with start(site, server) as gateway:
        got = []

        def ask():
            with Wire(gateway.port if tls else gateway.clear_port, tls) as client:
                answer = client.exchange()
                got.append((answer.status, answer["Connection"]))

        threads = [threading.Thread(target=ask) for _ in range(20)]
        with Stopped(gateway):
            for thread in threads:
                thread.start()
            becomes(lambda: waiting(gateway.port if tls else gateway.clear_port) == len(threads))
            told_to_drain(gateway)
        for thread in threads:
            thread.join(10)
        assert got == [(200, "close")] * len(threads)
        assert gateway.process.wait(10) == 0


def waiting(port):
    """The connections to a port that are established and whose clients have said something."""
    text = ":%04X" % port
    rows = [line.split() for line in open("/proc/net/tcp")]
    return sum(row[1].endswith(text) and row[3] == "01" and not row[4].endswith(":00000000") for row in rows)


def test_streams_that_were_opened_before_the_client_could_know_are_served(site, server):
    with start(site, server) as gateway:
        with Frames(gateway.port) as client:
            assert client.exchange(path="/x").status == 200
            with Stopped(gateway):
                told_to_drain(gateway)
                streams = [client.request(path="/x") for _ in range(20)]
            for stream in streams:
                assert client.answer(stream).status == 200
            client.until(lambda: client.eof)
            ends = [frame.last_stream for frame in client.frames if frame.type == 7]
            assert ends == [2**31 - 1, streams[-1]]
        assert gateway.process.wait(10) == 0


def test_a_kept_connection_whose_answer_promised_more_takes_one_more_request(site):
    """The head of the answer under way went out before the stop, without `Connection: close`."""
    server = upstreams.Scripted(holds_back)
    server.go_on = threading.Event()
    with start(site, server) as gateway:
        with gateway.wire() as client:
            client.send(GET)
            assert client.head()["Connection"] is None
            told_to_drain(gateway)
            becomes(lambda: refused(gateway.clear_port))
            with Stopped(gateway):
                server.go_on.set()
                client.send(GET)
            assert client.exactly(4) == b"abcd"
            answer = client.answer()
            assert (answer.status, answer["Connection"], answer.body) == (200, "close", b"abcd")
        assert gateway.process.wait(10) == 0
    server.stop()


ESTABLISHED = 1


class Caller(threading.Thread):
    """Asks on and on over one connection, until an answer says that it is the last one, or the connection has ended."""

    def __init__(self, gateway, tls):
        super().__init__(daemon=True)
        self.client, self.answered, self.lost, self.farewell = gateway.wire(tls), 0, None, False

    def run(self):
        with self.client as client:
            try:
                while not self.farewell and self.is_established():
                    client.send(GET)
                    was_heard = self.is_established()
                    try:
                        answer = client.answer()
                    except OSError as error:
                        # An end that was on its way before the request is no loss.
                        self.lost = error if was_heard else None
                        return
                    assert answer.status == 200
                    self.answered += 1
                    self.farewell = answer["Connection"] == "close"
            except OSError:
                pass

    def is_established(self):
        """Whether no end has come from the other side."""
        return self.client.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


@pytest.mark.parametrize("way", ["stop", "reload"])
@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_clients_that_ask_on_and_on_lose_nothing(site, server, tls, way):
    with start(site, server) as gateway:
        callers = [Caller(gateway, tls) for _ in range(24)]
        for caller in callers:
            caller.start()
        becomes(lambda: all(caller.answered > 3 for caller in callers))
        if way == "stop":
            gateway.process.terminate()
        else:
            # Whose address a client has is asked of others from now on: its connection ends as in a drain.
            for listener in gateway.configuration["listeners"]:
                listener["proxy_protocol"] = {"from": ["192.0.2.1"]}
            gateway.write()
            gateway.reload()
        for caller in callers:
            caller.join(10)
        assert not any(caller.is_alive() for caller in callers)
        assert [caller.lost for caller in callers if caller.lost] == []
        # Who asks without a pause is told, not cut off.
        assert any(caller.farewell for caller in callers)
        if way == "stop":
            assert gateway.process.wait(10) == 0


def test_clients_of_http2_that_ask_on_and_on_lose_nothing(site, server):
    with start(site, server) as gateway:
        counts = [0] * 12

        def call(index):
            with Frames(gateway.port) as client:
                while client.goaway is None:
                    streams = [client.request(path="/x") for _ in range(4)]
                    for stream in streams:
                        assert client.answer(stream).status == 200
                        counts[index] += 1
                counts[index] = -1

        threads = [threading.Thread(target=call, args=(index,), daemon=True) for index in range(len(counts))]
        for thread in threads:
            thread.start()
        becomes(lambda: all(count > 8 for count in counts))
        gateway.process.terminate()
        for thread in threads:
            thread.join(10)
        assert counts == [-1] * len(counts)
        assert gateway.process.wait(10) == 0


def test_a_connection_that_was_idle_too_long_answers_what_has_come(site, server):
    with start(site, server, timeouts={"keep_alive": "2s"}) as gateway, gateway.wire() as client:
        assert client.exchange().status == 200
        with Stopped(gateway):
            end = time.monotonic() + 2.2
            client.send(GET)
            becomes(lambda: time.monotonic() > end)
        assert client.answer().status == 200
        assert client.is_closed(within=5)


def test_a_part_of_a_record_holds_a_connection_no_longer_than_a_part_of_a_head(site, server):
    with start(site, server, timeouts={"keep_alive": "200ms", "header": "1s"}) as gateway, gateway.wire(tls=True) as client:
        assert client.exchange().status == 200
        # Beneath TLS: the first byte of a record.
        os.write(client.socket.fileno(), b"\x17")
        assert client.is_closed()
        assert gateway.defended("slow_head") == 1


def test_a_client_that_has_asked_ahead_is_told_which_answer_is_the_last(site):
    """Its requests wait in the gateway until it has read what it was answered."""
    body, most = bytes(8000), 4000

    def script(connection, number):
        while True:
            connection.request()
            connection.ok(body)

    server = upstreams.Scripted(script)
    with start(site, server) as gateway:
        with gateway.wire() as client:
            client.send(GET * most)
            became, count = time.monotonic(), 0
            while time.monotonic() - became < 0.3:
                if len(server.requests) != count:
                    became, count = time.monotonic(), len(server.requests)
                time.sleep(0.01)
            assert 0 < count < most
            told_to_drain(gateway)
            end = time.monotonic() + 0.3
            becomes(lambda: time.monotonic() > end)
            answers = [client.answer()]
            while answers[-1]["Connection"] != "close":
                answers.append(client.answer())
            assert all(answer.status == 200 and answer.body == body for answer in answers)
            assert client.is_closed()
        assert gateway.process.wait(10) == 0
    server.stop()

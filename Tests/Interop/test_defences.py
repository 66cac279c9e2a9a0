# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Defences that do not depend on the protocol: rates by address, clients that trickle, memory. Each has a metric and a line."""
import argparse
import contextlib
import re
import socket
import ssl
import threading
import time

import pytest

import floods
import gateway as binary
from conftest import route, url
from frames import PING, frame
from nodes import eventually
from wire import Wire


def is_named(gateway, defence):
    return "defence=%s " % defence in gateway.output()


def opens(port, source, tls=False, path="/x"):
    """Whether a connection of that address is served."""
    try:
        with Wire(port, tls=tls, source=source, timeout=5) as client:
            return client.exchange(target=path).status == 200
    except (OSError, EOFError):
        return False


@pytest.fixture(scope="module")
def limited(make, backend):
    return make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1,
                connections={"rate": "20 + 2/s", "handshakes": "5 + 1/s"},
                client_address={"trusted_proxies": ["127.0.0.77/32"]})


def test_new_connections_of_one_address_are_bounded(limited):
    served = [opens(limited.clear_port, "127.0.0.21") for _ in range(40)]
    assert all(served[:20]) and not all(served[20:])
    assert 20 <= sum(served) <= 26
    assert opens(limited.clear_port, "127.0.0.22"), "others are not touched"
    assert all(opens(limited.clear_port, "127.0.0.77") for _ in range(40)), "trusted proxies are not counted"
    time.sleep(1.2)
    assert opens(limited.clear_port, "127.0.0.21"), "the budget refills"
    assert limited.defended("connection_rate") >= 14 and is_named(limited, "connection_rate")


def test_full_handshakes_of_one_address_are_bounded_and_resumed_ones_are_free(limited):
    served = [opens(limited.port, "127.0.0.31", tls=True) for _ in range(12)]
    assert all(served[:5]) and not all(served[5:])
    assert limited.defended("handshake_rate") >= 1 and is_named(limited, "handshake_rate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    session, resumed = None, 0
    for _ in range(12):
        raw = socket.create_connection(("127.0.0.1", limited.port), 5, source_address=("127.0.0.32", 0))
        with context.wrap_socket(raw, server_hostname="localhost", session=session) as client:
            resumed += client.session_reused
            client.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while client.recv(65536):
                pass
            session = client.session
    assert resumed == 11


@pytest.fixture(scope="module")
def impatient(make, backend):
    return make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, http={"body": "2GiB"},
                timeouts={"handshake": "1s", "header": "1s", "idle": "2s", "keep_alive": "2s", "least_rate": "1KiB", "patience": "3s"})


def test_a_body_that_trickles_is_cut_though_it_never_stops(impatient):
    with impatient.wire() as client:
        client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        began = time.monotonic()
        try:
            while time.monotonic() - began < 10:
                client.send("x")
                time.sleep(0.2)
                client.socket.settimeout(0.01)
                try:
                    if not client.fill():
                        break
                except TimeoutError:
                    pass
                if client.buffer:
                    break
        except OSError:
            pass
        assert 2.5 < time.monotonic() - began < 6
    assert impatient.defended("slow_body") >= 1 and is_named(impatient, "slow_body")


def test_a_body_at_the_least_rate_is_served_to_its_end(impatient):
    with impatient.wire() as client:
        client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n")
        for _ in range(20):
            client.send("x" * 1000)
            time.sleep(0.3)
        assert client.answer().json()["bytes"] == 20000


def trickle_read(gateway, rate, seconds, target="/bytes?n=100000000", fields=()):
    """Reads `rate` bytes a second with a small buffer; how long the gateway bore it (None: to the end)."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", gateway.clear_port))
    raw.settimeout(5)
    raw.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (target.encode(), b"".join(fields)))
    began = time.monotonic()
    try:
        while time.monotonic() - began < seconds:
            if not raw.recv(max(1, rate // 5)):
                return time.monotonic() - began
            time.sleep(0.2)
        return None
    except OSError:
        return time.monotonic() - began
    finally:
        raw.close()


def test_a_reader_that_trickles_is_cut_though_it_never_stops(impatient):
    before = impatient.defended("slow_reader")
    # The gateway's own view ends at the kernel's buffer, so that what the client takes is seen in steps.
    trickle_read(impatient, 20, 12)
    deadline = time.monotonic() + 5
    while impatient.defended("slow_reader") == before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert impatient.defended("slow_reader") == before + 1 and is_named(impatient, "slow_reader")


def test_a_reader_of_the_last_answer_is_cut_too(impatient):
    before = impatient.defended("slow_reader")
    trickle_read(impatient, 20, 12, fields=[b"Connection: close\r\n"])
    deadline = time.monotonic() + 5
    while impatient.defended("slow_reader") == before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert impatient.defended("slow_reader") == before + 1


def test_silence_in_every_phase_has_its_name(impatient):
    begun = {d: impatient.defended(d) for d in ("slow_handshake", "silent_connection", "slow_head")}
    clients = [Wire(impatient.port), Wire(impatient.clear_port), Wire(impatient.clear_port), Wire(impatient.port, tls=True)]
    clients[0].send(b"\x16\x03\x01\x02\x00\x01")
    clients[2].send("GET / HT")
    assert all(c.is_closed(5) for c in clients)
    assert impatient.defended("slow_handshake") == begun["slow_handshake"] + 1
    assert impatient.defended("silent_connection") == begun["silent_connection"] + 2
    assert impatient.defended("slow_head") == begun["slow_head"] + 1
    for defence in begun:
        assert is_named(impatient, defence)


def test_one_line_a_second_is_written_however_many_are_met(impatient):
    clients = [impatient.wire() for _ in range(200)]
    assert all(c.is_closed(5) for c in clients)
    time.sleep(1.5)
    lines = [line for line in impatient.output().splitlines() if "defence=silent_connection" in line]
    assert len(lines) < 20
    assert sum(int(re.search(r"cases=(\d+)", line)[1]) for line in lines) >= 200


@pytest.mark.slow
def test_memory_is_shed_before_the_budget_is_spent(make, nginx):
    """Answers that nobody reads fill the gateway's buffers; load is shed in its order and everything comes back."""
    with open(nginx.files / "file" / "huge", "wb") as file:
        file.truncate(100_000_000)
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(nginx)]}}, workers=1,
                   memory={"per_worker": "40MiB"}, timeouts={"idle": "8s"}, connections={"rate": "9999 + 999/s", "handshakes": "9999 + 999/s"})
    idle = [gateway.wire() for _ in range(50)]
    worker = gateway.workers()[0]
    held, most = [], 0
    for number in range(500):
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        raw.settimeout(5)
        try:
            raw.connect(("127.0.0.1", gateway.clear_port))
            raw.sendall(b"GET /file/huge HTTP/1.1\r\nHost: localhost\r\n\r\n")
        except OSError:
            pass
        held.append(raw)
        if number % 10 == 0:
            time.sleep(0.05)
            most = max(most, binary.memory([worker], "Anonymous"))
    deadline = time.monotonic() + 10
    while not gateway.defended("memory_connection") and time.monotonic() < deadline:
        opens(gateway.clear_port, "127.0.0.1", path="/ok")
        time.sleep(0.1)
    time.sleep(1.2)
    for name in ("memory_idle", "memory_connection"):
        assert gateway.defended(name) > 0 and is_named(gateway, name), gateway.output()[-2000:]
    assert gateway.metrics()["sallyport_memory_shedding"] == 1
    # Connections that were taken before the door closed may still fill their smaller buffers.
    assert most <= 44 << 10, "%d KiB" % most
    assert gateway.workers() == [worker]
    assert sum(c.is_closed(0.05) for c in idle) > 40, "idle connections went first"
    for raw in held:
        raw.close()
    deadline = time.monotonic() + 15
    while gateway.metrics()["sallyport_memory_shedding"] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert gateway.get("/ok", timeout=20).status == 200
    assert "memory_eases" in gateway.output()



def test_one_address_has_so_many_requests_under_way(make, backend):
    one = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, connections={"requests_per_client": 5})
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(one.wire(source="127.0.0.41")) for _ in range(5)]
        for client in waiting:
            client.request(target="/slow?s=1.5")
        time.sleep(0.2)
        with one.wire(source="127.0.0.41") as client:
            answer = client.exchange(target="/x")
            assert answer.status == 503 and answer["Retry-After"] == "1"
        with one.wire(source="127.0.0.42") as client:
            assert client.exchange(target="/x").status == 200, "others are not touched"
        assert all(client.answer().status == 200 for client in waiting)
        with one.wire(source="127.0.0.41") as client:
            assert client.exchange(target="/x").status == 200, "and neither is it, once some have ended"
    assert one.defended("requests_per_client") == 1 and is_named(one, "requests_per_client")


def test_who_floods_again_and_again_gets_no_new_connections(make, backend):
    one = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1,
               connections={"floods": "3 + 1/s"}, http2={"pings": "10 + 1/s"})
    flooded, refused, tries, began = 0, 0, 0, time.monotonic()

    def most():
        # The budget gives one back in each second that the machine took.
        return 4 + time.monotonic() - began

    while tries < 2 * most() and time.monotonic() < began + 60:
        tries += 1
        options = argparse.Namespace(source="127.0.0.51", port=one.port, end=time.monotonic() + 5)
        try:
            client = floods.h2_start(options)
        except OSError:
            refused += 1
            continue
        client.push(frame(PING, payload=bytes(8)) * 50)
        flooded += client.cut or client.hold(2)
        client.close()
    assert 3 <= flooded <= most() and flooded + refused == tries, (flooded, refused, tries)
    assert opens(one.port, "127.0.0.52", tls=True), "others are not touched"
    assert one.defended("floods_per_client") >= refused and is_named(one, "floods_per_client")
    eventually(lambda: opens(one.port, "127.0.0.51", tls=True), pause=0.2), "the budget refills"


def test_a_connection_that_keeps_a_worker_busy_is_named(make, backend):
    one = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, http={"body": "2GiB"})
    stop = time.monotonic() + 4
    pieces = b"1\r\nx\r\n" * 20000

    def push():
        try:
            with one.wire(source="127.0.0.61") as client:
                client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
                while time.monotonic() < stop and not one.defended("busy_connection"):
                    client.send(pieces)
        except OSError:
            pass

    threads = [threading.Thread(target=push) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.defended("busy_connection") >= 1 and is_named(one, "busy_connection")

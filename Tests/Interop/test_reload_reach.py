# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What a reload reaches beside new connections: open ones, and files that alone were renewed."""
import contextlib
import shutil
import threading
import time

import pytest

import certificates
from conftest import route, url
from frames import Frames
from nodes import eventually
from upstreams import Scripted

FORWARDED = {"X-Forwarded-For": "203.0.113.9"}


def clients(gateway):
    return [line["client"] for line in gateway.access()]


def open_connections(gateway):
    return sum(value for name, value in gateway.metrics().items() if name.startswith("sallyport_open_connections"))


@pytest.fixture
def trusting(make, backend):
    return make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1,
                client_address={"trusted_proxies": ["127.0.0.0/8"]})


def change(gateway, **sections):
    gateway.configuration.update(sections)
    gateway.write()
    assert gateway.run("reload").returncode == 0


def test_a_proxy_that_is_trusted_no_longer_is_not_believed_on_a_kept_connection(trusting):
    with trusting.wire() as client:
        assert client.exchange("GET", "/", FORWARDED).status == 200
        assert clients(trusting)[-1] == "203.0.113.9"
        change(trusting, client_address={"trusted_proxies": ["10.0.0.0/8"]})
        assert client.exchange("GET", "/", FORWARDED).status == 200
        assert clients(trusting)[-1] == "127.0.0.1"
        change(trusting, client_address={"trusted_proxies": ["127.0.0.0/8"]})
        assert client.exchange("GET", "/", FORWARDED).status == 200
        assert clients(trusting)[-1] == "203.0.113.9"
    eventually(lambda: open_connections(trusting) == 0)


def test_nor_on_one_of_http2(trusting):
    with Frames(trusting.port) as client:
        assert client.exchange("GET", "/", [("x-forwarded-for", "203.0.113.9")]).status == 200
        change(trusting, client_address={"trusted_proxies": ["10.0.0.0/8"]})
        assert client.exchange("GET", "/", [("x-forwarded-for", "203.0.113.9")]).status == 200
        assert clients(trusting)[-1] == "127.0.0.1"


def test_a_reload_that_changes_who_is_trusted_loses_nobody(make):
    """Connections are told some at a time: one that is known as a handshake may have a request under way by then."""
    def script(connection, number):
        while connection.request():
            time.sleep(0.03)
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    server = Scripted(script)
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1,
                   client_address={"trusted_proxies": ["127.0.0.0/8"]},
                   connections={"per_client": 2000, "rate": "9999 + 9999/s", "handshakes": "9999 + 9999/s"})
    ends, answered = threading.Event(), []

    def ask():
        while not ends.is_set():
            try:
                answered.append(gateway.get("/", tls=True).status)
            except (OSError, EOFError, AssertionError) as fault:
                answered.append(repr(fault))

    with contextlib.ExitStack() as kept:
        for _ in range(1024):
            kept.enter_context(gateway.wire())
        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        for trusted in ("10.0.0.0/8", "127.0.0.0/8") * 4:
            change(gateway, client_address={"trusted_proxies": [trusted]})
        ends.set()
        for thread in threads:
            thread.join()
    assert set(answered) == {200} and len(server.requests) == len(answered)
    eventually(lambda: open_connections(gateway) == 0)
    server.stop()


def test_other_changes_leave_connections_open(trusting):
    with trusting.wire() as client:
        assert client.exchange("GET", "/", FORWARDED).status == 200
        change(trusting, timeouts={"idle": "50s"})
        assert client.exchange("GET", "/", FORWARDED).status == 200
    assert clients(trusting)[-1] == "203.0.113.9"


def test_what_a_listener_serves_no_longer_is_not_served_on_a_kept_connection(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    for listener in gateway.configuration["listeners"]:
        listener["serves"] = ["check"]
    gateway.write()
    gateway.start()
    with gateway.wire() as client:
        served = client.exchange("GET", "/gateway/check").status
        for listener in gateway.configuration["listeners"]:
            del listener["serves"]
        change(gateway)
        forwarded = client.exchange("GET", "/gateway/check").status
        assert served != forwarded, (served, forwarded)


def test_whom_a_balancer_named_is_not_believed_when_it_is_none_any_more(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    clear = next(listener for listener in gateway.configuration["listeners"] if "tls" not in listener)
    clear["proxy_protocol"] = {"from": ["127.0.0.0/8"]}
    gateway.write()
    gateway.start()
    with gateway.wire() as client:
        client.send(b"PROXY TCP4 203.0.113.7 127.0.0.1 1 2\r\n")
        assert client.exchange("GET", "/").status == 200
        assert clients(gateway)[-1] == "203.0.113.7"
        clear["proxy_protocol"] = {"from": ["10.0.0.0/8"]}
        change(gateway)
        assert client.is_closed()


def test_authorities_of_an_upstream_that_alone_were_renewed_count_after_a_reload(make, secure_backend, authority, tmp_path):
    file = tmp_path / "ca.pem"
    file.write_bytes(certificates.Authority(tmp_path, "Another Authority").path.read_bytes())
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(secure_backend, "https")], "tls": {"ca": str(file)}}}, workers=1)
    assert gateway.get("/").status == 502
    shutil.copy(authority.path, file)
    assert gateway.run("reload").returncode == 0
    assert gateway.get("/").status == 200

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""HTTP/2 and h2c to the upstream, from HTTP/1.1 clients: one test for each promise, every frame scripted."""
import concurrent.futures
import hashlib
import os
import re
import socket
import threading
import time

import h2.errors
import h2.settings
import pytest

import h2server
from conftest import route, to_h2
from h2server import everyday
from nodes import usually

CODES = h2.errors.ErrorCodes
SETTING = h2.settings.SettingCodes


@pytest.fixture(scope="module")
def plain():
    server = h2server.Server(everyday)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def secure(authority):
    server = h2server.Server(everyday, tls=authority.issue("h2-upstream", ["localhost", "127.0.0.1"]))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def over(make, plain, secure, authority):
    """The gateway with both kinds: /clear/ by h2c, /tls/ by ALPN."""
    return make(
        [route("clear", "/clear/", "clear", access="open"), route("tls", "/tls/", "tls", access="open")],
        {"clear": to_h2(plain), "tls": to_h2(secure, authority)}, workers=1, http={"body": "2GiB"})


KINDS = ["/clear", "/tls"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_and_its_answer(over, kind):
    answer = over.get(kind + "/headers?a=1", {"X-One": "1", "Cookie": "a=b", "Connection": "x-hop", "X-Hop": "no"})
    assert answer.status == 200 and answer.reason == "OK"
    seen = [tuple(f) for f in answer.json()["headers"]]
    names = [n for n, _ in seen]
    assert seen[:4] == [(":method", "GET"), (":scheme", "https" if kind == "/tls" else "http"), (":authority", "localhost"),
                        (":path", kind + "/headers?a=1")]
    assert ("x-one", "1") in seen and ("cookie", "a=b") in seen and ("x-forwarded-host", "localhost") in seen
    assert not {"connection", "x-hop", "host", "te"} & set(names)
    assert all(n == n.lower() for n in names)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 1, 70_000, 5_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_pass_both_ways(over, kind, size, chunked):
    body = os.urandom(size)
    with over.wire() as client:
        def upload():
            if chunked:
                client.send("POST %s/echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" % kind)
                for at in range(0, size, 50_000):
                    part = body[at:at + 50_000]
                    client.send(b"%x\r\n%s\r\n" % (len(part), part))
                client.send("0\r\nX-Sum: 42\r\nSallyport-App: evil\r\nX-App-Id: evil\r\n\r\n")
            else:
                client.request("POST", kind + "/echo", body=body)

        sender = threading.Thread(target=upload)
        sender.start()
        answer = client.answer()
        sender.join()
    assert answer.status == 200 and hashlib.sha256(answer.body).digest() == hashlib.sha256(body).digest()
    assert dict(answer.trailers)["x-count"] == str(size)
    assert dict(answer.trailers)["x-sum"] == ("42" if chunked else "none")


def test_trailers_carry_nothing_that_is_ours(over):
    with over.wire() as client:
        client.send("POST /clear/headers HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "1\r\nx\r\n0\r\nX-Sum: 1\r\nSallyport-App: evil\r\nX-App-Id: evil\r\nX_App_Id: evil\r\n\r\n")
        seen = client.answer().json()
    assert seen["trailers"] == [["x-sum", "1"]]


@pytest.mark.parametrize("kind", KINDS)
def test_heads_alone_interim_answers_and_head(over, kind):
    with over.wire() as client:
        answer = client.exchange(target=kind + "/hints")
        assert [i.status for i in answer.interim] == [103] and answer.body == b"after hints"
        answer = client.exchange(target=kind + "/empty")
        assert answer.status == 200 and answer.body == b"" and answer["X-Empty"] == "1" and answer["Content-Length"] == "0"
        assert client.exchange(target=kind + "/no-content").status == 204
        answer = client.exchange("HEAD", kind + "/x")
        assert answer.status == 200
        assert client.exchange(target=kind + "/x").body == b"ok"


def test_te_trailers_is_kept_and_other_te_is_not(over):
    for te, kept in [("trailers", True), ("gzip", False), ("gzip, trailers", True)]:
        seen = over.get("/clear/headers", {"TE": te, "Connection": "te"}).json()["headers"]
        assert ([n for n, v in seen if n == "te" and v == "trailers"] == ["te"]) == kept, seen


def test_many_requests_share_one_connection(alone):
    gate, arrived = threading.Event(), []

    def script(stream):
        arrived.append(stream)
        gate.wait(10)
        stream.answer(stream.path.encode())

    gateway, server = alone(script)
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = [pool.submit(gateway.get, "/%d" % i) for i in range(50)]
        end = time.monotonic() + 10
        while len(arrived) < 50 and time.monotonic() < end:
            time.sleep(0.01)
        metrics = gateway.metrics()
        gate.set()
        assert [a.result().body for a in answers] == [b"/%d" % i for i in range(50)]
    assert len(arrived) == 50 and len(server.connections) == 1
    assert metrics['sallyport_upstream_streams{upstream="all"}'] == 50
    assert metrics['sallyport_upstream_connections{upstream="all",protocol="h2"}'] == 1


def test_the_peers_limit_opens_more_connections(alone):
    busy, most, lock = {}, {}, threading.Lock()

    def script(stream):
        with lock:
            key = stream.connection.number
            busy[key] = busy.get(key, 0) + 1
            most[key] = max(most.get(key, 0), busy[key])
        time.sleep(0.2)
        with lock:
            busy[key] -= 1
        stream.answer(b"ok")

    gateway, server = alone(script, settings={SETTING.MAX_CONCURRENT_STREAMS: 4})
    assert gateway.get("/first").status == 200
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert [a.status for a in pool.map(lambda i: gateway.get("/%d" % i), range(12))] == [200] * 12
    assert max(most.values()) <= 4 and 3 <= len(server.connections) <= 4


def test_requests_wait_for_a_stream_where_no_connection_may_be_opened(alone):
    def script(stream):
        time.sleep(0.1)
        stream.answer(b"ok")

    gateway, server = alone(script, settings={SETTING.MAX_CONCURRENT_STREAMS: 2}, pool={"connections": 1, "idle": 1})
    assert gateway.get("/first").status == 200
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        assert [a.status for a in pool.map(lambda i: gateway.get("/%d" % i), range(10))] == [200] * 10
    assert len(server.connections) == 1


def test_requests_wait_no_longer_than_connect(alone):
    gate = threading.Event()

    def script(stream):
        gate.wait(10)
        stream.answer(b"ok")

    gateway, server = alone(script, timeouts={"connect": "300ms"}, settings={SETTING.MAX_CONCURRENT_STREAMS: 1}, pool={"connections": 1, "idle": 1})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(gateway.get, "/a")
        time.sleep(0.3)
        began = time.monotonic()
        second = gateway.get("/b")
        assert second.status == 503 and "connection_limit_reached" in second["Proxy-Status"]
        assert 0.2 < time.monotonic() - began < 1.5
        gate.set()
        assert first.result().status == 200


def test_a_reset_inside_the_answer_is_seen_by_the_client(alone):
    def script(stream):
        stream.head(200)
        stream.send(b"half")
        time.sleep(0.1)
        stream.reset(CODES.INTERNAL_ERROR)

    gateway, _ = alone(script)
    with gateway.wire() as client:
        client.request()
        with pytest.raises(EOFError):
            client.answer()


def test_the_client_that_leaves_cancels_the_stream_and_no_other(alone):
    def script(stream):
        if stream.path == "/x":
            return stream.answer(b"ok")
        stream.head(200)
        while stream.reset_code is None:
            stream.send(b"tick\n")
            time.sleep(0.02)

    gateway, server = alone(script)
    client = gateway.wire()
    client.request(target="/endless")
    client.head()
    client.close()
    end = time.monotonic() + 5
    while server.requests[0].reset_code is None and time.monotonic() < end:
        time.sleep(0.01)
    assert server.requests[0].reset_code == CODES.CANCEL
    assert gateway.get("/x").body == b"ok" and len(server.connections) == 1


def test_an_early_answer_to_an_upload(alone):
    """The answer reaches a client that is still sending, and the stream ends."""
    def script(stream):
        stream.answer(b"too much", status=413)
        stream.reset(CODES.NO_ERROR)

    gateway, server = alone(script, http={"body": "2GiB"})
    with gateway.wire() as client:
        client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n" + "x" * 100_000)
        answer = client.answer()
        assert answer.status == 413 and answer.body == b"too much"
    assert gateway.get("/").status == 413


def test_a_slow_client_holds_up_no_other(alone):
    def script(stream):
        if stream.path == "/big":
            stream.head(200)
            for _ in range(400):
                stream.send(b"x" * 65536)
            return stream.end()
        stream.answer(b"ok" * 1000)

    gateway, server = alone(script)
    slow = []
    for _ in range(8):
        client = gateway.wire()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.request(target="/big")
        client.head()
        slow.append(client)
    time.sleep(0.5)
    def quick():
        began = time.monotonic()
        assert len(gateway.get("/quick").body) == 2000
        return time.monotonic() - began

    usually(0.5, lambda: max(quick() for _ in range(20)))
    assert len(server.connections) == 1
    for client in slow:
        client.close()


def test_a_slow_client_gets_all_of_it(over):
    size = 8_000_000
    with over.wire(timeout=60) as client:
        client.request(target="/clear/big?%d" % size)
        head = client.head()
        got = len(client.buffer)
        while got < size:
            got += len(client.socket.recv(20_000))
            if got % 7 == 0:
                time.sleep(0.001)
        assert got == size and head["Content-Length"] == str(size)


def test_a_slow_upstream_holds_back_the_client(alone):
    def script(stream):
        time.sleep(1)
        stream.answer(b"%d" % len(stream.body()))

    gateway, server = alone(script, http={"body": "2GiB"})
    before = sum(memory_of(gateway))
    with gateway.wire(timeout=60) as client:
        client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n")
        most = [0]

        def watch():
            for _ in range(9):
                time.sleep(0.1)
                most[0] = max(most[0], sum(memory_of(gateway)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        block = b"x" * 1_000_000
        for _ in range(60):
            client.send(block)
        watcher.join()
        assert client.answer().body == b"60000000"
    assert most[0] - before < 12_000, "kilobytes: %d to %d" % (before, most[0])


def memory_of(gateway):
    import gateway as binary

    return [binary.memory([p]) for p in gateway.workers()]


@pytest.mark.parametrize("path,status,error", [
    ("/never", 504, "http_response_timeout"),
    ("/trickle", None, None),
])
def test_time_limits(alone, path, status, error):
    def script(stream):
        if stream.path == "/never":
            return time.sleep(5)
        if stream.path == "/x":
            return stream.answer(b"ok")
        stream.head(200)
        for _ in range(40):
            stream.send(b"x")
            time.sleep(0.1)

    gateway, server = alone(script, timeouts={"first_byte": "500ms", "idle": "1s", "total": "2s"})
    began = time.monotonic()
    with gateway.wire() as client:
        client.request(target=path)
        if status:
            answer = client.answer()
            assert answer.status == status and error in answer["Proxy-Status"]
            assert 0.4 < time.monotonic() - began < 1.5
        else:
            with pytest.raises(EOFError):
                client.answer()
            assert 1.5 < time.monotonic() - began < 3
    end = time.monotonic() + 10
    while server.requests[0].reset_code is None and time.monotonic() < end:
        time.sleep(0.01)
    assert server.requests[0].reset_code == CODES.CANCEL
    assert gateway.get("/x").body == b"ok" and len(server.connections) == 1


def test_silence_inside_an_answer_is_cut(alone):
    def script(stream):
        stream.head(200)
        stream.send(b"x")
        time.sleep(5)

    gateway, _ = alone(script, timeouts={"idle": "500ms"})
    began = time.monotonic()
    with gateway.wire() as client:
        client.request()
        with pytest.raises(EOFError):
            client.answer()
    assert 0.4 < time.monotonic() - began < 2


def test_a_long_quiet_upload_is_not_a_late_answer(alone):
    gateway, _ = alone(lambda stream: stream.answer(b"%d" % len(stream.body())), timeouts={"first_byte": "300ms", "idle": "3s"})
    with gateway.wire() as client:
        client.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
        time.sleep(1)
        client.send("1\r\nx\r\n0\r\n\r\n")
        assert client.answer().body == b"2"


def test_a_server_that_speaks_no_http2_is_502(make, backend):
    from conftest import url

    gateway = make([route("all", "/", "all", access="open")], {"all": {"endpoints": [url(backend)], "protocol": "h2"}}, workers=1)
    answer = gateway.get("/")
    # It answers 400 and closes, which may come first.
    assert answer.status == 502 and re.search("http_protocol_error|connection_terminated", answer["Proxy-Status"])


def test_a_server_that_does_not_agree_to_h2_is_502(make, authority):
    server = h2server.Server(everyday, tls=authority.issue("no-alpn", ["127.0.0.1"]), alpn=())
    gateway = make([route("all", "/", "all", access="open")], {"all": to_h2(server, authority)}, workers=1)
    answer = gateway.get("/")
    assert answer.status == 502 and "tls_protocol_error" in answer["Proxy-Status"]
    server.stop()


def test_a_websocket_goes_by_http1(make, backend):
    """The same clear-text upstream would be spoken to in h2c; WebSockets are asked for as HTTP/1.1."""
    import websockets.sync.client

    from conftest import url

    gateway = make([route("all", "/", "all", access="open")], {"all": {"endpoints": [url(backend)], "protocol": "h2"}}, workers=1)
    with websockets.sync.client.connect("ws://localhost:%d/ws" % gateway.clear_port) as client:
        client.send("hello")
        assert client.recv(timeout=5) == "hello"


def test_a_reload_keeps_the_connection_and_its_requests(alone):
    gate = threading.Event()

    def script(stream):
        if stream.path == "/slow":
            stream.head(200)
            gate.wait(10)
            return stream.end()
        stream.answer(b"ok")

    gateway, server = alone(script)
    with gateway.wire() as client:
        client.request(target="/slow")
        client.head()
        gateway.configuration["upstreams"]["all"]["timeouts"] = {"idle": "50s"}
        gateway.write()
        gateway.reload()
        end = time.monotonic() + 5
        while gateway.get("/x").status == 200 and len(server.connections) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        assert len(server.connections) == 2
        gate.set()
        assert client.until(b"0\r\n\r\n")
    end = time.monotonic() + 5
    while not server.connections[0].ended and time.monotonic() < end:
        time.sleep(0.02)
    assert server.connections[0].ended


def test_events_arrive_as_they_are_sent(over):
    def latest(kind):
        with over.wire() as client:
            client.request(target=kind + "/ticks")
            client.head()
            lines = ((client.until(b"\n\n"), time.time()) for _ in range(10))
            return max(at - float(line.split(b"data: ")[1].split()[1]) for line, at in lines)

    for kind in KINDS:
        usually(0.05, lambda: latest(kind))

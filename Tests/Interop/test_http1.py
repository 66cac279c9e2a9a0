# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""HTTP/1.1 between the client and the upstream, as it is on the wire."""
import hashlib
import time

import pytest

from conftest import route
from upstreams import Scripted, backend


@pytest.fixture(scope="module")
def scripted(make):
    """scripted(script): a gateway whose open route leads to that script; one gateway per script."""
    servers = []

    def start(script, **more):
        server = Scripted(script)
        servers.append(server)
        gateway = make([route("all", "/", access="open", **more)], {"api": {"endpoints": ["http://127.0.0.1:%d" % server.port]}}, workers=1)
        return gateway, server

    yield start
    for server in servers:
        server.stop()


def test_a_connection_carries_many_requests(gateway):
    with gateway.wire() as client:
        for i in range(50):
            assert client.exchange(target="/open/%d" % i).json()["path"] == "/open/%d" % i


def test_pipelined_requests_are_answered_in_order(gateway):
    with gateway.wire(tls=True) as client:
        client.send("".join("GET /open/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % i for i in range(20)))
        assert [client.answer().json()["path"] for _ in range(20)] == ["/open/%d" % i for i in range(20)]


def test_a_chunked_body_and_its_trailers_arrive(gateway):
    with gateway.wire() as client:
        client.send("POST /open/upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
        for part in (b"a", b"bc" * 1000, b"d" * 70000):
            client.send(b"%x\r\n%s\r\n" % (len(part), part))
        client.send("0\r\nX-Sum: 12\r\n\r\n")
        seen = client.answer().json()
    assert seen["bytes"] == 72001
    assert seen["sha256"] == hashlib.sha256(b"a" + b"bc" * 1000 + b"d" * 70000).hexdigest()
    assert [[n.lower(), v] for n, v in seen["trailers"]] == [["x-sum", "12"]]


def test_a_chunked_answer_keeps_its_trailers(gateway):
    answer = gateway.get("/open/trailers", {"TE": "trailers"})
    assert answer.body == b"body\n"
    assert [(n.lower(), v) for n, v in answer.trailers] == [("x-checksum", hashlib.sha256(b"body\n").hexdigest())]


def test_the_body_comes_back_while_it_is_sent(gateway):
    with gateway.wire(tls=True) as client:
        client.send("POST /open/echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        answer = client.head()
        assert answer.status == 200
        chunks = client.chunks(answer)
        assert next(chunks) == b"a"
        client.send("2\r\nbc\r\n")
        assert next(chunks) == b"bc"
        client.send("0\r\n\r\n")
        assert list(chunks) == []


def test_events_arrive_one_by_one(gateway):
    with gateway.wire(tls=True) as client:
        client.request(target="/open/sse?n=4&delay=0.2")
        answer = client.head()
        began, times = time.monotonic(), []
        for _ in client.chunks(answer):
            times.append(time.monotonic() - began)
    assert len(times) == 4
    assert times[3] - times[0] > 0.5


@pytest.mark.parametrize("head,body,seen", [
    (b"304 Not Modified\r\nContent-Length: 5\r\nETag: \"x\"", b"", b""), (b"304 Not Modified\r\nTransfer-Encoding: chunked", b"", b""),
    (b"204 No Content\r\nContent-Length: 5", b"", b""), (b"205 Reset Content\r\nContent-Length: 0", b"", b""),
    (b"205 Reset Content\r\nContent-Length: 5", b"hello", b"hello"), (b"205 Reset Content\r\nTransfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    (b"206 Partial Content\r\nContent-Range: bytes 0-1/5\r\nContent-Length: 2", b"he", b"he"),
    (b"416 Range Not Satisfiable\r\nContent-Range: bytes */5\r\nContent-Length: 0", b"", b""),
    (b"412 Precondition Failed\r\nContent-Length: 0", b"", b""),
], ids=lambda value: value.split(b"\r\n")[0].decode() if value[:1].isdigit() else "")
def test_the_end_of_an_answer_is_where_its_status_says(scripted, head, body, seen):
    """RFC 9112 6.3: the next answer on the connection is not taken for the rest of this one."""
    def script(connection, number):
        while b"/first" in connection.request():
            connection.send(b"HTTP/1.1 " + head + b"\r\n\r\n" + body)
        connection.ok(b"second on %d" % number)

    gateway, server = scripted(script)
    asked = {"Range": "bytes=0-1", "If-Range": '"x"', "If-None-Match": 'W/"x", "y"', "If-Match": "*", "If-Modified-Since": "Mon, 30 Nov 2026 12:00:00 GMT"}
    with gateway.wire() as client:
        answer = client.exchange("GET", "/first", asked)
        assert (answer.status, answer.body) == (int(head[:3]), seen)
        if b"Content-Range" in head:
            assert answer["Content-Range"] and answer["Content-Range"] in head.decode()
        assert client.exchange("GET", "/second").body.startswith(b"second")
    for name, value in asked.items():
        assert b"\r\n%s: %s\r\n" % (name.encode(), value.encode()) in server.requests[0], "conditions are the upstream's to judge"


@pytest.mark.parametrize("code", [204, 304])
def test_an_answer_without_a_body_leaves_the_connection_usable(gateway, code):
    with gateway.wire() as client:
        assert client.exchange(target="/open/status?code=%d" % code).status == code
        assert client.exchange(target="/open/next").status == 200


def test_head_has_the_length_and_no_body(gateway):
    with gateway.wire() as client:
        answer = client.exchange("HEAD", "/open/bytes?n=5000")
        assert answer.status == 200 and answer["Content-Length"] == "5000"
        assert client.exchange(target="/open/next").json()["path"] == "/open/next"


def test_early_hints_are_relayed(gateway):
    answer = gateway.get("/open/hints")
    assert answer.status == 200
    assert [i.status for i in answer.interim] == [103]


def test_expect_continue_is_judged_first(gateway, app):
    with gateway.wire() as client:
        client.send("POST /v1/upload HTTP/1.1\r\nHost: localhost\r\nX-App-Id: %s\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n" % app.id)
        answer = client.answer()
        assert answer.status == 401 and not answer.interim
    with gateway.wire() as client:
        client.send("POST /v1/upload HTTP/1.1\r\nHost: localhost\r\nX-App-Id: %s\r\nX-Api-Key: %s\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
                    % (app.id, app.key))
        assert client.head().status == 100
        client.send("hello")
        assert client.answer().json()["bytes"] == 5


def test_a_large_body_after_expect_is_refused_before_it_is_sent(scripted):
    gateway, server = scripted(lambda connection, _: connection.ok())
    with gateway.wire() as client:
        client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 99999999999999\r\n\r\n")
        answer = client.answer()
        assert answer.status == 413 and not answer.interim
    assert server.requests == []


def test_an_early_answer_to_an_upload_reaches_the_client(gateway):
    with gateway.wire() as client:
        client.send("POST /open/early?code=413 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n")
        try:
            for _ in range(100):
                client.send(b"x" * 65536)
        except OSError:
            pass
        answer = client.answer()
        assert answer.status == 413 and answer.json() == {"early": True}
        assert client.is_closed(5)


def test_a_plain_upgrade_to_http2_is_refused_or_ignored(gateway):
    answer = gateway.get("/open/headers", {
        "Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQCAAAAAAIAAAAA"})
    assert answer.status != 101
    if answer.status == 200:
        names = [n.lower() for n, _ in answer.json()["fields"]]
        assert "upgrade" not in names and "http2-settings" not in names


def head_of(size=0, fields=0, line=0):
    """A head whose line, field lines or number of fields are exactly so much."""
    target = "/open/headers" if not line else "/open/headers?" + "q" * (line - len("GET /open/headers? HTTP/1.1"))
    lines = ["Host: 127.0.0.1"]
    lines += ["X-%d: 1" % i for i in range(fields - 1)]
    if size:
        lines.append("X-Long: " + "v" * (size - len("Host: 127.0.0.1\r\nX-Long: \r\n")))
    return "GET %s HTTP/1.1\r\n%s\r\n\r\n" % (target, "\r\n".join(lines))


@pytest.mark.parametrize("head,status", [
    (head_of(line=8192), 200), (head_of(line=8193), 414), (head_of(fields=100), 200), (head_of(fields=101), 431), (head_of(size=8 << 10), 200),
    # The empty line counts.
    (head_of(size=(32 << 10) - 2), 200), (head_of(size=(32 << 10) - 1), 431),
], ids=["line", "line and one", "fields", "fields and one", "8 KiB", "bytes", "bytes and one"])
def test_a_head_at_its_limit_passes_and_one_more_does_not(hosted, head, status):
    with hosted[0].wire() as client:
        client.send(head)
        answer = client.answer()
        assert answer.status == status
        if status != 200:
            assert "http." in answer.json()["data"]["next_steps"][0], "the setting is named"


HOSTS = {
    "api.example.test": "named", "API.Example.TEST": "named", "api.example.test:80": "named", "api.example.test:8443": "named",
    "[::1]": "literal", "[::1]:8080": "literal", "127.0.0.1": "address", "127.0.0.1:1": "address",
    # An empty port is one more form of the same name, and refused like others that nobody sends (RFC 9110 4.2.3).
    "api.example.test:": 400, "other.example.test": None, "api.example.test.": None, "xapi.example.test": None, "api.example.test@other": 400, "api.example.test:99999": 400,
    "api.example.test:8x": 400, "[::1": 400, "::1": 400, "[::1]x": 400, "": 400, "a b": 400,
}


@pytest.fixture(scope="module")
def hosted(make):
    server = Scripted(lambda connection, _: [connection.request() and connection.ok() for _ in range(100)])
    routes = [route(name, "/", access="open") for name in ("named", "literal", "address")]
    for one, host in zip(routes, ("api.example.test", "[::1]", "127.0.0.1")):
        one["match"]["hosts"] = [host]
        one["response_headers"] = {"set": {"X-Route": one["name"]}}
    yield make(routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % server.port]}}, workers=1), server
    server.stop()


@pytest.mark.parametrize("host", HOSTS, ids=repr)
@pytest.mark.parametrize("form", ["origin", "absolute"])
def test_a_host_is_what_it_names_in_whatever_form(hosted, host, form):
    """The authority of an absolute target is the host whatever `Host` says (RFC 9112 3.2.2); a port is no part of the name."""
    gateway, server = hosted
    before = len(server.requests)
    with gateway.wire() as client:
        if form == "origin":
            client.send("GET /x HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
        else:
            client.send("GET http://%s/x HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, "127.0.0.1" if HOSTS[host] != "address" else "[::1]"))
        answer = client.answer()
    if HOSTS[host] in (None, 400):
        assert answer.status == (HOSTS[host] or 404)
        assert len(server.requests) == before
    else:
        assert (answer.status, answer["X-Route"]) == (200, HOSTS[host])
        assert b"\r\nHost: %s\r\n" % host.encode() in server.requests[-1], "one host is judged and forwarded"


MALFORMED = {
    "no host": ("GET / HTTP/1.1\r\n\r\n", {400}),
    "two hosts": ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", {400}),
    "no version": ("GET /\r\n\r\n", {400, 505}),
    "version 2": ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", {400, 505}),
    "length and chunked": ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", {400}),
    "another coding": ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", {400, 501}),
    "two lengths": ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", {400}),
    "negative length": ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", {400}),
    "space in a name": ("GET / HTTP/1.1\r\nHost: a\r\nX y: 1\r\n\r\n", {400}),
    "space before the colon": ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", {400}),
    "folded": ("GET / HTTP/1.1\r\nHost: a\r\n folded: 1\r\n\r\n", {400}),
    "bare line feeds": ("GET / HTTP/1.1\nHost: a\n\n", {400}),
    "long target": ("GET /%s HTTP/1.1\r\nHost: a\r\n\r\n" % ("a" * 70000), {414}),
    "long field": ("GET / HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n" % ("a" * 200000), {431}),
    "many fields": ("GET / HTTP/1.1\r\nHost: a\r\n%s\r\n" % "".join("X-%d: 1\r\n" % i for i in range(2000)), {431}),
    "connect": ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", {400, 404, 405, 501}),
    "a TLS hello": ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400}),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_request_is_answered_and_the_connection_closed(gateway, case):
    raw, status = MALFORMED[case]
    with gateway.wire() as client:
        try:
            client.send(raw)
        except OSError:
            pass
        assert client.answer().status in status
        assert client.is_closed(5)


def test_nothing_malformed_reaches_an_upstream(scripted):
    gateway, server = scripted(lambda connection, _: (connection.request(), connection.ok()))
    for raw in ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n"):
        with gateway.wire() as client:
            client.send(raw)
            client.answer()
    assert server.connections == 0 or server.requests == []


BADLY_FRAMED = {
    "length and chunked": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "length in words": b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
    "space in a name": b"HTTP/1.1 200 OK\r\nX y: 1\r\nContent-Length: 0\r\n\r\n",
    "no http": b"garbage\r\n\r\n",
    "another coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxx",
    "nothing": b"",
}


@pytest.mark.parametrize("case", BADLY_FRAMED)
def test_bad_framing_of_an_upstream_is_502(scripted, case):
    def script(connection, _):
        connection.request()
        connection.send(BADLY_FRAMED[case])

    gateway, _ = scripted(script)
    got = gateway.get("/x", method="POST", body=b"x")
    assert got.status == 502
    assert got["Proxy-Status"]


def test_a_body_that_ends_early_is_not_passed_off_as_whole(gateway):
    with gateway.wire() as client:
        client.request(target="/open/cut?n=100000")
        with pytest.raises((EOFError, OSError)):
            client.answer()


def test_an_idle_upstream_connection_that_was_closed_is_replaced(scripted):
    """A kept connection dies under the second request: one retry on a fresh one, for GET."""
    def close_after_second(connection, number):
        connection.request()
        connection.ok(b"%d" % number)
        connection.request()
        if number > 1:
            connection.ok(b"again")

    gateway, server = scripted(close_after_second)
    with gateway.wire() as client:
        assert client.exchange().body == b"1"
        assert client.exchange().status == 200
    assert server.connections == 2


def test_a_post_is_never_sent_twice(scripted):
    def script(connection, number):
        connection.request()
        connection.ok(b"first")
        connection.request()

    gateway, server = scripted(script)
    with gateway.wire() as client:
        assert client.exchange().status == 200
        assert client.exchange("POST", body=b"pay").status == 502
    assert sum(b"POST" in r for r in server.requests) == 1


def test_an_upstream_that_does_not_answer_is_504_in_time(make):
    server = Scripted(lambda connection, _: (connection.request(), time.sleep(30)))
    gateway = make([route("all", "/", access="open", timeouts={"first_byte": "500ms"})],
                   {"api": {"endpoints": ["http://127.0.0.1:%d" % server.port]}}, workers=1)
    began = time.monotonic()
    answer = gateway.get("/")
    assert answer.status == 504 and answer["Proxy-Status"]
    assert 0.4 < time.monotonic() - began < 2
    server.stop()


def test_an_upstream_that_is_not_there_is_502(make):
    from upstreams import free_port

    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": ["http://127.0.0.1:%d" % free_port()]}}, workers=1)
    answer = gateway.get("/")
    assert answer.status in (502, 503)
    assert answer["Proxy-Status"]


def test_a_dead_endpoint_is_passed_over(make, backend):
    from upstreams import free_port

    gateway = make([route("all", "/", access="open")],
                   {"api": {"endpoints": ["http://127.0.0.1:%d" % free_port(), "http://127.0.0.1:%d" % backend.port]}}, workers=1)
    statuses = [gateway.get("/").status for _ in range(30)]
    assert statuses[15:].count(200) == 15, statuses


def test_a_unix_socket_upstream_serves(make, files):
    import subprocess

    import upstreams

    path = files / "u.sock"
    child = subprocess.Popen(["/usr/bin/python3", upstreams.TOP / "config/examples/backend.py", "--unix", path], stdout=subprocess.DEVNULL)
    try:
        while not path.exists():
            time.sleep(0.01)
        gateway = make([route("all", "/", access="open")], {"api": {"endpoints": ["unix:" + str(path)]}}, workers=1)
        assert gateway.get("/hello").json()["path"] == "/hello"
    finally:
        child.kill()
        child.wait()


def test_absolute_form_and_asterisk_form(gateway):
    with gateway.wire() as client:
        client.send("GET http://localhost/open/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.answer().json()["path"] == "/open/x"
        client.send("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.answer().status in (200, 204, 404, 501)


def test_http_1_0_is_answered_and_closed(gateway):
    with gateway.wire() as client:
        client.send("GET /open/x HTTP/1.0\r\nHost: localhost\r\n\r\n")
        answer = client.answer()
        assert answer.status == 200
        assert client.is_closed()

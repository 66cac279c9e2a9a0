# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What operators meet: names that hide nothing, listeners that stay open to them, no words about what is in order."""
import base64
import contextlib
import http.client
import json
import socket
import ssl
import time

import pytest

import gateway as binary
from conftest import route, url

TURN = "\u202e"


@pytest.fixture(scope="module")
def stand(make, backend, site):
    import upstreams
    port = upstreams.free_port()
    one = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    one.admin_port = port
    one.configuration["admin"] = {"address": "127.0.0.1:%d" % port, "tls": {"certificates": [{"cert": site[0], "key": site[1]}], "default": site[0]}}
    one.write()
    one.start()
    one.configuration["admin"]["address"] = "unix:" + str(one.directory / "state/admin.sock")
    return one


@pytest.mark.parametrize("name", ["a%sb" % TURN, "a\u200bb", "a\u2028b", "a\u001b[2Jb", "\u2066x", "a\u3164b"])
def test_a_name_that_holds_what_is_not_seen_is_refused(stand, name):
    status, told = stand.ask_admin("POST", "/organizations", {"id": "acme", "name": name})
    assert status == 400 and "invisible" in told["message"], told
    status, _ = stand.ask_admin("POST", "/organizations", {"id": "fine", "name": "Zoë’s 店 👩\u200d👧 می\u200cخواهم"})
    assert status in (200, 201)


def test_what_others_put_into_a_token_is_written_out(stand):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    token = "%s.%s.%s" % (part({"alg": "ES256", "kid": "x"}), part({"iss": "x", "sub": "a%sb\u001b[2J" % TURN}), "AAAA")
    shown = stand.run("tokens", "inspect", "-", input=token)
    text = shown.stdout + shown.stderr
    assert TURN not in text and "\u001b" not in text, text


def test_our_own_redis_is_not_missed_while_it_starts(stand):
    assert "Redis cannot be used" not in stand.output(), stand.output()


def test_a_request_under_way_gives_way_to_nobody(stand):
    with socket.create_connection(("127.0.0.1", stand.metrics_port), timeout=5) as one:
        one.sendall(b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na")
        # The head has been read once a later connection was answered.
        assert stand.probe("/livez")[0] == 200
        idle = [socket.create_connection(("127.0.0.1", stand.metrics_port)) for _ in range(40)]
        try:
            one.sendall(b"b")
            assert one.recv(100).startswith(b"HTTP/1.1 405")
        finally:
            for each in idle:
                each.close()


def test_idle_connections_keep_no_operator_out(stand, site):
    """The listener for administrators and that for metrics, full of connections that ask for nothing."""
    for port, most in ((stand.admin_port, 8), (stand.metrics_port, 16)):
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(most)]
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as one:
                if port == stand.admin_port:
                    context = ssl.create_default_context()
                    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                    one = context.wrap_socket(one, server_hostname="localhost")
                one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % port)
                assert one.recv(100).startswith(b"HTTP/1.1 "), port
                one.close()
            # The oldest has ended for it, the youngest has not; its own deadline for a head comes only later.
            idle[0].settimeout(0.5)
            assert idle[0].recv(1) == b""
            idle[-1].settimeout(0.05)
            with pytest.raises(TimeoutError):
                idle[-1].recv(1)
        finally:
            for each in idle:
                each.close()


def peer_of(stand, port):
    one = socket.create_connection(("127.0.0.1", port), timeout=5)
    if port != stand.admin_port:
        return one
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(one, server_hostname="localhost")


def is_open(one):
    one.settimeout(0.05)
    try:
        return one.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("listener", ["admin", "metrics"])
def test_who_had_an_answer_gives_way_first(stand, listener):
    """Longest idle first; whoever is still sending a head, though older than all, is cut only where none is idle, and last who sends a body."""
    port, most = (stand.admin_port, 8) if listener == "admin" else (stand.metrics_port, 16)
    get = b"GET /livez HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % port
    with contextlib.ExitStack() as all:
        def asked(bytes):
            one = all.enter_context(peer_of(stand, port))
            one.sendall(bytes)
            return one

        def answered():
            one = asked(get)
            assert one.recv(4096).startswith(b"HTTP/1.1 ")
            return one

        body, half = asked(get.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Length: 1\r\n\r\n")), asked(get[:-2])
        kept = [answered() for _ in range(most - 2)]
        kept[0].sendall(get)
        assert kept[0].recv(4096).startswith(b"HTTP/1.1 "), "the first is the youngest now"
        more = answered()
        assert [is_open(one) for one in kept[:3]] == [True, False, True]
        half.settimeout(5)
        half.sendall(get[-2:] + get[:-2])
        assert half.recv(4096).startswith(b"HTTP/1.1 "), "an older one, of which half a head was there"
        for each in [kept[0], *kept[2:], more]:
            each.sendall(get[:-2])
        # The heads are read in no order known here: each newcomer cuts one, none the body.
        assert answered() and answered()
        body.settimeout(5)
        body.sendall(b"x")
        assert body.recv(4096).startswith(b"HTTP/1.1 "), "a request that is known"


@pytest.mark.parametrize("listener", ["admin", "metrics"])
def test_bodies_that_never_come_keep_nobody_out(stand, listener):
    port, most = (stand.admin_port, 8) if listener == "admin" else (stand.metrics_port, 16)
    with contextlib.ExitStack() as all:
        for _ in range(most):
            one = all.enter_context(peer_of(stand, port))
            one.sendall(b"POST /livez HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n" % port)
            assert one.recv(100).startswith(b"HTTP/1.1 100"), "its head is read"
        one = all.enter_context(peer_of(stand, port))
        one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % port)
        assert one.recv(100).startswith(b"HTTP/1.1 ")


UNREAD = {
    "a long target": (b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 20_000), 414, "uri_too_long"),
    "a long field": (b"GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (b"a" * 200_000), 431, "fields_too_large"),
    "no head": (b"what?\r\n\r\n", 400, "bad_request"),
    "two authorizations": (b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400, "bad_request"),
    "a long body": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413, "content_too_large"),
    "chunks": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 411, "length_required"),
    "another version": (b"GET / HTTP/2.7\r\nHost: x\r\n\r\n", 505, "version_not_supported"),
}


@pytest.mark.parametrize("case", UNREAD)
@pytest.mark.parametrize("listener", ["admin", "socket", "metrics"])
def test_what_is_refused_before_it_is_read_has_the_form_of_the_rest(stand, listener, case):
    """The admin API speaks JSON, whatever it says; the metrics listener plain text."""
    sent, status, code = UNREAD[case]
    if listener == "socket":
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(5)
        one.connect(str(stand.directory / "state/admin.sock"))
    else:
        one = peer_of(stand, stand.admin_port if listener == "admin" else stand.metrics_port)
    with one:
        one.sendall(sent)
        answer = http.client.HTTPResponse(one)
        answer.begin()
        text = answer.read()
    assert answer.status == status, text
    if listener == "metrics":
        assert answer.headers["Content-Type"].startswith("text/plain") and not text.startswith(b"{")
        return
    assert answer.headers["Content-Type"] == "application/json"
    said = json.loads(text)
    assert set(said) == {"error", "message", "details", "next_steps"} and said["error"] == code and said["message"]


def test_a_script_is_not_asked_and_locks_nobody_out(stand):
    stand.cli("orgs", "create", "locked")
    app = stand.create_app("locked", organization="locked", key=False)
    asked = stand.run("check", "enforce", "--app", app.id)
    assert asked.returncode != 0 and "--yes" in asked.stderr, asked
    assert stand.run("check", "enforce", "--app", app.id, "--yes").returncode == 0


@pytest.mark.parametrize("listener", ["admin", "metrics"])
def test_who_was_refused_and_stays_keeps_nobody_out(stand, listener):
    """Its connection listens on for a moment, which nobody should have to wait for."""
    port, most = (stand.admin_port, 8) if listener == "admin" else (stand.metrics_port, 16)
    with contextlib.ExitStack() as all:
        for _ in range(most):
            one = all.enter_context(peer_of(stand, port))
            one.sendall(b"NO REQUEST\r\n\r\n")
            assert one.recv(100).startswith(b"HTTP/1.1 400")
        one = all.enter_context(peer_of(stand, port))
        one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % port)
        assert one.recv(100).startswith(b"HTTP/1.1 ")


def test_who_asks_on_and_reads_nothing_costs_little(stand):
    control = next(p for p in stand.descendants() if p not in stand.workers() and p != stand.redis())
    before, end = binary.memory([control], "Anonymous"), time.monotonic() + 1
    with socket.create_connection(("127.0.0.1", stand.metrics_port)) as greedy:
        greedy.setblocking(False)
        greedy.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
        while time.monotonic() < end:
            assert stand.probe("/livez")[0] == 200
            assert binary.memory([control], "Anonymous") < before + 16 * 1024, "in KiB"
            time.sleep(0.05)

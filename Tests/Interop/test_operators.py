# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What operators meet: names that hide nothing, listeners that stay open to them, no words about what is in order."""
import base64
import json
import socket
import ssl

import pytest

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


def test_a_script_is_not_asked_and_locks_nobody_out(stand):
    stand.cli("orgs", "create", "locked")
    app = stand.create_app("locked", organization="locked", key=False)
    asked = stand.run("check", "enforce", "--app", app.id)
    assert asked.returncode != 0 and "--yes" in asked.stderr, asked
    assert stand.run("check", "enforce", "--app", app.id, "--yes").returncode == 0

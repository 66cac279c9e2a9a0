# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Heads as long as `http.head` allows, either way; tokens longer than any that is made are refused as bad ones."""
import pytest

import gateway as binary
import upstreams
from conftest import route, url
from test_offlineid import SIGN_IN

HEAD = 256 << 10


def answers(connection, number):
    """As long a field as the path says."""
    while True:
        length = int(connection.head().split()[1].rpartition(b"/")[2])
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: %s\r\n\r\n" % (b"x" * length))


@pytest.fixture(scope="module")
def long(site):
    access = lambda *credentials: {"organizations": ["acme"], "credentials": list(credentials), "person": "optional"}
    server = upstreams.Scripted(answers)
    routes = [
        route("offline", "/v1/", access=access("api_key", "session_token"), sign_in=SIGN_IN),
        route("vouch", "/vouch/", dialect="vouch", access=access("run_token", "api_key")),
        route("open", "/open/", access="open"),
    ]
    with binary.Gateway(site, routes, {"api": {"endpoints": [url(server)]}}, workers=1, http={"head": "%dKiB" % (HEAD >> 10)}) as made:
        made.create_organization("acme")
        made.app = made.create_app("web")
        yield made
    server.stop()


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
@pytest.mark.parametrize("length,status", [(60_000, 200), (70_000, 200), (HEAD - 2_000, 200), (HEAD + 2_000, 431)])
def test_a_request_may_be_as_long_as_the_setting_says(long, length, status, tls):
    with long.wire(tls) as client:
        client.send("GET /open/0 HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n" % ("x" * length))
        assert client.answer().status == status


@pytest.mark.parametrize("length,status", [(60_000, 200), (70_000, 200), (HEAD - 2_000, 200), (HEAD + 2_000, 502)])
def test_an_answer_may_be_as_long_as_the_setting_says(long, length, status):
    answer = long.get("/open/%d" % length)
    assert answer.status == status
    if status == 200:
        assert answer["X-Long"] == "x" * length


LENGTHS = [8_193, 30_000, 200_000]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("target,prefix", [("/v1/0", ""), ("/vouch/0", "rt_"), ("/vouch/0", "")])
def test_a_token_that_is_too_long_is_no_credential(long, target, prefix, length):
    token = prefix + "t" * (length - len(prefix))
    assert long.get(target, {"X-App-Id": long.app.id, "Authorization": "Bearer " + token}).status == 401


@pytest.mark.parametrize("length", LENGTHS)
def test_a_token_that_is_too_long_names_no_person(long, length):
    answer = long.get("/v1/0", {**long.app.fields, "X-Client-Authorization": "t" * length})
    assert (answer.status, answer.json()["error"]) == (401, "person_token_invalid")

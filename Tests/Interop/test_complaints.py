# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Complaints about other gateways: the table of Tests/README.md is whole, and what it names is there; some are played here."""
import os
import re
import shutil
import signal
import time

import pytest

from conftest import ACCESS, route, url
from upstreams import TOP, Scripted

TESTS = TOP / "Tests"


def test_every_complaint_has_its_test():
    rows = re.findall(r"^\| (B\d\d) \| .+? \| (.+) \|$", (TESTS / "README.md").read_text(), re.M)
    assert [number for number, _ in rows] == ["B%02d" % n for n in range(1, 79)]
    sources = "\n".join(p.read_text() for p in TESTS.rglob("*") if p.suffix in (".py", ".swift", ".yaml"))
    for number, cell in rows:
        names = re.findall(r"`([^`]+)`", cell) + re.findall(r"\b(?:OFF|APP|VCH)-\d{3}\b", cell)
        assert names, "%s names no test" % number
        for name in names:
            known = (TOP / name).exists() if "/" in name else any(
                form in sources for form in ("def %s(" % name, "func `%s`(" % name, "- id: %s" % name))
            assert known or name.endswith(".sh"), "%s: there is no %s" % (number, name)


@pytest.fixture(scope="module")
def stand(make, backend):
    """Routes that every stage of judging has something to say about."""
    limit = [{"name": "one", "per": ["route"], "limit": 1, "window": "3600s"}]
    gateway = make([
        route("denied", "/denied/", clients={"deny": ["127.0.0.0/8"]}), route("others", "/others/", access={**ACCESS, "organizations": ["beta"]}, cors={}),
        route("spent", "/spent/", limits=limit), route("small", "/small/", body="1KiB"), route("api", "/v1/"),
    ], {"api": {"endpoints": [url(backend)]}}, workers=1)
    gateway.create_organization("acme")
    gateway.create_organization("beta")
    return gateway


@pytest.mark.parametrize("path,refused", [("denied", 403), ("others", 403), ("spent", 429), ("small", 413), ("v1", 401)])
def test_no_stage_of_judging_stops_a_preflight(stand, path, refused):
    """B02, B03: the request that follows is refused, in words that the page can read; the question whether it may be sent is not."""
    app = stand.create_app("asked-" + path, origins=["https://page.example"])
    fields = {"Origin": "https://page.example", "X-App-Id": app.id}
    if path == "spent":
        stand.get("/spent/x", fields)
    asked = stand.get("/%s/x" % path, {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}, method="OPTIONS")
    assert (asked.status, asked["Access-Control-Allow-Origin"]) == (204, "https://page.example")
    answer = stand.get("/%s/x" % path, {**fields, **({} if path != "v1" else {"X-App-Id": app.id, "Origin": "null"})}, method="POST", body=b"x" * 2000)
    assert answer.status == (403 if path == "v1" else refused), answer.body
    if path != "v1":
        assert answer["Access-Control-Allow-Origin"] == "https://page.example"


@pytest.mark.parametrize("policy,status", [("admit", 200), ("refuse", 503), ("estimate", 200)])
def test_windows_without_redis_are_as_the_setting_says(make, backend, policy, status):
    """B15: never 500, and it is counted."""
    limit = [{"name": "one", "per": ["route"], "limit": 100, "window": "60s"}]
    gateway = make([route("all", "/", access="open", limits=limit)], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    gateway.configuration["state"] = {**gateway.configuration["state"], "on_loss": {"windows": policy}, "deadline": "250ms"}
    gateway.write()
    gateway.start()
    assert gateway.get("/x").status == 200
    redis = gateway.redis()
    os.kill(redis, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert gateway.get("/x").status == status
        assert time.monotonic() - began < 2, "nothing waits past state.deadline"
    finally:
        os.kill(redis, signal.SIGCONT)


def test_the_log_says_which_key_and_never_the_key(stand):
    """B35: two keys of one app are told apart by their ids."""
    app = stand.create_app("two-keys")
    other, other_id = stand.create_key(app, "second")
    before = len(stand.access())
    for key in (app.key, other):
        assert stand.get("/v1/hello", {"X-App-Id": app.id, "X-Api-Key": key}).status == 200
    assert [line["key_id"] for line in stand.access()[before:]] == [app.key_id, other_id]
    assert app.key not in stand.access_log.read_text() and other not in stand.access_log.read_text()


def test_made_up_names_make_no_labels(stand):
    """B78: what a client invents is no label of a metric, however much of it there is."""
    def ask(number):
        return stand.get("/v1/made-up-%d?q=%d" % (number, number), {"X-App-Id": "app_madeup%d" % number, "Host-%d" % number: "x"}, host="made-up-%d.example" % number)

    ask(0)
    before = len(stand.metrics())
    for number in range(1, 60):
        ask(number)
    assert len(stand.metrics()) - before < 10
    assert "made-up" not in str(stand.metrics()) and "madeup" not in str(stand.metrics())


def test_a_reload_and_another_routes_change_leave_sockets_alone(make):
    """B65, B66: what is open goes on by the rules it began with."""
    def script(connection, _):
        connection.head()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.more()
            connection.send(b"%x\r\n%s\r\n" % (len(connection.buffer), connection.buffer))
            connection.buffer = b""

    server = Scripted(script)
    routes = [route("kept", "/kept/", "kept", access="open"), route("other", "/other/", "other", access="open")]
    gateway = make(routes, {"kept": {"endpoints": [url(server)]}, "other": {"endpoints": [url(server)]}}, workers=1)
    with gateway.wire() as client:
        client.send("POST /kept/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert client.head().status == 200
        for number in range(5):
            gateway.configuration["routes"][1]["body"] = "%dKiB" % (number + 1)
            gateway.write()
            assert gateway.run("reload").returncode == 0
            client.send("2\r\n%02d\r\n" % number)
            assert b"%02d" % number in client.until(b"%02d" % number)
        assert server.connections == 1
    server.stop()


def test_a_certificate_that_does_not_fit_leaves_the_old_set(make, authority, backend, tmp_path):
    """B67: neither a reload nor a change of the files takes a key that is another's, and nothing stops."""
    pairs = {name: authority.issue(name, ["localhost"]) for name in ("fits-one", "fits-two")}
    cert, key = str(tmp_path / "site.pem"), str(tmp_path / "site.key")
    for target, source in ((cert, pairs["fits-one"][0]), (key, pairs["fits-one"][1])):
        shutil.copy(source, target)
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    tls = gateway.configuration["listeners"][0]["tls"]
    tls.update(certificates=[{"cert": cert, "key": key}], default=cert)
    gateway.write()
    gateway.start()
    assert gateway.get("/x", tls=True).status == 200
    shutil.copy(pairs["fits-two"][1], key)
    refused = gateway.run("reload")
    assert refused.returncode != 0 and "site" in refused.stdout + refused.stderr
    time.sleep(1.5)
    assert gateway.get("/x", tls=True).status == 200 and gateway.get("/x").status == 200
    shutil.copy(pairs["fits-two"][0], cert)
    assert gateway.run("reload").returncode == 0
    assert gateway.get("/x", tls=True).status == 200

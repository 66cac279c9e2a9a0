# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Redis away: the known are served until the lease ends, nobody waits, nothing needs a hand."""
import json
import os
import signal
import socket
import time

import pytest

from conftest import route, url
from tokens import bearer, mint

# Redis is started again when it has given no sign of life for ten seconds.
SERVE_STALE = 5


def session(gateway, app):
    """Fields of a session of ours that names its app by itself."""
    return bearer(mint(gateway, app, "session_token")["token"])


@pytest.fixture
def stand(make, backend):
    gateway = make(
        [route("api", "/v1/"), route("tokens", "/tokens/", access={"organizations": ["acme"], "credentials": ["session_token"]}), route("open", "/open/", access="open"),
         route("limited", "/limited/", limits=[{"name": "few", "per": ["app"], "limit": 1000, "window": "60s"}])],
        {"api": {"endpoints": [url(backend)]}}, workers=2, start=False)
    gateway.configuration["state"].update(serve_stale="%ds" % SERVE_STALE, deadline="250ms")
    gateway.write()
    gateway.start()
    gateway.create_organization()
    app = gateway.create_app(origins=["https://app.example"])
    for _ in range(24):
        assert gateway.get("/v1/x", app.fields).status == 200
        assert gateway.get("/limited/x", app.fields).status == 200
    yield gateway, app
    for pid in gateway.descendants():
        os.kill(pid, signal.SIGCONT)


def timed(gateway, target, fields):
    began = time.monotonic()
    return gateway.get(target, fields), time.monotonic() - began


def test_the_known_are_served_until_the_lease_ends_then_503_and_it_heals_by_itself(stand):
    gateway, app = stand
    unknown = gateway.create_app("never-seen")
    stopped = time.monotonic()
    os.kill(gateway.redis(), signal.SIGSTOP)
    slowest = {}
    while time.monotonic() - stopped < SERVE_STALE - 2:
        answer, took = timed(gateway, "/v1/x", app.fields)
        assert answer.status == 200, "%.1f s after the stop" % (time.monotonic() - stopped)
        slowest["known"] = max(slowest.get("known", 0), took)
        answer, took = timed(gateway, "/limited/x", app.fields)
        assert answer.status == 200, "windows are estimated meanwhile"
        slowest["limited"] = max(slowest.get("limited", 0), took)
        answer, took = timed(gateway, "/v1/x", unknown.fields)
        assert answer.status == 503 and answer["Retry-After"], "an app nobody has read yet: 503, not 401"
        slowest["unknown"] = max(slowest.get("unknown", 0), took)
        time.sleep(0.1)
    assert max(slowest.values()) < 0.6, "longest waits: %s" % slowest
    time.sleep(max(0, stopped + SERVE_STALE + 1 - time.monotonic()))
    answer, _ = timed(gateway, "/v1/x", app.fields)
    assert answer.status == 503
    assert "state_unavailable" in answer.body.decode()
    assert gateway.get("/open/x").status == 200, "an open route needs no state"
    assert gateway.probe("/readyz")[0] == 503
    assert gateway.probe("/livez")[0] == 200
    os.kill(gateway.redis(), signal.SIGCONT)
    end = time.monotonic() + 10
    while {gateway.get("/v1/x", fields).status for fields in [app.fields] * 6 + [unknown.fields]} != {200}:
        assert time.monotonic() < end, "did not heal"
        time.sleep(0.1)
    assert gateway.probe("/readyz")[0] == 200


def test_a_worker_that_has_not_read_the_keys_calls_no_token_bad(stand):
    gateway, app = stand
    good = session(gateway, app)
    assert {gateway.get("/tokens/x", good).status for _ in range(8)} == {200}
    os.kill(gateway.redis(), signal.SIGSTOP)
    old = gateway.workers()
    os.kill(old[0], signal.SIGKILL)
    gateway.wait_for_workers(2, without=old[:1])
    end, seen = time.monotonic() + 3, set()
    while time.monotonic() < end:
        try:
            seen.add(gateway.get("/tokens/x", good).status)
        except ConnectionError:
            pass  # one of those that the killed worker had taken
        time.sleep(0.01)  # below the rate at which an address is turned away
    assert seen == {200}, "the other worker has the keys and judges meanwhile: %s" % seen
    os.kill(gateway.redis(), signal.SIGCONT)
    end = time.monotonic() + 10
    while {gateway.get("/tokens/x", good).status for _ in range(8)} != {200}:
        assert time.monotonic() < end, "did not heal"
        time.sleep(0.1)


def test_a_command_says_that_the_state_is_away(stand):
    gateway, app = stand
    os.kill(gateway.redis(), signal.SIGSTOP)
    began = time.monotonic()
    result = gateway.run("keys", "create", "--app", app.id, "--name", "x", "--json")
    assert result.returncode in (1, 4)
    assert time.monotonic() - began < 10


def test_a_broken_record_closes_its_own_app_only(stand):
    """Written past the gateway, as a damaged file would be."""
    gateway, app = stand
    broken = gateway.create_app("broken", origins=["https://broken.example"])
    assert gateway.get("/v1/x", broken.fields).status == 200
    redis = RedisOf(gateway)
    records = [n for n in redis.names() if n.startswith("{registry}:app:") and broken.id in redis("HGET", n, "j")]
    assert len(records) == 1
    redis("HSET", records[0], "j", '{"broken":')
    gateway.stop()
    gateway.start()
    assert gateway.get("/v1/x", broken.fields).status in (401, 403, 503)
    assert gateway.get("/v1/x", {"X-App-Id": broken.id, "Origin": "https://broken.example"}).status in (401, 403, 503)
    assert gateway.get("/v1/x", app.fields).status == 200
    record = records[0].rpartition(":")[2]
    assert [line for line in gateway.output().splitlines() if "an app is closed" in line and record in line]
    assert gateway.metrics()['sallyport_registry_cache_total{result="broken"}'] >= 1
    # Every list that lacks it says so: a line for people, a member for programs, and exit 1.
    for words in [["apps", "list"], ["apps", "list", "--org", "acme"], ["orgs", "show", "acme"], ["history"], ["keyring", "list"]]:
        for_people = gateway.run(*words)
        assert for_people.returncode == 1 and "app %s: " % record in for_people.stderr, (words, for_people)
        assert app.id in for_people.stdout or words[0] == "keyring", "the others are listed"
        for_programs = gateway.run(*words, "--json")
        answer = json.loads(for_programs.stdout)
        assert for_programs.returncode == 1 and [p["what"] for p in answer["problems"]] == ["app " + record]
    assert gateway.run("apps", "show", "--app", broken.id).returncode == 1
    by_name = gateway.run("apps", "show", "--app", "no-such-name")
    assert by_name.returncode == 1 and record in by_name.stderr, "it might have been this one"
    whole = gateway.run("history", "--app", app.id, "--json")
    assert whole.returncode == 0 and json.loads(whole.stdout)["problems"] == []


@pytest.mark.parametrize("words, subject", [
    (["keys", "revoke", ""], "ID"), (["keys", "revoke", "  "], "ID"), (["keys", "list", "--app", ""], "--app"),
    (["tokens", "revoke", ""], "ID"), (["tokens", "revoke", "--person", " "], "--person"), (["orgs", "show", ""], "ORG"),
    (["orgs", "create", "\t"], "ORG"), (["apps", "disable", "--app", " "], "--app"), (["apps", "create", "--org", "acme", "--name", ""], "--name"),
    (["origins", "add", "", "--app", "a"], "ORIGIN"), (["history", "--org", ""], "--org"), (["admin-tokens", "revoke", " "], "ID"),
])
def test_an_empty_id_is_a_usage_error_that_says_what_and_how(stand, words, subject):
    """An unset variable of a script must not mean everything, nor something else."""
    gateway, app = stand
    environment = dict(gateway.environment)
    gateway.environment["SALLYPORT_APP"] = app.id
    try:
        result = gateway.run(*words)
        as_json = gateway.run(*words, "--json")
    finally:
        gateway.environment = environment
    assert result.returncode == 2, (result.stdout, result.stderr)
    assert subject in result.stderr and "is empty: give" in result.stderr and "--help" in result.stderr
    assert as_json.returncode == 2 and json.loads(as_json.stdout)["error"] == "usage"
    assert gateway.get("/v1/x", app.fields).status == 200, "nothing was revoked"


class RedisOf:
    """The embedded Redis, asked as its own worker would: the socket and the account are in the state folder."""

    def __init__(self, gateway):
        folder = gateway.directory / "state/redis"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(folder / "redis.sock"))
        self.file = self.socket.makefile("rb")
        assert self("AUTH", "sallyport", (folder / "password").read_text().strip()) == "OK"

    def names(self):
        cursor, found = "0", []
        while True:
            cursor, part = self("SCAN", cursor, "COUNT", "1000")
            found += part
            if cursor == "0":
                return found

    def __call__(self, *words):
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (x.encode() for x in words)))
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2].decode()
        kind, rest = line[0], line[1:]
        if kind == "$":
            if rest == "-1":
                return None
            return self.file.read(int(rest) + 2)[:-2].decode("latin-1")
        if kind == "*":
            return [self.reply() for _ in range(int(rest))]
        assert kind != "-", rest
        return int(rest) if kind == ":" else rest

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A host whose clock is off: what it signs, ends and forgets goes by the time of Redis."""
import json
import shutil
import subprocess
import time

import pytest

import nodes
from conftest import route, url
from tokens import Issuer, bearer, claims

pytestmark = pytest.mark.skipif(shutil.which("faketime") is None, reason="needs faketime")
ENGINE = {"organizations": ["acme"], "credentials": ["server_token", "session_token"]}
SESSIONS = {"organizations": ["acme"], "credentials": ["session_token"]}


@pytest.fixture(scope="module")
def issuer(files):
    directory = files / "skew-issuers"
    directory.mkdir(exist_ok=True)
    return Issuer(directory, "sessions", "session")


@pytest.fixture(scope="module")
def redis():
    one = nodes.Redis()
    yield one
    one.remove()


class Clock:
    """What processes whose clock is `seconds` ahead need in their environment; what they share lives as long as this."""

    def __init__(self, seconds):
        # The library must find what it shares: it would make it by `setenv`, and a program's arguments lie behind that.
        self.holder = subprocess.Popen(["faketime", "-f", "%+d" % seconds, "sh", "-c", "tr '\\0' '\\n' < /proc/$$/environ; echo; read _"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        lines = iter(self.holder.stdout.readline, "\n")
        kept = dict(line.rstrip("\n").split("=", 1) for line in lines if line.startswith(("FAKETIME", "LD_PRELOAD")))
        self.environment = {**kept, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def end(self):
        self.holder.communicate("\n")


@pytest.fixture(scope="module", params=[300, -300, 30, -30], ids="{:+d}s".format)
def off(request, make, backend, issuer, redis):
    """A gateway on a host whose clock is so many seconds ahead of Redis, and one of its apps with the secret."""
    redis.run("FLUSHALL")
    clock = Clock(request.param)
    gateway = make(
        [{"name": "engine", "match": {"path": "/any/"}, "upstream": "api", "dialect": "appengine", "access": ENGINE},
         route("api", "/v1/", access=SESSIONS)],
        {"api": {"endpoints": [url(backend)]}}, start=False, workers=1, issuers=[issuer.settings], tokens={"leeway": "0s"},
        environment=clock.environment)
    gateway.configuration["state"]["redis"] = "redis://127.0.0.1:%d" % redis.port
    for listener in gateway.configuration["listeners"]:
        listener["serves"] = ["appengine"]
    gateway.write()
    gateway.start()
    gateway.create_organization("acme")
    app = gateway.admin("POST", "/apps", {"name": "off", "organization": "acme", "dialects": ["appengine", "offlineid"]})
    gateway.ahead, gateway.app = request.param, app
    gateway.secret = gateway.cli("secret", "rotate", "--app", app["app_id"])["secret"]
    yield gateway
    gateway.stop()
    clock.end()


def sign_in(gateway):
    body = json.dumps({"appId": gateway.app["username"], "secret": gateway.secret}).encode()
    answer = gateway.get("/profile/app/key", {"orgid": "acme", "Content-Type": "application/json"}, method="POST", body=body)
    assert answer.status == 200, answer.json()
    return answer.json()["token"]


def used(gateway, token):
    return gateway.get("/any/x", {"orgid": "acme", **bearer(token)}).status


def test_the_host_is_as_far_off_as_is_said(off):
    nodes.eventually(lambda: abs(off.metrics()["sallyport_clock_difference_milliseconds"] + off.ahead * 1000) < 1000)


def test_a_sign_in_is_good_at_once_and_dated_by_redis(off):
    token = sign_in(off)
    assert used(off, token) == 200
    assert abs(claims(token)["iat"] - time.time()) < 3


def test_a_minted_token_is_good_at_once_and_dated_by_redis(off):
    made = off.cli("token", "mint", "--app", off.app["app_id"], "--kind", "server_token", "--dialect", "appengine")
    assert used(off, made["token"]) == 200
    assert abs(claims(made["token"])["iat"] - time.time()) < 3


def test_a_watermark_parts_old_from_new(off):
    old = sign_in(off)
    assert used(off, old) == 200
    time.sleep(1.1)  # tokens are dated in whole seconds
    assert off.cli("tokens", "revoke", "--app", off.app["app_id"])["confirmed"]
    assert used(off, old) == 401
    time.sleep(1.1)
    assert used(off, sign_in(off)) == 200


@pytest.fixture(scope="module")
def sessions(off):
    """An app that no watermark meets."""
    return off.admin("POST", "/apps", {"name": "sessions", "organization": "acme"})["app_id"]


def by_session(gateway, app, token):
    return gateway.get("/v1/x", {"X-App-Id": app, **bearer(token)}).status


def test_a_token_without_a_time_of_issue_is_ended_by_any_watermark(off, issuer, sessions):
    undated = [issuer.token(iat=None, exp=int(time.time()) + 200 + n, app_id=sessions, sub="undated") for n in range(3)]
    other = issuer.token(iat=None, app_id=sessions, sub="another")
    assert by_session(off, sessions, undated[0]) == 200
    assert off.cli("tokens", "revoke", "--person", "undated", "--org", "acme")["confirmed"]
    # Seen before, and seen for the first time.
    assert [by_session(off, sessions, token) for token in undated] == [401] * 3
    assert by_session(off, sessions, other) == 200


def test_a_revocation_is_not_forgotten_before_its_token_ends(off, issuer, sessions):
    now = int(time.time())
    token = issuer.token(app_id=sessions, iat=now - 40, exp=now + 100, jti="kept")
    assert by_session(off, sessions, token) == 200
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + 100))
    assert off.cli("tokens", "revoke", "kept", "--expires", end)["confirmed"]
    assert by_session(off, sessions, token) == 401
    # The first change that a worker hears of is when it forgets what has ended.
    off.stop()
    off.start()
    fresh = issuer.token(app_id=sessions, iat=now - 40, exp=now + 100)
    assert by_session(off, sessions, fresh) == 200, "served before it knew the time"
    assert off.cli("tokens", "revoke", "another")["confirmed"]
    assert by_session(off, sessions, token) == 401

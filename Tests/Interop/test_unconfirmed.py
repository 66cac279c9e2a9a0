# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Every verb that takes something away: it ends with 1, and claims no more than is so, while a worker has not heard."""
import json
import os
import signal

import pytest

import nodes
from conftest import route, url

UNHEARD = "but not every worker has confirmed it yet"


@pytest.fixture(scope="module")
def stand(make, backend):
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, workers=2, start=False)
    for listener in gateway.configuration["listeners"]:
        listener["serves"] = ["vouch", "appengine-admin"]
    gateway.write()
    gateway.start()
    gateway.create_organization()
    gateway.app = gateway.admin("POST", "/apps", {"name": "unheard", "organization": "acme", "dialects": ["vouch", "appengine", "offlineid"]})
    app = gateway.app["app_id"]
    gateway.cli("native", "add", "ios", "--bundle-id", "com.example.a", "--team-id", "ABCDE12345", "--app", app)
    gateway.cli("native", "add", "android", "--package", "com.example.a", "--sha256", "11" * 32, "--app", app)
    for device in ("dev_1", "dev_2", "dev_3"):
        made = gateway.cli("debug-devices", "add", device, "--app", app)
        assert made["confirmed"] is True and made["message"].endswith("attests with a test key from now on")
    gateway.secret = gateway.cli("keys", "create", "--app", app, "--name", "m", "--kind", "management", "--mode", "live")["key"]
    return gateway


@pytest.fixture
def unheard(stand):
    """One of the workers hears nothing."""
    stopped = stand.workers()[0]
    os.kill(stopped, signal.SIGSTOP)
    yield stopped
    try:
        os.kill(stopped, signal.SIGCONT)
    except ProcessLookupError:
        pass  # given up meanwhile: another has its place
    nodes.eventually(lambda: stand.admin("PUT", "/apps/%s/check" % stand.app["app_id"], {"mode": "monitor"})["confirmed"]
                     and stand.admin("PUT", "/apps/%s/check" % stand.app["app_id"], {"mode": "off"})["confirmed"])


def test_each_verb_ends_with_1(stand, unheard, tmp_path):
    app = stand.app["app_id"]
    tenants = tmp_path / "tenants.json"
    tenants.write_text(json.dumps({"version": 1, "organizations": [{"id": "acme", "name": "Another", "apps": [{"id": app}]}]}))
    told = {}
    for verb in (["native", "remove", "ios", "--bundle-id", "com.example.a"],
                 ["native", "remove", "android", "--package", "com.example.a"],
                 ["debug-devices", "remove", "dev_1"], ["policy", "set", "degraded=refuse"],
                 ["apply", "--file", tenants]):
        where = [] if verb[0] == "apply" else ["--app", app]
        for form in ([], ["--json"]):
            result = stand.run(*verb, *where, "--wait", "0", *form)
            if form and result.returncode != 1:
                continue  # the second time there is nothing left to change
            told[" ".join(map(str, verb[:3])), bool(form)] = result.returncode, "in effect everywhere by" in result.stdout or "effective_by" in result.stdout
            assert "from now on" not in result.stdout, result.stdout
            if verb[0] == "debug-devices" and not form:
                assert UNHEARD in result.stdout
    assert len([k for k in told if not k[1]]) == 5
    assert {v for k, v in told.items() if not k[1]} == {(1, True)}, told


def test_a_server_that_takes_a_device_out_is_told(stand, unheard):
    app = stand.app["app_id"]
    fields = {"Authorization": "Bearer " + stand.secret}
    answer = stand.get("/v1/apps/%s/security/debug-devices/dev_3" % app, fields, method="DELETE", timeout=20)
    assert (answer.status, answer.json()["confirmed"], "effective_by" in answer.json()) == (202, False, True)
    # With any number of spaces, as everywhere (RFC 9110 11.4).
    fields = {"Authorization": "bearer   " + stand.secret}
    assert stand.get("/v1/apps/%s/security/debug-devices/dev_3" % app, fields, method="DELETE", timeout=20).status == 404


def test_they_end_with_0_once_every_worker_has_heard(stand):
    result = stand.run("debug-devices", "remove", "dev_2", "--app", stand.app["app_id"])
    assert (result.returncode, result.stdout) == (0, "dev_2 is no debug device any more; it is judged as any device from now on\n")

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The admin API on a TCP address: TLS, the right Host, and tokens that may what their role says."""
import http.client
import json
import socket
import ssl
import time

import pytest

import upstreams
from conftest import route, url


@pytest.fixture(scope="module")
def stand(make, backend, site, authority):
    port = upstreams.free_port()
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, start=False, admin={
        "address": "127.0.0.1:%d" % port, "tls": {"certificates": [{"cert": site[0], "key": site[1]}], "default": site[0]}})
    # What the harness speaks to is the socket, which is there beside the address.
    gateway.configuration["admin"]["address"] = "unix:" + str(gateway.directory / "state/admin.sock")
    gateway.start()
    gateway.create_organization("acme")
    gateway.create_organization("beta")
    gateway.tcp = port
    gateway.context = ssl.create_default_context(cafile=authority.path)
    return gateway


def call(gateway, method, target, token=None, body=None, host=None, clear=False):
    kind = http.client.HTTPConnection if clear else http.client.HTTPSConnection
    client = kind("localhost", gateway.tcp, timeout=10, **({} if clear else {"context": gateway.context}))
    try:
        fields = {"Content-Type": "application/json"}
        if token:
            fields["Authorization"] = "Bearer " + token
        if host:
            fields["Host"] = host
        client.request(method, "/admin/v1" + target, json.dumps(body) if body is not None else None, fields)
        answer = client.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        client.close()


def make_token(gateway, *options):
    return gateway.cli("admin-tokens", "create", *options)


def test_without_a_token_nobody_is_let_in(stand):
    for token in (None, "x", "sallyadm_" + "a" * 44, "sally_" + "a" * 50):
        status, body = call(stand, "GET", "/apps", token)
        assert (status, body["error"]) == (401, "not_signed_in")
    with pytest.raises((OSError, http.client.HTTPException)):
        call(stand, "GET", "/apps", clear=True)
    with socket.create_connection(("127.0.0.1", stand.tcp), 5) as plain:
        plain.sendall(b"GET /admin/v1/apps HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" not in plain.recv(4096)


def test_a_platform_admin_does_everything_and_the_history_names_it(stand):
    token = make_token(stand, "--name", "ci", "--role", "platform-admin")
    status, app = call(stand, "POST", "/apps", token["token"], {"name": "made over tcp", "organization": "acme"})
    assert status == 201 and app["confirmed"] is True
    assert call(stand, "PATCH", "/apps/%s" % app["app_id"], token["token"], {"enabled": False})[0] == 200
    assert call(stand, "GET", "/keyring", token["token"])[0] == 200
    by = {row["by"] for row in stand.cli("history", "--app", app["app_id"])["events"]}
    assert by == {"ci (%s)" % token["id"]}


def test_changes_of_two_developers_are_told_apart_newest_first(stand):
    """OFF-143: who, when, and in which order; the third is the one at the socket."""
    app = stand.create_app("shared").id
    ada, bob = (make_token(stand, "--name", name, "--role", "org-admin", "--org", "acme") for name in ("ada", "bob"))
    assert call(stand, "PUT", "/apps/%s/development-mode" % app, ada["token"], {"enabled": True, "hours": 2})[0] == 200
    assert call(stand, "PUT", "/apps/%s/android-degraded" % app, bob["token"], {"allow": False})[0] == 200
    assert call(stand, "PUT", "/apps/%s/production" % app, ada["token"], {"enabled": True})[0] == 200
    stand.cli("production", "off", "--app", app)
    ours, theirs, socket_user = "ada (%s)" % ada["id"], "bob (%s)" % bob["id"], stand.cli("history", "--app", app, "--limit", "1")["events"][0]["by"]
    rows = stand.cli("history", "--app", app, "--limit", "5")["events"]
    assert [(row["event"], row["by"]) for row in rows if row["event"] != "development_mode_disabled"] == [
        ("production_unmarked", socket_user), ("production_marked", ours), ("android_degraded_changed", theirs), ("development_mode_enabled", ours)]
    assert [row["by"] for row in rows if row["event"] == "development_mode_disabled"] == [ours]
    assert socket_user not in (ours, theirs) and [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)


def test_the_host_must_be_ours(stand):
    token = make_token(stand, "--name", "hosts", "--role", "platform-admin")["token"]
    for host in ("localhost:%d" % stand.tcp, "127.0.0.1:%d" % stand.tcp, "api.example.test:%d" % stand.tcp):
        assert call(stand, "GET", "/apps", token, host=host)[0] == 200, host
    for host in ("evil.example", "evil.example:%d" % stand.tcp, "localhost", "localhost:1", "127.0.0.2:%d" % stand.tcp):
        assert call(stand, "GET", "/apps", token, host=host)[0] == 421, host


def raw(gateway, head):
    with gateway.context.wrap_socket(socket.create_connection(("127.0.0.1", gateway.tcp), 5), server_hostname="localhost") as peer:
        peer.sendall(head.encode() + b"\r\n\r\n")
        return int(peer.recv(4096).split()[1])


def test_a_request_that_says_twice_who_asks_or_for_whom_is_refused(stand):
    token = make_token(stand, "--name", "twice", "--role", "platform-admin")["token"]
    start = "GET /admin/v1/apps%s HTTP/1.1\r\nHost: localhost:" + str(stand.tcp)
    good, bad = "\r\nAuthorization: Bearer " + token, "\r\nAuthorization: Bearer x"
    assert raw(stand, start % "" + good) == 200
    assert raw(stand, start % "" + bad) == 401
    for fields in (good + bad, bad + good, good + good, good + "\r\nauthorization:"):
        assert raw(stand, start % "" + fields) == 400, fields
    for field in ("\r\nHost: localhost:%d" % stand.tcp, "\r\nContent-Length: 0\r\nContent-Length: 0"):
        assert raw(stand, start % "" + good + field) == 400, field
    assert raw(stand, start % "?organization=acme" + good) == 200
    assert raw(stand, start % "?organization=acme&organization=beta" + good) == 400


def test_an_org_admin_has_its_organization_and_no_other(stand):
    token = make_token(stand, "--name", "acme", "--role", "org-admin", "--org", "acme")["token"]
    own = call(stand, "POST", "/apps", token, {"name": "own", "organization": "acme"})[1]["app_id"]
    other = stand.create_app("other", "beta")
    assert call(stand, "POST", "/apps/%s/api-keys" % own, token, {"name": "k"})[0] == 201
    assert call(stand, "GET", "/apps/own", token)[1]["app_id"] == own
    assert call(stand, "GET", "/organizations/acme", token)[0] == 200
    assert call(stand, "POST", "/tokens/revoke", token, {"app": own})[0] == 200
    assert call(stand, "POST", "/tokens/revoke", token, {"person": "p", "organization": "acme"})[0] == 200
    listed = call(stand, "GET", "/apps", token)[1]["apps"]
    assert {row["organization"] for row in listed} == {"acme"}
    assert call(stand, "GET", "/apps?organization=beta", token)[1]["apps"] == listed
    for method, target, body in [
        ("GET", "/apps/" + other.id, None), ("GET", "/apps/beta%2Fother", None), ("GET", "/apps/other", None),
        ("DELETE", "/apps/%s/api-keys/%s" % (other.id, other.key_id), None), ("PATCH", "/apps/" + other.id, {"enabled": False}),
        ("POST", "/apps/%s/tokens" % other.id, {}), ("POST", "/tokens/revoke", {"app": other.id}),
    ]:
        status, answer = call(stand, method, target, token, body)
        assert (status, answer["error"]) == (404, "app_not_found"), (method, target, answer)
    for method, target, body in [
        ("POST", "/apps", {"name": "x", "organization": "beta"}), ("GET", "/organizations", None), ("GET", "/organizations/beta", None),
        ("PATCH", "/organizations/acme", {"enabled": False}), ("POST", "/organizations", {"id": "gamma", "name": "g"}),
        ("POST", "/tokens/revoke", {"person": "p", "organization": "beta"}), ("POST", "/tokens/revoke", {"key": other.key_id}),
        # An id is one namespace over all issuers and apps: it might be a stranger's, whatever app stands beside it.
        ("POST", "/tokens/revoke", {"token_id": "1", "app": own}),
        ("GET", "/history", None), ("GET", "/keyring", None), ("POST", "/keyring/rotate", {}), ("GET", "/admin-tokens", None),
        ("POST", "/admin-tokens", {"name": "x", "role": "platform-admin"}), ("PUT", "/config", {}), ("POST", "/reload", None),
        ("POST", "/tokens/inspect", {"token": "x"}), ("GET", "/status", None),
    ]:
        status, answer = call(stand, method, target, token, body)
        assert (status, answer["error"]) == (403, "forbidden"), (method, target, answer)
    assert stand.cli("apps", "show", "--app", other.id)["enabled"] is True


def test_a_viewer_looks_and_changes_nothing(stand):
    everything = make_token(stand, "--name", "v", "--role", "viewer")["token"]
    acme = make_token(stand, "--name", "va", "--role", "viewer", "--org", "acme")["token"]
    app = stand.create_app("seen")
    for token in (everything, acme):
        assert call(stand, "GET", "/apps/" + app.id, token)[0] == 200
        for method, target, body in [
            ("PATCH", "/apps/" + app.id, {"enabled": False}), ("POST", "/apps/%s/secret/rotate" % app.id, None),
            ("POST", "/apps/%s/tokens" % app.id, {}), ("DELETE", "/apps/%s/api-keys/%s" % (app.id, app.key_id), None),
            ("POST", "/tokens/revoke", {"app": app.id}), ("POST", "/admin-tokens", {"name": "x", "role": "viewer"}),
        ]:
            assert call(stand, method, target, token, body)[0] == 403, (method, target)
    assert call(stand, "GET", "/history", everything)[0] == 200
    assert call(stand, "GET", "/history", acme)[0] == 403


def test_a_revoked_token_and_one_that_ran_out_are_refused(stand):
    made = make_token(stand, "--name", "short", "--role", "viewer", "--days", "1")
    assert call(stand, "GET", "/apps", made["token"])[0] == 200
    listed = {t["id"]: t for t in stand.cli("admin-tokens", "list")["tokens"]}
    assert made["id"] in listed and made["token"] not in json.dumps(listed)
    assert stand.cli("admin-tokens", "revoke", made["id"])["confirmed"] is True
    assert call(stand, "GET", "/apps", made["token"])[0] == 401
    # Whoever asks again, not having seen it confirmed, is told how far it is.
    again = stand.cli("admin-tokens", "revoke", made["id"])
    assert again["confirmed"] is True and again["changed"] is False and again["message"].endswith("was revoked already")
    assert stand.run("admin-tokens", "revoke", "adm_NeverMade000").returncode == 1
    assert stand.run("admin-tokens", "create", "--name", "x", "--role", "king").returncode == 1
    assert stand.run("admin-tokens", "create", "--name", "x", "--role", "org-admin").returncode == 1
    assert stand.run("admin-tokens", "create", "--name", "x", "--role", "viewer", "--days", "367").returncode == 2
    events = [row["event"] for row in stand.cli("history")["events"]]
    assert "admin_token_created" in events and "admin_token_revoked" in events


def test_idle_connections_of_one_address_shut_nobody_out(stand):
    """Neither those that never shake hands, nor those that never ask; and each has three seconds only."""
    token = make_token(stand, "--name", "flood", "--role", "platform-admin")["token"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    idle = []
    try:
        for number in range(40):
            peer = socket.create_connection(("127.0.0.1", stand.tcp), 5, source_address=("127.9.9.9", 0))
            try:
                idle.append(context.wrap_socket(peer, server_hostname="localhost") if number % 2 else peer)
            except OSError:
                peer.close()
        began = time.monotonic()
        assert call(stand, "GET", "/apps", token)[0] == 200
        # The socket beside it is nobody's to fill.
        assert stand.cli("orgs", "list")["organizations"]
        idle[0].settimeout(5)
        try:
            while idle[0].recv(4096):
                pass
        except ConnectionError:
            pass
        assert time.monotonic() - began < 10
    finally:
        for peer in idle:
            peer.close()

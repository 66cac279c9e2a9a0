# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Dialect `vouch` on the wire: every body of section B, every code of 13.2, wrong beside right."""
import concurrent.futures
import datetime
import json
import re
import time

import pytest

import devices
import gateway as binary
import upstreams
from conftest import route, url
from rows import note, row
from test_trust import account, eventually

IOS, ANDROID = ("com.example.fieldapp", "ABCDE12345"), ("com.example.fieldapp", "11" * 32)
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
ACCESS = {"organizations": ["acme"], "credentials": ["run_token"]}
INVALID = {"error": {"code": "invalid_key", "message": "The key is unknown or revoked. To make one: sallyport keys create --name <name> --kind sdk"}}


class Client:
    """One app with its keys, and a device that attests."""

    def __init__(self, gateway, app):
        self.gateway, self.app = gateway, app
        self.keys = {}
        for kind, short in (("sdk", "pk"), ("management", "sk")):
            for mode in ("live", "test"):
                made = gateway.cli("keys", "create", "--app", app.id, "--name", mode + " " + kind, "--kind", kind, "--mode", mode)
                self.keys[short + "_" + mode] = made["key"]

    def call(self, method, path, key, body=None, fields=(), raw=None):
        data = raw if raw is not None else (json.dumps(body).encode() if body is not None else b"")
        headers = [("Authorization", "Bearer " + self.keys.get(key, key or ""))] if key is not None else []
        headers += [("Content-Type", "application/json")] if body is not None else []
        return self.gateway.get(path, headers + list(fields), method=method, body=data)

    def nonce(self, key="pk_live"):
        answer = self.call("POST", "/v1/sdk/attest/nonce", key, {})
        assert answer.status == 200, answer.body
        return json.loads(answer.body)["nonce"]

    def attest(self, key="pk_live", device="dev_abc", version="1.4.2", platform="android", nonce=None, **body):
        body = {"nonce": nonce or self.nonce(key), "device_id": device, "app_version": version, "platform": platform, **body}
        return self.call("POST", "/v1/sdk/attest", key, body)

    def android(self, phone, key="pk_live", device="dev_abc", signals=(), **token):
        nonce = self.nonce(key)
        if "integrity" in token:
            token["device"] = token.pop("integrity")
        return self.attest(key, device, nonce=nonce, token=phone.play_token(nonce, **token), signals=list(signals))

    def iphone(self, phone, key="pk_live", device="dev_ios", first=False, signals=(), nonce=None, **options):
        nonce = nonce or self.nonce(key)
        proof = {"attestation": phone.attest(nonce.encode())} if first else {"assertion": phone.assert_(nonce.encode(), **options)}
        return self.attest(key, device, platform="ios", nonce=nonce, key_id=phone.key_id, signals=list(signals), **proof)

    def admin(self, method, path, key="sk_live", body=None, app=None, **options):
        return self.call(method, "/v1/apps/%s/security/%s" % (app or self.app.id, path), key, body, **options)

    def order(self, token, device="dev_abc", version="1.4.2", platform="android", **more):
        fields = [("Authorization", "Bearer " + token)] if token else []
        named = {"X-Device-Id": device, "X-App-Version": version, "X-App-Platform": platform, **more}
        return self.gateway.get("/v1/orders", fields + [(n, v) for n, v in named.items() if v is not None])


@pytest.fixture(scope="module")
def authorities():
    return devices.Authorities()


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):
    trust = authorities.bundle(tmp_path_factory.mktemp("trust"))
    routes = [route("api", "/v1/", dialect="vouch", access=ACCESS), route("sure", "/sure/", dialect="vouch", access=dict(ACCESS, min_trust="hardware")),
              route("other", "/other/", access=dict(ACCESS, credentials=["api_key", "session_token"]))]
    made = binary.Gateway(site, routes, {"api": {"endpoints": [url(backend)]}}, trust={"directory": str(trust)})
    for listener in made.configuration["listeners"]:
        listener["serves"] = ["vouch"]
    made.write()
    made.start()
    made.create_organization("acme")
    made.create_organization("globex")
    yield made
    made.remove()


def new_app(gateway, authorities, directory, organization="acme", ios=True, android=True, keys=True):
    made = gateway.cli("apps", "create", "--org", organization, "--name", "v%d" % time.monotonic_ns(), "--dialect", "vouch")
    app = binary.App(binary.first(made, "app_id"), organization)
    if ios:
        gateway.cli("native", "add", "ios", "--bundle-id", IOS[0], "--team-id", IOS[1], "--app", app.id)
    if android:
        gateway.cli("native", "add", "android", "--package", ANDROID[0], "--sha256", ANDROID[1], "--app", app.id)
    if keys:
        for file, text in zip(("d", "v"), authorities.play_keys):
            (directory / file).write_text(text)
        gateway.cli("play-keys", "set", "--app", app.id, "--decryption-key-file", directory / "d", "--verification-key-file", directory / "v")
    return Client(gateway, app)


@pytest.fixture
def make_client(one, authorities, tmp_path):
    return lambda **options: new_app(one, authorities, tmp_path, **options)


@pytest.fixture(scope="module")
def client(one, authorities, tmp_path_factory):
    return new_app(one, authorities, tmp_path_factory.mktemp("keys"))


def test_an_app_changes_itself_a_thousand_times_an_hour_at_most(make_client):
    """Each change is a row, a sync and news for every worker: one tenant's loop is not the others' trouble."""
    looping, other = (make_client(ios=False, android=False, keys=False) for _ in range(2))
    with looping.gateway.wire() as wire:
        fields = {"Authorization": "Bearer " + looping.keys["sk_live"], "Content-Type": "application/json"}
        path = "/v1/apps/%s/security/debug-devices" % looping.app.id
        statuses = [wire.exchange("POST", path, fields, b'{"device_id":"dev_same"}').status for _ in range(1001)]
    assert statuses == [201] + [200] * 999 + [429]
    answer = looping.admin("DELETE", "debug-devices/dev_same")
    assert (answer.status, int(answer["Retry-After"]) > 0) == (429, True)
    assert looping.admin("GET", "debug-devices").status == 200
    assert other.admin("POST", "debug-devices", body={"device_id": "dev_free"}).status == 201
    assert other.admin("DELETE", "debug-devices/dev_free").status == 204


@pytest.fixture
def phone(authorities):
    return devices.Android(authorities)


def until(text):
    assert TIME.match(text), text
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc).timestamp() - time.time()


def reasons(*codes):
    return {"reasons": [{"code": code, "message": ...} for code in codes]}


def codes(answer):
    return [reason["code"] for reason in json.loads(answer.body)["reasons"]]


# -- B.1, keys
def test_a_nonce_is_fresh_and_says_when_it_ends(client):
    answer = client.call("POST", "/v1/sdk/attest/nonce", "pk_live", {})
    body = row("VCH-008", answer, 200, {"nonce": ..., "expires_at": ...})
    assert set(body) == {"nonce", "expires_at"} and re.fullmatch(r"[A-Za-z0-9_-]{43}", body["nonce"])
    note("VCH-010", True, 295 < until(body["expires_at"]) <= 301)
    assert answer["cache-control"] == "no-store" and answer["sallyport-decision"]
    assert json.loads(client.call("POST", "/v1/sdk/attest/nonce", "pk_test").body)["nonce"] != body["nonce"], "a body is not needed"


def test_a_key_that_is_not_good_here_says_so_and_no_more(client, one, make_client):
    stranger = "pk_live_" + "A" * 50
    mistyped = client.keys["pk_live"][:-1] + ("a" if client.keys["pk_live"][-1] != "a" else "b")
    for key in (None, "", "x", stranger, mistyped, "sk_live", "sk_test"):
        for path in ("/v1/sdk/attest/nonce", "/v1/sdk/attest"):
            answer = client.call("POST", path, key, {})
            row("VCH-037 401", answer, 401, exactly=INVALID)
            assert answer["www-authenticate"], path
    for key in ("pk_live", "pk_test", None, stranger.replace("pk", "sk")):
        row("VCH-024 pk on management", client.admin("GET", "debug-devices", key), 401, exactly=INVALID)
    # The same id with another secret, two fields, another scheme.
    forged = client.keys["sk_live"]
    row("two keys", client.call("POST", "/v1/sdk/attest/nonce", "pk_live", {}, fields=[("Authorization", "Bearer " + client.keys["pk_live"])]), 401, exactly=INVALID)
    row("Basic", one.get("/v1/sdk/attest/nonce", [("Authorization", "Basic " + client.keys["pk_live"])], method="POST", body=b"{}"), 401, exactly=INVALID)
    gone = make_client()
    listed = {k["name"]: k for k in one.cli("keys", "list", "--app", gone.app.id)["keys"]}
    assert (listed["live sdk"]["kind"], listed["live sdk"]["mode"]) == ("sdk", "live") and forged not in json.dumps(listed)
    one.cli("keys", "revoke", listed["live sdk"]["id"], "--app", gone.app.id)
    row("a revoked key", gone.call("POST", "/v1/sdk/attest/nonce", "pk_live", {}), 401, exactly=INVALID)
    row("the other key", gone.call("POST", "/v1/sdk/attest/nonce", "pk_test", {}), 200)
    one.cli("apps", "disable", "--app", gone.app.id)
    row("a disabled app", gone.call("POST", "/v1/sdk/attest/nonce", "pk_test", {}), 401, exactly=INVALID)


def test_a_body_that_is_not_the_form_names_the_field(client, phone):
    def fault(**change):
        nonce = "n" * 43
        body = {"nonce": nonce, "device_id": "dev_abc", "app_version": "1.4.2", "platform": "android", "token": "t", **change}
        return client.call("POST", "/v1/sdk/attest", "pk_live", {n: v for n, v in body.items() if v is not ...})

    for name in ("nonce", "device_id", "app_version", "platform"):
        row("VCH-037 400", fault(**{name: ...}), 400, exactly={"error": {"code": "invalid_request", "message": "The body is missing a field: %s." % name}})
    for change, word in (({"nonce": 1}, "nonce"), ({"device_id": "a b"}, "device_id"), ({"device_id": "x" * 129}, "device_id"), ({"app_version": " 1"}, "app_version"),
                         ({"platform": "web"}, "platform"), ({"signals": ["signal_tired"]}, "signals"), ({"signals": [{"model": "x"}]}, "signals"), ({"signals": "signal_rooted"}, "signals"),
                         ({"unavailable": "no_play_services"}, "unavailable"), ({"token": ..., "unavailable": "attest_unsupported"}, "unavailable"),
                         ({"attestation": "x"}, "token"), ({"platform": "ios"}, "attestation"), ({"platform": "ios", "token": ..., "assertion": "x"}, "key_id")):
        body = row("VCH-006 400", fault(**change), 400, {"error": {"code": "invalid_request"}})
        assert word in body["error"]["message"], (change, body)
    # Fields that nobody knows are ignored (dialects.md), so that an SDK may send more one day.
    row("VCH-006 ignored", fault(model="Pixel", imei=[1]), 200, {"verdict": "fail", **reasons("nonce_mismatch")})
    for raw in (b"", b"[]", b"{", b'{"nonce":"a","nonce":"b"}', b"\xff"):
        row("no object", client.call("POST", "/v1/sdk/attest", "pk_live", raw=raw), 400, {"error": {"code": "invalid_request"}})
    row("too large", client.call("POST", "/v1/sdk/attest", "pk_live", raw=b"{" + b" " * 70000), 413, {"error": {"code": "payload_too_large"}})
    row("another type", client.call("POST", "/v1/sdk/attest", "pk_live", raw=b"a=1", fields=[("Content-Type", "text/plain")]), 415, {"error": {"code": "unsupported_media_type"}})
    row("another method", client.call("GET", "/v1/sdk/attest", "pk_live"), 405, {"error": {"code": "method_not_allowed"}})


# -- B.2
def test_an_android_passes_and_its_token_works_until_it_does_not(client, phone, one):
    answer = client.android(phone)
    body = row("VCH-002 pass", answer, 200, {"verdict": "pass", "reasons": [], "source": "play_integrity", "run_token": ..., "expires_at": ..., "from_cache": False, "debug": False})
    assert set(body) == {"verdict", "reasons", "source", "run_token", "expires_at", "from_cache", "debug"}
    note("VCH-021", True, 890 < until(body["expires_at"]) <= 901)
    token = body["run_token"]
    good = client.order(token)
    row("E.2", good, 200)
    assert b"rt_" not in good.body and b"authorization" not in good.body.lower(), "the run token stays here"
    for change in ({"version": "1.4.3"}, {"device": "dev_abd"}, {"platform": "ios"}, {"version": None}, {"device": None}, {"platform": None}):
        row("VCH-020", client.order(token, **change), 401, {"error": {"code": "invalid_run_token"}})
    damaged = token[:-1] + ("A" if token[-1] != "A" else "B")
    for other in (damaged, token[:-4], "rt_" + "A" * 64):
        row("E.1 invalid_run_token", client.order(other), 401, {"error": {"code": "invalid_run_token"}})
    row("E.1 run_token_required", client.order(None), 401, {"error": {"code": "run_token_required"}})
    row("B.5", client.admin("POST", "run-tokens/verify", body={"run_token": token, "device_id": "dev_abc", "app_version": "1.4.2", "platform": "android"}), 200,
        {"active": True, "device_id": "dev_abc", "app_version": "1.4.2", "platform": "android", "verdict": "pass", "debug": False, "expires_at": body["expires_at"]})
    row("sure", one.get("/sure/x", [("Authorization", "Bearer " + token), ("X-Device-Id", "dev_abc"), ("X-App-Version", "1.4.2"), ("X-App-Platform", "android")]), 200)


def test_an_iphone_attests_then_asserts_and_a_replay_fails(make_client, authorities):
    client, phone = make_client(), devices.IPhone(authorities)
    row("VCH-011", client.iphone(phone, first=True), 200, {"verdict": "pass", "reasons": [], "source": "app_attest", "from_cache": False, "run_token": ...})
    row("assertion", client.iphone(phone), 200, {"verdict": "pass", "source": "app_attest", "run_token": ...})
    nonce = client.nonce()
    row("VCH-013", client.iphone(phone, nonce=nonce, counter=1), 200, {"verdict": "fail", "run_token": None, "expires_at": None, **reasons("assertion_counter_replay")})
    nonce = client.nonce()
    assertion = phone.assert_(nonce.encode())
    for expected in ("pass", "fail"):
        answer = client.attest(device="dev_ios", platform="ios", nonce=nonce, key_id=phone.key_id, assertion=assertion)
        row("VCH-009", answer, 200, {"verdict": expected, **({} if expected == "pass" else reasons("nonce_mismatch"))})
    stranger = devices.IPhone(authorities)
    row("an unknown key", client.iphone(stranger), 200, {"verdict": "fail", "run_token": None, "source": "app_attest"})
    row("another app's", client.iphone(devices.IPhone(authorities, bundle="com.example.other"), first=True), 200, {"verdict": "fail", **reasons("app_not_recognised")})
    row("malformed", client.attest(platform="ios", key_id=phone.key_id, assertion="AAAA"), 200, {"verdict": "fail", **reasons("malformed")})
    row("another nonce", client.attest(platform="ios", key_id=phone.key_id, assertion=phone.assert_(b"another")), 200, {"verdict": "fail", **reasons("nonce_mismatch")})


@pytest.mark.parametrize("change, expected, verdict", [
    ({"integrity": ("MEETS_VIRTUAL_INTEGRITY",)}, ["device_emulator"], "fail"),
    ({"integrity": ("MEETS_VIRTUAL_INTEGRITY",), "licence": "UNLICENSED"}, ["device_emulator", "app_unofficial_install"], "fail"),
    ({"licence": "UNLICENSED"}, ["app_unofficial_install"], "fail"),
    ({"integrity": ()}, ["device_not_trusted"], "fail"), ({"integrity": ("MEETS_BASIC_INTEGRITY",)}, ["device_not_trusted"], "fail"),
    ({"recognition": "UNRECOGNIZED_VERSION"}, ["app_not_recognised"], "fail"), ({"package": "com.example.other"}, ["app_not_recognised"], "fail"),
    ({"age": 400}, ["nonce_mismatch"], "fail"), ({"seal": b"k" * 32}, ["malformed"], "fail"),
    ({"licence": "UNEVALUATED"}, ["licence_not_evaluated"], "degraded"),
])
def test_what_google_says_is_the_verdict(client, phone, change, expected, verdict):
    answer = client.android(phone, **change)
    token = {"run_token": None, "expires_at": None} if verdict == "fail" else {"run_token": ...}
    row("VCH-017/018 " + ", ".join(expected), answer, 200, {"verdict": verdict, "source": "play_integrity", **token, **reasons(*expected)})


def test_a_device_without_a_proof_is_degraded_and_never_failed(client, make_client, phone):
    for platform, word in (("android", "no_play_services"), ("ios", "attest_unsupported")):
        body = row("VCH-003 " + word, client.attest(platform=platform, unavailable=word), 200, {"verdict": "degraded", "source": "none", "run_token": ..., **reasons(word)})
        assert client.order(body["run_token"], platform=platform).status == 200
    keyless = make_client(keys=False)
    body = row("VCH-015", keyless.android(phone), 200, {"verdict": "degraded", "source": "none", "run_token": ..., "debug": False, **reasons("verifier_not_configured")})
    note("VCH-015 sentence", "No Play Integrity credentials are set on this server.", body["reasons"][0]["message"])
    row("VCH-017 min_trust", keyless.gateway.get("/sure/x", [("Authorization", "Bearer " + body["run_token"]), ("X-Device-Id", "dev_abc"), ("X-App-Version", "1.4.2"), ("X-App-Platform", "android")]), 403,
        {"error": {"code": "trust_too_low"}})


def test_signals_are_listed_and_change_nothing(client, phone):
    signals = ["signal_rooted", "signal_debugger", "signal_hooking", "signal_repackaged", "signal_emulator", "signal_unofficial_installer"]
    row("VCH-006/007", client.android(phone, signals=signals), 200, {"verdict": "pass", "run_token": ..., **reasons(*signals)})


def test_a_nonce_counts_once_and_for_its_app_and_kind(client, make_client, phone):
    nonce = client.nonce()
    token = phone.play_token(nonce)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: client.attest(nonce=nonce, token=token), range(20)))
    note("SAL-001", 1, sum(json.loads(a.body)["verdict"] == "pass" for a in answers))
    other = make_client()
    nonce = client.nonce()
    row("another app's nonce", other.attest(nonce=nonce, token=phone.play_token(nonce)), 200, {"verdict": "fail", "source": "none", "run_token": None, **reasons("nonce_mismatch")})
    row("its own app's", client.attest(nonce=nonce, token=phone.play_token(nonce)), 200, {"verdict": "pass"})
    for made, used in (("pk_test", "pk_live"), ("pk_live", "pk_test")):
        nonce = other.nonce(made)
        row("a nonce of %s for %s" % (made, used), other.attest(used, nonce=nonce, token=phone.play_token(nonce)), 200, {"verdict": "fail", "run_token": None, **reasons("nonce_mismatch")})
        row("its own kind", other.attest(made, nonce=nonce, token=phone.play_token(nonce)), 200, {"verdict": "pass"})
    nonce = client.nonce()
    row("a failed proof spends it", client.attest(nonce=nonce, token=phone.play_token(client.nonce())), 200, {"verdict": "fail"})
    row("spent", client.attest(nonce=nonce, token=phone.play_token(nonce)), 200, {"verdict": "fail", **reasons("nonce_mismatch")})


# -- development devices
def test_development_devices(client, phone, one):
    row("VCH-040 201", client.admin("POST", "debug-devices", body={"device_id": "dev_dbg"}), 201, {"device_id": "dev_dbg", "created_at": ...})
    row("VCH-040 200", client.admin("POST", "debug-devices", body={"device_id": "dev_dbg"}), 200, {"device_id": "dev_dbg"})
    listed = row("VCH-040 list", client.admin("GET", "debug-devices"), 200)
    note("VCH-040 one row", ["dev_dbg"], [d["device_id"] for d in listed["debug_devices"]])
    for body in ({}, {"device_id": ""}, {"device_id": "a/b"}, {"device_id": 1}):
        row("400", client.admin("POST", "debug-devices", body=body), 400, {"error": {"code": "invalid_request"}})
    debug = row("VCH-027", client.attest("pk_test", "dev_dbg"), 200, {
        "verdict": "pass", "reasons": [{"code": "debug_device", "message": "Registered development device, attestation skipped."}],
        "source": "debug", "run_token": ..., "expires_at": ..., "from_cache": False, "debug": True})
    row("VCH-028", client.attest("pk_live", "dev_dbg"), 403, exactly={"error": {"code": "debug_not_allowed", "message": "Debug attestation needs a test key."}})
    row("VCH-029", client.android(phone, device="dev_dbg"), 200, {"verdict": "pass", "debug": False, "source": "play_integrity"})
    row("VCH-024 a test token on a live back end", client.admin("POST", "run-tokens/verify", body={"run_token": debug["run_token"], "device_id": "dev_dbg", "app_version": "1.4.2", "platform": "android"}), 200, exactly={"active": False})
    row("VCH-024 on a test back end", client.admin("POST", "run-tokens/verify", "sk_test", {"run_token": debug["run_token"], "device_id": "dev_dbg", "app_version": "1.4.2", "platform": "android"}), 200, {"active": True, "debug": True})
    row("a debug token is development", one.get("/sure/x", [("Authorization", "Bearer " + debug["run_token"]), ("X-Device-Id", "dev_dbg"), ("X-App-Version", "1.4.2"), ("X-App-Platform", "android")]), 403, {"error": {"code": "trust_too_low"}})
    row("an ordinary route", client.order(debug["run_token"], "dev_dbg"), 200)
    kinds = {mode: [d["device_id"] for d in json.loads(client.admin("GET", "devices", "sk_" + mode).body)["devices"]] for mode in ("live", "test")}
    note("VCH-024 own kind", ([True], ["dev_dbg"]), (["dev_dbg" in kinds["live"]], kinds["test"]))
    row("VCH-035 remove", client.admin("DELETE", "debug-devices/dev_dbg"), 204)
    row("VCH-035", client.attest("pk_test", "dev_dbg"), 400, {"error": {"code": "invalid_request"}})
    row("removed twice", client.admin("DELETE", "debug-devices/dev_dbg"), 404, exactly={"error": {"code": "not_found", "message": "No such app or device."}})
    events = [e["event"] for e in one.cli("history", "--app", client.app.id)["events"]]
    note("SAL-016", (1, 1), (events.count("debug_device_added"), events.count("debug_device_removed")))


def test_a_management_key_is_one_apps(client, make_client):
    for organization in ("acme", "globex"):
        other = make_client(organization=organization)
        for method, path, body in (("GET", "debug-devices", None), ("POST", "debug-devices", {"device_id": "d"}), ("POST", "devices/dev_abc/revoke", None), ("GET", "devices", None),
                                   ("POST", "run-tokens/verify", {"run_token": "x", "device_id": "d", "app_version": "1", "platform": "ios"}), ("DELETE", "debug-devices/d", None)):
            row("VCH-025", client.admin(method, path, body=body, app=other.app.id), 404, exactly={"error": {"code": "not_found", "message": "No such app or device."}})
    row("VCH-025 no such app", client.admin("GET", "debug-devices", app="app_nope"), 404, {"error": {"code": "not_found"}})


# -- run tokens
def test_revoking_a_device_ends_its_tokens_at_once_on_every_worker(make_client, phone):
    client = make_client()
    row("VCH-039 404", client.admin("POST", "devices/dev_abc/revoke"), 404, {"error": {"code": "not_found"}})
    refused = 0
    for round_ in range(20):
        tokens = [json.loads(client.android(phone).body)["run_token"] for _ in range(2)]
        other = json.loads(client.android(phone, device="dev_other").body)["run_token"]
        for token in tokens * 4:
            assert client.order(token).status == 200
        body = row("VCH-033", client.admin("POST", "devices/dev_abc/revoke"), 200, exactly={"device_id": "dev_abc", "revoked": 2})
        assert body["revoked"] == 2
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            refused += sum(a.status == 401 for a in pool.map(lambda i: client.order(tokens[i % 2]), range(16)))
        row("VCH-033 verify", client.admin("POST", "run-tokens/verify", body={"run_token": tokens[0], "device_id": "dev_abc", "app_version": "1.4.2", "platform": "android"}), 200, exactly={"active": False})
        assert client.order(other, "dev_other").status == 200, "another device's token lives on"
    note("SAL-010 refused at once", 320, refused)
    row("VCH-034", client.android(phone), 200, {"verdict": "pass", "run_token": ..., "from_cache": False})
    row("again, none alive but one", client.admin("POST", "devices/dev_abc/revoke"), 200, {"revoked": 1})
    row("the other kind", client.admin("POST", "devices/dev_abc/revoke", "sk_test"), 404, {"error": {"code": "not_found"}})


def test_a_token_is_kept_by_its_hash_alone_and_runs_out(make_client, phone, one):
    client = make_client()
    bad = one.run("settings", "set", "run-token-ttl=25h", "--app", client.app.id)
    note("VCH-021 25 h", 1, bad.returncode)
    one.cli("settings", "set", "run-token-ttl=60", "--app", client.app.id)
    body = json.loads(client.android(phone).body)
    note("run-token-ttl", True, 50 < until(body["expires_at"]) <= 61)
    one.cli("settings", "set", "run-token-ttl=24h", "--app", client.app.id)
    body = json.loads(client.android(phone).body)
    note("24 h", True, 86_000 < until(body["expires_at"]) <= 86_401)
    held = (one.directory / "state/redis").rglob("*")
    data = b"".join(p.read_bytes() for p in held if p.is_file())
    note("VCH-019", False, body["run_token"].encode() in data or body["run_token"][19:].encode() in data)
    assert client.keys["sk_live"].encode() not in data and client.keys["pk_live"].encode() not in data
    assert body["run_token"] not in one.output() and client.keys["sk_live"] not in one.output()


def test_run_tokens_of_another_app_or_dialect_count_nowhere(client, make_client, phone, one):
    other = make_client(organization="globex")
    token = json.loads(other.android(phone).body)["run_token"]
    row("another organization's", client.order(token), 403, {"error": {"code": "organization_not_allowed"}})
    row("verify at another app", client.admin("POST", "run-tokens/verify", body={"run_token": token, "device_id": "dev_abc", "app_version": "1.4.2", "platform": "android"}), 200, exactly={"active": False})
    mine = json.loads(client.android(phone).body)["run_token"]
    fields = [("Authorization", "Bearer " + mine), ("X-App-Id", client.app.id), ("X-Device-Id", "dev_abc"), ("X-App-Version", "1.4.2"), ("X-App-Platform", "android")]
    note("a run token on another dialect's route", 401, one.get("/other/x", fields).status)
    one.cli("apps", "disable", "--app", other.app.id)
    note("a disabled app's", 401, client.order(token).status)


# -- the cache
def test_a_verdict_is_remembered_for_the_same_proof_only(make_client, phone, authorities, one):
    client = make_client()
    nonce = client.nonce()
    token = phone.play_token(nonce)
    first = json.loads(client.attest(nonce=nonce, token=token).body)
    again = row("VCH-043", client.attest(token=token), 200, {"verdict": "pass", "source": "play_integrity", "from_cache": True, "run_token": ...})
    note("VCH-044", True, first["run_token"] != again["run_token"] and client.order(again["run_token"]).status == 200)
    row("VCH-044 a fresh nonce", client.attest(nonce=nonce, token=token), 200, {"verdict": "fail", **reasons("nonce_mismatch")})
    other = devices.Android(authorities)
    row("VCH-046", client.attest(token=other.play_token("another")), 200, {"verdict": "fail", "from_cache": False})
    row("another build", client.attest(token=token, version="1.5.0"), 200, {"verdict": "fail", "from_cache": False})
    row("another device", client.attest(token=token, device="dev_two"), 200, {"verdict": "fail", "from_cache": False})
    row("the other kind of key", client.attest("pk_test", token=token), 200, {"verdict": "fail", "from_cache": False})
    client.admin("POST", "devices/dev_abc/revoke")
    row("VCH-033 cache", client.attest(token=token), 200, {"verdict": "fail", "from_cache": False})
    iphone = devices.IPhone(authorities)
    client.iphone(iphone, first=True)
    row("VCH-046 iPhone", client.iphone(iphone), 200, {"verdict": "pass", "from_cache": True, "run_token": ...})
    row("a bad assertion", client.iphone(iphone, counter=1), 200, {"verdict": "fail", "from_cache": False})
    bad = phone.play_token(client.nonce(), device=())
    row("VCH-045", client.attest(device="dev_bad", token=bad), 200, {"verdict": "fail"})
    row("VCH-045 again", client.attest(device="dev_bad", token=bad), 200, {"verdict": "fail", "from_cache": False})
    one.cli("settings", "set", "verdict-cache=0", "--app", client.app.id)
    nonce = client.nonce()
    token = phone.play_token(nonce)
    client.attest(nonce=nonce, token=token, device="dev_off")
    row("off", client.attest(token=token, device="dev_off"), 200, {"verdict": "fail", "from_cache": False})


# -- policies
def test_policies_allow_refuse_and_count(make_client, phone, one):
    client = make_client()
    at = ["--app", client.app.id]
    row("VCH-004", client.attest(unavailable="no_play_services"), 200, {"verdict": "degraded", "run_token": ...})
    one.cli("policy", "set", "degraded=monitor", "signal_rooted=monitor", *at)
    for attempt in range(10):
        row("VCH-030 monitor", client.attest(device="dev_%d" % (attempt % 3), unavailable="no_play_services"), 200, {"verdict": "degraded", "run_token": ...})
    counted = {p["when"]: p["devices"] for p in one.cli("policy", "get", *at)["policies"]}
    note("VCH-031", {"degraded": 3, "signal_rooted": 0}, counted)
    one.cli("policy", "set", "degraded=refuse", *at)
    body = row("VCH-030 refuse", client.attest(unavailable="no_play_services"), 200, {"verdict": "degraded", "run_token": None, "expires_at": None, **reasons("no_play_services", "policy_refused")})
    assert body["reasons"][1]["message"]
    row("a pass passes", client.android(phone), 200, {"verdict": "pass", "run_token": ...})
    one.cli("policy", "set", "no_play_services=allow", *at)
    row("one reason let by", client.attest(unavailable="no_play_services"), 200, {"verdict": "degraded", "run_token": ...})
    row("the others not", client.android(phone, licence="UNEVALUATED"), 200, {"verdict": "degraded", "run_token": None})
    one.cli("policy", "set", "signal_hooking=refuse", *at)
    row("a signal refuses", client.android(phone, signals=["signal_hooking"]), 200, {"verdict": "pass", "run_token": None, **reasons("signal_hooking", "policy_refused")})
    for wrong in ("fail=allow", "device_emulator=allow", "nonce_mismatch=monitor", "pass=refuse", "tired=allow", "degraded=maybe"):
        refused = one.run("policy", "set", wrong, *at)
        note("VCH-032 " + wrong, 1, refused.returncode)
    one.cli("policy", "set", "degraded=default", "no_play_services=default", "signal_hooking=default", "signal_rooted=default", *at)
    note("none left", [], one.cli("policy", "get", *at)["policies"])
    assert "policies_changed" in [e["event"] for e in one.cli("history", *at)["events"]]


def test_each_exchange_leaves_a_row_and_nothing_of_the_device(make_client, phone, one):
    client = make_client()
    client.android(phone, signals=["signal_rooted"])
    client.attest(unavailable="no_play_services")
    client.call("POST", "/v1/sdk/attest", "pk_live", {})
    rows_ = one.cli("verdicts", "--app", client.app.id)["verdicts"]
    note("VCH-042", [("degraded", ["no_play_services"], "none"), ("pass", ["signal_rooted"], "play_integrity")], [(r["verdict"], r["reasons"], r["source"]) for r in rows_])
    assert set(rows_[0]) == {"at", "device_id", "app_version", "platform", "verdict", "reasons", "source", "kind", "debug", "from_cache"}


# -- Google's API, the environment, restarts
class Google:
    """Google's API, played: an access token for a signed assertion, and the payload that a token stands for."""

    def __init__(self, site):
        import http.server

        self.asked, self.decode, outer = [], lambda token: (200, {}), self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/token":
                    status, value = 200, {"access_token": "ya29.x", "expires_in": 3600, "token_type": "Bearer"}
                else:
                    outer.asked.append(self.path)
                    status, value = outer.decode(json.loads(body)["integrityToken"])
                if status == 0:
                    time.sleep(3)
                    return
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = upstreams.serve_https(Handler, site)
        self.url = "https://localhost:%d" % self.server.server_port


def payload(nonce, **change):
    return 200, {"tokenPayloadExternal": {
        "requestDetails": {"requestPackageName": ANDROID[0], "nonce": nonce, "timestampMillis": str(int(time.time() * 1000))},
        "appIntegrity": {"appRecognitionVerdict": "PLAY_RECOGNIZED", "packageName": ANDROID[0], "certificateSha256Digest": [devices.b64url(b"\x11" * 32)]},
        "deviceIntegrity": {"deviceRecognitionVerdict": change.get("device", ["MEETS_DEVICE_INTEGRITY"])},
        "accountDetails": {"appLicensingVerdict": "LICENSED"}}}


def test_google_opens_tokens_for_who_has_an_account(site, authority, authorities, backend, tmp_path):
    google = Google(authority.issue("google", ["localhost", "127.0.0.1"]))
    made = binary.Gateway(site, [route("api", "/v1/", dialect="vouch", access=ACCESS)], {"api": {"endpoints": [url(backend)]}}, workers=1,
                          environment={"VOUCH_PLAY_INTEGRITY_CREDENTIALS": account(google.url + "/token"), "VOUCH_APP_ATTEST_ENV": "production"},
                          trust={"directory": str(authorities.bundle(tmp_path / "trust")), "play_integrity": google.url, "play_deadline": "1s", "ca": str(authority.path)})
    for listener in made.configuration["listeners"]:
        listener["serves"] = ["vouch"]
    made.write()
    with made:
        made.create_organization("acme")
        client = new_app(made, authorities, tmp_path, keys=False)
        nonce = client.nonce()
        google.decode = lambda _: payload(nonce)
        row("VCH-014", client.attest(nonce=nonce, token="sealed"), 200, {"verdict": "pass", "source": "play_integrity", "run_token": ...})
        for _ in range(9):
            row("VCH-036", client.attest(token="sealed"), 200, {"verdict": "pass", "from_cache": True})
        note("VCH-036 calls", ["/v1/%s:decodeIntegrityToken" % ANDROID[0]], google.asked)
        other = client.nonce()
        google.decode = lambda _: payload(other, device=[])
        row("Google says no", client.attest(nonce=other, token="other"), 200, {"verdict": "fail", **reasons("device_not_trusted")})
        for status in (500, 0):
            google.decode = lambda _: (status, {})
            row("VCH-016 %d" % status, client.attest(token="third%d" % status), 200, {"verdict": "degraded", "source": "none", "run_token": ..., **reasons("platform_unavailable")})
        google.decode = lambda _: (400, {})
        row("Google cannot open it", client.attest(token="fourth"), 200, {"verdict": "fail", **reasons("malformed")})
        iphone = devices.IPhone(authorities, environment=devices.DEVELOPMENT)
        row("VCH-012", client.iphone(iphone, first=True), 200, {"verdict": "fail", **reasons("app_not_recognised")})
        row("VCH-012 the expected one", client.iphone(devices.IPhone(authorities), first=True), 200, {"verdict": "pass"})
        # An app's own account comes before the gateway's.
        (tmp_path / "own.json").write_text(account(google.url + "/token"))
        made.cli("play-keys", "set", "--app", client.app.id, "--service-account", tmp_path / "own.json")
        nonce = client.nonce()
        google.decode = lambda _: payload(nonce)
        row("an app's own account", client.attest(nonce=nonce, token="fifth"), 200, {"verdict": "pass"})
        # Everything dies between nonce and proof, and between token and use.
        run_token = json.loads(client.attest(token="fifth").body)["run_token"]
        nonce = client.nonce()
        made.kill_everything()
        made.start()
        google.decode = lambda _: payload(nonce)
        row("after kill -9: the token", client.order(run_token), 200)
        row("after kill -9: the nonce", client.attest(nonce=nonce, token="sixth"), 200, {"verdict": "pass"})
        row("after kill -9: once", client.attest(nonce=nonce, token="sixth"), 200, {"verdict": "fail"})


def test_another_bundle_counts_on_every_worker_without_a_reload(site, backend, authorities, tmp_path):
    bundle = authorities.bundle(tmp_path / "trust")
    made = binary.Gateway(site, [route("api", "/v1/", dialect="vouch", access=ACCESS)], {"api": {"endpoints": [url(backend)]}}, workers=2, trust={"directory": str(bundle)})
    for listener in made.configuration["listeners"]:
        listener["serves"] = ["vouch"]
    made.write()
    with made:
        made.create_organization("acme")
        client, others = new_app(made, authorities, tmp_path), devices.Authorities()
        # Twelve connections meet both workers.
        def verdicts(whose):
            return [json.loads(client.iphone(devices.IPhone(whose), first=True).body)["verdict"] for _ in range(12)]
        note("the first roots", ({"pass"}, {"fail"}), (set(verdicts(authorities)), set(verdicts(others))))
        others.bundle(bundle)
        assert eventually(lambda: set(verdicts(authorities)) == {"fail"}, 12)
        note("the other roots", ({"fail"}, {"pass"}), (set(verdicts(authorities)), set(verdicts(others))))
        assert made.metrics()["sallyport_config_last_reload_successful"] == 1
        note("test roots are shown", True, made.cli("status")["trust"]["test_roots"])


def test_a_labs_proofs_count_for_hours_and_as_development(make_client, one, tmp_path):
    lab = tmp_path / "lab"
    assert one.run("lab", "init", lab).returncode == 0
    client = make_client(keys=False)
    at = ["--app", client.app.id]

    def play(nonce, verdict="pass"):
        made = one.run("lab", "play", "--lab", lab, "--package", ANDROID[0], "--sha256", ANDROID[1], "--nonce", nonce, "--verdict", verdict)
        return json.loads(made.stdout)["integrityToken"]

    nonce = client.nonce()
    row("no lab trust yet", client.attest(nonce=nonce, token=play(nonce)), 200, {"verdict": "degraded", **reasons("verifier_not_configured")})
    one.cli("lab", "trust", "on", *at, "--hours", "1", "--lab", lab)
    nonce = client.nonce()
    body = row("lab trust", client.attest(nonce=nonce, token=play(nonce)), 200, {"verdict": "pass", "source": "play_integrity", "run_token": ...})
    fields = [("Authorization", "Bearer " + body["run_token"]), ("X-Device-Id", "dev_abc"), ("X-App-Version", "1.4.2"), ("X-App-Platform", "android")]
    row("and never more than development", one.get("/sure/x", fields), 403, {"error": {"code": "trust_too_low"}})
    nonce = client.nonce()
    row("a lab's emulator", client.attest(nonce=nonce, token=play(nonce, "virtual")), 200, {"verdict": "fail", **reasons("device_emulator")})
    assert "a lab's proofs count" in one.run("status", *at).stdout
    nonce = client.nonce()
    made = json.loads(one.run("lab", "ios", "attest", "--lab", lab, "--team-id", IOS[1], "--bundle-id", IOS[0], "--nonce", nonce).stdout or "{}")
    if "attestation" in made:
        row("a lab's iPhone", client.attest(platform="ios", nonce=nonce, key_id=made["keyId"], attestation=made["attestation"]), 200, {"verdict": "pass", "source": "app_attest"})
    one.cli("lab", "trust", "off", *at)
    nonce = client.nonce()
    row("off again", client.attest(nonce=nonce, token=play(nonce)), 200, {"verdict": "degraded", **reasons("verifier_not_configured")})
    one.cli("production", "on", *at)
    note("a production app", 1, one.run("lab", "trust", "on", *at, "--hours", "1", "--lab", lab).returncode)

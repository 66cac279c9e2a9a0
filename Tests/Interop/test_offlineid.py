# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Dialect `offlineid` on the wire: phones sign in through their own upstream's routes, and every refusal says what mends it."""
import concurrent.futures
import json
import time

import pytest

import devices
import gateway as binary
from rows import note, row
from signins import Client, authorities, backend  # noqa: F401 (fixtures)

ACCESS = {"organizations": ["acme"], "credentials": ["origin", "api_key", "session_token"]}
SIGN_IN = {"send_code": "/v1/auth/send-code", "verify": "/v1/auth/verify-code", "guest": "/v1/auth/guest",
           "refresh": "/v1/auth/refresh", "tokens": "opaque"}
DOCS = "https://docs.sallyport.example"


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):
    trust = authorities.bundle(tmp_path_factory.mktemp("trust"))
    routes = [{"name": "api", "match": {"path": "/v1/"}, "upstream": "api", "dialect": "offlineid", "sign_in": SIGN_IN, "access": ACCESS, "cors": {}}]
    made = binary.Gateway(site, routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % backend.port]}}, trust={"directory": str(trust)},
                          http={"body": "16MiB"})
    for listener in made.configuration["listeners"]:
        listener["serves"] = ["offlineid"]
    made.write()
    made.start()
    made.create_organization("acme")
    yield made
    made.remove()


@pytest.fixture
def make_app(one):
    """make_app(…): an app with both platforms registered, unless told otherwise."""
    def make(ios=True, android=True, **options):
        app = one.create_app("app-%d" % time.monotonic_ns(), **options)
        if ios:
            one.cli("native", "add", "ios", "--bundle-id", "com.example.fieldapp", "--team-id", "ABCDE12345", "--app", app.id)
        if android:
            one.cli("native", "add", "android", "--package", "com.example.fieldapp", "--sha256", "11" * 32, "--app", app.id)
        client = Client(one, app.id)
        client.made = app
        return client

    return make


@pytest.fixture
def iphone(authorities):
    return devices.IPhone(authorities)


@pytest.fixture
def android(authorities):
    return devices.Android(authorities)


def refused(code, reason=None, missing=None, client=None):
    data = {"missing": missing, "next_steps": ..., "docs": ...}
    if client:
        data["app_id"] = client.app
    if reason:
        data["reason"] = reason
    return {"message": ..., "error": {"code": code, "message": ...}, "data": data}


def unauthorized(code, missing=None, client=None):
    data = {"missing": missing, "next_steps": ..., "docs": ...}
    if client:
        data["app_id"] = client.app
    return {"message": ..., "error": code, "data": data}


def told(status, trust, reason=None):
    made = {"status": status, "trust": trust}
    if reason:
        made["reason"] = reason
    return {"message": "OK", "data": {"attestation": made}}


# -- challenges
def test_a_challenge_is_handed_out_and_names_its_end(make_app):
    client = make_app()
    before = time.time()
    seen = row("OFF-016 OFF-117", client.post("/users/attestation/challenge"), 200, {"message": "OK", "data": {"challenge": ..., "expires_at": ...}})
    note("OFF-025", True, len(seen["data"]["challenge"]) == 22 and all(c.isalnum() or c in "-_" for c in seen["data"]["challenge"]))
    ends = time.mktime(time.strptime(seen["data"]["expires_at"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    note("OFF-019", True, 298 <= ends - before <= 301)


def test_an_app_that_is_not_there_gets_no_challenge(one, make_app):
    row("OFF-117 OFF-130", Client(one, "app_nope").post("/users/attestation/challenge"), 401,
        {"message": "No such application.", "error": "invalid_app", "data": {"app_id": "app_nope", "missing": None, "next_steps": ["sallyport apps list"], "docs": ...}})
    row("OFF-117 OFF-130", Client(one, None).post("/users/attestation/challenge"), 401, {"error": "invalid_app", "data": {"app_id": None}})
    client = make_app()
    one.cli("apps", "disable", "--app", client.app)
    row("OFF-100 OFF-011", client.post("/users/attestation/challenge"), 401, unauthorized("invalid_app", client=client))
    row("OFF-100 OFF-011", client.verify(), 401, unauthorized("invalid_app", client=client))


def test_a_body_of_another_form_is_named(make_app, iphone):
    client = make_app()
    row("dialects-head 400", client.post("/users/attestation/challenge", b"{"), 400, {"error": {"code": "bad_request"}, "data": {"reason": "not_json"}})
    row("dialects-head 415", client.post("/users/attestation/challenge", b"x", {"Content-Type": "text/plain"}), 415, {"error": {"code": "unsupported_media_type"}})
    row("dialects-head 413", client.post("/users/attestation/challenge", b" " * 70000), 413, {"error": {"code": "payload_too_large"}})
    row("A.2 field", client.post("/users/attestation/ios/register", {"keyId": "k", "challenge": "c"}), 400, {"data": {"field": "attestation"}})
    row("OQ-34 415", client.post("/v1/auth/verify-code", b"{}", {"Content-Type": "text/plain"}), 415, {"error": {"code": "unsupported_media_type"}})
    row("OQ-34 415", client.post("/v1/auth/verify-code", b"{}", {"Content-Encoding": "gzip"}), 415)
    row("OQ-34 400", client.post("/v1/auth/verify-code", b'{"a":1,"a":2}'), 400, {"data": {"reason": "duplicate_name"}})
    row("OQ-34 400", client.post("/v1/auth/verify-code", b'{"a":' * 20 + b"1" + b"}" * 20), 400, {"data": {"reason": "too_deep"}})
    row("OQ-34 413", client.post("/v1/auth/verify-code", b" " * 70000), 413)
    row("A.4 field", client.post("/v1/auth/send-code", {}), 400, {"data": {"field": "email"}})
    row("A.4 field", client.post("/v1/auth/send-code", {"email": 7}), 400, {"data": {"field": "email"}})


# -- iPhones
def test_an_iphone_registers_and_signs_in(one, backend, make_app, iphone):
    client = make_app()
    row("OFF-026 OFF-118 OFF-037", client.register(iphone), 200, exactly={"message": "OK", "data": {"keyId": iphone.key_id, "environment": "production"}})
    row("OFF-027 OFF-120 OFF-020", client.send_code(client.ios(iphone)), 200, exactly={
        "message": "OK", "data": {"sent": True, "attestation": {"status": "verified", "trust": "hardware"}}})
    body = row("OFF-009 OFF-121 OFF-122", client.verify(client.ios(iphone)), 200, {
        "message": "OK", "data": {"user": {"id": 17, "email": "person@example.com", "phone_number": None, "username": None, "created_at": "2026-11-04T00:00:00Z"},
                                  "token": ..., "attestation": {"status": "verified", "trust": "hardware"}}})
    seen = backend.seen[-1]
    note("OFF-076 upstream fields", ("attestation", "hardware", "verified", client.app, client.app),
         (seen["Sallyport-Credential"], seen["Sallyport-Trust"], seen["Sallyport-Attestation"], seen["Sallyport-App"], seen["X-App-Id"]))
    note("A.4 content coding off", "identity", seen["Accept-Encoding"])
    row("OFF-005", client.get(fields={"Authorization": "Bearer " + body["data"]["token"]}), 200)
    note("OFF-005 trust later", ("session_token", "hardware"), (backend.seen[-1]["Sallyport-Credential"], backend.seen[-1]["Sallyport-Trust"]))
    row("OFF-119", client.register(iphone), 200)
    row("OFF-119 counter stays", client.verify(client.ios(iphone, counter=1)), 403, refused("attestation_failed", "counter_not_increasing"))


@pytest.mark.parametrize("spell", [lambda text: text, lambda text: text.rstrip("="), lambda text: text.replace("+", "-").replace("/", "_"),
                                   lambda text: text.replace("+", "-").replace("/", "_").rstrip("=")], ids=["standard", "unpadded", "url", "url unpadded"])
def test_a_key_id_counts_in_either_alphabet(make_app, authorities, spell):
    """A key is its 32 bytes, whatever text an app makes of them; SDKs differ (B39)."""
    client, phone = make_app(), devices.IPhone(authorities)
    while not {"+", "/"} <= set(phone.key_id):
        phone.fresh_key()
    assert client.register(phone).status == 200
    phone.key_id = spell(phone.key_id)
    assert client.verify(client.ios(phone)).status == 200
    phone.key_id = phone.key_id[:-2] + ("AA" if phone.key_id[-2:] != "AA" else "BB")
    assert client.verify(client.ios(phone)).status == 403


def test_the_very_bytes_reach_the_upstream(backend, make_app, iphone):
    client = make_app()
    client.register(iphone)
    body = json.dumps({"email": "person@example.com", "code": "482913", "big": 12345678901234567890, "attestation": client.ios(iphone)},
                      indent=3, ensure_ascii=False).encode() + b"\n\n"
    row("OQ-34 the very bytes", client.post("/v1/auth/verify-code", body), 200, told("verified", "hardware"))
    note("OQ-34 the very bytes", body, backend.seen[-1].body)


def test_every_proof_that_an_iphone_gets_wrong(one, make_app, authorities, iphone):
    client, other = make_app(), make_app()
    spent = client.challenge()
    row("OFF-118", client.register(iphone, spent), 200)
    row("OFF-017", client.register(iphone, spent), 403, refused("attestation_failed", "challenge_invalid", client=client))
    row("OFF-018", client.verify(client.ios(iphone, other.challenge())), 403, refused("attestation_failed", "challenge_invalid"))
    row("OFF-024 unknown", client.verify(client.ios(iphone, "x" * 22)), 403, refused("attestation_failed", "challenge_invalid"))
    row("OFF-022", client.register(iphone, purpose="sign-in"), 403, refused("attestation_failed", "nonce_mismatch"))
    row("OFF-022", client.verify(client.ios(iphone, purpose="register")), 403, refused("attestation_failed", "nonce_mismatch"))
    challenge = client.challenge()
    wrong = {"platform": "ios", "challenge": challenge, "keyId": iphone.key_id, "assertion": iphone.assert_(other.binding(challenge))}
    row("OFF-023", client.verify(wrong), 403, refused("attestation_failed", "nonce_mismatch"))
    row("OFF-017 spent by a failure", client.verify(client.ios(iphone, challenge)), 403, refused("attestation_failed", "challenge_invalid"))
    row("OFF-030", client.verify(client.ios(iphone, counter=50)), 200)
    row("OFF-030", client.verify(client.ios(iphone, counter=50)), 403, refused("attestation_failed", "counter_not_increasing"))
    row("OFF-030", client.verify(client.ios(iphone, counter=49)), 403, refused("attestation_failed", "counter_not_increasing"))
    row("OFF-031", client.verify(client.ios(devices.IPhone(authorities))), 403,
        refused("attestation_key_unknown", client=client) | {"message": "This install's key is not registered."})
    row("OFF-031 another app's key", other.verify(other.ios(iphone)), 403, refused("attestation_key_unknown"))
    row("OFF-038", client.verify(client.ios(iphone, counter=60, tamper=lambda s: s[:-1] + bytes([s[-1] ^ 1]))), 403, refused("attestation_failed", "nonce_mismatch"))
    row("OFF-039", client.verify(client.ios(iphone, counter=61) | {"assertion": "@@"}), 403, refused("attestation_failed", "malformed"))
    row("OFF-028 OFF-131", client.register(devices.IPhone(authorities, bundle="com.example.other")), 403,
        refused("attestation_failed", "app_not_registered") | {"data": {"next_steps": ["sallyport native add ios --bundle-id <bundle id> --team-id <team id>"]}})
    row("OFF-032", client.register(devices.IPhone(authorities, bundle="com.example.FieldApp")), 403, refused("attestation_failed", "app_not_registered"))
    row("SAL-004", client.register(devices.IPhone(devices.Authorities())), 403, refused("attestation_failed", "malformed"))
    one.cli("native", "remove", "ios", "--bundle-id", "com.example.fieldapp", "--app", client.app)
    row("OFF-118 not configured", client.register(iphone), 403, refused("attestation_not_configured", missing="native_registration"))
    row("13.1 proof, none for its platform", client.verify(client.ios(iphone, counter=70)), 403, refused("attestation_not_configured", missing="native_registration"))


def test_development_builds_are_a_switch(one, make_app, authorities):
    client = make_app()
    build = devices.IPhone(authorities, environment=devices.DEVELOPMENT)
    row("OFF-035", client.register(build), 403, refused("attestation_failed", "development_not_allowed") | {
        "data": {"next_steps": ["sallyport dev-builds on", "Or sign in from a TestFlight or App Store build."]}})
    one.cli("dev-builds", "on", "--app", client.app)
    row("OFF-035 OFF-118", client.register(build), 200, {"data": {"environment": "development"}})
    row("OFF-010", client.verify(client.ios(build)), 200, told("verified", "hardware"))
    one.cli("dev-builds", "off", "--app", client.app)
    row("OFF-036", client.verify(client.ios(build)), 403, refused("attestation_failed", "development_not_allowed"))
    one.cli("dev-builds", "on", "--app", client.app)
    one.cli("production", "on", "--app", client.app)
    row("OFF-091", client.verify(client.ios(build)), 200, told("verified", "hardware"))


# -- Androids
def test_a_good_android_and_every_lowered_state(make_app, authorities, android):
    client = make_app()
    row("OFF-008 OFF-040 OFF-041", client.verify(client.android(android)), 200, told("verified", "hardware"))
    row("OFF-041", client.verify(client.android(android, plain=True)), 200, told("verified", "hardware"))
    for state, reason in [
        (dict(locked=False, boot=2), "bootloader_unlocked"), (dict(boot=1), "boot_not_verified"), (dict(level=0), "software_attestation"),
        (dict(foreign=True), "untrusted_root"), (dict(batch_days=(-300, -1)), "certificate_expired"), (dict(root_of_trust=False), "no_root_of_trust"),
    ]:
        phone = devices.Android(authorities, **state)
        row("OFF-047 OFF-048", client.verify(client.android(phone)), 200, told("degraded", "degraded", reason))
    phone = devices.Android(authorities, locked=False)
    row("OFF-114", client.send_code(client.android(phone)), 200, told("degraded", "degraded", "bootloader_unlocked"))
    row("OFF-013", client.send_code(client.android(phone), phone_number="+15550100"), 403, refused("attestation_required", missing="attestation"))
    row("OFF-013", client.send_code(client.android(android), email=None, phone_number="+15550100"), 200, told("verified", "hardware"))


def test_what_no_policy_softens(one, make_app, authorities, android):
    client = make_app()
    other = devices.Android(authorities, package="com.example.other")
    row("OFF-042 OFF-046", client.verify(client.android(other)), 403, refused("attestation_failed", "package_mismatch"))
    row("OFF-042 OFF-131", client.verify(client.android(devices.Android(authorities, signer=b"\x44" * 32))), 403,
        refused("attestation_failed", "signing_certificate_mismatch") | {
            "data": {"next_steps": ["sallyport native add android --package com.example.fieldapp --sha256 <certificate SHA-256>"]}})
    row("OFF-045", client.verify(client.android(android) | {"certificateChain": ["AAAA"]}), 403, refused("attestation_failed", "malformed"))
    row("OFF-040", client.verify(client.android(android) | {"certificateChain": list(reversed(android.chain(b"x")))}), 403, refused("attestation_failed", "malformed"))
    row("OFF-051", client.verify(client.android(android, swap=True)), 403, refused("attestation_failed", "malformed"))
    row("OFF-045", client.verify(client.android(devices.Android(authorities, application=False))), 403, refused("attestation_failed", "no_application_id"))
    challenge = client.challenge()
    row("OFF-023", client.verify({"platform": "android", "challenge": challenge, "certificateChain": android.chain(b"else")}), 403, refused("attestation_failed", "nonce_mismatch"))
    unlocked = devices.Android(authorities, locked=False)
    row("OFF-050", client.verify(client.android(unlocked, challenge)), 403, refused("attestation_failed", "challenge_invalid"))
    one.cli("degraded", "refuse", "--app", client.app)
    row("OFF-096", client.verify(client.android(unlocked)), 403, refused("attestation_failed", "bootloader_unlocked") | {
        "message": "This application does not accept this device state.", "data": {"next_steps": ["sallyport degraded allow"]}})
    row("OFF-097", client.send_code(client.android(unlocked)), 403, refused("attestation_failed", "bootloader_unlocked"))
    row("OFF-096", client.verify({"platform": "android", "unavailable": "unsupported"}), 403, refused("attestation_failed", "device_cannot_attest"))
    row("OFF-096 hardware passes", client.verify(client.android(android)), 200, told("verified", "hardware"))
    one.cli("degraded", "allow", "--app", client.app)
    row("OFF-099", client.verify(client.android(unlocked)), 200, told("degraded", "degraded", "bootloader_unlocked"))


# -- devices that cannot attest, and development mode
def test_devices_that_cannot_attest(one, make_app):
    client = make_app()
    for platform, word in (("ios", "simulator"), ("android", "emulator"), ("ios", "expo_go"), ("android", "expo_go")):
        report = {"platform": platform, "unavailable": word}
        row("OFF-061 OFF-064", client.verify(report), 403, refused("development_mode_required", missing="development_mode") | {
            "data": {"next_steps": ["sallyport dev-mode on --hours 24", "Or sign in from a development build on a physical device."]}})
        row("OFF-125", client.guest(report), 403, refused("development_mode_required", missing="development_mode"))
    for word in ("unsupported", "keystore_error"):
        row("OFF-064 OFF-048", client.verify({"platform": "android", "unavailable": word}), 200, told("degraded", "degraded", "device_cannot_attest"))
        row("OFF-065", client.verify({"platform": "ios", "unavailable": word}), 403, refused("attestation_required", missing="attestation"))
    row("OFF-063", client.verify({"platform": "android", "unavailable": "jailbroken"}), 403, refused("attestation_required", missing="attestation"))
    row("13.1 unknown form", client.verify({"platform": "windows"}), 403, refused("attestation_required", missing="attestation"))
    only_ios = make_app(android=False)
    row("13.1 no Android app", only_ios.verify({"platform": "android", "unavailable": "unsupported"}), 403, refused("attestation_not_configured", missing="native_registration"))
    one.cli("production", "on", "--app", client.app)
    row("OFF-089", client.verify({"platform": "ios", "unavailable": "simulator"}), 403, refused("development_mode_required", missing="development_mode") | {
        "message": "This device cannot attest, and the application is marked production.",
        "data": {"next_steps": ["sallyport apps create --name <name>-dev", "Test simulators against that separate application."]}})


def test_development_mode(one, backend, make_app, iphone, authorities):
    client = make_app()
    client.register(iphone)
    one.cli("dev-mode", "on", "--hours", "1", "--app", client.app)
    row("OFF-082 OFF-085", client.send_code(), 200, told("development", "development"))
    body = row("OFF-082 OFF-085", client.verify(), 200, told("development", "development"))
    note("OFF-085 upstream", ("development", "development"), (backend.seen[-1]["Sallyport-Credential"], backend.seen[-1]["Sallyport-Trust"]))
    row("OFF-064", client.guest({"platform": "ios", "unavailable": "simulator"}), 200, told("development", "development"))
    row("OFF-083", client.verify(client.ios(iphone)), 200, told("verified", "hardware"))
    row("OFF-083", client.verify(client.android(devices.Android(authorities, package="com.example.other"))), 403, refused("attestation_failed", "package_mismatch"))
    row("OFF-084", client.send_code(phone_number="+15550100"), 403, refused("attestation_required", missing="attestation"))
    row("13.1 origin not allowed, mode on", client.verify(fields={"Origin": "https://evil.example"}), 403, refused("origin_not_allowed"))
    one.cli("degraded", "refuse", "--app", client.app)
    row("OFF-098", client.verify({"platform": "android", "unavailable": "keystore_error"}), 200, told("development", "development"))
    session = {"Authorization": "Bearer " + body["data"]["token"]}
    row("OFF-086", client.get(fields=session), 200)
    one.cli("dev-mode", "off", "--app", client.app)
    row("OFF-086", client.get(fields=session), 401, unauthorized("app_credentials_required", "development_mode") | {
        "message": "Development mode has ended, and this session with it.",
        "data": {"next_steps": ["Sign in again from an attested build.", "sallyport dev-mode on --hours 24"]}})
    renewal = client.post("/v1/auth/refresh", {"refresh_token": body["data"]["refresh_token"]})
    row("OFF-086 renewal", renewal, 401, unauthorized("app_credentials_required", "development_mode"))
    one.cli("dev-mode", "on", "--hours", "1", "--app", client.app)
    row("OFF-087", client.get(fields=session), 200)
    one.cli("production", "on", "--app", client.app)
    row("OFF-093", client.get(fields=session), 401, unauthorized("app_credentials_required", "development_mode"))
    row("OFF-093 OFF-001", client.verify(), 401, unauthorized("app_credentials_required", "attestation"))


# -- no attestation
def test_requests_without_an_attestation(one, make_app):
    client, bare = make_app(), make_app(ios=False, android=False)
    row("OFF-106 OFF-107", client.send_code(), 200, exactly={"message": "OK", "data": {"sent": True}})
    row("OFF-107 OFF-001", client.verify(), 401, unauthorized("app_credentials_required", "attestation") | {
        "message": "This request carries no attestation.", "data": {"next_steps": ["Pass attestation providers to the SDK."]}})
    row("13.1", client.guest(), 401, unauthorized("app_credentials_required", "attestation"))
    row("13.1 text message", client.send_code(phone_number="+15550100"), 401, unauthorized("app_credentials_required", "attestation"))
    for answer in (bare.send_code(), bare.verify(), bare.guest(), bare.send_code(phone_number="+1")):
        row("OFF-012", answer, 401, unauthorized("app_credentials_required", "native_registration") | {
            "message": "No native app is registered for this application.",
            "data": {"next_steps": ...}})
    row("OFF-012", client.get(), 401, unauthorized("app_credentials_required", "credential"))


def test_origins_and_keys_need_no_attestation(one, backend, make_app):
    client = make_app(origins=["http://localhost:8081"])
    row("OFF-003", client.verify(fields={"Origin": "http://localhost:8081"}), 200, {"data": {"token": ...}})
    note("A.5 no verdict on the web", False, "attestation" in backend.answer(backend.seen[-1])[2].decode())
    note("OFF-078 upstream", ("origin", None), (backend.seen[-1]["Sallyport-Credential"], backend.seen[-1]["Sallyport-Trust"]))
    row("OFF-002 OFF-074", client.verify(fields={"X-Api-Key": client.made.key}), 200)
    note("OFF-078 upstream", "api_key", backend.seen[-1]["Sallyport-Credential"])
    row("OFF-067 OFF-132", client.verify(fields={"Origin": "https://evil.example"}), 403, refused("origin_not_allowed") | {
        "data": {"next_steps": ["sallyport origins add https://evil.example"]}})
    row("OFF-070", client.verify(fields={"Origin": "null"}), 403, refused("origin_not_allowed"))
    row("OFF-004", client.verify(fields={"X-Api-Key": make_app().made.key}), 401, unauthorized("app_credentials_required", "attestation"))


def test_an_attested_client_with_an_unlisted_origin(make_app, iphone):
    client = make_app()
    client.register(iphone)
    row("OFF-073", client.verify(client.ios(iphone), fields={"Origin": "https://evil.example"}), 200, told("verified", "hardware"))


# -- sessions
def test_opaque_sessions_and_their_renewal(one, backend, make_app, authorities):
    client, other = make_app(), make_app()
    phone = devices.Android(authorities, locked=False)
    body = row("OFF-121", client.verify(client.android(phone)), 200, told("degraded", "degraded", "bootloader_unlocked"))["data"]
    session = {"Authorization": "Bearer " + body["token"]}
    row("OFF-014", client.get(fields=session), 200)
    note("OFF-014 trust", ("session_token", "degraded"), (backend.seen[-1]["Sallyport-Credential"], backend.seen[-1]["Sallyport-Trust"]))
    row("OFF-077", other.get(fields=session), 401)
    row("a refresh token is no session", client.get(fields={"Authorization": "Bearer " + body["refresh_token"]}), 401)
    renewed = row("refresh inherits", client.post("/v1/auth/refresh", {"refresh_token": body["refresh_token"]}), 200, {"data": {"token": ...}})["data"]
    note("refresh inherits", ("attestation", "degraded"), (backend.seen[-1]["Sallyport-Credential"], backend.seen[-1]["Sallyport-Trust"]))
    row("refresh inherits", client.get(fields={"Authorization": "Bearer " + renewed["token"]}), 200)
    note("refresh inherits", "degraded", backend.seen[-1]["Sallyport-Trust"])
    row("refresh by session", client.post("/v1/auth/refresh", {}, session), 200)
    row("refresh of another app", other.post("/v1/auth/refresh", {"refresh_token": body["refresh_token"]}), 401)
    row("refresh without anything", client.post("/v1/auth/refresh", {}), 401)
    one.cli("degraded", "refuse", "--app", client.app)
    row("OFF-079", client.get(fields=session), 200)
    one.cli("apps", "disable", "--app", client.app)
    row("OFF-100", client.get(fields=session), 401, unauthorized("invalid_app"))


def test_a_session_that_could_not_be_known_again_reaches_nobody(one, backend, make_app, authorities):
    client = make_app()
    for token, status in (("t" * 8_192, 200), ("t" * 8_193, 502)):
        backend.raw = (200, {"Content-Type": "application/json"}, json.dumps({"data": {"token": token}}).encode())
        try:
            answer = client.verify(client.android(devices.Android(authorities, locked=False)))
        finally:
            backend.raw = None
        assert answer.status == status
        assert (token in answer.body.decode()) == (status == 200)
        if status != 200:
            assert (answer.json()["error"]["code"], answer.json()["data"]["reason"]) == ("upstream_invalid", "token_too_long")
    assert client.get(fields={"Authorization": "Bearer " + "t" * 8_192}).status == 200


# -- the splice
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("before, after", [
    (b'{"data":{"n":1.50e+3,"big":12345678901234567890,"z":"\\u00e9"},"x":[1, 2]}', b'{"data":{"n":1.50e+3,"big":12345678901234567890,"z":"\\u00e9","attestation":@},"x":[1, 2]}'),
    (b'{ "data" : { } }\n', b'{ "data" : {"attestation":@ } }\n'),
    (b'{"data":{"attestation":{"status":"verified","trust":"hardware"},"token":"t"}}', b'{"data":{"attestation":@,"token":"t"}}'),
])
def test_every_other_byte_stays(backend, make_app, authorities, before, after):
    client = make_app()
    backend.raw = (201, JSON | {"X-Own": "kept", "ETag": '"a"'}, before)
    try:
        answer = client.verify(client.android(devices.Android(authorities, locked=False)))
    finally:
        backend.raw = None
    verdict = b'{"status":"degraded","trust":"degraded","reason":"bootloader_unlocked"}'
    note("splice", (201, after.replace(b"@", verdict), "kept", 'W/"a"'), (answer.status, answer.body, answer["X-Own"], answer["ETag"]))
    note("splice verdict", ("degraded", "degraded", "bootloader_unlocked"),
         tuple(answer["Sallyport-" + n] for n in ("Attestation", "Trust", "Attestation-Reason")))


def test_what_speaks_of_the_very_bytes_goes_with_them(backend, make_app, android):
    """And stays where nothing was changed."""
    client = make_app()
    about = {"Content-MD5": "a", "Digest": "sha-256=a", "Content-Digest": "sha-256=:YQ==:", "Repr-Digest": "sha-256=:YQ==:", "Accept-Ranges": "bytes",
             "Signature": "s=:YQ==:", "Signature-Input": "s=()"}
    for body, tag, kept in ((b'{"data":{}}', 'W/"b"', False), (b'{"message":"OK"}', '"b"', True)):
        backend.raw = (200, JSON | about | {"ETag": '"b"', "Content-Range": "bytes 0-9/10", "Last-Modified": "Mon, 30 Nov 2026 00:00:00 GMT"}, body)
        try:
            answer = client.verify(client.android(android))
        finally:
            backend.raw = None
        note("splice fields", (tag, [kept] * 8, True),
             (answer["ETag"], [answer[name] is not None for name in [*about, "Content-Range"]], answer["Last-Modified"] is not None))


@pytest.mark.parametrize("status", [204, 205, 206, 304])
def test_an_answer_without_a_whole_representation_is_never_spliced(one, backend, make_app, android, status):
    client = make_app()
    body = b'{"data":{}}' if status == 206 else b""
    before = one.metrics().get('sallyport_sign_in_answers_total{result="untouched"}', 0)
    backend.raw = (status, JSON | {"ETag": '"a"'} | ({"Content-Range": "bytes 0-10/11"} if status == 206 else {}), body)
    try:
        answer = client.verify(client.android(android))
    finally:
        backend.raw = None
    note("splice %d" % status, (status, body, '"a"'), (answer.status, answer.body, answer["ETag"]))
    note("splice %d counted" % status, 1.0, one.metrics()['sallyport_sign_in_answers_total{result="untouched"}'] - before)
    assert "reason=status" in one.output()


@pytest.mark.parametrize("fields, body", [
    (JSON, b'{"data":{"attestation":{"status":"verified","trust":"hardware"}},"data":{}}'),
    ({"Content-Type": "text/json"}, b'{"data":{"attestation":{"status":"verified","trust":"hardware"}}}'),
    (JSON, b'{"data":{"attestation":{"status":"verified","trust":"hardware"},"x":"' + b"a" * (1 << 20) + b'"}}'),
])
def test_an_attestation_that_the_upstream_wrote_does_not_look_like_ours(backend, make_app, authorities, fields, body):
    """The body passes untouched, so the fields of the head say what was proved: only the gateway can write them."""
    client = make_app()
    backend.raw = (200, fields | {"Sallyport-Attestation": "verified", "Sallyport-Trust": "hardware"}, body)
    try:
        answer = client.verify(client.android(devices.Android(authorities, locked=False)))
        unsigned = client.verify(fields={"X-Api-Key": client.made.key})
    finally:
        backend.raw = None
    note("untouched says", (body, ["degraded"], ["degraded"], ["bootloader_unlocked"]),
         (answer.body, *(answer.all("Sallyport-" + n) for n in ("Attestation", "Trust", "Attestation-Reason"))))
    note("no attestation says", (200, [], []), (unsigned.status, unsigned.all("Sallyport-Attestation"), unsigned.all("Sallyport-Trust")))


@pytest.mark.parametrize("size", [20_000, 200_000, 900_000])
def test_a_long_answer_is_spliced_beside_others_in_order(one, backend, make_app, android, size):
    """It is read on the pool; what waits behind it on the same connection keeps its turn."""
    client = make_app()
    filler = ",".join('"k%d":[%d,{"a":"b"}]' % (i, i) for i in range(size // 24)).encode()
    body = b'{"data":{"z":1},"x":{' + filler + b"}}"
    backend.raw = (200, JSON, body)
    try:
        form = json.dumps({"email": "person@example.com", "code": "482913", "attestation": client.android(android)}).encode()
        with one.wire() as wire:
            wire.request("POST", "/v1/auth/verify-code", {"X-App-Id": client.app, "Content-Type": "application/json"}, form)
            wire.request("GET", "/nowhere")
            first, second = wire.answer(), wire.answer()
    finally:
        backend.raw = None
    verdict = b',"attestation":{"status":"verified","trust":"hardware"}'
    note("long splice", (200, True, 404), (first.status, first.body == body.replace(b'"z":1', b'"z":1' + verdict), second.status))


def sized(size):
    """`{"data":{"x":"aa…"}}` of so many bytes."""
    return b'{"data":{"x":"' + b"a" * (size - 17) + b'"}}'


@pytest.mark.parametrize("fields, body, reason", [
    (JSON, b"not json", "not_json"), (JSON, b"", "not_json"), (JSON, b'\xef\xbb\xbf{"data":{}}', "not_json"), (JSON, b'{"data":{}} {}', "not_json"),
    (JSON, b'{"message":"OK"}', "no_data"), (JSON, b'{"data":null}', "data_not_an_object"), (JSON, b'{"data":[{}]}', "data_not_an_object"),
    (JSON, b'{"data":{},"data":{}}', "repeated_name"), (JSON, b'{"data":{"token":"a"},"d\\u0061ta":{"token":"b"}}', "repeated_name"),
    (JSON, b'{"data":{"token":"a","tok\\u0065n":"b"}}', "repeated_name"),
    ({"Content-Type": "text/plain"}, b'{"data":{}}', "not_json"), (JSON | {"Content-Encoding": "gzip"}, b'{"data":{}}', "not_json"),
    (JSON, sized((1 << 20) + 1), "too_long"),
])
def test_what_cannot_be_spliced_passes_untouched(one, backend, make_app, android, fields, body, reason):
    client = make_app()
    before = one.metrics().get('sallyport_sign_in_answers_total{result="untouched"}', 0)
    backend.raw = (200, fields, body)
    try:
        answer = client.verify(client.android(android))
    finally:
        backend.raw = None
    note("splice untouched", (200, True), (answer.status, answer.body == body))
    note("splice counted", 1.0, one.metrics()['sallyport_sign_in_answers_total{result="untouched"}'] - before)
    note("splice logged", "untouched_" + reason, one.access()[-1].get("reason"))


def test_an_answer_of_a_mebibyte_is_spliced(one, backend, make_app, android):
    client, body = make_app(), sized(1 << 20)
    backend.raw = (200, JSON, body)
    try:
        answer = client.verify(client.android(android))
    finally:
        backend.raw = None
    note("splice at the limit", (200, len(body) + len(b',"attestation":{"status":"verified","trust":"hardware"}')), (answer.status, len(answer.body)))


# -- caps
def at_once(count, call):
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        return list(pool.map(lambda _: call(), range(count)))


def test_of_four_hundred_development_sign_ins_two_hundred_pass(one, make_app):
    client = make_app()
    one.cli("dev-mode", "on", "--hours", "1", "--app", client.app)
    answers = at_once(400, client.verify)
    note("SAL-011 OFF-109", (200, 200), (sum(a.status == 200 for a in answers), sum(a.status == 429 for a in answers)))
    seen = next(a for a in answers if a.status == 429)
    row("OFF-109 OFF-128", seen, 429, refused("development_sign_ins_limited", client=client) | {
        "message": "Too many development sign-ins this hour.", "data": {"next_steps": ["Sign in from an attested build, or wait."]}})
    note("OFF-115", True, 3500 <= int(seen["Retry-After"]) <= 3600)
    row("OFF-090 code requests are not counted", client.send_code(), 200)


def test_a_wrong_code_uses_no_place(one, make_app):
    client = make_app()
    one.cli("dev-mode", "on", "--hours", "1", "--app", client.app)
    wrong = at_once(250, lambda: client.verify(code="000000"))
    note("OFF-113 OFF-123", {400}, {a.status for a in wrong})
    row("OFF-123", wrong[0], 400, {"error": {"code": "invalid_code"}})
    time.sleep(0.2)
    row("OFF-113", client.verify(), 200, told("development", "development"))


def test_degraded_sign_ins_of_one_client(make_app):
    client = make_app()
    report = {"platform": "android", "unavailable": "unsupported"}
    statuses = [client.verify(report, source="127.0.0.2").status for _ in range(30)]
    note("OFF-110", {200}, set(statuses))
    row("OFF-110", client.verify(report, source="127.0.0.2"), 429, refused("degraded_sign_ins_limited") | {
        "message": "Too many sign-ins from devices without full attestation this hour.",
        "data": {"next_steps": ["Wait, or sign in from a device with full attestation."]}})
    row("OFF-110 another address", client.verify(report, source="127.0.0.3"), 200)
    row("OFF-114", client.send_code(report), 200)


def test_degraded_sign_ins_of_an_app(make_app, android):
    client = make_app()
    report = {"platform": "android", "unavailable": "unsupported"}
    sources = ["127.0.1.%d" % n for n in range(1, 19)]
    answers = [a for source in sources for a in at_once(30, lambda: client.guest(report, source=source))]
    note("OFF-110", (500, 40), (sum(a.status == 200 for a in answers), sum(a.status == 429 for a in answers)))
    row("OFF-112", client.verify(client.android(android)), 200, told("verified", "hardware"))


def test_codes_without_an_attestation(one, make_app, android):
    client = make_app(origins=["http://localhost:8081"])
    answers = at_once(330, client.send_code)
    note("OFF-106", (300, 30), (sum(a.status == 200 for a in answers), sum(a.status == 429 for a in answers)))
    row("OFF-106", client.send_code(), 429, refused("code_requests_limited") | {
        "message": "Too many codes without an attestation this hour.", "data": {"next_steps": ["Upgrade the SDK and pass attestation providers."]}})
    row("OFF-108", client.send_code(fields={"Origin": "http://localhost:8081"}), 200)
    row("OFF-108", client.send_code(client.android(android)), 200)


# -- races
def test_one_challenge_fifty_times_at_once(make_app, android):
    client = make_app()
    attestation = client.android(android)
    answers = at_once(50, lambda: client.verify(attestation))
    note("SAL-001 OFF-017", (1, 49), (sum(a.status == 200 for a in answers), sum(a.status == 403 for a in answers)))
    note("SAL-001", {"challenge_invalid"}, {a.json()["data"]["reason"] for a in answers if a.status == 403})


def test_two_assertions_with_one_counter_at_once(make_app, iphone):
    client = make_app()
    client.register(iphone)
    for round in range(10):
        pair = [client.ios(iphone, counter=round + 1) for _ in range(2)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            statuses = sorted(a.status for a in pool.map(client.verify, pair))
        note("SAL-005", [200, 403], statuses)
    row("counters 6 then 5", client.verify(client.ios(iphone, counter=16)), 200)
    row("counters 6 then 5", client.verify(client.ios(iphone, counter=15)), 403, refused("attestation_failed", "counter_not_increasing"))


# -- the browser
def test_pages_read_challenges_and_refusals(one, make_app):
    client = make_app(origins=["http://localhost:8081"])
    with one.wire() as wire:
        answer = wire.exchange("OPTIONS", "/users/attestation/challenge", {
            "Origin": "http://localhost:8081", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-app-id, content-type"})
    note("preflight", (204, "http://localhost:8081"), (answer.status, answer["Access-Control-Allow-Origin"]))
    answer = client.post("/users/attestation/challenge", fields={"Origin": "http://localhost:8081"})
    note("CORS", "http://localhost:8081", answer["Access-Control-Allow-Origin"])
    answer = client.verify({"platform": "windows"}, fields={"Origin": "https://evil.example"})
    note("CORS of a refusal", (403, "https://evil.example"), (answer.status, answer["Access-Control-Allow-Origin"]))


def test_other_paths_fall_through_and_other_methods_are_named(make_app):
    client = make_app()
    note("405", 405, client.get("/users/attestation/challenge").status)
    note("falls through", 404, client.get("/users/attestation/other").status)

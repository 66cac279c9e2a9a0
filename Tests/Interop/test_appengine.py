# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Dialect `appengine` on the wire: phones, simulators, pages and servers sign their app in; guests need its token."""
import base64
import concurrent.futures
import json
import time

import pytest

import devices
import gateway as binary
from rows import note, row
from signins import authorities, backend  # noqa: F401 (fixtures)

TOKENS = ["app_token", "web_token", "server_token", "debug_token"]
ACCESS = {"organizations": ["acme", "globex"], "credentials": TOKENS}


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):
    trust = authorities.bundle(tmp_path_factory.mktemp("trust"))
    routes = [
        {"name": "guest", "match": {"path": "/profile/guest/"}, "upstream": "api", "dialect": "appengine",
         "sign_in": {"guest": "/profile/guest/auth"}, "access": ACCESS, "cors": {}},
        {"name": "api", "match": {"path": "/any/"}, "upstream": "api", "dialect": "appengine", "access": ACCESS, "cors": {}},
        {"name": "attested", "match": {"path": "/attested/"}, "upstream": "api", "dialect": "appengine",
         "access": ACCESS | {"credentials": ["app_token"]}},
    ]
    made = binary.Gateway(site, routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % backend.port]}}, trust={"directory": str(trust)})
    for listener in made.configuration["listeners"]:
        listener["serves"] = ["appengine", "appengine-admin"]
    made.write()
    made.start()
    made.create_organization("acme")
    made.create_organization("globex")
    yield made
    made.remove()


class Client:
    """One app's client of this dialect."""

    def __init__(self, gateway, app, username, record, organization="acme"):
        self.gateway, self.app, self.name, self.record, self.organization = gateway, app, username, record, organization

    def post(self, path, body, fields=(), **options):
        fields = {"orgid": self.organization, "Content-Type": "application/json"} | dict(fields)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        with self.gateway.wire(**options) as client:
            return client.exchange("POST", path, [(n, v) for n, v in fields.items() if v is not None], data)

    def get(self, token=None, path="/any/route", fields=()):
        fields = {"orgid": self.organization} | ({"Authorization": "Bearer " + token} if token else {}) | dict(fields)
        with self.gateway.wire() as client:
            return client.exchange("GET", path, [(n, v) for n, v in fields.items() if v is not None])

    def nonce(self):
        answer = self.post("/profile/app/challenge", {"appId": self.name})
        assert answer.status == 200, answer
        return answer.json()["nonce"]

    def attest(self, platform, fields=(), nonce=True, **body):
        made = {"appId": self.name, "platform": platform}
        if nonce is not None:
            made["nonce"] = self.nonce() if nonce is True else nonce
        return self.post("/profile/app/attest", made | body, fields)

    def ios_first(self, phone, nonce=None, **more):
        nonce = nonce or self.nonce()
        return self.attest("ios", nonce=nonce, keyId=phone.key_id, attestation=phone.attest(nonce.encode()), **more)

    def ios(self, phone, nonce=None, key_id=None, **options):
        nonce = nonce or self.nonce()
        return self.attest("ios", nonce=nonce, keyId=key_id or phone.key_id, assertion=phone.assert_(nonce.encode(), **options))

    def android(self, phone, nonce=None, **options):
        nonce = nonce or self.nonce()
        return self.attest("android", nonce=nonce, integrityToken=phone.play_token(nonce, **options))

    def web(self, domain, fields=()):
        return self.attest("web", fields, None, domain=domain)

    def key(self, secret, **more):
        return self.post("/profile/app/key", {"appId": self.name, "secret": secret} | more)

    def guest(self, token=None, body=None, fields=()):
        fields = ({"Authorization": "Bearer " + token} if token else {}) | dict(fields)
        return self.post("/profile/guest/auth", {"email": "visitor@example.com", "name": "Visitor"} if body is None else body, fields)

    def cli(self, *words):
        return self.gateway.cli(*words, "--app", self.app)


@pytest.fixture
def make_app(one, authorities):
    def make(check="monitor", organization="acme", identity=True):
        made = one.admin("POST", "/apps", {"name": "app-%d" % time.monotonic_ns(), "organization": organization, "dialects": ["appengine"]})
        client = Client(one, made["app_id"], made["username"], made["record_id"], organization)
        if check != "off":
            one.admin("PUT", "/apps/%s/check" % client.app, {"mode": check})
        if identity:
            decryption, verification = authorities.play_keys
            one.admin("PUT", "/apps/%s/identity" % client.app, {
                "ios": {"teamId": "ABCDE12345", "bundleId": "com.example.fieldapp"},
                "android": {"packageName": "com.example.fieldapp", "certificateSha256": [], "decryptionKey": decryption, "verificationKey": verification}})
        return client

    return make


@pytest.fixture
def iphone(authorities):
    return devices.IPhone(authorities)


@pytest.fixture
def android(authorities):
    return devices.Android(authorities)


def failed(reason, path="/profile/app/attest"):
    return {"code": "app_attestation_failed", "reason": reason, "statusCode": 401, "error": ..., "path": path, "method": "POST", "timeStamp": ...}


def envelope(code, status, path, method="POST", sentence=...):
    return {"code": code, "statusCode": status, "error": sentence, "path": path, "method": method, "timeStamp": ...}


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


# -- C.1
def test_challenges(one, make_app):
    client, other = make_app(), make_app(organization="globex")
    seen = row("APP-011", client.post("/profile/app/challenge", {"appId": client.name}), 200, {"nonce": ..., "expiresAt": ...})
    note("APP-012", 43, len(seen["nonce"]))
    ends = time.mktime(time.strptime(seen["expiresAt"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
    note("APP-013 APP-014", (True, "Z", "."), (118 <= ends - time.time() <= 121, seen["expiresAt"][-1], seen["expiresAt"][19]))
    row("APP-002", client.post("/profile/app/challenge", {"appId": client.record}), 200)
    for name in (client.name.upper(), "nope", other.name, other.record, client.app):
        row("APP-002 APP-015", client.post("/profile/app/challenge", {"appId": name}), 404,
            envelope("APP_NOT_FOUND", 404, "/profile/app/challenge", sentence="No app in this organization"))
    row("C.5 missing_orgid", client.post("/profile/app/challenge", {"appId": client.name}, {"orgid": None}), 400, envelope("missing_orgid", 400, "/profile/app/challenge"))
    row("APP-096", client.post("/profile/app/challenge", {}), 400, envelope("bad_request", 400, "/profile/app/challenge"))
    row("OQ-36", client.post("/profile/app/challenge", b"{"), 400, envelope("bad_request", 400, "/profile/app/challenge"))
    row("OQ-36", client.post("/profile/app/challenge", b"{}", {"Content-Type": "text/plain"}), 415, envelope("unsupported_media_type", 415, "/profile/app/challenge"))
    row("OQ-36", client.post("/profile/app/challenge", b" " * 70000), 413, envelope("payload_too_large", 413, "/profile/app/challenge"))


# -- C.2, iPhones
def test_an_iphone_signs_its_app_in(one, backend, make_app, iphone):
    client = make_app()
    first = row("APP-003 APP-021 APP-062", client.ios_first(iphone), 200, {"token": ..., "expiresIn": 3600, "platform": "ios"})
    seen = claims(first["token"])
    note("APP-063", {"platform": "ios", "method": "app-attest", "keyId": iphone.key_id}, seen["attest"])
    note("APP-064", 3600, seen["exp"] - seen["iat"])
    later = row("APP-021", client.ios(iphone), 200, {"token": ..., "expiresIn": 3600, "platform": "ios"})
    note("APP-063", "app-assert", claims(later["token"])["attest"]["method"])
    row("APP-065", client.get(later["token"]), 200)
    note("APP-065 upstream", ("app_token", "hardware", client.name, "acme", None),
         (backend.seen[-1]["Sallyport-Credential"], backend.seen[-1]["Sallyport-Trust"], backend.seen[-1]["appId"], backend.seen[-1]["orgid"], backend.seen[-1]["Authorization"]))
    row("APP-067", client.get(later["token"], fields={"orgid": "globex"}), 401)
    nonce = client.nonce()
    row("APP-020", client.attest("ios", nonce=nonce, keyId=iphone.key_id, assertion=iphone.assert_(nonce.encode()).replace("+", "-").replace("/", "_").rstrip("=")), 200)
    row("APP-025", client.ios_first(iphone), 200)
    devices_seen = client.cli("devices", "list")["devices"]
    note("APP-006 APP-025", 1, len(devices_seen))
    note("APP-006", True, devices_seen[0]["name"].endswith(" on iOS (App Attest)"))


def test_every_proof_that_an_iphone_gets_wrong(one, make_app, authorities, iphone):
    client, other, bare = make_app(), make_app(), make_app(identity=False)
    client.ios_first(iphone)
    spent = client.nonce()
    row("APP-016", client.ios(iphone, spent), 200)
    row("APP-016", client.ios(iphone, spent), 401, exactly=None, body=failed("nonce_invalid"))
    row("APP-013 another app's", client.ios(iphone, other.nonce()), 401, failed("nonce_invalid"))
    row("APP-013 unknown", client.ios(iphone, "x" * 43), 401, failed("nonce_invalid"))
    nonce = client.nonce()
    row("APP-018", client.attest("ios", nonce=nonce, keyId=iphone.key_id, attestation=iphone.attest(b"else")), 401, failed("nonce_mismatch"))
    row("APP-016 spent by a failure", client.ios(iphone, nonce), 401, failed("nonce_invalid"))
    decoded = base64.urlsafe_b64decode((nonce := client.nonce()) + "=")
    row("APP-018 decoded first", client.attest("ios", nonce=nonce, keyId=iphone.key_id, assertion=iphone.assert_(decoded)), 401, failed("bad_signature"))
    row("APP-023", client.ios(devices.IPhone(authorities)), 401, failed("unknown_key"))
    row("APP-023", other.ios(iphone), 401, failed("unknown_key"))
    row("APP-019", client.ios(iphone, key_id=iphone.key_id.replace("+", "-").replace("/", "_").rstrip("=")), 401, failed("unknown_key"))
    row("APP-023", client.ios(iphone, counter=80, tamper=lambda s: s[:-1] + bytes([s[-1] ^ 1])), 401, failed("bad_signature"))
    row("APP-022", client.ios(iphone, counter=90), 200)
    row("APP-022", client.ios(iphone, counter=90), 401, failed("counter_not_increasing"))
    row("13.3 app_mismatch", client.ios_first(devices.IPhone(authorities, bundle="com.example.other")), 401, failed("app_mismatch"))
    row("13.3 attestation_invalid", client.ios_first(devices.IPhone(devices.Authorities())), 401, failed("attestation_invalid"))
    row("APP-024", client.ios_first(devices.IPhone(authorities, environment=devices.DEVELOPMENT)), 200)
    row("APP-027", bare.ios_first(iphone), 401, failed("ios_not_configured"))
    row("APP-104", client.attest("ios", keyId=iphone.key_id), 401, failed("proof_missing"))
    row("APP-005", client.ios_first(devices.IPhone(authorities), bundleId="other"), 200)


def test_a_blocked_install(one, make_app, iphone):
    client = make_app()
    token = client.ios_first(iphone).json()["token"]
    device = client.cli("devices", "list")["devices"][0]["id"]
    client.cli("devices", "block", device)
    row("APP-026", client.ios(iphone), 401, failed("device_blocked"))
    row("APP-093", client.ios_first(iphone), 401, failed("device_blocked"))
    row("APP-092", client.get(token), 200)
    client.cli("devices", "unblock", device)
    row("APP-026 unblocked", client.ios(iphone), 200)


# -- C.2, Androids
def test_androids(one, make_app, authorities, android):
    client, bare = make_app(), make_app(identity=False)
    seen = row("APP-028 APP-062", client.android(android), 200, {"token": ..., "expiresIn": 3600, "platform": "android"})
    note("APP-063", {"platform": "android", "method": "play-integrity"}, claims(seen["token"])["attest"])
    note("APP-006 APP-037", [], client.cli("devices", "list")["devices"])
    nonce = client.nonce()
    row("APP-031", client.attest("android", nonce=nonce, integrityToken=android.play_token(nonce.replace("-", "+").replace("_", "/") + "=")), 200)
    row("APP-030", client.attest("android", integrityToken=android.play_token("")), 401, failed("nonce_mismatch"))
    row("APP-032", client.android(android, age=301), 401, failed("token_too_old"))
    row("APP-032", client.android(android, age=290), 200)
    row("APP-033", client.android(android, package="com.example.other"), 401, failed("package_mismatch"))
    row("APP-034", client.android(android, recognition="UNRECOGNIZED_VERSION"), 401, failed("app_not_recognized"))
    row("APP-034", client.android(android, device=()), 401, failed("device_integrity"))
    row("APP-034 emulator", client.android(android, device=("MEETS_VIRTUAL_INTEGRITY",)), 401, failed("device_integrity"))
    row("APP-035", client.android(android, signer=devices.ec.generate_private_key(devices.ec.SECP256R1())), 401, failed("bad_signature"))
    row("APP-035", client.android(android, seal=bytes(32)), 401, failed("bad_signature"))
    row("APP-035", client.attest("android", integrityToken="a.b.c.d.e"), 401, failed("bad_signature"))
    one.admin("PUT", "/apps/%s/identity" % client.app, {"android": {"certificateSha256": ["44" * 32]}})
    row("APP-036", client.android(android), 401, failed("certificate_mismatch"))
    one.admin("PUT", "/apps/%s/identity" % client.app, {"android": {"certificateSha256": ["11" * 32]}})
    row("APP-036", client.android(android), 200)
    row("APP-028", bare.android(android), 401, failed("android_not_configured"))
    row("13.3 proof_missing", client.attest("android"), 401, failed("proof_missing"))


# -- C.2, pages
def test_pages(one, backend, make_app):
    client = make_app(check="off", identity=False)
    row("APP-043", client.web("shop.example.com", {"Origin": "https://shop.example.com"}), 401, failed("web_not_configured"))
    for domain in ("https://Shop.Example.com/contact", "localhost:3200"):
        client.cli("domains", "add", domain)
    answer = client.web("shop.example.com", {"Origin": "https://shop.example.com"})
    seen = row("APP-017 APP-058 APP-062", answer, 200, {"token": ..., "expiresIn": 3600, "platform": "web"})
    note("APP-063", {"platform": "web", "method": "web-domain"}, claims(seen["token"])["attest"])
    note("APP-059", "https://shop.example.com", answer["Access-Control-Allow-Origin"])
    for domain, origin, status, reason in [
        ("shop.example.com", None, 200, None), ("Shop.Example.com.", "https://shop.example.com", 200, None),
        ("shop.example.com:8443", "https://shop.example.com:8443", 200, None), ("shop.example.com", "https://shop.example.com:443", 200, None),
        ("shop.example.com", "https://shop.example.com:8443", 401, "origin_mismatch"), ("shop.example.com", "https://www.shop.example.com", 401, "origin_mismatch"),
        ("shop.example.com", "null", 401, "origin_mismatch"), ("shop.example.com", "", 401, "origin_mismatch"),
        ("other.example.com", "https://other.example.com", 401, "domain_not_allowed"), ("www.shop.example.com", None, 401, "domain_not_allowed"),
        ("localhost:3200", "http://localhost:3200", 200, None), ("localhost", "http://localhost", 401, "domain_not_allowed"),
        ("localhost:3000", "http://localhost:3000", 401, "domain_not_allowed"), (7, None, 401, "domain_not_allowed"), (None, None, 401, "domain_not_allowed"),
    ]:
        answer = client.web(domain, {"Origin": origin} if origin is not None else {})
        row("APP-038 to APP-049 C.8", answer, status, failed(reason) if reason else {"platform": "web"})
    answer = client.web("other.example.com", {"Origin": "https://other.example.com"})
    note("APP-059 readable refusal", "https://other.example.com", answer["Access-Control-Allow-Origin"])
    row("APP-007", client.get(seen["token"], "/attested/route"), 401, envelope("app_token_required", 401, "/attested/route", "GET"))
    row("APP-007", client.guest(seen["token"]), 200)
    with one.wire() as wire:
        answer = wire.exchange("OPTIONS", "/profile/app/attest", {
            "Origin": "https://shop.example.com", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "orgid, content-type"})
    note("APP-059 preflight", (204, "https://shop.example.com", "orgid, content-type"),
         (answer.status, answer["Access-Control-Allow-Origin"], answer["Access-Control-Allow-Headers"]))
    for mode in ("monitor", "enforce"):
        one.admin("PUT", "/apps/%s/check" % client.app, {"mode": mode})
        row("APP-058 APP-083", client.web("shop.example.com"), 200)


# -- C.2, simulators
def test_debug_tokens(one, backend, make_app):
    client, other = make_app(), make_app()
    made = client.cli("debug-tokens", "create", "--name", "iPhone 16 simulator")
    token, identifier = made["token"], made["id"]
    note("APP-075", True, token.startswith("adt_"))
    row("APP-074", client.attest("debug", debugToken=token), 401, failed("debug_not_allowed"))
    client.cli("debug-tokens", "allow", "on")
    other.cli("debug-tokens", "allow", "on")
    seen = row("APP-073", client.attest("debug", debugToken=token), 200, {"token": ..., "expiresIn": 3600, "platform": "debug"})
    note("APP-063", {"platform": "debug", "method": "debug-token"}, claims(seen["token"])["attest"])
    row("debug token opens what lists it", client.get(seen["token"]), 200)
    row("OQ-33", client.get(seen["token"], "/attested/route"), 401)
    row("APP-078", other.attest("debug", debugToken=token), 401, failed("debug_token_invalid"))
    row("APP-079", client.attest("debug", nonce=None, debugToken=token), 401, failed("nonce_invalid"))
    row("APP-104", client.attest("debug"), 401, failed("proof_missing"))
    time.sleep(0.3)
    listed = client.cli("debug-tokens", "list")["debug_tokens"][0]
    note("APP-076", (identifier, token[:8], True), (listed["id"], listed["prefix"], listed["lastUsedAt"] is not None))
    one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "off"})
    row("APP-084", client.attest("debug", debugToken=token), 401, failed("check_off"))
    one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "enforce"})
    row("APP-082", client.attest("debug", debugToken=token), 200)
    client.cli("debug-tokens", "delete", identifier)
    row("APP-077 APP-094 APP-113", client.attest("debug", debugToken=token), 401, failed("debug_token_invalid"))
    client.cli("debug-tokens", "allow", "off")
    row("APP-074 APP-094", client.attest("debug", debugToken=token), 401, failed("debug_not_allowed"))


# -- the form, and the order of the checks
def test_the_form(one, make_app):
    client = make_app()
    row("APP-096", client.post("/profile/app/attest", {"platform": "ios"}), 400, envelope("bad_request", 400, "/profile/app/attest", sentence="appId is required."))
    row("APP-096", client.post("/profile/app/attest", {"appId": client.name, "platform": "windows"}), 400,
        envelope("bad_request", 400, "/profile/app/attest", sentence="platform must be one of ios, android, debug, web."))
    row("APP-100", client.post("/profile/app/attest", {"appId": "nope", "platform": "ios"}), 404, envelope("APP_NOT_FOUND", 404, "/profile/app/attest"))
    note("APP-109 a 400 does not count", [], client.cli("failures")["failures"])
    nonce = client.nonce()
    one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "off"})
    row("OQ-29", client.attest("ios", nonce=nonce), 401, failed("check_off"))
    one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "monitor"})
    row("OQ-30 proof_missing spends nothing", client.attest("ios", nonce=nonce), 401, failed("proof_missing"))
    phone = devices.IPhone(devices.Authorities())
    row("OQ-30", client.attest("ios", nonce=nonce, keyId=phone.key_id, assertion=phone.assert_(nonce.encode())), 401, failed("unknown_key"))


@pytest.mark.parametrize("identity, secret, warnings", [
    (True, False, []), (False, False, ["no_native_identity"]), (True, True, ["secret_used_30d"]), (False, True, ["secret_used_30d", "no_native_identity"]),
])
def test_enforcing_warns_in_stable_words(one, make_app, identity, secret, warnings):
    client = make_app(check="off", identity=identity)
    if secret:
        assert client.key(client.cli("secret", "rotate")["secret"]).status == 200
        time.sleep(0.2)
    note("APP-085 asked", warnings, one.admin("GET", "/apps/%s/check?mode=enforce" % client.app)["warnings"])
    note("APP-085 off warns of nothing", [], one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "off"})["warnings"])
    made = one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "enforce"})
    note("APP-085", ("enforce", warnings), (made["mode"], made["warnings"]))


def test_an_app_that_is_not_there_is_no_credential(one, make_app):
    """E.1: that there is no such app is said at the sign-in (404), never on a route (401)."""
    client = make_app(check="off")
    token = client.key(client.cli("secret", "rotate")["secret"]).json()["token"]
    plain = one.admin("POST", "/apps", {"name": "plain-%d" % time.monotonic_ns(), "organization": "acme", "dialects": ["offlineid"]})
    for name in ("nope", plain["username"], plain["record_id"]):
        row("C.1", client.post("/profile/app/challenge", {"appId": name}), 404, envelope("APP_NOT_FOUND", 404, "/profile/app/challenge"))
        row("E.1 bearer", client.get(token, fields={"appId": name}), 401, envelope("app_token_required", 401, "/any/route", "GET"))
        row("E.1 nothing", client.get(fields={"appId": name}), 401, envelope("missing_authorization_header", 401, "/any/route", "GET"))
        row("C.4", client.guest(token, fields={"appId": name}), 401, envelope("app_token_required", 401, "/profile/guest/auth"))
    row("E.1 at home", client.get(token, fields={"appId": client.name}), 200)


def test_one_address_may_ask_so_often(site, backend, authorities, tmp_path_factory):
    """SAL-012: ten a minute, then 429; another address and the routes are not meant."""
    trust = authorities.bundle(tmp_path_factory.mktemp("trust"))
    routes = [{"name": "all", "match": {"path": "/"}, "upstream": "api", "access": "open"}]
    made = binary.Gateway(site, routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % backend.port]}}, trust={"directory": str(trust)})
    for listener in made.configuration["listeners"]:
        listener |= {"serves": ["appengine", "vouch", "offlineid", "keys"], "limits": [{"name": "sign-ins", "per": ["client"], "limit": 10, "window": "60s"}]}
    made.write()
    with made as one:
        one.create_organization("acme")
        app = one.admin("POST", "/apps", {"name": "a", "organization": "acme", "dialects": ["appengine", "vouch", "offlineid"]})
        keys = {kind: one.cli("keys", "create", "--app", app["app_id"], "--name", kind, "--kind", kind, "--mode", "live")["key"] for kind in ("sdk", "management")}
        calls = {
            "appengine": ("/profile/app/challenge", {"orgid": "acme"}, json.dumps({"appId": app["username"]})),
            "vouch": ("/v1/sdk/attest/nonce", {"Authorization": "Bearer " + keys["sdk"]}, "{}"),
            "offlineid": ("/users/attestation/challenge", {"X-App-Id": app["app_id"]}, "{}"),
        }
        for number, (path, fields, body) in enumerate(calls.values()):
            ask = lambda source: one.get(path, {"Content-Type": "application/json", **fields}, method="POST", body=body.encode(), source=source)
            answers = [ask("127.6.0.%d" % (number + 1)) for _ in range(11)]
            note("SAL-012 " + path, [200] * 10 + [429], [a.status for a in answers])
            note("SAL-012 left", True, int(answers[-1]["Retry-After"]) >= 1 and answers[0]["RateLimit"] is not None and "sign-ins" in answers[-1].body.decode() + str(answers[-1].fields))
            note("SAL-012 another", 200, ask("127.6.1.%d" % (number + 1)).status)
        note("SAL-012 servers", [200] * 12, [one.get("/v1/apps/%s/security/debug-devices" % app["app_id"], {"Authorization": "Bearer " + keys["management"]},
                                                     source="127.6.0.2").status for _ in range(12)])
        note("SAL-012 key sets", [200] * 12, [one.get("/.well-known/jwks.json", source="127.6.0.1").status for _ in range(12)])
        note("SAL-012 routes", [200] * 12, [one.get("/any", source="127.6.0.1").status for _ in range(12)])


# -- C.3
def test_servers_and_the_check(one, backend, make_app, iphone):
    client, other = make_app(check="off"), make_app(check="off")
    secret = client.cli("secret", "rotate")["secret"]
    seen = row("APP-060 APP-061", client.key(secret, key="ignored"), 200, {"token": ..., "expiresIn": 3600})
    note("APP-063 a secret token has no attest", False, "attest" in claims(seen["token"]))
    row("APP-062", client.get(seen["token"]), 200)
    note("APP-062 upstream", "server_token", backend.seen[-1]["Sallyport-Credential"])
    row("APP-072", client.guest(seen["token"]), 200)
    row("C.3", client.key("wrong"), 401, envelope("app_key_failed", 401, "/profile/app/key"))
    row("C.3", client.post("/profile/app/key", {"appId": client.name}), 401, envelope("app_key_failed", 401, "/profile/app/key"))
    row("C.3 another app's", other.key(secret), 401, envelope("app_key_failed", 401, "/profile/app/key"))
    row("APP-080", client.ios_first(iphone), 401, failed("check_off"))
    one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "monitor"})
    row("APP-081", client.key(secret), 200)
    row("APP-081", client.ios_first(iphone), 200)
    row("APP-081", client.ios(iphone, counter=1, tamper=lambda s: s[:-1] + bytes([s[-1] ^ 1])), 401, failed("bad_signature"))
    one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "enforce"})
    row("APP-082", client.key(secret), 401, envelope("attestation_required", 401, "/profile/app/key"))
    row("APP-082", client.ios(iphone), 200)
    row("APP-086", client.get(seen["token"]), 200)
    one.admin("PUT", "/apps/%s/check" % client.app, {"mode": "off"})
    fresh = client.cli("secret", "rotate")["secret"]
    row("APP-091", client.key(secret), 401, envelope("app_key_failed", 401, "/profile/app/key"))
    row("APP-091", client.key(fresh), 200)
    row("APP-091 held tokens", client.get(seen["token"]), 200)
    row("APP-009", other.key(other.cli("secret", "rotate")["secret"]), 200)


# -- C.4, C.5
def test_guests(one, backend, make_app, iphone):
    client, other = make_app(), make_app()
    token = client.ios_first(iphone).json()["token"]
    guest = {"guest": {"sk": "65f0c0ffee65f0c0ffee6601", "email": "visitor@example.com", "phone": None, "name": "Visitor"}, "token": "p", "refreshToken": "r"}
    backend.raw = (200, {"Content-Type": "application/json"}, json.dumps(guest).encode())
    try:
        row("APP-068 APP-071", client.guest(token), 200, exactly=guest)
        note("C.4 the very bytes", {"email": "visitor@example.com", "name": "Visitor"}, json.loads(backend.seen[-1].body))
        row("APP-069", client.guest(token, {"phone": "+15550100"}), 200)
        row("APP-070", client.guest(token, fields={"appId": client.name}), 200)
        row("APP-070", client.guest(token, fields={"appId": client.record}), 200)
    finally:
        backend.raw = None
    required = envelope("app_token_required", 401, "/profile/guest/auth", sentence="Sign the app in first.")
    row("APP-069", client.guest(token, {}), 400, envelope("bad_request", 400, "/profile/guest/auth", sentence="email or phone is required."))
    row("APP-068", client.guest(), 401, required)
    row("APP-070", client.guest(token, fields={"appId": other.name}), 401, required)
    row("APP-070", client.guest(token, fields={"appId": "nope"}), 401, required)
    person = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUuY29tLyJ9.c2ln"
    row("APP-008 APP-068", client.guest(person), 401, required)


def test_calls_with_and_without_a_token(one, make_app, iphone):
    client = make_app()
    token = client.ios_first(iphone).json()["token"]
    row("C.5", client.get(), 401, envelope("missing_authorization_header", 401, "/any/route", "GET"))
    row("C.5", client.get(fields={"orgid": None}), 400, envelope("missing_orgid", 400, "/any/route", "GET"))
    client.cli("apps", "revoke")
    row("APP-088", client.get(token), 401, envelope("app_revoked", 401, "/any/route", "GET"))
    row("APP-088", client.ios(iphone), 401, failed("revoked"))
    row("APP-089", client.post("/profile/app/challenge", {"appId": client.name}), 200)
    row("APP-089", client.key("x"), 401, envelope("app_revoked", 401, "/profile/app/key"))
    row("APP-090", client.guest(token), 401, envelope("app_revoked", 401, "/profile/guest/auth"))


# -- C.6, and the statistics
def test_the_identity(one, make_app, authorities):
    client = make_app(identity=False)
    decryption, verification = authorities.play_keys
    place = "/apps/%s/identity" % client.app
    seen = one.admin("PUT", place, {
        "ios": {"teamId": "ABCDE12345", "bundleId": "com.acme.mobile"}, "allowDebugTokens": True,
        "android": {"packageName": "com.acme.mobile", "certificateSha256": [], "decryptionKey": decryption, "verificationKey": verification},
        "web": {"allowedDomains": ["https://Shop.Example.com/contact", "localhost:3200", "shop.example.com."]}})
    note("APP-101 APP-103 APP-057", {
        "sk": client.record, "username": client.name, "check": "monitor", "revoked": False,
        "ios": {"teamId": "ABCDE12345", "bundleId": "com.acme.mobile"},
        "android": {"packageName": "com.acme.mobile", "certificateSha256": [], "keysSet": True},
        "web": {"allowedDomains": ["shop.example.com", "localhost:3200"]}, "allowDebugTokens": True, "debugTokens": []},
        {n: v for n, v in seen.items() if n not in ("changed", "confirmed")})
    seen = one.admin("PUT", place, {"ios": {"teamId": "ZZZZZ12345", "bundleId": "com.acme.two"}, "android": {"decryptionKey": "", "verificationKey": ""}})
    note("APP-101 parts stay", (True, ["shop.example.com", "localhost:3200"], "com.acme.mobile"),
         (seen["android"]["keysSet"], seen["web"]["allowedDomains"], seen["android"]["packageName"]))
    for domain in ("https://u:p@shop.example.com", "*.example.com", "a.com:99999", "a b.com", ""):
        with pytest.raises(AssertionError, match="is not a website address"):
            one.admin("PUT", place, {"web": {"allowedDomains": ["fine.example.com", domain]}})
    note("APP-056 nothing kept", ["shop.example.com", "localhost:3200"], one.admin("GET", place)["web"]["allowedDomains"])
    with pytest.raises(AssertionError, match="both are sent"):
        one.admin("PUT", place, {"android": {"decryptionKey": decryption}})
    text = json.dumps(one.admin("GET", place))
    note("APP-106", (False, False), (decryption in text, verification in text))


def test_administrators_of_the_dialect(one, make_app):
    client, other = make_app(identity=False), make_app(organization="globex", identity=False)
    admin, viewer, foreign = (one.admin("POST", "/admin-tokens", made)["token"] for made in (
        {"name": "a", "role": "org-admin", "organization": "acme"}, {"name": "v", "role": "viewer"},
        {"name": "f", "role": "org-admin", "organization": "globex"}))

    def call(method, path, body=None, token=admin, organization="acme"):
        fields = {"orgid": organization, "Content-Type": "application/json"} | ({"Authorization": "Bearer " + token} if token else {})
        with one.wire() as wire:
            return wire.exchange(method, path, {n: v for n, v in fields.items() if v is not None}, json.dumps(body or {}).encode())

    place = "/profile/app/%s" % client.record
    seen = row("APP-101 C.6", call("PUT", place + "/identity", {"ios": {"teamId": "ABCDE12345", "bundleId": "com.acme.mobile"}, "allowDebugTokens": True}), 200, {
        "sk": client.record, "username": client.name, "check": "monitor", "revoked": False, "ios": {"teamId": "ABCDE12345", "bundleId": "com.acme.mobile"},
        "android": {"packageName": None, "certificateSha256": [], "keysSet": False}, "web": {"allowedDomains": []}, "allowDebugTokens": True, "debugTokens": []})
    note("C.6 the record and nothing else", 9, len(seen))
    row("APP-056 C.6", call("PUT", place + "/identity", {"web": {"allowedDomains": ["*.example.com"]}}), 400, envelope(
        "bad_request", 400, place + "/identity", "PUT", '"*.example.com" is not a website address: wildcards are not supported.'))
    made = row("APP-075 C.7", call("POST", place + "/debug-token", {"name": "iPhone 16 simulator"}), 200, {"id": ..., "name": "iPhone 16 simulator", "token": ...})
    row("APP-073", client.attest("debug", debugToken=made["token"]), 200)
    row("APP-077 C.7", call("DELETE", "%s/debug-token/%s" % (place, made["id"])), 200, exactly={"id": made["id"], "deleted": True})
    row("APP-077 APP-113", client.attest("debug", debugToken=made["token"]), 401, failed("debug_token_invalid"))
    row("APP-102", call("PUT", "/profile/app/%s/identity" % client.name, {}), 404, envelope("APP_NOT_FOUND", 404, "/profile/app/%s/identity" % client.name, "PUT"))
    row("APP-105 viewer", call("PUT", place + "/identity", {}, viewer), 403, envelope("forbidden", 403, place + "/identity", "PUT"))
    row("APP-105 another organization's", call("PUT", place + "/identity", {}, foreign), 403)
    row("APP-105 another organization's app", call("PUT", "/profile/app/%s/identity" % other.record, {}), 404)
    row("APP-105 an app's own token", call("PUT", place + "/identity", {}, client.attest("web", (), None, domain="x").json().get("token", "x.y.z")), 403)
    row("APP-105 nobody", call("PUT", place + "/identity", {}, None), 401, envelope("missing_authorization_header", 401, place + "/identity", "PUT"))


def test_sign_ins_and_failures(one, make_app, authorities):
    client = make_app()
    client.cli("domains", "add", "shop.example.com")
    secret = client.cli("secret", "rotate")["secret"]
    phone = devices.IPhone(authorities)
    client.ios_first(phone), client.ios(phone), client.ios(phone), client.web("shop.example.com")
    client.key(secret), client.key(secret), client.key("wrong")
    client.attest("ios", keyId=phone.key_id)
    time.sleep(0.3)
    today = client.cli("sign-ins")["days"][0]
    note("APP-107 APP-110 APP-111 APP-112", {"date": time.strftime("%Y-%m-%d", time.gmtime()), "secret": 2, "ios": 3, "android": 0, "debug": 0, "web": 1, "failed": 2}, today)
    note("APP-109", [("ios", "proof_missing"), ("secret", "app_key_failed")], [(f["platform"], f["reason"]) for f in client.cli("failures")["failures"]])
    for _ in range(25):
        client.web("other.example.com")
    time.sleep(0.3)
    note("APP-108", (20, {"domain_not_allowed"}), (len(seen := client.cli("failures")["failures"]), {f["reason"] for f in seen}))


def test_one_nonce_fifty_times_at_once(make_app, android):
    client = make_app()
    nonce = client.nonce()
    token = android.play_token(nonce)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: client.attest("android", nonce=nonce, integrityToken=token), range(50)))
    note("SAL-001", (1, 49), (sum(a.status == 200 for a in answers), sum(a.status == 401 for a in answers)))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Every artefact of one app, organization or dialect, used in every other place: none is let in."""
import pytest

import devices
import gateway as binary
from rows import note
from signins import Client, authorities, backend  # noqa: F401 (fixtures)
from test_appengine import Client as EngineClient


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):
    trust = authorities.bundle(tmp_path_factory.mktemp("trust"))
    organizations = {"organizations": ["acme", "globex"]}
    sign_in = {"verify": "/v1/auth/verify-code", "refresh": "/v1/auth/refresh", "tokens": "opaque"}
    engine = organizations | {"credentials": ["app_token", "web_token", "server_token", "debug_token", "api_key"]}
    routes = [
        {"name": "api", "match": {"path": "/v1/"}, "upstream": "api", "dialect": "offlineid", "sign_in": sign_in,
         "access": organizations | {"credentials": ["api_key", "session_token", "app_token", "web_token", "server_token", "debug_token"]}},
        {"name": "guest", "match": {"path": "/profile/guest/"}, "upstream": "api", "dialect": "appengine", "sign_in": {"guest": "/profile/guest/auth"}, "access": engine},
        {"name": "any", "match": {"path": "/any/"}, "upstream": "api", "dialect": "appengine", "access": engine},
    ]
    made = binary.Gateway(site, routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % backend.port]}}, trust={"directory": str(trust)})
    for listener in made.configuration["listeners"]:
        listener["serves"] = ["offlineid", "appengine"]
    made.write()
    made.start()
    yield made
    made.remove()


class Tenant:
    """One app with both faces and the same registered builds as every other, and what it holds."""

    def __init__(self, one, authorities, organization, number):
        made = one.admin("POST", "/apps", {"name": "app-%d" % number, "organization": organization, "dialects": ["offlineid", "appengine"]})
        self.id, self.organization = made["app_id"], organization
        self.offline = Client(one, self.id)
        self.engine = EngineClient(one, self.id, made["username"], made["record_id"], organization)
        decryption, verification = authorities.play_keys
        one.admin("PUT", "/apps/%s/identity" % self.id, {
            "ios": {"teamId": "ABCDE12345", "bundleId": "com.example.fieldapp"}, "allowDebugTokens": True,
            "android": {"packageName": "com.example.fieldapp", "certificateSha256": ["11" * 32], "decryptionKey": decryption, "verificationKey": verification},
            "web": {"allowedDomains": ["shop-%d.example.com" % number]}})
        one.admin("PUT", "/apps/%s/check" % self.id, {"mode": "monitor"})
        self.android = devices.Android(authorities)
        self.phones = {"offlineid": devices.IPhone(authorities), "appengine": devices.IPhone(authorities)}
        assert self.offline.register(self.phones["offlineid"]).status == 200
        assert self.engine.ios_first(self.phones["appengine"]).status == 200
        self.key = one.admin("POST", "/apps/%s/api-keys" % self.id, {"name": "k"})["key"]
        self.secret = one.admin("POST", "/apps/%s/secret/rotate" % self.id, {})["secret"]
        self.debug = one.admin("POST", "/apps/%s/debug-tokens" % self.id, {"name": "d"})["token"]
        session = self.offline.verify(self.offline.android(self.android)).json()["data"]
        self.bearers = {
            ("offlineid", "session"): session["token"], ("offlineid", "refresh"): session["refresh_token"],
            ("appengine", "app_token"): self.engine.ios(self.phones["appengine"]).json()["token"],
            ("appengine", "web_token"): self.engine.web("shop-%d.example.com" % number).json()["token"],
            ("appengine", "server_token"): self.engine.key(self.secret).json()["token"],
            ("appengine", "debug_token"): self.engine.attest("debug", debugToken=self.debug).json()["token"],
        }

    def challenge(self, dialect):
        return self.offline.challenge() if dialect == "offlineid" else self.engine.nonce()


def uses(here, dialect, there, other):
    """Every artefact of `there` in dialect `other`, used at `here` in `dialect`: (what, answer)."""
    offline, engine = here.offline, here.engine
    bearers = {name: token for (made, name), token in there.bearers.items() if made == other}
    phone, foreign = here.phones[dialect], there.phones[other]
    challenge = there.challenge(other)
    if dialect == "offlineid":
        yield "challenge", offline.verify(offline.ios(phone, challenge))
        yield "chain over its challenge", offline.verify(offline.android(here.android, challenge))
        yield "iOS key", offline.verify(offline.ios(foreign))
        if other == "offlineid":
            made = there.offline.android(there.android)
            yield "whole proof", offline.verify(made)
            yield "proof under a challenge of ours", offline.verify(made | {"challenge": offline.challenge()})
            made = there.offline.ios(foreign)
            yield "whole assertion", offline.verify(made)
        for name, token in bearers.items():
            yield "bearer " + name, offline.get(fields={"Authorization": "Bearer " + token})
            yield "renewal by " + name, offline.post("/v1/auth/refresh", {"refresh_token": token})
    else:
        yield "nonce", engine.ios(phone, challenge)
        yield "Play token over its nonce", engine.android(here.android, challenge)
        yield "iOS key", engine.ios(foreign)
        nonce = there.challenge(other)
        yield "Play token of its nonce", engine.attest("android", integrityToken=there.android.play_token(nonce))
        for name, token in bearers.items():
            yield "bearer " + name, engine.get(token, fields={"appId": engine.name})
            yield "guest by " + name, engine.guest(token, fields={"appId": engine.name})
            yield "debug token " + name, engine.attest("debug", debugToken=token)
    if here is not there:
        yield "API key", offline.get(fields={"X-Api-Key": there.key}) if dialect == "offlineid" else engine.get(fields={"X-Api-Key": there.key, "appId": engine.name})
        yield "secret", engine.key(there.secret)
        yield "debug token", engine.attest("debug", debugToken=there.debug)


def test_nothing_counts_in_another_place(one, authorities):
    for organization in ("acme", "globex"):
        one.create_organization(organization)
    tenants = [Tenant(one, authorities, organization, number) for number, organization in enumerate(["acme", "acme", "globex", "globex"])]
    total, admitted = 0, []
    for here in tenants:
        for dialect in ("offlineid", "appengine"):
            for there in tenants:
                for other in ("offlineid", "appengine"):
                    if here is there and dialect == other:
                        continue
                    for what, answer in uses(here, dialect, there, other):
                        total += 1
                        if answer.status < 400:
                            admitted.append((what, here.id, dialect, there.id, other, answer.status))
                        assert answer.status in (400, 401, 403, 404) or answer.status < 400, (what, answer)
    note("cross product of %d uses" % total, [], admitted)
    for here in tenants:  # and each still counts at home
        note("at home", (200, 200, 200), (
            here.offline.verify(here.offline.ios(here.phones["offlineid"])).status, here.engine.ios(here.phones["appengine"]).status,
            here.offline.get(fields={"Authorization": "Bearer " + here.bearers["offlineid", "session"]}).status))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A gateway that serves all three dialects, and apps that have all three faces."""
import time

import pytest

import devices
import gateway as binary
from signins import Client as OfflineClient
from test_appengine import Client as EngineClient
from test_vouch import Client as VouchClient

DIALECTS = ("offlineid", "appengine", "vouch")
BUNDLE, TEAM, FINGERPRINT = "com.example.fieldapp", "ABCDE12345", "11" * 32


def make_gateway(site, backend, authorities, directory, organizations=("acme",), **options):
    """Routes: `/v1/` of offlineid, `/profile/guest/` and `/any/` of appengine, `/orders/ORG/` of vouch; not started."""
    trust = authorities.bundle(directory)
    named = {"organizations": list(organizations)}
    sign_in = {"send_code": "/v1/auth/send-code", "verify": "/v1/auth/verify-code", "guest": "/v1/auth/guest", "refresh": "/v1/auth/refresh", "tokens": "opaque"}
    tokens = ["app_token", "web_token", "server_token", "debug_token"]
    engine = named | {"credentials": tokens + ["api_key"]}
    routes = [
        {"name": "api", "match": {"path": "/v1/"}, "upstream": "api", "dialect": "offlineid", "sign_in": sign_in,
         "access": named | {"credentials": ["api_key", "session_token", *tokens]}},
        {"name": "guest", "match": {"path": "/profile/guest/"}, "upstream": "api", "dialect": "appengine", "sign_in": {"guest": "/profile/guest/auth"}, "access": engine},
        {"name": "any", "match": {"path": "/any/"}, "upstream": "api", "dialect": "appengine", "access": engine},
    ]
    routes += [{"name": "orders-" + name, "match": {"path": "/orders/%s/" % name}, "upstream": "api", "dialect": "vouch",
                "access": {"organizations": [name], "credentials": ["run_token"]}} for name in organizations]
    made = binary.Gateway(site, routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % backend.port]}}, trust={"directory": str(trust)}, **options)
    for listener in made.configuration["listeners"]:
        listener["serves"] = list(DIALECTS)
    made.write()
    return made


class Vouch(VouchClient):
    """The vouch face, whose route is another here."""

    def order(self, token, device="dev_abc", version="1.4.2", platform="android", app=None):
        named = {"X-Device-Id": device, "X-App-Version": version, "X-App-Platform": platform} | ({"X-App-Id": app} if app else {})
        return self.gateway.get("/orders/%s/x" % self.app.organization, [("Authorization", "Bearer " + token), *named.items()])

    def verify(self, token, key="sk_live", device="dev_abc", platform="android", app=None):
        return self.admin("POST", "run-tokens/verify", key, {"run_token": token, "device_id": device, "app_version": "1.4.2", "platform": platform}, app)


class Tenant:
    """One app with three faces and the same registered builds as every other."""

    def __init__(self, one, authorities, organization="acme", dialects=DIALECTS, domain="shop.example.com"):
        made = one.admin("POST", "/apps", {"name": "app-%d" % time.monotonic_ns(), "organization": organization, "dialects": list(dialects)})
        self.gateway, self.id, self.organization, self.domain = one, made["app_id"], organization, domain
        self.offline = OfflineClient(one, self.id)
        self.engine = EngineClient(one, self.id, made["username"], made["record_id"], organization)
        decryption, verification = authorities.play_keys
        one.admin("PUT", "/apps/%s/identity" % self.id, {
            "ios": {"teamId": TEAM, "bundleId": BUNDLE}, "allowDebugTokens": True, "web": {"allowedDomains": [domain]},
            "android": {"packageName": BUNDLE, "certificateSha256": [FINGERPRINT], "decryptionKey": decryption, "verificationKey": verification}})
        one.admin("PUT", "/apps/%s/check" % self.id, {"mode": "monitor"})
        self.vouch = Vouch(one, binary.App(self.id, organization)) if "vouch" in dialects else None
        self.android = devices.Android(authorities)

    def cli(self, *words):
        return self.gateway.cli(*words, "--app", self.id)


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):
    """A gateway of one worker with the three dialects and the organization acme."""
    made = make_gateway(site, backend, authorities, tmp_path_factory.mktemp("trust"), workers=1)
    made.start()
    made.create_organization("acme")
    yield made
    made.remove()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Every artefact of one app, organization or dialect, used in every other place: none is let in.

The axes. Where: four apps of two organizations, three dialects. What: challenges; proofs (App Attest keys, attestations and
assertions, key chains, Play tokens); sessions, refresh tokens, app, web, server, debug, run and person tokens; what the gateway
itself signs for upstreams; API keys, secrets, debug tokens, SDK and management keys, live and test; debug devices, remembered
verdicts, policies, device records, domains; admin tokens of each role. As what: in its own place at another app, and as every
other kind of credential: bearer, API key, secret, debug token, person, administrator.
"""
import collections
import itertools
import json

import pytest

import devices
import tokens
from dialects import DIALECTS, Tenant, make_gateway
from rows import note
from signins import authorities, backend  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):  # noqa: F811
    trust, folder = tmp_path_factory.mktemp("trust"), tmp_path_factory.mktemp("issuers")
    issuers = {name: tokens.Issuer(folder, name + "-people", "person", (name,)) for name in ("acme", "globex")}
    made = make_gateway(site, backend, authorities, trust, ("acme", "globex"), issuers=[one.settings for one in issuers.values()])
    made.issuers = issuers
    for route in list(made.configuration["routes"]):
        route["forward"] = {"identity": True}  # what is signed for the upstream is one more thing to try
        if route["name"] == "any":
            made.configuration["routes"].append(route | {"name": "people", "match": {"path": "/people/"}, "access": route["access"] | {"person": "required"}})
    for listener in made.configuration["listeners"]:
        listener["serves"].append("appengine-admin")
    made.write()
    made.start()
    for organization in ("acme", "globex"):
        made.create_organization(organization)
    # So many refusals from one address would be answered 429 before anybody judges them.
    addresses, wire = itertools.cycle("127.0.3.%d" % n for n in range(1, 200)), made.wire
    made.wire = lambda tls=False, **options: wire(tls, **{"source": next(addresses), **options})
    yield made
    made.remove()


class Holder(Tenant):
    """An app and all that it holds: phones, tokens, keys, a debug device, a policy."""

    def __init__(self, one, authorities, organization, number):
        super().__init__(one, authorities, organization, domain="shop-%d.example.com" % number)
        self.debug_device, self.own_device, self.is_strict = "dev_debug_%d" % number, "dev_own_%d" % number, number % 2 == 1
        self.phones = {dialect: devices.IPhone(authorities) for dialect in DIALECTS}
        assert self.offline.register(self.phones["offlineid"]).status == 200
        assert self.engine.ios_first(self.phones["appengine"]).status == 200
        assert verdict(self.vouch.iphone(self.phones["vouch"], first=True)) == "pass"
        self.key = one.admin("POST", "/apps/%s/api-keys" % self.id, {"name": "k"})["key"]
        self.secret = one.admin("POST", "/apps/%s/secret/rotate" % self.id, {})["secret"]
        self.debug = one.admin("POST", "/apps/%s/debug-tokens" % self.id, {"name": "d"})["token"]
        assert self.vouch.admin("POST", "debug-devices", body={"device_id": self.debug_device}).status == 201
        nonce = self.vouch.nonce()
        self.remembered = self.android.play_token(nonce)
        assert verdict(self.vouch.attest(device=self.own_device, nonce=nonce, token=self.remembered)) == "pass"
        assert json.loads(self.vouch.attest(device=self.own_device, token=self.remembered).body)["from_cache"]
        if self.is_strict:
            self.cli("policy", "set", "degraded=refuse")
        session = self.offline.verify(self.offline.android(self.android)).json()["data"]
        self.bearers = {
            ("offlineid", "session"): session["token"], ("offlineid", "refresh"): session["refresh_token"],
            ("appengine", "app_token"): self.engine.ios(self.phones["appengine"]).json()["token"],
            ("appengine", "web_token"): self.engine.web(self.domain).json()["token"],
            ("appengine", "server_token"): self.engine.key(self.secret).json()["token"],
            ("appengine", "debug_token"): self.engine.attest("debug", debugToken=self.debug).json()["token"],
            ("vouch", "run_token"): json.loads(self.vouch.android(self.android).body)["run_token"],
            ("vouch", "debug run_token"): json.loads(self.vouch.attest("pk_test", self.debug_device).body)["run_token"],
        }
        self.person = one.issuers[organization].token()
        self.admins = {role: one.cli("admin-tokens", "create", "--name", "%s-%d" % (role, number), "--role", role, "--org", organization)["token"] for role in ("org-admin", "viewer")}

    def signed(self, backend):  # noqa: F811
        """What the gateway signed for the upstreams of this app, one for each dialect."""
        token = self.bearers["appengine", "app_token"]
        calls = {"offlineid": lambda: self.offline.get(fields={"Authorization": "Bearer " + self.bearers["offlineid", "session"]}),
                 "appengine": lambda: self.engine.get(token), "vouch": lambda: self.vouch.order(self.bearers["vouch", "run_token"])}
        for dialect, call in calls.items():
            assert call().status == 200
            yield dialect, backend.seen[-1]["Sallyport-Identity"]

    def everything(self, backend):  # noqa: F811
        """Every text that opens anything for this app: (what it is, the text)."""
        yield from ((" ".join(name), token) for name, token in self.bearers.items())
        yield from (("signed for " + name, token) for name, token in self.signed(backend))
        yield from (("admin " + role, token) for role, token in self.admins.items())
        yield from self.vouch.keys.items()
        yield from (("API key", self.key), ("secret", self.secret), ("debug token", self.debug), ("person", self.person))

    def challenge(self, dialect):
        return {"offlineid": self.offline.challenge, "appengine": self.engine.nonce, "vouch": self.vouch.nonce}[dialect]()


def verdict(answer):
    return json.loads(answer.body).get("verdict")


def is_let_in(answer):
    """Whether an answer admits: of vouch a token or an active one, elsewhere any success."""
    if answer.status >= 400:
        return False
    body = json.loads(answer.body) if answer.body else {}
    if "verdict" in body:
        return body["run_token"] is not None
    return body.get("active", True)


def uses(here, dialect, there, other, backend):  # noqa: F811
    """Every artefact of `there` in dialect `other`, used at `here` in `dialect`: (what, answer)."""
    if dialect == "vouch":
        yield from uses_vouch(here, there, other, backend)
    else:
        yield from {"offlineid": uses_offline, "appengine": uses_engine}[dialect](here, there, other)


def bearers(there, other):
    return [(name, token) for (made, name), token in there.bearers.items() if made == other]


def keys(there, other):
    """The keys that `there` has in a dialect."""
    return [(name, there.vouch.keys[name]) for name in ("pk_live", "pk_test", "sk_live", "sk_test")] if other == "vouch" else [("API key", there.key)]


def uses_offline(here, there, other):
    offline, foreign = here.offline, there.phones[other]
    challenge = there.challenge(other)
    yield "challenge", offline.verify(offline.ios(here.phones["offlineid"], challenge))
    yield "chain over its challenge", offline.verify(offline.android(here.android, challenge))
    yield "iOS key", offline.verify(offline.ios(foreign))
    if other == "offlineid":
        made = there.offline.android(there.android)
        yield "whole proof", offline.verify(made)
        yield "proof under a challenge of ours", offline.verify(made | {"challenge": offline.challenge()})
        yield "whole assertion", offline.verify(there.offline.ios(foreign))
    for name, token in bearers(there, other):
        yield "bearer " + name, offline.get(fields={"Authorization": "Bearer " + token})
        yield "renewal by " + name, offline.post("/v1/auth/refresh", {"refresh_token": token})
    if here is not there or other == "vouch":
        for name, key in keys(there, other):
            yield name, offline.get(fields={"X-Api-Key": key})
            yield name + " as bearer", offline.get(fields={"Authorization": "Bearer " + key})


def uses_engine(here, there, other):
    engine, foreign = here.engine, there.phones[other]
    challenge = there.challenge(other)
    yield "nonce", engine.ios(here.phones["appengine"], challenge)
    yield "Play token over its nonce", engine.android(here.android, challenge)
    yield "iOS key", engine.ios(foreign)
    nonce = there.challenge(other)
    yield "Play token of its nonce", engine.attest("android", integrityToken=there.android.play_token(nonce))
    for name, token in bearers(there, other):
        yield "bearer " + name, engine.get(token, fields={"appId": engine.name})
        yield "guest by " + name, engine.guest(token, fields={"appId": engine.name})
        yield "debug token " + name, engine.attest("debug", debugToken=token)
    if here is not there or other == "vouch":
        for name, key in keys(there, other):
            yield name, engine.get(fields={"X-Api-Key": key, "appId": engine.name})
            yield name + " as secret", engine.key(key)
    if here is not there:
        yield "secret", engine.key(there.secret)
        yield "debug token", engine.attest("debug", debugToken=there.debug)
        yield "page of its domain", engine.web(there.domain, {"Origin": "https://" + there.domain})


def uses_vouch(here, there, other, backend):  # noqa: F811
    vouch, foreign = here.vouch, there.phones[other]
    for key in ("pk_live", "pk_test"):
        nonce = there.challenge(other)
        yield "nonce " + key, vouch.attest(key, nonce=nonce, token=here.android.play_token(nonce))
        nonce = there.challenge(other)
        yield "nonce, iOS " + key, vouch.iphone(here.phones["vouch"], key, nonce=nonce)
        yield "iOS key " + key, vouch.iphone(foreign, key)
        nonce = there.challenge(other)
        yield "Play token of its nonce " + key, vouch.attest(key, token=there.android.play_token(nonce))
        if here is not there:
            yield "debug device " + key, vouch.attest(key, there.debug_device)
    if here is not there and other == "vouch":
        yield "its device is revoked", vouch.admin("POST", "devices/%s/revoke" % there.own_device)
        yield "remembered verdict", vouch.attest(device=there.own_device, token=there.remembered)
        yield "its debug device is removed", vouch.admin("DELETE", "debug-devices/" + there.debug_device)
    for name, token in bearers(there, other):
        answer = vouch.order(token, there.debug_device if "debug" in name else "dev_abc", app=here.id)
        if answer.status == 200 and here.organization == there.organization:
            # A run token names its own app, whatever stands beside it: the upstream is told that one and not this.
            assert {backend.seen[-1][field] for field in ("Sallyport-App", "X-App-Id")} == {there.id}, backend.seen[-1].fields
            answer.status = 403
        yield "bearer " + name, answer
        for key in ("sk_live", "sk_test"):
            yield "verify %s %s" % (name, key), vouch.verify(token, key, there.debug_device if "debug" in name else "dev_abc")
    for name, key in keys(there, other):
        if here is not there or other != "vouch":
            # Keys name their app: they are used on paths of another.
            yield name + " of the administration", vouch.admin("GET", "devices", key)
            yield name + " verifies", vouch.verify(here.bearers["vouch", "run_token"], key)
            yield name + " revokes", vouch.admin("POST", "devices/dev_abc/revoke", key)
            yield name + " adds a debug device", vouch.admin("POST", "debug-devices", key, {"device_id": "dev_stolen"})
        if other != "vouch":
            yield name + " asks for a nonce", vouch.call("POST", "/v1/sdk/attest/nonce", key, {})
    if here is not there and here.is_strict and not there.is_strict:
        yield "policy", vouch.attest(unavailable="no_play_services")


def uses_of_kinds(here):
    """Test and live of one app: what one kind made is nothing to the other."""
    vouch = here.vouch
    nonce = vouch.nonce("pk_test")
    yield "test nonce, live key", vouch.attest("pk_live", nonce=nonce, token=here.android.play_token(nonce))
    nonce = vouch.nonce("pk_live")
    yield "live nonce, test key", vouch.attest("pk_test", nonce=nonce, token=here.android.play_token(nonce))
    yield "debug device, live key", vouch.attest("pk_live", here.debug_device)
    yield "live token, test key", vouch.verify(here.bearers["vouch", "run_token"], "sk_test")
    yield "test token, live key", vouch.verify(here.bearers["vouch", "debug run_token"], "sk_live", here.debug_device)
    yield "token of another device", vouch.verify(here.bearers["vouch", "run_token"], device="dev_other")
    yield "token of another platform", vouch.verify(here.bearers["vouch", "run_token"], platform="ios")
    for key in ("pk_live", "pk_test"):
        yield "SDK key administers", vouch.admin("GET", "devices", key)
    for key in ("sk_live", "sk_test"):
        yield "management key attests", vouch.call("POST", "/v1/sdk/attest/nonce", key, {})


# What opens what at home; everything else opens nothing anywhere.
AT_HOME = {
    "bearer offlineid": ("offlineid session",), "API key": ("API key",), "renewal": ("offlineid refresh",),
    "bearer appengine": ("appengine app_token", "appengine web_token", "appengine server_token", "appengine debug_token"),
    "guest": ("appengine app_token", "appengine web_token", "appengine server_token", "appengine debug_token"),
    "secret": ("secret",), "debug token": ("debug token",), "person": ("person",), "administrator": ("admin org-admin",),
    "SDK": ("pk_live", "pk_test"), "management": ("sk_live", "sk_test"), "run token": ("vouch run_token",),
}


def uses_as(here, text):
    """A text as every kind of credential: (as what, answer)."""
    bearer = {"Authorization": "Bearer " + text}
    yield "bearer offlineid", here.offline.get(fields=bearer)
    yield "API key", here.offline.get(fields={"X-Api-Key": text})
    yield "renewal", here.offline.post("/v1/auth/refresh", {"refresh_token": text})
    named = {"appId": here.engine.name}
    yield "bearer appengine", here.engine.get(text, fields=named)
    yield "API key", here.engine.get(fields={"X-Api-Key": text} | named)
    yield "guest", here.engine.guest(text, fields=named)
    yield "secret", here.engine.key(text)
    yield "debug token", here.engine.attest("debug", debugToken=text)
    # The app's own token beside it, so that only the person is asked about.
    for written in (text, "Bearer " + text):
        yield "person", here.engine.get(here.bearers["appengine", "app_token"], "/people/x", {"x-client-authorization": written})
    yield "administrator", administers(here, text)
    yield "SDK", here.vouch.call("POST", "/v1/sdk/attest/nonce", None, {}, [("Authorization", "Bearer " + text)])
    yield "management", here.vouch.call("GET", "/v1/apps/%s/security/devices" % here.id, None, None, [("Authorization", "Bearer " + text)])
    yield "run token", here.vouch.order(text)


def administers(here, token):
    """The one change that dialect C has for administrators, of this app."""
    with here.gateway.wire() as client:
        return client.exchange("PUT", "/profile/app/%s/identity" % here.engine.record, {"orgid": here.organization, "Authorization": "Bearer " + token, "Content-Type": "application/json"}, b'{"allowDebugTokens":true}')


def shared(what, here, there):
    """Whether `there`'s thing is `here`'s too: persons and administrators are the organization's."""
    return here is there or here.organization == there.organization and what in ("person", "admin org-admin")


def blocks(one, here, there):
    """Whether an administrator of `here` can block the installs of `there`."""
    for dialect, phone in there.phones.items():
        with pytest.raises(AssertionError, match="404"):
            one.admin("POST", "/apps/%s/devices/%s/block" % (here.id, phone.id.hex()), {})
        yield dialect


def test_nothing_counts_in_another_place(one, backend, authorities):  # noqa: F811
    holders = [Holder(one, authorities, organization, number) for number, organization in enumerate(["acme", "acme", "globex", "globex"])]
    trials, admitted = collections.Counter(), []

    def take(place, made):
        for what, answer in made:
            trials[place[1]] += 1
            assert answer.status in (200, 400, 401, 403, 404), (what, answer)
            if is_let_in(answer):
                admitted.append((what, *place, answer.status, answer.body[:200]))

    for here in holders:
        for dialect in DIALECTS:
            for there in holders:
                for other in DIALECTS:
                    if here is not there or dialect != other:
                        take((here.id, dialect, there.id, other), uses(here, dialect, there, other, backend))
                if dialect == "appengine" and here is not there:
                    trials["device records"] += len(list(blocks(one, here, there)))
        take((here.id, "vouch", here.id, "kinds"), uses_of_kinds(here))
    texts = {there.id: list(there.everything(backend)) for there in holders}
    opened = collections.Counter()
    for here, there in itertools.product(holders, holders):
        for what, text in texts[there.id]:
            for use, answer in uses_as(here, text):
                trials["as " + use] += 1
                if not is_let_in(answer):
                    continue
                # An SDK key names its own app, and the call no other.
                if use == "SDK" and what in AT_HOME[use]:
                    opened[use] += 1
                # So does a run token; the upstream was told that one.
                elif use == "run token" and what == "vouch run_token" and here.organization == there.organization:
                    opened[use] += backend.seen[-1]["Sallyport-App"] == there.id
                elif what in AT_HOME[use] and shared(what, here, there):
                    opened[use] += 1
                else:
                    admitted.append((what, "as " + use, here.id, there.id, answer.status, answer.body[:200]))
    assert all(opened[use] for use in AT_HOME), opened  # what is refused elsewhere does open its own door
    print("cross product: %d trials %s, %d admissions" % (trials.total(), dict(trials), len(admitted)))
    for one_of_them in admitted[:20]:
        print(one_of_them)
    note("cross product of %d uses" % trials.total(), 0, len(admitted))
    for here in holders:  # and each still counts at home
        run_token = here.bearers["vouch", "run_token"]
        note("at home", (200, 200, 200, "pass", 200, True, "pass"), (
            here.offline.verify(here.offline.ios(here.phones["offlineid"])).status, here.engine.ios(here.phones["appengine"]).status,
            here.offline.get(fields={"Authorization": "Bearer " + here.bearers["offlineid", "session"]}).status,
            verdict(here.vouch.iphone(here.phones["vouch"])), here.vouch.order(run_token).status, json.loads(here.vouch.verify(run_token).body)["active"],
            verdict(here.vouch.attest("pk_test", here.debug_device))))
        note("its policy", here.is_strict, json.loads(here.vouch.attest(unavailable="no_play_services").body)["run_token"] is None)

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Everything is killed between two steps of a sign-in: nothing counts twice, no key is lost, no cap is passed."""
import concurrent.futures
import json
import threading

import pytest

import devices
from dialects import DIALECTS, Tenant, make_gateway
from rows import note
from signins import Backend, authorities  # noqa: F401 (a fixture)


class Held(Backend):
    """A sign-in service that can be made to hold its answers back."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        super().__init__()

    def answer(self, seen):
        self.open.wait(30)
        return super().answer(seen)


@pytest.fixture(scope="module")
def backend():
    server = Held()
    yield server
    server.open.set()
    server.stop()


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):  # noqa: F811
    made = make_gateway(site, backend, authorities, tmp_path_factory.mktemp("trust"))
    made.start()
    made.create_organization("acme")
    yield made
    made.remove()


def restart(one):
    one.kill_everything()
    one.start()


def verdicts(answers):
    return [json.loads(a.body)["verdict"] for a in answers]


def statuses(answers):
    return [a.status for a in answers]


class Played:
    """The steps of one dialect with the same names in each; `passed` says whether an answer let the phone in."""

    def __init__(self, tenant, dialect, authorities):  # noqa: F811
        self.tenant, self.dialect = tenant, dialect
        self.iphone, self.android = devices.IPhone(authorities), tenant.android
        self.face = {"offlineid": tenant.offline, "appengine": tenant.engine, "vouch": tenant.vouch}[dialect]

    def challenge(self):
        return self.face.challenge() if self.dialect == "offlineid" else self.face.nonce()

    def register(self):
        if self.dialect == "offlineid":
            return self.face.register(self.iphone)
        return self.face.ios_first(self.iphone) if self.dialect == "appengine" else self.face.iphone(self.iphone, first=True)

    def assertion(self, challenge=None, **options):
        """A body with an assertion, to be presented as often as one likes."""
        challenge = challenge or self.challenge()
        binding = self.face.binding(challenge) if self.dialect == "offlineid" else challenge.encode()
        return challenge, self.iphone.assert_(binding, **options)

    def present(self, challenge, assertion):
        if self.dialect == "offlineid":
            return self.face.verify({"platform": "ios", "challenge": challenge, "keyId": self.iphone.key_id, "assertion": assertion})
        if self.dialect == "appengine":
            return self.face.attest("ios", nonce=challenge, keyId=self.iphone.key_id, assertion=assertion)
        return self.face.attest("pk_live", "dev_ios", platform="ios", nonce=challenge, key_id=self.iphone.key_id, assertion=assertion)

    def android_proof(self, challenge):
        if self.dialect == "offlineid":
            return self.face.android(self.android, challenge)
        return self.android.play_token(challenge)

    def present_android(self, challenge, proof):
        if self.dialect == "offlineid":
            return self.face.verify(proof)
        if self.dialect == "appengine":
            return self.face.attest("android", nonce=challenge, integrityToken=proof)
        return self.face.attest(nonce=challenge, token=proof)

    def passed(self, answer):
        return answer.status == 200 and (self.dialect != "vouch" or json.loads(answer.body)["verdict"] == "pass")

    def code(self, answer):
        body = answer.json()
        if self.dialect == "offlineid":
            return body["data"].get("reason")
        return body["reason"] if self.dialect == "appengine" else body["reasons"][0]["code"]


SPENT = {"offlineid": "challenge_invalid", "appengine": "nonce", "vouch": "nonce_mismatch"}


@pytest.fixture
def played(one, authorities):  # noqa: F811
    return lambda dialect: Played(Tenant(one, authorities), dialect, authorities)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_between_challenge_and_proof(one, played, dialect):
    made = played(dialect)
    fresh, spent = made.challenge(), made.challenge()
    proofs = {challenge: made.android_proof(challenge) for challenge in (fresh, spent)}
    assert made.passed(made.present_android(spent, proofs[spent]))
    restart(one)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: made.present_android(fresh, proofs[fresh]), range(16)))
        answers += pool.map(lambda _: made.present_android(spent, proofs[spent]), range(16))
    note("SAL-001 after kill -9, %s" % dialect, (1, 0), (sum(map(made.passed, answers[:16])), sum(map(made.passed, answers[16:]))))
    note("SAL-001 why, %s" % dialect, 31, sum(SPENT[dialect] in made.code(a) for a in answers if not made.passed(a)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_between_register_and_assert(one, played, dialect):
    made = played(dialect)
    assert made.passed(made.register())
    restart(one)
    six, five = made.assertion(counter=6), made.assertion(counter=5)
    note("the key is there, %s" % dialect, True, made.passed(made.present(*six)))
    restart(one)
    note("its counter too, %s" % dialect, (False, False, True), (
        made.passed(made.present(*five)), made.passed(made.present(*made.assertion(counter=6))), made.passed(made.present(*made.assertion(counter=7)))))


def test_between_reserve_and_commit(one, backend, authorities):  # noqa: F811
    tenant = Tenant(one, authorities)
    tenant.cli("dev-mode", "on", "--hours", "1")
    backend.open.clear()
    before = len(backend.seen)
    report = {"platform": "ios", "unavailable": "simulator"}
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        held = [pool.submit(tenant.offline.verify, report) for _ in range(30)]
        for _ in range(500):
            if len(backend.seen) - before == 30:
                break
            threading.Event().wait(0.02)
        note("all are at the upstream", 30, len(backend.seen) - before)
        one.kill_everything()
        lost = [f.exception() is not None for f in held]
        backend.open.set()
    note("none was answered", 30, sum(lost))
    one.start()
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: tenant.offline.verify(report), range(400)))
    note("OFF-109 after kill -9: 30 of 200 stay spent", (170, 230), (statuses(answers).count(200), statuses(answers).count(429)))
    restart(one)
    note("OFF-109 full stays full", 429, tenant.offline.verify(report).status)


def test_between_a_proof_that_is_judged_and_its_answer(one, backend, played):
    made = played("offlineid")
    challenge = made.challenge()
    proof = made.android_proof(challenge)
    backend.open.clear()
    before = len(backend.seen)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(made.present_android, challenge, proof)
        for _ in range(500):
            if len(backend.seen) > before:
                break
            threading.Event().wait(0.02)
        one.kill_everything()
        assert first.exception() is not None
        backend.open.set()
    one.start()
    note("SAL-001 its challenge is spent", (403, "challenge_invalid"), ((answer := made.present_android(challenge, proof)).status, made.code(answer)))


def test_what_was_switched_stays_switched(one, authorities):  # noqa: F811
    """Tokens, blocks, revocations, development devices and policies, all written before the kill."""
    tenant = Tenant(one, authorities)
    phone = devices.IPhone(authorities)
    assert tenant.engine.ios_first(phone).status == 200
    token = tenant.engine.ios(phone).json()["token"]
    session = tenant.offline.verify(tenant.offline.android(tenant.android)).json()["data"]
    debug = one.admin("POST", "/apps/%s/debug-tokens" % tenant.id, {"name": "d"})
    assert tenant.vouch.admin("POST", "debug-devices", body={"device_id": "dev_debug"}).status == 201
    kept, ended = (json.loads(tenant.vouch.android(tenant.android, device=device).body)["run_token"] for device in ("dev_kept", "dev_ended"))
    tenant.vouch.admin("POST", "devices/dev_ended/revoke")
    tenant.cli("policy", "set", "degraded=refuse")
    tenant.cli("devices", "block", phone.id.hex())
    restart(one)
    note("app token and session", (200, 200), (tenant.engine.get(token, fields={"appId": tenant.engine.name}).status,
                                               tenant.offline.get(fields={"Authorization": "Bearer " + session["token"]}).status))
    note("renewal", 200, tenant.offline.post("/v1/auth/refresh", {"refresh_token": session["refresh_token"]}).status)
    note("debug token", 200, tenant.engine.attest("debug", debugToken=debug["token"]).status)
    note("debug device", ["pass"], verdicts([tenant.vouch.attest("pk_test", "dev_debug")]))
    note("run tokens", (200, 401), (tenant.vouch.order(kept, "dev_kept").status, tenant.vouch.order(ended, "dev_ended").status))
    note("policy", None, json.loads(tenant.vouch.attest(unavailable="no_play_services").body)["run_token"])
    note("block", "device_blocked", tenant.engine.ios(phone).json()["reason"])
    one.cli("debug-tokens", "delete", debug["id"], "--app", tenant.id)
    one.cli("apps", "revoke", "--app", tenant.id)
    restart(one)
    note("revoked stays revoked", (401, 401, 401), (
        tenant.engine.get(token, fields={"appId": tenant.engine.name}).status, tenant.offline.get(fields={"Authorization": "Bearer " + session["token"]}).status,
        tenant.vouch.order(kept, "dev_kept").status))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Sign-ins at once with each other and with changes, in every dialect where that can happen."""
import concurrent.futures
import itertools
import json
import threading
import time

import pytest

from dialects import DIALECTS, Tenant, make_gateway
from rows import note
from signins import authorities, backend  # noqa: F401 (fixtures)
from test_restarts import SPENT, Played


@pytest.fixture(scope="module")
def one(site, backend, authorities, tmp_path_factory):  # noqa: F811
    made = make_gateway(site, backend, authorities, tmp_path_factory.mktemp("trust"))
    made.start()
    made.create_organization("acme")
    # Many connections and refusals in a second from one address would be turned away before anybody judges them.
    addresses, wire = itertools.cycle("127.0.3.%d" % n for n in range(1, 200)), made.wire
    made.wire = lambda tls=False, **options: wire(tls, **{"source": next(addresses), **options})
    yield made
    made.remove()


@pytest.fixture
def played(one, authorities):  # noqa: F811
    return lambda dialect: Played(Tenant(one, authorities), dialect, authorities)


def at_once(count, call):
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        return list(pool.map(lambda _: call(), range(count)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_challenge_fifty_times(played, dialect):
    made = played(dialect)
    challenge = made.challenge()
    proof = made.android_proof(challenge)
    answers = at_once(50, lambda: made.present_android(challenge, proof))
    note("SAL-001 %s" % dialect, 1, sum(map(made.passed, answers)))
    note("SAL-001 why, %s" % dialect, 49, sum(SPENT[dialect] in made.code(a) for a in answers if not made.passed(a)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_new_key_fifty_times(played, dialect):
    """Registered by fifty at once with a challenge each: one key, whose counter is one."""
    made = played(dialect)
    answers = at_once(50, made.register)
    note("registered, %s" % dialect, 50, sum(map(made.passed, answers)))
    six = [made.assertion(counter=6) for _ in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda proof: made.present(*proof), six))
    note("SAL-005 %s" % dialect, 1, sum(map(made.passed, answers)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_counters_six_then_five(played, dialect):
    made = played(dialect)
    assert made.passed(made.register())
    proofs = [made.assertion(counter=counter) for counter in (6, 5, 6, 7)]
    answers = [made.present(*proof) for proof in proofs]
    note("SAL-005 6, 5, 6, 7, %s" % dialect, [True, False, False, True], [made.passed(a) for a in answers])
    for round_ in range(5):
        pair = [made.assertion(counter=10 + 2 * round_ + n) for n in (1, 0)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda proof: made.present(*proof), pair))
        note("SAL-005 at once, then the lower again, %s" % dialect, False, made.passed(made.present(*made.assertion(counter=10 + 2 * round_))))


class Stream:
    """Signs in again and again from some threads; each answer with the times at which it began and ended."""

    def __init__(self, call, threads=8, pause=0.01):
        self.call, self.pause, self.seen, self.ended = call, pause, [], threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]

    def run(self):
        while not self.ended.is_set():
            began = time.monotonic()
            self.seen.append((began, self.call(), time.monotonic()))
            time.sleep(self.pause)

    def during(self, change):
        """Lets `change` happen in the middle; answers when it was confirmed."""
        for thread in self.threads:
            thread.start()
        time.sleep(0.4)
        change()
        confirmed = time.monotonic()
        time.sleep(0.4)
        self.ended.set()
        for thread in self.threads:
            thread.join()
        return confirmed


def after(stream, confirmed):
    return [answer for began, answer, _ in stream.seen if began > confirmed]


@pytest.mark.parametrize("change", [("dev-mode", "off"), ("production", "on")])
def test_development_ends_during_sign_ins(one, authorities, change):  # noqa: F811
    tenant = Tenant(one, authorities)
    tenant.cli("dev-mode", "on", "--hours", "1")
    stream = Stream(lambda: tenant.offline.guest({"platform": "ios", "unavailable": "simulator"}), threads=2, pause=0.03)
    confirmed = stream.during(lambda: tenant.cli(*change))
    let_in = [answer for _, answer, _ in stream.seen if answer.status == 200]
    note("some were let in before", True, len(let_in) > 0)
    late = after(stream, confirmed)
    note("OFF-148 SAL-010 after %s" % change[0], (True, {403}), (len(late) > 5, {a.status for a in late}))
    sessions = [json.loads(a.body)["data"]["token"] for a in let_in]
    seen = {tenant.offline.get(fields={"Authorization": "Bearer " + token}).status for token in sessions[-20:]}
    note("OFF-086 no session of it counts, however late it was signed in", {401}, seen)
    if change[0] == "production":
        note("OFF-092", 1, one.run("dev-mode", "on", "--app", tenant.id).returncode)


def test_debug_tokens_are_switched_off_during_sign_ins(one, authorities):  # noqa: F811
    tenant = Tenant(one, authorities)
    debug = one.admin("POST", "/apps/%s/debug-tokens" % tenant.id, {"name": "d"})["token"]
    stream = Stream(lambda: tenant.engine.attest("debug", debugToken=debug))
    confirmed = stream.during(lambda: tenant.cli("debug-tokens", "allow", "off"))
    late = after(stream, confirmed)
    note("APP-094 SAL-010", (True, {401}, {"debug_not_allowed"}), (len(late) > 5, {a.status for a in late}, {a.json()["reason"] for a in late}))
    note("some were let in before", True, any(a.status == 200 for _, a, _ in stream.seen))


def test_a_debug_device_is_removed_during_exchanges(one, authorities):  # noqa: F811
    tenant = Tenant(one, authorities)
    assert tenant.vouch.admin("POST", "debug-devices", body={"device_id": "dev_debug"}).status == 201
    stream = Stream(lambda: tenant.vouch.attest("pk_test", "dev_debug"))
    confirmed = stream.during(lambda: tenant.cli("debug-devices", "remove", "dev_debug"))
    note("VCH-035 SAL-010", (True, {400}), (len(late := after(stream, confirmed)) > 5, {a.status for a in late}))
    note("some passed before", True, any(a.status == 200 for _, a, _ in stream.seen))


def test_a_device_is_revoked_during_exchanges(one, authorities):  # noqa: F811
    """No token that was out before the revocation began counts after it."""
    tenant = Tenant(one, authorities)
    early = [json.loads(tenant.vouch.android(tenant.android).body)["run_token"] for _ in range(3)]
    stream = Stream(lambda: tenant.vouch.android(tenant.android), threads=4)
    began = []

    def change():
        began.append(time.monotonic())
        tenant.vouch.admin("POST", "devices/dev_abc/revoke")

    stream.during(change)
    early += [json.loads(answer.body)["run_token"] for _, answer, ended in stream.seen if ended < began[0]]
    note("VCH-033 SAL-010", {401}, {tenant.vouch.order(token).status for token in early})


def test_an_app_is_revoked_during_sign_ins(one, authorities):  # noqa: F811
    tenant = Tenant(one, authorities)
    stream = Stream(lambda: tenant.engine.web(tenant.domain, {"Origin": "https://" + tenant.domain}))
    confirmed = stream.during(lambda: tenant.cli("apps", "revoke"))
    late = after(stream, confirmed)
    note("APP-089 SAL-010", (True, {401}), (len(late) > 5, {a.status for a in late}))
    tokens = [a.json()["token"] for _, a, _ in stream.seen if a.status == 200]
    note("APP-088 of all its tokens", {401}, {tenant.engine.get(token, fields={"appId": tenant.engine.name}).status for token in tokens[-50:]})

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Confirmed means refused on the next request, by every worker of every node."""
import concurrent.futures
import datetime
import http.client
import itertools
import json
import os
import random
import signal
import statistics
import threading
import time

import pytest

import nodes
from conftest import LONG, route, url

KINDS = ["origin", "api_key", "app_token", "server_token", "session_token"]
ACCESS = {"organizations": "any", "credentials": KINDS}
TRIALS = 1000 if LONG else 60
# A stopped worker is killed after ten seconds; the case of one needs its lease and two more.
SERVE_STALE = 5


@pytest.fixture(scope="module")
def stand(site, nginx):
    (nginx.files / "v1").mkdir(exist_ok=True)
    (nginx.files / "v1" / "x").write_text("ok")
    made = nodes.Nodes(site, [route("api", "/v1/", access=ACCESS)], {"api": {"endpoints": [url(nginx)]}},
                       state={"serve_stale": "%ds" % SERVE_STALE})
    made.one.create_organization()
    yield made
    made.remove()


attempts = itertools.count()


def new_app(node, number, organization="acme", **more):
    """Another name for each attempt: of one whose answer was lost the app may be there."""
    name = "app %d n%d" % (number, next(attempts))
    return node.admin("POST", "/apps", {"name": name, "organization": organization, **more})["app_id"]


def mint(node, app, **wish):
    return node.admin("POST", "/apps/%s/tokens" % app, wish)


def bearer(token, app):
    return {"Authorization": "Bearer " + token, "X-App-Id": app}


class Trial:
    """What is taken away, and the fields of requests that must be refused then."""

    def __init__(self, fields, take_away):
        self.fields, self.take_away = fields, take_away


def by_key(node, number):
    app = new_app(node, number)
    key = node.admin("POST", "/apps/%s/api-keys" % app, {"name": "k"})
    return Trial({"X-App-Id": app, "X-Api-Key": key["key"]}, ("DELETE", "/apps/%s/api-keys/%s" % (app, key["id"]), None))


def by_disabling(node, number):
    app = new_app(node, number)
    key = node.admin("POST", "/apps/%s/api-keys" % app, {"name": "k"})
    return Trial({"X-App-Id": app, "X-Api-Key": key["key"]}, ("PATCH", "/apps/" + app, {"enabled": False}))


def by_origin(node, number):
    app, origin = new_app(node, number), "https://o%d.example" % number
    node.admin("POST", "/apps/%s/origins" % app, {"origin": origin})
    return Trial({"X-App-Id": app, "Origin": origin}, ("DELETE", "/apps/%s/origins/%s" % (app, origin.replace("/", "%2F")), None))


def by_app(node, number):
    app = new_app(node, number)
    return Trial(bearer(mint(node, app)["token"], app), ("POST", "/apps/%s/revoke" % app, None))


def by_token(node, number):
    app = new_app(node, number)
    token = mint(node, app)
    return Trial(bearer(token["token"], app), ("POST", "/tokens/revoke", {"token_id": token["token_id"], "app": app}))


def by_watermark_of_app(node, number):
    app = new_app(node, number)
    return Trial(bearer(mint(node, app)["token"], app), ("POST", "/tokens/revoke", {"app": app}))


def by_watermark_of_person(node, number):
    app = new_app(node, number)
    token = mint(node, app, kind="session_token", trust="hardware", person="person-%d" % number)
    return Trial(bearer(token["token"], app), ("POST", "/tokens/revoke", {"person": "person-%d" % number, "organization": "acme"}))


def by_disabling_the_organization(node, number):
    name = "org%dn%d" % (number, next(attempts))
    node.admin("POST", "/organizations", {"id": name})
    app = new_app(node, number, organization=name)
    key = node.admin("POST", "/apps/%s/api-keys" % app, {"name": "k"})
    return Trial({"X-App-Id": app, "X-Api-Key": key["key"]}, ("PATCH", "/organizations/" + name, {"enabled": False}))


def in_development(node, number):
    app = new_app(node, number)
    node.admin("PUT", "/apps/%s/development-mode" % app, {"enabled": True, "hours": 1})
    token = mint(node, app, kind="session_token", trust="development", person="dev")
    return app, bearer(token["token"], app)


def by_production(node, number):
    app, fields = in_development(node, number)
    return Trial(fields, ("PUT", "/apps/%s/production" % app, {"enabled": True}))


def by_ending_development(node, number):
    app, fields = in_development(node, number)
    return Trial(fields, ("PUT", "/apps/%s/development-mode" % app, {"enabled": False}))


WAYS = [by_key, by_disabling, by_disabling_the_organization, by_origin, by_app, by_token, by_watermark_of_app, by_watermark_of_person, by_production,
        by_ending_development]


def address(number):
    """A client address of its own: failed checks of one address are slowed down after a while."""
    return "127.%d.%d.%d" % (2 + number // 62500, number // 250 % 250, number % 250 + 1)


def load(node, fields, stop, seen):
    with node.wire() as client:
        while not stop.is_set():
            seen[client.exchange(target="/v1/x", fields=fields).status] = True
            time.sleep(0.002)


@pytest.fixture
def under_load(stand):
    """A good client on each node, which must never be refused."""
    app = new_app(stand.one, 0)
    key = stand.one.admin("POST", "/apps/%s/api-keys" % app, {"name": "k"})["key"]
    stop, seen = threading.Event(), {}
    threads = [threading.Thread(target=load, args=(node, {"X-App-Id": app, "X-Api-Key": key}, stop, seen), daemon=True) for node in stand.all]
    for thread in threads:
        thread.start()
    yield seen
    stop.set()
    for thread in threads:
        thread.join()
    assert set(seen) == {200}, "the good client met %s" % sorted(seen)


def one_trial(stand, number, way):
    """How long the confirmation took, how many of eight held credentials were refused, and whether any was let in."""
    changing = stand.all[number % 2]
    trial = way(changing, number)
    # Eight connections meet the four workers; each has had its answer before.
    clients = [node.wire(source=address(8 * number + i)) for node in stand.all for i in range(4)]
    for client in clients:
        assert client.exchange(target="/v1/x", fields=trial.fields).status == 200, way.__name__
    method, target, body = trial.take_away
    began = time.monotonic()
    answer = changing.admin(method, target, body)
    took = time.monotonic() - began
    assert answer["confirmed"] is True, (way.__name__, answer)
    for client in clients:
        client.request(target="/v1/x", fields=trial.fields)
    statuses = [client.answer().status for client in clients]
    for client in clients:
        client.close()
    return took, sum(status in (401, 403) for status in statuses), way.__name__ if 200 in statuses else None


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_after_confirmed_no_request_is_admitted_by_any_worker_of_any_node(stand, under_load):
    # Several under way at once: each is about an app of its own.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number, way: one_trial(stand, number, way), range(1, TRIALS + 1), itertools.cycle(WAYS)))
    took = sorted(seconds for seconds, _, _ in results)
    refusals = sum(count for _, count, _ in results)
    admitted = [name for _, _, name in results if name]
    print("trials %d, refusals %d, admitted after confirmed %d; confirmed in median %.1f ms, p99 %.1f ms" % (
        len(took), refusals, len(admitted), statistics.median(took) * 1e3, took[int(len(took) * 0.99) - 1] * 1e3))
    assert not admitted
    assert refusals == 8 * len(took)


def ask_again(one, app, key):
    """The same change once more, while the first is on its way still: it is no more confirmed than that."""
    pairs = [(["keys", "revoke", key], "was revoked already"), (["apps", "disable"], "is disabled already"),
             (["dev-mode", "off"], "count only while it is on"), (["production", "on"], "marked production already")]
    one.run("apps", "disable", "--app", app, "--wait", "0.1")
    one.run("production", "on", "--app", app, "--wait", "0.1")
    for verb, words in pairs:
        told = one.run(*verb, "--app", app, "--wait", "0.1", "--json")
        answer = json.loads(told.stdout)
        assert told.returncode == 1 and answer["confirmed"] is False and answer["changed"] is False, (verb, answer)
        assert words in answer["message"] and answer["message"].endswith("has confirmed it yet") and answer["waiting_for"], answer
    tenants = one.directory / "again.yaml"
    tenants.write_text("version: 1\norganizations: [{ id: acme, apps: [{ id: %s, enabled: false }] }]\n" % app)
    for text, words in (("enabled: false", "nothing to change"), ("name: other", "changed 1")):
        tenants.write_text(tenants.read_text().replace("enabled: false", text))
        told = one.run("apply", "-f", tenants, "--wait", "0.1")
        assert told.returncode == 1 and words in told.stdout, told
        assert "waiting for" in told.stdout
    dry = one.run("apply", "-f", tenants, "--dry-run", "--wait", "0.1")
    assert dry.returncode == 0, dry
    for verb in (["secret", "rotate"], ["tokens", "revoke"], ["apps", "revoke"], ["apps", "revoke"]):
        assert one.run(*verb, "--app", app, "--wait", "0.1").returncode == 1, verb


def effective_by(answer):
    return datetime.datetime.fromisoformat(answer["effective_by"].replace("Z", "+00:00")).timestamp()


def test_a_stopped_worker_is_named_and_admits_nothing_when_it_goes_on(stand):
    one, other = stand.one, stand.other
    app = new_app(one, 900)
    key = one.admin("POST", "/apps/%s/api-keys" % app, {"name": "k"})
    fields = {"X-App-Id": app, "X-Api-Key": key["key"]}
    clients = [other.wire(source=address(20000 + i), timeout=30) for i in range(16)]
    for client in clients:
        assert client.exchange(target="/v1/x", fields=fields).status == 200
    stopped = other.workers()[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        began = time.time()
        result = one.run("keys", "revoke", key["id"], "--app", app, "--wait", "0.5", "--json")
        assert result.returncode == 1, result.stdout
        answer = json.loads(result.stdout)
        assert answer["confirmed"] is False
        assert answer["message"] == "key %s is revoked, but not every worker has confirmed it yet" % key["id"]
        for verb in (["tokens", "revoke"], ["apps", "disable"]):
            told = one.run(*verb, "--app", app, "--wait", "0.2")
            first = told.stdout.splitlines()[0]
            assert told.returncode == 1 and first.endswith(", but not every worker has confirmed it yet"), told.stdout
            assert "next request" not in told.stdout and "in effect everywhere by" in told.stdout, told.stdout
        assert one.admin("PATCH", "/apps/%s?wait=0" % app, {"enabled": True})["message"].endswith("has confirmed it yet")
        ask_again(one, app, key["id"])
        assert len(answer["waiting_for"]) == 1 and "worker" in answer["waiting_for"][0]
        end = effective_by(answer)
        assert began < end <= began + SERVE_STALE + 2
        for client in clients:
            client.request(target="/v1/x", fields=fields)
        time.sleep(max(0, end - time.time()) + 1)
        assert one.admin("PATCH", "/apps/" + app, {"enabled": False})["confirmed"] is True, "its lease is over"
        assert one.cli("keys", "revoke", key["id"], "--app", app)["confirmed"] is True
    finally:
        os.kill(stopped, signal.SIGCONT)
    statuses = [client.answer().status for client in clients]
    assert 200 not in statuses, "requests that waited in the stopped worker"
    assert set(statuses) <= {401, 503}
    for client in clients:
        assert client.exchange(target="/v1/x", fields=fields).status in (401, 503)
        client.close()


def test_the_message_of_a_confirmed_revocation_says_what_follows(stand):
    one = stand.one
    app = new_app(one, 903)
    key = one.admin("POST", "/apps/%s/api-keys" % app, {"name": "k"})
    assert one.cli("keys", "revoke", key["id"], "--app", app)["message"] == "key %s is revoked; it is refused from the next request on" % key["id"]
    assert one.cli("tokens", "revoke", "--app", app)["message"].endswith(" are revoked; they are refused from the next request on")
    assert one.cli("apps", "revoke", "--app", app)["message"] == "app %s is revoked; no token, key or origin of it counts any more" % app
    assert one.cli("apps", "revoke", "--app", app)["message"] == "app %s was revoked already" % app


def test_a_change_without_wait_says_so_at_once(stand):
    app = new_app(stand.one, 901)
    began = time.monotonic()
    result = stand.one.run("apps", "disable", "--app", app, "--wait", "0")
    assert time.monotonic() - began < 3
    assert result.returncode in (0, 1)
    assert stand.one.run("apps", "disable", "--app", app, "--wait", "soon").returncode == 2
    assert stand.one.run("apps", "disable", "--app", app, "--wait", "61").returncode == 2


def admitted_by_anybody(stand, trial, number):
    """A worker that is killed just now resets; none may let it in."""
    for node in stand.all:
        for _ in range(4):
            try:
                if node.get("/v1/x", trial.fields, source=address(number), timeout=5).status == 200:
                    return True
            except (OSError, EOFError):
                pass
    return False


class Killer:
    """kill -9 of Redis and of workers in turn, again and again; each comes back before the next dies."""

    def __init__(self, stand):
        self.stand, self.kills, self.stopping = stand, {"redis": 0, "worker": 0}, threading.Event()
        self.fault = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            for number in itertools.count():
                # In the first lease of another epoch nothing is confirmed: Redis lives for a while each time.
                if self.stopping.wait(1.5):
                    return
                if number % 8 == 3:
                    self.stand.redis.restart()
                    self.kills["redis"] += 1
                else:
                    node = self.stand.all[number % 2]
                    dead = node.workers()[number // 2 % 2]
                    os.kill(dead, signal.SIGKILL)
                    self.kills["worker"] += 1
                    node.wait_for_workers(2, without=[dead])
        except Exception as fault:
            self.fault = fault

    def stop(self):
        self.stopping.set()
        self.thread.join()
        assert self.fault is None, self.fault
        return self.kills


def killed_trial(stand, number, way):
    """One change while the killer is at work: the trial where it was confirmed, and whether it was let in after that."""
    node = stand.all[number % 2]
    trial = nodes.eventually(lambda: attempt(lambda: way(node, number)), 60)
    nodes.eventually(lambda: attempt(lambda: node.get("/v1/x", trial.fields, source=address(number), timeout=5).status) == 200, 60)
    method, target, body = trial.take_away
    answer = attempt(lambda: node.admin(method, target, body))
    if not answer or not answer["confirmed"]:
        return None, None
    return trial, way.__name__ if admitted_by_anybody(stand, trial, 70000 + number) else None


# The last kill of Redis is followed by several of workers, and so by the lease in which nothing is
# confirmed, and some time after it.
KILLED_TRIALS, REDIS_KILLS, WORKER_KILLS, CLIENTS = (1000, 12, 88, 24) if LONG else (20, 1, 7, 8)
# So many trials a second, so that they are made before, during and after the kills.
RATE = 8


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_nothing_revoked_comes_back_when_redis_and_workers_are_killed(stand):
    """kill -9 of Redis and of a worker between and during the changes."""
    killer, numbers = Killer(stand), itertools.count(9000)

    def try_again_and_again(_):
        found = []
        while killer.fault is None:
            number = next(numbers)
            if number >= 9000 + KILLED_TRIALS and killer.kills["redis"] >= REDIS_KILLS and killer.kills["worker"] >= WORKER_KILLS:
                return found
            found.append(killed_trial(stand, number, WAYS[number % len(WAYS)]))
            time.sleep(random.uniform(0, 2 * CLIENTS / RATE))
        return found

    try:
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            results = [result for found in pool.map(try_again_and_again, range(CLIENTS)) for result in found]
    finally:
        kills = killer.stop()
    count = len(results)
    held = [trial for trial, _ in results if trial]
    admitted = [name for _, name in results if name]
    print("trials %d, kills %s, confirmed %d, admitted after confirmed %d" % (count, kills, len(held), len(admitted)))
    assert not admitted
    assert len(held) >= count // 4, "the others were not confirmed, which is no promise"
    for node in stand.all:
        nodes.eventually(lambda: node.probe("/readyz")[0] == 200, 20)
    for number, trial in enumerate(held):
        for node in stand.all:
            statuses = {node.get("/v1/x", trial.fields, source=address(90000 + number)).status for _ in range(3)}
            assert statuses <= {401, 403}, statuses


def attempt(body):
    try:
        return body()
    except (AssertionError, OSError, EOFError, http.client.HTTPException):
        return None


def test_in_the_first_lease_of_an_epoch_nothing_is_confirmed(stand):
    """After a restart Redis has another replication id: a worker may live whose registration is lost."""
    app = nodes.eventually(lambda: attempt(lambda: new_app(stand.one, 3000)))
    time.sleep(SERVE_STALE + 1)
    assert stand.one.admin("PATCH", "/apps/" + app, {"enabled": False})["confirmed"] is True
    stand.redis.restart()
    answer = nodes.eventually(lambda: attempt(lambda: stand.one.admin("PATCH", "/apps/%s?wait=1" % app, {"enabled": True})))
    assert answer["confirmed"] is False
    assert "(failover)" in answer["waiting_for"]
    assert effective_by(answer) <= time.time() + SERVE_STALE + 2
    nodes.eventually(lambda: stand.one.admin("PATCH", "/apps/%s" % app, {"enabled": False})["confirmed"], SERVE_STALE + 10)


def test_every_verb_writes_the_history(stand):
    one = stand.one
    app = nodes.eventually(lambda: attempt(lambda: new_app(one, 3100)))
    token = one.cli("token", "mint", "--app", app, "--minutes", "5")
    one.run("tokens", "revoke", token["token_id"], "--app", app)
    one.run("tokens", "revoke", "--app", app, "--before", "2026-01-01T00:00:00Z")
    one.run("secret", "rotate", "--app", app)
    one.run("secret", "rotate", "--app", app)
    one.run("apps", "revoke", "--app", app)
    events = [row["event"] for row in one.cli("history", "--app", app)["events"]]
    assert events == ["app_revoked", "secret_rotated", "secret_created", "tokens_revoked", "tokens_revoked", "token_minted", "app_created"]
    assert one.run("tokens", "revoke").returncode == 2
    assert one.run("tokens", "revoke", "--app", app, "--before", "2099-01-01T00:00:00Z").returncode == 1
    assert one.run("tokens", "revoke", "--person", "p", "--org", "nobody").returncode == 1
    assert one.run("token", "mint", "--app", app).returncode == 1, "a revoked app"
    assert one.run("token", "mint", "--app", app, "--minutes", "61").returncode == 2

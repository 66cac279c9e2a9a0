# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Our own keys: one ring for all nodes, rotated under load, sealed in Redis, and never there in the clear."""
import json
import threading
import time

import pytest

import nodes
from conftest import route, url
from nodes import copy_keys, eventually

KINDS = ["api_key", "server_token", "session_token"]
ACCESS = {"organizations": ["acme"], "credentials": KINDS}


@pytest.fixture
def stand(site, nginx):
    (nginx.files / "v1").mkdir(exist_ok=True)
    (nginx.files / "v1" / "x").write_text("ok")
    made = []

    def stand(**options):
        pair = nodes.Nodes(site, [route("api", "/v1/", access=ACCESS)], {"api": {"endpoints": [url(nginx)]}}, **options)
        made.append(pair)
        pair.one.create_organization()
        return pair

    yield stand
    for pair in made:
        pair.remove()


def mint(node, app, **wish):
    return node.admin("POST", "/apps/%s/tokens" % app.id, wish)["token"]


def get(node, app, token):
    return node.get("/v1/x", {"Authorization": "Bearer " + token, "X-App-Id": app.id}).status


def ids(node, part="signing"):
    ring = node.cli("keyring", "list")
    return [k["id"] for k in (ring["signing"] if part == "signing" else ring[part]["keys"])]


def test_two_nodes_make_one_ring_and_take_each_others_tokens(stand):
    pair = stand()
    app = pair.one.create_app()
    assert ids(pair.one) == ids(pair.other) and len(ids(pair.one)) == 1
    for maker, taker in [(pair.one, pair.other), (pair.other, pair.one)]:
        token = mint(maker, app)
        assert {get(taker, app, token) for _ in range(6)} == {200}
    listed = eventually(lambda: (n := pair.one.cli("keyring", "list")["nodes"]) and len(n) == 2 and n)
    assert listed[0]["seals"] == listed[1]["seals"]


def as_if_ten_minutes_had_passed(pair):
    """Moves the moments of the ring, which are not sealed, and tells the workers as a change would."""
    ring = json.loads(pair.redis.run("HGET", "{registry}:signing", "j"))
    for key in ring["keys"]:
        for name in ("createdAt", "signsFrom", "verifiesUntil"):
            if name in key:
                key[name] -= 601_000
    pair.redis.run("HSET", "{registry}:signing", "j", json.dumps(ring))
    number = pair.redis.run("INCR", "{registry}:sequence")
    pair.redis.run("XADD", "{registry}:changes", number + "-0", "kind", "signing", "id", "signing", "organization", "", "sites", "[]")


@pytest.mark.slow
def test_a_rotation_under_load_refuses_nobody(stand):
    pair = stand()
    app = pair.one.create_app()
    first = ids(pair.one)[0]
    stop, seen, tokens = threading.Event(), {}, [mint(pair.one, app)]

    def load(node):
        with node.wire() as client:
            while not stop.is_set():
                for token in tokens[-3:]:
                    status = client.exchange(target="/v1/x", fields={"Authorization": "Bearer " + token, "X-App-Id": app.id}).status
                    seen[status] = seen.get(status, 0) + 1
                time.sleep(0.003)

    threads = [threading.Thread(target=load, args=(node,), daemon=True) for node in pair.all for _ in range(2)]
    for thread in threads:
        thread.start()
    answer = pair.one.cli("keyring", "rotate")
    assert answer["confirmed"] is True
    second = answer["id"]
    assert [k["state"] for k in pair.other.cli("keyring", "list")["signing"]] == ["published", "signs"]
    made = pair.one.admin("POST", "/apps/%s/tokens" % app.id, {})
    assert made["key_id"] == first, "a key is published before it signs"
    tokens.append(made["token"])
    time.sleep(0.5)
    as_if_ten_minutes_had_passed(pair)
    for node in pair.all:
        made = eventually(lambda: (m := node.admin("POST", "/apps/%s/tokens" % app.id, {})) and m["key_id"] == second and m)
        tokens.append(made["token"])
    time.sleep(1)
    stop.set()
    for thread in threads:
        thread.join()
    print("answers", seen)
    assert set(seen) == {200}
    assert [k["state"] for k in pair.other.cli("keyring", "list")["signing"]] == ["signs", "verifies"]
    events = [row["event"] for row in pair.one.cli("history")["events"] if row["subject"] == "gateway"]
    assert events == ["signing_key_rotated", "signing_key_made", "keyring_made"]


def test_a_node_with_other_keys_is_not_ready_and_says_why_until_it_has_them(stand):
    pair = stand(same_keys=False)
    app = pair.one.create_app()
    pair.other.start(wait=False)
    eventually(lambda: reasons(pair.other), 20)
    eventually(lambda: "does not hold the sealing key" in reasons(pair.other), 20)
    assert "copy" in reasons(pair.other) and "keys/seal" in reasons(pair.other)
    ring = pair.one.cli("keyring", "list")
    assert ring["seal"]["current"] in reasons(pair.other)
    assert pair.other.run("keyring", "rotate").returncode == 1
    assert pair.one.probe("/readyz")[0] == 200
    copy_keys(pair.one, pair.other)
    eventually(lambda: pair.other.probe("/readyz")[0] == 200, 20)
    pair.other.stop()
    pair.other.start()
    assert get(pair.other, app, mint(pair.one, app)) == 200
    assert pair.other.get("/v1/x", app.fields).status == 200


def reasons(node):
    try:
        status, text = node.probe("/readyz")
    except OSError:
        return ""
    return text if status == 503 else ""


@pytest.mark.parametrize("kind", ["seal", "pepper"])
def test_a_key_at_rest_is_taken_up_when_every_node_holds_it(stand, kind):
    pair = stand()
    app = pair.one.create_app()
    token = mint(pair.one, app)
    eventually(lambda: len(pair.one.cli("keyring", "list")["nodes"]) == 2)
    former = pair.one.cli("keyring", "list")[kind]["current"]
    result = pair.one.run("keyring", "rotate", "--" + kind, "--json")
    answer = json.loads(result.stdout)
    assert result.returncode == 1 and answer["switched"] is False and len(answer["waiting_for"]) == 1
    assert pair.one.cli("keyring", "list")[kind]["current"] == former
    copy_keys(pair.one, pair.other)
    eventually(lambda: all(answer["id"] in n[kind + "s"] for n in pair.one.cli("keyring", "list")["nodes"]))
    switched = pair.one.cli("keyring", "rotate", "--" + kind)
    assert switched["switched"] is True and switched["id"] == answer["id"]
    for node in pair.all:
        eventually(lambda: node.cli("keyring", "list")[kind]["current"] == answer["id"])
        eventually(lambda: node.probe("/readyz")[0] == 200)
    if kind == "seal":
        eventually(lambda: pair.one.cli("keyring", "list")["seal"]["outdated"] == 0)
    # What was made before goes on, and what is made now is taken everywhere.
    fresh = pair.other.create_app("fresh")
    for node in pair.all:
        assert {get(node, app, token) for _ in range(4)} == {200}
        assert {node.get("/v1/x", app.fields).status for _ in range(4)} == {200}
        assert {node.get("/v1/x", fresh.fields).status for _ in range(4)} == {200}
        assert get(node, fresh, mint(pair.one, fresh)) == 200
    if kind == "pepper":
        # The key was hashed anew by a use; its use was noted already, so not before another minute without a restart.
        for node in pair.all:
            node.stop()
            node.start()
        assert pair.one.get("/v1/x", app.fields).status == 200
        eventually(lambda: pair.one.cli("keyring", "list")["pepper"]["outdated"] == 0)
        assert {node.get("/v1/x", app.fields).status for node in pair.all for _ in range(4)} == {200}
    states = {k["id"]: k["state"] for k in pair.other.cli("keyring", "list")[kind]["keys"]}
    assert states == {former: "retired", answer["id"]: "in use"}


def test_configured_keys_are_rotated_by_a_second_line(stand, files):
    seal, pepper = files / "seal", files / "pepper"
    first = ["%064x" % n for n in (1, 2)]
    seal.write_text(first[0] + "\n")
    pepper.write_text(first[1] + "\n")
    pair = stand(secrets={"seal": "${file:%s}" % seal, "pepper": "${file:%s}" % pepper})
    app = pair.one.create_app()
    refused = pair.one.run("keyring", "rotate", "--pepper")
    assert refused.returncode == 1 and "second line" in refused.stderr
    pepper.write_text(first[1] + "\n" + "%064x" % 3 + "\n")
    for node in pair.all:
        node.stop()
        node.start()
    answer = eventually(lambda: switched(pair.one))
    assert answer["switched"] is True
    assert {pair.other.get("/v1/x", app.fields).status for _ in range(4)} == {200}


def switched(node):
    answer = json.loads(node.run("keyring", "rotate", "--pepper", "--json").stdout)
    return answer.get("switched") and answer


def test_no_secret_is_in_redis_in_logs_or_in_metrics(stand):
    pair = stand()
    app = pair.one.create_app()
    secret = pair.one.cli("secret", "rotate", "--app", app.id)["secret"]
    token = mint(pair.one, app)
    pair.one.run("tokens", "inspect", input=token)
    pair.one.run("tokens", "inspect", token + "x")
    assert get(pair.one, app, token) == 200 and get(pair.other, app, token + "x") == 401
    planted = [secret, app.key, token.rpartition(".")[2]]
    planted += [line for name in ("pepper", "seal") for line in (pair.one.directory / "state/keys" / name).read_text().split()]
    pair.redis.run("BGREWRITEAOF")
    time.sleep(1)
    places = {"metrics": pair.one.probe("/metrics")[1] + pair.other.probe("/metrics")[1]}
    for node in pair.all:
        places["log of " + node.directory.name] = node.output() + "".join(map(json.dumps, node.access()))
    places["redis"] = "".join(p.read_bytes().decode("latin-1") for p in pair.redis.directory.rglob("*") if p.is_file())
    assert "{registry}:signing" in places["redis"]
    for place, text in places.items():
        for number, value in enumerate(planted):
            assert value not in text, "planted value %d is in %s" % (number, place)
            if number > 2:
                assert bytes.fromhex(value).decode("latin-1") not in text, "key %d is in %s" % (number, place)

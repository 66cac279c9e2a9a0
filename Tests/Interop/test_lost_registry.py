# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Redis comes back empty, foreign or older: noticed, said, not taken for a registry without apps."""
import json
import os
import shutil
import time

import pytest

from conftest import route, url
from nodes import Redis, eventually

SERVE_STALE = 6


@pytest.fixture
def stand(make, backend):
    redis = Redis()
    gateway = make([route("api", "/v1/"), route("named", "/named/", access={"organizations": ["acme", "missing-org"], "credentials": ["api_key"]})],
                   {"api": {"endpoints": [url(backend)]}}, workers=2, start=False)
    gateway.configuration["state"].update(redis="redis://127.0.0.1:%d" % redis.port, serve_stale="%ds" % SERVE_STALE)
    gateway.write()
    gateway.start()
    gateway.create_organization()
    app = gateway.create_app()
    for _ in range(24):
        assert gateway.get("/v1/x", app.fields).status == 200
    eventually(lambda: (gateway.directory / "state/registry").exists())
    yield gateway, app, redis
    redis.remove()


def statuses(gateway, app):
    return {gateway.get("/v1/x", app.fields, timeout=5).status for _ in range(8)}


def test_an_empty_redis_is_a_lost_registry_and_not_one_without_apps(stand):
    gateway, app, redis = stand
    stranger = {"X-App-Id": "app_nobody", "X-Api-Key": app.fields["X-Api-Key"]}
    redis.run("FLUSHALL")
    began = time.monotonic()
    eventually(lambda: gateway.metrics()["sallyport_registry_lost"] == 1)
    while time.monotonic() < began + SERVE_STALE - 2.5:
        assert statuses(gateway, app) == {200}, "known apps are served as while Redis is away"
        assert gateway.get("/v1/x", stranger).status == 503, "nobody can say that it is unknown"
        time.sleep(0.2)
    status, text = gateway.probe("/readyz")
    path = str(gateway.directory / "state/registry")
    assert status == 503 and "the registry is lost: Redis is empty" in text and "rm %s on every node" % path in text, text
    eventually(lambda: statuses(gateway, app) == {503}, SERVE_STALE + 2)
    lines = [line for line in gateway.output().splitlines() if "the registry is lost" in line]
    assert len(lines) == 1 and "way_out" in lines[0], lines
    shown = gateway.run("status")
    assert "not ready: the registry is lost" in shown.stdout, shown.stdout
    refused = gateway.run("apps", "create", "--org", "acme", "--name", "x")
    assert refused.returncode == 1 and "the registry is lost" in refused.stderr, refused.stderr
    # A worker and control that start now know it too.
    old = gateway.workers()
    os.kill(old[0], 9)
    gateway.wait_for_workers(2, without=old[:1])
    assert statuses(gateway, app) <= {503}
    # The operator means this Redis.
    os.remove(path)
    eventually(lambda: gateway.probe("/readyz")[0] == 200)
    eventually(lambda: gateway.metrics()["sallyport_registry_lost"] == 0)
    eventually(lambda: statuses(gateway, app) == {401})
    gateway.create_organization()
    fresh = gateway.create_app("fresh")
    assert statuses(gateway, fresh) == {200}
    eventually(lambda: os.path.exists(path))


@pytest.mark.parametrize("words", [("tokens", "revoke", "some-token-id"), ("orgs", "create", "other"), ("orgs", "disable", "acme")], ids=" ".join)
def test_nothing_is_confirmed_in_the_moment_after_the_loss(stand, words):
    """Before anybody has looked again: no worker has a lease in an empty Redis, so none seems to be waited for."""
    gateway, app, redis = stand
    redis.run("FLUSHALL")
    refused = gateway.run(*words)
    assert refused.returncode == 1, refused.stdout
    assert redis.run("EXISTS", "{registry}:sequence").strip() in ("0", "(integer) 0"), "nothing was written to it"


@pytest.mark.parametrize("text", ["", "garbage\n", None], ids=["empty", "garbage", "a folder"])
def test_a_file_that_says_no_name_takes_no_registry(stand, text):
    """Only a file that is not there means that any registry will do."""
    gateway, app, redis = stand
    path = gateway.directory / "state/registry"
    gateway.stop()
    path.unlink()
    path.mkdir() if text is None else path.write_text(text)
    gateway.start(wait=False)
    eventually(lambda: "the registry is lost" in gateway.output())
    assert gateway.get("/v1/x", app.fields).status == 503
    path.rmdir() if text is None else path.unlink()
    eventually(lambda: gateway.get("/v1/x", app.fields).status == 200)


def test_a_restored_redis_heals_by_itself_and_an_older_one_is_told(stand):
    gateway, app, redis = stand
    kept = shutil.copytree(redis.directory / "appendonlydir", redis.directory / "backup") if (redis.directory / "appendonlydir").exists() \
        else shutil.copy(redis.directory / "appendonly.aof", redis.directory / "backup")
    later = gateway.create_app("later")
    assert statuses(gateway, later) == {200}
    time.sleep(1.5)  # control looks once a second
    before = gateway.metrics()["sallyport_registry_changes_lost_total"]
    redis.kill()
    put_back(redis, kept)
    redis.start()
    eventually(lambda: gateway.metrics()["sallyport_registry_changes_lost_total"] > before)
    eventually(lambda: statuses(gateway, app) == {200})
    eventually(lambda: statuses(gateway, later) == {401})
    assert gateway.metrics()["sallyport_registry_lost"] == 0
    assert "the registry went back in time" in gateway.output()
    warnings = json.loads(gateway.run("status", "--json").stdout)["warnings"]
    assert any("Redis went back by" in text and "repeat it" in text for text in warnings), warnings


def put_back(redis, kept):
    if os.path.isdir(kept):
        shutil.rmtree(redis.directory / "appendonlydir")
        shutil.move(kept, redis.directory / "appendonlydir")
    else:
        shutil.move(kept, redis.directory / "appendonly.aof")


def test_an_organization_that_only_the_configuration_knows_is_named(stand):
    gateway, _, _ = stand
    said = "route named is for the organization missing-org, which does not exist: sallyport orgs create missing-org"
    eventually(lambda: said in json.loads(gateway.run("status", "--json").stdout)["warnings"])
    assert "missing-org" in gateway.output() and "nobody gets in" in gateway.output()
    assert gateway.run("orgs", "create", "missing-org").returncode == 0
    eventually(lambda: json.loads(gateway.run("status", "--json").stdout)["warnings"] == [])


def test_a_tenants_file_with_a_name_that_makes_no_username_changes_nothing(stand):
    gateway, _, _ = stand
    file = gateway.directory / "tenants.yaml"
    text = "version: 1\norganizations: [{ id: fresh, apps: [{ id: app_one, name: 日本%s }] }]\n"
    file.write_text(text % "", encoding="utf-8")
    refused = gateway.run("apply", "-f", file)
    assert refused.returncode == 1 and "app_one" in refused.stderr and "username" in refused.stderr, refused
    assert gateway.run("orgs", "show", "fresh").returncode == 1, "nothing was changed"
    file.write_text(text % ", username: nihon", encoding="utf-8")
    assert gateway.run("apply", "-f", file).returncode == 0

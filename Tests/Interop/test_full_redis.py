# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A Redis that takes nothing more: what each kind of call answers, that it is told once, and that it passes."""
import nodes
from conftest import route, url


def test_each_kind_of_call_has_an_answer_and_the_log_one_line(make, backend):
    redis = nodes.Redis()
    try:
        limited = route("limited", "/limited/", limits=[{"name": "app", "per": ["app"], "limit": 1000, "window": "60s"}])
        gateway = make([route("open", "/open/", access="open"), route("api", "/v1/"), limited],
                       {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
        gateway.configuration["state"].update(redis="redis://127.0.0.1:%d" % redis.port)
        gateway.write()
        gateway.start()
        gateway.create_organization()
        app = gateway.create_app()
        for path in ("/v1/x", "/limited/x"):
            assert gateway.get(path, app.fields).status == 200
        redis.run("CONFIG", "SET", "maxmemory", "1")
        nodes.eventually(lambda: "OOM" in gateway.output())
        for _ in range(20):
            assert gateway.get("/open/x").status == 200
            assert gateway.get("/v1/x", app.fields).status == 200, "known, for the rest of the lease"
            assert gateway.get("/limited/x", app.fields).status == 200, "counted by each worker alone"
            assert gateway.get("/v1/x", {**app.fields, "X-Api-Key": app.key[:-1] + "?"}).status in (401, 403)
        assert gateway.run("status").returncode == 0 and gateway.probe("/livez")[0] == 200
        for words in (["orgs", "create", "other"], ["apps", "create", "--org", "acme", "--name", "more"],
                      ["keys", "create", "--app", app.id, "--name", "more"]):
            refused = gateway.run(*words)
            assert refused.returncode == 1 and "OOM" in refused.stderr, refused
        assert gateway.output().count("OOM") == 1, gateway.output()
        redis.run("CONFIG", "SET", "maxmemory", "0")
        assert gateway.run("orgs", "create", "other").returncode == 0
        assert gateway.get("/limited/x", app.fields).status == 200
        nodes.eventually(lambda: gateway.probe("/readyz")[0] == 200)
    finally:
        redis.remove()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""No secret is written anywhere but to the one who made it."""
import pathlib
import re
import subprocess

import pytest

import gateway as binary
from conftest import route, url
from nodes import eventually


def test_no_secret_is_in_a_log_a_metric_or_the_store(make, backend):
    gateway = make([route("api", "/v1/"), route("limited", "/limited/", limits=[{"name": "key", "per": ["key"], "limit": 2, "window": "60s"}])],
                   {"api": {"endpoints": [url(backend)]}}, workers=2, log={"access": None, "level": "info"}, start=False)
    gateway.configuration["log"]["access"] = str(gateway.access_log)
    gateway.write()
    gateway.start()
    gateway.create_organization()
    app = gateway.create_app(origins=["https://app.example"])
    secrets = ["Zq9secretsession", "Zq9queryvalue", "Zq9person", "Zq9cookie", app.key, app.key[:-6] + "zzzzzz"]
    tries = [
        ("/v1/x?api_key=Zq9queryvalue", {**app.fields, "Authorization": "Bearer Zq9secretsession", "Cookie": "s=Zq9cookie"}),
        ("/v1/x?token=Zq9queryvalue", {"X-App-Id": app.id, "X-Api-Key": secrets[-1], "x-client-authorization": "Bearer Zq9person"}),
        ("/v1/x", [("X-App-Id", app.id), ("X-Api-Key", app.key), ("X-Api-Key", app.key)]),
        ("/nowhere?x=Zq9queryvalue", app.fields),
        ("/limited/x", app.fields), ("/limited/x", app.fields), ("/limited/x", app.fields),
    ]
    for target, fields in tries:
        answer = gateway.get(target, fields)
        if answer.status >= 400:
            assert not [s for s in secrets if s.encode() in answer.body], answer.body
    key, key_id = gateway.create_key(app, "listed")
    secrets.append(key)
    said = gateway.run("keys", "list", "--app", app.id).stdout + gateway.run("history", "--app", app.id, "--json").stdout
    gateway.cli("keys", "revoke", key_id, "--app", app.id)
    _, metrics = gateway.probe("/metrics")
    arguments = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    places = {"commands": said, "metrics": metrics, "process list": arguments, "output": gateway.output()}
    gateway.stop()
    for path in gateway.directory.rglob("*"):
        if path.is_file():
            places[str(path)] = path.read_bytes().decode("latin-1")
    for place, text in places.items():
        for secret in secrets:
            assert secret not in text, "a secret is in %s" % place
    lines = gateway.access()
    assert len(lines) >= len(tries)
    assert {"admitted", "refused"} <= {line["decision"] for line in lines}
    assert all(line["id"] and line["ts"] for line in lines)
    assert any(line.get("app") == app.id and line.get("key_id") == app.key_id for line in lines)


def test_the_access_log_stays_json_whatever_the_client_sends(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    for target in ('/%22%0a%7b', '/a"b', "/\\x00"):
        gateway.get(target, {"User-Agent": 'x"\\ \t{}\x80', "X-Request-Id": '"}{"'})
    gateway.stop()
    text = gateway.access_log.read_text()
    assert text.count("\n") == len(gateway.access())
    assert re.search(r'"decision"', text)


def test_the_metrics_are_counted_over_all_workers(gateway, app):
    def count():
        return sum(v for n, v in gateway.metrics().items() if "requests_total" in n)

    before = count()
    for _ in range(40):
        gateway.get("/v1/x", app.fields)
    eventually(lambda: count() - before >= 40)


def test_a_private_keys_text_stays_in_no_memory(make, backend, site):
    """Control and workers read it at each reload; what they keep is the key alone, in the library's form."""
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    for _ in range(3):
        assert gateway.run("reload").returncode == 0
    lines = [line for line in pathlib.Path(site[1]).read_bytes().splitlines() if not line.startswith(b"-")]
    control = [p for p in gateway.descendants() if "control" in binary.command_line(p)]
    assert control and [len(line) for line in lines[:-1]] == [64, 64]
    kept = {}
    for process in [*control, *gateway.workers()]:
        try:
            found = memory_of(process)
        except PermissionError:
            pytest.skip("another process' memory is shown to root only")
        assert str(gateway.port).encode() in found, "that is its memory"
        # The last line is of the public half alone; the library leaves it in a buffer of its own.
        kept[binary.command_line(process)] = [n for n, line in enumerate(lines[:-1]) if line in found]
    assert set(map(tuple, kept.values())) == {()}, kept


def memory_of(process):
    """All of it that was written to."""
    found = []
    with open("/proc/%d/maps" % process) as maps, open("/proc/%d/mem" % process, "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                begin, end = (int(n, 16) for n in span.split("-"))
                memory.seek(begin)
                try:
                    found.append(memory.read(end - begin))
                except OSError:
                    continue
    return b"".join(found)

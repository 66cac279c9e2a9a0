# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The configuration file: a broken one starts nothing and replaces nothing."""
import re
import shutil
import subprocess
import time

import pytest

from conftest import route, url
from gateway import BINARY, TOP

TEN_MISTAKES = """\
version: 2
workers: many
listeners:
  - address: 0.0.0.0:99999
    tls: { certificates: [{ cert: nowhere.pem, key: nowhere.key }] }
metrics: { adress: 127.0.0.1:9464 }
state: { redis: embeded, serve_stale: 30 parsecs }
upstreams:
  api: { endpoints: [ftp://127.0.0.1:9000] }
routes:
  - name: api
    match: { path: v1 }
    upstream: apj
    access: { organizations: [acme], credentials: [api_keys] }
  - name: naked
    match: { path: /naked }
    upstream: api
"""
# line → a word of the problem there
MISTAKES = {1: "version", 2: "workers", 4: "99999", 5: "nowhere", 6: "adress", 7: "embeded", 9: "ftp", 12: "v1", 13: "apj", 14: "api_keys"}


def test_ten_mistakes_are_named_at_once_with_their_lines(make, backend):
    gateway = make([], {}, start=False)
    gateway.write(TEN_MISTAKES)
    result = gateway.run("check", "--config", gateway.file)
    assert result.returncode != 0
    said = result.stdout + result.stderr
    for line, word in MISTAKES.items():
        assert re.search(r"sallyport\.yaml:%d\b.*%s" % (line, re.escape(word)), said), "line %d (%s):\n%s" % (line, word, said)
    assert re.search(r"sallyport\.yaml:(15|16|17)\b.*access", said), "a route without access:\n" + said
    assert re.search(r"address", said) and re.search(r"embedded", said), "near matches are offered:\n" + said


def test_a_broken_file_starts_nothing(make):
    gateway = make([], {}, start=False)
    gateway.write(TEN_MISTAKES)
    gateway.start(wait=False)
    assert gateway.process.wait(10) != 0
    assert not (gateway.directory / "state" / "redis.sock").exists()


def test_the_example_configuration_is_right(make, site):
    gateway = make([], {}, start=False)
    (gateway.directory / "certs").mkdir()
    shutil.copy(site[0], gateway.directory / "certs/site.pem")
    shutil.copy(site[1], gateway.directory / "certs/site.key")
    gateway.write((TOP / "config/sallyport.yaml").read_text())
    result = gateway.run("check", "--config", gateway.file)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("text", ["", "version: 1\nversion: 1\n", "a: &x [*x]\n", "- 1\n", "\0", "version: 1\nroutes: {{\n", "x" * 100000])
def test_a_file_that_is_no_configuration_is_a_plain_error(make, text):
    gateway = make([], {}, start=False)
    gateway.write(text)
    result = gateway.run("check", "--config", gateway.file)
    assert result.returncode in (1, 2) and (result.stdout + result.stderr).strip()


def test_a_secret_in_the_file_is_refused(make, site, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, start=False, secrets={"pepper": "in-the-clear"})
    result = gateway.run("check", "--config", gateway.file)
    assert result.returncode != 0
    assert "in-the-clear" not in result.stdout + result.stderr


def test_hup_takes_a_good_file_and_keeps_the_old_set_on_a_broken_one(make, backend):
    gateway = make([route("one", "/one/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2)
    kept = gateway.wire()
    assert kept.exchange(target="/one/x").status == 200
    assert gateway.get("/two/x").status == 404
    gateway.configuration["routes"].append(route("two", "/two/", access="open"))
    gateway.write()
    workers = gateway.workers()
    assert gateway.run("reload").returncode == 0
    wait_for_status(gateway, "/two/x", 200)
    assert kept.exchange(target="/two/x").status == 200, "an open connection outlives the change"
    assert gateway.workers() == workers
    good = gateway.file.read_text()
    gateway.write(good.replace('"path": "/one/"', '"path": "one"'))
    failed = gateway.run("reload")
    assert failed.returncode == 1
    assert "sallyport.yaml:" in failed.stdout + failed.stderr
    gateway.reload()
    time.sleep(0.5)
    assert {gateway.get("/one/x").status for _ in range(8)} == {200}
    failures = [v for n, v in gateway.metrics().items() if "reload" in n and v]
    assert failures
    gateway.write(good.replace("/two/", "/three/"))
    gateway.reload()
    wait_for_status(gateway, "/three/x", 200)
    wait_for_status(gateway, "/two/x", 404)
    kept.close()


def wait_for_status(gateway, target, status, seconds=5):
    end = time.monotonic() + seconds
    while {gateway.get(target).status for _ in range(8)} != {status}:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_exit_codes_and_help(make):
    gateway = make([], {}, start=False)
    assert gateway.run("--help").returncode == 0
    assert re.match(r"sallyport \d", gateway.run("--version").stdout)
    assert gateway.run("nonsense").returncode == 2
    assert gateway.run("apps", "list").returncode == 4, "nobody listens"
    for verb in ("run", "check", "reload", "orgs", "apps", "origins", "domains", "keys", "dev-mode", "production", "history", "status", "apply"):
        result = gateway.run(verb, "--help")
        assert result.returncode == 0 and result.stdout.strip(), verb


def test_a_busy_port_is_one_clear_line(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    other = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    other.configuration["listeners"] = gateway.configuration["listeners"]
    other.write()
    other.start(wait=False)
    assert other.process.wait(10) != 0
    assert str(gateway.port) in other.output()
    assert gateway.get("/x").status == 200


def test_one_process_for_debuggers(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, start=False)
    with open(gateway.log, "ab") as out:
        gateway.process = subprocess.Popen([str(BINARY), "run", "--single", "--config", str(gateway.file)], stdout=out, stderr=out, cwd=gateway.directory)
    end = time.monotonic() + 10
    while True:
        try:
            assert gateway.get("/x").status == 200
            break
        except OSError:
            assert time.monotonic() < end and gateway.process.poll() is None, gateway.output()
            time.sleep(0.05)
    assert gateway.stop() == 0


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:%d", "https://localhost:%d"])
def test_an_upstream_that_is_the_gateway_itself_is_a_circle(make, endpoint):
    gateway = make([route("api", "/v1/", access="open")], {"api": {"endpoints": ["http://127.0.0.1:9"]}}, start=False)
    port = int(gateway.configuration["listeners"][0]["address"].rpartition(":")[2])
    assert gateway.run("check", "--config", gateway.file).returncode == 0
    gateway.configuration["upstreams"]["api"]["endpoints"] = [endpoint % port]
    gateway.write()
    result = gateway.run("check", "--config", gateway.file)
    told = result.stdout + result.stderr
    assert result.returncode == 1 and "own listener" in told and "name the server behind" in told, told
    assert re.search(r"\.yaml:\d+", told), told

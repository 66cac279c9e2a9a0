# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What only a start or a reload would find wrong with a path or an address, `check` tells with its line and a way out."""
import copy
import os
import re
import socket
import subprocess

import pytest

from conftest import route, url


@pytest.fixture(scope="module")
def stand(make, backend, tmp_path_factory):
    """A running gateway, and a folder with one of everything that is no good."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "empty.pem").write_bytes(b"")
    (folder / "broken.pem").write_bytes(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    (folder / "words").write_bytes(b"no certificate\n")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "socket"))
    return make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1), folder


def authorities(configuration, path):
    configuration["upstreams"]["api"].update(endpoints=["https://127.0.0.1:9"], tls={"ca": path})


def issuer(configuration, path):
    configuration["issuers"] = [{
        "name": "x", "issuer": "https://x.example", "audiences": ["x"], "algorithms": ["ES256"], "organizations": ["acme"],
        "keys": {"jwks_url": "https://127.0.0.1:9/", "ca": path}, "kind": "session", "claims": {"person": "sub"}}]


def redis(configuration, path):
    configuration["state"].update(redis="rediss://127.0.0.1:9/0", redis_ca=path)


def foreign(family):
    """A machine that is told to takes any address for its own."""
    setting = "/proc/sys/net/%s/ip_nonlocal_bind" % family
    return pytest.mark.skipif(os.path.exists(setting) and open(setting).read().strip() == "1", reason="this machine binds any address")


NO_AUTHORITIES = "holds no certificate, or one that cannot be read; put theirs into it, or leave the setting out"
# What is wrong, where, and a part of the sentence with its way out; what a reload can change it refuses in the same words.
RELOADED = {
    "trust, an empty file": (lambda c, f: c.update(trust={"ca": f + "/empty.pem"}), NO_AUTHORITIES),
    "trust, no PEM": (lambda c, f: c.update(trust={"ca": f + "/words"}), NO_AUTHORITIES),
    "upstream, an empty file": (lambda c, f: authorities(c, f + "/empty.pem"), NO_AUTHORITIES),
    "upstream, a broken one": (lambda c, f: authorities(c, f + "/broken.pem"), NO_AUTHORITIES),
    "issuer, an empty file": (lambda c, f: issuer(c, f + "/empty.pem"), NO_AUTHORITIES),
    "access log, a folder": (lambda c, f: c["log"].update(access=f + "/folder"), "it is a folder; name a file in it"),
    "access log, a pipe": (lambda c, f: c["log"].update(access=f + "/pipe"), "a pipe that nobody reads; start its reader first"),
    "access log, a socket": (lambda c, f: c["log"].update(access=f + "/socket"), "it is a socket; name a file"),
    "access log, a missing folder": (
        lambda c, f: c["log"].update(access=f + "/none/log"), "none cannot be used (No such file or directory); make it"),
    "access log, a file for a folder": (lambda c, f: c["log"].update(access=f + "/words/log"), "Not a directory"),
}
STARTED = {
    "Redis, an empty file": (lambda c, f: redis(c, f + "/empty.pem"), NO_AUTHORITIES),
    "Redis, no file": (lambda c, f: redis(c, f + "/none.pem"), "a file that can be read (No such file or directory)"),
    "state, a file": (lambda c, f: c["state"].update(directory=f + "/words"), "it is no folder; name one"),
    "state, two missing folders": (
        lambda c, f: c["state"].update(directory=f + "/none/state"), "none cannot be used (No such file or directory); make it"),
    "state, a long path": (lambda c, f: c["state"].update(directory=f + "/" + "x" * 90), "too long for the sockets in it"),
    "admin, a file": (lambda c, f: c["admin"].update(address="unix:%s/words" % f), "something else than a socket; name a path"),
    "admin, a missing folder": (lambda c, f: c["admin"].update(address="unix:%s/none/a" % f), "none cannot be used"),
    "listener, another machine's": pytest.param(
        lambda c, f: c["listeners"][1].update(address="192.0.2.77:8080"), "one of its addresses, or 0.0.0.0", marks=foreign("ipv4")),
    "metrics, another machine's": pytest.param(
        lambda c, f: c["metrics"].update(address="[2001:db8::7]:8080"), "one of its addresses, or 0.0.0.0", marks=foreign("ipv6")),
    "listener, the port of all": (
        lambda c, f: c["listeners"][1].update(address=c["metrics"]["address"].replace("127.0.0.1", "0.0.0.0")),
        "have one port on the same address; give one of them another port"),
    "user, nobody's": pytest.param(
        lambda c, f: c.update(user="nobody-at-all"), 'there is no user "nobody-at-all"; useradd',
        marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to a user")),
}


@pytest.fixture
def changed(stand):
    gateway, folder = stand
    good = copy.deepcopy(gateway.configuration)

    def change(how):
        how(gateway.configuration, str(folder))
        gateway.write()
        return gateway, folder

    yield change
    gateway.configuration = good
    gateway.write()


def told(result, file):
    """The sentences with their lines, on which there is one."""
    return set(re.findall(r"%s:[1-9]\d*:\d+: .*" % re.escape(str(file)), result.stdout + result.stderr))


@pytest.mark.parametrize("case", RELOADED)
def test_check_and_reload_say_the_same(changed, case):
    how, words = RELOADED[case]
    gateway, _ = changed(how)
    check = gateway.run("check", "--config", gateway.file)
    assert check.returncode != 0 and words in check.stdout + check.stderr, check
    refused = gateway.run("reload")
    assert refused.returncode != 0 and told(refused, gateway.file) == told(check, gateway.file) != set(), (check, refused)
    assert gateway.get("/x").status == 200


def test_a_reload_does_not_read_what_only_a_start_uses(changed):
    """Redis is reached already; its authorities may be gone by now."""
    gateway, _ = changed(lambda c, f: redis(c, f + "/none.pem"))
    result = gateway.run("reload")
    assert result.returncode != 0 and "state.redis changed; this takes effect only with a restart" in result.stderr, result
    assert "No such file" not in result.stderr, result
    assert gateway.get("/x").status == 200


@pytest.mark.parametrize(("how", "words"), STARTED.values(), ids=STARTED.keys())
def test_check_and_start_say_the_same(changed, how, words):
    gateway, folder = changed(how)
    results = [gateway.run(command, "--config", gateway.file) for command in ("check", "run")]
    for result in results:
        assert result.returncode != 0 and words in result.stdout + result.stderr, result
    assert told(results[0], gateway.file) == told(results[1], gateway.file) != set()
    assert (folder / "words").read_bytes() == b"no certificate\n", "what is no socket is not removed"


def test_a_pipe_with_a_reader_is_an_access_log(changed):
    """A reader that ends at the first end of file is still there when the log is opened."""
    gateway, folder = changed(lambda c, f: c["log"].update(access=f + "/pipe"))
    reader = subprocess.Popen(["cat", folder / "pipe"], stdout=subprocess.PIPE)
    try:
        assert gateway.run("reload").returncode == 0
        assert gateway.get("/x").status == 200
        line = reader.stdout.readline()
        assert b'"decision":"admitted"' in line, line
    finally:
        reader.kill()
        reader.communicate()


@pytest.mark.parametrize("state", ["/state", "/state/", "//state"])
def test_what_check_looks_at_it_leaves_as_it_was(changed, state):
    gateway, folder = changed(lambda c, f: (
        c["log"].update(access=f + "/new.log"), c["state"].update(directory=f + state), c["admin"].update(address="unix:%s/state/own.sock" % f)))
    before = sorted(os.listdir(folder))
    assert gateway.run("check", "--config", gateway.file).returncode == 0
    assert sorted(os.listdir(folder)) == before


def test_two_gateways_do_not_take_each_others_admin_socket(changed, stand):
    """Each has a state directory of its own, so that no lock keeps them apart."""
    gateway, _ = stand
    other = gateway.directory / "other.yaml"
    text = gateway.file.read_text().replace(str(gateway.directory / "state\""), str(gateway.directory / "other\""))
    for port in (gateway.port, gateway.clear_port, gateway.metrics_port):
        with socket.create_server(("127.0.0.1", 0)) as free:
            text = text.replace("127.0.0.1:%d" % port, "127.0.0.1:%d" % free.getsockname()[1])
    other.write_text(text)
    result = gateway.run("run", "--config", other)
    assert result.returncode != 0 and "admin.sock: Address already in use: another gateway answers there" in result.stderr, result
    assert gateway.run("status").returncode == 0

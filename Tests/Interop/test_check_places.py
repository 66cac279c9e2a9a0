# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What only a start or a reload would find wrong with a path or an address, `check` tells with its line and a way out: as an error where
the file is wrong everywhere, as a warning where it is this machine, or who asks, that it does not fit."""
import copy
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

import gateway as binary
from conftest import route, url
from gateway import BINARY
from nodes import eventually


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
# These are told of every machine.
EVERYWHERE = {
    "trust, an empty file", "trust, no PEM", "upstream, an empty file", "upstream, a broken one", "issuer, an empty file",
    "Redis, an empty file", "Redis, no file", "state, a long path", "listener, the port of all"}
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


def checked(gateway, case, words):
    """What `check` says: an error, or a warning and that the file is right."""
    check = gateway.run("check", "--config", gateway.file)
    warned = re.findall(r"^ *warning, on this machine: %s:[1-9].*" % re.escape(str(gateway.file)), check.stderr, re.M)
    if case in EVERYWHERE:
        assert check.returncode == 1 and warned == [] and words in check.stderr, check
    else:
        assert check.returncode == 0 and ": ok: " in check.stdout, check
        assert len(warned) == len(told(check, gateway.file)) and words in warned[0], check
    return told(check, gateway.file)


@pytest.mark.parametrize("case", RELOADED)
def test_check_and_reload_say_the_same(changed, case):
    how, words = RELOADED[case]
    gateway, _ = changed(how)
    said = checked(gateway, case, words)
    refused = gateway.run("reload")
    assert refused.returncode != 0 and told(refused, gateway.file) == said != set(), (said, refused)
    assert gateway.get("/x").status == 200


def test_a_reload_does_not_read_what_only_a_start_uses(changed):
    """Redis is reached already; its authorities may be gone by now."""
    gateway, _ = changed(lambda c, f: redis(c, f + "/none.pem"))
    result = gateway.run("reload")
    assert result.returncode != 0 and "state.redis changed; this takes effect only with a restart" in result.stderr, result
    assert "No such file" not in result.stderr, result
    assert gateway.get("/x").status == 200


@pytest.mark.parametrize(("case", "how", "words"), [
    pytest.param(case, *getattr(of, "values", of), marks=getattr(of, "marks", ()), id=case) for case, of in STARTED.items()])
def test_check_and_start_say_the_same(changed, case, how, words):
    gateway, folder = changed(how)
    said = checked(gateway, case, words)
    refused = gateway.run("run", "--config", gateway.file)
    assert refused.returncode != 0 and words in refused.stderr and told(refused, gateway.file) == said != set(), (said, refused)
    assert (folder / "words").read_bytes() == b"no certificate\n", "what is no socket is not removed"


def test_an_error_is_one_beside_a_warning(changed):
    """Both are told at once, and which is which, also to programs."""
    gateway, folder = changed(lambda c, f: (c["log"].update(access=f + "/none/log"), c.update(trust={"ca": f + "/words"})))
    result = gateway.run("check", "--config", gateway.file)
    assert result.returncode == 1 and "sallyport.yaml: 1 problem\n" in result.stderr, result
    assert len(told(result, gateway.file)) == 2 and result.stderr.count("warning, on this machine: ") == 1, result
    result = json.loads(gateway.run("check", "--config", gateway.file, "--json").stdout)
    assert [d.startswith("warning, on this machine: ") for d in result["details"]] == [False, True], result
    gateway, folder = changed(lambda c, f: c.pop("trust"))
    result = gateway.run("check", "--config", gateway.file, "--json")
    assert result.returncode == 0 and result.stderr == "", result
    assert ["none cannot be used" in w for w in json.loads(result.stdout)["warnings"]] == [True], result


@pytest.fixture
def own(changed, site):
    """A configuration with a file of each kind, that everybody may read, and who may not read what is root's."""
    if os.geteuid() != 0:
        pytest.skip("only root has files that others may not read, and others")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-own-"))
    folder.chmod(0o755)
    program = shutil.copy(BINARY, folder / "sallyport")
    for name, text in [("site.pem", pathlib.Path(site[0]).read_bytes()), ("site.key", pathlib.Path(site[1]).read_bytes()), ("ca.pem", pathlib.Path(site[0]).read_bytes()),
                       ("pepper", b"p" * 40), ("seal", b"s" * 40), ("set.json", b'{"keys":[]}'), ("log", b"")]:
        (folder / name).write_bytes(text)
        (folder / name).chmod(0o644)
    (folder / "log").chmod(0o666)
    gateway, _ = changed(lambda c, _: (
        c["listeners"][0]["tls"].update(certificates=[{"cert": "%s/site.pem" % folder, "key": "%s/site.key" % folder}]),
        c["listeners"][0]["tls"].pop("default", None), c["log"].update(access="%s/log" % folder),
        c.update(secrets={"pepper": "${file:%s/pepper}" % folder, "seal": "${file:%s/seal}" % folder}, trust={"ca": "%s/ca.pem" % folder}),
        c["state"].update(directory="%s/state" % folder), c["admin"].update(address="unix:%s/a.sock" % folder)))
    yield gateway, folder, program
    shutil.rmtree(folder)


FOREIGN = ["site.pem", "site.key", "ca.pem", "pepper", "log"]


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("who", ["another", "root for the file's user"])
def test_what_only_somebody_else_may_read_is_a_warning(own, who, name):
    """In a pipeline nobody is the gateway's user; root is asked about the user that the file names."""
    gateway, folder, program = own
    text = gateway.file.read_text()
    file = folder / "sallyport.yaml"
    file.write_text(text if who == "another" else text.rstrip().rstrip("}") + ', "user": "nobody"}')
    file.chmod(0o644)
    nobody = pwd.getpwnam("nobody")
    as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []} if who == "another" else {}

    def check():
        return subprocess.run([program, "check", "--config", file], capture_output=True, text=True, timeout=30, **as_user)

    # Nobody makes a state directory in root's folder; root makes it for its user.
    before = check()
    assert before.returncode == 0, before
    assert ["nothing can be made in" in line for line in before.stderr.splitlines()] == [True] * (2 * (who == "another")), before
    (folder / name).chmod(0o600)
    result = check()
    more = set(result.stderr.splitlines()) - set(before.stderr.splitlines())
    assert result.returncode == 0 and ": ok: " in result.stdout and len(more) == 1, result
    assert all(m.startswith("warning, on this machine: %s:" % file) and "Permission denied" in m for m in more), result
    assert "pppp" not in result.stdout + result.stderr
    (folder / name).unlink()
    result = check()
    assert result.returncode == (0 if name == "log" else 1), "a file that is not there is not there for anybody"


def test_what_is_wrong_with_a_file_is_told_where_its_user_may_not_read_it(own):
    """As root; the user sees only that it is not to be read, and a start reads it as root."""
    gateway, folder, program = own
    file = folder / "sallyport.yaml"
    file.write_text(gateway.file.read_text().rstrip().rstrip("}") + ', "user": "nobody"}')
    (folder / "pepper").write_text("short")
    (folder / "pepper").chmod(0o600)
    result = subprocess.run([program, "check", "--config", file], capture_output=True, text=True, timeout=30)
    assert result.returncode == 1 and "32 bytes" in result.stdout + result.stderr, result


def reading(pipe):
    """A reader that waits for a writer: none has opened the pipe before the kernel says that it sleeps."""
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    eventually(lambda: binary.state(reader.pid) == "S")
    return reader


def test_a_pipe_with_a_reader_is_an_access_log(changed):
    """A reader that ends at the first end of file is still there when the log is opened."""
    gateway, folder = changed(lambda c, f: c["log"].update(access=f + "/pipe"))
    reader = reading(folder / "pipe")
    try:
        assert gateway.run("reload").returncode == 0
        assert gateway.get("/x").status == 200
        line = reader.stdout.readline()
        assert b'"decision":"admitted"' in line, line
    finally:
        reader.kill()
        reader.communicate()


@pytest.mark.parametrize("way", ["start", "reload", "refused reload"])
def test_a_pipes_reader_ends_when_the_log_goes_elsewhere(changed, way):
    """Nobody but the workers keeps it open: neither control, which looked for the reader, nor the supervisor."""
    gateway, folder = changed(lambda c, f: None)
    assert gateway.run("reload").returncode == 0, "an earlier log goes"
    reader = reading(folder / "pipe")
    before = gateway.file.read_text()
    try:
        changed(lambda c, f: c["log"].update(access=f + "/pipe"))
        if way == "start":
            gateway.stop()
            gateway.start()
        elif way == "reload":
            assert gateway.run("reload").returncode == 0
        else:
            changed(lambda c, f: c.update(workers=2))
            assert gateway.run("reload").returncode != 0
        assert gateway.get("/x").status == 200
        if way != "refused reload":
            assert reader.poll() is None
        gateway.write(before)
        assert gateway.run("reload").returncode == 0
        assert reader.wait(5) == 0
    finally:
        reader.kill()
        reader.wait()


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

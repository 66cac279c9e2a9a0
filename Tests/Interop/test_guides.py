# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The guides in config/examples: every command and request in them, run as a reader would run it.

A `sh` block is run; the lines of the next `text` block must each appear in what came out since the last one.
"""
import os
import pathlib
import re
import subprocess
import time
import urllib.request

import pytest

import gateway as binary
import upstreams

EXAMPLES = binary.TOP / "config/examples"
GUIDES = ["server", "website", "ios", "android", "simulator"]
MARK = "=== block %d ==="
# Every command that fails is told, also within functions, substitutions and pipes.
TELLS_FAILURES = """set -E; trap 'echo "exit $?: $BASH_COMMAND" >>failed' ERR\n"""


def blocks(page):
    """The fenced blocks of a page: their language, text and line."""
    found = []
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.M | re.S):
        found.append((match[1], match[2], page.read_text()[: match.start()].count("\n") + 1))
    return found


class Quickstart:
    """What the guides begin with: the quickstart's configuration and services, on ports that are free."""

    def __init__(self, folder, site):
        self.folder = folder
        self.ports = {number: upstreams.free_port() for number in ("8443", "9000", "9100", "9464")}
        run = folder / ".quickstart"
        run.mkdir()
        (folder / "config").symlink_to(binary.TOP / "config")
        (folder / ".build").mkdir()
        (folder / ".build/release").symlink_to(binary.BINARY.parent)
        (run / "site.pem").write_bytes(pathlib.Path(site[0]).read_bytes())
        (run / "site.key").write_bytes(pathlib.Path(site[1]).read_bytes())
        (run / "sallyport.yaml").write_text(self.with_ports((EXAMPLES / "quickstart.yaml").read_text()))
        start = lambda name, port, *arguments: upstreams.Process(
            ["python3", EXAMPLES / name, "--port", self.ports[port], *arguments], folder / (name + ".log"), self.ports[port])
        self.processes = [start("backend.py", "9000"), start("signin.py", "9100")]
        keys = urllib.request.urlopen("http://127.0.0.1:%d/.well-known/jwks.json" % self.ports["9100"]).read()
        (run / "sign-in.jwks").write_bytes(keys)
        self.gateway = upstreams.Process(
            [binary.BINARY, "run", "--config", run / "sallyport.yaml"], folder / "gateway.log", self.ports["8443"])
        self.processes.append(self.gateway)
        self.wait_until_ready()
        assert self.shell("sallyport orgs create acme").returncode == 0

    def wait_until_ready(self):
        for _ in range(150):
            try:
                return urllib.request.urlopen("http://127.0.0.1:%d/readyz" % self.ports["9464"]).read()
            except OSError:
                time.sleep(0.1)
        raise AssertionError("not ready:\n" + (self.folder / "gateway.log").read_text())

    def with_ports(self, text):
        for number, port in self.ports.items():
            text = text.replace(number, str(port))
        return text

    def shell(self, script):
        environment = dict(os.environ, SALLYPORT_CONFIG=".quickstart/sallyport.yaml",
                           PATH="%s:%s" % (binary.BINARY.parent, os.environ["PATH"]))
        return subprocess.run(["bash", "-uo", "pipefail", "-c", script], cwd=self.folder, env=environment, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def failures(self, script):
        """What a script prints, and its commands that did not exit with 0."""
        failed = self.folder / "failed"
        failed.write_text("")
        result = self.shell(TELLS_FAILURES + script)
        return result, failed.read_text().splitlines()

    def stop(self):
        for process in reversed(self.processes):
            process.stop()


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory, authority):
    # A short path, since the state directory holds Unix sockets.
    folder = pathlib.Path(tmp_path_factory.mktemp("g"))
    site = authority.issue("quickstart", ["localhost", "127.0.0.1"])
    server = Quickstart(folder, (site[0], site[1]))
    (folder / ".quickstart/site.pem").write_bytes(pathlib.Path(site[0]).read_bytes() + authority.path.read_bytes())
    yield server
    server.stop()


@pytest.mark.parametrize("name", GUIDES)
def test_every_command_of_the_guide(quickstart, name):
    preface = "".join(text for language, text, _ in blocks(EXAMPLES / "README.md") if language == "sh")
    steps, expected = [], {}
    for language, text, line in blocks(EXAMPLES / (name + ".md")):
        if language == "sh":
            steps.append(text)
        elif language == "text":
            expected[len(steps)] = (line, text.splitlines())
    script = preface + "".join("echo '%s'\n%s" % (MARK % (i + 1), step) for i, step in enumerate(steps))
    result, failed = quickstart.failures(quickstart.with_ports(script))
    assert not failed, result.stdout[-3000:]
    printed = re.split(r"=== block \d+ ===\n", result.stdout)
    assert len(printed) == len(steps) + 1, result.stdout[-3000:]
    last = 0
    for end, (line, wanted) in expected.items():
        output = "".join(printed[last + 1:end + 1])
        for text in wanted:
            assert text in output, "%s.md, line %d: %r is not in:\n%s" % (name, line, text, output)
        last = end


@pytest.mark.parametrize("wrong", [
    "sallyport orgs list --yes", "echo a | member data.token", "call https://localhost:1/",
    "token=$(sallyport apps show --app app_nobody --json | member token)", 'call "$gateway/$(sallyport orgs list --yes)"',
])
def test_a_command_of_a_guide_that_fails_is_found_wherever_it_stands(quickstart, wrong):
    preface = "".join(text for language, text, _ in blocks(EXAMPLES / "README.md") if language == "sh")
    right = "listed=$(sallyport orgs list --json | member organizations.0.id)\ncall $gateway/nothing\n"
    assert quickstart.failures(quickstart.with_ports(preface + right))[1] == []
    assert quickstart.failures(quickstart.with_ports(preface + right + wrong + "\necho after\n"))[1], wrong


def test_every_guide_is_listed():
    listed = set(re.findall(r"\[(\w+)\.md\]", (EXAMPLES / "README.md").read_text()))
    assert listed == set(GUIDES) == {page.stem for page in EXAMPLES.glob("*.md")} - {"README"}


def test_every_binding_that_a_guide_names_is_whole():
    """What a phone signs ends in the purpose; the lab's commands add it, so only a reader would notice."""
    for page in EXAMPLES.glob("*.md"):
        for rest in page.read_text().split("<challenge>.<App ID>")[1:]:
            assert rest.startswith((".sign-in", ".register")), "%s: <challenge>.<App ID>%s" % (page.name, rest[:30])

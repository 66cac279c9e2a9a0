# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A file that the gateway is given must be a regular one: a pipe would have it wait for whoever writes into it."""
import copy
import os

import pytest

from conftest import route, url


def listener(configuration, **pair):
    tls = configuration["listeners"][0]["tls"]
    tls["certificates"][0].update(pair)
    tls["default"] = tls["certificates"][0]["cert"]


PLACES = {
    "certificate": lambda c, pipe: listener(c, cert=pipe),
    "key": lambda c, pipe: listener(c, key=pipe),
    "authorities of an upstream": lambda c, pipe: c["upstreams"]["api"].update(endpoints=["https://127.0.0.1:9"], tls={"ca": pipe}),
    "key set": lambda c, pipe: c.update(issuers=[{
        "name": "x", "issuer": "https://x.example", "audiences": ["x"], "keys": {"jwks_file": pipe}, "algorithms": ["ES256"],
        "organizations": ["acme"], "kind": "session", "claims": {"person": "sub"}}]),
    "secret": lambda c, pipe: c.update(secrets={"pepper": "${file:%s}" % pipe}),
    "trust": lambda c, pipe: c.update(trust={"ca": pipe}),
}


@pytest.fixture(scope="module")
def stand(make, backend, tmp_path_factory):
    pipe = str(tmp_path_factory.mktemp("pipes") / "pipe")
    os.mkfifo(pipe)
    return make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1), pipe


@pytest.mark.parametrize("place", PLACES)
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(stand, place):
    gateway, pipe = stand
    good = copy.deepcopy(gateway.configuration)
    PLACES[place](gateway.configuration, pipe)
    gateway.write()
    try:
        for command in (["check", "--config", gateway.file], ["reload"]):
            # A pipe that is waited for never ends.
            refused = gateway.run(*command, timeout=30)
            assert refused.returncode != 0
            assert "it is a pipe, not a regular file" in refused.stdout + refused.stderr, refused.stdout + refused.stderr
        assert gateway.get("/x").status == 200 and gateway.run("status", timeout=30).returncode == 0
    finally:
        gateway.configuration = good
        gateway.write()


def test_a_pipe_in_the_place_of_the_configuration_is_refused_at_once(stand):
    gateway, pipe = stand
    for command in ("check", "run"):
        refused = gateway.run(command, "--config", pipe, timeout=5)
        assert refused.returncode != 0 and "it is a pipe, not a regular file" in refused.stdout + refused.stderr
    text = gateway.file.read_text()
    gateway.file.unlink()
    os.mkfifo(gateway.file)
    try:
        refused = gateway.run("reload", timeout=5)
        assert refused.returncode != 0 and "it is a pipe" in refused.stdout + refused.stderr
        assert gateway.get("/x").status == 200 and gateway.run("status", timeout=2).returncode == 0
    finally:
        gateway.file.unlink()
        gateway.file.write_text(text)


def test_an_access_log_that_nobody_reads_is_refused_at_once(stand):
    gateway, pipe = stand
    good = copy.deepcopy(gateway.configuration)
    gateway.configuration["log"]["access"] = pipe
    gateway.write()
    try:
        refused = gateway.run("reload", timeout=5)
        assert refused.returncode != 0 and "a pipe that nobody reads" in refused.stdout + refused.stderr
        assert gateway.get("/x").status == 200
    finally:
        gateway.configuration = good
        gateway.write()
    assert gateway.run("reload").returncode == 0


def test_a_command_may_be_given_a_pipe(stand):
    gateway, _ = stand
    read, write = os.pipe()
    os.write(write, b"version: 1\norganizations: []\n")
    os.close(write)
    done = gateway.run("apply", "-f", "/dev/fd/%d" % read, "--dry-run", pass_fds=[read])
    os.close(read)
    assert done.returncode == 0, done.stderr

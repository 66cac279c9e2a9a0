# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What is told at a start, at a stop and while Redis is away is what is so."""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

import upstreams
from conftest import route, url
from nodes import Redis, eventually


@pytest.fixture(scope="module")
def stand(make, backend):
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    gateway.create_organization("acme")
    return gateway


def test_a_read_that_redis_did_not_answer_has_changed_nothing(stand):
    redis = stand.redis()
    os.kill(redis, signal.SIGSTOP)
    try:
        # Both at once: later ones find no connection.
        with concurrent.futures.ThreadPoolExecutor() as both:
            read, change = both.map(lambda words: stand.ask_admin(*words), [
                ("GET", "/organizations", None), ("POST", "/organizations", {"id": "beta"})])
    finally:
        os.kill(redis, signal.SIGCONT)
    assert (read[0], read[1]["message"]) == (503, "Redis did not answer in time")
    assert (change[0], change[1]["message"]) == (503, "Redis did not answer in time; the change may have been made")


def test_an_orderly_stop_is_no_error(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2)
    assert gateway.get("/x").status == 200
    assert gateway.stop() == 0
    assert " error " not in gateway.output() and "cannot be followed" not in gateway.output(), gateway.output()


def is_listening(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def test_whoever_asks_right_after_the_start_waits_and_is_answered(make, backend):
    """The first signing key of all is made a moment after the socket is there."""
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False).start(wait=False)
    eventually(lambda: is_listening(gateway.configuration["admin"]["address"].removeprefix("unix:")), pause=0.001)
    gateway.admin("POST", "/organizations", {"id": "acme"})
    app = gateway.admin("POST", "/apps", {"name": "web", "organization": "acme"})["app_id"]
    assert gateway.admin("POST", "/apps/%s/tokens" % app, {})["token"]
    gateway.wait_until_ready()


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_redis_cluster_is_refused_with_its_reason(make, backend, is_whole):
    """B16: a node of a cluster has a part of the keys, and would break the routes whose keys are elsewhere."""
    folder, port = pathlib.Path(tempfile.mkdtemp(prefix="sr-", dir="/tmp")), upstreams.free_port()
    process = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", "--cluster-enabled", "yes",
         "--cluster-port", str(upstreams.free_port()), "--cluster-require-full-coverage", "no"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        upstreams.wait_for_port(port, process)
        if is_whole:
            subprocess.run(["redis-cli", "-p", str(port), "cluster", "addslotsrange", "0", "16383"], check=True, capture_output=True)
        gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
        gateway.configuration["state"]["redis"] = "redis://127.0.0.1:%d" % port
        gateway.write()
        gateway.start(wait=False)

        def refused():
            try:
                status, text = gateway.probe("/readyz")
            except OSError:
                return False
            return status == 503 and "Redis runs in cluster mode, which is not supported" in text

        eventually(refused)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_registry_without_its_name_is_not_called_empty(make, backend):
    redis = Redis()
    try:
        gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
        gateway.configuration["state"]["redis"] = "redis://127.0.0.1:%d" % redis.port
        gateway.write()
        gateway.start()
        gateway.create_organization("acme")
        path = gateway.directory / "state/registry"
        eventually(path.exists)
        redis.run("DEL", "{registry}:birth")
        text = eventually(lambda: [text for status, text in [gateway.probe("/readyz")] if status == 503 and "registry is lost" in text])[0]
        assert "Redis holds a registry without a name" in text and "empty" not in text, text
        assert "rm %s on every node" % path in text
        path.unlink()
        eventually(lambda: gateway.probe("/readyz")[0] == 200)
        assert gateway.cli("orgs", "list")["organizations"]
    finally:
        redis.remove()

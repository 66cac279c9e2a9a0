# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What goes wrong around the gateway is told, and none of it stops a worker."""
import fcntl
import os
import re
import resource
import socket
import subprocess

import pytest

import gateway as binary
import nodes
from conftest import route, url


@pytest.fixture
def stand(make, backend):
    return lambda **options: make([route("open", "/open/", access="open"), route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, **options)


def test_a_log_that_nobody_reads_stops_nobody(stand):
    """Standard error is a pipe that is full from the start; Redis inherits it too."""
    gateway = stand(start=False, workers=2)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    gateway.process = subprocess.Popen([str(binary.BINARY), "run", "--config", str(gateway.file)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=writer, env=gateway.environment, cwd=gateway.directory)
    try:
        gateway.wait_until_ready()
        gateway.create_organization()
        app = gateway.create_app()
        before = gateway.metrics()["sallyport_config_last_reload_success_timestamp_seconds"]
        # Told in whole seconds.
        nodes.eventually(lambda: gateway.reload() or gateway.metrics()["sallyport_config_last_reload_success_timestamp_seconds"] > before, pause=0.3)
        assert gateway.get("/v1/x", app.fields).status == 200
        gateway.redis()
    finally:
        os.close(reader)
        os.close(writer)


def test_why_redis_cannot_be_used_is_told_once(stand):
    redis = nodes.Redis()
    try:
        redis.run("CONFIG", "SET", "requirepass", "right-password")
        gateway = stand(start=False, workers=1, environment={"REDIS_PASSWORD": "wrong-password"})
        gateway.configuration["state"].update(redis="redis://127.0.0.1:%d" % redis.port, redis_password="${env:REDIS_PASSWORD}")
        gateway.write()
        gateway.start(wait=False)
        said = nodes.eventually(lambda: [line for line in reached(gateway) if "WRONGPASS" in line], 30)
        assert "Redis" in said[0]
        nodes.eventually(lambda: gateway.output().count("WRONGPASS") >= 2)
        # One line of control, one of the worker; both connect again and again.
        nodes.eventually(lambda: connections(redis) > 10)
        assert gateway.output().count("WRONGPASS") == 2, gateway.output()
        assert "wrong-password" not in gateway.output()
    finally:
        redis.remove()


def test_a_redis_that_is_full_is_told_as_that(stand):
    """It still answers and still tells of changes: only what is written fails, the leases among it."""
    redis = nodes.Redis()
    try:
        gateway = stand(start=False, workers=1)
        gateway.configuration["state"]["redis"] = "redis://127.0.0.1:%d" % redis.port
        gateway.write()
        gateway.start()
        gateway.create_organization()
        app = gateway.create_app()
        redis.run("CONFIG", "SET", "maxmemory", "1")
        nodes.eventually(lambda: re.search("worker 0: the registry cannot be followed reason=.*OOM", gateway.output()))
        assert gateway.get("/v1/x", app.fields).status == 200, "what is known serves for the rest of the lease"
        refused = gateway.run("origins", "add", "https://a.example", "--app", app.id)
        assert refused.returncode == 1 and "OOM" in refused.stderr, refused
        redis.run("CONFIG", "SET", "maxmemory", "0")
        assert gateway.run("origins", "add", "https://a.example", "--app", app.id).returncode == 0
        assert gateway.output().count("OOM") == 1, gateway.output()
    finally:
        redis.remove()


def connections(redis):
    return int(re.search(r"total_connections_received:(\d+)", redis.run("-a", "right-password", "INFO", "stats"))[1])


def reached(gateway):
    try:
        return gateway.probe("/readyz")[1].splitlines()
    except OSError:
        return []


def test_running_out_of_descriptors_is_counted_and_told(stand):
    gateway = stand(workers=1)
    worker = gateway.workers()[0]
    assert gateway.get("/open/x").status == 200
    limits = resource.prlimit(worker, resource.RLIMIT_NOFILE)
    resource.prlimit(worker, resource.RLIMIT_NOFILE, (len(os.listdir("/proc/%d/fd" % worker)) + 4, limits[1]))
    held = []
    try:
        def paused():
            held.append(socket.create_connection(("127.0.0.1", gateway.clear_port)))
            return gateway.metrics()["sallyport_accept_pauses_total"] > 0

        nodes.eventually(paused)
        nodes.eventually(lambda: "no connection can be accepted at the moment" in gateway.output())
        nodes.eventually(lambda: paused() and gateway.metrics()["sallyport_accept_pauses_total"] > 3)
        assert gateway.output().count("no connection can be accepted at the moment") == 1
    finally:
        resource.prlimit(worker, resource.RLIMIT_NOFILE, limits)
        for one in held:
            one.close()
    nodes.eventually(lambda: gateway.get("/open/x").status == 200)


def test_a_method_of_five_thousand_bytes_makes_no_long_line(stand):
    gateway = stand(workers=1)
    answer = gateway.get("/open/x", method="M" * 5000)
    line = next(l for l in gateway.access() if l.get("method", "").startswith("MMM"))
    assert (line["method"], line["status"]) == ("M" * 64, answer.status)

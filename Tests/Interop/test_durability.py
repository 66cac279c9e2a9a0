# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""An acknowledged change is on disk before its answer leaves."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from conftest import route, url


def test_redis_syncs_before_it_answers_a_change(make, backend, files):
    if os.geteuid() != 0:
        pytest.skip("strace of a running process needs root")
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    gateway.create_organization()
    app = gateway.create_app()
    redis = gateway.redis()
    trace = files / "redis.strace"
    strace = subprocess.Popen(
        [shutil.which("strace"), "-f", "-yy", "-s", "64", "-e", "trace=write,writev,sendto,sendmsg,fdatasync,fsync", "-o", str(trace), "-p", str(redis)],
        stderr=subprocess.PIPE, text=True)
    strace.stderr.readline()
    key, _ = gateway.create_key(app, "traced")
    time.sleep(0.2)
    strace.terminate()
    strace.wait()
    calls = trace.read_text().splitlines()
    written = next(i for i, c in enumerate(calls) if re.search(r"write\(\d+<[^>]*\.aof", c) and ("XADD" in c or "MULTI" in c or "HSET" in c or "SET" in c))
    synced = next(i for i, c in enumerate(calls) if i > written and re.search(r"f(data)?sync\(\d+<[^>]*\.aof>\) += 0", c))
    between = [c for c in calls[written:synced] if re.search(r"(write|send\w*)\(\d+<UNIX", c)]
    assert between == [], "answered before the sync:\n" + "\n".join(calls[written:synced + 1])
    assert any(re.search(r"(write|send\w*)\(\d+<UNIX", c) for c in calls[synced:]), "no answer after the sync"


def test_the_state_folder_is_closed_to_others(make, backend):
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    state = gateway.directory / "state"
    for path in [state, state / "keys", state / "redis", state / "run"]:
        assert path.stat().st_mode & 0o777 == 0o700, path
    for path in [*(state / "keys").iterdir(), state / "redis/redis.sock"]:
        assert path.stat().st_mode & 0o077 == 0, path
    listening = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True).stdout if shutil.which("ss") else ""
    assert "pid=%d," % gateway.redis() not in listening, "embedded Redis has a TCP port"


def test_changes_of_several_processes_are_each_on_disk_before_their_answers(make, backend, files):
    """Control and two workers change the registry side by side: none ends the syncs of another's change."""
    if os.geteuid() != 0:
        pytest.skip("strace of a running process needs root")
    gateway = make([route("api", "/v1/", dialect="vouch", access={"organizations": ["acme"], "credentials": ["run_token"]})],
                   {"api": {"endpoints": [url(backend)]}}, workers=2, start=False)
    for listener in gateway.configuration["listeners"]:
        listener["serves"] = ["vouch"]
    gateway.write()
    gateway.start()
    gateway.create_organization()
    app = gateway.admin("POST", "/apps", {"name": "several", "organization": "acme", "dialects": ["vouch", "appengine"]})["app_id"]
    secret = gateway.cli("keys", "create", "--app", app, "--name", "m", "--kind", "management", "--mode", "live")["key"]
    trace = files / "several.strace"
    strace = subprocess.Popen(
        [shutil.which("strace"), "-f", "-yy", "-s", "2048", "-e", "trace=write,writev,sendto,sendmsg,fdatasync,fsync", "-o", str(trace), "-p", str(gateway.redis())],
        stderr=subprocess.PIPE, text=True)
    strace.stderr.readline()

    def by_control(number):
        gateway.admin("PUT", "/apps/%s/check" % app, {"mode": "off" if number % 2 else "monitor"})

    def by_workers(number):
        body = json.dumps({"device_id": "dev_%d" % number}).encode()
        path = "/v1/apps/%s/security/debug-devices" % app
        answer = gateway.get(path, {"Authorization": "Bearer " + secret, "Content-Type": "application/json"}, method="POST", body=body)
        assert answer.status in (200, 201), answer.body

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(work, number) for number in range(40) for work in (by_control, by_workers)]:
            one.result()
    strace.terminate()
    strace.wait()
    calls = trace.read_text().splitlines()
    changes = [i for i, c in enumerate(calls) if re.search(r"write\(\d+<[^>]*\.aof", c) and "{registry}:changes" in c]
    assert len(changes) >= 20, len(changes)
    late = []
    for start in changes:
        after = next(i for i, c in enumerate(calls) if i > start and re.search(r"f(data)?sync\(\d+<[^>]*\.aof>\) += 0|(write|send\w*)\(\d+<UNIX", c))
        if "sync(" not in calls[after]:
            late.append(calls[start:after + 1])
    assert late == [], "%d of %d changes were answered before their sync, such as:\n%s" % (len(late), len(changes), "\n".join(late[0]))

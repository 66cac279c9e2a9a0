# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""An acknowledged change is on disk before its answer leaves."""
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

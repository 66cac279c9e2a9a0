# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Development mode and tokens end to the second, on every worker, by a clock that Redis corrects."""
import json
import shutil
import subprocess
import time

import pytest

import nodes
import upstreams
from conftest import route, url
from tokens import Issuer, bearer, mint

ACCESS = {"organizations": ["acme"], "credentials": ["session_token", "api_key"]}


@pytest.fixture(scope="module")
def issuer(files):
    directory = files / "time-issuers"
    directory.mkdir(exist_ok=True)
    return Issuer(directory, "sessions", "session")


class Shifted(nodes.Redis):
    """A Redis whose clock is ahead of everybody's."""

    def __init__(self, seconds):
        self.seconds = seconds
        super().__init__()

    def start(self):
        with open(self.directory / "log", "ab") as out:
            self.process = subprocess.Popen(
                ["faketime", "-f", "%+ds" % self.seconds, "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir",
                 str(self.directory), "--save", "", "--appendonly", "yes", "--appendfsync", "always"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        upstreams.wait_for_port(self.port, self.process)


def stand(make, backend, issuer, redis, workers):
    gateway = make([route("api", "/v1/", access=ACCESS)], {"api": {"endpoints": [url(backend)]}}, start=False, workers=workers,
                   issuers=[issuer.settings], tokens={"leeway": "0s"})
    gateway.configuration["state"]["redis"] = "redis://127.0.0.1:%d" % redis.port
    gateway.write()
    gateway.start()
    gateway.create_organization("acme")
    return gateway


def on_every_worker(gateway, fields, count):
    """The statuses that each worker gives; a decision's id begins with its worker's."""
    seen = {}
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        answer = gateway.get("/v1/x", fields)
        seen.setdefault(answer["Sallyport-Decision"][:8] if answer.status != 200 else
                        next(v for n, v in answer.json()["gateway"].items() if n.lower() == "sallyport-decision")[:8], set()).add(answer.status)
    assert len(seen) == count, seen
    return set().union(*seen.values())


def test_development_mode_ends_to_the_second_on_every_worker(make, backend, issuer):
    redis = nodes.Redis()
    try:
        gateway = stand(make, backend, issuer, redis, workers=3)
        app = gateway.create_app("dev")
        gateway.cli("dev-mode", "on", "--hours", "1", "--app", app.id)
        token = mint(gateway, app, "session_token", trust="development")["token"]
        # No mode is shorter than an hour: its end is moved where it is kept, and any change makes the workers read it.
        record = redis.run("HGET", "{registry}:ids", app.id)
        kept = json.loads(redis.run("HGET", "{registry}:app:" + record, "j"))
        end = int(time.time()) + 4
        kept["developmentUntil"] = end * 1000
        redis.run("HSET", "{registry}:app:" + record, "j", json.dumps(kept))
        gateway.cli("origins", "add", "https://a.example", "--app", app.id)
        fields = {"X-App-Id": app.id, **bearer(token)}
        assert on_every_worker(gateway, fields, 3) == {200}
        time.sleep(max(0, end - 1.2 - time.time()))
        assert on_every_worker(gateway, fields, 3) == {200}
        assert time.time() < end
        time.sleep(max(0, end + 0.05 - time.time()))
        assert on_every_worker(gateway, fields, 3) == {401}
        assert gateway.get("/v1/x", fields).json()["data"]["missing"] == "development_mode"
    finally:
        redis.remove()


@pytest.mark.skipif(not shutil.which("faketime"), reason="needs faketime")
@pytest.mark.parametrize("ahead,short,long", [(30, 200, 200), (-30, 200, 200), (300, 401, 200), (-300, 401, 401)])
def test_the_clock_is_corrected_by_redis_beyond_a_minute(make, backend, issuer, ahead, short, long):
    """`short` and `long` are what tokens get that end 100 s and 1,000 s from now by our clock, or did not begin yet."""
    redis = Shifted(ahead)
    try:
        gateway = stand(make, backend, issuer, redis, workers=1)
        app = gateway.create_app("web")
        time.sleep(0.4)
        now = int(time.time())
        tokens = [issuer.token(exp=now + 100), issuer.token(exp=now + 1000)]
        assert [gateway.get("/v1/x", {"X-App-Id": app.id, **bearer(t)}).status for t in tokens] == [short, long]
        if ahead < -60:
            # By the corrected clock a token of now is of the future, and one that has just ended is not.
            assert gateway.get("/v1/x", {"X-App-Id": app.id, **bearer(issuer.token(iat=now - 400, exp=now - 100))}).status == 200
        said = gateway.metrics()["sallyport_clock_difference_milliseconds"]
        assert abs(said - ahead * 1000) < 1500
        assert "our clock differs from that of Redis" in gateway.output()
    finally:
        redis.remove()

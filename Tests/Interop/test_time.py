# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Development mode and tokens end to the second, on every worker, by a clock that Redis corrects."""
import json
import re
import socket
import threading
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


class Ahead(upstreams.Listener):
    """A way to a real Redis whose clock reads `seconds` more: only the answers to TIME are changed."""

    TIME = re.compile(rb"\*2\r\n\$10\r\n(\d{10})\r\n(\$\d\r\n\d{1,6}\r\n)")

    def __init__(self, redis, seconds):
        self.redis, self.seconds = redis, seconds
        super().__init__()

    def serve(self, client):
        # Where the Redis behind has gone, so has this way to it.
        server = socket.create_connection(("127.0.0.1", self.redis.port))
        there = threading.Thread(target=self.pass_on, args=(client, server, lambda part: part), daemon=True)
        there.start()
        self.pass_on(server, client, self.later)
        there.join()
        server.close()

    def later(self, part):
        return self.TIME.sub(lambda m: b"*2\r\n$10\r\n%010d\r\n%s" % (int(m[1]) + self.seconds, m[2]), part)

    @staticmethod
    def pass_on(source, target, change):
        try:
            while part := source.recv(65536):
                target.sendall(change(part))
        except OSError:
            pass
        finally:
            for one in (source, target):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def remove(self):
        self.stop()
        self.redis.remove()


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
    # Fewer than a worker takes of one client's failures.
    while time.monotonic() < end:
        time.sleep(0.004)
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


@pytest.mark.parametrize("ahead,statuses", [(300, [401, 401]), (-300, [200, 200]), (30, [401, 200]), (-30, [401, 200])])
def test_the_clock_is_corrected_by_redis_beyond_a_minute(make, backend, issuer, ahead, statuses):
    """Two tokens, one that ended ten seconds ago by our clock and one that ends in ten: within a minute ours decides."""
    redis = Ahead(nodes.Redis(), ahead)
    try:
        gateway = stand(make, backend, issuer, redis, workers=1)
        app = gateway.create_app("web")
        time.sleep(0.5)
        now = int(time.time())
        tokens = [issuer.token(iat=now - 400, exp=now + ends, app_id=app.id) for ends in (-10, 10)]
        assert [gateway.get("/v1/x", {"X-App-Id": app.id, **bearer(t)}).status for t in tokens] == statuses
        assert abs(gateway.metrics()["sallyport_clock_difference_milliseconds"] - ahead * 1000) < 1000
        assert "our clock differs from that of Redis" in gateway.output()
    finally:
        redis.remove()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Sliding windows: never more than the limit in any interval of the window's length."""
import asyncio
import collections
import datetime
import random
import re
import time

import pytest

from conftest import route, url


async def call(port, target, fields, ready=None, go=None):
    """One request on a connection of its own; the status and the moments of sending and answering."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        if ready:
            ready.release()
            await go.wait()
        sent = time.time()
        writer.write(("GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (target, "".join("%s: %s\r\n" % f for f in fields.items()))).encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        return int(head.split()[1]), sent, time.time(), head.decode("latin-1")
    finally:
        writer.close()


async def at_once(port, count, target, fields):
    """That many calls whose connections are all open before the first byte is sent."""
    ready, go = asyncio.Semaphore(0), asyncio.Event()
    calls = [asyncio.create_task(call(port, target, fields, ready, go)) for _ in range(count)]
    for _ in calls:
        await ready.acquire()
    go.set()
    return await asyncio.gather(*calls)


def limited(name, limit, window, per=("app",), **more):
    return route(name, "/%s/" % name, limits=[{"name": name, "per": list(per), "limit": limit, "window": window, **more}])


@pytest.fixture(scope="module")
def stand(make, nginx):
    routes = [
        limited("exact", 200, "60s"), limited("small", 5, "2s"), limited("client", 3, "60s", per=("app", "client")),
        limited("key", 3, "60s", per=("key",)), limited("shadow", 2, "60s", shadow=True), limited("minute", 100, "60s"),
        limited("quick", 100, "5s"), limited("costly", 10, "60s", cost=4),
        route("both", "/both/", limits=[
            {"name": "wide", "per": ["organization"], "limit": 1000, "window": "60s"},
            {"name": "narrow", "per": ["app"], "limit": 5, "window": "60s"}]),
    ]
    gateway = make(routes, {"api": {"endpoints": [url(nginx)]}}, workers=2)
    gateway.create_organization()
    for path in ("exact", "small", "client", "key", "shadow", "minute", "quick", "costly", "both"):
        (nginx.files / path).mkdir(exist_ok=True)
        (nginx.files / path / "x").write_text("ok")
    return gateway


@pytest.mark.parametrize("round", range(3))
def test_400_calls_at_once_at_limit_200_admit_exactly_200(stand, round):
    app = stand.create_app("exact-%d" % round)
    answers = asyncio.run(at_once(stand.clear_port, 400, "/exact/x", app.fields))
    assert collections.Counter(status for status, *_ in answers) == {200: 200, 429: 200}


def test_the_refusal_says_when_the_next_call_succeeds(stand):
    app = stand.create_app("patient")
    statuses = [stand.get("/small/x", app.fields).status for _ in range(6)]
    assert statuses == [200] * 5 + [429]
    refused = stand.get("/small/x", app.fields)
    body = refused.json()
    assert body["error"]["code"] == "rate_limited"
    assert "small" in str(body)
    assert re.fullmatch(r"\d+", refused["Retry-After"])
    assert refused["RateLimit"] and refused["RateLimit-Policy"]
    time.sleep(int(refused["Retry-After"]))
    assert stand.get("/small/x", app.fields).status == 200


def test_an_admitted_answer_tells_what_is_left(stand):
    app = stand.create_app("told")
    left = []
    for _ in range(3):
        answer = stand.get("/small/x", app.fields)
        assert re.search(r'"small";q=5;w=2', answer["RateLimit-Policy"]), answer.fields
        left.append(int(re.search(r"r=(\d+)", answer["RateLimit"])[1]))
    assert left == [4, 3, 2]


def test_clients_of_one_app_are_counted_apart(stand):
    app = stand.create_app("apart")
    for source in ("127.0.0.1", "127.0.0.3"):
        assert [stand.get("/client/x", app.fields, source=source).status for _ in range(4)] == [200, 200, 200, 429]


def test_keys_are_counted_apart(stand):
    app = stand.create_app("keyed")
    second, _ = stand.create_key(app, "second")
    assert [stand.get("/key/x", app.fields).status for _ in range(4)] == [200, 200, 200, 429]
    assert stand.get("/key/x", {"X-App-Id": app.id, "X-Api-Key": second}).status == 200


def test_a_shadow_limit_refuses_nobody(stand):
    app = stand.create_app("shadow")
    assert [stand.get("/shadow/x", app.fields).status for _ in range(5)] == [200] * 5


def test_a_cost_is_spent_whole_or_not_at_all(stand):
    app = stand.create_app("costly")
    assert [stand.get("/costly/x", app.fields).status for _ in range(4)] == [200, 200, 429, 429]


def test_limits_of_one_request_are_spent_together_or_not_at_all(stand):
    app = stand.create_app("both")
    statuses = [stand.get("/both/x", app.fields) for _ in range(8)]
    assert [s.status for s in statuses] == [200] * 5 + [429] * 3


def most_in_any(times, window):
    """The largest count of the sorted moments in any half-open interval of that length."""
    highest, start = 0, 0
    for end, moment in enumerate(times):
        while times[start] <= moment - window:
            start += 1
        highest = max(highest, end - start + 1)
    return highest


def test_the_checker_sees_one_too_many():
    assert most_in_any([0, 1, 2, 3, 4, 5], 5) == 5
    assert most_in_any([0, 1, 2, 3, 4, 4.9], 5) == 6


async def random_load(port, target, fields, clients, seconds):
    """Clients that pause, hurry and burst at random; the admissions as (sent, answered)."""
    admitted, end = [], time.time() + seconds

    async def client(seed):
        chance = random.Random(seed)
        while time.time() < end:
            for _ in range(chance.choice([1, 1, 2, 10])):
                status, sent, answered, _ = await call(port, target, fields)
                assert status in (200, 429), status
                if status == 200:
                    admitted.append((sent, answered))
            await asyncio.sleep(chance.expovariate(1 / chance.choice([0.02, 0.2, 1])))

    await asyncio.gather(*(client(seed) for seed in range(clients)))
    return admitted


def check_interval(gateway, name, limit, window, admitted):
    """By the log, whose moments are compared with what the clients saw."""
    logged = sorted(moment_of(line) for line in gateway.access() if line.get("route") == name and line["decision"] == "admitted")
    assert len(logged) == len(admitted)
    # The log's clock is not the one that counts (Redis's): a hundredth of a second of doubt.
    assert most_in_any(logged, window - 0.01) <= limit
    assert len(logged) > limit, "the limit was never reached"
    return len(logged)


def moment_of(line):
    return datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp()


@pytest.mark.slow
def test_random_load_never_passes_the_limit_in_any_five_seconds(stand):
    app = stand.create_app("random-quick")
    admitted = asyncio.run(random_load(stand.clear_port, "/quick/x", app.fields, 50, 20))
    total = check_interval(stand, "quick", 100, 5, admitted)
    assert total > 100 * 20 / 5 * 0.8, "a limit that admits too little: %d" % total


@pytest.mark.long
@pytest.mark.timeout(900)
def test_random_load_never_passes_the_limit_in_any_minute(stand):
    app = stand.create_app("random-minute")
    admitted = asyncio.run(random_load(stand.clear_port, "/minute/x", app.fields, 50, 600))
    check_interval(stand, "minute", 100, 60, admitted)

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The set in force is the one that was last accepted: no death of a child makes another text count."""
import concurrent.futures
import os
import shutil
import signal
import threading
import time

import pytest

from conftest import route, url
from nodes import eventually


@pytest.fixture
def stand(make, backend):
    # A client that opens one connection after the other without a pause is not to be told from a flood by the budgets of an address.
    unbounded = {"rate": "1000000 + 1000000/s", "handshakes": "1000000 + 1000000/s"}
    gateway = make([route("api", "/v1/"), route("old", "/old/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2,
                   connections=unbounded)
    gateway.create_organization()
    return gateway, gateway.create_app()


def control(gateway):
    others = [p for p in gateway.descendants() if p not in gateway.workers() and p != gateway.redis()]
    return others[0] if others else None


def kill_everybody_but_redis(gateway):
    """Each worker and control in turn; back when their successors serve."""
    for pid in gateway.workers():
        others = [p for p in gateway.workers() if p != pid]
        os.kill(pid, signal.SIGKILL)
        gateway.wait_for_workers(2, without=[pid])
        assert set(others) <= set(gateway.workers())
    old = control(gateway)
    os.kill(old, signal.SIGKILL)
    assert eventually(lambda: control(gateway) not in (None, old))
    gateway.wait_until_ready()
    assert eventually(lambda: sum(v for n, v in gateway.metrics().items() if n.startswith("sallyport_workers_serving")) == 2)


def with_certificate(make, backend, site):
    """A gateway with a certificate in files of its own, and an app."""
    gateway = make([route("api", "/v1/"), route("old", "/old/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2, start=False)
    certificate, key = gateway.directory / "site.pem", gateway.directory / "site.key"
    shutil.copy(site[0], certificate)
    shutil.copy(site[1], key)
    gateway.configuration["listeners"][0]["tls"] = {"certificates": [{"cert": "site.pem", "key": "site.key"}], "default": "site.pem"}
    gateway.write()
    gateway.start()
    gateway.create_organization()
    app = gateway.create_app()
    return gateway, app, certificate, key


def without_access(gateway):
    """The same gateway with everything open to everybody and another route."""
    gateway.configuration["routes"] = [route("api", "/v1/", access="open"), route("new", "/new/", access="open")]


def judge(gateway, app, count=60):
    """Statuses without a credential, with one, and of the old and the new route."""
    return (
        {gateway.get("/v1/x").status for _ in range(count)},
        {gateway.get("/v1/x", app.fields).status for _ in range(count)},
        {gateway.get("/old/x").status for _ in range(count)},
        {gateway.get("/new/x").status for _ in range(count)},
    )


OLD, NEW = ({401}, {200}, {200}, {404}), ({200}, {200}, {404}, {200})


@pytest.mark.parametrize("way", ["refused", "edited", "broken", "missing"])
def test_a_child_that_is_started_again_runs_what_the_others_run(stand, way):
    gateway, app = stand
    assert judge(gateway, app, 8) == OLD
    without_access(gateway)
    if way == "refused":
        # The text is right, but it changes what only a restart can: all of it is refused.
        gateway.configuration["workers"] = 3
    gateway.write("version: 1\nroutes: {{\n" if way == "broken" else None)
    if way == "missing":
        gateway.file.unlink()
    if way != "edited":
        refused = gateway.run("reload")
        assert refused.returncode == 1 and "the old configuration stays" in refused.stdout + refused.stderr
    kill_everybody_but_redis(gateway)
    assert judge(gateway, app) == OLD
    assert "exit 78" not in gateway.output()
    # The control that was started again reads the file when it is asked to, and has everybody take it.
    gateway.configuration["workers"] = 2
    gateway.write()
    result = gateway.run("reload")
    assert result.returncode == 0, result.stdout + result.stderr
    assert judge(gateway, app, 16) == NEW


def test_after_a_good_reload_a_child_that_is_started_again_runs_the_new_rules(stand):
    gateway, app = stand
    without_access(gateway)
    gateway.write()
    assert gateway.run("reload").returncode == 0
    kill_everybody_but_redis(gateway)
    assert judge(gateway, app) == NEW


def test_changed_certificates_make_no_edited_file_count(make, backend, site, authority):
    gateway, app, certificate, key = with_certificate(make, backend, site)
    without_access(gateway)
    gateway.write()
    for source, target in ((site[0], certificate), (site[1], key)):
        shutil.copy(source, target)
    assert eventually(lambda: gateway.output().count("configuration taken") == 1, 15)
    assert judge(gateway, app, 16) == OLD


def test_a_storm_of_reloads_holds_nobody_up(stand):
    gateway, app = stand
    longest, stopping = [0.0], threading.Event()

    def client(ask):
        mine = []
        while not stopping.is_set():
            began = time.monotonic()
            mine.append(ask())
            longest[0] = max(longest[0], time.monotonic() - began)
        return mine

    kept = gateway.wire()
    asks = [lambda: gateway.get("/v1/x", app.fields).status, lambda: gateway.get("/v1/x", app.fields, tls=True).status,
            lambda: kept.exchange(target="/v1/x", fields=app.fields).status]
    clients = concurrent.futures.ThreadPoolExecutor(len(asks))
    good = [clients.submit(client, ask) for ask in asks]
    workers = gateway.workers()
    for _ in range(300):
        gateway.reload()
        time.sleep(0.01)
    gateway.configuration["routes"].append(route("new", "/new/", access="open"))
    gateway.write()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = [one.result() for one in [pool.submit(gateway.run, "reload") for _ in range(10)]]
    assert [one.returncode for one in answers] == [0] * 10, [one.stderr for one in answers]
    assert {gateway.get("/new/x").status for _ in range(16)} == {200}
    # Those who ask for a wrong file together are all told so.
    gateway.write("version: 1\nroutes: {{\n")
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = [one.result() for one in [pool.submit(gateway.run, "reload") for _ in range(10)]]
    stopping.set()
    # One that was turned away, or whose connection was closed on it, fails the case.
    statuses = [set(one.result()) for one in good]
    assert [one.returncode for one in answers] == [1] * 10
    assert gateway.workers() == workers, "nobody was taken for hung"
    assert statuses == [{200}] * 3
    assert longest[0] < 2, longest
    print("longest request during the storm: %.3f s" % longest[0])


def test_a_text_that_one_worker_cannot_take_is_taken_back_everywhere(stand):
    """The file is right for `check`; what it names can only be missed by who opens it."""
    gateway, app = stand
    assert judge(gateway, app, 8) == OLD
    without_access(gateway)
    # A link that leads nowhere looks like a file that is still to be made.
    link = gateway.directory / "link.log"
    link.symlink_to(gateway.directory / "no-such-folder/access.log")
    gateway.configuration.setdefault("log", {})["access"] = str(link)
    gateway.write()
    result = gateway.run("reload")
    told = result.stdout + result.stderr
    assert result.returncode == 1 and "not every worker took it" in told and "worker 0" in told and "worker 1" in told, told
    eventually(lambda: judge(gateway, app, 8) == OLD)
    kill_everybody_but_redis(gateway)
    assert judge(gateway, app, 16) == OLD
    assert gateway.metrics()["sallyport_config_last_reload_successful"] in (0, 1)


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_said_once_and_is_back_when_its_file_is(make, backend, site):
    gateway, app, certificate, _ = with_certificate(make, backend, site)
    certificate.rename(gateway.directory / "aside.pem")
    old = gateway.workers()
    os.kill(old[0], signal.SIGKILL)
    unable = "sallyport_processes_unable_to_start"
    eventually(lambda: gateway.metrics()[unable] == 1)
    eventually(lambda: "a child still cannot start" in gateway.output(), 15)
    assert gateway.output().count("a child cannot start, others do its work") == 1
    assert "site.pem" in gateway.output(), "it says why"
    status, text = gateway.probe("/readyz")
    assert status == 200 and "1 process cannot start" in text, text
    shown = gateway.run("status").stdout
    assert "cannot start" in shown and "warning: 1 process cannot start" in shown, shown
    assert {gateway.get("/v1/x", app.fields).status for _ in range(16)} == {200}, "the other serves for both"
    (gateway.directory / "aside.pem").rename(certificate)
    assert gateway.run("reload").returncode == 0
    gateway.wait_for_workers(2, without=old[:1])
    eventually(lambda: gateway.metrics()[unable] == 0)
    assert "a child has started at last" in gateway.output() and "cannot start" not in gateway.probe("/readyz")[1]

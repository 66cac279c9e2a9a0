# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What the cases share: one gateway for those that leave it as it was, and a maker for those that do not."""
import os
import pathlib
import re
import ssl

import pytest

import certificates
import gateway as binary
import rows
import upstreams

LONG = os.environ.get("SALLYPORT_TEST_LONG") == "1"


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than ten seconds")
    # A case whose thread died has proved nothing.
    config.addinivalue_line("filterwarnings", "error::pytest.PytestUnhandledThreadExceptionWarning")
    config.addinivalue_line("markers", "long: takes minutes; only with SALLYPORT_TEST_LONG=1")


def pytest_collection_modifyitems(items):
    for item in items:
        # Processes that share the cases must all name them alike, whenever each begins.
        assert not re.search(r"\b1[789]\d{8}\b", item.name), "%s: a name that tells the time" % item.nodeid
        if item.get_closest_marker("long") and not LONG:
            item.add_marker(pytest.mark.skip(reason="SALLYPORT_TEST_LONG=1 runs it"))


def pytest_sessionfinish(session):
    """One of several processes hands on what it saw."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["rows"] = rows.SEEN


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    rows.SEEN.extend(map(tuple, getattr(node, "workeroutput", {}).get("rows", [])))


def pytest_terminal_summary(terminalreporter):
    """The requirement rows that were seen on the wire, as one table."""
    if rows.SEEN and os.environ.get("SALLYPORT_ROWS"):
        pathlib.Path(os.environ["SALLYPORT_ROWS"]).write_text("\n".join(rows.table()) + "\n")
    if rows.SEEN:
        terminalreporter.write_line(rows.table()[-1])


@pytest.fixture(scope="session", autouse=True)
def binary_exists():
    assert binary.BINARY.exists(), "no %s: swift build -c release --static-swift-stdlib" % binary.BINARY


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    return pathlib.Path(tmp_path_factory.mktemp("interop"))


@pytest.fixture(scope="session")
def authority(files):
    return certificates.Authority(files)


@pytest.fixture(scope="session")
def trust(authority):
    """What a client needs to believe the gateway's certificate."""
    return ssl.create_default_context(cafile=str(authority.path))


@pytest.fixture(scope="session")
def site(authority):
    """The gateway's certificate and key."""
    return authority.issue("site", ["localhost", "api.example.test", "127.0.0.1"])


@pytest.fixture(scope="session")
def backend(files):
    server = upstreams.start_backend(files)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def secure_backend(files, authority):
    server = upstreams.start_backend(files, "secure-backend", tls=authority.issue("upstream", ["localhost", "127.0.0.1"]))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def nginx(files):
    server = upstreams.start_nginx(files)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def secure_nginx(files, authority):
    server = upstreams.start_nginx(files, tls=authority.issue("nginx", ["localhost", "127.0.0.1"]))
    yield server
    server.stop()


def url(server, scheme="http"):
    return "%s://127.0.0.1:%d" % (scheme, server.port)


ACCESS = {"organizations": ["acme"], "credentials": ["origin", "api_key"]}


def route(name, path, upstream="api", **more):
    """A route for keys and origins of acme, unless told otherwise."""
    made = {"name": name, "match": {"path": path}, "upstream": upstream, "dialect": "offlineid", "access": ACCESS}
    if "access" not in more:
        made["cors"] = {}
    made.update(more)
    if made["access"] == "open":
        made.pop("dialect")
    return made


GIBIBYTE = {"body": "2GiB"}


@pytest.fixture(scope="module")
def make(site):
    """make(routes, upstreams, …): a gateway of the case's own, started, removed when its module ends."""
    made = []

    def make(routes, upstreams, start=True, **options):
        one = binary.Gateway(site, routes, upstreams, **options)
        made.append(one)
        return one.start() if start else one

    yield make
    for one in made:
        one.remove()


@pytest.fixture(scope="session")
def gateway(site, authority, backend, secure_backend, nginx, secure_nginx):
    """The shared gateway: `/v1/` by key or origin, `/open/` for all, `/nginx/…`, `/secure/…`."""
    routes = [
        route("api", "/v1/"),
        route("open", "/open/", access="open"),
        route("file", "/file/", "nginx", access="open"),
        route("secure", "/secure/", "secure", access="open"),
    ]
    one = binary.Gateway(
        site, routes,
        {
            "api": {"endpoints": [url(backend)]},
            "nginx": {"endpoints": [url(nginx)]},
            "secure": {"endpoints": [url(secure_backend, "https")], "tls": {"ca": str(authority.path)}},
        },
        http=GIBIBYTE)
    one.start()
    yield one
    one.remove()


@pytest.fixture(scope="session")
def app(gateway):
    """An app of acme with a key and the origin https://app.example."""
    gateway.create_organization("acme")
    return gateway.create_app("web", origins=["https://app.example"])


def to_h2(server, authority=None, **more):
    """An upstream that is spoken to in HTTP/2."""
    made = {"endpoints": [server.endpoint], "protocol": "h2", **more}
    if server.tls:
        made["tls"] = {"ca": str(authority.path)}
    return made


@pytest.fixture
def alone(make):
    """alone(script, …): a gateway whose only upstream is an HTTP/2 server that runs the script."""
    import h2server

    made = []

    def alone(script, timeouts=None, settings=None, pool=None, **more):
        server = h2server.Server(script, settings=settings)
        made.append(server)
        routes = [route("all", "/", "all", access="open", **({"timeouts": timeouts} if timeouts else {}))]
        return make(routes, {"all": to_h2(server, **({"pool": pool} if pool else {}))}, workers=1, **more), server

    yield alone
    for server in made:
        server.stop()

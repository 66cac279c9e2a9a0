# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A way that leads back to the gateway ends with 508, whoever stands in between; a chain of gateways is no loop."""
import contextlib
import re
import socket
import threading

import pytest

from conftest import route, url
from frames import Frames
from test_fields import fields_at_upstream

PSEUDONYM = re.compile(r"^1\.1 (sallyport-[0-9a-f]{12})$")


class Relay:
    """An intermediary of the dullest kind: what comes in goes out, to wherever it is told."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.target = self.socket.getsockname()[1], None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=ends, daemon=True).start()

    @staticmethod
    def pass_on(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@pytest.fixture(scope="module")
def stand(make, backend):
    """`/self/` leads back by a relay, `/round/` to another gateway that leads back, `/chain/` through it to the back end."""
    relay = Relay()
    routes = [route(name, "/%s/" % name, name, access="open") for name in ("self", "round", "chain")]
    one = make(routes, {}, start=False)
    relay.target = one.clear_port
    other = make([route("back", "/round/", "back", access="open"), route("chain", "/chain/", "api", access="open")],
                 {"back": {"endpoints": ["http://127.0.0.1:%d" % one.clear_port]}, "api": {"endpoints": [url(backend)]}})
    two = {"endpoints": ["http://127.0.0.1:%d" % other.clear_port]}
    one.configuration["upstreams"] = {"self": {"endpoints": [url(relay)]}, "round": two, "chain": two}
    one.write()
    return one.start(), other


@pytest.mark.parametrize("path", ["/self/x", "/round/x"])
def test_a_loop_ends_when_the_request_comes_back(stand, path):
    one, other = stand
    before = len(one.access()), len(other.access())
    answer = one.get(path)
    assert (answer.status, answer["Cache-Control"]) == (508, "no-store") and b"loop_detected" in answer.body
    assert b"goes in a circle" in answer.body
    # It came twice: from the client and from itself.
    lines = one.access()[before[0]:]
    assert sorted(line.get("reason") or "" for line in lines)[-1] == "loop_detected" and len(lines) == 2
    assert len(other.access()) - before[1] == (path == "/round/x")


def test_a_loop_ends_in_every_protocol(stand):
    one, _ = stand
    with Frames(one.port) as client:
        assert client.exchange("GET", "/round/x").status == 508
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert one.get("/round/x", upgrade).status == 508


def test_a_chain_of_two_gateways_is_no_loop(stand):
    one, other = stand
    via = dict(fields_at_upstream(one.get("/chain/headers")))["via"]
    first, second = (PSEUDONYM.match(hop)[1] for hop in via.split(", "))
    assert first != second
    # All workers of a node, and the node after a start, are one gateway.
    other.stop()
    other.start()
    assert {dict(fields_at_upstream(one.get("/chain/headers")))["via"] for _ in range(8)} == {via}


def test_only_our_own_name_counts(stand):
    one, _ = stand
    own = dict(fields_at_upstream(one.get("/chain/headers")))["via"].split(", ")[0]
    assert one.get("/chain/headers", {"Via": "1.1 edge (%s), 2.0 sallyport-000000000000" % own.split()[1]}).status == 200
    for via in (own, "1.0 edge, " + own.upper() + " (comment), 1.1 edge"):
        answer = one.get("/chain/headers", {"Via": via})
        assert (answer.status, answer["Proxy-Status"]) == (508, "sallyport; error=proxy_loop_detected"), via

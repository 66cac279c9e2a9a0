# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What passes through a WebSocket relay: every kind of message, both ways of ending, a thousand at once."""
import asyncio
import os
import socket
import ssl
import time

import pytest
import websockets.asyncio.client
import websockets.exceptions
import websockets.sync.client

import gateway as binary
import upstreams as peers
import wsserver
from conftest import route, url


@pytest.fixture(scope="module")
def echo():
    server = wsserver.Server(subprotocols=["chat"])
    yield server
    server.stop()


@pytest.fixture(scope="module")
def over(make, echo):
    return make([route("all", "/", "all", access="open", timeouts={"idle": "20s"})], {"all": {"endpoints": [url(echo)]}}, workers=1)


@pytest.fixture(params=["clear", "tls"])
def connect(request, over, authority):
    trust = ssl.create_default_context(cafile=str(authority.path))

    def connect(path="/echo", **more):
        options = dict(max_size=None, compression=None, **more)
        if request.param == "tls":
            return websockets.sync.client.connect("wss://localhost:%d%s" % (over.port, path), ssl=trust, **options)
        return websockets.sync.client.connect("ws://localhost:%d%s" % (over.clear_port, path), **options)

    return connect


@pytest.mark.parametrize("message", ["", "x", "grüße " * 1000, b"", b"\x00\xff" * 1000, os.urandom(1_000_000)], ids=["no text", "letter", "text", "no bytes", "bytes", "megabyte"])
def test_messages(connect, message):
    with connect() as client:
        for _ in range(5):
            client.send(message)
            assert client.recv(timeout=10) == message


def test_sixteen_megabytes(connect):
    message = os.urandom(16 << 20)
    with connect() as client:
        client.send(message)
        assert client.recv(timeout=60) == message


@pytest.mark.parametrize("parts", [["a", "b", "c"], [b"x" * 100_000] * 20, ["ä"] * 300])
def test_fragments(connect, parts):
    with connect() as client:
        client.send(iter(parts))
        assert client.recv(timeout=10) == type(parts[0])().join(parts)


def test_pings_both_ways(connect):
    with connect("/ping") as client:
        assert client.recv(timeout=5) == "pong came"
        assert client.ping(b"12345").wait(5)


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1011, 3000, 4999])
def test_close_codes_of_the_upstream(connect, code):
    with connect("/close-%d" % code) as client:
        with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
            client.recv(timeout=5)
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (code, "as asked")


@pytest.mark.parametrize("code", [1000, 1001, 3999, 4000])
def test_close_codes_of_the_client(connect, echo, code):
    before = len(echo.endings)
    client = connect()
    client.send("x")
    client.recv(timeout=5)
    began = time.monotonic()
    client.close(code, "enough")
    assert time.monotonic() - began < 2
    wait(lambda: len(echo.endings) > before)
    assert echo.endings[-1] == (code, "enough")


def wait(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


HANDSHAKE = b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"


@pytest.fixture
def scripted(make):
    made = []

    def scripted(script):
        server = peers.Scripted(script)
        made.append(server)
        return make([route("all", "/", "all", access="open", timeouts={"idle": "2s"})], {"all": {"endpoints": [url(server)]}}, workers=1)

    yield scripted
    for server in made:
        server.stop()


def test_a_client_that_ends_its_side_still_hears_the_upstream(scripted):
    def script(connection, number):
        connection.head()
        connection.send(SWITCH + b"first ")
        while b"last words" not in connection.buffer:
            connection.more()
        with pytest.raises(EOFError):
            connection.more()
        time.sleep(0.2)
        connection.send(b"heard: " + connection.buffer)

    gateway = scripted(script)
    with gateway.wire() as client:
        client.send(HANDSHAKE)
        client.until(b"first ")
        client.send(b"last words")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.until(b"heard: last words")
        assert not client.fill()


def test_an_upstream_that_ends_its_side_still_hears_the_client(scripted):
    heard = []

    def script(connection, number):
        connection.head()
        connection.send(SWITCH + b"that is all")
        connection.socket.shutdown(socket.SHUT_WR)
        try:
            while True:
                connection.more()
        except EOFError:
            heard.append(connection.buffer)

    gateway = scripted(script)
    with gateway.wire() as client:
        client.send(HANDSHAKE)
        client.until(b"that is all")
        assert not client.fill()
        client.send(b"and one more thing")
        time.sleep(0.1)
    wait(lambda: heard)
    assert heard == [b"and one more thing"]


def test_a_side_that_ends_and_a_side_that_is_silent_end_with_idle(scripted):
    def script(connection, number):
        connection.head()
        connection.send(SWITCH)
        with pytest.raises(EOFError):
            connection.more()
        time.sleep(10)

    gateway = scripted(script)
    with gateway.wire() as client:
        client.send(HANDSHAKE)
        client.head()
        client.socket.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        assert not client.fill()
        assert 1.5 < time.monotonic() - began < 4


def test_a_thousand_open_sockets(over, echo):
    async def main():
        sockets = []
        for _ in range(20):
            sockets += await asyncio.gather(*(
                websockets.asyncio.client.connect("ws://localhost:%d/echo" % over.clear_port, ping_interval=None, compression=None, open_timeout=30)
                for _ in range(50)))
        memory = binary.memory(over.workers())
        metrics = over.metrics()
        for turn in range(3):
            await asyncio.gather(*(one.send("%d %d" % (turn, i)) for i, one in enumerate(sockets)))
            answers = await asyncio.gather(*(one.recv() for one in sockets))
            assert answers == ["%d %d" % (turn, i) for i in range(1000)]
        await asyncio.gather(*(one.close() for one in sockets))
        return memory, metrics

    before = binary.memory(over.workers())
    memory, metrics = asyncio.run(main())
    assert metrics["sallyport_open_connections"] >= 1000
    assert (memory - before) / 1000 < 40, "kilobytes a socket"
    wait(lambda: over.metrics()["sallyport_open_connections"] < 10)
    assert over.metrics()['sallyport_upstream_connections{upstream="all",protocol="http/1.1"}'] == 0


# -- tokens of pages, which can set no field of a handshake ---------------------------------------------------------------

MARKER = "sallyport.bearer"


def test_an_offered_token_becomes_authorization_and_is_offered_no_further(connect, echo):
    with connect(subprotocols=["chat", MARKER, "aa.bb.cc"]) as client:
        assert client.subprotocol == "chat"
        client.send("x")
        assert client.recv(timeout=5) == "x"
    seen = echo.handshakes[-1].headers
    assert seen.get_all("Sec-WebSocket-Protocol") == ["chat"]
    assert seen.get_all("Authorization") == ["Bearer aa.bb.cc"]


@pytest.mark.parametrize("offered", [[MARKER, "aa.bb.cc"], [MARKER, "aa.bb.cc", "unknown"]])
def test_the_marker_is_chosen_where_nothing_else_is(connect, echo, offered):
    with connect(subprotocols=offered) as client:
        assert client.subprotocol == MARKER
    seen = echo.handshakes[-1].headers
    assert seen.get_all("Sec-WebSocket-Protocol") == offered[2:]
    assert seen.get_all("Authorization") == ["Bearer aa.bb.cc"]


@pytest.mark.parametrize("offered", [
    ["chat", MARKER, "aa.bb.cc", MARKER, "aa.bb.cc"], [MARKER, "aa.bb.cc", "chat", "aa.bb.cc"], ["aa.bb.cc", "chat", MARKER, "aa.bb.cc"],
])
def test_no_copy_of_a_token_is_offered_to_the_upstream(over, echo, offered):
    """Twice the same token is one token; a copy beside it would stand in the upstream's log."""
    before = len(echo.handshakes)
    with over.wire() as client:
        lines = "".join("Sec-WebSocket-Protocol: %s\r\n" % one for one in offered)
        client.send("GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n" % lines)
        assert client.head().status == 101
        wait(lambda: len(echo.handshakes) > before)
    seen = echo.handshakes[before].headers
    assert seen.get_all("Sec-WebSocket-Protocol") == ["chat"]
    assert seen.get_all("Authorization") == ["Bearer aa.bb.cc"]


def test_outside_a_handshake_no_subprotocol_goes_on(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1)
    seen = gateway.get("/headers", {"Sec-WebSocket-Protocol": MARKER + ", aa.bb.cc", "X-Kept": "1"})
    assert b"aa.bb.cc" not in seen.body and b"X-Kept" in seen.body


def test_other_subprotocols_pass_as_they_are(connect, echo):
    with connect(subprotocols=["a", "chat"]) as client:
        assert client.subprotocol == "chat"
    seen = echo.handshakes[-1].headers
    assert [p.strip() for v in seen.get_all("Sec-WebSocket-Protocol") for p in v.split(",")] == ["a", "chat"]
    assert "Authorization" not in seen


@pytest.mark.parametrize("offered,fields,reason", [
    ([MARKER], {}, "websocket_token_missing"),
    (["chat", MARKER], {}, "websocket_token_missing"),
    ([MARKER, MARKER, "a"], {}, "websocket_token_missing"),
    ([MARKER, "a", "chat", MARKER, "b"], {}, "ambiguous_credentials"),
    ([MARKER, "a"], {"Authorization": "Bearer b"}, "ambiguous_credentials"),
])
def test_half_an_offer_is_refused(over, offered, fields, reason):
    answer = over.get("/echo", {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol": ", ".join(offered), **fields})
    assert answer.status == 400 and reason in answer.body.decode().lower()


def test_the_token_is_in_no_log(over, connect):
    with connect(subprotocols=[MARKER, "very-secret-token"]):
        pass
    assert "very-secret-token" not in over.output() + over.access_log.read_text()


def test_an_offered_token_is_judged_like_any(make, echo, files):
    pytest.importorskip("jwt")
    from tokens import Issuer

    home = files / "websocket-issuers"
    home.mkdir()
    issuer = Issuer(home, "sessions", "session")
    gateway = make([route("all", "/", "all", access={"organizations": ["acme"], "credentials": ["session_token"]})],
                   {"all": {"endpoints": [url(echo)]}}, workers=1, issuers=[issuer.settings])
    gateway.create_organization("acme")
    issuer.app = gateway.configuration["routes"][0]["app"] = gateway.create_app("pages").id
    gateway.write()
    assert gateway.run("reload").returncode == 0

    def connect(offered):
        return websockets.sync.client.connect("ws://localhost:%d/echo" % gateway.clear_port, subprotocols=offered, compression=None)

    good = issuer.token("ES256", sub="ada")
    with connect([MARKER, good]) as client:
        client.send("x")
        assert client.recv(timeout=5) == "x" and client.subprotocol == MARKER
    seen = echo.handshakes[-1].headers
    assert seen["Sallyport-Person"] == "ada" and seen["Sallyport-Credential"] == "session_token"
    for offered in (None, ["chat"], [MARKER, good[:-4] + "AAAA"]):
        with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
            connect(offered)
        assert refused.value.response.status_code == 401

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""WebSockets and event streams end with the credential that opened them."""
import contextlib
import socket
import struct
import threading
import time

import grpc
import pytest
import websockets.exceptions
import websockets.sync.client as client

import grpcserver
import upstreams
from conftest import route, url
from tokens import Issuer, bearer, mint

ACCESS = {"organizations": ["acme"], "credentials": ["session_token", "app_token", "api_key", "origin"], "person": "optional"}


@pytest.fixture(scope="module")
def issuer(files):
    directory = files / "stream-issuers"
    directory.mkdir(exist_ok=True)
    return Issuer(directory, "sessions", "session")


@pytest.fixture(scope="module")
def people(files):
    directory = files / "stream-people"
    directory.mkdir(exist_ok=True)
    return Issuer(directory, "people", "person")


@pytest.fixture(scope="module")
def served(make, backend, issuer, people):
    gateway = make(
        [route("api", "/v1/", access=ACCESS), route("sse", "/sse", access=ACCESS), route("stream", "/stream", access=ACCESS)],
        {"api": {"endpoints": [url(backend)]}},
        issuers=[issuer.settings, people.settings], tokens={"leeway": "0s"})
    gateway.create_organization("acme")
    return gateway


def connect(gateway, fields, path="/v1/ws", origin=None):
    return client.connect("ws://localhost:%d%s" % (gateway.clear_port, path), additional_headers=fields, origin=origin)


def closing(connection, seconds=3):
    """How the gateway closed: (code, reason, how long it took)."""
    began = time.monotonic()
    with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
        while True:
            connection.recv(timeout=seconds)
    assert closed.value.rcvd is not None, "no close frame: %s" % closed.value
    return closed.value.rcvd.code, closed.value.rcvd.reason, time.monotonic() - began


def is_alive(connection):
    connection.send("still here")
    return connection.recv(timeout=2) == "still here"


@pytest.mark.parametrize("act", ["token", "app watermark", "person watermark", "disable", "revoke app"])
def test_a_revoked_token_closes_its_sockets_within_a_second_and_no_others(served, act):
    app, other = (served.create_app(n + act.replace(" ", "-")) for n in ("a-", "b-"))
    token, kept = mint(served, app, "session_token", person="p-" + act.replace(" ", "-")), mint(served, other, "session_token")
    with connect(served, {"X-App-Id": app.id, **bearer(token["token"])}) as mine, connect(served, {"X-App-Id": other.id, **bearer(kept["token"])}) as theirs:
        assert is_alive(mine) and is_alive(theirs)
        time.sleep(1.1)
        command = {
            "token": ("tokens", "revoke", token["token_id"]), "app watermark": ("tokens", "revoke", "--app", app.id),
            "person watermark": ("tokens", "revoke", "--person", "p-person-watermark", "--org", "acme"),
            "disable": ("apps", "disable", "--app", app.id), "revoke app": ("apps", "revoke", "--app", app.id),
        }[act]
        served.cli(*command)
        code, reason, took = closing(mine)
        assert (code, reason) == (4401, "credential_revoked")
        assert took < 1
        assert is_alive(theirs)


def test_a_revoked_key_closes_its_sockets(served):
    app = served.create_app("keyed")
    second, second_id = served.create_key(app, "second")
    with connect(served, app.fields) as mine, connect(served, {"X-App-Id": app.id, "X-Api-Key": second}) as theirs:
        assert is_alive(mine) and is_alive(theirs)
        served.cli("keys", "revoke", app.key_id, "--app", app.id)
        assert closing(mine)[0] == 4401
        assert is_alive(theirs)


def test_an_origin_that_is_removed_closes_its_sockets(served):
    app = served.create_app("web", origins=["https://a.example", "https://b.example"])
    with connect(served, {"X-App-Id": app.id}, origin="https://a.example") as mine, connect(served, {"X-App-Id": app.id}, origin="https://b.example") as theirs:
        assert is_alive(mine) and is_alive(theirs)
        served.cli("origins", "remove", "https://a.example", "--app", app.id)
        assert closing(mine)[0] == 4401
        assert is_alive(theirs)


def test_development_sockets_end_with_the_mode(served):
    app = served.create_app("dev")
    served.cli("dev-mode", "on", "--hours", "1", "--app", app.id)
    development = mint(served, app, "session_token", trust="development")["token"]
    attested = mint(served, app, "session_token", trust="hardware")["token"]
    with connect(served, {"X-App-Id": app.id, **bearer(development)}) as mine, connect(served, {"X-App-Id": app.id, **bearer(attested)}) as theirs:
        assert is_alive(mine) and is_alive(theirs)
        served.cli("dev-mode", "off", "--app", app.id)
        assert closing(mine)[:2] == (4401, "credential_revoked")
        assert is_alive(theirs)


def test_a_person_beside_who_is_revoked_closes_too(served, people):
    app = served.create_app("persons")
    fields = {**app.fields, "x-client-authorization": people.token(sub="gone", iat=int(time.time()) - 5)}
    with connect(served, fields) as mine, connect(served, app.fields) as theirs:
        assert is_alive(mine) and is_alive(theirs)
        served.cli("tokens", "revoke", "--person", "gone", "--org", "acme")
        assert closing(mine)[0] == 4401
        assert is_alive(theirs)


def test_sockets_end_when_their_token_runs_out_and_not_all_at_one_moment(served, issuer):
    app = served.create_app("expiring")
    end = int(time.time()) + 3
    token = issuer.token(exp=end, app_id=app.id)
    with contextlib.ExitStack() as stack:
        open_ones = [stack.enter_context(connect(served, {"X-App-Id": app.id, **bearer(token)})) for _ in range(24)]
        ended = []

        def watch(one):
            code, reason, _ = closing(one, seconds=6)
            ended.append((time.time() - end, code, reason))

        threads = [threading.Thread(target=watch, args=(one,)) for one in open_ones]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert {(code, reason) for _, code, reason in ended} == {(4401, "credential_expired")} and len(ended) == 24
        times = sorted(late for late, _, _ in ended)
        assert times[0] > -0.05 and times[-1] < 1.05, times
        assert times[-1] - times[0] > 0.1, times


def test_a_socket_without_an_end_is_left_alone(served):
    app = served.create_app("quiet")
    with connect(served, app.fields) as one:
        # A change of the app that takes nothing away.
        served.cli("origins", "add", "https://new.example", "--app", app.id)
        time.sleep(1.2)
        assert is_alive(one)


def events(gateway, fields, path="/sse?n=200&delay=0.05"):
    """An open event stream: (socket, bytes so far)."""
    stream = socket.create_connection(("127.0.0.1", gateway.clear_port), 5)
    lines = ["GET %s HTTP/1.1" % path, "Host: localhost", "Connection: close"] + ["%s: %s" % field for field in fields.items()]
    stream.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    head = stream.recv(65536)
    assert b" 200 " in head, head
    return stream


def ending(stream, seconds=3):
    """How long the stream went on; whether it ended as a whole body does."""
    began, tail = time.monotonic(), b""
    stream.settimeout(seconds)
    while part := stream.recv(65536):
        tail = (tail + part)[-16:]
    return time.monotonic() - began, tail.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("path", ["/sse?n=200&delay=0.05", "/stream?n=200&delay=0.05"])
def test_a_stream_of_a_revoked_credential_is_cut(served, path):
    app = served.create_app("events-" + path[1:4])
    token = mint(served, app, "session_token")
    mine = events(served, {"X-App-Id": app.id, **bearer(token["token"])}, path)
    theirs = events(served, app.fields, path)
    served.cli("tokens", "revoke", token["token_id"])
    took, is_whole = ending(mine)
    assert took < 1 and not is_whole
    theirs.settimeout(1)
    assert theirs.recv(10)
    theirs.close()


@pytest.fixture(scope="module")
def calls(make, issuer, authority):
    server = grpcserver.Server()
    gateway = make([route("echo", "/test.Echo/", "grpc", access=ACCESS)], {"grpc": {"endpoints": [server.endpoint], "protocol": "h2"}},
                   issuers=[issuer.settings], tokens={"leeway": "0s"}, workers=1)
    gateway.create_organization("acme")
    yield gateway
    server.stop()


def ended(call):
    """How a call ended: what it heard before, the status, the words and the seconds it took."""
    began, heard = time.monotonic(), 0
    with pytest.raises(grpc.RpcError) as error:
        for _ in call:
            heard += 1
    return heard, error.value.code(), error.value.details(), time.monotonic() - began


@pytest.mark.parametrize("answered", [True, False])
def test_a_call_of_a_revoked_credential_ends_with_unauthenticated(calls, authority, answered):
    """With trailers where the answer has begun, else with trailers alone; the same call of another app goes on."""
    app, other = calls.create_app("grpc-a%d" % answered), calls.create_app("grpc-b%d" % answered)
    quiet = threading.Event()

    def silent():
        quiet.wait(5)
        yield from ()

    def begin(client, app):
        fields = [("x-app-id", app.id), ("x-api-key", app.key)]
        return client.server_stream("Endless")(b"", metadata=fields, timeout=10) if answered else client.client_stream("Count").future(silent(), metadata=fields, timeout=10)

    with grpcserver.Client(calls, authority) as client:
        mine, theirs = begin(client, app), begin(client, other)
        if answered:
            next(mine), next(theirs)
        else:
            time.sleep(0.5)
        calls.cli("keys", "revoke", app.key_id, "--app", app.id)
        if answered:
            heard, code, words, took = ended(mine)
            assert (code, words) == (grpc.StatusCode.UNAUTHENTICATED, "credential_revoked") and took < 2
            assert len(next(theirs)) == 100
            theirs.cancel()
        else:
            error = mine.exception(5)
            assert error.code() == grpc.StatusCode.UNAUTHENTICATED, error
            quiet.set()
            assert theirs.result(5) == b"[0, 0]"


def test_a_call_ends_with_its_token(calls, issuer, authority):
    app = calls.create_app("grpc-expiring")
    fields = [("x-app-id", app.id), ("authorization", "Bearer " + issuer.token(exp=int(time.time()) + 2, app_id=app.id))]
    with grpcserver.Client(calls, authority) as client:
        heard, code, words, took = ended(client.server_stream("Endless")(b"", metadata=fields, timeout=10))
    assert heard > 5 and (code, words) == (grpc.StatusCode.UNAUTHENTICATED, "credential_expired") and 0.5 < took < 3.5


def test_an_event_stream_ends_with_its_token_and_a_download_is_finished(served, issuer):
    app = served.create_app("long")
    token = issuer.token(exp=int(time.time()) + 2, app_id=app.id)
    fields = {"X-App-Id": app.id, **bearer(token)}
    stream, download = events(served, fields), events(served, fields, "/stream?n=70&delay=0.05")
    took, is_whole = ending(stream, 6)
    assert 0.5 < took < 3.2 and not is_whole
    assert ending(download, 8)[1]


SWITCH = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
          b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")


def test_the_close_frame_stands_between_two_frames(make):
    """An upstream that is in the middle of a long frame: the client gets all of it, then the close."""
    go_on = threading.Event()

    def script(connection, _):
        connection.head()
        connection.send(SWITCH)
        connection.send(b"\x82\x7e" + struct.pack(">H", 1000) + b"a" * 400)
        go_on.wait(5)
        # The rest of the frame and a next one, in one piece.
        connection.send(b"a" * 600 + b"\x82\x03bcd")
        time.sleep(3)

    server = upstreams.Scripted(script)
    gateway = make([route("api", "/v1/", access=ACCESS)], {"api": {"endpoints": [url(server)]}}, workers=1)
    gateway.create_organization("acme")
    app = gateway.create_app("framed")
    with socket.create_connection(("127.0.0.1", gateway.clear_port), 5) as raw:
        raw.sendall(("GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-App-Id: %s\r\nX-Api-Key: %s\r\n\r\n" % (app.id, app.key)).encode())
        got = b""
        while got.count(b"a" * 400) == 0:
            got += raw.recv(65536)
        gateway.cli("keys", "revoke", app.key_id, "--app", app.id)
        time.sleep(0.05)
        go_on.set()
        raw.settimeout(3)
        while part := raw.recv(65536):
            got += part
    frames = got.split(b"\r\n\r\n", 1)[1]
    assert frames[:4] == b"\x82\x7e" + struct.pack(">H", 1000)
    assert frames[4:1004] == b"a" * 1000
    rest = frames[1004:].removeprefix(b"\x82\x03bcd")
    assert rest == b"\x88\x14" + struct.pack(">H", 4401) + b"credential_revoked"
    server.stop()


def test_what_ended_is_counted_and_logged(served):
    app = served.create_app("counted")
    token = mint(served, app, "session_token")
    before = served.metrics().get('sallyport_streams_ended_total{reason="revoked"}', 0)
    with connect(served, {"X-App-Id": app.id, **bearer(token["token"])}) as one:
        assert is_alive(one)
        served.cli("tokens", "revoke", token["token_id"])
        closing(one)
    time.sleep(0.3)
    assert served.metrics()['sallyport_streams_ended_total{reason="revoked"}'] == before + 1
    line = next(line for line in reversed(served.access()) if line["app"] == app.id)
    assert (line["status"], line["reason"]) == (101, "credential_revoked")

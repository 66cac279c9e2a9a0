# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What a client that reads late still gets, and how long it may take: kept connections, drains, uploads beside an answer."""
import fcntl
import json
import os
import signal
import socket
import struct
import termios
import threading
import time

import pytest

import gateway as binary
import h2server
import upstreams
from conftest import route, to_h2, url
from frames import DATA, MAX_CONCURRENT_STREAMS, Frames, frame
from test_upstream_metrics import becomes

SIZE = 200_000
LONG = 300_000


def zeros(connection, number):
    while True:
        count = int(connection.head().split()[1][1:])
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % count + bytes(count))


def slow_reader(port, request):
    """A client whose kernel takes next to nothing for it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(10)
    client.connect(("127.0.0.1", port))
    client.sendall(request)
    return client


def rest(client):
    got = b""
    try:
        while part := client.recv(65536):
            got += part
    except ConnectionError:
        pass
    return got


GET = b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n"


def lines(gateway):
    return gateway.access_log.read_bytes().count(b"\n") if gateway.access_log.exists() else 0


def test_a_kept_connection_ends_though_its_last_answer_was_read_late(make):
    server = upstreams.Scripted(zeros)
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1, timeouts={"keep_alive": "300ms"})
    with slow_reader(gateway.clear_port, GET % LONG) as client:
        # The keep-alive time passes while the answer waits; then it is read.
        becomes(lambda: lines(gateway) == 1)
        time.sleep(0.6)
        assert len(rest(client)) > LONG
    server.stop()


def test_a_drain_lets_the_last_answer_go_out(site):
    server = upstreams.Scripted(zeros)
    with binary.Gateway(site, [route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1) as gateway:
        with slow_reader(gateway.clear_port, GET % SIZE) as client:
            becomes(lambda: lines(gateway) == 1)
            gateway.process.terminate()
            becomes(lambda: refused(gateway.clear_port))
            head, _, body = rest(client).partition(b"\r\n\r\n")
            assert len(body) == SIZE
        gateway.process.wait(10)
    server.stop()


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return False
    except OSError:
        return True


@pytest.mark.parametrize("way", ["http/1.1", "h2"])
def test_an_uploader_that_reads_nothing_is_cut(make, way):
    """The answer comes as fast as the upload; neither deadline may put the other off."""
    def echo1(connection, number):
        connection.head()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        threading.Thread(target=pour, args=(connection,), daemon=True).start()
        while True:
            connection.more()
            connection.buffer = b""

    def pour(connection):
        try:
            while True:
                connection.send(b"10000\r\n" + bytes(65536) + b"\r\n")
        except OSError:
            pass

    def echo2(stream):
        stream.head(200)
        threading.Thread(target=endless, args=(stream,), daemon=True).start()
        while stream.read() is not None:
            pass

    def endless(stream):
        try:
            while True:
                stream.send(bytes(16384))
        except (ConnectionError, OSError):
            pass

    server = h2server.Server(echo2) if way == "h2" else upstreams.Scripted(echo1)
    upstream = to_h2(server) if way == "h2" else {"endpoints": [url(server)]}
    gateway = make([route("all", "/", access="open")], {"api": upstream}, workers=1, timeouts={"idle": "1500ms"}, http={"body": "1GiB"})
    with slow_reader(gateway.clear_port, b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n") as client:
        with pytest.raises(ConnectionError):
            for _ in range(300):
                client.sendall(b"1\r\nx\r\n")
                threading.Event().wait(0.05)
    assert gateway.access()[-1]["reason"] == "client_write_timeout"
    server.stop()


def test_what_is_cut_at_the_end_of_a_drain_is_recorded(site):
    def script(connection, number):
        connection.head()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        connection.more()

    server = upstreams.Scripted(script)
    with binary.Gateway(site, [route("all", "/", access="open")], {"api": {"endpoints": [url(server)]}}, workers=1,
                        timeouts={"drain": "1s"}) as gateway:
        with gateway.wire() as first, Frames(gateway.port) as second:
            first.request(target="/x")
            assert first.head().status == 200
            stream = second.request(path="/y")
            second.until(lambda: stream in second.streams and second.streams[stream].body == b"abc")
            assert gateway.stop() == 0
        written = [json.loads(line) for line in gateway.access_log.read_text().splitlines()]
        assert [(line["status"], line["reason"]) for line in written] == [(200, "going_away")] * 2
    server.stop()


def test_what_comes_too_late_for_a_client_is_not_recorded_as_delivered(make):
    """The answers to many requests are there when their connection ends by its client's fault, and most are still under way."""
    server = h2server.Server(lambda stream: None, settings={MAX_CONCURRENT_STREAMS: 1000})
    gateway = make([route("all", "/", access="open")], {"api": to_h2(server)}, workers=1, http2={"streams": 400})
    [worker] = gateway.workers()
    with Frames(gateway.port) as client:
        for _ in range(400):
            client.request(path="/x")
        becomes(lambda: len(server.requests) == 400)
        os.kill(worker, signal.SIGSTOP)
        try:
            client.send(frame(DATA, stream=0, payload=b"none may be here"))
            for stream in server.requests:
                stream.answer(b"ok")
        finally:
            os.kill(worker, signal.SIGCONT)
        client.until(lambda: client.eof)
        assert 1 not in client.streams
    becomes(lambda: lines(gateway) == 400)
    reasons = [line.get("reason") for line in gateway.access()]
    # Those before were answered while the connection was still open.
    assert set(reasons[reasons.index("client_closed"):]) == {"client_closed"}
    server.stop()


# -- a reset directly behind an answer
PIECES, PIECE = 1000, b"0123456789abcdef"


def resetting(connection, number):
    """Answers in small pieces, all of them or all but the last, and resets the connection when the peer's kernel has them."""
    framing, ending, *held = connection.head().split()[1].decode().strip("/").split("-")
    chunked, worker = framing == "chunks", connection.server.worker
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if held:
        os.kill(worker, signal.SIGSTOP)
    try:
        connection.send(b"HTTP/1.1 200 OK\r\n" + (b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % (PIECES * len(PIECE))) + b"\r\n\r\n")
        for _ in range(PIECES - (ending == "cut")):
            connection.send(b"10\r\n%s\r\n" % PIECE if chunked else PIECE)
        if chunked and ending == "whole":
            connection.send(b"0\r\n\r\n")
        end = time.monotonic() + 10
        while struct.unpack("i", fcntl.ioctl(connection.socket, termios.TIOCOUTQ, bytes(4)))[0] and time.monotonic() < end:
            time.sleep(0.001)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.socket.close()
    finally:
        os.kill(worker, signal.SIGCONT)


@pytest.fixture(scope="module")
def reset(make):
    server = upstreams.Scripted(resetting)
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(server)], "ejection": {"failures": 0}}}, workers=1)
    [server.worker] = gateway.workers()
    yield gateway
    server.stop()


def over_http1(gateway, path, tls):
    """Status, the bytes of the body that came, and whether it was whole."""
    with gateway.wire(tls=tls) as client:
        client.request(target=path)
        head, got = client.head(), b""
        try:
            if head["Content-Length"]:
                while len(got) < PIECES * len(PIECE):
                    got += client.exactly(len(PIECE))
            else:
                for piece in client.chunks(head):
                    got += piece
            return head.status, len(got), True
        except EOFError:
            return head.status, len(got), False


def over_http2(gateway, path):
    with Frames(gateway.port) as client:
        answer = client.answer(client.request(path=path))
        return answer.status, len(answer.body), answer.ended


WAYS = {"http/1.1": lambda g, p: over_http1(g, p, False), "http/1.1 over TLS": lambda g, p: over_http1(g, p, True), "http/2": over_http2}


@pytest.mark.parametrize("framing", ["chunks", "length"])
@pytest.mark.parametrize("ending", ["whole", "cut"])
@pytest.mark.parametrize("way", WAYS)
def test_every_byte_before_a_reset_reaches_the_client(reset, way, ending, framing):
    """With the reset all at once, as a worker meets it that was held up, and as it comes."""
    wanted = (200, len(PIECE) * (PIECES - (ending == "cut")), ending == "whole")
    for held in ("", "-held"):
        assert [WAYS[way](reset, "/%s-%s%s" % (framing, ending, held)) for _ in range(5)] == [wanted] * 5, held


def test_an_answer_without_a_length_of_its_own_that_is_cut_does_not_look_whole(reset):
    """HTTP/1.0 knows no chunks."""
    with reset.wire() as client:
        client.send("GET /chunks-cut HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert client.head().status == 200
        with pytest.raises(ConnectionResetError):
            while client.fill():
                pass
        assert client.buffer == PIECE * (PIECES - 1)

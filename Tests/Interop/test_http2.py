# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""HTTP/2 from clients: what a request becomes, streams side by side, early answers, the end of a connection."""
import hashlib
import json
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import httpx
import pytest

import frames
from conftest import route, url
from frames import Frames, head
from nodes import usually
from upstreams import backend
from wire import anything

KIB, MIB = 1 << 10, 1 << 20
SIZES = [0, 1, 1023, 16 * KIB, 16 * KIB + 1, 65537, 3 * MIB + 7]


@pytest.fixture
def client(gateway):
    with Frames(gateway.port) as one:
        yield one


@pytest.fixture
def own(make, backend):
    """own(**sections): a gateway for the case alone."""
    return lambda **sections: make([route("open", "/open/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, **sections)


def curl(*arguments, status=0):
    result = subprocess.run(["curl", "-sS", "--http2", *map(str, arguments)], capture_output=True, timeout=120)
    assert result.returncode == status, result.stderr
    return result.stdout


# -- real clients
def test_alpn_prefers_h2_and_takes_http_1_1(gateway):
    for offered, agreed in ((["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"), (["h2"], "h2")):
        context = anything()
        context.set_alpn_protocols(offered)
        with gateway.wire(tls=True, context=context) as one:
            assert one.socket.selected_alpn_protocol() == agreed
    with gateway.wire(tls=True) as one:  # no ALPN: HTTP/1.1
        assert one.exchange(target="/open/x").status == 200


@pytest.mark.parametrize("size", SIZES)
def test_curl_gets_and_posts(gateway, authority, files, size):
    sent = files / "sent2"
    sent.write_bytes(b"".join(backend.pattern(size)))
    got = curl("--cacert", authority.path, "-w", "%{http_version}", "%s/open/bytes?n=%d" % (gateway.url, size))
    assert got[-1:] == b"2" and hashlib.sha256(got[:-1]).hexdigest() == backend.pattern_sha256(size)
    got = curl("--cacert", authority.path, "--data-binary", "@%s" % sent, gateway.url + "/open/echo")
    assert got == sent.read_bytes()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["open", "secure"])
def test_httpx_gets_and_posts(gateway, trust, size, path):
    with httpx.Client(verify=trust, http2=True) as client:
        for query in ("", "&chunked=1"):
            answer = client.get("%s/%s/bytes?n=%d%s" % (gateway.url, path, size, query))
            assert answer.http_version == "HTTP/2"
            assert hashlib.sha256(answer.content).hexdigest() == backend.pattern_sha256(size)
        sent = b"".join(backend.pattern(size))
        answer = client.post("%s/%s/upload" % (gateway.url, path), content=sent)
        assert answer.json() == {"bytes": size, "sha256": hashlib.sha256(sent).hexdigest(), "trailers": []}
        answer = client.post("%s/%s/upload" % (gateway.url, path), content=iter([sent]) if sent else iter([]))
        assert answer.json()["bytes"] == size
        assert client.post("%s/%s/echo" % (gateway.url, path), content=sent).content == sent


def test_h2load_finds_no_fault(gateway):
    said = subprocess.run(["h2load", "-n", "4000", "-c", "8", "-m", "16", gateway.url + "/open/bytes?n=1024"], capture_output=True, text=True, timeout=120).stdout
    assert "4000 succeeded, 0 failed, 0 errored, 0 timeout" in said, said
    assert "Application protocol: h2" in said


def test_nghttp_reads_body_and_trailers(gateway):
    said = subprocess.run(["nghttp", "-v", "--no-verify-peer", gateway.url + "/open/trailers"], capture_output=True, text=True, timeout=30).stdout
    assert "x-sum" in said.lower() or "trailer" in said.lower(), said
    body = subprocess.run(["nghttp", "--no-verify-peer", gateway.url + "/open/bytes?n=300000"], capture_output=True, timeout=30).stdout
    assert hashlib.sha256(body).hexdigest() == backend.pattern_sha256(300000)


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_node_speaks_to_it(gateway):
    script = """
const http2 = require('http2');
const client = http2.connect(process.argv[1], {rejectUnauthorized: false});
let left = 20, sum = 0;
for (let i = 0; i < 20; i++) {
  const stream = client.request({':path': '/open/echo', ':method': 'POST'});
  let size = 0;
  stream.on('data', d => size += d.length);
  stream.on('end', () => { sum += size; if (--left === 0) { console.log(sum); client.close(); } });
  stream.end(Buffer.alloc(100000, 'x'));
}
"""
    said = subprocess.run(["node", "-e", script, gateway.url], capture_output=True, text=True, timeout=60)
    assert said.stdout.strip() == "2000000", said
    fetched = subprocess.run(
        ["node", "-e", "fetch(process.argv[1] + '/open/bytes?n=70000').then(r => r.arrayBuffer()).then(b => console.log(b.byteLength))", gateway.url],
        capture_output=True, text=True, timeout=60, env={"NODE_TLS_REJECT_UNAUTHORIZED": "0", "PATH": "/usr/bin:/bin"})
    assert fetched.stdout.strip() == "70000", fetched


# -- what reaches the upstream
def arrived(client, *arguments, **options):
    answer = client.exchange(*arguments, path=options.pop("path", "/open/headers"), **options)
    assert answer.status == 200, (answer, client.goaway)
    return [(n.lower(), v) for n, v in json.loads(answer.body)["fields"]]


def test_the_authority_becomes_host(client, gateway):
    got = arrived(client, authority="localhost:%d" % gateway.port)
    assert [v for n, v in got if n == "x-forwarded-host"] == ["localhost:%d" % gateway.port]
    assert len([v for n, v in got if n == "host"]) == 1
    assert not [n for n, _ in got if n.startswith(":")]


def test_cookie_crumbs_are_joined(client):
    got = arrived(client, fields=[("cookie", "a=1"), ("x-between", "y"), ("cookie", "b=2"), ("cookie", "c=3")])
    assert [v for n, v in got if n == "cookie"] == ["a=1; b=2; c=3"]


def test_a_body_without_length_is_chunked_and_one_with_length_is_not(client):
    stream = client.headers(head("POST", "/open/headers"), end=False)
    client.data(stream, b"hello", end=True)
    got = dict((n.lower(), v) for n, v in json.loads(client.answer(stream).body)["fields"])
    assert got.get("transfer-encoding") == "chunked" and "content-length" not in got
    stream = client.headers(head("POST", "/open/headers") + [("content-length", "5")], end=False)
    client.data(stream, b"hello", end=True)
    got = dict((n.lower(), v) for n, v in json.loads(client.answer(stream).body)["fields"])
    assert got.get("content-length") == "5" and "transfer-encoding" not in got
    got = dict(arrived(client))
    assert "content-length" not in got and "transfer-encoding" not in got


def test_te_trailers_is_not_passed_to_http_1_1(client):
    assert "te" not in dict(arrived(client, fields=[("te", "trailers")]))


def test_fields_of_ours_cannot_be_forged(client):
    got = arrived(client, fields=[("sallyport-app", "app_forged"), ("sallyport_app", "app_forged"), ("x-forwarded-for", "1.2.3.4")])
    assert not [v for n, v in got if "forged" in v]
    assert [v for n, v in got if n == "x-forwarded-for"] == ["127.0.0.1"]


def test_trailers_pass_both_ways(client):
    stream = client.headers(head("POST", "/open/upload"), end=False)
    client.data(stream, b"abc")
    client.headers([("x-sum", "9"), ("authorization", "secret"), ("sallyport-app", "x")], end=True, stream=stream)
    answer = client.answer(stream)
    assert answer.status == 200
    trailers = [[n.lower(), v] for n, v in json.loads(answer.body)["trailers"]]
    assert trailers == [["x-sum", "9"]]
    answer = client.exchange(path="/open/trailers")
    assert answer.status == 200 and answer.trailers, answer


def test_head_has_the_length_and_no_body(client):
    answer = client.exchange("HEAD", "/open/bytes?n=5000")
    assert (answer.status, answer["content-length"], answer.body) == (200, "5000", b"")


@pytest.mark.parametrize("status", [204, 304, 404, 500])
def test_any_status_passes(client, status):
    answer = client.exchange(path="/open/status?code=%d" % status)
    assert answer.status == status and answer.ended


def test_hints_come_before_the_answer(client):
    answer = client.exchange(path="/open/hints")
    assert [h[0][1] for h in answer.heads] == ["103", "200"]


def test_expect_continue(client):
    stream = client.headers(head("POST", "/open/upload") + [("expect", "100-continue"), ("content-length", "5")], end=False)
    client.until(lambda: client.streams.get(stream) is not None and client.streams[stream].heads)
    assert client.streams[stream].heads[0][0][1] == "100"
    client.data(stream, b"hello", end=True)
    answer = client.answer(stream)
    assert answer.status == 200 and json.loads(answer.body)["bytes"] == 5


def test_connection_fields_of_the_upstream_do_not_pass(client):
    answer = client.exchange(path="/open/close")
    assert answer.status == 200
    assert not {"connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"} & {n for n, _ in answer.fields}


def test_an_answer_cut_off_is_a_reset(client):
    answer = client.exchange(path="/open/cut?n=100000")
    assert answer.reset == frames.INTERNAL_ERROR and not answer.ended


# -- judging
def test_each_request_is_judged_by_itself(gateway, client, app):
    key = [(n.lower(), v) for n, v in app.fields.items()]
    first = client.request(path="/v1/x", fields=key)
    second = client.request(path="/v1/x")
    third = client.request(path="/v1/x", fields=key)
    assert client.answer(first).status == 200
    refused = client.answer(second)
    assert refused.status == 401 and b"invalid_app" in refused.body, refused
    assert client.answer(third).status == 200
    assert client.exchange(path="/nowhere/").status == 404


def test_a_preflight_is_answered(client, app):
    answer = client.exchange("OPTIONS", "/v1/x", [("origin", "https://app.example"), ("access-control-request-method", "GET")])
    assert answer.status in (200, 204) and answer["access-control-allow-origin"] == "https://app.example", answer


def test_a_grpc_caller_is_refused_in_trailers_only(client, app):
    answer = client.exchange("POST", "/v1/pkg.Service/Call", [("content-type", "application/grpc"), ("te", "trailers")], body=b"\0\0\0\0\0")
    assert answer.status == 200 and answer["grpc-status"] == "16" and answer.body == b"", answer


def test_limits_answer_as_on_http_1_1(make, backend):
    gateway = make([route("open", "/open/", access="open", body="1KiB")],
                   {"api": {"endpoints": [url(backend)]}}, workers=1)
    with Frames(gateway.port) as client:
        answer = client.exchange("POST", "/open/upload", [("content-length", "2000")], body=b"x" * 2000)
        assert answer.status == 413, answer
        stream = client.headers(head("POST", "/open/upload"), end=False)
        client.data(stream, b"x" * 2000)
        assert client.answer(stream).status == 413
        assert client.exchange(path="/open/" + "a" * 9000).status == 414
        answer = client.exchange(fields=[("x-%d" % i, "y") for i in range(120)])
        assert answer.status == 431
        # RFC 9113 6.8: none of them ends the connection.
        assert client.exchange().status == 200
    lines = gateway.access()
    assert {line["status"] for line in lines} == {413, 414, 431, 200}
    assert all(line["proto"] == "HTTP/2" for line in lines), lines


def test_the_log_and_the_metrics_tell_the_protocol(gateway, client):
    name = 'sallyport_http_protocol_requests_total{protocol="HTTP/2"}'
    before = gateway.metrics().get(name, 0)
    assert client.exchange().status == 200
    end = time.monotonic() + 5
    while gateway.metrics().get(name, 0) <= before:
        assert time.monotonic() < end
        time.sleep(0.05)


# -- streams side by side
def test_a_slow_answer_holds_nobody_up(client):
    def others():
        slow = client.request(path="/open/slow?s=1")
        began = time.monotonic()
        for _ in range(5):
            assert client.exchange().status == 200
        took = time.monotonic() - began
        assert client.answer(slow).status == 200
        return took

    usually(0.9, others)


def test_an_answer_that_is_not_read_holds_nobody_up(gateway):
    with Frames(gateway.port, values={frames.INITIAL_WINDOW_SIZE: 10_000}) as client:
        client.credits = False
        stuck = client.request(path="/open/bytes?n=3000000")
        client.until(lambda: client.streams.get(stuck) is not None and len(client.streams[stuck].body) == 10_000)
        for _ in range(5):
            assert client.exchange(path="/open/bytes?n=1000").status == 200
        assert len(client.streams[stuck].body) == 10_000
        client.credits = True
        client.send(frames.frame(frames.WINDOW_UPDATE, stream=stuck, payload=frames.number(5_000_000)))
        client.send(frames.frame(frames.WINDOW_UPDATE, payload=frames.number(5_000_000)))
        assert hashlib.sha256(client.answer(stuck).body).hexdigest() == backend.pattern_sha256(3000000)


def test_an_upstream_connection_whose_last_client_was_slow_is_read_again(own):
    gateway = own()
    with Frames(gateway.port) as client:
        client.send(frames.frame(frames.WINDOW_UPDATE, payload=frames.number(100_000_000)))
        client.credits = False
        for size in range(126_976, 204_800, 4096):
            client.request(path="/open/bytes?n=%d" % size)
            assert client.ping()
            time.sleep(0.02)
            assert client.answer(client.request(), 3).status == 200, size


def test_several_uploads_go_on_beside_a_paused_one(client):
    assert client.ping()
    paused = client.headers(head("PUT", "/open/upload") + [("content-length", "400000")], end=False)
    client.upload(paused, 1000, end=False)
    for _ in range(5):
        stream = client.headers(head("PUT", "/open/upload") + [("content-length", "400000")], end=False)
        client.upload(stream, 400000)
        answer = client.answer(stream)
        assert answer.status == 200 and json.loads(answer.body)["bytes"] == 400000
    client.upload(paused, 399000)
    assert json.loads(client.answer(paused).body)["bytes"] == 400000


def test_bytes_pass_both_ways_at_once(client):
    stream = client.headers(head("POST", "/open/echo"), end=False)
    client.data(stream, b"one")
    client.until(lambda: client.streams.get(stream) is not None and client.streams[stream].body == b"one")
    client.data(stream, b"two")
    client.until(lambda: client.streams[stream].body == b"onetwo")
    client.data(stream, b"", end=True)
    assert client.answer(stream).ended


def test_an_upstream_that_does_not_read_holds_the_upload(make):
    from upstreams import free_port

    listener = socket.create_server(("127.0.0.1", free_port()))
    taken = []

    def serve():
        connection, _ = listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        taken.append(connection)

    threading.Thread(target=serve, daemon=True).start()
    gateway = make([route("open", "/", access="open", body="2GiB")], {"api": {"endpoints": ["http://127.0.0.1:%d" % listener.getsockname()[1]]}}, workers=1)
    with Frames(gateway.port) as client:
        stream = client.headers(head("POST", "/open/x"), end=False)
        assert client.ping()
        sent, idle = 0, 0
        while idle < 5:
            room = client.room(stream)
            if room <= 0:
                time.sleep(0.1)
                assert client.ping()
                idle += 1
                continue
            idle = 0
            client.upload(stream, min(room, 16384), end=False)
            sent += min(room, 16384)
            assert sent < 30 * MIB
        assert sent < 12 * MIB, "%d bytes were taken for an upstream that reads none" % sent
    listener.close()


def test_a_cancelled_request_frees_the_upstream(make):
    from upstreams import free_port

    listener = socket.create_server(("127.0.0.1", free_port()))
    gateway = make([route("open", "/", access="open")], {"api": {"endpoints": ["http://127.0.0.1:%d" % listener.getsockname()[1]]}}, workers=1)
    with Frames(gateway.port) as client:
        stream = client.request()
        upstream, _ = listener.accept()
        assert upstream.recv(65536)
        client.send(frames.frame(frames.RST_STREAM, stream=stream, payload=frames.number(frames.CANCEL)))
        upstream.settimeout(5)
        assert upstream.recv(65536) == b""
        assert client.ping()
    assert gateway.metrics()['sallyport_http2_resets_total{cause="cancel"}'] == 1
    listener.close()


@pytest.mark.parametrize("kind", ["curl1", "curl2", "httpx1", "httpx2"])
def test_events_come_as_they_are_sent(gateway, trust, authority, kind):
    """Each within 50 ms of its neighbours' spacing."""
    target = gateway.url + "/open/sse?n=10&delay=0.1"
    curl = ["curl", "-sSN", "--http2" if kind == "curl2" else "--http1.1", "--cacert", str(authority.path), target]

    def lines():
        if kind.startswith("curl"):
            with subprocess.Popen(curl, stdout=subprocess.PIPE, bufsize=0) as process:
                yield from (line.decode() for line in process.stdout)
        else:
            with httpx.Client(verify=trust, http2=kind == "httpx2") as client, client.stream("GET", target) as answer:
                yield from answer.iter_lines()

    def unevenness():
        times = [time.monotonic() for line in lines() if line.startswith("data:")]
        assert len(times) == 10
        return max(abs(later - earlier - 0.1) for earlier, later in zip(times, times[1:]))

    usually(0.05, unevenness)


# -- early answers
@pytest.fixture(scope="module")
def big(files):
    file = files / "hundred"
    with open(file, "wb") as out:
        for _ in range(100):
            out.write(b"x" * MIB)
    yield file
    file.unlink()


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_reads_a_401_while_it_uploads(gateway, app, authority, big, version):
    for _ in range(3):
        got = curl(version, "--cacert", authority.path, "-w", "\n%{http_code} %{http_version}", "-H", "Expect:", "-T", big, gateway.url + "/v1/upload")
        assert b"invalid_app" in got, got
        assert got.splitlines()[-1].split()[0] == b"401"


@pytest.mark.parametrize("http2", [False, True])
def test_httpx_reads_a_401_while_it_uploads(gateway, app, trust, big, http2):
    for _ in range(3):
        with httpx.Client(verify=trust, http2=http2, timeout=30) as client, open(big, "rb") as file:
            answer = client.put(gateway.url + "/v1/upload", content=file)
            assert answer.status_code == 401 and "invalid_app" in answer.text
            # A connection that still serves is used again.
            assert client.get(gateway.url + "/open/x").status_code == 200


def test_an_early_answer_is_whole_before_the_stream_is_ended(client, app):
    stream = client.headers(head("POST", "/v1/upload") + [("content-length", "100000000")], end=False)
    client.data(stream, b"x" * 16384)
    answer = client.answer(stream)
    assert answer.status == 401 and answer.ended and answer.reset is None
    client.until(lambda: client.streams[stream].reset is not None, 10)
    assert client.streams[stream].reset == frames.NO_ERROR
    assert client.exchange().status == 200


def test_an_upstream_that_answers_early_is_heard(client):
    stream = client.headers(head("POST", "/open/early?code=413"), end=False)
    client.data(stream, b"x" * 1000)
    answer = client.answer(stream)
    assert answer.status == 413 and answer.ended


# -- the end of a connection
def test_term_ends_a_connection_in_two_steps(own):
    gateway = own()
    with Frames(gateway.port) as client:
        slow = client.request(path="/open/slow?s=2")
        assert client.ping()
        gateway.process.send_signal(signal.SIGTERM)
        client.until(lambda: client.goaway is not None)
        assert (client.goaway.code, client.goaway.last_stream) == (frames.NO_ERROR, 0x7FFFFFFF)
        # What was on its way is still served; our answer to its PING ends that.
        late = client.request(path="/open/x")
        client.until(lambda: client.goaway.last_stream != 0x7FFFFFFF)
        assert client.goaway.code == frames.NO_ERROR and client.goaway.last_stream in (slow, late)
        served = client.goaway.last_stream
        assert client.answer(slow).status == 200
        if served == late:
            assert client.answer(late).status == 200
        client.until(lambda: client.eof, 10)
    assert gateway.process.wait(10) == 0


def test_a_stream_after_the_last_is_refused_unserved(own):
    gateway = own()
    with Frames(gateway.port) as client:
        slow = client.request(path="/open/slow?s=2")
        assert client.ping()
        gateway.process.send_signal(signal.SIGTERM)
        client.until(lambda: client.goaway is not None and client.goaway.last_stream != 0x7FFFFFFF)
        late = client.request(path="/open/x")
        assert client.answer(slow).status == 200
        assert client.streams.get(late, frames.Stream()).status is None
    gateway.process.wait(10)
    assert len([line for line in gateway.access() if line["status"] == 200]) == 1


def test_term_ends_an_idle_connection(own):
    gateway = own()
    with Frames(gateway.port) as client:
        assert client.exchange().status == 200
        gateway.process.send_signal(signal.SIGTERM)
        client.until(lambda: client.eof, 5)
        assert client.goaway is not None and client.goaway.last_stream == 1
    assert gateway.process.wait(10) == 0


def test_a_reload_that_changes_limits_ends_connections_gently_and_another_leaves_them(own):
    gateway = own()
    with Frames(gateway.port) as client:
        assert client.exchange().status == 200
        gateway.configuration["routes"].append(route("more", "/more/", access="open"))
        gateway.write()
        gateway.reload()
        end = time.monotonic() + 10
        while client.exchange(path="/more/x").status != 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert client.goaway is None
        gateway.configuration["http2"] = {"streams": 20}
        gateway.write()
        gateway.reload()
        client.until(lambda: client.eof, 10)
        assert client.goaway.code == frames.NO_ERROR
    with Frames(gateway.port) as client:
        assert client.ping()
        said = dict(struct.iter_unpack(">HI", client.frames[0].payload))
        assert said[frames.MAX_CONCURRENT_STREAMS] == 20


def test_an_idle_connection_is_closed(own):
    gateway = own(timeouts={"keep_alive": "1s", "header": "1s"})
    with Frames(gateway.port) as client:
        assert client.exchange().status == 200
        began = time.monotonic()
        client.until(lambda: client.eof, 10)
        assert 0.5 < time.monotonic() - began < 4 and client.goaway.code == frames.NO_ERROR
    with Frames(gateway.port, start=False) as client:  # not even a preface
        client.until(lambda: client.eof, 10)


def test_a_connection_ends_after_its_number_of_requests(own):
    gateway = own(connections={"requests": 5})
    with Frames(gateway.port) as client:
        for _ in range(5):
            assert client.exchange().status == 200
        client.until(lambda: client.eof, 5)
        assert client.goaway.code == frames.NO_ERROR and client.goaway.last_stream == 9


def test_a_silent_client_is_pinged_and_cut_off(own):
    gateway = own(http2={"ping": "1s"})
    with Frames(gateway.port) as client:
        client.request(path="/open/slow?s=8")
        client.until(lambda: any(f.type == frames.PING for f in client.frames), 4)  # answered by the test client
        time.sleep(0.5)
        assert client.ping()
        before = time.monotonic()
        client.take = lambda one: client.frames.append(one)  # from now on nothing is answered
        client.until(lambda: client.eof, 8)
        assert time.monotonic() - before < 6


def test_a_head_that_never_ends_is_cut_off(own):
    gateway = own(timeouts={"header": "1s"})
    with Frames(gateway.port) as client:
        assert client.exchange().status == 200
        block = client.block_of(head())
        client.send(frames.frame(frames.HEADERS, frames.END_STREAM, 3, block[:5]))
        client.until(lambda: client.eof, 6)
        assert client.goaway.code == frames.ENHANCE_YOUR_CALM


def test_a_body_that_stops_is_answered_408(own):
    gateway = own(timeouts={"idle": "1s"})
    with Frames(gateway.port) as client:
        stream = client.headers(head("POST", "/open/upload") + [("content-length", "5")], end=False)
        client.data(stream, b"he")
        assert client.answer(stream).status == 408
        assert client.exchange().status == 200


def test_an_answer_that_is_never_taken_is_cut_off(own):
    gateway = own(timeouts={"idle": "1s"})
    with Frames(gateway.port, values={frames.INITIAL_WINDOW_SIZE: 100}) as client:
        client.credits = False
        stuck = client.request(path="/open/bytes?n=100000")
        client.until(lambda: client.streams.get(stuck) is not None and client.streams[stuck].reset is not None, 6)
        assert client.streams[stuck].reset == frames.CANCEL
        assert client.ping()


# -- 421
def test_an_authority_of_another_certificate_is_421(make, authority, backend):
    pairs = [authority.issue("one2", ["one.test", "also.one.test"]), authority.issue("two2", ["*.two.test"])]
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    gateway.configuration["listeners"][0]["tls"] = {"certificates": [{"cert": c, "key": k} for c, k in pairs]}
    gateway.write()
    gateway.start()
    with Frames(gateway.port, name="one.test") as client:
        for name, status in (("one.test", 200), ("ONE.test:8443", 200), ("also.one.test", 200), ("a.two.test", 421), ("one.test.", 200),
                             ("other.test", 421), ("127.0.0.1", 421), ("one.test", 200), ("xone.test", 421)):
            answer = client.exchange(path="/x", authority=name)
            assert answer.status == status, name
            if status == 421:
                assert b"misdirected_request" in answer.body
    with Frames(gateway.port, name="a.two.test") as client:
        for name, status in (("a.two.test", 200), ("b.two.test", 200), ("two.test", 421), ("a.b.two.test", 421), ("one.test", 421)):
            assert client.exchange(path="/x", authority=name).status == status, name

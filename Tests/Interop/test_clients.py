# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Real clients, real upstreams: bodies of any size arrive byte for byte, in both directions, with flat memory."""
import asyncio
import hashlib
import json
import re
import subprocess
import threading
import time

import aiohttp
import httpx
import pytest
import requests

from conftest import route
from gateway import memory
from upstreams import backend, start_backend

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = [0, 1, 1023, 16 * KIB, 16 * KIB + 1, 65537, 3 * MIB + 7]


def curl(*arguments):
    result = subprocess.run(["curl", "-sS", "--http1.1", *map(str, arguments)], capture_output=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", ["open", "secure"])
def test_httpx_gets_and_posts(gateway, trust, size, path):
    with httpx.Client(verify=trust) as client:
        for query in ("", "&chunked=1"):
            answer = client.get("%s/%s/bytes?n=%d%s" % (gateway.url, path, size, query))
            assert hashlib.sha256(answer.content).hexdigest() == backend.pattern_sha256(size)
        sent = b"".join(backend.pattern(size))
        answer = client.post("%s/%s/upload" % (gateway.url, path), content=sent)
        assert answer.json() == {"bytes": size, "sha256": hashlib.sha256(sent).hexdigest(), "trailers": []}
        answer = client.post("%s/%s/upload" % (gateway.url, path), content=iter([sent]) if sent else iter([]))
        assert answer.json()["bytes"] == size
        assert client.post("%s/%s/echo" % (gateway.url, path), content=sent).content == sent


@pytest.mark.parametrize("size", SIZES)
def test_requests_gets_and_posts(gateway, authority, size):
    with requests.Session() as client:
        client.trust_env = False  # an authority named by the environment would win
        client.verify = str(authority.path)
        answer = client.get("%s/open/bytes?n=%d" % (gateway.url, size))
        assert hashlib.sha256(answer.content).hexdigest() == backend.pattern_sha256(size)
        sent = b"".join(backend.pattern(size))
        assert client.put(gateway.url + "/open/upload", data=sent).json()["sha256"] == hashlib.sha256(sent).hexdigest()


@pytest.mark.parametrize("size", SIZES)
def test_aiohttp_gets_and_posts(gateway, trust, size):
    async def speak():
        sent = b"".join(backend.pattern(size))
        async with aiohttp.ClientSession() as client:
            async with client.get("%s/open/bytes?n=%d" % (gateway.url, size), ssl=trust) as answer:
                assert hashlib.sha256(await answer.read()).hexdigest() == backend.pattern_sha256(size)
            async with client.post(gateway.url + "/open/upload", data=sent, ssl=trust) as answer:
                assert (await answer.json())["sha256"] == hashlib.sha256(sent).hexdigest()

            async def parts():
                for start in range(0, size, 50000):
                    yield sent[start:start + 50000]

            async with client.post(gateway.url + "/open/echo", data=parts(), ssl=trust) as answer:
                assert await answer.read() == sent

    asyncio.run(speak())


@pytest.mark.parametrize("size", SIZES)
def test_curl_gets_and_posts(gateway, authority, files, size):
    sent = files / "sent"
    sent.write_bytes(b"".join(backend.pattern(size)))
    got = curl("--cacert", authority.path, "%s/open/bytes?n=%d" % (gateway.url, size))
    assert hashlib.sha256(got).hexdigest() == backend.pattern_sha256(size)
    got = curl("--cacert", authority.path, "--data-binary", "@%s" % sent, gateway.url + "/open/echo")
    assert got == sent.read_bytes()


@pytest.mark.parametrize("name", ["curl", "httpx", "requests"])
def test_files_of_nginx_arrive(gateway, authority, trust, nginx, name):
    for size in SIZES:
        file = nginx.files / "file" / ("%d.bin" % size)
        file.write_bytes(b"".join(backend.pattern(size)))
        target = "%s/file/%d.bin" % (gateway.url, size)
        if name == "curl":
            got = curl("--cacert", authority.path, target)
        elif name == "httpx":
            got = httpx.get(target, verify=trust).content
        else:
            got = requests.get(target, verify=str(authority.path)).content
        assert hashlib.sha256(got).hexdigest() == backend.pattern_sha256(size)


def test_nginx_by_https_answers_ranges_and_conditions(make, authority, secure_nginx):
    gateway = make([route("all", "/", access="open")],
                   {"api": {"endpoints": ["https://localhost:%d" % secure_nginx.port], "tls": {"ca": str(authority.path)}}}, workers=1)
    (secure_nginx.files / "file" / "r.bin").write_bytes(b"0123456789")
    whole = gateway.get("/file/r.bin")
    assert whole.body == b"0123456789"
    assert gateway.get("/file/r.bin", {"Range": "bytes=2-4"}).body == b"234"
    assert gateway.get("/file/r.bin", {"If-None-Match": whole["ETag"]}).status == 304


def test_wrk_gets_only_good_answers(gateway):
    result = subprocess.run(["wrk", "-t2", "-c32", "-d3s", gateway.url + "/open/bytes?n=1024"], capture_output=True, text=True, timeout=60)
    assert re.search(r"(\d+) requests in", result.stdout), result.stdout + result.stderr
    assert int(re.search(r"(\d+) requests in", result.stdout)[1]) > 100
    assert "Non-2xx" not in result.stdout and "Socket errors" not in result.stdout, result.stdout


class MemoryWatch:
    """The highest resident memory of the workers while the block runs, over what it was before."""

    def __init__(self, gateway):
        self.pids = gateway.workers()

    def __enter__(self):
        self.before = memory(self.pids)
        self.highest, self.running = self.before, True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while self.running:
            self.highest = max(self.highest, memory(self.pids))
            time.sleep(0.05)

    def __exit__(self, *_):
        self.running = False
        self.thread.join()

    @property
    def grown(self):
        return self.highest - self.before


@pytest.mark.slow
@pytest.mark.parametrize("size", [256 * MIB, GIB])
@pytest.mark.parametrize("path", ["open", "secure"])
def test_a_large_download_passes_with_flat_memory(gateway, authority, size, path):
    with MemoryWatch(gateway) as watch:
        download = subprocess.Popen(["curl", "-sS", "--cacert", str(authority.path), "%s/%s/bytes?n=%d" % (gateway.url, path, size)], stdout=subprocess.PIPE)
        digest, count = hashlib.sha256(), 0
        while part := download.stdout.read(MIB):
            digest.update(part)
            count += len(part)
        assert download.wait(10) == 0
    assert count == size
    assert digest.hexdigest() == backend.pattern_sha256(size)
    assert watch.grown < 8 * KIB, "%d KiB" % watch.grown


@pytest.mark.slow
@pytest.mark.parametrize("size", [256 * MIB, GIB])
@pytest.mark.parametrize("length", ["chunked", "content-length"])
def test_a_large_upload_passes_with_flat_memory(gateway, authority, size, length):
    with MemoryWatch(gateway) as watch:
        seen = curl_upload(gateway, authority, size) if length == "chunked" else plain_upload(gateway, size)
    assert seen["bytes"] == size
    assert seen["sha256"] == backend.pattern_sha256(size)
    assert watch.grown < 8 * KIB, "%d KiB" % watch.grown


def curl_upload(gateway, authority, size):
    upload = subprocess.Popen(
        ["curl", "-sS", "--http1.1", "--cacert", str(authority.path), "-H", "Expect:", "-T", "-", "-X", "POST", gateway.url + "/open/upload"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for part in backend.pattern(size):
        upload.stdin.write(part)
    upload.stdin.close()
    seen = json.loads(upload.stdout.read())
    assert upload.wait(10) == 0
    return seen


def plain_upload(gateway, size):
    with gateway.wire(tls=True, timeout=60) as client:
        client.send("POST /open/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size)
        for part in backend.pattern(size):
            client.send(part)
        return client.answer().json()


@pytest.mark.slow
def test_a_reader_that_stops_costs_no_memory(gateway):
    """Back-pressure: 16 clients ask for 64 MiB each and read nothing."""
    with MemoryWatch(gateway) as watch:
        clients = [gateway.wire(tls=True) for _ in range(16)]
        for client in clients:
            client.request(target="/open/bytes?n=%d" % (64 * MIB))
        time.sleep(2)
        for client in clients:
            client.close()
    assert watch.grown < 16 * KIB, "%d KiB" % watch.grown


BAD = {
    "expired": dict(names=["localhost", "127.0.0.1"], days=(-10, -1)),
    "not yet valid": dict(names=["localhost", "127.0.0.1"], days=(5, 10)),
    "another name": dict(names=["elsewhere.test"]),
}


@pytest.mark.parametrize("fault", [*BAD, "unknown authority", "no tls"])
def test_a_certificate_error_of_an_upstream_is_502_with_a_reason(make, files, authority, backend, fault):
    if fault == "no tls":
        server, port = None, backend.port
    else:
        if fault == "unknown authority":
            import certificates

            (files / "stranger").mkdir(exist_ok=True)
            pair = certificates.Authority(files / "stranger", "Stranger").issue("stranger", ["localhost", "127.0.0.1"])
        else:
            pair = authority.issue("bad-" + fault.replace(" ", "-"), **BAD[fault])
        server = start_backend(files, "bad", tls=pair)
        port = server.port
    gateway = make([route("all", "/", access="open")],
                   {"api": {"endpoints": ["https://localhost:%d" % port], "tls": {"ca": str(authority.path)}}}, workers=1)
    answer = gateway.get("/x")
    assert answer.status == 502
    assert len(answer.all("Proxy-Status")) == 1
    assert re.search(r"error=(tls_certificate_error|tls_protocol_error|tls_alert_received)", answer["Proxy-Status"]), answer.fields
    assert "details=" in answer["Proxy-Status"] or answer.json()["data"]["reason"]
    if server:
        server.stop()

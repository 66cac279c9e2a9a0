# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The PROXY protocol in front of clear and TLS listeners: by hand, and from a real haproxy."""
import shutil
import socket
import struct
import time

import pytest

from conftest import route, url
from nodes import usually
from upstreams import Process, free_port
from wire import Wire, anything

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
V4 = socket.inet_aton("192.0.2.7") + socket.inet_aton("203.0.113.1") + struct.pack("!HH", 54321, 443)
V6 = socket.inet_pton(socket.AF_INET6, "2001:db8::9") + socket.inet_pton(socket.AF_INET6, "::1") + struct.pack("!HH", 8080, 80)
LISTED = "127.0.0.1"
GET = b"GET /headers HTTP/1.1\r\nHost: localhost\r\n\r\n"


def binary(command, family, block):
    return SIGNATURE + bytes([command, family]) + struct.pack("!H", len(block)) + block


@pytest.fixture(scope="module")
def stand(make, backend):
    """Both listeners ask for the header, from 127.0.0.1 only."""
    gateway = make([route("all", "/", access="open"), route("closed", "/closed/", access="open", clients={"deny": ["192.0.2.0/24"]})],
                   {"api": {"endpoints": [url(backend)]}}, workers=1, start=False,
                   timeouts={"handshake": "1s", "header": "1s"})
    for listener in gateway.configuration["listeners"]:
        listener["proxy_protocol"] = {"from": ["127.0.0.1/32", "127.0.0.3/32"]}
    gateway.write()
    return gateway.start()


def ask(gateway, header, tls=False, source=LISTED, pieces=False, path="/headers"):
    """One GET behind a header; the fields the upstream saw."""
    client = Wire(gateway.port if tls else gateway.clear_port, source=source)
    try:
        if pieces:
            for byte in header:
                client.send(bytes([byte]))
                time.sleep(0.002)
        else:
            client.send(header)
        if tls:
            client.socket = anything().wrap_socket(client.socket, server_hostname="localhost")
        answer = client.exchange("GET", path)
        return answer if answer.status != 200 else dict((n.lower(), v) for n, v in answer.json()["fields"])
    finally:
        client.close()


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
@pytest.mark.parametrize("header, client", [
    (b"PROXY TCP4 192.0.2.7 203.0.113.1 54321 443\r\n", "192.0.2.7"),
    (b"PROXY TCP6 2001:db8::9 ::1 8080 80\r\n", "2001:db8::9"),
    (b"PROXY UNKNOWN\r\n", LISTED),
    (b"PROXY UNKNOWN ffff:f... ffff:f... 65535 65535\r\n", LISTED),
    (binary(0x21, 0x11, V4), "192.0.2.7"),
    (binary(0x21, 0x21, V6), "2001:db8::9"),
    (binary(0x21, 0x11, V4 + b"\x04\0\x03abc" + b"\x20\0\x08" + bytes(8)), "192.0.2.7"),
    (binary(0x20, 0, b""), LISTED),
    (binary(0x20, 0x11, V4), LISTED),
    (binary(0x21, 0x31, bytes(216)), LISTED),
], ids=["v1-4", "v1-6", "v1-unknown", "v1-unknown-more", "v2-4", "v2-6", "v2-tlvs", "v2-local", "v2-local-with-address", "v2-unix"])
def test_the_client_is_whom_the_header_names(stand, header, client, tls):
    assert ask(stand, header, tls)["x-forwarded-for"] == client
    assert ask(stand, header, tls, pieces=True)["x-forwarded-for"] == client
    assert stand.access()[-1]["client"] == client


def test_header_and_request_may_come_in_one_segment(stand):
    with Wire(stand.clear_port, source=LISTED) as client:
        client.send(binary(0x21, 0x11, V4) + GET + GET)
        for _ in range(2):
            assert dict((n.lower(), v) for n, v in client.answer().json()["fields"])["x-forwarded-for"] == "192.0.2.7"


def test_rules_for_addresses_see_the_named_client(stand):
    assert ask(stand, b"PROXY TCP4 192.0.2.7 203.0.113.1 1 2\r\n", path="/closed/headers").status == 403
    assert ask(stand, b"PROXY TCP4 192.0.3.7 203.0.113.1 1 2\r\n", path="/closed/headers")["x-forwarded-for"] == "192.0.3.7"


def is_refused(gateway, data, source=LISTED, tls=False, within=3.0):
    with Wire(gateway.port if tls else gateway.clear_port, source=source) as client:
        try:
            client.send(data)
        except OSError:
            return True
        closed = client.is_closed(within)
        return closed and client.buffer == b""


@pytest.mark.parametrize("defence, data", [
    ("proxy_missing", GET),
    ("proxy_missing", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    ("proxy_malformed", b"PROXY TCP4 192.0.2.7 203.0.113.1 54321\r\n" + GET),
    ("proxy_malformed", b"PROXY TCP4 192.0.2.7 203.0.113.1 54321 443\n" + GET),
    ("proxy_malformed", binary(0x21, 0x11, V4[:-1]) + GET),
    ("proxy_malformed", binary(0x22, 0x11, V4) + GET),
    ("proxy_malformed", binary(0x31, 0x11, V4) + GET),
    ("proxy_malformed", binary(0x21, 0x12, V4) + GET),
    ("proxy_too_long", b"PROXY UNKNOWN " + b"x" * 200),
    ("proxy_too_long", SIGNATURE + b"\x21\x11\xff\xff"),
    ("proxy_too_slow", b"PROXY TCP4 192.0.2"),
    ("proxy_too_slow", b""),
    ("proxy_too_slow", binary(0x21, 0x11, V4)[:20]),
])
def test_a_connection_without_a_good_header_is_closed_in_silence(stand, defence, data):
    before = stand.defended(defence)
    assert is_refused(stand, data)
    assert stand.defended(defence) == before + 1
    assert "defence=" + defence in stand.output()


@pytest.mark.parametrize("tls", [False, True], ids=["clear", "tls"])
def test_the_header_counts_from_listed_addresses_only(stand, tls):
    before = stand.defended("proxy_unlisted")
    assert is_refused(stand, b"PROXY TCP4 192.0.2.7 203.0.113.1 1 2\r\n" + GET, source="127.0.0.9", tls=tls)
    assert is_refused(stand, GET, source="127.0.0.9", tls=tls)
    assert stand.defended("proxy_unlisted") == before + 2
    assert ask(stand, b"PROXY TCP4 192.0.2.7 203.0.113.1 1 2\r\n", source="127.0.0.3")["x-forwarded-for"] == "192.0.2.7"


def test_a_second_header_is_no_header(stand):
    with Wire(stand.clear_port, source=LISTED) as client:
        client.send(b"PROXY TCP4 192.0.2.7 203.0.113.1 1 2\r\nPROXY TCP4 192.0.2.8 203.0.113.1 1 2\r\n" + GET)
        assert client.answer().status == 400


def test_silent_balancers_do_not_stop_others(stand):
    silent = [Wire(stand.clear_port, source=LISTED) for _ in range(300)]
    for client in silent[::2]:
        client.send(b"PROXY ")
    def asking():
        began = time.monotonic()
        assert ask(stand, binary(0x21, 0x11, V4))["x-forwarded-for"] == "192.0.2.7"
        return time.monotonic() - began

    usually(1, asking)
    assert all(client.is_closed(3) for client in silent)
    for client in silent:
        client.close()


def test_without_required_a_listed_peer_may_begin_at_once(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    for listener in gateway.configuration["listeners"]:
        listener["proxy_protocol"] = {"from": ["127.0.0.1/32"], "required": False}
    gateway.write()
    gateway.start()
    for tls in (False, True):
        assert ask(gateway, b"", tls)["x-forwarded-for"] == LISTED
        assert ask(gateway, binary(0x21, 0x11, V4), tls)["x-forwarded-for"] == "192.0.2.7"
    assert is_refused(gateway, GET, source="127.0.0.9")


@pytest.mark.parametrize("word", ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options unique-id,crc32c"],
                         ids=["v1", "v2", "v2-tlvs"])
def test_a_real_haproxy_in_front(stand, files, word):
    binary_path = shutil.which("haproxy") or "/usr/sbin/haproxy"
    port, secure = free_port(), free_port()
    unique = "  unique-id-format %{+X}o%ts\n" if "unique-id" in word else ""
    file = files / ("haproxy-%d.cfg" % port)
    file.write_text(
        "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 10s\n  timeout server 10s\n"
        + "".join("listen l%d\n  bind 127.0.0.1:%d\n%s  server s 127.0.0.1:%d source 127.0.0.1 check inter 200ms %s\n" % (p, p, unique, q, word)
                  for p, q in ((port, stand.clear_port), (secure, stand.port))))
    proxy = Process([binary_path, "-db", "-f", file], files / "haproxy.log", port)
    try:
        for p, tls in ((port, False), (secure, True)):
            with Wire(p, tls=tls, source="127.0.0.5") as client:
                seen = dict((n.lower(), v) for n, v in client.exchange("GET", "/headers").json()["fields"])
                assert seen["x-forwarded-for"] == "127.0.0.5"
                assert client.exchange("GET", "/headers").status == 200
        # Its health checks say LOCAL (version 2) or UNKNOWN (version 1), and it keeps finding the gateway alive.
        time.sleep(1)
        with Wire(port, source="127.0.0.6") as client:
            assert client.exchange("GET", "/headers").status == 200
    finally:
        proxy.stop()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""TLS at the front door."""
import hashlib
import socket
import ssl
import subprocess
import time

import pytest

from conftest import route, url
from wire import Wire, anything


def context(**changes):
    made = anything()
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def fingerprint(port, name):
    with socket.create_connection(("127.0.0.1", port), 5) as plain, anything().wrap_socket(plain, server_hostname=name) as secure:
        return hashlib.sha256(secure.getpeercert(True)).hexdigest()


def of_file(pair):
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(open(pair[0]).read().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n")).hexdigest()


@pytest.fixture(scope="module")
def named(make, authority, backend):
    """Three certificates, no default; returns the gateway and the pairs."""
    pairs = {"exact": authority.issue("exact", ["exact.test"]), "wild": authority.issue("wild", ["*.wild.test"])}
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2, start=False)
    gateway.configuration["listeners"][0]["tls"] = {"certificates": [{"cert": c, "key": k} for c, k in pairs.values()]}
    gateway.write()
    gateway.start()
    return gateway, pairs


def test_the_name_picks_the_certificate(named):
    gateway, pairs = named
    assert fingerprint(gateway.port, "exact.test") == of_file(pairs["exact"])
    assert fingerprint(gateway.port, "a.wild.test") == of_file(pairs["wild"])


@pytest.mark.parametrize("name", ["unknown.test", "wild.test", "a.b.wild.test", None])
def test_an_unknown_name_is_refused_without_a_default(named, name):
    with pytest.raises((ssl.SSLError, ConnectionError)):
        fingerprint(named[0].port, name)


def test_an_authority_that_the_certificate_does_not_cover_is_421(named):
    gateway, _ = named
    with gateway.wire(tls=True, name="exact.test") as client:
        assert client.exchange(host="exact.test").status == 200
        assert client.exchange(host="a.wild.test").status == 421
        assert client.exchange(host="other.test").status == 421


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("version,works", [
    (ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)])
def test_only_modern_versions_are_spoken(gateway, version, works):
    made = anything()
    made.set_ciphers("ALL:@SECLEVEL=0")
    made.minimum_version = made.maximum_version = version
    try:
        with gateway.wire(tls=True, context=made) as client:
            assert client.exchange(target="/open/x").status == 200
            assert works
    except (ssl.SSLError, ConnectionError):
        assert not works


@pytest.mark.parametrize("cipher,works", [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", True), ("ECDHE-ECDSA-CHACHA20-POLY1305", True), ("ECDHE-ECDSA-AES128-SHA", False),
    ("ECDHE-ECDSA-AES128-SHA256", False), ("ECDHE-ECDSA-AES128-CCM", False)])
def test_only_forward_secret_aead_ciphers_are_spoken_in_1_2(gateway, cipher, works):
    made = anything()
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers(cipher + ":@SECLEVEL=0")
    try:
        with gateway.wire(tls=True, context=made):
            assert works
    except (ssl.SSLError, ConnectionError):
        assert not works


def test_http_1_1_is_agreed_by_alpn(gateway):
    made = anything()
    made.set_alpn_protocols(["http/1.1"])
    with gateway.wire(tls=True, context=made) as client:
        assert client.socket.selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_ticket_resumes_on_every_worker(gateway, version):
    made = anything()
    made.minimum_version = made.maximum_version = version
    with gateway.wire(tls=True, context=made) as client:
        client.exchange(target="/open/x")
        session = client.socket.session
    resumed = 0
    for _ in range(12):
        with socket.create_connection(("127.0.0.1", gateway.port), 5) as plain, \
                made.wrap_socket(plain, server_hostname="localhost", session=session) as secure:
            secure.sendall(b"GET /open/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
            secure.recv(10)
            resumed += secure.session_reused
            session = secure.session
    assert resumed == 12


def test_early_data_is_not_offered(gateway, files):
    saved = files / "session.pem"
    run = lambda *more: subprocess.run(
        ["openssl", "s_client", "-connect", "127.0.0.1:%d" % gateway.port, "-tls1_3", *more], input=b"GET /open/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        capture_output=True, timeout=20).stdout.decode(errors="replace")
    run("-sess_out", str(saved), "-ign_eof")
    early = files / "early"
    early.write_text("GET /open/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert "Early data was accepted" not in run("-sess_in", str(saved), "-early_data", str(early))


def test_a_clear_listener_redirects_when_told_to(make, backend):
    from upstreams import free_port

    port = free_port()
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    gateway.configuration["listeners"].append({"address": "127.0.0.1:%d" % port, "redirect": gateway.port})
    gateway.write()
    gateway.start()
    with Wire(port) as client:
        answer = client.exchange(target="/a?b=c", host="localhost:%d" % port)
    assert answer.status == 308
    assert answer["Location"] == "https://localhost:%d/a?b=c" % gateway.port


def test_a_certificate_is_reloaded_by_hup_and_when_its_file_changes(make, authority, backend, files):
    first = authority.issue("rolling", ["localhost"])
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=2, start=False)
    gateway.configuration["listeners"][0]["tls"] = {"certificates": [{"cert": first[0], "key": first[1]}], "default": first[0]}
    gateway.write()
    gateway.start()
    before = of_file(first)
    assert fingerprint(gateway.port, "localhost") == before
    kept = gateway.wire(tls=True)
    kept.exchange()

    def all_new(expected, seconds):
        end = time.monotonic() + seconds
        while {fingerprint(gateway.port, "localhost") for _ in range(12)} != {expected}:
            assert time.monotonic() < end, "the old certificate is still served"
            time.sleep(0.1)

    second = of_file(authority.issue("rolling", ["localhost"]))
    gateway.reload()
    all_new(second, 5)
    third = of_file(authority.issue("rolling", ["localhost"]))
    assert third not in (before, second)
    all_new(third, 60)
    assert kept.exchange().status == 200, "an open connection outlives the change"

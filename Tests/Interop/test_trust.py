# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The trust bundle of a running gateway: the status list on its timer, files that change, warnings, Play keys at rest."""
import base64
import http.server
import json
import pathlib
import shutil
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

import upstreams
from conftest import route, url

TRUST = pathlib.Path(__file__).resolve().parents[2] / "config/trust"


class ListServer:
    """Google's part: one document over TLS, with an entity tag."""

    def __init__(self, site):
        self.entries, self.status, self.seen = {"a1b2": {"status": "REVOKED"}}, 200, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.seen.append(self.headers.get("If-None-Match"))
                tag = '"%d"' % len(outer.entries)
                if outer.status == 200 and self.headers.get("If-None-Match") == tag:
                    return self.reply(304, b"", tag)
                self.reply(outer.status, json.dumps({"entries": outer.entries}).encode(), tag)

            def reply(self, status, body, tag):
                self.send_response(status)
                self.send_header("ETag", tag)
                self.send_header("Cache-Control", "max-age=900")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = upstreams.serve_https(Handler, site)
        self.url = "https://localhost:%d/status" % self.server.server_port


@pytest.fixture(scope="module")
def lists(authority):
    server = ListServer(authority.issue("lists", ["localhost", "127.0.0.1"]))
    yield server
    server.server.shutdown()


def eventually(check, seconds=10):
    end = time.monotonic() + seconds
    while True:
        value = check()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.05)


def start(make, backend, start=True, **sections):
    gateway = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, start=start, **sections)
    return gateway


def test_the_list_is_fetched_kept_and_shown(make, backend, lists, authority):
    gateway = start(make, backend, trust={"status_list": lists.url, "ca": str(authority.path)})
    trust = eventually(lambda: (t := gateway.cli("status")["trust"])["status_list_entries"] == 1 and t)
    assert trust and trust["status_list_age_hours"] == 0 and trust["last_fetch_problem"] is None, trust
    assert trust["test_roots"] is False and len(trust["roots"]) == 6
    metrics = gateway.metrics()
    assert metrics["sallyport_trust_status_list_entries"] == 1
    assert abs(metrics["sallyport_trust_status_list_timestamp_seconds"] - time.time()) < 60
    assert metrics['sallyport_trust_status_list_fetches_total{result="good"}'] >= 1
    roots = [n for n in metrics if n.startswith("sallyport_trust_root_not_after_timestamp_seconds")]
    assert len(roots) == 6
    assert "status list: 1 entries" in gateway.run("status").stdout
    # A new start asks with the tag of the copy that was kept, and still has the list when nobody answers.
    lists.seen.clear()
    gateway.stop()
    gateway.start()
    assert eventually(lambda: lists.seen) == ['"1"']
    lists.status = 500
    gateway.stop()
    gateway.start()
    trust = eventually(lambda: (t := gateway.cli("status")["trust"])["last_fetch_problem"] and t)
    assert trust["status_list_entries"] == 1 and "500" in trust["last_fetch_problem"], trust
    assert gateway.metrics()['sallyport_trust_status_list_fetches_total{result="failed"}'] >= 1
    assert "the status list was not fetched" in gateway.output()
    lists.status = 200


def test_nobody_is_asked_unless_told_to(make, backend, lists):
    lists.seen.clear()
    gateway = start(make, backend)
    answer = gateway.cli("status")
    assert answer["trust"]["status_list_entries"] is None and answer["trust"]["status_list_from"] is None
    assert answer["warnings"] == [] and lists.seen == []
    assert "no status list" in gateway.run("status").stdout


def test_an_untrusted_server_gives_no_list(make, backend, lists):
    gateway = start(make, backend, trust={"status_list": lists.url})
    trust = eventually(lambda: (t := gateway.cli("status")["trust"])["last_fetch_problem"] and t)
    assert trust["status_list_entries"] is None, trust


def test_a_bundle_that_changes_is_taken_and_a_broken_one_is_not(make, backend, tmp_path):
    bundle = tmp_path / "trust"
    shutil.copytree(TRUST, bundle)
    gateway = start(make, backend, trust={"directory": str(bundle)})
    assert gateway.cli("status")["trust"]["version"] == json.loads((bundle / "bundle.json").read_text())["version"]
    manifest = json.loads((bundle / "bundle.json").read_text())
    manifest["version"] = "2031-01-01"
    (bundle / "new").write_text(json.dumps(manifest))
    (bundle / "new").rename(bundle / "bundle.json")
    assert eventually(lambda: gateway.cli("status")["trust"]["version"] == "2031-01-01", 15)
    # At once: a file that is seen while it is written is told of twice.
    (bundle / "new").write_text("{")
    (bundle / "new").rename(bundle / "bundle.json")
    assert eventually(lambda: gateway.output().count("the trust bundle was not taken") >= 3, 15), "control and two workers"
    assert gateway.output().count("the trust bundle was not taken") == 3
    assert gateway.cli("status")["trust"]["version"] == "2031-01-01"
    assert "the trust bundle does not read" in gateway.run("check", "--config", gateway.file).stderr + gateway.run("check", "--config", gateway.file).stdout


def test_what_runs_out_is_warned_of(make, backend, authority):
    old = authority.issue("short", ["localhost"], days=(-80, 3))
    gateway = start(make, backend, start=False)
    gateway.configuration["listeners"][0]["tls"]["certificates"].append({"cert": old[0], "key": old[1]})
    gateway.write()
    gateway.start()
    warnings = gateway.cli("status")["warnings"]
    assert len(warnings) == 1 and " days." in warnings[0] and "short.pem" in warnings[0], warnings
    assert eventually(lambda: "runs out" in gateway.output())
    assert "warning: " in gateway.run("status").stdout


def keys():
    secret = base64.b64encode(bytes(range(32))).decode()
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    spki = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return secret, base64.b64encode(spki).decode()


def account(token_uri="https://localhost/token"):
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return json.dumps({"type": "service_account", "client_email": "judge@example.iam.gserviceaccount.com",
                       "private_key_id": "k1", "private_key": pem.decode(), "token_uri": token_uri})


def test_play_keys_are_kept_sealed_and_never_shown(make, backend, tmp_path):
    gateway = start(make, backend)
    gateway.create_organization()
    app, other = gateway.create_app("phone"), gateway.create_app("tablet")
    secret, public = keys()
    (tmp_path / "d").write_text(secret + "\n")
    (tmp_path / "v").write_text(public + "\n")
    (tmp_path / "a").write_text(account())
    (tmp_path / "bad").write_text("AAAA")
    at = ["--app", app.id]
    assert gateway.cli("play-keys", "show", *at) == {"keys_set": False, "service_account_set": False}
    # Wrong beside right: half a pair, a key of another length, no service account.
    for arguments in (["--decryption-key-file", tmp_path / "d"], ["--verification-key-file", tmp_path / "v"],
                      ["--decryption-key-file", tmp_path / "bad", "--verification-key-file", tmp_path / "v"],
                      ["--decryption-key-file", tmp_path / "d", "--verification-key-file", tmp_path / "bad"],
                      ["--service-account", tmp_path / "bad"]):
        refused = gateway.run("play-keys", "set", *at, *arguments)
        assert refused.returncode == 1 and secret not in refused.stdout + refused.stderr, refused
    assert gateway.run("play-keys", "set", *at).returncode == 2
    set_ = gateway.cli("play-keys", "set", *at, "--decryption-key-file", tmp_path / "d", "--verification-key-file", tmp_path / "v")
    assert set_["keys_set"] is True and set_["service_account_set"] is False and set_["confirmed"] is True
    gateway.cli("play-keys", "set", *at, "--service-account", tmp_path / "a")
    assert gateway.cli("status", *at)["play"] == {"keys_set": True, "service_account_set": True}
    assert gateway.cli("play-keys", "show", "--app", other.id)["keys_set"] is False
    events = [row["event"] for row in gateway.cli("history", *at)["events"]]
    assert {"play_keys_set", "play_account_set"} <= set(events)
    # A change of the keys at rest seals them anew, and they still count.
    gateway.cli("keyring", "rotate", "--seal")
    assert eventually(lambda: "sealed_anew" in [r["event"] for r in gateway.cli("history", *at)["events"]], 15)
    assert gateway.cli("play-keys", "remove", *at)["keys_set"] is False
    gateway.cli("play-keys", "set", *at, "--decryption-key-file", tmp_path / "d", "--verification-key-file", tmp_path / "v")
    said = gateway.run("status", *at).stdout + json.dumps(gateway.cli("history", *at)) + gateway.output()
    gateway.stop()
    pem = json.loads((tmp_path / "a").read_text())["private_key"].splitlines()[1]
    places = {"what was said": said.encode()}
    places.update({str(p): p.read_bytes() for p in gateway.directory.rglob("*") if p.is_file()})
    for place, data in places.items():
        for clear in (secret, public, pem):
            assert clear.encode() not in data, "a key is in %s" % place

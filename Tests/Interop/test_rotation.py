# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""An outside issuer changes its keys: good tokens are admitted throughout, made-up key ids cost one fetch."""
import threading
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from conftest import route, url
from tokens import Issuer, KeyServer, bearer

ACCESS = {"organizations": ["acme"], "credentials": ["session_token"]}


@pytest.fixture
def stand(make, files, backend, authority, tmp_path):
    issuer = Issuer(tmp_path, "rotating", "session")
    keys = KeyServer(issuer, authority.issue("keys", ["localhost"]))
    settings = {**issuer.settings, "keys": {"jwks_url": keys.url, "ca": str(authority.path)}, "private_networks": ["127.0.0.0/8", "::1/128"]}
    gateway = make([route("api", "/v1/", access=ACCESS)], {"api": {"endpoints": [url(backend)]}}, issuers=[settings])
    gateway.create_organization("acme")
    app = gateway.create_app("web")
    issuer.app = app.id
    end = time.monotonic() + 10
    while gateway.get("/v1/x", {"X-App-Id": app.id, **bearer(issuer.token())}).status != 200:
        assert time.monotonic() < end, gateway.output()[-2000:]
        time.sleep(0.2)
    yield gateway, app, issuer, keys
    keys.stop()


def get(gateway, app, token):
    return gateway.get("/v1/x", {"X-App-Id": app.id, **bearer(token)})


def rotate(issuer, kid):
    """A new key, published and used at once: nobody was told before."""
    issuer.keys = {**issuer.keys, "ES256": ec.generate_private_key(ec.SECP256R1())}
    import json

    from tokens import public

    kept = json.loads(issuer.file.read_text())["keys"]
    issuer.file.write_text(json.dumps({"keys": kept + [public(issuer.keys["ES256"], "ES256", kid)]}))
    return lambda: issuer.token(headers={"kid": kid})


def test_no_good_token_is_refused_when_a_key_is_used_as_soon_as_it_is_published(stand):
    gateway, app, issuer, keys = stand
    keys.delay = 0.3
    old = issuer.token()
    fetched = keys.fetches
    fresh = rotate(issuer, "second")
    statuses, threads = [], [threading.Thread(target=lambda: statuses.append(get(gateway, app, fresh()).status)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 16
    assert get(gateway, app, old).status == 200
    # B25: one fetch for all of them.
    assert keys.fetches - fetched == 1


def test_made_up_key_ids_cost_one_fetch_and_no_good_token(stand):
    gateway, app, issuer, keys = stand
    fetched = keys.fetches
    for number in range(300):
        assert get(gateway, app, issuer.token(headers={"kid": "made-up-%d" % number})).status in (401, 429)
    assert keys.fetches - fetched <= 1


@pytest.mark.slow
def test_a_flood_of_made_up_key_ids_does_not_hide_a_rotation(stand):
    """B27: the flood uses up the fetch for unknown keys just before the issuer rotates; the next one comes all the same."""
    gateway, app, issuer, keys = stand
    over, sent = threading.Event(), [0]

    def flood():
        while not over.is_set():
            sent[0] += 1
            with gateway.wire(source="127.5.%d.%d" % (sent[0] >> 8 & 255, sent[0] & 255)) as client:
                for number in range(50):
                    client.exchange("GET", "/v1/x", {"X-App-Id": app.id, **bearer(issuer.token(headers={"kid": "made-up-%d-%d" % (sent[0], number)}))})

    fetched, old, began = keys.fetches, issuer.token(), time.monotonic()
    thread = threading.Thread(target=flood)
    thread.start()
    try:
        while keys.fetches == fetched:
            assert time.monotonic() < began + 5, "the flood caused no fetch"
            time.sleep(0.05)
        fresh, began = rotate(issuer, "second"), time.monotonic()
        while (status := get(gateway, app, fresh()).status) != 200:
            assert status in (401, 429, 503) and time.monotonic() < began + 40, "still %d" % status
            assert get(gateway, app, old).status == 200
            time.sleep(0.5)
        took = time.monotonic() - began
    finally:
        over.set()
        thread.join()
    print("the new key counts after %.1f s and %d made-up ids, %d fetches" % (took, sent[0] * 50, keys.fetches - fetched))
    assert took < 33 and keys.fetches - fetched <= 2


def test_a_key_server_that_is_down_turns_no_good_token_bad(stand):
    gateway, app, issuer, keys = stand
    keys.status = 403
    assert get(gateway, app, issuer.token(headers={"kid": "unknown"})).status == 401
    time.sleep(0.5)
    assert [get(gateway, app, issuer.token()).status for _ in range(6)] == [200] * 6

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What the gateway adds, drops and rewrites on the way up and down."""
import pytest

from conftest import route, url

FORGED = [
    "Sallyport-App", "sallyport-app", "SALLYPORT-ORGANIZATION", "Sallyport_App", "sallyport_trust", "Sallyport-_Person", "sallyport-x-anything",
]


def fields_at_upstream(answer):
    assert answer.status == 200, answer.body
    return [(n.lower(), v) for n, v in answer.json()["fields"]]


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("path", ["/v1/headers", "/open/headers"])
def test_a_forged_field_never_arrives(gateway, app, name, path):
    seen = fields_at_upstream(gateway.get(path, {**app.fields, name: "forged"}))
    assert "forged" not in [v for _, v in seen]


def test_a_forged_trailer_never_arrives(gateway, app):
    with gateway.wire() as client:
        client.send("POST /v1/headers HTTP/1.1\r\nHost: localhost\r\nX-App-Id: %s\r\nX-Api-Key: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "1\r\na\r\n0\r\nSallyport-App: forged\r\nsallyport_trust: forged\r\nX-Fine: yes\r\n\r\n" % (app.id, app.key))
        seen = client.answer().json()
    assert "forged" not in str(seen)


def test_the_credential_itself_stays_here_and_the_users_session_goes_on(gateway, app):
    seen = dict(fields_at_upstream(gateway.get("/v1/headers", {**app.fields, "Authorization": "Bearer user-session"})))
    assert "x-api-key" not in seen
    assert seen["authorization"] == "Bearer user-session"
    assert seen["x-app-id"] == app.id


def test_hop_by_hop_fields_stay_here(gateway):
    seen = dict(fields_at_upstream(gateway.get("/open/headers", {
        "Connection": "keep-alive, X-Mine", "X-Mine": "1", "Keep-Alive": "timeout=5", "Proxy-Authorization": "x", "TE": "gzip", "X-Kept": "1"})))
    assert not {"x-mine", "keep-alive", "proxy-authorization"} & set(seen)
    assert seen.get("te", "trailers") == "trailers"
    assert seen["x-kept"] == "1"


def test_forwarded_fields_of_a_stranger_are_dropped_and_written_anew(gateway):
    seen = dict(fields_at_upstream(gateway.get("/open/headers", {
        "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "gopher", "X-Forwarded-Host": "evil.example", "X-Real-Ip": "203.0.113.9",
        "Forwarded": "for=203.0.113.9"}, tls=True)))
    assert seen["x-forwarded-for"] == "127.0.0.1"
    assert seen["x-forwarded-proto"] == "https"
    assert seen["x-forwarded-host"].startswith("localhost")
    assert "203.0.113.9" not in str(seen)
    assert "via" in seen


def test_forwarded_fields_of_a_trusted_proxy_are_walked_from_the_right(make, backend):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1,
                   client_address={"trusted_proxies": ["127.0.0.0/8", "10.0.0.0/8"]})
    seen = dict(fields_at_upstream(gateway.get("/headers", {"X-Forwarded-For": "6.6.6.6, 203.0.113.9, 10.1.2.3", "X-Request-Id": "abc-123"})))
    assert seen["x-forwarded-for"].replace(" ", "").startswith(("203.0.113.9", "6.6.6.6,203.0.113.9"))
    assert seen["x-request-id"] == "abc-123"


def test_a_request_id_is_made_when_the_client_is_a_stranger(gateway):
    one = dict(fields_at_upstream(gateway.get("/open/headers")))
    two = dict(fields_at_upstream(gateway.get("/open/headers")))
    assert one["x-request-id"] and one["x-request-id"] != two["x-request-id"]


def test_a_route_sets_and_removes_fields(make, backend):
    gateway = make(
        [route("all", "/", access="open", request_headers={"set": {"X-Set": "1"}, "remove": ["X-Gone"]},
               response_headers={"set": {"X-Down": "2"}, "remove": ["Server"]})],
        {"api": {"endpoints": [url(backend)]}}, workers=1)
    answer = gateway.get("/headers", {"X-Set": "client", "X-Gone": "1"})
    seen = fields_at_upstream(answer)
    assert [v for n, v in seen if n == "x-set"] == ["1"]
    assert "x-gone" not in dict(seen)
    assert answer["X-Down"] == "2" and answer["Server"] is None


def test_a_route_denies_addresses(make, backend):
    gateway = make([route("all", "/", access="open", clients={"deny": ["127.0.0.2/32"]})], {"api": {"endpoints": [url(backend)]}}, workers=1)
    assert gateway.get("/x", source="127.0.0.1").status == 200
    assert gateway.get("/x", source="127.0.0.2").status == 403


def test_the_upstreams_own_cors_fields_are_dropped(make):
    from upstreams import Scripted

    def script(connection, _):
        while connection.request():
            connection.send(b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\nContent-Length: 0\r\n\r\n")

    server = Scripted(script)
    gateway = make([route("all", "/")], {"api": {"endpoints": ["http://127.0.0.1:%d" % server.port]}}, workers=1)
    gateway.create_organization()
    app = gateway.create_app(origins=["https://app.example"])
    answer = gateway.get("/x", {"X-App-Id": app.id, "Origin": "https://app.example"})
    assert answer.all("Access-Control-Allow-Origin") == ["https://app.example"]
    assert answer["Access-Control-Allow-Credentials"] is None
    answer = gateway.get("/x", {**app.fields, "Origin": "https://evil.example"})
    assert answer.all("Access-Control-Allow-Origin") == []
    server.stop()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What the gateway adds, drops and rewrites on the way up and down."""
import json

import pytest

import h2server
from conftest import route, to_h2, url
from frames import Frames
from upstreams import Scripted

FORGED = [
    "Sallyport-App", "sallyport-app", "SALLYPORT-ORGANIZATION", "Sallyport_App", "sallyport_trust", "Sallyport-_Person", "sallyport-x-anything",
    # CGI-like back ends read all but letters and digits as one and the same.
    "sallyport.app", "Sallyport~App", "sallyport|trust", "SALLYPORT!ORGANIZATION", "X.App.Id", "x~forwarded~for", "Content^Type",
]

# What an upstream, or what stands in front of it, may act on instead of what was judged.
OVERRIDES = [
    "X-Original-URL", "X-Rewrite-URL", "X-Original-URI", "X-Rewrite-URI", "X-Original-Method", "X-Original-Host", "X-Host", "X-HTTP-Host-Override",
    "X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method", "Proxy", "Remote-User", "X-Remote-User", "Client-Cert", "Client-Cert-Chain",
    "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Uri", "X-Forwarded-Client-Cert",
]
HOP_CLAIMS = ["X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Ssl", "X-Forwarded-Scheme", "X-Forwarded-Server", "True-Client-IP",
              "X-Client-IP", "X-Cluster-Client-IP", "CF-Connecting-IP"]


def fields_at_upstream(answer):
    assert answer.status == 200, answer.body
    return [(n.lower(), v) for n, v in answer.json()["fields"]]


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("path", ["/v1/headers", "/open/headers"])
def test_a_forged_field_never_arrives(gateway, app, name, path):
    seen = fields_at_upstream(gateway.get(path, {**app.fields, name: "forged"}))
    assert "forged" not in [v for _, v in seen]


def spellings(name):
    return [name, name.lower(), name.upper(), name.replace("-", "_"), name.replace("-", ".")]


@pytest.mark.parametrize("name", OVERRIDES)
def test_what_would_have_the_upstream_act_on_something_else_never_arrives(make, backend, name):
    """Not even from a trusted proxy, which may pass on what its client sent."""
    for proxies in ([], ["127.0.0.0/8"]):
        gateway = shared(make, backend, proxies)
        for spelling in dict.fromkeys(spellings(name)):
            assert "forged" not in str(fields_at_upstream(gateway.get("/headers", {spelling: "forged", "X-Kept": "1"}))), spelling


@pytest.mark.parametrize("name", HOP_CLAIMS)
def test_what_proxies_say_of_the_way_is_believed_of_trusted_ones_only(make, backend, name):
    stranger, trusted = shared(make, backend, []), shared(make, backend, ["127.0.0.0/8"])
    for spelling in dict.fromkeys(spellings(name)):
        assert "said" not in str(fields_at_upstream(stranger.get("/headers", {spelling: "said"}))), spelling
    assert [v for n, v in fields_at_upstream(trusted.get("/headers", {name: "said"})) if n == name.lower()] == ["said"]
    assert "said" not in str(fields_at_upstream(trusted.get("/headers", {name.replace("-", "_"): "said"})))


def test_a_route_sets_what_is_dropped_by_itself(make, backend):
    """The way for a platform that needs one: the value is then the operator's."""
    ours = {"X-Forwarded-Prefix": "/api", "X-Original-URL": "/fixed", "X-Forwarded-User": "nobody"}
    gateway = make([route("all", "/", access="open", request_headers={"set": ours})], {"api": {"endpoints": [url(backend)]}}, workers=1,
                   client_address={"trusted_proxies": ["127.0.0.0/8"]})
    seen = fields_at_upstream(gateway.get("/headers", {name: "forged" for name in ours}))
    assert {n: [v for m, v in seen if m == n.lower()] for n in ours} == {n: [v] for n, v in ours.items()}


def shared(make, backend, proxies, made={}):
    key = (id(make), tuple(proxies))
    if key not in made:
        made[key] = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1,
                         client_address={"trusted_proxies": proxies})
    return made[key]


def test_the_same_holds_for_http2(make, backend):
    gateway = shared(make, backend, [])
    with Frames(gateway.port) as client:
        for name in [*FORGED, *OVERRIDES, *HOP_CLAIMS]:
            for spelling in {s.lower() for s in spellings(name)}:
                stream = client.exchange("GET", "/headers", [(spelling, "forged")])
                assert stream.status == 200 and b"forged" not in stream.body, spelling


def test_an_http2_upstream_gets_none_of_them_either(alone):
    gateway, server = alone(h2server.everyday)
    for name in [*FORGED, *OVERRIDES, *HOP_CLAIMS]:
        for spelling in dict.fromkeys(spellings(name)):
            answer = gateway.get("/headers", {spelling: "forged"})
            assert answer.status == 200 and b"forged" not in answer.body, spelling


def test_via_names_the_version_that_the_request_came_by(gateway, make, backend):
    """RFC 9110 7.6.3."""
    assert dict(fields_at_upstream(gateway.get("/open/headers")))["via"].startswith("1.1 sallyport-")
    with gateway.wire() as client:
        client.send("GET /open/headers HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert dict(fields_at_upstream(client.answer()))["via"].startswith("1.0 sallyport-")
    with Frames(gateway.port) as client:
        assert b'"2.0 sallyport-' in client.exchange("GET", "/open/headers").body
        # Loops through several gateways end only where each keeps the names of those before it.
        assert b'"1.1 edge, 2.0 sallyport-' in client.exchange("GET", "/open/headers", [("via", "1.1 edge")]).body
    trusted = shared(make, backend, ["127.0.0.0/8"])
    with Frames(trusted.port) as client:
        assert b'"1.1 edge, 2.0 sallyport-' in client.exchange("GET", "/headers", [("via", "1.1 edge")]).body


SPOOFED = b"Sallyport-Decision: spoofed\r\nsallyport_trust: spoofed\r\nSallyport.App: spoofed\r\n"


def test_an_upstream_says_nothing_in_our_name(make):
    """Heads, interim heads, switches of protocol and trailers, to clients of both protocols."""
    def script(connection, _):
        while (request := connection.request()) is not None:
            if b"/ws" in request:
                connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" + SPOOFED + b"\r\n")
                return
            connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n" + SPOOFED + b"\r\n"
                            b"HTTP/1.1 200 OK\r\nX-Theirs: yes\r\nTransfer-Encoding: chunked\r\n" + SPOOFED + b"\r\n"
                            b"2\r\nok\r\n0\r\nX-Fine: yes\r\n" + SPOOFED + b"\r\n")

    server = Scripted(script)
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": ["http://127.0.0.1:%d" % server.port]}}, workers=1)
    with gateway.wire() as client:
        answer = client.exchange("GET", "/x")
        assert answer["X-Theirs"] == "yes" and answer.interim and answer.trailers == [("X-Fine", "yes")]
        assert "spoofed" not in str([answer.fields, answer.trailers, answer.interim[0].fields])
    with gateway.wire() as client:
        answer = client.exchange("GET", "/ws", {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                                                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
        assert answer.status == 101 and "spoofed" not in str(answer.fields)
    with Frames(gateway.port) as client:
        stream = client.exchange("GET", "/x")
        assert stream["x-theirs"] == "yes" and stream.trailers == [("x-fine", "yes")] and len(stream.heads) == 2
        assert "spoofed" not in str([stream.heads, stream.trailers])
    server.stop()


def test_an_http2_upstream_says_nothing_in_our_name_either(alone):
    def script(stream):
        stream.body()
        stream.head(200, [("x-theirs", "yes"), ("sallyport-decision", "spoofed"), ("sallyport_trust", "spoofed")])
        stream.send(b"ok")
        stream.end([("x-fine", "yes"), ("sallyport-decision", "spoofed"), ("sallyport.app", "spoofed")])

    gateway, _ = alone(script)
    answer = gateway.get("/x")
    assert answer["X-Theirs"] == "yes" and "spoofed" not in str([answer.fields, answer.trailers])
    with Frames(gateway.port) as client:
        stream = client.exchange("GET", "/x")
        assert stream["x-theirs"] == "yes" and "spoofed" not in str([stream.heads, stream.trailers])


POSED = ["sallyport; error=spoofed", "Sallyport;error=spoofed", '"sallyport"; error=spoofed', "edge, sallyport; details=spoofed", "sallyport-b; details=spoofed"]


@pytest.mark.parametrize("posed", POSED)
@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_an_upstream_does_not_report_as_this_gateway(make, protocol, posed):
    """`Proxy-Status` of others passes; in heads, interim heads and trailers."""
    def script1(connection, _):
        while connection.request():
            connection.send(b"HTTP/1.1 103 Early Hints\r\nProxy-Status: %(posed)s\r\nX-Theirs: yes\r\n\r\n"
                            b"HTTP/1.1 200 OK\r\nProxy-Status: edge; x=1\r\nProxy-Status: %(posed)s\r\nTransfer-Encoding: chunked\r\n\r\n"
                            b"2\r\nok\r\n0\r\nProxy-Status: edge; y=1\r\nProxy-Status: %(posed)s\r\n\r\n" % {b"posed": posed.encode()})

    def script2(stream):
        stream.body()
        stream.head(103, [("proxy-status", posed), ("x-theirs", "yes")])
        stream.head(200, [("proxy-status", "edge; x=1"), ("proxy-status", posed)])
        stream.send(b"ok")
        stream.end([("proxy-status", "edge; y=1"), ("proxy-status", posed)])

    server = Scripted(script1) if protocol == "h1" else h2server.Server(script2)
    upstream = to_h2(server) if protocol == "h2" else {"endpoints": [url(server)]}
    gateway = make([route("all", "/", access="open")], {"api": upstream}, workers=1)
    with gateway.wire() as client:
        answer = client.exchange("GET", "/x")
        assert answer.all("Proxy-Status") == ["edge; x=1"] and answer.interim[0]["X-Theirs"] == "yes"
        assert [v for n, v in answer.trailers if n.lower() == "proxy-status"] == ["edge; y=1"]
        assert "spoofed" not in str([answer.fields, answer.trailers, answer.interim[0].fields])
    with Frames(gateway.port) as client:
        stream = client.exchange("GET", "/x")
        assert stream["proxy-status"] == "edge; x=1" and stream.trailers == [("proxy-status", "edge; y=1")] and len(stream.heads) == 2
        assert "spoofed" not in str([stream.heads, stream.trailers])
    gateway.stop()
    server.stop()


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


# -- budgets, ids, cookies, dates

THEIRS = [("RateLimit", '"api";r=50;t=30'), ("RateLimit-Policy", '"api";q=50;w=30'), ("X-RateLimit-Remaining", "50"), ("X-Request-Id", "theirs"),
          ("Set-Cookie", "a=1; Path=/; HttpOnly"), ("Set-Cookie", "b=2, c=3"), ("Set-Cookie", "a=4; Expires=Wed, 09 Jun 2027 10:18:14 GMT"),
          ("Vary", "Accept-Encoding"), ("Vary", "Accept-Language, Origin"), ("X-Gone", "upstream"), ("X-Set", "upstream")]


@pytest.fixture(scope="module", params=["h1", "h2"])
def telling(make, request):
    """An upstream that tells everything, in heads, interim heads and trailers; `/date/` says when it answered."""
    def first(connection, _):
        while b"HTTP/1.1" in (head := connection.request()):
            lines = "".join("%s: %s\r\n" % field for field in THEIRS).encode()
            if b"/ws" in head:
                return connection.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                       b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" + lines + b"\r\n")
            dated = b"Date: Mon, 30 Nov 2026 12:00:00 GMT\r\n" if b"/date/" in head else b""
            connection.send(b"HTTP/1.1 103 Early Hints\r\n" + lines + b"\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + dated + lines + b"\r\n"
                            b"2\r\nok\r\n0\r\n" + lines + b"\r\n")

    def second(stream):
        stream.body()
        lines = [(name.lower(), value) for name, value in THEIRS]
        stream.head(103, lines)
        stream.head(200, lines + ([("date", "Mon, 30 Nov 2026 12:00:00 GMT")] if "/date/" in stream.path else []))
        stream.send(b"ok")
        stream.end(lines)

    server = Scripted(first) if request.param == "h1" else h2server.Server(second)
    limit = {"name": "ours", "per": ["route"], "limit": 1000, "window": "60s"}
    edits = {"response_headers": {"set": {"X-Set": "ours"}, "remove": ["X-Gone"]}}
    routes = [route(name, "/%s/" % name, access="open", **more) for name, more in {
        "plain": {}, "date": {}, "edited": edits, "counted": {"limits": [limit]}, "shadow": {"limits": [{**limit, "shadow": True}]},
    }.items()]
    gateway = make(routes, {"api": to_h2(server) if request.param == "h2" else {"endpoints": [url(server)]}}, workers=1)
    gateway.speaks = request.param
    yield gateway
    server.stop()


def told(gateway, client, path):
    """Interim fields, fields and trailers of one answer, names in lower case."""
    if client == "h2":
        with Frames(gateway.port) as frames:
            stream = frames.exchange("GET", path)
            return [[f for f in part if not f[0].startswith(":")] for part in (stream.heads[0], stream.heads[1], stream.trailers)]
    answer = gateway.get(path)
    return [[(n.lower(), v) for n, v in part] for part in (answer.interim[0].fields, answer.fields, answer.trailers)]


def values(fields, name):
    return [v for n, v in fields if n == name]


@pytest.mark.parametrize("client", ["h1", "h2"])
@pytest.mark.parametrize("path,ours", [("/counted/x", True), ("/shadow/x", False), ("/plain/x", False)])
def test_the_budget_that_is_told_is_ours_where_we_count(telling, client, path, ours):
    """Two budgets in one answer are read as one by most clients; where we tell none the upstream's is the one that counts."""
    interim, fields, trailers = told(telling, client, path)
    if ours:
        assert values(fields, "ratelimit-policy") == ['"ours";q=1000;w=60'] and len(values(fields, "ratelimit")) == 1
        assert values(fields, "ratelimit")[0].startswith('"ours";r=')
        assert "api" not in str(interim + trailers)
    else:
        for part in (interim, fields):
            assert values(part, "ratelimit") == ['"api";r=50;t=30'] and values(part, "ratelimit-policy") == ['"api";q=50;w=30']
    assert values(fields, "x-ratelimit-remaining") == ["50"], "older names are nobody's but the upstream's"


@pytest.mark.parametrize("client", ["h1", "h2"])
def test_an_upstreams_request_id_is_the_only_one(telling, client):
    """It got ours with the request; what it answers is its own, and pages may read it."""
    assert values(told(telling, client, "/counted/x")[1], "x-request-id") == ["theirs"]


@pytest.mark.parametrize("client", ["h1", "h2"])
def test_cookies_pass_one_by_one(telling, client):
    """RFC 6265 3: Set-Cookie is no list."""
    assert values(told(telling, client, "/plain/x")[1], "set-cookie") == [v for n, v in THEIRS if n == "Set-Cookie"]


@pytest.mark.parametrize("client", ["h1", "h2"])
def test_an_answer_without_a_date_is_given_one(telling, client):
    """RFC 9110 6.6.1."""
    assert values(told(telling, client, "/date/x")[1], "date") == ["Mon, 30 Nov 2026 12:00:00 GMT"]
    dates = values(told(telling, client, "/plain/x")[1], "date")
    assert len(dates) == 1 and dates[0].endswith(" GMT") and dates != ["Mon, 30 Nov 2026 12:00:00 GMT"]


@pytest.mark.parametrize("client", ["h1", "h2"])
def test_what_a_route_sets_and_removes_has_no_second_way_to_the_client(telling, client):
    interim, fields, trailers = told(telling, client, "/edited/x")
    assert values(fields, "x-set") == ["ours"]
    assert "upstream" not in str(interim + fields + trailers)


def test_what_a_route_sets_and_removes_is_so_for_a_switch_of_protocols_too(telling):
    if telling.speaks == "h2":
        pytest.skip("HTTP/2 switches no protocols")
    with telling.wire() as client:
        answer = client.exchange("GET", "/edited/ws", {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                                                       "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
    assert answer.status == 101 and answer.all("X-Set") == ["ours"] and answer["X-Gone"] is None


@pytest.mark.parametrize("client", ["h1", "h2"])
@pytest.mark.parametrize("upstream", ["h1", "h2"])
def test_what_a_route_sets_and_removes_has_no_second_way_to_the_upstream(make, client, upstream):
    seen = []

    def first(connection, _):
        while True:
            seen.append(connection.request().decode())
            connection.ok()

    def second(stream):
        stream.body()
        seen.append(str(stream.headers) + str(stream.trailers))
        stream.answer(b"ok")

    server = Scripted(first) if upstream == "h1" else h2server.Server(second)
    gateway = make([route("all", "/", access="open", request_headers={"set": {"X-Set": "ours"}, "remove": ["X-Gone"]})],
                   {"api": to_h2(server) if upstream == "h2" else {"endpoints": [url(server)]}}, workers=1)
    trailers = [("x-set", "client"), ("x-gone", "client"), ("x-kept", "client")]
    if client == "h2":
        with Frames(gateway.port) as frames:
            stream = frames.request("POST", "/x", [("x-set", "client"), ("x-gone", "client")], b"ok", end=False)
            frames.headers(trailers, True, stream)
            assert frames.answer(stream).status == 200
    else:
        with gateway.wire() as wire:
            wire.send("POST /x HTTP/1.1\r\nHost: localhost\r\nX-Set: client\r\nX-Gone: client\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                      + "".join("%s: %s\r\n" % field for field in trailers) + "\r\n")
            assert wire.answer().status == 200
    assert seen[0].lower().count("client") == 1 and "x-kept" in seen[0].lower() and "ours" in seen[0]
    gateway.remove()
    server.stop()


# -- methods that would show the client what only the upstream is to see

@pytest.mark.parametrize("method", ["TRACE", "TRACK"])
@pytest.mark.parametrize("client", ["h1", "h2"])
def test_nothing_is_echoed(make, method, client):
    """The echo of TRACE holds the cookies, the credentials and our own fields: no page and no client is to read those."""
    def echo(connection, _):
        while True:
            request = connection.request()
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: %d\r\n\r\n%s" % (len(request), request))

    server = Scripted(echo)
    gateway = make([route("all", "/", access="open"), route("api", "/v1/")], {"api": {"endpoints": [url(server)]}}, workers=1)
    gateway.create_organization()
    app = gateway.create_app(origins=["https://app.example"])
    for path in ("/x", "/v1/x"):
        fields = {**app.fields, "Origin": "https://app.example", "Cookie": "secret=1", "Max-Forwards": "0"}
        if client == "h2":
            with Frames(gateway.port) as frames:
                stream = frames.exchange(method, path, [(n.lower(), v) for n, v in fields.items()])
                status, allow, body = stream.status, stream["allow"], stream.body
        else:
            answer = gateway.get(path, fields, method=method)
            status, allow, body = answer.status, answer["Allow"], answer.body
        assert status == 405 and allow == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
        assert b"method_not_allowed" in body and b"secret" not in body
    assert server.requests == []
    assert gateway.get("/x", method="TRACEX").status == 200, "another method is the upstream's to know"
    gateway.remove()
    server.stop()


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "TRACK"])
def test_no_route_may_name_them(make, backend, method):
    gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, start=False)
    gateway.configuration["routes"][0]["match"]["methods"] = ["GET", method]
    gateway.write()
    checked = gateway.run("check", "--config", gateway.file)
    assert checked.returncode != 0 and method in checked.stdout + checked.stderr


@pytest.mark.parametrize("sent,forwarded", [
    ([], []), (["1"], ["0"]), (["5"], ["4"]), (["00005"], ["4"]), (["300"], ["255"]), (["99999999999999999999"], ["255"]),
    (["0"], None), (["000"], None), ([""], 400), (["-1"], 400), (["1x"], 400), (["1, 2"], 400), (["3", "3"], 400),
], ids=str)
@pytest.mark.parametrize("client", ["h1", "h2"])
def test_options_is_counted_on_its_way(make, backend, client, sent, forwarded):
    """RFC 9110 7.6.2: the last hop answers it, the others count it down."""
    gateway = shared(make, backend, [])
    fields = [("max-forwards", value) for value in sent]

    def ask(method):
        if client == "h2":
            with Frames(gateway.port) as frames:
                stream = frames.exchange(method, "/headers", fields)
                return stream.status, stream["allow"], stream.body
        with gateway.wire() as wire:
            answer = wire.exchange(method, "/headers", fields)
            return answer.status, answer["Allow"], answer.body

    status, allow, body = ask("OPTIONS")
    if forwarded is None:
        assert (status, allow, body) == (204, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", b"")
    elif forwarded == 400:
        assert status == 400 and b"malformed_max_forwards" in body
    else:
        assert values([(n.lower(), v) for n, v in json.loads(body)["fields"]], "max-forwards") == forwarded
    status, _, body = ask("GET")
    assert status == 200 and values([(n.lower(), v) for n, v in json.loads(body)["fields"]], "max-forwards") == sent, "GET is not counted"


def test_a_proxy_that_is_not_listed_is_told_of_once(make, backend):
    """B22: behind it all clients are one for limits and logs, and nothing else would say so."""
    words = "requests come through a proxy that is not listed"
    for proxies, said in (([], 1), (["127.0.0.0/8"], 0)):
        gateway = make([route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1,
                       client_address={"trusted_proxies": proxies})
        gateway.get("/headers")
        assert words not in gateway.output()
        for _ in range(3):
            gateway.get("/headers", {"X-Forwarded-For": "203.0.113.9"})
        assert gateway.output().count(words) == said

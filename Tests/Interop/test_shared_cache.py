# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A shared cache in front of the gateway: nobody is served what somebody else was admitted to."""
import itertools
import shutil

import pytest

import upstreams
from conftest import ACCESS, route, url
from wire import Wire

CONFIGURATION = """
daemon off; worker_processes 1; pid %(home)s/pid; error_log %(home)s/error.log; user root;
events { worker_connections 256; }
http {
  access_log off; %(temporary)s
  proxy_cache_path %(home)s/cache keys_zone=all:1m;
  server {
    listen 127.0.0.1:%(port)d;
    location / {
      proxy_pass http://127.0.0.1:%(gateway)d; proxy_http_version 1.1; proxy_cache all; proxy_cache_key $uri;
      proxy_set_header Host localhost; add_header X-Cache $upstream_cache_status always;
    }
  }
}
"""


@pytest.fixture(scope="module")
def stand(make, files):
    """(the gateway, the port of a cache before it); every answer of the upstream is public, and no two are the same."""
    numbers = itertools.count(1)

    def script(connection, _):
        while head := connection.request():
            more = b"Vary: Accept-Encoding\r\n" if b"/varies" in head else b""
            connection.send(b"HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nETag: \"1\"\r\n%sContent-Length: 4\r\n\r\n%04d" % (more, next(numbers)))

    server = upstreams.Scripted(script)
    people = {"organizations": ["acme"], "credentials": ["session_token", "origin"]}
    gateway = make([route("api", "/v1/"), route("bare", "/bare/", access=ACCESS), route("people", "/people/", access=people, cors={}),
                    route("open", "/open/", access="open")],
                   {"api": {"endpoints": [url(server)]}}, workers=1)
    gateway.create_organization()
    home = files / "shared-cache"
    home.mkdir()
    port = upstreams.free_port()
    temporary = "\n".join("%s_temp_path %s;" % (n, home / n) for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (home / "nginx.conf").write_text(CONFIGURATION % {"home": home, "temporary": temporary, "port": port, "gateway": gateway.clear_port})
    cache = upstreams.Process([shutil.which("nginx") or "/usr/sbin/nginx", "-p", home, "-c", home / "nginx.conf"], home / "out.log", port)
    yield gateway, port
    cache.stop()
    server.stop()


def ask(port, path, fields):
    with Wire(port) as client:
        return client.exchange("GET", path, fields)


@pytest.mark.parametrize("route", ["v1", "bare"])
def test_an_answer_for_one_caller_is_no_others(stand, route):
    gateway, port = stand
    app = gateway.create_app("cached-" + route, origins=["https://one.example", "https://two.example"])
    path = "/%s/x-%s" % (route, app.id)
    name = {"X-App-Id": app.id}
    one, two = {**name, "Origin": "https://one.example"}, {**name, "Origin": "https://two.example"}
    first = ask(port, path, one)
    assert first.status == 200 and first["X-Cache"] == "MISS" and first["Access-Control-Allow-Origin"] == "https://one.example"
    again = ask(port, path, one)
    assert (again["X-Cache"], again.body) == ("HIT", first.body), "the cache works"
    other = ask(port, path, two)
    assert other["Access-Control-Allow-Origin"] == "https://two.example" and other.body != first.body
    assert ask(port, path, {**name, "Origin": "https://evil.example"}).status == 403
    assert ask(port, path, name).status == 401
    assert ask(port, path, {}).status == 401
    # A key, which no cache knows for a credential: its answer is for nobody else either.
    assert ask(port, path, app.fields).status == 200
    assert ask(port, path, name).status == 401
    assert ask(port, path, {**name, "X-Api-Key": app.key[:-1] + ("0" if app.key[-1] != "0" else "1")}).status == 401
    stranger = gateway.create_app("stranger-" + route)
    assert ask(port, path, {"X-App-Id": stranger.id, "Origin": "https://one.example"}).status == 403
    # And what was refused was not kept.
    assert ask(port, path, one)["X-Cache"] == "HIT"


@pytest.mark.parametrize("path,expected", [
    ("/v1/x", {"origin", "x-api-key", "x-app-id"}), ("/v1/varies", {"origin", "x-api-key", "x-app-id", "accept-encoding"}),
    ("/bare/x", {"origin", "x-api-key", "x-app-id"}), ("/people/x", {"origin", "authorization", "x-app-id"}), ("/open/x", set()),
    ("/open/varies", {"accept-encoding"}),
])
def test_an_answer_says_what_it_depends_on(stand, path, expected):
    """RFC 9110 12.5.5; what the upstream says of itself stays beside it."""
    gateway, _ = stand
    app = gateway.create_app("dependent" + path.replace("/", "-"), origins=["https://one.example"])
    for fields in ({**app.fields, "Origin": "https://one.example"}, {**app.fields, "Origin": "https://one.example", "If-None-Match": "\"1\""}):
        answer = gateway.get(path, fields)
        assert answer.status == 200
        assert {name.strip().lower() for value in answer.all("Vary") for name in value.split(",")} == expected


@pytest.mark.parametrize("request_", [
    {"target": "/v1/x"}, {"target": "/nowhere"}, {"target": "/v1/x", "fields": {"Origin": "https://evil.example"}}, {"target": "/v1/x", "method": "TRACE"},
    {"target": "/v1//x"}, {"target": "/v1/x", "method": "POST", "fields": {"Content-Length": "99999999999"}},
    {"target": "/v1/x", "fields": {"Content-Length": "1x"}}, {"target": "/v1/x", "fields": {"Connection": "Upgrade", "Upgrade": "h2c"}},
], ids=str)
def test_a_refusal_is_never_kept(stand, request_):
    answer = stand[0].get(**request_)
    assert answer.status >= 400 and answer["Cache-Control"] == "no-store"


def test_a_preflight_is_kept_by_its_origin_and_what_it_asks(stand):
    gateway, _ = stand
    gateway.create_app("asked", origins=["https://one.example"])
    for origin, age in (("https://one.example", "600"), ("https://evil.example", "0")):
        answer = gateway.get("/v1/x", {"Origin": origin, "Access-Control-Request-Method": "GET"}, method="OPTIONS")
        assert (answer.status, answer["Access-Control-Allow-Origin"], answer["Access-Control-Max-Age"]) == (204, origin, age)
        assert {name.strip().lower() for name in answer["Vary"].split(",")} == {
            "origin", "access-control-request-method", "access-control-request-headers"}
        assert answer["Access-Control-Allow-Credentials"] is None

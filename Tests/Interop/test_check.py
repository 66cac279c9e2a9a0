# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""`/gateway/check`: nginx and Envoy ask before they forward, and are told by the very same rules."""
import json
import os
import shutil

import pytest

import upstreams
import wire
from conftest import route, url
from tokens import Issuer, bearer, mint, told

ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def issuer(files):
    directory = files / "check-issuers"
    directory.mkdir(exist_ok=True)
    return Issuer(directory, "people", "person")


@pytest.fixture(scope="module")
def served(make, backend, issuer):
    access = {"organizations": ["acme"], "credentials": ["session_token", "api_key", "origin"], "person": "optional"}
    routes = [
        route("api", "/v1/", access=access, forward={"identity": True}),
        route("write", "/write/", access={**access, "credentials": ["api_key"]}, match={"path": "/write/", "methods": ["POST"]}),
        route("pages", "/pages/", access=access, cors={"credentials": False}),
        route("open", "/open/", access="open"),
        route("host", "/v1/", access="open", match={"hosts": ["open.example.test"], "path": "/v1/"}),
        route("limited", "/limited/", access=access, limits=[{"name": "few", "per": ["app"], "limit": 2, "window": "60s"}]),
    ]
    gateway = make(routes, {"api": {"endpoints": [url(backend)]}}, start=False, issuers=[issuer.settings])
    gateway.check_port = upstreams.free_port()
    gateway.configuration["listeners"].append({"address": "127.0.0.1:%d" % gateway.check_port, "serves": ["check"]})
    gateway.write()
    gateway.start()
    gateway.create_organization("acme")
    return gateway


@pytest.fixture(scope="module")
def own(served):
    return served.create_app("shop", origins=[ORIGIN])


NGINX = """
daemon off; worker_processes 1; pid %(home)s/pid; error_log %(home)s/error.log; %(user)s
events { worker_connections 1024; }
http {
  access_log off; %(temporary)s
  server {
    listen 127.0.0.1:%(port)d;
    location / {
      auth_request /_check;
      auth_request_set $app $upstream_http_sallyport_app;
      auth_request_set $credential $upstream_http_sallyport_credential;
      auth_request_set $person $upstream_http_sallyport_person;
      auth_request_set $challenge $upstream_http_www_authenticate;
      proxy_set_header Sallyport-App $app;
      proxy_set_header Sallyport-Credential $credential;
      proxy_set_header Sallyport-Person $person;
      proxy_pass http://127.0.0.1:%(backend)d;
    }
    location = /_check {
      internal;
      proxy_pass http://127.0.0.1:%(check)d/gateway/check;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header X-Forwarded-Method $request_method;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Uri $request_uri;
      proxy_set_header X-Forwarded-For $remote_addr;
    }
  }
}
"""


@pytest.fixture(scope="module")
def nginx(files, served, backend):
    home, port = files / "check-nginx", upstreams.free_port()
    home.mkdir()
    temporary = "\n".join("%s_temp_path %s;" % (n, home / n) for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (home / "nginx.conf").write_text(NGINX % {
        "home": home, "port": port, "backend": backend.port, "check": served.check_port, "temporary": temporary,
        "user": "user root;" if os.geteuid() == 0 else ""})
    server = upstreams.Process([shutil.which("nginx") or "/usr/sbin/nginx", "-p", home, "-c", home / "nginx.conf"], home / "out.log", port)
    yield server
    server.stop()


def cluster(name, port):
    return {
        "name": name, "type": "STATIC", "connect_timeout": "2s",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {
            "socket_address": {"address": "127.0.0.1", "port_value": port}}}}]}]},
    }


@pytest.fixture(scope="module")
def envoy(files, served, backend):
    home, port = files / "check-envoy", upstreams.free_port()
    home.mkdir()
    asked = [{"exact": n} for n in ("authorization", "origin", "orgid", "appid")] + [{"prefix": "x-"}]
    filters = [
        {"name": "envoy.filters.http.ext_authz", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
            "allowed_headers": {"patterns": asked},
            "http_service": {
                "server_uri": {"uri": "http://127.0.0.1:%d" % served.check_port, "cluster": "check", "timeout": "2s"},
                "path_prefix": "/gateway/check",
                "authorization_response": {"allowed_upstream_headers": {"patterns": [{"prefix": "sallyport-"}]}},
            }}},
        {"name": "envoy.filters.http.router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}},
    ]
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in", "http_filters": filters,
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "backend"}}]}]},
    }
    (home / "envoy.json").write_text(json.dumps({"static_resources": {
        "listeners": [{"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
                       "filter_chains": [{"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}]}],
        "clusters": [cluster("backend", backend.port), cluster("check", served.check_port)],
    }}))
    import envoy as package

    binary = os.path.join(os.path.dirname(package.__file__), "_bin", "envoy")
    server = upstreams.Process([binary, "-c", home / "envoy.json", "--disable-hot-restart", "--concurrency", "1", "-l", "warning"], home / "out.log", port)
    yield server
    server.stop()


@pytest.fixture(params=["nginx", "envoy"])
def proxy(request):
    return request.getfixturevalue(request.param)


def get(proxy, target, fields=(), method="GET", body=None, host="localhost"):
    with wire.Wire(proxy.port) as one:
        return one.exchange(method, target, dict(fields), body, host)


def test_what_may_pass_reaches_the_upstream_and_it_is_told_who_called(proxy, served, own, issuer):
    for fields, credential in [(own.fields, "api_key"), ({"X-App-Id": own.id, "Origin": ORIGIN}, "origin"),
                               ({"X-App-Id": own.id, **bearer(mint(served, own, "session_token")["token"])}, "session_token")]:
        answer = get(proxy, "/v1/hello?a=b", fields)
        assert answer.status == 200, answer.body
        assert (told(answer)["sallyport-app"], told(answer)["sallyport-credential"]) == (own.id, credential)
    person = get(proxy, "/v1/x", {**own.fields, "x-client-authorization": issuer.token(sub="ada")})
    assert told(person)["sallyport-person"] == "ada"


def test_what_may_not_is_refused_as_the_gateway_would(proxy, own):
    for fields in ({"X-App-Id": own.id}, {"X-App-Id": own.id, "X-Api-Key": own.key[:-1]}, {"X-App-Id": own.id, **bearer("a.b.c")}):
        assert get(proxy, "/v1/x", fields).status == 401
    assert get(proxy, "/v1/x", {"X-App-Id": own.id, "Origin": "https://evil.example"}).status == 403


def test_the_described_method_path_and_host_are_judged(proxy, own):
    assert get(proxy, "/open/x").status == 200
    assert get(proxy, "/v1/x", host="open.example.test").status == 200
    assert get(proxy, "/write/x", own.fields, method="POST", body=b"abc").status == 200
    # No route takes it: nginx makes 500 of any answer that is none of 2xx, 401 and 403.
    assert get(proxy, "/write/x", own.fields).status in (404, 500)
    assert get(proxy, "/nowhere", own.fields).status in (404, 500)


def test_a_client_cannot_describe_another_request(proxy, own):
    for name, value in [("X-Forwarded-Uri", "/open/x"), ("X-Forwarded-Method", "OPTIONS"), ("X-Forwarded-Host", "open.example.test")]:
        assert get(proxy, "/v1/x", {"X-App-Id": own.id, name: value}).status == 401
    # What the client says of itself never reaches the upstream as the gateway's word.
    answer = get(proxy, "/v1/x", {**own.fields, "Sallyport-App": "forged", "Sallyport-Person": "eve"})
    assert told(answer)["sallyport-app"] == own.id
    assert told(answer).get("sallyport-person", "") in ("", None)


# -- without a proxy: the answers themselves


def ask(served, fields, method="GET", uri="/v1/x", host="api.example.test", asked="GET", path="/gateway/check"):
    described = {"X-Forwarded-Method": method, "X-Forwarded-Uri": uri, "X-Forwarded-Host": host, "X-Forwarded-For": "192.0.2.7"}
    with wire.Wire(served.check_port) as one:
        return one.exchange(asked, path, {**described, **fields}, None, "inside")


def test_the_answer_is_204_with_what_an_upstream_would_get(served, own):
    answer = ask(served, own.fields)
    assert (answer.status, answer.body) == (204, b"" if isinstance(answer.body, bytes) else "")
    assert (answer["Sallyport-Organization"], answer["Sallyport-App"], answer["Sallyport-Credential"]) == ("acme", own.id, "api_key")
    assert answer["Sallyport-Decision"] and answer["Cache-Control"] == "no-store"
    assert len(answer["Sallyport-Identity"].split(".")) == 3


def test_a_preflight_is_let_pass_for_a_listed_page_only_and_says_of_nobody(served, own):
    asks = {"X-Forwarded-Method": "OPTIONS", "X-Forwarded-Uri": "/pages/x", "Access-Control-Request-Method": "GET"}
    listed = ask(served, {**asks, "Origin": ORIGIN})
    assert listed.status == 204
    assert (listed["Sallyport-App"], listed["Sallyport-Credential"]) == ("", "")
    stranger = ask(served, {**asks, "Origin": "https://evil.example"})
    assert stranger.status == 403 and stranger.json()["error"]["code"] == "origin_not_allowed"


def test_the_refusal_is_the_gateways_own(served, own):
    direct, asked = served.get("/v1/x", {"X-App-Id": own.id}), ask(served, {"X-App-Id": own.id})
    assert (asked.status, asked.json()) == (direct.status, direct.json())
    assert asked["WWW-Authenticate"]
    assert ask(served, {"X-App-Id": own.id}, uri="/nowhere").status == 404


@pytest.mark.parametrize("asked,method", [("HEAD", "GET"), ("GET", "HEAD"), ("HEAD", "HEAD")])
def test_head_and_get_may_ask_about_each_other(served, own, asked, method):
    with wire.Wire(served.check_port) as one:
        for fields, status in [(own.fields, 204), ({}, 401), (own.fields, 204)]:
            described = {"X-Forwarded-Method": method, "X-Forwarded-Uri": "/v1/x"}
            assert one.exchange(asked, "/gateway/check", {**described, **fields}, None, "api").status == status


def test_windows_are_spent_by_what_is_asked_about(served, own):
    answers = [ask(served, own.fields, uri="/limited/x") for _ in range(3)]
    assert [a.status for a in answers] == [204, 204, 429]
    assert answers[-1]["Retry-After"]


@pytest.mark.parametrize("fields,path", [
    ({"X-Forwarded-Uri": "/v1/x y"}, "/gateway/check"), ({"X-Forwarded-Uri": "v1/x"}, "/gateway/check"),
    ({"X-Forwarded-Method": "GE T"}, "/gateway/check"), ({"X-Forwarded-Host": "a b"}, "/gateway/check"),
    ({"X-Forwarded-Uri": "/v1/../open/x"}, "/gateway/check"), ({"X-Forwarded-Uri": ""}, "/gateway/check"),
])
def test_a_description_that_is_no_request_is_refused(served, own, fields, path):
    answer = ask(served, {**own.fields, **fields}, path=path)
    assert answer.status == 400, (answer.status, answer.body)


def test_a_question_without_a_description_is_refused(served, own):
    with wire.Wire(served.check_port) as one:
        answer = one.exchange("GET", "/gateway/check", own.fields, None, "inside")
    assert (answer.status, answer.json()["data"]["reason"] if "data" in answer.json() else None) == (400, "check_describes_nothing")
    with wire.Wire(served.check_port) as one:
        twice = [*own.fields.items(), ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/v1/x"), ("X-Forwarded-Uri", "/open/x")]
        assert one.exchange("GET", "/gateway/check", twice, None, "inside").status == 400


def test_a_listener_that_does_not_serve_it_has_none(served, own):
    answer = served.get("/gateway/check", {**own.fields, "X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/v1/x"})
    assert answer.status == 404


def test_failures_count_for_the_client_and_not_for_the_proxy(served, own):
    # Each worker counts for itself.
    for _ in range(2000):
        if ask(served, {"X-App-Id": own.id, "X-Forwarded-For": "198.51.100.9"}).status == 429:
            break
    else:
        raise AssertionError("no end of failures")
    assert ask(served, own.fields).status == 204

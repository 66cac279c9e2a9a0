# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Bearer tokens and persons: ours, outside issuers', and each in its own place only."""
import json
import time

import jwt
import pytest

from conftest import route, url
from tokens import SECRET, Issuer, bearer, claims, jose, mint, shared_settings, shared_token, told

KINDS = ["app_token", "web_token", "server_token", "debug_token", "session_token", "person"]


def access(*credentials, **more):
    return {"organizations": ["acme"], "credentials": list(credentials), **more}


@pytest.fixture(scope="module")
def issuers(files):
    directory = files / "issuers"
    directory.mkdir(exist_ok=True)
    return {
        "people": Issuer(directory, "people", "person"),
        "sessions": Issuer(directory, "sessions", "session"),
        "apps": Issuer(directory, "apps", "app", app="azp"),
        "globex": Issuer(directory, "globex", "session", organizations=["globex"]),
    }


@pytest.fixture(scope="module")
def served(make, backend, issuers):
    routes = [
        route("api", "/v1/", access=access("session_token", "app_token", "web_token", "server_token", "debug_token")),
        route("keyed", "/keyed/", access=access("origin", "api_key", "session_token")),
        route("hardware", "/hardware/", access=access("session_token", "app_token", min_trust="hardware")),
        route("optional", "/optional/", access=access("api_key", "session_token", person="optional")),
        route("required", "/required/", access=access("api_key", "session_token", person="required")),
        route("none", "/none/", access=access("api_key", person="none")),
        route("globex", "/globex/", access={"organizations": ["globex"], "credentials": ["session_token"]}),
        route("signed", "/signed/", access=access("api_key", "session_token", person="optional"), forward={"identity": True}),
        route("engine", "/engine/", dialect="appengine", access=access("server_token", "app_token", "api_key", person="optional")),
    ]
    for kind in KINDS:
        routes.append(route("only-" + kind.replace("_", "-"), "/only/%s/" % kind, access=access(kind)))
        if kind != "person":
            routes.append(route("beside-" + kind.replace("_", "-"), "/beside/%s/" % kind, access=access("api_key", kind, person="required")))
    gateway = make(
        routes, {"api": {"endpoints": [url(backend)]}}, start=False, environment={"SHARED_SECRET": SECRET},
        issuers=[i.settings for i in issuers.values()] + [shared_settings()],
        tokens={"issuer": "https://gateway.example", "leeway": "5s"})
    gateway.configuration["listeners"][0]["serves"] = ["keys"]
    gateway.write()
    gateway.start()
    gateway.create_organization("acme")
    gateway.create_organization("globex")
    return gateway


@pytest.fixture(scope="module")
def own(served, issuers):
    app = served.create_app("shop", origins=["https://shop.example"])
    issuers["sessions"].app = issuers["globex"].app = app.id
    return app


@pytest.fixture(scope="module")
def other(served):
    return served.create_app("other")


def get(gateway, target, token=None, app=None, **fields):
    """GET with a bearer token and the app's name."""
    sent = {n.replace("_", "-"): v for n, v in fields.items()}
    if app:
        sent["X-App-Id"] = app.id
    if token:
        sent["Authorization"] = "Bearer " + token
    return gateway.get(target, sent)


# -- outside issuers


@pytest.mark.parametrize("algorithm", Issuer.ALGORITHMS)
def test_a_token_made_by_pyjwt_is_admitted(served, own, issuers, algorithm):
    answer = get(served, "/v1/x", issuers["sessions"].token(algorithm, sub="ada"), own)
    assert answer.status == 200, answer.body
    assert told(answer)["sallyport-credential"] == "session_token"
    assert told(answer)["sallyport-person"] == "ada"


def test_a_shared_secret_signs_too_and_only_by_hmac(served, own):
    assert get(served, "/v1/x", shared_token(own), own).status == 200
    wrong = jwt.encode(claims(shared_token(own)), SECRET + "!", "HS256")
    assert get(served, "/v1/x", wrong, own).status == 401


def test_a_token_made_by_jose_is_admitted(served, own, issuers, tmp_path):
    key = json.loads(jwt.get_algorithm_by_name("ES256").to_jwk(issuers["sessions"].keys["ES256"]))
    (tmp_path / "key.jwk").write_text(json.dumps(key))
    (tmp_path / "claims").write_text(json.dumps(claims(issuers["sessions"].token())))
    made = jose("jws", "sig", "-I", tmp_path / "claims", "-k", tmp_path / "key.jwk", "-c",
                "-s", json.dumps({"protected": {"alg": "ES256", "kid": "es256", "typ": "JWT"}}))
    assert made.returncode == 0, made.stderr
    assert get(served, "/v1/x", made.stdout.strip(), own).status == 200


IN_AN_HOUR = "in an hour"


@pytest.mark.parametrize("change", [
    {"aud": "other-api"}, {"aud": None}, {"iss": "https://nobody.example/"}, {"exp": None}, {"life": -6}, {"sub": None},
    {"iat": IN_AN_HOUR}, {"nbf": IN_AN_HOUR}, {"life": 40 * 86400}, {"headers": {"typ": "sallyport-session_token+jwt"}},
    {"headers": {"kid": "nobody"}}, {"headers": {"jku": "https://evil.example/"}}, {"headers": {"crit": ["x"]}},
], ids=str)
def test_its_sibling_that_breaks_one_rule_is_refused_and_not_told_why(served, own, issuers, change):
    change = {name: int(time.time()) + 3600 if value == IN_AN_HOUR else value for name, value in change.items()}
    assert get(served, "/v1/x", issuers["sessions"].token(), own).status == 200
    answer = get(served, "/v1/x", issuers["sessions"].token(**change), own)
    assert answer.status == 401
    assert answer.json()["error"] == "app_token_invalid"
    assert 'error="invalid_token"' in answer["WWW-Authenticate"]
    assert answer.json()["data"].get("reason") is None


def test_the_leeway_is_a_setting_and_for_others_clocks_only(served, own, issuers):
    assert get(served, "/v1/x", issuers["sessions"].token(life=-3), own).status == 200
    assert get(served, "/v1/x", issuers["sessions"].token(life=-7), own).status == 401


@pytest.mark.parametrize("change", [{"app_trust": None}, {"app_trust": "high"}, {"app_id": None}, {"app_id": "app_of_nobody"}], ids=str)
def test_a_session_without_its_app_or_its_trust_is_no_credential(served, own, issuers, change):
    assert get(served, "/v1/x", issuers["sessions"].token(), own).status == 200
    assert get(served, "/v1/x", issuers["sessions"].token(**change), own).status == 401


def test_a_session_is_judged_by_the_trust_that_it_names(served, own, issuers):
    degraded = issuers["sessions"].token(app_trust="degraded")
    assert told(get(served, "/v1/x", degraded, own))["sallyport-trust"] == "degraded"
    assert get(served, "/hardware/x", degraded, own).json()["error"]["code"] == "trust_too_low"
    assert get(served, "/hardware/x", issuers["sessions"].token(), own).status == 200
    development = issuers["sessions"].token(app_trust="development")
    assert get(served, "/v1/x", development, own).json()["data"]["missing"] == "development_mode"
    served.cli("dev-mode", "on", "--app", own.id, "--hours", "1")
    assert get(served, "/v1/x", development, own).status == 200
    served.cli("dev-mode", "off", "--app", own.id)
    assert get(served, "/v1/x", development, own).status == 401


def test_a_key_of_another_issuer_signs_nothing(served, own, issuers):
    stranger = issuers["globex"].keys["ES256"]
    assert get(served, "/v1/x", issuers["sessions"].token(key=stranger), own).status == 401


def test_an_issuer_serves_the_organizations_listed_for_it_only(served, own, issuers):
    foreign = served.create_app("foreign", organization="globex")
    assert get(served, "/v1/x", issuers["globex"].token(), own).status == 401
    assert get(served, "/globex/x", issuers["globex"].token(app_id=foreign.id), foreign).status == 200
    assert get(served, "/globex/x", issuers["sessions"].token(app_id=foreign.id), foreign).status == 401
    assert get(served, "/v1/x", issuers["globex"].token(app_id=foreign.id), foreign).json()["error"]["code"] == "organization_not_allowed"


def test_an_issuer_of_apps_names_the_app(served, own, other, issuers):
    token = issuers["apps"].token(azp=own.id)
    assert get(served, "/v1/x", token).status == 200
    assert get(served, "/v1/x", token, own).status == 200
    assert get(served, "/v1/x", token, other).status == 401
    assert get(served, "/v1/x", issuers["apps"].token(azp="acme")).status == 401
    assert get(served, "/v1/x", issuers["apps"].token()).status == 401


# -- ours, and each in its place


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_is_taken_in_anothers_place(served, own, kind):
    token = mint(served, own, kind)["token"]
    for route_kind in KINDS:
        answer = get(served, "/only/%s/x" % route_kind, token, own)
        assert (answer.status == 200) == (route_kind == kind), (kind, route_kind, answer.body)
        if route_kind == kind:
            assert told(answer)["sallyport-credential"] == kind
            # It names its app by itself.
            assert get(served, "/only/%s/x" % kind, token).status == 200


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_person_is_taken_as_the_person(served, own, kind):
    token = mint(served, own, kind)["token"]
    answer = served.get("/required/x", {**own.fields, "x-client-authorization": token})
    assert (answer.status == 200) == (kind == "person"), answer.body
    if kind != "person":
        assert answer.json()["error"] == "person_token_invalid"
        # And the other way round: a person beside is no credential of the app.
        beside = get(served, "/beside/%s/x" % kind, mint(served, own, "person")["token"], own)
        assert beside.status == 401


def test_a_token_counts_for_its_app_only(served, own, other):
    token = mint(served, own, "session_token")["token"]
    assert get(served, "/v1/x", token, own).status == 200
    answer = get(served, "/v1/x", token, other)
    assert answer.status == 401
    assert answer.json()["error"] == "app_credentials_required"


def test_a_token_counts_in_its_dialect_only(served, own):
    token = mint(served, own, "server_token")["token"]
    answer = served.get("/engine/x", {"orgid": "acme", "Authorization": "Bearer " + token})
    assert answer.status in (401, 404)


def test_the_least_trust_of_a_route(served, own):
    for trust, status in [("hardware", 200), ("degraded", 403)]:
        answer = get(served, "/hardware/x", mint(served, own, "session_token", trust=trust)["token"], own)
        assert answer.status == status
    body = answer.json()
    assert body["error"]["code"] == "trust_too_low"
    assert (body["data"]["trust"], body["data"]["required"]) == ("degraded", "hardware")


def test_calls_of_dialect_c_say_their_organization(served):
    answer = served.get("/engine/x", bearer("x.y.z"))
    assert (answer.status, answer.json()["code"]) == (400, "missing_orgid")
    # That there is no such app is told at the sign-in only.
    answer = served.get("/engine/x", {"orgid": "acme", "appId": "nobody"})
    assert (answer.status, answer.json()["code"]) == (401, "missing_authorization_header")


def test_another_scheme_is_no_token(served, own):
    answer = served.get("/v1/x", {"X-App-Id": own.id, "Authorization": "Basic dTpw"})
    assert answer.json()["error"] == "app_credentials_required"
    answer = served.get("/keyed/x", {**own.fields, "Authorization": "Basic dTpw"})
    assert answer.status == 200


@pytest.mark.parametrize("scheme", ["bearer ", "BEARER ", "Bearer  ", "bEaReR    "])
def test_the_scheme_ignores_case_and_takes_several_spaces(served, own, issuers, scheme):
    token = issuers["sessions"].token()
    assert served.get("/v1/x", {"X-App-Id": own.id, "Authorization": scheme + token}).status == 200
    assert served.get("/v1/x", {"X-App-Id": own.id, "Authorization": scheme + token + " x"}).status == 401
    assert served.get("/v1/x", {"X-App-Id": own.id, "Authorization": scheme.strip() + token}).status == 401


# -- persons


@pytest.mark.parametrize("prefix", ["", "Bearer ", "bearer "])
def test_the_person_beside_the_app_is_told_to_the_upstream(served, own, issuers, prefix):
    for target in ("/optional/x", "/required/x"):
        answer = served.get(target, {**own.fields, "x-client-authorization": prefix + issuers["people"].token(sub="ada")})
        assert answer.status == 200, answer.body
        assert told(answer)["sallyport-person"] == "ada"
        assert told(answer)["sallyport-credential"] == "api_key"


def test_none_optional_required(served, own, issuers):
    bad = issuers["people"].token(aud="other-api")
    without = {path: served.get("/%s/x" % path, own.fields) for path in ("none", "optional", "required")}
    assert [a.status for a in without.values()] == [200, 200, 401]
    assert without["required"].json()["error"] == "person_token_required"
    withbad = {path: served.get("/%s/x" % path, {**own.fields, "x-client-authorization": bad}) for path in without}
    assert [a.status for a in withbad.values()] == [200, 401, 401]
    assert withbad["optional"].json()["error"] == "person_token_invalid"
    good = served.get("/none/x", {**own.fields, "x-client-authorization": issuers["people"].token()})
    assert "sallyport-person" not in told(good)


def test_a_person_is_of_the_apps_organization(served, own, issuers):
    assert served.get("/required/x", {**own.fields, "x-client-authorization": issuers["globex"].token()}).status == 401
    assert served.get("/required/x", {**own.fields, "x-client-authorization": issuers["people"].token(iss="https://login.example/")}).status == 401


def test_a_session_is_its_own_person_and_no_other(served, own, issuers):
    session = issuers["sessions"].token(sub="ada")
    assert told(get(served, "/required/x", session, own))["sallyport-person"] == "ada"
    same = get(served, "/required/x", session, own, x_client_authorization=issuers["people"].token(sub="ada"))
    assert same.status == 200
    another = get(served, "/required/x", session, own, x_client_authorization=issuers["people"].token(sub="eve"))
    assert another.json()["error"] == "person_token_invalid"


def test_a_client_names_no_person_by_itself(served, own):
    answer = served.get("/optional/x", {**own.fields, "Sallyport-Person": "eve", "Sallyport-Identity": "x", "sallyport_person": "eve"})
    assert "sallyport-person" not in told(answer) and "sallyport-identity" not in told(answer)


def test_two_fields_of_one_name_are_ambiguous(served, own, issuers):
    token = issuers["sessions"].token()
    for name in ("Authorization", "x-client-authorization"):
        answer = served.get("/v1/x", [("X-App-Id", own.id), (name, "Bearer " + token), (name, "Bearer " + token)])
        assert (answer.status, answer.json()["error"]["code"]) == (400, "ambiguous_credentials")


# -- the published keys and the hand-off


def published(gateway):
    answer = gateway.get("/.well-known/jwks.json", tls=True)
    assert answer.status == 200, answer.body
    return answer


def test_ours_verify_elsewhere_by_the_published_keys(served, own, tmp_path):
    keys = jwt.PyJWKSet.from_dict(published(served).json())
    for kind in KINDS:
        token = mint(served, own, kind)["token"]
        head = jwt.get_unverified_header(token)
        assert head["typ"] == "sallyport-%s+jwt" % kind and head["alg"] == "ES256"
        said = jwt.decode(token, keys[head["kid"]].key, ["ES256"], audience="sallyport", issuer="https://gateway.example")
        assert (said["kind"], said["org"], said["app_id"], said["dialect"]) == (kind, "acme", own.id, "offlineid")
        assert said["jti"] and said["app"] and said["app_auth"]
    (tmp_path / "keys.jwk").write_text(published(served).body.decode())
    assert jose("jws", "ver", "-i", "-", "-k", tmp_path / "keys.jwk", text=token).returncode == 0
    assert jose("jws", "ver", "-i", "-", "-k", tmp_path / "keys.jwk", text=token[:-6] + "AAAAAA").returncode != 0


def test_the_key_set_may_be_kept_for_less_than_a_key_is_published_ahead(served):
    answer = published(served)
    assert answer["Cache-Control"] == "public, max-age=300"
    assert answer["Content-Type"] == "application/jwk-set+json"
    for key in answer.json()["keys"]:
        assert set(key) == {"kty", "crv", "x", "y", "use", "alg", "kid"}


def test_a_listener_that_does_not_serve_keys_has_none(served):
    assert served.get("/.well-known/jwks.json").status == 404


def test_the_hand_off_is_signed_for_the_upstream_and_kept(served, own, issuers):
    keys = jwt.PyJWKSet.from_dict(published(served).json())
    first = told(served.get("/signed/x", own.fields))["sallyport-identity"]
    kid = jwt.get_unverified_header(first)["kid"]
    said = jwt.decode(first, keys[kid].key, ["ES256"], audience="api", issuer="https://gateway.example")
    assert jwt.get_unverified_header(first)["typ"] == "sallyport-identity+jwt"
    assert (said["org"], said["app_id"], said["credential"], said["key"], said["route"]) == ("acme", own.id, "api_key", own.key_id, "signed")
    assert said["exp"] - said["iat"] == 120
    seen = {told(served.get("/signed/x", own.fields))["sallyport-identity"] for _ in range(12)}
    assert len(seen | {first}) <= len(served.workers())
    person = told(served.get("/signed/x", {**own.fields, "x-client-authorization": issuers["people"].token(sub="ada")}))
    assert jwt.decode(person["sallyport-identity"], options={"verify_signature": False})["person"] == "ada"
    assert "sallyport-identity" not in told(served.get("/optional/x", own.fields))


def test_issuer_algorithm_and_life_are_settings(make, backend, tmp_path):
    gateway = make([route("api", "/v1/", access=access("api_key", "server_token"), forward={"identity": True})], {"api": {"endpoints": [url(backend)]}},
                   workers=1, start=False, tokens={"issuer": "https://other.example", "algorithm": "EdDSA", "hand_off": "60s"})
    gateway.configuration["listeners"][0]["serves"] = ["keys"]
    gateway.write()
    gateway.start()
    gateway.create_organization("acme")
    app = gateway.create_app("web")
    token = mint(gateway, app, "server_token")["token"]
    keys = jwt.PyJWKSet.from_dict(published(gateway).json())
    assert jwt.get_unverified_header(token)["alg"] == "EdDSA"
    assert jwt.decode(token, keys[jwt.get_unverified_header(token)["kid"]].key, ["EdDSA"], audience="sallyport")["iss"] == "https://other.example"
    answer = get(gateway, "/v1/x", token)
    assert answer.status == 200
    # Upstreams get what every library of theirs can verify.
    identity = told(answer)["sallyport-identity"]
    said = jwt.decode(identity, keys[jwt.get_unverified_header(identity)["kid"]].key, ["ES256"], audience="api", issuer="https://other.example")
    assert said["exp"] - said["iat"] == 60
    # Tokens of another issuer's name are nobody's.
    gateway.configuration["tokens"]["issuer"] = "https://third.example"
    gateway.write()
    gateway.reload()
    end = time.monotonic() + 5
    while get(gateway, "/v1/x", token).status == 200:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert get(gateway, "/v1/x", mint(gateway, app, "server_token")["token"]).status == 200


def test_a_clock_that_is_some_seconds_ahead_makes_no_good_token_bad(served, own, issuers):
    # B29: issued three seconds from now.
    assert get(served, "/v1/x", issuers["sessions"].token(iat=int(time.time()) + 3), own).status == 200
    assert get(served, "/v1/x", issuers["sessions"].token(iat=int(time.time()) + 30), own).status == 401


def test_the_hand_off_opens_nothing(served, own):
    identity = told(served.get("/signed/x", own.fields))["sallyport-identity"]
    for kind in KINDS:
        assert get(served, "/only/%s/x" % kind, identity, own).status == 401
    assert served.get("/required/x", {**own.fields, "x-client-authorization": identity}).status == 401


# -- revocation, seen by the very next request


def test_a_token_in_the_cache_is_asked_after_on_every_use(served, own):
    kept, gone = mint(served, own, "session_token"), mint(served, own, "session_token")
    for token in (kept, gone):
        for _ in range(8):
            assert get(served, "/v1/x", token["token"], own).status == 200
    assert served.cli("tokens", "revoke", gone["token_id"])["confirmed"]
    for _ in range(20):
        answer = get(served, "/v1/x", gone["token"], own)
        assert (answer.status, answer.json()["error"]) == (401, "app_token_invalid")
        assert get(served, "/v1/x", kept["token"], own).status == 200


def test_a_watermark_of_a_person_ends_ours_and_others(served, own, issuers):
    ours = mint(served, own, "session_token", person="bob")["token"]
    outside = issuers["sessions"].token(sub="bob", iat=int(time.time()) - 5)
    beside = {**own.fields, "x-client-authorization": issuers["people"].token(sub="bob", iat=int(time.time()) - 5)}
    other = issuers["sessions"].token(sub="carol", iat=int(time.time()) - 5)
    assert [get(served, "/v1/x", t, own).status for t in (ours, outside, other)] == [200] * 3
    assert served.get("/required/x", beside).status == 200
    time.sleep(1.1)
    assert served.cli("tokens", "revoke", "--person", "bob", "--org", "acme")["confirmed"]
    assert [get(served, "/v1/x", t, own).status for t in (ours, outside, other)] == [401, 401, 200]
    assert served.get("/required/x", beside).json()["error"] == "person_token_invalid"


def test_a_watermark_of_an_app_ends_all_its_tokens_and_no_others(served, own, other):
    mine, theirs = mint(served, other, "server_token")["token"], mint(served, own, "server_token")["token"]
    assert [get(served, "/v1/x", mine, other).status, get(served, "/v1/x", theirs, own).status] == [200, 200]
    time.sleep(1.1)
    assert served.cli("tokens", "revoke", "--app", other.id)["confirmed"]
    assert [get(served, "/v1/x", mine, other).status, get(served, "/v1/x", theirs, own).status] == [401, 200]
    # Tokens say when they were made in whole seconds: one of the same second is taken for older.
    time.sleep(1.1)
    assert get(served, "/v1/x", mint(served, other, "server_token")["token"], other).status == 200


def test_a_disabled_app_ends_its_tokens(served):
    app = served.create_app("shut")
    token = mint(served, app, "session_token")["token"]
    assert get(served, "/v1/x", token, app).status == 200
    served.cli("apps", "disable", "--app", app.id)
    answer = get(served, "/v1/x", token, app)
    assert (answer.status, answer.json()["error"]) == (401, "invalid_app")


def test_development_sessions_end_with_the_mode(served):
    app = served.create_app("dev")
    served.cli("dev-mode", "on", "--hours", "1", "--app", app.id)
    token = mint(served, app, "session_token", trust="development")["token"]
    assert get(served, "/v1/x", token, app).status == 200
    served.cli("dev-mode", "off", "--app", app.id)
    answer = get(served, "/v1/x", token, app)
    assert (answer.status, answer.json()["error"], answer.json()["data"]["missing"]) == (401, "app_credentials_required", "development_mode")
    served.cli("dev-mode", "on", "--hours", "1", "--app", app.id)
    assert get(served, "/v1/x", token, app).status == 200
    served.cli("production", "on", "--app", app.id)
    assert get(served, "/v1/x", token, app).json()["data"]["missing"] == "development_mode"


# -- logs, metrics, floods


def test_the_log_says_why_and_by_which_key_and_never_the_token(served, own, issuers):
    good, bad = issuers["sessions"].token(sub="ada"), issuers["sessions"].token(headers={"kid": "made-up-kid"})
    person = issuers["people"].token(aud="other-api")
    assert get(served, "/v1/x", good, own).status == 200
    assert get(served, "/v1/x", bad, own).status == 401
    assert served.get("/required/x", {**own.fields, "x-client-authorization": person}).status == 401
    time.sleep(0.2)
    lines = served.access()[-3:]
    # Lines of two workers come in either order.
    lines.sort(key=lambda line: (line["decision"], line.get("reason", "")))
    assert [line["decision"] for line in lines] == ["admitted", "refused", "refused"]
    assert lines[0]["key_id"] == "es256" and lines[0]["credential"] == "session_token"
    assert [line["reason"] for line in lines[1:]] == ["token_unknown_key", "token_wrong_audience"]
    text = served.access_log.read_text() + served.output() + served.probe("/metrics")[1]
    for token in (good, bad, person):
        for part in token.split("."):
            assert part not in text
    assert "made-up-kid" not in text


def test_checks_are_counted_and_a_known_token_is_not_checked_again(served, own, issuers):
    def checks():
        time.sleep(0.2)
        return {n.split('"')[1]: v for n, v in served.metrics().items() if n.startswith("sallyport_token_checks_total")}

    before, token = checks(), issuers["sessions"].token()
    with served.wire() as client:
        for _ in range(30):
            assert client.exchange("GET", "/v1/x", {"X-App-Id": own.id, **bearer(token)}).status == 200
    after = checks()
    assert after["good"] - before["good"] == 1


def test_the_attack_list_from_outside(served, own, issuers):
    sessions = issuers["sessions"]
    good = sessions.token()
    head, body, signature = good.split(".")
    public = sessions.keys["RS256"].public_key().public_bytes(
        __import__("cryptography.hazmat.primitives.serialization", fromlist=["x"]).Encoding.PEM,
        __import__("cryptography.hazmat.primitives.serialization", fromlist=["x"]).PublicFormat.SubjectPublicKeyInfo)
    import base64
    import hashlib
    import hmac

    def encode(value):
        return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b"=").decode()

    def hmaced(header):
        text = encode(header) + "." + body
        return text + "." + encode(hmac.new(public, text.encode(), hashlib.sha256).digest())

    attacks = [
        encode({"alg": "none"}) + "." + body + ".", encode({"alg": "none", "kid": "es256"}) + "." + body + "." + signature,
        hmaced({"alg": "HS256", "kid": "rs256"}), hmaced({"alg": "HS256"}), head + "." + body + ".", head + "." + body,
        good + ".", "." + good, good + "=", good[:-1], good + "A", head + "." + encode(b"{}") + "." + signature,
        head + "." + body + "." + "A" * len(signature), "a" * 8193, "x", "..", "", good.replace("-", "+").replace("_", "/") + "+",
        head + "." + encode(json.dumps(claims(good))[:-1].encode() + b',"sub":"18"}') + "." + signature,
    ]
    for attack in attacks:
        answer = served.get("/v1/x", {"X-App-Id": own.id, "Authorization": "Bearer " + attack})
        assert answer.status in (401, 431), (attack[:80], answer.status)
    assert get(served, "/v1/x", good, own).status == 200

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Requirement sections 7 to 10: every row that is no proof is played here; the others say where they are."""
import json
import time

import pytest

import gateway as binary
from conftest import route, url
from rows import note, row
from tokens import Issuer, bearer, claims, mint, told

ORIGIN = "https://shop.example"
TOKENS = ["session_token", "app_token", "web_token", "server_token"]
ROWS = {}


def plays(*identifiers):
    def add(function):
        for identifier in identifiers:
            ROWS[identifier] = function
        return function
    return add


@pytest.fixture(scope="module")
def people(files):
    directory = files / "row-people"
    directory.mkdir(exist_ok=True)
    return Issuer(directory, "people", "person")


class Stand:
    """One gateway with both dialects, and apps made as rows need them."""

    def __init__(self, gateway, people):
        self.gateway, self.people, self.number = gateway, people, 0

    def app(self, organization="acme", dialect="offlineid", **options):
        self.number += 1
        made = self.gateway.cli("apps", "create", "--org", organization, "--name", "row-%d" % self.number, "--dialect", dialect)
        app = binary.App(binary.first(made, "app_id"), organization)
        app.username = "row-%d" % self.number
        app.key, app.key_id = self.gateway.create_key(app)
        for origin in options.get("origins", ()):
            self.gateway.cli("origins", "add", origin, "--app", app.id)
        return app

    def token(self, app, kind="session_token", **options):
        return mint(self.gateway, app, kind, **options)["token"]

    def get(self, fields, path="/a/x"):
        return self.gateway.get(path, fields)

    def a(self, app, token=None, **more):
        return self.get({"X-App-Id": app.id, **(bearer(token) if token else {}), **{n.replace("_", "-"): v for n, v in more.items()}})

    def c(self, app, token=None, **more):
        return self.get({"orgid": app.organization, **(bearer(token) if token else {}), **{n.replace("_", "-"): v for n, v in more.items()}}, "/c/x")

    def cli(self, *arguments):
        return self.gateway.cli(*arguments)

    def events(self, app):
        return [event["event"] for event in self.cli("history", "--app", app.id)["events"]]


@pytest.fixture(scope="module")
def stand(make, backend, people):
    access = {"organizations": "any", "credentials": ["origin", "api_key", *TOKENS], "person": "optional"}
    gateway = make(
        [route("a", "/a/", access=access), route("c", "/c/", dialect="appengine", access=access),
         route("alone", "/alone/", dialect="appengine", access={**access, "credentials": ["person", "app_token"], "person": "none"}),
         route("public", "/public/", dialect="appengine", access={**access, "credentials": ["app_token", "server_token"]})],
        {"api": {"endpoints": [url(backend)]}}, issuers=[people.settings])
    gateway.create_organization("acme")
    gateway.create_organization("globex")
    return Stand(gateway, people)


MISSING = {"error": "app_credentials_required", "data": {"missing": "credential"}}

# -- 7: keys, secrets, tokens


@plays("OFF-074")
def a_server_sends_its_key(stand):
    app = stand.app()
    row("OFF-074", stand.get(app.fields), 200)
    row("OFF-074 without", stand.a(app), 401, MISSING)


@plays("OFF-076")
def trust_is_in_the_token(stand):
    app = stand.app()
    for trust, how in [("hardware", "attestation"), ("degraded", "attestation"), ("development", "development")]:
        said = claims(stand.token(app, trust=trust))
        note("OFF-076 " + trust, (how, trust), (said["app_auth"], said["app_trust"]))


@plays("OFF-077")
def a_token_names_its_app(stand):
    one, two = stand.app(), stand.app()
    token = stand.token(one)
    row("OFF-077 its own", stand.a(one, token), 200)
    row("OFF-077", stand.a(two, token), 401, {"error": "app_credentials_required"})


@plays("OFF-078")
def a_web_session_is_no_credential(stand):
    app = stand.app(origins=[ORIGIN])
    made = stand.cli("token", "mint", "--app", app.id, "--kind", "session_token", "--person", "17")["token"]
    note("OFF-078 claims", ("origin", None), (claims(made)["app_auth"], claims(made).get("app_trust")))
    row("OFF-078", stand.a(app, made), 401, MISSING)
    row("OFF-078 with Origin", stand.a(app, made, Origin=ORIGIN), 200)


@plays("OFF-079")
def a_policy_ends_no_token(stand):
    app = stand.app()
    token = stand.token(app, trust="degraded")
    stand.cli("degraded", "refuse", "--app", app.id)
    row("OFF-079", stand.a(app, token), 200)


@plays("APP-007")
def a_web_token_is_as_public_as_the_app(stand):
    app = stand.app(dialect="appengine")
    row("APP-007", stand.get({"orgid": "acme", **bearer(stand.token(app, "web_token"))}, "/public/x"), 401)


@plays("APP-008")
def a_persons_token_alone_where_it_is_listed(stand):
    app = stand.app(dialect="appengine")
    fields = {"orgid": "acme", "appId": app.username, **bearer(stand.people.token(sub="ada"))}
    answer = stand.get(fields, "/alone/x")
    row("APP-008", answer, 200)
    note("APP-008 told", ("person", "ada"), (told(answer)["sallyport-credential"], told(answer)["sallyport-person"]))
    row("APP-008 no app token", stand.get(fields, "/c/x"), 401)


@plays("APP-063")
def a_secret_token_has_no_attest_claim(stand):
    note("APP-063", False, "attest" in claims(stand.token(stand.app(dialect="appengine"), "server_token")))


@plays("APP-065")
def a_call_of_dialect_c(stand):
    app = stand.app(dialect="appengine")
    token = stand.token(app, "app_token")
    alone, both = stand.c(app, token), stand.c(app, token, x_client_authorization="Bearer " + stand.people.token(sub="ada"))
    row("APP-065 app only", alone, 200)
    row("APP-065 with the person", both, 200)
    note("APP-065 told", (None, "ada"), (told(alone).get("sallyport-person"), told(both)["sallyport-person"]))


@plays("APP-066")
def the_person_with_and_without_bearer(stand):
    app = stand.app(dialect="appengine")
    seen = [told(stand.c(app, stand.token(app, "app_token"), x_client_authorization=prefix + stand.people.token(sub="ada")))["sallyport-person"]
            for prefix in ("", "Bearer ")]
    note("APP-066", ["ada", "ada"], seen)


@plays("APP-067")
def the_organization_is_the_tokens(stand):
    app = stand.app(dialect="appengine")
    row("APP-067", stand.get({"orgid": "globex", **bearer(stand.token(app, "app_token"))}, "/c/x"), 401)


# -- 8: development mode


@plays("OFF-080")
def development_mode_has_a_length(stand):
    app = stand.app()
    for hours, good in [("1", True), ("72", True), ("0", False), ("73", False)]:
        result = stand.gateway.run("dev-mode", "on", "--hours", hours, "--app", app.id, "--json")
        note("OFF-080 hours %s" % hours, good, result.returncode == 0)


@plays("OFF-081")
def turning_it_on_again_sets_a_new_end(stand):
    app = stand.app()
    ends = [stand.cli("dev-mode", "on", "--hours", hours, "--app", app.id) for hours in ("24", "2")]
    until = [binary.first(end, "until") for end in ends]
    note("OFF-081", True, until[1] < until[0])


@plays("OFF-086", "OFF-087")
def development_sessions_last_as_the_mode(stand):
    app = stand.app()
    stand.cli("dev-mode", "on", "--hours", "1", "--app", app.id)
    token = stand.token(app, trust="development")
    row("OFF-086 on", stand.a(app, token), 200)
    stand.cli("dev-mode", "off", "--app", app.id)
    row("OFF-086", stand.a(app, token), 401, {"error": "app_credentials_required", "data": {"missing": "development_mode"}})
    stand.cli("dev-mode", "on", "--hours", "1", "--app", app.id)
    row("OFF-087", stand.a(app, token), 200)


@plays("OFF-088")
def no_development_mode_in_production(stand):
    app = stand.app()
    stand.cli("production", "on", "--app", app.id)
    result = stand.gateway.run("dev-mode", "on", "--hours", "1", "--app", app.id, "--json")
    note("OFF-088", (1, "application_is_production"), (result.returncode, json.loads(result.stdout)["error"]))


# -- 9: production, policies, checks


@plays("OFF-093", "OFF-094")
def production_ends_development(stand):
    app = stand.app()
    stand.cli("dev-mode", "on", "--hours", "1", "--app", app.id)
    token = stand.token(app, trust="development")
    row("OFF-093 before", stand.a(app, token), 200)
    stand.cli("production", "on", "--app", app.id)
    row("OFF-093", stand.a(app, token), 401, {"data": {"missing": "development_mode"}})
    events = stand.events(app)
    note("OFF-094", True, {"production_marked", "development_mode_disabled"} <= set(events))
    stand.cli("production", "off", "--app", app.id)
    row("OFF-093 unmarked", stand.a(app, token), 401, {"data": {"missing": "development_mode"}})


@plays("OFF-095")
def degraded_is_allowed_at_first(stand):
    app = stand.app()
    note("OFF-095", "allow", binary.first(stand.cli("status", "--app", app.id), "androidDegraded"))


@plays("APP-085", "APP-086")
def enforce_warns_and_ends_no_token(stand):
    app = stand.app(dialect="appengine")
    token = stand.token(app, "server_token")
    made = stand.cli("check", "enforce", "--app", app.id, "--yes")
    note("APP-085", True, bool(binary.first(made, "warnings")))
    row("APP-086", stand.c(app, token), 200)


# -- 10: what the next request sees


@plays("OFF-100")
def a_disabled_app(stand):
    app = stand.app(origins=[ORIGIN])
    token = stand.token(app)
    stand.cli("apps", "disable", "--app", app.id)
    for name, answer in [("key", stand.get(app.fields)), ("origin", stand.a(app, Origin=ORIGIN)), ("token", stand.a(app, token))]:
        row("OFF-100 " + name, answer, 401, {"error": "invalid_app", "data": {"app_id": app.id}})


@plays("OFF-102")
def a_removed_origin(stand):
    app = stand.app(origins=[ORIGIN])
    row("OFF-102 before", stand.a(app, Origin=ORIGIN), 200)
    stand.cli("origins", "remove", ORIGIN, "--app", app.id)
    row("OFF-102", stand.a(app, Origin=ORIGIN), 403, {"error": {"code": "origin_not_allowed"}})


@plays("OFF-103")
def a_revoked_key(stand):
    app = stand.app()
    row("OFF-103 before", stand.get(app.fields), 200)
    stand.cli("keys", "revoke", app.key_id, "--app", app.id)
    row("OFF-103", stand.get(app.fields), 401, MISSING)


@plays("APP-088", "APP-090")
def a_revoked_app(stand):
    app = stand.app(dialect="appengine")
    token, person = stand.token(app, "app_token"), stand.people.token()
    row("APP-088 before", stand.c(app, token), 200)
    stand.cli("apps", "revoke", "--app", app.id)
    row("APP-088", stand.c(app, token), 401, {"code": "app_revoked", "statusCode": 401})
    row("APP-090", stand.c(app, token, x_client_authorization=person), 401, {"code": "app_revoked"})


@plays("APP-091")
def a_new_secret_ends_no_token(stand):
    app = stand.app(dialect="appengine")
    token = stand.token(app, "server_token")
    secrets = [stand.cli("secret", "rotate", "--app", app.id)["secret"] for _ in range(2)]
    note("APP-091 another each time", True, secrets[0] != secrets[1])
    row("APP-091", stand.c(app, token), 200)


@plays("SAL-010")
def confirmed_means_the_next_request(stand):
    app = stand.app()
    for _ in range(20):
        made = mint(stand.gateway, app, "session_token")
        row("SAL-010 before", stand.a(app, made["token"]), 200)
        note("SAL-010 confirmed", True, stand.cli("tokens", "revoke", made["token_id"])["confirmed"])
        for _ in range(4):
            row("SAL-010", stand.a(app, made["token"]), 401, {"error": "app_token_invalid"})


@plays("APP-064")
def an_app_token_lives_an_hour(stand):
    said = claims(stand.token(stand.app(dialect="appengine"), "app_token", minutes="60"))
    note("APP-064", 3600, said["exp"] - said["iat"])
    result = stand.gateway.run("token", "mint", "--app", stand.app().id, "--kind", "server_token", "--minutes", "61")
    note("APP-064 no more", False, result.returncode == 0)


@plays("SAL-008", "SAL-009")
def nothing_secret_is_kept_or_told(stand):
    app = stand.app()
    second, _ = stand.gateway.create_key(app, "second")
    secret = stand.cli("secret", "rotate", "--app", app.id)["secret"]
    token, person = stand.token(app), stand.people.token()
    planted = [app.key, second, secret, token, person, "Zq9bearer.Zq9claims.Zq9signature"]
    planted += [part for t in (token, person) for part in t.split(".")[1:]]
    pepper = [p.read_text(errors="replace").strip() for p in (stand.gateway.directory / "state/keys").iterdir() if p.is_file()]
    bodies = [stand.get({**app.fields, "x-client-authorization": person}), stand.a(app, token), stand.a(app, planted[5]),
              stand.a(app, token + "x"), stand.get({"X-App-Id": app.id, "X-Api-Key": second[:-1]}), stand.a(app, x_client_authorization=planted[5])]
    time.sleep(0.3)
    places = {"metrics": stand.gateway.probe("/metrics")[1], "log": stand.gateway.output(), "access log": stand.gateway.access_log.read_text(),
              "history": json.dumps(stand.cli("history", "--app", app.id)), "status": json.dumps(stand.cli("status", "--app", app.id))}
    places.update({"answer %d" % i: b.body.decode("latin-1") for i, b in enumerate(bodies) if b.status >= 400})
    for file in (stand.gateway.directory / "state").rglob("*"):
        if file.is_file() and "keys" not in file.parts:
            places[str(file)] = file.read_bytes().decode("latin-1")
    found = [(place, s[:6]) for place, text in places.items() for s in planted + [p for p in pepper if len(p) > 20] if s in text]
    note("SAL-008 SAL-009", [], found)


# -- the whole table

SIGN_IN = "the sign-in paths of dialect A: test_offlineid.py"
PROOF = "a proof"
VOUCH = "dialect B's own endpoints"
ENGINE = "dialect C's own endpoints"
ELSEWHERE = {
    "OFF-075": "out of scope", **dict.fromkeys(["OFF-082", "OFF-083", "OFF-084", "OFF-085", "OFF-089", "OFF-090", "OFF-096", "OFF-097", "OFF-098", "OFF-099"], SIGN_IN),
    **dict.fromkeys(["OFF-091", "OFF-092", "OFF-101", "OFF-104", "OFF-105"], PROOF),
    **dict.fromkeys(["VCH-019", "VCH-020", "VCH-021", "VCH-022", "VCH-023", "VCH-024", "VCH-025", *["VCH-0%d" % n for n in range(26, 36)]], VOUCH),
    **dict.fromkeys(["APP-060", "APP-061", "APP-062", *["APP-0%d" % n for n in range(68, 85)], "APP-087", "APP-089", "APP-092", "APP-093", "APP-094"], ENGINE),
}
ALL = ["OFF-%03d" % n for n in range(74, 106)] + ["VCH-%03d" % n for n in range(19, 36)] + ["APP-%03d" % n for n in range(60, 95)] + ["SAL-008", "SAL-009", "SAL-010"]


def test_every_row_is_played_or_says_where():
    missing = [i for i in ALL if i not in ROWS and i not in ELSEWHERE]
    assert not missing
    assert not set(ROWS) & set(ELSEWHERE)


@pytest.mark.parametrize("identifier", sorted(ROWS))
def test_a_row(stand, identifier):
    ROWS[identifier](stand)

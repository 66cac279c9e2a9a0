# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Who is let in and who is told how to be let in."""
import pytest

from conftest import route

ORIGIN = "https://app.example"


def test_a_key_is_admitted_and_the_upstream_is_told_who_called(gateway, app):
    answer = gateway.get("/v1/hello", app.fields)
    assert answer.status == 200
    told = {n.lower(): v for n, v in answer.json()["gateway"].items()}
    assert told["sallyport-app"] == app.id
    assert told["sallyport-organization"] == "acme"
    assert told["sallyport-credential"] == "api_key"
    assert told["sallyport-decision"]


def test_a_listed_origin_is_admitted_and_may_read_the_answer(gateway, app):
    answer = gateway.get("/v1/hello", {"X-App-Id": app.id, "Origin": ORIGIN})
    assert answer.status == 200
    assert answer["Access-Control-Allow-Origin"] == ORIGIN
    assert "origin" in (answer["Vary"] or "").lower()
    assert {n.lower(): v for n, v in answer.json()["gateway"].items()}["sallyport-credential"] == "origin"


@pytest.mark.parametrize("origin", ["HTTPS://App.Example:443", "https://app.example:443", "https://app.example."])
def test_an_origin_is_compared_after_it_is_normalised(gateway, app, origin):
    assert gateway.get("/v1/hello", {"X-App-Id": app.id, "Origin": origin}).status == 200


@pytest.mark.parametrize("origin", [
    "http://app.example", "https://app.example:8443", "https://www.app.example", "https://evil.example", "null",
    "https://app.example.evil.example", "https://u:p@app.example", "app.example",
])
def test_another_origin_is_refused_with_the_command_that_lists_it(gateway, app, origin):
    answer = gateway.get("/v1/hello", {"X-App-Id": app.id, "Origin": origin})
    assert answer.status == 403, answer.body
    assert answer.json()["error"]["code"] == "origin_not_allowed"
    if origin.startswith("http") and "@" not in origin:
        assert "sallyport origins add " + origin in answer.json()["data"]["next_steps"]
        assert answer["Access-Control-Allow-Origin"] == origin
    assert answer["Access-Control-Allow-Credentials"] is None
    assert answer["Cache-Control"] == "no-store"
    assert answer["Sallyport-Decision"]


def test_a_key_lets_a_request_pass_whatever_its_origin(gateway, app):
    answer = gateway.get("/v1/hello", {**app.fields, "Origin": "https://evil.example"})
    assert answer.status == 200


def test_without_a_credential_the_answer_says_what_is_missing(gateway, app):
    answer = gateway.get("/v1/hello", {"X-App-Id": app.id})
    assert answer.status == 401
    assert answer["WWW-Authenticate"]
    body = answer.json()
    assert body["error"] == "app_credentials_required"
    assert body["data"]["app_id"] == app.id
    assert body["data"]["missing"]
    assert body["data"]["next_steps"]


@pytest.mark.parametrize("fields", [
    {"X-App-Id": "app_unknown00", "Origin": ORIGIN}, {"Origin": ORIGIN}, {},
])
def test_an_unknown_app_or_none_is_refused(gateway, app, fields):
    assert gateway.get("/v1/hello", fields).status in (401, 403)


def mistyped(key):
    """The key with its tenth character from the end changed."""
    at = len(key) - 10
    return key[:at] + ("A" if key[at] != "A" else "B") + key[at + 1:]


@pytest.mark.parametrize("change", [mistyped, lambda key: key[:-1], lambda key: key + "A", lambda key: "", lambda key: "x" * 5000])
def test_a_key_that_is_not_the_apps_is_refused(gateway, app, change):
    answer = gateway.get("/v1/hello", {"X-App-Id": app.id, "X-Api-Key": change(app.key)})
    assert answer.status in (401, 431), answer.body


def test_a_key_of_another_app_is_refused(gateway, app):
    other = gateway.create_app("other")
    assert gateway.get("/v1/hello", {"X-App-Id": app.id, "X-Api-Key": other.key}).status == 401
    assert gateway.get("/v1/hello", other.fields).status == 200


def test_two_keys_may_live_at_once_and_a_revoked_one_is_refused(gateway, app):
    key, key_id = gateway.create_key(app, "second")
    both = {"X-App-Id": app.id, "X-Api-Key": key}
    assert gateway.get("/v1/hello", both).status == 200
    assert gateway.get("/v1/hello", app.fields).status == 200
    gateway.cli("keys", "revoke", key_id, "--app", app.id)
    assert gateway.get("/v1/hello", both).status == 401
    assert gateway.get("/v1/hello", app.fields).status == 200


def test_a_disabled_app_is_refused_until_it_is_enabled(gateway):
    app = gateway.create_app("switched", origins=[ORIGIN])
    assert gateway.get("/v1/hello", app.fields).status == 200
    gateway.cli("apps", "disable", "--app", app.id)
    refused = gateway.get("/v1/hello", app.fields)
    assert refused.status == 401
    assert refused.json()["error"] in ("invalid_app", "app_credentials_required")
    gateway.cli("apps", "enable", "--app", app.id)
    assert gateway.get("/v1/hello", app.fields).status == 200


def test_an_app_of_an_organization_the_route_is_not_for_is_refused(gateway):
    gateway.create_organization("globex")
    app = gateway.create_app("web", organization="globex", origins=["https://globex.example"])
    answer = gateway.get("/v1/hello", app.fields)
    assert answer.status == 403
    assert answer.json()["error"]["code"] == "organization_not_allowed"


@pytest.mark.parametrize("name,value", [
    ("X-Api-Key", "x"), ("Origin", "https://evil.example"), ("Authorization", "Bearer x"),
])
def test_two_fields_of_one_credential_are_ambiguous(gateway, app, name, value):
    fields = [*app.fields.items(), ("Origin", ORIGIN), ("Authorization", "Bearer y"), (name, value)]
    answer = gateway.get("/v1/hello", fields)
    assert answer.status == 400
    assert answer.json()["error"]["code"] == "ambiguous_credentials"


def test_an_open_route_asks_for_nothing(gateway):
    assert gateway.get("/open/hello").status == 200


@pytest.mark.parametrize("swapped", [False, True], ids=["open first", "restricted first"])
@pytest.mark.parametrize("slash", ["", "/"], ids=["", "slash"])
def test_a_route_that_names_methods_wins_over_one_of_the_same_path(make, backend, swapped, slash):
    """Whatever their order in the file: else the first would open what the second restricts."""
    routes = [route("files", "/files" + slash, access="open"), route("upload", "/files", match={"path": "/files", "methods": ["POST"]})]
    one = make(routes[::-1] if swapped else routes, {"api": {"endpoints": ["http://127.0.0.1:%d" % backend.port]}}, workers=1)
    assert one.get("/files/a").status == 200
    assert one.get("/files/a", method="POST").status in (400, 401)
    assert one.get("/files/a", method="PUT").status == 200


def test_no_route_is_404(gateway):
    answer = gateway.get("/nowhere")
    assert answer.status == 404
    assert "route_not_found" in answer.body.decode()


def test_a_path_prefix_ends_at_a_segment(gateway, app):
    assert gateway.get("/v1x/hello", app.fields).status == 404


@pytest.mark.parametrize("target", ["/open/../v1/hello", "/open/%2e%2e/v1/hello", "/v1/..%2fopen/hello"])
def test_a_path_that_two_servers_read_two_ways_opens_nothing(gateway, target):
    assert gateway.get(target).status in (400, 401, 404)


def test_a_preflight_of_a_listed_origin_is_answered_without_credentials(gateway, app):
    answer = gateway.get("/v1/hello", method="OPTIONS", fields={
        "Origin": ORIGIN, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-app-id, content-type"})
    assert answer.status == 204
    assert answer["Access-Control-Allow-Origin"] == ORIGIN
    assert "PUT" in answer["Access-Control-Allow-Methods"]
    assert "x-app-id" in answer["Access-Control-Allow-Headers"].lower()
    assert "*" not in answer["Access-Control-Allow-Origin"]


def test_the_refusal_is_a_problem_document_when_asked(gateway, app):
    answer = gateway.get("/v1/hello", {"X-App-Id": app.id, "Accept": "application/problem+json"})
    assert answer.status == 401
    assert answer["Content-Type"].startswith("application/problem+json")
    assert {"type", "title", "status"} <= set(answer.json())


def test_a_grpc_caller_gets_a_grpc_status(gateway, app):
    answer = gateway.get("/v1/hello", {"X-App-Id": app.id, "Content-Type": "application/grpc"}, method="POST", body=b"")
    assert answer["grpc-status"] == "16", answer.fields


def test_the_last_use_of_a_key_is_shown(gateway):
    app = gateway.create_app("dated")
    gateway.get("/v1/hello", app.fields)
    import time

    time.sleep(2)
    listed = gateway.run("keys", "list", "--app", app.id, "--json").stdout
    assert app.key not in listed
    assert "last_used" in listed


def test_the_status_of_an_app_names_what_is_missing(gateway, app):
    status = gateway.cli("status", "--app", app.id)
    assert status["app_id"] == app.id
    assert status["origins"] == [ORIGIN]
    assert status["development"] == {"active": False, "until": None, "available": True, "command": "sallyport dev-mode on --hours 24"}
    assert status["production"] is False
    assert status["androidDegraded"] in ("allow", "refuse")


def test_changes_are_in_the_history_newest_first(gateway):
    app = gateway.create_app("historic")
    gateway.cli("dev-mode", "on", "--hours", "2", "--app", app.id)
    gateway.cli("production", "on", "--app", app.id)
    events = gateway.cli("history", "--app", app.id)["events"]
    names = [e["event"] for e in events]
    assert names.index("production_marked") < names.index("development_mode_enabled")
    assert all(e["by"] and e["at"] for e in events)
    refused = gateway.run("dev-mode", "on", "--app", app.id, "--json")
    assert refused.returncode == 1
    assert "application_is_production" in refused.stdout
    assert gateway.run("dev-mode", "on", "--hours", "x", "--app", app.id).returncode == 2


def test_apply_brings_the_registry_to_the_files_state(gateway):
    app = gateway.create_app("applied")
    record = gateway.cli("apps", "show", "--app", app.id)
    file = gateway.directory / "tenants.yaml"
    file.write_text("version: 1\norganizations:\n  - id: acme\n    apps:\n      - id: %s\n        origins: ['https://one.example']\n" % app.id)
    assert gateway.get("/v1/hello", {"X-App-Id": app.id, "Origin": "https://one.example"}).status == 403, record
    gateway.cli("apply", "-f", file, "--dry-run")
    assert gateway.get("/v1/hello", {"X-App-Id": app.id, "Origin": "https://one.example"}).status == 403
    gateway.cli("apply", "-f", file)
    assert gateway.get("/v1/hello", {"X-App-Id": app.id, "Origin": "https://one.example"}).status == 200
    before = len(gateway.cli("history", "--app", app.id)["events"])
    gateway.cli("apply", "-f", file)
    assert len(gateway.cli("history", "--app", app.id)["events"]) == before
    # A file that is empty is told by its name and by what it should say, never by a name of ours; nothing is pruned.
    for empty in ("/dev/null", gateway.directory / "blank.yaml"):
        (gateway.directory / "blank.yaml").write_text(" \n\n")
        refused = gateway.run("apply", "-f", empty, "--prune")
        assert refused.returncode == 1 and '"text"' not in refused.stderr, refused.stderr
        assert str(empty) in refused.stderr and "the file is empty; expected version: 1 and organizations:" in refused.stderr
    assert gateway.cli("apps", "show", "--app", app.id)["enabled"] is True

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Every change writes its event, once, and a command that changes nothing writes none (section 15)."""
import getpass
import json
import re

import pytest

import devices
import gateway as binary
from dialects import Tenant, one  # noqa: F401 (one is a fixture)
from rows import note
from signins import authorities, backend  # noqa: F401 (fixtures)

# (command, event, its own members; ... stands for any) — the command again changes nothing,
# unless it makes something new
SWITCHES = [
    ("production on", "production_marked", {}),
    ("production off", "production_unmarked", {}),
    ("degraded refuse", "android_degraded_changed", {"from": "allow", "to": "refuse"}),
    ("degraded allow", "android_degraded_changed", {"from": "refuse", "to": "allow"}),
    ("dev-builds on", "development_builds_changed", {"allowed": True}),
    ("dev-builds off", "development_builds_changed", {"allowed": False}),
    ("check enforce --yes", "check_changed", {"from": "monitor", "to": "enforce"}),
    ("check monitor", "check_changed", {"from": "enforce", "to": "monitor"}),
    ("origins add https://one.example", "origin_added", {"origin": "https://one.example"}),
    ("origins remove https://one.example", "origin_removed", {"origin": "https://one.example"}),
    ("domains add one.example", "domain_added", {"domain": "one.example"}),
    ("domains remove one.example", "domain_removed", {"domain": "one.example"}),
    ("native add ios --bundle-id com.example.two --team-id ABCDE12345", "native_ios_added", {"bundle_id": "com.example.two", "team_id": "ABCDE12345"}),
    ("native remove ios --bundle-id com.example.two", "native_ios_removed", {"bundle_id": "com.example.two"}),
    ("native add android --package com.example.two --sha256 " + "22" * 32, "native_android_added", {"package": "com.example.two", "sha256": ["22" * 32]}),
    ("native remove android --package com.example.two", "native_android_removed", {"package": "com.example.two"}),
    ("identity set --domain two.example", "identity_changed", {"parts": ["web"]}),
    ("debug-tokens allow off", "debug_tokens_refused", {}),
    ("debug-tokens allow on", "debug_tokens_allowed", {}),
    ("debug-devices add dev_one", "debug_device_added", {"device_id": "dev_one"}),
    ("policy set degraded=monitor", "policies_changed", {}),
    ("policy set degraded=default", "policies_changed", {}),
    ("settings set nonce-ttl=120", "settings_changed", {}),
    ("devices block {phone}", "device_blocked", {"device": "{phone}"}),
    ("devices unblock {phone}", "device_unblocked", {"device": "{phone}"}),
    ("play-keys remove", "play_keys_removed", {}),
    ("apps disable", "app_disabled", {}),
    ("apps enable", "app_enabled", {}),
]
# What makes or ends something each time.
MAKERS = [
    ("dev-mode on --hours 3", "development_mode_enabled", {"hours": 3, "until": ...}),
    ("dev-mode off", "development_mode_disabled", {"reason": "turned_off"}),
    ("keys create --name one", "api_key_created", {"key_id": ...}),
    ("secret rotate", "secret_created", {}),
    ("secret rotate", "secret_rotated", {}),
    ("debug-tokens create --name one", "debug_token_created", {"id": ..., "name": "one"}),
    ("debug-devices remove dev_one", "debug_device_removed", {"device_id": "dev_one"}),
    ("lab trust on --hours 1 --lab {lab}", "lab_trust_enabled", {"hours": 1, "until": ...}),
    ("lab trust off", "lab_trust_disabled", {"reason": "turned_off"}),
    ("devices revoke dev_used", "device_revoked", {"device_id": "dev_used"}),
    ("tokens revoke --before 2026-01-01T00:00:00Z", "tokens_revoked", {}),
    ("token mint --minutes 5", "token_minted", {}),
]


def events(tenant):
    return tenant.cli("history", "--limit", "1000")["events"]


def has(row, members):
    return all(name in row and (value is ... or row[name] == value) for name, value in members.items())


def test_each_change_writes_its_event_and_the_same_again_none(one, authorities, tmp_path):  # noqa: F811
    tenant, phone = Tenant(one, authorities), devices.IPhone(authorities)
    assert tenant.engine.ios_first(phone).status == 200
    assert tenant.vouch.android(tenant.android, device="dev_used").status == 200
    assert one.run("lab", "init", tmp_path / "lab").returncode == 0
    words = {"phone": phone.id.hex(), "lab": tmp_path / "lab"}
    seen, wrong = [], []
    for table, repeats in ((SWITCHES, True), (MAKERS, False)):
        for command, event, members in table:
            members = {name: words["phone"] if value == "{phone}" else value for name, value in members.items()}
            line = command.format(**words).split()
            before = events(tenant)
            result = one.run(*line, "--app", tenant.id, "--json")
            after = events(tenant)
            fresh = after[:len(after) - len(before)]
            good = result.returncode == 0 and [r["event"] for r in fresh] == [event] and has(fresh[0], members)
            good = good and fresh[0]["by"] == getpass.getuser() and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", fresh[0]["at"])
            if not good:
                wrong.append((command, event, result.returncode, fresh, result.stdout[-200:], result.stderr[-200:]))
            seen.append(event)
            if repeats and good:
                one.run(*line, "--app", tenant.id, "--json")
                if len(again := events(tenant)) != len(after):
                    wrong.append((command, "again", again[0]))
    note("OFF-143 OFF-144 OFF-146 SAL-016", [], wrong)
    rows = events(tenant)
    note("OFF-143 newest first", True, [r["at"] for r in rows] == sorted((r["at"] for r in rows), reverse=True))
    only = tenant.cli("history", "--event", "secret_rotated")["events"]
    note("SAL-016 --event", ["secret_rotated"], [r["event"] for r in only])


def test_production_ends_development_mode_with_its_own_reason(one, authorities):  # noqa: F811
    tenant = Tenant(one, authorities)
    tenant.cli("dev-mode", "on")
    tenant.cli("production", "on")
    assert one.run("dev-mode", "on", "--app", tenant.id).returncode == 1
    made = [(r["event"], r.get("reason")) for r in events(tenant)][:3]
    note("OFF-144 production", {("development_mode_disabled", "production"), ("production_marked", None), ("development_mode_enabled", None)}, set(made))
    note("OFF-146 a refused change", 1, sum(r["event"] == "development_mode_enabled" for r in events(tenant)))


def test_an_apps_life_is_in_its_history(one, authorities):  # noqa: F811
    tenant = Tenant(one, authorities)
    key = tenant.cli("keys", "create", "--name", "k")
    tenant.cli("keys", "revoke", binary.first(key, "key_id", "id"))
    token = tenant.cli("debug-tokens", "create", "--name", "d")
    tenant.cli("debug-tokens", "delete", token["id"])
    tenant.cli("apps", "revoke")
    made = [r["event"] for r in events(tenant)]
    note("SAL-016", ["app_revoked", "debug_token_deleted", "debug_token_created", "api_key_revoked", "api_key_created"], made[:5])
    note("SAL-016 created", "app_created", made[-1])


def test_the_history_is_only_read(one, authorities):  # noqa: F811
    tenant = Tenant(one, authorities)
    for method, path in (("DELETE", "/history"), ("DELETE", "/history/1"), ("PUT", "/history"), ("POST", "/history"), ("PATCH", "/history/1")):
        with pytest.raises(AssertionError, match="40[45]"):
            one.admin(method, "/apps/%s%s" % (tenant.id, path), {})


def test_organizations_and_the_gateway_have_theirs(one):
    one.cli("orgs", "create", "histories")
    one.cli("orgs", "disable", "histories")
    one.cli("orgs", "enable", "histories")
    made = [r["event"] for r in one.cli("history", "--org", "histories")["events"]]
    note("SAL-016 of an organization", ["organization_enabled", "organization_disabled", "organization_created"], made)
    token = one.cli("admin-tokens", "create", "--name", "t", "--role", "viewer")
    one.cli("admin-tokens", "revoke", token["id"])
    made = [r["event"] for r in one.cli("history")["events"]]
    note("SAL-016 of the gateway", {"admin_token_created", "admin_token_revoked"}, set(made) & {"admin_token_created", "admin_token_revoked"})
    assert json.dumps(token["token"]) not in json.dumps(one.cli("history"))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The command line beside the table of section 14.1: every verb is there, and those no other suite runs do what they say."""
import json
import subprocess

import pytest

import gateway as binary
from dialects import Tenant, one  # noqa: F401 (one is a fixture)
from rows import note
from signins import authorities, backend  # noqa: F401 (fixtures)

# The verbs of section 14.1 in its order; "native setup-project" and the hosted MCP are out of scope there.
VERBS = """
apps list · apps create · apps disable · apps enable · status · native detect · native add ios · native add android · native remove ios · native remove android ·
native list · dev-builds on · dev-builds off · dev-mode on · dev-mode off · production on · production off · degraded allow · degraded refuse · history · origins add ·
origins list · origins remove · apply · keys create · keys list · keys revoke · mcp serve · devices revoke · debug-devices add · debug-devices list ·
debug-devices remove · policy get · policy set · settings set · identity set · domains add · domains remove · domains list · check off · check monitor ·
check enforce · secret rotate · apps revoke · devices block · devices unblock · devices list · debug-tokens allow on · debug-tokens allow off ·
debug-tokens create · debug-tokens list · debug-tokens delete · sign-ins · failures
""".replace("\n", " ").split("·")
LISTS = ["apps list", "status", "native detect", "native list", "history", "origins list", "keys list", "debug-devices list", "policy get", "domains list", "devices list", "debug-tokens list", "sign-ins", "failures"]


@pytest.fixture
def tenant(one, authorities):  # noqa: F811
    return Tenant(one, authorities)


def run(*arguments, **options):
    return subprocess.run([str(binary.BINARY), *arguments], capture_output=True, text=True, timeout=20, **options)


def test_every_verb_of_the_table_is_there():
    overview = run("--help").stdout
    listed = [line.strip() for line in overview.splitlines() if line.startswith("  ")]
    missing = [verb.strip() for verb in VERBS if not any(line.startswith(verb.strip()) for line in listed)]
    note("14.1 verbs", [], missing)
    for verb in VERBS:
        assert run(*verb.split(), "--help").stdout.splitlines()[2].startswith("usage: sallyport " + verb.strip()), verb
    note("14.1 listing commands take --json", [], [verb for verb in LISTS if "--json" not in run(*verb.split(), "--help").stdout])


# -- native detect
def test_native_detect_reads_a_project_and_asks_nobody(tmp_path):
    (tmp_path / "app.json").write_text(json.dumps({"expo": {"ios": {"bundleIdentifier": "com.example.fieldapp"}, "android": {"package": "com.example.fieldapp"}}}))
    xcode = tmp_path / "ios/Field.xcodeproj"
    xcode.mkdir(parents=True)
    (xcode / "project.pbxproj").write_text("buildSettings = {\n\t\tDEVELOPMENT_TEAM = ABCDE12345;\n\t\tPRODUCT_BUNDLE_IDENTIFIER = com.example.fieldapp;\n\t};\n")
    found = run("native", "detect", "--json", cwd=tmp_path, env={})
    assert found.returncode == 0, found.stderr
    note("native detect", {
        "ios": [{"bundle_id": "com.example.fieldapp", "file": "app.json", "command": "sallyport native add ios --bundle-id com.example.fieldapp --team-id ABCDE12345", "team_id": "ABCDE12345"}],
        "android": [{"package": "com.example.fieldapp", "file": "app.json", "command": "sallyport native add android --package com.example.fieldapp --sha256 <certificate SHA-256>"}],
    }, json.loads(found.stdout))
    assert "sallyport native add ios" in run("native", "detect", "--project", str(tmp_path), env={}).stdout
    empty = tmp_path / "empty"
    empty.mkdir()
    nothing = run("native", "detect", "--project", str(empty), "--json", env={})
    note("nothing to detect", (1, "nothing_found"), (nothing.returncode, json.loads(nothing.stdout)["error"]))


# -- identity
def test_identity_is_saved_in_parts_and_keys_are_never_shown(one, tenant, authorities, tmp_path):  # noqa: F811
    for name, text in zip(("decryption", "verification"), authorities.play_keys):
        (tmp_path / name).write_text(text + "\n")
    made = one.admin("POST", "/apps", {"name": "identity", "organization": "acme", "dialects": ["appengine"]})
    at = ["--app", made["app_id"]]
    saved = one.cli("identity", "set", "--ios-team", "ABCDE12345", "--ios-bundle", "com.example.fieldapp", "--android-package", "com.example.fieldapp",
                    "--play-decryption-key-file", tmp_path / "decryption", "--play-verification-key-file", tmp_path / "verification", *at)
    note("identity set", ({"teamId": "ABCDE12345", "bundleId": "com.example.fieldapp"}, True, True), (saved["ios"], saved["android"]["keysSet"], saved["confirmed"]))
    shown = one.run("identity", "show", "--json", *at).stdout
    note("APP-106", (True, False), (json.loads(shown)["android"]["keysSet"], any(key in shown for key in authorities.play_keys)))
    assert "Play keys" in (text := one.run("identity", "show", *at).stdout) and "set" in text and not any(key in text for key in authorities.play_keys)
    one.cli("identity", "set", "--domain", "shop.example.com", "--domain", "www.example.com", *at)
    kept = one.cli("identity", "show", *at)
    note("APP-103 parts not given stay", ("ABCDE12345", "com.example.fieldapp", True, ["shop.example.com", "www.example.com"]), (
        kept["ios"]["teamId"], kept["android"]["packageName"], kept["android"]["keysSet"], kept["web"]["allowedDomains"]))
    note("nothing to change", False, one.cli("identity", "set", "--domain", "shop.example.com", "--domain", "www.example.com", *at)["changed"])
    for wrong, code in ((["--ios-team", "ABCDE12345"], 1), (["--ios-team", "abc", "--ios-bundle", "com.example.a"], 1), ([], 2),
                        (["--play-decryption-key-file", tmp_path / "decryption"], 1), (["--play-decryption-key-file", tmp_path / "none"], 2)):
        note("identity set %s" % wrong[:1], code, one.run("identity", "set", *wrong, *at).returncode)
    note("nothing of a refused one is kept", kept, one.cli("identity", "show", *at))


# -- MCP
class Tools:
    """A client of `mcp serve`, one line at a time."""

    def __init__(self, one, *arguments):
        self.process = subprocess.Popen([str(binary.BINARY), "mcp", "serve", "--config", str(one.file), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0

    def ask(self, method, **parameters):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.number, answer
        return answer

    def call(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)["result"]

    def close(self):
        self.process.stdin.close()
        return self.process.wait(5)


def test_the_mcp_tools_change_what_the_verbs_change(one, tenant):
    tools = Tools(one, "--app", tenant.id)
    hello = tools.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "test", "version": "1"})["result"]
    note("MCP initialize", ("2025-03-26", "sallyport"), (hello["protocolVersion"], hello["serverInfo"]["name"]))
    tools.process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    names = [tool["name"] for tool in tools.ask("tools/list")["result"]["tools"]]
    note("OFF-141", ["set_development_mode", "set_production", "set_android_degraded", "attestation_history"], names)
    made = tools.call("set_development_mode", enabled=True, hours=24)
    note("set_development_mode", (False, True), (made["isError"], tenant.cli("status")["development"]["active"]))
    tools.call("set_production", enabled=True)
    note("set_production", (True, False), (tenant.cli("status")["production"], tenant.cli("status")["development"]["active"]))
    refused = tools.call("set_development_mode", enabled=True)
    note("OFF-092 by MCP", (True, "application_is_production"), (refused["isError"], refused["structuredContent"]["error"]))
    tools.call("set_production", enabled=False)
    tools.call("set_android_degraded", allow=False)
    note("set_android_degraded", "refuse", tenant.cli("status")["androidDegraded"])
    rows = json.loads(tools.call("attestation_history", limit=3)["content"][0]["text"])["events"]
    note("attestation_history", ["android_degraded_changed", "production_unmarked", "production_marked"], [r["event"] for r in rows])
    note("wrong arguments", -32602, tools.ask("tools/call", name="set_development_mode", arguments={"hours": 24})["error"]["code"])
    note("an app of its own", True, tools.call("attestation_history", app="app_nope")["isError"])
    note("the end of input ends it", 0, tools.close())


# -- small things
def test_the_project_file_names_the_app_and_is_what_apply_reads(one, tenant, tmp_path):
    environment = {"SALLYPORT_CONFIG": str(one.file)}
    (tmp_path / "sallyport.json").write_text(json.dumps({"version": 1, "organizations": [{"id": "acme", "apps": [{"id": tenant.id, "origins": ["https://applied.example"]}]}]}))
    dry = json.loads(run("apply", "--dry-run", "--json", cwd=tmp_path, env=environment).stdout)
    note("apply --dry-run", (True, 1), (dry["dry_run"], len(dry["changes"])))
    note("nothing yet", [], json.loads(run("origins", "list", "--json", cwd=tmp_path, env=environment).stdout)["origins"])
    assert run("apply", cwd=tmp_path, env=environment).returncode == 0
    note("OFF-140 and the project's app", ["https://applied.example"], json.loads(run("origins", "list", "--json", cwd=tmp_path, env=environment).stdout)["origins"])
    note("OFF-140 again", [], json.loads(run("apply", "--json", cwd=tmp_path, env=environment).stdout)["changes"])
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    note("no file, no app", (2, 2), (run("origins", "list", cwd=nowhere, env=environment).returncode, run("apply", cwd=nowhere, env=environment).returncode))


def test_sign_ins_of_some_days(one, tenant):
    assert tenant.engine.web(tenant.domain, {"Origin": "https://" + tenant.domain}).status == 200
    for days in ("1", "30"):
        note("sign-ins --days", 1, tenant.cli("sign-ins", "--days", days)["days"][0]["web"])
    note("sign-ins --days 31", 2, one.run("sign-ins", "--days", "31", "--app", tenant.id).returncode)
    with pytest.raises(AssertionError, match="400"):
        one.admin("GET", "/apps/%s/sign-ins?days=31" % tenant.id)


def test_app_life_is_the_life_of_an_apps_token(one, tenant):
    sign_in = lambda: tenant.engine.web(tenant.domain, {"Origin": "https://" + tenant.domain}).json()["expiresIn"]
    note("APP-064", 3600, sign_in())
    one.configuration["tokens"] = {"app_life": "30s"}
    one.write()
    one.cli("reload")
    note("tokens.app_life", 30, sign_in())
    del one.configuration["tokens"]
    one.write()
    one.cli("reload")


@pytest.mark.parametrize("dialect,steps", [
    ("offlineid", ["sallyport origins add ORIGIN", "sallyport keys create --name NAME"]),
    ("appengine", ["sallyport domains add DOMAIN", "sallyport secret rotate"]),
    ("vouch", ["sallyport native add ios --bundle-id B --team-id T", "sallyport native add android --package P --sha256 F", "sallyport keys create --kind sdk --name NAME"]),
])
def test_a_new_app_says_what_its_dialect_needs_next(one, dialect, steps):
    made = one.cli("apps", "create", "--org", "acme", "--name", "next-" + dialect, "--dialect", dialect)
    at = " --app " + made["app_id"]
    note("next steps, %s" % dialect, [step + at for step in steps], made["next_steps"])
    named = [command for p in one.cli("status", "--app", made["app_id"])["platforms"] for command in p["commands"]]
    note("OFF-133 %s" % dialect, [], [step for step in steps if step + at not in named])


# -- what a refusal tells people to paste
def test_an_app_beside_another_is_made_in_its_organization(tenant):
    """`sallyport apps create --name <name>-dev`, as the refusal for a production app says it."""
    gateway = tenant.gateway
    if len(gateway.cli("orgs", "list")["organizations"]) == 1:
        gateway.create_organization("second")
    refused = gateway.run("apps", "create", "--name", "shop-dev", "--json")
    note("which organization", (2, True), (refused.returncode, "give --org" in refused.stdout + refused.stderr))
    environment = dict(gateway.environment, SALLYPORT_APP=tenant.id, SALLYPORT_ADMIN=gateway.configuration["admin"]["address"])
    made = run("apps", "create", "--name", "shop-dev", "--json", env=environment)
    note("made beside", (0, "acme"), (made.returncode, json.loads(gateway.run("apps", "show", "--app", json.loads(made.stdout)["app_id"], "--json").stdout)["organization"]))


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "a\u009bb", "x" * 101], ids=ascii)
def test_a_name_that_would_steer_a_terminal_or_fill_it_is_refused(one, tenant, name, tmp_path):
    """Somebody else chooses it, and whoever lists or follows the history reads it."""
    file = tmp_path / "tenants.json"
    file.write_text(json.dumps({"version": 1, "organizations": [{"id": "acme", "apps": [{"id": tenant.id, "name": name}]}]}))
    for words in (["orgs", "create", "named", "--name", name], ["apps", "create", "--org", "acme", "--name", name, "--username", "named"],
                  ["keys", "create", "--app", tenant.id, "--name", name], ["debug-tokens", "create", "--app", tenant.id, "--name", name],
                  ["admin-tokens", "create", "--role", "viewer", "--org", "acme", "--name", name], ["apply", "-f", str(file)]):
        said = one.run(*words)
        note("%s %s" % (" ".join(words[:2]), ascii(name)[:12]), (1, True), (said.returncode, "100 bytes" in said.stderr))
    assert one.cli("keys", "create", "--app", tenant.id, "--name", "Bücher, 本")["name"] == "Bücher, 本"


def test_a_trust_bundle_that_is_none_is_named_with_what_is_missing(tmp_path):
    said = run("trust", "status", "--trust", str(tmp_path))
    note("no bundle", (1, "sallyport: the trust bundle: bundle.json is not there, in %s" % tmp_path), (said.returncode, said.stderr.splitlines()[0]))
    (tmp_path / "bundle.json").write_text("{")
    said = run("trust", "status", "--trust", str(tmp_path))
    note("no JSON", (1, True), (said.returncode, "bundle.json is no JSON" in said.stderr))
    said = run("trust", "verify", str(tmp_path / "proof.json"))
    note("no proof", (1, True), (said.returncode, "cannot read a proof: %s" % (tmp_path / "proof.json") in said.stderr))


def test_a_file_that_is_no_configuration_is_not_shown(tmp_path):
    (tmp_path / "pepper").write_text("swordfish\n")
    said = run("check", "--config", str(tmp_path / "pepper"))
    note("no configuration", (1, True, False), (said.returncode, "expected a section, found \"plain text\"" in said.stderr, "swordfish" in said.stderr + said.stdout))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Every requirement, once: played here, executed by a test that is named, or out of scope for a reason."""
import copy
import collections

import pytest

import devices
import report
import stands as stands_
import table
from play import Wrong, play

ROWS = table.read()
PLAYED = [row for row in ROWS if row.steps]


@pytest.fixture(scope="module")
def stands(site, authority, tmp_path_factory):
    made = stands_.Stands(site, authority, devices.Authorities(), tmp_path_factory.mktemp("spec"))
    yield made
    made.remove()


@pytest.fixture(scope="module")
def interop():
    return table.collected()


def test_every_requirement_stands_in_the_table_once():
    counted = collections.Counter(row.id for row in ROWS)
    assert not [identifier for identifier in counted if identifier not in table.EVERY], "no such requirement"
    assert not [identifier for identifier, count in counted.items() if count > 1], "twice"
    assert not [identifier for identifier in table.EVERY if identifier not in counted], "not in the table"


@pytest.mark.parametrize("number, row", enumerate(PLAYED), ids=[row.id for row in PLAYED])
def test_row(stands, interop, number, row):
    report.became(row.id, "failed")
    missing = [place for place in row.elsewhere if not table.is_there(place, interop)]
    assert not missing, "the other half of this row is not there"
    if row.open:
        with pytest.raises(Wrong):
            play(stands[row.stand], row, number, stands.withdrawn)
        return report.became(row.id, "open", row.open)
    play(stands[row.stand], row, number, stands.withdrawn)
    return report.became(row.id, "passed")


@pytest.mark.parametrize("row", [row for row in ROWS if not row.steps], ids=lambda row: row.id)
def test_row_that_is_not_played(interop, row):
    if row.out_of_scope:
        return report.became(row.id, "out of scope", row.out_of_scope)
    report.became(row.id, "failed")
    missing = [place for place in row.elsewhere if not table.is_there(place, interop)]
    assert not missing, "no such test"
    return report.became(row.id, "elsewhere", ", ".join(row.elsewhere))


# Requirements 13.1 to 13.3: what each dialect can answer, code and reason.
OFFLINE = """app_credentials_required invalid_app origin_not_allowed attestation_required attestation_failed attestation_key_unknown attestation_not_configured
    development_mode_required code_requests_limited development_sign_ins_limited degraded_sign_ins_limited""".split()
MISSING = "native_registration attestation credential development_mode".split()
OFFLINE_REASONS = """app_not_registered package_mismatch signing_certificate_mismatch development_not_allowed malformed no_application_id challenge_invalid nonce_mismatch
    counter_not_increasing software_attestation bootloader_unlocked""".split()
STATES = """software_attestation bootloader_unlocked boot_not_verified untrusted_root no_root_of_trust certificate_expired revoked_certificate device_cannot_attest""".split()
VERDICTS = """debug_device verifier_not_configured no_play_services platform_unavailable app_not_recognised app_unofficial_install device_not_trusted device_emulator
    nonce_mismatch assertion_counter_replay attest_unsupported malformed signal_rooted signal_debugger signal_hooking signal_repackaged signal_emulator
    signal_unofficial_installer""".split()
VOUCH = "invalid_request invalid_key debug_not_allowed not_found".split()
ENGINE = "APP_NOT_FOUND app_attestation_failed app_token_required app_revoked bad_request app_key_failed attestation_required missing_orgid missing_authorization_header".split()
ENGINE_REASONS = """nonce_mismatch unknown_key bad_signature counter_not_increasing device_blocked revoked web_not_configured domain_not_allowed origin_mismatch
    debug_not_allowed nonce_invalid ios_not_configured android_not_configured app_mismatch package_mismatch certificate_mismatch token_too_old app_not_recognized
    device_integrity attestation_invalid debug_token_invalid check_off proof_missing""".split()


def test_every_code_and_reason_is_expected_by_some_row():
    """SAL-013: the rows that expect a code compare the whole shape of its dialect's refusals."""
    steps = [(row.id[:3], step) for row in PLAYED for step in row.steps if "call" in step]
    said = {(kind, member, step[member]) for kind, step in steps for member in ("code", "reason", "missing") if isinstance(step.get(member), str)}
    verdicts = {word for _, step in steps for word in [*step.get("reasons", [])] if isinstance(word, str)}
    states = {word for _, step in steps for word in str(step.get("verdict", "")).split()[1:]}
    wanted = [("OFF", "code", c) for c in OFFLINE] + [("OFF", "missing", m) for m in MISSING] + [("OFF", "reason", r) for r in OFFLINE_REASONS]
    wanted += [("VCH", "code", c) for c in VOUCH] + [("APP", "code", c) for c in ENGINE] + [("APP", "reason", r) for r in ENGINE_REASONS]
    assert [one for one in wanted if one not in said] == []
    assert [one for one in VERDICTS if one not in verdicts] == []
    assert [one for one in STATES if one not in states] == []


WRONG = [
    {"status": 200}, {"code": "invalid_app"}, {"reason": "nonce_mismatch"}, {"missing": "attestation"}, {"json": {"data": {"app_id": "other"}}},
    {"exactly": {}}, {"header": {"Cache-Control": None}}, {"header": {"X-Not-There": "=any"}}, {"upstream": {}}, {"next_steps": ["another"]},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_row_that_expects_something_else_fails(stands, wrong):
    """The runner can fail: a true row, and the same with one expectation that does not hold."""
    step = {"call": "verify", "proof": {"of": "iphone", "challenge": "x" * 22}, "status": 403, "code": "attestation_failed", "reason": "challenge_invalid",
            "next_steps": ["Request a new challenge for each attempt."], "upstream": "nothing"}
    row = table.Row(id="OFF-000", says="the runner itself", file="", steps=[step])
    seen, report.saw = report.saw, lambda *_: None
    try:
        play(stands["main"], row, 900)
        bad = copy.deepcopy(row)
        bad.steps[0].update(wrong)
        with pytest.raises(Wrong):
            play(stands["main"], bad, 901)
    finally:
        report.saw = seen


def test_a_place_that_is_not_there_is_noticed(interop):
    assert table.is_there("test_offlineid.py::test_development_mode", interop)
    assert not table.is_there("test_offlineid.py::test_nothing_of_the_kind", interop)
    assert table.is_there("Tests/AttestationTests/RequirementRowsTests.swift::RequirementRow OFF-026", interop)
    assert not table.is_there("Tests/AttestationTests/RequirementRowsTests.swift::RequirementRow OFF-999", interop)

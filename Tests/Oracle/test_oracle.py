# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""The oracle against the stored vectors, against its own minter's intentions, and against the gateway's judge.

The gateway's binary is named by SALLYPORT_BIN. Without it the comparisons FAIL, unless ORACLE_ALONE=1 asks for the
oracle's own tests only; then they are reported as skipped.
"""

import copy
import json
import os

import pytest

import compare
import judge
import locate
import minter
import verifier

SEED, COUNT = int(os.environ.get("ORACLE_SEED", "20261130")), int(os.environ.get("ORACLE_COUNT", "1500"))
EXPECTED_VECTORS = 305


def vectors():
    paths = sorted(locate.vectors().glob("*/*.json"))
    return [json.loads(path.read_text()) for path in paths]


def binary():
    named = os.environ.get("SALLYPORT_BIN")
    if named:
        return named
    if os.environ.get("ORACLE_ALONE") == "1":
        pytest.skip("ORACLE_ALONE=1: the gateway's judge is not compared")
    pytest.fail("SALLYPORT_BIN names no binary (ORACLE_ALONE=1 tests the oracle by itself)")


def problems(verdicts):
    """Each vector whose verdict is not exactly what its file recommends."""
    found = []
    for vector, verdict in zip(vectors(), verdicts, strict=True):
        wrong, other = verifier.differences(vector, verdict)
        found += [f"{vector['id']}: {text}" for text in wrong + other]
    return found


def test_there_are_as_many_vectors_as_there_should_be():
    assert len(vectors()) == EXPECTED_VECTORS


def test_the_oracle_judges_every_vector_as_its_file_recommends():
    assert problems([verifier.judge(v).public() for v in vectors()]) == []


def test_the_oracle_reads_the_facts_that_the_vectors_state():
    compared = 0
    for vector in vectors():
        facts, expected = verifier.judge(vector).facts, vector["expected"]
        for name, value in expected.get("info", {}).items():
            assert facts[name] == value, (vector["id"], name)
            compared += 1
        if expected.get("accepted"):
            for name in ("environment", "counter", "app"):
                if name in expected:
                    assert facts[name] == expected[name], (vector["id"], name)
                    compared += 1
    assert compared > 500


@pytest.mark.parametrize("change", ["verdict", "reason"])
def test_a_wrong_expectation_is_noticed(change):
    vector = copy.deepcopy(next(v for v in vectors() if v["id"] == "syn-hardware-tee"))
    vector["expected"]["reason_any_of" if change == "reason" else "verdict"] = ["nothing"] if change == "reason" else "refused"
    wrong, _ = verifier.differences(vector, verifier.judge(vector).public())
    assert wrong


@pytest.mark.parametrize(
    ("change", "category"),
    [
        ({}, compare.SAME), ({"verdict": "degraded"}, compare.VERDICT), ({"reason": "untrusted_root"}, compare.REASON),
        ({"verdict": "crash"}, compare.CRASH), ({"info": {"device_locked": False}}, compare.FACTS), ({"reasons": ["untrusted_root"]}, compare.FACTS),
    ],
)
def test_a_judge_that_errs_is_noticed(change, category):
    vector = next(v for v in vectors() if v["id"] == "syn-hardware-tee")
    right = verifier.judge(vector)
    theirs = right.public() | {"info": dict(right.facts)}
    theirs["info"] |= change.get("info", {})
    assert compare.classify(right, theirs | {n: v for n, v in change.items() if n != "info"})[0] == category


def test_a_judge_that_dies_is_noticed_and_the_rest_is_judged(tmp_path):
    dying = tmp_path / "judge"
    dying.write_text('#!/bin/sh\nwhile read -r line; do case $line in *dies*) exit 3;; esac; echo \'{"verdict":"pass","reason":null,"reasons":[]}\'; done\n')
    dying.chmod(0o755)
    verdicts = judge.judge_all(str(dying), [{"id": "a"}, {"id": "dies"}, {"id": "b"}])
    assert [v["verdict"] for v in verdicts] == ["pass", "crash", "pass"]


def test_a_seed_mints_the_same_proofs_again():
    assert [minter.mint(7, i)[0] for i in range(60)] == [minter.mint(7, i)[0] for i in range(60)]


def test_the_oracle_finds_what_the_minter_meant():
    meant = [(minter.mint(SEED, i), i) for i in range(COUNT)]
    sure = [(vector, labels, intended) for (vector, labels, intended), _ in meant if intended]
    assert len(sure) > COUNT // 4
    for vector, labels, intended in sure:
        ours = verifier.judge(vector)
        assert compare.fulfils(ours, intended), (vector["id"], labels, intended, ours.public())


def test_the_gateway_judges_every_vector_as_its_file_recommends():
    stripped = [{name: value for name, value in v.items() if name != "expected"} for v in vectors()]
    assert problems(judge.judge_all(binary(), stripped)) == []


def test_the_gateway_and_the_oracle_agree_on_minted_proofs():
    account = compare.run(binary(), SEED, COUNT)
    assert sum(account.totals.values()) == COUNT
    assert list(account.table(compare.WRONG)) == []
    assert account.unintended == []

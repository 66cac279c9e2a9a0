# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""System calls, allocations and instructions per request: counts that do not depend on the machine."""
import importlib
import json
import sys

import pytest

from gateway import TOP

THRESHOLDS = json.loads((TOP / "loadtest/thresholds.json").read_text())


@pytest.fixture(scope="module")
def counts():
    sys.path.insert(0, str(TOP / "loadtest"))
    return importlib.import_module("counts")


@pytest.fixture(scope="module")
def bench(counts, files):
    one = counts.stand.Stand(files / "load")
    yield one
    one.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["syscalls", "allocations", "instructions"])
def test_counts_per_request_hold(counts, bench, kind):
    if why := counts.missing(kind):
        pytest.skip(why)
    most = {job: value + THRESHOLDS["slack"][kind] for job, value in THRESHOLDS[kind].items()}
    found = counts.COUNTS[kind](bench)
    # A busy machine gives a turn fewer requests, which then cost more each; what the code costs is the least of some counts.
    for _ in range(2):
        if any(value > most[job] for job, value in found.items()):
            again = counts.COUNTS[kind](bench)
            found = {job: min(value, again[job]) for job, value in found.items()}
    assert not {job: value for job, value in found.items() if value > most[job]}, found

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
    for job, value in counts.COUNTS[kind](bench).items():
        assert value <= THRESHOLDS[kind][job] + THRESHOLDS["slack"][kind], "%s: %.2f" % (job, value)

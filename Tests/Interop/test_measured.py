# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""How the others measure: what is bad as often as not is bad, and the machine's own work is not held against the gateway."""
import itertools
import os
import subprocess
import time

import pytest

from nodes import usually
from scheduler import Share


@pytest.mark.parametrize("values", [[1, 0], [0, 1, 1], [0, 0, 1, 1, 1]], ids=str)
def test_what_is_bad_three_times_of_five_is_bad(values):
    values = itertools.cycle(values)
    with pytest.raises(AssertionError):
        usually(0.5, lambda: next(values))


@pytest.mark.parametrize("values", [[0], [0, 0, 1], [1, 0, 0, 1, 0]], ids=str)
def test_what_is_bad_now_and_then_is_good(values):
    values = itertools.cycle(values)
    assert usually(0.5, lambda: next(values)) == 0


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_what_others_had_while_we_waited_is_known():
    """One that is nobody's child here has the processor that we are bound to; our own work, and our own sleep, count for nothing."""
    processors = os.sched_getaffinity(0)
    one = min(processors)
    code = "import os, sys, time\nif os.fork(): sys.exit()\nos.sched_setaffinity(0, {%d})\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass" % one
    os.sched_setaffinity(0, {one})

    def taken(work, *details):
        share = Share()
        work(*details)
        return share.taken()

    def taken_from_us():
        subprocess.run(["python3", "-c", code], check=True)
        return taken(spin, 1)

    try:
        assert any(taken(time.sleep, 0.2) < 0.1 for _ in range(10))
        # A half each, if nobody else is there.
        assert any(0.25 < taken_from_us() < 1.05 for _ in range(5))
    finally:
        os.sched_setaffinity(0, processors)

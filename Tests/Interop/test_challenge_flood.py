# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Challenges that nobody uses, from many addresses: the store is bounded, and phones elsewhere sign in (SAL-003)."""
import sys

import pytest

import gateway as binary
from dialects import Tenant, one  # noqa: F401 (one is a fixture)
from rows import note
from signins import authorities, backend  # noqa: F401 (fixtures)

sys.path.append(str(binary.TOP / "loadtest"))
import challenges  # noqa: E402


@pytest.mark.parametrize("addresses,count", [(1, 3_000), (30, 45_000)])
def test_a_flood_is_bounded_and_locks_nobody_out(one, authorities, addresses, count):  # noqa: F811
    app = Tenant(one, authorities, dialects=["offlineid"]).id
    first, most, phone, failed, _ = challenges.flood(one, app, authorities, count, addresses, waits=0.7)
    note("SAL-003 none was refused", 0, failed)
    note("SAL-003 Redis is bounded", True, most - first < challenges.MOST_BYTES)
    note("SAL-003 the phone elsewhere", (True, []), (phone.signed_in > 0, phone.refused))


def test_another_app_has_room_of_its_own(one, authorities):  # noqa: F811
    flooded, quiet = (Tenant(one, authorities, dialects=["offlineid"]) for _ in range(2))
    challenge = quiet.offline.challenge()
    challenges.flood(one, flooded.id, authorities, 2_000, 2, waits=0.1)
    note("SAL-003 another app's", 200, quiet.offline.verify(quiet.offline.android(quiet.android, challenge)).status)


def test_the_turns_of_the_loop_are_counted(one):
    before = {n: v for n, v in one.metrics().items() if n.startswith("sallyport_loop_turn_seconds")}
    for _ in range(50):
        assert one.get("/nowhere").status in (401, 404)
    after = {n: v for n, v in one.metrics().items() if n.startswith("sallyport_loop_turn_seconds")}
    total = next(n for n in after if "_count" in n)
    assert after[total] >= before[total] + 50
    assert any('le="0.002"' in n for n in after)

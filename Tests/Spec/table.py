# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The table itself: rows/NN-name.yaml, read and checked before anything is played."""
import dataclasses
import pathlib
import re
import subprocess
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
# How many requirements there are of each kind; their document is not part of this repository.
NUMBERS = {"OFF": 148, "VCH": 46, "APP": 113, "SAL": 18}
EVERY = [f"{kind}-{number:03d}" for kind, count in NUMBERS.items() for number in range(1, count + 1)]
MEMBERS = {"id", "says", "stand", "apps", "devices", "steps", "elsewhere", "out_of_scope", "open"}


@dataclasses.dataclass
class Row:
    id: str
    says: str
    file: str
    stand: str = "main"
    apps: dict | None = None
    devices: dict = dataclasses.field(default_factory=dict)
    steps: list = dataclasses.field(default_factory=list)
    elsewhere: list = dataclasses.field(default_factory=list)
    out_of_scope: str = ""
    open: str = ""  # what is missing: the example is played and must fail until it is there


def read():
    """Every row of every file, in their order; a row that is written wrongly ends the run."""
    found = []
    for file in sorted((HERE / "rows").glob("*.yaml")):
        for member in yaml.safe_load(file.read_text()):
            unknown = set(member) - MEMBERS
            assert not unknown, f"{file.name}: {member['id']}: no such member: {unknown}"
            row = Row(file=file.name, **{**member, "elsewhere": listed(member.get("elsewhere"))})
            assert bool(row.steps) + bool(row.elsewhere and not row.steps) + bool(row.out_of_scope) == 1, f"{row.id}: has steps, or is elsewhere, or is out of scope"
            found.append(row)
    return found


def listed(value):
    return [] if value is None else [value] if isinstance(value, str) else value


def collected():
    """What pytest finds in Tests/Interop, without the cases of one test."""
    made = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(TOP / "Tests/Interop")],
                          capture_output=True, text=True, cwd=TOP, timeout=120)
    return {line.split("[")[0] for line in made.stdout.splitlines() if "::" in line}


def is_there(place, interop):
    """Whether the test that `place` names exists: Tests/…/test_x.py::test, Tests/…/X.swift::`a sentence` or ::RequirementRow ID."""
    file, _, name = place.partition("::")
    if file.endswith(".py"):
        if file.startswith("Tests/Spec/"):
            return f"\ndef {name}(" in (TOP / file).read_text()
        return f"Tests/Interop/{place}" in interop
    text = (TOP / file).read_text() if (TOP / file).exists() else ""
    if name.startswith("RequirementRow "):
        return f'RequirementRow("{name.split()[1]}")' in text
    return re.search(r"func `" + re.escape(name.strip("`")) + r"`", text) is not None

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Requirement rows seen on the wire: each is checked where it is played, and all are printed as one table at the end."""
import json

SEEN = []


def subset(expected, seen):
    """Whether `seen` has everything that `expected` has; `...` stands for anything that is there."""
    if expected is ...:
        return True
    if isinstance(expected, dict):
        return isinstance(seen, dict) and all(key in seen and subset(value, seen[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(seen, list) and len(expected) == len(seen) and all(map(subset, expected, seen))
    return expected == seen and type(expected) is type(seen)


def row(identifier, answer, status, body=None, exactly=None):
    """Checks one answer: its status, and a subset of its JSON or all of it; `identifier` names the requirement rows."""
    try:
        seen = json.loads(answer.body) if answer.body else None
    except ValueError:
        seen = answer.body.decode("latin-1")
    good = answer.status == status and (body is None or subset(body, seen)) and (exactly is None or exactly == seen)
    expected = exactly if exactly is not None else body
    SEEN.append((identifier, "%d %s" % (status, brief(expected)), "%d %s" % (answer.status, brief(seen, expected)), good))
    assert good, "%s: expected %d %s, saw %d %s" % (identifier, status, json.dumps(expected, default=str), answer.status, json.dumps(seen))
    return seen


def note(identifier, expected, seen):
    """Checks a value that is no answer."""
    SEEN.append((identifier, str(expected), str(seen), expected == seen))
    assert expected == seen, "%s: expected %s, saw %s" % (identifier, expected, seen)


def brief(value, like=None):
    """The value in few characters; of an object only what was asked for."""
    if isinstance(value, dict) and isinstance(like, dict):
        value = {key: value.get(key) for key in like}
    if value is None:
        return ""
    text = json.dumps(value, default=lambda _: "…", ensure_ascii=False)
    return text if len(text) < 150 else text[:147] + "…"


def table():
    lines = ["id | expected | seen | "] + ["%s | %s | %s | %s" % (i, e, s, "ok" if good else "NOT") for i, e, s, good in SEEN]
    lines.append("%d rows, %d as expected" % (len(SEEN), sum(good for *_, good in SEEN)))
    return lines

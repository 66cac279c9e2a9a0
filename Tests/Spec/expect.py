# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What a row may expect of a value: a subset of its JSON, with a few words for what is different in every run."""
import calendar
import re
import time

MISSING = object()


def difference(expected, seen, path=""):
    """Why `seen` is not what is expected, or None; of an object only the named members are looked at."""
    if isinstance(expected, str) and expected.startswith("="):
        return next((f"{path or 'it'}: {said!r} does not hold of {brief(seen)}" for said in expected[1:].split(" & ") if not holds(said, seen)), None)
    if isinstance(expected, dict) and expected and all(isinstance(key, str) and key.startswith("=") for key in expected):
        return next((f"{path or 'it'}: {word} {brief(value)} does not hold of {brief(seen)}" for word, value in expected.items() if not gathers(word[1:], value, seen)), None)
    if seen is MISSING:
        return f"{path}: not there"
    if isinstance(expected, dict):
        if not isinstance(seen, dict):
            return f"{path or 'it'}: {brief(seen)} is no object"
        return next(filter(None, (difference(value, seen.get(key, MISSING), f"{path}.{key}".strip(".")) for key, value in expected.items())), None)
    if isinstance(expected, list):
        if not isinstance(seen, list) or len(seen) != len(expected):
            return f"{path or 'it'}: {brief(seen)} is not {brief(expected)}"
        return next(filter(None, (difference(one, other, f"{path}[{at}]") for at, (one, other) in enumerate(zip(expected, seen)))), None)
    return None if expected == seen and type(expected) is type(seen) else f"{path or 'it'}: {brief(seen)} is not {brief(expected)}"


def holds(said, seen):
    """One word about one value, such as `in 300` (a moment about 300 seconds from now)."""
    word, _, rest = said.partition(" ")
    if word == "absent":
        return seen is MISSING
    if seen is MISSING:
        return False
    if word == "any":
        return True
    if word == "today":
        return seen == time.strftime("%Y-%m-%d", time.gmtime())
    if word == "in":
        return -4 <= moment(seen) - time.time() - int(rest) <= 1.5
    if word == "seconds":
        return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(seen)) is not None
    if word == "milliseconds":
        return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(seen)) is not None
    if word == "re":
        return isinstance(seen, str) and re.search(rest, seen) is not None
    if word == "len":
        return len(seen) == int(rest)
    if word == "has":
        return rest in seen
    if word == "lacks":
        return rest not in seen
    if word == "not":
        return str(seen) != rest
    if word == "between":
        low, high = map(float, rest.split())
        return low <= float(seen) <= high
    raise ValueError("no such word: " + said)


def gathers(word, value, seen):
    """One word about a whole list or object: `some` element like this, `none`, `count`, the `first`, the `keys`."""
    if word == "keys":
        return isinstance(seen, dict) and sorted(seen) == sorted(value)
    if not isinstance(seen, list):
        return False
    if word == "some":
        return any(difference(value, one) is None for one in seen)
    if word == "none":
        return all(difference(value, one) is not None for one in seen)
    if word == "count":
        return len(seen) == value
    if word == "first":
        return bool(seen) and difference(value, seen[0]) is None
    if word == "order":  # these events, in this order, whatever stands between them
        names = iter(one.get("event") for one in seen)
        return all(any(name == wanted for name in names) for wanted in value)
    raise ValueError("no such word: " + word)


def moment(text):
    if isinstance(text, (int, float)):
        return text
    whole, _, part = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (part or "0"))


def brief(value, most=160):
    if value is MISSING:
        return "nothing"
    text = re.sub(r"\s+", " ", str(value))
    return text if len(text) <= most else text[: most - 1] + "…"

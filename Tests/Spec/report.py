# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What became of each row: counted at the end, and written as a table to the file that SALLYPORT_ROWS names."""
import rows

PLAYED = {}  # id → passed, elsewhere, out of scope, open, failed
NOTES = {}  # id → where it is executed, why it is out of scope, or how it failed


def became(identifier, outcome, note=""):
    PLAYED[identifier], NOTES[identifier] = outcome, note


def saw(identifier, expected, seen, good):
    rows.SEEN.append((identifier, expected, seen, good))


def forget():
    """The last thing that was seen is not the end of it: it is asked for again."""
    rows.SEEN.pop()


def counts():
    outcomes = list(PLAYED.values())
    return "rows %d, " % len(outcomes) + ", ".join(f"{word} {outcomes.count(word)}" for word in ("passed", "elsewhere", "out of scope", "open", "failed"))


def lines():
    made = ["id | expected | seen |"]
    made += [" | ".join((identifier, expected, seen, "ok" if good else "NOT")) for identifier, expected, seen, good in rows.SEEN]
    made += [f"{identifier} | {outcome}: {NOTES[identifier]} | |" for identifier, outcome in PLAYED.items() if outcome in ("elsewhere", "out of scope", "open")]
    return made + [counts()]

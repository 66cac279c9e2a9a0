# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Mints proofs, has the oracle and the gateway judge them, and accounts for every difference.

usage: compare.py --binary PATH [--count 10000] [--seed 1] [--kind apple|android|play|stored] [--keep DIRECTORY]
"""

import argparse
import base64
import collections
import json
import sys
import time
from pathlib import Path

import judge
import locate
import minter
import verifier
from judgement import reason_class

# In the order of how much they matter.
SAME, SAME_CLASS, ROOM, FACTS = "same", "same class", "room in the documents", "FACTS"
REASON, VERDICT, CRASH = "REASON", "VERDICT", "CRASH"
WRONG = (FACTS, REASON, VERDICT, CRASH)
APPLE_EXTENSIONS = ("apple_bundle_version_01", "apple_validation_category_01")


def classify(ours, theirs):
    """(category, why) of the gateway's verdict beside the oracle's judgement."""
    verdict, reason = theirs["verdict"], theirs["reason"]
    if verdict == "crash":
        return CRASH, reason
    if verdict == ours.verdict:
        if reason == ours.reason:
            wrong = other_facts(ours, theirs)
            extra = set(ours.reasons) ^ set(theirs["reasons"])
            for doubt in ours.doubts if wrong == "reasons" else []:
                if extra <= set(doubt.reasons):
                    return ROOM, doubt.about
            return (FACTS, wrong) if wrong else (SAME, "")
        if reason_class(reason) in ours.allowed_reasons():
            return SAME_CLASS, ""
        for doubt in ours.doubts:
            # Where another outcome is allowed, what else is wrong may be named in its place.
            if doubt.verdicts or reason_class(reason) in {reason_class(r) for r in doubt.reasons}:
                return ROOM, doubt.about
        return REASON, ""
    for doubt in ours.doubts:
        if verdict in doubt.verdicts:
            return ROOM, doubt.about
    return VERDICT, ""


def other_facts(ours, theirs):
    """The names of what both sides read from a proof that stands, and read differently."""
    if ours.verdict in ("refused", "fail") and len(ours.reasons) < 2:
        return ""
    read = dict(theirs) | theirs.get("info", {})
    wrong = [] if set(ours.reasons) == set(theirs["reasons"]) else ["reasons"]
    if ours.verdict == "refused":
        return " ".join(wrong)
    for name, value in ours.facts.items():
        if name == "public_key":
            value = base64.b64encode(value).decode()
        if name == "extensions":
            # How a value of another type than Apple's two is shown is nobody's concern.
            known = {n: value[n] for n in APPLE_EXTENSIONS if isinstance(value.get(n), (bytes, str))}
            value = {n: f"hex:{v.hex()}" if isinstance(v, bytes) else v for n, v in known.items()}
            read[name] = {n: v for n, v in (theirs.get(name) or {}).items() if n in known}
        if name == "attestation_version" and value >= 1 << 63 and read.get(name) is None:
            continue
        if read.get(name) != value:
            wrong.append(name)
    return " ".join(wrong)


def fulfils(ours, intended):
    """Whether the oracle finds what the minter meant."""
    verdict, reason = intended
    return ours.verdict == verdict and (reason is None or reason_class(reason) in ours.allowed_reasons())


def cause(labels):
    """What a table row is named after: the one mutation, or that there were several."""
    names = sorted({label.split(" (")[0] for label in labels})
    return names[0] if len(names) == 1 else " + ".join(names) if len(names) == 2 else "several" if names else "nothing"


class Account:
    """Counts per category and one kept example per row."""

    def __init__(self):
        self.totals = collections.Counter()
        self.verdicts = collections.Counter()
        self.rows = collections.Counter()
        self.examples = {}
        self.unintended = []

    def add(self, vector, labels, intended, ours, theirs):
        category, why = classify(ours, theirs)
        self.totals[category] += 1
        self.verdicts[vector["schema"].split("/")[0], ours.verdict] += 1
        if intended and not fulfils(ours, intended):
            self.unintended.append((vector["id"], labels, intended, ours.public()))
        if category == SAME:
            return
        row = (category, vector["schema"].split("/")[0], why or cause(labels), _words(ours.public()), _words(theirs))
        self.rows[row] += 1
        self.examples.setdefault(row, (vector, labels, ours, theirs))

    def disagreements(self):
        return sum(self.totals[c] for c in WRONG)

    def table(self, categories):
        chosen = [(row, n) for row, n in self.rows.items() if row[0] in categories]
        for row, count in sorted(chosen, key=lambda item: (item[0][0], item[0][1], -item[1])):
            category, family, why, ours, theirs = row
            yield f"{count:5d}  {category:9.9s} {family:14s} {why[:64]:64s} oracle {ours:38s} gateway {theirs:38s} {self.examples[row][0]['id']}"

    def keep(self, folder, categories):
        """Writes one example per row of these categories."""
        folder.mkdir(parents=True, exist_ok=True)
        for row, (vector, labels, ours, theirs) in self.examples.items():
            if row[0] in categories:
                note = {"mutations": labels, "oracle": ours.public(), "gateway": theirs, "doubts": [d.about for d in ours.doubts]}
                (folder / f"{vector['id']}.json").write_text(json.dumps(vector | {"compared": note}, indent=1))


def _words(verdict):
    return f"{verdict['verdict']}/{verdict['reason']}"[:38]


def run(binary, seed, count, kind=None, first=0):
    """The account of `count` proofs of a seed."""
    account = Account()
    for start in range(first, first + count, 2000):
        minted = [minter.mint(seed, index, kind) for index in range(start, min(start + 2000, first + count))]
        theirs = judge.judge_all(binary, [vector for vector, _, _ in minted])
        for (vector, labels, intended), verdict in zip(minted, theirs):
            account.add(vector, labels, intended, verifier.judge(vector), verdict)
    return account


def report(account, full):
    print("category".ljust(24), "proofs")
    for category in (SAME, SAME_CLASS, ROOM, *WRONG):
        print(category.ljust(24), account.totals[category])
    print("verdicts by the oracle:", ", ".join(f"{f} {v} {n}" for (f, v), n in sorted(account.verdicts.items())))
    shown = (*WRONG, ROOM, SAME_CLASS) if full else (*WRONG, ROOM)
    for line in account.table(shown):
        print(line)
    for item in account.unintended:
        print("the oracle differs from what the minter meant:", *item)


def main():
    parser = argparse.ArgumentParser(description="Compares the oracle with the gateway's judge.")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(minter.KINDS))
    parser.add_argument("--keep", type=Path, default=locate.REPOSITORY / ".build" / "oracle-examples")
    parser.add_argument("--full", action="store_true", help="also the rows where only the word or the order differs")
    options = parser.parse_args()
    began = time.monotonic()
    account = run(options.binary, options.seed, options.count, options.kind, options.first)
    report(account, options.full)
    account.keep(options.keep, (*WRONG, ROOM))
    print(f"{options.count} proofs, seed {options.seed}, {time.monotonic() - began:.1f} s, examples in {options.keep}")
    return 1 if account.disagreements() or account.unintended else 0


if __name__ == "__main__":
    sys.exit(main())

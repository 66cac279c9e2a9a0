# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Moves the clock through a year and says which real vectors change verdict, when, and because of what.

usage: clock_sweep.py [--from own|YYYY-MM-DD] [--days 365] [--binary PATH] [--all-origins]

`own` begins at each vector's own time. Each vector is judged at noon of every day, and a second before, at and after
every date of every certificate in its chain and of its roots; with --binary the gateway judges the same moments.
"""

import argparse
import base64
import collections
import json
import sys
from datetime import datetime, timedelta, timezone

import basetext
import compare
import der
import judge
import locate
import strictcbor
import verifier
import x509lite
from judgement import Malformed

SECOND = timedelta(seconds=1)


def chain_of(vector):
    """(what it is, certificate) for each certificate that can be read, leaf first."""
    if vector["schema"].startswith("android"):
        data = [base64.b64decode(t) for t in vector["input"]["certificate_chain"]]
        names = ["leaf"] + [f"certificate {n}" for n in range(1, len(data))]
    else:
        data = strictcbor.read(basetext.decode(vector["input"]["attestation"]))["attStmt"]["x5c"]
        names = ["leaf", "intermediate"]
    for name, raw in zip(names, data):
        try:
            certificate = x509lite.parse(raw)
            certificate.dates()
        except Malformed:
            continue
        yield f"{name} ({subject(certificate)})", certificate
    for text in vector["trust_roots"]:
        root = verifier._root(text, "")
        yield f"pinned root ({subject(root)})", root


def subject(certificate):
    """The last two words of a subject: enough to know a certificate by."""
    words = []
    for part in der.read_one(certificate.subject).children():
        for pair in part.children():
            words.append(pair.children()[1].content.decode("utf-8", "replace"))
    return " ".join(words[-2:])[:48]


def moments_of(vector, start, end):
    """Every moment at which it is worth looking, in order."""
    moments = {start}
    day = start.replace(hour=12, minute=0, second=0, microsecond=0)
    while day < end:
        moments.add(day)
        day += timedelta(days=1)
    for _, certificate in chain_of(vector):
        for date in certificate.dates():
            moments |= {date - SECOND, date, date + SECOND}
    return sorted(m for m in moments if start <= m < end)


def causes(vector, before, after):
    """The certificates whose validity begins or ends between two moments."""
    found = []
    for name, certificate in chain_of(vector):
        was, now = certificate.valid_at(before), certificate.valid_at(after)
        if was != now:
            text = f"{name} {'begins' if now else 'ends'} {certificate.dates()[0 if now else 1]:%Y-%m-%d %H:%M:%S}Z"
            if text not in found:
                found.append(text)
    return found


def at(vector, moment):
    changed = {name: value for name, value in vector.items() if name != "expected"}
    return changed | {"verify_at": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}


def words(verdict, reason):
    return verdict if reason is None else f"{verdict}/{reason}"


def sweep(vector, start, days, binary=None):
    """(verdict at the start, changes, dates passed without effect, number judged, differences of the gateway)."""
    moments = moments_of(vector, start, start + timedelta(days=days))
    ours = [verifier.judge(vector, moment=m) for m in moments]
    differences = []
    if binary:
        theirs = judge.judge_all(binary, [at(vector, m) for m in moments])
        for moment, own, other in zip(moments, ours, theirs):
            category, _ = compare.classify(own, other)
            if category in compare.WRONG:
                differences.append((moment, own.public(), other))
    changes, silent = [], []
    for n in range(1, len(moments)):
        why = causes(vector, moments[n - 1], moments[n])
        before, after = (words(ours[k].verdict, ours[k].reason) for k in (n - 1, n))
        if before != after:
            changes.append((moments[n], before, after, why))
        elif why:
            silent += why
    return words(ours[0].verdict, ours[0].reason), changes, silent, len(moments), differences


def main():
    parser = argparse.ArgumentParser(description="A year's clock sweep over the stored vectors.")
    parser.add_argument("--from", dest="begin", default="own")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--binary")
    parser.add_argument("--all-origins", action="store_true")
    options = parser.parse_args()
    judged = changed = differing = 0
    summary = collections.Counter()
    for path in sorted(locate.vectors().glob("*/*.json")):
        vector = json.loads(path.read_text())
        if "trust_roots" not in vector or vector["origin"] != "real" and not options.all_origins:
            continue
        if vector["schema"].startswith("play"):
            continue
        start = verifier.moment_of(vector["verify_at"])
        if options.begin != "own":
            start = datetime.fromisoformat(options.begin).replace(tzinfo=timezone.utc)
        first, changes, silent, count, differences = sweep(vector, start, options.days, options.binary)
        judged += count
        changed += bool(changes)
        differing += len(differences)
        summary[first, words_of_last(first, changes)] += 1
        print(f"{vector['id']}: {first} from {start:%Y-%m-%d}" + ("" if changes else ", no change"))
        for moment, before, after, why in changes:
            print(f"    {moment:%Y-%m-%d %H:%M:%S}Z {before} -> {after}: {'; '.join(why) or 'NO DATE OF A CERTIFICATE'}")
        for text in silent:
            print(f"    no effect: {text}")
        for moment, own, other in differences:
            print(f"    THE GATEWAY DIFFERS at {moment:%Y-%m-%d %H:%M:%S}Z: {own} {other}")
    for (first, last), count in sorted(summary.items()):
        print(f"{count:4d} vectors {first} -> {last}")
    print(f"{sum(summary.values())} vectors, {judged} moments judged, {changed} vectors change, {differing} moments differ")
    return 1 if differing else 0


def words_of_last(first, changes):
    return changes[-1][2] if changes else "the same"


if __name__ == "__main__":
    sys.exit(main())

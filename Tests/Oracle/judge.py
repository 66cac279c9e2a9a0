# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Asks the gateway's `lab judge` about vectors, and survives its crashing."""

import json
import subprocess
import tempfile

import locate


class JudgeFailed(Exception):
    """The judge gave no verdict where it must."""


def _batch(binary, vectors):
    """(verdicts, exit status, last words): one process, JSON lines in and out."""
    with tempfile.TemporaryFile("w+") as given:
        for vector in vectors:
            given.write(json.dumps(vector) + "\n")
        given.seek(0)
        command = [binary, "lab", "judge", "-", "--json", "--trust", str(locate.trust())]
        done = subprocess.run(command, stdin=given, capture_output=True, text=True, timeout=600)
    verdicts = []
    for line in done.stdout.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            raise JudgeFailed(f"not a verdict: {line[:200]}") from None
        if not isinstance(value, dict) or "verdict" not in value:
            raise JudgeFailed(f"not a verdict: {line[:200]}")
        verdicts.append(value)
    return verdicts, done.returncode, done.stderr[-400:]


def judge_all(binary, vectors):
    """One verdict per vector; a vector at which the process dies gets {"verdict": "crash"} and the rest goes on."""
    verdicts = []
    while len(verdicts) < len(vectors):
        rest = vectors[len(verdicts) :]
        got, status, words = _batch(binary, rest)
        if len(got) > len(rest):
            raise JudgeFailed("more verdicts than vectors")
        verdicts += got
        if len(got) == len(rest):
            break
        if not verdicts:
            raise JudgeFailed(f"no verdict at all, status {status}: {words}")
        verdicts.append({"verdict": "crash", "reason": f"status {status}: {words}", "reasons": []})
    return verdicts

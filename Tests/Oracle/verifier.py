# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""The oracle's entry: judges vector files of the shared schema and compares with what they expect.

usage: verifier.py [--json] [--trust DIRECTORY] FILE|DIRECTORY|- ...

`-` reads vectors as JSON lines and prints one verdict per line. Without --json, files with an `expected` member are
checked against it and the differences are printed.
"""

import argparse
import json
import re
import sys
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

import android_key
import app_attest
import locate
import play_integrity
import x509lite


@lru_cache(maxsize=64)
def _root(text, trust):
    """A root is PEM text or the name of a file in the trust directory."""
    folder = Path(trust) if trust else locate.trust()
    pem = text if text.startswith("-----BEGIN") else (folder / text).read_text()
    return x509lite.parse(load_pem_x509_certificate(pem.encode()).public_bytes(Encoding.DER))


def moment_of(text):
    """The instant that `verify_at` names."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", text):
        raise ValueError(f"verify_at: {text}")
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def judge(vector, trust=None, moment=None):
    """Judges one vector at its own time, or at `moment`."""
    family = vector["schema"].split("/")[0]
    if family == "app-attest" and vector["kind"] == "assertion":
        return app_attest.judge_assertion(vector)
    moment = moment or moment_of(vector["verify_at"])
    roots = [_root(r, str(trust or "")) for r in vector.get("trust_roots", [])]
    if family == "app-attest":
        return app_attest.judge_attestation(vector, roots, moment)
    return {"android-key": android_key, "play-integrity": play_integrity}[family].judge(vector, roots, moment)


def expected_verdict(expected):
    """The verdict a vector expects, as one word in every family."""
    if "accepted" in expected:
        return "accepted" if expected["accepted"] else "refused"
    return expected["verdict"]


def differences(vector, verdict):
    """How a verdict differs from what the vector recommends, and from what it allows."""
    expected = vector["expected"]
    wanted = expected_verdict(expected)
    allowed_verdicts = expected.get("verdict_any_of", [wanted])
    allowed_reasons = expected.get("reason_any_of", [expected["reason"]])
    wrong, other = [], []
    for name, value, best, allowed in (
        ("verdict", verdict["verdict"], wanted, allowed_verdicts),
        ("reason", verdict["reason"], expected["reason"], allowed_reasons),
    ):
        if value not in allowed:
            wrong.append(f"{name} {value}, allowed {allowed}")
        elif value != best:
            other.append(f"{name} {value}, recommended {best}")
    if "reasons_all" in expected and verdict["reasons"] != expected["reasons_all"] and not other and not wrong:
        other.append(f"reasons {verdict['reasons']}, recommended {expected['reasons_all']}")
    return wrong, other


def paths(arguments):
    for argument in arguments:
        path = Path(argument)
        yield from sorted(path.rglob("*.json")) if path.is_dir() else [path]


def main():
    parser = argparse.ArgumentParser(description="Judges proofs, independently of the gateway.")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--trust", type=Path)
    options = parser.parse_args()
    if options.files == ["-"]:
        for line in sys.stdin:
            print(json.dumps(judge(json.loads(line), options.trust).public()), flush=True)
        return 0
    total = failed = 0
    for path in paths(options.files):
        vector = json.loads(path.read_text())
        judgement = judge(vector, options.trust)
        total += 1
        if options.json:
            print(json.dumps(judgement.public()))
            continue
        wrong, other = differences(vector, judgement.public()) if "expected" in vector else ([], [])
        failed += bool(wrong)
        for word, texts in (("WRONG", wrong), ("other", other)):
            for text in texts:
                print(f"{word} {vector['id']}: {text}")
    if not options.json:
        print(f"{total} vectors judged, {failed} outside what they allow")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

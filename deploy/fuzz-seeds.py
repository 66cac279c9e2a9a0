#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Writes the seeds of the proof fuzzers, one folder a target, from the vectors.

usage: fuzz-seeds.py DIRECTORY
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
KEY_DESCRIPTION = bytes.fromhex("060a2b06010401d679020111")


def decoded(text):
    """The bytes of base64 of either alphabet, or nothing where it is none."""
    try:
        return base64.urlsafe_b64decode(text.replace("+", "-").replace("/", "_") + "=" * (-len(text) % 4))
    except ValueError:
        return b""


def extension(certificate):
    """The value of the attestation extension, found by its identifier: seeds need no exact reading."""
    at = certificate.find(KEY_DESCRIPTION)
    return certificate[at + len(KEY_DESCRIPTION) + 4 :] if at >= 0 else b""


def seeds(path):
    """(target, bytes) of one vector."""
    vector = json.loads(path.read_text())
    given = vector["input"]
    yield "document", path.read_bytes()
    yield "json", path.read_bytes()[:60000]
    if vector["schema"] == "app-attest/1":
        bytes_ = decoded(given[vector["kind"]])
        yield vector["kind"], bytes_
        yield "cbor", bytes_
        yield "text", given[vector["kind"]].encode()[:4000]
    elif vector["schema"] == "android-key/1":
        chain = [decoded(text) for text in given["certificate_chain"]]
        yield "chain", b"".join(chain)
        for certificate in chain[:5]:
            yield "certificate", certificate
            yield "der", certificate
            yield "key-description", extension(certificate)
        for root in vector["trust_roots"]:
            yield "text", root.encode()
    else:
        yield "token", given["token"].encode()
        payload = json.dumps(vector["payload"]).encode() if "payload" in vector else b"{}"
        yield "token", payload
        yield "json", payload


def main():
    out = Path(sys.argv[1])
    for path in sorted((TOP / "Tests" / "Vectors").glob("*/*.json")):
        for target, seed in seeds(path):
            folder = out / target
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha256(seed).hexdigest()[:20]).write_bytes(seed)


main()

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Takes stored vectors, real ones among them, and changes what stands around and inside their proofs."""

import base64
import copy
import json
import random
from datetime import timedelta
from functools import lru_cache

import locate
import verifier
from damage import damage_bytes, damage_der
from mutations import b64


@lru_cache(maxsize=1)
def stored():
    paths = sorted(locate.vectors().glob("*/*.json"))
    return [json.loads(p.read_text()) for p in paths]


def mint(rng, _world):
    """One stored vector with one or two things changed; the verifiers must say what comes of it."""
    original = rng.choice(stored())
    vector = copy.deepcopy(original)
    vector.pop("expected", None)
    labels = [f"stored {original['schema'].split('/')[0]}"]
    for _ in range(rng.choice([1, 1, 2])):
        labels.append(rng.choice([_bytes, _bytes, _clock, _apps, _list])(vector, rng))
    return vector, labels, None


def _changed(text, rng, how):
    try:
        return b64(how(base64.b64decode(text + "==", b"-_" if "-" in text or "_" in text else None), rng)[0])
    except (ValueError, IndexError):
        return text


def _bytes(vector, rng):
    inputs = vector["input"]
    if vector["schema"].startswith("android"):
        if not inputs["certificate_chain"]:
            return "nothing"
        chain = inputs["certificate_chain"]
        at = rng.choice([0, 0, rng.randrange(len(chain))])
        chain[at] = _changed(chain[at], rng, rng.choice([damage_bytes, damage_der]))
        return "certificate changed"
    if vector["schema"].startswith("play"):
        parts = inputs["token"].split(".")
        at = rng.randrange(len(parts))
        state = rng.getrandbits(32)
        parts[at] = _changed(parts[at], random.Random(state), damage_bytes).rstrip("=").replace("+", "-").replace("/", "_")
        inputs["token"] = ".".join(parts)
        return "token part changed"
    name = rng.choice([vector["kind"], vector["kind"], "client_data_hash"])
    inputs[name] = _changed(inputs[name], rng, damage_bytes)
    return f"{name} changed"


def _clock(vector, rng):
    if "verify_at" not in vector:
        vector["input"]["previous_counter"] = rng.choice([0, 1, 2, 3, 5, 0xFFFFFFFF])
        return "stored counter changed"
    step = rng.choice([1, 59, 60, 300, 86400, 86400 * 14, 86400 * 365, 86400 * 3000]) * rng.choice([1, -1])
    vector["verify_at"] = (verifier.moment_of(vector["verify_at"]) + timedelta(seconds=step)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return "clock moved"


def _apps(vector, rng):
    apps = vector["registered_apps"]
    if not apps or rng.random() < 0.2:
        vector["registered_apps"] = []
        return "no app registered"
    app = rng.choice(apps)
    name = rng.choice(sorted(app))
    if name == "sha256":
        app[name] = [rng.randbytes(32).hex()] + (app[name] if rng.random() < 0.4 else [])
    else:
        app[name] = rng.choice([app[name] + "x", app[name].swapcase(), app[name][:-1]])
    return f"registered {name} changed"


def _list(vector, rng):
    if not vector["schema"].startswith("android"):
        return _apps(vector, rng)
    serials = []
    for text in vector["input"]["certificate_chain"]:
        try:
            serials.append(verifier.x509lite.parse(base64.b64decode(text)).serial)
        except Exception:
            continue
    if not serials:
        return "nothing"
    entries = vector["revocation"]["entries"] = dict(vector["revocation"]["entries"])
    serial = rng.choice(serials)
    entries[format(serial + rng.choice([0, 0, 1]), "x")] = {"status": rng.choice(["REVOKED", "SUSPENDED"])}
    return "status list changed"

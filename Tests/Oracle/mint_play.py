# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Mints Play Integrity classic tokens under the oracle's own keys."""

import json

from cryptography.hazmat.primitives import hashes, keywrap
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import authorities as a
from break_play import table
from mutations import apply, b64, b64url, run

PACKAGES = ["com.example.fieldapp", "com.example.other", "org.Example.Case"]
DEVICE = ["MEETS_BASIC_INTEGRITY", "MEETS_DEVICE_INTEGRITY", "MEETS_STRONG_INTEGRITY"]


class Recipe:
    """A good token, before anything is broken."""

    def __init__(self, rng, world):
        self.rng, self.world = rng, world
        self.key, self.wrapping = world.play_key, rng.randbytes(32)
        self.given_key, self.given_verification = self.wrapping, a.spki(self.key)
        self.package, self.digest = rng.choice(PACKAGES), rng.randbytes(32)
        self.registered = [{"package": self.package, "sha256": [self.digest.hex()]}]
        self.nonce = b64url(rng.randbytes(32))
        self.moment = a.NOW
        self.age = rng.choice([0, 1, 20_000, 299_000, 300_000, -20_000, -60_000])
        stamp = round(self.moment.timestamp() * 1000) - self.age
        self.payload = {
            "requestDetails": {"requestPackageName": self.package, "timestampMillis": rng.choice([str(stamp), stamp]), "nonce": self.nonce},
            "appIntegrity": {"appRecognitionVerdict": "PLAY_RECOGNIZED", "packageName": self.package, "certificateSha256Digest": [b64url(self.digest)], "versionCode": "42"},
            "deviceIntegrity": {"deviceRecognitionVerdict": rng.choice([DEVICE, DEVICE[:2], DEVICE[1:2], DEVICE[2:]])},
            "accountDetails": {"appLicensingVerdict": "LICENSED"},
        }
        if rng.random() < 0.3:
            self.payload["environmentDetails"] = {"playProtectVerdict": "NO_ISSUES"}
        self.outer, self.inner = {"alg": "A256KW", "enc": "A256GCM"}, {"alg": "ES256"}
        if rng.random() < 0.3:
            self.inner["kid"] = "k1"
        self.payload_hooks, self.outer_hooks, self.inner_hooks = [], [], []
        self.signature_hooks, self.inner_token_hooks, self.part_hooks, self.token_hooks = [], [], [], []
        self.content_size = 32
        self.good = ("pass", None)

    def set_time(self, age_millis):
        if not isinstance(self.payload.get("requestDetails"), dict):
            self.payload["requestDetails"] = {}
        self.payload["requestDetails"]["timestampMillis"] = str(round(self.moment.timestamp() * 1000) - age_millis)

    def build(self):
        dumps = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        inner = run(self.inner_hooks, dumps(self.inner)).encode("utf-8", "surrogatepass")
        payload = run(self.payload_hooks, dumps(self.payload))
        payload = payload if isinstance(payload, bytes) else payload.encode("utf-8", "surrogatepass")
        signed = b64url(inner) + "." + b64url(payload)
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256(), deterministic_signing=True)))
        signature = run(self.signature_hooks, r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        token = run(self.inner_token_hooks, signed + "." + b64url(signature))
        content_key, iv = self.rng.randbytes(self.content_size), self.rng.randbytes(12)
        header = b64url(run(self.outer_hooks, dumps(self.outer)).encode("utf-8", "surrogatepass"))
        sealed = AESGCM(content_key).encrypt(iv, token.encode("utf-8", "surrogatepass"), header.encode())
        parts = [header, b64url(keywrap.aes_key_wrap(self.wrapping, content_key)), b64url(iv), b64url(sealed[:-16]), b64url(sealed[-16:])]
        parts = run(self.part_hooks, parts)
        token = run(self.token_hooks, ".".join(parts))
        return {
            "schema": "play-integrity/1", "input": {"token": token, "decryption_key": b64(self.given_key), "verification_key": b64(self.given_verification)},
            "expected_nonce": self.nonce, "registered_apps": self.registered, "verify_at": self.moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "max_age_seconds": 300,
        }


def mint(rng, world):
    """One token, what was done to it, and the outcome if that is sure."""
    recipe = Recipe(rng, world)
    labels, intended = apply(table, recipe, rng)
    return recipe.build(), labels, intended

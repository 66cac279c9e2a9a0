# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Keys and certificates made from a seed, so that a run can be made again byte for byte."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

import derwrite as w
from mutations import run

ALGORITHMS = {
    "ecdsa-sha1": ("1.2.840.10045.4.1", hashes.SHA1), "ecdsa-sha256": ("1.2.840.10045.4.3.2", hashes.SHA256),
    "ecdsa-sha384": ("1.2.840.10045.4.3.3", hashes.SHA384), "ecdsa-sha512": ("1.2.840.10045.4.3.4", hashes.SHA512),
    "ecdsa-sha224": ("1.2.840.10045.4.3.1", hashes.SHA224), "rsa-sha1": ("1.2.840.113549.1.1.5", hashes.SHA1),
    "rsa-sha256": ("1.2.840.113549.1.1.11", hashes.SHA256), "rsa-sha384": ("1.2.840.113549.1.1.12", hashes.SHA384),
    "rsa-sha512": ("1.2.840.113549.1.1.13", hashes.SHA512),
}
NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


def days(count):
    return NOW + timedelta(days=count)


def ec_key(rng, curve=ec.SECP256R1):
    return ec.derive_private_key(rng.randrange(1, 1 << (curve.key_size - 1)), curve())


def _is_prime(n, rng):
    if any(n % p == 0 for p in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)):
        return False
    d, r = n - 1, 0
    while d % 2 == 0:
        d, r = d // 2, r + 1
    for _ in range(24):
        x = pow(rng.randrange(2, n - 1), d, n)
        if x in (1, n - 1):
            continue
        if not any((x := x * x % n) == n - 1 for _ in range(r - 1)):
            return False
    return True


def rsa_key(rng, size):
    def prime():
        while True:
            n = rng.getrandbits(size // 2) | 3 << (size // 2 - 2) | 1
            if n % 65537 != 1 and _is_prime(n, rng):
                return n

    p, q = prime(), prime()
    d = pow(65537, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(65537, p * q))
    return numbers.private_key()


def spki(key):
    public = key.public_key() if hasattr(key, "public_key") else key
    return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def point(key):
    return spki(key)[-65:]


def sign(key, data, algorithm):
    digest = ALGORITHMS[algorithm][1]()
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(data, ec.ECDSA(digest, deterministic_signing=True))
    return key.sign(data, padding.PKCS1v15(), digest)


def name(common_name, organization="Synthetic"):
    return w.sequence(
        w.set_of(w.sequence(w.oid("2.5.4.10"), w.text(organization))),
        w.set_of(w.sequence(w.oid("2.5.4.3"), w.text(common_name))),
    )


def algorithm_identifier(algorithm, parameters=None):
    if parameters is None:
        parameters = w.null() if algorithm.startswith("rsa") else b""
    return w.sequence(w.oid(ALGORITHMS[algorithm][0]), parameters)


def extension(dotted, value, critical=None):
    return w.sequence(w.oid(dotted), w.boolean(critical) if critical is not None else b"", w.octets(value))


def constraints(ca, path=None):
    return extension("2.5.29.19", w.sequence(w.boolean(True) if ca else b"", w.integer(path) if path is not None else b""), True)


def usage(bits):
    return extension("2.5.29.15", w.bits(bytes([bits]), 0 if bits & 1 else (bits & -bits).bit_length() - 1), True)


@dataclass
class Template:
    """Everything a certificate says, and the hooks that break it."""

    subject: bytes
    issuer: bytes
    key: object
    issuer_key: object
    not_before: datetime
    not_after: datetime
    serial: int
    algorithm: str = "ecdsa-sha256"
    extensions: list = field(default_factory=list)
    version: int | None = 2
    spki: bytes | None = None
    parameters: bytes | None = None
    outer_algorithm: bytes | None = None
    generalized: bool | None = None
    before_signing: list = field(default_factory=list)
    signature: list = field(default_factory=list)
    afterwards: list = field(default_factory=list)

    def build(self):
        """The certificate's bytes, each hook applied in turn."""
        identifier = algorithm_identifier(self.algorithm, self.parameters)
        body = w.sequence(
            w.explicit(0, w.integer(self.version)) if self.version is not None else b"", w.integer(self.serial),
            identifier, self.issuer,
            w.sequence(w.time(self.not_before, self.generalized), w.time(self.not_after, self.generalized)),
            self.subject, self.spki or spki(self.key),
            w.explicit(3, w.sequence(*self.extensions)) if self.extensions else b"",
        )
        body = run(self.before_signing, body)
        signature = sign(self.issuer_key, body, self.algorithm)
        signature = run(self.signature, signature)
        data = w.sequence(body, self.outer_algorithm or identifier, w.bits(signature))
        data = run(self.afterwards, data)
        return data


def pem(certificate):
    import base64

    text = base64.b64encode(certificate).decode()
    lines = [text[i : i + 64] for i in range(0, len(text), 64)]
    return "-----BEGIN CERTIFICATE-----\n" + "\n".join(lines) + "\n-----END CERTIFICATE-----\n"


def self_signed(subject, key, algorithm, start, end, serial, extensions=()):
    return Template(subject, subject, key, key, start, end, serial, algorithm, list(extensions)).build()


class Authorities:
    """The roots and intermediates of one seed, Apple-like and Google-like, and their impostors."""

    def __init__(self, rng):
        ca = [constraints(True), usage(6)]
        self.apple_root_name = name("Oracle App Attest Root")
        self.apple_name = name("Oracle App Attest CA 1")
        self.apple_root_key = ec_key(rng, ec.SECP384R1)
        self.apple_root = self_signed(self.apple_root_name, self.apple_root_key, "ecdsa-sha384", days(-2000), days(6000), 11, ca)
        self.apple_key = ec_key(rng, ec.SECP384R1)
        self.false_apple_root_key = ec_key(rng, ec.SECP384R1)
        self.expired_apple_root = self_signed(self.apple_root_name, self.apple_root_key, "ecdsa-sha384", days(-2000), days(-1), 12, ca)
        self.google_rsa_name = name("f9oracle5e1f", "Oracle Keys")
        self.google_rsa_key = rsa_key(rng, 2048)
        self.google_rsa = self_signed(self.google_rsa_name, self.google_rsa_key, "rsa-sha256", days(-3000), days(5000), 0x5E1F, ca)
        self.google_rsa_expired = self_signed(self.google_rsa_name, self.google_rsa_key, "rsa-sha256", days(-3650), days(-8), 0xE8FA, ca)
        self.google_ec_name = name("Oracle Key Attestation CA1")
        self.google_ec_key = ec_key(rng, ec.SECP384R1)
        self.google_ec = self_signed(self.google_ec_name, self.google_ec_key, "ecdsa-sha384", days(-300), days(3300), 0x84A9, ca)
        self.false_google_key = rsa_key(rng, 2048)
        self.false_google = self_signed(self.google_rsa_name, self.false_google_key, "rsa-sha256", days(-3000), days(5000), 0x5E1F, ca)
        self.play_key = ec_key(rng)
        self.keys = {"android-intermediate": ec_key(rng, ec.SECP384R1), "android-upper": ec_key(rng, ec.SECP384R1)}


@lru_cache(maxsize=4)
def authorities(seed):
    import random

    return Authorities(random.Random(f"authorities:{seed}"))

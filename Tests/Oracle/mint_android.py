# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Mints Android key attestation chains under the oracle's own authorities."""

from datetime import datetime, timezone

import authorities as a
import derwrite as w
from break_android import EXTENSION, table
from mutations import apply, b64, run, sha256

PROVISIONING = "1.3.6.1.4.1.11129.2.1.30"
VERSIONS = {1: 2, 2: 3, 3: 4, 4: 41, 100: 100, 200: 200, 300: 300, 400: 400, 500: 500}
PACKAGES = ["com.example.fieldapp", "com.example.other", "org.Example.Case"]


class Recipe:
    """A good chain, before anything is broken."""

    def __init__(self, rng, world):
        self.rng, self.world = rng, world
        self.version = rng.choice(sorted(VERSIONS))
        self.keymint_version = VERSIONS[self.version]
        self.level = self.keymint_level = rng.choice([1, 1, 2])
        self.binding = f"{b64(rng.randbytes(24)).replace('+', '-').replace('/', '_')}.app_{rng.randrange(1 << 24):06x}.sign-in".encode()
        self.expected = [sha256(self.binding), self.binding]
        self.challenge = rng.choice(self.expected)
        self.package, self.digest = rng.choice(PACKAGES), rng.randbytes(32)
        self.packages, self.digests = [(self.package.encode(), rng.randrange(1, 1 << 20))], [self.digest]
        self.registered = [{"package": self.package, "sha256": [self.digest.hex()]}]
        self.boot = {"key": rng.randbytes(32), "locked": b"\xff", "state": w.enumerated(0), "hash": rng.randbytes(32) if self.version >= 3 else None}
        self.software = {701: w.integer(1780000000000), 709: None}
        self.hardware = {
            1: w.set_of(w.integer(2)), 2: w.integer(3), 3: w.integer(256), 5: w.set_of(w.integer(4)), 10: w.integer(1), 503: w.null(), 702: w.integer(0),
            704: None, 705: w.integer(160000), 706: w.integer(202605),
        }
        if self.version >= 3:
            self.hardware |= {718: w.integer(20260501), 719: w.integer(20260501)}
        if self.version >= 400:
            self.software[724] = w.octets(rng.randbytes(32))
        self.tags_hooks = {"software": [], "hardware": []}
        self.application_hooks, self.application_tag_hooks, self.root_of_trust_hooks, self.description_hooks, self.chain_hooks = [], [], [], [], []
        self.extension_value_hooks = []
        self.extension_list = None
        self.critical = None
        self.text_hooks = []
        self.moment = a.NOW
        self.revoked = {}
        self.roots = [world.google_rsa, world.google_ec]
        self.shape = rng.choice(["factory", "factory", "remote"])
        self.root_certificate = None
        self.root_omitted = rng.random() < 0.15
        self.templates()
        self.good = ("hardware", None)

    def templates(self):
        rng, world = self.rng, self.world
        self.key, self.batch_key = a.ec_key(rng), a.ec_key(rng)
        middle, upper = world.keys["android-intermediate"], world.keys["android-upper"]
        use_rsa = rng.random() < 0.5
        self.root_key, root_name, algorithm = (world.google_rsa_key, world.google_rsa_name, "rsa-sha256") if use_rsa else (world.google_ec_key, world.google_ec_name, "ecdsa-sha384")
        self.root_certificate = rng.choice([world.google_rsa, world.google_rsa_expired]) if use_rsa else world.google_ec
        batch, middle_name, upper_name = a.name(f"batch{rng.randrange(1 << 32):x}", rng.choice(["TEE", "StrongBox"])), a.name("Droid CA3"), a.name("Droid CA2")
        self.leaf = a.Template(
            a.name("Android Keystore Key"), batch, self.key, self.batch_key, datetime(1970, 1, 1, tzinfo=timezone.utc),
            rng.choice([datetime(2048, 1, 1, tzinfo=timezone.utc), datetime(2106, 2, 7, 6, 28, 15, tzinfo=timezone.utc), datetime(1971, 1, 1, tzinfo=timezone.utc)]),
            1, extensions=[a.usage(0x80)],
        )
        serial = lambda: rng.choice([rng.getrandbits(63) | 1, rng.getrandbits(127) | 1, rng.getrandbits(120) | 1, int(str(rng.randrange(1, 1 << 60)), 16), 0x8 << 124 | rng.getrandbits(120)])
        if self.shape == "factory":
            self.middles = [
                a.Template(batch, middle_name, self.batch_key, middle, a.days(-1500), a.days(2000), serial(), "ecdsa-sha256", [a.constraints(True), a.usage(4)]),
                a.Template(middle_name, root_name, middle, self.root_key, a.days(-1500), a.days(2000), serial(), algorithm, [a.constraints(True), a.usage(4)]),
            ]
        else:
            self.middles = [
                a.Template(batch, middle_name, self.batch_key, middle, a.days(-4), a.days(8), serial(), "ecdsa-sha256", [a.constraints(True), a.usage(4), a.extension(PROVISIONING, b"\xa1\x01\x18\x20")]),
                a.Template(middle_name, upper_name, middle, upper, a.days(-20), a.days(50), serial(), "ecdsa-sha384", [a.constraints(True), a.usage(4)]),
                a.Template(upper_name, root_name, upper, self.root_key, a.days(-200), a.days(1500), serial(), algorithm, [a.constraints(True), a.usage(4)]),
            ]

    def root_of_trust(self):
        b = self.boot
        value = w.sequence(w.octets(b["key"]), w.universal(1, b["locked"]), b["state"], w.octets(b["hash"]) if b["hash"] is not None else b"")
        return run(self.root_of_trust_hooks, value)

    def application_id(self):
        packages = [w.sequence(w.octets(n), w.integer(v)) for n, v in self.packages]
        value = w.sequence(w.set_of(*packages), w.set_of(*[w.octets(d) for d in self.digests]))
        return run(self.application_tag_hooks, w.octets(run(self.application_hooks, value)))

    def authorizations(self, which):
        tags = getattr(self, which)
        fill = {704: self.root_of_trust, 709: self.application_id}
        items = [(n, w.explicit(n, v if v is not None else fill[n]())) for n, v in tags.items()]
        items.sort(key=lambda item: item[0])
        encoded = [data for _, data in items]
        for hook in self.tags_hooks[which]:
            encoded = hook(encoded)
        return w.sequence(*encoded)

    def description(self):
        value = w.sequence(
            w.integer(self.version), w.enumerated(self.level), w.integer(self.keymint_version), w.enumerated(self.keymint_level),
            w.octets(self.challenge), w.octets(b""), self.authorizations("software"), self.authorizations("hardware"),
        )
        return run(self.description_hooks, value)

    def build(self):
        if self.extension_list is None:
            self.leaf.extensions = self.leaf.extensions + [a.extension(EXTENSION, run(self.extension_value_hooks, self.description()), self.critical)]
        else:
            self.leaf.extensions = self.leaf.extensions + self.extension_list(self)
        chain = [t.build() for t in [self.leaf] + self.middles]
        if not self.root_omitted:
            chain.append(self.root_certificate)
        chain = run(self.chain_hooks, chain)
        texts = [b64(c) for c in chain]
        for hook in self.text_hooks:
            texts = hook(texts, chain)
        return {
            "schema": "android-key/1", "input": {"certificate_chain": texts}, "expected_challenges": [b64(e) for e in self.expected],
            "registered_apps": self.registered, "revocation": {"entries": self.revoked}, "trust_roots": [a.pem(r) for r in self.roots],
            "verify_at": self.moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


def mint(rng, world):
    """One chain, what was done to it, and the outcome if that is sure."""
    recipe = Recipe(rng, world)
    labels, intended = apply(table, recipe, rng)
    return recipe.build(), labels, intended

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Mints App Attest attestations and assertions under the oracle's own authorities."""

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

import authorities as a
import damage
import derwrite as w
from break_apple import DEVELOPMENT, NONCE, PRODUCTION, assertion, attestation, both
from mutations import Mutations, apply, b64, run, sha256

TEAMS, BUNDLES = ["ABCDE12345", "ZYXWV98765", "0123456789"], ["com.example.fieldapp", "com.example.other", "org.Example.Case"]


class Recipe:
    """A good proof, before anything is broken."""

    def __init__(self, kind, rng, world):
        self.kind, self.rng, self.world = kind, rng, world
        self.key = a.ec_key(rng)
        self.app = {"team_id": rng.choice(TEAMS), "bundle_id": rng.choice(BUNDLES)}
        self.registered = [dict(self.app)]
        self.app_text = f"{self.app['team_id']}.{self.app['bundle_id']}"
        self.challenge, self.app_id = b64(rng.randbytes(24)).replace("+", "-").replace("/", "_"), f"app_{rng.randrange(1 << 24):06x}"
        self.purpose = "register" if kind == "attestation" else "sign-in"
        self.signed_binding = None
        self.development = rng.random() < 0.5
        self.allow_development = self.development or rng.random() < 0.5
        self.aaguid = DEVELOPMENT if self.development else PRODUCTION
        self.flags = 0x40
        self.counter = 0 if kind == "attestation" else rng.choice([1, 2, 3, 5, 77, 0x80000000, 0xFFFFFFFF])
        self.previous = 0 if kind == "attestation" else rng.randrange(min(self.counter, 1 << 20))
        self.extensions = b""
        if rng.random() < 0.4:
            self.extensions = damage.cbor(self.extension_map())
            self.flags |= rng.choice([0, 0x80])
        self.credential_id = self.cose_key = self.point = self.key_id = self.nonce_value = None
        self.cbor_hooks, self.text_hooks, self.object_hooks, self.auth_hooks, self.late_auth_hooks = [], [], [], [], []
        self.chain_hooks = []
        self.signature_hooks = []
        self.statement_extra = {}
        self.moment = a.NOW
        self.roots = [world.apple_root]
        self.root_key = world.apple_root_key
        self.prehashed = False
        self.leaf = a.Template(
            a.name(sha256(a.point(self.key)).hex()), world.apple_name, self.key, world.apple_key, a.days(-1),
            a.days(2) if rng.random() < 0.5 else a.days(300), rng.getrandbits(47) | 1,
            extensions=[a.constraints(False), a.usage(0xC0)],
        )
        if rng.random() < 0.3:
            self.leaf.extensions.append(a.extension("2.5.29.37", w.sequence(w.oid("1.2.840.113635.100.4.24"))))
        self.intermediate = a.Template(
            world.apple_name, world.apple_root_name, world.apple_key, world.apple_root_key, a.days(-1000), a.days(1500),
            77, "ecdsa-sha384", [a.constraints(True, 0), a.usage(6)],
        )
        self.good = ("accepted", None)

    def extension_map(self):
        return {"apple_bundle_version_01": "1", "apple_validation_category_01": self.rng.choice([1, 2, 3, 4, 5]).to_bytes(4, "little")}

    def binding(self):
        return f"{self.challenge}.{self.app_id}.{self.purpose}".encode()

    def signed_hash(self):
        return sha256(self.signed_binding if self.signed_binding is not None else self.binding())

    def cose(self, point):
        return bytes.fromhex("a5010203262001215820") + point[1:33] + bytes.fromhex("225820") + point[33:65]

    def authenticator_data(self):
        head = sha256(self.app_text.encode()) + bytes([self.flags]) + self.counter.to_bytes(4, "big")
        if self.kind == "attestation":
            point = a.point(self.key)[-65:]
            credential = self.credential_id if self.credential_id is not None else sha256(point)
            head += self.aaguid + len(credential).to_bytes(2, "big") + credential + (self.cose_key or self.cose(self.point or point))
        data = head + self.extensions
        data = run(self.auth_hooks, data)
        return data

    def build(self):
        data = self.authenticator_data()
        vector = {
            "schema": "app-attest/1", "kind": self.kind,
            "input": {"key_id": b64(self.key_id or sha256(a.point(self.key)[-65:])), "client_data": b64(self.binding()), "client_data_hash": b64(sha256(self.binding()))},
            "registered_apps": self.registered,
        }
        value = self.attestation(data, vector) if self.kind == "attestation" else self.assertion(data, vector)
        encoded = self.encode(value)
        encoded = run(self.object_hooks, encoded)
        text = self.text_hooks[0](encoded) if self.text_hooks else b64(encoded)
        vector["input"][self.kind] = text
        return vector

    def encode(self, value):
        if self.cbor_hooks:
            return self.cbor_hooks[0](value)
        return damage.cbor(value)

    def attestation(self, data, vector):
        nonce = sha256(data + self.signed_hash())
        value = self.nonce_value(nonce) if self.nonce_value else w.sequence(w.explicit(1, w.octets(nonce)))
        if value is not None:
            self.leaf.extensions = self.leaf.extensions + [a.extension(NONCE, value)]
        data = run(self.late_auth_hooks, data)
        chain = [self.leaf.build(), self.intermediate.build()]
        chain = run(self.chain_hooks, chain)
        vector |= {"policy": {"allow_development": self.allow_development}, "trust_roots": [a.pem(r) for r in self.roots], "verify_at": self.moment.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return {"fmt": "apple-appattest", "attStmt": {"x5c": chain, "receipt": self.rng.randbytes(40)} | self.statement_extra, "authData": data}

    def assertion(self, data, vector):
        nonce = sha256(data + self.signed_hash())
        algorithm = ec.ECDSA(Prehashed(hashes.SHA256()) if self.prehashed else hashes.SHA256(), deterministic_signing=True)
        signature = self.key.sign(nonce, algorithm)
        signature = run(self.signature_hooks, signature)
        data = run(self.late_auth_hooks, data)
        vector["input"] |= {"public_key": b64(self.point or a.point(self.key)), "previous_counter": self.previous}
        return {"signature": signature, "authenticatorData": data}


def mint(rng, world):
    """One App Attest vector, what was done to it, and the outcome if that is sure."""
    kind = rng.choice(["attestation", "attestation", "assertion"])
    recipe = Recipe(kind, rng, world)
    table = Mutations()
    table.all = both.all + (attestation if kind == "attestation" else assertion).all
    labels, intended = apply(table, recipe, rng)
    return recipe.build(), labels, intended

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""What breaks an App Attest proof: tables of named mutations of the recipe in mint_apple."""

import random
from datetime import timedelta

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

import authorities as a
import damage
import derwrite as w
from mutations import Mutations, odd_base64, sha256

NONCE = "1.2.840.113635.100.8.2"
PRODUCTION, DEVELOPMENT = b"appattest" + bytes(7), b"appattestdevelop"
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
both, attestation, assertion = Mutations(), Mutations(), Mutations()

def _bytes(hooks, rng):
    """Queues one byte change; the label comes from a dry run of its kind."""
    state = rng.getrandbits(64)

    def hook(data):
            return damage.damage_bytes(data, random.Random(state))[0]

    hooks.append(hook)


# Of both kinds


@both.add("nothing", "accepted", None)
def _(r, rng): pass


@both.add("another bundle registered", "refused", "app_not_registered")
def _(r, rng): r.registered = [r.app | {"bundle_id": rng.choice(["com.example.fieldapp2", r.app["bundle_id"].swapcase(), r.app["bundle_id"][:-1], ""])}]


@both.add("another team registered", "refused", "app_not_registered")
def _(r, rng): r.registered = [r.app | {"team_id": rng.choice(["ABCDE12346", r.app["team_id"].lower() + " "])}]


@both.add("no app registered", "refused", "app_not_registered")
def _(r, rng): r.registered = []


@both.add("pairs crossed", "refused", "app_not_registered")
def _(r, rng): r.registered = [{"team_id": r.app["team_id"], "bundle_id": "com.cross.b"}, {"team_id": "CROSSCROSS", "bundle_id": r.app["bundle_id"]}]


@both.add("right pair among others", "accepted", None)
def _(r, rng): r.registered = [{"team_id": "CROSSCROSS", "bundle_id": "com.cross.b"}, r.app, {"team_id": "CROSSCROSS", "bundle_id": r.app["bundle_id"]}]


@both.add("proof over another binding", "refused", None, 2)
def _(r, rng):
    c, i, p = r.challenge, r.app_id, r.purpose
    choices = [f"{c}.{i}.{'sign-in' if p == 'register' else 'register'}", f"{c}.{i}1.{p}", f"{c[:-1]}.{i}.{p}", c, f"{c}.{i}", f"{c}.{i}.{p}\n", ""]
    r.signed_binding = rng.choice(choices).encode()


@both.add("authData byte changed before it is signed", weight=3)
def _(r, rng): _bytes(r.auth_hooks, rng)


@both.add("authData byte changed afterwards", "refused", None)
def _(r, rng): r.late_auth_hooks.append(lambda d, at=rng.randrange(37), bit=rng.randrange(8): d[:at] + bytes([d[at] ^ 1 << bit]) + d[at + 1 :])


@both.add("object byte changed", weight=3)
def _(r, rng): _bytes(r.object_hooks, rng)


@both.add("odd base64", weight=2)
def _(r, rng):
    state = rng.getrandbits(64)
    label = odd_base64(b"\xfb\xff\xbe1", random.Random(state))[1]
    r.text_hooks.append(lambda d: odd_base64(d, random.Random(state))[0])
    return label


@both.add("CBOR oddity at the top", weight=4)
def _(r, rng):
    state = rng.getrandbits(64)
    r.cbor_hooks = [lambda value: damage.damage_cbor(value, random.Random(state))[0]]
    return damage.damage_cbor({"a": b"1", "b": b"2"}, random.Random(state))[1]


@both.add("extension map of odd form", weight=3)
def _(r, rng):
    r.extensions, label = damage.damage_cbor(r.extension_map(), rng)
    return label


@both.add("extension map replaced")
def _(r, rng):
    label, r.extensions = rng.choice([("empty", b"\xa0"), ("array", b"\x80"), ("two maps", b"\xa0\xa0"), ("integer", b"\0"), ("unknown key", damage.cbor({"apple_new_02": [1, {"x": b"y"}]})), ("long category", damage.cbor({"apple_validation_category_01": bytes(8)})), ("huge", damage.cbor({"k": bytes(3000)}))])
    return label


@both.add("flags other")
def _(r, rng):
    r.flags = rng.randrange(256)
    return f"{r.flags:#x}"


@both.add("empty object", "refused", "malformed")
def _(r, rng): r.object_hooks.append(lambda d: b"")


# Attestations


@attestation.add("development refused", "refused", "development_not_allowed")
def _(r, rng): r.aaguid, r.allow_development = DEVELOPMENT, False


@attestation.add("unknown AAGUID", "refused", "malformed")
def _(r, rng): r.aaguid = rng.choice([bytes(16), b"appattest       ", b"appattestDEVELOP", b"appattestdevelo\0", rng.randbytes(16)])


@attestation.add("counter not zero", "refused", "malformed")
def _(r, rng): r.counter = rng.choice([1, 256, 0x80000000, 0xFFFFFFFF])


@attestation.add("credential id other", "refused", "key_mismatch")
def _(r, rng): r.credential_id = rng.randbytes(32)


@attestation.add("credential id of another length", "refused", "malformed")
def _(r, rng): r.credential_id = rng.randbytes(rng.choice([0, 31, 33, 64]))


@attestation.add("COSE key of another point", "refused", "key_mismatch")
def _(r, rng): r.point = a.point(a.ec_key(rng))


@attestation.add("COSE key of odd form", weight=2)
def _(r, rng):
    p = a.point(r.key)
    fields = [(1, 2), (3, -7), (-1, 1), (-2, p[1:33]), (-3, p[33:65])]
    kind = rng.choice(["shuffled", "wrong alg", "wrong kty", "wrong crv", "short x", "extra", "missing", "damaged"])
    if kind == "shuffled":
        rng.shuffle(fields)
    elif kind == "wrong alg":
        fields[1] = (3, rng.choice([-8, -35, 7]))
    elif kind == "wrong kty":
        fields[0] = (1, rng.choice([1, 3]))
    elif kind == "wrong crv":
        fields[2] = (-1, rng.choice([2, 6]))
    elif kind == "short x":
        fields[3] = (-2, p[1:32])
    elif kind == "extra":
        fields.append((-4, 0))
    elif kind == "missing":
        fields.pop(rng.randrange(5))
    r.cose_key = damage.cbor(dict(fields))
    if kind == "damaged":
        r.cose_key, label = damage.damage_cbor(dict(fields), rng)
        kind = label
    return kind


@attestation.add("key id of another key", "refused", "key_mismatch")
def _(r, rng): r.key_id = rng.choice([rng.randbytes(32), sha256(a.point(r.key)[1:]), sha256(a.point(r.key))[:31], sha256(a.point(r.key)) + b"\0"])


@attestation.add("nonce extension of odd form", weight=3)
def _(r, rng):
    kinds = {
        "missing": lambda n: None, "bare octets": lambda n: w.octets(n), "bare nonce": lambda n: n,
        "tag 0": lambda n: w.sequence(w.explicit(0, w.octets(n))), "tag 2": lambda n: w.sequence(w.explicit(2, w.octets(n))),
        "primitive tag": lambda n: w.sequence(w.tlv(b"\x81", n)), "two nonces": lambda n: w.sequence(w.explicit(1, w.octets(n)), w.explicit(1, w.octets(n))),
        "padded": lambda n: w.sequence(w.explicit(1, w.octets(n + b"\0"))), "short": lambda n: w.sequence(w.explicit(1, w.octets(n[:31]))),
        "trailing": lambda n: w.sequence(w.explicit(1, w.octets(n))) + b"\5\0", "long length": lambda n: w.tlv(b"\x30", w.explicit(1, w.octets(n)), 1),
        "set": lambda n: w.set_of(w.explicit(1, w.octets(n))), "zeros": lambda n: w.sequence(w.explicit(1, w.octets(bytes(32)))),
        "first element": lambda n: w.sequence(w.explicit(0, w.octets(b"x" * 9)), w.explicit(1, w.octets(n))),
        "inside trailing": lambda n: w.sequence(w.explicit(1, w.octets(n) + b"\5\0")), "indefinite": lambda n: b"\x30\x80" + w.explicit(1, w.octets(n)) + b"\0\0",
        "other nonce": lambda n: w.sequence(w.explicit(1, w.octets(sha256(n)))),
    }
    kind = rng.choice(sorted(kinds))
    r.nonce_value = kinds[kind]
    return kind


@attestation.add("nonce extension twice", "refused", "malformed")
def _(r, rng): r.leaf.extensions.append(a.extension(NONCE, w.sequence(w.explicit(1, w.octets(rng.randbytes(32))))))


@attestation.add("nonce extension in the intermediate only", "refused", "malformed")
def _(r, rng):
    def value(nonce):
        r.intermediate.extensions.append(a.extension(NONCE, w.sequence(w.explicit(1, w.octets(nonce)))))
        return None

    r.nonce_value = value


@attestation.add("leaf on another curve", "refused", "malformed")
def _(r, rng):
    r.leaf.spki = a.spki(a.ec_key(rng, rng.choice([ec.SECP384R1, ec.SECP256K1, ec.SECP521R1])))


@attestation.add("leaf with an RSA key", "refused", "malformed")
def _(r, rng): r.leaf.spki = a.spki(r.world.google_rsa_key)


@attestation.add("leaf key compressed", "refused", "malformed")
def _(r, rng):
    p = a.point(r.key)
    r.leaf.spki = w.sequence(w.sequence(w.oid("1.2.840.10045.2.1"), w.oid("1.2.840.10045.3.1.7")), w.bits(bytes([2 + p[64] % 2]) + p[1:33]))


@attestation.add("leaf key off the curve", "refused", "malformed")
def _(r, rng):
    p = a.point(r.key)
    r.leaf.spki = w.sequence(w.sequence(w.oid("1.2.840.10045.2.1"), w.oid("1.2.840.10045.3.1.7")), w.bits(p[:-1] + bytes([p[-1] ^ 1])))


@attestation.add("leaf expired", "refused", "certificate_expired")
def _(r, rng): r.moment = r.leaf.not_after + timedelta(seconds=rng.choice([1, 86400]))


@attestation.add("leaf not yet valid", "refused", "certificate_expired")
def _(r, rng): r.moment = r.leaf.not_before - timedelta(seconds=rng.choice([1, 86400]))


@attestation.add("exactly at a date of the leaf")
def _(r, rng): r.moment = rng.choice([r.leaf.not_after, r.leaf.not_before])


@attestation.add("last or first second of the leaf", "accepted", None)
def _(r, rng): r.moment = rng.choice([r.leaf.not_after - timedelta(seconds=1), r.leaf.not_before + timedelta(seconds=1)])


@attestation.add("intermediate expired", "refused", "certificate_expired")
def _(r, rng): r.intermediate.not_after = r.moment - timedelta(seconds=rng.choice([1, 86400 * 30]))


@attestation.add("root expired", "refused", "certificate_expired")
def _(r, rng): r.roots = [r.world.expired_apple_root]


@attestation.add("leaf dates as GeneralizedTime")
def _(r, rng): r.leaf.generalized = True


@attestation.add("intermediate signed by a false root of the same name", "refused", "untrusted_root")
def _(r, rng): r.intermediate.issuer_key = r.world.false_apple_root_key


@attestation.add("leaf signed by another key", "refused", "untrusted_root")
def _(r, rng): r.leaf.issuer_key = a.ec_key(rng, ec.SECP384R1)


@attestation.add("leaf signed by the root", "refused", "untrusted_root")
def _(r, rng): r.leaf.issuer_key, r.leaf.issuer = r.world.apple_root_key, r.world.apple_root_name


@attestation.add("another trust root", "refused", "untrusted_root")
def _(r, rng): r.roots = rng.choice([[], [r.world.google_ec], [r.world.google_rsa]])


@attestation.add("two trust roots", "accepted", None)
def _(r, rng): r.roots = [r.world.google_ec, r.world.apple_root]


@attestation.add("issuer name differs", "refused", "untrusted_root")
def _(r, rng): rng.choice([r.leaf, r.intermediate]).issuer = a.name("Somebody Else")


@attestation.add("intermediate no authority", "refused", "untrusted_root")
def _(r, rng):
    r.intermediate.extensions = rng.choice([[a.constraints(False), a.usage(6)], [a.constraints(True, 0), a.usage(0x80)], [a.usage(0x80)]])


@attestation.add("intermediate without constraints", "refused", "untrusted_root")
def _(r, rng): r.intermediate.extensions = rng.choice([[], [a.usage(6)]])


@attestation.add("another hash under the chain")
def _(r, rng):
    who = rng.choice([r.leaf, r.intermediate])
    who.algorithm = rng.choice(["ecdsa-sha1", "ecdsa-sha224", "ecdsa-sha256", "ecdsa-sha384", "ecdsa-sha512"])
    return who.algorithm


@attestation.add("ECDSA with NULL parameters")
def _(r, rng): rng.choice([r.leaf, r.intermediate]).parameters = w.null()


@attestation.add("outer algorithm differs", "refused", None)
def _(r, rng): rng.choice([r.leaf, r.intermediate]).outer_algorithm = a.algorithm_identifier("ecdsa-sha512")


@attestation.add("x5c arranged otherwise", "refused", None, 2)
def _(r, rng):
    kinds = {
        "reversed": lambda c: c[::-1], "leaf only": lambda c: c[:1], "empty": lambda c: [], "intermediate only": lambda c: c[1:],
        "root appended": lambda c: c + [r.world.apple_root], "leaf twice": lambda c: [c[0]] + c, "root for intermediate": lambda c: [c[0], r.world.apple_root],
        "leaf as its own issuer": lambda c: [c[0], c[0]], "intermediate twice": lambda c: [c[1], c[1]],
    }
    kind = rng.choice(sorted(kinds))
    r.chain_hooks.append(kinds[kind])
    return kind


@attestation.add("forged leaf under a genuine leaf", "refused", None)
def _(r, rng):
    genuine = a.Template(r.leaf.subject, r.leaf.issuer, r.key, r.world.apple_key, a.days(-1), a.days(2), 5, extensions=[a.constraints(rng.random() < 0.5), a.extension(NONCE, w.sequence(w.explicit(1, w.octets(bytes(32)))))])
    r.leaf.issuer, r.leaf.issuer_key = genuine.subject, r.key
    r.chain_hooks.append(lambda c: [c[0], genuine.build()])


@attestation.add("certificate damaged before it is signed", weight=3)
def _(r, rng):
    who = rng.choice([r.leaf, r.leaf, r.intermediate])
    state, how = rng.getrandbits(64), rng.choice([damage.damage_der, damage.damage_bytes])
    who.before_signing.append(lambda d: how(d, random.Random(state))[0])
    return "leaf" if who is r.leaf else "intermediate"


@attestation.add("certificate damaged afterwards", weight=3)
def _(r, rng):
    who = rng.choice([r.leaf, r.leaf, r.intermediate])
    state, how = rng.getrandbits(64), rng.choice([damage.damage_der, damage.damage_bytes])
    who.afterwards.append(lambda d: how(d, random.Random(state))[0])
    return "leaf" if who is r.leaf else "intermediate"


@attestation.add("certificate signature of odd form")
def _(r, rng):
    who = rng.choice([r.leaf, r.intermediate])
    kind, hook = odd_signature(rng)
    who.signature.append(hook)
    return kind


@attestation.add("critical unknown extension", "refused", "untrusted_root")
def _(r, rng): rng.choice([r.leaf, r.intermediate]).extensions.append(a.extension("1.2.3.4.5", b"\5\0", True))


@attestation.add("certificate version other", "refused", "malformed")
def _(r, rng): rng.choice([r.leaf, r.intermediate]).version = rng.choice([None, 0, 1, 3])


@attestation.add("statement with other members")
def _(r, rng):
    label, r.statement_extra = rng.choice([("receipt empty", {"receipt": b""}), ("receipt text", {"receipt": "x"}), ("another member", {"more": 1}), ("alg", {"alg": -7}), ("receipt null", {"receipt": None})])
    return label


@attestation.add("fmt other", "refused", "malformed")
def _(r, rng):
    fmt = rng.choice(["apple", "apple-appattest ", "Apple-AppAttest", "packed", "none", "", b"apple-appattest"])
    r.cbor_hooks = [lambda value: damage.cbor(value | {"fmt": fmt})]


# Assertions


def odd_signature(rng):
    """A DER signature rewritten: its name and the hook."""
    def raw(s):
        x, y = decode_dss_signature(s)
        return x.to_bytes(48 if max(x, y) >> 256 else 32, "big") + y.to_bytes(48 if max(x, y) >> 256 else 32, "big")

    kinds = {
        "raw": raw, "bit": lambda s: s[:-1] + bytes([s[-1] ^ 1]), "trailing": lambda s: s + b"\0",
        "zero": lambda s: encode_dss_signature(0, 0), "zero r": lambda s: encode_dss_signature(0, decode_dss_signature(s)[1]),
        "padded": lambda s: w.sequence(w.universal(2, b"\0" + w.integer(decode_dss_signature(s)[0])[2:]), w.integer(decode_dss_signature(s)[1])),
        "negative": lambda s: w.sequence(w.integer(-decode_dss_signature(s)[0]), w.integer(decode_dss_signature(s)[1])),
        "long length": lambda s: w.tlv(b"\x30", s[2:], 1), "third integer": lambda s: w.sequence(s[2:], w.integer(1)), "empty": lambda s: b"",
        "swapped": lambda s: encode_dss_signature(*decode_dss_signature(s)[::-1]),
        "inner trailing": lambda s: w.sequence(s[2:], b"\5\0"), "indefinite": lambda s: b"\x30\x80" + s[2:] + b"\0\0",
    }
    kind = rng.choice(sorted(kinds))
    return kind, kinds[kind]


@assertion.add("signature of odd form", "refused", "bad_signature", 3)
def _(r, rng):
    kind, hook = odd_signature(rng)
    r.signature_hooks.append(hook)
    return kind


@assertion.add("signature with s negated", "accepted", None)
def _(r, rng): r.signature_hooks.append(lambda s: encode_dss_signature(decode_dss_signature(s)[0], P256_ORDER - decode_dss_signature(s)[1]))


@assertion.add("signature with r or s past the order", "refused", "bad_signature")
def _(r, rng): r.signature_hooks.append(lambda s: encode_dss_signature(decode_dss_signature(s)[0] + P256_ORDER, decode_dss_signature(s)[1]))


@assertion.add("signed over the nonce as digest", "refused", "bad_signature")
def _(r, rng): r.prehashed = True


@assertion.add("stored key of another install", "refused", "bad_signature")
def _(r, rng): r.point = a.point(a.ec_key(rng))


@assertion.add("counter not above the stored one", "refused", "counter_not_increasing", 2)
def _(r, rng): r.previous = min(0xFFFFFFFF, r.counter + rng.choice([0, 0, 1, 1000]))


@assertion.add("counter zero on a fresh key", "refused", "counter_not_increasing")
def _(r, rng): r.counter = r.previous = 0


@assertion.add("counter crosses the sign bit", "accepted", None)
def _(r, rng): r.previous, r.counter = rng.choice([(0x7FFFFFFF, 0x80000000), (0x7FFFFFFF, 0xFFFFFFFF), (0xFFFFFFFE, 0xFFFFFFFF), (0x80000000, 0x80000001)])


@assertion.add("counter bytes reversed")
def _(r, rng): r.auth_hooks.append(lambda d: d[:33] + d[33:37][::-1] + d[37:])


@assertion.add("rpIdHash of another app", "refused", "app_not_registered")
def _(r, rng): r.app_text = rng.choice(["ABCDE12345.com.attacker", r.app_text.upper() + "x", r.app["bundle_id"], ""])


@assertion.add("authenticatorData cut", "refused", "malformed")
def _(r, rng): r.auth_hooks.append(lambda d, n=rng.choice([0, 1, 32, 33, 36]): d[:n])


@assertion.add("attested credential data kept")
def _(r, rng): r.auth_hooks.append(lambda d: d[:37] + PRODUCTION + b"\0\x20" + sha256(a.point(r.key)) + r.cose(a.point(r.key)))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""What breaks an Android chain: a table of named mutations of the recipe in mint_android."""

import random
from datetime import datetime, timedelta, timezone

from cryptography.hazmat.primitives.asymmetric import ec

import authorities as a
import damage
import derwrite as w
from break_apple import odd_signature
from mutations import Mutations, odd_base64, sha256

EXTENSION = "1.3.6.1.4.1.11129.2.1.17"
table = Mutations()

def _later(hooks, rng, how):
    """Queues one damage whose randomness is fixed now."""
    state = rng.getrandbits(64)
    hooks.append(lambda data: how(data, random.Random(state))[0])


@table.add("nothing", "hardware", None)
def _(r, rng): pass


# Binding and application


@table.add("other challenge", "refused", "nonce_mismatch", 2)
def _(r, rng):
    b = r.binding
    r.challenge = rng.choice([b"", b[:-1], b + b"\0", sha256(b).hex().encode(), sha256(sha256(b)), sha256(b)[:16], b.split(b".")[0], b.replace(b"sign-in", b"register"), sha256(b.replace(b"sign-in", b"register")), b.upper(), rng.randbytes(32)])


@table.add("no challenge acceptable", "refused", "nonce_mismatch")
def _(r, rng): r.expected = []


@table.add("package not registered", "refused", "package_mismatch", 2)
def _(r, rng): r.registered = rng.choice([[], [{"package": r.package + "x", "sha256": [r.digest.hex()]}], [{"package": r.package[:-1], "sha256": [r.digest.hex()]}], [{"package": r.package.swapcase(), "sha256": [r.digest.hex()]}]])


@table.add("signer not registered", "refused", "signing_certificate_mismatch")
def _(r, rng): r.registered = [{"package": r.package, "sha256": rng.choice([[], [rng.randbytes(32).hex()], [r.digest.hex()[:-2] + "00" if not r.digest.hex().endswith("00") else "11" * 32]])}]


@table.add("signer of another package", "refused", "signing_certificate_mismatch")
def _(r, rng): r.registered = [{"package": r.package, "sha256": [rng.randbytes(32).hex()]}, {"package": "com.example.pair", "sha256": [r.digest.hex()]}]


@table.add("pair among others", "hardware", None)
def _(r, rng): r.registered = [{"package": "com.example.pair", "sha256": ["00" * 32]}, {"package": r.package, "sha256": ["11" * 32, r.digest.hex().upper()]}]


@table.add("package registered twice, second signs", "hardware", None)
def _(r, rng): r.registered = [{"package": r.package, "sha256": ["00" * 32]}, {"package": r.package, "sha256": [r.digest.hex()]}]


@table.add("shared uid", "hardware", None)
def _(r, rng):
    r.packages += [(b"com.shared.a", 1), (b"com.shared.b", 2)]
    rng.shuffle(r.packages)


@table.add("shared uid, only the pair of one counts")
def _(r, rng):
    r.packages.append((b"com.shared.a", 1))
    r.registered = [{"package": r.package, "sha256": ["11" * 32]}, {"package": "com.shared.a", "sha256": [r.digest.hex()]}]


@table.add("rotated signer", "hardware", None)
def _(r, rng): r.digests.insert(rng.randrange(2), rng.randbytes(32))


@table.add("no application id", "refused", "no_application_id")
def _(r, rng): r.software.pop(709, None)


@table.add("application id in the hardware list", "refused", "no_application_id")
def _(r, rng):
    r.software.pop(709, None)
    r.hardware[709] = None


@table.add("application id in both lists")
def _(r, rng): r.hardware[709] = None


@table.add("application id in both, the hardware one of another app", "refused", "package_mismatch")
def _(r, rng):
    r.hardware[709] = r.application_id()
    r.packages = [(b"com.attacker.app", 1)]


@table.add("empty packages or digests", "refused", "no_application_id")
def _(r, rng): rng.choice([r.packages, r.digests]).clear()


@table.add("digest of another length", "refused", "signing_certificate_mismatch")
def _(r, rng): r.digests = [rng.choice([r.digest[:20], r.digest + b"\0", b""])]


@table.add("digest of another length beside the right one")
def _(r, rng): r.digests.insert(rng.randrange(2), rng.choice([r.digest[:20], b""]))


@table.add("package name not UTF-8", "refused", "malformed")
def _(r, rng): r.packages = [(rng.choice([b"com.\xff", b"\xc0\xafx", b"\xed\xa0\x80", r.package.encode() + b"\x80"]), 1)]


@table.add("package name not UTF-8 beside the right one")
def _(r, rng): r.packages.insert(rng.randrange(2), (b"com.\xff", 1))


@table.add("package name of odd characters", "refused", "package_mismatch")
def _(r, rng): r.packages = [(rng.choice([r.package.encode() + b"\0", b"\0" + r.package.encode(), r.package.replace("e", "\u0435", 1).encode(), b" " + r.package.encode(), b""]), 1)]


@table.add("package version odd")
def _(r, rng): r.packages = [(r.package.encode(), rng.choice([0, -1, 1 << 63, 1 << 200]))]


@table.add("application id damaged", weight=4)
def _(r, rng): _later(r.application_hooks, rng, rng.choice([damage.damage_der, damage.damage_der, damage.damage_bytes]))


@table.add("application tag damaged", weight=2)
def _(r, rng): _later(r.application_tag_hooks, rng, rng.choice([damage.damage_der, damage.damage_bytes]))


@table.add("application id not in octets", "refused", "malformed")
def _(r, rng): r.application_tag_hooks.append(lambda d: damage.parse_tree(d)[0].content)


# Device state


@table.add("unlocked", "degraded", "bootloader_unlocked", 2)
def _(r, rng): r.boot |= {"locked": b"\0", "state": w.enumerated(rng.choice([0, 2]))}


@table.add("boot state", "degraded", "boot_not_verified", 2)
def _(r, rng): r.boot["state"] = w.enumerated(rng.choice([1, 2, 3]))


@table.add("boot state out of range", "refused", "malformed")
def _(r, rng): r.boot["state"] = w.enumerated(rng.choice([4, 7, -1, 127, 128, 1 << 40]))


@table.add("boot state of another type")
def _(r, rng): r.boot["state"] = rng.choice([w.integer(0), w.octets(b"\0"), w.universal(10, b""), w.universal(10, b"\0\0")])


@table.add("boolean of odd octet")
def _(r, rng):
    r.boot["locked"] = rng.choice([b"\1", b"\x02", b"\x80", b"\xfe", b"", b"\xff\xff", b"\0\0", b"\0\1"])
    return r.boot["locked"].hex()


@table.add("boot key odd", "hardware", None)
def _(r, rng): r.boot["key"] = rng.choice([b"", b"\0", rng.randbytes(64)])


@table.add("boot hash odd")
def _(r, rng): r.boot["hash"] = rng.choice([None, b"", rng.randbytes(20), rng.randbytes(64)])


@table.add("no root of trust", "degraded", "no_root_of_trust")
def _(r, rng): r.hardware.pop(704, None)


@table.add("root of trust in software only", "degraded", "no_root_of_trust")
def _(r, rng):
    r.hardware.pop(704, None)
    r.software[704] = None


@table.add("root of trust in both, good one in software", "degraded", "bootloader_unlocked")
def _(r, rng):
    r.software[704] = r.root_of_trust()
    r.boot["locked"] = b"\0"


@table.add("garbage as root of trust in software")
def _(r, rng): r.software[704] = rng.choice([b"", b"\xff", w.octets(b"x"), w.sequence(), rng.randbytes(9)])


@table.add("root of trust damaged", weight=4)
def _(r, rng): _later(r.root_of_trust_hooks, rng, rng.choice([damage.damage_der, damage.damage_der, damage.damage_bytes]))


@table.add("root of trust with more elements")
def _(r, rng): r.root_of_trust_hooks.append(lambda d: w.sequence(damage.parse_tree(d)[0].children[0].write(), *[c.write() for c in damage.parse_tree(d)[0].children[1:]], w.octets(b"more")))


@table.add("software level", "degraded", "software_attestation", 2)
def _(r, rng): r.level, r.keymint_level = rng.choice([(0, 0), (0, 1), (1, 0), (2, 0), (0, 2)])


@table.add("levels differ", "hardware", None)
def _(r, rng): r.level, r.keymint_level = rng.choice([(1, 2), (2, 1)])


@table.add("level out of range", "refused", "malformed")
def _(r, rng): r.level, r.keymint_level = rng.choice([(3, 1), (1, 3), (9, 1), (-1, 1), (1, 255), (1 << 70, 1)])


@table.add("version odd")
def _(r, rng):
    r.version = rng.choice([0, -1, 5, 900, 1 << 31, 1 << 32, 1 << 64, 1 << 130])
    return str(r.version)


@table.add("keymint version odd")
def _(r, rng): r.keymint_version = rng.choice([0, -1, 41, 900, 1 << 32, 1 << 64, 1 << 130])


# Lists and description


@table.add("tags out of order", "hardware", None)
def _(r, rng): r.tags_hooks[rng.choice(["software", "hardware"])].append(lambda items: items[::-1])


@table.add("tag twice", "refused", "malformed", 2)
def _(r, rng): r.tags_hooks[rng.choice(["software", "hardware"])].append(lambda items, i=rng.random(): items + [items[int(i * len(items))]])


@table.add("unknown tag", "hardware", None)
def _(r, rng): getattr(r, rng.choice(["software", "hardware"]))[rng.choice([12, 30, 31, 127, 128, 799, 900, 16383, 16384, 100000])] = rng.choice([w.null(), w.integer(1), w.octets(b"x"), w.sequence(w.integer(1))])


@table.add("unknown tag of odd content")
def _(r, rng): getattr(r, rng.choice(["software", "hardware"]))[rng.choice([12, 799, 4000000, 1 << 34])] = rng.choice([b"", b"\xff\xff\xff", rng.randbytes(7), w.null() + w.null(), b"\x30\x80\0\0"])


@table.add("known unused tag of odd content")
def _(r, rng): r.hardware[rng.choice([1, 2, 3, 503, 702, 705, 706, 718])] = rng.choice([b"", b"\xff", w.octets(b"x"), w.integer(1 << 80), w.sequence()])


@table.add("patch levels", "hardware", None)
def _(r, rng): r.hardware |= {706: w.integer(rng.choice([0, 201601, 209912])), 718: w.integer(rng.choice([0, 20260501, 202605])), 705: w.integer(rng.choice([0, 999999]))}


@table.add("deep nesting in an unknown tag")
def _(r, rng):
    data = b""
    for _ in range(rng.choice([10, 100, 1500])):
        data = w.sequence(data)
    r.hardware[799] = data


@table.add("item of another class in a list")
def _(r, rng):
    extra = rng.choice([w.integer(1), w.null(), w.tlv(w.tag(1, True, 704), w.null()), w.tlv(w.tag(3, True, 9), w.null()), w.tlv(w.tag(2, False, 9), b"x"), w.tlv(w.tag(2, False, 720), b"")])
    r.tags_hooks[rng.choice(["software", "hardware"])].append(lambda items: items + [extra])


@table.add("tag number written badly", "refused", "malformed")
def _(r, rng):
    bad = rng.choice([b"\xbf\x80\x85\x40", b"\xbf\x0a", b"\xbf\x80\x0a"])
    r.tags_hooks["hardware"].append(lambda items: items + [w.tlv(bad, w.null())])


@table.add("description damaged", weight=10)
def _(r, rng): _later(r.description_hooks, rng, rng.choice([damage.damage_der, damage.damage_der, damage.damage_bytes]))


@table.add("description with other elements")
def _(r, rng):
    kind = rng.choice(["nine", "seven", "empty", "octets", "twice", "trailing", "leading zero"])
    changes = {
        "nine": lambda d: w.sequence(damage.parse_tree(d)[0].children[0].write(), *[c.write() for c in damage.parse_tree(d)[0].children[1:]], w.null()),
        "seven": lambda d: w.sequence(*[c.write() for c in damage.parse_tree(d)[0].children[:7]]), "empty": lambda d: b"", "octets": lambda d: w.octets(d),
        "twice": lambda d: d + d, "trailing": lambda d: d + b"\0", "leading zero": lambda d: b"\0" + d,
    }
    r.description_hooks.append(changes[kind])
    return kind


# Chain


@table.add("extension twice", "refused", "malformed")
def _(r, rng): r.extension_list = lambda q: [a.extension(EXTENSION, q.description())] * 2


@table.add("extension missing", "refused", "malformed")
def _(r, rng): r.extension_list = lambda q: []


@table.add("extension in an upper certificate too", "refused", "malformed")
def _(r, rng): rng.choice(r.middles).extensions.append(a.extension(EXTENSION, r.description()))


@table.add("extension only above", "refused", "malformed")
def _(r, rng):
    r.middles[0].extensions.append(a.extension(EXTENSION, r.description()))
    r.extension_list = lambda q: []


@table.add("extension critical", "hardware", None)
def _(r, rng): r.critical = True


@table.add("forged leaf under an attested key", "refused", "malformed", 2)
def _(r, rng):
    with_extension = rng.random() < 0.7
    key = a.ec_key(rng)

    def prepend(chain):
        forged = a.Template(a.name("forged"), r.leaf.subject, key, r.key, a.days(-1), a.days(9), 1, extensions=[a.extension(EXTENSION, r.description())] if with_extension else [a.usage(0x80)])
        return [forged.build()] + chain

    r.chain_hooks.append(prepend)


@table.add("untrusted root", "degraded", "untrusted_root", 2)
def _(r, rng):
    r.middles[-1].issuer_key, r.middles[-1].algorithm, r.root_certificate = r.world.false_google_key, "rsa-sha256", r.world.false_google


@table.add("trusted root of the other kind only", "degraded", "untrusted_root")
def _(r, rng): r.roots = [r.world.google_ec if r.root_key is r.world.google_rsa_key else r.world.google_rsa]


@table.add("trusted root appended to a foreign chain", "refused", "malformed")
def _(r, rng):
    r.middles[-1].issuer_key, r.middles[-1].algorithm = r.world.false_google_key, "rsa-sha256"
    r.root_certificate, r.root_omitted = rng.choice([r.world.google_rsa, r.world.google_ec]), False


@table.add("root omitted", "hardware", None)
def _(r, rng): r.root_omitted = True


@table.add("root omitted and signed by another", "degraded", "untrusted_root")
def _(r, rng): r.root_omitted, r.middles[-1].issuer_key, r.middles[-1].algorithm = True, r.world.false_google_key, "rsa-sha256"


@table.add("root copy appended")
def _(r, rng):
    copies = [r.world.google_rsa, r.world.google_rsa_expired] if r.root_key is r.world.google_rsa_key else [r.world.google_ec]
    r.root_omitted = False
    r.chain_hooks.append(lambda c: c + [rng.choice(copies)])


@table.add("chain arranged otherwise", weight=3)
def _(r, rng):
    kinds = {
        "reversed": lambda c: c[::-1], "leaf only": lambda c: c[:1], "empty": lambda c: [], "leaf twice": lambda c: [c[0]] + c, "middle missing": lambda c: c[:1] + c[2:],
        "cut after batch": lambda c: c[:2], "cut before root": lambda c: c[:3], "root 40 times": lambda c: c + [r.root_certificate] * 40, "eleven": lambda c: c + [r.root_certificate] * (11 - len(c)),
        "ten": lambda c: c + [r.root_certificate] * (10 - len(c)), "without leaf": lambda c: c[1:], "swapped": lambda c: [c[0], c[2], c[1]] + c[3:], "empty certificate": lambda c: c + [b""], "root only": lambda c: [r.root_certificate],
    }
    kind = rng.choice(sorted(kinds))
    r.chain_hooks.append(kinds[kind])
    return kind


@table.add("middle expired", "degraded", "certificate_expired", 2)
def _(r, rng): rng.choice(r.middles).not_after = r.moment - timedelta(seconds=rng.choice([1, 3600, 86400 * 40]))


@table.add("middle not yet valid", "degraded", "certificate_expired")
def _(r, rng): rng.choice(r.middles).not_before = r.moment + timedelta(seconds=rng.choice([1, 86400]))


@table.add("exactly at a date of a middle")
def _(r, rng):
    who = rng.choice(r.middles)
    r.moment = rng.choice([who.not_after, who.not_before])


@table.add("clock moved", weight=2)
def _(r, rng):
    days = rng.choice([-4000, -30, -5, 5, 9, 60, 365, 2500, 9000])
    r.moment = a.days(days)
    return f"{days} days"


@table.add("middle dates as GeneralizedTime", "hardware", None)
def _(r, rng): rng.choice(r.middles).generalized = True


@table.add("leaf dates nonsense", "hardware", None)
def _(r, rng): r.leaf.not_before, r.leaf.not_after = rng.choice([(a.days(9), a.days(-9)), (datetime(1950, 1, 1, tzinfo=timezone.utc), datetime(1969, 12, 31, 23, 59, 59, tzinfo=timezone.utc)), (datetime(2105, 1, 1, tzinfo=timezone.utc), datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc))])


@table.add("batch no authority", "hardware", None)
def _(r, rng): r.middles[0].extensions = rng.choice([[a.constraints(False), a.usage(0x80)], [], [a.usage(0x80)]])


@table.add("issuer name differs", "hardware", None)
def _(r, rng): rng.choice([r.leaf] + r.middles).issuer = a.name("Somebody Else")


@table.add("signed by another key", "refused", "malformed", 2)
def _(r, rng):
    who = rng.choice([r.leaf] + r.middles[:-1])
    who.issuer_key = a.ec_key(rng)


@table.add("another hash under the chain", weight=2)
def _(r, rng):
    who = rng.choice([r.leaf] + r.middles)
    family = who.algorithm.split("-")[0]
    who.algorithm = family + "-" + rng.choice(["sha1", "sha224", "sha256", "sha384", "sha512"] if family == "ecdsa" else ["sha1", "sha256", "sha384", "sha512"])
    return who.algorithm


@table.add("ECDSA with NULL parameters", "hardware", None)
def _(r, rng): r.leaf.parameters = w.null()


@table.add("RSA without parameters")
def _(r, rng):
    if r.middles[-1].algorithm.startswith("rsa"):
        r.middles[-1].parameters = b""
        return "RSA"
    return "not RSA"


@table.add("certificate version other", "refused", "malformed")
def _(r, rng): rng.choice([r.leaf, r.middles[-1]]).version = rng.choice([None, 0, 1, 3, -1])


@table.add("outer algorithm differs", "refused", "malformed")
def _(r, rng): rng.choice([r.leaf] + r.middles).outer_algorithm = a.algorithm_identifier("ecdsa-sha512")


@table.add("certificate signature of odd form", weight=2)
def _(r, rng):
    who = rng.choice([r.leaf] + r.middles[:-1])
    kind, hook = odd_signature(rng)
    who.signature.append(hook)
    return kind


@table.add("leaf key of another kind", "hardware", None)
def _(r, rng):
    mldsa = w.sequence(w.sequence(w.oid("2.16.840.1.101.3.4.3.18")), w.bits(rng.randbytes(1952)))
    ed = w.sequence(w.sequence(w.oid("1.3.101.112")), w.bits(rng.randbytes(32)))
    unknown = w.sequence(w.sequence(w.oid("1.2.3.4.5"), w.null()), w.bits(b"x"))
    r.leaf.spki = rng.choice([mldsa, ed, unknown, a.spki(a.ec_key(rng, ec.SECP521R1)), a.spki(r.world.google_rsa_key), a.spki(a.ec_key(rng, ec.SECP256K1))])


@table.add("batch key on another curve of NIST", "hardware", None)
def _(r, rng): r.middles[0].key = r.leaf.issuer_key = a.ec_key(rng, rng.choice([ec.SECP384R1, ec.SECP521R1]))


@table.add("batch key on an unusual curve", "refused", "malformed")
def _(r, rng):
    curve = rng.choice([ec.SECP256K1, ec.SECP224R1, ec.BrainpoolP256R1])
    key = a.ec_key(rng, curve)
    r.middles[0].key = r.leaf.issuer_key = key
    return curve.name


@table.add("batch key RSA", "hardware", None)
def _(r, rng): r.middles[0].key = r.leaf.issuer_key = r.world.false_google_key; r.leaf.algorithm = "rsa-sha256"


@table.add("certificate damaged before it is signed", weight=5)
def _(r, rng):
    who = rng.choice([r.leaf] + r.middles)
    _later(who.before_signing, rng, rng.choice([damage.damage_der, damage.damage_bytes]))
    return "leaf" if who is r.leaf else "middle"


@table.add("certificate damaged afterwards", weight=5)
def _(r, rng):
    who = rng.choice([r.leaf] + r.middles)
    _later(who.afterwards, rng, rng.choice([damage.damage_der, damage.damage_bytes]))
    return "leaf" if who is r.leaf else "middle"


@table.add("root damaged", weight=2)
def _(r, rng):
    state, how = rng.getrandbits(64), rng.choice([damage.damage_der, damage.damage_bytes])
    r.root_omitted = False
    r.chain_hooks.append(lambda c: c[:-1] + [how(c[-1], random.Random(state))[0]])


@table.add("odd base64 in the chain")
def _(r, rng):
    state, at = rng.getrandbits(64), rng.random()
    label = odd_base64(b"\xfb\xff\xbe1", random.Random(state))[1]

    def hook(texts, chain):
        if not chain:
            return texts
        i = int(at * len(chain))
        return texts[:i] + [odd_base64(chain[i], random.Random(state))[0]] + texts[i + 1 :]

    r.text_hooks.append(hook)
    return label


# Status list


@table.add("revoked", "degraded", "revoked_certificate", 3)
def _(r, rng):
    who = rng.choice([r.leaf] + r.middles)
    r.revoked = {format(who.serial, "x"): {"status": rng.choice(["REVOKED", "SUSPENDED"]), "reason": rng.choice(["KEY_COMPROMISE", "SOFTWARE_FLAW", "UNSPECIFIED"])} | rng.choice([{}, {"expires": "2020-01-01"}, {"comment": "x"}])}


@table.add("root revoked")
def _(r, rng): r.revoked = {"5e1f": {"status": "REVOKED"}, "e8fa": {"status": "REVOKED"}, "84a9": {"status": "REVOKED"}}


@table.add("unrelated serials revoked", "hardware", None)
def _(r, rng):
    s = r.middles[0].serial
    r.revoked = {format(s + 2, "x"): {"status": "REVOKED"}, format(s, "x") + "0": {"status": "REVOKED"}, format(s, "x")[:-1] or "f": {"status": "REVOKED"}, "deadbeef": {"status": "SUSPENDED"}}


@table.add("status unknown")
def _(r, rng): r.revoked = {format(rng.choice(r.middles).serial, "x"): {"status": rng.choice(["GOOD", "revoked", "", "EXPIRED"])}}


@table.add("serial spelt otherwise in the list")
def _(r, rng):
    s = rng.choice(r.middles).serial
    kind, key = rng.choice([("upper case", format(s, "X")), ("leading zero", "0" + format(s, "x")), ("decimal", str(s))])
    r.revoked = {key: {"status": "REVOKED"}}
    return kind


@table.add("revoked and unlocked and software", "degraded", "revoked_certificate")
def _(r, rng):
    r.revoked, r.boot["locked"], r.level = {format(r.middles[0].serial, "x"): {"status": "REVOKED"}}, b"\0", 0


@table.add("unlocked and wrong package", "refused", "package_mismatch")
def _(r, rng): r.boot["locked"], r.packages = b"\0", [(b"com.attacker.app", 1)]


@table.add("untrusted, expired and unlocked", "degraded", "untrusted_root")
def _(r, rng):
    r.middles[-1].issuer_key, r.middles[-1].algorithm, r.root_certificate = r.world.false_google_key, "rsa-sha256", r.world.false_google
    r.middles[0].not_after, r.boot["locked"] = r.moment - timedelta(days=1), b"\0"


@table.add("expired and without root of trust", "degraded", "certificate_expired")
def _(r, rng):
    r.middles[0].not_after = r.moment - timedelta(days=1)
    r.hardware.pop(704, None)

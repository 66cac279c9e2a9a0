# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""What breaks a Play Integrity token: a table of named mutations of the recipe in mint_play."""

import base64
import json
import random

import authorities as a
import damage
from mutations import Mutations, b64, b64url

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
table = Mutations()

def _section(r, name):
    if not isinstance(r.payload.get(name), dict):
        r.payload[name] = {}
    return r.payload[name]


def _details(r): return _section(r, "requestDetails")
def _app(r): return _section(r, "appIntegrity")
def _device(r): return _section(r, "deviceIntegrity")


@table.add("nothing", "pass", None)
def _(r, rng): pass


# Binding


@table.add("another nonce", "fail", "nonce_mismatch", 2)
def _(r, rng): _details(r)["nonce"] = rng.choice([b64url(rng.randbytes(32)), r.nonce[:-1], r.nonce + "A", r.nonce.swapcase(), "", base64.b64decode(r.nonce + "=", b"-_").hex()])


@table.add("nonce with padding or the other alphabet", "pass", None)
def _(r, rng): _details(r)["nonce"] = rng.choice([r.nonce + "=", r.nonce.replace("-", "+").replace("_", "/"), r.nonce.replace("-", "+").replace("_", "/") + "="])


@table.add("nonce of odd text")
def _(r, rng):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    kind, value = rng.choice([("spare bits", r.nonce[:-1] + alphabet[alphabet.index(r.nonce[-1]) | 1]), ("space", r.nonce + " "), ("newline", r.nonce + "\n"), ("two pads", r.nonce + "=="), ("pad inside", r.nonce[:8] + "=" + r.nonce[8:]), ("leading pad", "=" + r.nonce)])
    _details(r)["nonce"] = value
    return kind


@table.add("nonce missing or of another type", "fail", None)
def _(r, rng):
    _details(r)["nonce"] = rng.choice([None, 5, [r.nonce], {"nonce": r.nonce}, True])
    if rng.random() < 0.4:
        _details(r).pop("nonce")


@table.add("standard request", "fail", "nonce_mismatch")
def _(r, rng): _details(r)["requestHash"] = _details(r).pop("nonce", "x")


@table.add("request hash beside the nonce", "pass", None)
def _(r, rng): _details(r)["requestHash"] = "abc"


@table.add("another request package", "fail", "package_mismatch")
def _(r, rng): _details(r)["requestPackageName"] = rng.choice(["com.attacker.app", r.package + "x", r.package.swapcase(), ""])


@table.add("request package missing or of another type", "fail", None)
def _(r, rng): _details(r)["requestPackageName"] = rng.choice([None, 1, [r.package]])


@table.add("request details odd", "fail", None)
def _(r, rng): r.payload["requestDetails"] = rng.choice([None, [], "x", {}, 1])


@table.add("too old", "fail", "token_expired")
def _(r, rng): r.set_time(rng.choice([300_001, 301_000, 86_400_000]))


@table.add("too new", "fail", "token_expired")
def _(r, rng): r.set_time(-rng.choice([60_001, 61_000, 600_000]))


@table.add("just in time", "pass", None)
def _(r, rng): r.set_time(rng.choice([299_999, 300_000, -59_999, -60_000]))


@table.add("timestamp of odd form", weight=2)
def _(r, rng):
    now = round(r.moment.timestamp() * 1000)
    kind, value = rng.choice([
        ("float", float(now)), ("float text", f"{now}.0"), ("fraction", now + 0.5), ("plus", f"+{now}"), ("space", f" {now}"), ("leading zero", f"0{now}"), ("exponent", f"{now:e}"),
        ("empty", ""), ("hex", hex(now)), ("null", None), ("list", [now]), ("true", True), ("seconds", now // 1000), ("seconds text", str(now // 1000)), ("zero", 0), ("negative", -now),
        ("negative text", str(-now)), ("huge", str(1 << 63)), ("huge number", 1 << 64), ("enormous", "9" * 40), ("wrapped", str(now + (1 << 64))), ("other digits", "".join(chr(0x660 + int(c)) for c in str(now))), ("words", "now"),
    ])
    _details(r)["timestampMillis"] = value
    return kind


@table.add("timestamp missing", "fail", None)
def _(r, rng): _details(r).pop("timestampMillis", None)


# The verdict table


@table.add("app not recognised", "fail", "app_not_recognised")
def _(r, rng): _app(r)["appRecognitionVerdict"] = "UNRECOGNIZED_VERSION"


@table.add("app not evaluated", "degraded", "app_not_evaluated", 2)
def _(r, rng):
    word = rng.choice(["UNEVALUATED", "SOMETHING_NEW", "", "play_recognized", None, 1, ["PLAY_RECOGNIZED"]])
    if word is None:
        _app(r).pop("appRecognitionVerdict", None)
    else:
        _app(r)["appRecognitionVerdict"] = word


@table.add("app section absent or of another type")
def _(r, rng):
    if rng.random() < 0.5:
        r.payload.pop("appIntegrity", None)
    else:
        r.payload["appIntegrity"] = rng.choice([None, [], "x", {}])


@table.add("app of another package", "fail", "package_mismatch")
def _(r, rng): _app(r)["packageName"] = rng.choice(["com.attacker.app", r.package + "x", None, 1])


@table.add("app of another registered package")
def _(r, rng):
    r.registered.append({"package": "com.example.pair", "sha256": [r.digest.hex()]})
    _app(r)["packageName"] = "com.example.pair"


@table.add("signer other", "fail", "signing_certificate_mismatch", 2)
def _(r, rng): _app(r)["certificateSha256Digest"] = rng.choice([[], [b64url(rng.randbytes(32))], [b64url(r.digest[:31])], None, [None], [1], {}])


@table.add("signer of another package", "fail", "signing_certificate_mismatch")
def _(r, rng): r.registered = [{"package": r.package, "sha256": ["11" * 32]}, {"package": "com.example.pair", "sha256": [r.digest.hex()]}]


@table.add("several signers", "pass", None)
def _(r, rng): _app(r)["certificateSha256Digest"] = [b64url(rng.randbytes(32)), b64url(r.digest)]


@table.add("signer of odd text")
def _(r, rng):
    kind, value = rng.choice([("padded url", [base64.urlsafe_b64encode(r.digest).decode()]), ("standard", [b64(r.digest)]), ("hex", [r.digest.hex()]), ("colons", [":".join(f"{b:02X}" for b in r.digest)]), ("bare text", b64url(r.digest)), ("odd beside good", [5, b64url(r.digest)]), ("newline", [b64url(r.digest) + "\n"])])
    _app(r)["certificateSha256Digest"] = value
    return kind


@table.add("device basic only", "degraded", "device_not_trusted", 2)
def _(r, rng): _device(r)["deviceRecognitionVerdict"] = rng.choice([["MEETS_BASIC_INTEGRITY"], ["MEETS_BASIC_INTEGRITY", "MEETS_FUTURE_INTEGRITY"], ["MEETS_BASIC_INTEGRITY"] * 2])


@table.add("device not trusted", "fail", "device_not_trusted", 2)
def _(r, rng):
    r.payload["deviceIntegrity"] = rng.choice([{}, {"deviceRecognitionVerdict": []}, {"deviceRecognitionVerdict": ["MEETS_FUTURE_INTEGRITY"]}, {"deviceRecognitionVerdict": ["meets_device_integrity"]}, {"deviceRecognitionVerdict": None}])


@table.add("device section absent", "fail", "device_not_trusted")
def _(r, rng): r.payload.pop("deviceIntegrity", None)


@table.add("device section of another type")
def _(r, rng): r.payload["deviceIntegrity"] = rng.choice([None, [], "MEETS_DEVICE_INTEGRITY", {"deviceRecognitionVerdict": "MEETS_DEVICE_INTEGRITY"}, {"deviceRecognitionVerdict": {"MEETS_DEVICE_INTEGRITY": True}}, {"deviceRecognitionVerdict": [["MEETS_DEVICE_INTEGRITY"]]}, {"deviceRecognitionVerdict": [1, "MEETS_DEVICE_INTEGRITY"]}])


@table.add("virtual", "fail", "device_emulator")
def _(r, rng): _device(r)["deviceRecognitionVerdict"] = rng.choice([["MEETS_VIRTUAL_INTEGRITY"], ["MEETS_BASIC_INTEGRITY", "MEETS_VIRTUAL_INTEGRITY"]])


@table.add("virtual and device")
def _(r, rng): _device(r)["deviceRecognitionVerdict"] = ["MEETS_DEVICE_INTEGRITY", "MEETS_VIRTUAL_INTEGRITY"]


@table.add("unlicensed", "fail", "app_unofficial_install")
def _(r, rng): r.payload["accountDetails"] = {"appLicensingVerdict": "UNLICENSED"}


@table.add("licence not evaluated", "degraded", "licence_not_evaluated")
def _(r, rng):
    r.payload["accountDetails"] = rng.choice([{"appLicensingVerdict": "UNEVALUATED"}, {}, {"appLicensingVerdict": "NEW"}, {"appLicensingVerdict": None}])


@table.add("account section absent or of another type")
def _(r, rng):
    r.payload["accountDetails"] = rng.choice([None, [], "LICENSED", {"appLicensingVerdict": ["LICENSED"]}, {"appLicensingVerdict": True}])


@table.add("testing response", "fail", "testing_response")
def _(r, rng): r.payload["testingDetails"] = {"isTestingResponse": True}


@table.add("testing response false or odd")
def _(r, rng): r.payload["testingDetails"] = rng.choice([{}, {"isTestingResponse": False}, {"isTestingResponse": "true"}, {"isTestingResponse": 1}, {"isTestingResponse": None}, None, [], "x"])


@table.add("unknown sections", "pass", None)
def _(r, rng): r.payload |= {"somethingNew": {"x": [1, 2, None, 1.5, -3e9]}, "deviceRecall": {}}


@table.add("everything wrong at once", "fail", None)
def _(r, rng):
    r.payload |= {"deviceIntegrity": {"deviceRecognitionVerdict": ["MEETS_VIRTUAL_INTEGRITY"]}, "accountDetails": {"appLicensingVerdict": "UNLICENSED"}}
    _app(r)["appRecognitionVerdict"] = rng.choice(["UNRECOGNIZED_VERSION", "UNEVALUATED"])


# Payload and headers as text


@table.add("payload oddity", weight=6)
def _(r, rng):
    state = rng.getrandbits(64)
    r.payload_hooks.append(lambda t: damage.damage_json(t, random.Random(state))[0])
    return damage.damage_json('{"a":1}', random.Random(state))[1].split(" 1")[0]


@table.add("a name twice in a section", "fail", "malformed")
def _(r, rng):
    before, after = rng.choice([('"appLicensingVerdict":', '"appLicensingVerdict":"UNLICENSED","appLicensingVerdict":'), ('"nonce":', '"nonce":"x","nonce":'), ('"deviceIntegrity":', '"deviceIntegrity":{},"deviceIntegrity":')])
    r.payload_hooks.append(lambda t: t.replace(before, after, 1))


@table.add("payload in another encoding", "fail", None)
def _(r, rng):
    encoding = rng.choice(["utf-16", "utf-16-le", "latin-1", "utf-8-sig"])
    r.payload_hooks.append(lambda t: (t[:-1] + ',"x":"\u00e9"}').encode(encoding))
    return encoding


@table.add("payload of another kind", "fail", "malformed")
def _(r, rng): r.payload_hooks.append(lambda t, v=rng.choice(["", "null", "[]", '"x"', "1", "true", "[" * 5000]): v)


@table.add("outer header oddity", weight=4)
def _(r, rng):
    state = rng.getrandbits(64)
    r.outer_hooks.append(lambda t: damage.damage_json(t, random.Random(state))[0])
    return damage.damage_json('{"a":1}', random.Random(state))[1]


@table.add("outer header with other words", "fail", "malformed", 2)
def _(r, rng):
    r.outer |= rng.choice([{"alg": "dir"}, {"alg": "RSA1_5"}, {"alg": "A128KW"}, {"alg": "a256kw"}, {"alg": ["A256KW"]}, {"enc": "A128GCM"}, {"enc": "A256CBC-HS512"}, {"enc": None}, {"zip": "DEF"}, {"crit": ["x"]}, {"crit": []}, {"zip": None}])
    if rng.random() < 0.2:
        r.outer.pop(rng.choice(["alg", "enc"]), None)


@table.add("outer header with more words", "pass", None)
def _(r, rng): r.outer |= rng.choice([{"kid": "x"}, {"typ": "JWT"}, {"cty": "JWS"}, {"x": {"y": [1]}}, {"epk": {}}])


@table.add("inner header oddity", weight=4)
def _(r, rng):
    state = rng.getrandbits(64)
    r.inner_hooks.append(lambda t: damage.damage_json(t, random.Random(state))[0])
    return damage.damage_json('{"a":1}', random.Random(state))[1]


@table.add("inner header with other words", "fail", None, 2)
def _(r, rng): r.inner |= rng.choice([{"alg": "none"}, {"alg": "None"}, {"alg": "HS256"}, {"alg": "ES384"}, {"alg": "ES256K"}, {"alg": "RS256"}, {"alg": "es256"}, {"alg": None}, {"alg": ["ES256"]}, {"crit": ["b64"]}, {"crit": []}])


@table.add("inner header with more words", "pass", None)
def _(r, rng): r.inner |= rng.choice([{"typ": "JWT"}, {"jwk": {"kty": "EC"}}, {"x5u": "https://attacker.example"}, {"jku": "https://attacker.example"}, {"kid": "../../key"}])


# Keys, signature, parts


@table.add("another decryption key", "fail", "decryption_failed")
def _(r, rng): r.given_key = rng.randbytes(32)


@table.add("another verification key", "fail", "bad_signature")
def _(r, rng): r.given_verification = a.spki(a.ec_key(rng))


@table.add("signed by another key", "fail", "bad_signature")
def _(r, rng): r.key = a.ec_key(rng)


@table.add("signature of odd form", "fail", "bad_signature", 3)
def _(r, rng):
    n = P256_ORDER.to_bytes(32, "big")
    kinds = {
        "zero": lambda s: bytes(64), "zero r": lambda s: bytes(32) + s[32:], "zero s": lambda s: s[:32] + bytes(32), "r is n": lambda s: n + s[32:], "s is n": lambda s: s[:32] + n,
        "swapped": lambda s: s[32:] + s[:32], "bit": lambda s: s[:-1] + bytes([s[-1] ^ 1]), "ones": lambda s: b"\xff" * 64, "first bit": lambda s: bytes([s[0] ^ 128]) + s[1:],
    }
    kind = rng.choice(sorted(kinds))
    r.signature_hooks.append(kinds[kind])
    return kind


@table.add("signature of another length", "fail", "malformed", 2)
def _(r, rng):
    kinds = {
        "63": lambda s: s[:63], "65": lambda s: s + b"\0", "empty": lambda s: b"", "96": lambda s: bytes(16) + s[:32] + bytes(16) + s[32:],
        "DER": lambda s: a.w.sequence(a.w.integer(int.from_bytes(s[:32], "big")), a.w.integer(int.from_bytes(s[32:], "big"))), "66": lambda s: b"\0" + s[:32] + b"\0" + s[32:],
    }
    kind = rng.choice(sorted(kinds))
    r.signature_hooks.append(kinds[kind])
    return kind


@table.add("signature with s negated", "pass", None)
def _(r, rng): r.signature_hooks.append(lambda s: s[:32] + (P256_ORDER - int.from_bytes(s[32:], "big")).to_bytes(32, "big"))


@table.add("inner token arranged otherwise", "fail", "malformed", 2)
def _(r, rng):
    kinds = {
        "two parts": lambda t: t.rsplit(".", 1)[0], "four parts": lambda t: t + ".x", "empty": lambda t: "", "bare payload": lambda t: base64.urlsafe_b64decode(t.split(".")[1] + "==").decode(),
        "padding": lambda t: t + "==", "space": lambda t: t + " ", "newline": lambda t: t + "\n", "leading": lambda t: " " + t, "empty signature": lambda t: t.rsplit(".", 1)[0] + ".",
        "flattened JSON": lambda t: json.dumps(dict(zip(["protected", "payload", "signature"], t.split(".")))), "nul": lambda t: t + "\0", "not ASCII": lambda t: t + "\u00e9",
    }
    kind = rng.choice(sorted(kinds))
    r.inner_token_hooks.append(kinds[kind])
    return kind


@table.add("inner signature with spare bits")
def _(r, rng):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    r.inner_token_hooks.append(lambda t: t[:-1] + alphabet[alphabet.index(t[-1]) | 1])


@table.add("payload changed after signing", "fail", None)
def _(r, rng): r.inner_token_hooks.append(lambda t, at=rng.random(): (lambda i: t[:i] + ("A" if t[i] != "A" else "B") + t[i + 1 :])(t.index(".") + 1 + int(at * 100)))


@table.add("part bytes changed", "fail", None, 4)
def _(r, rng):
    index, at, bit = rng.randrange(1, 5), rng.random(), rng.randrange(8)

    def hook(parts):
        data = bytearray(base64.urlsafe_b64decode(parts[index] + "=="))
        data[int(at * len(data))] ^= 1 << bit
        return parts[:index] + [b64url(bytes(data))] + parts[index + 1 :]

    r.part_hooks.append(hook)
    return ["", "key", "iv", "ciphertext", "tag"][index]


@table.add("part of another length", "fail", None, 3)
def _(r, rng):
    index, how = rng.randrange(1, 5), rng.choice([lambda d: d[:-1], lambda d: d + b"\0", lambda d: d[:4], lambda d: b"", lambda d: d[:11], lambda d: d + d])
    r.part_hooks.append(lambda p: p[:index] + [b64url(how(base64.urlsafe_b64decode(p[index] + "==")))] + p[index + 1 :])
    return ["", "key", "iv", "ciphertext", "tag"][index]


@table.add("part of odd text")
def _(r, rng):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    index = rng.randrange(1, 5)
    kinds = {"padding": lambda t: t + "=" * (-len(t) % 4), "spare bits": lambda t: t[:-1] + alphabet[alphabet.index(t[-1]) | 1], "standard": lambda t: t.replace("-", "+").replace("_", "/"), "newline": lambda t: t + "\n", "space": lambda t: " " + t, "percent": lambda t: t + "%3D", "nul": lambda t: t + "\0"}
    kind = rng.choice(sorted(kinds))
    r.part_hooks.append(lambda p: p[:index] + [kinds[kind](p[index])] + p[index + 1 :])
    return kind


@table.add("parts arranged otherwise", "fail", None, 2)
def _(r, rng):
    kinds = {
        "four": lambda p: p[:4], "six": lambda p: p + [""], "swapped": lambda p: p[:2] + [p[3], p[2], p[4]], "reversed": lambda p: p[::-1], "empty key": lambda p: [p[0], "", *p[2:]],
        "header of another case": lambda p: [b64url(b'{"enc":"A256GCM","alg":"A256KW"}'), *p[1:]], "header spaced": lambda p: [b64url(b'{"alg":"A256KW", "enc":"A256GCM"}'), *p[1:]],
    }
    kind = rng.choice(sorted(kinds))
    r.part_hooks.append(kinds[kind])
    return kind


@table.add("content key of another length", "fail", None)
def _(r, rng): r.content_size = rng.choice([16, 24])


@table.add("token of odd form", "fail", None, 2)
def _(r, rng):
    kinds = {
        "empty": lambda t: "", "truncated": lambda t: t[: len(t) // 2], "trailing dot": lambda t: t + ".", "leading space": lambda t: " " + t, "newline": lambda t: t + "\n", "quoted": lambda t: f'"{t}"',
        "bearer": lambda t: "Bearer " + t, "dots": lambda t: "....", "not ASCII": lambda t: t[:-1] + "\u00e9", "huge": lambda t: t + "A" * 17000, "commas": lambda t: t.replace(".", ","),
    }
    kind = rng.choice(sorted(kinds))
    r.token_hooks.append(kinds[kind])
    return kind


@table.add("padded to the size limit")
def _(r, rng):
    target = rng.choice([8000, 12000, 16000, 16384, 16500, 40000])
    r.payload["pad"] = "x" * int(target * 9 / 16 - 900)
    return str(target)


@table.add("token byte changed", weight=4)
def _(r, rng):
    at, c = rng.random(), rng.choice("AZaz09-_.=+/ ")
    r.token_hooks.append(lambda t: (lambda i: t[:i] + c + t[i + 1 :])(int(at * len(t))))

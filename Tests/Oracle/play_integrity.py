# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Play Integrity classic tokens, opened locally (attestation-facts 3, requirements APP-028 to APP-037)."""

import json
import re

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, keywrap, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import basetext
from judgement import Findings, Judgement, Malformed

MAXIMUM_TOKEN = 16 * 1024
MAXIMUM_AHEAD_MILLIS = 60_000
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
FAIL, DEGRADED = "fail", "degraded"
ANY = ("pass", "degraded", "fail")


class _Refused(Exception):
    def __init__(self, reason, *also):
        super().__init__(reason)
        self.reason, self.also = reason, also


def judge(vector, _roots, moment):
    """Opens, checks the binding, and maps the verdict."""
    findings = Findings()
    try:
        payload = _opened(vector["input"], findings)
        _judge_binding(vector, payload, moment, findings)
    except _Refused as refusal:
        findings.refuse(refusal.reason)
        if refusal.also:
            findings.doubt("which word " + refusal.reason + " gets", (), refusal.also)
    if findings.refusals:
        return Judgement(FAIL, findings.refusals[0], findings.refusals[:1], findings.doubts, findings.refusals)
    return _mapped(vector, payload, findings)


# Opening


def _parts(text, count):
    parts = text.split(".")
    if len(parts) != count:
        raise _Refused("malformed")
    try:
        return parts, [basetext.decode_url_unpadded(p) for p in parts]
    except Malformed:
        raise _Refused("malformed") from None


def _unique(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name twice")
    return result


def _no_constant(word):
    raise ValueError(word)


def _object(data, findings):
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _Refused("malformed") from None
    if not isinstance(value, dict) or _has_lone_surrogate(value):
        raise _Refused("malformed")
    if _depth(value) > 8:
        findings.doubt("JSON deeper than 8", ANY, ("malformed", None))
    return value


def _has_lone_surrogate(value):
    """RFC 8259 8.2: such text has no meaning that two readers share."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (UnicodeEncodeError, RecursionError):
        return True
    return False


def _depth(value):
    deepest, layer = 0, [value]
    while layer:
        deepest += 1
        layer = [c for v in layer for c in (v.values() if isinstance(v, dict) else v) if isinstance(c, (dict, list))]
    return deepest


def _opened(inputs, findings):
    token = inputs["token"]
    if len(token.encode()) > MAXIMUM_TOKEN:
        raise _Refused("malformed")
    texts, (header, wrapped, iv, ciphertext, tag) = _token_parts(token, findings)
    fields = _object(header, findings)
    if fields.get("alg") != "A256KW" or fields.get("enc") != "A256GCM" or "zip" in fields or "crit" in fields:
        raise _Refused("malformed")
    if len(wrapped) != 40 or len(iv) != 12 or len(tag) != 16:
        raise _Refused("malformed")
    key = basetext.decode(inputs["decryption_key"])
    try:
        content_key = keywrap.aes_key_unwrap(key, wrapped)
        plaintext = AESGCM(content_key).decrypt(iv, ciphertext + tag, texts[0].encode())
    except (keywrap.InvalidUnwrap, InvalidTag, ValueError):
        raise _Refused("decryption_failed") from None
    return _signed_payload(plaintext, inputs["verification_key"], findings)


def _token_parts(token, findings):
    try:
        return _parts(token, 5)
    except _Refused:
        body = token.replace("=", "")
        if body != token and re.fullmatch(r"[A-Za-z0-9_.=-]*", token) and body.count(".") == 4:
            findings.doubt("padding in a part of the token", ANY)
        raise


def _signed_payload(plaintext, verification_key, findings):
    try:
        text = plaintext.decode("ascii")
    except UnicodeDecodeError:
        raise _Refused("malformed") from None
    texts, (header, payload, signature) = _parts(text, 3)
    fields = _object(header, findings)
    if fields.get("alg") != "ES256" or "crit" in fields:
        raise _Refused("malformed", "bad_signature")
    if len(signature) != 64:
        raise _Refused("malformed", "bad_signature")
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if not (0 < r < P256_ORDER and 0 < s < P256_ORDER):
        raise _Refused("bad_signature", "malformed")
    key = serialization.load_der_public_key(basetext.decode(verification_key))
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        raise _Refused("bad_signature")
    try:
        key.verify(encode_dss_signature(r, s), f"{texts[0]}.{texts[1]}".encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise _Refused("bad_signature") from None
    return _object(payload, findings)


# Binding


def _normal_nonce(text):
    return text.rstrip("=").replace("+", "-").replace("/", "_")


def _judge_binding(vector, payload, moment, findings):
    details = payload.get("requestDetails")
    if not isinstance(details, dict):
        raise _Refused("malformed", "nonce_mismatch", "package_mismatch")
    nonce = details.get("nonce")
    if not isinstance(nonce, str):
        findings.refuse("nonce_mismatch")
        findings.doubt("which word a missing nonce gets", (), ("malformed",))
    elif _normal_nonce(nonce) != _normal_nonce(vector["expected_nonce"]):
        findings.refuse("nonce_mismatch")
        _doubt_nonce(nonce, vector["expected_nonce"], findings)
    elif "=" in nonce and len(nonce) % 4:
        findings.doubt("a nonce with padding that cannot be", ANY, ("nonce_mismatch",))
    packages = [a["package"] for a in vector["registered_apps"]]
    if details.get("requestPackageName") not in packages:
        findings.refuse("package_mismatch")
        if not isinstance(details.get("requestPackageName"), str):
            findings.doubt("which word a missing package name gets", (), ("malformed",))
    _judge_age(vector, details.get("timestampMillis"), moment, findings)


def _doubt_nonce(nonce, expected, findings):
    """Other characters, same bytes: compared by text they differ, compared by decoded bytes they do not."""
    body, wanted = _normal_nonce(nonce), _normal_nonce(expected)
    if len(body) == len(wanted) and body[:-1] == wanted[:-1] and re.fullmatch(r"[A-Za-z0-9_-]+", body):
        spare = (1 << (len(body) * 6 % 8)) - 1
        value = lambda c: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(c)
        if value(body[-1]) | spare == value(wanted[-1]) | spare:
            findings.doubt("a nonce of other text and the same bytes", ANY, (None,))


def _judge_age(vector, stamp, moment, findings):
    number = None
    if isinstance(stamp, int) and not isinstance(stamp, bool):
        number = stamp
    elif isinstance(stamp, str) and re.fullmatch(r"[0-9]{1,19}", stamp):
        number = int(stamp)
    if number is None:
        findings.refuse("malformed")
        findings.doubt("which word an unreadable timestamp gets", (), ("token_expired",))
        if isinstance(stamp, float) or isinstance(stamp, str) and re.fullmatch(r"[+-]?[0-9.eE]+", stamp):
            findings.doubt("a timestamp in another notation of a number", ANY, (None, "token_expired"))
        return
    age = round(moment.timestamp() * 1000) - number
    if age > vector["max_age_seconds"] * 1000 or age < -MAXIMUM_AHEAD_MILLIS:
        findings.refuse("token_expired")
        if number < 0 or number >= 1 << 62:
            findings.doubt("a timestamp outside all sense", (), ("malformed",))


# The verdict table


def _mapped(vector, payload, findings):
    found = []
    application = _section(payload, "appIntegrity", findings)
    _map_application(vector, application, found, findings)
    named = application.get("packageName")
    if application.get("appRecognitionVerdict") == "PLAY_RECOGNIZED" and named != payload["requestDetails"]["requestPackageName"]:
        findings.doubt("two registered packages in one token", ANY, ("package_mismatch",))
    _map_device(_section(payload, "deviceIntegrity", findings), found, findings)
    _map_licence(_section(payload, "accountDetails", findings), found)
    testing = _section(payload, "testingDetails", findings).get("isTestingResponse")
    if testing is True:
        found.append((FAIL, "testing_response"))
    elif "isTestingResponse" in _section(payload, "testingDetails", findings) and testing is not False:
        findings.doubt("isTestingResponse that is no boolean", ANY, (None, "testing_response", "malformed"))
    reasons = [reason for _, reason in found]
    fails = [reason for verdict, reason in found if verdict == FAIL]
    if fails:
        return Judgement(FAIL, fails[0], reasons, findings.doubts, fails)
    if reasons:
        return Judgement(DEGRADED, reasons[0], reasons, findings.doubts, reasons)
    return Judgement("pass", None, [], findings.doubts)


def _section(payload, name, findings):
    value = payload.get(name)
    if isinstance(value, dict):
        return value
    if value is not None:
        findings.doubt(f"{name} that is no object", (FAIL, DEGRADED), ("malformed",))
    return {}


def _map_application(vector, section, found, findings):
    word = section.get("appRecognitionVerdict")
    if word == "UNRECOGNIZED_VERSION":
        found.append((FAIL, "app_not_recognised"))
    elif word == "PLAY_RECOGNIZED":
        registered = [a for a in vector["registered_apps"] if a["package"] == section.get("packageName")]
        if not registered:
            found.append((FAIL, "package_mismatch"))
            return
        _map_signer(registered, section.get("certificateSha256Digest"), found, findings)
    else:
        found.append((DEGRADED, "app_not_evaluated"))


def _map_signer(registered, digests, found, findings):
    known = {digest.replace(":", "").lower() for app in registered for digest in app["sha256"]}
    listed = digests if isinstance(digests, list) else []
    for text in listed:
        try:
            if basetext.decode_url_unpadded(text).hex() in known:
                return
        except Malformed:
            pass
        try:
            if basetext.decode(text).hex() in known:
                findings.doubt("a digest in another base64 than url without padding", ANY, (None,))
        except Malformed:
            if basetext.oddities(text):
                findings.doubt("a digest in odd base64", ANY, (None,))
    found.append((FAIL, "signing_certificate_mismatch"))


def _map_device(section, found, findings):
    words = section.get("deviceRecognitionVerdict")
    if words is not None and not (isinstance(words, list) and all(isinstance(w, str) for w in words)):
        findings.doubt("deviceRecognitionVerdict that is no list of words", ANY, ("malformed", None))
    words = words if isinstance(words, list) else []
    strong = "MEETS_DEVICE_INTEGRITY" in words or "MEETS_STRONG_INTEGRITY" in words
    if "MEETS_VIRTUAL_INTEGRITY" in words:
        found.append((FAIL, "device_emulator"))
        if strong:
            findings.doubt("virtual and device integrity in one token", ANY, (None,))
    elif not strong:
        basic = "MEETS_BASIC_INTEGRITY" in words
        found.append((DEGRADED if basic else FAIL, "device_not_trusted"))


def _map_licence(section, found):
    word = section.get("appLicensingVerdict")
    if word == "UNLICENSED":
        found.append((FAIL, "app_unofficial_install"))
    elif word != "LICENSED":
        found.append((DEGRADED, "licence_not_evaluated"))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""App Attest: attestation objects and assertions (attestation-facts 1.1 to 1.3)."""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import basetext
import der
import strictcbor
import x509lite
from judgement import Findings, Judgement, Malformed

NONCE = "1.2.840.113635.100.8.2"
AAGUIDS = {b"appattest" + bytes(7): "production", b"appattestdevelop": "development"}
MAXIMUM_INPUT = 64 * 1024
P256_SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
# basicConstraints, keyUsage, extKeyUsage, subjectAltName, authorityKeyIdentifier, subjectKeyIdentifier, policies.
UNDERSTOOD = {f"2.5.29.{n}" for n in (14, 15, 17, 19, 32, 35, 37)} | {NONCE}
EITHER = ("refused", "accepted")


def sha256(data):
    return hashlib.sha256(data).digest()


def _outcome(findings, facts):
    refused = bool(findings.refusals)
    reason = findings.refusals[0] if refused else None
    return Judgement(
        "refused" if refused else "accepted", reason, list(findings.refusals[:1]), findings.doubts,
        findings.refusals, facts,
    )


def _decoded(text, findings):
    """The bytes of the client's text; None (and a refusal) when it is no base64."""
    try:
        data = basetext.decode(text)
    except Malformed:
        findings.refuse("malformed")
        oddity = basetext.oddities(text)
        if oddity:
            findings.doubt(oddity, EITHER)
        return None
    if len(data) > MAXIMUM_INPUT:
        findings.refuse("malformed")
        return None
    return data


def _identity(vector, rp_id_hash):
    for app in vector["registered_apps"]:
        if sha256(f"{app['team_id']}.{app['bundle_id']}".encode()) == rp_id_hash:
            return app
    return None


def _extension_map(data, findings):
    """The one CBOR map that iOS 27 appends; {} when there is none."""
    if not data:
        return {}
    if len(data) > 1024:
        findings.doubt("an extension map over 1 KiB", EITHER, ("malformed",))
    value = strictcbor.read(data, findings)
    if not isinstance(value, dict):
        raise Malformed("what follows is not a map")
    if any(not isinstance(key, str) for key in value):
        findings.doubt("extension map with keys that are not text", EITHER, ("malformed",))
    version = value.get("apple_bundle_version_01", "")
    category = value.get("apple_validation_category_01", bytes(4))
    if not isinstance(version, str) or not isinstance(category, bytes) or len(category) != 4:
        findings.doubt("extension map values of another type or length than Apple's", EITHER, ("malformed",))
    return value


# Attestation


def judge_attestation(vector, roots, moment):
    """Judges one attestation object against the vector's facts."""
    findings, facts = Findings(), {}
    key_id = _decoded(vector["input"]["key_id"], findings)
    data = _decoded(vector["input"]["attestation"], findings)
    if data is None:
        return _outcome(findings, facts)
    try:
        chain, auth_data = _statement(data, findings)
    except Malformed:
        findings.refuse("malformed")
        return _outcome(findings, facts)
    leaf = _judge_chain(chain, roots, moment, findings)
    parsed = _judge_authenticator_data(auth_data, findings)
    if leaf is not None:
        _judge_nonce(leaf, sha256(auth_data + _hash(vector)), findings)
    if leaf is not None and parsed is not None:
        _judge_key(leaf, parsed, key_id, findings)
    if parsed is not None:
        _judge_identity(vector, parsed, findings, facts)
        facts["extensions"] = parsed["extensions"]
    if leaf is not None:
        facts["public_key"] = leaf.spki[26:]
    return _outcome(findings, facts)


def _hash(vector):
    return basetext.decode(vector["input"]["client_data_hash"])


def _statement(data, findings):
    value = strictcbor.read(data, findings)
    if not isinstance(value, dict) or set(value) != {"fmt", "attStmt", "authData"}:
        raise Malformed("not an attestation object")
    statement, auth_data = value["attStmt"], value["authData"]
    if value["fmt"] != "apple-appattest" or not isinstance(statement, dict) or not isinstance(auth_data, bytes):
        raise Malformed("not an App Attest object")
    chain = statement.get("x5c")
    if not isinstance(chain, list) or len(chain) != 2 or any(not isinstance(c, bytes) for c in chain):
        raise Malformed("x5c")
    if set(statement) != {"x5c", "receipt"} or not isinstance(statement["receipt"], bytes):
        # The receipt is not needed to accept, yet the documents draw the statement with exactly these two.
        findings.doubt("attStmt with other members than x5c and a receipt of bytes", EITHER, ("malformed",))
    return chain, auth_data


def _judge_chain(chain, roots, moment, findings):
    try:
        leaf, intermediate = (x509lite.parse(c) for c in chain)
        is_authority = intermediate.is_authority()
    except Malformed:
        findings.refuse("malformed")
        findings.doubt("a certificate of x5c that cannot be read", (), ("untrusted_root",))
        return None
    if any(len(c) > x509lite.LARGE for c in chain):
        findings.doubt("a certificate past 12 KiB", EITHER, ("malformed",))
    anchor = next((r for r in roots if x509lite.signed_by(intermediate, r.spki)), None)
    linked = x509lite.signed_by(leaf, intermediate.spki) and leaf.issuer == intermediate.subject
    if anchor is None or intermediate.issuer != anchor.subject or not is_authority or not linked:
        findings.refuse("untrusted_root")
        findings.doubt("which word a broken x5c gets", (), ("malformed",))
    elif any(critical and name not in UNDERSTOOD for c in (leaf, intermediate) for name, critical, _ in c.extensions):
        # RFC 5280 4.2: a critical extension that is not understood refuses the certificate.
        findings.refuse("untrusted_root")
        findings.doubt("which word a broken x5c gets", (), ("malformed",))
    try:
        for certificate in [leaf, intermediate] + ([anchor] if anchor else []):
            if not certificate.valid_at(moment):
                findings.refuse("certificate_expired")
            if moment in certificate.dates():
                findings.doubt("exactly at the end of a certificate's dates", EITHER, ("certificate_expired",))
    except Malformed:
        findings.refuse("malformed")
        findings.doubt("a certificate date that cannot be read", (), ("certificate_expired", "untrusted_root"))
    return leaf


def _judge_authenticator_data(data, findings):
    try:
        if len(data) < 164:
            raise Malformed("authData too short")
        flags, counter = data[32], int.from_bytes(data[33:37], "big")
        if not flags & 0x40:
            raise Malformed("no attested credential data")
        if int.from_bytes(data[53:55], "big") != 32:
            raise Malformed("credential id length")
        key = strictcbor.read(data[87:164])
        if not isinstance(key, dict) or set(key) != {1, 3, -1, -2, -3} or key[1] != 2 or key[3] != -7 or key[-1] != 1:
            raise Malformed("COSE key")
        if any(not isinstance(key[n], bytes) or len(key[n]) != 32 for n in (-2, -3)):
            raise Malformed("COSE key coordinates")
        if list(key) != [1, 3, -1, -2, -3]:
            findings.doubt("COSE key in another order", EITHER, ("malformed",))
        extensions = _extension_map(data[164:], findings)
    except Malformed:
        findings.refuse("malformed")
        return None
    if flags & ~0xC0:
        findings.doubt("flags beside AT and ED", EITHER, ("malformed",))
    if flags & 0x80 and len(data) == 164:
        findings.doubt("ED set and no extensions", EITHER, ("malformed",))
    return {
        "rp_id_hash": data[:32], "counter": counter, "aaguid": data[37:53], "credential_id": data[55:87],
        "point": b"\x04" + key[-2] + key[-3], "extensions": extensions,
    }


def _judge_nonce(leaf, nonce, findings):
    values = leaf.values(NONCE)
    try:
        if len(values) != 1:
            raise Malformed("nonce extension")
        wrapped = der.read_one(values[0], der.SEQUENCE).children()
        if len(wrapped) != 1 or (wrapped[0].tag_class, wrapped[0].number, wrapped[0].constructed) != (der.CONTEXT, 1, True):
            raise Malformed("nonce extension")
        octets = der.read_one(wrapped[0].content, der.OCTET_STRING).content
        if len(octets) != 32:
            raise Malformed("nonce length")
    except Malformed:
        findings.refuse("malformed")
        findings.doubt("a nonce extension of another form", (), ("nonce_mismatch",))
        return
    if octets != nonce:
        findings.refuse("nonce_mismatch")


def _judge_key(leaf, parsed, key_id, findings):
    if len(leaf.spki) != 91 or not leaf.spki.startswith(P256_SPKI) or leaf.spki[26] != 4:
        findings.refuse("malformed")
        return
    point = leaf.spki[26:]
    try:
        serialization.load_der_public_key(leaf.spki)
    except ValueError:
        findings.refuse("malformed")
        return
    digest = sha256(point)
    if key_id != digest or parsed["credential_id"] != digest or parsed["point"] != point:
        findings.refuse("key_mismatch")


def _judge_identity(vector, parsed, findings, facts):
    if parsed["counter"] != 0:
        findings.refuse("malformed")
        findings.doubt("which word a counter in an attestation gets", (), ("counter_not_increasing",))
    app = _identity(vector, parsed["rp_id_hash"])
    if app is None:
        findings.refuse("app_not_registered")
    environment = AAGUIDS.get(parsed["aaguid"])
    if environment is None:
        findings.refuse("malformed")
        findings.doubt("which word an unknown AAGUID gets", (), ("development_not_allowed",))
    elif environment == "development" and not vector["policy"]["allow_development"]:
        findings.refuse("development_not_allowed")
    facts.update(app=app, environment=environment, counter=0)


# Assertion


def judge_assertion(vector):
    """Judges one assertion against the stored key and counter."""
    findings, facts = Findings(), {}
    data = _decoded(vector["input"]["assertion"], findings)
    if data is None:
        return _outcome(findings, facts)
    try:
        value = strictcbor.read(data, findings)
        if not isinstance(value, dict) or set(value) != {"signature", "authenticatorData"}:
            raise Malformed("not an assertion")
        signature, auth_data = value["signature"], value["authenticatorData"]
        if not isinstance(signature, bytes) or not isinstance(auth_data, bytes) or len(auth_data) < 37:
            raise Malformed("not an assertion")
    except Malformed:
        findings.refuse("malformed")
        return _outcome(findings, facts)
    try:
        facts["extensions"] = _extension_map(auth_data[37:], findings)
    except Malformed:
        findings.refuse("malformed")
    _judge_signature(vector, signature, auth_data, findings)
    app = _identity(vector, auth_data[:32])
    if app is None:
        findings.refuse("app_not_registered")
    counter = int.from_bytes(auth_data[33:37], "big")
    if counter <= vector["input"]["previous_counter"]:
        findings.refuse("counter_not_increasing")
    facts.update(app=app, counter=counter)
    return _outcome(findings, facts)


def _judge_signature(vector, signature, auth_data, findings):
    nonce = sha256(auth_data + _hash(vector))
    if x509lite.strict_ecdsa(signature) is None:
        findings.refuse("bad_signature")
        findings.doubt("which word a signature that is no DER gets", (), ("malformed", "nonce_mismatch"))
        return
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), basetext.decode(vector["input"]["public_key"]))
        key.verify(signature, nonce, ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        findings.refuse("bad_signature")
        # On an assertion a wrong binding and a wrong signature look the same (OFF-038).
        findings.doubt("which word a wrong signature gets", (), ("nonce_mismatch",))

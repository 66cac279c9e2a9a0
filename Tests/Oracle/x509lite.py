# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""X.509 certificates read with the DER cursor; only the signature primitives come from a library."""

from dataclasses import dataclass
from datetime import datetime, timezone

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

import der
from judgement import Malformed

MAXIMUM_RSA_BITS = 8192
# Real certificates stay under 2 KiB. The documents ask for bounds without a number for this one.
LARGE = 12 * 1024
ECDSA = {"1.2.840.10045.4.3.2": hashes.SHA256, "1.2.840.10045.4.3.3": hashes.SHA384, "1.2.840.10045.4.3.4": hashes.SHA512}
RSA = {"1.2.840.113549.1.1.11": hashes.SHA256, "1.2.840.113549.1.1.12": hashes.SHA384, "1.2.840.113549.1.1.13": hashes.SHA512}
CURVES = ("secp256r1", "secp384r1", "secp521r1")
BASIC_CONSTRAINTS, KEY_USAGE = "2.5.29.19", "2.5.29.15"


@dataclass
class Certificate:
    """The fields that a verifier needs, each as its own bytes."""

    raw: bytes
    signed: bytes
    serial: int
    algorithm: str
    issuer: bytes
    subject: bytes
    not_before: der.Element
    not_after: der.Element
    spki: bytes
    extensions: list
    signature: bytes

    def values(self, oid):
        """The value of every extension of this name."""
        return [value for name, _, value in self.extensions if name == oid]

    def serial_key(self):
        """The serial as Google's status list spells it."""
        return format(self.serial, "x")

    def valid_at(self, moment):
        """Whether the moment is inside both dates, the ends included (RFC 5280 4.1.2.5)."""
        return read_time(self.not_before) <= moment <= read_time(self.not_after)

    def dates(self):
        return read_time(self.not_before), read_time(self.not_after)

    def is_authority(self):
        """basicConstraints says CA, and keyUsage, if there, lets it sign certificates."""
        values = self.values(BASIC_CONSTRAINTS)
        if len(values) != 1:
            return False
        fields = der.Sequence(der.read_one(values[0], der.SEQUENCE))
        first = fields.peek()
        if first is None or not first.is_universal(der.BOOLEAN) or fields.next().content != b"\xff":
            return False
        if fields.peek() is not None and der.integer(fields.next(der.INTEGER)) < 0:
            return False
        fields.finish()
        usage = self.values(KEY_USAGE)
        if not usage:
            return True
        bits = der.read_one(usage[0], der.BIT_STRING).content
        return len(bits) > 1 and bool(bits[1] & 4)


def read_time(element):
    """UTCTime or GeneralizedTime, to the second, Zulu only (RFC 5280 4.1.2.5)."""
    text = element.content.decode("ascii", "replace")
    try:
        if element.number == der.UTC_TIME and len(text) == 13 and text[-1] == "Z" and text[:-1].isdigit():
            century = "19" if int(text[:2]) >= 50 else "20"
            return datetime.strptime(century + text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc)
        if element.number == der.GENERALIZED_TIME and len(text) == 15 and text[-1] == "Z" and text[:-1].isdigit():
            return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        pass
    raise Malformed("certificate date")


def _time(element):
    """An element that is a Time by its tag; what it says is read only where it counts."""
    if not element.is_universal(der.UTC_TIME) and not element.is_universal(der.GENERALIZED_TIME):
        raise Malformed("certificate date")
    return element


def _algorithm(element):
    fields = der.Sequence(element)
    name = der.oid(fields.next(der.OID))
    parameters = fields.peek()
    if parameters is not None:
        fields.next()
    fields.finish()
    return name, parameters


def _extensions(element):
    result = []
    for extension in der.read_one(element.content, der.SEQUENCE).children():
        if not extension.is_universal(der.SEQUENCE):
            raise Malformed("extension")
        fields = der.Sequence(extension)
        name = der.oid(fields.next(der.OID))
        critical = False
        following = fields.peek()
        if following is not None and following.is_universal(der.BOOLEAN):
            flag = fields.next().content
            if len(flag) != 1:
                raise Malformed("boolean")
            critical = flag != b"\0"
        value = fields.next(der.OCTET_STRING).content
        fields.finish()
        if any(name == known for known, _, _ in result):
            raise Malformed("extension twice")  # RFC 5280 4.2.
        result.append((name, critical, value))
    return result


def parse(data):
    """One certificate and no byte after it."""
    outer = der.Sequence(der.read_one(data, der.SEQUENCE))
    signed = outer.next(der.SEQUENCE)
    algorithm = outer.next(der.SEQUENCE)
    signature = der.bit_string(outer.next(der.BIT_STRING))
    outer.finish()
    fields = der.Sequence(signed)
    first = fields.peek()
    version = 0
    if first is not None and first.tag_class == der.CONTEXT and first.number == 0:
        if not first.constructed:
            raise Malformed("version")
        version = der.integer(der.read_one(fields.next().content, der.INTEGER))
    serial = der.integer(fields.next(der.INTEGER))
    inner = fields.next(der.SEQUENCE)
    issuer = fields.next(der.SEQUENCE)
    validity = der.Sequence(fields.next(der.SEQUENCE))
    not_before, not_after = (_time(validity.next()) for _ in range(2))
    validity.finish()
    subject = fields.next(der.SEQUENCE)
    spki = fields.next(der.SEQUENCE)
    extensions, last = [], 0
    while fields.peek() is not None:
        field = fields.next()
        if field.tag_class != der.CONTEXT or not last < field.number <= 3 or field.constructed != (field.number == 3):
            raise Malformed("certificate field")
        last = field.number
        if field.number == 3:
            extensions = _extensions(field)
    if version not in (0, 1, 2) or extensions and version != 2:
        raise Malformed("version")  # RFC 5280 4.1.2.1: with extensions the version is 3.
    if inner.raw != algorithm.raw:
        raise Malformed("inner and outer signature algorithm differ")
    return Certificate(
        data, signed.raw, serial, _algorithm(algorithm)[0], issuer.raw, subject.raw, not_before, not_after,
        spki.raw, extensions, signature,
    )


def strict_ecdsa(signature):
    """(r, s) of a DER signature in its only form, or None."""
    try:
        fields = der.Sequence(der.read_one(signature, der.SEQUENCE))
        r, s = der.integer(fields.next(der.INTEGER)), der.integer(fields.next(der.INTEGER))
        fields.finish()
    except Malformed:
        return None
    return (r, s) if r > 0 and s > 0 else None


def signed_by(certificate, issuer_spki):
    """Whether the key in `issuer_spki` made the signature of `certificate`."""
    try:
        key = serialization.load_der_public_key(issuer_spki)
        if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in CURVES:
            return False
        if isinstance(key, ec.EllipticCurvePublicKey) and certificate.algorithm in ECDSA:
            if strict_ecdsa(certificate.signature) is None:
                return False
            key.verify(certificate.signature, certificate.signed, ec.ECDSA(ECDSA[certificate.algorithm]()))
            return True
        if isinstance(key, rsa.RSAPublicKey) and certificate.algorithm in RSA and key.key_size <= MAXIMUM_RSA_BITS:
            key.verify(certificate.signature, certificate.signed, padding.PKCS1v15(), RSA[certificate.algorithm]())
            return True
    except (InvalidSignature, ValueError, TypeError):
        return False
    except Exception as problem:  # UnsupportedAlgorithm and friends: a key nobody here can use signs nothing.
        if type(problem).__module__.startswith("cryptography"):
            return False
        raise
    return False

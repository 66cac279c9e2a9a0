# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Phones, played by software: iPhones, Androids and Play tokens under authorities of our own. No code of the gateway."""
import base64
import datetime
import hashlib
import json
import os
import time

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, keywrap, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.x509.oid import NameOID

NONCE = x509.ObjectIdentifier("1.2.840.113635.100.8.2")
KEY_DESCRIPTION = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.1.17")
PRODUCTION, DEVELOPMENT = b"appattest" + bytes(7), b"appattestdevelop"


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sha256(data):
    return hashlib.sha256(data).digest()


# -- a DER writer, as small as can be
def der(tag, *parts):
    content = b"".join(parts)
    size = len(content)
    length = bytes([size]) if size < 128 else (n := (size.bit_length() + 7) // 8, bytes([128 | n]) + size.to_bytes(n, "big"))[1]
    return tag + length + content


def tagged(number, content):
    """[number] EXPLICIT."""
    if number < 31:
        return der(bytes([0xA0 | number]), content)
    octets = [number & 127]
    while number := number >> 7:
        octets.insert(0, number & 127 | 128)
    return der(bytes([0xBF] + octets), content)


def sequence(*parts):
    return der(b"\x30", *parts)


def set_of(*parts):
    return der(b"\x31", *parts)


def octets(data):
    return der(b"\x04", data)


def number(value, tag=2):
    return der(bytes([tag]), value.to_bytes(value.bit_length() // 8 + 1, "big"))


# -- authorities
def name(text):
    return x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Played"), x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, key, issuer, issuer_key, ca=True, extra=(), days=(-30, 300), serial=None, usage=True, start=None):
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    build = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
             .serial_number(serial or x509.random_serial_number())
             .not_valid_before(start or now + datetime.timedelta(days=days[0])).not_valid_after(now + datetime.timedelta(days=days[1])))
    if ca is not None:
        build = build.add_extension(x509.BasicConstraints(ca, None), True)
    if usage:
        bits = dict.fromkeys(("digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
                              "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"), False)
        bits.update({"key_cert_sign": True, "crl_sign": True} if ca else {"digital_signature": True})
        build = build.add_extension(x509.KeyUsage(**bits), True)
    for identifier, value in extra:
        build = build.add_extension(x509.UnrecognizedExtension(identifier, value), False)
    digest = hashes.SHA384() if issuer_key.key_size == 384 else hashes.SHA256()
    return build.sign(issuer_key, digest)


def pem(one):
    return one.public_bytes(serialization.Encoding.PEM)


def bytes_of(one):
    return one.public_bytes(serialization.Encoding.DER)


class Authorities:
    """An Apple and a Google of our own, and a trust bundle that names them."""

    def __init__(self):
        self.apple_key, self.apple_ca_key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
        self.google_key, self.google_ca_key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP256R1())
        self.apple = certificate(name("Apple root"), self.apple_key, name("Apple root"), self.apple_key)
        self.apple_ca = certificate(name("Apple CA 1"), self.apple_ca_key, name("Apple root"), self.apple_key)
        self.google = certificate(name("Google root"), self.google_key, name("Google root"), self.google_key)
        self.google_ca = certificate(name("Google CA"), self.google_ca_key, name("Google root"), self.google_key)
        self.play_secret, self.play_key = os.urandom(32), ec.generate_private_key(ec.SECP256R1())

    def bundle(self, directory, revoked=()):
        """Writes the trust bundle; `revoked`: serial numbers on its status list."""
        directory.mkdir(parents=True, exist_ok=True)
        roots = []
        for purpose, root in (("apple", self.apple), ("android", self.google)):
            (directory / (purpose + ".pem")).write_bytes(pem(root))
            roots.append({"file": purpose + ".pem", "for": purpose, "sha256": sha256(bytes_of(root)).hex()})
        (directory / "status.json").write_text(json.dumps({"entries": {"%x" % s: {"status": "REVOKED"} for s in revoked}}))
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        (directory / "bundle.json").write_text(json.dumps({
            "format": 1, "version": "played", "roots": roots, "status_list": {"file": "status.json", "fetched_at": now}}))
        return directory

    @property
    def play_keys(self):
        """What a developer copies from the Play Console: decryption and verification key."""
        return b64(self.play_secret), b64(self.play_key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))


# -- iPhone
class IPhone:
    """One install with one App Attest key."""

    def __init__(self, authorities, team="ABCDE12345", bundle="com.example.fieldapp", environment=PRODUCTION):
        self.authorities, self.app, self.environment = authorities, (team + "." + bundle).encode(), environment
        self.fresh_key()

    def fresh_key(self):
        self.key, self.counter = ec.generate_private_key(ec.SECP256R1()), 0
        numbers = self.key.public_key().public_numbers()
        self.x, self.y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        self.id = sha256(b"\x04" + self.x + self.y)
        self.key_id = b64(self.id)

    def attest(self, binding, tamper=None, form="apple-appattest", counter=0, days=(-1, 2), extension=True):
        """The attestation object over the SHA-256 of `binding`; the options each break one rule of Apple's."""
        cose = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: self.x, -3: self.y})
        data = sha256(self.app) + b"\x40" + counter.to_bytes(4, "big") + self.environment + len(self.id).to_bytes(2, "big") + self.id + cose
        nonce = sha256(data + sha256(binding))
        leaf = certificate(name(self.id.hex()), self.key, self.authorities.apple_ca.subject, self.authorities.apple_ca_key, ca=False,
                           extra=[(NONCE, sequence(tagged(1, octets(nonce))))] if extension else [], days=days)
        if tamper:
            data = tamper(data)
        return b64(cbor2.dumps({
            "fmt": form,
            "attStmt": {"x5c": [bytes_of(leaf), bytes_of(self.authorities.apple_ca)], "receipt": os.urandom(40)}, "authData": data}))

    def assert_(self, binding, counter=None, tamper=None):
        """An assertion over the SHA-256 of `binding`."""
        if counter is None:
            self.counter += 1
            counter = self.counter
        data = sha256(self.app) + b"\x40" + counter.to_bytes(4, "big")
        signature = self.key.sign(sha256(data + sha256(binding)), ec.ECDSA(hashes.SHA256()))
        if tamper:
            signature = tamper(signature)
        return b64(cbor2.dumps({"signature": signature, "authenticatorData": data}))


# -- Android
class Android:
    """One phone with hardware-backed keys; its state is what its key attestations say."""

    def __init__(self, authorities, package="com.example.fieldapp", signer=b"\x11" * 32, locked=True, boot=0, level=1,
                 batch_days=(-300, 300), foreign=False, application=True, root_of_trust=True, batch_ca=True, root_copy=None, serial=None):
        self.authorities, self.package, self.signer = authorities, package, signer
        self.locked, self.boot, self.level, self.application, self.root_of_trust = locked, boot, level, application, root_of_trust
        self.batch_key = ec.generate_private_key(ec.SECP256R1())
        self.serial = serial or x509.random_serial_number()
        ca, ca_key = authorities.google_ca, authorities.google_ca_key
        self.upper = [ca, authorities.google]
        if root_copy:  # the same key in another certificate, valid from and to these days
            self.upper = [ca, certificate(name("Google root"), authorities.google_key, name("Google root"), authorities.google_key, days=root_copy)]
        if foreign:
            key = ec.generate_private_key(ec.SECP384R1())
            root = certificate(name("Another root"), key, name("Another root"), key)
            ca_key = ec.generate_private_key(ec.SECP256R1())
            ca = certificate(name("Another CA"), ca_key, name("Another root"), key)
            self.upper = [ca, root]
        self.batch = certificate(name("batch"), self.batch_key, ca.subject, ca_key, ca=batch_ca, days=batch_days, serial=self.serial)

    @property
    def fingerprint(self):
        return self.signer.hex()

    def chain(self, binding, plain=False, swap=False, lower=False, hardware_application=False):
        """The chain of a fresh key, leaf first.

        `plain`: the text itself is the challenge, not its hash. `swap`: two certificates change places. `lower`: the attested key signs
        another leaf that says the same. `hardware_application`: the app is named in the hardware's list, where it counts for nothing.
        """
        challenge = binding if plain else sha256(binding)
        application = sequence(set_of(sequence(octets(self.package.encode()), number(7))), set_of(octets(self.signer)))
        named = [tagged(709, octets(application))] if self.application else []
        software = [tagged(701, number(1780000000000))] + ([] if hardware_application else named)
        boot = sequence(octets(b"\x22" * 32), der(b"\x01", b"\xff" if self.locked else b"\x00"), number(self.boot, 10), octets(b"\x33" * 32))
        hardware = [tagged(1, set_of(number(2))), tagged(2, number(3)), tagged(3, number(256))]
        hardware += [tagged(704, boot)] if self.root_of_trust else []
        hardware += [tagged(705, number(160000)), tagged(706, number(202605))] + (named if hardware_application else [])
        description = sequence(number(300), number(self.level, 10), number(300), number(self.level, 10), octets(challenge), octets(b""),
                               sequence(*software), sequence(*hardware))
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = certificate(name("Android Keystore Key"), key, self.batch.subject, self.batch_key, ca=None,
                           extra=[(KEY_DESCRIPTION, description)], serial=1,
                           start=datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc), days=(0, 9000))
        upper = [self.batch, *self.upper]
        if lower:
            upper, holder = [leaf, *upper], ec.generate_private_key(ec.SECP256R1())
            leaf = certificate(name("Invented"), holder, leaf.subject, key, ca=None, extra=[(KEY_DESCRIPTION, description)])
        chain = [b64(bytes_of(one)) for one in [leaf, *upper]]
        if swap:
            chain[1], chain[2] = chain[2], chain[1]
        return chain

    def play_token(self, nonce, package=None, recognition="PLAY_RECOGNIZED", device=("MEETS_DEVICE_INTEGRITY",), age=0, signer=None, seal=None, licence="LICENSED"):
        """A classic Play Integrity token: a JWS in a JWE."""
        payload = {
            "requestDetails": {"requestPackageName": package or self.package, "nonce": nonce, "timestampMillis": str(int((time.time() - age) * 1000))},
            "appIntegrity": {"appRecognitionVerdict": recognition, "packageName": package or self.package,
                             "certificateSha256Digest": [b64url(self.signer)], "versionCode": "42"},
            "deviceIntegrity": {"deviceRecognitionVerdict": list(device)},
            "accountDetails": {"appLicensingVerdict": licence},
        }
        head = b64url(b'{"alg":"ES256"}') + "." + b64url(json.dumps(payload).encode())
        r, s = decode_dss_signature((signer or self.authorities.play_key).sign(head.encode(), ec.ECDSA(hashes.SHA256())))
        jws = head + "." + b64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        header = b64url(b'{"alg":"A256KW","enc":"A256GCM"}')
        content_key, initial = os.urandom(32), os.urandom(12)
        wrapped = keywrap.aes_key_wrap(seal or self.authorities.play_secret, content_key)
        sealed = AESGCM(content_key).encrypt(initial, jws.encode(), header.encode())
        return ".".join([header, b64url(wrapped), b64url(initial), b64url(sealed[:-16]), b64url(sealed[-16:])])

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Certificates made for one test run."""
import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
    key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False)


class Authority:
    """A private certificate authority whose files lie in one directory."""

    def __init__(self, directory, name="Test Authority"):
        self.directory = pathlib.Path(directory)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key.public_key(), days=(-1, 30), authority=True)
        self.path = self.directory / (name.replace(" ", "-").lower() + ".pem")
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def _sign(self, subject, public_key, days, names=(), authority=False, revocations=None):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject).issuer_name(self.name).public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + datetime.timedelta(days=days[0]))
            .not_valid_after(now + datetime.timedelta(days=days[1]))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        if authority:
            builder = builder.add_extension(SIGNS_CERTIFICATES, critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([general_name(n) for n in names]), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        if revocations:
            point = x509.DistributionPoint([x509.UniformResourceIdentifier(revocations)], None, None, None)
            builder = builder.add_extension(x509.CRLDistributionPoints([point]), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def revoked(self):
        """The list of what it has revoked: nothing."""
        now = datetime.datetime.now(datetime.timezone.utc)
        made = x509.CertificateRevocationListBuilder().issuer_name(self.name).last_update(now).next_update(now + datetime.timedelta(days=1))
        return made.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    def issue(self, file, names, days=(-1, 20), revocations=None):
        """Writes FILE.pem and FILE.key for the names; returns both paths. `revocations` is where its list is."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = self._sign(subject, key.public_key(), days, names, revocations=revocations)
        chain, secret = self.directory / (file + ".pem"), self.directory / (file + ".key")
        secret.write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return str(chain), str(secret)


def general_name(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)

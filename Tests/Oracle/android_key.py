# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Android hardware key attestation (attestation-facts 2.1 to 2.5, requirements OFF-040 to OFF-059)."""

import der
import x509lite
import basetext
from judgement import Findings, Judgement, Malformed

EXTENSION = "1.3.6.1.4.1.11129.2.1.17"
MAXIMUM_CERTIFICATES = 10
ROOT_OF_TRUST, APPLICATION_ID = 704, 709
PRECEDENCE = [
    "revoked_certificate", "software_attestation", "untrusted_root", "certificate_expired", "no_root_of_trust",
    "bootloader_unlocked", "boot_not_verified",
]
BOOT_STATES = ["VERIFIED", "SELF_SIGNED", "UNVERIFIED", "FAILED"]
ANY = ("hardware", "degraded", "refused")


def judge(vector, roots, moment):
    """Judges one chain: what refuses first, what degrades after."""
    findings, states, facts = Findings(), set(), {}
    chain = _read_chain(vector["input"]["certificate_chain"], findings)
    if chain is None:
        return _outcome(findings, states, facts)
    if any(len(c.raw) > x509lite.LARGE for c in chain):
        findings.doubt("a certificate past 12 KiB", ANY, ("malformed",))
    for lower, upper in zip(chain, chain[1:]):
        if not x509lite.signed_by(lower, upper.spki):
            findings.refuse("malformed")
    description = _find_description(chain, findings)
    if description is not None:
        _judge_description(vector, description, findings, states, facts)
    _judge_device_chain(vector, chain, roots, moment, findings, states)
    return _outcome(findings, states, facts)


def _outcome(findings, states, facts):
    if findings.refusals:
        return Judgement(
            "refused", findings.refusals[0], findings.refusals[:1], findings.doubts, findings.refusals, facts
        )
    reasons = [r for r in PRECEDENCE if r in states]
    verdict = "degraded" if reasons else "hardware"
    # The precedence is a rule (OFF-049), not a recommendation: no other first reason is right.
    return Judgement(verdict, reasons[0] if reasons else None, reasons, findings.doubts, [], facts)


def _read_chain(texts, findings):
    if not 1 <= len(texts) <= MAXIMUM_CERTIFICATES:
        findings.refuse("malformed")
        return None
    try:
        # OFF-040: DER in base64. The other alphabet is promised to App Attest alone (APP-020).
        return [x509lite.parse(basetext.decode_standard(text)) for text in texts]
    except Malformed:
        findings.refuse("malformed")
        if any(basetext.oddities(text) for text in texts):
            findings.doubt("a chain in base64 of another form than the standard", ANY)
        return None


def _find_description(chain, findings):
    """The extension of certificate 0, which no other certificate may carry."""
    counts = [len(c.values(EXTENSION)) for c in chain]
    if counts[0] != 1 or any(counts[1:]):
        findings.refuse("malformed")
        return None
    return chain[0].values(EXTENSION)[0]


# The key description


def _judge_description(vector, data, findings, states, facts):
    try:
        software, hardware, challenge = _read_description(data, findings, states, facts)
        application = _read_application_id(software.get(APPLICATION_ID))
        root_of_trust = _read_root_of_trust(hardware.get(ROOT_OF_TRUST), findings)
    except Malformed:
        findings.refuse("malformed")
        return
    if challenge not in [basetext.decode(c) for c in vector["expected_challenges"]]:
        findings.refuse("nonce_mismatch")
    _judge_application(vector, application, findings, facts)
    if root_of_trust is None:
        states.add("no_root_of_trust")
        return
    locked, state = root_of_trust
    facts.update(device_locked=locked, verified_boot_state=BOOT_STATES[state])
    if not locked:
        states.add("bootloader_unlocked")
    if state != 0:
        states.add("boot_not_verified")


def _read_description(data, findings, states, facts):
    fields = der.Sequence(der.read_one(data, der.SEQUENCE))
    version = der.integer(fields.next(der.INTEGER))
    if version >= 1 << 63:
        findings.doubt("an attestation version past 63 bits", ANY, ("malformed",))
    level = der.integer(fields.next(der.ENUMERATED))
    der.integer(fields.next(der.INTEGER))
    keymint_level = der.integer(fields.next(der.ENUMERATED))
    challenge = fields.next(der.OCTET_STRING).content
    fields.next(der.OCTET_STRING)
    software = _read_list(fields.next(der.SEQUENCE), findings)
    hardware = _read_list(fields.next(der.SEQUENCE), findings)
    if fields.peek() is not None:
        # "Fewer than 8 elements" is refused by the documents; more is not spoken of.
        findings.refuse("malformed")
        findings.doubt("more than eight elements in the key description", ANY)
    if level not in (0, 1, 2) or keymint_level not in (0, 1, 2):
        raise Malformed("security level")
    facts.update(attestation_version=version, attestation_security_level=level, keymint_security_level=keymint_level)
    if min(level, keymint_level) == 0:
        states.add("software_attestation")
    return software, hardware, challenge


def _read_list(element, findings):
    """Tag to content of an AuthorizationList: any order, no tag twice, unknown ones kept unread."""
    result = {}
    for item in element.children():
        if item.tag_class != der.CONTEXT or not item.constructed:
            raise Malformed("authorization list")
        if item.number in result:
            raise Malformed("authorization tag twice")
        if item.number >= 1 << 28:
            # KeyMint's Tag keeps the number in its low 28 bits.
            findings.doubt("a tag number past 28 bits", ANY, ("malformed",))
        result[item.number] = item.content
    return result


def _read_application_id(content):
    """(packages, digests), or None when the tag is missing."""
    if content is None:
        return None
    octets = der.read_one(content, der.OCTET_STRING).content
    fields = der.Sequence(der.read_one(octets, der.SEQUENCE))
    packages, digests = [], []
    for item in fields.next(der.SET).children():
        if not item.is_universal(der.SEQUENCE):
            raise Malformed("package")
        package = der.Sequence(item)
        try:
            packages.append(package.next(der.OCTET_STRING).content.decode("utf-8"))
        except UnicodeDecodeError:
            raise Malformed("package name is not UTF-8") from None
        der.integer(package.next(der.INTEGER))
        package.finish()
    for item in fields.next(der.SET).children():
        if not item.is_universal(der.OCTET_STRING):
            raise Malformed("digest")
        digests.append(item.content)
    fields.finish()
    return packages, digests


def _read_root_of_trust(content, findings):
    """(locked, state), or None when the tag is missing."""
    if content is None:
        return None
    fields = der.Sequence(der.read_one(content, der.SEQUENCE))
    fields.next(der.OCTET_STRING)
    locked = fields.next(der.BOOLEAN).content
    state = der.integer(fields.next(der.ENUMERATED))
    if fields.peek() is not None:
        fields.next(der.OCTET_STRING)
    fields.finish()
    if len(locked) != 1:
        raise Malformed("boolean")
    if locked not in (b"\0", b"\1", b"\xff"):
        findings.doubt("a boolean that is neither 00, 01 nor FF", ANY, ("malformed",))
    if state not in range(4):
        raise Malformed("boot state")
    return locked != b"\0", state


def _judge_application(vector, application, findings, facts):
    if application is None or not application[0] or not application[1]:
        findings.refuse("no_application_id")
        return
    packages, digests = application
    facts.update(packages=packages, signature_digests=[d.hex() for d in digests])
    registered = [a for a in vector["registered_apps"] if a["package"] in packages]
    if not registered:
        findings.refuse("package_mismatch")
        return
    known = {digest.replace(":", "").lower() for app in registered for digest in app["sha256"]}
    if not any(digest.hex() in known for digest in digests):
        findings.refuse("signing_certificate_mismatch")
        if any(len(d) != 32 for d in digests):
            findings.doubt("which word a digest of another length gets", (), ("malformed",))


# The state of the chain


def _judge_device_chain(vector, chain, roots, moment, findings, states):
    keys = {r.spki for r in roots}
    last = chain[-1]
    ends_in_root = last.spki in keys
    if not ends_in_root and not any(x509lite.signed_by(last, key) for key in keys):
        states.add("untrusted_root")
    # The leaf's dates are the device's own; a root's are ignored, trusted (by key) or merely self-issued.
    last_is_root = ends_in_root or last.issuer == last.subject
    between = [c for c in (chain[1:-1] if last_is_root else chain[1:]) if c.spki not in keys]
    for certificate in between:
        try:
            if not certificate.valid_at(moment):
                states.add("certificate_expired")
            if moment in certificate.dates():
                findings.doubt("exactly at the end of a certificate's dates", ("hardware", "degraded"), (None, "certificate_expired"))
        except Malformed:
            findings.refuse("malformed")
            findings.doubt("a certificate date that cannot be read", ("degraded",), ("certificate_expired",))
    entries = vector["revocation"]["entries"]
    for certificate in chain:
        key = certificate.serial_key()
        entry = entries.get(key)
        if entry is None and any(listed.lower().lstrip("0") == key for listed in entries):
            findings.doubt("a status list that spells serials otherwise", ANY, (None, "revoked_certificate"))
        if entry is not None:
            states.add("revoked_certificate")
            if entry.get("status") not in ("REVOKED", "SUSPENDED"):
                findings.doubt("a status that is neither REVOKED nor SUSPENDED", ANY, (None,))

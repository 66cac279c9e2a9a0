# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The phones that rows name, and the proofs they make in each dialect."""
import base64
import copy

import devices

FOREIGN = devices.Authorities()
KINDS = {
    "iphone": (devices.IPhone, {}),
    "xcode": (devices.IPhone, {"environment": devices.DEVELOPMENT}),
    "android": (devices.Android, {}),
    "unlocked": (devices.Android, {"locked": False, "boot": 2}),
}
# What rows say of a phone in words; everything else is an argument of its class.
WORDS = {"environment": {"production": devices.PRODUCTION, "development": devices.DEVELOPMENT, "unknown": b"somethingelse!!!"}}


def device(authorities, name, said, withdrawn):
    """The phone `name`: one of the kinds, or one whose `said` names its kind and what differs."""
    said = dict(said or {})
    kind, standard = KINDS[said.pop("kind", name)]
    if said.pop("withdrawn", False):
        said["serial"] = withdrawn
    if said.pop("foreign_vendor", False):
        authorities = FOREIGN
    if "signer" in said:
        said["signer"] = bytes.fromhex(said["signer"])
    for key in ("batch_days", "root_copy"):
        if key in said:
            said[key] = tuple(said[key])
    return kind(authorities, **standard, **{key: WORDS.get(key, {}).get(value, value) if isinstance(value, str) else value for key, value in said.items()})


def damaged(signature):
    return signature[:-1] + bytes([signature[-1] ^ 1])


def url_safe(text):
    return text.replace("+", "-").replace("/", "_").rstrip("=")


def apple(phone, binding, said):
    """An attestation (`first`) or an assertion over the binding, as said."""
    said = dict(said)
    if said.pop("tamper", False):
        said["tamper"] = damaged
    if bundle := said.pop("bundle", None):  # the key is the phone's, the app that it speaks for another
        phone = copy.copy(phone)
        phone.app = ("ABCDE12345." + bundle).encode()
    if said.pop("first", False):
        return phone.attest(binding, **{key: tuple(value) if key == "days" else value for key, value in said.items()})
    return phone.assert_(binding, **said)


def decoded(nonce):
    return base64.urlsafe_b64decode(nonce + "=" * (-len(nonce) % 4))

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Both base64 alphabets, and only canonical text of one of them."""

import base64
import re

from judgement import Malformed

_STANDARD = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_URL = re.compile(r"[A-Za-z0-9_-]*={0,2}")


def _bits(body):
    if len(body) % 4 == 1:
        raise Malformed("base64 of an impossible length")
    plain = body.replace("-", "+").replace("_", "/")
    data = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    if base64.b64encode(data).decode().rstrip("=") != plain:
        raise Malformed("base64 with bits left over")
    return data


def decode(text):
    """Standard base64 (padded), or base64url (padded or not)."""
    if not isinstance(text, str):
        raise Malformed("not text")
    body = text.rstrip("=")
    padding = len(text) - len(body)
    if _STANDARD.fullmatch(text):
        standard_only = "+" in text or "/" in text
        if padding and (len(text) % 4 or padding > 2):
            raise Malformed("base64 padding")
        if standard_only and not padding and len(text) % 4:
            raise Malformed("standard base64 without its padding")
        return _bits(body)
    if _URL.fullmatch(text):
        if padding and len(text) % 4:
            raise Malformed("base64 padding")
        return _bits(body)
    raise Malformed("not base64")


def decode_standard(text):
    """Standard base64 with its padding, and nothing else."""
    if not isinstance(text, str) or len(text) % 4 or not _STANDARD.fullmatch(text):
        raise Malformed("not standard base64")
    return _bits(text.rstrip("="))


def decode_url_unpadded(text):
    """Strict base64url as JOSE has it: no padding, no other alphabet."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise Malformed("not base64url")
    return _bits(text)


def oddities(text):
    """Says in what lenient way a text could still be read, or nothing: only for naming doubts."""
    if not isinstance(text, str) or re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text) and len(text) % 4 == 0:
        return None
    if re.search(r"[+/]", text) and re.search(r"[-_]", text):
        return "both base64 alphabets in one text"
    if not re.fullmatch(r"[A-Za-z0-9+/_-]*=*", text):
        return None
    body = text.rstrip("=")
    if len(body) % 4 == 1:
        return None
    if (len(text) - len(body)) and len(text) % 4:
        return "base64 with wrong padding"
    if len(text) % 4 and re.search(r"[+/]", text):
        return "standard base64 without padding"
    return "base64 with bits left over"

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""A DER writer that writes what it is told, right or wrong."""


def tag(tag_class, constructed, number):
    """The identifier octets."""
    lead = tag_class << 6 | (32 if constructed else 0)
    if number < 31:
        return bytes([lead | number])
    octets = [number & 127]
    while number := number >> 7:
        octets.insert(0, number & 127 | 128)
    return bytes([lead | 31] + octets)


def length(count, extra=0):
    """The length octets; `extra` needless leading zeros make it non-minimal."""
    if count < 128 and not extra:
        return bytes([count])
    octets = count.to_bytes(max(1, (count.bit_length() + 7) // 8), "big")
    if extra:
        octets = bytes(extra - 1) + octets if count < 128 else bytes(extra) + octets
    return bytes([128 | len(octets)]) + octets


def tlv(identifier, content, extra=0):
    return identifier + length(len(content), extra) + content


def universal(number, content, constructed=False):
    return tlv(tag(0, constructed, number), content)


def sequence(*items):
    return universal(16, b"".join(items), True)


def set_of(*items):
    return universal(17, b"".join(items), True)


def explicit(number, content):
    return tlv(tag(2, True, number), content)


def integer(value, number=2):
    size = max(1, (value.bit_length() + 8) // 8) if value >= 0 else max(1, ((value + 1).bit_length() + 8) // 8)
    return universal(number, value.to_bytes(size, "big", signed=True))


def enumerated(value):
    return integer(value, 10)


def octets(content):
    return universal(4, content)


def bits(content, unused=0):
    return universal(3, bytes([unused]) + content)


def boolean(value):
    return universal(1, bytes([value]) if isinstance(value, int) and not isinstance(value, bool) else (b"\xff" if value else b"\0"))


def null():
    return universal(5, b"")


def text(value):
    return universal(12, value.encode())


def oid(dotted):
    arcs = [int(a) for a in dotted.split(".")]
    content = b""
    for arc in [arcs[0] * 40 + arcs[1]] + arcs[2:]:
        chunk = [arc & 127]
        while arc := arc >> 7:
            chunk.insert(0, arc & 127 | 128)
        content += bytes(chunk)
    return universal(6, content)


def time(moment, generalized=None):
    """UTCTime between 1950 and 2049, GeneralizedTime outside, unless told otherwise."""
    if generalized is None:
        generalized = not 1950 <= moment.year <= 2049
    if generalized:
        return universal(24, f"{moment.year:04d}{moment:%m%d%H%M%SZ}".encode())
    return universal(23, f"{moment:%y%m%d%H%M%SZ}".encode())

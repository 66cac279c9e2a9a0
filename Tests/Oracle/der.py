# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""A DER cursor: definite, minimal lengths and tags only; nothing is recursed into unasked."""

from dataclasses import dataclass

from judgement import Malformed

UNIVERSAL, APPLICATION, CONTEXT, PRIVATE = 0, 1, 2, 3
BOOLEAN, INTEGER, BIT_STRING, OCTET_STRING, NULL, OID, ENUMERATED = 1, 2, 3, 4, 5, 6, 10
SEQUENCE, SET, UTC_TIME, GENERALIZED_TIME = 16, 17, 23, 24


@dataclass
class Element:
    """One element: its tag, its content, and all its bytes."""

    tag_class: int
    constructed: bool
    number: int
    content: bytes
    raw: bytes

    def is_universal(self, number):
        wants_constructed = number in (SEQUENCE, SET)
        return self.tag_class == UNIVERSAL and self.number == number and self.constructed == wants_constructed

    def children(self):
        return list(read_all(self.content))


def _read(data, at):
    start = at
    if at >= len(data):
        raise Malformed("DER ends early")
    first = data[at]
    at += 1
    number = first & 31
    if number == 31:
        number = 0
        count = 0
        while True:
            if at >= len(data):
                raise Malformed("DER tag ends early")
            octet = data[at]
            at += 1
            if count == 0 and octet == 0x80:
                raise Malformed("DER tag with leading zeros")
            number = number << 7 | octet & 127
            count += 1
            if count > 5:
                raise Malformed("DER tag too large")
            if not octet & 128:
                break
        if number < 31:
            raise Malformed("DER tag in long form without need")
    if at >= len(data):
        raise Malformed("DER length missing")
    length = data[at]
    at += 1
    if length & 128:
        octets = length & 127
        if octets == 0 or octets > 4 or at + octets > len(data):
            raise Malformed("DER length")
        length = int.from_bytes(data[at : at + octets], "big")
        if data[at] == 0 or length < 128:
            raise Malformed("DER length not minimal")
        at += octets
    if at + length > len(data):
        raise Malformed("DER element runs past the end")
    end = at + length
    return Element(first >> 6, bool(first & 32), number, bytes(data[at:end]), bytes(data[start:end])), end


def read_all(data):
    """Every element of a concatenation, nothing left over."""
    at = 0
    while at < len(data):
        element, at = _read(data, at)
        yield element


def read_one(data, number=None):
    """Exactly one element and no byte after it."""
    element, end = _read(data, 0)
    if end != len(data):
        raise Malformed("bytes after the DER element")
    if number is not None and not element.is_universal(number):
        raise Malformed(f"DER element is not universal {number}")
    return element


class Sequence:
    """Walks the elements of one constructed element in order."""

    def __init__(self, element):
        self.elements = element.children()
        self.at = 0

    def peek(self):
        return self.elements[self.at] if self.at < len(self.elements) else None

    def next(self, number=None):
        element = self.peek()
        if element is None:
            raise Malformed("DER sequence is too short")
        if number is not None and not element.is_universal(number):
            raise Malformed(f"DER element is not universal {number}")
        self.at += 1
        return element

    def finish(self):
        if self.at != len(self.elements):
            raise Malformed("DER sequence is too long")


def integer(element):
    """An INTEGER or ENUMERATED in its only DER form."""
    content = element.content
    if not content:
        raise Malformed("empty integer")
    if len(content) > 1 and (content[0] == 0 and content[1] < 128 or content[0] == 255 and content[1] > 127):
        raise Malformed("integer not minimal")
    return int.from_bytes(content, "big", signed=True)


def bit_string(element):
    """A BIT STRING of whole octets."""
    if not element.content or element.content[0] != 0:
        raise Malformed("bit string with unused bits")
    return element.content[1:]


def oid(element):
    """Dotted text of an OBJECT IDENTIFIER."""
    content = element.content
    if not content or content[-1] & 128:
        raise Malformed("object identifier")
    arcs, value, fresh = [], 0, True
    for octet in content:
        if fresh and octet == 0x80:
            raise Malformed("object identifier with leading zeros")
        value = value << 7 | octet & 127
        fresh = not octet & 128
        if fresh:
            arcs.append(value)
            value = 0
    head = min(arcs[0] // 40, 2)
    return ".".join(str(a) for a in [head, arcs[0] - 40 * head] + arcs[1:])

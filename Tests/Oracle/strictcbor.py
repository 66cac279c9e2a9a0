# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""A strict CBOR reader for maps, arrays, byte strings, text and integers: one item, shortest forms, no duplicates."""

from judgement import Malformed

MAXIMUM_DEPTH = 8


class _Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0
        self.unusual = []

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Malformed("CBOR ends early")
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def head(self):
        first = self.take(1)[0]
        major, short = first >> 5, first & 31
        if short < 24:
            return major, short, short
        if short > 27:
            raise Malformed("CBOR indefinite or reserved form")
        width = 1 << (short - 24)
        value = int.from_bytes(self.take(width), "big")
        smallest = 24 if width == 1 else 1 << (width * 4)
        if value < smallest and major != 7:
            raise Malformed("CBOR argument not in its shortest form")
        return major, short, value

    def item(self, depth):
        if depth > MAXIMUM_DEPTH:
            raise Malformed("CBOR too deep")
        major, short, value = self.head()
        if major == 0:
            return value
        if major == 1:
            return -1 - value
        if major == 2:
            return bytes(self.take(value))
        if major == 3:
            try:
                return self.take(value).decode("utf-8")
            except UnicodeDecodeError:
                raise Malformed("CBOR text is not UTF-8") from None
        if major == 4:
            if value > len(self.data):
                raise Malformed("CBOR array longer than its bytes")
            return [self.item(depth + 1) for _ in range(value)]
        if major == 5:
            return self.map(value, depth)
        if major == 7 and short in (20, 21, 22):
            self.unusual.append("CBOR simple value")
            return {20: False, 21: True, 22: None}[short]
        raise Malformed("CBOR tag, float or simple value")

    def map(self, count, depth):
        if count > len(self.data):
            raise Malformed("CBOR map longer than its bytes")
        result = {}
        for _ in range(count):
            key = self.item(depth + 1)
            if not isinstance(key, (str, int)) or isinstance(key, bool):
                raise Malformed("CBOR map key is neither text nor integer")
            if key in result:
                raise Malformed("CBOR map key twice")
            result[key] = self.item(depth + 1)
        return result


def read(data, findings=None):
    """The one item that fills `data`."""
    reader = _Reader(data)
    value = reader.item(1)
    if reader.at != len(data):
        raise Malformed("bytes after the CBOR item")
    if reader.unusual and findings is not None:
        findings.doubt("CBOR simple values where only text, bytes and integers are documented", ("refused", "accepted"), ("malformed",))
    return value

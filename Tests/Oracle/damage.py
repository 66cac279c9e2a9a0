# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Damage: to bytes, to DER trees, to CBOR trees and to JSON text, by a seeded choice."""

import cbor2

import derwrite as w

INTERESTING = [0, 1, 0x7F, 0x80, 0x81, 0xFF]


def damage_bytes(data, rng):
    """One small change anywhere; returns (bytes, what was done)."""
    if not data:
        return b"\0", "bytes: one appended"
    kind = rng.choice(["flip", "flip", "flip", "set", "insert", "delete", "truncate", "append", "repeat", "swap"])
    at = rng.randrange(len(data))
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :], "bytes: bit flipped"
    if kind == "set":
        return data[:at] + bytes([rng.choice(INTERESTING)]) + data[at + 1 :], "bytes: byte set"
    if kind == "insert":
        return data[:at] + rng.randbytes(rng.choice([1, 1, 2, 8])) + data[at:], "bytes: inserted"
    if kind == "delete":
        return data[:at] + data[at + rng.choice([1, 1, 2, 8]) :], "bytes: deleted"
    if kind == "truncate":
        return data[:at], "bytes: truncated"
    if kind == "append":
        return data + rng.choice([b"\0", b"\0\0", rng.randbytes(4)]), "bytes: appended"
    if kind == "repeat":
        size = rng.choice([1, 4, 16])
        return data[: at + size] + data[at : at + size] + data[at + size :], "bytes: repeated"
    other = rng.randrange(len(data))
    changed = bytearray(data)
    changed[at], changed[other] = changed[other], changed[at]
    return bytes(changed), "bytes: swapped"


# DER


class Node:
    """One element of a DER tree that can be written back wrongly."""

    def __init__(self, lead, number, content, children):
        self.lead, self.number, self.content, self.children = lead, number, content, children
        self.extra = 0
        self.indefinite = False
        self.tail = b""

    def write(self):
        content = (self.content if self.children is None else b"".join(c.write() for c in self.children)) + self.tail
        identifier = w.tag(self.lead >> 6, bool(self.lead & 32), self.number)
        if self.indefinite:
            return identifier + b"\x80" + content + b"\0\0"
        return w.tlv(identifier, content, self.extra)

    def walk(self):
        yield self
        for child in self.children or []:
            yield from child.walk()


def parse_tree(data, depth=0):
    """The nodes of well-formed DER, 30 levels deep at most; raises ValueError or IndexError otherwise."""
    nodes, at = [], 0
    while at < len(data):
        lead = data[at]
        number, at = lead & 31, at + 1
        if number == 31:
            number = 0
            while True:
                number = number << 7 | data[at] & 127
                at += 1
                if not data[at - 1] & 128:
                    break
        size, at = data[at], at + 1
        if size & 128:
            width = size & 127
            size, at = int.from_bytes(data[at : at + width], "big"), at + width
        content = data[at : at + size]
        if len(content) != size:
            raise ValueError("not DER")
        at += size
        nodes.append(Node(lead & 0xE0, number, content, parse_tree(content, depth + 1) if lead & 32 and depth < 30 else None))
    return nodes


def damage_der(data, rng):
    """One structural change of a DER tree, lengths above it put right."""
    roots = parse_tree(data)
    places = [(None, roots, i) for i in range(len(roots))]
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.children:
            places += [(node, node.children, i) for i in range(len(node.children))]
            stack += node.children
    _, siblings, index = rng.choice(places)
    node = siblings[index]
    kind = rng.choice(["length", "indefinite", "duplicate", "delete", "swap", "retag", "reclass", "primitive", "empty", "random", "tail", "zero", "content", "content", "long", "extra-null"])
    if kind == "length":
        node.extra = rng.choice([1, 1, 2, 4])
    elif kind == "indefinite":
        node.indefinite = True
    elif kind == "duplicate":
        siblings.insert(index, node)
    elif kind == "delete":
        del siblings[index]
    elif kind == "swap":
        other = rng.randrange(len(siblings))
        siblings[index], siblings[other] = siblings[other], siblings[index]
        kind = "swap" if other != index else "nothing"
    elif kind == "retag":
        node.number = rng.choice([1, 2, 3, 4, 5, 10, 12, 16, 17, 700, 704, 709, 720, 900])
    elif kind == "reclass":
        node.lead ^= rng.choice([64, 128, 192])
    elif kind == "primitive":
        node.lead ^= 32
    elif kind == "empty":
        node.content, node.children = b"", None
    elif kind == "random":
        node.content, node.children = rng.randbytes(rng.choice([1, 2, 20, 32])), None
    elif kind == "tail":
        node.tail = rng.choice([b"\0", b"\5\0", rng.randbytes(3)])
    elif kind == "zero":
        node.content, node.children = b"\0" + node.write()[2:] if node.children else b"\0" + node.content, None
    elif kind == "content":
        raw = node.content if node.children is None else b"".join(c.write() for c in node.children)
        node.content, done = damage_bytes(raw, rng)
        node.children, kind = None, "content " + done
    elif kind == "long":
        node.content, node.children = (node.content or b"\1") * rng.choice([8, 64]), None
    elif kind == "extra-null":
        siblings.insert(index + rng.randrange(2), Node(0, 5, b"", None))
    return b"".join(n.write() for n in roots), "DER: " + kind


# CBOR


def cbor_head(major, value, width=0):
    """A head; `width` octets of argument even where fewer would do."""
    if not width and value < 24:
        return bytes([major << 5 | value])
    width = width or next(n for n in (1, 2, 4, 8) if value < 1 << 8 * n)
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[width]]) + value.to_bytes(width, "big")


def cbor(value):
    return cbor2.dumps(value)


def damage_cbor(value, rng):
    """The encoding of a map with one structural oddity; returns (bytes, what was done)."""
    pairs = [(cbor(k), cbor(v)) for k, v in value.items()]
    kind = rng.choice(["wide-head", "indefinite", "duplicate", "drop", "extra-key", "order", "tag", "retype", "key-type", "count", "trailing", "wide-value", "chunked", "null", "simple", "float", "text-bytes", "bad-utf8", "nest", "int-key"])
    head = cbor_head(5, len(pairs))
    at = rng.randrange(len(pairs))
    key, item = pairs[at]
    if kind == "wide-head":
        head = cbor_head(5, len(pairs), rng.choice([1, 2, 4, 8]))
    elif kind == "indefinite":
        return b"\xbf" + b"".join(k + v for k, v in pairs) + b"\xff", "CBOR: indefinite map"
    elif kind == "duplicate":
        pairs.insert(rng.randrange(len(pairs) + 1), (key, rng.choice([item, cbor(b"\0" * 4)])))
        head = cbor_head(5, len(pairs))
    elif kind == "drop":
        del pairs[at]
        head = cbor_head(5, len(pairs))
    elif kind == "extra-key":
        pairs.insert(rng.randrange(len(pairs) + 1), (cbor("extra"), cbor(rng.choice([1, "x", b"x", [], {}]))))
        head = cbor_head(5, len(pairs))
    elif kind == "order":
        rng.shuffle(pairs)
    elif kind == "tag":
        pairs[at] = (key, cbor_head(6, rng.choice([1, 24, 55799])) + item)
    elif kind == "retype":
        pairs[at] = (key, cbor(rng.choice([0, -1, "text", b"bytes", [], [1], {}, {"a": 1}])))
    elif kind == "key-type":
        pairs[at] = (cbor(value_key(value, at).encode() if isinstance(value_key(value, at), str) else b"k"), item)
    elif kind == "count":
        head = cbor_head(5, max(0, len(pairs) + rng.choice([-1, 1, 3])))
    elif kind == "trailing":
        return head + b"".join(k + v for k, v in pairs) + rng.choice([b"\0", b"\xf6", rng.randbytes(2)]), "CBOR: trailing"
    elif kind == "wide-value":
        major, content = item[0] >> 5, _content(item)
        if content is not None:
            pairs[at] = (key, cbor_head(major, len(content), 4) + content)
        else:
            pairs[at] = (cbor_head(3, len(_content(key) or b""), 2) + (_content(key) or b""), item)
    elif kind == "chunked":
        content = _content(item)
        if content is not None:
            major = item[0] >> 5
            pairs[at] = (key, bytes([major << 5 | 31]) + cbor_head(major, len(content)) + content + b"\xff")
    elif kind == "null":
        pairs[at] = (key, b"\xf6")
    elif kind == "simple":
        pairs.append((cbor("flag"), rng.choice([b"\xf5", b"\xf4", b"\xf7", b"\xe0"])))
        head = cbor_head(5, len(pairs))
    elif kind == "float":
        pairs.append((cbor("number"), cbor(1.5)))
        head = cbor_head(5, len(pairs))
    elif kind == "text-bytes":
        if item[0] >> 5 in (2, 3):
            pairs[at] = (key, bytes([item[0] ^ 0x20]) + item[1:])
    elif kind == "bad-utf8":
        pairs.append((cbor("t"), cbor_head(3, 2) + b"\xc3\x28"))
        head = cbor_head(5, len(pairs))
    elif kind == "nest":
        deep = rng.choice([5, 6, 7, 8, 9, 200])
        pairs.append((cbor("deep"), b"\x81" * deep + b"\0"))
        head = cbor_head(5, len(pairs))
        kind += f" {deep}"
    elif kind == "int-key":
        pairs.append((cbor(7), cbor(1)))
        head = cbor_head(5, len(pairs))
    return head + b"".join(k + v for k, v in pairs), "CBOR: " + kind


def value_key(value, at):
    return list(value)[at]


def _content(item):
    return cbor2.loads(item) if item[0] >> 5 == 2 else cbor2.loads(item).encode() if item[0] >> 5 == 3 else None


# JSON


def damage_json(text, rng):
    """One change of JSON text; returns (text, what was done)."""
    kind = rng.choice(["duplicate", "space", "trailing", "comma", "comment", "nan", "bom", "char", "char", "escape", "case", "array", "single", "control", "surrogate", "big", "deep", "newline", "nul", "latin"])
    inner = text[1:]
    if kind == "duplicate":
        first = text[1:].split(",")[0]
        return ("{" + first + "," + inner) if first.count("{") == first.count("}") and first.count("[") == first.count("]") else text, "JSON: a name twice"
    if kind == "space":
        return " \n\t" + text.replace(":", " : ", 2) + "\r\n", "JSON: white space"
    if kind == "trailing":
        return text + rng.choice(["x", "{}", "]", "\0", "null"]), "JSON: trailing"
    if kind == "comma":
        return text[:-1] + ",}", "JSON: comma at the end"
    if kind == "comment":
        return text[:-1] + "/* x */}", "JSON: comment"
    if kind == "nan":
        return text[:-1] + ',"x":' + rng.choice(["NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "0x1", "1e5", "-0", "1e999"]) + "}", "JSON: odd number"
    if kind == "bom":
        return "\ufeff" + text, "JSON: byte order mark"
    if kind == "char":
        at = rng.randrange(len(text))
        return text[:at] + rng.choice('"{}[],:\\a0') + text[at + 1 :], "JSON: character changed"
    if kind == "escape":
        at = text.find('"') + 1
        return text[:at] + f"\\u{ord(text[at]):04x}" + text[at + 1 :], "JSON: escaped name"
    if kind == "case":
        at = text.find('"') + 1
        return text[:at] + text[at].swapcase() + text[at + 1 :], "JSON: name in another case"
    if kind == "array":
        return f"[{text}]", "JSON: in an array"
    if kind == "single":
        return text.replace('"', "'"), "JSON: single quotes"
    if kind == "control":
        return text[:-1] + ',"x":"a\nb"}', "JSON: raw control character"
    if kind == "surrogate":
        return text[:-1] + ',"x":"\\ud800"}', "JSON: lone surrogate"
    if kind == "big":
        return text[:-1] + ',"x":' + "9" * rng.choice([19, 20, 40, 400]) + "}", "JSON: huge number"
    if kind == "deep":
        depth = rng.choice([10, 40, 100, 600])
        return text[:-1] + ',"x":' + "[" * depth + "]" * depth + "}", f"JSON: depth {depth}"
    if kind == "newline":
        return text + "\n", "JSON: newline at the end"
    if kind == "nul":
        return text[:-1] + ',"x":"\\u0000"}', "JSON: escaped NUL"
    return text[:-1] + ',"x":"\u00e9\U0001f600"}', "JSON: other scripts"

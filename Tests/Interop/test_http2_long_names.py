# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A field name that is too long to be held is refused, on its stream alone, where `http.head` would let it in."""
import pytest
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman import HuffmanEncoder

from conftest import route, url
from frames import CONTINUATION, END_HEADERS, END_STREAM, HEADERS, Frames, frame, head

HUFFMAN = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)
LONGEST = 65535


@pytest.fixture(scope="module")
def roomy(make, backend):
    return make([route("open", "/open/", access="open")], {"api": {"endpoints": [url(backend)]}}, workers=1, http={"head": "256KiB"})


def integer(value, bits, first):
    """RFC 7541 5.1."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = bytes([first | most]), value - most
    while value >= 128:
        out, value = out + bytes([value % 128 + 128]), value // 128
    return out + bytes([value])


def literal(name, value, huffman=False):
    """A field without indexing, its name in either spelling."""
    text = HUFFMAN.encode(name) if huffman else name
    return b"\x00" + integer(len(text), 7, 0x80 if huffman else 0) + text + integer(len(value), 7, 0) + value


def send(client, stream, block, end=True):
    """One block in as few frames as it fits in."""
    parts = [block[i:i + 16384] for i in range(0, len(block), 16384)]
    for index, part in enumerate(parts):
        flags = (END_STREAM if end and index == 0 else 0) | (END_HEADERS if index == len(parts) - 1 else 0)
        client.send(frame(CONTINUATION if index else HEADERS, flags, stream, part))


@pytest.mark.parametrize("length,huffman,statuses", [
    (LONGEST + 1, False, [431]), (LONGEST + 465, True, [431]), (LONGEST, False, [200, 431]), (LONGEST, True, [200, 431])])
def test_a_name_is_refused_on_its_stream_alone(roomy, length, huffman, statuses):
    worker = roomy.workers()
    with Frames(roomy.port) as client:
        beside = client.request("GET", "/open/x")
        stream, client.next_stream = client.next_stream, client.next_stream + 2
        send(client, stream, client.block_of(head()) + literal(b"a" * length, b"v", huffman))
        assert client.answer(stream).status in statuses
        assert client.answer(beside).status == 200
        assert client.exchange("GET", "/open/x").status == 200
    assert roomy.workers() == worker


def test_a_name_of_a_trailer_ends_its_stream_alone(roomy):
    worker = roomy.workers()
    with Frames(roomy.port) as client:
        stream = client.headers(head("POST"), end=False)
        client.data(stream, b"body")
        send(client, stream, literal(b"a" * (LONGEST + 1), b"v"))
        assert client.answer(stream).reset is not None
        assert client.exchange("GET", "/open/x").status == 200
    assert roomy.workers() == worker


def test_http_1_1_refuses_the_same_name(roomy):
    assert roomy.get("/open/x", {"a" * (LONGEST + 1): "v"}).status == 431
    assert roomy.get("/open/x").status == 200

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Answers of HTTP/2 upstreams that are no answers: none of it reaches a client."""
import pytest


BAD_HEADS = {
    "no status": [("content-length", "0")],
    "status of four digits": [(":status", "2000")],
    "two statuses": [(":status", "200"), (":status", "200")],
    "switching": [(":status", "101")],
    "another pseudo field": [(":status", "200"), (":path", "/")],
    "upper case": [(":status", "200"), ("X-Upper", "1")],
    "connection": [(":status", "200"), ("connection", "close")],
    "transfer-encoding": [(":status", "200"), ("transfer-encoding", "chunked")],
    "line break": [(":status", "200"), ("x-a", "1\r\nx-b: 2")],
    "zero": [(":status", "200"), ("x-a", "1\0")],
    "two lengths": [(":status", "200"), ("content-length", "1"), ("content-length", "2")],
    "sign": [(":status", "200"), ("content-length", "+1")],
    "space in a name": [(":status", "200"), ("x a", "1")],
}


@pytest.mark.parametrize("name", BAD_HEADS)
def test_a_malformed_head_is_502(alone, name):
    def script(stream):
        if stream.path == "/x":
            return stream.answer(b"ok")
        # By hand: the package would not send it.
        stream.connection.send_raw(frame(1, 5, stream.number, literal(BAD_HEADS[name])))

    gateway, server = alone(script)
    answer = gateway.get("/bad")
    assert answer.status == 502 and "http_protocol_error" in answer["Proxy-Status"], answer
    assert gateway.get("/x").body == b"ok"


def literal(fields):
    """HPACK without any table."""
    def text(value):
        value = value.encode("latin-1")
        # RFC 7541 5.1: what does not fit into seven bits follows in groups of seven.
        rest, length = len(value) - 127, bytes([min(len(value), 127)])
        while rest >= 0:
            length += bytes([rest & 127 | (128 if rest > 127 else 0)])
            rest = (rest >> 7) or -1
        return length + value

    return b"".join(b"\x00" + text(n) + text(v) for n, v in fields)


@pytest.mark.parametrize("announced,sent", [(5, 3), (3, 5)])
def test_a_body_of_another_length_is_not_taken_for_whole(alone, announced, sent):
    def script(stream):
        stream.connection.send_raw(frame(1, 4, stream.number, literal([(":status", "200"), ("content-length", str(announced))])))
        stream.connection.send_raw(frame(0, 1, stream.number, b"x" * sent))

    gateway, _ = alone(script)
    with gateway.wire() as client:
        client.request()
        try:
            answer = client.answer()
        except EOFError:
            # Its head was on its way already: the end of the connection says that the body is not whole.
            return
        assert answer.status == 502


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def test_a_peer_that_breaks_the_protocol_is_left(alone):
    def script(stream):
        if stream.path == "/bad":
            return stream.connection.send_raw(frame(0, 0, 0, b"DATA on stream 0"))
        stream.answer(b"connection %d" % stream.connection.number)

    gateway, server = alone(script)
    answer = gateway.get("/bad")
    assert answer.status == 502 and "http_protocol_error" in answer["Proxy-Status"]
    assert gateway.get("/").body == b"connection 2"

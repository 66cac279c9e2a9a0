# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""RFC 9113 and RFC 7541, rule by rule: what a client must not send, and how the gateway takes it.

A connection error may show as GOAWAY with the code or as a bare close; a stream error as RST_STREAM with the code, or as the
connection error that RFC 9113 5.4.2 allows in its place. A malformed request may also be answered 400 (8.1.1).
"""
import json
import struct

import pytest

from frames import *
from frames import Frames, frame, head, number, settings


@pytest.fixture
def client(gateway):
    with Frames(gateway.port) as one:
        assert one.ping()
        yield one


def connection_error(client, *codes):
    """The connection ends, with one of the codes where a GOAWAY comes."""
    client.until(lambda: client.eof, 5)
    if client.goaway is not None:
        assert client.goaway.code in codes, "GOAWAY %d" % client.goaway.code


def stream_error(client, stream, *codes):
    got = client.outcome(stream)
    assert got in {"reset %d" % c for c in codes} | {"goaway %d" % c for c in codes} | {"closed"}, got


def malformed(client, stream):
    """Refused; nothing reached the upstream as a request that was answered 2xx."""
    got = client.outcome(stream)
    assert got in ("reset %d" % PROTOCOL_ERROR, "goaway %d" % PROTOCOL_ERROR, "closed", "status 400"), got


def well(client):
    assert client.exchange().status == 200
    assert client.goaway is None


# -- 3.4 the preface
@pytest.mark.parametrize("bytes_", [b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + frame(SETTINGS), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b" " * 40])
def test_3_4_a_wrong_preface_ends_the_connection(gateway, bytes_):
    with Frames(gateway.port, start=False) as client:
        client.send(bytes_)
        connection_error(client, PROTOCOL_ERROR)


def test_3_4_settings_must_come_first(gateway):
    with Frames(gateway.port, start=False) as client:
        client.send(PREFACE + frame(PING, payload=b"\0" * 8))
        connection_error(client, PROTOCOL_ERROR)


def test_3_4_our_settings_come_first(gateway):
    with Frames(gateway.port) as client:
        first = client.read_frame()
        assert first.type == SETTINGS and not first.flags & ACK and first.stream == 0


# -- 4 frames
def test_4_1_unknown_types_are_ignored(client):
    client.send(frame(0x16, 0xFF, 0, b"abc") + frame(0xFA, 0, 1, b""))
    well(client)


def test_4_1_unknown_flags_and_the_reserved_bit_are_ignored(client):
    client.send(frame(PING, 0x16, 0, b"12345678"))
    client.until(lambda: any(f.type == PING and f.flags & ACK and f.payload == b"12345678" for f in client.frames))
    client.send(frame(SETTINGS, 0x20, 0))
    stream = client.next_stream
    client.next_stream += 2
    block = client.raw_block(head())
    whole = frame(HEADERS, END_HEADERS | END_STREAM | 0x40, stream, block)
    client.send(whole[:5] + number(0x80000000 | stream) + block)
    assert client.answer(stream).status == 200
    client.send(frame(WINDOW_UPDATE, 0, 0, number(0x80000001)))
    well(client)


@pytest.mark.parametrize("type,stream", [(DATA, 1), (HEADERS, 1), (SETTINGS, 0), (PING, 0), (0x16, 0)])
def test_4_2_frames_above_the_size_limit_end_the_connection(client, type, stream):
    if type == DATA:
        assert client.headers(head("POST", "/open/upload"), end=False) == 1
    client.send(frame(type, 0, stream, b"", length=16385) + b"\0" * 16385)
    connection_error(client, FRAME_SIZE_ERROR, PROTOCOL_ERROR)


def test_4_2_a_frame_of_the_largest_size_is_taken(client):
    stream = client.headers(head("POST", "/open/upload"), end=False)
    client.send(frame(DATA, END_STREAM, stream, b"x" * 16384))
    assert json.loads(client.answer(stream).body)["bytes"] == 16384


def test_4_3_a_block_that_cannot_be_decompressed_ends_the_connection(client):
    client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\xff\xff\xff\xff"))
    connection_error(client, COMPRESSION_ERROR)


@pytest.mark.parametrize("between", [frame(PING, payload=b"\0" * 8), frame(HEADERS, END_HEADERS | END_STREAM, 3), frame(PRIORITY, 0, 1, b"\0" * 5),
                                     frame(DATA, 0, 1, b"x"), frame(0x16, 0, 1, b"x"), frame(CONTINUATION, END_HEADERS, 3, b"")])
def test_4_3_nothing_may_come_inside_a_block(client, between):
    client.send(frame(HEADERS, END_STREAM, 1, client.raw_block(head())[:9]) + between)
    connection_error(client, PROTOCOL_ERROR)


def test_6_10_a_block_in_pieces_is_one(client):
    block = client.raw_block(head() + [("x-long", "y" * 200)])
    client.send(frame(HEADERS, END_STREAM, 1, block[:10]) + frame(CONTINUATION, 0, 1, block[10:11]) + frame(CONTINUATION, END_HEADERS, 1, block[11:]))
    client.next_stream = 3
    assert client.answer(1).status == 200


# -- 5.1 states of a stream
@pytest.mark.parametrize("bytes_", [frame(DATA, END_STREAM, 1, b"x"), frame(RST_STREAM, 0, 1, number(CANCEL)), frame(WINDOW_UPDATE, 0, 1, number(1)),
                                    frame(CONTINUATION, END_HEADERS, 1, b"")])
def test_5_1_idle_streams_take_only_headers_and_priority(client, bytes_):
    client.send(bytes_)
    connection_error(client, PROTOCOL_ERROR, STREAM_CLOSED)


@pytest.mark.parametrize("kind", ["data", "headers"])
def test_5_1_half_closed_streams_take_no_more(client, kind):
    stream = client.request(path="/open/slow?s=1")
    client.send(frame(DATA, END_STREAM, stream, b"x") if kind == "data" else frame(HEADERS, END_HEADERS | END_STREAM, stream, client.raw_block(head())))
    stream_error(client, stream, STREAM_CLOSED, PROTOCOL_ERROR)


def test_5_1_a_continuation_that_follows_nothing(client):
    stream = client.request(path="/open/slow?s=1")
    client.send(frame(CONTINUATION, END_HEADERS, stream, b""))
    connection_error(client, PROTOCOL_ERROR, STREAM_CLOSED)


@pytest.mark.parametrize("how", ["answered", "reset"])
@pytest.mark.parametrize("kind", ["data", "headers", "continuation"])
def test_5_1_closed_streams_take_no_more(client, how, kind):
    if how == "answered":
        stream = client.request()
        assert client.answer(stream).status == 200
    else:
        stream = client.request(path="/open/slow?s=1")
        client.send(frame(RST_STREAM, 0, stream, number(CANCEL)))
    before = len(client.frames)
    client.send({"data": frame(DATA, END_STREAM, stream, b"x"), "headers": frame(HEADERS, END_HEADERS | END_STREAM, stream, client.raw_block(head())),
                 "continuation": frame(CONTINUATION, END_HEADERS, stream, b"")}[kind])
    client.ping()
    # Ended, or ignored as frames that crossed a reset; never served.
    assert not [f for f in client.frames[before:] if f.type in (HEADERS, DATA)]


@pytest.mark.parametrize("bytes_", [frame(WINDOW_UPDATE, 0, 1, number(1)), frame(PRIORITY, 0, 1, b"\0\0\0\0\x10"), frame(RST_STREAM, 0, 1, number(CANCEL))])
def test_5_1_closed_streams_bear_what_may_have_crossed(client, bytes_):
    assert client.exchange().status == 200
    client.send(bytes_)
    well(client)


def test_5_1_priority_of_an_idle_stream_is_borne(client):
    client.send(frame(PRIORITY, 0, 5, b"\0\0\0\0\x10"))
    well(client)


@pytest.mark.parametrize("stream", [2, 100])
def test_5_1_1_even_numbers_are_not_the_clients(client, stream):
    client.headers(head(), stream=stream)
    connection_error(client, PROTOCOL_ERROR)


def test_5_1_1_numbers_rise(client):
    assert client.answer(client.headers(head(), stream=5)).status == 200
    client.headers(head(), stream=3)
    connection_error(client, PROTOCOL_ERROR, STREAM_CLOSED)


def test_5_1_2_more_streams_than_allowed_are_refused(client):
    announced = dict(struct.iter_unpack(">HI", client.frames[0].payload))[MAX_CONCURRENT_STREAMS]
    streams = [client.headers(head("GET", "/open/slow?s=2")) for _ in range(announced + 1)]
    stream_error(client, streams[-1], REFUSED_STREAM, PROTOCOL_ERROR)


def test_5_3_1_a_stream_that_depends_on_itself_does_no_harm(client):
    client.send(frame(PRIORITY, 0, 7, number(7) + b"\x10"))
    client.send(frame(HEADERS, END_HEADERS | END_STREAM | PRIORITISED, 7, number(7) + b"\x10" + client.raw_block(head())))
    got = client.outcome(7)
    assert got in ("status 200", "reset 1", "goaway 1", "closed"), got


# -- 6 the frames one by one
@pytest.mark.parametrize("bytes_", [frame(DATA, END_STREAM, 0, b"x"), frame(HEADERS, END_HEADERS | END_STREAM, 0, b"\x82"), frame(PRIORITY, 0, 0, b"\0" * 5),
                                    frame(RST_STREAM, 0, 0, number(CANCEL)), frame(SETTINGS, 0, 1), frame(PING, 0, 1, b"\0" * 8),
                                    frame(GOAWAY, 0, 1, b"\0" * 8), frame(CONTINUATION, END_HEADERS, 0, b"\x82"), frame(PUSH_PROMISE, END_HEADERS, 0, number(2) + b"\x82")])
def test_6_each_frame_has_its_kind_of_stream(client, bytes_):
    client.send(bytes_)
    connection_error(client, PROTOCOL_ERROR)


@pytest.mark.parametrize("type,flags,payload", [(DATA, PADDED, b"\x06x"), (HEADERS, PADDED | END_HEADERS, b"\x40\x82"), (DATA, PADDED, b"")])
def test_6_1_padding_is_not_longer_than_the_frame(client, type, flags, payload):
    stream = client.headers(head("POST", "/open/upload"), end=False)
    client.send(frame(type, flags, stream if type == DATA else stream + 2, payload))
    connection_error(client, PROTOCOL_ERROR, FRAME_SIZE_ERROR)


def test_6_1_padding_is_taken_off(client):
    stream = client.headers(head("POST", "/open/echo"), end=False)
    client.send(frame(DATA, PADDED | END_STREAM, stream, b"\x05hello" + b"\0" * 5))
    assert client.answer(stream).body == b"hello"


@pytest.mark.parametrize("type,stream,payload", [
    (PRIORITY, 1, b"\0" * 4), (RST_STREAM, 1, b"\0" * 3), (SETTINGS, 0, b"\0" * 3), (SETTINGS, 0, b"\0" * 7), (PING, 0, b"\0" * 6), (PING, 0, b"\0" * 9),
    (WINDOW_UPDATE, 0, b"\0" * 3), (WINDOW_UPDATE, 1, b"\0" * 5), (GOAWAY, 0, b"\0" * 7)])
def test_6_each_frame_has_its_length(client, type, stream, payload):
    if stream:
        assert client.request(path="/open/slow?s=1") == 1
    client.send(frame(type, 0, stream, payload))
    if type == PRIORITY:
        stream_error(client, 1, FRAME_SIZE_ERROR)
    else:
        connection_error(client, FRAME_SIZE_ERROR)


def test_6_5_an_acknowledgement_is_empty(client):
    client.send(frame(SETTINGS, ACK, 0, b"\0" * 6))
    connection_error(client, FRAME_SIZE_ERROR)


@pytest.mark.parametrize("name,value,code", [
    (ENABLE_PUSH, 2, PROTOCOL_ERROR), (INITIAL_WINDOW_SIZE, 1 << 31, FLOW_CONTROL_ERROR), (MAX_FRAME_SIZE, 16383, PROTOCOL_ERROR),
    (MAX_FRAME_SIZE, 1 << 24, PROTOCOL_ERROR)])
def test_6_5_2_values_out_of_range(client, name, value, code):
    client.send(frame(SETTINGS, payload=settings({name: value})))
    connection_error(client, code)


def test_6_5_3_settings_are_acknowledged_and_unknown_ones_ignored(client):
    before = sum(f.type == SETTINGS and f.flags & ACK for f in client.frames)
    client.send(frame(SETTINGS, payload=settings({0xFF: 1, HEADER_TABLE_SIZE: 0, MAX_FRAME_SIZE: 20000})))
    client.until(lambda: sum(f.type == SETTINGS and f.flags & ACK for f in client.frames) == before + 1)
    client.decoder.header_table_size = 0
    well(client)


def test_6_5_3_the_last_value_counts(gateway):
    with Frames(gateway.port, start=False) as client:
        client.credits = False
        client.send(PREFACE + frame(SETTINGS, payload=struct.pack(">HIHI", INITIAL_WINDOW_SIZE, 100, INITIAL_WINDOW_SIZE, 1)))
        stream = client.request(path="/open/bytes?n=1000")
        client.until(lambda: client.streams.get(stream) is not None and client.streams[stream].body)
        assert client.ping() and len(client.streams[stream].body) == 1


def test_6_6_push_promise_is_not_for_clients(client):
    stream = client.request(path="/open/slow?s=1")
    client.send(frame(PUSH_PROMISE, END_HEADERS, stream, number(2) + client.raw_block(head())))
    connection_error(client, PROTOCOL_ERROR)


def test_6_7_pings_are_answered_and_answers_are_not(client):
    assert client.ping()
    before = len(client.frames)
    client.send(frame(PING, ACK, 0, b"answered"))
    assert client.ping()
    assert not [f for f in client.frames[before:] if f.payload == b"answered"]


def test_6_8_goaway_of_the_client_lets_streams_finish(client):
    stream = client.request(path="/open/slow?s=1")
    client.send(frame(GOAWAY, 0, 0, number(0) + number(NO_ERROR)))
    assert client.answer(stream).status == 200
    client.until(lambda: client.eof, 5)


# -- 5.2 and 6.9 flow control
def test_6_9_a_window_of_one_is_honoured(gateway):
    with Frames(gateway.port, values={INITIAL_WINDOW_SIZE: 1}) as client:
        client.credits = False
        stream = client.request(path="/open/bytes?n=10")
        client.until(lambda: client.streams.get(stream) is not None and client.streams[stream].body)
        assert client.ping() and len(client.streams[stream].body) == 1
        client.send(frame(WINDOW_UPDATE, 0, stream, number(9)))
        assert len(client.answer(stream).body) == 10


def test_6_9_2_changes_apply_to_open_streams_and_windows_may_fall_below_zero(gateway):
    with Frames(gateway.port, values={INITIAL_WINDOW_SIZE: 3}) as client:
        client.credits = False
        stream = client.request(path="/open/bytes?n=10")
        client.until(lambda: client.streams.get(stream) is not None and len(client.streams[stream].body) == 3)
        client.send(frame(SETTINGS, payload=settings({INITIAL_WINDOW_SIZE: 2})))
        client.send(frame(WINDOW_UPDATE, 0, stream, number(2)))
        assert client.ping()
        client.until(lambda: len(client.streams[stream].body) == 4)
        client.send(frame(SETTINGS, payload=settings({INITIAL_WINDOW_SIZE: 100})))
        assert len(client.answer(stream).body) == 10


@pytest.mark.parametrize("where", [0, 1])
def test_6_9_1_a_window_does_not_overflow(client, where):
    client.credits = False
    assert client.request(path="/open/slow?s=1") == 1
    client.send(frame(WINDOW_UPDATE, 0, where, number(0x7FFFFFFF)) * 2)
    if where:
        stream_error(client, 1, FLOW_CONTROL_ERROR)
    else:
        connection_error(client, FLOW_CONTROL_ERROR)


def test_6_9_2_a_setting_does_not_overflow_a_window(client):
    # The streams that would overflow are ended; the rule asks for the connection, which has nothing else to lose.
    stream = client.request(path="/open/slow?s=1")
    client.send(frame(WINDOW_UPDATE, 0, 1, number(0x7FFFFF00)) + frame(SETTINGS, payload=settings({INITIAL_WINDOW_SIZE: 0x7FFFFFFF})))
    stream_error(client, stream, FLOW_CONTROL_ERROR)


@pytest.mark.parametrize("where", [0, 1])
def test_6_9_an_increment_is_not_zero(client, where):
    assert client.request(path="/open/slow?s=1") == 1
    client.send(frame(WINDOW_UPDATE, 0, where, number(0)))
    if where:
        stream_error(client, 1, PROTOCOL_ERROR)
    else:
        connection_error(client, PROTOCOL_ERROR)


def test_6_9_1_a_client_may_not_send_beyond_its_window(client):
    stream = client.headers(head("POST", "/open/slow?s=3"), end=False)
    client.data(stream, b"x" * (2 << 20))
    got = client.outcome(stream)
    # Nothing is wrong where the gateway was as fast as we are, and let in every byte.
    granted = client.initial_window + sum(int.from_bytes(f.payload, "big") for f in client.frames if f.type == WINDOW_UPDATE and f.stream == stream)
    assert got in ("reset 3", "goaway 3", "closed", "status 200", "status 413") or granted >= 2 << 20, got


# -- 8.1 messages
@pytest.mark.parametrize("name,value", [
    ("X-Upper", "y"), ("x y", "z"), ("x:y", "z"), ("x\x01", "z"), ("", "z"), ("x\x7f", "z"), ("x\xe9", "z"), ("x(", "z"),
    ("x", "a\x00b"), ("x", "a\rb"), ("x", "a\nb"), ("x", "a\r\nb: c"), ("x", " a"), ("x", "a "), ("x", "\ta"), ("x", "a\t"), ("x", "a\x7f")])
def test_8_2_1_names_and_values(client, name, value):
    malformed(client, client.headers(head() + [(name, value)], raw=True))


@pytest.mark.parametrize("name,value", [
    ("connection", "close"), ("connection", "keep-alive"), ("keep-alive", "timeout=5"), ("proxy-connection", "keep-alive"), ("transfer-encoding", "chunked"),
    ("upgrade", "websocket"), ("te", "gzip"), ("te", "trailers, deflate;q=0.5")])
def test_8_2_2_connection_specific_fields(client, name, value):
    malformed(client, client.headers(head() + [(name, value)]))


@pytest.mark.parametrize("fields", [
    head() + [(":unknown", "x")], head() + [(":status", "200")], [("x", "y")] + head(), head()[:2] + [("x", "y")] + head()[2:],
    head() + [(":path", "/b")], head() + [(":method", "GET")], head() + [(":scheme", "https")], head() + [(":authority", "b.test")],
    head()[1:], head()[:1] + head()[2:], head()[:3], head()[:2] + head()[3:], head("", "/x"), head("GET", ""), head(scheme=""),
    head("GET", "x"), head("GET", "*"), head("GET", "http://localhost/x"), head("GET", "//" + "\x00"), head("GET", "/a b"), head("GET", "/a#b"),
    head("GET", "/a\r\nx: y"), head("GET", "/\xe9"), head("G T", "/x"), head("GET\r\n", "/x"), head("GET", "/x", "user@localhost"),
    head("GET", "/x", "localhost, b"), head("GET", "/x", "localhost/x"), head("GET", "/x", "local host"), head("GET", "/x", ""), head("GET", "/x", "localhost:"),
    head("GET", "/x", "localhost:8a"), head("GET", "/x", "localhost:99999"), head("GET", "/x", "a%00"), head(scheme="gopher"), head(scheme="https:")])
def test_8_3_pseudo_fields(client, fields):
    malformed(client, client.headers(fields, raw=True))


@pytest.mark.parametrize("fields,ok", [
    (head()[:2] + head()[3:] + [("host", "localhost")], True), (head() + [("host", "localhost")], True), (head() + [("host", "LOCALHOST")], True),
    (head() + [("host", "b.test")], False), (head() + [("host", "localhost"), ("host", "localhost")], False), (head() + [("host", "")], False),
    (head()[:2] + head()[3:] + [("host", "a b")], False)])
def test_8_3_1_host_beside_authority(client, fields, ok):
    if ok:
        assert client.answer(client.headers(fields)).status == 200
    else:
        malformed(client, client.headers(fields))


def test_8_5_connect_is_not_spoken(client):
    stream = client.headers([(":method", "CONNECT"), (":authority", "localhost:22")])
    got = client.outcome(stream)
    assert got in ("reset 1", "status 400", "status 405", "status 501"), got
    stream = client.headers(head("CONNECT") + [(":protocol", "websocket")])
    got = client.outcome(stream)
    assert got in ("reset 1", "status 400", "status 405", "status 501"), got


@pytest.mark.parametrize("length,body", [("5", b"1234"), ("5", b"123456"), ("5", b""), ("0", b"x")])
def test_8_1_1_the_length_is_the_bodys(client, length, body):
    # In one piece: a request that has no body by its length is answered without waiting for one.
    fields = client.block_of(head("POST", "/open/upload") + [("content-length", length)])
    client.send(frame(HEADERS, END_HEADERS, 1, fields) + frame(DATA, END_STREAM, 1, body))
    malformed(client, 1)
    assert client.ping()


def test_8_1_1_the_length_counts_over_frames(client):
    stream = client.headers(head("POST", "/open/upload") + [("content-length", "5")], end=False)
    client.send(frame(DATA, 0, stream, b"123") + frame(DATA, END_STREAM, stream, b"456"))
    malformed(client, stream)


@pytest.mark.parametrize("value", ["x", "-1", "+5", "5, 5", "0x5", "", " 5", "99999999999999999999"])
def test_8_1_1_a_length_is_a_number(client, value):
    malformed(client, client.headers(head("POST", "/open/upload") + [("content-length", value)], raw=True))


def test_8_1_1_two_lengths_are_one_too_many(client):
    malformed(client, client.headers(head("POST", "/open/upload") + [("content-length", "0"), ("content-length", "0")]))


def test_8_1_1_a_length_without_a_body(client):
    malformed(client, client.headers(head("POST", "/open/upload") + [("content-length", "5")]))


@pytest.mark.parametrize("trailer", [(":path", "/x"), (":method", "GET"), ("X-Upper", "y"), ("x", "a\r\nb"), ("connection", "close"), ("x y", "z")])
def test_8_1_trailers_are_checked_too(client, trailer):
    stream = client.headers(head("POST", "/open/upload"), end=False)
    client.data(stream, b"abc")
    client.headers([trailer], stream=stream, raw=True)
    malformed(client, stream)


def test_8_1_trailers_end_the_stream(client):
    stream = client.headers(head("POST", "/open/upload"), end=False)
    client.data(stream, b"abc")
    client.headers([("x-sum", "1")], end=False, stream=stream)
    stream_error(client, stream, PROTOCOL_ERROR)


def test_8_1_malformed_streams_leave_the_connection_as_it_was(client):
    for fields in (head() + [("connection", "close")], head() + [("x", "a\nb")], head("GET", "/a b"), head()[1:]):
        malformed(client, client.headers(fields, raw=True))
        well(client)


# -- RFC 7541
@pytest.mark.parametrize("block", [
    b"\x80",  # index 0
    b"\xff\xff\xff\x0f",  # an index far beyond the tables
    b"\xbe",  # the dynamic table is empty
    b"\x00\x05abc",  # a name cut off
    b"\x00\x82\xff\xff\x01a",  # EOS or bad padding in a Huffman name
    b"\x00\x81\x00\x01a",  # padding of zeros
    b"\x82\x20",  # a size update behind a field
    b"\x3f\xe2\x1f\x82",  # a size update above the limit
    b"\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"])  # an integer without end
def test_7541_what_cannot_be_decoded_ends_the_connection(client, block):
    client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
    connection_error(client, COMPRESSION_ERROR, PROTOCOL_ERROR)


def test_7541_indexed_and_never_indexed_fields_are_read(client):
    block = client.raw_block(head()) + b"\x10\x01a\x01b" + b"\x40\x01c\x01d" + b"\x00\x01e\x01f"
    client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
    client.next_stream = 3
    assert client.answer(1).status == 200
    client.send(frame(HEADERS, END_HEADERS | END_STREAM, 3, client.raw_block(head("GET", "/open/headers")) + b"\xbe"))
    got = dict((n.lower(), v) for n, v in json.loads(client.answer(3).body)["fields"])
    assert got["c"] == "d"

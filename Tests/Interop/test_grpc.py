# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""gRPC from end to end: grpcio calls grpcio through TLS and HTTP/2, then h2c or HTTP/2 over TLS."""
import json
import os
import queue
import time

import grpc
import pytest

import grpcserver
from conftest import ACCESS, route, to_h2
from grpcserver import Client
from nodes import usually

STATUS = grpc.StatusCode


@pytest.fixture(scope="module", params=["h2c", "tls"])
def server(request, authority):
    made = grpcserver.Server(tls=authority.issue("grpc", ["localhost", "127.0.0.1"]) if request.param == "tls" else None)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def over(make, server, authority):
    made = make([route("echo", "/test.Echo/", "grpc", access="open", timeouts={"total": "20s"}),
                 route("hasty", "/hasty.Echo/", "grpc", access="open", timeouts={"total": "1s"}),
                 route("keyed", "/keyed.Echo/", "grpc", access=ACCESS)],
                {"grpc": to_h2(server, authority)}, workers=1, http={"body": "2GiB"})
    made.create_organization("acme")
    return made


@pytest.fixture
def client(over, authority):
    with Client(over, authority) as made:
        yield made


@pytest.mark.parametrize("size", [0, 1, 100, 70_000, 3_000_000, 20 << 20])
def test_unary(client, size):
    message = os.urandom(size)
    assert client.unary("Unary")(message, timeout=60) == message


def test_many_unary_calls_at_once(client):
    call = client.unary("Unary")
    messages = [os.urandom(1000 + i) for i in range(300)]
    assert [f.result(30) for f in [call.future(m) for m in messages]] == messages


def test_server_streaming(client):
    assert list(client.server_stream("List")(b"1000", timeout=30)) == [b"%d" % i for i in range(1000)]
    assert list(client.server_stream("List")(b"0", timeout=30)) == []


def test_client_streaming(client):
    answer = client.client_stream("Count")(iter([b"x" * 5000] * 2000), timeout=60)
    assert json.loads(answer) == [2000, 10_000_000]
    assert json.loads(client.client_stream("Count")(iter([]), timeout=10)) == [0, 0]


def test_twenty_megabytes_in_a_stream(client):
    message = os.urandom(20 << 20)
    answers = client.both("Chat")(iter([message, b"after"]), timeout=60)
    assert next(answers) == b"heard " + message
    assert next(answers) == b"heard after"


def test_both_streaming_take_turns(client):
    said = queue.Queue()
    answers = client.both("Chat")(iter(said.get, None), timeout=30)
    for i in range(100):
        said.put(b"%d" % i)
        assert next(answers) == b"heard %d" % i
    said.put(None)
    assert list(answers) == []
    assert answers.code() == STATUS.OK


def test_both_streaming_may_be_silent_for_longer_than_an_answer_may_be_late(make, server, authority):
    """Once the answer has begun, either side may be silent while the other talks."""
    gateway = make([route("all", "/", "grpc", access="open", timeouts={"first_byte": "500ms", "idle": "2s"})], {"grpc": to_h2(server, authority)},
                   workers=1, timeouts={"idle": "1s"})
    with Client(gateway, authority) as client:
        said = queue.Queue()
        answers = client.both("Chat")(iter(said.get, None), timeout=30)
        said.put(b"1")
        assert next(answers) == b"heard 1"
        time.sleep(1.5)
        said.put(b"2")
        assert next(answers) == b"heard 2"
        said.put(None)
        assert list(answers) == []


def test_metadata_passes_both_ways(client):
    sent = [("x-text", "a b"), ("x-raw-bin", bytes(range(256))), ("x-many", "1"), ("x-many", "2")]
    answer, call = client.unary("Metadata").with_call(b"", metadata=sent, timeout=10)
    seen = [tuple(f) for f in json.loads(answer)]
    for name, value in sent:
        assert (name, value if isinstance(value, str) else value.hex()) in seen
    assert dict(seen)["user-agent"].startswith("grpc-python")
    initial, trailing = dict(call.initial_metadata()), dict(call.trailing_metadata())
    assert initial["x-initial"] == "1" and initial["x-initial-bin"] == b"\x00\x01\xff"
    assert trailing["x-trailing"] == "2" and trailing["x-trailing-bin"] == b"\xfe\x00"


def failure(call, *arguments, **options):
    with pytest.raises(grpc.RpcError) as error:
        result = call(*arguments, **options)
        list(result) if not isinstance(result, bytes) else None
    return error.value


def test_errors_pass_as_they_are(client):
    error = failure(client.unary("Fail"), b"", timeout=10)
    assert (error.code(), error.details()) == (STATUS.FAILED_PRECONDITION, "not now: größer")
    assert dict(error.trailing_metadata())["x-why"] == "because"
    assert failure(client.unary("Nothing"), b"", timeout=10).code() == STATUS.UNIMPLEMENTED


def test_an_error_after_messages(client):
    answers = client.server_stream("FailLate")(b"", timeout=10)
    got = []
    with pytest.raises(grpc.RpcError) as error:
        for answer in answers:
            got.append(answer)
    assert got == [b"one", b"two"]
    assert (error.value.code(), error.value.details()) == (STATUS.DATA_LOSS, "lost the rest")


def test_the_deadline_reaches_the_server_and_ends_the_call(client, server):
    client.unary("Unary")(b"x", timeout=7)
    assert 5 < server.service.calls[-1] <= 7
    server.service.cancelled.clear()
    began = time.monotonic()
    assert failure(client.unary("Sleep"), b"5", timeout=0.5).code() == STATUS.DEADLINE_EXCEEDED
    assert time.monotonic() - began < 1.5
    assert server.service.cancelled.wait(3)


def test_the_gateway_keeps_the_deadline_for_a_client_that_does_not(over):
    """A call by hand, whose client goes on waiting: the gateway answers when the time is up."""
    began = time.monotonic()
    answer = over.get("/test.Echo/Sleep", {"Content-Type": "application/grpc", "TE": "trailers", "grpc-timeout": "300m"}, method="POST",
                      body=b"\x00\x00\x00\x00\x013")
    assert answer.status == 200 and answer["grpc-status"] == "4"
    assert 0.2 < time.monotonic() - began < 1.5


def test_the_routes_total_time_is_a_deadline(over, authority, server):
    with Client(over, authority) as client:
        error = failure(client.channel.unary_unary("/hasty.Echo/Sleep"), b"5", timeout=10)
        assert error.code() == STATUS.DEADLINE_EXCEEDED
        got = []
        with pytest.raises(grpc.RpcError) as error:
            for message in client.channel.unary_stream("/hasty.Echo/Endless")(b"", timeout=10):
                got.append(message)
        assert error.value.code() == STATUS.DEADLINE_EXCEEDED and len(got) > 10


def test_a_client_that_cancels_is_heard_by_the_server(client, server):
    server.service.cancelled.clear()
    answers = client.server_stream("Endless")(b"")
    next(answers)
    answers.cancel()
    assert server.service.cancelled.wait(3)
    server.service.cancelled.clear()
    future = client.unary("Sleep").future(b"3")
    time.sleep(0.3)
    future.cancel()
    assert server.service.cancelled.wait(2)
    assert client.unary("Unary")(b"x", timeout=5) == b"x"


def test_messages_arrive_as_they_are_sent(client):
    def latest():
        late = [time.time() - float(message) for message in client.server_stream("Ticks")(b"", timeout=10)]
        assert len(late) == 10
        return max(late)

    usually(0.05, latest)


def test_refusals_are_grpc_statuses(over, authority):
    app = over.create_app("grpc")
    with Client(over, authority) as client:
        call = client.channel.unary_unary("/keyed.Echo/Unary")
        assert failure(call, b"x", timeout=10).code() == STATUS.UNAUTHENTICATED
        assert call(b"x", timeout=10, metadata=[(n.lower(), v) for n, v in app.fields.items()]) == b"x"
        assert failure(client.channel.unary_unary("/other.Service/X"), b"x", timeout=10).code() == STATUS.UNIMPLEMENTED


def test_an_upstream_that_is_away_is_unavailable(make, authority):
    import upstreams

    gateway = make([route("all", "/", "grpc", access="open")], {"grpc": {"endpoints": ["http://127.0.0.1:%d" % upstreams.free_port()], "protocol": "h2"}}, workers=1)
    with Client(gateway, authority) as client:
        error = failure(client.unary("Unary"), b"x", timeout=10)
        assert error.code() == STATUS.UNAVAILABLE and "upstream" in error.details()


def test_an_answer_cut_off_by_the_upstream_ends_with_a_status(alone, authority):
    def script(stream):
        stream.head(200, [("content-type", "application/grpc")])
        stream.send(b"\x00\x00\x00\x00\x03one")
        time.sleep(0.1)
        stream.reset(11 if stream.path.endswith("Calm") else 2)

    gateway, _ = alone(script)
    with Client(gateway, authority) as client:
        for name, code in [("Broken", STATUS.INTERNAL), ("Calm", STATUS.RESOURCE_EXHAUSTED)]:
            got = []
            with pytest.raises(grpc.RpcError) as error:
                for message in client.server_stream(name)(b"", timeout=10):
                    got.append(message)
            assert got == [b"one"] and error.value.code() == code


def test_trailers_only_passes_as_one_head(alone, authority):
    gateway, _ = alone(lambda stream: (stream.body(), stream.head(200, [
        ("content-type", "application/grpc"), ("grpc-status", "9"), ("grpc-message", "no%20messages"), ("x-extra-bin", "AP8")], end=True)))
    with Client(gateway, authority) as client:
        error = failure(client.unary("X"), b"x", timeout=10)
        assert (error.code(), error.details()) == (STATUS.FAILED_PRECONDITION, "no messages")
        assert dict(error.trailing_metadata())["x-extra-bin"] == b"\x00\xff"


def test_a_slow_reader_holds_the_server_back(client, server):
    """Fifty megabytes for a client that takes none of them stay where they are."""
    def script():
        answers = client.both("Chat")(iter([b"x" * (1 << 20)] * 50), timeout=60)
        time.sleep(2)
        return sum(len(a) for a in answers)

    assert script() == 50 * ((1 << 20) + 6)

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A real gRPC server and its client, without generated code: messages are bytes."""
import concurrent.futures
import json
import threading
import time

import grpc


class Service(grpc.GenericRpcHandler):
    """/test.Echo/…: one method for each kind of call, and some that misbehave."""

    def __init__(self):
        self.cancelled = threading.Event()
        self.calls = []

    def service(self, details):
        name = details.method.rpartition("/")[2]
        kinds = {
            "Unary": grpc.unary_unary_rpc_method_handler(self.unary),
            "Count": grpc.stream_unary_rpc_method_handler(self.count),
            "List": grpc.unary_stream_rpc_method_handler(self.list),
            "Chat": grpc.stream_stream_rpc_method_handler(self.chat),
            "Metadata": grpc.unary_unary_rpc_method_handler(self.metadata),
            "Fail": grpc.unary_unary_rpc_method_handler(self.fail),
            "FailLate": grpc.unary_stream_rpc_method_handler(self.fail_late),
            "Sleep": grpc.unary_unary_rpc_method_handler(self.sleep),
            "Endless": grpc.unary_stream_rpc_method_handler(self.endless),
            "Ticks": grpc.unary_stream_rpc_method_handler(self.ticks),
        }
        return kinds.get(name)

    def unary(self, request, context):
        self.calls.append(context.time_remaining())
        return request

    def count(self, requests, context):
        sizes = [len(r) for r in requests]
        return json.dumps([len(sizes), sum(sizes)]).encode()

    def list(self, request, context):
        for i in range(int(request)):
            yield b"%d" % i

    def chat(self, requests, context):
        for request in requests:
            yield b"heard " + request

    def metadata(self, request, context):
        seen = [[k, v if isinstance(v, str) else v.hex()] for k, v in context.invocation_metadata()]
        context.send_initial_metadata([("x-initial", "1"), ("x-initial-bin", b"\x00\x01\xff")])
        context.set_trailing_metadata([("x-trailing", "2"), ("x-trailing-bin", b"\xfe\x00")])
        return json.dumps(seen).encode()

    def fail(self, request, context):
        context.set_trailing_metadata([("x-why", "because")])
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now: größer")

    def fail_late(self, request, context):
        yield b"one"
        yield b"two"
        context.abort(grpc.StatusCode.DATA_LOSS, "lost the rest")

    def sleep(self, request, context):
        context.add_callback(self.cancelled.set)
        time.sleep(float(request))
        return b"woke"

    def endless(self, request, context):
        context.add_callback(self.cancelled.set)
        while context.is_active():
            yield b"x" * 100
            time.sleep(0.02)

    def ticks(self, request, context):
        for _ in range(10):
            yield b"%.6f" % time.time()
            time.sleep(0.05)


MEGABYTES = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]


class Server:
    def __init__(self, tls=None, options=()):
        self.service = Service()
        self.tls = tls
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(40), options=[*MEGABYTES, *options])
        self.server.add_generic_rpc_handlers((self.service,))
        if tls:
            certificate, key = (open(name, "rb").read() for name in tls)
            self.port = self.server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
        else:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    @property
    def endpoint(self):
        return "%s://127.0.0.1:%d" % ("https" if self.tls else "http", self.port)

    def stop(self, grace=None):
        return self.server.stop(grace)


class Client:
    """Calls methods by name, through TLS."""

    def __init__(self, gateway, authority, options=()):
        trust = grpc.ssl_channel_credentials(open(authority.path, "rb").read())
        self.channel = grpc.secure_channel("localhost:%d" % gateway.port, trust, options=[*MEGABYTES, *options])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def unary(self, name):
        return self.channel.unary_unary("/test.Echo/" + name)

    def server_stream(self, name):
        return self.channel.unary_stream("/test.Echo/" + name)

    def client_stream(self, name):
        return self.channel.stream_unary("/test.Echo/" + name)

    def both(self, name):
        return self.channel.stream_stream("/test.Echo/" + name)

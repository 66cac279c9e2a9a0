#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Upstreams that attack the gateway: prints its two ports, of HTTP/1.1 and of HTTP/2, and does what the path's last word names for as long
as it is listened to."""
import json
import os
import socket
import threading

import hpack

from frames import CONTINUATION, DATA, END_HEADERS, HEADERS, PING, PREFACE, PRIORITY, SETTINGS, WINDOW_UPDATE, frame, number, settings

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b"X: " + b"y" * 4000 + b"\r\n"
# What goes first, and what goes on for ever.
PLAIN = {
    "interims": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100),
    "fields": (HEAD, LINE * 10),
    "line": (b"HTTP/1.1 200 ", b"O" * 65536),
    "chunks": (CHUNKED, b"1\r\nx\r\n" * 5000),
    "extensions": (CHUNKED, b"1;" + b"a" * 200 + b"\r\nx\r\n"),
    "trailers": (CHUNKED + b"0\r\n", LINE * 10),
    "bytes": (HEAD + b"\r\n", bytes(1 << 20)),
}
# Takes whatever comes, and answers once the client has ended it, which it need not.
PATIENT = "patient"
FIRST = b"\x00\x07:status\x03103"
OK = b"\x88"
FRAMED = {
    "interims": lambda s: (b"", frame(HEADERS, END_HEADERS, s, FIRST) * 100),
    "settings": lambda s: (b"", frame(SETTINGS, payload=settings({1: 0})) * 500),
    "pings": lambda s: (b"", frame(PING, payload=bytes(8)) * 1000),
    "empties": lambda s: (frame(HEADERS, END_HEADERS, s, OK), frame(DATA, 0, s) * 1000),
    "windows": lambda s: (b"", frame(WINDOW_UPDATE, payload=number(1)) * 2000),
    "priorities": lambda s: (b"", frame(PRIORITY, 0, s, b"\0\0\0\0\x10") * 2000),
    "continuations": lambda s: (frame(HEADERS, 0, s, OK), frame(CONTINUATION, 0, s, b"\x00\x01x\x7f\xb1\x0f" + b"y" * 2096) * 20),
    "pieces": lambda s: (frame(HEADERS, END_HEADERS, s, OK), frame(DATA, 0, s, b"x") * 1000),
}


def serve(listener, one):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=guarded, args=(one, client), daemon=True).start()


def guarded(one, client):
    try:
        with client:
            client.settimeout(20)
            one(client)
    except (OSError, ValueError):
        pass


def word(head):
    return head.split(b" ", 2)[1].decode().rpartition("/")[2]


def plain(client):
    head = b""
    while b"\r\n\r\n" not in head:
        if not (data := client.recv(65536)):
            return
        head += data
    if word(head) == PATIENT:
        while client.recv(65536):
            pass
        return
    first, on = PLAIN[word(head)]
    client.sendall(first)
    while True:
        client.sendall(on)


def framed(client):
    """The attack that the first request names; whatever else comes is passed over."""
    client.sendall(frame(SETTINGS, payload=settings({})) + frame(SETTINGS, 1))
    stream = client.makefile("rb")
    stream.read(len(PREFACE))
    decoder = hpack.Decoder()
    while header := stream.read(9):
        payload = stream.read(int.from_bytes(header[:3], "big"))
        if header[3] == HEADERS:
            path = dict(decoder.decode(payload))[":path"]
            first, on = FRAMED[path.rpartition("/")[2]](int.from_bytes(header[5:9], "big"))
            client.sendall(first)
            while True:
                client.sendall(on)


def main():
    ports = []
    for one in (plain, framed):
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        ports.append(listener.getsockname()[1])
        threading.Thread(target=serve, args=(listener, one), daemon=True).start()
    print(json.dumps(ports), flush=True)
    while os.read(0, 1):
        pass


if __name__ == "__main__":
    main()

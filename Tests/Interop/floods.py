#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Attacks on one gateway, each in a process of its own, and the good client whose latency is watched meanwhile.

  floods.py attack NAME --port P --clear-port P [--seconds 4] [--connections 20] [--source 127.0.0.66]
  floods.py client --port P [--seconds 4]
"""
import argparse
import contextlib
import json
import os
import select
import socket
import ssl
import sys
import threading
import time

import frames as h2
import hostile
from frames import CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PADDED, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, number
from wire import anything


class Attacker:
    """One connection of an attacker: bytes out until it is cut or time is up."""

    def __init__(self, options, tls, alpn=None, receive=None, context=None):
        self.sent, self.cut = 0, False
        self.end = options.end
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        raw.settimeout(3)
        raw.bind((options.source, 0))
        raw.connect(("127.0.0.1", options.port if tls else options.clear_port))
        self.socket = raw
        if tls:
            context = context or anything()
            if alpn:
                context.set_alpn_protocols([alpn])
            self.socket = context.wrap_socket(raw, server_hostname="localhost")
        self.socket.setblocking(False)

    def left(self):
        return self.end - time.monotonic()

    def push(self, data, reads=True):
        """Sends all of `data`, reading away what comes; False once the connection was cut or time is up."""
        view = memoryview(data)
        while view:
            if self.left() <= 0:
                return False
            try:
                count = self.socket.send(view[:262144])
                self.sent += count
                view = view[count:]
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                readable, _, _ = select.select([self.socket] if reads else [], [self.socket], [], 0.05)
                if readable and not self.drain():
                    return False
            except OSError:
                self.cut = True
                return False
        return self.drain() if reads else True

    def drain(self):
        try:
            while True:
                if not self.socket.recv(262144):
                    self.cut = True
                    return False
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except OSError:
            self.cut = True
            return False

    def hold(self, seconds=60.0):
        """Does nothing until the peer closes or time is up; True when it was cut."""
        end = min(self.end, time.monotonic() + seconds)
        while time.monotonic() < end:
            readable, _, _ = select.select([self.socket], [], [], min(0.2, max(0.0, end - time.monotonic())))
            if readable and not self.drain():
                return True
        return False

    def close(self):
        self.socket.close()


BLOCK = b"\x82\x87\x41\x09localhost\x04\x03/ok"  # GET https localhost /ok, without indexing the path
POST = b"\x83\x87\x41\x09localhost\x04\x03/ok"
PATIENT = b"/hostile/" + hostile.PATIENT.encode()
SLOW = b"\x83\x87\x41\x09localhost\x04" + bytes([len(PATIENT)]) + PATIENT
BIG = b"\x82\x87\x41\x09localhost\x04\x09/file/big"


def h2_start(options, values=None, receive=None):
    attacker = Attacker(options, True, "h2", receive)
    attacker.push(PREFACE + frame(SETTINGS, payload=h2.settings(values or {})))
    return attacker


def streams(make, first=1, count=500):
    return b"".join(make(first + 2 * i) for i in range(count))


def endless(options, make, values=None, reads=True, receive=None, first=b""):
    """Pushes make(n) for n = 0, 1, … until it is cut."""
    attacker = h2_start(options, values, receive)
    try:
        number_of = 0
        alive = attacker.push(first, reads)
        while alive and (alive := attacker.push(make(number_of), reads)):
            number_of += 1
        if not attacker.cut and not reads:
            attacker.cut = attacker.hold()
        return attacker
    finally:
        attacker.close()


# -- HTTP/2 ------------------------------------------------------------------

def rapid_reset(options):
    return endless(options, lambda n: streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BLOCK) + frame(RST_STREAM, 0, s, number(8)), 1 + 1000 * n))


def provoked_resets(options):
    return endless(options, lambda n: streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BLOCK) + frame(WINDOW_UPDATE, 0, s, number(0x7FFFFFFF)), 1 + 1000 * n))


def provoked_by_data(options):
    return endless(options, lambda n: streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BLOCK) + frame(DATA, 0, s, b"x"), 1 + 1000 * n))


def continuations(options):
    piece = b"\x00\x01x\x40" + b"y" * 64
    return endless(options, lambda n: frame(CONTINUATION, 0, 1, piece * 10) * 50, first=frame(HEADERS, END_STREAM, 1, BLOCK))


def settings_flood(options):
    return endless(options, lambda n: frame(SETTINGS, payload=h2.settings({h2.HEADER_TABLE_SIZE: n % 4096})) * 500)


def ping_flood(options):
    return endless(options, lambda n: frame(PING, payload=bytes(8)) * 1000)


def ping_flood_unread(options):
    return endless(options, lambda n: frame(PING, payload=bytes(8)) * 1000, reads=False, receive=2048)


def empty_data(options):
    return endless(options, lambda n: frame(DATA, 0, 1) * 1000, first=frame(HEADERS, END_HEADERS, 1, POST))


def padded_data(options):
    """DATA of nothing but padding."""
    return endless(options, lambda n: frame(DATA, PADDED, 1, b"\7" + bytes(7)) * 500, first=frame(HEADERS, END_HEADERS, 1, POST))


def tiny_data(options):
    """A body in frames of one byte."""
    return endless(options, lambda n: frame(DATA, 0, 1, b"x") * 1000, first=frame(HEADERS, END_HEADERS, 1, POST))


def empty_headers(options):
    return endless(options, lambda n: frame(CONTINUATION, 0, 1) * 1000, first=frame(HEADERS, END_STREAM, 1, b""))


def window_updates(options):
    return endless(options, lambda n: frame(WINDOW_UPDATE, payload=number(1)) * 2000)


def stream_window_updates(options):
    first = frame(HEADERS, END_HEADERS, 1, POST)
    return endless(options, lambda n: frame(WINDOW_UPDATE, 0, 1, number(1)) * 2000, first=first)


def settings_flood_unread(options):
    """Settings whose acknowledgements nobody reads."""
    return endless(options, lambda n: frame(SETTINGS, payload=h2.settings({h2.HEADER_TABLE_SIZE: n % 4096})) * 500, reads=False, receive=2048)


def window_swings(options):
    """Every stream's window made small and large, with answers that wait for it."""
    first = streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BIG), count=100)
    swing = b"".join(frame(SETTINGS, payload=h2.settings({h2.INITIAL_WINDOW_SIZE: size})) for size in (0, 16384))
    return endless(options, lambda n: swing, {h2.INITIAL_WINDOW_SIZE: 0}, first=first)


def farewells(options):
    return endless(options, lambda n: frame(h2.GOAWAY, payload=number(0) + number(0)) * 1000)


def priorities(options):
    return endless(options, lambda n: frame(PRIORITY, 0, 1, b"\0\0\0\0\x10") * 2000)


def unknown_frames(options):
    return endless(options, lambda n: frame(0x4F, 0, 0, b"x" * 100) * 500)


def hpack_bomb(options):
    """One value of 3,900 bytes in the table, then one byte for each repetition."""
    value = b"\x40\x01x\x7f" + bytes([0x80 | (3900 - 127) & 127, (3900 - 127) >> 7]) + b"a" * 3900
    first = frame(HEADERS, END_HEADERS | END_STREAM, 1, BLOCK + value)
    return endless(options, lambda n: streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BLOCK + b"\xbe" * 15000), 3 + 40 * n, 20), first=first)


def header_bomb(options):
    big = b"\x00\x01x\x7f" + bytes([0x80 | (8000 - 127) & 127, (8000 - 127) >> 7]) + b"b" * 8000
    return endless(options, lambda n: streams(
        lambda s: frame(HEADERS, END_STREAM, s, BLOCK + big) + frame(CONTINUATION, 0, s, big) * 4 + frame(CONTINUATION, END_HEADERS, s, big), 1 + 40 * n, 20))


def cookie_crumbs(options):
    """One cookie in the table, which nothing else enters, then one byte for each crumb that is to be joined."""
    block = BLOCK.replace(b"\x41", b"\x01")
    first = frame(HEADERS, END_HEADERS | END_STREAM, 1, block + b"\x60\x7f" + bytes([0x80 | (3900 - 127) & 127, (3900 - 127) >> 7]) + b"c" * 3900)
    return endless(options, lambda n: streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, block + b"\xbe" * 50), 3 + 40 * n, 20), first=first)


def tiny_continuations(options):
    """A head of one byte a frame."""
    return endless(options, lambda n: b"".join(frame(CONTINUATION, 0, 1, bytes([byte])) for byte in b"\x00\x01x\x01y" * 200), first=frame(HEADERS, END_STREAM, 1, BLOCK))


def large_trailers(options):
    """Trailers beyond what is kept, behind a body of one byte."""
    big = b"\x00\x01x\x7f" + bytes([0x80 | (8000 - 127) & 127, (8000 - 127) >> 7]) + b"b" * 8000
    return endless(options, lambda n: streams(
        lambda s: frame(HEADERS, END_HEADERS, s, POST) + frame(DATA, 0, s, b"x") + frame(HEADERS, END_STREAM, s, big) + frame(CONTINUATION, 0, s, big) * 4
        + frame(CONTINUATION, END_HEADERS, s, big), 1 + 40 * n, 20))


def table_resizes(options):
    """HPACK table sizes up and down in every block."""
    block = b"\x3f\xe1\x1f\x20\x3f\xe1\x1f" + BLOCK
    return endless(options, lambda n: streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, block), 1 + 400 * n, 200))


def zero_windows(options):
    """Answers of 100 MB on every stream, and no window to send them into."""
    attacker = h2_start(options, {h2.INITIAL_WINDOW_SIZE: 0})
    attacker.push(streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BIG), count=100))
    attacker.cut |= attacker.hold()
    attacker.close()
    return attacker


def tiny_windows(options):
    first = frame(HEADERS, END_HEADERS | END_STREAM, 1, BIG)
    return endless(options, lambda n: frame(WINDOW_UPDATE, 0, 1, number(1)) * 100, {h2.INITIAL_WINDOW_SIZE: 1}, first=first)


def many_streams(options):
    """As many open requests as are taken, bodies that never come, and some more."""
    attacker = h2_start(options)
    attacker.push(streams(lambda s: frame(HEADERS, END_HEADERS, s, POST), count=150))
    attacker.cut |= attacker.hold()
    attacker.close()
    return attacker


def unread_answers(options):
    """Large windows, large answers, and a socket that is not read."""
    attacker = h2_start(options, {h2.INITIAL_WINDOW_SIZE: 0x7FFFFFFF}, receive=2048)
    attacker.push(frame(WINDOW_UPDATE, payload=number(0x7FFF0000 - 65535)) + streams(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BIG), count=100), reads=False)
    while attacker.left() > 0:
        time.sleep(0.2)
        try:
            attacker.socket.send(b"")
            attacker.sent += attacker.socket.send(frame(PING, payload=bytes(8)))
        except (BlockingIOError, ssl.SSLWantWriteError):
            pass
        except OSError:
            attacker.cut = True
            break
    attacker.close()
    return attacker


def slow_bodies_h2(options):
    attacker = h2_start(options)
    attacker.push(streams(lambda s: frame(HEADERS, END_HEADERS, s, SLOW), count=50))
    while attacker.push(streams(lambda s: frame(DATA, 0, s, b"x"), count=50)):
        time.sleep(0.2)
    attacker.close()
    return attacker


def silent_h2(options):
    """The preface, and nothing more."""
    attacker = Attacker(options, True, "h2")
    attacker.push(PREFACE)
    attacker.cut |= attacker.hold()
    attacker.close()
    return attacker


def slow_head_h2(options):
    attacker = h2_start(options)
    attacker.push(frame(HEADERS, END_STREAM, 1, BLOCK[:3]))
    attacker.cut |= attacker.hold()
    attacker.close()
    return attacker


def large_window_uploads(options):
    """Bodies as fast as the windows let them, to a server that reads them."""
    body = frame(DATA, 0, 1, bytes(16384))
    return endless(options, lambda n: body * 4, first=frame(HEADERS, END_HEADERS, 1, POST))


# -- HTTP/1.1 ----------------------------------------------------------------

def one(options, tls=False, first=b"", make=None, reads=True, pause=0.0, receive=None):
    attacker = Attacker(options, tls, receive=receive)
    try:
        alive, number_of = attacker.push(first, reads), 0
        while alive and make:
            alive = attacker.push(make(number_of), reads)
            number_of += 1
            if pause:
                time.sleep(pause)
        if not attacker.cut:
            attacker.cut = attacker.hold() if reads else False
        return attacker
    finally:
        attacker.close()


HOST = b"Host: localhost\r\n"


def slow_heads(options):
    return one(options, first=b"GET / HTTP/1.1\r\n" + HOST, make=lambda n: b"X-%d: y\r\n" % n if n < 60 else b"", pause=0.2)


def slow_bodies(options):
    return one(options, first=b"POST %s HTTP/1.1\r\n" % PATIENT + HOST + b"Content-Length: 1000000\r\n\r\n", make=lambda n: b"x", pause=0.2)


def slow_readers(options):
    attacker = Attacker(options, False, receive=2048)
    attacker.push(b"GET /file/big HTTP/1.1\r\n" + HOST + b"\r\n", reads=False)
    while attacker.left() > 0 and not attacker.cut:
        time.sleep(0.2)
        try:
            if not attacker.socket.recv(10):
                attacker.cut = True
        except BlockingIOError:
            pass
        except OSError:
            attacker.cut = True
    attacker.close()
    return attacker


def pipelined_unread(options):
    return one(options, make=lambda n: (b"GET /file/small HTTP/1.1\r\n" + HOST + b"\r\n") * 200, reads=False, receive=2048)


def pipelined(options):
    return one(options, make=lambda n: (b"GET /ok HTTP/1.1\r\n" + HOST + b"\r\n") * 20)


def endless_head(options):
    return one(options, first=b"GET / HTTP/1.1\r\n" + HOST, make=lambda n: b"X-%d: " % n + b"y" * 4000 + b"\r\n")


def byte_by_byte(options):
    """A head in packets of one byte, as fast as they go."""
    attacker = Attacker(options, False)
    attacker.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in b"GET /ok HTTP/1.1\r\n" + HOST + b"X-A: b\r\n" * 600 + b"\r\n":
        if not attacker.push(bytes([byte]), reads=False):
            break
    attacker.cut |= attacker.hold(0.2)
    attacker.close()
    return attacker


def expectations(options):
    """Bodies that are announced, waited for and never sent."""
    return one(options, first=b"PUT /file/put HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n")


def endless_line(options):
    return one(options, first=b"GET /", make=lambda n: b"y" * 65536)


def many_fields(options):
    return one(options, first=b"GET / HTTP/1.1\r\n" + HOST, make=lambda n: b"a:\r\n" * 1000)


def empty_lines(options):
    return one(options, make=lambda n: b"\r\n" * 10000)


def tiny_chunks(options):
    return one(options, first=b"POST /ok HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", make=lambda n: b"1\r\nx\r\n" * 5000)


def chunk_extensions(options):
    return one(options, first=b"POST /ok HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", make=lambda n: b"1;" + b"a" * 200 + b"\r\nx\r\n")


def endless_trailers(options):
    return one(options, first=b"POST /ok HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", make=lambda n: b"X: " + b"y" * 4000 + b"\r\n")


def connections(options):
    attacker = Attacker(options, False)
    attacker.close()
    attacker.cut = True
    return attacker


def idle_connections(options):
    return one(options)


def handshakes(options):
    attacker = Attacker(options, True)
    attacker.close()
    attacker.cut = True
    return attacker


def hellos(options):
    """A whole ClientHello, for which the gateway signs, and never the rest."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        anything().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return raw_tls(options, outgoing.read())


def broken_handshakes(options):
    return raw_tls(options, b"\x16\x03\x01\x40\x00" + bytes(0x4000))


def stalled_handshakes(options):
    return raw_tls(options, b"\x16\x03\x01\x02\x00\x01")


def raw_tls(options, data):
    return one(argparse.Namespace(**{**vars(options), "clear_port": options.port}), first=data)


# -- upstreams ---------------------------------------------------------------

def asking(path):
    """A client that asks for what an upstream does, and reads as fast as it comes."""
    def attack(options):
        return one(options, first=b"GET %s HTTP/1.1\r\n" % path.encode() + HOST + b"Connection: close\r\n\r\n")

    attack.__name__ = "upstream_" + path.rpartition("/")[2] + ("_h2" if "framed" in path else "")
    return attack


ATTACKS = {
    "h1": [slow_heads, slow_bodies, slow_readers, pipelined, pipelined_unread, endless_head, endless_line, many_fields, empty_lines,
           tiny_chunks, chunk_extensions, endless_trailers, byte_by_byte, expectations, connections, idle_connections, handshakes, hellos, broken_handshakes,
           stalled_handshakes],
    "h2": [rapid_reset, provoked_resets, provoked_by_data, continuations, settings_flood, ping_flood, ping_flood_unread, empty_data,
           empty_headers, window_updates, priorities, unknown_frames, hpack_bomb, header_bomb, table_resizes, zero_windows, tiny_windows,
           many_streams, unread_answers, slow_bodies_h2, slow_head_h2, large_window_uploads, padded_data, tiny_data, stream_window_updates,
           settings_flood_unread, window_swings, farewells, cookie_crumbs, tiny_continuations, large_trailers, silent_h2],
    "upstream": [asking("/hostile/" + word) for word in hostile.PLAIN] + [asking("/framed/" + word) for word in hostile.FRAMED],
}
BY_NAME = {f.__name__: f for group in ATTACKS.values() for f in group}


def attack(options):
    """Keeps `connections` attackers busy until time is up."""
    body = BY_NAME[options.name]
    options.end = time.monotonic() + options.seconds
    totals = {"bytes": 0, "connections": 0, "cut": 0, "refused": 0}
    lock = threading.Lock()

    def run():
        while time.monotonic() < options.end:
            try:
                attacker = body(options)
            except OSError:
                with lock:
                    totals["refused"] += 1
                time.sleep(0.02)
                continue
            with lock:
                totals["bytes"] += attacker.sent
                totals["connections"] += 1
                totals["cut"] += attacker.cut

    threads = [threading.Thread(target=run) for _ in range(options.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return totals


def client(options):
    """One good client: a request each 5 ms on a connection that it renews after 40; gives its latencies in milliseconds.

    `open` is how long it takes to a new connection's first answer, the median; `each` is when each request began, and its latency."""
    times, begun, opening, failures, context = [], [], [], 0, anything()
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        opened = time.perf_counter()
        try:
            raw = socket.create_connection(("127.0.0.1", options.port), 5)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with context.wrap_socket(raw, server_hostname="localhost") as one:
                for number in range(40):
                    began = time.perf_counter()
                    one.sendall(b"GET /file/good HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    data = b""
                    while b"\r\n\r\n" not in data or len(data) < data.index(b"\r\n\r\n") + 7:
                        part = one.recv(65536)
                        if not part:
                            raise EOFError
                        data += part
                    times.append((time.perf_counter() - began) * 1000)
                    begun.append(began)
                    if number == 0:
                        opening.append((time.perf_counter() - opened) * 1000)
                    if b" 200 " not in data[:20]:
                        failures += 1
                    if time.monotonic() > end:
                        break
                    time.sleep(0.005)
        except (OSError, EOFError):
            failures += 1
            time.sleep(0.01)
    return {"requests": len(times), "failures": failures, "p50": pick(times, 0.5), "p99": pick(times, 0.99), "most": pick(times, 1.0),
            "open": pick(opening, 0.5), "each": list(zip(begun, times))}


def pick(of, share):
    return round(sorted(of)[min(len(of) - 1, int(share * len(of)))], 3) if of else None


def beside(processes, at_once=False):
    """Keeps processes, with all their threads, on the first processor: the gateway and who is watched; `at_once`: before all others."""
    for process in processes:
        for thread in os.listdir("/proc/%d/task" % process):
            os.sched_setaffinity(int(thread), {min(os.sched_getaffinity(0))})
            if at_once:
                with contextlib.suppress(PermissionError):
                    os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(1))


def elsewhere(processes, at_last=False):
    """Keeps processes on the last processor, as if they ran on another machine than the gateway: the attack, and the back end that it reaches;
    `at_last`: they take it only when nobody else wants it."""
    for process in processes:
        os.sched_setaffinity(process, {max(os.sched_getaffinity(0))})
        if at_last:
            os.sched_setscheduler(process, os.SCHED_IDLE, os.sched_param(0))


def settle(mode):
    """The attack takes its processor only when nobody else wants it; the good client, which sleeps nearly always, is served at once."""
    if mode == "attack":
        elsewhere([0], at_last=True)
    else:
        beside([os.getpid()], at_once=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["attack", "client"])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--clear-port", type=int)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--source", default="127.0.0.66")
    options = parser.parse_args()
    settle(options.mode)
    print(json.dumps(attack(options) if options.mode == "attack" else client(options)))


if __name__ == "__main__":
    sys.exit(main())

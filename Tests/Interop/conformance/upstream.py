#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Strict recording HTTP/1.1 upstream used by the kit (stdlib only).

As a module: Recorder(port).start(); .begin() starts a case, .end() returns what arrived; every byte is kept.
As a program: upstream.py PORT    an ordinary always-200 upstream (for h2spec, slow-client and tool runs), with
  /sse (5 events, 0.2 s apart)  /slow?s=2 (long poll)  /size?n=100000  /echo (returns the body)  /ws (WebSocket echo).

The parser is deliberately strict (RFC 9112 taken literally, no leniency).  What it cannot read, or can read in two
ways, is reported in `lint`: the point is whether a *different* backend could frame the forwarded bytes differently.
"""
import base64, hashlib, re, socket, sys, threading, time

TCHAR = re.compile(rb"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$")
TARGET = re.compile(rb"^[\x21-\x7e]+$")
HOP = {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"proxy-authenticate"}
TRAILER_BAD = {b"content-length", b"transfer-encoding", b"host", b"content-encoding", b"content-type", b"content-range", b"trailer",
               b"connection", b"authorization", b"set-cookie", b"te", b"upgrade", b"cache-control", b"max-forwards"}


SOFT = ("bad Host value", "bad target", "bad version", "0 Host", "CTL in header", "forbidden trailer", "fragment", "bad method")


def framing(lint):
    """The lint that lets another backend frame or split the bytes differently (the rest is only invalid)."""
    return [x for x in lint if not x.startswith(SOFT)]


class Req:
    def __init__(self):
        self.method = self.target = self.version = b""
        self.headers, self.trailers, self.lint, self.hop = [], [], [], []
        self.head, self.body, self.complete, self.chunked = b"", b"", False, False

    def get(self, n):
        return [v for k, v in self.headers if k.lower() == n]

    def d(self):
        L = lambda b: b.decode("latin-1")
        return {"method": L(self.method), "target": L(self.target), "version": L(self.version), "complete": self.complete,
                "headers": [[L(k), L(v)] for k, v in self.headers], "trailers": [[L(k), L(v)] for k, v in self.trailers],
                "body": L(self.body[:400]), "body_len": len(self.body), "chunked": self.chunked, "lint": self.lint, "hop": self.hop}


def parse_head(head):
    """head: bytes up to and including the blank line. Returns Req (lint filled)."""
    r = Req(); r.head = head
    L = r.lint
    if b"\x00" in head: L.append("NUL in head")
    if re.search(rb"(?<!\r)\n", head): L.append("bare LF in head")
    if re.search(rb"\r(?!\n)", head): L.append("bare CR in head")
    lines = head[:-4].split(b"\r\n") if head.endswith(b"\r\n\r\n") else re.split(rb"\r?\n", head.rstrip(b"\r\n"))
    rl = lines[0]
    p = rl.split(b" ")
    if len(p) != 3:
        L.append("request-line not 3 parts")
        p = (p + [b"", b""])[:2] + [p[-1]]
    r.method, r.target, r.version = p
    if not TCHAR.match(r.method or b""): L.append("bad method")
    if not TARGET.match(r.target or b""): L.append("bad target bytes")
    if b"#" in r.target: L.append("fragment in target")
    if not (r.target.startswith(b"/") or (r.target == b"*" and r.method == b"OPTIONS") or re.match(rb"^https?://[^/?#]", r.target, re.I) or r.method == b"CONNECT"):
        L.append("bad target form")
    if not re.match(rb"^HTTP/1\.[01]$", r.version): L.append("bad version")
    for ln in lines[1:]:
        if ln[:1] in (b" ", b"\t"):
            L.append("obs-fold / leading space line"); continue
        n, c, v = ln.partition(b":")
        if not c:
            L.append("header line without colon"); continue
        if not TCHAR.match(n):
            L.append("bad header name %r" % n.decode("latin-1"))
        if re.search(rb"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]", v): L.append("CTL in header value")
        r.headers.append((n, v.strip(b" \t")))
    cl, te, host = r.get(b"content-length"), r.get(b"transfer-encoding"), r.get(b"host")
    if len(cl) > 1: L.append("several Content-Length")
    if any(not re.match(rb"^[0-9]+$", c) for c in cl): L.append("bad Content-Length")
    if cl and te: L.append("CL and TE together")
    if len(te) > 1: L.append("several Transfer-Encoding")
    if te and b",".join(te).strip().lower() != b"chunked": L.append("TE is not exactly chunked")
    if te and r.version == b"HTTP/1.0": L.append("TE in HTTP/1.0")
    if len(host) > 1 or (not host and r.version == b"HTTP/1.1"): L.append("%d Host headers" % len(host))
    if host and not re.match(rb"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]*)(:[0-9]*)?$", host[0]): L.append("bad Host value")
    for k, v in r.headers:
        kl = k.lower()
        if kl.replace(b"_", b"-") in (b"content-length", b"transfer-encoding") and b"_" in kl: r.hop.append("underscore alias " + kl.decode("latin-1"))
        if kl in (b"keep-alive", b"proxy-connection"): r.hop.append(kl.decode())
        if kl == b"te" and v.lower() != b"trailers": r.hop.append("te: " + v.decode("latin-1"))
        if kl == b"connection":
            for t in v.lower().split(b","):
                t = t.strip()
                if t and t not in (b"close", b"keep-alive", b"upgrade", b"te", b"http2-settings"): r.hop.append("connection: " + t.decode("latin-1"))
    return r


class Conn:
    """Incremental strict parser of one upstream connection."""
    def __init__(self):
        self.raw, self.pos, self.reqs, self.dead, self.tail_err = bytearray(), 0, [], False, None
        self.cur = None; self.phase = "head"; self.need = 0

    def feed(self, data):
        self.raw += data
        done = []
        while not self.dead:
            b = bytes(self.raw[self.pos:])
            if self.phase == "head":
                if not b: break
                m = re.search(rb"\r?\n\r?\n", b)
                if not m: break
                r = parse_head(b[:m.end()]); self.pos += m.end(); self.cur = r; self.reqs.append(r)
                te, cl = r.get(b"transfer-encoding"), r.get(b"content-length")
                if te:
                    if b"chunked" in te[-1].lower(): r.chunked = True; self.phase = "size"
                    else: r.lint.append("TE present, body length unknown"); self.dead = True; r.complete = True; done.append(r)
                elif cl and re.match(rb"^[0-9]+$", cl[0]): self.need = int(cl[0]); self.phase = "cl"
                else: self.need = 0; self.phase = "cl"
            elif self.phase == "cl":
                t = b[:self.need]; self.cur.body += t; self.pos += len(t); self.need -= len(t)
                if self.need: break
                self.cur.complete = True; done.append(self.cur); self.phase = "head"
                if b"upgrade" in [k.lower() for k, v in self.cur.headers] and self.cur.get(b"upgrade")[0].lower() == b"websocket": self.phase = "tunnel"
            elif self.phase == "size":
                i = b.find(b"\n")
                if i < 0: break
                ln = b[:i + 1]; self.pos += i + 1
                m = re.match(rb"^([0-9A-Fa-f]{1,16})((?:[ \t]*;[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|\"[^\"\r\n\x00]*\"))?)*)\r\n$", ln)
                if not m:
                    self.cur.lint.append("bad chunk line %r" % ln[:40].decode("latin-1"))
                    m = re.match(rb"^[ \t]*([0-9A-Fa-f]{1,16})", ln)
                    if not m: self.dead = True; break
                self.need = int(m.group(1), 16); self.phase = "data" if self.need else "trail"
            elif self.phase == "data":
                t = b[:self.need]; self.cur.body += t; self.pos += len(t); self.need -= len(t)
                if self.need: break
                b = bytes(self.raw[self.pos:])
                if len(b) < 2: break
                if b[:2] != b"\r\n": self.cur.lint.append("no CRLF after chunk data"); self.dead = True; break
                self.pos += 2; self.phase = "size"
            elif self.phase == "trail":
                i = b.find(b"\n")
                if i < 0: break
                ln = b[:i + 1]; self.pos += i + 1
                if ln in (b"\r\n", b"\n"):
                    if ln == b"\n": self.cur.lint.append("bare LF ends trailers")
                    self.cur.complete = True; done.append(self.cur); self.phase = "head"; continue
                n, c, v = ln.rstrip(b"\r\n").partition(b":")
                if not c or not TCHAR.match(n): self.cur.lint.append("bad trailer line")
                elif n.lower() in TRAILER_BAD: self.cur.lint.append("forbidden trailer " + n.decode("latin-1"))
                if re.search(rb"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]", v) or not ln.endswith(b"\r\n"): self.cur.lint.append("bad trailer bytes")
                self.cur.trailers.append((n, v.strip(b" \t")))
            else: break
        return done

    def leftover(self):
        return bytes(self.raw[self.pos:]) if self.phase == "head" else b""


class Recorder:
    def __init__(self, port, host="127.0.0.1", respond=None):
        self.port, self.host, self.lock = port, host, threading.Lock()
        self.conns, self.socks, self.n, self.respond = [], [], 0, respond

    def start(self):
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((self.host, self.port)); s.listen(512); self.ls = s
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def _accept(self):
        while True:
            try: c, _ = self.ls.accept()
            except OSError: return
            threading.Thread(target=self._serve, args=(c,), daemon=True).start()

    def _serve(self, c):
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        k = Conn()
        with self.lock: self.conns.append(k); self.socks.append(c)
        try:
            while True:
                d = c.recv(65536)
                if not d: break
                with self.lock: done = k.feed(d)
                for r in done:
                    with self.lock: self.n += 1; n = self.n
                    if self.respond:
                        if self.respond(c, r, k) is False: return
                        continue
                    b = b"up %d\n" % n
                    c.sendall(b"HTTP/1.1 200 OK\r\nX-Up: %d\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (n, len(b)) + (b"" if r.method == b"HEAD" else b))
                if k.dead:
                    c.sendall(b"HTTP/1.1 400 Bad Request\r\nX-Up: bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"); break
        except OSError: pass
        finally:
            try: c.close()
            except OSError: pass
            with self.lock:
                if c in self.socks: self.socks.remove(c)

    def begin(self):
        with self.lock:
            for c in self.socks:
                try: c.shutdown(socket.SHUT_RDWR)
                except OSError: pass
        time.sleep(0.02)
        with self.lock: self.conns = []; self.n = 0

    def end(self):
        with self.lock:
            ks = [k for k in self.conns if k.raw]
            return {"requests": [r for k in ks for r in k.reqs], "raw": [bytes(k.raw) for k in ks], "left": [k.leftover() for k in ks if k.leftover()]}

    def stop(self):
        try: self.ls.shutdown(socket.SHUT_RDWR)
        except OSError: pass
        self.ls.close(); self.begin()


def ordinary(c, r, k):
    t = r.target.decode("latin-1"); t = re.sub(r"^https?://[^/]*", "", t) or "/"
    path, _, q = t.partition("?")
    hd = b"HTTP/1.1 200 OK\r\nServer: kit\r\n"
    if path == "/sse":
        c.sendall(hd + b"Content-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(5):
            e = b"id: %d\ndata: %.3f\n\n" % (i, time.time())
            c.sendall(b"%x\r\n" % len(e) + e + b"\r\n"); time.sleep(0.2)
        c.sendall(b"0\r\n\r\n"); return
    if path == "/slow":
        time.sleep(min(30, float(q.partition("=")[2] or 2)))
    if path == "/ws" and r.get(b"upgrade"):
        key = r.get(b"sec-websocket-key")[0]
        acc = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + acc + b"\r\n\r\n")
        ws_echo(c, bytes(k.raw[k.pos:])); return False
    b = r.body if path == "/echo" else b"x" * min(50_000_000, int(q.partition("=")[2] or 1)) if path == "/size" else b"hello from kit upstream\n"
    c.sendall(hd + b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(b) + (b"" if r.method == b"HEAD" else b))


def ws_echo(c, buf):
    def rd(n):
        nonlocal buf
        while len(buf) < n:
            d = c.recv(65536)
            if not d: raise OSError
            buf += d
        o, buf = buf[:n], buf[n:]
        return o
    try:
        while True:
            h = rd(2); n = h[1] & 127
            if n == 126: n = int.from_bytes(rd(2), "big")
            elif n == 127: n = int.from_bytes(rd(8), "big")
            m = rd(4); p = rd(n)
            big = int.from_bytes(p, "big") ^ int.from_bytes((m * (n // 4 + 1))[:n], "big") if n else 0
            p = big.to_bytes(n, "big") if n else b""
            op = h[0] & 15
            o = bytes([(h[0] & 0xf0) | (10 if op == 9 else op)])
            o += bytes([n]) if n < 126 else b"\x7e" + n.to_bytes(2, "big") if n < 65536 else b"\x7f" + n.to_bytes(8, "big")
            if op != 10: c.sendall(o + p)
            if op == 8: break
    except OSError: pass
    c.close()


if __name__ == "__main__":
    Recorder(int(sys.argv[1]), respond=ordinary).start()
    print("upstream on", sys.argv[1], flush=True)
    while True: time.sleep(3600)

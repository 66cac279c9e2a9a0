# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""No ambiguous byte reaches an upstream: hostile requests by both protocols, judged by what a raw upstream was sent.

Every byte value in every place of a head, and the framings that two readers could take for two requests.
"""
import re
import socket
import threading

import pytest

import upstreams
from conftest import route
from frames import DATA, END_HEADERS, END_STREAM, HEADERS, Frames, frame, head
from wire import Wire

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
LINE = re.compile(rb"(%s) (/[\x21\x22\x24-\x7e]*|\*) HTTP/1\.1" % TOKEN)
FIELD = re.compile(rb"(%s): ?([\x20\x09\x21-\x7e\x80-\xff]*)" % TOKEN)
HOST = re.compile(rb"[A-Za-z0-9.\-_~%!$&'()*+,;=\[\]:]+")
HOP = {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade", b"http2-settings", b"proxy-authorization"}


class Recorder(upstreams.Listener):
    """A raw upstream: keeps every byte of every connection, answers each head by 200 and goes on reading."""

    def __init__(self):
        self.seen, self.lock = [], threading.Lock()
        super().__init__()

    def serve(self, client):
        data = bytearray()
        with self.lock:
            self.seen.append(data)
        answered = 0
        while part := client.recv(65536):
            data += part
            # One answer for each head that this most simple reader finds.
            while bytes(data).count(b"\r\n\r\n") > answered and b"HTTP/1.1" in data:
                answered += 1
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
                break

    def take(self):
        with self.lock:
            taken, self.seen = [bytes(d) for d in self.seen if d], []
        return taken


def ambiguity(data, hosts=(b"localhost",)):
    """What is wrong with the bytes of one upstream connection; None when they have one reading."""
    text, _, body = data.partition(b"\r\n\r\n")
    lines = text.split(b"\r\n")
    if any(b"\r" in line or b"\n" in line or b"\0" in line for line in lines):
        return "a bare CR, LF or NUL"
    match = LINE.fullmatch(lines[0])
    if not match:
        return "request line %r" % lines[0]
    fields = []
    for line in lines[1:]:
        field = FIELD.fullmatch(line)
        if not field:
            return "field line %r" % line
        # Blanks around a value are no part of it for any reader (RFC 9110 5.5); a length and a
        # coding have none all the same.
        if field[1].lower() in (b"content-length", b"transfer-encoding") and field[2] != field[2].strip():
            return "blanks around a value: %r" % line
        fields.append((field[1].lower(), field[2].strip(b" \t")))
    names = [n for n, _ in fields]
    if names.count(b"host") != 1 or not HOST.fullmatch(dict(fields)[b"host"]):
        return "host: %r" % [v for n, v in fields if n == b"host"]
    lengths = [v for n, v in fields if n == b"content-length"]
    codings = [v for n, v in fields if n == b"transfer-encoding"]
    if len(lengths) + len(codings) > 1 or codings not in ([], [b"chunked"]) or any(not re.fullmatch(rb"[0-9]{1,18}", v) for v in lengths):
        return "framing %r %r" % (lengths, codings)
    connection = [v for n, v in fields if n == b"connection" and v.lower() not in (b"close", b"keep-alive")]
    if connection or (HOP - {b"connection", b"te"}) & set(names) or any(v != b"trailers" for n, v in fields if n == b"te"):
        return "fields of one hop: %r" % sorted(HOP & set(names))
    if any(n.replace(b"_", b"-").startswith(b"sallyport-") and b"evil" in v for n, v in fields):
        return "a forged field"
    if any(n in (b"transfer_encoding", b"content_length", b"x_forwarded_for") for n in names):
        return "a name that CGI reads as another"
    # A body may be cut off with its connection; it is never longer than it says.
    if lengths and len(body) > int(lengths[0]) or not lengths and not codings and body:
        return "body of %d for %r: %r" % (len(body), lengths, body[:60])
    if codings and (fault := chunk_fault(body)):
        return fault
    return None


def chunk_fault(body):
    """What is wrong with a chunked body; one that was cut off with its connection is not wrong."""
    while body:
        line, end, body = body.partition(b"\r\n")
        if not end:
            return None
        if not re.fullmatch(rb"[0-9a-f]{1,15}", line):
            return "chunk size %r" % line
        size = int(line, 16)
        if size == 0:
            trailers = body.partition(b"\r\n\r\n")[0] if body != b"\r\n" else b""
            bad = [t for t in trailers.split(b"\r\n") if t and not FIELD.fullmatch(t)]
            return "trailers %r" % bad if bad else None
        if body[size:size + 2] not in (b"", b"\r", b"\r\n"):
            return "chunk end %r" % body[size:size + 4]
        body = body[size + 2:]
    return None


@pytest.fixture(scope="module")
def stand(make):
    upstream = Recorder()
    gateway = make(
        [route("all", "/", access="open"), route("raw", "/raw/", access="open", paths="raw"),
         route("normal", "/normal/", access="open", paths="normalise")],
        {"api": {"endpoints": ["http://127.0.0.1:%d" % upstream.port], "timeouts": {"first_byte": "2s"}, "pool": {"idle": 1}}}, workers=1,
        connections={"rate": "9999999 + 999999/s", "handshakes": "9999999 + 999999/s"},
        timeouts={"header": "2s", "idle": "2s"}, http2={"provoked_resets": "99999 + 9999/s"}, log={"access": "off"})
    yield gateway, upstream
    upstream.listener.close()


def send(gateway, data, finish=False):
    """Sends bytes on a clear connection of their own; the answer's status, 0 when there is none."""
    with Wire(gateway.clear_port, timeout=5) as client:
        try:
            client.send(data)
            if finish:
                client.socket.shutdown(socket.SHUT_WR)
            return client.answer().status
        except (OSError, EOFError, AssertionError):
            return 0


PLACES = {
    "method": b"G%sT /x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "target": b"GET /a%sb HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "raw target": b"GET /raw/a%sb HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "normal target": b"GET /normal/a%sb HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "query": b"GET /a?x=%sb HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "before the version": b"GET /a %sHTTP/1.1\r\nHost: localhost\r\n\r\n",
    "after the version": b"GET /a HTTP/1.1%s\r\nHost: localhost\r\n\r\n",
    "host": b"GET /a HTTP/1.1\r\nHost: local%shost\r\n\r\n",
    "name": b"GET /a HTTP/1.1\r\nHost: localhost\r\nX-%sA: b\r\n\r\n",
    "end of a name": b"GET /a HTTP/1.1\r\nHost: localhost\r\nContent-Length%s: 5\r\n\r\nhello",
    "start of a name": b"GET /a HTTP/1.1\r\nHost: localhost\r\n%sTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "value": b"GET /a HTTP/1.1\r\nHost: localhost\r\nX-A: b%sc\r\n\r\n",
    "start of a value": b"GET /a HTTP/1.1\r\nHost: localhost\r\nX-A:%sc\r\n\r\n",
    "content-length": b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1%s\r\n\r\nhello world",
    "start of content-length": b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s5\r\n\r\nhello",
    "transfer-encoding": b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked%s\r\n\r\n0\r\n\r\n",
    "start of transfer-encoding": b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: %schunked\r\n\r\n0\r\n\r\n",
    "chunk size": b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5%s\r\nhello\r\n0\r\n\r\n",
    "chunk end": b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello%s0\r\n\r\n",
    "trailer name": b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX%sA: b\r\n\r\n",
    "trailer value": b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nXA: b%sc\r\n\r\n",
    "connection": b"GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: x-a%s\r\nX-A: b\r\n\r\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_every_byte_in_every_place_of_a_head(stand, place):
    gateway, upstream = stand
    upstream.take()
    passed = 0
    for byte in range(256):
        status = send(gateway, PLACES[place].replace(b"%s", bytes([byte])), finish=True)
        for data in upstream.take():
            passed += 1
            assert ambiguity(data) is None, "byte %#04x in %s: %s\n%r" % (byte, place, ambiguity(data), data)
        assert status != 500
    if place in ("method", "target", "name", "value", "host", "query"):
        assert passed >= 60, "good bytes pass"


FRAMINGS = [
    ("Content-Length: 5\r\nContent-Length: 6", b"hello!"), ("Content-Length: 5\r\nContent-Length: 5", b"hello"), ("Content-Length: 5, 5", b"hello"),
    ("Content-Length: 5, 6", b"hello!"), ("Content-Length: +5", b"hello"), ("Content-Length: 0x5", b"hello"), ("Content-Length: 5 ", b"hello"),
    ("Content-Length: 99999999999999999999", b"hello"), ("Content-Length: -1", b""), ("Content-Length:", b""), ("Content-Length: 5;", b"hello"),
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5", b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("Transfer-Encoding: chunked, identity", b"0\r\n\r\n"), ("Transfer-Encoding: identity, chunked", b"0\r\n\r\n"),
    ("Transfer-Encoding: gzip, chunked", b"0\r\n\r\n"), ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"0\r\n\r\n"),
    ("Transfer-Encoding: xchunked", b"0\r\n\r\n"), ("Transfer-Encoding: CHUNKED", b"0\r\n\r\n"), ("Transfer-Encoding: chunked;q=1", b"0\r\n\r\n"),
    ("Transfer-Encoding:\tchunked", b"0\r\n\r\n"), ("Transfer_Encoding: chunked\r\nContent-Length: 5", b"0\r\n\r\n"), ("Content_Length: 5", b""),
    ("Transfer-Encoding: identity", b""), ("Transfer-Encoding: \"chunked\"", b"0\r\n\r\n"), ("Transfer-Encoding", b""),
    ("X: y\r\n Transfer-Encoding: chunked", b""), ("X: y\r\n\tz", b""), (" X: y", b""), ("X: y\nTransfer-Encoding: chunked", b"0\r\n\r\n"),
    ("X: y\rTransfer-Encoding: chunked", b"0\r\n\r\n"), ("Host: evil.test", b""), ("Host: localhost", b""), ("host : evil.test", b""),
    ("Connection: content-length\r\nContent-Length: 5", b"hello"), ("Connection: transfer-encoding\r\nTransfer-Encoding: chunked", b"0\r\n\r\n"),
    ("Connection: host", b""), ("Connection: close, sallyport-app\r\nSallyport-App: evil", b""), ("Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk", b""),
    ("Upgrade: websocket", b""), ("Trailer: content-length", b""), ("Expect: 100-continue, x", b""), ("Sallyport_App: evil", b""), ("SALLYPORT-Person: evil", b""),
    ("Keep-Alive: timeout=5", b""), ("Proxy-Connection: keep-alive", b""), ("TE: chunked", b""), ("X_Forwarded_For: 1.2.3.4", b""),
]


@pytest.mark.parametrize("lines, body", FRAMINGS, ids=[repr(l)[:50] for l, _ in FRAMINGS])
def test_framings_that_two_readers_could_take_for_two(stand, lines, body):
    gateway, upstream = stand
    upstream.take()
    send(gateway, b"POST /a HTTP/1.1\r\nHost: localhost\r\n" + lines.encode() + b"\r\n\r\n" + body, finish=True)
    taken = upstream.take()
    for data in taken:
        assert ambiguity(data) is None, ambiguity(data)
        assert b"/smuggled" not in data and b"evil" not in data, data


TARGETS = [
    b"http://evil.test/a", b"http://localhost/a", b"https://localhost@evil.test/a", b"//evil.test/a", b"localhost:80", b"*", b"/a#b", b"/a\\b", b"/a|b",
    b"/a\"b", b"/a<b>", b"/a^b", b"/a`b", b"/a{b}", b"/%zz", b"/a?b?c", b"/a?b#c", b"", b"a", b"?x", b"http:/a", b"http://", b"http://localhost:99999/",
    b"http://[::1/a", b"ftp://localhost/a", b"/\xc3\xa9", b"/a?\xff",
]


@pytest.mark.parametrize("target", TARGETS, ids=[repr(t) for t in TARGETS])
@pytest.mark.parametrize("method", [b"GET", b"OPTIONS", b"CONNECT", b"TRACE", b"get", b"PRI"])
def test_targets_of_every_form(stand, method, target):
    gateway, upstream = stand
    upstream.take()
    send(gateway, method + b" " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", finish=True)
    for data in upstream.take():
        assert ambiguity(data) is None, ambiguity(data)
        # RFC 9112 3.2.2: the authority of an absolute target is the host, whatever `Host` says.
        host = b"evil.test" if target.startswith(b"http://evil.test") else b"localhost"
        assert b"\r\nhost: " + host + b"\r\n" in data.lower(), data


# -- paths

# sent → what `reject` and `normalise` make of it below the route's prefix; None: refused.
PATHS = [
    ("a/b", "a/b", "a/b"), ("a//b", None, "a/b"), ("./a", None, "a"), ("a/../b", None, "b"), ("a/%2e%2e/b", None, "b"), ("a/.%2E/b", None, "b"),
    ("a%2fb", None, None), ("a%2Fb", None, None), ("a%5cb", None, None), ("a\\b", None, None), ("a%00b", None, None), ("a%0d%0ab", None, None),
    ("a;x=y/b", None, None), ("a;/b", None, None), ("..;/b", None, None), ("%2e%2e;x/b", None, None), ("a%3bx", "a%3bx", "a%3Bx"), ("%41%7e", "%41%7e", "A~"),
    ("a%zz", None, None), ("a%", None, None), ("%c3%a9", "%c3%a9", "%C3%A9"), ("...", "...", "..."), ("a%25%32e", "a%25%32e", "a%252e"),
    ("../raw/x", None, None), ("../../x", None, None), ("%2e%2e/raw/x", None, None),
]


def arrives(stand, path, http2):
    """The request target that the upstream saw; None when the request was refused by 400."""
    gateway, upstream = stand
    upstream.take()
    if http2:
        with Frames(gateway.port) as client:
            status = client.exchange(path=path).status
    else:
        status = send(gateway, b"GET " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    taken = upstream.take()
    if status == 400:
        assert taken == [], taken
        return None
    assert status == 200 and len(taken) == 1, (status, taken)
    assert ambiguity(taken[0]) is None, ambiguity(taken[0])
    return taken[0].split(b" ", 2)[1].decode()


@pytest.mark.parametrize("http2", [False, True], ids=["h1", "h2"])
@pytest.mark.parametrize("path, strict, normal", PATHS, ids=[p for p, _, _ in PATHS])
def test_one_form_of_a_path_is_judged_and_forwarded(stand, path, strict, normal, http2):
    assert arrives(stand, "/v/" + path, http2) == (strict and "/v/" + strict)
    assert arrives(stand, "/normal/" + path + "?q=%2f;x", http2) == (normal and "/normal/" + normal + "?q=%2f;x")
    assert arrives(stand, "/raw/" + path, http2) == "/raw/" + path


@pytest.mark.parametrize("http2", [False, True], ids=["h1", "h2"])
@pytest.mark.parametrize("path", ["/open/..;/closed/x", "/open/%2e%2e/closed/x", "/closed;x/y", "//closed/x", "/open/..%2fclosed/x", "/open\\..\\closed/x",
                                  "/./closed/x", "/closed%2fx", "/%63losed/x", "/%63%6c%6f%73%65%64/x", "/closed/../open/x", "/open/../closed/x",
                                  "/clo%73ed/x", "/Closed%2e/..%2f", "///closed/x"])
@pytest.mark.parametrize("policy", ["reject", "normalise"])
def test_a_path_never_reaches_what_another_route_guards(make, http2, path, policy):
    """`/closed/` needs a key; the upstream reads paths as the most credulous server would."""
    gateway, upstream = guarded(make, policy)
    upstream.take()
    if http2:
        with Frames(gateway.port) as client:
            client.exchange(path=path)
    else:
        send(gateway, b"GET " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    for data in upstream.take():
        target = data.split(b" ", 2)[1].decode()
        segments = []
        for segment in re.sub(r"%2f|\\|%5c", "/", target, flags=re.I).split("/"):
            segment = re.sub(r"%([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), segment, flags=re.I).split(";")[0]
            segments = segments[:-1] if segment == ".." else segments if segment in ("", ".") else segments + [segment]
        assert segments[:1] != ["closed"], target


STANDS = {}


def guarded(make, policy):
    if policy not in STANDS:
        upstream = Recorder()
        STANDS[policy] = (make(
            [route("open", "/", access="open", paths=policy), route("closed", "/closed/", paths=policy)],
            {"api": {"endpoints": ["http://127.0.0.1:%d" % upstream.port]}}, workers=1,
            connections={"rate": "9999999 + 999999/s", "handshakes": "9999999 + 999999/s"}), upstream)
    return STANDS[policy]


# -- HTTP/2

def send_h2(gateway, fields, body=b"", trailers=None):
    """Sends literal fields as one block; how it ended."""
    with Frames(gateway.port) as client:
        block = client.raw_block(fields)
        client.send(frame(HEADERS, END_HEADERS | (0 if body or trailers else END_STREAM), 1, block)
                    + (frame(DATA, 0 if trailers else END_STREAM, 1, body) if body else b"")
                    + (frame(HEADERS, END_HEADERS | END_STREAM, 1, client.raw_block(trailers)) if trailers else b""))
        return client.outcome(1, 4)


def replaced(name, value):
    return [(n, value if n == name else v) for n, v in head(path="/a")]


H2_PLACES = {
    "method": lambda b: replaced(":method", b"G" + b + b"T"),
    "target": lambda b: replaced(":path", b"/a" + b + b"b"),
    "raw target": lambda b: replaced(":path", b"/raw/a" + b + b"b"),
    "authority": lambda b: replaced(":authority", b"local" + b + b"host"),
    "scheme": lambda b: replaced(":scheme", b"https" + b),
    "name": lambda b: head(path="/a") + [(b"x-" + b + b"a", b"b")],
    "start of a name": lambda b: head(path="/a") + [(b + b"transfer-encoding", b"chunked")],
    "end of a name": lambda b: head(path="/a") + [(b"content-length" + b, b"5")],
    "value": lambda b: head(path="/a") + [("x-a", b"b" + b + b"c")],
    "end of a value": lambda b: head(path="/a") + [("x-a", b"bc" + b)],
    "content-length": lambda b: head("POST", "/a") + [("content-length", b"5" + b)],
    "cookie": lambda b: head(path="/a") + [("cookie", b"a=" + b), ("cookie", "c=d")],
}


@pytest.mark.slow
@pytest.mark.parametrize("place", H2_PLACES)
def test_every_byte_in_every_place_of_an_http2_head(stand, place):
    gateway, upstream = stand
    upstream.take()
    passed = 0
    for byte in range(256):
        fields = H2_PLACES[place](bytes([byte]))
        how = send_h2(gateway, fields, b"hello" if place == "content-length" else b"")
        assert how not in ("silence", "status 500"), "byte %#04x in %s: %s" % (byte, place, how)
        for data in upstream.take():
            passed += 1
            assert ambiguity(data) is None, "byte %#04x in %s: %s\n%r" % (byte, place, ambiguity(data), data)
    if place in ("method", "target", "name", "value", "authority"):
        assert passed >= 30, "good bytes pass"


H2_CASES = {
    "connection": head() + [("connection", "close")],
    "transfer-encoding": head("POST") + [("transfer-encoding", "chunked")],
    "upgrade": head() + [("upgrade", "websocket")],
    "proxy-connection": head() + [("proxy-connection", "x")],
    "te gzip": head() + [("te", "gzip")],
    "upper case": head() + [("X-Upper", "x")],
    "host differs": head() + [("host", "evil.test")],
    "host twice": head() + [("host", "localhost"), ("host", "evil.test")],
    "path twice": head() + [(":path", "/evil")],
    "authority twice": head() + [(":authority", "evil.test")],
    "pseudo after fields": [(":method", "GET"), ("x", "y"), (":scheme", "https"), (":authority", "localhost"), (":path", "/evil")],
    "unknown pseudo": head() + [(":evil", "x")],
    "status in a request": head() + [(":status", "200")],
    "protocol": head("CONNECT") + [(":protocol", "websocket")],
    "no authority": [(":method", "GET"), (":scheme", "https"), (":path", "/evil")],
    "empty authority": replaced(":authority", b""),
    "user in authority": replaced(":authority", b"x@localhost"),
    "absolute path": replaced(":path", b"https://evil.test/"),
    "path without slash": replaced(":path", b"evil"),
    "smuggled by value": head() + [("x", b"a\r\nTransfer-Encoding: chunked")],
    "smuggled by name": head() + [(b"x: y\r\ntransfer-encoding", b"chunked")],
    "smuggled by method": replaced(":method", b"GET / HTTP/1.1\r\nX:"),
    "smuggled by path": replaced(":path", b"/ HTTP/1.1\r\nHost: evil.test\r\nX: "),
    "lengths differ": head("POST") + [("content-length", "5"), ("content-length", "6")],
    "length list": head("POST") + [("content-length", "5, 5")],
    "forged": head() + [("sallyport-app", "evil"), ("sallyport_person", "evil")],
    "cgi names": head() + [("transfer_encoding", "chunked"), ("content_length", "5"), ("x_forwarded_for", "evil")],
    "trailer announced": head("POST") + [("trailer", "content-length")],
}


@pytest.mark.parametrize("case", H2_CASES)
def test_an_http2_head_that_could_be_misread(stand, case):
    gateway, upstream = stand
    upstream.take()
    fields = [(n, v.replace("/open/x", "/a") if isinstance(v, str) else v) for n, v in H2_CASES[case]]
    post = (":method", "POST") in fields
    how = send_h2(gateway, fields, b"hello" if post else b"")
    assert how not in ("silence", "status 500")
    for data in upstream.take():
        assert ambiguity(data) is None, ambiguity(data)
        assert b"evil" not in data, data


@pytest.mark.parametrize("length, sent", [(5, 4), (5, 6), (0, 1), (3, 0)])
def test_an_http2_body_that_is_not_as_long_as_it_says(stand, length, sent):
    gateway, upstream = stand
    upstream.take()
    how = send_h2(gateway, head("POST", "/a") + [("content-length", str(length))], b"x" * sent)
    assert how != "status 200"
    for data in upstream.take():
        body = data.partition(b"\r\n\r\n")[2]
        assert len(body) <= length, data


@pytest.mark.parametrize("name, value", [("content-length", "5"), ("host", "evil.test"), ("sallyport-app", "evil"), ("transfer-encoding", "chunked"),
                                         (":path", "/evil"), ("x", b"a\r\nevil: b"), ("authorization", "evil"), ("Upper", "evil")])
def test_http2_trailers_that_could_be_misread(stand, name, value):
    gateway, upstream = stand
    upstream.take()
    send_h2(gateway, head("POST", "/a"), b"hello", [(name, value)])
    for data in upstream.take():
        assert b"evil" not in data, data
        trailers = data.rpartition(b"\r\n0\r\n")[2].lower()
        assert b"content-length" not in trailers and b"transfer-encoding" not in trailers, data

#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The example sign-in service behind the gateway: users, codes, guests and sessions. Standard library only.

  signin.py [--address 127.0.0.1] [--port 9100] [--tokens jwt|opaque] [--issuer URL] [--lifetime SECONDS]
  signin.py --self-test

  POST /auth/send-code       {"email": …}                 makes a code and writes it to standard output
  POST /auth/verify-code     {"email": …, "code": …}      a session for that person
  POST /auth/guest           {}                           a session for a new guest
  POST /auth/refresh         {"refresh_token": …}         a new session in place of an old one
  POST /profile/guest/auth   {"email"|"phone": …}         a person token for a visitor of a chat widget
  GET  /.well-known/jwks.json   the key that verifies its tokens (--tokens jwt)
  GET  /auth/session         who a session belongs to

Paths may have anything in front (/v1/auth/guest works too). The gateway has judged the app before a request comes here and
says so in Sallyport-App, Sallyport-Credential and Sallyport-Trust; the service only looks after people. With `jwt` the
gateway reads its sessions itself (`issuers:` of kind session); with `opaque` it remembers them as they pass.

Everything is kept in memory and forgotten at the end: an example, not a user database.
"""
import argparse
import base64
import datetime
import hashlib
import http.server
import json
import re
import secrets
import socket
import socketserver
import sys
import threading
import time
import urllib.error
import urllib.request

CODE_LIFETIME = 600
MOST_TRIES = 5
MOST_BYTES = 1 << 20


# -- ES256, because the standard library has no signatures; use a maintained library in a service of your own
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def add(a, b):
    """Adds two points of P-256; None is the point at infinity."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(scalar, point):
    result = None
    for bit in bin(scalar)[2:]:
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class SigningKey:
    """One P-256 key, new at each start."""

    def __init__(self):
        self.secret = secrets.randbelow(N - 1) + 1
        x, y = multiply(self.secret, G)
        self.public = {"kty": "EC", "crv": "P-256", "x": text(x.to_bytes(32, "big")), "y": text(y.to_bytes(32, "big"))}
        # RFC 7638: the members in alphabetical order.
        members = {name: self.public[name] for name in ("crv", "kty", "x", "y")}
        self.id = text(hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest())
        self.public.update(kid=self.id, alg="ES256", use="sig")

    def sign(self, claims):
        header = {"alg": "ES256", "kid": self.id, "typ": "JWT"}
        parts = [text(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims)]
        digest = int.from_bytes(hashlib.sha256(".".join(parts).encode()).digest(), "big")
        while True:
            once = secrets.randbelow(N - 1) + 1
            r = multiply(once, G)[0] % N
            s = pow(once, -1, N) * (digest + r * self.secret) % N
            if r and s:
                return ".".join(parts + [text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))])


class Refused(Exception):
    """An answer that is not a success: status, code, sentence."""

    def __init__(self, status, code, sentence):
        super().__init__(sentence)
        self.status, self.code, self.sentence = status, code, sentence


class People:
    """Users, codes and sessions, in memory."""

    def __init__(self, options):
        self.lock = threading.Lock()
        self.key = SigningKey()
        self.options = options
        self.users, self.codes, self.sessions, self.refreshes = {}, {}, {}, {}

    def make_user(self, email=None, phone=None):
        known = next((u for u in self.users.values() if email and u["email"] == email
                      or phone and u["phone_number"] == phone), None)
        if known:
            return known
        user = {"id": len(self.users) + 1, "email": email, "phone_number": phone, "username": None,
                "created_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        self.users[user["id"]] = user
        return user

    def send_code(self, name):
        code = "%06d" % secrets.randbelow(1_000_000)
        self.codes[name] = {"code": code, "until": time.time() + CODE_LIFETIME, "tries": 0}
        print("code for %s: %s" % (ascii(name)[1:-1], code), flush=True)

    def take_code(self, name, code):
        """A code is good once, for ten minutes, and for five tries."""
        entry = self.codes.get(name)
        wrong = Refused(400, "invalid_code", "The code is wrong or has expired.")
        if not entry or entry["until"] < time.time():
            raise wrong
        entry["tries"] += 1
        if entry["tries"] > MOST_TRIES or not secrets.compare_digest(entry["code"].encode(), code.encode(errors="replace")):
            raise wrong
        del self.codes[name]

    def session(self, user, app, credential, trust, audience):
        """A token for `user`, and the one that renews it."""
        now = int(time.time())
        refresh = secrets.token_urlsafe(24)
        self.refreshes[refresh] = (user, app, credential, trust, audience)
        if self.options.tokens == "opaque":
            token = "sess_" + secrets.token_urlsafe(24)
            self.sessions[token] = (user, now + self.options.lifetime)
            return token, refresh
        claims = {"iss": self.options.issuer, "aud": audience, "sub": str(user["id"]), "jti": secrets.token_hex(8),
                  "iat": now, "exp": now + self.options.lifetime}
        # What the gateway found out about the app goes into the session, so that it can judge it later.
        claims.update({name: value for name, value in (
            ("app_id", app), ("app_auth", credential), ("app_trust", trust)) if value})
        return self.key.sign(claims), refresh

    def renew(self, refresh):
        """A refresh token is good once."""
        entry = self.refreshes.pop(refresh, None)
        if entry is None:
            raise Refused(401, "invalid_refresh_token", "The refresh token is unknown or was used before.")
        return entry


class Exchange(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "example-sign-in"
    sys_version = ""

    def log_message(self, format, *arguments):
        pass

    def answer(self, status, value, fields=()):
        body = (json.dumps(value) + "\n").encode()
        self.send_response(status)
        for name, data in (("Content-Type", "application/json"), ("Cache-Control", "no-store"),
                           ("Content-Length", str(len(body))), *fields):
            self.send_header(name, data)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        """The bytes of the body; what cannot be read to its end ends the connection, or the rest would be a request."""
        if "Transfer-Encoding" not in self.headers:
            length = self.headers.get("Content-Length") or "0"
            return self.part(int(length) if re.fullmatch("[0-9]{1,18}", length) else -1)
        whole = b""
        while size := self.chunk_size():
            whole += self.part(size, len(whole))
            self.rfile.readline(16)
        while self.rfile.readline(65536).strip():
            pass
        return whole

    def chunk_size(self):
        digits = self.rfile.readline(1024).split(b";")[0].strip()
        return int(digits, 16) if re.fullmatch(rb"[0-9A-Fa-f]{1,8}", digits) else -1

    def part(self, size, before=0):
        if size < 0:
            self.close_connection = True
            raise Refused(400, "bad_request", "The length of the body cannot be read.")
        if before + size > MOST_BYTES:
            self.close_connection = True
            raise Refused(413, "payload_too_large", "The body is too large.")
        return self.rfile.read(size)

    def form(self):
        raw = self.body()
        try:
            value = json.loads(raw or b"{}")
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Refused(400, "bad_request", "The body must be a JSON object.")
        return value

    def route(self):
        verbs = POSTS if self.command == "POST" else GETS
        path = self.path.split("?")[0]
        verb = next((verb for end, verb in verbs.items() if path == end or path.endswith(end)), None)
        people = self.server.people
        try:
            form = self.form()
            if verb is None:
                raise Refused(404, "not_found", "There is nothing here.")
            with people.lock:
                value = verb(self, people, form)
        except Refused as refused:
            error = {"code": refused.code, "message": refused.sentence}
            return self.answer(refused.status, {"message": refused.sentence, "error": error, "data": {}})
        self.answer(200, value)

    do_GET = do_HEAD = do_POST = route

    def field(self, form, *names):
        """The first of these fields that is a non-empty text."""
        for name in names:
            if isinstance(form.get(name), str) and form[name].strip():
                return form[name].strip().lower()
        raise Refused(400, "bad_request", " or ".join(names) + " is required.")

    def judged(self):
        """What the gateway says of the app: only it can set these fields, because nothing else reaches this port."""
        return tuple(self.headers.get("Sallyport-" + name) for name in ("App", "Credential", "Trust"))

    def signed_in(self, people, user):
        token, refresh = people.session(user, *self.judged(), people.options.audience)
        return {"message": "OK", "data": {"user": user, "token": token, "refresh_token": refresh}}

    # -- the paths
    def send_code(self, people, form):
        # The answer is the same whether or not the address has an account.
        people.send_code(self.field(form, "email", "phone_number"))
        return {"message": "OK", "data": {"sent": True}}

    def verify_code(self, people, form):
        name = self.field(form, "email", "phone_number")
        code = form.get("code")
        if not isinstance(code, str):
            raise Refused(400, "bad_request", "code is required.")
        people.take_code(name, code)
        return self.signed_in(people, people.make_user(**{"email" if "@" in name else "phone": name}))

    def guest(self, people, form):
        return self.signed_in(people, people.make_user())

    def refresh(self, people, form):
        token = form.get("refresh_token")
        user, app, credential, trust, audience = people.renew(token if isinstance(token, str) else "")
        token, refresh = people.session(user, app, credential, trust, audience)
        return {"message": "OK", "data": {"user": user, "token": token, "refresh_token": refresh}}

    def visitor(self, people, form):
        for name in ("email", "phone", "name"):
            if not isinstance(form.get(name), (str, type(None))):
                raise Refused(400, "bad_request", name + " must be text.")
        email, phone = ((form.get(name) or "").strip() or None for name in ("email", "phone"))
        if not (email or phone):
            raise Refused(400, "bad_request", "email or phone is required.")
        user = people.make_user(email, phone)
        token, refresh = people.session(user, None, None, None, people.options.person_audience)
        guest = {"sk": "%024x" % user["id"], "email": email, "phone": phone, "name": form.get("name")}
        return {"guest": guest, "token": token, "refreshToken": refresh}

    def keys(self, people, form):
        return {"keys": [people.key.public]}

    def session(self, people, form):
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        user, until = people.sessions.get(token, (None, 0))
        if until < time.time():
            raise Refused(401, "invalid_session", "The session is unknown or over.")
        return {"message": "OK", "data": {"user": user}}


POSTS = {"/auth/send-code": Exchange.send_code, "/auth/verify-code": Exchange.verify_code,
         "/profile/guest/auth": Exchange.visitor, "/auth/guest": Exchange.guest, "/auth/refresh": Exchange.refresh}
GETS = {"/.well-known/jwks.json": Exchange.keys, "/auth/session": Exchange.session}


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address, options):
        self.people = People(options)
        super().__init__(address, Exchange)


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9100, help="0: any free port, printed")
    parser.add_argument("--tokens", choices=("jwt", "opaque"), default="jwt")
    parser.add_argument("--issuer", default="https://sign-in.example.com/", help="the iss of its tokens")
    parser.add_argument("--audience", default="example-api", help="the aud of sessions")
    parser.add_argument("--person-audience", default="example-people", help="the aud of a widget visitor's token")
    parser.add_argument("--lifetime", type=int, default=86400, help="of a session, in seconds")
    parser.add_argument("--self-test", action="store_true")
    return parser.parse_args(given)


def post(url, path, body, fields={}):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json", **fields})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def raw(server, field, body):
    """The answers to a request written by hand."""
    with socket.create_connection(server.server_address, 10) as connection:
        connection.sendall(b"POST /profile/guest/auth HTTP/1.1\r\n" + field + b"\r\n\r\n" + body)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def self_test():
    assert multiply(N, G) is None and multiply(N - 1, G)[0] == G[0]
    for mode in ("jwt", "opaque"):
        server = Server(("127.0.0.1", 0), arguments(["--tokens", mode]))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d" % server.server_address[1]
        assert post(url, "/v1/auth/send-code", {"email": "A@example.com"}) == (
            200, {"message": "OK", "data": {"sent": True}})
        code = server.people.codes["a@example.com"]["code"]
        assert post(url, "/v1/auth/verify-code", {"email": "a@example.com", "code": "x"})[0] == 400
        assert post(url, "/v1/auth/verify-code", {"email": "a@example.com", "code": "\u0661\ud800"})[0] == 400
        status, answer = post(url, "/v1/auth/verify-code", {"email": "a@example.com", "code": code})
        assert status == 200 and answer["data"]["user"]["email"] == "a@example.com", answer
        assert post(url, "/v1/auth/verify-code", {"email": "a@example.com", "code": code})[0] == 400, "a code works once"
        renewal = answer["data"]["refresh_token"]
        assert post(url, "/auth/refresh", {"refresh_token": renewal})[0] == 200
        assert post(url, "/auth/refresh", {"refresh_token": renewal})[0] == 401, "a refresh token works once"
        status, guest = post(url, "/auth/guest", {}, {"Sallyport-App": "app_1", "Sallyport-Credential": "attestation",
                                                              "Sallyport-Trust": "hardware"})
        assert status == 200 and guest["data"]["user"]["email"] is None
        if mode == "jwt":
            part = guest["data"]["token"].split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
            assert (claims["app_id"], claims["app_auth"], claims["app_trust"]) == ("app_1", "attestation", "hardware")
        assert post(url, "/profile/guest/auth", {"name": "nobody"})[0] == 400
        assert post(url, "/profile/guest/auth", {"email": ["v@example.com"]})[0] == 400
        assert post(url, "/v1/auth/send-code", {"email": "\ud800@example.com"})[0] == 200
        for body in (b"[" * 100_000, b'{"email": '):
            assert raw(server, b"Content-Length: %d" % len(body), body).startswith(b"HTTP/1.1 400"), body[:20]
        assert raw(server, b"Content-Length: %d" % (MOST_BYTES + 1), b"").startswith(b"HTTP/1.1 413")
        # A body in chunks is read to its end: the answer that follows belongs to the next request.
        seen = raw(server, b"Transfer-Encoding: chunked", b'14;x=1\r\n{"email": "c@x.com"}\r\n0\r\n\r\n'
                   b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert seen.count(b"HTTP/1.1 ") == 2 and b'"c@x.com"' in seen and b" 404 " in seen, seen
        assert raw(server, b"Transfer-Encoding: chunked", b"none\r\n\r\n").count(b"HTTP/1.1 400") == 1
        assert post(url, "/profile/guest/auth", {"email": "v@example.com"})[1]["guest"]["email"] == "v@example.com"
        server.shutdown()
    print("signin.py: self-test passed")


def main():
    options = arguments()
    if options.self_test:
        return self_test()
    try:
        server = Server((options.address, options.port), options)
    except (OSError, OverflowError) as fault:
        return "signin.py: cannot listen on %s:%d: %s; --port takes another" % (options.address, options.port, fault)
    print("http://%s:%d" % (options.address, server.server_address[1]), flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    sys.exit(main())

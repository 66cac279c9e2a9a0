# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""An upstream's sign-in service that tells what it was sent, and a client of dialect `offlineid`."""
import http.server
import json
import secrets
import socketserver
import threading

import pytest

import devices


class Backend:
    """Answers sign-ins; remembers every request with its fields and its very bytes."""

    def __init__(self):
        backend = self

        class Exchange(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                seen = Seen(self.command, self.path, self.headers.items(), body)
                with backend.lock:
                    backend.seen.append(seen)
                status, fields, data = backend.answer(seen)
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 512

        self.lock, self.seen, self.code = threading.Lock(), [], "482913"
        self.raw = None  # (status, fields, bytes): what every request gets
        self.server = Server(("127.0.0.1", 0), Exchange)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, seen):
        if self.raw:
            return self.raw
        data = {"sent": True}
        if not seen.path.endswith("send-code"):
            try:
                form = json.loads(seen.body or b"{}")
            except ValueError:
                form = {}
            if seen.path.endswith("verify-code") and form.get("code") != self.code:
                return 400, {"Content-Type": "application/json"}, b'{"message":"no","error":{"code":"invalid_code","message":"no"},"data":{}}'
            data = {"user": {"id": 17, "email": form.get("email"), "phone_number": None, "username": None, "created_at": "2026-11-04T00:00:00Z"},
                    "token": "sess_" + secrets.token_urlsafe(24), "refresh_token": "ref_" + secrets.token_urlsafe(24)}
        return 200, {"Content-Type": "application/json"}, json.dumps({"message": "OK", "data": data}).encode()


class Seen:
    def __init__(self, method, path, fields, body):
        self.method, self.path, self.fields, self.body = method, path, list(fields), body

    def __getitem__(self, name):
        return next((v for n, v in self.fields if n.lower() == name.lower()), None)


class Client:
    """One app's client: calls the gateway as the SDK does."""

    def __init__(self, gateway, app, prefix="/v1"):
        self.gateway, self.app, self.prefix = gateway, app, prefix

    def post(self, path, body=None, fields=(), **options):
        fields = dict({"X-App-Id": self.app, "Content-Type": "application/json"} if self.app else {"Content-Type": "application/json"}, **dict(fields))
        data = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
        with self.gateway.wire(**options) as client:
            return client.exchange("POST", path, {n: v for n, v in fields.items() if v is not None}, data)

    def get(self, path="/v1/me", fields=(), **options):
        with self.gateway.wire(**options) as client:
            return client.exchange("GET", path, dict({"X-App-Id": self.app}, **dict(fields)))

    def challenge(self):
        answer = self.post("/users/attestation/challenge")
        assert answer.status == 200, answer
        return answer.json()["data"]["challenge"]

    def binding(self, challenge, purpose="sign-in"):
        return ("%s.%s.%s" % (challenge, self.app, purpose)).encode()

    def register(self, phone, challenge=None, purpose="register", **options):
        challenge = challenge or self.challenge()
        return self.post("/users/attestation/ios/register", {
            "keyId": phone.key_id, "attestation": phone.attest(self.binding(challenge, purpose), **options), "challenge": challenge})

    def ios(self, phone, challenge=None, purpose="sign-in", **options):
        challenge = challenge or self.challenge()
        return {"platform": "ios", "challenge": challenge, "keyId": phone.key_id,
                "assertion": phone.assert_(self.binding(challenge, purpose), **options)}

    def android(self, phone, challenge=None, purpose="sign-in", **options):
        challenge = challenge or self.challenge()
        return {"platform": "android", "challenge": challenge, "certificateChain": phone.chain(self.binding(challenge, purpose), **options)}

    def send_code(self, attestation=None, email="person@example.com", fields=(), **more):
        return self.post(self.prefix + "/auth/send-code", self.body(attestation, email=email, **more), fields)

    def verify(self, attestation=None, code="482913", fields=(), source=None, **more):
        return self.post(self.prefix + "/auth/verify-code", self.body(attestation, email="person@example.com", code=code, **more), fields, source=source)

    def guest(self, attestation=None, fields=(), source=None):
        return self.post(self.prefix + "/auth/guest", self.body(attestation), fields, source=source)

    @staticmethod
    def body(attestation, **more):
        made = {name: value for name, value in more.items() if value is not None}
        if attestation is not None:
            made["attestation"] = attestation
        return made


# -- fixtures of the suites that sign in; each imports those it uses


@pytest.fixture(scope="module")
def authorities():
    return devices.Authorities()


@pytest.fixture(scope="module")
def backend():
    server = Backend()
    yield server
    server.stop()

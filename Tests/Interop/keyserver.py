# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""A real HTTPS server of an issuer's key set, and the issuer that signs with its keys."""
import base64
import http.server
import json
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

import upstreams


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """An ES256 key with its id."""

    def __init__(self, name):
        self.name, self.key = name, ec.generate_private_key(ec.SECP256R1())

    def public(self):
        numbers = self.key.public_key().public_numbers()
        return {"kty": "EC", "crv": "P-256", "x": b64(numbers.x.to_bytes(32, "big")), "y": b64(numbers.y.to_bytes(32, "big")),
                "kid": self.name, "use": "sig", "alg": "ES256"}

    def sign(self, claims, kid=None):
        head = b64(json.dumps({"alg": "ES256", "typ": "JWT", "kid": kid or self.name}).encode())
        text = head + "." + b64(json.dumps(claims).encode())
        r, s = decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return text + "." + b64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))


class KeyServer:
    """Answers `/jwks` with what `keys` holds, or as `behave` says; counts who asks."""

    def __init__(self, certificate, issuer="https://issuer.example/"):
        self.issuer, self.keys, self.fetches, self.behave = issuer, [Key("k1")], 0, None
        self.app = None  # whose sessions it makes
        self.cache_control = "max-age=3600"
        self.server = upstreams.serve_https(self.handler(), certificate)

    @property
    def url(self):
        return "https://localhost:%d/jwks" % self.server.server_port

    def token(self, key=None, kid=None, seconds=600, **claims):
        now = int(time.time())
        return (key or self.keys[-1]).sign({"iss": self.issuer, "aud": "api", "sub": "person-1", "iat": now, "exp": now + seconds,
                                              "app_id": self.app, "app_trust": "hardware", **claims}, kid)

    def handler(self):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                owner.fetches += 1
                status, body, fields = 200, json.dumps({"keys": [k.public() for k in owner.keys]}).encode(), {}
                if owner.behave:
                    status, body, fields = owner.behave(status, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Cache-Control", owner.cache_control)
                self.send_header("Content-Length", str(len(body)))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

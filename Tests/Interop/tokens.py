# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Outside issuers of tokens, whose keys and tokens are made by independent libraries."""
import http.server
import json
import secrets
import subprocess
import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

import upstreams

SECRET = "a shared secret of thirty-two bytes or more"


def public(key, algorithm, kid):
    """The key's public half as a member of a key set, written by PyJWT."""
    member = json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key()))
    member.update(kid=kid, use="sig", alg=algorithm)
    return member


class Issuer:
    """One issuer with a key of every algorithm."""

    ALGORITHMS = ["ES256", "ES384", "RS256", "PS256", "EdDSA"]

    def __init__(self, directory, name, kind, organizations=("acme",), **claims):
        self.name, self.kind, self.organizations, self.claims = name, kind, list(organizations), claims
        self.issuer = "https://%s.example/" % name
        self.app = None  # whose sessions it makes
        rsa_key = rsa.generate_private_key(65537, 2048)
        self.keys = {
            "ES256": ec.generate_private_key(ec.SECP256R1()), "ES384": ec.generate_private_key(ec.SECP384R1()),
            "RS256": rsa_key, "PS256": rsa_key, "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        }
        self.file = directory / (name + ".jwks.json")
        self.write()

    def write(self):
        self.file.write_text(json.dumps({"keys": [public(k, a, a.lower()) for a, k in self.keys.items()]}))

    @property
    def settings(self):
        made = {
            "name": self.name, "issuer": self.issuer, "audiences": ["acme-api"], "keys": {"jwks_file": str(self.file)},
            "algorithms": self.ALGORITHMS, "organizations": self.organizations, "kind": self.kind,
        }
        if self.claims:
            made["claims"] = self.claims
        return made

    def token(self, algorithm="ES256", life=300, headers=None, key=None, **changes):
        """A token that is good unless `changes` says otherwise; None leaves a claim out."""
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "acme-api", "sub": "17", "iat": now if life > 0 else now + life - 60, "exp": now + life, "jti": secrets.token_hex(8)}
        if self.kind == "session":
            claims.update(app_id=self.app, app_trust="hardware")
        claims.update(changes)
        claims = {n: v for n, v in claims.items() if v is not None}
        return jwt.encode(claims, key or self.keys[algorithm], algorithm, {"kid": algorithm.lower(), **(headers or {})})


def shared_settings(kind="session"):
    return {
        "name": "shared", "issuer": "https://shared.example/", "audiences": ["acme-api"], "keys": {"hs256": "${env:SHARED_SECRET}"},
        "algorithms": ["HS256"], "organizations": ["acme"], "kind": kind,
    }


def shared_token(app, life=300, **changes):
    now = int(time.time())
    return jwt.encode({"iss": "https://shared.example/", "aud": "acme-api", "sub": "17", "iat": now, "exp": now + life, "app_id": app.id, "app_trust": "hardware", **changes}, SECRET, "HS256")


def jose(*arguments, text=""):
    """Debian's `jose`, which shares no code with PyJWT."""
    return subprocess.run(["jose", *[str(a) for a in arguments]], input=text, capture_output=True, text=True, timeout=20)


def bearer(token):
    return {"Authorization": "Bearer " + token}


def mint(gateway, app, kind, **options):
    """A token of ours, by the command line."""
    arguments = ["token", "mint", "--app", app.id, "--kind", kind]
    if kind == "app_token":
        options.setdefault("trust", "hardware")
    if kind in ("session_token", "person"):
        options.setdefault("person", "17")
    if kind == "session_token":
        options.setdefault("trust", "hardware")
    for name, value in options.items():
        if value is not None:
            arguments += ["--" + name, value]
    return gateway.cli(*arguments)


def claims(token):
    return jwt.decode(token, options={"verify_signature": False})


def told(answer):
    """What the upstream was told, by the example back end."""
    return {n.lower(): v for n, v in answer.json()["gateway"].items()}


class KeyServer:
    """A real HTTPS server of one issuer's key set; counts what is fetched."""

    def __init__(self, issuer, identity):
        server = self
        self.issuer, self.fetches, self.status, self.delay = issuer, 0, 200, 0.0

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.fetches += 1
                time.sleep(server.delay)
                body = server.issuer.file.read_bytes()
                self.send_response(server.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = upstreams.serve_https(Answer, identity)

    @property
    def url(self):
        return "https://localhost:%d/jwks.json" % self.server.server_address[1]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

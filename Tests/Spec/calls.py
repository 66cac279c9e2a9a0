# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Requests of the three dialects by short names, and what every answer of the gateway must have beside what a row expects."""
import dataclasses
import json
import re

import devices
import proofs
import stands
import wire
from expect import MISSING, brief, difference

# name → method and path, the body's standard members, and whether it goes on to the upstream
CALLS = {
    "offlineid": {
        "challenge": ("POST /users/attestation/challenge", {}, False), "register": ("POST /users/attestation/ios/register", {}, False),
        "send-code": ("POST /v1/auth/send-code", {"email": "person@example.com"}, True),
        "verify": ("POST /v1/auth/verify-code", {"email": "person@example.com", "code": "482913"}, True),
        "guest": ("POST /v1/auth/guest", {}, True), "refresh": ("POST /v1/auth/refresh", {}, True), "me": ("GET /v1/me", None, True),
        "verify-jwt": ("POST /w/auth/verify-code", {"email": "person@example.com", "code": "482913"}, True), "me-jwt": ("GET /w/me", None, True),
    },
    "vouch": {
        "nonce": ("POST /v1/sdk/attest/nonce", {}, False), "attest": ("POST /v1/sdk/attest", {"device_id": "dev_abc", "app_version": "1.4.2"}, False),
        "run-token": ("POST /v1/apps/$app/security/run-tokens/verify", {"device_id": "dev_abc", "app_version": "1.4.2", "platform": "android"}, False),
        "order": ("GET /b/orders", None, True),
    },
    "appengine": {
        "challenge": ("POST /profile/app/challenge", {"appId": "$name"}, False), "attest": ("POST /profile/app/attest", {"appId": "$name"}, False),
        "key": ("POST /profile/app/key", {"appId": "$name"}, False), "route": ("GET /any/route", None, True),
        "guest-auth": ("POST /profile/guest/auth", {"email": "visitor@example.com", "name": "Visitor"}, True),
    },
}
BOUND = {"X-Device-Id": "dev_abc", "X-App-Version": "1.4.2", "X-App-Platform": "android"}


@dataclasses.dataclass
class Request:
    method: str
    path: str
    fields: list
    body: bytes | None
    source: str
    port: int
    before: bytes = b""


class Requests:
    def __init__(self, play):
        self.play, self.gateway = play, play.stand.gateway

    # -- building
    def build(self, step):
        """The request that a step describes; challenges that it needs are asked for first."""
        app = self.play.apps[step.get("app", "a")]
        line, body, _ = self.called(app, step)
        method, path = line.split(" ", 1)
        fields = self.credentials(app, step, path)
        if "raw" in step:
            data = self.play.fill(step["raw"]).encode()
        elif body is None and "with" not in step:
            data = None
        else:
            body = {**(body or {}), **self.proof(app, step, path), **self.play.fill(step.get("with", {}))}
            data = json.dumps({name: value for name, value in body.items() if value is not None}, ensure_ascii=False).encode()
        if data is not None:
            fields.setdefault("Content-Type", "application/json")
        for name, value in self.play.fill(step.get("fields", {})).items():
            fields[name] = value
        sent = [(name, one) for name, value in fields.items() if value is not None for one in (value if isinstance(value, list) else [value])]
        source = step.get("from", self.play.source)
        if "balanced" in step:
            family = "TCP6" if ":" in step["balanced"] else "TCP4"
            before = ("PROXY %s %s %s 5000 443\r\n" % (family, step["balanced"], "::1" if family == "TCP6" else "127.0.0.1")).encode()
            return Request(method, path, sent, data, stands.BALANCER, self.play.stand.ports["balanced"], before)
        port = self.play.stand.ports[step["port"]] if "port" in step else self.gateway.clear_port
        return Request(method, path, sent, data, source, port)

    def called(self, app, step):
        said = step["call"]
        line, body, proxied = CALLS[app.dialect].get(said, (said, {} if said.startswith(("POST", "PUT")) else None, None))
        assert " " in line, "%s: no such call in dialect %s" % (said, app.dialect)
        body = body and {name: app.username if value == "$name" else value for name, value in body.items()}
        return self.play.fill(line.replace("$app", app.id)), body, proxied

    def credentials(self, app, step, path):
        """How the dialect names the app, and the bearer that the step sends."""
        bearer = self.play.fill(step.get("bearer"))
        fields = {"offlineid": {"X-App-Id": app.id}, "vouch": {}, "appengine": {"orgid": app.organization}}[app.dialect]
        if app.dialect == "vouch" and bearer is None and path.startswith("/v1/"):
            bearer = getattr(app, step.get("key", "pk_live" if path.startswith("/v1/sdk") else "sk_live"))
        if app.dialect == "vouch" and not path.startswith("/v1/"):
            fields = dict(BOUND)
        return fields | ({"Authorization": "Bearer " + bearer} if bearer else {})

    def challenge(self, app, step):
        """A fresh challenge or nonce of the app."""
        line, body, _ = self.called(app, {"call": "nonce" if app.dialect == "vouch" else "challenge"})
        fields = self.credentials(app, {"key": step["key"]} if "key" in step else {}, line.split(" ")[1])
        method, path = line.split(" ", 1)
        answer = self.send(Request(method, path, [*fields.items(), ("Content-Type", "application/json")], json.dumps(body).encode(), self.play.source, self.gateway.clear_port))
        assert answer.status == 200, "%s: no challenge: %s" % (self.play.row.id, answer.body)
        return answer.json()["data"]["challenge"] if app.dialect == "offlineid" else answer.json()["nonce"]

    def proof(self, app, step, path):
        """The members that a proof adds to the body."""
        if "unavailable" in step:
            platform, word = step["unavailable"].split("/")
            if app.dialect == "offlineid":
                return {"attestation": {"platform": platform, "unavailable": word}}
            return {"nonce": self.challenge(app, step), "platform": platform, "unavailable": word}
        if "proof" not in step:
            if app.dialect == "vouch" and path == "/v1/sdk/attest" and "nonce" not in step.get("with", {}):
                return {"nonce": self.challenge(app, step), "platform": "android"}
            return {}
        said = {"of": step["proof"]} if isinstance(step["proof"], str) else self.play.fill(dict(step["proof"]))
        phone, change = self.play.phone(said.pop("of")), said.pop("change", {})
        challenge = said.pop("challenge", None) or self.challenge(app, step)
        text, urls = said.pop("over", None), said.pop("url_safe", False)
        if app.dialect == "offlineid":
            named = self.play.apps[said.pop("for", step.get("app", "a"))]
            purpose = said.pop("purpose", "register" if path.endswith("/register") else "sign-in")
            binding = (text or "%s.%s.%s" % (challenge, named.id, purpose)).encode()
            made = self.offline(phone, challenge, binding, said, path)
        else:
            binding = proofs.decoded(challenge) if said.pop("decoded", False) else (text or challenge).encode()
            if said.pop("standard_alphabet", False):
                binding = binding.replace(b"-", b"+").replace(b"_", b"/") + b"="
            made = self.other(app, phone, challenge, binding, said)
        if urls:
            written = {"attestation": proofs.url_safe, "assertion": proofs.url_safe, "certificateChain": lambda chain: [proofs.url_safe(one) for one in chain]}
            made = {name: written[name](value) if name in written else value for name, value in made.items()}
        made = {name: value for name, value in {**made, **change}.items() if value is not None}
        return {"attestation": made} if app.dialect == "offlineid" and not path.endswith("/register") else made

    @staticmethod
    def offline(phone, challenge, binding, said, path):
        if isinstance(phone, devices.Android):
            reverse = said.pop("reverse", False)
            chain = phone.chain(binding, **said)
            return {"platform": "android", "challenge": challenge, "certificateChain": chain[::-1] if reverse else chain}
        if path.endswith("/register"):
            return {"keyId": phone.key_id, "challenge": challenge, "attestation": proofs.apple(phone, binding, said | {"first": True})}
        return {"platform": "ios", "challenge": challenge, "keyId": phone.key_id, "assertion": proofs.apple(phone, binding, said)}

    @staticmethod
    def other(app, phone, challenge, binding, said):
        if isinstance(phone, devices.Android):
            if said.pop("other_signer", False):
                said["signer"] = devices.ec.generate_private_key(devices.ec.SECP256R1())
            if "seal" in said:
                said["seal"] = bytes.fromhex(said["seal"])
            token = phone.play_token(binding.decode("latin-1"), **said)
            return {"platform": "android", "nonce": challenge, "token" if app.dialect == "vouch" else "integrityToken": token}
        key = "key_id" if app.dialect == "vouch" else "keyId"
        return {"platform": "ios", "nonce": challenge, key: phone.key_id, "attestation" if said.get("first") else "assertion": proofs.apple(phone, binding, said)}

    # -- sending and judging
    def send(self, request):
        with wire.Wire(request.port, source=request.source, timeout=20) as client:
            client.send(request.before)
            return client.exchange(request.method, request.path, request.fields, request.body)

    def exchange(self, step):
        app = self.play.apps[step.get("app", "a")]
        request, upstream = self.build(step), self.play.stand.upstream
        before = len(upstream.seen)
        answer = self.send(request)
        try:
            seen = json.loads(answer.body) if answer.body else MISSING
        except ValueError:
            seen = answer.body.decode("latin-1")
        problems = [None if answer.status == step["status"] else "status %d, not %d" % (answer.status, step["status"])]
        problems += self.told(step, app, answer, seen, request)
        for name, value in self.play.fill(step.get("header", {})).items():
            found = answer[name]
            problems.append(difference("=absent" if value is None else value, MISSING if found is None else found, name))
        problems += self.reached(step, app, answer, upstream.seen[before:], request)
        expected = " ".join(str(step[name]) for name in ("status", "code", "reason", "verdict", "reasons", "json", "exactly", "upstream") if name in step)
        shown = "%d %s" % (answer.status, "" if seen is MISSING else json.dumps(seen, ensure_ascii=False))
        self.play.judge("%s%s" % (step["call"], " by " + str(step["proof"]) if "proof" in step else ""), expected, shown, problems)
        self.play.keep(step, seen, answer)

    def told(self, step, app, answer, seen, request):
        """The body: a subset, the whole, and for refusals and verdicts the dialect's whole shape."""
        fill = self.play.fill
        yield difference(fill(step["json"]), seen) if "json" in step else None
        if "exactly" in step and fill(step["exactly"]) != seen:
            yield "not exactly %s" % brief(step["exactly"], 400)
        if "body" in step and fill(step["body"]) != answer.body.decode():
            yield "not exactly %r" % fill(step["body"])
        if "verdict" in step:
            yield difference(self.verdict(step, app), seen)
        if "code" in step:
            dialect = {"/b/": "vouch", "/sure": "vouch"}.get(request.path[:3], app.dialect)
            yield difference(self.refusal(step, dialect, answer.status, request), seen)
            yield from self.marked(step, answer, request)
        elif self.called(app, step)[2] is False:
            yield from self.marked(step, answer, request)

    @staticmethod
    def marked(step, answer, request):
        """The fields of every answer that the gateway makes itself (wire reference, E.1)."""
        yield None if answer["Cache-Control"] == "no-store" else "may be cached"
        yield None if answer["Sallyport-Decision"] else "no decision id"
        yield None if not answer.body or (answer["Content-Type"] or "").startswith("application/json") else "no JSON by its type"
        yield None if (answer.status == 401) == (answer["WWW-Authenticate"] or "").startswith('Bearer realm="sallyport"') else "WWW-Authenticate: %s" % answer["WWW-Authenticate"]
        yield None if answer.status not in (429, 503) or int(answer["Retry-After"] or 0) > 0 else "no Retry-After"
        yield None if step.get("code") != "rate_limited" or answer["RateLimit"] and answer["RateLimit-Policy"] else "no RateLimit"
        origins = [value for name, value in request.fields if name == "Origin"]
        if "code" in step and len(origins) == 1 and re.fullmatch(r"https?://[a-z0-9.:-]+", str(origins[0])):
            yield None if answer["Access-Control-Allow-Origin"] == origins[0] else "the page cannot read why"
            yield None if answer["Access-Control-Allow-Credentials"] is None and "origin" in (answer["Vary"] or "").lower() else "not for this page alone"

    @staticmethod
    def verdict(step, app):
        if app.dialect == "offlineid":
            words = step["verdict"].split()
            if words[0] == "none":
                return {"data": {"attestation": "=absent"}}
            made = dict(zip(("status", "trust"), {"hardware": ("verified", "hardware")}.get(words[0], (words[0], words[0]))))
            return {"message": "OK", "data": {"attestation": made | {"reason": words[1] if len(words) > 1 else "=absent"}}}
        has_token = step["verdict"] != "fail" and step.get("token", True)
        reasons = step.get("reasons", [])
        return {"verdict": step["verdict"], "reasons": reasons if reasons == "=any" else [{"code": code, "message": "=any"} for code in reasons],
                "run_token": "=re ^rt_" if has_token else None, "expires_at": "=seconds" if has_token else None,
                "source": step.get("source", "=any"), "from_cache": step.get("from_cache", False), "debug": step.get("debug", False)}

    def refusal(self, step, dialect, status, request):
        """Every member of a refusal; what the row does not say must be null or not there."""
        code, reason = step["code"], step.get("reason", "=absent")
        if dialect == "vouch":
            return {"error": {"code": code, "message": "=any"}}
        if dialect == "appengine":
            return {"code": code, "reason": reason, "statusCode": status, "error": "=any", "path": request.path.split("?")[0], "method": request.method, "timeStamp": "=milliseconds"}
        named = next((value for name, value in request.fields if name == "X-App-Id"), None)
        data = {"app_id": named, "missing": step.get("missing"), "next_steps": self.play.fill(step.get("next_steps", "=any")), "docs": "=re ^https://.*#%s$" % code, "reason": reason}
        return {"message": "=any", "error": code if status == 401 else {"code": code, "message": "=any"}, "data": data}

    def reached(self, step, app, answer, seen, request):
        """The upstream sees a request that passed once, and never one that was refused."""
        _, _, proxied = self.called(app, step)
        said = step.get("upstream", {} if proxied and answer.status < 400 else None)
        if said is None or said == "nothing":
            yield "the upstream was reached" if seen else None
            return
        if len(seen) != 1:
            yield "the upstream saw %d requests" % len(seen)
            return
        for name, value in self.play.fill(said).items():
            if name == "same bytes":
                yield None if seen[0].body == request.body else "other bytes went on"
            elif name == "path":
                yield difference(value, seen[0].path)
            else:
                found = seen[0][name]
                yield difference("=absent" if value is None else value, MISSING if found is None else found, name)

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The gateways that rows are played on, and the one upstream behind them."""
import json
import secrets

import gateway as binary
import test_vouch
import upstreams
from signins import Backend
from test_trust import account
from tokens import Issuer

TOKENS = ["app_token", "web_token", "server_token", "debug_token"]
SIGN_IN = {"send_code": "auth/send-code", "verify": "auth/verify-code", "guest": "auth/guest", "refresh": "auth/refresh"}
PROXY, BALANCER = "127.0.0.9", "127.0.0.8"


class Upstream(Backend):
    """The sign-in services and the back end of all dialects; remembers what it was sent."""

    def __init__(self, sessions):
        super().__init__()
        self.sessions = sessions

    def answer(self, seen):
        if self.raw or not seen.path.startswith(("/w/", "/profile/guest/", "/custom/")):
            return super().answer(seen)
        form = json.loads(seen.body or b"{}")
        if seen.path.startswith("/profile/guest/"):
            guest = {"sk": "65f0c0ffee65f0c0ffee6601", "email": form.get("email"), "phone": form.get("phone"), "name": form.get("name")}
            made = {"guest": guest, "token": "person-" + secrets.token_hex(4), "refreshToken": "renew-" + secrets.token_hex(4)}
        else:
            said = {"app_id": seen["Sallyport-App"], "app_auth": seen["Sallyport-Credential"], "app_trust": seen["Sallyport-Trust"]}
            made = {"message": "OK", "data": {"user": {"id": 17, "email": form.get("email")}, "token": self.sessions.token(**said)}}
        return 200, {"Content-Type": "application/json"}, json.dumps(made).encode()


class Stand:
    """One running gateway with what rows need to know of it."""

    def __init__(self, gateway, upstream, authorities, people, sessions, trust, ports=None, google=None):
        self.gateway, self.upstream, self.authorities, self.people, self.sessions = gateway, upstream, authorities, people, sessions
        self.trust, self.ports, self.google = trust, ports or {}, google


def routes():
    every = {"organizations": ["acme", "globex"], "person": "optional"}
    offline = every | {"credentials": ["origin", "api_key", "session_token"]}
    engine = every | {"credentials": TOKENS}
    api = {"upstream": "api", "cors": {}}

    def signs_in(prefix, tokens):
        return {name: prefix + path for name, path in SIGN_IN.items()} | {"tokens": tokens}

    return [
        {"name": "api", "match": {"path": "/v1/"}, "dialect": "offlineid", "sign_in": signs_in("/v1/", "opaque"), "access": offline, **api},
        {"name": "jwt", "match": {"path": "/w/"}, "dialect": "offlineid", "sign_in": signs_in("/w/", "jwt"), "access": offline, **api},
        {"name": "custom", "match": {"path": "/custom/"}, "dialect": "offlineid", "sign_in": {"verify": "/custom/wallet"}, "access": offline, **api},
        {"name": "orders", "match": {"path": "/b/"}, "dialect": "vouch", "access": every | {"credentials": ["run_token"], "person": "none"}, **api},
        {"name": "sure", "match": {"path": "/sure/"}, "dialect": "vouch", "access": every | {"credentials": ["run_token"], "person": "none", "min_trust": "hardware"}, **api},
        {"name": "guest", "match": {"path": "/profile/guest/"}, "dialect": "appengine", "sign_in": {"guest": "/profile/guest/auth"}, "access": engine, **api},
        {"name": "any", "match": {"path": "/any/"}, "dialect": "appengine", "access": engine, **api},
        {"name": "proved", "match": {"path": "/proved/"}, "dialect": "offlineid", "access": offline | {"min_trust": "hardware"}, **api},
        {"name": "others", "match": {"path": "/others/"}, "dialect": "offlineid", "access": offline | {"organizations": ["globex"]}, **api},
        {"name": "gone", "match": {"path": "/gone/"}, "dialect": "offlineid", "access": offline, **api, "upstream": "gone"},
        {"name": "personal", "match": {"path": "/personal/"}, "dialect": "appengine", "access": engine | {"person": "required"}, **api},
        {"name": "attested", "match": {"path": "/attested/"}, "dialect": "appengine", "access": engine | {"credentials": ["app_token"]}, **api},
        {"name": "staff", "match": {"path": "/staff/"}, "dialect": "appengine", "access": engine | {"credentials": ["person", "app_token"], "person": "none"}, **api},
    ]


class Stands:
    """Starts each gateway when the first of its rows is played, and removes them all in the end."""

    def __init__(self, site, authority, authorities, directory):
        self.site, self.authority, self.authorities, self.directory, self.made = site, authority, authorities, directory, {}
        self.people, self.sessions = Issuer(directory, "people", "person", ("acme", "globex")), Issuer(directory, "sessions", "session", ("acme", "globex"))
        self.upstream = Upstream(self.sessions)
        # One batch of phones whose certificate Google has withdrawn before the gateway starts.
        self.withdrawn = 0x5A11
        self.trust = authorities.bundle(directory / "trust", revoked=[self.withdrawn])

    def __getitem__(self, name):
        if name not in self.made:
            self.made[name] = getattr(self, name)()
        return self.made[name]

    def start(self, configure=lambda _: None, **sections):
        made = binary.Gateway(self.site, routes(), {"api": {"endpoints": ["http://127.0.0.1:%d" % self.upstream.port]}, "gone": {"endpoints": ["http://127.0.0.1:1"]}},
                              issuers=[self.people.settings, self.sessions.settings], **sections)
        for listener in made.configuration["listeners"]:
            listener["serves"] = ["offlineid", "vouch", "appengine", "appengine-admin"]
        configure(made)
        made.write()
        made.start()
        for organization in ("acme", "globex"):
            made.create_organization(organization)
        return made

    def main(self):
        """All dialects on one listener; a second one behind a balancer, and one for the questions of other proxies."""
        ports = {"balanced": upstreams.free_port(), "inner": upstreams.free_port()}

        def configure(made):
            own = {"serves": ["offlineid", "vouch", "appengine"], "address": "127.0.0.1:%d" % ports["balanced"], "proxy_protocol": {"from": [BALANCER + "/32"]}}
            made.configuration["listeners"] += [own, {"address": "127.0.0.1:%d" % ports["inner"], "serves": ["check"]}]

        made = self.start(configure, trust={"directory": str(self.trust)}, client_address={"trusted_proxies": [PROXY + "/32"]})
        return Stand(made, self.upstream, self.authorities, self.people, self.sessions, self.trust, ports)

    def google(self):
        """A gateway with a service account, and Google played by a server of our own."""
        google = test_vouch.Google(self.authority.issue("google", ["localhost", "127.0.0.1"]))
        made = self.start(
            workers=1, environment={"VOUCH_PLAY_INTEGRITY_CREDENTIALS": account(google.url + "/token"), "VOUCH_APP_ATTEST_ENV": "production"},
            trust={"directory": str(self.trust), "play_integrity": google.url, "play_deadline": "1s", "ca": str(self.authority.path)})
        return Stand(made, self.upstream, self.authorities, self.people, self.sessions, self.trust, google=google)

    def limited(self):
        """A gateway whose open endpoints answer each address ten times a minute."""
        def configure(made):
            for listener in made.configuration["listeners"]:
                listener["limits"] = [{"name": "open", "per": ["client"], "limit": 10, "window": "60s"}]

        return Stand(self.start(configure), self.upstream, self.authorities, self.people, self.sessions, self.trust)

    def builtin(self):
        """A gateway with the roots that the program carries and no setting of Google's."""
        return Stand(self.start(workers=1), self.upstream, self.authorities, self.people, self.sessions, self.trust)

    def remove(self):
        for stand in self.made.values():
            stand.gateway.remove()
        self.upstream.stop()

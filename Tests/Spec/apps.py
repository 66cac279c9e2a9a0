# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The apps of a row: made by the admin API as the row is given, and what each has to show."""
import re
import time

KINDS = {"OFF": "offlineid", "VCH": "vouch", "APP": "appengine", "SAL": "offlineid"}


class App:
    """One app of a row; what it holds is made when it is first needed."""

    def __init__(self, play, name, said):
        self.play, self.gateway = play, play.stand.gateway
        said = dict(said or {})
        self.name = "%s-%s-%d" % (play.row.id.lower(), name, time.monotonic_ns() % 10**9)
        self.dialect, self.organization = said.pop("dialect", KINDS[play.row.id[:3]]), said.pop("org", "acme")
        made = self.admin("POST", "/apps", {"name": self.name, "organization": self.organization, "dialects": said.pop("dialects", [self.dialect])})
        self.id, self.username, self.record = made["app_id"], made["username"], made["record_id"]
        self.held = {}
        self.set_up(said)

    def admin(self, method, path, body=None):
        return self.gateway.admin(method, path, body)

    def own(self, method, path, body=None):
        return self.admin(method, "/apps/%s/%s" % (self.id, path), body)

    def set_up(self, said):
        """The builds of the played phones are registered unless the row says otherwise."""
        ios, android, play = said.pop("ios", True), said.pop("android", True), said.pop("play", self.dialect != "offlineid")
        decryption, verification = self.play.stand.authorities.play_keys
        if self.dialect == "appengine":
            identity = {"ios": {"teamId": "ABCDE12345", "bundleId": "com.example.fieldapp"}} if ios else {}
            if android:
                identity["android"] = {"packageName": "com.example.fieldapp", "certificateSha256": []} | ({"decryptionKey": decryption, "verificationKey": verification} if play else {})
            self.own("PUT", "identity", identity)
        else:
            if ios:
                self.own("POST", "native/ios", {"bundle_id": "com.example.fieldapp", "team_id": "ABCDE12345"})
            if android:
                self.own("POST", "native/android", {"package": "com.example.fieldapp", "sha256": ["11" * 32]})
            if play:
                self.own("PUT", "play-keys", {"decryption_key": decryption, "verification_key": verification})
        for origin in said.pop("origins", ()):
            self.own("POST", "origins", {"origin": origin})
        for domain in said.pop("domains", ()):
            self.own("POST", "domains", {"domain": domain})
        if (check := said.pop("check", "monitor" if self.dialect == "appengine" else "off")) != "off":
            self.own("PUT", "check", {"mode": check})
        if said.pop("debug_tokens", False):
            self.own("PUT", "debug-tokens", {"allowed": True})
        assert not said, "no such setting: %s" % said

    def __getattr__(self, name):
        """key, secret, debug and the four keys of dialect vouch: $a.pk_live and so on."""
        if name in ("play", "held") or name.startswith("__"):
            raise AttributeError(name)
        if name not in self.held:
            if name == "secret":
                self.held[name] = self.own("POST", "secret/rotate", {})["secret"]
            elif name == "debug":
                self.held[name] = self.own("POST", "debug-tokens", {"name": "simulator"})["token"]
            elif name == "key":
                self.held[name] = self.own("POST", "api-keys", {"name": "server"})["key"]
            elif re.fullmatch("(pk|sk)_(live|test)", name):
                kind = {"pk": "sdk", "sk": "management"}[name[:2]]
                self.held[name] = self.own("POST", "api-keys", {"name": name, "kind": kind, "mode": name[3:]})["key"]
            else:
                raise AttributeError(name)
        return self.held[name]

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Plays one row: sets up what it is given, sends what it asks for, and compares what comes back."""
import concurrent.futures
import json
import os
import pty
import re
import shlex
import subprocess
import time

import gateway as binary
import proofs
import report
from apps import App
from calls import Requests
from expect import brief, difference, holds
from test_state import RedisOf
from tokens import claims

STEPS = ("cli", "admin", "call", "later", "forget", "bundle", "google", "claims", "file", "wait", "nowhere", "upstream_answers")

# `$name.part`: the same text written otherwise.
WRITTEN = {"upper": str.upper, "first8": lambda text: text[:8], "url_safe": proofs.url_safe, "twice": lambda text: proofs.devices.b64(text.encode())}


class Wrong(AssertionError):
    """A row's example does not hold."""


class Play:
    """One row on its stand."""

    def __init__(self, stand, row, number, withdrawn=0):
        self.stand, self.row, self.values, self.withdrawn = stand, row, {}, withdrawn
        # Failed checks slow an address down: each row has one of its own.
        self.source = "127.1.%d.%d" % (number // 250, number % 250 + 1)
        self.devices = {name: self.device(name) for name in row.devices}
        self.apps = {name: App(self, name, said) for name, said in (row.apps or {"a": {}}).items()}
        self.requests = Requests(self)

    def device(self, name):
        return proofs.device(self.stand.authorities, name, self.row.devices.get(name), self.withdrawn)

    def phone(self, name):
        if name not in self.devices:
            self.devices[name] = self.device(name)
        return self.devices[name]

    def run(self):
        for step in self.row.steps:
            kind = next((kind for kind in STEPS if kind in step), None)
            assert kind, "%s: no such step: %s" % (self.row.id, step)
            getattr(self, "do_" + kind)(step)

    # -- values
    def fill(self, value):
        """Puts in what `$name` and `$name.part` stand for."""
        if isinstance(value, dict):
            return {self.fill(key): self.fill(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.fill(one) for one in value]
        if not isinstance(value, str) or "$" not in value:
            return value
        if whole := re.fullmatch(r"\$(\w+(?:\.\w+)*)", value):
            return self.named(whole[1])
        return re.sub(r"\$(\w+(?:\.(?:id|key|secret|debug|username|record|name|key_id)\b)?)", lambda m: str(self.named(m[1])), value)

    def named(self, path):
        name, *parts = path.split(".")
        if name == "long":
            return " " * 70_000
        if name in self.values:
            value = self.values[name]
        elif name in self.apps:
            value = self.apps[name] if parts else self.apps[name].id
        elif name == "person":
            value = self.stand.people.token(sub="ada")
        elif name in ("play_keys", "other_play_keys"):
            value = (self.stand.authorities if name == "play_keys" else proofs.FOREIGN).play_keys
        else:
            value = self.phone(name)
        for part in parts:
            value = WRITTEN[part](value) if part in WRITTEN else value[part] if isinstance(value, dict) else value[int(part)] if part.isdigit() else getattr(value, part)
        return value

    def keep(self, step, seen, answer=None):
        for name, path in step.get("keep", {}).items():
            if path.startswith("field "):
                self.values[name] = answer[path[6:]]
                continue
            value = seen
            for part in path.split("."):
                value = value[int(part)] if isinstance(value, list) else value[part]
            self.values[name] = value

    def judge(self, what, expected, seen, problems):
        """Notes one comparison, and ends the row where it does not hold."""
        problems = [problem for problem in problems if problem]
        report.saw(self.row.id, "%s → %s" % (what, brief(expected)), brief(seen), not problems)
        if problems:
            raise Wrong("%s (%s), %s: expected %s, saw %s: %s" % (self.row.id, self.row.says, what, brief(expected, 600), brief(seen, 900), "; ".join(problems)))

    # -- steps
    def do_call(self, step):
        """One request, or many one after another (`times`) or at once (`together`)."""
        count = step.get("together", step.get("times", 1))
        if count == 1:
            until = time.monotonic() + step.get("within", 0)
            while True:
                try:
                    return self.requests.exchange(step)
                except Wrong:
                    if time.monotonic() > until:
                        raise
                    report.forget()
                    time.sleep(0.3)
        for name in ("with", "fields", "bearer"):
            self.fill(step.get(name))  # what a row needs is made once, before many ask for it at once
        made = self.requests.build(step) if step.get("same") else None
        with concurrent.futures.ThreadPoolExecutor(32 if "together" in step else 1) as pool:
            answers = list(pool.map(lambda _: self.requests.send(made or self.requests.build(step)), range(count)))
        seen = {}
        for answer in answers:
            seen[answer.status] = seen.get(answer.status, 0) + 1
        self.judge("%s %d times" % (step["call"], count), step["tally"], seen, [difference(step["tally"], seen)])

    def do_cli(self, step):
        words = shlex.split(self.fill(step["cli"]))
        if step.get("app", "a") and "--app" not in words:
            words += ["--app", self.apps[step.get("app", "a")].id]
        words += [] if step.get("plain") else ["--json"]
        result = self.asked(words, step["terminal"]) if "terminal" in step else self.command(words, step)
        try:
            seen = json.loads(result.stdout) if result.stdout.strip() else None
        except ValueError:
            seen = result.stdout
        wanted = step.get("exit", 0)
        problems = [None if result.returncode == wanted else "exit %d, not %d: %s" % (result.returncode, wanted, result.stderr or "")]
        if "json" in step:
            problems.append(difference(self.fill(step["json"]), seen))
        if "text" in step:
            problems += [None if holds(self.fill(word)[1:], result.stdout + (result.stderr or "")) else word for word in step["text"]]
        self.judge("sallyport " + " ".join(words), "exit %d %s" % (wanted, brief(step.get("json", step.get("text", "")))),
                   "exit %d %s" % (result.returncode, brief(seen)), problems)
        self.keep(step, seen)

    def command(self, words, step):
        """The command line, at this gateway's socket or elsewhere (`at`); as a `stranger`: an account that may not use the socket."""
        gateway = self.stand.gateway
        environment = dict(gateway.environment, SALLYPORT_ADMIN=step.get("at", gateway.configuration["admin"]["address"]))
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if step.get("stranger") else []
        return subprocess.run([*other, str(binary.BINARY), *words], capture_output=True, text=True, timeout=30, env=environment, cwd=gateway.directory, input=self.fill(step.get("input", "")))

    def asked(self, words, answer):
        """The command line on a terminal, where it may ask: what is typed is the answer."""
        gateway, (ours, theirs) = self.stand.gateway, pty.openpty()
        os.write(ours, (answer + "\n").encode())
        try:
            environment = dict(gateway.environment, SALLYPORT_ADMIN=gateway.configuration["admin"]["address"])
            return subprocess.run([str(binary.BINARY), *words], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=30, env=environment, cwd=gateway.directory)
        finally:
            os.close(ours)
            os.close(theirs)

    def do_admin(self, step):
        """A request on the admin socket: what a command does without starting one."""
        method, path = self.fill(step["admin"]).split(" ", 1)
        try:
            seen, error = self.stand.gateway.admin(method, path, self.fill(step.get("with"))), ""
        except AssertionError as problem:
            seen, error = None, str(problem)
        problems = [] if bool(error) == ("refused" in step) else [error or "it was taken"]
        if "refused" in step:
            problems.append(None if re.search(step["refused"], error) else error)
        elif "json" in step:
            problems.append(difference(self.fill(step["json"]), seen))
        self.judge(step["admin"], step.get("refused", step.get("json", "taken")), error or seen, problems)
        self.keep(step, seen)

    def do_claims(self, step):
        seen = claims(self.fill(step["claims"]))
        seen["life"] = seen["exp"] - seen["iat"]
        self.judge("claims", step["json"], seen, [difference(self.fill(step["json"]), seen)])

    def do_file(self, step):
        (self.stand.gateway.directory / step["file"]).write_text(self.fill(step["text"]))

    def do_wait(self, step):
        time.sleep(step["wait"])

    def do_later(self, step):
        """So many seconds pass for one app: every moment and every life that Redis keeps of it, and the end of its development mode."""
        app, redis = self.apps[step.get("app", "a")], RedisOf(self.stand.gateway)
        for name in redis.names():
            if name.startswith("{%s}:" % app.record) and redis("TYPE", name) == "zset":
                for member in redis("ZRANGE", name, "0", "-1"):
                    redis("ZINCRBY", name, str(-1000 * step["later"]), member)
            elif name.startswith("{%s}:" % app.record) and int(life := redis("PTTL", name)) > 0:
                left = int(life) - 1000 * step["later"]
                redis("PEXPIRE", name, str(left)) if left > 0 else redis("DEL", name)
        record = "{registry}:app:" + app.record
        kept = json.loads(redis("HGET", record, "j"))
        if kept.get("developmentUntil"):
            kept["developmentUntil"] -= 1000 * step["later"]
            redis("HSET", record, "j", json.dumps(kept))
            app.own("POST", "origins", {"origin": "https://later-%d.example" % time.monotonic_ns()})  # any change makes the workers read it

    def do_forget(self, step):
        """Takes the key of an install out of the store, as a lost database would."""
        app, redis = self.apps["a"], RedisOf(self.stand.gateway)
        for name in redis.names():
            if name.startswith("{%s}:k:%s" % (app.record, app.dialect)):
                redis("DEL", name)

    def do_bundle(self, step):
        """Google withdraws the certificates of a phone's batch."""
        phone = self.phone(step["bundle"])
        self.stand.authorities.bundle(self.stand.trust, revoked=[self.withdrawn, phone.serial])

    def do_google(self, step):
        """What Google's API says from now on: a payload for a nonce, or a status."""
        import test_vouch

        said = step["google"]
        if "asked" in said:
            return self.judge("calls of Google's API", said["asked"], len(self.stand.google.asked), [difference(said["asked"], len(self.stand.google.asked))])
        if "forget" in said:
            self.stand.google.asked.clear()
        if "status" in said:
            self.stand.google.decode = lambda _: (said["status"], {})
        if "nonce" in said:
            payload = test_vouch.payload(self.fill(said["nonce"]), **({"device": said["device"]} if "device" in said else {}))
            self.stand.google.decode = lambda _: payload
        return None

    def do_nowhere(self, step):
        """None of these texts stands in a log, a metric, the history or the store."""
        time.sleep(0.3)
        gateway = self.stand.gateway
        places = {"metrics": gateway.probe("/metrics")[1], "log": gateway.output(), "access log": gateway.access_log.read_text(),
                  "history": json.dumps(gateway.cli("history", "--app", self.apps["a"].id)), "status": json.dumps(gateway.cli("status", "--app", self.apps["a"].id))}
        for file in (gateway.directory / "state").rglob("*"):
            if file.is_file() and "keys" not in file.parts and "password" != file.name:
                places[file.name] = file.read_bytes().decode("latin-1")
        wanted = [text for text in self.fill(step["nowhere"]) if text]
        found = [(place, text[:8]) for place, words in places.items() for text in wanted if text in words]
        self.judge("%d secrets are nowhere" % len(wanted), [], found, [str(found) if found else None])

    def do_upstream_answers(self, step):
        said = step["upstream_answers"]
        self.stand.upstream.raw = said and (said.get("status", 200), said.get("fields", {"Content-Type": "application/json"}), said["body"].encode())


def play(stand, row, number, withdrawn=0):
    """Runs the row; raises Wrong where its example does not hold."""
    try:
        Play(stand, row, number, withdrawn).run()
    finally:
        stand.upstream.raw = None

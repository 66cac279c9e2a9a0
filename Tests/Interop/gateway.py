# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The real binary under test: started with a configuration, driven by its own command line, watched through /proc."""
import dataclasses
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import wire
from upstreams import free_port

TOP = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("SALLYPORT_BINARY", TOP / ".build/release/sallyport"))


@dataclasses.dataclass
class App:
    """An app as the command line created it."""

    id: str
    organization: str
    key: str = ""
    key_id: str = ""
    origins: tuple = ()

    @property
    def fields(self):
        return {"X-App-Id": self.id, "X-Api-Key": self.key}


class CommandFailed(AssertionError):
    def __init__(self, arguments, result):
        super().__init__("sallyport %s: exit %d\n%s%s" % (" ".join(arguments), result.returncode, result.stdout, result.stderr))
        self.result = result


class Gateway:
    """One gateway with its own folder under /tmp (short, since Unix socket paths are)."""

    def __init__(self, site, routes, upstreams, workers=2, environment=None, **sections):
        self.site = site  # (certificate, key)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sp-", dir="/tmp"))
        self.port, self.clear_port, self.metrics_port = (free_port() for _ in range(3))
        self.environment = dict(os.environ, **(environment or {}))
        self.process = None
        self.log = self.directory / "gateway.log"
        self.access_log = self.directory / "access.log"
        self.configuration = {
            "version": 1,
            "workers": workers,
            "listeners": [
                {"address": "127.0.0.1:%d" % self.port,
                 "tls": {"certificates": [{"cert": site[0], "key": site[1]}], "default": site[0]}},
                {"address": "127.0.0.1:%d" % self.clear_port},
            ],
            "admin": {"address": "unix:" + str(self.directory / "state/admin.sock")},
            "metrics": {"address": "127.0.0.1:%d" % self.metrics_port},
            "log": {"access": str(self.access_log)},
            # A disk that several test processes sync to at once may take longer than the standard.
            "state": {"redis": "embedded", "directory": str(self.directory / "state"), "deadline": "1s"},
            "upstreams": upstreams,
            "routes": routes,
        }
        self.configuration.update(sections)
        self.file = self.directory / "sallyport.yaml"
        self.write()

    def write(self, text=None):
        """JSON is YAML: flow mappings with quoted keys."""
        self.file.write_text(text if text is not None else json.dumps(self.configuration, indent=1))

    # -- life
    def start(self, wait=True):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(
                [str(BINARY), "run", "--config", str(self.file)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env=self.environment, cwd=self.directory)
        if wait:
            self.wait_until_ready()
        return self

    def wait_until_ready(self, seconds=15):
        end = time.monotonic() + seconds
        while True:
            if self.process.poll() is not None:
                raise AssertionError("the gateway ended with %s:\n%s" % (self.process.returncode, self.output()[-3000:]))
            try:
                status, text = self.probe("/readyz")
                if status == 200:
                    return
            except OSError as error:
                text = str(error)
            if time.monotonic() > end:
                raise AssertionError("not ready after %d s: %s\n%s" % (seconds, text, self.output()[-3000:]))
            time.sleep(0.02)

    def stop(self, seconds=20):
        """TERM, then wait; returns the exit status."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill_everything()
                raise AssertionError("did not stop in %d s after TERM:\n%s" % (seconds, self.output()[-2000:])) from None
        return self.process.returncode if self.process else None

    def kill_everything(self):
        """KILL to the supervisor, its children and Redis, at one instant as nearly as can be."""
        everyone = [self.process.pid, *self.descendants()]
        for pid in everyone:
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                pass
        for pid in everyone:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        end = time.monotonic() + 5
        while any(os.path.exists("/proc/%d/stat" % pid) and state(pid) not in "ZX" for pid in everyone[1:]) and time.monotonic() < end:
            time.sleep(0.005)

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill_everything()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.remove()

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    # -- processes
    def descendants(self):
        found, queue = [], [self.process.pid]
        while queue:
            children = children_of(queue.pop())
            found += children
            queue += children
        return found

    def workers(self):
        return sorted(p for p in self.descendants() if is_worker(p))

    def redis(self):
        return next(p for p in self.descendants() if "redis-server" in command_line(p))

    def wait_for_workers(self, count, without=(), seconds=5):
        end = time.monotonic() + seconds
        while True:
            now = [p for p in self.workers() if p not in without]
            if len(now) >= count:
                return now
            assert time.monotonic() < end, "%d workers wanted, have %s" % (count, now)
            time.sleep(0.002)

    # -- what it says
    def output(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def access(self):
        """The lines of the access log so far, by their times, once it has stood still: an answer is out before its line is, and workers write by turns."""
        if not self.access_log.exists():
            return []
        size, still, end = -1, 0, time.monotonic() + 5
        while still < 4 and time.monotonic() < end:
            size, former = self.access_log.stat().st_size, size
            still = still + 1 if size == former else 0
            time.sleep(0.1)
        lines = [json.loads(line) for line in self.access_log.read_text(errors="replace").splitlines() if line.startswith("{")]
        return sorted(lines, key=lambda line: line["ts"])

    def probe(self, path):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.metrics_port, path), timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self):
        """name{labels} → value of every sample."""
        status, text = self.probe("/metrics")
        assert status == 200, text
        return {m[1]: float(m[2]) for m in re.finditer(r"^([a-zA-Z_:][^\s{]*(?:\{.*?\})?) (\S+)", text, re.M)}

    def defended(self, defence):
        """How often it has used that defence."""
        return self.metrics().get('sallyport_defences_total{defence="%s"}' % defence, 0)

    # -- the command line
    def run(self, *arguments, timeout=30, **options):
        arguments = [str(a) for a in arguments]
        environment = dict(self.environment, SALLYPORT_ADMIN=self.configuration["admin"]["address"])
        return subprocess.run([str(BINARY), *arguments], capture_output=True, text=True, timeout=timeout,
                              env=environment, cwd=self.directory, **options)

    def cli(self, *arguments):
        """Runs a command with --json; its value, or CommandFailed."""
        result = self.run(*arguments, "--json")
        if result.returncode != 0:
            raise CommandFailed([str(a) for a in arguments], result)
        return json.loads(result.stdout) if result.stdout.strip() else None

    def create_organization(self, name="acme"):
        self.cli("orgs", "create", name)
        return name

    def create_app(self, name="web", organization="acme", origins=(), key=True):
        made = self.cli("apps", "create", "--org", organization, "--name", name)
        app = App(first(made, "app_id", "id", "appId"), organization, origins=tuple(origins))
        for origin in origins:
            self.cli("origins", "add", origin, "--app", app.id)
        if key:
            app.key, app.key_id = self.create_key(app)
        return app

    def create_app_by_admin(self, name, organization):
        """An app with two keys, made fast: for tests that need thousands."""
        made = self.admin("POST", "/apps", {"name": name, "organization": organization})
        app = first(made, "app_id")
        keys = [first(self.admin("POST", "/apps/%s/api-keys" % app, {"name": "k%d" % i}), "key") for i in range(2)]
        return app, keys

    def create_key(self, app, name="server"):
        made = self.cli("keys", "create", "--app", app.id, "--name", name)
        return first(made, "key", "secret", "api_key"), first(made, "key_id", "id")

    def admin(self, method, target, body=None):
        """One request on the admin socket: what a command does, without starting one."""
        status, value = self.ask_admin(method, target, body)
        assert status < 300, "%s %s: %d %s" % (method, target, status, value)
        return value

    def ask_admin(self, method, target, body):
        client = http.client.HTTPConnection("localhost", timeout=30)
        client.sock = socket.socket(socket.AF_UNIX)
        client.sock.connect(self.configuration["admin"]["address"].removeprefix("unix:"))
        try:
            client.request(method, "/admin/v1" + target, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
            answer = client.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            client.close()

    # -- requests
    def wire(self, tls=False, **options):
        return wire.Wire(self.port if tls else self.clear_port, tls=tls, **options)

    def get(self, target="/v1/hello", fields=(), tls=False, method="GET", body=None, host="localhost", **options):
        with self.wire(tls, **options) as client:
            return client.exchange(method, target, fields, body, host)

    @property
    def url(self):
        return "https://localhost:%d" % self.port

    @property
    def clear_url(self):
        return "http://localhost:%d" % self.clear_port


def first(value, *names):
    """The first of the names that the object, or an object one level inside it, has."""
    for name in names:
        if name in value:
            return value[name]
    for inner in value.values():
        if isinstance(inner, dict):
            for name in names:
                if name in inner:
                    return inner[name]
    raise AssertionError("none of %s in %s" % (names, value))


def children_of(pid):
    try:
        return [int(p) for task in os.listdir("/proc/%d/task" % pid)
                for p in open("/proc/%d/task/%s/children" % (pid, task)).read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def command_line(pid):
    try:
        with open("/proc/%d/cmdline" % pid) as file, open("/proc/%d/comm" % pid) as name:
            return name.read().strip() + " " + file.read().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_worker(pid):
    return "worker" in command_line(pid) and state(pid) not in "ZX"


def state(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def memory(pids, kind="Rss"):
    """Kilobytes, summed."""
    total = 0
    for pid in pids:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            total += int(re.search(r"^%s:\s+(\d+)" % kind, file.read(), re.M)[1])
    return total

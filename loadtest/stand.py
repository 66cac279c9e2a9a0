# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The bench: tools, materials, the peers and the gateway, each on its own core.

The server under test runs with one worker on core 0; origin, Redis and load share core 1. The figure to trust is CPU per
request (user and system, from the scheduler's nanoseconds); ratios taken in one run hold where absolute figures do not.
"""
import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Tests/Interop"))

import gateway as binary  # noqa: E402
import upstreams  # noqa: E402

SERVER_CORE, LOAD_CORE = 0, 1
HOST, ORIGIN = "gw.test", "https://app.example"
ROTATED = 1024
SECRET = "a-shared-secret-of-forty-characters-or-so"


def run(*arguments, **options):
    result = subprocess.run([str(a) for a in arguments], capture_output=True, **options)
    if result.returncode:
        raise RuntimeError("%s: %s" % (arguments[0], (result.stderr or result.stdout).decode(errors="replace")[-800:]))
    return result.stdout


def tree(pid):
    found, queue = [pid], [pid]
    while queue:
        children = binary.children_of(queue.pop())
        found += children
        queue += children
    return found


def cpu(pids):
    """CPU seconds that the processes have used so far."""
    total = 0
    for pid in pids:
        try:
            for task in os.listdir("/proc/%d/task" % pid):
                with open("/proc/%d/task/%s/schedstat" % (pid, task)) as file:
                    total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total / 1e9


def user_ticks(pids):
    """Seconds in user mode, by the scheduler's ticks: coarse, and only to tell user from system."""
    total = 0
    for pid in pids:
        try:
            with open("/proc/%d/stat" % pid) as file:
                total += int(file.read().rpartition(")")[2].split()[11])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total / os.sysconf("SC_CLK_TCK")


def core_busy(core):
    with open("/proc/stat") as file:
        values = next(line for line in file if line.startswith("cpu%d " % core)).split()[1:]
    values = [int(v) for v in values]
    return (sum(values) - values[3] - values[4]) / os.sysconf("SC_CLK_TCK")


def pin(pids, core):
    for pid in pids:
        os.sched_setaffinity(pid, {core})


class Missing(Exception):
    """A peer that is not installed: its row says so, and its gates fail."""


class Server:
    """Something to measure: where it listens and whose CPU counts."""

    def __init__(self, name, port, root, excluded=(), stop=None):
        self.name, self.port, self.root, self.excluded, self.stop = name, port, root, set(excluded), stop

    def pids(self):
        return [p for p in tree(self.root) if p not in self.excluded]


class Stand:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.processes, self.log_reader, self.redis_port = [], None, 0
        self.build_tools()
        self.make_materials()
        self.origin_port = upstreams.free_port()
        self.spawn("origin", [self.file("origin"), self.origin_port], LOAD_CORE, self.origin_port)

    def file(self, name):
        return self.directory / name

    # -- materials
    def build_tools(self):
        tls = ["-lssl", "-lcrypto"]
        shared = (HERE / "src/serve.h").stat().st_mtime
        for name, flags in (("loadgen", tls), ("relay", tls), ("origin", []), ("logsink", []), ("mallocs.so", ["-shared", "-fPIC"])):
            source, made = HERE / "src" / (name.split(".")[0] + ".c"), self.file(name)
            if not made.exists() or made.stat().st_mtime < max(shared, source.stat().st_mtime):
                run("cc", "-O2", "-o", made, source, *flags)

    def make_materials(self):
        if not self.file("server.pem").exists():
            run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "365", "-subj", "/CN=" + HOST,
                "-addext", "subjectAltName=DNS:%s,DNS:localhost,IP:127.0.0.1" % HOST, "-keyout", self.file("key.pem"), "-out", self.file("cert.pem"))
            self.file("server.pem").write_text(self.file("cert.pem").read_text() + self.file("key.pem").read_text())
        ids = ["%04d" % i for i in range(10000)]
        keys = ["gk_" + hmac.new(b"loadtest", i.encode(), "sha256").hexdigest()[:40] for i in ids]
        pairs = list(zip(keys, ids))
        self.file("peer-keys").write_text("".join("X-Api-Key: %s\n" % k for k in keys[:ROTATED]))
        self.file("apikeys.nginx").write_text("".join('"%s" client-%s;\n' % p for p in pairs))
        self.file("apikeys-sha256.map").write_text("".join("%s client-%s\n" % (hashlib.sha256(k.encode()).hexdigest(), i) for k, i in pairs))
        origins = [ORIGIN] + ["https://tenant-%d.example" % i for i in range(63)]
        self.file("origins.lst").write_text("\n".join(origins) + "\n")
        self.file("jwt-secret").write_text(SECRET)
        if not self.file("jwt-key.pem").exists():
            run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.file("jwt-key.pem"))
        run("openssl", "pkey", "-in", self.file("jwt-key.pem"), "-pubout", "-out", self.file("jwt-public.pem"))
        point = run("openssl", "pkey", "-in", self.file("jwt-key.pem"), "-pubout", "-outform", "DER")[-64:]
        x, y = (base64.urlsafe_b64encode(half).rstrip(b"=").decode() for half in (point[:32], point[32:]))
        self.file("jwt-keys.json").write_text(json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "k1", "alg": "ES256", "use": "sig"}]}))
        self.file("origins.nginx").write_text("".join('"%s" 1;\n' % o for o in origins))

    # -- processes
    def spawn(self, name, arguments, core, port):
        process = upstreams.Process(["taskset", "-c", core, *arguments], self.file(name + ".log"), port, cwd=self.directory)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            process.stop()
        if self.log_reader:
            self.log_reader.terminate()
            self.log_reader.wait()

    def peer(self, name, mode):
        """A peer, configured for `plain`, `key` or a kind of tokens; with `+log` it keeps an access log as its operators would."""
        port, program = upstreams.free_port(), re.split("[+-]", name)[0]
        made = "%s-%s" % (name.replace("+", "-"), mode)
        if program == "relay":
            arguments = [self.file("relay"), port, self.origin_port, self.file("cert.pem"), self.file("key.pem")]
        else:
            if name == "nginx-lua":
                self.start_redis()
            config = self.file(made + ".conf")
            config.write_text(self.template("%s.%s" % (program, "cfg" if program == "haproxy" else "conf"), {mode, *re.split("[+-]", name)[1:]}, port, made))
            found = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
            if not found:
                raise Missing("no %s here: apt-get install %s" % (program, program))
            if name == "nginx-lua":
                tried = subprocess.run([found, "-t", "-p", self.directory, "-c", config], capture_output=True, text=True)
                if tried.returncode:
                    raise Missing("apt-get install libnginx-mod-http-lua lua-resty-core lua-cjson (%s)" % tried.stderr.strip().splitlines()[0][-120:])
            arguments = [found, "-db", "-f", config] if program == "haproxy" else [found, "-p", self.directory, "-c", config]
        if name == "haproxy+log":
            self.read_log()
        process = self.spawn(made, arguments, SERVER_CORE, port)
        return Server(name, port, process.pid, stop=process.stop)

    def start_redis(self):
        """The Redis of nginx with Lua, with its script and a set of revoked tokens."""
        if self.redis_port:
            return
        self.redis_port = upstreams.free_port()
        self.spawn("redis", ["redis-server", "--port", self.redis_port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], LOAD_CORE, self.redis_port)
        ask = lambda *words: run("redis-cli", "-p", self.redis_port, *words)
        ask("SCRIPT", "LOAD", (HERE / "peers/window.lua").read_text())
        ask("SADD", "revoked", *("gone-%d" % i for i in range(1000)))

    def read_log(self):
        """Something reads what haproxy logs, as a syslog service would."""
        if not self.log_reader:
            self.log_reader = subprocess.Popen(["taskset", "-c", str(LOAD_CORE), self.file("logsink"), self.file("haproxy.sock")], stdout=subprocess.PIPE)
            self.log_reader.stdout.readline()

    def template(self, name, modes, port, made):
        kept, keep = [], True
        for line in (HERE / "peers" / name).read_text().splitlines(True):
            if mark := re.match(r"\s*#@(if|end)(.*)", line):
                words = mark[2].split()
                keep = mark[1] == "end" or bool(modes & set(words)) or any(w[0] == "!" and w[1:] not in modes for w in words)
            elif keep:
                kept.append(line)
        values = {"DIR": self.directory, "HERE": HERE / "peers", "ORIGIN": self.origin_port, "SECRET": SECRET, "PORT": port, "NAME": made,
                  "REDIS": self.redis_port, "SHA": hashlib.sha1((HERE / "peers/window.lua").read_bytes()).hexdigest()}
        return re.sub(r"\{\{(\w+)\}\}", lambda m: str(values[m[1]]), "".join(kept))

    def gateway(self, workers=1, environment=None, redis=None, **sections):
        """The gateway with routes for every job: access log, metrics, timeouts and limits are on; `redis`: a process other than its own."""
        site = (str(self.file("cert.pem")), str(self.file("key.pem")))
        keyed = {"organizations": ["load"], "credentials": ["api_key"]}
        many = 1_000_000_000
        make = lambda name, path, **more: {"name": name, "match": {"path": path}, "upstream": "origin", **more}
        routes = [
            make("plain", "/", access="open"),
            make("key", "/key/", dialect="offlineid", access=keyed, cors={}),
            make("tokens", "/tokens/", dialect="offlineid", access={"organizations": ["load"], "credentials": ["session_token"]}, cors={}),
            make("shared", "/shared/", dialect="offlineid", access={"organizations": ["load"], "credentials": ["session_token"]}, cors={}, limits=[
                {"name": "person", "per": ["app", "person"], "limit": many, "window": "60s"}]),
            make("windows", "/windows/", dialect="offlineid", access=keyed, limits=[
                {"name": "app", "per": ["app"], "limit": many, "window": "60s"},
                {"name": "client", "per": ["app", "client"], "limit": many, "window": "60s"}]),
        ]
        one = binary.Gateway(site, routes, {"origin": {"endpoints": ["http://127.0.0.1:%d" % self.origin_port]}}, workers=workers,
                             environment=environment, http={"body": "2GiB"}, connections={"per_worker": 20000, "per_client": 20000, "rate": "9999999 + 9999999/s", "handshakes": "9999999 + 9999999/s"}, **sections)
        if redis:
            one.configuration["state"]["redis"] = "redis://127.0.0.1:%d" % redis.port
            one.write()
        one.start()
        pin(one.descendants() + [one.process.pid], SERVER_CORE)
        pin([redis.process.pid if redis else one.redis()], LOAD_CORE)
        return one

    def issuers(self, algorithm):
        """The outside issuer of the tokens, as the gateway's configuration names it."""
        keys = {"hs256": "${file:%s}" % self.file("jwt-secret")} if algorithm == "HS256" else {"jwks_file": str(self.file("jwt-keys.json"))}
        return [{"name": "load", "issuer": "https://issuer.test", "audiences": ["api"], "keys": keys, "algorithms": [algorithm], "organizations": ["load"], "kind": "session"}]

    def mint(self, one, algorithm):
        """Different tokens of one app, the same for every server; they land in `tokens`."""
        one.create_organization("load")
        app, _ = one.create_app_by_admin("tokens", "load")
        one.admin("POST", "/apps/%s/origins" % app, {"origin": ORIGIN})
        key = self.file("jwt-secret" if algorithm == "HS256" else "jwt-key.pem")
        made = run(self.file("loadgen"), "--mint", algorithm, "--key", key, "--count", ROTATED, "--exp", int(time.time()) + 3600,
                   "--more", ',"app_id":"%s","app_trust":"hardware"' % app).decode()
        self.file("tokens").write_text("".join("Authorization: Bearer %s\tX-App-Id: %s\n" % (token, app) for token in made.split()))

    def server(self, one):
        return Server("sallyport", one.port, one.process.pid, [one.redis()], one.remove)

    def fill_registry(self, one, apps):
        """Two keys for each app; the rotated credentials land in `our-keys`."""
        one.create_organization("load")
        lines = []
        for number in range(apps):
            app, keys = one.create_app_by_admin("app-%d" % number, "load")
            if number < ROTATED // 2:
                one.admin("POST", "/apps/%s/origins" % app, {"origin": ORIGIN})
            lines += ["X-Api-Key: %s\tX-App-Id: %s\n" % (key, app) for key in keys]
        self.file("our-keys").write_text("".join(lines[:ROTATED]))

    # -- load
    def loadgen(self, port, seconds, *arguments):
        said = run("taskset", "-c", LOAD_CORE, self.file("loadgen"), "--port", port, "--tls", "--host", HOST, "--duration", seconds, *arguments, timeout=seconds + 60)
        return json.loads(said)

    def h2load(self, port, seconds, path, *arguments):
        """HTTP/2, 16 connections of 16 streams; the same figures as `loadgen`."""
        log = self.file("h2load.log")
        log.unlink(missing_ok=True)
        said = run("taskset", "-c", LOAD_CORE, "h2load", "-c", 16, "-m", 16, "-t", 1, "-D", "%dms" % (seconds * 1000), "--warm-up-time=0", "--log-file=%s" % log,
                   "--tls13-ciphers=TLS_AES_128_GCM_SHA256", "--groups=X25519", "--npn-list=h2", "--connect-to=127.0.0.1:%d" % port, *arguments,
                   "https://%s:%d%s" % (HOST, port, path), timeout=seconds + 60).decode()
        if "Application protocol: h2" not in said:
            raise RuntimeError("no h2: %s" % said[-400:])
        succeeded, failed, errored = map(int, re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", said).groups())
        odd = sum(map(int, re.search(r"(\d+) 3xx, (\d+) 4xx, (\d+) 5xx", said).groups()))
        times = sorted(int(line.split("\t")[2]) for line in log.read_text().splitlines() if line.count("\t") == 2) or [0]
        at = lambda part: times[int(part * (len(times) - 1))]
        # What was under way when the time was up counts as failed.
        return {"requests": succeeded, "errors": max(0, failed + errored - 256), "non2xx": odd, "rps": succeeded / seconds, "p50_us": at(.5), "p99_us": at(.99),
                "resumed": 0}

    def h2_connections(self, port, seconds, path):
        """A new HTTP/2 connection for each request, in rounds, for about as long."""
        rounds, count = 0, 400
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rounds += 1
            said = run("taskset", "-c", LOAD_CORE, "h2load", "-n", count, "-c", count, "-m", 1, "-t", 1, "--tls13-ciphers=TLS_AES_128_GCM_SHA256", "--groups=X25519",
                       "--npn-list=h2", "--connect-to=127.0.0.1:%d" % port, "https://%s:%d%s" % (HOST, port, path), timeout=60).decode()
            if "Application protocol: h2" not in said or " %d succeeded" % count not in said:
                raise RuntimeError("h2load: %s" % said[-400:])
        done = rounds * count
        return {"requests": done, "errors": 0, "non2xx": 0, "rps": done / seconds}

    def probe(self, port, path, fields):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port), 5), server_hostname=HOST) as client:
            head = "".join("%s: %s\r\n" % f for f in fields.items())
            client.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n" % (path, HOST, head)).encode())
            answer = http.client.HTTPResponse(client)
            answer.begin()
            return answer.status, len(answer.read())

    def timed(self, server, seconds, *arguments, load=None):
        """One measurement: what the load saw, and the CPU that the server used for it."""
        pids = server.pids()
        began, used, busy, load_busy, user = time.monotonic(), cpu(pids), core_busy(SERVER_CORE), core_busy(LOAD_CORE), user_ticks(pids)
        result = (load or self.loadgen)(server.port, seconds, *arguments)
        wall = time.monotonic() - began
        result["cpu"] = cpu(pids) - used
        result["foreign"] = max(0.0, (core_busy(SERVER_CORE) - busy - result["cpu"]) / wall)
        result["util"], result["load"] = result["cpu"] / wall, (core_busy(LOAD_CORE) - load_busy) / wall
        result["user"] = 1000 * (user_ticks(pids) - user) / max(1, result["requests"])
        result["ms"] = 1000 * result["cpu"] / max(1, result["requests"])
        return result

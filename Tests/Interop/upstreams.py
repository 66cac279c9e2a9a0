# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Real and scripted servers to stand behind the gateway."""
import contextlib
import fcntl
import http.server
import importlib.util
import os
import pathlib
import random
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]


def load_backend():
    spec = importlib.util.spec_from_file_location("backend", TOP / "config/examples/backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


backend = load_backend()


CLAIMS = open(os.path.join(tempfile.gettempdir(), "sallyport-test-ports-%d" % os.getuid()), "ab")
CLAIMED = set()


def free_port():
    """A port for a server that is yet to start: below those that the system gives to connections, one of which might take it meanwhile.

    It is given to nobody else while this process lives, by a lock on its byte of a file: a listener that was stopped finds it again, and of
    several processes that run cases at once none takes another's.
    """
    while True:
        port = random.randrange(10000, 32000)
        if port in CLAIMED:
            continue
        try:
            fcntl.lockf(CLAIMS, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            continue
        CLAIMED.add(port)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


def wait_for_port(port, process=None, seconds=15):
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 0.5).close()
            break
        except OSError:
            if process is not None and process.poll() is not None:
                raise RuntimeError("ended with %s before it listened" % process.returncode) from None
            if time.monotonic() > end:
                raise RuntimeError("port %d did not open" % port) from None
            time.sleep(0.01)
    # Else it was somebody else's.
    if process is not None and process.poll() is not None:
        raise RuntimeError("ended with %s, and another listens on port %d" % (process.returncode, port))


class Process:
    """A child process that is ended at the end."""

    def __init__(self, arguments, log, port=None, **options):
        with open(log, "ab") as out:
            self.child = subprocess.Popen([str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=out, **options)
        self.log, self.port = log, port
        if port:
            try:
                wait_for_port(port, self.child)
            except RuntimeError as error:
                self.stop()
                raise RuntimeError("%s: %s: %s" % (arguments[0], error, open(log, errors="replace").read()[-800:])) from None

    @property
    def pid(self):
        return self.child.pid

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


def start_backend(directory, name="backend", port=None, tls=None):
    """config/examples/backend.py in a process of its own."""
    port = port or free_port()
    more = ["--cert", tls[0], "--key", tls[1]] if tls else []
    return Process(["/usr/bin/python3", TOP / "config/examples/backend.py", "--port", port, *more], directory / (name + ".log"), port)


def start_nginx(directory, tls=None, more=""):
    """Debian's nginx: /file/* from disk, /ok answered at once, plain or TLS; `more` for its server."""
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    home = directory / ("nginx-tls" if tls else "nginx")
    (home / "files" / "file").mkdir(parents=True)
    port = free_port()
    temporary = "\n".join("%s_temp_path %s;" % (n, home / n) for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    secure = "ssl_certificate %s; ssl_certificate_key %s;" % tls if tls else ""
    (home / "nginx.conf").write_text("""
daemon off; worker_processes 1; pid %(home)s/pid; error_log %(home)s/error.log; %(user)s
events { worker_connections 4096; }
http {
  access_log off; default_type application/octet-stream; keepalive_requests 1000000; %(temporary)s
  server {
    listen 127.0.0.1:%(port)d%(ssl)s; %(secure)s
    %(more)s
    root %(home)s/files; dav_methods PUT DELETE; create_full_put_path on;
    location /ok { return 200 "ok\\n"; }
    location /file/ { }
  }
}
""" % {"home": home, "temporary": temporary, "port": port, "more": more or "client_max_body_size 0;", "ssl": " ssl" if tls else "", "secure": secure,
       "user": "user root;" if __import__("os").geteuid() == 0 else ""})
    server = Process([binary, "-p", home, "-c", home / "nginx.conf"], home / "out.log", port)
    server.files = home / "files"
    return server


def serve_https(handler, certificate):
    """A server on a free port that answers by a handler of http.server, with a certificate and its key."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Listener:
    """A raw TCP server on a free port: `serve(client)` runs in a thread of its own for each connection."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self._take(client)

    def _take(self, client):
        threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            self.serve(client)
        except (OSError, EOFError):
            pass
        finally:
            client.close()

    def stop(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()


class Scripted(Listener):
    """A raw TCP server; `script(connection, number)` runs in a thread per connection.

    The connection has `request()`, which returns the next whole request head and body as bytes, and `send`.
    """

    def __init__(self, script, tls=None):
        self.script, self.tls = script, tls
        self.connections, self.requests = 0, []
        super().__init__()

    def _take(self, client):
        self.connections += 1
        threading.Thread(target=self.run, args=(client, self.connections), daemon=True).start()

    def run(self, client, number):
        try:
            if self.tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*self.tls)
                client = context.wrap_socket(client, server_side=True)
            self.script(ScriptedConnection(client, self), number)
        except (OSError, EOFError):
            pass
        finally:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            client.close()


class ScriptedConnection:
    def __init__(self, client, server):
        self.socket, self.server, self.buffer = client, server, b""

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        part = self.socket.recv(65536)
        if not part:
            raise EOFError
        self.buffer += part

    def head(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.server.requests.append(head + b"\r\n\r\n")
        return head + b"\r\n\r\n"

    def request(self):
        """The next head and its body, by Content-Length or chunks (left encoded)."""
        head = self.head()
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            while not (self.buffer.startswith(b"0\r\n") or b"\r\n0\r\n" in self.buffer) or not self.buffer.endswith(b"\r\n\r\n"):
                self.more()
            body, self.buffer = self.buffer, b""
            return head + body
        count = next((int(line.split(b":")[1]) for line in lower.split(b"\r\n") if line.startswith(b"content-length:")), 0)
        while len(self.buffer) < count:
            self.more()
        body, self.buffer = self.buffer[:count], self.buffer[count:]
        return head + body

    def ok(self, body=b"ok"):
        self.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

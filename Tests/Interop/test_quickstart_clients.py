# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Every client against the quickstart's gateway: what it gets is what the API behind gives to the same request."""
import asyncio
import dataclasses
import hashlib
import json
import re
import ssl
import subprocess
import urllib.request

import aiohttp
import httpx
import pytest
import requests

from test_browser import Browser
from test_guides import quickstart  # noqa: F401 (a fixture)
from upstreams import backend

SIZE = 200_003
NODE = """const [url, method, fields, file] = JSON.parse(process.argv[1]);
const body = file ? require("fs").readFileSync(file) : undefined;
fetch(url, {method, headers: fields, body}).then(async a => {
  const hash = require("crypto").createHash("sha256").update(Buffer.from(await a.arrayBuffer())).digest("hex");
  console.log(JSON.stringify([a.status, hash]));
});"""


@dataclasses.dataclass
class Stand:
    """The quickstart with an app in it, and a file to upload."""

    url: str
    plain: str
    authority: str
    fields: dict
    sent: object
    browser: object

    @property
    def trust(self):
        return ssl.create_default_context(cafile=self.authority)


@pytest.fixture(scope="module")
def stand(quickstart, authority, files):  # noqa: F811
    said = quickstart.shell("sallyport apps create --org acme --name clients --json").stdout
    app = json.loads(said)["app_id"]
    key = json.loads(quickstart.shell("sallyport keys create --app %s --name clients --json" % app).stdout)["key"]
    sent = files / "quickstart-upload"
    sent.write_bytes(b"".join(backend.pattern(SIZE)))
    browser = Browser(files / "chromium-quickstart", "--disable-web-security")
    ports = quickstart.ports
    yield Stand("https://localhost:%d" % ports["8443"], "http://127.0.0.1:%d" % ports["9000"], str(authority.path),
                {"X-App-Id": app, "X-Api-Key": key}, sent, browser)
    browser.stop()


def run(*command, **more):
    result = subprocess.run([str(part) for part in command], capture_output=True, timeout=60, **more)
    assert result.returncode == 0, result.stderr
    return result.stdout


def curl(version):
    def call(stand, path, method, fields, file):
        lines = [part for pair in fields.items() for part in ("-H", "%s: %s" % pair)]
        body = ["--data-binary", "@%s" % file] if file else []
        out = run("curl", "-sS", "--" + version, "--cacert", stand.authority, "-X", method, "-w", "\n%{http_code} %{http_version}", *lines, *body, stand.url + path)
        content, _, end = out.rpartition(b"\n")
        status, spoken = end.split()
        assert spoken == {"http1.1": b"1.1", "http2": b"2"}[version]
        return int(status), content

    return call


def with_nghttp(stand, path, method, fields, file):
    lines = [part for pair in fields.items() for part in ("-H", "%s: %s" % pair)]
    heads = run("nghttp", "-nv", *(["-d", file] if file else []), *lines, stand.url + path).decode()
    content = run("nghttp", *(["-d", file] if file else []), *lines, stand.url + path)
    return int(re.search(r":status: (\d+)", heads)[1]), content


def with_httpx(http2):
    def call(stand, path, method, fields, file):
        with httpx.Client(verify=stand.trust, http2=http2) as client:
            answer = client.request(method, stand.url + path, headers=fields, content=file.read_bytes() if file else None)
            assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
            return answer.status_code, answer.content

    return call


def with_requests(stand, path, method, fields, file):
    answer = requests.request(method, stand.url + path, headers=fields, data=file.read_bytes() if file else None, verify=stand.authority, timeout=30)
    return answer.status_code, answer.content


def with_aiohttp(stand, path, method, fields, file):
    async def call():
        async with aiohttp.ClientSession() as session:
            data = file.read_bytes() if file else None
            async with session.request(method, stand.url + path, headers=fields, data=data, ssl=stand.trust) as answer:
                return answer.status, await answer.read()

    return asyncio.run(call())


def with_node(stand, path, method, fields, file):
    said = json.loads(run("node", "-e", NODE, json.dumps([stand.url + path, method, fields, str(file) if file else ""]),
                          env={"NODE_EXTRA_CA_CERTS": stand.authority, "PATH": "/usr/bin:/bin"}))
    return said[0], said[1]


def with_chromium(stand, path, method, fields, file):
    options = {"method": method, "headers": fields}
    said = stand.browser.evaluate("""(async () => {
      const options = %s, size = %d;
      if (size) { const bytes = new Uint8Array(size); const text = atob(%s); for (let i = 0; i < size; i++) bytes[i] = text.charCodeAt(i); options.body = bytes; }
      const answer = await fetch(%s, options);
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer()));
      return [answer.status, Array.from(hash, b => b.toString(16).padStart(2, "0")).join("")];
    })()""" % (json.dumps(options), SIZE if file else 0, json.dumps(text_of(file)), json.dumps(stand.url + path)))
    return said[0], said[1]


def text_of(file):
    import base64

    return base64.b64encode(file.read_bytes()).decode() if file else ""


CLIENTS = {
    "curl over http/1.1": curl("http1.1"),
    "curl over h2": curl("http2"),
    "nghttp": with_nghttp,
    "httpx over http/1.1": with_httpx(False),
    "httpx over h2": with_httpx(True),
    "requests": with_requests,
    "aiohttp": with_aiohttp,
    "node": with_node,
    "chromium": with_chromium,
}


def same(got, content):
    return got == (content if isinstance(got, bytes) else hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("name", CLIENTS)
def test_it_is_served_as_by_the_api_itself(stand, name):
    call = CLIENTS[name]
    if name == "chromium":
        stand.browser.command("Page.navigate", url=stand.url + "/v1/hello")
    for path in ("/v1/bytes?n=0", "/v1/bytes?n=1", "/v1/bytes?n=%d" % SIZE, "/v1/bytes?n=%d&chunked=1" % SIZE):
        with urllib.request.urlopen(stand.plain + path) as plain:
            status, content = plain.status, plain.read()
        got = call(stand, path, "GET", stand.fields, None)
        assert got[0] == status == 200 and same(got[1], content), (path, got[0])
    got = call(stand, "/v1/echo", "POST", stand.fields, stand.sent)
    assert got[0] == 200 and same(got[1], stand.sent.read_bytes())
    # Whoever is refused reads that, even with its upload under way.
    for file in (None, stand.sent):
        assert call(stand, "/v1/echo", "POST" if file else "GET", {}, file)[0] == 401

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Chromium itself: what a page may read through the gateway."""
import http.server
import json
import re
import shutil
import subprocess
import threading
import time
import urllib.request

import pytest
import websockets.sync.client

from conftest import route, url

PAGE = """<!doctype html><title>page</title><script>
async function call(url, options) {
  try {
    const answer = await fetch(url, options);
    return { status: answer.status, text: await answer.text() };
  } catch (error) { return { failed: String(error) }; }
}
</script>"""


class Browser:
    """One headless Chromium, spoken to by the DevTools protocol."""

    def __init__(self, profile, *flags):
        binary = shutil.which("chromium") or shutil.which("chromium-browser")
        self.process = subprocess.Popen(
            [binary, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--no-first-run", "--disable-dev-shm-usage", "--ignore-certificate-errors", "--remote-debugging-port=0", "--remote-allow-origins=*",
             "--user-data-dir=%s" % profile, *flags, "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if found := re.search(r"DevTools listening on ws://([^/]+)/", line):
                self.address = found[1]
                break
        else:
            raise RuntimeError("chromium did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.number = 0
        target = json.load(urllib.request.urlopen("http://%s/json" % self.address))
        page = next(t for t in target if t["type"] == "page")
        self.socket = websockets.sync.client.connect(page["webSocketDebuggerUrl"], max_size=None, open_timeout=30)
        self.command("Page.enable")

    def command(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            said = json.loads(self.socket.recv(timeout=60))
            if said.get("id") == self.number:
                assert "error" not in said, said
                return said["result"]

    def open(self, address):
        self.command("Page.navigate", url=address)
        end = time.monotonic() + 30
        while self.evaluate("document.readyState + typeof call + location.href") != "completefunction" + address:
            assert time.monotonic() < end
            time.sleep(0.05)

    def evaluate(self, expression):
        result = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def call(self, address, **options):
        return self.evaluate("call(%s, %s)" % (json.dumps(address), json.dumps(options)))

    def stop(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(10)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser(files):
    one = Browser(files / "chromium")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def old_browser(files):
    one = Browser(files / "chromium-http1", "--disable-http2")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def pages():
    """The origins of two web sites: the first will be listed, the second not."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield ["http://localhost:%d" % s.server_address[1] for s in servers]
    for server in servers:
        server.shutdown()


@pytest.fixture(scope="module")
def site_app(gateway, app, pages):
    return gateway.create_app("site", origins=[pages[0]])


def test_a_page_of_a_listed_origin_reads_the_answer(gateway, browser, pages, site_app):
    browser.open(pages[0] + "/")
    got = browser.call(gateway.url + "/v1/hello", headers={"X-App-Id": site_app.id})
    assert got.get("status") == 200, got
    assert json.loads(got["text"])["path"] == "/v1/hello"


def test_the_same_page_of_an_unlisted_origin_reads_why_and_what_to_do(gateway, browser, pages, site_app):
    browser.open(pages[1] + "/")
    got = browser.call(gateway.url + "/v1/hello", headers={"X-App-Id": site_app.id})
    assert got.get("status") == 403, got
    refusal = json.loads(got["text"])
    assert refusal["error"]["code"] == "origin_not_allowed"
    command = refusal["data"]["next_steps"][0]
    assert command == "sallyport origins add " + pages[1]
    # The command that it was told does allow it.
    gateway.cli(*command.split()[1:], "--app", site_app.id)
    got = browser.call(gateway.url + "/v1/hello", headers={"X-App-Id": site_app.id})
    assert got.get("status") == 200, got
    gateway.cli("origins", "remove", pages[1], "--app", site_app.id)
    assert browser.call(gateway.url + "/v1/hello", headers={"X-App-Id": site_app.id}).get("status") == 403


def test_a_page_may_send_json_and_other_methods(gateway, browser, pages, site_app):
    browser.open(pages[0] + "/")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        got = browser.call(gateway.url + "/v1/hello", method=method, headers={"X-App-Id": site_app.id, "Content-Type": "application/json"}, body="{}")
        assert got.get("status") == 200, (method, got)
        assert json.loads(got["text"])["method"] == method


def test_bytes_of_the_upstream_do_not_reach_an_unlisted_origin(gateway, browser, pages, site_app):
    """A key lets the request pass whatever its origin, but the page may not read the answer."""
    browser.open(pages[1] + "/")
    got = browser.call(gateway.url + "/v1/hello", headers=site_app.fields)
    assert "status" not in got or "gateway" not in got.get("text", ""), got


def test_a_page_opens_a_websocket_and_an_event_stream(gateway, browser, pages, site_app, make, backend):
    one = make([route("api", "/v1/")], {"api": {"endpoints": [url(backend)]}}, workers=1, start=False)
    one.start()
    one.create_organization()
    page_app = one.create_app("pages", origins=[pages[0]])
    one.configuration["routes"][0]["app"] = page_app.id
    one.write()
    assert one.run("reload").returncode == 0
    browser.open(pages[0] + "/")
    said = browser.evaluate("""new Promise(done => { const s = new WebSocket("%s/v1/ws");
        s.onopen = () => s.send("hello"); s.onmessage = m => done(m.data); s.onerror = () => done("error"); setTimeout(() => done("late"), 8000) })"""
                            % one.clear_url.replace("http", "ws"))
    assert said == "hello"
    said = browser.evaluate("""new Promise(done => { const s = new EventSource("%s/v1/sse?n=3"); let n = 0;
        s.onmessage = () => { if (++n == 3) { s.close(); done(n) } }; s.onerror = () => done("error after " + n); setTimeout(() => done("late"), 8000) })"""
                            % one.clear_url)
    assert said == 3


@pytest.mark.parametrize("kind,protocol", [("browser", "HTTP/2"), ("old_browser", "HTTP/1.1")])
def test_a_page_reads_a_401_while_it_uploads_100_mb(gateway, request, pages, site_app, kind, protocol):
    browser = request.getfixturevalue(kind)
    browser.open(pages[1] + "/")
    seen = len(gateway.access())
    for _ in range(2):
        got = browser.evaluate("""(async () => {
          const body = new Blob([new Uint8Array(100 << 20)]);
          return await call(%s, {method: "POST", body});
        })()""" % json.dumps(gateway.url + "/v1/upload"))
        assert got.get("status") == 401 and "invalid_app" in got["text"], got
    assert browser.call(gateway.url + "/v1/x")["status"] == 401
    lines = [line for line in gateway.access()[seen:] if line["method"] == "POST"]
    assert {(line["status"], line["proto"]) for line in lines} == {(401, protocol)}, lines


def test_a_browser_speaks_http_2_and_uses_one_connection(gateway, browser, pages, site_app):
    browser.open(pages[0] + "/")
    before, seen = gateway.metrics()["sallyport_connections_total"], len(gateway.access())
    got = browser.evaluate("Promise.all(Array.from({length: 20}, (_, i) => call(%s + '/v1/hello?' + i, {headers: {'X-App-Id': %s}})))"
                           % (json.dumps(gateway.url), json.dumps(site_app.id)))
    assert [one["status"] for one in got] == [200] * 20
    assert {line["proto"] for line in gateway.access()[seen:]} == {"HTTP/2"}
    assert gateway.metrics()["sallyport_connections_total"] - before <= 2


def test_a_page_offers_a_token_as_a_sub_protocol(browser, pages, make):
    """Over wss, beside the page's other traffic by HTTP/2 on the same port."""
    import wsserver

    echo = wsserver.Server(subprotocols=["chat"])
    one = make([route("all", "/", access="open", cors={})], {"api": {"endpoints": [url(echo)]}}, workers=1)
    browser.open(pages[0] + "/")
    browser.call(one.url + "/hello")
    for offered, chosen in ((["sallyport.bearer", "aa.bb.cc"], "sallyport.bearer"), (["chat", "sallyport.bearer", "aa.bb.cc"], "chat")):
        said = browser.evaluate("""new Promise(done => { const s = new WebSocket("%s/echo", %s);
            s.onopen = () => s.send("hello"); s.onmessage = m => done(s.protocol + " " + m.data); s.onerror = () => done("error");
            setTimeout(() => done("late"), 8000) })""" % (one.url.replace("http", "ws"), json.dumps(offered)))
        assert said == chosen + " hello"
        seen = echo.handshakes[-1].headers
        assert seen.get_all("Authorization") == ["Bearer aa.bb.cc"]
        assert seen.get_all("Sec-WebSocket-Protocol") == offered[:-2]
    echo.stop()

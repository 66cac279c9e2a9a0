# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The example chat widget in Chromium, against the quickstart's gateway and services."""
import base64
import functools
import http.server
import json
import os
import signal
import threading
import time
import urllib.parse

import pytest

import gateway as binary
import upstreams
from test_browser import Browser
from test_guides import EXAMPLES, quickstart  # noqa: F401 (a fixture)


class Site(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def sites():
    """Two web sites with the widget on them: the first will be listed, the second not."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=EXAMPLES / "widget")) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield ["localhost:%d" % s.server_address[1] for s in servers]
    for server in servers:
        server.shutdown()


@pytest.fixture
def browser(tmp_path):
    one = Browser(tmp_path / "chromium")
    one.command("Page.addScriptToEvaluateOnNewDocument", source="window.logged = []; console.error = (text) => logged.push(text)")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def app(quickstart, sites):  # noqa: F811
    made = quickstart.shell(
        "sallyport apps create --org acme --name Widget --id app_widget --username widget --dialect appengine && "
        "sallyport domains add %s --app app_widget" % sites[0])
    assert made.returncode == 0, made.stdout
    return "app_widget"


def open_widget(browser, quickstart, site):  # noqa: F811
    settings = {"gateway": "https://localhost:%d" % quickstart.ports["8443"], "orgid": "acme", "app": "widget",
                "api": "/chat/", "socket": "/chat/ws"}
    browser.command("Page.navigate", url="http://%s/?%s" % (site, urllib.parse.urlencode(settings)))
    wait_for(browser, "typeof widget === 'object' && document.getElementById('state').textContent !== 'signing in…'")


def wait_for(browser, condition, seconds=10):
    end = time.monotonic() + seconds
    while not browser.evaluate(condition):
        assert time.monotonic() < end, "not in time: %s; the page says %r" % (condition, browser.evaluate("document.body.innerText"))
        time.sleep(0.05)


def test_the_token_runs_out_and_the_widget_goes_on(quickstart, browser, sites, app):  # noqa: F811
    """Tokens of six seconds: the gateway refuses the old one, closes the socket that was opened with it, and takes the next."""
    file = quickstart.folder / ".quickstart/sallyport.yaml"
    whole = file.read_text()
    file.write_text(whole + "\ntokens: { app_life: 6s }\n")
    try:
        assert quickstart.shell("sallyport reload").returncode == 0
        open_widget(browser, quickstart, sites[0])
        wait_for(browser, "document.getElementById('state').textContent === 'online'")
        end = json.loads(base64.urlsafe_b64decode(browser.evaluate("widget.token.split('.')[1]") + "=="))["exp"]
        # Three calls at once before the end need no new token; after it the next one signs in, once for all three.
        browser.evaluate("window.first = widget.token, Promise.all([widget.call('a'), widget.call('b')]).then(() => true)")
        assert browser.evaluate("widget.signIns") == 1
        # A page that slept does not renew in time: the gateway ends what it finds over.
        browser.evaluate("clearTimeout(widget.renewal)")
        use_first = "fetch(widget.gateway + '/chat/x', { headers: { orgid: 'acme', Authorization: `Bearer ${first}` } }).then((a) => a.json()).then((a) => a.code ?? 'taken')"
        assert browser.evaluate(use_first) == "taken"
        wait_for(browser, "widget.lastClose === 4401")
        assert end - 0.5 < time.time() < end + 4
        assert browser.evaluate(use_first) == "token_expired"
        wait_for(browser, "document.getElementById('state').textContent === 'online'")
        assert browser.evaluate("Promise.all([widget.call('a'), widget.call('b'), widget.call('c')]).then((all) => all[2].path)") == "/chat/c"
        assert browser.evaluate("widget.signIns") == 2 and browser.evaluate("widget.token !== first")
        browser.evaluate("widget.send('still there?')")
        wait_for(browser, "document.querySelector('.theirs')?.textContent === 'still there?'")
        assert browser.evaluate("document.querySelector('.fault')") is None
        # One that is awake renews before the end: the next socket takes over from the present one, and
        # the visitor sees nothing.
        # It has six tenths of a second for that, which a busy machine may not give it at once.
        for _ in range(3):
            browser.evaluate("widget.lastClose = undefined, window.states = [], window.before = widget.signIns, widget.onstate = (text) => states.push(text)")
            wait_for(browser, "widget.signIns > before && widget.token !== first && states.includes('online')", seconds=15)
            assert browser.evaluate("widget.send('and now?')")
            wait_for(browser, "[...document.querySelectorAll('.theirs')].at(-1).textContent === 'and now?'")
            if browser.evaluate("states.includes('offline')") is False:
                break
        assert browser.evaluate("states") == ["online"] and browser.evaluate("widget.lastClose === undefined")
    finally:
        file.write_text(whole)
        assert quickstart.shell("sallyport reload").returncode == 0


def test_another_website_is_refused_and_reads_why(quickstart, browser, sites, app):  # noqa: F811
    open_widget(browser, quickstart, sites[1])
    wait_for(browser, "document.querySelector('.fault') !== null")
    assert browser.evaluate("document.getElementById('state').textContent") == "offline"
    # The visitor gets a sentence, the owner of the site the reason in the console; nobody asks again.
    assert browser.evaluate("document.querySelector('.fault').textContent").startswith("Live chat isn't set up for this website yet.")
    assert "domain_not_allowed: This website is not on the app's list." in browser.evaluate("logged.join()"), browser.evaluate("logged")
    assert browser.evaluate("widget.retry === null || widget.failures === 0")


def test_a_gateway_that_is_away_is_asked_again(quickstart, browser, sites, app):  # noqa: F811
    settings = {"gateway": "https://localhost:%d" % upstreams.free_port()}
    browser.command("Page.navigate", url="http://%s/?%s" % (sites[0], urllib.parse.urlencode(settings)))
    wait_for(browser, "typeof widget === 'object' && widget.failures >= 2")
    assert browser.evaluate("[...document.querySelectorAll('.fault')].map((one) => one.textContent)") == ["The chat cannot be reached at the moment. It is tried again."]
    assert browser.evaluate("document.getElementById('state').textContent") == "offline"


def test_the_widget_signs_in_calls_renews_and_is_told_when_its_app_is_revoked(quickstart, browser, sites, app):  # noqa: F811
    open_widget(browser, quickstart, sites[0])
    wait_for(browser, "document.getElementById('state').textContent === 'online'")
    assert browser.evaluate("widget.signIns") == 1
    # The API sees the app, how it proved itself, and the guest.
    told = browser.evaluate("widget.call('hello').then((answer) => answer.gateway)")
    assert told["Sallyport-Credential"] == "web_token" and told["Sallyport-App"] == app and told["Sallyport-Person"]
    # A message comes back over the WebSocket.
    browser.evaluate("widget.send('are you there?')")
    wait_for(browser, "document.querySelector('.theirs')?.textContent === 'are you there?'")
    # A token that is not taken any more is renewed by the call that meets it, once for all that wait.
    browser.evaluate("widget.token = widget.token.slice(0, -4) + 'AAAA'")
    assert browser.evaluate("widget.call('hello').then((answer) => answer.path)") == "/chat/hello"
    assert browser.evaluate("widget.signIns") == 2
    # A guest whose token is not taken any more becomes one anew.
    browser.evaluate("widget.person = widget.person.slice(0, -4) + 'AAAA'")
    assert browser.evaluate("widget.call('hello').then((answer) => answer.path)") == "/chat/hello"
    # A socket that breaks is opened again after a pause, with the token that is there.
    for worker in binary.children_of(quickstart.gateway.pid):
        if binary.is_worker(worker):
            os.kill(worker, signal.SIGKILL)
    wait_for(browser, "widget.lastClose === 1006")
    wait_for(browser, "document.getElementById('state').textContent === 'online'")
    assert browser.evaluate("widget.signIns") == 2
    revoked = quickstart.shell("sallyport apps revoke --app app_widget")
    assert revoked.returncode == 0, revoked.stdout
    wait_for(browser, "widget.lastClose === 4401", seconds=3)
    wait_for(browser, "document.body.innerText.includes('This chat has ended.')", seconds=3)
    assert browser.evaluate("[widget.lastFault.code, widget.lastFault.reason].join()") == "app_attestation_failed,revoked"

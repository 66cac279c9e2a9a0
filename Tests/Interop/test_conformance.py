# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The HTTP/1.1 conformance cases, through an open route, in the clear and by TLS."""
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import route
from upstreams import free_port

CASES = pathlib.Path(__file__).parent / "conformance"
# Where the hardened reading and ours differ: case → why, with the line of the RFC.
ARGUED = {}


@pytest.fixture(scope="module")
def stand(make):
    upstream = free_port()
    gateway = make([route("all", "/", access="open", paths="raw")],
                   {"api": {"endpoints": ["http://127.0.0.1:%d" % upstream]}}, workers=1)
    return gateway, upstream


@pytest.mark.slow
@pytest.mark.parametrize("secure", [False, True], ids=["clear", "tls"])
def test_the_cases_pass(stand, files, secure):
    gateway, upstream = stand
    report = files / ("h1-%s.json" % secure)
    port = gateway.port if secure else gateway.clear_port
    result = subprocess.run(
        [sys.executable, str(CASES / "h1_cases.py"), "--target", "127.0.0.1:%d" % port, "--upstream-port", str(upstream), "--json", str(report),
         *(["--tls"] if secure else [])], capture_output=True, text=True, timeout=600)
    assert report.exists(), result.stdout + result.stderr
    results = json.loads(report.read_text())["results"]
    verdicts = {v: sorted(r["id"] for r in results if v in (r["rfc"], r["hard"])) for v in ("SECURITY", "HUNG")}
    missed = sorted(r["id"] for r in results if r["hard"] != "PASS")
    print(result.stdout)
    assert len(results) >= 250
    assert verdicts == {"SECURITY": [], "HUNG": []}, result.stdout
    assert len(results) - len(missed) >= 245, result.stdout
    assert set(missed) <= set(ARGUED), "not argued: %s" % sorted(set(missed) - set(ARGUED))

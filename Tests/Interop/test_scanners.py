# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What outside scanners find: testssl.sh, sslyze and slowhttptest against the gateway as it is by default.

`deploy/scan.sh` installs them and runs this; what each found is printed (`-s`).
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import gateway as binary
from conftest import route, url

pytestmark = pytest.mark.long
TESTSSL = shutil.which("testssl") or shutil.which("testssl.sh")
SSLYZE = os.environ.get("SALLYPORT_SSLYZE") or shutil.which("sslyze") or str(pathlib.Path(sys.executable).parent / "sslyze")
SLOW = shutil.which("slowhttptest")
BORNE = {"OK", "INFO", "LOW", "DEBUG", "WARN"}


@pytest.fixture(scope="module")
def stand(authority, backend, nginx):
    """Two workers with every setting at its default, and a certificate that is not about to end, nor revoked."""
    (nginx.files / "file/authority.crl").write_bytes(authority.revoked())
    site = authority.issue("scanned", ["localhost", "127.0.0.1"], days=(-1, 200), revocations=url(nginx) + "/file/authority.crl")
    with binary.Gateway(site, [route("all", "/", access="open")], {"api": {"endpoints": [url(backend)]}}) as one:
        yield one


@pytest.mark.skipif(not TESTSSL, reason="no testssl.sh")
def test_testssl_finds_nothing_above_low(stand, authority, files):
    out = files / "testssl.json"
    result = subprocess.run(
        [TESTSSL, "--quiet", "--color", "0", "--warnings", "batch", "--protocols", "--std", "--server-preference", "--fs", "--server-defaults",
         "--phone-out", "--vulnerable", "--add-ca", str(authority.path), "--jsonfile", str(out), "--ip", "127.0.0.1",
         "localhost:%d" % stand.port], capture_output=True, text=True, timeout=900)
    found = json.loads(out.read_text())
    kinds = collections.Counter(one["severity"] for one in found)
    print("\ntestssl.sh: " + ", ".join("%s %d" % pair for pair in sorted(kinds.items())))
    for one in found:
        if one["severity"] not in {"OK", "INFO"}:
            print("  %-8s %s: %s" % (one["severity"], one["id"], one["finding"]))
    assert kinds["OK"] > 30, result.stdout[-3000:]
    # WARN is what the scanner could not do.
    ours = [one for one in found if one["severity"] not in BORNE]
    assert not ours, ours


@pytest.mark.skipif(not os.path.exists(SSLYZE), reason="no sslyze")
def test_sslyze_finds_what_mozilla_calls_intermediate(stand, authority, files):
    result = subprocess.run([SSLYZE, "--mozilla_config=intermediate", "--certinfo", "--certinfo_ca_file=%s" % authority.path, "--json_out=%s" % (files / "sslyze.json"), "localhost:%d" % stand.port],
                            capture_output=True, text=True, timeout=600)
    verdict = result.stdout[result.stdout.rfind("COMPLIANCE AGAINST"):]
    print("\nsslyze: " + verdict.strip())
    faults = [line.strip() for line in verdict.splitlines() if line.strip().startswith("*")]
    assert faults == [] and "Compliant" in verdict, result.stdout[-3000:] + result.stderr[-2000:]


WAYS = {
    "slow heads": ["-H", "-i", "5", "-x", "24"],
    "slow bodies": ["-B", "-i", "5", "-s", "8192", "-x", "10", "-t", "POST"],
    "slow reading": ["-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "3"],
}


@pytest.mark.skipif(not SLOW, reason="no slowhttptest")
@pytest.mark.parametrize("way", WAYS)
def test_slow_connections_are_cut_and_take_nothing_from_others(stand, way):
    target = stand.clear_url + "/bytes?n=20000000" if way == "slow reading" else stand.url + "/x"
    result = subprocess.run([SLOW, *WAYS[way], "-c", "1000", "-r", "200", "-l", "150", "-p", "5", "-u", target],
                            capture_output=True, text=True, timeout=400)
    said = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)
    available = re.findall(r"service available:\s+(\w+)", said)
    most = max(map(int, re.findall(r"connected:\s+(\d+)", said)))
    end, how = re.search(r"Test ended on (\d+)", said)[1], re.search(r"Exit status:\s+(.*)", said)[1]
    print("\nslowhttptest, %s: up to %d of 1000 connections at once, available %d of %d looks, ended after %s s: %s" % (
        way, most, available.count("YES"), len(available), end, how))
    assert available and set(available) == {"YES"}, said[-3000:]
    if way == "slow reading":
        # It reads what has already come for minutes before it looks whether there is a connection: the gateway is
        # asked. A reader is cut after a minute in which it took nothing; its kernel may take the last of what fits
        # late, and then the scanner ends before that minute does. Nothing but these two may end one, and no
        # upstream is blamed for any.
        seen = stand.metrics()
        cut, left = seen['sallyport_defences_total{defence="slow_reader"}'], seen["sallyport_open_connections"]
        blamed = seen.get('sallyport_upstream_failures_total{upstream="api"}', 0)
        ends = collections.Counter(line.get("reason") for line in stand.access() if line["status"] == 200 and line["bytes_out"] > 100_000)
        print("slow readers cut: %d, connections left open: %d, upstream blamed %d times; ends: %s" % (cut, left, blamed, dict(ends)))
        assert set(ends) <= {"client_write_timeout", "client_closed"} and left < 10 and blamed == 0
        assert cut > most / 2
    else:
        assert how == "No open connections left", said[-3000:]

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The public h2spec, where SALLYPORT_H2SPEC names its binary.

On Debian: `apt-get install golang-golang-x-net-dev golang-github-spf13-cobra-dev golang-github-fatih-color-dev`, its sources under
`src/github.com/summerwind/h2spec` of a folder, then `GO111MODULE=off GOPATH=folder:/usr/share/gocode go build ./cmd/h2spec` there.
"""
import os
import re
import subprocess

import pytest

BINARY = os.environ.get("SALLYPORT_H2SPEC")


@pytest.mark.skipif(not BINARY, reason="SALLYPORT_H2SPEC names no binary")
@pytest.mark.timeout(600)
def test_all_strict_cases_pass(gateway):
    said = subprocess.run([BINARY, "--strict", "-t", "-k", "-h", "localhost", "-p", str(gateway.port), "-P", "/open/x", "--max-header-length", "4000"],
                          capture_output=True, text=True, timeout=600).stdout
    total, passed = re.search(r"(\d+) tests, (\d+) passed", said).groups()
    assert total == passed == "147", said[-6000:]

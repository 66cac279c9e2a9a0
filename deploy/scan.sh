#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# testssl.sh, sslyze (what Mozilla calls intermediate) and slowhttptest against the release binary with its default settings and a
# test authority; ten minutes. Installs the three: two Debian packages, and a Python environment outside this folder.
#   deploy/scan.sh [PYTEST ARGUMENTS]      what is to be run: -k testssl, -k sslyze, -k slow
#   deploy/scan.sh --self-test
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=common.sh
. deploy/common.sh
[ "${1:-}" != --self-test ] || exec bash -n "$0"
case ${1:-} in -h | --help) usage && exit ;; esac
[ -x "${SALLYPORT_BINARY:-$BINARY}" ] || die "no $BINARY: deploy/quickstart.sh or deploy/test.sh builds it"
need_packages testssl.sh slowhttptest
tools=${XDG_CACHE_HOME:-$HOME/.cache}/sallyport-scan
if [ ! -x "$tools/bin/sslyze" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q --disable-pip-version-check sslyze==6.3.1
fi
[ -x .venv/bin/python ] || { python3 -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r Tests/Interop/requirements.txt; }
SALLYPORT_SSLYZE=$tools/bin/sslyze SALLYPORT_TEST_LONG=1 exec .venv/bin/python -m pytest Tests/Interop/test_scanners.py -p no:cacheprovider -q -s "$@"

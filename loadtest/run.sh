#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# The gateway beside Debian's haproxy and nginx, in one run; exits 0 when every gate holds.
#   loadtest/run.sh [--quick] [--jobs J0,J6] [--json FILE]     loadtest/measure.py --help says more
#   loadtest/run.sh --self-test
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=../deploy/common.sh
. deploy/common.sh
if [ "${1:-}" = --self-test ]; then exec python3 loadtest/measure.py --self-test; fi
[ "$(nproc)" -ge 2 ] || die "two processors are needed: one for the server, one for the load"
need_packages "${BUILD_PACKAGES[@]}" "${LOAD_PACKAGES[@]}"
need_swift
release_build
ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)"
exec python3 loadtest/measure.py "$@"

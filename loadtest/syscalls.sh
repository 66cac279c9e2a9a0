#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# System calls of a worker per request at 64 busy connections, held against loadtest/thresholds.json.
#   loadtest/syscalls.sh [--update | --self-test]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=../deploy/common.sh
. deploy/common.sh
if [ "${1:-}" = --self-test ]; then exec python3 -m py_compile loadtest/counts.py; fi
need_packages "${BUILD_PACKAGES[@]}" "${LOAD_PACKAGES[@]}"
need_swift
release_build
exec python3 loadtest/counts.py syscalls "$@"

#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# Instructions in user mode of a worker per request, by callgrind, held against loadtest/thresholds.json.
#   loadtest/instructions.sh [--update | --self-test]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=../deploy/common.sh
. deploy/common.sh
if [ "${1:-}" = --self-test ]; then exec python3 -m py_compile loadtest/counts.py loadtest/callgrind.py; fi
need_packages "${BUILD_PACKAGES[@]}" "${LOAD_PACKAGES[@]}" valgrind
need_swift
release_build
exec python3 loadtest/counts.py instructions "$@"

#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# Swift's tests under AddressSanitizer, then under ThreadSanitizer; each test target runs in a process of its own.
#   deploy/sanitize.sh [address|thread] [TARGET...]      both, and all targets, when not given
#   SANITIZE_BUILT=1 leaves out the build, SANITIZE_FOLDER=DIR builds there instead of in .build.
#   deploy/sanitize.sh --self-test
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${1:-}" != --self-test ] || exec bash -n "$0"
# shellcheck source=common.sh
. deploy/common.sh
case ${1:-} in -h | --help) usage && exit ;; esac
need_swift
sanitizers=(address thread)
case ${1:-} in address | thread) sanitizers=("$1") && shift ;; esac
targets=("$@")
for target in "$@"; do [ -d "Tests/$target" ] || die "there is no test target $target: see the folders of Tests"; done
if [ ${#targets[@]} = 0 ]; then
    for folder in Tests/*Tests; do targets+=("$(basename "$folder")"); done
fi
# Swift keeps tags in the pointers of its enums, which the leak checker takes for lost.
export ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS="halt_on_error=0 exitcode=66 ${TSAN_OPTIONS:-}"
failed=0
for sanitizer in "${sanitizers[@]}"; do
    scratch=${SANITIZE_FOLDER:-.build}/$sanitizer
    [ -n "${SANITIZE_BUILT:-}" ] || swift build --build-tests --sanitize="$sanitizer" --scratch-path "$scratch" >&2
    for target in "${targets[@]}"; do
        log=$(mktemp)
        result=clean
        swift test --skip-build --sanitize="$sanitizer" --scratch-path "$scratch" --filter "^$target\\." >"$log" 2>&1 || result=FAILED
        if grep -qE '(WARNING|ERROR): (Thread|Address)Sanitizer' "$log"; then result=FAILED; fi
        count=$(sed -n 's/.*Test run with \([0-9]*\) tests.*/\1/p' "$log" | tail -1)
        printf '%-8s %-22s %5s tests  %s\n' "$sanitizer" "$target" "${count:-?}" "$result"
        if [ $result = clean ]; then rm -f "$log"; else
            echo "  see $log"
            failed=1
        fi
    done
done
exit $failed

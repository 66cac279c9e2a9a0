#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# All tests: Swift's own, then the release binary against real clients, upstreams, browser and Redis.
#   deploy/test.sh                  everything
#   deploy/test.sh --interop [ARG…] only the second half; ARGs go to pytest
#   deploy/test.sh --requirements   only the requirement table
#   deploy/test.sh --self-test      what this script needs of the machine is there or can be installed
# SALLYPORT_TEST_LONG=1 adds the ten-minute runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=common.sh
. deploy/common.sh

prepare() {
    need_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}" gcc libc6-dev
    need_swift
    local marker=.venv/requirements.txt
    if ! cmp -s Tests/Interop/requirements.txt $marker; then
        say "Installing the Python clients"
        if ! { /usr/bin/python3 -m venv --clear .venv && .venv/bin/pip install -q --disable-pip-version-check -r Tests/Interop/requirements.txt; }; then
            die "pip could not install Tests/Interop/requirements.txt"
        fi
        cp Tests/Interop/requirements.txt $marker
    fi
}

results=()
failed=0
unsteady=
# step TITLE COMMAND...: runs it, notes how it ended and how long it took.
step() {
    local title=$1 began=$SECONDS status=0
    shift
    say "$title"
    "$@" || status=$?
    [ $status = 0 ] || failed=$((failed + 1))
    results+=("$(printf '%-44s %-7s %4d s' "$title" "$([ $status = 0 ] && echo passed || echo "FAILED")" $((SECONDS - began)))")
    return $status
}

self_tests() {
    local script
    for script in deploy/check.sh deploy/quickstart.sh deploy/fuzz.sh deploy/sanitize.sh deploy/scan.sh loadtest/run.sh config/examples/backend.py config/examples/signin.py; do "$script" --self-test || return 1; done
}
# Each target has a process of its own: a process has one event loop, and several targets start it.
swift_tests() {
    local target status=0
    swift build --build-tests || return 1
    for target in Tests/*Tests; do
        swift test --skip-build --parallel --filter "^${target#Tests/}\." || { status=1; echo "FAILED: ${target#Tests/}"; }
    done
    return $status
}
# Most of them wait for clocks, so that three at once fill two processors; a file's cases stay together.
#
# A case may fail for what the others take of the machine. The files of up to three are run once more, alone, and these
# told as unsteady: each is a fault of its own to be looked into, of the product or of the case.
interop() {
    local cache=.build/pytest names status=0
    [ -x $BINARY ] || { echo "no release binary"; return 1; }
    rm -rf $cache
    .venv/bin/python -m pytest Tests/Interop -o cache_dir=$cache -o timeout=300 -n 3 --dist loadfile "$@" || status=$?
    [ $status = 1 ] || return $status
    names=$(.venv/bin/python -c 'import json, sys; print("\n".join(json.load(open(sys.argv[1]))))' $cache/v/cache/lastfailed) || return 1
    [ "$(wc -l <<<"$names")" -le 3 ] || return 1
    say "Once more, alone"
    # With their files: what an earlier case left behind is a fault.
    cut -d: -f1 <<<"$names" | sort -u | SALLYPORT_ROWS='' xargs .venv/bin/python -m pytest -p no:cacheprovider -o timeout=300 || return 1
    unsteady=$names
}

# The requirement table: each row's example against the release binary; SALLYPORT_ROWS=FILE writes
# what was expected and seen.
requirements() { .venv/bin/python -m pytest Tests/Spec -p no:cacheprovider -q; }

# A second reading of the documents about proofs judges the vectors and minted proofs beside the binary.
oracle() { SALLYPORT_BIN=$BINARY "$(Tests/Oracle/setup.sh)" -m pytest -q Tests/Oracle -p no:cacheprovider; }

case ${1:-} in
--self-test)
    bash -n "$0" && bash -n deploy/common.sh && need_swift && [ -s Tests/Interop/requirements.txt ] && echo "test.sh: self-test passed"
    exit
    ;;
--interop)
    shift
    prepare
    step "Release build" release_build && step "Release binary, real clients" interop "$@"
    ;;
--requirements)
    prepare
    step "Release build" release_build && step "Requirements, row by row" requirements
    ;;
"")
    prepare
    step "Scripts test themselves" self_tests
    step "Swift tests" swift_tests
    if step "Release build" release_build; then
        step "Release binary, real clients" interop
        step "Requirements, row by row" requirements
        step "Proofs, judged twice" oracle
    fi
    ;;
*)
    echo "usage: deploy/test.sh [--interop [PYTEST ARGUMENTS] | --requirements | --self-test]" >&2
    exit 2
    ;;
esac

printf '\n'
printf '%s\n' "${results[@]}"
[ -z "$unsteady" ] || printf 'UNSTEADY, failed beside the others and passed alone: %s\n' "${unsteady//$'\n'/, }"
printf '%d passed, %d failed\n' $((${#results[@]} - failed)) $failed
[ $failed = 0 ]

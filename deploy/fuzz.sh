#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# The fuzzers of the wire and of the readers and verifiers of proofs, under AddressSanitizer.
#   deploy/fuzz.sh [--seconds S] [TARGET...]      20 seconds each, all targets, when not given
#   FUZZ_BUILT=1 leaves out the build.
#   deploy/fuzz.sh --timing                       the slowest of the corpus and of hostile inputs of 64 KiB
#   deploy/fuzz.sh --self-test
set -euo pipefail
cd "$(dirname "$0")/.."
proofs=(der cbor json text certificate key-description attestation assertion chain token document)
wire=(request response chunked http2-server http2-client proxy path configuration jose)
targets=("${wire[@]}" "${proofs[@]}")
# shellcheck source=common.sh
. deploy/common.sh
case ${1:-} in -h | --help) usage && exit ;; esac
[ "${1:-}" != --self-test ] || exec bash -n "$0"
need_swift
corpus=.build/fuzz-corpus
python3 deploy/fuzz-seeds.py "$corpus"
python3 deploy/fuzz-seeds-wire.py "$corpus"
if [ "${1:-}" = --timing ]; then
    SALLYPORT_BENCH=1 swift build -c release --product InputTiming --scratch-path .build/bench >&2
    exec .build/bench/release/InputTiming "$corpus"
fi
seconds=20
if [ "${1:-}" = --seconds ]; then
    [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--seconds takes a number"
    seconds=$2
    shift 2
fi
for target in "$@"; do
    [[ " ${targets[*]} " == *" $target "* ]] || die "there is no target $target; there are: ${targets[*]}"
done
[ $# -eq 0 ] || targets=("$@")
[ -n "${FUZZ_BUILT:-}" ] || for product in WireFuzz ProofsFuzz; do
    # The build hands the sanitizers on in an order of chance, and only where the fuzzer comes last is coverage seen.
    SALLYPORT_FUZZ=1 swift build -c release --sanitize=fuzzer --sanitize=address -Xswiftc -sanitize=fuzzer \
        --product "$product" --scratch-path .build/fuzz >&2
done
mkdir -p Fuzz/crashes
failed=0
for target in "${targets[@]}"; do
    log=$(mktemp)
    program=ProofsFuzz
    [[ " ${wire[*]} " != *" $target "* ]] || program=WireFuzz
    # Swift keeps tags in the pointers of its enums, which the leak checker takes for lost; the
    # memory limit watches leaks.
    if SALLYPORT_FUZZ_TARGET=$target SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0 .build/fuzz/release/$program \
        "$corpus/$target" -max_len=65536 -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 \
        -artifact_prefix="Fuzz/crashes/$target-" -print_final_stats=1 >"$log" 2>&1; then
        result="no crash"
    else
        result="FAILED, see $log"
        failed=1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    covered=$(grep -o 'cov: [0-9]*' "$log" | tail -1) || covered=
    if [ -z "$covered" ] && [ "$result" = "no crash" ]; then
        result="FAILED, blind: built without coverage, see $log"
        failed=1
    fi
    printf '%-16s %12s executions  corpus %6s  %-12s %s\n' \
        "$target" "${runs:-?}" "$(find "$corpus/$target" -type f | wc -l)" "${covered:-}" "$result"
    [ "$result" != "no crash" ] || rm -f "$log"
done
exit "$failed"

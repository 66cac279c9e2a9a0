#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# CPU per proof beside the bare cryptography that it cannot do without, in one run; exits 1 when a ratio is over its limit.
#   loadtest/proofs.sh [ROUNDS]        15 rounds when not given
#   loadtest/proofs.sh --self-test
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --self-test ]; then
    [ -f Tests/Vectors/android-key/real-pixel9pro-tee-v400-rkp.json ] || { echo "the real chain is missing" >&2; exit 1; }
    exec bash -n "$0"
fi
export SALLYPORT_BENCH=1
swift build -c release --product ProofsBenchmark --scratch-path .build/bench >&2
exec .build/bench/release/ProofsBenchmark "$@"

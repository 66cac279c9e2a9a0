# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Mints proofs of every kind, good and broken, by a seed; prints them as JSON lines.

usage: minter.py [--count N] [--seed N] [--kind apple|android|play|stored]
"""

import argparse
import json
import random
import sys

import authorities
import mint_android
import mint_apple
import mint_play
import mint_stored

KINDS = {"apple": mint_apple, "android": mint_android, "play": mint_play, "stored": mint_stored}
SHARE = {"apple": 30, "android": 38, "play": 20, "stored": 12}


def mint(seed, index, kind=None):
    """Proof number `index` of a seed: always the same bytes. Returns (vector, labels, intended outcome or None)."""
    rng = random.Random(f"{seed}:{index}")
    kind = kind or rng.choices(list(SHARE), weights=list(SHARE.values()))[0]
    vector, labels, intended = KINDS[kind].mint(rng, authorities.authorities(seed))
    vector["id"] = f"minted-{kind}-{seed}-{index}"
    vector["title"] = "; ".join(labels) or "as good as new"
    vector["origin"] = "minted"
    return vector, labels, intended


def main():
    parser = argparse.ArgumentParser(description="Mints proofs as JSON lines.")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(KINDS))
    options = parser.parse_args()
    for index in range(options.count):
        print(json.dumps(mint(options.seed, index, options.kind)[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

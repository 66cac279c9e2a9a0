# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Where the vectors and the trust anchors are."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def shared():
    """The folder that holds `vectors` and `trust`: $SALLYPORT_SHARED, or `shared` beside one of our parents."""
    named = os.environ.get("SALLYPORT_SHARED")
    candidates = [Path(named)] if named else [parent / "shared" for parent in REPOSITORY.parents]
    for candidate in candidates:
        if (candidate / "vectors").is_dir() and (candidate / "trust").is_dir():
            return candidate
    raise SystemExit("no folder with vectors and trust: set SALLYPORT_SHARED")

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.

"""Where the vectors and the trust anchors are."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def _folder(variable, default):
    folder = Path(os.environ.get(variable) or default)
    if not folder.is_dir():
        raise SystemExit(f"{folder} is no folder: set {variable}")
    return folder


def vectors():
    """The stored vectors, one folder per family."""
    return _folder("ORACLE_VECTORS", REPOSITORY / "Tests" / "Vectors")


def trust():
    """The trust anchors that vectors name by file."""
    return _folder("ORACLE_TRUST", REPOSITORY / "config" / "trust")

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The executed requirement table: what Tests/Interop has for a real gateway, and the count at the end."""
import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
INTEROP = HERE.parent / "Interop"
sys.path[:0] = [str(HERE), str(INTEROP)]

spec = importlib.util.spec_from_file_location("interop_conftest", INTEROP / "conftest.py")
interop = importlib.util.module_from_spec(spec)
spec.loader.exec_module(interop)
# Fixtures and the helpers that Tests/Interop takes from its own conftest.
from_interop = {name: value for name, value in vars(interop).items() if not name.startswith(("_", "pytest_"))}
globals().update(from_interop)
pytest_configure = interop.pytest_configure

import report  # noqa: E402


def pytest_terminal_summary(terminalreporter):
    if report.PLAYED:
        terminalreporter.write_line(report.counts())
    if os.environ.get("SALLYPORT_ROWS"):
        pathlib.Path(os.environ["SALLYPORT_ROWS"]).write_text("\n".join(report.lines()) + "\n")

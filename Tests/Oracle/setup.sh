#!/bin/sh
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# Makes (or refreshes) the virtual environment of the oracle and prints the path of its python.
# usage: setup.sh [DIRECTORY]     default: .build/oracle beside Package.swift
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../.build/oracle}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
(cd "$venv" && printf '%s/bin/python\n' "$(pwd)")

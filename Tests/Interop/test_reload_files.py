# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""The files that a reload reads are never read by a loop: a disk that takes its time holds up nobody's request."""
import pathlib
import shutil
import subprocess

from conftest import route, url
from nodes import eventually

SOURCE = pathlib.Path(__file__).with_name("openings.c")


def compiler():
    """The machine's, else the one that Swift brings."""
    own = pathlib.Path(shutil.which("swift") or "").resolve().with_name("clang")
    return shutil.which("cc") or shutil.which("clang") or str(own)


def test_no_loop_opens_a_file_of_authorities_for_a_reload(make, secure_backend, authority, tmp_path):
    library, log = tmp_path / "openings.so", tmp_path / "openings"
    subprocess.run([compiler(), "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
    names = ["upstream", "trust", "issuer"]
    for name in names:
        shutil.copy(authority.path, tmp_path / (name + "-watched.pem"))
    upstream, trust, issuer = [str(tmp_path / (name + "-watched.pem")) for name in names]
    gateway = make(
        [route("all", "/", access="open")],
        {"api": {"endpoints": [url(secure_backend, "https")], "tls": {"ca": upstream}}},
        workers=1, trust={"ca": trust, "status_list": "https://127.0.0.1:9/"},
        issuers=[{
            "name": "x", "issuer": "https://x.example", "audiences": ["x"], "algorithms": ["ES256"], "organizations": ["acme"],
            "keys": {"jwks_url": "https://127.0.0.1:9/", "ca": issuer}, "kind": "session", "claims": {"person": "sub"}}],
        environment={"LD_PRELOAD": str(library), "SALLYPORT_OPENINGS": str(log)})
    (worker,) = gateway.workers()
    control = next(p for p in gateway.descendants() if "control" in pathlib.Path("/proc/%d/cmdline" % p).read_text())
    # Each is looked at once more, since another file is there now.
    for path in (upstream, trust):
        pathlib.Path(path).write_bytes(authority.path.read_bytes() + b"\n")
    log.write_bytes(b"")
    assert gateway.run("reload").returncode == 0
    assert gateway.get("/x").status == 200

    def threads(process):
        lines = [line.split() for line in log.read_text().splitlines()]
        return [thread for pid, thread in lines if pid == str(process)]

    # The check reads all of them, and what is made of them each once more.
    eventually(lambda: len(threads(worker)) >= 5 and len(threads(control)) >= 3)
    assert str(worker) not in threads(worker) and str(control) not in threads(control), log.read_text()
    assert gateway.workers() == [worker]

# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""What must hold, how a ratio is taken, and the one table that says whether it does."""
import contextlib
import dataclasses
import io
import statistics

# job → what is printed of it
JOBS = {
    "J0": "plain proxy, HTTP/1.1 over TLS 1.3, 1 KiB, 64 connections: CPU ms per request",
    "J1": "plain proxy, HTTP/2, 16 connections of 16 streams, 1 KiB: CPU ms per request",
    "J2-key": "API key among 10,000 and Origin: CPU ms per request",
    "J2-hs256": "1,024 HS256 tokens in turn and Origin: CPU ms per request",
    "J2-es256": "1,024 ES256 tokens in turn and Origin: CPU ms per request",
    "J3-hs256": "the same, a window in Redis for each person, and revocation: CPU ms per request, Redis apart",
    "J3-es256": "the same with ES256",
    "windows": "two exact windows in Redis at 2,000 requests a second",
    "flood": "5,000 unknown ES256 tokens a second from 64 addresses, or from one, and a good client of another",
    "revocation": "confirmed revocations, 2 nodes of 2 workers at 60 % load",
    "J4-down": "1 MiB answers, 16 connections: MB per CPU second",
    "J4-up": "1 MiB uploads, 16 connections: MB per CPU second",
    "J4-down-h2": "1 MiB answers over HTTP/2, 4 connections of 4 streams: MB per CPU second",
    "J4-up-h2": "1 MiB uploads over HTTP/2, 4 connections of 4 streams: MB per CPU second",
    "J5-full": "a connection and a request each time, full handshake: handshakes per CPU second",
    "J5-resume": "the same with a ticket: handshakes per CPU second",
    "J5-full-h2": "the same over HTTP/2, full handshake: handshakes per CPU second",
    "J6": "KiB per idle TLS connection",
    "memory": "MiB at start: PSS of supervisor, two workers and control, Redis apart",
}
# What is told as work per CPU second: there more is better, and a ratio is ours over the peer's.
PER_SECOND = ("J4", "J5")
OURS = "sallyport"
# Whoever is measured beside us but is no gateway: what TLS and two sockets cost without HTTP.
FLOOR = "relay"


@dataclasses.dataclass(frozen=True)
class Gate:
    """`figure` of a job, alone or against a peer (`best`: the cheapest of those that ran), and its bound."""

    job: str
    bound: float
    against: str = None
    figure: str = "cost"

    @property
    def is_least(self):
        return self.job.startswith(PER_SECOND)


GATES = [
    Gate("J0", 0.95, "haproxy"),
    Gate("J1", 1.0, "haproxy"),
    Gate("J2-key", 0.75, "nginx"),
    Gate("J2-hs256", 0.55, "haproxy"),
    Gate("J2-es256", 0.20, "haproxy"),
    Gate("J3-hs256", 0.35, "nginx-lua"),
    Gate("J3-es256", 0.35, "nginx-lua"),
    Gate("windows", 20, figure="redis_us"),
    Gate("windows", 2, figure="p99_ms"),
    Gate("flood-one", 2, figure="p99_ratio"),
    Gate("flood-one", 0.20, figure="check_share"),
    Gate("flood", 2, figure="p99_ratio"),
    Gate("flood", 0.20, figure="check_share"),
    Gate("revocation", 100, figure="p99_ms"),
    Gate("J4-down", 0.9, "nginx"),
    Gate("J4-up", 0.9, "best"),
    Gate("J4-down-h2", 0.9, "nginx"),
    Gate("J4-up-h2", 0.9, "best"),
    Gate("J5-full", 0.95, "nginx"),
    Gate("J5-resume", 0.95, "nginx"),
    Gate("J5-full-h2", 0.95, "nginx"),
    Gate("J6", 1.05, "haproxy"),
    Gate("memory", 40, figure="mib"),
]

FIGURES = {
    "redis_us": "us of Redis per window", "p99_ms": "ms p99", "p99_ratio": "p99 over the quiet p99", "check_share": "of a core for checks", "mib": "MiB",
}


def median(rows, name):
    values = [row[name] for row in rows if name in row]
    return statistics.median(values) if values else None


def peers_of(servers):
    return [name for name, rows in servers.items() if name != OURS and "missing" not in rows[0]]


def ratio(job, servers, against):
    """Ours over a peer's: the median of the repetitions' own ratios; None where either was not measured."""
    rivals = [name for name in peers_of(servers) if name != FLOOR and "+" not in name] if against == "best" else [against]
    rivals = [name for name in rivals if name in peers_of(servers)]
    if not rivals or "missing" in servers.get(OURS, [{"missing": ""}])[0]:
        return None
    pairs = zip(servers[OURS], *(servers[name] for name in rivals))
    values = [ours["cost"] / min(row["cost"] for row in theirs) for ours, *theirs in pairs]
    value = statistics.median(values)
    return 1 / value if job.startswith(PER_SECOND) else value


def shown(job, rows):
    """The figure of one server, in the job's unit."""
    if "missing" in rows[0]:
        return "missing"
    if job.startswith("J4"):
        return "%.0f MB" % (1.048576 / median(rows, "cost") * 1000)
    if job.startswith("J5"):
        return "%.0f hs" % (1000 / median(rows, "cost"))
    cost = median(rows, "cost")
    return "-" if cost is None else "%.2f" % cost if job in ("J6", "memory") else "%.4f" % cost


def details(job, servers):
    """One line a server, printed when the job is done."""
    for name, rows in servers.items():
        if "missing" in rows[0]:
            yield "  %-13s missing: %s" % (name, rows[0]["missing"])
            continue
        cells = [shown(job, rows)]
        for key, shape in (("rps", "%.0f/s"), ("p50_us", "p50 %.0f us"), ("p99_us", "p99 %.0f us"), ("user", "user %.4f"), ("util", "core %.2f busy"),
                           ("load", "load side %.2f"), ("redis_us", "Redis %.1f us a window"), ("p99_ms", "p99 %.2f ms"), ("plain_p99_ms", "without %.2f ms"),
                           ("quiet_ms", "quiet p99 %.2f ms"), ("p99_ratio", "x %.2f"), ("checks", "%.0f checks/s"), ("check_us", "of %.0f us"),
                           ("check_share", "%.3f of a core"), ("refused", "%.0f refused/s"), ("trials", "%.0f trials"), ("p50_ms", "p50 %.2f ms")):
            if (value := median(rows, key)) is not None:
                cells.append(shape % value)
        if job == "J5-resume":
            cells.append("%.0f %% resumed" % (100 * median(rows, "resumed") / max(1, median(rows, "requests"))))
        worst = max(row.get("foreign", 0) for row in rows)
        yield "  %-13s %s%s" % (name, "  ".join(cells), "   (others used %.0f %% of the core)" % (100 * worst) if worst > 0.15 else "")


def verdict(gate, rows):
    """(value, holds) of one gate; the value is None where it could not be measured."""
    servers = rows[gate.job]
    value = ratio(gate.job, servers, gate.against) if gate.against else median(servers.get(OURS, []), gate.figure)
    if value is None:
        return None, False
    return value, value >= gate.bound if gate.is_least else value <= gate.bound


def table(rows):
    """One line for each pair of job and peer, with the gate where there is one; True when every gate of these jobs holds."""
    print("\n%-11s %-11s %-24s %8s  %-10s %s" % ("job", "ours", "beside", "ratio", "gate", ""))
    held = True
    for job, servers in rows.items():
        gates = [gate for gate in GATES if gate.job == job]
        ours = shown(job, servers[OURS])
        named = {gate.against: gate for gate in gates if gate.against}
        if "missing" in servers[OURS][0]:
            print("%-11s %-11s %-82s FAILS" % (job, ours, servers[OURS][0]["missing"][:80]))
            held = False
            continue
        for name in [*(name for name in servers if name != OURS), *(["best"] if "best" in named else [])]:
            gate = named.get(name)
            value = ratio(job, servers, name)
            figure = shown(job, servers[name]) if name != "best" else ""
            good = verdict(gate, rows)[1] if gate else True
            held = held and good
            print("%-11s %-11s %-24s %8s  %-10s %s" % (job, ours, name + " " + figure, "%.2f" % value if value else "-", bound(gate), said(gate, good)))
        for gate in gates:
            if not gate.against:
                value, good = verdict(gate, rows)
                held = held and good
                print("%-11s %-11s %-24s %8s  %-10s %s" % (
                    job, "-" if value is None else "%.2f" % value, FIGURES[gate.figure], "", bound(gate), said(gate, good)))
    return held


def bound(gate):
    return "" if not gate else (">= %g" if gate.is_least else "<= %g") % gate.bound


def said(gate, good):
    return "" if not gate else "holds" if good else "FAILS"


def self_test():
    with contextlib.redirect_stdout(io.StringIO()):
        check_table()
    print("gates.py: self-test passed")


def check_table():
    cost = lambda *values: [{"cost": value} for value in values]
    rows = {"J0": {OURS: cost(2.0, 1.0), "haproxy": cost(4.0, 2.0), "nginx": [{"missing": "not installed"}]}}
    assert ratio("J0", rows["J0"], "haproxy") == 0.5 and ratio("J0", rows["J0"], "nginx") is None
    assert table(rows)
    rows["J0"][OURS] = cost(4.0, 2.0)
    assert not table(rows)
    rows = {"J4-up": {OURS: cost(2.0), "haproxy": cost(3.0), "nginx": cost(1.9), FLOOR: cost(0.1)}}
    assert round(ratio("J4-up", rows["J4-up"], "best"), 3) == 0.95 and table(rows)
    rows = {"J1": {OURS: [{"missing": "the job failed"}]}, "J6": {OURS: cost(1.0), "haproxy": cost(1.0)}}
    assert not table(rows) and verdict(GATES[1], rows) == (None, False), "a job that failed holds no gate"
    rows = {"J3-hs256": {OURS: cost(1.0), "nginx-lua": [{"missing": "not installed"}]}}
    assert not table(rows), "a gate that cannot be measured does not hold"

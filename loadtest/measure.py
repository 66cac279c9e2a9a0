#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""Measures the gateway beside Debian's haproxy and nginx in one run and holds the ratios against the gates.

  measure.py [--quick] [--jobs J0,J6,…] [--reps N] [--seconds S] [--json FILE]
  measure.py --show FILE        the table of a run that was kept, or of several: FILE,FILE
  measure.py --self-test

How to read it. A job runs against each server in turn, on one core, with origin, Redis and load on the other; the order
rotates. The cost is CPU of the server's processes per request (Redis apart), so it hardly depends on how fast the load is;
a ratio is taken repetition by repetition, then the median. Below 1 the gateway is cheaper; of J4 and J5 the work per CPU
second is compared, so there above 1 is better. Absolute figures move with the machine by a quarter, ratios of one run by
5 to 15 %: closer than that is a tie.

The gateway always runs with its access log, metrics, timeouts and limits on. `haproxy` and `nginx` run with their timeouts
but without an access log, which is the stricter comparison and the one that is gated; `haproxy+log` and `nginx+log` write
one, as their operators would (a datagram to a reader; a buffered file), which is the like for like. `relay` is no gateway:
TLS on one side, bytes copied to the other, no HTTP. Nothing that proxies over two sockets gets below it.

A peer that is not installed is `missing`, and so is a job that failed; its gates then fail: they were not shown to hold. The
other jobs go on. Figures are kept after every job, in loadtest/.run/figures.json where no other file is named. Exits 0 when
every gate of the jobs that ran holds. `others used N % of the core` means: not a quiet machine, run again.

All jobs take about 20 minutes, with --quick 5: one short repetition, a smaller registry, gated peers only.
"""
import argparse
import json
import sys
import time
import traceback

import gates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short repetition, a smaller registry, gated peers only")
    parser.add_argument("--jobs", default=",".join(gates.JOBS), help="of: " + " ".join(gates.JOBS))
    parser.add_argument("--reps", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--json", help="write all figures here")
    parser.add_argument("--show", help="print the table of figures that were written")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return gates.self_test()
    if options.show:
        rows = {}
        for name in options.show.split(","):
            with open(name) as file:
                rows.update(json.load(file))
        sys.exit(0 if gates.table(rows) else 1)
    wanted = options.jobs.split(",")
    if unknown := set(wanted) - set(gates.JOBS):
        parser.error("unknown jobs: %s" % ", ".join(sorted(unknown)))
    options.reps = options.reps or (1 if options.quick else 3)
    options.seconds = options.seconds or (2 if options.quick else 4)
    sys.exit(0 if gates.table(measure(wanted, options)) else 1)


def measure(wanted, options):
    import stand  # starts with what it needs: not for the help
    from ownjobs import Jobs
    bench = stand.Stand(stand.HERE / ".run")
    jobs, began = Jobs(bench, options), time.monotonic()
    try:
        for number, job in enumerate(wanted, 1):
            print("[%d/%d, %.0f s] %s  %s" % (number, len(wanted), time.monotonic() - began, job, gates.JOBS[job]), flush=True)
            try:
                getattr(jobs, job.replace("-", "_"))()
            except Exception as why:  # the figures of the other jobs are worth having all the same
                traceback.print_exc()
                jobs.rows[job] = {gates.OURS: [{"missing": "the job failed: %s" % why}]}
            print("\n".join(gates.details(job, jobs.rows[job])), flush=True)
            with open(options.json or bench.file("figures.json"), "w") as file:
                json.dump(jobs.rows, file, indent=1)
    finally:
        bench.close()
    return jobs.rows


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests while one works: `make test` for the quick ones, `make test T=NAME` for some.

  test.py BUILD           the suite unit, and the tests of the suite cli that take less than ten seconds
  test.py BUILD NAME...   suites, or tests whose name contains NAME: report, test_report.py, model/test_plan

Builds only what the tests need, in one build directory. `make check` runs everything, in every build."""
import json
import os
import subprocess
import sys

LONG = 10  # seconds: from there on a test has a row in long_tests (tests/meson.build), which is its priority


def introspect(build, what):
    return json.loads(subprocess.run(["meson", "introspect", build, "--" + what], check=True, capture_output=True).stdout)


def suite(test):
    return test["suite"][0].split(":")[-1]


def chosen(tests, names):
    if not names:
        return [t for t in tests if suite(t) in ("unit", "cli") and t["priority"] < LONG]
    found = [t for t in tests if suite(t) in names] or [t for t in tests if any(n in t["name"] for n in names)]
    if not found:
        sys.exit("make test: no suite and no test is called %s; suites: %s" % (" ".join(names), " ".join(sorted({suite(t) for t in tests}))))
    return found


def left_out(tests, taken):
    """What is not run, by suite: how many tests."""
    rest = {}
    for t in tests:
        if t not in taken:
            rest[suite(t)] = rest.get(suite(t), 0) + 1
    return ", ".join("%d of %s" % (n, name) for name, n in sorted(rest.items(), key=lambda x: -x[1]))


def main():
    build, names = sys.argv[1], " ".join(sys.argv[2:]).split()
    tests = introspect(build, "tests")
    taken = chosen(tests, names)
    files = {t["id"]: [os.path.relpath(f, os.path.abspath(build)) for f in t["filename"]] for t in introspect(build, "targets")}
    wanted = {f for t in taken for d in t["depends"] for f in files.get(d, [])}
    if any(t["cmd"][-1].endswith(".py") or t["cmd"][0].endswith(".py") for t in taken):
        wanted |= {f for of in files.values() for f in of if f.startswith("tests/progs/")}  # what scripts run and record
    if subprocess.run(["ninja", "-C", build, "--quiet", *sorted(wanted)], check=False).returncode:
        sys.exit(1)
    code = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", "--num-processes", str(3 * os.cpu_count()),
                           "--timeout-multiplier", "5", *(t["name"] for t in taken)], check=False).returncode
    if not names:
        print("left out: %s (make test T=SUITE runs one; make check runs all, in every build)" % left_out(tests, taken))
    sys.exit(code)


main()

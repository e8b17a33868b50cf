#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The HTML report in a browser (web/test/run.mjs): the script with invented data, then pages that cyclade writes of recordings:
memory accesses, cycle accounting, branch stacks, call chains, a recorder that was killed, long names, time alone, many threads and cgroups, waits; then pages of one result each. Needs node, chromium and what
`npm ci --ignore-scripts` in web/ installs; without them it is skipped, with the reason. Under a sanitizer pages are written, and
that is all: what a browser makes of the same pages, it makes without."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WEB = os.path.join(HERE, "..", "..", "web")
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import recordings  # noqa: E402
import waits_made  # noqa: E402
from tap import SANITIZED, Tap, run  # noqa: E402

# pages of one result
ALONE = {"annotate": ["annotate", "made/branches", "f"], "diff": ["diff", "made/account", "made/account_shared"],
         "table-blocks": ["blocks", "made/branches"], "table-calls": ["calls", "made/branches"], "table-stat": ["stat", "--", "true"],
         "table-intervals": ["stat", "-I", "20", "--", "sleep", "0.1"]}
WANTED = {"accesses", "account", "branches", "all_fields-0-le", "killed-0-le", "long_names"}


def skip(why):
    print("1..0 # SKIP " + why)
    sys.exit(0)


def timed(path, many):
    """Samples of time alone; many: of 96 threads of 6 processes on 8 CPUs, in 5 cgroups."""
    threads = 96 if many else 1
    m = waits_made.Made([b"f%d" % i for i in range(40)], cgroups={100 + i: "/slice%d/unit%d" % (i % 5, i % 5) for i in range(threads)} if many else None)
    for i in range(threads):
        m.comm(i, 100 + i, b"thread %d" % i)
        m.pids[100 + i] = 100 + i % 6
    for i in range(6000 if many else 800):
        m.sample(waits_made.CLOCK, 1000 + i * 1000, 100 + i * 7 % threads, i % 8 if many else 0, at=i * i % 40)
    m.write(path)


node = shutil.which("node") or shutil.which("nodejs")
if not node and not SANITIZED:
    skip("there is no node")
if not SANITIZED and not os.path.isdir(os.path.join(WEB, "node_modules", "playwright-core")):
    skip("no packages in web/node_modules: npm ci --ignore-scripts in web/")
with tempfile.TemporaryDirectory() as tmp:
    pages = []
    for r in recordings.made(os.path.join(tmp, "made")):
        if r.name not in WANTED:
            continue
        pages.append(os.path.join(tmp, r.name + ".html"))
        p = run("report", "--html", pages[-1], r.path)
        if p.returncode:
            print("1..1\nnot ok 1 - report --html %s\n# %s" % (r.name, p.stderr))
            sys.exit(1)
    for name, many in (("time", False), ("many", True)):
        made = os.path.join(tmp, name + ".data")
        timed(made, many)
        pages.append(os.path.join(tmp, name + ".html"))
        p = run("report", "--html", pages[-1], made)
        if p.returncode:
            print("1..1\nnot ok 1 - report --html %s\n# %s" % (name, p.stderr))
            sys.exit(1)
    made = waits_made.few(os.path.join(tmp, "waits.data"))
    pages.append(os.path.join(tmp, "waits.html"))
    p = run("report", "--html", pages[-1], made)
    if p.returncode:
        print("1..1\nnot ok 1 - report --html waits\n# %s" % p.stderr)
        sys.exit(1)
    if len(pages) != len(WANTED) + 3:
        print("1..1\nnot ok 1 - recordings: %s" % pages)
        sys.exit(1)
    for name, words in ALONE.items():
        page = os.path.join(tmp, name + ".html")
        p = run(words[0], "--format", "html", "-o", page, *words[1:], cwd=tmp)
        if p.returncode:
            print("1..1\nnot ok 1 - %s --format html\n# %s" % (words[0], p.stderr))
            sys.exit(1)
        pages.append(page)
    if SANITIZED:
        t = Tap()
        for page in pages:
            with open(page, encoding="utf-8") as f:
                t.ok(f.read().rstrip().endswith(("</html>", "</script>")), "%s is written to its end" % os.path.basename(page))
        t.skip("browser", "these are the pages that it is shown without a sanitizer")
        t.done()
    # a browser leaves things where it is told that settings are
    env = dict(os.environ, HOME=tmp, XDG_CONFIG_HOME=os.path.join(tmp, "config"), XDG_CACHE_HOME=os.path.join(tmp, "cache"))
    sys.exit(subprocess.run([node, os.path.join(WEB, "test", "run.mjs"), "--own", *pages], check=False, env=env).returncode)

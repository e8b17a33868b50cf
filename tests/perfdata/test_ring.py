#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records that a ring wraps around arrive whole: a program maps a file page by page, far more often than a small ring has
room for, and each mapping's record must have the page's own number; what is missing is counted as lost."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, run  # noqa: E402

PAGES = 6000
PROGRAM = """
import mmap, os, sys
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # one ring: those of several CPUs are not in order in the file
f = open(sys.argv[1], "r+b")
for i in range(%d):
    mmap.mmap(f.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC, offset=i * 4096).close()
""" % PAGES

t = Tap()
with tempfile.TemporaryDirectory() as d:
    # names of different lengths: a record's end meets the ring's at every place
    for letters in (1, 9, 40):
        file, data = os.path.join(d, "m" * letters), os.path.join(d, "data")
        with open(file, "wb") as f:
            f.truncate(PAGES * 4096)
        r = run("record", "-q", "-e", "cpu-clock:u", "-m", "16", "-o", data, "--", sys.executable, "-c", PROGRAM, file)
        if r.returncode:
            t.skip("a small ring, names of %d letters" % letters, "nothing can be recorded here: %s" % r.stderr.strip()[:200])
            continue
        text = subprocess.run([os.environ["PD_DUMP"], data], capture_output=True, text=True, errors="replace").stdout
        rows = [re.search(r" len=(\w+) pgoff=(\w+) .* path=(\S+)", line) for line in text.splitlines() if "record MMAP2" in line]
        rows = [m.groups() for m in rows if m and m[3].startswith(d)]
        at = [int(pgoff, 16) // 4096 for size, pgoff, path in rows if size == "1000" and path == file]
        info = json.loads(run("info", "-j", "-i", data).stdout)
        # what the ring holds comes in any case, however late the recorder is
        # a LOST record comes with the next one that has room. What was lost last has none: the recorder asks the
        # counter for it and writes LOST_SAMPLES
        lost = max(info["losses"]["lost"] + info["losses"]["lost_samples"], info["losses"]["read_lost"])
        t.ok(len(at) == len(rows) and at == sorted(set(at)) and PAGES - lost <= len(at) <= PAGES and len(at) > 100,
             "a small ring, names of %d letters: %d records are whole, %d were lost" % (letters, len(at), lost),
             (len(rows), at[:10], info["losses"]))
        t.equal([x for x in info["records"] if not re.fullmatch("[A-Z_0-9]+", x["record"])], [], "and there are no others")
t.done()

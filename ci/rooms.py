#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The include graph is a DAG of rooms, and every header compiles alone.

A room may include its own headers and those of the rooms that ALLOWED lists for it; a header that ends
in _int.h is for its own room only."""
import concurrent.futures
import os
import re
import subprocess
import sys

ALLOWED = {
    "base": [],
    "collect": ["base"],
    "perfdata": ["base"],
    "symbol": ["base"],
    "model": ["base"],
    "region": ["base", "collect", "model"],
    "analyse": ["base", "perfdata", "symbol", "model"],
    "report": ["base", "perfdata", "symbol", "model", "analyse"],
    "cli": ["base", "collect", "perfdata", "symbol", "model", "region", "analyse", "report"],
}
# A room that gets threads loses its row, and its unit tests get into the suite `threads` (tests/unit/meson.build).
NO_THREADS = ["model"]
bad = []
include = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
for room, allowed in ALLOWED.items():
    for name in sorted(os.listdir(os.path.join("src", room))):
        if not name.endswith((".c", ".h", ".def")):
            continue
        path = os.path.join("src", room, name)
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if room in NO_THREADS and re.search(r"#\s*include\s+([<]pthread|[<]threads|\"base/task)", line):
                bad.append("%s:%d: %s has no threads, says ci/rooms.py" % (path, number, room))
            m = include.match(line)
            if not m or "/" not in m.group(1):
                continue
            other = m.group(1).split("/")[0]
            if other != room and other not in allowed:
                bad.append("%s:%d: %s may not include %s" % (path, number, room, m.group(1)))
            if other != room and m.group(1).endswith("_int.h"):
                bad.append("%s:%d: %s is private to %s" % (path, number, m.group(1), other))
if set(os.listdir("src")) - set(ALLOWED):
    bad.append("src: a room without a row in ci/rooms.py: %s" % (set(os.listdir("src")) - set(ALLOWED)))

headers = [os.path.join(room, n) for room in ALLOWED for n in sorted(os.listdir(os.path.join("src", room)))
           if n.endswith(".h")]
capstone = subprocess.run(["pkg-config", "--cflags", "capstone"], capture_output=True, text=True).stdout.split()


def alone(header):
    """What the compiler says of it; "" if nothing."""
    text = '#include "%s"\n#include "%s"\nextern int x;\n' % (header, header)
    run = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Isrc", "-Iinclude", *capstone,
                          "-fsyntax-only", "-xc", "-"], input=text, capture_output=True, text=True)
    return "%s does not compile alone:\n%s" % (header, run.stderr) if run.returncode else ""


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    bad += [x for x in pool.map(alone, headers) if x]
print("\n".join(bad))
sys.exit(1 if bad else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which file each sample lies in, against perf script on the same recording, sample by sample.

perf sorts samples by time, so both sides are compared as sorted lists of (pid, tid, time, ip, dso).
"""
import collections
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import NO_SHARED, PERF, SHARED, Tap  # noqa: E402

DUMP = os.environ.get("DUMP_DSOS", "")
LINE = re.compile(r"^\s*(-?\d+)/(-?\d+)\s+(?:(\d+)\.(\d{9}):)?\s*([0-9a-f]+)\s*(.*)$")
# perf prints no samples of these, or others: each with its reason
PERF_CANNOT = {
    "hotspot-perf.data.PerfFormatLost": "perf 6.1 refuses attributes of 136 bytes",
    "linux-perf-data-sleep.compressed2.data": "perf 6.1 does not know COMPRESSED2",
}


def perf_samples(path, with_time):
    fields = "pid,tid,time,ip,dso" if with_time else "pid,tid,ip,dso"
    p = subprocess.run([PERF, "script", "-i", path, "-F", fields, "--ns", "-G", "--show-kernel-path",
                        "--symfs", "/nonexistent", "--kallsyms", "/dev/null"],
                       capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                       timeout=600)
    rows = []
    for line in p.stdout.splitlines():
        m = LINE.match(line)
        if not m:
            continue
        time = int(m[3]) * 10**9 + int(m[4]) if with_time else 0
        rows.append((int(m[1]), int(m[2]), time, int(m[5], 16), short(m[6])))
    return rows


def short(dso):
    """A path in brackets as perf script prints it, as the base name that perf report would show."""
    dso = dso.strip()
    if dso.startswith("(") and dso.endswith(")"):
        dso = dso[1:-1]
    # perf takes the vdso of the machine it runs on, copied to a file of that name
    if re.fullmatch(r"(/tmp/)?perf-vdso.so-\w{6}", dso):
        return "[vdso]"
    if dso.startswith("[kernel.kallsyms]"):
        return "[kernel.kallsyms]"
    if re.search(r"\.ko(\.\w+)?$", dso):
        return "[" + re.sub(r"\.ko(\.\w+)?$", "", dso.rsplit("/", 1)[-1]).replace("-", "_") + "]"
    # files of one base name have more of their paths with us, perf has the base names
    return dso.rsplit("/", 1)[-1] if re.match(r"/(?!/)|\w[\w.-]*/", dso) else dso


def our_samples(path):
    p = subprocess.run([DUMP, path], capture_output=True, text=True, errors="replace", timeout=600)
    rows = []
    for line in p.stdout.splitlines():
        f = line.split("\t")
        rows.append((int(f[0]), int(f[1]), int(f[2]), int(f[3], 16), re.sub(r"^\w[\w./-]*/", "", f[4])))
    return rows


def compare(t, path):
    name = os.path.basename(path)
    if name in PERF_CANNOT:
        t.skip(name, PERF_CANNOT[name])
        return
    ours = our_samples(path)
    with_time = any(r[2] for r in ours)
    theirs = perf_samples(path, with_time)
    if not theirs or not ours:
        t.skip(name, "perf script prints %d samples, we have %d" % (len(theirs), len(ours)))
        return
    a, b = collections.Counter(ours), collections.Counter(theirs)
    only, missing = a - b, b - a
    detail = ["%d samples, %d differ" % (len(ours), sum(only.values()))]
    detail += ["ours   %r x%d" % x for x in list(only.items())[:8]]
    detail += ["perf's %r x%d" % x for x in list(missing.items())[:8]]
    t.ok(not only and not missing, "%s: %d samples" % (name, len(ours)), "\n".join(detail))


def main():
    t = Tap()
    paths = sorted(glob.glob(os.path.join(SHARED, "corpus", "recordings", "*")))
    if not PERF or not paths:
        t.skip("samples' files", "no perf here" if not PERF else NO_SHARED)
        t.done()
    for path in paths:
        compare(t, path)
    t.done()


main()

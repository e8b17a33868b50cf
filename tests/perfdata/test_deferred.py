#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Call chains whose user part comes later (Linux 6.19): made recordings of a real program against what was planted, and perf 7."""
import collections
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import gen  # noqa: E402
from tap import CYCLADE, Tap  # noqa: E402

t = Tap()
PERF7 = os.environ.get("CYCLADE_PERF7")
if PERF7 and not os.path.exists(PERF7):
    PERF7 = None
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
rnd = random.Random(5)
NAMES = ["main", "outer", "middle", "inner", "other"]
PID, BASE, KERNEL_IP = 4242, 0x555555554000, 0xffffffff81000010
SOURCE = "volatile int sink;\n" + "".join(
    "__attribute__((noinline)) int %s(void) { for (int i = 0; i < 9; i++) sink += i; return sink; }\n" % n for n in NAMES)


def run(*words):
    return subprocess.run([CYCLADE, *words], capture_output=True, text=True, check=False)


def perf(*words):
    return subprocess.run([PERF7, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout


def build():
    with open("prog.c", "w", encoding="utf-8") as f:
        f.write(SOURCE)
    p = subprocess.run(["cc", "-O1", "-o", "prog", "prog.c"], capture_output=True, text=True, check=False)
    if p.returncode:
        return None
    nm = subprocess.run(["nm", "prog"], capture_output=True, text=True, check=True).stdout
    return {w[2]: int(w[0], 16) for w in (x.split() for x in nm.splitlines()) if len(w) == 3}


def recording(path, at, lost=False):
    """Four threads that enter the kernel and leave it in any order. Returns the planted chains, outermost first."""
    w = gen.Writer("<")
    bits = sum(gen.BIT[n] for n in "IP TID TIME PERIOD CALLCHAIN".split())
    attr = dict(type=1, sample=bits, sample_id_all=1, defer_callchain=1, defer_output=1, mmap=1, mmap2=1, comm=1, task=1)
    now = 10 ** 12
    who = lambda tid: w.pack("II", PID, tid) + w.u64(now)
    data = w.record(gen.COMM, w.pack("II", PID, PID) + gen.text8("prog") + who(PID), 0x2000)
    data += w.record(gen.MMAP2, w.pack("IIQQQIIQQII", PID, PID, BASE + 0x1000, 0x1000, 0x1000, 0, 0, 0, 0, 5, 2) +
                     gen.text8(os.path.abspath("prog")) + who(PID), 2)
    for k in range(1, 4):
        data += w.record(gen.FORK, w.pack("IIII", PID, PID, PID + k, PID) + w.u64(now) + who(PID))
    inside, cookie, truth = {}, 0x500000000, collections.Counter()
    for step in range(600):
        now += 1000
        tid = PID + rnd.randrange(4)
        if tid in inside and rnd.random() < 0.5:  # back to user space
            number, user, _ = inside.pop(tid)
            if not lost or step % 3:
                data += w.record(gen.CALLCHAIN_DEFERRED, w.u64(number, len(user) + 1, gen.USER, *user) + who(tid), 2)
            continue
        fresh = tid not in inside
        if fresh:
            cookie += 1
            names = [rnd.choice(NAMES[1:]) for _ in range(rnd.randrange(4))] + ["main"]
            inside[tid] = cookie, [BASE + at[n] + 6 for n in names], names
        number, user, names = inside[tid]
        kernel = not fresh or rnd.random() < 0.5
        chain = ([gen.KERNEL, KERNEL_IP] if kernel else []) + [gen.USER_DEFERRED, number]
        ip = KERNEL_IP if kernel else user[0]
        data += w.record(gen.SAMPLE, w.u64(ip) + who(tid) + w.u64(1000, len(chain), *chain), 1 if kernel else 2)
        truth[";".join(["prog"] + names[::-1] + ["K"] * kernel)] += 1000
    now += 1000
    for tid, (number, user, _) in inside.items():
        data += w.record(gen.CALLCHAIN_DEFERRED, w.u64(number, len(user) + 1, gen.USER, *user) + who(tid), 2)
    f = gen.File(w, [("cpu-clock", attr, [])])
    f.data = data
    with open(path, "wb") as out:
        out.write(f.build())
    return truth


def ours(path):
    out = collections.Counter()
    for line in run("report", "-q", "--no-cache", "--format", "folded", path).stdout.splitlines():
        chain, n = line.rsplit(" ", 1)
        out[re.sub(r"0xffff[0-9a-f]+", "K", chain)] += int(n)
    return out


def theirs(path):
    """perf's callers; the cookie of a chain that was lost is to it a caller in no mapping."""
    out, frames = collections.Counter(), None
    for line in perf("script", "-i", path, "-F", "comm,ip,sym").splitlines() + [""]:
        if not line.strip():
            if frames:
                out[";".join(["prog"] + frames[::-1])] += 1000
            frames = None
        elif frames is None:
            frames = []
        else:
            ip, name = line.split()[:2]
            frames.append("K" if ip.startswith("ffff") else "?" if name == "[unknown]" else name)
    return out


def main():
    at = build()
    if not at:
        return t.skip("chains", "no C compiler")
    truth = recording("whole.data", at)
    t.equal(ours("whole.data"), truth, "each sample has its own thread's user part")
    info = run("info", "whole.data").stdout
    n = sum(truth.values()) // 1000
    t.ok(re.search(r"call chains +user parts of %d samples were recorded separately \(deferred\); %d were joined" % (n, n), info),
         "info: how many were joined", info)
    t.ok("CALLCHAIN_DEFERRED" in info and "lack the user" not in info, "info: the records, and no loss", info)
    recording("lost.data", at, lost=True)
    got = ours("lost.data")
    p = run("report", "--no-pager", "--no-cache", "lost.data")
    missing = re.search(r"note +(\d+) of (\d+) samples lack the user part", p.stdout)
    gone = sum(v for k, v in got.items() if k.startswith("prog;[in no mapping]")) // 1000
    t.ok(missing and 0 < int(missing[1]) == gone and int(missing[2]) == sum(got.values()) // 1000,
         "chains whose record is lost begin in no mapping, and are counted", "%s: %s" % (missing and missing[0], got))
    if not PERF7:
        return t.skip("perf's chains", "CYCLADE_PERF7 does not name a perf 7")
    t.equal(theirs("whole.data"), truth, "perf 7 shows the same chains")
    plain = lambda c: collections.Counter({re.sub(r"\[in no mapping\]", "?", k): v for k, v in c.items()})
    alone = lambda c: {k: v for k, v in c.items() if "?" not in k}
    t.equal(alone(plain(got)), alone(theirs("lost.data")), "and the same of those that are left")
    return None


main()
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--time, --cpu, --comm, --only-pid and --only-tid select what perf's --time, --cpu, --comm, --pid and --tid select: counts of
samples, by report and info, against lines of perf script on the same recordings. --cgroup selects the samples that perf report
-s cgroup counts."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from kernel_names import short_kallsyms  # noqa: E402
from tap import PERF as perf, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-select-")
os.chdir(tmp)
SHARED = os.environ.get("CYCLADE_SHARED", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared"))
CORPUS = os.path.join(SHARED, "corpus", "recordings")


def of_perf(data, fields, *args):
    p = subprocess.run([perf, "script", "-i", data, "-G", "-F", fields, *args], capture_output=True, text=True, errors="replace",
                       env=short_kallsyms(tmp))
    return [line for line in p.stdout.splitlines() if line.strip()] if p.returncode == 0 else None


def of_info(data, *args):
    p = run("info", "-j", "-i", data, *args)
    return sum(e["samples"] for e in json.loads(p.stdout)["events"]) if p.returncode == 0 else p.stderr


def of_report(data, *args):
    p = run("report", "--format", "csv", "-s", "event", "-i", data, *args)
    if p.returncode:
        return p.stderr
    return sum(int(r["samples"]) for r in csv.DictReader(io.StringIO(p.stdout)))


def same(data, name, ours, theirs):
    lines = of_perf(data, "ip", *theirs)
    if lines is None:
        t.skip(name, "perf refuses it")
        return
    t.equal((of_info(data, *ours), of_report(data, *ours)), (len(lines), len(lines)), name + ": as many as perf script")


def same_comm(data, name, comm):
    """What a thread does after the record of its exit is of ":TID" to newer perfs; it has the name that it had. If all
    of its samples are behind that record, perf shows no name, and it may have this one."""
    last, n, nameless = {}, 0, 0
    for line in of_perf(data, "comm,tid") or []:
        theirs, tid = line.strip().rsplit(None, 1)
        if theirs != ":" + tid:
            last[tid] = theirs
        n += last.get(tid) == comm
        nameless += tid not in last
    info, report = of_info(data, "--comm", comm), of_report(data, "--comm", comm)
    t.ok(info == report and n <= info <= n + nameless, name + " --comm: as many as perf script", (info, report, n, nameless))


def check(data, name, cpus):
    lines = of_perf(data, "pid,tid,time")
    if not lines:
        t.skip(name, "perf reads no samples of it")
        return
    words = [line.split() for line in lines]
    times = [w[-1].rstrip(":") for w in words]
    ids = [w[0].split("/") for w in words]
    order = sorted(times, key=float)
    a, b = order[len(order) // 4], order[len(order) * 3 // 4]
    same(data, name + " --time %s,%s" % (a, b), ["--time", "%s,%s" % (a, b)], ["--time", "%s,%s" % (a, b)])
    same(data, name + " --time ,B", ["--time", "," + b], ["--time", "," + b])
    same(data, name + " --time A,", ["--time", a + ","], ["--time", a + ","])
    pid, tid = ids[len(ids) // 2]
    same(data, name + " --only-pid", ["--only-pid", pid], ["--pid", pid])
    same(data, name + " --only-tid", ["--only-tid", tid], ["--tid", tid])
    same(data, name + " --only-pid --time", ["--only-pid", pid, "--time", a + ","], ["--pid", pid, "--time", a + ","])
    same_comm(data, name, (of_perf(data, "comm") or ["?"])[len(lines) // 2].strip())
    if cpus:
        for cpu in ("0", "1", "0-1"):
            same(data, name + " --cpu " + cpu, ["--cpu", cpu], ["--cpu", cpu])


made = "made.data"
work = "for i in 1 2 3; do seq 1 30000 | sort -R | md5sum > /dev/null; ls -l /usr/bin | wc -l > /dev/null; done"
if not perf:
    t.skip("selections", "no perf")
elif subprocess.run([perf, "record", "-q", "-o", made, "-e", "cpu-clock", "-F", "997", "-a", "--", "sh", "-c", work], capture_output=True).returncode:
    t.skip("a fresh recording", "perf cannot record here")
else:
    check(made, "fresh", True)
    whole = of_info(made)
    halves = [of_info(made, "--time", x) for x in ("0%,50%", "50%,100%")]
    t.equal(sum(halves), whole, "halves by per cent are the whole, once")
    t.ok(0 < of_info(made, "--time", "0ms,10ms") < whole, "a time with a unit counts from the first sample")
    parts = [of_info(made, "--cpu", c) for c in ("0", "1-1023")]
    t.equal(sum(parts), whole, "CPUs are the whole, once")
if perf and os.path.isdir(CORPUS):
    for name, cpus in (("nnue-pytorch-perf.data", False), ("autofdo-propeller_sample_1.perfdata1", False),
                       ("perf_data_converter-perf.data.busy.1-3.8", True), ("perf_data_converter-perf.data.lost_samples-4.4", False)):
        check(os.path.join(CORPUS, name), name, cpus)
    lbr = os.path.join(CORPUS, "autofdo-propeller_sample_1.perfdata1")
    for command in ("blocks", "calls", "registers", "annotate", "export"):
        p = run(command, *(["--folded", "-o", "-"] if command == "export" else []), "-i", lbr, "--cpu", "0")
        t.ok(p.returncode == 2 and ("--cpu" in p.stderr or command in ("registers", "annotate")), command + ": --cpu of a recording without CPUs is refused", p.stderr)


# ---- cgroups

def cgroups_of_perf(data):
    """Samples by cgroup."""
    p = subprocess.run([perf, "report", "-i", data, "-s", "cgroup", "--stdio", "-q", "-F", "sample,cgroup", "-t", "|"],
                       capture_output=True, text=True, errors="replace", env=short_kallsyms(tmp))
    rows = [[x.strip() for x in line.split("|")] for line in p.stdout.splitlines() if line.strip()]
    return {name: int(n) for n, name in rows} if p.returncode == 0 and rows else None


def select_cgroups(data, name, samples):
    """samples: path -> number, what the recording has."""
    for path, n in samples.items():
        t.equal((of_info(data, "--cgroup", path), of_report(data, "--cgroup", path)), (n, n), "%s: --cgroup %s" % (name, path))
    t.equal(of_info(data, "--cgroup", "*"), sum(samples.values()), name + ": --cgroup '*' is all")
    t.equal(of_info(data, "--cgroup", "no such"), 0, name + ": --cgroup of another is none")
    theirs = cgroups_of_perf(data) if perf else None
    if theirs is None:
        t.skip(name + ": perf report -s cgroup", "perf reads no cgroups of it")
    else:
        t.equal({k: v for k, v in theirs.items() if k != "N/A" and k in samples}, {k: v for k, v in samples.items() if k in theirs},
                name + ": perf report -s cgroup counts the same")


CGROUPS = {1: ("/", 5), 2: ("/system.slice/web.service", 11), 3: ("/system.slice/a b,c.service", 7), 9: (None, 3), 0: (None, 2)}
for order, name in (("<", "little"), (">", "big")):
    w = gen.Writer(order)
    attr = dict(type=1, config=0, period=9, read=0, sample_id_all=0, br=gen.HW_INDEX | 9, ru=0b1011,
                sample=gen.BASE | gen.BIT["CALLCHAIN"] | gen.BIT["BRANCH_STACK"] | gen.BIT["REGS_USER"] | gen.BIT["CGROUP"])
    f = gen.File(w, [("cpu-clock", attr, [40])])
    for number, (path, _) in CGROUPS.items():
        if path:
            f.data += w.record(gen.CGROUP, w.u64(number) + gen.text8(path))
    left = {k: n for k, (_, n) in CGROUPS.items()}
    while any(left.values()):  # by turns: each sample is of another cgroup than the one before
        for number in left:
            if left[number]:
                left[number] -= 1
                s = gen.Sample(number + 1, 40)
                s.v["CGROUP"] = number
                f.data += s.record(w, attr)
    path = "cgroups." + name
    gen.write(path, f.build())
    select_cgroups(path, name, {p or ("cgroup 9" if k else "[[]unknown]"): n for k, (p, n) in CGROUPS.items()})
    t.equal(of_report(path, "--cgroup", "/system.slice/*"), 18, name + ": a pattern reaches below")
    t.equal(of_report(path, "--cgroup", "/", "--cgroup", "cgroup 9"), 8, name + ": two are either")
    t.equal(of_report(path, "--cgroup", "/", "--only-pid", "102"), 5, name + ": with --only-pid")
    t.equal(of_report(path, "--cgroup", "/", "--only-pid", "103"), 0, name + ": with another --only-pid")
    for command, what in (("report -b -j", r'"branches":(\d+)'), ("blocks -j", r'"stacks": *(\d+)'), ("calls -j", r'"stacks": *(\d+)'),
                          ("registers -j", r'"samples": *(\d+)'), ("export --folded -o -", r" (\d+)$")):
        whole, part, none = (sum(map(int, re.findall(what, run(*command.split(), "-i", path, "--cgroup", c).stdout, re.M)))
                             for c in ("*", "/", "no such"))
        t.ok(whole > part > none == 0, "%s: %s --cgroup selects" % (name, command), (whole, part, none))
if perf and os.path.exists(made):
    for command in ("report", "info", "export"):
        p = run(command, *(["--folded", "-o", "-"] if command == "export" else []), "-i", made, "--cgroup", "/")
        t.ok(p.returncode == 2 and "--cgroup: samples of" in p.stderr and "--all-cgroups" in p.stderr, command + ": a recording without cgroups is refused", p.stderr)
    fresh = "cgroups.data"
    if subprocess.run([perf, "record", "-q", "-o", fresh, "--all-cgroups", "-e", "cpu-clock", "-F", "997", "-a", "--", "sh", "-c", work],
                      capture_output=True).returncode:
        t.skip("a fresh recording with cgroups", "perf cannot record them here")
    else:
        ours = {r["cgroup"]: int(r["samples"]) for r in csv.DictReader(io.StringIO(
            run("report", "--format", "csv", "-s", "cgroup", "-i", fresh).stdout))}
        select_cgroups(fresh, "fresh", {k.replace("[", "[[]"): v for k, v in ours.items()})

for args, word in ((["--time", "1"], "no comma"), (["--time", "x,"], "x"), (["--time", "2,1"], "ends before"), (["--time", "101%,"], "100"),
                   (["--cpu", "x"], "--cpu"), (["--cpu", "70000"], "65535")):
    if os.path.exists(made):
        p = run("info", "-i", made, *args)
        t.ok(p.returncode == 2 and word in p.stderr, " ".join(args) + " is refused", p.stderr)
os.chdir("/")
shutil.rmtree(tmp)
t.done()

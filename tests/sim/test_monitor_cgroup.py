#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade monitor --cgroup with events: counters of real cgroups, with the kernel's own events and on a simulated machine. What a
cgroup's task does is counted there and nowhere else; one that comes later is counted from then on, one that goes is closed."""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from monitored import near, rows  # noqa: E402
from sim import SYSROOT, run_on, tree  # noqa: E402
from tap import CYCLADE, ROOT, SIMULATED, Tap, run  # noqa: E402

t = Tap()
TOP = next((line.split()[1] for line in open("/proc/self/mounts", encoding="utf-8") if line.split()[2] == "cgroup2"), "/none")
BASE = "cyclade-test-%d" % os.getpid()
ID = "0123456789abcdef" * 4
NAMES = ["docker-%s.scope" % ID, "x.service", "late.service"]
TOUCH = """import mmap, sys
print("ready", flush=True)
for line in sys.stdin:
    m = mmap.mmap(-1, int(line) * mmap.PAGESIZE)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(int(line)):
        m[i * mmap.PAGESIZE] = 1
    print("done", flush=True)
"""
tmp = tempfile.TemporaryDirectory(prefix="cyclade-monitor-cgroup-")
made, workers = [], []


def make(path):
    os.mkdir(os.path.join(TOP, path))
    made.append(path)


def worker(path):
    p = subprocess.Popen([sys.executable, "-S", "-E", "-c", TOUCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    workers.append(p)
    p.stdout.readline()
    with open(os.path.join(TOP, path, "cgroup.procs"), "w", encoding="utf-8") as f:
        f.write(str(p.pid))
    return p


def touch(p, pages):
    p.stdin.write("%d\n" % pages)
    p.stdin.flush()
    p.stdout.readline()


def remove(path):
    """As soon as its last task is really gone."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.rmdir(os.path.join(TOP, path))
            made.remove(path)
            return
        except OSError:
            time.sleep(0.01)


def mounted(root, *words):
    """The words where the cgroups of version 2 are those of `root`, whatever this machine has there."""
    os.makedirs(os.path.join(root, "sys/fs/cgroup"), exist_ok=True)
    return ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2/sys/fs/cgroup" && shift 2 && exec "$@"', "sh", TOP, root, *words]


def of(doc):
    return {r["cgroup"].rpartition("/")[2]: r for r in rows(doc, "cgroup")}


def until_there(p, seen):
    """Documents until one that was waited for; None: none came."""
    until = time.monotonic() + 60
    for line in p.stdout:
        doc = of(json.loads(line))
        if seen(doc):
            return doc
        if time.monotonic() > until:
            break
    return None


def files(pid):
    n = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            n += "perf_event" in os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except OSError:
            pass
    return n


def own_rows():
    folder = os.path.join(tmp.name, "models")
    os.makedirs(folder)
    with open(os.path.join(ROOT, "models", "monitor"), encoding="utf-8") as f, open(os.path.join(folder, "monitor"), "w", encoding="utf-8") as to:
        to.write(f.read() + "cgroup touched counter - page\\-faults ; page faults by the kernel's event\n"
                            "cgroup clock counter - task\\-clock ; time of its tasks\n")
    return ("--models", folder)


def kernels_own():
    """The kernel's events, on this machine."""
    root = os.path.join(tmp.name, "root")
    os.makedirs(os.path.join(root, "sys/devices/system/cpu"))
    for name in ("online", "possible", "present"):
        with open("/sys/devices/system/cpu/online", encoding="ascii") as f, open(os.path.join(root, "sys/devices/system/cpu", name), "w", encoding="ascii") as to:
            to.write(f.read())
    first, second = (worker(os.path.join(BASE, n)) for n in NAMES[:2])
    words = mounted(root, CYCLADE, "monitor", "--sysroot", root, *MODELS, "-G", BASE + "/*", "-I", "100", "-j", "--metrics", "touched,cgroup.cpi,cgroup.tasks")
    p = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    workers.append(p)
    doc = until_there(p, lambda d: len(d) == 2)
    if not doc:
        t.skip("counters of cgroups", "the monitor does not start here: " + p.stderr.read().strip())
        return
    t.equal([(doc[n]["unit"], doc[n]["container"]) for n in NAMES[:2]], [(NAMES[0], ID[:12]), (NAMES[1], None)], "a container and a unit, by name")
    t.ok(all(r["cpi"] is not None or r["cpi_why"] for r in doc.values()), "what the machine has no counter for has the reason", doc)
    opened = files(p.pid)
    t.ok(opened > 0 and opened % (2 * os.cpu_count()) == 0, "an event of two cgroups: a counter each on each CPU", (opened, os.cpu_count()))
    touch(first, 2000)
    touch(second, 500)
    doc = until_there(p, lambda d: d[NAMES[0]]["touched"] >= 2000 and d[NAMES[1]]["touched"] >= 500) or {}
    t.ok(doc and 2000 <= doc[NAMES[0]]["touched"] < 2200 and 500 <= doc[NAMES[1]]["touched"] < 700, "each has its own faults, and no other's", doc)
    make(os.path.join(BASE, NAMES[2]))
    late = worker(os.path.join(BASE, NAMES[2]))
    new = until_there(p, lambda d: NAMES[2] in d) or {NAMES[2]: {}}
    t.ok(new[NAMES[2]].get("touched_rate", 0) is None and new[NAMES[2]]["touched_rate_why"], "one that came has no rate in the interval in which it was found", new)
    touch(late, 300)
    doc = until_there(p, lambda d: (d[NAMES[2]]["touched"] or 0) >= 300) or {}
    t.ok(doc and doc[NAMES[2]]["touched"] < 500 and doc[NAMES[0]]["touched"] < 2200, "and is counted from then on", doc)
    before = files(p.pid)
    first.stdin.close()
    first.wait(60)
    remove(os.path.join(BASE, NAMES[0]))
    doc = until_there(p, lambda d: NAMES[0] not in d) or {}
    t.ok(NAMES[2] in doc and before == opened // 2 * 3 and files(p.pid) == opened, "the counters of one that went are closed", (opened, before, files(p.pid)))
    p.terminate()
    t.equal(p.wait(60), 0, "SIGTERM ends it with 0")
    every = subprocess.run(words[:words.index("--metrics")] + ["--once"], text=True, capture_output=True)
    t.ok(not every.returncode and "cpi" not in str(json.loads(every.stdout)["cgroup"]), "counters of cgroups are only opened by name", every.stderr)


def simulated():
    """Instructions at planted rates, beside those of the whole machine."""
    root = tree("spr")
    p = run_on("spr", "even", *mounted(root, CYCLADE, "monitor", *SYSROOT, *MODELS, "-G", BASE + "/x.*", "-I", "400", "--for", "1200ms", "-j",
                                       "--metrics", "cgroup.instructions,cgroup.cycles,cgroup.cpi,clock,cpu.cycles,cpu.cpi"))
    docs = [json.loads(x) for x in p.stdout.splitlines()]
    r = of(docs[-1]).get(NAMES[1], {}) if docs else {}
    if not r or not r["clock"]:
        t.skip("simulated counters of cgroups", "none here: %s" % (p.stderr.strip().splitlines() or [r])[-1])
        return
    cpu = rows(docs[-1], "cpu")[0]
    t.ok(near(r["instructions"] and r["cycles"] / r["instructions"], cpu["cpi"]), "instructions and cycles of a cgroup are those planted", (r, cpu))
    t.ok(near(r["cycles"], 3 * r["clock"], 0.02) and r["cycles"] < 0.9 * cpu["cycles"] * len(rows(docs[-1], "cpu")), "cycles are those of its tasks' time, and not the CPUs'", (r, cpu["cycles"]))
    t.ok(near(cpu["cycles_rate"], 3e9, 0.001) and cpu["cycles_rate_error"] == 0, "and leave the machine its own counters", cpu)


try:
    try:
        for name in (BASE, *(os.path.join(BASE, n) for n in NAMES[:2])):
            make(name)
        probe = run("stat", "-a", "-G", BASE, "-e", "page-faults", "--", "true")
        why = probe.returncode and probe.stderr.strip() or subprocess.run(mounted(os.path.join(tmp.name, "probe"), "true"), capture_output=True, text=True).stderr
    except OSError as e:
        why = "no cgroup2 hierarchy is mounted" if TOP == "/none" else str(e)
    if why:
        t.skip("counters of cgroups", why)
        t.done()
    MODELS = own_rows()
    kernels_own()
    busy = worker(os.path.join(BASE, NAMES[1]))
    if SIMULATED:
        busy.stdin.write("1000\n" * 2000)  # what it does meanwhile
        busy.stdin.flush()
        simulated()
finally:
    for w in workers:
        w.kill()
        w.wait()
    for name in reversed(made[:]):
        remove(name)
t.done()

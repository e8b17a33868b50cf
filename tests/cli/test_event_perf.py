#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The event grammar against perf: the same words, and what perf hands to perf_event_open for them.

perf takes another sysfs by SYSFS_PATH, so that machines made of files are compared as well.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import PERF, Tap  # noqa: E402

t = Tap()
DUMP = sys.argv[1]
FIELDS = ["type", "config", "config1", "config2", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
          "pinned", "precise_ip", "bp_type"]


def theirs(event, env):
    """perf's attributes for `event`, in order, as tuples of FIELDS; None where perf does not take it."""
    p = subprocess.run([PERF, "stat", "-vv", "-e", event, "true"], capture_output=True, text=True,
                       errors="replace", env={**os.environ, "MALLOC_PERTURB_": "0", **env})  # perf 6.12 prints what it freed
    found = []
    for block in re.findall(r"^perf_event_attr:\n((?:  .*\n)+)", p.stderr, re.M):
        attr = {}
        for line in block.splitlines():
            m = re.match(r"^  (\{ .* \}|\S+) +(\S+)(?: \(.*\))?$", line)  # newer ones: 0 (PERF_COUNT_SW_CPU_CLOCK)
            if m:
                attr[re.sub(r"^\{ bp_\w+, (config\d) \}$", r"\1", m.group(1))] = m.group(2)
        row = tuple(int(attr.get(f, "0"), 0) for f in FIELDS)
        if row not in found:  # perf opens an event once for each CPU, and again with less after a failure
            found.append(row)
    return found or None


def ours(root, events):
    """{event: [tuples]}; a string where it was refused."""
    p = subprocess.run([DUMP, root, *events], capture_output=True, text=True)
    out, at = {}, None
    for line in p.stdout.splitlines():
        if line.startswith("# "):
            at = line[2:]
            out[at] = []
        elif line.startswith("!"):
            out[at] = line
        elif not line.startswith("?"):
            v = dict(x.split("=") for x in line.split("\t")[1].split())
            out[at].append(tuple(int(v[f], 0) for f in FIELDS))
    return out


def may_see_kernel():
    try:
        return os.geteuid() == 0 or int(open("/proc/sys/kernel/perf_event_paranoid").read()) < 2
    except (OSError, ValueError):
        return False


def compare(what, root, events, env=None):
    if not may_see_kernel():  # perf ends at the first event it may not open, the rest is never seen
        for event in [e for e in events if re.search(r"[:/}]k", e)]:
            t.skip("%s: %s" % (what, event), "not root")
        events = [e for e in events if not re.search(r"[:/}]k", e)]
    mine = ours(root, events)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda e: theirs(e, env or {}), events))
    compared = 0
    for event, want in zip(events, results):
        if want is None:
            t.skip("%s: %s" % (what, event), "perf does not take it here")
            continue
        compared += 1
        # perf lowers precise_ip where the kernel refuses: the first of a kind is what was asked for
        got = mine[event] if isinstance(mine[event], str) else list(dict.fromkeys(mine[event]))
        firsts = []
        for row in want:
            if not any(row[:5] == f[:5] and row != f for f in firsts):
                firsts.append(row)
        if not event.startswith(("{", "cpu-clock")) and not isinstance(got, str):
            got, firsts = sorted(got), sorted(firsts)  # of several PMUs: perf takes them as readdir gives them
        t.equal(got, firsts, "%s: %s" % (what, event))
    t.ok(compared * 2 > len(events), "%s: most were compared (%d of %d)" % (what, compared, len(events)))


if not PERF:
    t.skip("everything", "no perf here")
    t.done()

HARDWARE = """cpu-cycles cycles instructions cache-references cache-misses branch-instructions branches branch-misses
bus-cycles stalled-cycles-frontend idle-cycles-frontend stalled-cycles-backend idle-cycles-backend ref-cycles""".split()
SOFTWARE = """cpu-clock task-clock page-faults faults context-switches cs cpu-migrations migrations minor-faults
major-faults alignment-faults emulation-faults dummy bpf-output cgroup-switches""".split()
CACHES = """L1-dcache l1-d l1d L1-data L1-icache l1-i l1i L1-instruction LLC L2 dTLB d-tlb Data-TLB iTLB i-tlb
Instruction-TLB branch bpu btb bpc node""".split()
OPS = "load loads read store stores write prefetch prefetches speculative-read speculative-load".split()
RESULTS = "refs Reference ops access misses miss".split()

probe = theirs("cpu-clock", {})
if not probe:
    t.skip("everything", "perf cannot say what it would open here")
    t.done()

compare("software", "", SOFTWARE)
compare("hardware", "", HARDWARE)
compare("cache", "", [c + "-loads" for c in CACHES] + [c + "-load-misses" for c in CACHES] +
        ["L1-dcache-%s-misses" % o for o in OPS] + ["LLC-load-%s" % r for r in RESULTS] +
        ["L1-dcache-misses-stores", "dTLB-store-misses", "node-prefetch-misses", "L1-icache-prefetches", "iTLB",
         "L1-dcache"])
compare("raw", "", ["r1", "r1a8", "rffffffff", "1:0", "0x1:2", "1:4:u"])
compare("modifiers", "", ["cpu-clock:" + m for m in ["u", "k", "h", "uk", "ukh", "I", "uI", "D"]] +
        ["cycles:" + m for m in ["u", "k", "p", "pp", "ppp", "upp"]])
compare("groups", "", ["{cpu-clock,task-clock}:u", "{cpu-clock:k,task-clock}:u", "{cpu-clock,faults}:D",
                       "cpu-clock:u,{cs,faults}:k"])
compare("breakpoints", "", ["mem:0x1000", "mem:4096/8", "mem:0x1000/1:r", "mem:0x1000:w", "mem:0x1000:rw",
                            "mem:0x1000:x", "mem:0x1000/4:rw:u", "mem:0x1000:x:k"])
compare("terms", "", ["cpu-clock/period=1000/u", "cpu-clock/name=foo/", "msr/tsc/", "msr/event=3/", "tsc"])

tracing = [d for d in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing") if os.path.isdir(d + "/events/sched")]
if not tracing:
    t.skip("tracepoints", "tracefs is not readable")
else:
    every = [s + ":" + n for s in ("sched", "irq", "signal", "syscalls")
             for n in sorted(os.listdir(tracing[0] + "/events/" + s))
             if os.path.exists("%s/events/%s/%s/id" % (tracing[0], s, n))]
    compare("tracepoints", "", every[::max(1, len(every) // 30)] + ["sched:sched_switch:u"])
    got = ours("", ["sched:sched_w*"])["sched:sched_w*"]
    want = theirs("sched:sched_w*", {})
    t.equal(sorted(got), sorted(want or []), "tracepoints: sched:sched_w*, in any order")


def put(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w") as f:
        f.write(text + "\n")


def machine(d, pmus):
    """A /sys of our own: everything but the PMUs is the real one's."""
    sys_dir = os.path.join(d, "sys")
    for keep in ("", "devices", "bus"):
        os.makedirs(os.path.join(sys_dir, keep), exist_ok=True)
        for name in os.listdir("/sys/" + keep):
            if (keep, name) not in (("", "devices"), ("", "bus"), ("bus", "event_source")):
                os.symlink(os.path.join("/sys", keep, name), os.path.join(sys_dir, keep, name))
    for pmu, files in pmus.items():
        for path, text in files.items():
            put(sys_dir, "bus/event_source/devices/%s/%s" % (pmu, path), text)
        link = os.path.join(sys_dir, "devices", pmu)
        if not os.path.lexists(link):
            os.symlink(os.path.join(sys_dir, "bus/event_source/devices", pmu), link)
    for name, number in (("software", 1), ("tracepoint", 2), ("breakpoint", 5)):
        put(sys_dir, "bus/event_source/devices/%s/type" % name, str(number))
    return sys_dir


CORE = {"type": "4", "format/event": "config:0-7,32-35", "format/umask": "config:8-15", "format/edge": "config:18",
        "format/inv": "config:23", "format/cmask": "config:24-31", "format/ldlat": "config1:0-15",
        "format/offcore_rsp": "config1:0-63", "format/frontend": "config2:4-7,12-15", "events/cpu-cycles": "event=0x3c",
        "events/mem-loads": "event=0xcd,umask=0x1,ldlat=3", "events/slots": "event=0x00,umask=0x4",
        "events/topdown-retiring": "event=0x00,umask=0x80", "caps/max_precise": "3"}
IMC = {"cpumask": "0", "format/event": "config:0-7", "format/umask": "config:8-15", "events/reads": "event=0x4",
       "events/reads.unit": "MiB", "events/reads.scale": "6.103515625e-5"}
ENV = {"PERF_CPUID": "GenuineIntel-6-8F-8"}

with tempfile.TemporaryDirectory() as d:
    path = machine(d, {"cpu": CORE, "uncore_imc_0": {**IMC, "type": "12"}, "uncore_imc_1": {**IMC, "type": "13"}})
    compare("one PMU", d, [
        "cpu/event=0x3c/", "cpu/event=0x3c,umask=1/u", "cpu/event=0xfff/", "cpu/event=0x3c,inv,cmask=2,edge=1/k",
        "cpu/frontend=0xab/", "cpu/offcore_rsp=0xffffffffffffffff/", "cpu/config=0x1,config1=2,config2=3/",
        "cpu/config=0xff,umask=2/", "cpu/r1a8/", "cpu/cpu-cycles/", "cpu/mem-loads/", "cpu/slots/u", "slots",
        "topdown-retiring:u", "cpu/event=1,name=foo/pp", "cpu/event=1,period=1000/",
        "uncore_imc_1/event=3/", "uncore_imc/reads/", "imc/reads/", "cycles",
        "LLC-load-misses", "r3c"], {**ENV, "SYSFS_PATH": path})

with tempfile.TemporaryDirectory() as d:
    path = machine(d, {"cpu_core": {**CORE, "cpus": "0"}, "cpu_atom": {**CORE, "type": "10", "cpus": "1"}})
    env = {**ENV, "PERF_CPUID": "GenuineIntel-6-97-2", "SYSFS_PATH": path}
    # newer ones open an event to learn whether this kernel has such PMUs, and do without what it has not
    both = any(row[1] >> 32 and row[1] & 1 for row in theirs("instructions:u", env) or [])
    plain = ["cycles", "instructions:u", "branch-misses:k", "L1-dcache-load-misses", "LLC-stores", "r1a8"]  # perf 6.1 loses a cache event's modifiers here
    if not both:
        t.skip("hybrid: events of both PMUs", "this perf asks the kernel, which has one")
    compare("hybrid", d, (plain if both else []) + ["cpu_core/event=0x3c/", "cpu_atom/event=0x3c,umask=3/u", "cpu_core/cpu-cycles/", "cpu_atom/mem-loads/"], env)
t.done()

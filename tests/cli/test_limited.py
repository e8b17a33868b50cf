#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""validate and calibrate where little is allowed: an ordinary user without counters, a container, one CPU, small pages only, little memory.
Each time there is a result, what was left out has its reason, the exit code is right, and no file is half-written.
And commands that read, with little memory: what they write is all of it, or the limit is named and nothing stays behind."""
import ctypes
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import mem_made  # noqa: E402
import recordings  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, nobody_runs, uninterrupted  # noqa: E402

uninterrupted()
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chmod(tmp.name, 0o777)
NOBODY = 65534
PR_SET_THP_DISABLE = 41
DATA = os.path.join(tmp.name, "data")
os.mkdir(DATA)
os.chmod(DATA, 0o1777)
FEW = ("fault", "no-fault", "switch", "migrate", "add")  # kernels: the most are for events that have many, or for a PMU's


def whole(name, before=(), cpus=None, address_space=0, small_pages=False, user=None, kernels=(), measures=()):
    """Both commands, all of what they do in haste unless less will do: documents and standard error."""
    def child():
        if cpus:
            os.sched_setaffinity(0, cpus)
        if small_pages:
            ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    out = []
    for words in (["validate", "--quick", *kernels], ["calibrate", "--quick", "-o", os.path.join(tmp.name, name + ".penalties"), *measures]):
        who = {"user": user, "group": user, "extra_groups": []} if user else {}
        p = subprocess.run([*before, CYCLADE, *words, "-j"], capture_output=True, text=True, preexec_fn=child, cwd=tmp.name,
                           env={**os.environ, "XDG_DATA_HOME": os.path.join(DATA, name), "HOME": tmp.name}, **who)
        if not t.equal(p.returncode, 0, "%s: %s has a result" % (name, words[0])):
            print("# " + p.stderr)
            t.done()
        out.append(json.loads(p.stdout))
        why = {"validate": lambda d: [e for e in d["events"] if e["verdict"] == "not tested" and not e["text"]],
               "calibrate": lambda d: [c for c in d["costs"] if c["value"] is None and not c["value_why"]]}[words[0]](out[-1])
        t.equal(why, [], "%s: what %s left out has its reason" % (name, words[0]))
    files = [os.path.join(d, f) for d, _, fs in os.walk(os.path.join(DATA, name)) for f in fs]
    for path in files + [os.path.join(tmp.name, name + ".penalties")]:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        t.ok(text.startswith(("cyclade verdicts 1\n", "#")) and text.endswith("\n"), "%s: a whole file" % name, text)
    return out[0], out[1], files


def verdicts(doc):
    return {e["event"]: e["verdict"] for e in doc["events"]}


def costs(doc):
    return {c["measure"]: c for c in doc["costs"]}


# ---- an ordinary user, and a container whose root is one
with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
    closed = int(f.read()) >= 2


def without_rights(name, **how):
    valid, cali, files = whole(name, **how)
    v = verdicts(valid)
    for event in ("page-faults", "minor-faults", "task-clock"):
        # a clock that interrupts stop, and one that they do not, differ by more on a busy machine
        t.ok(v[event] in ("exact", "within") or (event == "task-clock" and v[event] != "not tested"), "%s: %s is tested in user space" % (name, event), valid["events"])
    why = {e["event"]: e["text"] for e in valid["events"]}
    if closed:
        t.ok("not permitted" in why["context-switches"], "%s: what happens in the kernel is not" % name, why["context-switches"])
    t.ok(costs(cali)["l1"]["value"] > 0, "%s: calibrate needs no counter" % name)
    t.equal(len(files), 1 if how.get("measures") else 2, "%s: verdicts and penalties are kept" % name)
    return files


if os.geteuid():
    without_rights("user")
else:
    if nobody_runs():
        kept = [f for f in without_rights("user", user=NOBODY) if "verdicts" in f][0]
        with open(kept, encoding="utf-8") as f:
            lines = f.read().split("\n")
        made = [x.split("\t") for x in lines]
        # an earlier run as root had a verdict on what this user cannot test, and another one on what they can
        earlier = {"context-switches": "context-switches\tover-counts\t1\t-\t2 times", "task-clock": "task-clock\tdead\t1\t-\t"}
        with open(kept, "w", encoding="utf-8") as f:
            f.write("\n".join(earlier.get(x[0], "\t".join(x)) for x in made))
        subprocess.run([CYCLADE, "validate", "--quick", "context-switches", "task-clock"], capture_output=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd=tmp.name,
                       env={**os.environ, "XDG_DATA_HOME": os.path.join(DATA, "user"), "HOME": tmp.name})
        with open(kept, encoding="utf-8") as f:
            text = f.read()
        t.ok("task-clock\t" in text and "task-clock\tdead" not in text, "what was tested again has its new verdict", text)
        if closed:
            t.ok("context-switches\tover-counts\t" in text and "page-faults\texact" in text, "what could not be tested keeps its verdict", text)
    else:
        t.skip("an ordinary user", "cannot be another user, or nobody may run the program")
box = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]
if shutil.which("unshare") and subprocess.run([*box, "true"], capture_output=True).returncode == 0:
    without_rights("container", before=box, measures=["l1", "transfers"])
else:
    t.skip("a container", "no namespaces of one's own here")

# ---- one CPU
one = {max(os.sched_getaffinity(0))}
valid, cali, _ = whole("one", cpus=one, kernels=FEW, measures=["l1", "transfers"])
text = {e["event"]: e["text"] for e in valid["events"]}
t.ok("one CPU" in text["cpu-migrations"] or "not permitted" in text["cpu-migrations"], "one CPU: no migrations, with the reason", text)
t.ok(not cali["transfers"] and "one CPU" in cali["no_transfers"], "one CPU: no transfers, with the reason", cali["no_transfers"])

# ---- NUMA: one node has nothing to compare; of two, as another sysfs tells, memory of one cannot be had here
nodes = lambda before=(): json.loads(subprocess.run([*before, CYCLADE, "calibrate", "--quick", "nodes", "l1", "-j"], capture_output=True, text=True).stdout or "{}")
if len([x for x in os.listdir("/sys/devices/system/node") if x[4:].isdigit()] if os.path.exists("/sys/devices/system/node") else []) < 2:
    doc = nodes()
    t.ok(not doc["nodes"] and "NUMA node" in doc["no_nodes"], "one node: no table of nodes, with the reason", doc["no_nodes"])
    fake = os.path.join(tmp.name, "node")
    for k in (0, 9):
        os.makedirs("%s/node%d" % (fake, k))
        for name, text in (("cpulist", "0-%d" % (os.cpu_count() - 1) if not k else ""), ("meminfo", "Node %d MemTotal: 4000000 kB\nNode %d MemFree: 3000000 kB" % (k, k))):
            with open("%s/node%d/%s" % (fake, k, name), "w", encoding="ascii") as f:
                f.write(text + "\n")
    with open(os.path.join(fake, "online"), "w", encoding="ascii") as f:
        f.write("0,9\n")
    inside = ["unshare", "--mount", "sh", "-c", "mount --bind '%s' /sys/devices/system/node && exec \"$@\"" % fake, "sh"]
    if shutil.which("unshare") and subprocess.run([*inside, "true"], capture_output=True).returncode == 0:
        doc = nodes(inside)
        row = {x["memory_node"]: x for x in doc["nodes"]}
        t.equal(sorted(row), [0, 9], "two nodes: a row for the memory of each")
        t.ok(row[9]["ns"] is None and "NUMA node 9" in row[9]["ns_why"], "two nodes: memory that cannot be had has its reason", row)
        t.ok(row[0]["ns"] or row[0]["ns_why"], "two nodes: the other one is measured, or has a reason, too", row)
    else:
        t.skip("two nodes", "no mounts of one's own here")
else:
    t.skip("one node", "this machine has more")

# ---- small pages only
valid, cali, _ = whole("small", small_pages=True, kernels=("walk-pages", "walk-huge", "walk-pages-huge"), measures=["l2", "latency"])
t.ok(not any(c["huge_pages"] for c in cali["costs"]) and not any(p["huge_pages"] for p in cali["latency"]), "small pages: none is huge")
left = {c["kernel"]: c["counted_why"] or "" for c in valid["cells"]}
t.ok(all("no huge pages" in left[k] for k in ("walk-huge", "walk-pages-huge")) and not left["walk-pages"], "small pages: kernels of huge ones are left out, with the reason", left)


def small_and_few():
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    if not SANITIZED:  # the curve of latency is shorter
        resource.setrlimit(resource.RLIMIT_AS, (20 << 20, 20 << 20))


c = subprocess.run([CYCLADE, "calibrate", "--quick", "l2", "latency"], capture_output=True, text=True, preexec_fn=small_and_few)
t.ok("no huge pages" in c.stdout and "TLB misses" in c.stdout, "small pages: the notes say so", c.stdout)

# ---- no sysfs: what only it tells is left out, with the reason
bare = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys && exec \"$@\"", "sh"]


def both(name, before, valid, cali):
    """validate and calibrate there: [document, screen] of each; None where they fail."""
    out = []
    for words in (["validate", "--quick", *valid], ["calibrate", "--quick", *cali]):
        p = [subprocess.run([*before, CYCLADE, *words, *how], capture_output=True, text=True, env={**os.environ, "XDG_DATA_HOME": os.path.join(DATA, name)})
             for how in (["-j"], [])]
        t.ok([x.returncode for x in p] == [0, 0], "%s: %s has a result" % (name, words[0]), p[0].stderr)
        out.append((json.loads(p[0].stdout), p[1].stdout) if p[0].returncode == 0 else (None, p[0].stderr))
    return out


if shutil.which("unshare") and subprocess.run([*bare, "true"], capture_output=True).returncode == 0:
    (valid, screen), (cali, caches) = both("no-sysfs", bare, ["minor-faults", "fault", "no-fault"], ["l1", "l2", "l3", "nodes"])
    t.ok(valid and verdicts(valid)["minor-faults"] in ("exact", "within"), "no sysfs: what needs none is tested", screen)
    t.ok(cali and costs(cali)["l1"]["value"] > 0 and "sysfs" in costs(cali)["l2"]["value_why"] and "sysfs has no NUMA nodes" in caches,
         "no sysfs: caches and nodes are left out, with the reason", caches)
else:
    t.skip("no sysfs", "no mounts of one's own here")

# ---- control groups: little memory must not kill, one CPU is said


def group(controller, files):
    """A group of our own with these settings: a shell's words that enter it; None where there can be none."""
    for top in ("/sys/fs/cgroup/" + controller, "/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        path = os.path.join(top, "cyclade-test-%d" % os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        groups.append(path)
        names = {k: v for k, v in files.items() if os.path.exists(os.path.join(path, k))}
        try:
            for k, v in names.items():
                with open(os.path.join(path, k), "w", encoding="ascii") as f:
                    f.write(v)
        except OSError:
            continue
        if names:
            return ["sh", "-c", "echo $$ > '%s/cgroup.procs' && exec \"$@\"" % path, "sh"]
    return None


groups = []
try:
    into = group("memory", {"memory.limit_in_bytes": "6M", "memory.max": "6M"})
    if not into or SANITIZED or subprocess.run([*into, "true"], capture_output=True).returncode:
        t.skip("a group with little memory", "cannot be made here")
    else:
        (valid, screen), (cali, caches) = both("group", into, ["minor-faults", "fault", "no-fault", "walk-pages"], ["l1", "l2", "tlb_walk", "memory"])
        t.ok(valid and verdicts(valid)["minor-faults"] in ("exact", "within"), "a group with 6 MB: validate is not killed", screen)
        t.ok("not run" in screen and "walk-pages" in screen.split("not run")[1] and "memory that is free or allowed" in " ".join(screen.split()),
             "a group with 6 MB: kernels that need more are named", screen)
        t.ok(cali and costs(cali)["l1"]["value"] > 0 and "memory" in (costs(cali)["tlb_walk"]["value_why"] or "") and "memory" in caches,
             "a group with 6 MB: so are measures", caches)
    mine = sorted(os.sched_getaffinity(0))
    with open("/proc/self/status", encoding="ascii") as f:
        mems = f.read().split("Mems_allowed_list:")[1].split()[0]
    into = group("cpuset", {"cpuset.mems": mems, "cpuset.cpus": str(mine[-1])})
    if not into or subprocess.run([*into, "true"], capture_output=True).returncode:
        t.skip("a group with one CPU", "cannot be made here")
    else:
        (valid, screen), (cali, pairs) = both("set", into, ["cpu-migrations"], ["l1", "transfers"])
        t.ok(valid and valid["cpu"] == mine[-1] and ("one CPU" in screen or "not permitted" in screen), "a group with one CPU: migrations are not tested, with the reason", screen)
        t.ok(cali and not cali["transfers"] and "one CPU only" in pairs, "a group with one CPU: no transfers, with the reason", pairs)
finally:
    for path in groups:
        os.rmdir(path)

# ---- reading with little memory
READS = {
    "info": ["info", "-j", "-i", "stacks"],
    "report": ["report", "--no-cache", "-j", "-o", "out", "-i", "stacks"],
    "report -g": ["report", "--no-cache", "-g", "-j", "-i", "stacks"],
    "annotate": ["annotate", "--no-cache", "-j", "-i", "stacks", "bottom"],
    "stat --import": ["stat", "--import", "counts", "-j", "--model", "ivb"],
    "mem": ["mem", "--no-cache", "--format", "csv", "-o", "out", "-i", "accesses"],
}


def read(where, words, megabytes=0):
    """(exit code, what it wrote, what it said, files that are there now and were not)"""
    before = os.listdir(where)
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20,) * 2)) if megabytes else None
    try:
        p = subprocess.run([CYCLADE, *words], capture_output=True, text=True, errors="replace", preexec_fn=limit, cwd=where, timeout=600,
                           env={**os.environ, "TMPDIR": where, "HOME": where, "XDG_CACHE_HOME": os.path.join(tmp.name, "cache")})
    except subprocess.TimeoutExpired:
        return None, "", "no end", []
    text, left = p.stdout, [x for x in os.listdir(where) if x not in before]
    if p.returncode == 0 and "out" in left:
        with open(os.path.join(where, "out"), encoding="utf-8") as f:
            text += f.read()
        left.remove("out")
        os.remove(os.path.join(where, "out"))
    return p.returncode, text, p.stderr, left


def test_reads():
    where = os.path.join(tmp.name, "reads")
    os.mkdir(where)
    p = subprocess.run([CYCLADE, "record", "-q", "-o", "stacks", "-e", "cpu-clock:u", "-F", "2000", "-g=dwarf", "--", recordings.RECURSE, "40", "300"],
                       cwd=where, capture_output=True, text=True)
    mem_made.write(os.path.join(where, "accesses"), mem_made.drawn(random.Random(1), 20000))
    with open(os.path.join(where, "counts"), "w", encoding="ascii") as f:  # of perf stat -I 1000 -x,
        f.writelines("%d.000000000,%d,,%s,1000000,100.00,,\n" % (i, n + i, e) for i in range(1, 4000) for e, n in (
            ("cycles", 1000000), ("instructions", 2000000), ("idq_uops_not_delivered.core", 800000), ("uops_issued.any", 2500000),
            ("uops_retired.retire_slots", 2200000), ("int_misc.recovery_cycles", 10000)))
    whole_ones = limited = 0
    for name, words in READS.items():
        if p.returncode and "stacks" in words:
            t.skip("%s with little memory" % name, "cannot be recorded here: " + p.stderr)
            continue
        code, text, said, left = read(where, words)
        if not t.ok(code == 0 and text and not left, "%s without a limit" % name, said):
            continue
        wrong = []
        for megabytes in (12, 24, 40, 58, 80, 138, 142, 300):
            got = read(where, words, megabytes)
            if got == (code, text, said, left):
                whole_ones += 1
            elif got[0] == 2 and "limited to %d KB here: raise ulimit -v" % (megabytes << 10) in got[2] and not got[3]:
                limited += 1
            elif got[0] != 127 or "shared libraries" not in got[2] or got[3]:  # which is the loader's
                wrong.append("%d MB: exit %s, %d bytes of %d, %s, %s" % (megabytes, got[0], len(got[1]), len(text), got[2][:500], got[3]))
        t.ok(not wrong, "%s with little memory: all of it, or the limit is named" % name, "\n".join(wrong))
    t.ok(whole_ones and limited, "some limits are too low, and some are not", (whole_ones, limited))


# ---- little memory
if SANITIZED:
    t.skip("little memory", "a sanitizer takes all address space")
else:
    test_reads()
    # 100 MB: what 20 are too little for
    for mb, measures in ((20, ()), (100, ("l1", "*l3", "*memory", "tlb_walk"))):
        valid, cali, _ = whole("%d-MB" % mb, address_space=mb << 20, measures=measures)
        c = costs(cali)
        t.ok(c["l1"]["value"] > 0 and c["memory"]["value"] is None, "%d MB: caches, and no memory" % mb, c["memory"])
        t.ok(mb > 64 or "memory" in (c["tlb_walk"]["value_why"] or ""), "%d MB: no list of pages" % mb, c["tlb_walk"])
    # too little for anything: limits under which the program itself gets to speak, and has no memory for more
    said = []
    ended = []
    for kb in range(9000, 30000, 50):
        p = subprocess.run(["sh", "-c", 'ulimit -v %d; exec "$@"' % kb, "sh", CYCLADE, "list", "events"], capture_output=True, text=True)
        if p.returncode == 0:
            break
        said += [(kb, p.stderr)] if p.stderr.startswith("cyclade: ") else []
        ended += [(kb, p.returncode, p.stderr)] if p.returncode not in (2, 127) or not p.stderr else []
    t.equal(ended, [], "ulimit -v: none ends it without a word")
    if said:
        t.ok(all("limited to %d KB" % kb in x and "ulimit -v" in x for kb, x in said), "ulimit -v: the limit that is too low is named", said)
    else:
        t.skip("ulimit -v", "what is enough for the loader is enough for the program")
    p = subprocess.run(["sh", "-c", 'ulimit -v 40000; exec "$@"', "sh", CYCLADE, "record", "-m", "8192", "-o", os.path.join(tmp.name, "x.data"), "--", "true"],
                       capture_output=True, text=True)
    t.ok(p.returncode == 125 and "limited to 40000 KB" in p.stderr and "ulimit -v" in p.stderr, "ulimit -v: also where a ring finds no room", p.stderr)
t.done()

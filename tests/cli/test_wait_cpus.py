#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One CPU runs one thread at a time: no recording, and none that lacks switches, gives more. What `perf sched record` wrote here is held
against the runtimes in its own records, and recordings whose first records come late against what is known of them."""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import recordings  # noqa: E402
from tap import SHARED, Tap, run  # noqa: E402
from waits_made import EVENTS, OUT, SWITCH, WAKING, Made  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-cpus-")
os.chdir(tmp)
RUNTIME = ("sched:sched_stat_runtime", dict(EVENTS[SWITCH][1], config=302), [46])


def doc_of(path, what="--wait"):
    p = run("report", what, "-j", path)
    if p.returncode:
        t.ok(False, "report %s of %s" % (what, path), p.stderr)
        return collections.defaultdict(list)
    return json.loads(p.stdout)


def parts(doc, tid):
    return {r["reason"]: round(r["seconds"] * 1e9) for r in doc["thread_reasons"] if r["tid"] == tid}


def overlaps(path):
    """None: no SQL, or no switches."""
    p = run("sql", "--format", "json", "-i", path,
            "SELECT cpu, started, ended, tid FROM waits WHERE state = 'running' AND cpu IS NOT NULL ORDER BY cpu, started, ended")
    if p.returncode:
        return None
    rows = [tuple(r.values()) for r in json.loads(p.stdout)["rows"]]
    return [(a, b) for a, b in zip(rows, rows[1:]) if a[0] == b[0] and b[1] < a[2]]


# ---- records of tracepoints, known one by one
class Traced(Made):
    """No switch records, as of `perf sched record`. Where the name lies decides where the other fields do."""

    def __init__(self, functions, name_last=False):
        self.name_last = name_last
        super().__init__(functions, wide=True, more=[RUNTIME])

    def ran(self, time, tid, ns, cpu=0):
        fields = self.w.pack("i", tid), self.w.u64(ns)
        raw = b"\0" * 8 + (b"\x18\0\2\0" + b"".join(fields) + b"a\0\0\0\0\0\0\0" if self.name_last else b"a".ljust(16, b"\0") + fields[0] + bytes(4) + fields[1])
        self.sample(4, time, tid, cpu, [], raw)


for last in (False, True):
    name = "runtimes, the name %s: " % ("last" if last else "first")
    m = Traced([b"schedule"], last)
    m.fork(500000, 1, 6)            # before the tracepoints: nobody knows what it did until then
    m.traced(1000000, 5, 1, 7)      # 7 gets the CPU
    m.traced(1100000, 7, 1, 0)      # ... which is idle then
    m.ran(900000000, 819, 29000)    # the first record of a thread: it ran for 29 us
    m.ran(900001000, 819, 1000)
    m.traced(900001000, 819, 1, 0)
    m.traced(1000000000, 5, 1, 0, cpu=1)
    d = doc_of(m.write("late.data"))
    t.equal(parts(d, 819).get("running"), 30000, name + "a thread that is first seen late ran as long as it says")
    t.ok("begin" not in parts(d, 6) and "running" not in parts(d, 6), name + "a thread from before the tracepoints does not wait for a CPU", parts(d, 6))
    t.equal(parts(d, 7).get("running"), 100000, name + "who was there before keeps its time")
    t.equal(overlaps("late.data") or [], [], name + "one thread at a time on a CPU")
    p = doc_of("late.data", "--concurrency")
    t.ok(p["cpus"][0]["busy_share"] < 0.01, name + "the CPU was idle", p["cpus"])

# How many threads ran is not known while that of some is not: at least and at most so many, and not more than there are CPUs
m = Made([b"work"])
m.on(1000, 7)
m.on(1000, 8, cpu=1)
m.off(2000, 8, cpu=1)
m.on(3000, 9, cpu=1)
m.off(4000, 9, cpu=1)
m.off(5000, 9, cpu=1)           # who gave it the CPU is lost
m.off(11000, 7)
d, text = doc_of(m.write("doubt.data"), "--concurrency"), run("report", "--concurrency", "doubt.data").stdout
t.equal([(r["running"], round(r["share"], 9), round(r["unknown_share"], 9)) for r in d["levels"]], [(1, 0.8, 0.1), (2, 0.2, 0)],
        "concurrency: of each number of threads, when more may have run")
t.equal((round(d["mean_running"], 9), round(d["most_running"], 9)), (1.2, 1.3), "... and the mean has both bounds")
t.ok("1.20 to 1.30 threads ran" in text and "or more" in text, "... which people are told", text)
m = Traced([b"schedule"])
for i in range(1, 6):
    m.traced(i * 1000000, 7, 1, 3)
    m.traced(i * 1000000 + 1, 8, 1, 3)
    m.traced(i * 1000000 + 2, 9, 1, 3)
    m.traced(i * 1000000 + 3, 6, 1, 3)
d = doc_of(m.write("most.data"), "--concurrency")
t.ok(d["most_running"] <= 3, "... never more than the three CPUs, whatever is in doubt", d["most_running"])

# More threads than CPUs, without the numbers of these: the records are wrong, and that is said
m = Made([b"work"])
for tid in range(7, 11):
    m.on(1000, tid, cpu=0xffffffff)
for tid in range(7, 11):
    m.off(5000, tid, cpu=0xffffffff)
d, text = doc_of(m.write("beyond.data"), "--concurrency"), run("report", "--concurrency", "beyond.data").stdout
t.ok(round(d["beyond_seconds"] * 1e9) == 4000 and "more threads ran than there are CPUs" in text, "more threads than CPUs: said", text)

# One of three CPUs was recorded, each event has one number: nobody knows what the others did
m = Made([b"work"], wide=True)
m.on(1000, 7)
m.off(9000, 7)
m.off(10000, 7)
d, text = doc_of(m.write("some.data"), "--concurrency"), run("report", "--concurrency", "some.data").stdout
t.ok([r["cpu"] for r in d["cpus"]] == [0] and {r["cpu"] for r in d["halted"]} <= {0} and "1 CPU only" in text, "CPUs that were not recorded are not idle", text)

# Two threads are seen on a CPU, and no record says when the first left it
m = Made([b"work"], wide=True)
m.on(1000, 7)
m.sample(0, 3000, 8, 0)
m.off(9000, 8)
m.off(9500, 9, cpu=1)
d = doc_of(m.write("crowded.data"))
t.equal((parts(d, 7), parts(d, 8).get("running")), ({"unknown": 8500}, 6000), "a thread whose CPU another one has: its time is unknown")
t.equal((overlaps("crowded.data") or [], d["contradicted"]), ([], 1), "... and that is counted")

# One program's sched_switch: no record says when it got a CPU
m = Traced([b"schedule"])
for i in range(1, 6):
    m.traced(i * 1000000, 7, 1, 3)
d = m.write("outs.data")
text = run("report", "--wait", d).stdout
t.ok("only those off a CPU were recorded" in text and "contradicted" not in text and "record --wait" in text, "switches off a CPU alone: what is missing, and what to type", text)



# ---- records at random, which contradict each other: switches of several tellers, on any CPU and without one, losses, forks, exits
def random_records(seed, path):
    rng = random.Random(seed)
    m = Traced([b"schedule"])
    m.wide = rng.random() < 0.5
    threads, cpus, now = rng.randint(2, 5), rng.randint(1, 3), 1000000
    for _ in range(rng.randint(20, 80)):
        now += rng.choice([0, 1, 1000, 50000])
        tid, other, cpu = 6 + rng.randrange(threads), rng.choice([0, *range(6, 6 + threads)]), rng.randrange(cpus)
        rng.choice([lambda: m.off(now, tid, cpu, [0] if rng.random() < 0.3 else None, rng.random() < 0.3),
                    lambda: m.on(now, tid, cpu),
                    lambda: m.sample(0, now, tid, cpu),
                    lambda: m.traced(now, rng.choice([tid, 0]), rng.choice([0, 1]), other, cpu),
                    lambda: m.wake(now, tid, other, cpu),
                    lambda: m.fork(now, other or 6, tid),
                    lambda: m.exit(now, tid),
                    lambda: m.sample(m.stack, now, tid, cpu, [0]),
                    lambda: m.lost(now, 2, cpu),
                    lambda: m.switch(now, tid, 0xffffffff, rng.choice([0, OUT])),
                    lambda: m.ran(now, tid, rng.choice([100, 1000, 100000]), cpu)])()
    return m.write(path)


crowds = {}
for seed in range(40):
    path = random_records(seed, "random.data")
    crowd, p = overlaps(path), run("report", "--concurrency", path)
    if crowd or p.returncode not in (0, 2):
        crowds[seed] = (crowd, p.stderr[-200:])
t.equal(crowds, {}, "records that contradict each other: one thread at a time on a CPU")

# A second thread leaves a CPU: who was taken to run there had left it. A thread that runs elsewhere has left its old CPU.
m = Made([b"work"], wide=True)
m.on(1000, 7)
m.off(5000, 8)
m.on(6000, 9)
m.off(9000, 9)
m.on(10000, 7, cpu=1)
m.on(12000, 7, cpu=2)
m.off(15000, 7, cpu=2)
d = doc_of(m.write("moves.data"))
t.equal((parts(d, 7), parts(d, 9).get("running")), ({"running": 3000, "unknown": 11000}, 3000), "a thread seen elsewhere: what it did since its CPU's last record is unknown")

# sched_switch alone: what runs at the end is known up to its CPU's last record
m = Traced([b"schedule"])
m.traced(1000000, 5, 1, 7)
m.traced(1000000, 5, 1, 8, cpu=1)
m.ran(1500000, 7, 500000)
m.traced(4000000, 8, 1, 0, cpu=1)
d = doc_of(m.write("open.data"))
t.equal((parts(d, 7), parts(d, 8)["running"]), ({"running": 500000, "unknown": 2500000}, 3000000), "a thread that runs at the end: up to its CPU's last record")

# ---- what perf writes here
OWN = "own%d" % os.getpid()  # others run beside us
CPUS, TICK = os.cpu_count(), 1e9 / 100  # the slowest there is
PROGRAM = "int main(void) { volatile long s = 0; for (long i = 0; i < 60000000; i++) s += i; return 0; }"


def taken():
    """ns of interrupts and of other guests, all CPUs: no thread's runtime has them."""
    with open("/proc/stat", encoding="ascii") as f:
        return sum(map(int, f.readline().split()[6:9])) * 1e9 / os.sysconf("SC_CLK_TCK")


def by_perf():
    """Bounds of what perf's own records say: the runtimes of a thread, which lack what it ran before the first and behind the last record,
    and what interrupts and the host took from it. Its threads are there for the whole recording: but for those of the program, which it starts."""
    before = taken()
    if not shutil.which("perf") or subprocess.run(["perf", "sched", "record", "-o", "sched.data", "--", "./" + OWN], capture_output=True).returncode:
        return t.skip("perf sched record", "perf cannot record tracepoints here")
    text = subprocess.run(["perf", "script", "-i", "sched.data", "-F", "event,trace,time"], capture_output=True, text=True).stdout
    apart, ran = taken() - before, collections.Counter()
    for m in re.finditer(r"pid=(\d+) runtime=(\d+)", text):
        ran[int(m[1])] += int(m[2])
    times = [float(x) for x in re.findall(r"^\s*(\d+\.\d+):", text, re.M)]
    d = doc_of("sched.data")
    found = collections.Counter()
    for r in d["threads"]:
        found[r["tid"]] += r["running_seconds"] * 1e9
    t.equal(overlaps("sched.data") or [], [], "perf sched record: one thread at a time on a CPU")
    if not ran or not times:
        return t.skip("perf sched record: runtimes", "this kernel traces none")
    if json.loads(run("info", "-j", "sched.data").stdout)["losses"]["lost_records"]:
        return t.skip("perf sched record: runtimes", "records were lost")
    # of a thread that is on a CPU at either end of the recording up to a tick is in one sum alone
    off = abs(sum(found.values()) - sum(ran.values()))
    t.ok(off < 0.05 * sum(ran.values()) + apart + 2 * TICK * CPUS, "perf sched record: all threads ran as long as the kernel counted",
         (sum(found.values()), sum(ran.values()), apart))
    mine = [r["tid"] for r in d["threads"] if r["comm"] == OWN]
    own = sum(found[x] for x in mine), sum(ran[x] for x in mine)
    t.ok(own[1] and abs(own[0] - own[1]) < 0.01 * own[1] + apart + TICK + 1e6, "perf sched record: ... and the program, which is there from its start to its end",
         (own, apart))
    return None


with open("prog.c", "w") as f:
    f.write(PROGRAM)
if subprocess.run(["cc", "-O1", "-o", OWN, "prog.c"]).returncode:
    t.skip("perf sched record", "no compiler")
else:
    by_perf()

# ---- every recording
os.mkdir("made")
paths = [r.path for r in recordings.made("made")]
corpus = os.path.join(SHARED, "corpus", "recordings") if SHARED else ""
if corpus and os.path.isdir(corpus):
    paths += [os.path.join(corpus, x) for x in sorted(os.listdir(corpus)) if os.path.getsize(os.path.join(corpus, x)) < 4000000]
checked = {p: overlaps(p) for p in paths}
wrong = {os.path.basename(p): x[:2] for p, x in checked.items() if x}


def beyond(path):
    """Time in which more threads ran than the machine has CPUs."""
    p = run("report", "--concurrency", "-j", "-i", path)
    return json.loads(p.stdout)["beyond_seconds"] if not p.returncode else 0


if all(x is None for x in checked.values()):
    t.skip("all recordings", "built without SQL")
else:
    t.equal(wrong, {}, "all recordings with switches: one thread at a time on a CPU")
    t.equal([p for p, x in checked.items() if x is not None and beyond(p)], [], "... and no more threads than CPUs")
os.chdir("/")
shutil.rmtree(tmp)
t.done()

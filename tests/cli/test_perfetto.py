#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""export --perfetto, read by an independent reader of the format: each sample, wait, switch and count of the trace is one of sql's, and
the other way round; names, chains and functions are those of the folded stacks."""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from exported import Perfetto  # noqa: E402
from tap import Tap, run  # noqa: E402
from waits_made import Made  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-perfetto-")
os.chdir(tmp)
HAS_SQL = "no SQL" not in run("--version").stdout
ODD = b"odd\x1b[1m;name"


def trace(path, *words):
    r = run("export", path, "--perfetto", "-o", "out.pftrace", *words)
    if r.returncode:
        return r.stderr
    with open("out.pftrace", "rb") as f:
        return Perfetto(f.read())


def rows(query, path):
    r = run("sql", "-j", path, query)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)["rows"]


def some(a, b):
    return "only in the trace %s\nonly in sql %s" % (list((a - b).items())[:4], list((b - a).items())[:4])


def number(v, no=None):
    return no if v is None else int(v) & (1 << 64) - 1


def check_samples(p, path, name):
    """Each sample, and the count of its event on its CPU so far."""
    want, sums, got = collections.Counter(), collections.Counter(), collections.Counter()
    for r in rows("SELECT event, time, cpu, pid, tid, period FROM samples", path):
        want[r["event"], number(r["time"], 0), number(r["cpu"]), number(r["pid"]), number(r["tid"])] += 1
        sums[r["event"], number(r["cpu"])] += number(r["period"], 0)
    last = collections.Counter()
    for event, time, cpu, pid, tid, _, count in p.samples:
        got[event, time, cpu, pid, tid] += 1
        last[event, cpu] = max(last[event, cpu], count)
    wrapped = any(v >> 64 for v in sums.values())
    bad = [] if got == want else [name + ": samples differ: " + some(got, want)]
    # a group's samples count what was read with them, as in report: not their periods
    if len(set(p.events.values())) == len(p.events) and not wrapped and not p.counts and +last != +sums:
        bad.append(name + ": counts differ: " + some(last, sums))
    return bad


def merged(spans):
    """Spans (cpu, from, until) of a thread in order, those that follow one another on a CPU as one."""
    out = []
    for cpu, a, b in spans:
        if out and out[-1][0] == cpu and out[-1][2] == a:
            out[-1] = (cpu, out[-1][1], b)
        else:
            out.append((cpu, a, b))
    return [x for x in out if x[1] < x[2]]


def check_waits(p, path, name):
    want, ran = collections.Counter(), collections.defaultdict(list)
    end = 0
    for r in rows("SELECT tid, cpu, started, ended, reason, state FROM waits WHERE tid != 0 ORDER BY started, wait", path):
        end = max(end, r["ended"])
        if r["state"] == "running" and r["cpu"] is not None:
            ran[r["tid"]].append((r["cpu"], r["started"], r["ended"]))
        elif r["ended"] > r["started"]:
            want[r["tid"], r["started"], r["ended"], r["reason"], r["state"]] += 1
    got = collections.Counter((tid, a, b, reason, state) for tid, a, b, reason, state, _ in p.slices)
    bad = [] if got == want else [name + ": waits differ: " + some(got, want)]
    on, runs = {}, collections.defaultdict(list)
    for time, tid, state, cpu, _ in sorted(p.states, key=lambda s: s[0]):
        if tid in on:
            runs[tid].append((*on.pop(tid), time))
        if state == "running":
            on[tid] = (cpu, time)
    for tid, (cpu, time) in on.items():
        runs[tid].append((cpu, time, end))
    got = {k: merged(v) for k, v in runs.items() if merged(v)}
    want = {k: merged(v) for k, v in ran.items() if merged(v)}
    return bad if got == want else bad + ["%s: times on CPUs differ: %s %s" % (
        name, [(k, v) for k, v in got.items() if want.get(k) != v][:2], [(k, v) for k, v in want.items() if got.get(k) != v][:2])]


def check_counts(p, path, name):
    want = collections.Counter()
    for r in rows("SELECT event, id, time, value FROM counts", path):
        want[number(r["id"], 0), number(r["time"], 0), number(r["value"])] += 1
    got = collections.Counter()
    for track, v in p.counts.items():
        number_of = int(track.rpartition(" #")[2]) if " #" in track else 0
        for time, value in v:
            got[number_of, time, value] += 1
    return [] if got == want else [name + ": counts over time differ: " + some(got, want)]


def check(path, name):
    p = trace(path)
    if isinstance(p, str):
        return [] if "no times" in p else ["%s: %s" % (name, p)]
    if not HAS_SQL:
        return []
    return check_samples(p, path, name) + (check_waits(p, path, name) if p.states or p.slices else []) + check_counts(p, path, name)


def plain(**kw):
    m = Made([b"schedule", b"do_nanosleep", b"futex_wait", b"io_schedule", b"main_loop", ODD], **kw)
    m.comm(1000, 7, b"boss" + ODD[:6])
    m.fork(2000, 7, 8)
    m.on(2500, 8, cpu=1)
    m.sample(0, 3000, 8, 1, period=500)
    m.off(4000, 7, chain=[0, 1, 4])
    m.off(6000, 8, cpu=1, chain=[0, 2, 5])
    m.wake(9000, 7, by=0, chain=[5])
    m.on(9300, 7)
    m.sample(0, 9400, 7, 0, period=700)
    m.wake(10000, 8, by=7, chain=[4])
    m.on(10100, 8, cpu=2)
    m.off(11000, 8, cpu=2, chain=[0, 4], preempted=True)
    m.on(13000, 8, cpu=2)
    m.off(13500, 8, cpu=2, chain=[0, 3, 4])
    m.on(17500, 8, cpu=2)
    m.exit(18000, 8)
    m.off(20000, 7, chain=[0, 3])
    m.sample(0, 21000, 9, 3)
    return m


def known():
    plain().write("plain.data")
    p = trace("plain.data")
    t.equal([s for s in p.states if s[1] == 8], [(2000, 8, "runnable", 0, "bossodd\\x1b[1"), (2500, 8, "running", 1, "bossodd\\x1b[1"),
             (6000, 8, "sleep", 1, "bossodd\\x1b[1"), (10000, 8, "runnable", 1, "bossodd\\x1b[1"), (10100, 8, "running", 2, "bossodd\\x1b[1"),
             (11000, 8, "runnable", 2, "bossodd\\x1b[1"), (13000, 8, "running", 2, "bossodd\\x1b[1"), (13500, 8, "sleep", 2, "bossodd\\x1b[1"),
             (17500, 8, "running", 2, "bossodd\\x1b[1"), (18000, 8, "dead", 2, "bossodd\\x1b[1")], "a thread's states one by one")
    t.equal([s for s in p.slices if s[0] == 7][0], (7, 4000, 9000, "sleep", "blocked", {"function": "do_nanosleep", "waker": "an interrupt"}),
            "a wait with its reason, function and waker")
    t.equal({k: v[0] for k, v in p.threads.items()}, {7: 7, 8: 7, 9: 9}, "each thread has a track below its process")
    t.ok({"host", "command", "kernel"} <= set(p.facts), "the recording's facts", p.facts)
    clock = [s for s in p.samples if s[0] == "cpu-clock"]
    t.equal([(s[1], s[2], s[4], s[6]) for s in clock], [(3000, 1, 8, 500), (9400, 0, 7, 700), (21000, 3, 9, 1000)], "samples with their counts")
    only = trace("plain.data", "--only-tid", "8")
    t.ok({s[1] for s in only.states} == {8} and {s[4] for s in only.samples} == {8}, "--only-tid", only.states)
    only = trace("plain.data", "-e", "cpu-clock")
    t.equal(set(only.events.values()), {"cpu-clock"}, "-e")
    a = trace("plain.data") and open("out.pftrace", "rb").read()
    t.ok(a == (trace("plain.data") and open("out.pftrace", "rb").read()), "the same recording gives the same bytes")
    r = run("export", "plain.data", "--perfetto", "-o", "out.pftrace")
    t.ok("left out" in r.stderr and "counts (record" in r.stderr and "switches" not in r.stderr, "what was not recorded is said", r.stderr)


def synthetic():
    bad, n = [], 0
    for name, made, _ in gen.every():
        if "large" in name or run("report", "-j", "-o", "x", gen.write(name, made) or name).returncode:
            continue
        n += 1
        bad += check(name, name)
    for name, m in (("waits", plain()), ("wide", plain(wide=True, order=">"))):
        m.write(name)
        bad += check(name, name)
    t.ok(not bad and n > 20, "%d made recordings: samples, waits, counts as sql has them" % n, "\n".join(bad[:9]))


def stacks(p):
    got = collections.Counter()
    for s in p.samples:
        got[";".join(x.replace(";", ":") for x in s[5])] += 1
    return got


CODE = """
#include <pthread.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned sink;
__attribute__((noinline)) void work(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i * i; }
static void *go(void *p)
{
	struct timespec nap = { 0, 1000000 };
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&m);
		work(1000000);
		pthread_mutex_unlock(&m);
		nanosleep(&nap, 0);
	}
	return p;
}
int main(void)
{
	pthread_t a, b;
	pthread_create(&a, 0, go, 0);
	pthread_create(&b, 0, go, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
"""


def live():
    cc = shutil.which("gcc") or shutil.which("cc")
    if not cc:
        return t.skip("a recording made here", "no compiler")
    with open("prog.c", "w", encoding="ascii") as f:
        f.write(CODE)
    subprocess.run([cc, "-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "prog.c", "-o", "prog"], check=True)
    r = run("record", "-e", "cpu-clock:u", "-g", "--wait", "-o", "p.data", "--", "./prog")
    if r.returncode:
        r = run("record", "-e", "cpu-clock:u", "-g", "-o", "p.data", "--", "./prog")
    if r.returncode:
        return t.skip("a recording made here", r.stderr)
    t.equal(check("p.data", "live"), [], "a recording made here: samples, waits, counts as sql has them")
    p, want = trace("p.data", "-e", "cpu-clock*"), collections.Counter()
    for line in run("export", "p.data", "--folded", "-e", "cpu-clock*").stdout.splitlines():
        names = line.rpartition(" ")[0].split(";")
        want[";".join(names[1 + names[0].startswith("cpu-clock"):])] += 1
    t.ok(want and set(stacks(p)) == set(want), "the chains of folded stacks", "%s\n%s" % (sorted(set(stacks(p)) ^ set(want))[:4], len(want)))
    return None


known()
synthetic()
live()
if not HAS_SQL:
    t.skip("compared with sql", "built without SQLite")
os.chdir("/")
shutil.rmtree(tmp)
t.done()

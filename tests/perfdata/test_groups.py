#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Groups that are read with their leader ({a,b}:S): samples and periods of every member.

Made recordings, whose sums are added up here one sample after the other; perf reads them too, where it
follows the same rules. A fresh recording, against perf; and the one of ../shared, which only a newer
perf can read (CYCLADE_PERF612)."""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import gen  # noqa: E402
from tap import CYCLADE, NO_SHARED, PERF, SHARED, Tap, run  # noqa: E402

DUMP = os.environ["DUMP_PROFILE"]
NEWER = os.environ.get("CYCLADE_PERF612", "")
TYPE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD READ CALLCHAIN".split())
GROUP = gen.GROUP | gen.RID
NAMES = ["leader", "second", "third"]
CPUS = 2


def ours(path, threads="0", keys="tid"):
    """{(event, tid): (samples, period)}, and the records that were of no use"""
    p = subprocess.run([DUMP, path, keys, "bare", threads], capture_output=True, text=True, timeout=600)
    rows = collections.defaultdict(lambda: (0, 0))
    for line in p.stdout.splitlines():
        f = line.split("\t")
        f[3] = str(int(f[3]) - (1 << 64) if int(f[3]) >> 63 else f[3])  # a thread that is gone: -1
        n, period = rows[f[0], f[3]]
        rows[f[0], f[3]] = (n + int(f[1]), period + int(f[2]))
    bad = sum(int(s.split("\t")[5]) for s in p.stderr.splitlines() if s.startswith("sum\t"))
    return dict(rows), bad


def perfs(perf, path):
    argv = [perf, "report", "-i", path, "--stdio", "--no-children", "-g", "none", "--no-group",
            "--percent-limit", "0", "--sort", "pid", "-t", "\t", "-F", "sample,period,pid",
            "--symfs", "/nonexistent", "--kallsyms", "/dev/null"]
    p = subprocess.run(argv, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=600)
    rows, event = collections.defaultdict(lambda: (0, 0)), "?"
    for line in p.stdout.splitlines():
        if line.startswith("# Samples:"):
            event = line.split("'")[1]
        f = [x.strip() for x in line.split("\t")]
        if line.startswith("#") or len(f) != 3 or not f[0].isdigit():
            continue
        key = (event, f[2].split(":")[0])
        rows[key] = (rows[key][0] + int(f[0]), rows[key][1] + int(f[1]))
    return dict(rows)


def infos(path):
    """{event: (samples, periods)} of cyclade info"""
    events = json.loads(run("info", "-j", path).stdout)["events"]
    return {e["event"]: (e["samples"], e["period"]) for e in events if e["samples"]}


def by_event(rows):
    sums = collections.defaultdict(lambda: (0, 0))
    for (event, _), (n, period) in rows.items():
        sums[event] = (sums[event][0] + n, sums[event][1] + period)
    return dict(sums)


def group(read, n, inherit=False, back=False, stranger=False, members=3, rest=True, seed=1):
    """A recording of n samples, the rows it must give, and the values that are nobody's."""
    rnd, w = random.Random(seed), gen.Writer("<")
    ids = {(m, c): 100 + 10 * m + c for m in range(members) for c in range(CPUS)}
    events = [(NAMES[m], dict(type=1, config=m + 2, period=0 if m else 1000, sample=TYPE, read=read,
                              inherit=int(inherit), sample_id_all=1), [ids[m, c] for c in range(CPUS)])
              for m in range(members)]
    f = gen.File(w, events, attr_size=120)
    stands = collections.defaultdict(int)  # what the counter stood at
    rows, nobody, data = collections.defaultdict(lambda: (0, 0)), 0, []
    for t in (21, 22, 23):
        data.append(w.record(gen.COMM, w.pack("II", 20, t) + gen.text8("job") +
                             w.pack("IIQIIQ", 20, t, 1, 0, 0, ids[0, 0])))
    for i in range(n):
        cpu, tid = rnd.randrange(CPUS), 21 + rnd.randrange(3)
        values = []
        for m in range(members):
            key = (m, cpu, tid if inherit else 0)
            gone = rnd.choice((0, 0, 7, 1000, 123456789)) if m else rnd.randrange(1, 2000)
            if back and m == 1 and i % 1000 == 999:
                stands[key] = 0
            stands[key] += gone
            values.append((ids[m, cpu], stands[key], 1))
            if gone or (back and m == 1 and i % 1000 == 999 and stands[key]):
                name = (NAMES[m], str(tid))
                rows[name] = (rows[name][0] + 1, rows[name][1] + gone)
        if stranger and i % 500 == 0:
            values.append((9999, i, 0))
            nobody += 1
        a = events[0][1]
        s = gen.Sample(i + 1, ids[0, cpu])
        s.v.update(TID=(20, tid), TIME=1000 + 10 * i, CPU=cpu, IP=0x400000 + 16 * rnd.randrange(50),
                   READ=(i, i, values), PERIOD=424242,
                   CALLCHAIN=[0xfffffffffffffe00, 0x400000] + [0x401000 + k for k in range(40)])
        body = b"".join(s.field(w, a, name) for name in gen.FIXED + gen.VARYING if TYPE & gen.BIT[name])
        data.append(w.record(gen.SAMPLE, body, 2))
    f.data = b"".join(data)
    return f.build(), dict(rows), nobody


def made(t, d):
    cases = {
        "a group": dict(read=GROUP, n=3000),
        "with times and losses": dict(read=GROUP | gen.ENABLED | gen.RUNNING | gen.RLOST, n=3000),
        "an event alone": dict(read=gen.RID | gen.ENABLED, n=3000, members=1),
        "many chunks": dict(read=GROUP, n=40000),
        "many chunks, each thread's own": dict(read=GROUP, n=40000, inherit=True),
        "a counter that went back": dict(read=GROUP, n=3000, back=True),
        "an id of no event": dict(read=GROUP, n=3000, stranger=True),
    }
    path = os.path.join(d, "made")
    for name, how in cases.items():
        data, want, nobody = group(**how)
        with open(path, "wb") as f:
            f.write(data)
        got, bad = ours(path)
        t.equal(got, want, name + ": %d rows" % len(want))
        t.equal(bad, nobody, name + ": values of no event are told")
        t.equal(infos(path), by_event(want), name + ": info counts each member's samples")
        t.equal(ours(path, "1"), (got, bad), name + ": one worker or many, the same")
        if how.get("back"):
            t.skip(name + ": perf", "perf takes such a counter for one that counted almost 2^64")
            continue
        for perf in [p for p in (PERF, NEWER) if p]:
            if how.get("inherit") or (how["read"] & gen.RLOST and perf == PERF):
                continue  # perf knows values of single threads from 6.13 on, and of losses from 6.2 on
            t.equal(perfs(perf, path), want, "%s: %s agrees" % (name, os.path.basename(perf)))
    # without an id nobody can tell whose a value is: the record is its event's sample
    data, want, _ = group(read=gen.ENABLED, n=100, members=1)
    with open(path, "wb") as f:
        f.write(data)
    t.equal(sum(v[0] for v in ours(path)[0].values()), 100, "without ids: every record counts")
    t.equal({v[1] / v[0] for v in ours(path)[0].values()}, {424242.0}, "without ids: with the record's own period")


def fresh(t, d):
    load = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; /bin/true; /bin/true"
    for who, argv in (("perf", [PERF]), ("cyclade", [CYCLADE])):
        path = os.path.join(d, who)
        p = subprocess.run([*argv, "record", "-q", "-o", path, "-e", "{cpu-clock,page-faults,context-switches}:S",
                            "-F", "2000", "-a", "--", "sh", "-c", load], capture_output=True, text=True, timeout=600)
        if p.returncode:
            t.skip("recorded by " + who, "cannot record: " + (p.stderr.strip().splitlines() or ["?"])[0][:80])
            continue
        got, _ = ours(path)
        t.ok(len({e for e, _ in got}) >= 2, "recorded by %s: more than the leader has samples" % who, got)
        t.equal(got, perfs(PERF, path), "recorded by %s: as perf reads it, %d rows" % (who, len(got)))
        t.equal(infos(path), by_event(perfs(PERF, path)), "recorded by %s: info counts what perf counts" % who)
        said = run("report", "-i", path, "--format", "csv", "--sort", "dso")
        t.ok("page-faults" in said.stdout or "page-faults" in said.stderr,
             "recorded by %s: the report shows the members" % who, said.stdout + said.stderr)


def family(t, d):
    """Threads and children have values of their own: their sum is what perf stat counts of the same program."""
    if not PERF:
        t.skip("threads and children of a group", "no perf here")
        return
    loop = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
    program = "(%s) & (%s) & %s; wait" % (loop, loop, loop)
    path, pid, counted = (os.path.join(d, x) for x in ("family", "pid", "counted"))
    # the shell becomes perf stat, of which the program is a child: its samples are left out by its number
    argv = ["sh", "-c", 'echo $$ >"$1"; exec "$2" stat -x, -o "$3" -e cpu-clock,task-clock -- sh -c "$4"', "sh",
            pid, PERF, counted, program]
    p = subprocess.run([CYCLADE, "record", "-o", path, "-e", "{cpu-clock,task-clock}:S", "-F", "2000", "--", *argv],
                       capture_output=True, text=True, timeout=600)
    if p.returncode or "only the first thread" in p.stderr:
        t.skip("threads and children of a group", (p.stderr.strip().splitlines() or ["?"])[0][:80])
        return
    with open(pid, encoding="ascii") as f:
        itself = f.read().strip()
    with open(counted, encoding="ascii") as f:
        want = {x[2]: float(x[0]) / 1e3 for x in (line.split(",") for line in f) if len(x) > 3}
    got, bad = ours(path)
    tids = {k[1] for k in got} - {itself}
    for event in ("cpu-clock", "task-clock"):
        n = sum(v[1] for k, v in got.items() if k[0] == event and k[1] in tids) / 1e9
        # missing: up to a period (0.5 ms) of each of the three after its last sample. More: what the child of perf
        # stat takes from its fork to its exec. Both are far below a hundredth of a second, however busy the machine
        t.ok(want[event] - 0.01 < n < want[event] + 0.01,
             "%s of a program and its children adds up to what perf stat counts" % event,
             "%.4f s of %.4f: %r" % (n, want[event], got))
    t.ok(len(tids) >= 3 and not bad, "all three have samples", got)


def corpus(t):
    name = "hotspot-perf.data.PerfFormatLost"
    path = os.path.join(SHARED, "corpus", "recordings", name)
    if not os.path.exists(path):
        t.skip(name, NO_SHARED)
    elif not NEWER:
        t.skip(name, "CYCLADE_PERF612 is not set: older perf refuses attributes of 136 bytes")
    else:
        t.equal(ours(path)[0], perfs(NEWER, path), name)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as d:
        made(t, d)
        if PERF:
            fresh(t, d)
        else:
            t.skip("fresh recordings", "no perf here")
        family(t, d)
    corpus(t)
    t.done()


if __name__ == "__main__":
    main()

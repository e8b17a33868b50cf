#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""list: against perf's list on this machine, and against a machine made of files."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from tap import PERF, Tap, run  # noqa: E402

t = Tap()

r = run("list", "events", "-j")
t.equal(r.returncode, 0, "list events -j")
doc = json.loads(r.stdout)
names = {e["event"]: e["kind"] for e in doc["events"]}
t.equal(doc["schema"], "cyclade.list/2", "the schema is named")
t.equal(names.get("cpu-clock"), "software", "cpu-clock is a software event")
t.equal(doc["left_out"], 0, "nothing is left out")

r = run("list", "events", "--format", "csv")
rows = list(csv.DictReader(io.StringIO(r.stdout)))
t.equal({x["event"]: x["kind"] for x in rows}, names, "csv holds what json holds")
r = run("list", "events", "-x", ";")
t.equal(r.stdout.splitlines()[0], "event;kind;text", "-x is csv with that separator")
r = run("list", "events", "--color", "never", "--no-pager")
kinds = {e["kind"] for e in doc["events"]}
shown = [line[1:].split("  ")[0] for line in r.stdout.splitlines()[1:-1]]
shown = [x for x in shown if x and x not in kinds | {"event"}]
t.equal(shown, [e["event"] for e in doc["events"]], "the terminal shows the same names in the same order")
t.ok(r.stdout.splitlines()[-1].startswith(" next: cyclade record -e "), "and the next step")

# kernels: the list is for people, each count a row for programs
doc = json.loads(run("list", "kernels", "-j").stdout)
walk = {c["quantity"]: c["iteration"] for c in doc["counts"] if c["kernel"] == "walk"}
t.ok(walk["loads"] == 1 and walk["stores"] == 0 and walk["cond_taken"] == 1, "list kernels: counts, zeros too", walk)
t.equal([k["kernel"] for k in json.loads(run("list", "kernels", "split-*", "-j").stdout)["kernels"]], ["split-load", "split-page", "split-lock"],
        "list kernels PATTERN")
t.equal(run("list", "kernels", "nothing").returncode, 1, "no kernel of that name")
tables.walk(t, "list", "kernels", "branch")

if not PERF:
    t.skip("the same names as perf", "no perf here")
else:
    text = subprocess.run([PERF, "list", "--no-desc"], capture_output=True, text=True).stdout
    seen, kinds = {}, {"Hardware event": "hardware", "Software event": "software",
                       "Hardware cache event": "cache", "Tracepoint event": "tracepoint",
                       "Kernel PMU event": "pmu"}
    for line in text.splitlines():
        m = re.match(r"^  (\S.*?)\s+\[(.*)\]$", line)
        if m and m.group(2) in kinds:
            for name in m.group(1).split(" OR "):
                seen[name] = kinds[m.group(2)]
    if not any(k == "tracepoint" for k in seen.values()):
        seen = {k: v for k, v in seen.items() if v != "tracepoint"}
    ours = {k: v for k, v in names.items() if v in set(seen.values())}
    t.ok(len(seen) > 10, "perf lists something to compare with", text[:500])
    t.equal(sorted(set(seen) - set(ours)), [], "every event of perf's list is in ours")
    t.equal(sorted(set(ours) - set(seen)), [], "and the other way round")

# a machine made of files
with tempfile.TemporaryDirectory() as d:
    def put(path, text):
        os.makedirs(os.path.dirname(os.path.join(d, path)), exist_ok=True)
        with open(os.path.join(d, path), "w") as f:
            f.write(text)
    pmu = "sys/bus/event_source/devices/"
    put(pmu + "cpu/type", "4\n")
    put(pmu + "cpu/format/event", "config:0-7\n")
    put(pmu + "cpu/events/mem-loads", "event=0xcd\n")
    put(pmu + "cpu/events/e\x1b[31mvil", "event=1\n")
    put("sys/kernel/tracing/events/sched/sched_switch/id", "3\n")
    r = run("list", "events", "--sysroot", d, "-j")
    fake = {e["event"]: e for e in json.loads(r.stdout)["events"]}
    t.equal(fake["cycles"]["kind"], "hardware", "a captured machine with a PMU has cycles")
    t.equal(fake["cpu/mem-loads/"]["text"], "event=0xcd", "its PMU's events, with their codes")
    t.equal(fake["sched:sched_switch"]["kind"], "tracepoint", "its tracepoints")
    t.ok("L1-dcache-load-misses" in fake and "L1-icache-stores" not in fake, "caches, only those there can be")
    r = run("list", "events", "vil", "--sysroot", d)
    t.ok("\x1b" not in r.stdout and "vil" in r.stdout, "a name from outside cannot reach the terminal raw", r.stdout)
    for name in (b"a\nb", b"a|b,\"c\"<d>", b"\xff\xfe", b"=1+1"):
        with open(os.path.join(d.encode(), pmu.encode(), b"cpu/events", name), "wb") as f:
            f.write(b"event=2\n")
    tables.walk(t, "list", "events", "cpu/", "--sysroot", d)
    tables.walk(t, "list", "events", "--sysroot", d, "--limit", "5")
    tables.walk(t, "list", "ibs", "*_NB_*")
    put("sys/kernel/tracing/events/sched/sched_switch/id", "3\n")
    r = run("list", "events", "--sysroot", d, "-j")
    fake = {e["event"]: e for e in json.loads(r.stdout)["events"]}
    r = run("list", "events", "mem-lods", "--sysroot", d)
    t.equal((r.returncode, r.stdout.strip()), (1, ""), "no match: exit 1")
    r = run("list", "events", "cpu/mem-lods/", "--sysroot", d)
    t.ok("did you mean cpu/mem-loads/?" in r.stderr, "and the nearest name", r.stderr)
    r = run("list", "events", "*_switch", "--sysroot", d, "--format", "csv")
    t.equal([x["event"] for x in csv.DictReader(io.StringIO(r.stdout))],
            ["sched:sched_switch"], "a glob must match the whole name")
    r = run("list", "events", "--limit", "2", "--sysroot", d, "-j")
    doc = json.loads(r.stdout)
    t.equal((len(doc["events"]), doc["left_out"]), (2, len(fake) - 2), "--limit, and what it left out")

# each metric has a meaning
for model in ["zen%d" % i for i in range(1, 7)] + ["neoverse-" + x for x in ("n1", "n2", "n3", "v1", "v2", "v3")] + ["spr", "emr"]:
    rows = list(csv.DictReader(io.StringIO(run("list", "metrics", "--model", model, "--format", "csv").stdout)))
    bad = [r["name"] for r in rows if not r["says"]]
    t.ok(rows and not bad, "%s: all %d metrics have a meaning" % (model, len(rows)), bad)

# [words, exit code, what standard error says]
for words, code, text in [
    (["list"], 2, "cyclade list events"),
    (["list", "evnts"], 2, "did you mean events?"),
    (["list", "xyzzyxyzzy"], 2, "there is no list"),
    (["list", "events", "a", "b"], 2, "one too many"),
    (["list", "events", "--format", "folded"], 2, "has no format 'folded'"),
    (["list", "events", "-x", "ab"], 2, "one character"),
    (["list", "events", "no-such-event-at-all"], 1, "no event here matches"),
]:
    r = run(*words)
    t.equal((r.returncode, r.stdout.strip()), (code, ""), "%s: exit %d" % (" ".join(words), code))
    t.ok(text in r.stderr and len(r.stderr.splitlines()) <= 3, "says '%s'" % text, r.stderr)

# ---- Zen 6 has the events that Linux publishes: those of Zen 5 by the same name have the same codes, but for one
def codes(ident):
    r = run("list", "events", "--model", ident, "-j")
    return {e["event"]: (e["pmu"], e["code"]) for e in json.loads(r.stdout)["events"]} if r.returncode == 0 else {}


six, five = codes("zen6"), codes("zen5")
both = set(six) & set(five)
t.equal((len(both) > 190, {n: six[n][1] for n in both if six[n] != five[n]}), (True, {"ls_dmnd_fills_from_sys.all": "event=0x43,umask=0xdf"}),
        "%d events of Zen 6 that Zen 5 has" % len(both))
want = {"ex_mprof_ibs_ops.valid": "event=0x2c0,umask=0x10", "fp_pack_int_ops_ret.int256_vnni": "event=0x0d,umask=0xc0",
        "fp_pack_512b_ops_ret.int512_cvt": "event=0x0f,umask=0x80", "fp_ops_ret_by_type.vector_move": "event=0x0a,umask=0xa0",
        "l2_sys_bw.victim": "event=0x175,umask=0x40", "l2_request_g1.no_pf_all": "event=0x60,umask=0xf1", "ls_ret_cpuid": "event=0x27",
        "ic_fills_from_sys.alt_mem": "event=0x29c,umask=0x80", "bp_fe_redir.all": "event=0x9f", "ls_locks.all": "event=0x25,umask=0x1f",
        "umc_cas_cmd.wr": "event=0x0a,rdwrmask=0x2", "l3_lookup_state.l3_hit": "event=0x04,umask=0xfe",
        "l3_xi_sampled_latency.ext_far": "event=0xac,umask=0x20,enallcores,enallslices,sliceid=0x3,threadmask=0x3"}
t.equal({n: (six.get(n) or (None, None))[1] for n in want}, want, "and some that are new")
r = run("models", "check", "zen6")
t.ok(r.returncode == 0 and " 0 doubts" in r.stdout + r.stderr, "all that its metrics and rows of monitor name is there", r.stdout + r.stderr)
t.done()

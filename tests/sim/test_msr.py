#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade monitor --backend msr on simulated registers (msr.h): a kernel without PMUs for L3 and data fabric. What is planted
comes out, others' counters stay theirs, every register gets its old value back, whoever is killed."""
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import monitored  # noqa: E402
from machines_made import registers, rome  # noqa: E402
from monitored import column, near, rows  # noqa: E402
from monitored import unavailable as why  # noqa: E402
from servers import server  # noqa: E402
from sim import SYSROOT, command, environment, run_on, tree  # noqa: E402
from tap import CYCLADE, SANITIZED  # noqa: E402

t, put = monitored.begin("msr")
text, RATES = rome()
# the kernel has none of these PMUs: only the tables of rates are left of them
WITHOUT = re.compile(r"(format|cap|sysevent) (amd_df|amd_l3|msr) ")
text = "".join(x + "\n" for x in text.splitlines() if not WITHOUT.match(x))
ROME = put("rome.tab", text)
L3 = [[c] for c in range(4)]
MS = "300"
CTL, L3_CTL, DF_CTL = 0xC0010200, 0xC0010230, 0xC0010240
count = 0


class Registers:
    """One machine's, for one run."""

    def __init__(self, cells=(), more=(), text=text, **kinds):
        global count
        count += 1
        lines = registers(text, cells, more, **kinds)
        self.path = put("registers%d" % count, lines)
        self.first = {(int(c), int(reg, 16)): int(v, 16) for c, reg, v in re.findall(r"^cell (\d+) (\S+) (\S+)$", lines, re.M)}

    def log(self):
        """[(ns, pid, cpu, register, old, new)]; a line that is being written may be there in part (at the end of a page)."""
        try:
            with open(self.path + ".log", encoding="ascii") as f:
                lines = f.read().split("\n")[:-1]
        except OSError:
            return []
        return [(int(w[0]), int(w[1]), int(w[2])) + tuple(int(x, 16) for x in w[3:]) for w in map(str.split, lines)]

    def changed(self):
        """What was written and does not have its first value at the end: {(cpu, register): (first, last)}."""
        last = {(cpu, reg): new for _, _, cpu, reg, _, new in self.log()}
        return {k: (self.first.get(k, 0), v) for k, v in last.items() if v != self.first.get(k, 0)}


def words(*args, interval=MS):
    return [CYCLADE, "monitor", *SYSROOT, "--backend", "msr", "-I", interval, *args]


def monitor(r, *args, program="even", interval=MS, on=ROME, **more):
    return monitored.monitor(on, program, "--backend", "msr", *args, interval=interval, SIM_MSR=r.path, **more)


# ---- values as planted
first_run = Registers({(c, CTL + 2 * n + 1): 12345 + n for c in range(4) for n in range(6)})
doc, p = monitor(first_run)
monitored.none_here(t, doc, p, "msr")
CH = ["dram_channel_data_controller_%d" % c for c in range(8)]
LINK = ["remote_outbound_data_controller_%d" % c for c in range(4)]
WANT = {
    ("socket", "dram_bytes_rate"): 64e9 * sum(RATES[c] for c in CH),
    ("socket", "link_bytes_rate"): 32e9 * sum(RATES[c] for c in LINK),
    ("l3", "accesses_rate"): 1e9 * RATES["l3_lookup_state.all_l3_req_typs"],
    ("l3", "misses_rate"): 1e9 * RATES["l3_misses"],
    ("l3", "miss_ratio"): RATES["l3_misses"] / RATES["l3_lookup_state.all_l3_req_typs"],
    ("l3", "miss_latency"): 16 * RATES["xi_sys_fill_latency"] / RATES["xi_ccx_sdp_req1.all_l3_miss_req_typs"],
    ("cpu", "aperf_rate"): 3e9, ("cpu", "mperf_rate"): 2.25e9, ("cpu", "frequency"): 2.4e9 * 3 / 2.25,
    ("cpu", "instructions_rate"): 1e9 * RATES["ex_ret_instr"], ("cpu", "cpi"): RATES["ls_not_halted_cyc"] / RATES["ex_ret_instr"],
    ("cpu", "flops_rate"): 1e9 * RATES["fp_ret_sse_avx_ops.all"], ("cpu", "macro_ops_rate"): 1e9 * RATES["ex_ret_cops"],
}
for (place, key), want in WANT.items():
    got = column(doc, place, key)
    t.ok(len(got) == {"socket": 2, "l3": 4, "cpu": 4}[place] and all(near(v, want) for v in got), "%s.%s is what was planted" % (place, key),
         (got, want, p.stderr))
got = {(r["socket"], r["channel"]): r["bytes_rate"] for r in rows(doc, "channel")}
t.ok(len(got) == 16 and all(near(got[s, str(c)], 64e9 * RATES[CH[c]]) for s in (0, 1) for c in range(8)), "each channel of each socket", got)
share = {r["event"]: (r["pmu"], r["share"]) for r in doc["counters"]}
df = [s for pmu, s in share.values() if pmu == "amd_df"]
t.ok(len(df) == 12 and all(0.1 < s < 0.6 for s in df) and 0.9 < sum(df) / 4 < 1.01, "twelve events of the fabric take turns on four counters", df)
t.ok(all(s > 0.999 for pmu, s in share.values() if pmu in ("amd_l3", "msr")), "what fits counts all the time", share)


def errors(doc):
    return [(r["bytes_rate"], r["bytes_rate_error"]) for r in rows(doc, "channel") if r["bytes_rate_error"] is not None]


got = errors(doc)
t.ok(len(got) == 16 and all(half <= 0.01 * v for v, half in got), "steady traffic: a small error", got[:2])
bursts = put("bursts", "".join("phase even 7-31 scale=%s\n" % s for s in (0.2, 1.8)) + "repeat\n")
got = errors(monitor(Registers(), "--metrics", "channel", program=bursts, interval="1000")[0])
t.ok(len(got) == 16 and all(half > 0.01 * v for v, half in got), "bursts: a large one", got)

# ---- whole servers: every figure but those of PMUs that only the kernel has
ELSEWHERE = re.compile("energy|power")
for name, df in (("rome", 4), ("rome_nps4", 4), ("milan", 4), ("genoa", 16), ("turin", 16)):
    s = server(name)
    machine = put("server-%s.tab" % name, s.text())
    groups = [[[c for c in s.cpus if of[c] == i] for i in sorted(set(of.values()))] for of in (s.socket, s.l3)]
    umcs = 3 if df > 4 else 0
    regs = Registers((), (), text=s.text(), dies=groups[0], l3s=groups[1], df=df, umcs=umcs)
    doc1, p = monitor(regs, on=machine)
    wrong, n = {}, 0
    for ((kind, socket, which), key), want in s.expected().items():
        if ELSEWHERE.match(key):
            continue
        row = next((r for r in rows(doc1, kind) if r.get("socket") == socket and (kind == "socket" or r.get(kind) == which)), {})
        n += 1
        if not near(row.get(key), want, 0.02):
            wrong[kind, socket, which, key] = (row.get(key), want, row.get(key + "_why"))
    t.ok(n > 20 and not wrong, "%s: %d figures are what was planted" % (name, n), (list(wrong.items())[:5], p.stderr[-300:]))
    t.equal(regs.changed(), {}, "and all registers have their old values")
    written = {(reg, new) for _, _, _, reg, _, new in regs.log()}
    if name == "milan":
        t.ok({0x0300C0000040FF04, 0x0300C00000400104} <= {new for reg, new in written}, "control values of family 19h's L3 as AMD publishes them")
    if name == "genoa":
        t.ok(any(reg == DF_CTL + 2 * 15 for reg, _ in written), "all counters of the fabric that CPUID counts")
    if df > 4:
        t.equal({new for reg, new in written if reg == 0xC0000301}, {63, 0}, "core counters have their bits in the global register, for as long")
        own = [[(reg, new) for _, _, cpu, reg, _, new in regs.log() if cpu == c and (reg == 0xC0000301 or CTL <= reg < CTL + 12)] for c in s.cpus]
        t.ok(all(x and x[0] == (0xC0000301, 63) for x in own), "before their time begins", own[0][:3])

# ---- memory controllers: a socket's own, by turns of CPUs; counters that stop at their end instead of wrapping; others' counters
UMC = 0xC0010800
genoa = server("genoa")
on, PLANTED = put("server-genoa.tab"), genoa.expected()
dies, l3s = ([[c for c in genoa.cpus if of[c] == i] for i in sorted(set(of.values()))] for of in (genoa.socket, genoa.l3))


def controllers(more=(), how=("--once", "-j")):
    """(registers, {(socket, channel): bytes read a second}, document)"""
    r = Registers((), more, text=genoa.text(), dies=dies, l3s=l3s, df=16, umcs=3)
    d, p = monitor(r, "--metrics", "channel", on=on, how=how)
    return r, {(x["socket"], x["channel"]): x["read_bytes_rate"] for x in rows(d, "channel")}, d, p


def as_planted(got):
    return len(got) == 6 and all(near(v, PLANTED[("channel", *k), "read_bytes_rate"]) for k, v in got.items())


r, got, d, p = controllers()
log = r.log()
t.ok(as_planted(got), "six memory controllers, numbered through both sockets", (got, p.stderr))
t.equal({(cpu, new) for _, _, cpu, reg, _, new in log if reg >= UMC and reg % 2 == 0 and new}, {(d[0], v) for d in dies for v in (0x8000010A, 0x8000020A, 0x80000014, 0x80000000)},
        "event, kind of access and enable bit, written once a socket")
t.equal({reg for _, _, _, reg, _, _ in log if reg >= UMC and reg % 2 == 0}, {UMC + 2 * n for n in range(12)}, "four counters of each of three controllers")
first = dies[0][0]
for value, name in (((1 << 47) - 5, "half of the way"), ((1 << 47) + 5, "more than half"), (1 << 48, "the end")):
    r, got, d, p = controllers(["cell %d %#x %#x" % (first, UMC + 1 + 2 * n, value) for n in range(12)])
    t.ok(as_planted(got) and {(first, UMC + 1 + 2 * n, 0) for n in range(12)} <= {(cpu, reg, new) for _, _, cpu, reg, _, new in r.log()},
         "counters that are at %s of what they hold begin anew" % name, (got, p.stderr))
    t.equal(r.changed(), {}, "and get their old values")
r, got, d, p = controllers(["at 100 write %d %#x %#x" % (first, UMC + 1 + 2 * n, 1 << 48) for n in range(4)], how=("-j", "--for", "600ms"))
lines = [{(x["socket"], x["channel"]): x["read_bytes_rate"] for x in rows(json.loads(x), "channel")} for x in p.stdout.splitlines()]
t.ok(len(lines) == 2 and lines[0][0, "0"] is None and lines[0][0, "1"] and as_planted(lines[1]), "one that stopped has no value in that interval, and one in the next", lines)
r, got, d, p = controllers(["cell %d %#x 0x8000010A" % (first, UMC + 2)])
t.ok(d and d["losses"]["held"] == 1 and all(near(v, PLANTED[("channel", *k), "read_bytes_rate"], 0.02) for k, v in got.items()) and
     not any(x[2] in dies[0] and x[3] in (UMC + 2, UMC + 3) for x in r.log()), "a counter that somebody else has stays theirs", (got, d.get("losses")))

# ---- what was written: AMD's values, the merge event, and everything back
log = first_run.log()
written = {(reg, new) for _, _, _, reg, _, new in log}
DF_RAW = [0x403807, 0x403847, 0x403887, 0x4038C7, 0x100403807, 0x100403847, 0x100403887, 0x1004038C7, 0x7004002C7, 0x800400207, 0x800400247, 0x800400287]
t.equal({new for reg, new in written if DF_CTL <= reg < DF_CTL + 8 and reg % 2 == 0} - {0}, set(DF_RAW), "control values of the fabric as AMD publishes them")
t.equal({new for reg, new in written if L3_CTL <= reg < L3_CTL + 12 and reg % 2 == 0} - {0},
        {0xFF0F00000040FF04, 0xFF0F000000400104, 0xFF0F000000400090, 0xFF0F000000403F9A}, "control values of a Rome's L3: every slice and thread")
core = {new for reg, new in written if CTL <= reg < CTL + 12 and reg % 2 == 0} - {0}
t.ok({0x4300C1, 0x43F960, 0x430964, 0x43F664, 0x43FF03, 0xF004000FF} <= core, "control values of the cores", [hex(x) for x in core])
pair = [(reg, new) for _, _, cpu, reg, _, new in log if cpu == 0 and new in (0x43FF03, 0xF004000FF)]
t.ok(pair and all(pair[i][1] == 0xF004000FF and pair[i + 1] == (pair[i][0] - 2, 0x43FF03) and pair[i][0] // 2 % 2 == 1 for i in range(0, len(pair), 2)),
     "the merge event is in the odd counter, before its event in the even one", [tuple(map(hex, x)) for x in pair[:6]])
t.equal({cpu for _, _, cpu, reg, _, _ in log if reg >= DF_CTL}, {0, 2}, "the fabric's registers are written once a socket")
t.equal(first_run.changed(), {}, "every register has its old value again")
t.ok(any(reg == CTL + 1 and new == 12345 for _, _, _, reg, _, new in log), "the counters, too", sorted({hex(reg) for reg, _ in written}))
PLANS = os.path.join(tree(ROME), "run/cyclade")
t.ok(not os.path.exists(PLANS), "and nothing is left to restore")

# ---- counters of others: found, and left alone
theirs = {(0, CTL): 0x430076, (1, CTL): 0x430076, (0, DF_CTL + 2): 0x4038C7, (1, DF_CTL + 2): 0x4038C7}
held = Registers({k: v for k, v in theirs.items() if k[1] < DF_CTL}, ["cell 0 %#x %#x" % (DF_CTL + 2, 0x4038C7)])
doc2, p = monitor(held)
touched = {(cpu, reg) for _, _, cpu, reg, _, _ in held.log()}
t.ok(doc2 and not touched & {(0, CTL), (0, CTL + 1), (1, CTL), (0, DF_CTL + 2), (0, DF_CTL + 3)}, "a counter that is enabled is somebody's: untouched", p.stderr)
t.ok(doc2 and doc2["losses"]["held"] >= 3, "and noticed", doc2.get("losses"))
t.ok(doc2 and all(near(v, WANT["socket", "dram_bytes_rate"], 0.02) for v in column(doc2, "socket", "dram_bytes_rate")) and
     all(near(v, WANT["cpu", "flops_rate"], 0.01) for v in column(doc2, "cpu", "flops_rate")), "the others are enough", (doc2.get("socket"), why(doc2)))
full = Registers({}, ["cell 0 %#x 0x4038C7" % (DF_CTL + 2 * n) for n in range(4)])
for _ in range(3):  # between a register and the clock a busy machine may take some ms of the 400
    doc3, p = monitor(full, "--metrics", "dram_bytes,cpi")
    if doc3 and near(column(doc3, "socket", "dram_bytes_rate")[1], WANT["socket", "dram_bytes_rate"], 0.01):
        break
t.ok(doc3 and column(doc3, "socket", "dram_bytes_rate")[0] is None and near(column(doc3, "socket", "dram_bytes_rate")[1], WANT["socket", "dram_bytes_rate"], 0.01),
     "all counters of one socket's fabric are others': the other socket has values", (rows(doc3, "socket"), p.stderr))
t.ok(doc3 and "hold all" in (rows(doc3, "socket")[0].get("dram_bytes_rate_why") or ""), "and the reason", rows(doc3, "socket"))
taken = Registers({}, ["at 120 write 0 %#x 0x4304C2" % (L3_CTL + 2)])
doc4, p = monitor(taken, "--metrics", "l3,cpi")
r = rows(doc4, "l3")
t.ok(doc4 and "another program took" in (r[0].get("misses_rate_why") or "") and r[0]["misses_rate"] is None, "a counter that somebody takes meanwhile: its metric goes, with the reason", (r, p.stderr))
t.ok(doc4 and near(r[0]["accesses_rate"], WANT["l3", "accesses_rate"], 0.01) and near(r[1]["misses_rate"], WANT["l3", "misses_rate"], 0.01), "and no other", r)
t.ok(not any(cpu == 0 and reg in (L3_CTL + 2, L3_CTL + 3) and old == 0x4304C2 for _, _, cpu, reg, old, _ in taken.log()), "what they wrote stays", taken.log()[-3:])
for n, when in ((1, "looked at"), (2, "noted")):
    late = Registers({}, ["read %d write 0 %#x 0x4304C2" % (n, L3_CTL + 2)])
    doc4, p = monitor(late, "--metrics", "l3,cpi")
    r = rows(doc4, "l3")
    t.ok(doc4 and "another program took" in (r[0].get("misses_rate_why") or "") and r[0]["misses_rate"] is None and doc4["losses"]["held"] == 1,
         "a counter that somebody enables after it was %s, before the first write" % when, (r[:1], doc4.get("losses"), p.stderr))
    t.ok(late.log() and not any(x[2] == 0 and x[3] in (L3_CTL + 2, L3_CTL + 3) for x in late.log()), "is never written", late.log()[-3:])
    t.ok(doc4 and near(r[0]["accesses_rate"], WANT["l3", "accesses_rate"], 0.01) and near(r[1]["misses_rate"], WANT["l3", "misses_rate"], 0.01), "the others count", r)
slept = Registers({}, ["at 100 write 1 %#x 0" % (CTL + 2 * n) for n in range(6)])
doc5, p = monitor(slept, "--metrics", "instructions,cpi", how=("-j", "--for", "400ms"), interval="60")
t.ok(doc5 and all(near(v, WANT["cpu", "instructions_rate"], 0.01) for v in column(doc5, "cpu", "instructions_rate")) and None in [column(json.loads(x), "cpu", "cpi")[1] for x in p.stdout.splitlines()],
     "registers that were cleared (sleep) are written again; that interval has no value", (doc5.get("cpu"), p.stderr))

# ---- wrap, jumps, failures
near_end = (1 << 48) - 1000
wrap = Registers({(c, CTL + 2 * n + 1): near_end for c in range(4) for n in range(6)}, ["cell 0 %#x %#x" % (DF_CTL + 2 * n + 1, near_end) for n in range(4)])
doc6, p = monitor(wrap)
t.ok(doc6 and all(near(v, WANT["cpu", "instructions_rate"]) for v in column(doc6, "cpu", "instructions_rate")) and
     near(column(doc6, "socket", "dram_bytes_rate")[0], WANT["socket", "dram_bytes_rate"]), "counters of 48 bits wrap", (doc6.get("cpu"), p.stderr))
t.equal(wrap.changed(), {}, "and get their old values")
wrap = Registers({(c, L3_CTL + 2 * n + 1): near_end for c in range(4) for n in range(6)})
doc6, p = monitor(wrap, "--metrics", "l3")
t.ok(doc6 and all(near(v, WANT["l3", "accesses_rate"]) for v in column(doc6, "l3", "accesses_rate")), "also in the only slice of an interval", (doc6.get("l3"), p.stderr))
jump = Registers({}, ["at 100 add 0 %#x %#x" % (L3_CTL + 1, 1 << 45)])
doc7, p = monitor(jump, "--metrics", "l3", how=("-j", "--for", "600ms"), interval="60")
lines = [json.loads(x) for x in p.stdout.splitlines()]
acc = [rows(d, "l3")[0]["accesses_rate"] for d in lines]
t.ok(len(acc) >= 3 and None in acc and all(v is None or near(v, WANT["l3", "accesses_rate"], 0.05) for v in acc), "a counter that jumps: that interval has no value, never a spike", acc)
totals = [rows(d, "l3")[0]["accesses"] for d in lines]
grew = [(v, lines[i]["time"]) for i, v in enumerate(totals) if v is not None]
t.ok([v is None for v in totals] == [v is None for v in acc] and near(grew[-1][0] - grew[0][0], WANT["l3", "accesses_rate"] * (grew[-1][1] - grew[0][1]), 0.05),
     "nor a total, which would stand still; the next one stands for both", (totals, acc))
eio = Registers({}, ["at 150 fail 0 %#x 5" % (DF_CTL + 1)])
doc8, p = monitor(eio, "--metrics", "socket,l3")
r = rows(doc8, "socket")
t.ok(doc8 and r[0]["dram_bytes_rate"] is None and "no such register" in (r[0]["dram_bytes_rate_why"] or "") and near(r[1]["dram_bytes_rate"], WANT["socket", "dram_bytes_rate"], 0.01) and
     all(near(v, WANT["l3", "misses_rate"], 0.01) for v in column(doc8, "l3", "misses_rate")), "EIO amid a run: its own metrics go, with the reason", (r, p.stderr))

# ---- not allowed
for line, word in (("no open 13", "CAP_SYS_RAWIO"), ("no open 1", "CAP_SYS_RAWIO"), ("no open 2", "modprobe msr")):
    _, p = monitor(Registers({}, [line]))
    t.ok(p.returncode == 2 and word in p.stderr and "/dev/cpu/0/msr" in p.stderr, "%s: %s" % (line, word), p.stderr)
locked = Registers({}, ["no write 1"])
doc9, p = monitor(locked)
t.ok(p.returncode == 0 and any("locked down" in x for x in why(doc9).values()) and all(near(v, 3e9) for v in column(doc9, "cpu", "aperf_rate")), "a kernel that is locked down: reasons; what is only read still is", (why(doc9), p.stderr))
t.equal(locked.log(), [], "and nothing was written")
p = run_on("spr", "even", CYCLADE, "monitor", *SYSROOT, "--backend", "msr", "--once", "-I", "20", SIM_MSR=put("registers-intel", "cell 0-63 0x10 0\n"))
t.ok(p.returncode == 2 and "AMD Zen only" in p.stderr and "memory controllers and links" in p.stderr, "an Intel CPU: refused, with the reason", p.stderr)
p = subprocess.run([CYCLADE, "monitor", "--sysroot", tree(ROME), "--backend", "msr", "--once", "-I", "20"], capture_output=True, text=True, check=False)
t.ok(p.returncode == 2 and ("another machine" in p.stderr), "registers are never written by the description of another machine", p.stderr)

# ---- whoever is killed
def start(r, *args, machine=ROME):
    p = subprocess.Popen(command(machine, "even", *words("-j", *args, interval="100")), env=environment(machine, SIM_MSR=r.path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = p.stdout.readline()
    return p, json.loads(line) if line else {}


def processes(r):
    """The monitor, and its watchdog: what wrote, and whom it began."""
    pid = r.log()[0][1]
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return pid, [int(x) for x in f.read().split()]


def restored(r, since, name):
    until = time.monotonic() + 20
    while r.changed() and time.monotonic() < until:
        time.sleep(0.01)
    last = max(x[0] for x in r.log())
    t.ok(not r.changed() and last - since < 1e9, name + ": all is restored within a second", (len(r.changed()), (last - since) / 1e9))


for number, name in ((signal.SIGKILL, "kill -9"), (signal.SIGTERM, "SIGTERM"), (signal.SIGILL, "a crash")):
    r = Registers({(0, CTL + 1): 77})
    p, first = start(r)
    pid, children = processes(r)
    t.ok(len(children) == 1 and os.getsid(children[0]) == children[0], name + ": one watchdog, in a session of its own", children)
    for deaf in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(children[0], deaf)
    began = time.monotonic_ns()
    os.kill(pid, number)
    p.communicate(timeout=20)
    restored(r, began, name)
    until = time.monotonic() + 20
    while os.path.exists(PLANS) and time.monotonic() < until:
        time.sleep(0.01)
    t.ok(not os.path.exists(PLANS), "and the plan is gone")

r = Registers((), ["cell %d %#x 0x77" % (dies[0][0], UMC + 3)], text=genoa.text(), dies=dies, l3s=l3s, df=16, umcs=3)
p, doc10 = start(r, "--metrics", "channel", machine=on)
written = {x[3] for x in r.log()}
t.ok(doc10 and {UMC + 2 * n for n in range(12)} <= written and r.changed(), "memory controllers count", (doc10, p.poll()))
began = time.monotonic_ns()
os.kill(r.log()[0][1], signal.SIGKILL)
p.communicate(timeout=20)
restored(r, began, "memory controllers, kill -9")

# ---- a counter that somebody takes, and nobody has noticed when the monitor dies
r = Registers({}, ["at 200 write 0 %#x 0x4304C2" % (L3_CTL + 2)])
p = subprocess.Popen(command(ROME, "even", *words("-j", "--metrics", "l3", interval="60000")), env=environment(ROME, SIM_MSR=r.path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
until = time.monotonic() + 20
while len(r.log()) < 16 and time.monotonic() < until:
    time.sleep(0.01)
time.sleep(0.3)  # until they have: nobody reads meanwhile
os.kill(r.log()[0][1], signal.SIGKILL)
p.communicate(timeout=20)
until = time.monotonic() + 20
while len(r.changed()) > 1 and time.monotonic() < until:
    time.sleep(0.01)
t.ok(set(r.changed()) == {(0, L3_CTL + 2)} and not any(x[2:4] == (0, L3_CTL + 2) and x[4] == 0x4304C2 for x in r.log()), "the watchdog leaves it to them, and restores the others", r.changed())

# ---- SIGHUP: a server begins anew, with registers given back in between
r = Registers()
sock = put("socket")
p = subprocess.Popen(command(ROME, "even", *words("-j", "--listen", sock, interval="100")), env=environment(ROME, SIM_MSR=r.path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
first = p.stdout.readline()
if first:
    pid, before = processes(r)
    os.kill(pid, signal.SIGHUP)
    until = time.monotonic() + 20
    while time.monotonic() < until and (processes(r)[1] in (before, []) or not p.stdout.readline()):
        time.sleep(0.01)
    again, after = processes(r)
    t.ok(again == pid and len(after) == 1 and after != before, "SIGHUP: another watchdog, the old one has ended", (before, after))
    os.kill(pid, signal.SIGTERM)
    p.communicate(timeout=20)
    restored(r, time.monotonic_ns(), "and SIGTERM")
else:
    t.skip("SIGHUP", p.communicate()[1].strip())

# ---- half an hour, or a day, of intervals on paper, by both back-ends: no growth, no drift
SECONDS = 86400 if os.environ.get("CYCLADE_LONG") else 1800
AT_ONCE = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"  # what is freed can be had again
WANTED = 1e9 * RATES["l3_lookup_state.all_l3_req_typs"]


def resident(shell):
    """Pages of what the shell has begun."""
    with open("/proc/%d/task/%d/children" % (shell, shell), encoding="ascii") as f:
        pid = (f.read().split() or ["0"])[-1]
    with open("/proc/%s/statm" % pid, encoding="ascii") as f:
        return int(f.read().split()[1])


def for_long(name, machine, backend, *metrics, **env):
    p = subprocess.Popen(command(machine, "even", CYCLADE, "monitor", *SYSROOT, "--backend", backend, "-I", "1000", "-j", "--metrics", *metrics, "--for", "%ds" % SECONDS),
                         env=environment(machine, ASAN_OPTIONS=AT_ONCE, SIM_PAPER=put("clock-" + backend), SIM_PAPER_ALONE="1", **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    size, n, apart, total, doc = {}, 0, [], 0, {}
    for line in p.stdout:
        before, doc = doc, json.loads(line)
        n += 1
        if n == 600 or n == SECONDS - 600:  # the pipe holds fewer than these
            size[n] = resident(p.pid)
        # the first begins when all is set up, a few looks at the clock after zero
        if abs(doc["time"] - n) > 0.001 or (before and abs(doc["time"] - before["time"] - doc["interval"]) > 1e-6):
            apart.append((n, doc["time"], doc["interval"]))
        total += doc["l3"][2]["accesses_rate"] * doc["interval"]
    words = p.communicate(timeout=60)[1]
    t.ok(p.returncode == 0 and n == SECONDS, "%s: %d s are %d intervals" % (name, SECONDS, n), (n, words))
    t.equal(apart[:5], [], "the k-th ends at k seconds, where the next begins")
    got = doc["l3"][2]["accesses"] if doc else 0
    t.ok(near(got, WANTED * SECONDS, 1e-5) and near(total, got, 1e-5), "the total is the rate by the time, and what the intervals add up to", (got, total, WANTED * SECONDS))
    t.ok(len(size) == 2 and size[SECONDS - 600] <= size[600] + (512 if SANITIZED else 64), "memory does not grow", size)


for_long("registers", ROME, "msr", "l3,aperf", SIM_MSR=Registers({(c, L3_CTL + 2 * n + 1): near_end for c in range(4) for n in range(6)}).path)
for_long("perf_event, with turns", put("whole.tab", rome()[0]), "perf", "l3,channel")

# ---- prefetchers, by the same layer and watchdog
for machine, reg, was, bits in (("spr", 0x1A4, 0x20, 0xF), ("zen4", 0xC0000108, 0x2, 0x2F)):
    for mode, want in (("off", {"off"}), ("both", {"on", "off"})):
        r = Registers((), text=text)
        put(os.path.basename(r.path), "cell 0-63 0x10 0\ncell 0-63 %#x %#x\n" % (reg, was))
        p = run_on(machine, "even", CYCLADE, "calibrate", "--quick", "--prefetchers", mode, "-C", "0", "-j", "l1", SIM_MSR=r.path)
        got = [c["prefetchers"] for c in json.loads(p.stdout)["costs"]] if p.returncode == 0 else []
        t.equal(set(got), want, "%s, prefetchers %s: measured" % (machine, mode))
        t.equal([x[2:] for x in r.log()], [(0, reg, was, was | bits), (0, reg, was | bits, was)], "its bits are set, and get their old values")
        t.ok(not p.stderr.strip() or p.returncode == 0, "no word of it", p.stderr)
# one event in two kernels, with and without them
for mode, want in (("off", ["off"]), ("both", ["on", "off"])):
    r = Registers((), text=text)
    put(os.path.basename(r.path), "cell 0-63 0x10 0\ncell 0-63 0x1a4 0x20\n")
    p = run_on("spr", "even", CYCLADE, "validate", "--quick", "--prefetchers", mode, "-C", "0", "-j", "page-faults", "fault", "loop", SIM_MSR=r.path)
    t.ok(p.returncode in (0, 1) and p.stdout, "validate --prefetchers %s: runs" % mode, p.stderr)
    j = json.loads(p.stdout) if p.stdout else {"events": [], "cells": []}
    t.equal([x["prefetchers"] for x in j["events"]], want, "validate --prefetchers %s: a verdict for each" % mode)
    t.ok(j["cells"] and sorted({x["prefetchers"] for x in j["cells"]}) == sorted(want) and {x["event"] for x in j["cells"]} == {"page-faults"}, "cells as well", j["cells"])
    t.equal(sorted({(x[3], x[4], x[5]) for x in r.log()}), [(0x1A4, 0x20, 0x2F), (0x1A4, 0x2F, 0x20)], "bits are set, and get their old values")
r = Registers((), text=text)
put(os.path.basename(r.path), "cell 0-63 0x10 0\ncell 0-63 0x1a4 0\n")
p = run_on("zen2", "even", CYCLADE, "calibrate", "--quick", "--prefetchers", "off", "l1", SIM_MSR=r.path)
t.ok(p.returncode == 2 and "no register is known" in p.stderr and not r.log(), "a CPU whose register is not known is refused", p.stderr)
p = subprocess.Popen(command("spr", "even", CYCLADE, "calibrate", "--prefetchers", "off", "-C", "0", "-j"), env=environment("spr", SIM_MSR=r.path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
until = time.monotonic() + 20
while not r.log() and time.monotonic() < until:
    time.sleep(0.01)
os.kill(r.log()[0][1], signal.SIGKILL)
began = time.monotonic_ns()
p.wait(timeout=20)
until = time.monotonic() + 20
while len(r.log()) < 2 and time.monotonic() < until:
    time.sleep(0.01)
t.ok([x[5] for x in r.log()] == [0xF, 0] and r.log()[1][0] - began < 1e9, "kill -9: prefetchers are back within a second", r.log())

# ---- both are killed: the plan is left, and --restore does it
def plans():
    return os.listdir(PLANS) if os.path.exists(PLANS) else []


r = Registers()
p, first = start(r)
pid, children = processes(r)
alive = run_on(ROME, "even", CYCLADE, "monitor", *SYSROOT, "--restore", SIM_MSR=r.path)
t.ok(alive.returncode == 0 and not any(x[1] not in (pid, children[0]) for x in r.log()), "--restore leaves what a living monitor has", alive.stderr)
os.kill(children[0], signal.SIGSTOP)
os.kill(pid, signal.SIGKILL)
os.kill(children[0], signal.SIGKILL)
p.communicate(timeout=60)
t.ok(r.changed() and plans(), "both are killed: registers are left, and a plan", plans())
for bad, word in (("0 1b", "no register of a monitor"), ("0 c0010015", "no register of a monitor")):
    evil = os.path.join(PLANS, "msr-1")
    with open(os.path.join(PLANS, plans()[0]), encoding="ascii") as f:
        whole = f.read()
    with open(evil, "w", encoding="ascii") as f:
        f.write("".join(whole.splitlines(True)[:3]) + "counter %s 0 0 0\nend\n" % bad)
    q = run_on(ROME, "even", CYCLADE, "monitor", *SYSROOT, "--restore", SIM_MSR=r.path)
    t.ok(q.returncode == 2 and word in q.stderr, "a plan with another register is refused: " + bad, q.stderr)
    os.remove(evil)
    if not plans():  # the good one was done with
        break
q = run_on(ROME, "even", CYCLADE, "monitor", *SYSROOT, "--restore", SIM_MSR=r.path)
t.ok(q.returncode == 0 and not r.changed() and not plans(), "--restore gives registers their old values", (r.changed(), r.log()[-5:], q.stderr))
t.done()

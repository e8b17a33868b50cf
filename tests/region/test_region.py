#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libcyclade as a program meets it: its header and names, the examples, counts on the simulated machine against
read(2) and against what was planted, and what becomes of them in signals, forks, threads and aborts."""
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from regions import nested  # noqa: E402
from sim import planted  # noqa: E402
from tap import ROOT, SANITIZED, Bars, Tap  # noqa: E402

SIM = os.path.join(ROOT, "tests", "sim")
PROBE = os.environ["PROBE"]
EXAMPLES = os.environ["EXAMPLES"]
LIBRARY = os.environ["LIBCYCLADE"]
SEEDS = 60 if os.environ.get("CYCLADE_LONG") else 10
LEVEL_1 = ("frontend_bound", "bad_speculation", "backend_bound", "retiring")
t = Tap()
tmp = tempfile.TemporaryDirectory()
trees = {}


def sim(machine, scenario, *cmd, rdpmc="0", **env):
    """A program of libcyclade on the simulated machine; rdpmc None: it is not allowed."""
    if machine not in trees:
        trees[machine] = os.path.join(tmp.name, machine)
        os.mkdir(trees[machine])
        subprocess.run(["python3", os.path.join(SIM, "tools", "tree.py"),
                        os.path.join(SIM, "machines", machine + ".tab"), trees[machine]], check=True)
    e = dict(os.environ, SIM_TREE=trees[machine], CYCLADE_SYSROOT=trees[machine], LC_ALL="C", **env)
    if rdpmc is not None:
        e["SIM_RDPMC"] = rdpmc
    return subprocess.run([os.path.join(SIM, "run.sh"), machine, scenario, "--", *cmd], env=e, text=True,
                          capture_output=True, timeout=600, stdin=subprocess.DEVNULL)


def read_report(text):
    """What probe printed: its own numbers, and the report."""
    own, _, report = text.partition("{")
    words = own.split()
    return dict(zip(words[::2], map(float, words[1::2]))), json.loads("{" + report)


def regions(report):
    return {r["region"]: r for r in nested(report)}


def values(region):
    return {m["metric"]: m for m in region["metrics"]}


def probe(machine, what, seconds, scenario="even", **kw):
    run = sim(machine, scenario, PROBE, what, str(seconds), **kw)
    if run.returncode:
        t.ok(False, "%s %s runs" % (machine, what), run.stdout + run.stderr)
        return {}, None
    return read_report(run.stdout)


# ---- names and header --------------------------------------------------------------------------

def test_abi():
    if not shutil.which("nm"):
        t.skip("exported names", "no nm")
        return
    out = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True).stdout
    names = sorted(line.split()[2] for line in out.splitlines() if line.split()[1] == "T")
    with open(os.path.join(HERE, "cyclade.abi"), encoding="utf-8") as f:
        t.equal(names, f.read().split(), "the library exports what it promised, and nothing else")


FOREIGN = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.cyclade_handle.restype = ctypes.c_void_p
s = ctypes.c_void_p()
assert not lib.cyclade_open(ctypes.byref(s), None, None)
r = ctypes.c_void_p(lib.cyclade_handle(s, b"foreign"))
for _ in range(7):
    lib.cyclade_begin(r)
    lib.cyclade_end(r)
class Value(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), *((x, ctypes.c_double) for x in ("value", "error", "counted")), ("why", ctypes.c_int)]
v = Value(size=ctypes.sizeof(Value))
assert not lib.cyclade_read(s, b"foreign", b"runs", ctypes.c_long(-1), ctypes.byref(v))
print(v.value)
lib.cyclade_close(s)
"""


def test_foreign():
    """Callers that cannot use the header's inline functions find them in the library."""
    if SANITIZED:
        t.skip("begin and end by name", "a sanitizer's library wants to be preloaded first")
        return
    run = subprocess.run([sys.executable, "-c", FOREIGN, LIBRARY], capture_output=True, text=True)
    t.equal((run.stdout, run.stderr), ("7.0\n", ""), "begin and end by name")


def test_header():
    body = """#include "cyclade.h"
#include "cyclade.h"
int main(void)
{
	struct cyclade_set *set;
	if (cyclade_open(&set, NULL, NULL))
		return 1;
	{
		CYCLADE_SCOPE(set, "a");
		{
			CYCLADE_SCOPE(set, "b");
		}
	}
	cyclade_close(set);
	return 0;
}
"""
    for compiler, language, standard in (("gcc", "c", "c11"), ("clang", "c", "c11"), ("g++", "c++", "c++17"),
                                         ("clang++", "c++", "c++17")):
        name = "the header compiles alone: %s, %s" % (compiler, standard)
        if not shutil.which(compiler):
            t.skip(name, "no " + compiler)
            continue
        run = subprocess.run([compiler, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror",
                              "-I", os.path.join(ROOT, "include"), "-fsyntax-only", "-x" + language, "-"],
                             input=body, capture_output=True, text=True)
        t.ok(not run.returncode, name, run.stderr)


def test_static():
    archive = os.environ.get("LIBCYCLADE_A", "")
    if not os.path.exists(archive) or SANITIZED or not shutil.which("pkg-config"):
        t.skip("the static library", "not built, or built with a sanitizer, or no pkg-config")
        return
    out = subprocess.run(["nm", archive], capture_output=True, text=True).stdout
    names = sorted(f[2] for f in (line.split() for line in out.splitlines()) if len(f) == 3 and f[1].isupper())
    with open(os.path.join(HERE, "cyclade.abi"), encoding="utf-8") as f:
        t.equal(names, [x.split("@")[0] for x in f.read().split()], "no other name of the archive is global")
    flags = subprocess.run(["pkg-config", "--static", "--libs", "cyclade"], capture_output=True, text=True,
                           env=dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(archive))).stdout.split()
    program = os.path.join(tmp.name, "static")
    run = subprocess.run(["gcc", "-std=c11", "-I", os.path.join(ROOT, "include"), os.path.join(ROOT, "examples", "workers.c"),
                          archive, *(x for x in flags if x != "-lcyclade"), "-o", program], capture_output=True, text=True)
    shared = subprocess.run(["pkg-config", "--cflags", "--libs", "cyclade"], capture_output=True, text=True,
                            env=dict(os.environ, PKG_CONFIG_LIBDIR=os.path.dirname(archive), PKG_CONFIG_PATH=""))
    t.ok(shared.stdout.split()[-1:] == ["-lcyclade"], "the shared library needs no other package", shared.stdout + shared.stderr)
    t.ok("-lcyclade" in flags and not run.returncode, "pkg-config says what the archive needs", run.stderr)
    run = subprocess.run([program], capture_output=True, text=True)
    t.ok(not run.returncode and "200 runs" in run.stdout, "a program with the archive in it runs", run.stdout + run.stderr)


def test_make():
    """Plain `make` builds what the links of the shared library point to."""
    if not shutil.which("ninja"):
        t.skip("make builds the library", "no ninja")
        return
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as f:
        wanted = next(line for line in f if "ninja -C" in line).split("ninja -C $(BUILD)")[1].split(";")[0].split()
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(LIBRARY))))
    out = subprocess.run(["ninja", "-C", build, "-t", "query", *wanted], capture_output=True, text=True)
    name = os.path.join("src", "region", os.path.basename(os.path.realpath(LIBRARY)))
    t.ok(name in out.stdout.replace("|", " ").split(), "make builds the library", "%s\n%s" % (wanted, out.stderr))


# ---- examples ----------------------------------------------------------------------------------

def test_examples():
    for name in ("stages", "shapes", "workers"):
        path = os.path.join(EXAMPLES, "example_" + name)
        if not os.path.exists(path):
            t.skip("example %s" % name, "not built: no C++ compiler")
            continue
        # an empty tree is a machine without a PMU
        empty = os.path.join(tmp.name, "empty")
        os.makedirs(empty, exist_ok=True)
        run = subprocess.run([path], env=dict(os.environ, CYCLADE_SYSROOT=empty), capture_output=True, text=True)
        t.ok(not run.returncode and "not measured: " in run.stdout and " runs " in run.stdout,
             "example %s without a PMU" % name, run.stdout + run.stderr)
        if not SIMULATED:
            continue
        run = sim("spr", "even", path)
        t.ok(not run.returncode and "counted by rdpmc" in run.stdout and "ipc" in run.stdout and
             "not measured" not in run.stdout, "example %s on a simulated machine" % name, run.stdout + run.stderr)


# ---- counts ------------------------------------------------------------------------------------

def test_against_read():
    for machine in ("spr", "zen4", "skl"):
        # from 0; come round early; an offset below 0 and one above
        for start in ("0", "0xffffffff0000", "0x7fffffff0000", "0x800000001000"):
            own, report = probe(machine, "against", 0.04, rdpmc=start)
            if not report:
                continue
            work = values(regions(report)["work"])
            name = "%s: rdpmc from %s counts what read(2) says" % (machine, start)
            good = report["counted_by"] == "rdpmc" and all(
                own[e + "_inside"] <= work[e]["value"] <= own[e + "_outside"] for e in ("cycles", "instructions"))
            t.ok(good, name, "%s\n%s" % (own, work))
    own, report = probe("spr", "against", 0.04, rdpmc=None)
    if report:
        work = values(regions(report)["work"])
        t.ok(report["counted_by"].startswith("read(2): rdpmc is not allowed"), "what is used instead is said, and why",
             report["counted_by"])
        t.ok(all(own[e + "_inside"] <= work[e]["value"] <= own[e + "_outside"] for e in ("cycles", "instructions")),
             "without rdpmc counts are read(2)'s", "%s\n%s" % (own, work))


def check_shares(name, region, want, slack):
    got = values(region)
    bad = []
    for node, share in want.items():
        v = got.get(node.rsplit(".", 1)[-1])
        if not v or v["value"] is None or abs(v["value"] - 100 * share) > (v["value_error"] or 0) + slack:
            bad.append("%s: %s, planted %.2f %%" % (node, v, 100 * share))
    t.ok(want and not bad, name, "\n".join(bad) or "nothing was planted")


def test_metrics():
    began = time.monotonic()
    own, report = probe("spr", "metrics", 2.3)
    if report:
        r = regions(report)
        want = planted("spr", "even")
        took = time.monotonic() - began  # 2.3 s of CPU time
        t.ok(1 <= report["resets"] <= took / 2, "PERF_METRICS is begun anew once in two seconds", "%d in %.1f s" % (report["resets"], took))
        for name in ("work", "whole"):
            check_shares("spr: levels 1 and 2 of region %s" % name, r[name], want, 0.1)
            t.equal(r[name]["lost"], 0, "no run of %s is lost" % name)
        v = values(r["whole"])
        t.ok(abs(own["retiring"] * 100 - v["retiring"]["value"]) < 1e-6 and
             abs(own["retiring_error"] * 100 - v["retiring"]["value_error"]) < 1e-6 and
             abs(own["IPC"] - v["ipc"]["value"]) < 1e-6, "cyclade_read says what the report says", "%s %s" % (own, v))
        # a value for the whole is not much blurred by 8 bits
        t.ok(values(r["whole"])["retiring"]["value_error"] < 0.5, "the error bar is small where the slots are many",
             values(r["whole"])["retiring"])
    for machine in ("icl", "ivb", "zen4"):
        own, report = probe(machine, "metrics", 0.25, PROBE_METRICS="ipc,topdown")
        if report:
            want = {k: v for k, v in planted(machine, "even").items() if k in LEVEL_1}
            check_shares("%s: level 1" % machine, regions(report)["whole"], want, 0.3)


def true_values(path, machine):
    """{event: what it came to} while the program's counters were open."""
    with open(path, encoding="utf-8") as f:
        return {w[1]: float(w[9]) for w in (line.split() for line in f) if float(w[6]) > 1e7}


def test_phases():
    """Phases of 20 to 90 ms, a region of 0.3 s whose groups take turns: what fixed counters count is exact, shares hold
    the truth within their bars, and counts say that they have none."""
    held = {n: Bars(SEEDS, 60) for n in ("frontend_bound", "retiring", "fetch_latency")}
    exact, full, bars, unmarked, seed = [], [], [], [], -1
    while seed < 60 and any(b.more() for b in held.values()):
        seed += 1
        path = os.path.join(tmp.name, "phases.scn")
        with open(path, "w", encoding="utf-8") as f:
            f.write("phase icache_misses 20-90\nphase fp_vector 20-90\nphase even 20-90\nrepeat\nset seed=%d\n" % seed)
        truth = os.path.join(tmp.name, "truth")
        if os.path.exists(truth):
            os.remove(truth)
        own, report = probe("skl", "metrics", 0.3, scenario=path, SIM_TRUTH=truth,
                            PROBE_METRICS="ipc,topdown.l2,instructions,cycles,branches")
        if not report:
            return
        v, n = values(regions(report)["whole"]), true_values(truth, "skl")
        slots = 4 * n["CPU_CLK_UNHALTED.THREAD"]
        ipc = n["INST_RETIRED.ANY"] / n["CPU_CLK_UNHALTED.THREAD"]
        # the truth is that of a time a little longer than the region; instructions per cycle differ threefold in it
        more = max(0, 1 - v["cycles"]["value"] / n["CPU_CLK_UNHALTED.THREAD"])
        exact += [abs(v["ipc"]["value"] / ipc - 1) - 3 * more,
                  abs(v["instructions"]["value"] / v["cycles"]["value"] / ipc - 1) - 3 * more]
        want = {"frontend_bound": n["IDQ_UOPS_NOT_DELIVERED.CORE"] / slots, "retiring": n["UOPS_RETIRED.RETIRE_SLOTS"] / slots,
                "fetch_latency": 4 * n["IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE"] / slots}
        for node, share in want.items():
            got = v[node]
            if got["value_error"] is not None:  # on a busy machine a group may have too few turns for a figure
                held[node].add(abs(got["value"] - 100 * share) <= got["value_error"] + 100 * more)
            bars.append("%s %s +- %s, true %.1f" % (node, got["value"], got["value_error"], 100 * share))
        full += [v[x]["counted"] for x in ("ipc", "instructions", "cycles")]
        b = v["branches"]
        if b["counted"] < 0.9 and not (b["value_why"] and b["value_error"] is None):
            unmarked.append(b)
    t.ok(exact and max(exact) < 0.005 and min(full) > 0.999, "ipc, instructions and cycles are counted all the time", "%s\n%s" % (exact, full))
    t.ok(all(b.good() for b in held.values()), "shares hold the truth: %s" % ", ".join("%s %s" % x for x in held.items()), "\n".join(bars))
    t.ok(not unmarked, "a count without a bar says so", unmarked)
    run = sim("skl", path, PROBE, "metrics", "0.3", PROBE_METRICS="ipc,topdown.l2,branches", SIM_CLOCK="0")
    t.ok("read(2): the kernel does not give the time" in run.stdout, "no time from the kernel's pages: read(2)", run.stdout[:300])
    run = sim("skl", path, PROBE, "metrics", "0.3", PROBE_METRICS="ipc,topdown.l2,branches", PROBE_TEXT="1")
    t.ok("+-?" in run.stdout and "took turns" in run.stdout and re.search(r" \+-\d", run.stdout), "so does the text", run.stdout + run.stderr)


def test_names_twice():
    """What is asked for by another name shares a counter: one group, and rdpmc."""
    own, report = probe("spr", "metrics", 0.2, PROBE_METRICS=" ipc, topdown ,instructions,cycles, INST_RETIRED.ANY")
    if report:
        v = values(regions(report)["whole"])
        t.equal(report["counted_by"], "rdpmc", "names of events that are there take no further group")
        t.ok(v["instructions"]["value"] == v["INST_RETIRED.ANY"]["value"] > 1e6 and
             abs(v["instructions"]["value"] / v["cycles"]["value"] / v["ipc"]["value"] - 1) < 1e-9, "and count the same", v)


def test_turns():
    own, report = probe("zen4", "metrics", 0.3, PROBE_METRICS="ipc,topdown.l2")
    if report:
        r = regions(report)["whole"]
        v = values(r)["retiring"]
        t.ok(v["counted"] < 0.97 and v["value_error"] and abs(v["value"] - 30) < 1,
             "groups that take turns: extrapolated, with a bar", v)
    own, report = probe("adl", "metrics", 0.2, PROBE_METRICS="ipc,topdown")
    if report:
        t.ok(report["counted_by"].startswith("read(2): cores differ"), "no rdpmc where cores differ", report)
        names = [m.get("cores") for m in regions(report)["whole"]["metrics"]]
        t.ok("cpu_core" in names and "cpu_atom" in names, "each kind of core is told", names)


# ---- what happens to programs ------------------------------------------------------------------

def test_hybrid():
    scenario = os.path.join(tmp.name, "both.scn")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write("phase even 30 on=cpu_core\nphase even 30 on=cpu_atom\nrepeat\n")
    own, report = probe("adl", "metrics", 0.6, scenario=scenario, PROBE_METRICS="ipc,topdown,cycles")
    if not report:
        return
    cores = {}
    for m in regions(report)["whole"]["metrics"]:
        cores.setdefault(m["cores"], {})[m["metric"]] = m
    bad = [(core, node, v.get(node)) for core, v in cores.items() for node, share in
           (("frontend_bound", 20), ("bad_speculation", 10), ("backend_bound", 40), ("retiring", 30))
           if abs((v.get(node) or {}).get("value", 0) - share) > 0.7]
    t.ok(set(cores) == {"cpu_core", "cpu_atom"} and not bad, "a region that ran on both kinds of cores has a tree of each",
         bad or cores)
    t.ok(0.2 < cores["cpu_core"]["retiring"]["counted"] < 0.8 and all("cycles" in v for v in cores.values()),
         "and says how much of its time it was there", cores)


def test_signals():
    own, report = probe("spr", "signals", 0.3)
    if not report:
        return
    r = regions(report)
    work, handler = r["work"], r["handler"]
    t.ok(handler["runs"] > 50 and work["runs"] > 100, "signals come while regions run", r)
    t.ok(not work["foreign"] and work["lost"] + handler["lost"] < 5 + 0.02 * handler["runs"], "runs in between are counted", r)
    ipc = values(work)["instructions"]["value"] / values(work)["cycles"]["value"]
    own, plain = probe("spr", "against", 0.05)
    w = values(regions(plain)["work"])
    t.ok(abs(ipc - w["instructions"]["value"] / w["cycles"]["value"]) < 0.02, "and counted right", ipc)


def test_fork_and_threads():
    own, report = probe("spr", "forks", 0.2)
    if report:
        work = regions(report)["work"]
        t.equal(own["child"], 0, "the child goes on, and knows that it does not count")
        t.equal(work["runs"], 1, "its runs are not the parent's")
        t.ok(values(work)["cycles"]["value"] > 1e7, "the parent counts on", work)
    own, report = probe("spr", "threads", 0.05)
    if report:
        r = regions(report)["thread"]
        t.equal((r["runs"], r["threads"], len(r["by_thread"])), (5, 5, 5), "threads that ended are in the report")
        total = sum(values(x)["cycles"]["value"] for x in r["by_thread"])
        t.ok(abs(total - values(r)["cycles"]["value"]) < 1 and total > 1e7, "and sum up", r)


SIMULATED = not SANITIZED and platform.machine() == "x86_64"
test_abi()
test_foreign()
test_header()
test_static()
test_make()
test_examples()
if SIMULATED:
    test_against_read()
    test_metrics()
    test_turns()
    test_phases()
    test_names_twice()
    test_hybrid()
    test_signals()
    test_fork_and_threads()
else:
    t.skip("counts on the simulated machine", "sanitizers take the signal and the place that its library needs")
t.done()

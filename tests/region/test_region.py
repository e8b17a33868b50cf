#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libcyclade as a program meets it: its header and names, the examples, counts on the simulated machine against
read(2) and against what was planted, and what becomes of them in signals, forks, threads and aborts."""
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from sim import planted  # noqa: E402
from tap import ROOT, SANITIZED, Tap  # noqa: E402

SIM = os.path.join(ROOT, "tests", "sim")
PROBE = os.environ["PROBE"]
EXAMPLES = os.environ["EXAMPLES"]
LIBRARY = os.environ["LIBCYCLADE"]
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
                          capture_output=True, timeout=120, stdin=subprocess.DEVNULL)


def read_report(text):
    """What probe printed: its own numbers, and the report."""
    own, _, report = text.partition("{")
    words = own.split()
    return dict(zip(words[::2], map(float, words[1::2]))), json.loads("{" + report)


def regions(report):
    return {r["name"]: r for r in report["regions"]}


def values(region):
    return {m["name"]: m for m in region["metrics"]}


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
    t.ok("-lcyclade" in flags and not run.returncode, "pkg-config says what the archive needs", run.stderr)
    run = subprocess.run([program], capture_output=True, text=True)
    t.ok(not run.returncode and "200 runs" in run.stdout, "a program with the archive in it runs", run.stdout + run.stderr)


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
            own, report = probe(machine, "against", 0.1, rdpmc=start)
            if not report:
                continue
            work = values(regions(report)["work"])
            name = "%s: rdpmc from %s counts what read(2) says" % (machine, start)
            good = report["counted_by"] == "rdpmc" and all(
                own[e + "_inside"] <= work[e]["value"] <= own[e + "_outside"] for e in ("cycles", "instructions"))
            t.ok(good, name, "%s\n%s" % (own, work))
    own, report = probe("spr", "against", 0.1, rdpmc=None)
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
        if not v or v["value"] is None or abs(v["value"] - 100 * share) > (v["error"] or 0) + slack:
            bad.append("%s: %s, planted %.2f %%" % (node, v, 100 * share))
    t.ok(want and not bad, name, "\n".join(bad) or "nothing was planted")


def test_metrics():
    own, report = probe("spr", "metrics", 5)
    if report:
        r = regions(report)
        want = planted("spr", "even")
        t.ok(report["resets"] in (1, 2), "PERF_METRICS is begun anew once in two seconds", str(report["resets"]))
        for name in ("work", "whole"):
            check_shares("spr: levels 1 and 2 of region %s" % name, r[name], want, 0.1)
            t.equal(r[name]["lost"], 0, "no run of %s is lost" % name)
        v = values(r["whole"])
        t.ok(abs(own["retiring"] * 100 - v["retiring"]["value"]) < 1e-6 and
             abs(own["retiring_error"] * 100 - v["retiring"]["error"]) < 1e-6 and
             abs(own["IPC"] - v["ipc"]["value"]) < 1e-6, "cyclade_read says what the report says", "%s %s" % (own, v))
        # a value for the whole is not much blurred by 8 bits
        t.ok(values(r["whole"])["retiring"]["error"] < 0.5, "the error bar is small where the slots are many",
             values(r["whole"])["retiring"])
    for machine in ("icl", "ivb", "zen4"):
        own, report = probe(machine, "metrics", 0.5, PROBE_METRICS="ipc,topdown")
        if report:
            want = {k: v for k, v in planted(machine, "even").items() if k in LEVEL_1}
            check_shares("%s: level 1" % machine, regions(report)["whole"], want, 0.3)


def test_turns():
    own, report = probe("zen4", "metrics", 0.5, PROBE_METRICS="ipc,topdown.l2")
    if report:
        r = regions(report)["whole"]
        v = values(r)["retiring"]
        t.ok(v["counted"] < 0.97 and v["error"] is None and abs(v["value"] - 30) < 1,
             "groups that take turns: extrapolated, and it is said", v)
    own, report = probe("adl", "metrics", 0.3, PROBE_METRICS="ipc,topdown")
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
    cores, at = {}, None
    for m in regions(report)["whole"]["metrics"]:
        if "cores" in m:
            at = m["cores"]
        else:
            cores.setdefault(at, {})[m["name"]] = m
    bad = [(core, node, v.get(node)) for core, v in cores.items() for node, share in
           (("frontend_bound", 20), ("bad_speculation", 10), ("backend_bound", 40), ("retiring", 30))
           if abs((v.get(node) or {}).get("value", 0) - share) > 0.7]
    t.ok(set(cores) == {"cpu_core", "cpu_atom"} and not bad, "a region that ran on both kinds of cores has a tree of each",
         bad or cores)
    last = cores["cpu_atom"] if at == "cpu_atom" else cores["cpu_core"]
    t.ok(0.2 < cores["cpu_core"]["retiring"]["counted"] < 0.8 and "cycles on cpu_core" in last,
         "and says how much of its time it was there", last)


def test_signals():
    own, report = probe("spr", "signals", 0.5)
    if not report:
        return
    r = regions(report)
    work, handler = r["work"], r["handler"]
    t.ok(handler["runs"] > 50 and work["runs"] > 100, "signals come while regions run", r)
    t.ok(not work["foreign"] and work["lost"] + handler["lost"] < 5, "runs in between are counted", r)
    ipc = values(work)["instructions"]["value"] / values(work)["cycles"]["value"]
    own, plain = probe("spr", "against", 0.1)
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
test_header()
test_static()
test_examples()
if SIMULATED:
    test_against_read()
    test_metrics()
    test_turns()
    test_hybrid()
    test_signals()
    test_fork_and_threads()
else:
    t.skip("counts on the simulated machine", "sanitizers take the signal and the place that its library needs")
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""calls as a person meets it: tables, formats, graphs, what is refused. The recordings are written here, so that every
number is known beforehand; names come from KSYMBOL records and are as hostile as names can be."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from calls_made import ANY, CALL, RET, STACK, make  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)

EVIL = [b'e"];x[label="<script>alert(1)</script>', b"a&lt;b&#62;\\N", b"br\\l\xff\xc3\xa9"]
NAMES = [b"main", b"hot", b"leaf", *EVIL, b"twin_a", b"twin_b"]
plain = make("plain.data", NAMES, [[((2, 9), (1, 5), RET, 0), ((1, 90), (0, 20), RET, 1), ((3 + i % 3, 8), (0, 30), RET, 0),
                                    ((2, 9), (1, 5), RET, 0)] for i in range(480)])

# ---- what is counted -------------------------------------------------------------------------------------

r = run("calls", plain, "-j")
j = json.loads(r.stdout)
names = [f["function"] for f in j["functions"]]
edges = {(e["caller"], e["callee"]): e for e in j["edges"]}
t.equal((j["schema"], j["by"], j["scaled"]), ("cyclade.calls/2", "returns", True), "json: what it is")
t.equal({k: round(e["calls"]) for k, e in edges.items() if k[1] in ("hot", "leaf")},
        {("main", "hot"): 48000, ("hot", "leaf"): 96000}, "edges are as many as were made up")
t.equal(edges["main", "hot"]["mispredicted"], 480, "their mispredicts")
t.equal(edges["hot", "leaf"]["sites"], 1, "their sites")
t.equal(round(j["calls"]), 192000, "all calls")
t.equal([round(f["called"]) for f in j["functions"] if f["function"] == "leaf"], [96000], "how often leaf was called")
t.equal(names[0], "leaf", "most called first")
t.ok(all(e["calls_error"] < 1e-6 for k, e in edges.items() if k[1] in ("hot", "leaf")), "groups that agree have no error",
     [e["calls_error"] for e in j["edges"]])
t.equal(j["unattributed"]["no_code"], 4 * 480, "calls that could not be looked at are told")

r = run("calls", plain, "--format", "csv")
rows = list(csv.DictReader(io.StringIO(r.stdout, newline="")))
t.equal((len(rows), rows[0]["caller"], rows[0]["callee"], float(rows[0]["calls"])), (5, "hot", "leaf", 96000.0), "csv")
t.ok("\xff" not in r.stdout and "\\xff" in r.stdout, "csv: names are fit to be shown")
t.ok("no_code: 1920 (" in r.stderr, "csv: what it has no place for is said", r.stderr)
r = run("calls", plain, "--format", "csv", "--table", "unattributed")
t.equal(list(csv.DictReader(io.StringIO(r.stdout)))[0], {k: str(v) for k, v in j["unattributed"].items()}, "csv: the same table as in json")
rows = list(csv.DictReader(io.StringIO(run("calls", plain, "--format", "csv", "--table", "functions").stdout)))
t.equal([(x["function"], x["address"], float(x["called"])) for x in rows if x["address"]],
        [(f["function"].replace("\ufffd", "\\xff"), f["address"], f["called"]) for f in j["functions"] if f["address"]], "csv: functions as in json")

# ---- for people --------------------------------------------------------------------------------------------

env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE")}
r = run("calls", plain, env=dict(env, COLUMNS="80", LC_ALL="C.UTF-8"))
t.equal(r.returncode, 0, "the screen")
t.ok(re.search(r"^ +50\.0 % +96,000 \+-0\.0 % +1  leaf ", r.stdout, re.M), "leaf with share, count, error, callers", r.stdout)
t.ok(re.search(r"^ +25\.0 % +48,000 \+-0\.0 % +100\.0 % +1 +main +hot$", r.stdout, re.M), "an edge with mispredicts", r.stdout)
t.ok(all(len(x) <= 80 for x in r.stdout.splitlines() if "next:" not in x and "cyclade" not in x), "80 columns",
     [x for x in r.stdout.splitlines() if len(x) > 80])
for words in ("told by", "samples", "not looked at", "lost", "next: cyclade calls -i plain.data leaf"):
    t.ok(words in r.stdout, "it says: " + words, r.stdout)
r = run("calls", plain, "hot", env=dict(env, COLUMNS="80", LC_ALL="C.UTF-8"))
t.ok(re.search(r"called by.*\n.*100\.0 % .*main", r.stdout) and re.search(r" calls  .*\n.*100\.0 % .*leaf", r.stdout),
     "one function: callers above callees", r.stdout)
r = run("calls", plain, "--format", "markdown")
t.ok("<script" not in r.stdout and "| 50.0 % | 96,000" in r.stdout, "markdown", r.stdout)
r = run("calls", plain, "main", "-q")
t.ok("next:" not in r.stdout and "none in the recording" in r.stdout, "a function nobody calls; -q", r.stdout)

late = make("late.data", NAMES, [[((2, 9), (1, 5), RET, 0), ((1, 90), (0, 20), RET, 1)]] * 40, precise=0)
r = run("calls", late, env=dict(env, COLUMNS="80", LC_ALL="C.UTF-8"))
t.ok("+-?~" in r.stdout and not re.search(r"\+-[\d.]", r.stdout), "late samples: no figure has an error bar", r.stdout)
t.ok("no error bar: the event is not precise" in " ".join(r.stdout.split()), "late samples: why", r.stdout)
for how in ("markdown", "svg", "dot"):
    r = run("calls", late, "--format", how)
    t.ok(r.returncode == 0 and "nan" not in r.stdout and not re.search(r"(\+-|±)[\d.]", r.stdout), "late samples, no error bars: " + how, r.stdout)
for arch, marked in ((b"aarch64", True), (b"armv7l", True), (b"x86_64", False)):
    said = run("calls", make("arch.data", NAMES, [[((2, 9), (1, 5), RET, 0), ((1, 90), (0, 20), RET, 1)]] * 40, arch=arch),
               env=dict(env, COLUMNS="80", LC_ALL="C.UTF-8")).stdout
    t.equal("the event is not precise" in " ".join(said.split()), marked, "precise_ip 2 of %s: %s" % (
        arch.decode(), "late samples all the same" if marked else "believed"))
j = json.loads(run("calls", late, "-j").stdout)
WHY = "late by an unknown number of cycles"
t.ok(j["edges"] and all(e["leans"] and e["calls"] > 0 and e["calls_error"] is None and WHY in e["why"] for e in j["edges"]),
     "late samples: edges of json have no error, and the reason", j["edges"])
t.ok(j["calls_error"] is None and WHY in j["calls_why"], "late samples: nor has the sum", j)
called = [f for f in j["functions"] if f["called"]]
t.ok(called and all(f["called_error"] is None and WHY in f["why"] for f in called), "late samples: nor have functions", called)
rows = list(csv.DictReader(io.StringIO(run("calls", late, "--format", "csv").stdout)))
t.ok(rows and all(x["calls_error"] == "" and WHY in x["why"] for x in rows), "late samples: nor have rows of csv", rows)
t.ok(all(e["why"] is None and e["calls_error"] is not None for e in json.loads(run("calls", plain, "-j").stdout)["edges"]),
     "precise samples: errors as ever")

# ---- which function ------------------------------------------------------------------------------------------

twins = make("twins.data", NAMES, [[((6, 9), (0, 5), RET, 0), ((7, 9), (0, 5), RET, 0)]] * 8)
r = run("calls", twins, "twin")
t.ok(r.returncode == 2 and "may mean 2 functions" in r.stderr and "twin_a" in r.stderr and not r.stdout, "a name of two", r.stderr)
r = run("calls", twins, "nobody")
t.ok(r.returncode == 2 and "no function 'nobody'" in r.stderr, "a name of none", r.stderr)

# ---- what is refused ----------------------------------------------------------------------------------------

r = run("calls", make("none.data", NAMES, [[]] * 3, branches=False))
t.ok(r.returncode == 2 and "no branch stacks" in r.stderr and "--branch-filter any_ret" in r.stderr, "no branch stacks", r.stderr)
r = run("calls", make("stack.data", NAMES, [[((1, 1), (2, 0), 0, 0)]] * 3, filter_=STACK))
t.ok(r.returncode == 2 and "call-stack mode" in r.stderr and "record -b" in r.stderr, "call-stack mode", r.stderr)
r = run("calls", plain, "--format", "folded")
t.ok(r.returncode == 2 and "svg" in r.stderr, "a format that it has not", r.stderr)
r = run("calls", plain, "a", "b")
t.equal(r.returncode, 2, "too many words")
for words, what in ((("any_rte",), "did you mean any_ret"), (("u,foo",), "'foo'")):
    r = run("record", "--branch-filter", *words, "--", "true")
    t.ok(r.returncode in (2, 125) and what in r.stderr, "record --branch-filter %s" % words, r.stderr)

unknown = make("unknown.data", NAMES, [[((0, 9), (1, 7), 0, 0)]] * 3, filter_=ANY)
r = run("calls", unknown)
t.ok("nothing tells which" in r.stdout and "3 of 3 branches" in r.stdout, "branches that nothing is known of", r.stdout)
r = run("calls", unknown, "--format", "dot")
t.ok(r.returncode == 2 and "no calls to be drawn" in r.stderr, "no graph of nothing", r.stderr)

# ---- an event that counts something else -----------------------------------------------------------------------

cycles = make("cycles.data", NAMES, [[((0, 9), (1, 0), CALL, 0), ((1, 9), (2, 0), CALL, 0)]] * 32, filter_=ANY, config=0x3c)
j = json.loads(run("calls", cycles, "-j").stdout)
t.equal((j["by"], j["scaled"]), ("calls", False), "cycles: not scaled")
r = run("calls", cycles)
t.ok("shares only" in r.stdout and "called error" not in r.stdout, "shares only are shown", r.stdout)
rows = list(csv.DictReader(io.StringIO(run("calls", cycles, "--format", "csv").stdout, newline="")))
t.equal([x["calls"] for x in rows], ["", ""], "csv: what is not known is empty")

# ---- tail calls: leaf is entered by jumps of hot alone, and more often than hot -----------------------------------

NEAR_TAKEN, JUMP = 0x20c4, 2
tails = make("tails.data", NAMES, [[((1, 9), (2, 0), JUMP, 0), ((0, 9), (1, 0), CALL, 0), ((1, 9), (2, 0), JUMP, 0)]] * 480,
             filter_=ANY, config=NEAR_TAKEN)
j = json.loads(run("calls", tails, "-j").stdout)
per = 480 * 400 / 3  # the event counts what is recorded: each entry stands for a third of a sample's period
by_name = {f["function"]: f for f in j["functions"]}
t.equal([(round(by_name[f]["called"]), round(by_name[f]["tailed"])) for f in ("leaf", "hot")],
        [(0, round(2 * per)), (round(per), 0)], "tail calls are counted apart")
lines = run("calls", tails, env=dict(os.environ, COLUMNS="80")).stdout.splitlines()
head = [x for x in lines if x.endswith(" of") and "function" in x][0]
row = [x for x in lines if " leaf" in x][0]
end = head.index("tailed") + len("tailed")
t.equal(row[:end].split()[-1], "128,000", "what puts a function first is in its row")
t.ok("tailed" not in run("calls", plain).stdout, "no tail calls, no column of them")
t.ok("tail-called 128,000" in run("calls", tails, "--format", "dot").stdout, "and in its box")
md = [x.split("|") for x in run("calls", tails, "--format", "markdown").stdout.splitlines() if "leaf" in x]
t.equal(md[0][3].strip(), "128,000", "and in its line of markdown")

evil = make("evil.data", [b"main", b"=x|\x1b[31m\n\",<b>`*\xff"], [[((1, 9), (0, 5), RET, 0)]] * 40)
tables.walk(t, "calls", "-i", evil)
tables.walk(t, "calls", "-i", plain)
tables.walk(t, "calls", "-i", plain, "hot")
tables.walk(t, "calls", "-i", cycles)

# ---- graphs --------------------------------------------------------------------------------------------------------

DOT = shutil.which("dot")
SVG = "{http://www.w3.org/2000/svg}"
graphs = "no graphs" not in run("--version").stdout


def plain_of(dot):
    """(nodes, edges) as Graphviz' own program reads them"""
    p = subprocess.run([DOT, "-Tplain"], input=dot, capture_output=True, text=True, timeout=600)
    lines = p.stdout.splitlines()
    return (sum(x.startswith("node ") for x in lines), sum(x.startswith("edge ") for x in lines), p.stderr)


dot = run("calls", plain, "--format", "dot").stdout
t.equal(len(re.findall(r"^\tn\d+ -> n\d+ \[", dot, re.M)), 5, "dot: an arrow for each edge")
t.ok("96,000" in dot and "50.0 % of calls" in dot, "dot: counts and shares", dot)
if DOT:
    t.equal(plain_of(dot), (6, 5, ""), "dot: Graphviz reads it without complaint")
else:
    t.skip("dot: Graphviz reads it", "no dot")


LONG = [b"a_namespace_of_many_things::box<%s>::push_back_the_value(int const&)" % x for x in (b"alpha", b"gamma")]
alike = make("alike.data", [b"main", *LONG], [[((1 + i % 2, 9), (0, 5), RET, 0), ((2 - i % 2, 9), (0, 5), RET, 0)] for i in range(80)])
boxes = re.findall(r'^\tn\d+ \[.*?label="([^"\\]*)', run("calls", alike, "--format", "dot").stdout, re.M)
t.ok(len(boxes) >= 3 and len(set(boxes)) == len(boxes), "dot: names that are cut differ", boxes)


def texts(svg):
    return ["".join(x.itertext()).replace("\xa0", " ") for x in ET.fromstring(svg).iter(SVG + "text")]


def harmless(svg, name):
    root = ET.fromstring(svg)
    bad = [x.tag for x in root.iter() if x.tag.rsplit("}", 1)[-1] in ("script", "foreignObject", "image", "use")]
    bad += [a for x in root.iter() for a, v in x.attrib.items() if a.lower().startswith("on") or "script:" in v or "//" in v]
    t.ok(not bad and "<!DOCTYPE" not in svg, name + ": nothing in it runs or is fetched", bad)


if graphs:
    r = run("calls", plain, "--format", "svg")
    t.ok(r.returncode == 0 and re.fullmatch(r"cyclade: no_code: 1920 \(.*\)\n", r.stderr), "svg, what it has no place for is said",
         r.stderr)
    svg = r.stdout
    shown = texts(svg)
    for want in ("main", "hot", "leaf", 'e"];x[label="<script>', "a\\x26lt;b\\x26#62;\\N", "br\\l\\xff\xe9"):
        t.ok(any(x.startswith(want) for x in shown), "svg shows " + ascii(want), shown)
    t.ok("called 96,000 +-0.0 %" in shown and "96,000" in [x.strip() for x in shown], "svg: counts", shown)
    harmless(svg, "svg")
    t.equal(run("calls", plain, "--format", "svg").stdout, svg, "the same recording gives the same bytes")
    run("calls", plain, "--format", "svg", "-o", "out.svg")
    t.equal(open("out.svg", encoding="utf-8").read(), svg, "-o")
    r = run("calls", plain, "hot", "--format", "svg")
    t.ok("callers and callees of hot" in texts(r.stdout) and "leaf" in texts(r.stdout), "one function's graph", texts(r.stdout))
else:
    r = run("calls", plain, "--format", "svg")
    t.ok(r.returncode == 2 and "--format dot" in r.stderr, "without Graphviz dot is named", r.stderr)

strace = shutil.which("strace")
if not strace or SANITIZED or not graphs:
    t.skip("no program is started", "no strace" if not strace else "the sanitizer starts some" if SANITIZED else "no Graphviz")
else:
    p = subprocess.run([strace, "-f", "-e", "trace=execve,fork,vfork,connect", "-o", "log", CYCLADE, "calls", plain, "--format", "svg"],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    log = open("log", encoding="utf-8").read() if os.path.exists("log") else ""
    if "execve" not in log:
        t.skip("no program is started", "strace cannot trace here")
    else:
        calls = re.findall(r"\b(execve|v?fork|connect)\(", log)
        t.equal(calls, ["execve"], "no program is started, and nobody is asked")

# a leaf that everybody calls, and a function that calls everybody
many = [b"malloc", b"all"] + [b"caller_%d" % i for i in range(60)]
crowd = make("crowd.data", many, [[((0, 9), (2 + (i + k) % 60, 5), RET, 0) for k in range(4)] +
                                  [((2 + i % 60, 80), (1, 9), RET, 0)] for i in range(240)])
dot = run("calls", crowd, "--format", "dot").stdout
node = re.search(r'label="malloc\\l.*?"', dot).group(0)
t.ok("52 of 60 callers not drawn" in node, "a leaf with many callers: most are not drawn, and it says so", node)
number = re.search(r'^\t(n\d+) \[label="malloc', dot, re.M).group(1)
t.equal(len(re.findall(r"^\tn\d+ -> %s \[" % number, dot, re.M)), 8, "so few arrows lead there")
dot = run("calls", crowd, "--format", "dot", "--limit", "3").stdout
t.ok(3 <= len(re.findall(r"^\tn\d+ \[", dot, re.M)) <= 12, "--limit", dot)
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --findings: the document, its formats, the headline, and recordings that are made. What programs of many kinds get:
test_planted.py."""
import json
import os
import random
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import account_made  # noqa: E402
import sharing_made  # noqa: E402
import waits_made  # noqa: E402
from tap import KERNEL, PROGS, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-findings-")
os.chdir(tmp)
PAGES = ("time", "functions", "flame", "code", "memory", "compare")
MOST = 8192  # bytes of the document
MACHINE = ("no_cpu", "lost")  # of the machine, which may be busy, not of the program
PLANTED = os.path.join(PROGS, "prog_planted")


def check_document(name, d):
    rows = d["rows"]
    t.ok(len(rows) <= 5 and [r["rank"] for r in rows] == list(range(1, len(rows) + 1)) and
         all(r["page"] in PAGES and r["statement"] and r["command"] and r["share_error"] is not None and
             0 < r["share"] - r["share_error"] for r in rows), name + ": at most five, ranked, each with error, command and page", rows)
    t.ok(d["headline"]["text"], name + ": a headline", d["headline"])
    t.ok(len(json.dumps(d)) <= MOST, name + ": short enough to be read whole", len(json.dumps(d)))
    t.equal(bool(rows), not any("nothing unusual" in n for n in d["notes"]), name + ": nothing unusual is said where there are none")


for name, program, event in (("hot", "hot", "cpu-clock:u"), ("even", "even", "cpu-clock:u")):
    p = run("record", "-q", "-g", "-e", event, "-o", name + ".data", "--", PLANTED, program)
    if p.returncode:
        t.skip(name, "cannot be recorded here: " + p.stderr)
        continue
    d = json.loads(run("report", "--findings", "-j", name + ".data").stdout)
    check_document(name, d)
    t.equal([r["kind"] for r in d["rows"] if r["kind"] not in MACHINE], ["hot_function"] * (name == "hot"), name + ": its findings")

# ---- the formats ---------------------------------------------------------------------------------------------

if os.path.exists("hot.data"):
    p = run("report", "--findings", "hot.data")
    t.ok(re.search(r"^ 1  \d+ % \+-\d+ of the (CPU )?time is in hot_inner\(\)", p.stdout, re.M) and "annotate -i hot.data hot_inner" in p.stdout,
         "people read a sentence and a command", p.stdout + p.stderr)
    p = run("report", "--findings", "--format", "csv", "hot.data")
    t.ok(p.stdout.startswith("rank,kind,share,share_error,statement,function,dso,source,thread,object,command,page\n"), "csv", p.stdout + p.stderr)
    p = run("report", "--findings", "--format", "markdown", "hot.data")
    t.ok("inner" in p.stdout and p.returncode == 0, "markdown", p.stdout + p.stderr)
    d, again = (json.loads(run("report", "--findings", "-j", *x, "hot.data").stdout) for x in ((), ("-e", "cpu-clock:u")))
    t.equal(d["rows"], again["rows"], "the event that leads is that of -e")
    t.ok("has" in d["rows"][0]["statement"], "the statement has the line's part", d["rows"][0])
    at = json.loads(run("report", "-j", "-s", "sym,srcline", "-e", "cpu-clock:u", "hot.data").stdout)["rows"]
    most = max((r for r in at if r["function"] == "hot_inner"), key=lambda r: r["share"])
    t.ok(d["rows"][0]["source"].split(":")[-1] == str(most.get("source") or most.get("srcline") or most.get("line")).split(":")[-1],
         "the line is the one with most of its samples", (d["rows"][0], most))
    functions = {r["function"]: r for r in json.loads(run("report", "-j", "hot.data").stdout)["rows"]}
    row = [r for r in d["rows"] if r["kind"] == "hot_function"][0]
    t.ok(abs(row["share"] - functions["hot_inner"]["share"]) < 1e-9, "its share is that of report", (row, functions.get("hot_inner")))
    p = run("report", "--html", "page.html", "hot.data")
    with open("page.html", encoding="utf-8") as f:
        page = json.loads(re.search(r'class="cyclade-data">(.*?)</script>', f.read(), re.S)[1].replace("\\u003c", "<"))
    first = page["documents"][0]
    t.ok(first["view"] == "findings" and first["schema"] == "cyclade.findings/1", "the first document of the page", first["view"])
    rows = [x for x in first["tables"] if x["name"] == "rows"][0]
    keys = [c["key"] for c in rows["columns"]]
    texts = [page["strings"][r[keys.index("statement")]] for r in rows["rows"]]
    t.equal(texts, [r["statement"] for r in d["rows"]], "with the same findings")
else:
    t.skip("formats", "nothing can be recorded here")

# ---- the time on a CPU is known from samples of all of it alone ----------------------------------------------

head = {}
for name, event in (("all", "cpu-clock"), ("user", "cpu-clock:u")):
    if KERNEL and run("record", "-q", "-e", event, "-o", name + ".data", "--", PLANTED, "sleeping").returncode == 0:
        head[name] = json.loads(run("report", "--findings", "-j", name + ".data").stdout)["headline"]["text"]
if len(head) == 2:
    t.ok("was on a CPU for" in head["all"], "a program that sleeps: its time on a CPU", head)
    notes = [json.loads(run("report", "--findings", "-j", x + ".data").stdout)["notes"] for x in ("all", "user")]
    t.equal([any("was not recorded: cyclade record --wait" in n for n in x) for x in notes], [True, False], "what it waited for was not recorded: known only if all its time is")
    t.ok("on a CPU" not in head["user"], "not from samples without the kernel's", head)
    times = json.loads(run("sql", "--format", "json", "all.data", "SELECT min(time) AS first, max(time) AS last FROM samples").stdout)
    times = (times["rows"] if isinstance(times, dict) else times)[0]
    half = "%.9f,%.9f" % (times["first"] / 1e9, (times["first"] + times["last"]) / 2e9)
    p = run("report", "--findings", "-j", "--time", half, "all.data")
    t.ok(p.returncode == 0 and "on a CPU" not in str(json.loads(p.stdout)["headline"]["text"]), "nor from a part of them", p.stdout + p.stderr)
else:
    t.skip("time on a CPU", "the kernel cannot be recorded here")

# ---- code without names, and interpreters: the command gives the names, or the statement has the switch ------

shutil.copy(os.path.join(PROGS, "prog_made"), "node")
shutil.copy(os.path.join(PROGS, "prog_made"), "plain")
with open("opcache.so", "wb") as f:
    f.write(bytes(4096))
with open("busy.py", "w", encoding="ascii") as f:
    f.write("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end:\n    sum(i * i for i in range(10000))\n")
cases = [("made", ["./node", "200"], "unnamed_code", "node", "NODE_OPTIONS=--perf-basic-prof cyclade record", None),
         ("php", ["./plain", "200", "opcache.so"], "unnamed_code", "PHP", None, "; to name it: php -d opcache.jit_debug=0x10")]
if (3, 11) <= sys.version_info[:2] <= (3, 14):
    cases.append(("python", [sys.executable, "busy.py"], "interpreter", "Python", "cyclade record --python ", None))
else:
    t.skip("interpreter", "no Python 3.11 to 3.14")
for name, program, kind, thing, command, said in cases:
    p = run("record", "-q", "-e", "cpu-clock:u", "-o", name + ".data", "--", *program)
    if p.returncode:
        t.skip(name, "cannot be recorded here: " + p.stderr)
        continue
    rows = json.loads(run("report", "--findings", "-j", name + ".data").stdout)["rows"]
    row = [r for r in rows if r["kind"] == kind and r["object"] == thing][:1]
    t.ok(row and (row[0]["command"].startswith(command) if command else row[0]["command"] is None and row[0]["statement"].endswith(said)),
         name + ": %s, and how its functions get names" % kind, rows)
    step = re.search(r"^ next: (.*?)  ", run("report", "-i", name + ".data", "--no-pager").stdout, re.M)
    t.ok(not command or step and row and step[1] == row[0]["command"], name + ": the command is the next one of report", (step and step[0], row))

# ---- what only counters tell: recordings that are made ------------------------------------------------------------------

def made_account(path, **planted):
    """600 samples of cycles in hot, 200 in cold, and those of `planted`, in hot."""
    m = account_made.Made(os.path.abspath("."))
    for function, n in (("hot", 600), ("cold", 200)):
        for event in ("CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.REF_TSC", "INST_RETIRED.ANY"):
            m.put(function, event, n)
    for event, n in planted.items():
        m.put("hot", event.replace("__", "."), n)
    m.write(path)
    return path


for path, kind, node in ((made_account("dram.data", MEM_LOAD_L3_MISS_RETIRED__LOCAL_DRAM=400, UOPS_RETIRED__STALL_CYCLES=500), "memory", "Local_DRAM"),
                         (made_account("branch.data", BR_MISP_RETIRED__ALL_BRANCHES=240, UOPS_RETIRED__STALL_CYCLES=200), "mispredicts", "Mispredicted")):
    d = json.loads(run("report", "--findings", "-j", path).stdout)
    first = d["rows"][0] if d["rows"] else {}
    t.equal([first.get(k) for k in ("kind", "function", "object")], [kind, "hot", node], "account: " + kind)
    account = {n["node"]: n for n in json.loads(run("report", "--account", "-j", path).stdout)["nodes"]}
    whole, n = account["Cycles"]["value"], account[node]
    t.ok(abs(first["share"] - n["value"] / whole) < 1e-9 and abs(first["share_error"] - n["value_error"] / whole) < 1e-9,
         "its share and error are those of report --account", (first, n))
    t.ok(re.search(r"hot\(\).*; it (waits for memory|mispredicts branches): \d+ points", d["headline"]["text"]), "the headline has the cause", d["headline"])
d = json.loads(run("report", "--findings", "-j", made_account("even.data")).stdout)
t.equal([r["kind"] for r in d["rows"]], ["hot_function"], "account: without lost cycles a function is left")

# ---- names of any length ---------------------------------------------------------------------------------------

LONG = "std::map<" + "int, " * 1200 + "int>::insert(" + "A" * 2000 + ")"
m = account_made.Made(os.path.abspath("."), names=(LONG, "cold", "warm"), cmdline=("cyclade", "record", "--account", "--", *["x" * 90] * 200))
for function, n in ((0, 600), (1, 200)):
    for event in ("CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.REF_TSC", "INST_RETIRED.ANY"):
        m.put(function, event, n)
m.put(0, "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM", 400)
m.put(0, "UOPS_RETIRED.STALL_CYCLES", 500)
m.write("long.data")
p = run("report", "--findings", "-j", "long.data")
d = json.loads(p.stdout)
t.ok(d["rows"] and len(p.stdout) <= MOST, "long names and a long command line: at most 8 kB", len(p.stdout))
t.ok(all("insert(" in r["statement"] and "\u2026" in r["statement"] for r in d["rows"] if r["function"]), "what is cut of a name has a mark", d["rows"])

A, B = sharing_made.PID + 1, sharing_made.PID + 2
rnd = random.Random(2)
program = sharing_made.Program("shared", "long counters[16] __attribute__((aligned(128))); long other[64] __attribute__((aligned(128)));\n"
                               "void worker(void) { counters[0]++; other[0]++; }\nint main(void) { worker(); return 0; }\n")


def accesses(apart):
    """Two threads read and write, each its own of two neighbours, or of two lines."""
    for _ in range(600):
        tid, kind = rnd.choice((A, B)), rnd.choice(("load", "store"))
        far = kind == "load" and not apart and rnd.random() < 0.5
        yield sharing_made.Access(tid, program.at["counters"] + (64 if apart else 8) * (tid == B), kind, ip=program.at["worker"] + 8,
                                  hitm="local" if far else None, weight=200 if far else 5)
        yield sharing_made.Access(A, program.at["other"] + 8 * rnd.randrange(32), "load", ip=program.at["worker"] + 8, weight=5)


for apart, want in ((False, [("false_sharing", "worker", "counters")]), (True, [])):
    sharing_made.write("lines.data", list(accesses(apart)), [program.map(sharing_made.PID)])
    d = json.loads(run("report", "--findings", "-j", "lines.data").stdout)
    t.equal([(r["kind"], r["function"], r["object"]) for r in d["rows"]], want, "cache lines: " + ("each thread has one" if apart else "two threads share one"))

# ---- waits that are made ------------------------------------------------------------------------------------

WAITED = [b"schedule", b"io_schedule", b"ksys_read", b"throttle_cfs_rq_work", b"futex_wait"]


def made_waits(path, chain):
    """Of 20 ms thread 7 runs 5 and waits 15, in five parts."""
    m = waits_made.Made(WAITED)
    m.on(1000, 7)
    for i in range(5):
        m.sample(waits_made.CLOCK, 500000 + i * 4000000, 7)
        m.off(1000000 + i * 4000000, 7, chain=chain)
        m.on(4000000 + i * 4000000, 7)
    m.sample(waits_made.CLOCK, 20000000, 7)
    return m.write(path)


for name, chain, want in (("io", [0, 1, 2], ["io"]), ("quota", [0, 3], ["quota"]), ("others", [0, 4], [])):
    rows = json.loads(run("report", "--findings", "-j", made_waits(name + ".data", chain)).stdout)["rows"]
    t.equal([r["kind"] for r in rows if r["kind"] not in ("hot_function", "kernel")], want, "made waits: " + name)
    t.ok(all(abs(r["share"] - 0.75) < r["share_error"] + 0.001 for r in rows if r["kind"] in want), name + ": three quarters of the time", rows)

shutil.rmtree(tmp)
t.done()

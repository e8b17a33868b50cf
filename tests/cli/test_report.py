#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report as a person meets it: screens, sinks, filters, call trees, streams, exit codes. The recordings are
written here, so that every number is known beforehand; function names come from KSYMBOL records."""
import csv
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from tables import by_event, walk  # noqa: E402
from tap import CYCLADE, Tap, run  # noqa: E402

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
BASE = 0xffffffffc0000000
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)  # short names, so that screens do not depend on where it is


def record(kind, misc, body):
    return gen.Writer("<").record(kind, gen.pad8(body), misc)


def make(name, functions, samples, events=1, chains=False, comms=()):
    """functions: names, 4 KiB each from BASE. samples: (event, tid, function, period[, chain outermost first])."""
    kind = 1 << 16 | 1 | 2 | 4 | 256 | (32 if chains else 0)
    trailer = lambda tid: struct.pack("<IIQQ", tid, tid, 1000, 1)  # noqa: E731
    data = b""
    for i, f in enumerate(functions):
        data += record(gen.KSYMBOL, 1, struct.pack("<QIHH", BASE + i * 4096, 4096, 1, 0) + gen.pad8(f + b"\0") + trailer(0))
    for tid, comm in comms:
        data += record(gen.COMM, 0, struct.pack("<II", tid, tid) + comm.ljust(16, b"\0") + trailer(tid))
    for i, s in enumerate(samples):
        event, tid, f, period = s[:4]
        body = struct.pack("<QQIIQQ", event + 1, BASE + f * 4096 + 16, tid, tid, 2000 + i * 1000000, period)
        if chains:
            ips = [BASE + k * 4096 + 16 for k in reversed(s[4])]
            body += struct.pack("<QQ%dQ" % len(ips), len(ips) + 1, 2**64 - 128, *ips)
        data += record(gen.SAMPLE, 1, body)
    f = gen.File(gen.Writer("<"), [("event", dict(type=1, config=[0, 2, 3][e], period=1000, sample=kind, sample_id_all=1), [e + 1])
                                   for e in range(events)], attr_size=128)
    f.data = data
    with open(name, "wb") as out:
        out.write(f.build(event_desc=False))
    return name


def env(**kw):
    e = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
    e.update(kw)
    return e


def golden(got, name):
    path = os.path.join(GOLDENS, name)
    if os.environ.get("CYCLADE_REWRITE"):
        open(path, "w").write(got)
    t.equal(got, open(path).read() if os.path.exists(path) else "no golden", "the screen %s" % name)


def rows_of(path, *words):
    r = run("report", path, "--format", "csv", *words)
    return list(csv.DictReader(io.StringIO(r.stdout, newline="")))


names = [b"hash_probe", b"parse_row", b"memcpy", b"tiny1", b"tiny2"]
weights = [623, 287, 80, 6, 4]
simple = make("simple.data", names, [(0, 7, f, 1000) for f, n in enumerate(weights) for _ in range(n)],
              comms=[(7, b"join")])

r = run("report", simple, env=env(COLUMNS="80", LC_ALL="C"))
t.equal((r.returncode, r.stderr), (0, ""), "a report")
golden(r.stdout, "report-table")
shares = [float(x) for x in re.findall(r"^ +([\d.]+) % \+-", r.stdout, re.M)]
t.ok(abs(sum(shares) - 100) < 0.3 and len(shares) == 5, "the table closes at 100 %", r.stdout)
t.ok("cyclade annotate -i" in r.stdout, "the screen names the next command", r.stdout)

rows = rows_of(simple)
t.equal([(x["function"], int(x["samples"]), int(x["period"])) for x in rows],
        [(n.decode(), w, w * 1000) for n, w in zip(names, weights)], "csv: every row, hottest first")
info = json.loads(run("info", "-j", simple).stdout)
doc = json.loads(run("report", "-j", simple).stdout)
t.equal(doc["schema"], "cyclade.report/2", "json has a schema")
table = by_event(doc)[0]
t.equal([(x["function"], x["samples"]) for x in table["rows"]], [(x["function"], int(x["samples"])) for x in rows], "json says the same")
told = [(e["samples"], e["period"]) for e in info["events"]] if "period" in info["events"][0] else None
if told:
    t.equal([(table["samples"], table["period"])], told, "the sums are those of info -j")
else:
    t.equal(table["samples"], info["events"][0]["samples"], "the samples are those of info -j")
t.equal(sum(x["period"] for x in table["rows"]), table["period"], "json: rows sum to the total")
r = run("report", simple, "-x", ";")
t.ok(r.stdout.startswith("event;samples;period;share;share_error;dso;function\n"), "-x is csv with that separator", r.stdout[:80])
r = run("report", simple, "--format", "folded")
t.equal(r.stdout.splitlines()[0], "join;hash_probe 623000", "folded without chains: the keys are the stack")
t.equal(sum(int(x.rsplit(" ", 1)[1]) for x in r.stdout.splitlines()), 1000000, "folded: the lines sum to the total")

t.equal([(x["function"], x["folded"]) for x in rows_of(simple, "--limit", "1")], [("hash_probe", ""), ("", "4")], "--limit sums the rest")
for words, last in ((["--fields", "+samples"], r" [\d.]+ % \+-[\d.]+ +\(4 more\) +[\d,]+"),  # where a name would be
                    (["--fields", "share,samples"], r" [\d.]+ % +[\d,]+  \(4 more\)"),  # no column has names: behind the line
                    (["-s", "function,comm"], r" [\d.]+ % \+-[\d.]+ +\(4 more\)")):
    screen = run("report", simple, "--limit", "1", *words, env=env(COLUMNS="80", LC_ALL="C")).stdout
    t.ok(re.search("^ +%s$" % last, screen, re.M), "report %s: the rest is called so" % " ".join(words), screen)
    screen = run("report", simple, "--limit", "1", "--format", "markdown", *words).stdout
    t.equal(screen.count("(4 more)"), 1, "report %s: in Markdown, too" % " ".join(words))
t.equal(run("report", simple, "-s", "comm, function", "--fields", "+samples, -share").stdout, run("report", simple, "-s", "comm,function", "--fields=+samples,-share").stdout,
        "blanks behind a list's commas are not of its words")
rows = rows_of(simple, "--focus", "^tiny")
t.equal([(x["function"], x["samples"], x["folded"], x["left_out"]) for x in rows],
        [("tiny1", "6", "", "0"), ("tiny2", "4", "", "0"), ("", "990", "3", "1")], "--focus tells what it left out")
t.ok("(left out by --focus or --hide)" in run("report", simple, "--focus", "^tiny", "--format", "markdown").stdout, "... to people, too")
t.equal(rows_of(simple, "--hide", "^tiny")[-1]["samples"], "10", "--hide tells what it left out")
t.equal(rows_of(simple, "-s", "tid,comm")[0]["tid"], "7", "-s takes several keys")
t.equal(list(rows_of(simple, "--fields", "sym,share")[0]), ["function", "share"], "--fields chooses and orders")
doc = json.loads(run("report", "-j", simple, "--comm", "nobody").stdout)
t.equal([(x["samples"], x["not_selected_samples"]) for x in doc["events"]], [(0, 1000)], "--comm: what is not selected is told")

# two events
both = make("both.data", names, [(e, 7, f, 10) for e in (0, 1) for f in range(3) for _ in range(5 + f * e)],
            events=2, comms=[(7, b"join")])
r = run("report", both, env=env(COLUMNS="80", LC_ALL="C"))
golden(r.stdout, "report-two-events")
doc = json.loads(run("report", "-j", both).stdout)
t.equal([x["samples"] for x in doc["events"]], [15, 18], "json: sums for each event")
t.equal([sum(r["samples"] for r in e["rows"]) for e in by_event(doc)], [15, 18], "json: and rows")
t.equal(set(run("report", both, "--format", "csv", "--fields", "share").stdout.splitlines()[0].split(",")), {"event", "share"},
        "rows of several events name theirs")
t.equal(len(json.loads(run("report", "-j", both, "-e", "page*").stdout)["events"]), 1, "-e takes a glob")
r = run("report", both, "-s", "event,sym", env=env(COLUMNS="80"))
t.equal(r.stdout.count(" samples of "), 2, "-s event: a table each")

# chains
calls = [b"start", b"main", b"work", b"fib", b"small"]
tree = make("tree.data", calls, [(0, 7, 3, 10, [0, 1, 2, 3, 3, 3])] * 50 + [(0, 7, 2, 10, [0, 1, 2])] * 20 +
            [(0, 7, 4, 10, [0, 1, 4])] * 30, chains=True, comms=[(7, b"prog")])
for option in ("-g", "--callers", "--children"):
    r = run("report", tree, option, env=env(COLUMNS="80", LC_ALL="C"))
    golden(r.stdout, "report-tree" + option)
r = run("report", tree, "-g", env=env(COLUMNS="80", LC_ALL="C.UTF-8"))
t.ok("\u251c" in r.stdout and "\u2514" in r.stdout, "a UTF-8 locale has lines of its own", r.stdout)
r = run("report", tree, "--format", "folded")
t.equal(sorted(r.stdout.splitlines()),
        ["prog;start;main;small 300", "prog;start;main;work 200", "prog;start;main;work;fib;fib;fib 500"], "folded is the chains")
two = make("two.data", calls, [(0, 7, 1, 10, [0, 1]), (0, 8, 1, 10, [0, 1])], chains=True, comms=[(7, b"prog"), (8, b"other")])
r = run("report", two, "--format", "folded")
t.equal(sorted(r.stdout.splitlines()), ["other;start;main 10", "prog;start;main 10"], "folded: a thread's name is the first frame")
crowd = make("crowd.data", calls, [(0, 100 + i, 1, 10, [0, 1]) for i in range(40)], chains=True,
             comms=[(100 + i, b"thread%d" % i) for i in range(40)])
want = {"thread%d;start;main 10" % i for i in range(40)}
for words in (["-g"], ["-g", "--focus", "main"], ["-g", "--hide", "thread"]):
    t.equal(set(run("report", crowd, "--format", "folded", *words).stdout.splitlines()), want, "folded: of many threads: " + " ".join(words))
t.equal(run("report", crowd, "--callers", "--format", "folded", "--comm", "thread7").stdout, "thread7;main;start 10\n",
        "folded: from the sampled function outwards")
t.equal(run("report", crowd, "-g", "-s", "sym", "--format", "folded").stdout, "start;main 400\n", "folded: without threads")
doc = json.loads(run("report", "-j", "-g", tree).stdout)
nodes = {x["id"]: x for x in doc["rows"]}
t.ok(all(x["period"] + sum(y["total_period"] for y in nodes.values() if y["parent"] == i) == x["total_period"]
         for i, x in nodes.items()), "json: total = self + the children's totals", nodes)
rows = {x["function"]: x for x in rows_of(tree, "--children")}
t.equal((rows["fib"]["total_samples"], rows["main"]["total_samples"]), ("50", "100"), "--children: recursion counts once")
r = run("report", simple, "-g")
t.ok(r.returncode == 2 and "record -g" in r.stderr, "-g without chains says how to get them", r.stderr)

# names that bite
bad = [b"a,\"b\"", b"red\x1b[31m", b"p|q`r`", b"semi;colon\nline", b"=cmd()", b"\xff\xfe"]
hostile = make("hostile.data", bad, [(0, 7, f, 10) for f in range(len(bad)) for _ in range(10 - f)],
               comms=[(7, b"c;o\x1bmm")])
for form in ("term", "csv", "json", "folded", "markdown"):
    r = run("report", hostile, "--format", form, text=False, errors=None)
    good = r.returncode == 0 and b"\x1b" not in r.stdout
    try:
        r.stdout.decode("utf-8")
    except UnicodeDecodeError:
        good = False
    t.ok(good, "%s: hostile names are tame" % form, r.stdout)
rows = rows_of(hostile)
t.equal((len(rows), rows[0]["function"]), (6, 'a,"b"'), "csv: quotes and commas come back whole")
t.equal(json.loads(run("report", "-j", hostile).stdout)["rows"][3]["function"], "semi;colon\nline", "json: newlines come back whole")
lines = run("report", hostile, "--format", "folded").stdout.splitlines()
t.ok(len(lines) == 6 and all(x.count(";") == 1 for x in lines), "folded: a line each, two frames each", lines)
walk(t, "report", hostile)
walk(t, "report", hostile, "-s", "comm,sym", "--fields", "sym,share,period", "--limit", "2")
walk(t, "report", both)
for option in ("-g", "--callers", "--children"):
    walk(t, "report", tree, option)
lines = [x for x in run("report", hostile, "--format", "markdown").stdout.splitlines() if x.startswith("|")]
t.ok(len(lines) == 8 and all(len(re.findall(r"(?<!\\)\|", x)) == 4 for x in lines), "markdown: cells stay cells", lines)

# colour
t.ok("\x1b" not in run("report", simple, env=env()).stdout, "no colour in a pipe")
t.ok("\x1b[1;31m" in run("report", simple, env=env(CLICOLOR_FORCE="1")).stdout, "CLICOLOR_FORCE colours")
t.ok("\x1b" in run("report", simple, "--color", "always", env=env(NO_COLOR="1")).stdout, "--color beats NO_COLOR")
t.ok("\x1b" not in run("report", "-j", simple, "--color", "always").stdout, "json is never coloured")

# streams and exit codes
full = open("/dev/full", "w")
r = run("report", simple, stdout=full, capture_output=False, stderr=subprocess.PIPE)
t.ok(r.returncode == 2 and "No space left" in r.stderr, "a full disk is said", r.stderr)
p = subprocess.Popen([CYCLADE, "report", "--format", "csv", simple], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
p.stdout.close()
t.equal((p.wait(), p.stderr.read()), (0, b""), "a reader that went away is no error")
out = os.path.join(tmp.name, "out.csv")
r = run("report", simple, "--format", "csv", "-o", out)
t.ok(r.stdout == "" and open(out).readline().startswith("event,"), "-o writes a file", r.stderr)
empty, text = os.path.join(tmp.name, "empty"), os.path.join(tmp.name, "text")
open(empty, "w").close()
open(text, "w").write("not a recording\n" * 20)
for words, says in [(["/nonexistent"], "/nonexistent"), ([tmp.name], tmp.name), ([empty], "empty"), ([text], "text"),
                    ([simple, simple], "one recording"), ([simple, "-s", "comm,smy"], "did you mean sym"),
                    ([simple, "--fields", "shar"], "did you mean share"), ([simple, "--fields", "cpu"], "-s"),
                    ([simple, "--symbols", "main"], "--focus main"), ([simple, "--sysroot", simple], "not a directory"), ([simple, "--models", simple + ".none"], "No such file"),
                    ([simple, "--focus", "a("], "regular expression"), ([simple, "-e", "cpu-clok"], "did you mean"),
                    ([simple, "-x", "ab"], "one character"), ([simple, "--only-pid", "x"], "--only-pid")]:
    r = run("report", *words)
    t.ok(r.returncode == 2 and r.stdout == "" and says in r.stderr and len(r.stderr.splitlines()) <= 3,
         "report %s: exit 2, says '%s'" % (" ".join(words).replace(tmp.name, "TMP"), says.replace(tmp.name, "TMP")),
         r.stderr + r.stdout)
none = make("none.data", names, [])
for form in ("term", "csv", "json", "folded", "markdown"):
    t.equal(run("report", none, "--format", form).returncode, 0, "no samples: %s" % form)
t.ok("0 samples" in run("report", none).stdout, "no samples: the screen says so")

# large
many = make("many.data", names, [(0, 100 + i, i % 5, 10) for i in range(10000)])
rows = rows_of(many, "-s", "tid")
t.equal((len(rows), sum(int(x["samples"]) for x in rows)), (10000, 10000), "10,000 threads")
deep = make("deep.data", [b"a", b"b"], [(0, 7, i % 2, 10, [0, 1] * 4000) for i in range(3)], chains=True)
for words in (["-g"], ["--callers"], ["--children"], ["-j", "-g"], ["--format", "folded"]):
    r = run("report", deep, "--max-stack", "100000", *words, env=env(COLUMNS="80", LC_ALL="C"))
    t.ok(r.returncode == 0, "8,000 frames deep: %s" % " ".join(words), r.stderr)
    if words[0] in ("-g", "--callers"):
        t.ok(max(map(len, r.stdout.splitlines())) <= 80, "and no wider than the screen")
os.chdir("/")
t.done()

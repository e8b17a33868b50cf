#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade sql against perf script of the same file: aggregates over samples, frames, chains, branches, mappings. And tables of
results against the json of their commands, cell by cell: those of all rows of results.def."""
import collections
import glob
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import recordings  # noqa: E402
from kernel_names import few_names  # noqa: E402
from tap import PERF, ROOT, SANITIZED, SHARED, Tap, run  # noqa: E402

t = Tap()
if "no SQL" in run("--version").stdout:
    t.skip("cyclade sql", "built without SQLite")
    t.done()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-sql-perf-")
os.chdir(tmp.name)
os.environ["HOME"] = tmp.name
fresh = {r.name: r.path for r in recordings.taken(os.path.join(tmp.name, "taken"))}
made = {r.name: r.path for r in recordings.made(os.path.join(tmp.name, "made"))}
corpus = {os.path.basename(p): p for p in sorted(glob.glob(os.path.join(SHARED, "corpus", "recordings", "*")))[::6 if SANITIZED else 1]}
# registers are told of where a function begins: by a breakpoint there
at = re.search(r"^0*([0-9a-f]+) [tT] bottom$", subprocess.run(["nm", recordings.RECURSE], capture_output=True, text=True).stdout, re.M)
for event in ("uprobe:%s:bottom" % recordings.RECURSE, "mem:0x%s:x" % at[1]) if at else ():
    if run("record", "-q", "-e", event, "--intr-regs", "--user-regs", "-o", "entries", "--", recordings.RECURSE, "4", "4").returncode == 0:
        fresh["entries"] = os.path.join(tmp.name, "entries")
        break
if PERF and subprocess.run([PERF, "record", "-q", "-e", "cpu-clock", "--all-cgroups", "-o", "cgroups", "--", recordings.RECURSE, "4", "20"],
                           capture_output=True).returncode == 0 and \
        "PERF_RECORD_CGROUP" in subprocess.run([PERF, "script", "-i", "cgroups", "--show-cgroup-events"], capture_output=True, text=True, errors="replace").stdout:
    fresh["cgroups"] = os.path.join(tmp.name, "cgroups")


def ask(query, path):
    p = run("sql", "-j", path, query)
    try:
        return json.loads(p.stdout)["rows"]
    except ValueError:
        return p.stderr


# ---- perf script

FIELDS = ("pid", "tid", "cpu", "time", "period", "event", "addr", "ip")  # in the order that perf prints them
PRINTED = {"pid": r"\s*(-?\d+)", "tid": r"/(-?\d+)", "cpu": r"\s+\[(\d+)\]", "time": r"\s+(\d+\.\d+):", "period": r"\s+(\d+)", "event": r"\s+(\S.*?):",
           "addr": r"\s+([0-9a-f]+)", "ip": r"\s+([0-9a-f]+)"}


def script(path, *words):
    return subprocess.run([PERF, "script", *few_names("."), "-i", path, "--ns", *words], capture_output=True, text=True, errors="replace")


def samples_of(path):
    """(fields, how many samples have each tuple of values): with all fields that every event of the file has."""
    fields = list(FIELDS)
    while fields:
        p = script(path, "-G", "-F", ",".join(fields))
        m = re.search(r"Cannot print '(\w+)' field|do not have (\w+) attribute", p.stderr)
        gone = next((x.lower() for x in m.groups() if x), None) if m else None
        if p.returncode == 0 or gone not in ("pid", *fields):
            break
        fields = [f for f in fields if f != gone and not (gone == "pid" and f == "tid")]
    if p.returncode or "ip" not in fields:
        return None, None
    line, got = re.compile("".join(PRINTED[f] for f in fields) + r"\s*$"), collections.Counter()
    for text in p.stdout.splitlines():
        m = line.match(text)
        if not m:
            return None, None  # text of a tracepoint
        got[tuple(m.groups())] += 1
    return fields, got


def as_printed(field, x):
    if x is None:
        return None
    if field in ("pid", "tid"):
        return str(x - (x >> 31 << 32))
    if field == "cpu":
        return "%03d" % x
    if field == "time":
        return "%d.%09d" % divmod(x, 10 ** 9)
    return "%x" % int(x, 16) if field in ("ip", "addr") else str(x)


def check_samples(name, path):
    fields, theirs = samples_of(path)
    if not theirs:
        return 0
    own = ask("SELECT %s, count(*) AS n FROM samples GROUP BY %s" % (", ".join(fields), ", ".join(map(str, range(1, len(fields) + 1)))), path)
    ours = collections.Counter()
    for r in own:
        ours[tuple(as_printed(f, r[f]) for f in fields)] += r["n"]
    # perf names events with the modifiers that it thinks of
    if "event" in fields:
        at = fields.index("event")
        bare = [collections.Counter(), collections.Counter()]
        for to, counter in zip(bare, (ours, theirs)):
            for k, n in counter.items():
                to[k[:at] + (re.sub(r":[a-zA-Z]+$", "", k[at]),) + k[at + 1:]] += n
        ours, theirs = bare
    apart = (ours - theirs) + (theirs - ours)
    t.ok(not apart, "%s: %d samples by %s" % (name, sum(ours.values()), ", ".join(fields)), list(apart.items())[:6])
    return 1


def check_frames(name, path):
    """Whole chains, which perf shows in a dump as they are recorded. Others are made by report -g, too: test_sql_chains.py."""
    if any("stack_user" in e["sample_type"] or "call_stack" in (e["branch_type"] or []) for e in json.loads(run("info", "-j", path).stdout)["events"]):
        return 0
    if not ask("SELECT max(frames) AS f FROM samples", path)[0]["f"]:
        return 0
    p, theirs = script(path, "-D"), collections.Counter()
    for n, text in re.findall(r"^\.\.\. (?:FP|LBR) chain: nr:(\d+)\n((?:\.\.\.\.\. +\d+: [0-9a-f]+.*\n)*)", p.stdout, re.M):
        ips = [int(x, 16) for x in re.findall(r": ([0-9a-f]+)", text)]
        if len(ips) == int(n):
            theirs[tuple(x for x in ips if x < (1 << 64) - 4095)] += 1  # above are markers: kernel, user
    if p.returncode or not theirs:
        return 0
    chains = collections.defaultdict(list)
    for r in ask("SELECT sample, ip FROM frames WHERE NOT inlined ORDER BY sample, depth", path):
        chains[r["sample"]].append(int(r["ip"], 16))
    ours = collections.Counter(tuple(c) for c in chains.values())
    theirs.pop((), None)
    apart = (ours - theirs) + (theirs - ours)
    t.ok(not apart, "%s: %d call chains" % (name, sum(ours.values())), (list((ours - theirs).items())[:2], list((theirs - ours).items())[:2]))
    distinct = ask("SELECT count(DISTINCT chain_id) AS n, sum(samples) FILTER (WHERE depth = 0) AS samples, "
                   "sum(samples) FILTER (WHERE NOT inlined) AS frames FROM chain_frames", path)[0]
    t.ok(distinct["samples"] == sum(theirs.values()) and distinct["frames"] == sum(len(k) * n for k, n in theirs.items()) and distinct["n"] <= len(theirs),
         "%s: %d distinct chains" % (name, distinct["n"]), (distinct, sum(theirs.values()), len(theirs)))
    return 1


def check_branches(name, path):
    if not ask("SELECT max(branches) AS n FROM samples", path)[0]["n"]:
        return 0
    p = script(path, "-F", "brstack")
    theirs = collections.Counter()
    for text in re.findall(r"0x[0-9a-f]+/0x[0-9a-f]+/\S+", p.stdout):
        w = text.split("/")
        theirs[int(w[0], 16), int(w[1], 16), w[2], int(w[5])] += 1
    if p.returncode or not theirs:
        return 0
    ours = collections.Counter()
    for r in ask("SELECT ip_from, ip_to, mispredicted, predicted, coalesce(cycles, 0) AS cycles, count(*) AS n FROM branches GROUP BY 1, 2, 3, 4, 5", path):
        flag = "M" if r["mispredicted"] else "P" if r["predicted"] else "-"
        ours[int(r["ip_from"], 16), int(r["ip_to"], 16), flag, r["cycles"]] += r["n"]
    apart = (ours - theirs) + (theirs - ours)
    t.ok(not apart, "%s: %d branches" % (name, sum(ours.values())), (list((ours - theirs).items())[:4], list((theirs - ours).items())[:4]))
    return 1


def check_mappings(name, path):
    p = script(path, "--show-mmap-events")
    if p.returncode:
        return 0  # perf does not know this format
    theirs = collections.Counter((int(a, 16), int(n, 16), int(o, 16), f.strip()) for a, n, o, f in re.findall(
        r"PERF_RECORD_MMAP2? -?\d+/-?\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0)[^\]]*\]: \S+ (.*)", p.stdout))
    ours = collections.Counter()
    for r in ask("SELECT start, bytes, file_offset, path, count(*) AS n FROM mappings GROUP BY 1, 2, 3, 4", path):
        ours[int(r["start"], 16), r["bytes"] % (1 << 64), int(r["file_offset"], 16), r["path"].strip()] += r["n"]
    ours, theirs = ({k: n for k, n in x.items() if k[0]} for x in (ours, theirs))  # perf leaves out some of address 0
    t.ok(ours == theirs, "%s: %d mappings" % (name, sum(ours.values())), (list(set(ours.items()) ^ set(theirs.items()))[:4]))
    return 1 if theirs else 0


count = collections.Counter()
for name, path in {**corpus, **fresh}.items() if PERF else ():
    kind = "fresh" if name in fresh else "corpus"
    events = json.loads(run("info", "-j", path).stdout)["events"]
    if any("read" in e["sample_type"] for e in events):
        continue  # perf script repeats samples of groups
    for what, check in (("samples", check_samples), ("frames", check_frames), ("branches", check_branches), ("mappings", check_mappings)):
        count[kind, what] += check(name, path)
print("#", dict(count))

# ---- each column of the schema has a value in some recording

RARE = {  # no recording here has one, for this reason; the list only shrinks
    "ibs_op.op_data4": "only machines with IBS_CAPS_OPDATA4 dump it, which no simulated one has",
}
SCHEMA = []
for part in ("schema.def", "schema_ibs.def"):
    with open(os.path.join(ROOT, "src/store", part), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    SCHEMA += re.findall(r'^STORE_COLUMN\((\w+), (\w+), T_(\w+), (?:NULL|"[^"]*"),\s+"([^"]+)",\s+"([^"]+)", \w+, .+\)$', text, re.M)
ibs = []
if "SIM_LIB" in os.environ:
    from sim import SPIN, SYSROOT, run_on  # noqa: E402
    from tap import CYCLADE  # noqa: E402
    for machine in ("zen4", "zen2"):
        path = os.path.join(tmp.name, "ibs." + machine)
        if run_on(machine, "even", CYCLADE, "record", "-q", *SYSROOT, "-o", path, "--ibs=both", "-c", "100000", "--", SPIN, "150").returncode == 0:
            ibs.append(path)
waits = [os.path.join(tmp.name, "waits")]  # of something that has a name
if run("record", "-q", "--wait", "-e", "cpu-clock", "-o", waits[0], "--", "sh", "-c", "sleep 0.3 | cat").returncode:
    waits = []
kinds = {"FLAG": (bool,), "TEXT": (str,), "ADDRESS": (str,), "SHARE": (int, float), "REAL": (int, float), "SECONDS": (int, float)}
unread, wrong = set(), []
for k, table in enumerate(dict.fromkeys(c[0] for c in SCHEMA)):
    own = [c for c in SCHEMA if c[0] == table]
    left = {c[1]: c[2] for c in own}
    # under a sanitizer tables take turns with recordings
    for path in [*ibs, *waits, *fresh.values(), *made.values(), *corpus.values()][k % 4 if SANITIZED else 0::4 if SANITIZED else 1]:
        if not left:
            break
        # a row is enough for each
        got = ask("SELECT %s FROM %s" % (", ".join('max("%s") AS "%s"' % (c, c) for c in left), table), path)
        one = ask("SELECT %s FROM %s LIMIT 1" % (", ".join('"%s"' % c for c in left), table), path)
        if isinstance(got, str) or isinstance(one, str):
            t.ok(False, "%s of %s" % (table, path), (got, one))
            break
        for column, value in got[0].items():
            if value is not None:
                typed = one[0][column] if one else None
                if typed is not None and not isinstance(typed, kinds.get(left[column], (int,))):
                    wrong.append((table, column, left[column], typed))
                left.pop(column)
    unread |= {"%s.%s" % (table, c) for c in left}
t.equal(wrong, [], "values have the types of their columns")
if ibs and waits and len(fresh) > 10 and "cgroups" in fresh and not SANITIZED:
    t.equal(sorted(unread), sorted(RARE), "each column of %d has a value in some recording, but for those of RARE" % len(SCHEMA))
else:
    print("# without a value:", *sorted(unread))
if PERF and corpus and not SANITIZED:  # which has a sixth of them
    t.ok(count["corpus", "samples"] >= 10 and count["corpus", "mappings"] >= 10 and count["corpus", "branches"] >= 3 and count["corpus", "frames"] >= 1,
         "ten recordings of others", count)
if PERF and len(fresh) > 6:
    t.ok(count["fresh", "samples"] >= 5 and count["fresh", "mappings"] >= 5 and count["fresh", "frames"] >= 2, "five fresh ones", count)

# ---- results of commands

with open(os.path.join(ROOT, "src/cli/recordings/results.def"), encoding="utf-8") as f:
    RESULTS = re.findall(r'^RESULT\(\w+, "(\w+)", (\w+), "([^"]*)"', f.read(), re.M)
columns = collections.defaultdict(dict)
for r in json.loads(run("list", "tables", "-j").stdout)["columns"]:
    columns[r["table"]][r["column"]] = r["type"]
raw = set(re.findall(r"^STORE_TABLE\((\w+)", open(os.path.join(ROOT, "src/store/schema.def"), encoding="utf-8").read(), re.M))


def equal(kind, mine, other):
    """A cell of SQL through json_array, and the same of the command's json."""
    if isinstance(other, list):
        other = "; ".join(other)
    if other is None or mine is None:
        return mine is other
    if kind == "address":
        return mine % (1 << 64) == int(other, 16)
    if isinstance(other, bool):
        return mine == int(other)
    if isinstance(other, (int, float)):
        return isinstance(mine, (int, float)) and (math.isclose(mine, other, rel_tol=1e-13) or mine % (1 << 64) == other)
    return mine == other


def tables_of(doc, result):
    """{name in SQL: rows of the command's json}"""
    mine = [n for n in columns if n == result or n.startswith(result + "_")]
    out = {}
    for n in mine:
        key = n[len(result) + 1:]
        if key in doc:
            out[n] = doc[key] if isinstance(doc[key], list) else [doc[key]]
        elif key == "summary":
            out[n] = [{k: v for k, v in doc.items() if k in columns[n]}]
    main = {"stat": "counts", "tree": "nodes", "compare": "effects"}.get(result)
    rest = [main] if main else [k for k, v in doc.items() if isinstance(v, list) and "%s_%s" % (result, k) not in columns and k != "notes"]
    if result in columns and rest:
        out[result] = doc.get(rest[0], [])
    return out


def document_of(path, command, options):
    p = run(command.lower(), *shlex.split(options), "-j", path)
    return [json.loads(p.stdout)] if p.returncode == 0 else []


def check_documents(name, path, results, seen):
    """Every table of some results, {result: documents}, in `path`, by one query; of several documents, rows follow one another."""
    whole = collections.defaultdict(list)
    for result, docs in results.items():
        for doc in docs:
            for table, theirs in tables_of(doc, result).items():
                whole[table] += theirs
    wanted, query = {}, []
    for table, theirs in whole.items():
        keys = [k for k in columns[table] if k != "run"]
        theirs = [{"run_2" if k == "run" else k: v for k, v in r.items()} if isinstance(r, dict) else r for r in theirs]
        rows = [r if isinstance(r, dict) else dict.fromkeys(keys, r) for r in theirs]  # of one column: texts
        if rows and not set(keys) <= set(rows[0]):
            keys = [k for k in keys if k in rows[0]]  # columns that this recording has nothing for
        extra = set(rows[0]) - set(keys) if rows else set()
        listed = [*keys, *sorted(extra)]
        parts = [listed[i:i + 60] for i in range(0, len(listed), 60)]  # a function has 100 arguments at most
        wanted[table] = rows, listed, ["%s %d" % (table, i) for i in range(len(parts))]
        query += ['(SELECT json_group_array(json_array(%s)) FROM "%s") AS "%s"' % (", ".join('"%s"' % k for k in x), table, part)
                  for x, part in zip(parts, wanted[table][2])]
    got = ask("SELECT " + ", ".join(query), path) if query else [{}]
    if isinstance(got, str):
        t.ok(False, "%s: %s" % (name, " ".join(wanted)), got)
        return
    for table, (rows, listed, parts) in wanted.items():
        mine = [sum(x, []) for x in zip(*(json.loads(got[0][part]) for part in parts))]
        bad = [(k, a, r.get(k)) for row, r in zip(mine, rows) for k, a in zip(listed, row) if not equal(columns[table].get(k), a, r.get(k))]
        seen[table] += len(rows)
        if len(mine) != len(rows) or bad:
            t.ok(False, "%s: %s" % (name, table), (len(mine), len(rows), bad[:4]))
        else:
            seen["cells"] += len(rows) * len(listed)


seen = collections.Counter()
chosen = ["branches", "memory", "waits", "accesses", next(n for n in made if n.startswith("account")), next(n for n in made if n.startswith("all_fields"))]
print("#", sorted(made))
for name in [*chosen, *(n for n in ("chains", "several", "entries", "sim_run", "sim_account") if n in fresh)]:
    path = made.get(name) or fresh[name]
    bad = t.bad
    results = {result: document_of(path, command, options) for result, command, options in RESULTS if result != "annotate"}  # of one function
    check_documents(name, path, results, seen)
    t.ok(t.bad == bad, "%s: tables of results are the commands' own" % name)
# results that are saved as json
with open("counts.csv", "w", encoding="ascii") as f:  # of perf stat -x, on an Ivy Bridge
    f.write("".join("%d,,%s,1000000,100.00,,\n" % c for c in (
        (1000000, "cycles"), (2000000, "instructions"), (800000, "idq_uops_not_delivered.core"), (2500000, "uops_issued.any"),
        (2200000, "uops_retired.retire_slots"), (10000, "int_misc.recovery_cycles"))))
for name, result, words in (("stat", "stat", ["stat", "-e", "task-clock,page-faults,cs"]), ("stat -r", "stat", ["stat", "-r", "3", "-e", "task-clock"]),
                            ("stat -I", "stat", ["stat", "-I", "30", "-e", "task-clock,cs"]), ("stat --import", "tree", ["stat", "--import", "counts.csv", "--model", "ivb"]),
                            ("compare", "compare", ["compare", "-r", "6", "-e", "cs", "-q"])):
    work = [] if "--import" in words else ["--", "true", "--", "true"] if result == "compare" else ["--", "sleep", "0.1" if "-I" in words else "0"]
    p = run(*words, "-j", "-o", "saved.json", *work)
    docs, text, decoder = [], "", json.JSONDecoder()
    if p.returncode == 0:
        with open("saved.json", encoding="utf-8") as f:
            text = f.read().strip()
    while text:
        doc, end = decoder.raw_decode(text)
        docs.append(doc)
        text = text[end:].lstrip()
    bad, before = t.bad, seen["cells"]
    check_documents(name, "saved.json", {result: docs}, seen)
    t.ok(docs and seen["cells"] > before and t.bad == bad, "%s: a saved result has the same tables" % name, (p.stderr, len(docs)))
both = ask("SELECT (SELECT count(*) FROM compare) AS n, (SELECT count(*) FROM samples) AS samples", "saved.json")
t.ok(isinstance(both, list) and both[0]["n"] and both[0]["samples"] == 0, "it has no samples", both)
p = run("sql", "-j", "saved.json", made["branches"], "SELECT DISTINCT run, (SELECT min(run) FROM samples) AS other FROM compare")
t.equal(p.returncode and p.stderr or json.loads(p.stdout)["rows"], [{"run": 1, "other": 2}], "a saved result beside a recording")
for text, says in (("{", "is no JSON"), ('{"schema":"cyclade.other/1"}', "no result that can be read here"), ('{"schema":"cyclade.counts/1"}', "no result that can be read here"),
                   ('{"schema":"cyclade.counts/2"} {"schema":"cyclade.tree/2"}', "different kinds"), ("[" * 3000, "."), ('{"a":' * 5000, "is no JSON")):
    with open("odd.json", "w", encoding="utf-8") as f:
        f.write(text)
    p = run("sql", "odd.json", "SELECT 1")
    t.ok(p.returncode == 2 and re.search(says, p.stderr), "refused: %.40s" % text, p.stdout + p.stderr)
with open("odd.json", "w", encoding="utf-8") as f:
    f.write('{"schema":"cyclade.counts/2","counts":[1,"x",null,{"event":7,"value":"\\u001b[1m","counted":[[]],"cpus":-1,"runs":1e300},[{}]],"losses":[{}],"notes":3}')
p = run("sql", "odd.json", "SELECT * FROM stat", "-j")
t.ok(p.returncode == 0 and len(json.loads(p.stdout)["rows"]) == 5, "values of other types than their columns'", p.stdout + p.stderr)
results = {n for n in columns if n not in raw and not n.startswith("ibs_")}
print("# %d cells; without rows: %s" % (seen["cells"], " ".join(sorted(n for n in results if not seen[n]))))
t.ok(seen["cells"] > 5000, "cells were compared", seen["cells"])
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade sql: each column of the schema is documented and read; tables agree with each other; the queries of the manual run;
queries can only read, and end. test_sql_perf.py compares tables with perf script and with the json of commands."""
import collections
import glob
import json
import os
import pty
import random
import re
import select
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import mem_made  # noqa: E402
import recordings  # noqa: E402
import tables  # noqa: E402
from tap import CYCLADE, ROOT, SANITIZED, SHARED, Tap, run  # noqa: E402

t = Tap()
if "no SQL" in run("--version").stdout:
    t.skip("cyclade sql", "built without SQLite")
    t.done()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-sql-")
os.chdir(tmp.name)
os.environ["HOME"] = tmp.name


def ask(query, *files, words=()):
    p = run("sql", "-j", *words, *files, query)
    try:
        return json.loads(p.stdout)["rows"]
    except ValueError:
        return p.stderr


def beside(columns, path, most=1000000):
    """The first rows of several tables, {table: its columns}, by one query that sets them side by side: {table: rows}."""
    rows = ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < min(%d, (SELECT max(rows) FROM (%s)))) SELECT %s FROM n %s" % (
        most, " UNION ALL ".join("SELECT count(*) AS rows FROM " + x for x in columns),
        ", ".join('of_{0}.{1} AS "{0}.{2}"'.format(x, *c) for x, own in columns.items() for c in (("i", ""), *(('"%s"' % k, k) for k in own))),
        " ".join("LEFT JOIN (SELECT rowid AS i, * FROM {0} LIMIT {1}) AS of_{0} ON of_{0}.i = n.i".format(x, most) for x in columns)), path)
    if not isinstance(rows, list):
        return rows
    return {x: [{k: r["%s.%s" % (x, k)] for k in own} for r in rows if r[x + "."] is not None] for x, own in columns.items()}


def refused(query, *files, words=(), says="", code=2):
    p = run("sql", *words, *files, query)
    return p.returncode == code and not p.stdout and re.search(says, p.stderr), p.stdout[:200] + p.stderr


made = {r.name: r for r in recordings.made(os.path.join(tmp.name, "made"))}
fields = next(r.path for n, r in made.items() if n.startswith("all_fields"))
branches = made["branches"].path
fresh = [r.path for n, r in made.items() if n.split("-")[0] in ("features", "side", "waits", "each_field", "attr_sizes")]
p = run("record", "-q", "-g", "-e", "cpu-clock:u", "-F", "2000", "-o", "chains.data", "--", recordings.RECURSE, "40", "200")
fresh += ["chains.data"] if p.returncode == 0 else []
mem_made.write("places.data", mem_made.drawn(random.Random(3), 60))  # has the fields of data_src that are seldom set
fresh += ["places.data"]
# each is asked a hundred times: under a sanitizer tables take turns with recordings
SHARE = 4 if SANITIZED else 1
corpus = sorted(p for p in glob.glob(os.path.join(SHARED, "corpus", "recordings", "*")))

# ---- the schema: each column is documented, typed, there, and read
with open(os.path.join(ROOT, "src/store/schema.def"), encoding="utf-8") as f:
    text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
schema = re.findall(r'^STORE_COLUMN\((\w+), (\w+), T_(\w+), (NULL|"[^"]*"), "([^"]+)", "([^"]+)", \w+, .+\)$', text, re.M)
named = re.findall(r'^STORE_TABLE\((\w+), "[^"]+"\)$', text, re.M)
t.equal(len(schema), text.count("STORE_COLUMN("), "each row of schema.def is whole")
t.ok(len(named) == 16 and {c[0] for c in schema} == set(named), "each table has columns", named)
seen = collections.defaultdict(collections.Counter)
own = {table: [c[1] for c in schema if c[0] == table] for table in named}
for k, path in enumerate([fields, branches, *fresh, *corpus]):
    # under a sanitizer, those of a turn
    tables_here = {x: own[x] for i, x in enumerate(named) if k < 2 or (k - 2 - i) % SHARE == 0}
    rows = beside(tables_here, path, 200)
    if not isinstance(rows, dict):
        t.ok(False, "tables of " + path, rows)
        continue
    for table, found in rows.items():
        for r in found:
            seen[table].update(k for k, v in r.items() if v is not None)
for table in named:
    rows = ask("SELECT * FROM %s LIMIT 200" % table, fields)
    if not isinstance(rows, list) or any(list(r) != own[table] for r in rows):
        t.ok(False, "%s: columns" % table, rows)
    # what no recording here has
    rare = {"unit", "cgroup", "object", "file_from", "line_from", "file_to", "line_to"}
    unread = [c for c in own[table] if not seen[table][c] and c not in rare]
    t.ok(SANITIZED or not unread, "%s: each column has a value in some recording" % table, unread)

# ---- tables agree with each other, and bounds select nothing else
with_lines = 0
BOUNDED = ("time", "cpu", "pid", "tid", "ip", "sample", "event")


def as_lists(columns, query):
    return "(SELECT json_group_array(json_array(%s)) FROM (%s))" % (columns, query)


AGREE = ("WITH " + ", ".join("m_{0} AS (SELECT {0} AS v FROM samples LIMIT 1 OFFSET (SELECT samples / 2 FROM runs))".format(c) for c in BOUNDED) +
         " SELECT (SELECT samples FROM runs) AS a, (SELECT count(*) FROM samples) AS b, (SELECT sum(samples) FROM events) AS c,"
         " (SELECT coalesce(sum(frames), 0) FROM samples) AS d, (SELECT count(*) FROM frames) AS e,"
         " (SELECT coalesce(sum(branches), 0) FROM samples) AS f, (SELECT count(*) FROM branches) AS g,"
         " (SELECT count(*) FROM records WHERE name = 'SAMPLE') - (SELECT unattributed FROM losses) AS h,"
         " (SELECT count(*) FROM mappings) AS i, (SELECT count(*) FROM records WHERE name LIKE 'MMAP%') AS j,"
         " (SELECT coalesce(sum(frames * samples), 0) FROM chains) AS k, (SELECT coalesce(sum(samples), 0) FROM chains) AS l,"
         " (SELECT count(chain_id) FROM samples) AS m, (SELECT count(DISTINCT chain_id) FROM samples) AS n, (SELECT count(*) FROM chains) AS o,"
         " (SELECT count(*) FROM switches) - (SELECT count(*) FROM records WHERE name LIKE 'SWITCH%') AS r,"
         " (SELECT coalesce(sum(frames), 0) FROM chains) AS p, (SELECT count(*) FROM chain_frames) AS q, "
         # chains and their frames are those of their samples
         + as_lists("sample, chain, other", "SELECT s.sample, s.chain, c.chain AS other FROM samples s JOIN chains c USING (run, chain_id)"
                    " WHERE s.chain IS NOT c.chain OR s.frames IS NOT c.frames OR c.first_sample > s.sample") + " AS chains, "
         + as_lists("sample, depth", "SELECT f.sample, f.depth FROM frames f JOIN samples s USING (run, sample) LEFT JOIN chain_frames c ON c.run = s.run AND c.chain_id = s.chain_id"
                    " AND c.depth = f.depth WHERE c.depth IS NULL OR f.function IS NOT c.function OR f.dso IS NOT c.dso OR f.offset IS NOT c.offset OR f.mode IS NOT c.mode"
                    " OR f.file IS NOT c.file OR f.line IS NOT c.line OR coalesce(f.address, f.ip) IS NOT c.address") + " AS chain_frames, "
         # lines: those that samples have, and the shares of report
         + as_lists("event, file, line, function, dso, n, p", "SELECT event, file, line, function, dso, samples AS n, period AS p FROM lines"
                    " ORDER BY 1, 2, 3, 4, 5") + " AS lines, "
         + as_lists("event, file, line, function, dso, n, p", "SELECT event, file, line, function, dso, count(*) AS n, sum(period) AS p FROM samples"
                    " GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5") + " AS lines_of_samples, "
         + as_lists("event, dso, at, n, p, share, error", "SELECT event, dso, file || ':' || line AS at, sum(samples) AS n, sum(period) AS p, sum(share) AS share, share_error AS error, count(*) AS rows FROM lines"
                    " WHERE file IS NOT NULL GROUP BY 1, 2, 3 HAVING rows = 1") + " AS lines_once, "
         + ", ".join(
             "(SELECT count(*) FROM samples WHERE {0} = (SELECT v FROM m_{0})) AS a_{0},"
             "(SELECT sum(+{0} = (SELECT v FROM m_{0})) FROM samples) AS b_{0},"
             "(SELECT count(*) FROM samples WHERE {0} > (SELECT v FROM m_{0})) AS c_{0},"
             "(SELECT coalesce(sum(+{0} > (SELECT v FROM m_{0})), 0) FROM samples) AS d_{0},"
             "(SELECT count(*) FROM samples WHERE {0} <= (SELECT v FROM m_{0})) AS e_{0},"
             "(SELECT coalesce(sum(+{0} <= (SELECT v FROM m_{0})), 0) FROM samples) AS f_{0}".format(c) for c in BOUNDED))
for path in [fields, branches, *fresh, *corpus][::SHARE]:
    name = os.path.basename(path)
    rows = ask(AGREE, path)
    if not isinstance(rows, list):
        t.ok(False, "%s: rows of tables add up" % name, rows)
        continue
    [r] = rows
    t.ok(r["a"] == r["b"] == (r["c"] or 0) == r["h"] and r["d"] == r["e"] and r["f"] == r["g"] and r["i"] == r["j"]
         and r["k"] == r["d"] and r["l"] == r["m"] and r["n"] == r["o"] and r["p"] == r["q"] and r["r"] == 0, "%s: rows of tables add up" % name, r)
    for key, what in (("chains", "chains of samples"), ("chain_frames", "frames of chains")):
        t.equal(r[key], "[]", "%s: %s" % (name, what))
    t.equal(r["lines"], r["lines_of_samples"], "%s: lines" % name)
    shown = {(r["event"], r["dso"], r["srcline"]): (r["samples"], r["period"], round(r["share"] or 0, 9), round(r["share_error"] or 0, 9))
             for r in json.loads(run("report", "-j", "-s", "event,dso,srcline", path).stdout)["rows"] if not r["srcline"].startswith("??")}
    for *place, n, period, share, error in json.loads(r["lines_once"]):
        with_lines += 1
        mine = (n, period, round(share or 0, 9), round(error or 0, 9))
        if shown.get(tuple(place)) != mine:
            t.ok(False, "%s: lines are those of report" % name, (place, mine, shown.get(tuple(place))))
    for c in BOUNDED if r["a"] else ():
        a, b, more, more_too, most, most_too = (r["%s_%s" % (k, c)] for k in "abcdef")
        t.ok(a == (b or 0) and more == more_too and most == most_too, "%s: bounds of %s" % (name, c), (a, b, more, more_too, most, most_too))

t.ok(with_lines or SANITIZED or not os.path.exists("chains.data"), "lines compared with report", with_lines)

# ---- several recordings
[r] = ask("SELECT count(DISTINCT run) AS runs, (SELECT group_concat(run) FROM runs) AS list, "
          "(SELECT count(*) FROM samples WHERE run = 2) AS n FROM samples", fields, branches)
[one] = ask("SELECT count(*) AS n FROM samples", branches)
t.ok(r["runs"] == 2 and r["list"] == "1,2" and r["n"] == one["n"], "two recordings are two runs", (r, one))

# ---- functions
[r] = ask("SELECT hex(255) AS a, hex('AB') AS b, hist(100) AS c, hist(100, 30) AS d, bar(0.5, 4) AS e, "
          "demangle('_ZN3foo3barEv') AS f, (WITH v(x) AS (VALUES (1), (2), (3), (4), (100)) SELECT p50(x) FROM v) AS g, "
          "(WITH v(x) AS (VALUES (0), (10)) SELECT quantile(x, 0.25) FROM v) AS h, hist(0) AS i, hist(NULL) AS j, "
          "(WITH v(x) AS (VALUES (0), (1)) SELECT share_error(x) FROM v) AS k, hex(x'09afF0') || hex('') AS l", branches)
t.ok(r["a"] == "0xff" and r["b"] == "4142" and r["l"] == "09AFF0" and r["c"] == 64 and r["d"] == 90 and r["e"] == "##" and r["g"] == 3 and r["h"] == 2.5
     and r["i"] == 0 and r["j"] is None and 0.3 < r["k"] < 0.5, "functions", r)

# ---- addresses: in the order of unsigned numbers, or refused, or with a note
rnd = random.Random(11)
PLACES = [0, 1, 0x401000, (1 << 63) - 1, 1 << 63, 0xffff888000001000, 0xffffffff80000000, 0xffffffff81234567, (1 << 64) - 1]
mixed = [mem_made.Sample(0, ip=rnd.choice(PLACES), addr=rnd.choice(PLACES) ^ rnd.randrange(4)) for _ in range(60)]
mem_made.write("mixed.data", mixed)
mem_made.write("user.data", [s for s in mixed if max(s.ip, s.addr) < 1 << 63])
ORDER = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
parts, right = [], []
for column in ("ip", "addr"):
    values = [getattr(s, column) for s in mixed]
    for op, holds in ORDER.items():
        for x in PLACES:
            said = "address_order(%s) %s address_order(0x%x)" % (column, op, x)
            n = sum(holds(v, x) for v in values)
            # where it reaches the table, in an OR, in a CASE
            parts += ["(SELECT count(*) FROM samples WHERE %s)" % said, "(SELECT count(*) FROM samples WHERE %s OR cpu < 0)" % said,
                      "(SELECT sum(CASE WHEN %s THEN 1 ELSE 0 END) FROM samples)" % said]
            right += [n] * 3
        parts.append("(SELECT count(*) FROM samples a JOIN samples b ON address_order(a.%s) %s address_order(b.ip))" % (column, op))
        right.append(sum(holds(v, s.ip) for v in values for s in mixed))
    parts += ["(SELECT group_concat(hex(x)) FROM (SELECT %s AS x FROM samples ORDER BY address_order(%s)))" % (column, column),
              "(SELECT hex(%s) FROM samples ORDER BY address_order(%s) DESC LIMIT 1)" % (column, column)]
    right += [",".join("0x%x" % v for v in sorted(values)), "0x%x" % max(values)]
found = []
for k in range(0, len(parts), 50):
    rows = ask("SELECT " + ", ".join("%s AS c%d" % (x, i) for i, x in enumerate(parts[k:k + 50])), "mixed.data")
    found += list(rows[0].values()) if isinstance(rows, list) else [rows]
wrong = [(x, a, b) for x, a, b in zip(parts, found, right) if a != b]
t.ok(len(found) == len(parts) and not wrong, "address_order() has the order of Python's unsigned numbers", wrong[:3])
for where in ("ip >= 0xffffffff80000000", "0xFFFFFFFF80000000 < ip", "ip BETWEEN 0 AND 0xffffffff80000000", "ip NOT BETWEEN (0x8000000000000000) AND 5", "cpu = 0 OR +ip<=(0xffffffff80000000)",
              "CASE WHEN addr > /* > */ 0xffffffff80000000 THEN 1 END", "((0xffffffff80000000)) >= addr", "cpu IN (1, 2) AND (0xffffffff80000000 < ip)"):
    for path in ("mixed.data", "user.data"):
        ok, seen = refused("SELECT count(*) FROM samples WHERE " + where, path, says=r"negative number in SQL[^~]*address_order")
        t.ok(ok, "%s: refused: %s" % (path, where), seen)
NOTED = "are negative in SQL"
for query, noted in (("SELECT ip FROM samples ORDER BY ip", True), ("SELECT min(ip), max(addr) AS b FROM samples", True), ("SELECT count(*) FROM samples WHERE ip > 0x401000", True),
                     ("SELECT count(*) FROM samples WHERE ip < 0x401000 OR cpu > 5", True), ("SELECT x FROM (SELECT ip AS x FROM samples) WHERE x < 5", True),
                     ("SELECT count(*) FROM samples a, samples b WHERE a.ip < b.addr", True), ("SELECT addr, count(*) AS n FROM samples GROUP BY 1 HAVING addr > 7", True),
                     ("SELECT ip, count(*) FROM samples GROUP BY 1", False), ("SELECT count(*) FROM samples WHERE ip = 0xffffffff81234567", False),
                     ("SELECT count(*) FROM samples WHERE time > 5", False), ("SELECT addr & 0xfffffffffffff000 FROM samples WHERE ip <> 0", False),
                     ("SELECT '< 0xffffffff80000000' FROM samples -- ORDER BY", False)):
    for path in ("mixed.data", "user.data"):
        p = run("sql", "-j", path, query)
        t.equal((p.returncode, NOTED in p.stdout), (0, noted and path == "mixed.data"), "%s: a note on order: %s" % (path, query))
n = ask("SELECT count(*) AS n FROM samples WHERE ip = 0xffffffff81234567", "mixed.data")
t.equal(n, [{"n": sum(s.ip == 0xffffffff81234567 for s in mixed)}], "a kernel's address is equal to itself")

# ---- commands of the shell as the query
p = run("sql", branches, ".tables")
t.ok(p.returncode == 0 and "samples" in p.stdout and "blocks_loops" in p.stdout, "sql FILE .tables", p.stdout + p.stderr)
for words in ((".schema samples.weight",), (".schema",)):
    p = run("sql", branches, *words)
    t.ok(p.returncode == 0 and "latency" in p.stdout, "sql FILE " + words[0], p.stderr)
for word, says in ((".schema nothing", "no table"), (".sorry", "no command is '.sorry'")):
    p = run("sql", branches, word)
    t.ok(p.returncode == 2 and says in p.stderr, "sql FILE %s: an error" % word, p.stdout + p.stderr)

# ---- only reading
for query, says in (("ATTACH 'attached.db' AS x", "only be read"), ("CREATE TABLE x(y)", "only be read"), ("PRAGMA journal_mode = WAL", "only be read"),
                    ("SELECT load_extension('x')", "load_extension"), ("DELETE FROM samples", "may not be|only be read"), ("INSERT INTO samples VALUES (1)", "may not be|only be read|cannot"),
                    ("VACUUM INTO 'attached.db'", "only be read"), ("BEGIN TRANSACTION", "only be read"), ("CREATE TEMP VIEW x AS SELECT 1", "only be read"),
                    ("SELECT 1; SELECT 2", "one at a time"), ("SELECT * FROM sampels", "did you mean samples"), ("SELECT * FROM blocks_lops", "did you mean blocks_loops"), (" ", "empty"),
                    ("SELECT tme FROM samples", "did you mean time"), ("SELECT in_kernel FROM lines", "samples, .* have this column"), ("SELECT seconds FROM samples", "runs.* this column"),
                    ("SELECT cpu FROM samples, runs", "of which table, as in TABLE.cpu: runs, samples,"), ("SELECT quantile(1, 2)", "q is 0 to 1"), ("SELECT hist(1, 0)", "width")):
    ok, seen = refused(query, branches, says=says)
    t.ok(ok, "refused: " + query, seen)
t.ok(not glob.glob("attached.db*"), "no file was written")

# ---- queries that do not end
endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
growing = "WITH RECURSIVE c(x) AS (SELECT randomblob(1000000) UNION ALL SELECT randomblob(1000000) FROM c) SELECT * FROM c"
for query, words, says in ((endless, ("--timeout", "300ms"), "ended after 300"), (growing, ("--memory", "50M"), "memory"),
                           ("SELECT zeroblob(1000000000)", (), "too large"),
                           ("SELECT count(*) FROM " + ", ".join("samples s%d" % i for i in range(100)), (), "at most 64 tables"),
                           ("SELECT count(*) FROM " + ", ".join("frames s%d" % i for i in range(20)), ("--timeout", "300ms"), "ended after 300"),
                           ("SELECT " + "(1+" * 500 + "1" + ")" * 500, (), "depth|overflow|maximum|too")):
    ok, seen = refused(query, fields, words=words, says=says)
    t.ok(ok, "ended: " + query[:60], seen)

p = run("sql", branches, "SELECT ip FROM samples WHERE 0")
t.ok(p.returncode == 0 and "rows            none" in p.stdout, "people are told that there are no rows", p.stdout)

# ---- from standard input, in all formats
with open("query.sql", "w", encoding="utf-8") as f:
    f.write("SELECT count(*) AS n FROM samples -- a comment\n;\n")
with open("query.sql", encoding="utf-8") as f:
    p = run("sql", "--format", "csv", branches, stdin=f)
t.ok(p.returncode == 0 and p.stdout == "n\n%d\n" % one["n"], "a query from standard input", p.stdout + p.stderr)
tables.walk(t, "sql", branches, "SELECT *, 'a|\"<,' AS \"odd name\", char(27) AS run, 1.5 AS x, x'00ff' AS y FROM branches LIMIT 5")

# ---- at a terminal


def typed(*lines):
    """What is shown after each line until the next prompt, and the exit code."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", CYCLADE_PAGER="cat", NO_COLOR="1")
        os.execv(CYCLADE, [CYCLADE, "sql", branches])
    seen = []
    for text in ("", *lines):
        os.write(fd, text.encode())
        got = b""
        while not re.search(rb"(cyclade|\.\.\.)> ", got):
            if not select.select([fd], [], [], 2 if text == "\x03" else 60)[0]:
                if text != "\x03":
                    break
                os.write(fd, b"\x03")  # the first one came before the prompt read
                continue
            try:
                got += os.read(fd, 65536)
            except OSError:  # the other side is closed
                break
        seen.append(got.decode(errors="replace"))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return seen[1:], code


(many, schema_of, unknown, first, second, wrong, half, dropped, third, _), code = typed(
    ".tables\n", ".explain samples.weight\n", ".schema nothing\n", "SELECT count(*) ||\n", "';' AS n FROM samples;\n", "SELECT missing;\n",
    "SELECT 5,\n", "\x03", "SELECT 6 * 7;\n", ".quit\n")
t.ok(code == 0 and "blocks_loops" in many and "latency" in schema_of and "nothing" in unknown and "...>" in first
     and "%d;" % one["n"] in second and "no such column" in wrong and "...>" in half and "42" in third,
     "queries at a terminal, over several lines, after an error and after Ctrl-C", (code, first, second, wrong, half, dropped, third))

# ---- the queries of the manual
with open(os.path.join(ROOT, "doc/cyclade-sql.1.md"), encoding="utf-8") as f:
    section = f.read().split("# QUERIES")[1].split("# OPTIONS")[0]
queries = [q[1] for q in re.findall(r"""^    cyclade sql (?:old.data new.data )?(['"])(.*?)\1$""", section, re.M | re.S)]
t.ok(len(queries) >= 15 and len(queries) == section.count("cyclade sql"), "fifteen queries in the manual", len(queries))
for q in queries:
    for files in ((fields,), (branches,), (fields, branches)):
        rows = ask(q, *files)
        t.ok(isinstance(rows, list) or ("IBS_" in q and "the recording has no samples of ibs_op" in str(rows)), "manual: " + " ".join(q.split())[:70], rows)

# ---- tables of analyses are those of the commands, cell by cell
ANALYSES = (("functions", ("report",), "rows"), ("callees", ("report", "-g"), "rows"), ("branches_rows", ("report", "-b"), "rows"),
            ("blocks", ("blocks",), "blocks"), ("calls", ("calls",), "edges"), ("registers", ("registers",), "registers"),
            ("sharing", ("sharing",), "lines"))
for path in [fields, branches, *corpus[::SHARE]]:
    shown = {}
    for table, words, key in ANALYSES:
        p = run(*words, "-j", path)
        if p.returncode != 0:
            t.ok(p.returncode == 2 and refused("SELECT * FROM " + table, path)[0], "%s: no %s either" % (os.path.basename(path), table))
        else:
            shown[table] = [{k: "; ".join(v) if isinstance(v, list) else v for k, v in r.items()} for r in json.loads(p.stdout).get(key) or []]
    found = beside({table: list(rows[0]) if rows else [] for table, rows in shown.items()}, path) if shown else {}
    for table, words, key in ANALYSES:
        if table in shown:
            theirs, ours = shown[table], found[table] if isinstance(found, dict) else found
            t.ok(ours == theirs, "%s: %s is what %s shows" % (os.path.basename(path), table, " ".join(words)),
                 next(((a, b) for a, b in zip(ours, theirs) if a != b), (len(ours), len(theirs))) if isinstance(ours, list) else ours)

# ---- operands that are neither
for words, said in ((("-i", "FILE", "select count(*) from samples", "select 2"), "one query"), (("-i", "FILE", "FILE", "select 2"), "already"),
                    (("FILE", "select 1", "select 2"), "one query")):
    r = run("sql", *[("mixed.data" if w == "FILE" else w) for w in words])
    t.ok(r.returncode == 2 and not r.stdout and said in r.stderr, "sql %s: refused" % " ".join(words), r.stderr)

# ---- the schema, shown
rows = json.loads(run("list", "tables", "-j").stdout)["columns"]
t.ok({(c[0], c[1]) for c in schema} <= {(r["table"], r["column"]) for r in rows} and all(r["means"] and r["type"] and r["source"] for r in rows),
     "list tables has all columns, with meanings")
with open(os.path.join(ROOT, "src/cli/recordings/results.def"), encoding="utf-8") as f:
    results = re.findall(r'^RESULT\(\w+, "(\w+)"', f.read(), re.M) + ["stat", "tree", "compare", "calibrate"]  # saved ones
names = [name for name in dict.fromkeys(r["table"] for r in rows) if name not in named and not name.startswith("ibs_") and name != "spe"]
t.ok(names and all(name in results or any(name.startswith(r + "_") for r in results) for name in names),
     "a result's tables have its name, or have it as a prefix", names)
t.equal(len({(r["table"], r["column"]) for r in rows}), len(rows), "no two tables or columns have the same name")
r = run("list", "tables")
counted = collections.Counter(c["table"] for c in rows)
listed = {x[0]: int(x[1]) for x in (line.split() for line in r.stdout.splitlines()) if len(x) > 2 and x[0] in counted and x[1].isdigit()}
t.ok(listed == dict(counted) and "means" not in r.stdout and "meaning" in run("list", "tables", "samples").stdout,
     "list tables: a line for each table with the number of its columns; of one table its columns", (listed, counted))
t.ok("latency" in run("explain", "samples.weight").stdout and run("list", "tables", "nothing").returncode == 1, "explain of a column; a table that there is not")
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade sql with names that are hostile or 10 MB long, and with queries that would take all time or memory: each is answered, or
ended with a message, within bounds."""
import csv
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
import tables  # noqa: E402
import test_blocks  # noqa: E402
from calls_made import ANY, CALL, make  # noqa: E402
from tap import CYCLADE, SANITIZED, Tap, run, wait_for  # noqa: E402

t = Tap()
if "no SQL" in run("--version").stdout:
    t.skip("cyclade sql", "built without SQLite")
    t.done()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-sql-hostile-")
os.chdir(tmp.name)
os.environ["HOME"] = tmp.name


def ask(query, *files):
    p = run("sql", "-j", *files, query)
    try:
        return json.loads(p.stdout)["rows"]
    except ValueError:
        return p.stderr


# ---- names of functions, as SQL and all formats have them
NAMES = [b"main", b"it's \"quoted\"", b"x'); DROP TABLE samples; --", b"\x1b[31mred\x1b]0;title\x07", b"\xff\xfe invalid \xc3", b"a\nnew\r\tline", b"<b>&|`*_[x](y)",
         b"cut\0here", b"%s%n%99999d", b"x" * 60000, b"\\", b"", b"=cmd|' /C calc'!A0", "中文 é".encode()]
make("names.data", NAMES, [[((i % len(NAMES), 9), ((i + 1) % len(NAMES), 0), CALL, 0)] for i in range(20 * len(NAMES))], filter_=ANY, config=0x20c4)
rows = ask("SELECT function_from AS f, function_to AS g, count(*) AS n FROM branches GROUP BY 1, 2", "names.data")
t.ok(isinstance(rows, list) and len(rows) >= len(NAMES) - 1 and sum(r["n"] for r in rows) == 20 * len(NAMES), "hostile names: a row each", rows)
have = {r["f"] for r in rows}
for name in NAMES[:3] + NAMES[8:9] + NAMES[9:11]:
    text = name.decode()
    [r] = ask("SELECT count(*) AS n FROM branches WHERE function_from = '%s'" % text.replace("'", "''"), "names.data")
    t.ok(text in have and r["n"] == 20, "found by its name: %.30s" % text, r)
[r] = ask("SELECT count(*) AS n FROM branches WHERE function_from = 'cut'", "names.data")
t.ok(r["n"] == 20, "a NUL ends a name", r)
tables.walk(t, "sql", "names.data", "SELECT * FROM branches LIMIT 30")
tables.walk(t, "sql", "names.data", "SELECT function, dso, samples, share FROM functions")

# ---- names of columns that data bring, or a query
p = run("sql", "names.data", "SELECT 1 AS \"a\"\"b\", 2 AS \"\x1b[1m\", 3 AS \"" + "y" * 100000 + "\", 4 AS \"; DROP\", 5 AS \"\xff\"", "--format", "csv")
t.ok(p.returncode == 0 and list(csv.reader(io.StringIO(p.stdout)))[1] == ["1", "2", "3", "4", "5"] and "\x1b" not in p.stdout, "hostile names of columns", p.stderr)

# ---- 10 MB
LONG = "z" * (1_000_000 if SANITIZED else 10_000_000)  # sanitizers look at each byte many times
with open("long.elf", "wb") as f:
    f.write(test_blocks.elf({"f": LONG}))
test_blocks.recording("symbol.data", os.path.join(tmp.name, "long.elf"), list(test_blocks.stacks_of(test_blocks.Program(6).branches)))
[r] = ask("SELECT max(length(f)) AS n, count(*) AS m FROM (SELECT DISTINCT function_from AS f FROM branches)", "symbol.data")
t.ok(r["n"] and r["n"] == len(LONG) and r["m"] > 3, "a symbol of 10 MB", r)
w = gen.Writer("<")
f = gen.File(w, [(LONG, dict(type=1, config=0, sample=gen.BASE, period=1000), [40]), ("it's;\"--", dict(type=1, config=1, sample=gen.BASE, period=1000), [41])])
f.features, _ = gen.features(w)
f.features[3] = w.text("host'\"\udcff\udcfe")
f.features[11] = w.pack("I", 2) + w.text(LONG) + w.text("a\nb")
f.data += w.record(gen.COMM, w.pack("II", 11, 12) + gen.text8("c" * 60000))
gen.fill(f, 5)
with open("event.data", "wb") as out:
    out.write(f.build())
rows = ask("SELECT length(event) AS n, count(*) AS m FROM samples GROUP BY event ORDER BY 1", "event.data")
t.ok(isinstance(rows, list) and sum(r["m"] for r in rows) == 10 and rows[0]["n"] == 8, "an event whose name has 10 MB", rows)
p = run("sql", "event.data", "SELECT event FROM samples", "-j", timeout=120)
t.ok(p.returncode == 0 or "too large" in p.stderr or "memory" in p.stderr, "shown ten times", p.stderr[:300])
[r] = ask("SELECT count(*) AS n FROM samples WHERE event = 'it''s;\"--'", "event.data")
t.ok(r["n"] == 5, "an event with quotes, by its name", r)
rows = ask("SELECT length(command) AS n, length(host) AS h FROM runs", "event.data")
t.ok(isinstance(rows, list) and rows[0]["h"] > 4, "a command of 10 MB, a host that is no UTF-8", rows)
t.ok(isinstance(ask("SELECT * FROM lines", "event.data"), list) and isinstance(ask("SELECT * FROM chains", "event.data"), list), "lines and chains of these")

# ---- queries without end, by time
del LONG, f, w, p, rows  # what is resident when it forks counts as the child's


def bounded(name, query, *words, says, files=("names.data",), seconds=20, megabytes=0, stdin=None):
    """The query ends with exit 2 and a message; the time and memory that it took are bounded."""
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        with open("out", "wb") as out, open("err", "wb") as err:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
        if stdin is not None:
            with open("in", "wb") as f:
                f.write(stdin)
            os.dup2(os.open("in", os.O_RDONLY), 0)
        os.execv(CYCLADE, [CYCLADE, "sql", *words, *files, *([query] if query is not None else [])])
    _, status, used = os.wait4(pid, 0)
    took = time.monotonic() - began
    with open("err", "rb") as f:
        text = f.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    good = code == 2 and re.search(says, text) and not os.path.getsize("out")
    t.ok(good, name, (code, text[:400]))
    t.ok(used.ru_utime + used.ru_stime < seconds, name + ": in time", (took, used.ru_utime))
    if megabytes and not SANITIZED:
        t.ok(used.ru_maxrss < (megabytes + 100) * 1024, name + ": within its memory", used.ru_maxrss)


COUNT = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
QUICK = ("--timeout", "100ms")
LATE = "ended after 100"
bounded("counting without end", COUNT + "SELECT count(*) FROM c", *QUICK, says=LATE)
bounded("a window over rows without end", COUNT + "SELECT sum(x) OVER (ORDER BY x) FROM c", *QUICK, "--memory", "64M", says=LATE + "|memory", megabytes=64)
bounded("sorting rows without end", COUNT + "SELECT x FROM c ORDER BY -x", *QUICK, "--memory", "64M", says=LATE + "|memory", megabytes=64)
bounded("rows without end", COUNT + "SELECT x FROM c", "--timeout", "60s", "--memory", "20M", says="memory", megabytes=20)
bounded("distinct rows without end", COUNT + "SELECT count(DISTINCT x) FROM c", *QUICK, "--memory", "50M", says=LATE + "|memory", megabytes=50)
bounded("two walks that call one another", COUNT + ", d(y) AS (SELECT x FROM c UNION ALL SELECT y FROM d) SELECT count(*) FROM d", *QUICK, says=LATE)
bounded("a join of 60 tables", "SELECT count(*) FROM " + ", ".join("branches b%d" % i for i in range(60)), *QUICK, says=LATE)
bounded("a join of 100 tables", "SELECT count(*) FROM " + ", ".join("branches b%d" % i for i in range(100)), says="at most 64 tables")
bounded("100 tables one after the other", "SELECT 1" + " UNION ALL SELECT 1" * 200, says="too many terms")
bounded("a text that grows", "WITH RECURSIVE c(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM c) SELECT max(length(x)) FROM c", says="too large|memory", megabytes=1024)
bounded("a list that grows", COUNT + "SELECT group_concat(hex(zeroblob(100000)) || x) FROM c", "--timeout", "400ms", says="too large|memory|ended after", megabytes=1024, seconds=40)
bounded("a slow pattern", COUNT + "SELECT count(*) FROM c WHERE hex(zeroblob(4000)) || x GLOB '" + "*0" * 20 + "*a'", *QUICK, says=LATE, seconds=60)
bounded("a slow function of all rows", COUNT + "SELECT count(*) FROM c WHERE (SELECT count(*) FROM chains, branches, frames, lines) >= 0", *QUICK, says=LATE)

# ---- blobs and texts of 1 GB
for query in ("SELECT zeroblob(1000000000)", "SELECT length(randomblob(1073741824))", "SELECT hex(zeroblob(34000000))",
              "SELECT replace(hex(zeroblob(30000)), '0', hex(zeroblob(30000)))", "SELECT length(quote(zeroblob(67000000)))",
              "SELECT group_concat(hex(zeroblob(8000000))) FROM branches", "SELECT char(120) || zeroblob(67108864)")[:3 if SANITIZED else None]:
    bounded(query[:60], query, "--timeout", "20s", says="too large|too big|memory", megabytes=1024)
bounded("many blobs", "SELECT randomblob(30000000) FROM branches", "--memory", "100M", says="memory", megabytes=100)

# ---- queries that are too large themselves
bounded("depth", "SELECT " + "(1+" * 5000 + "1" + ")" * 5000, says="depth|overflow|maximum|too|large")
bounded("a query of 10 MB", None, says="longer than 1 MB", stdin=b"SELECT '" + b"x" * 10_000_000 + b"'")
bounded("thousands of columns", "SELECT " + ", ".join("%d" % i for i in range(3000)), says="too many columns")
p = subprocess.run([CYCLADE, "sql", "names.data"], input=b"SELECT 1 AS a\0; SELECT 2", capture_output=True)
t.ok(p.returncode in (0, 2) and b"2\n" not in p.stdout.split(b"a\n")[-1], "a NUL in a query", p.stdout + p.stderr)
p = subprocess.run([CYCLADE, "sql", "names.data"], input=b"SELECT '\xff\xfe\x1b' AS a", capture_output=True)
t.ok(p.returncode == 0 and b"\x1b" not in p.stdout and b"\xff" not in p.stdout, "bytes that are no UTF-8 in a query", p.stdout + p.stderr)

# ---- a signal ends a query, and at a terminal the next one is answered
p = subprocess.Popen([CYCLADE, "sql", "names.data", COUNT + "SELECT count(*) FROM c"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
wait_for(lambda: "SigCgt:" in open("/proc/%d/status" % p.pid, encoding="ascii").read() and
         int(re.search(r"SigCgt:\s*(\w+)", open("/proc/%d/status" % p.pid, encoding="ascii").read())[1], 16) >> (signal.SIGINT - 1) & 1)
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=60)
t.ok(p.returncode == 2 and "ended by a signal" in err and not out, "Ctrl-C ends a query", (p.returncode, err))


def until(fd, pattern, seconds=60):
    got, end = b"", time.monotonic() + seconds
    while not re.search(pattern, got) and time.monotonic() < end:
        if select.select([fd], [], [], 1)[0]:
            try:
                got += os.read(fd, 65536)
            except OSError:
                break
    return got.decode(errors="replace")


pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", CYCLADE_PAGER="cat", NO_COLOR="1")
    os.execv(CYCLADE, [CYCLADE, "sql", "names.data"])
until(fd, rb"cyclade> ")


def ticks():
    """Processor time that the shell has used."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[11])


before = ticks()
os.write(fd, (COUNT + "SELECT count(*) FROM c;\n").encode())
wait_for(lambda: ticks() > before + 10)  # the query runs
os.write(fd, b"\x03")
said = until(fd, rb"signal[\s\S]*cyclade> ")
os.write(fd, b"SELECT 6 * 7 AS x;\n")
said += until(fd, rb"42[\s\S]*cyclade> ")
os.write(fd, b".quit\n")
until(fd, rb"\Z.", 1)
_, status = os.waitpid(pid, 0)
pid, fd = pty.fork()
if pid == 0:
    os.execv(CYCLADE, [CYCLADE, "sql", "--timeout", "900ms", "names.data", COUNT + "SELECT count(*) FROM c"])
slow = until(fd, rb"--timeout\r\n")
os.waitpid(pid, 0)
t.ok(re.search(r"running, \d s so far \r +\rcyclade: ", slow), "a query that takes long says so at a terminal", slow)
t.ok("ended by a signal" in said and "42" in said and os.waitstatus_to_exitcode(status) == 0, "Ctrl-C ends the query at a terminal, not the shell", said)

# ---- columns have the names that a query gives them
ALIAS = "a\x1b[31m\x9b\u202e</script><b>|=1"
for more in ([], ["--format", "markdown"], ["--format", "csv"], ["-j"], ["--format", "html"]):
    r = run("sql", "-i", "names.data", *more, "SELECT 1 AS \"%s\"" % ALIAS)
    raw = re.search("[\x1b\x9b\u202e]", r.stdout.replace('t<"\x80"', ""))
    t.ok(r.returncode == 0 and "31m" in r.stdout and not raw and ("<b>" not in r.stdout or more[-1:] == ["csv"] or not more or more == ["-j"]),
         "sql %s: a column with a name that commands a terminal" % " ".join(more), (raw, r.stdout[:300], r.stderr))
t.done()

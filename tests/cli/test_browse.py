#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""browse on terminals of tmux: what keys do, what is shown compared with what report and annotate write, terminals
that it refuses, and that it leaves the terminal as it was, whatever ends it."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import recordings  # noqa: E402
import screen  # noqa: E402
from account_made import SKX, Made  # noqa: E402
from screen import WAIT, Screen  # noqa: E402
from tap import SANITIZED, Tap, run, wait_for  # noqa: E402

t = Tap()
top = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = os.path.join(top.name, "cache")
screen.begin(t, top.name)


def heads(line):
    return line.split()


def hottest_unfolded(tree):
    """How many rows of a tree are seen while only those of the hottest path are unfolded: the roots, and what stands
    directly below each row of the path."""
    below = {}
    for row in tree:
        below.setdefault(row["parent"], []).append(row["id"])
    seen, rows = 0, below[tree[0]["parent"]]
    while rows:
        seen += len(rows)
        rows = below.get(rows[0])
    return seen


def test_keys(made, size):
    r = made["chains"]
    rows = json.loads(run("report", "-j", "--min", "0", "-i", r.path).stdout)["rows"]
    tag = "%dx%d: " % size
    s = Screen(r.path, size=size)
    s.shows(rows[0]["function"], tag + "the hottest function is shown")
    s.shows("1 of %d " % len(rows), tag + "all rows of the report are there")
    s.shows("no losses", tag + "losses are named, even if there are none")
    listed = [line for line in s.lines()[3:3 + min(len(rows), size[1] - 5)]]
    t.ok(all(row["function"][:6] in line for row, line in zip(rows, listed)), tag + "in the report's order", "\n".join(listed))
    down = lambda n: min(1 + n, len(rows))
    s.press("j")
    s.is_at(down(1), tag + "j goes down")
    s.press("F5", "Insert", "k")
    s.is_at(1, tag + "k goes up, keys without a meaning do nothing")
    s.press("Down", "Down")
    s.is_at(down(2), tag + "so does the arrow")
    s.press("G")
    s.is_at(len(rows), tag + "G goes to the last row")
    s.press("g")
    s.is_at(1, tag + "g to the first")
    s.press("/")
    s.shows(lambda lines: lines[-2].strip() == "/", tag + "/ asks")
    s.press("m", "a", "i", "n", "Enter")
    want = next((i + 1 for i, row in enumerate(rows) if i and any("main" in str(row[k]) for k in ("function", "dso"))), None)
    if want:
        s.is_at(want, tag + "and finds")
    else:
        s.shows("not found: main", tag + "and says what is not there")
    s.press("g", "/", "(", "Enter")
    s.shows("'('", tag + "a pattern that is none is refused")
    s.press("g")
    s.is_at(1, tag + "and goes with the next key")
    s.press("a")
    s.shows("annotate " + rows[0]["function"], tag + "a opens the function's code")
    code = json.loads(run("annotate", "-j", "-i", r.path, rows[0]["function"]).stdout)["instructions"]
    hot = max(range(len(code)), key=lambda i: code[i]["period"])
    s.is_at(hot + 1, tag + "at its heaviest instruction")
    s.shows(code[hot]["address"], tag + "which is shown")
    s.press("Tab")
    s.shows(lambda lines: any(h in lines[2] for h in ("source",)) or "lines" in lines[1], tag + "Tab shows its lines")
    s.press("q")
    s.is_at(1, tag + "q goes back")
    s.press("2")
    tree = json.loads(run("report", "-g", "-j", "--min", "0", "-i", r.path).stdout)["rows"]
    n = hottest_unfolded(tree)
    s.shows(lambda lines: "total" in lines[2] and "▾" in "".join(lines) and " of %d " % n in lines[-1].replace(",", ""),
            tag + "2 shows callees, the hottest unfolded")
    s.press("h")
    s.shows(lambda lines: "▸" in lines[3], tag + "h folds")
    s.press("l")
    s.shows(lambda lines: "▾" in lines[3] and " of %d " % n in lines[-1].replace(",", ""), tag + "l unfolds")
    s.press("Enter")
    s.shows(lambda lines: "▸" in lines[3], tag + "Enter folds, too")
    s.press("E")
    s.shows("of %d " % len(tree), tag + "E unfolds all rows of the tree")
    s.press("1", "i")
    s.shows(lambda lines: "total" in lines[2] and rows[0]["function"] in "".join(lines[3:5]), tag + "i shows callers of the function")
    s.press("q", "Tab")
    s.shows("no records", tag + "Tab shows what the report says beside its rows")
    s.press("BTab")
    s.is_at(1, tag + "Shift-Tab goes back")
    s.press("t")
    s.shows(lambda lines: "tid" in "".join(lines[2:4]), tag + "t lists threads")
    s.press("Enter")
    s.shows(lambda lines: " thread " in lines[-1], tag + "Enter shows one alone")
    s.press("r")
    s.shows(lambda lines: " thread " not in lines[-1] and "function" in "".join(lines[2:4]), tag + "r shows all again")
    s.press("?")
    s.shows("annotate: the code of", tag + "? shows the keys")
    s.press("q")
    s.is_at(1, tag + "q goes back from them")
    s.press("5")
    s.shows("account", tag + "a result that the recording lacks says why")
    s.press("9")
    s.shows("9 info", tag + "9 shows what is in the file")
    s.press("q")
    s.ended(0, tag + "q ends")
    s.close()


def test_sorting(made):
    r = made["chains"]
    s = Screen(r.path, size=(120, 30))
    s.shows("function", "sorting: begins")
    column = heads(s.lines()[2]).index("function")
    rows = json.loads(run("report", "-j", "--min", "0", "-i", r.path).stdout)["rows"]
    names = sorted(row["function"].encode() for row in rows)
    for _ in range(20):
        if "▾function" in s.lines()[2]:
            break
        was = s.lines()[2]
        s.press("s")
        wait_for(lambda: s.lines()[2] != was, WAIT)
    t.ok("▾function" in s.lines()[2], "s goes to the next column", (column, s.lines()[2]))
    n = min(len(names), 24)
    s.shows(lambda lines: [line.split("  ")[-1].strip()[:8].encode() for line in lines[3:3 + n]] == [x[:8] for x in names[:n]],
            "rows are in the order of their names")
    s.press("S")
    s.shows(lambda lines: [line.split("  ")[-1].strip()[:8].encode() for line in lines[3:3 + n]] == [x[:8] for x in names[::-1][:n]],
            "S turns it round")
    s.press("r")
    s.shows(lambda lines: rows[0]["function"] in lines[3] and "▾" not in lines[2], "r restores the table's own")
    s.press("c")
    s.shows(lambda lines: "event" in lines[2], "c shows columns for programs")
    s.press("Q")
    s.ended(0, "Q")
    s.close()


def test_room(made):
    """What a row has no room for stands below the rows, by the names of its columns; what has room does not."""
    r = made["chains"]
    row = json.loads(run("report", "-j", "--min", "0", "-i", r.path).stdout)["rows"][0]
    for columns in (56, 120):
        s = Screen(r.path, size=(columns, 14))
        s.shows(lambda lines: row["function"] in lines[3] and lines[-2].split()[:1] == [row["function"].split()[0]], "room: %d columns" % columns)
        shown, below = s.lines()[3], s.lines()[-2]
        for key in ("dso",):
            m = re.search(r"  %s: (\S+)" % key, below)
            t.ok(row[key].startswith(m[1].rstrip("…")) if row[key] not in shown and m else (row[key] in shown and not m),
                 "room: %d columns: %s where it is cut" % (columns, key), (shown, below))
        s.press("Q")
        s.ended(0, "room")
        s.close()


def test_resizing(made):
    s = Screen(made["account"].path, size=(80, 24))
    s.shows("function", "resizing: begins")
    s.press("j", "j")
    s.is_at(3, "resizing: a row is selected")
    for size in ((200, 50), (40, 8), (20, 3), (10, 2), (1, 1), (120, 30)):
        s.tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        if size[1] >= 8 and size[0] >= 40:
            s.shows(lambda lines: len(lines) == size[1] and " of " in lines[-1] and "losses" in lines[-1],
                    "resized to %dx%d: the last line is the state" % size)
            s.is_at(3, "resized to %dx%d: the row is still selected" % size)
        else:
            t.ok(wait_for(lambda: s.pid() > 0, 5), "resized to %dx%d: lives" % size)
    s.press("Tab", "j")
    s.is_at(2, "keys work after it")
    s.tmux("resize-window", "-x", "60", "-y", "20")
    s.shows(lambda lines: len(lines) == 20 and "no losses" in lines[-1], "texts are broken anew")
    s.press("Q")
    s.ended(0, "after resizing")
    s.close()


def test_signals(made):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV):
        if number == signal.SIGSEGV and SANITIZED:
            continue
        name = signal.Signals(number).name
        s = Screen(made["chains"].path)
        s.shows("function", name + ": begins")
        os.kill(s.pid(), number)
        s.ended(128 + number, name)
        s.close()
    s = Screen(made["chains"].path)
    s.shows("function", "Ctrl-C: begins")
    s.press("C-c")
    s.ended(130, "Ctrl-C")
    s.close()


def open_result(s, name):
    """By its number, if it has one, or from result to result."""
    names = re.findall(r"(?:(\d) )?(\w+)", s.lines()[0])
    at = [n for _, n in names].index(name)
    tables = s.lines()[1]
    s.press(*([names[at][0]] if names[at][0] else ["]"] * at))
    s.shows(lambda lines: lines[1] != tables, name + ": opens")


def test_every_table(made):
    """Each table of each result is reached by Tab, with as many rows as the result's json has."""
    for name, result, words in (("branches", "blocks", ["blocks"]), ("branches", "calls", ["calls"]), ("chains", "info", ["info"]),
                                ("account", "account", ["report", "--account"]), ("memory", "mem", ["mem"]), ("accesses", "mem", ["mem"]),
                                ("accesses", "sharing", ["sharing"])):
        r = made[name]
        tag = "%s of %s" % (" ".join(words), name)
        d = json.loads(run(*words, "-j", "-i", r.path).stdout)
        s = Screen(r.path, size=(600 if result == "mem" else 200, 50))  # as wide as the names of its tables
        s.shows(lambda lines: result in lines[0].split() and "function" in "".join(lines), tag + ": begins")
        open_result(s, result)
        want = [k for k, v in d.items() if isinstance(v, list) and v and isinstance(v[0], dict)]
        wait_for(lambda: set(want) <= set(s.lines()[1].split()), WAIT)
        tables = s.lines()[1].split()
        t.ok(set(want) <= set(tables), tag + ": has all tables of the json", (want, tables))
        for table in tables:
            if table in want:
                s.shows(" of %s " % format(len(d[table]), ","), "%s: %s has all rows" % (tag, table), 20)
            here = s.chosen()
            s.press("Tab")
            t.ok(len(tables) == 1 or wait_for(lambda: s.chosen() != here, WAIT), "%s: Tab leaves %s" % (tag, table))
        s.press("Q")
        s.ended(0, tag)
        s.close()


def test_narrow_memory(made):
    """80 columns: bars are whole, and rows are told apart."""
    r = made["memory"]
    d = json.loads(run("mem", "-j", "-i", r.path).stdout)
    most = {k: max(x["samples"] for x in d["histogram"] if x["latency"] == k) for k in {x["latency"] for x in d["histogram"]}}
    rows = d["histogram"][:15]
    want = [(x["latency"], format(x["low"], ","), -(-24 * x["samples"] // most[x["latency"]])) for x in rows]
    s = Screen(r.path, size=(80, 24))
    s.shows("mem", "narrow: begins")
    open_result(s, "mem")
    for table, seen in (("histogram", lambda lines: [(*line.split()[:2], line.count("#")) for line in lines[3:3 + len(want)]] == want and
                         not any("\u2026" in line for line in lines[3:3 + len(want)])),
                        ("source_latencies", lambda lines: all((x["source"] or "")[:19] in line for x, line in zip(d["source_latencies"][:15], lines[3:18]))),
                        ("instructions", lambda lines: [line.split()[-1] for line in lines[3:18]] == [x["address"] for x in d["instructions"][:15]])):
        for _ in range(40):
            here = s.chosen()
            if re.sub(r"\033\[[0-9;]*m", "", re.search(r"\033\[[0-9;]*7m(.*?)\033", here)[1]).strip() == table:
                break
            s.press("Tab")
            wait_for(lambda: s.chosen() != here, WAIT)
        s.shows(seen, "narrow: %s" % table, 20)
    s.press("Q")
    s.ended(0, "narrow")
    s.close()


HOSTILE = ["\033[31mred\033]0;title\a", "two\nlines", "pipe|\"quote\",comma<b>", "bad\xff\xfeutf", "wide\u4e2d\u6587", "\u202eleft"]


def test_hostile_names():
    where = os.path.join(top.name, "hostile")
    os.mkdir(where)
    m = Made(where, tree=SKX, names=HOSTILE)
    for i, name in enumerate(HOSTILE):
        m.put(name, SKX[0][0], 50 + i)
    path = os.path.join(where, "file\033[5m")
    m.write(path)
    s = Screen(path, size=(100, 24))
    s.shows("\\x1b[31mred", "hostile: an escape is written out")
    s.shows("pipe|", "hostile: other characters are as they are")
    raw = s.tmux("capture-pane", "-p", "-e")
    t.ok("\033[31mred" not in raw and "title" in raw, "hostile: no name commands the terminal", raw)
    t.ok(len(s.lines()) == 24, "hostile: a row is a line", "\n".join(s.lines()))
    s.press("G", "g", "Enter")
    s.shows("annotate", "hostile: Enter opens or says why not", 30)
    s.press("Q")
    s.ended(0, "hostile")
    s.close()


def test_many_rows():
    n = 100000 if SANITIZED else 1000000
    path = os.path.join(top.name, "many.data")
    subprocess.run([sys.executable, os.path.join(HERE, "..", "..", "bench", "account_big.py"), path, str(n), "1", "1", str(n)],
                   check=True)
    s = Screen("-s", "addr", path, size=(120, 40))
    rows = "{:,}".format(n)
    s.shows(" of " + rows, "%s rows: are shown" % rows, 600)
    took = {}

    def timed(what, seen, *keys):
        began = time.monotonic()
        s.press(*keys)
        s.shows(seen, "%s rows: %s" % (rows, what), 60)
        took[what] = time.monotonic() - began
    timed("the last one", lambda lines: "%s of %s" % (rows, rows) in lines[-1], "G")
    timed("a screen up", lambda lines: "%s of %s" % (rows, rows) not in lines[-1], "PageUp")
    timed("the first one", lambda lines: " 1 of " in lines[-1], "g")
    timed("sorted", lambda lines: "▾" in lines[2], "s")
    s.press("r")
    timed("searched to the end", "not found", "/", "z", "z", "q", "Enter")
    for what, seconds in took.items():
        print("# %s rows: %s: %.0f ms" % (rows, what, seconds * 1000))
    t.ok(max(took["the last one"], took["the first one"], took["a screen up"]) < 10, "%s rows: moving has no delay" % rows, took)
    s.press("g")
    s.is_at(1, "g to the first row")
    s.mouse(0, 10, 8)
    s.is_at(5, "the mouse chooses a row")
    s.mouse(65, 10, 8)
    s.is_at(8, "its wheel goes down")
    s.mouse(64, 10, 8)
    s.is_at(5, "and up")
    before = s.lines()[2]
    s.mouse(0, before.index("share") + 1 if "share" in before else 10, 3)
    s.shows(lambda lines: lines[2] != before and ("▾" in lines[2] or "▴" in lines[2]), "a head sorts by its column")
    s.press("Q")
    s.ended(0, "many rows")
    s.close()


def test_offered(made):
    """The last line of a report on a terminal, and nowhere else."""
    r = made["chains"]
    s = Screen(r.path, size=(100, 40), command="report", env=["CYCLADE_PAGER=cat"])
    s.ended(0, "report on a terminal")
    lines = [line for line in s.lines() if line.startswith(("       cyclade", " next: cyclade"))]
    t.ok(lines and "cyclade browse" in lines[-1], "its last line offers browse", "\n".join(s.lines()))
    s.close()
    for words in ((), ("-j",), ("--format", "markdown")):
        t.ok("cyclade browse" not in run("report", *words, "-i", r.path).stdout, "report %s elsewhere does not" % " ".join(words))


def test_refusals(made):
    path = made["chains"].path
    p = run("browse", path)
    t.ok(p.returncode == 2 and "terminal" in p.stderr and "cyclade report" in p.stderr and not p.stdout,
         "without a terminal it refuses, and says what to use", (p.returncode, p.stderr))
    for term in ("dumb", "", "no-such-terminal"):
        s = Screen(path, env=["TERM=" + term])
        s.shows("cyclade report", "TERM=%s: what to use instead" % term)
        s.ended(2, "TERM=%s" % term)
        s.close()
    s = Screen("/nonexistent")
    s.ended(2, "no such file")
    s.close()


def main():
    if not shutil.which("tmux"):
        t.skip("browse", "no tmux")
        t.done()
    if "no browse" in run("--version").stdout:
        p = run("browse", "/dev/null")
        t.ok(p.returncode == 2 and "cyclade report" in p.stderr, "without ncurses it says what to use", p.stderr)
        t.done()
    where = os.path.join(top.name, "made")
    made = {r.name: r for r in recordings.made(where)}
    recordings.TAKEN = {"chains": recordings.TAKEN["chains"]}
    recordings.SIMULATED = {}
    taken = {r.name: r for r in recordings.taken(os.path.join(top.name, "taken"))}
    test_refusals({**made, **taken} if "chains" in taken else made)
    if "chains" in taken:
        made.update(taken)
        for size in ((80, 24), (200, 50)):
            test_keys(made, size)
        test_offered(made)
        test_sorting(made)
        test_room(made)
        test_resizing(made)
        test_signals(made)
        test_every_table(made)
        test_narrow_memory(made)
    else:
        t.skip("keys", recordings.missing[0][1])
    test_hostile_names()
    test_many_rows()
    t.done()


main()

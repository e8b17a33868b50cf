# SPDX-License-Identifier: BSD-3-Clause
"""What holds of every result that is made of tables, whatever it shows: walk() asks a command for all its tables in all
formats. The names of the tables come from the program's own refusal of one that there is not."""
import base64
import csv
import functools
import hashlib
import io
import json
import math
import re

from page import Page, differences
from tap import run


def flat(value):
    """A json value as csv has it; of text that is not UTF-8 json has U+FFFD, csv \\xNN."""
    if value is None:
        return ""
    if isinstance(value, list):
        return flat("; ".join(value))
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        text = "".join("\\x%02x" % ord(c) if ord(c) < 32 or ord(c) == 127 else c for c in value)
        return "'" + text if re.match(r"[=+@\t-].", text) and not number(text) else text
    return value


def number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def same(value, field):
    value = flat(value)
    if isinstance(value, (int, float)):
        return number(field) and math.isclose(float(field), value, rel_tol=1e-8, abs_tol=1e-300)
    return re.sub(r"(\\x[89a-f][0-9a-f])", "\ufffd", field) == value


def rows_of(doc, table):
    """The rows of a document that has this table alone, as lists of (column, value)."""
    doc = {k: v for k, v in doc.items() if k != "schema"}
    if list(doc) != [table]:
        return [list(doc.items())]  # the document's own members
    if isinstance(doc[table], dict):
        return [list(doc[table].items())]
    return [list(x.items()) if isinstance(x, dict) else [("note", x)] for x in doc[table]]


def by_event(doc):
    """Of report's document: for each event its sums and, as "rows", its rows."""
    return [dict(e, rows=[r for r in doc["rows"] if r.get("event", e["event"]) == e["event"]]) for e in doc["events"]]


def once():
    """run(), which starts what has the same words once: for results that are the same each time."""
    return functools.lru_cache(maxsize=None)(run)


def check_page(t, name, p, doc):
    """`p`, what --format html gave: a page whose policy allows its own script and style alone, that can be read without
    scripts, with the figures of `doc`, of json."""
    page = Page(text=p.stdout)
    sha = ["sha256-" + base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in page.scripts[:1] + page.styles[:1]]
    t.equal(page.csp, "default-src 'none'; script-src '%s'; style-src '%s'; img-src data:" % tuple(sha), name + ": html is a page with a policy")
    outside = [(tag, a) for tag, attrs in page.tags for a in attrs if a.startswith("on") or a in ("style", "src", "href")]
    t.ok((len(page.scripts), len(page.styles), outside, page.unbalanced) == (1, 1, [], []) and
         [x[0] for x in page.open] in ([], ["html", "body"]) and {x for x, _ in page.tags} <= ELEMENTS,
         name + ": html has no elements but its own", (len(page.scripts), outside, page.unbalanced, page.open, {x for x, _ in page.tags} - ELEMENTS))
    t.ok(any(tag == "th" for tag, _ in page.tags) and page.title, name + ": html is read without scripts, too", page.texts[:5])
    have = page.result((page.data["documents"] or [f["document"] for f in page.data["functions"]])[0])
    bad = differences(page, have, doc)
    t.ok(not bad, name + ": html has the figures of json", "\n".join(bad))


ELEMENTS = set("html head meta title style script body main h1 section h2 p table caption tr th td dl dt dd".split())


def walk(t, *words, code=(0,), also=None, ask=None):
    """cyclade `words`: each table has the same columns and cells in csv and json, a row is a line, a document of all
    tables has what each has alone, and no format writes a character that a terminal would obey. also: tables that
    there are, where they are not those of a recording. ask: the caller's once(), which knows some of it."""
    name, ask = " ".join(words[:1]), ask or once()
    p = ask(*words, "--table", "?")
    found = re.search(r"--table (.*)", p.stderr)
    if not t.ok(p.returncode == 2 and found and "has no table '?'" in p.stderr, name + ": a table that there is not", p.stderr):
        return
    tables = re.split(r", | or ", " ".join(p.stderr[found.start(1):].split()))
    whole = json.loads(ask(*words, "-j").stdout)
    bad, first = [], None
    for table in tables:
        p, j = ask(*words, "--format", "csv", "--table", table), ask(*words, "-j", "--table", table)
        if p.returncode not in code or j.returncode not in code:
            bad.append((table, p.stderr, j.stderr))
            continue
        doc = json.loads(j.stdout)
        if len(doc) == 1:  # this time there is none
            continue
        rows, fields = rows_of(doc, table), list(csv.reader(io.StringIO(p.stdout, newline="")))
        if "\r" in p.stdout or len(p.stdout.splitlines()) != len(fields):
            bad.append((table, "a row is a line that ends in \\n", p.stdout[:200]))
        if len(fields) != len(rows) + 1:
            bad.append((table, "rows", len(fields) - 1, len(rows)))
        for row, line in zip(rows, fields[1:]):
            if [x for x, _ in row] != fields[0] or not all(map(same, (v for _, v in row), line)):
                bad.append((table, row, line))
        if any(doc[k] != whole[k] for k in doc):
            bad.append((table, "another in the document of all"))
        first = first or (ask(*words, "--format", "csv").stdout == p.stdout)
    t.ok(not bad, "%s: %d tables, the same in csv and json" % (name, len(tables)), bad[:3])
    t.ok(first, name + ": csv without --table is one of them")
    more = {"stat": ["losses", "summary"], "diff": ["losses", "sides"], "sum": ["losses", "recordings"], "sql": ["losses"], **dict.fromkeys(("doctor", "list", "explain", "models"), [])}.get(name, ["losses", "recording"] if also is None else also)
    t.ok({"notes", *more} <= set(tables), name + ": losses and notes", tables)
    for form in ("term", "csv", "json", "markdown"):
        out = ask(*words, "--format", form).stdout
        t.ok(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", out), "%s: %s has no control characters" % (name, form), out[:300])
    p = ask(*words, "--format", "html")
    t.ok(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", p.stdout), "%s: html has no control characters" % name, p.stdout[-300:])
    check_page(t, name, p, whole)

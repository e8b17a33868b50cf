#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real recordings, whole and damaged, through `cyclade info`. Speaks TAP.

Held against the corpus' list of counts, which another reader made, and against perf's own reading of the
same file: samples and summed periods of every event. Skipped where neither is at hand."""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")]
import gen  # noqa: E402
from tap import NO_SHARED, ROOT, SHARED  # noqa: E402

CYCLADE = os.environ["CYCLADE"]
PERF = shutil.which("perf")
count = bad = 0


def ok(good, name, why=""):
    global count, bad
    count += 1
    bad += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))
    if not good:
        for line in str(why).split("\n")[:8]:
            print("# " + line[:300])
    sys.stdout.flush()


def skip(name, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, why))


def info(path, *more, **env):
    p = subprocess.run([CYCLADE, "info", *more, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                       env=dict(os.environ, **env))
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def by_perf(path):
    """event -> [samples, periods] as perf reads them; None where it cannot."""
    p = subprocess.run([PERF, "script", "--force", "-i", path, "-G", "-F", "event,period"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=600)
    if p.returncode:
        return None
    out = {}
    for line in p.stdout.decode("utf-8", "replace").split("\n"):
        m = re.match(r"^\s*(\d+)\s+(\S.*):\s*$", line)
        if m:
            row = out.setdefault(m.group(2), [0, 0])
            row[0] += 1
            row[1] += int(m.group(1))
    return out


def check_recording(row, path):
    name = os.path.basename(path)
    rc, out, err = info(path, "-j")
    ok(rc == 0 and not err, name + " opens", "exit %d: %s" % (rc, err))
    if rc:
        return
    j = json.loads(out)
    want = dict(p.split("=") for p in row["records"].split())
    want = {k: int(v) for k, v in want.items()}
    had = {r["record"]: r["count"] for r in j["records"]}
    if any(k.startswith("COMPRESSED") for k in want):  # the list counts what stands in the file
        wrong = {k: v for k, v in want.items() if had.get(k, 0) < v or (k.startswith("COMPR") and had[k] != v)}
        ok(not wrong and had.get("SAMPLE", 0) > 0, name + " record counts, packed ones included",
           "wanted %s had %s" % (want, had))
    else:
        ok(want == had, name + " record counts", "wanted %s had %s" % (want, had))
        # a record of a group that is read with its leader is a sample of each member that counted
        counted = sum(e["samples"] for e in j["events"])
        grouped = "READ" in (row["sample_type"] or "").split("|")
        ok(int(row["samples"]) == had.get("SAMPLE", 0) and (counted >= had["SAMPLE"] if grouped else counted == had.get("SAMPLE", 0)),
           name + " samples", counted)
    ok(int(row["events"]) == len(j["events"]), name + " number of events", len(j["events"]))
    if row["event_names"]:
        names = ",".join(e["event"] for e in j["events"])
        ok(names == row["event_names"], name + " names of events", names)
    types = set(t for e in j["events"] for t in e["sample_type"])
    want = set(t.lower() for t in row["sample_type"].split("|") if t)
    ok(want == types, name + " sample fields", "wanted %s had %s" % (sorted(want), sorted(types)))
    ok(j["notes"] == [], name + " has nothing unusual", j["notes"])
    rc, text, err = info(path, COLUMNS="80")
    wide = [x for x in text.split("\n") if len(x) > 80 and path not in x and max(map(len, x.split())) < 60]  # a path is not cut
    ok(rc == 0 and not wide, name + " as text stays within 80 columns", wide[:1])
    check_perf(name, path, j)


def check_perf(name, path, j):
    what = name + " samples and periods as perf counts them"
    if not PERF:
        skip(what, "no perf here")
        return
    theirs = by_perf(path)
    if theirs is None:
        skip(what, "this perf cannot read it")
        return
    ours = {e["event"]: [e["samples"], e["period"]] for e in j["events"] if e["samples"]}
    if sorted(ours) != sorted(theirs) and len(ours) == len(theirs) == 1:  # perf adds its own modifiers
        theirs = dict(zip(ours, theirs.values()))
    ok(ours == theirs, what, "perf %s\nhere %s" % (theirs, ours))


def check_malformed(path):
    name = os.path.basename(path)
    rc, out, err = info(path, "-j")
    if rc == 0:
        ok(json.loads(out)["notes"] != [], name + " opens, and says what is missing", out)
    else:
        ok(rc == 2 and err.startswith("cyclade: ") and path in err and len(err.strip().split("\n")) <= 3,
           name + " is refused with a reason", "exit %d: %s" % (rc, err))
    rc2, _, _ = info(path)
    ok(rc2 == rc, name + " the same as text")


def check_corpus():
    corpus = os.path.join(SHARED, "corpus")
    if not os.path.exists(os.path.join(corpus, "MANIFEST.tsv")):
        skip("recordings", NO_SHARED)
        return
    with open(os.path.join(corpus, "MANIFEST.tsv")) as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            path = os.path.join(corpus, row["file"])
            if row["file"].startswith("recordings/"):
                check_recording(row, path)
            else:
                check_malformed(path)


def check_hostile_names():
    """Nothing from a recording reaches the terminal as a control sequence."""
    nasty = "a\x1b[31mred\x07\x9b\u202ereversed\nnew line"
    w = gen.Writer("<")
    f = gen.File(w, [("ev" + nasty, dict(sample=gen.BASE), [40])])
    f.features = {3: w.text(nasty), 8: w.text(nasty), 11: w.pack("I", 2) + w.text("x") + w.text(nasty),
                  2: w.record(0, w.pack("i", -1) + bytes(24) + gen.text8("/p" + nasty), 2)}
    gen.fill(f, 2)
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "x.data")
        gen.write(path, f.build())
        rc, text, err = info(path, "-v")
        odd = [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c == "\u202e"]
        ok(rc == 0 and not err and not odd and "[31mred" in text, "names with escapes, as text", odd)
        rc, text, err = info(path, "-j")
        j = json.loads(text)
        ok(j["recording"]["host"] == nasty and j["recording"]["command"][1] == nasty and j["events"][0]["event"] == "ev" + nasty and
           j["build_ids"][0]["path"] == "/p" + nasty, "names with escapes, as JSON", text)
        with open(path, "rb") as data:
            p = subprocess.run([CYCLADE, "info", "-j", "-"], stdin=data, stdout=subprocess.PIPE)
        ok(p.returncode == 0 and json.loads(p.stdout)["events"] == j["events"], "from standard input")


def main():
    check_corpus()
    check_hostile_names()
    rc, _, err = info("/nonexistent.data")
    ok(rc == 2 and "/nonexistent.data" in err, "a file that is not there", err)
    rc, _, err = info(ROOT)
    ok(rc == 2 and "data" in err, "a directory that is no recording", err)
    with tempfile.NamedTemporaryFile() as f:
        rc, _, err = info(f.name)
    ok(rc == 2 and "empty" in err, "an empty file", err)
    print("1..%d" % count)
    return bad > 0


sys.exit(main())

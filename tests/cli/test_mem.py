#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory operations: the figures of perf mem report by data source, snoop, TLB, lock and block, of real and synthetic recordings."""
import collections
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import mem_made  # noqa: E402
from tap import PERF, SHARED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-mem-")
HAS_SQL = "no SQL" not in run("--version").stdout

# ---- perf's words, and ours --------------------------------------------------------------------
LEVEL = {"LFB/MAB": "LFB", "Local RAM": "RAM", "Remote RAM (1 hop)": "RAM", "Remote RAM (2 hops)": "RAM",
         "Remote Cache (1 hop)": "any cache", "Remote Cache (2 hops)": "any cache", "Uncached": "uncached", "L8": "uncached",
         "Any cache": "any cache", "L5": "L2 MHB", "L6": "MSC"}
OF_NUMBER = {"L1", "L2", "L3", "L4", "L5", "L6", "L8", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM", "PMEM", "Uncached"}
HOPS = {"core, same node ": "other core", "node, same socket ": "other node", "socket, same board ": "other socket",
        "board ": "other board"}
FAR = {"Remote RAM (1 hop)": "remote", "Remote Cache (1 hop)": "remote", "Remote RAM (2 hops)": "remote, 2 hops",
       "Remote Cache (2 hops)": "remote, 2 hops"}


def source_of(text):
    """(level, where, hit): perf's "Remote L3 or Any cache hit"."""
    text = text.strip() + " " * (text.strip() == "Remote")
    m = re.fullmatch(r"(.*?)( hit| miss)?", text)
    text, hit = m.group(1), {" hit": 1, " miss": 0, None: None}[m.group(2)]
    where = ""
    if text.startswith("Remote ") and not re.match(r"Remote (RAM|Cache) \(", text):
        text, where = text[7:], "remote"
    for words, name in HOPS.items():
        if text.startswith(words):
            text, where = text[len(words):], name
    items = [i for i in text.split(" or ") if i and i != "N/A"]
    for i in items:
        where = where or FAR.get(i, "")
    if not items:
        return None, where, hit
    level = items[-1] if items[-1] in OF_NUMBER else items[0]
    return LEVEL.get(level, level), where, hit


def set_of(words):
    """perf's "None or Fwd", "L1 or L2 hit"."""
    def one(text):
        text = re.sub(r"Walker", "walk", re.sub(r"Fault", "fault handler", text.strip()))
        text = " or ".join(x for x in text.split(" or ") if x != "N/A")
        text = re.sub(r"^N/A (hit|miss)", r"\1", text)
        return (text if words == "tlb" else text.lower()) or None
    return one


PERFS = {"mem": source_of, "snoop": set_of("snoop"), "tlb": set_of("tlb"),
         "locked": {"Yes": 1, "No": 0, "N/A": None}.get}


def of_perf(path, key):
    p = subprocess.run([PERF, "report", "--mem-mode", "-i", path, "--stdio", "-s", key, "-F", "sample," + key],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL)
    out = collections.Counter()
    for line in p.stdout.splitlines():
        m = re.match(r" *(\d+)  (.*)", line)
        if m:
            out[PERFS[key](m.group(2).strip())] += int(m.group(1))
    return out


def of_sql(path, columns):
    p = run("sql", "-j", path, "SELECT %s, count(*) AS n FROM samples WHERE data_src IS NOT NULL GROUP BY %s" % (columns, columns))
    return collections.Counter({tuple(list(r.values())[:-1]): r["n"] for r in json.loads(p.stdout)["rows"]})


def short(counter):
    return collections.Counter({k[0] if isinstance(k, tuple) and len(k) == 1 else k: n for k, n in counter.items()})


def compare(name, path):
    for key, columns in (("mem", "data_level, data_remote, data_hit"), ("snoop", "data_snoop"), ("tlb", "data_tlb"),
                         ("locked", "data_locked")):
        theirs, mine = of_perf(path, key), short(of_sql(path, columns))
        if key == "mem":
            remote = collections.Counter()
            for (level, where, hit), n in theirs.items():
                remote[level, int(where not in ("", "other core")), hit] += n
            theirs = remote
        bad = [(k, theirs[k], mine[k]) for k in {*theirs, *mine} if theirs[k] != mine[k]]
        t.ok(theirs and not bad, "%s, %s: perf's %d figures" % (name, key, len(theirs)),
             "\n".join("%s: perf %d, cyclade %d" % b for b in bad[:10]))


def each(name, path):
    """Sample by sample: perf report adds up samples whose newer fields differ, perf script tells them apart."""
    p = subprocess.run([PERF, "script", "-i", path, "-F", "data_src"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    theirs = [line for line in p.stdout.splitlines() if "|LVL" in line]
    columns = "data_level, data_remote, data_hit, data_snoop, data_tlb"
    mine = json.loads(run("sql", "-j", path, "SELECT %s FROM samples ORDER BY time" % columns).stdout)["rows"]
    bad, seen = [], collections.Counter()
    for line, row in zip(theirs, mine):
        # perf's buffer holds 100 characters: the last words may be cut
        m = re.search(r"\|LVL ([^|]*)\|(?:SNP ([^|]*)\|(?:TLB ([^|]*)\|)?)?", line)
        level, where, hit = source_of(m.group(1))
        want = dict(data_level=level, data_remote=int(where not in ("", "other core")), data_hit=hit)
        if m.group(2):
            want["data_snoop"] = set_of("snoop")(m.group(2))
        if m.group(3):
            want["data_tlb"] = set_of("tlb")(m.group(3))
        seen.update(want.keys())
        if any(row[k] != v for k, v in want.items()):
            bad.append("%s %r" % (line, row))
    t.ok(len(theirs) == len(mine) > 1000 and not bad and min(seen.values()) > len(mine) / 2,
         "%s: perf's words of %d samples" % (name, len(mine)), "\n".join(bad[:10]))


rnd = random.Random(15)
count = 1000000 if os.environ.get("CYCLADE_LONG") else 30000
made, mixed = os.path.join(tmp.name, "made.data"), os.path.join(tmp.name, "mixed.data")
mem_made.write(made, mem_made.drawn(rnd, count, as_kernels=True))
mem_made.write(mixed, mem_made.drawn(rnd, count))
real = [p for p in glob.glob(os.path.join(SHARED, "corpus", "recordings", "*")) if p.endswith("weight_struct")]
if not PERF or not HAS_SQL:
    t.skip("perf's figures", "no perf" if not PERF else "built without SQLite")
else:
    compare("synthetic", made)
    each("synthetic, all fields", mixed)
    for p in real:
        compare(os.path.basename(p), p)
    if not real:
        t.skip("real PEBS samples", "no corpus here")
t.done()

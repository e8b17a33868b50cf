#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""export --flame-svg and --timeline-svg: well-formed drawings without scripts, whose widths are those of folded stacks and whose areas are
the times of report --wait."""
import collections
import json
import os
import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, run  # noqa: E402
from waits_made import Made  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-svg-")
os.chdir(tmp)
SVG = "{http://www.w3.org/2000/svg}"
ODD = b"</title><script>alert(1)</script>&\"\x1b[1m"
LONG = b"std::vector<std::pair<one::two<three>, four>, std::allocator<five>>::push_back(six const&)"


def made(path):
    """Chains of the event context-switches are samples with chains; waits of two threads."""
    m = Made([b"schedule", b"do_nanosleep", b"futex_wait", ODD, LONG])
    m.comm(1000, 7, b"<b>&")
    m.fork(2000, 7, 8)
    m.on(2500, 8, cpu=1)
    m.off(4000, 7, chain=[0, 1, 3])
    m.off(6000, 8, cpu=1, chain=[0, 2, 4])
    m.wake(9000, 7, by=0, chain=[3])
    m.on(9300, 7)
    m.wake(10000, 8, by=7, chain=[4])
    m.on(10100, 8, cpu=2)
    m.off(11000, 8, cpu=2, chain=[0, 2, 4], preempted=True)
    m.on(13000, 8, cpu=2)
    m.exit(18000, 8)
    m.off(20000, 7, chain=[0, 1, 3])
    m.sample(0, 21000, 9, 3)
    return m.write(path) or path


def drawing(*words):
    r = run("export", *words, "-o", "out.svg")
    if r.returncode:
        return r.stderr
    with open("out.svg", encoding="utf-8") as f:
        text = f.read()
    root = xml.fromstring(text)
    names = {e.tag for e in root.iter()}
    t.ok(names <= {SVG + x for x in ("svg", "style", "text", "rect", "g", "title", "path")} and "\x1b" not in text and "http" not in text.replace(SVG[1:-1], ""),
         "%s: boxes and texts, no scripts, nothing from elsewhere" % words[1], names)
    return root


def boxes(g):
    return [(e.get("class"), float(e.get("x")), float(e.get("y")), float(e.get("width")), float(e.get("height"))) for e in g.iter(SVG + "rect")]


made("a.data")
root = drawing("a.data", "--flame-svg", "-e", "context-switches")
want, all_of = collections.Counter(), 0
for line in run("export", "a.data", "--folded", "-e", "context-switches").stdout.splitlines():
    stack, _, n = line.rpartition(" ")
    frames = stack.split(";")
    frames = frames[frames[0] == "context-switches":]
    all_of += int(n)
    for i in range(len(frames)):
        want[tuple(frames[:i + 1])] += int(n)
got = []
for g in root.iter(SVG + "g"):
    (_, x, y, width, _), title = boxes(g)[0], g.find(SVG + "title").text
    name, _, share = title.rpartition(": ")
    got.append((y, x, width, name, float(share.split()[0])))
depth = sorted({y for y, *_ in got}, reverse=True)
shares = collections.Counter()
for y, x, width, name, share in got:
    shares[depth.index(y), name] += share
    if abs((width + 0.3) / 1200 - share / 100) > 0.0005:
        shares["width", name] += 1
expected = collections.Counter()
for stack, n in want.items():
    expected[len(stack) - 1, stack[-1]] += 100 * n / all_of
t.ok(len(got) > 4 and set(shares) == {(d, n.replace(";", ";")) for d, n in expected} and all(abs(shares[k] - v) < 0.02 for k, v in expected.items()),
     "each frame is as wide as in folded stacks", "%s\n%s" % (sorted(shares.items(), key=str), sorted(expected.items(), key=str)))
inside = all(any(abs(py - y - 17) < 0.01 and px - 0.01 <= x and x + width <= px + pw + 0.61 for py, px, pw, *_ in got) for y, x, width, *_ in got if y != depth[0])
t.ok(inside, "a frame lies on its caller")
labels = [e.text for g in root.iter(SVG + "g") for e in g.iter(SVG + "text")]
t.ok(all(len(x) <= 200 for x in labels) and any("push_back" in x for x in labels), "labels are folded names", labels)

root = drawing("a.data", "--timeline-svg")
doc = json.loads(run("report", "--wait", "-j", "a.data").stdout)
length = doc["length_seconds"]
kinds = {"r": ("running_seconds",), "w": ("runnable_seconds",), "slibt": ("blocked_seconds",)}
lanes = {g.find(SVG + "title").text.split(":")[0].rsplit(" ", 1)[1]: boxes(g) for g in root.iter(SVG + "g")}
t.equal(set(lanes), {str(r["tid"]) for r in doc["threads"]}, "a row for each thread")
bad = []
for r in doc["threads"]:
    area = collections.Counter()
    for kind, _, _, width, height in lanes[str(r["tid"])]:
        area[kind] += width * height / (1000 * 16) * length
    for key, (column,) in kinds.items():
        if abs(sum(area[k] for k in key) - r[column]) > 0.02 * length:
            bad.append((r["tid"], column, r[column], area))
t.ok(doc["threads"] and not bad, "the area of a colour is its time", bad)
text = "".join(root.itertext())
t.ok("running" in text and "lock" in text and re.search(r"\d (us|ms|s)\b", text), "a legend, and an axis with units", text[:300])
r = run("export", "a.data", "--flame-svg", "-e", "nothing*")
t.ok(r.returncode == 2 and "nothing" in r.stderr, "no such event", r.stderr)
r = run("export", "a.data", "--flame-svg", "--timeline-svg")
t.ok(r.returncode == 2 and "one format" in r.stderr, "one picture at a time", r.stderr)
first = run("export", "a.data", "--timeline-svg").stdout
t.ok(first == run("export", "a.data", "--timeline-svg").stdout and first, "the same recording gives the same bytes")
os.chdir("/")
shutil.rmtree(tmp)
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --html: one file whose policy allows its own script and style alone, with the figures that the commands print."""
import base64
import collections
import hashlib
import json
import os
import random
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
import recordings  # noqa: E402
from built import Built  # noqa: E402
from calls_made import RET, make  # noqa: E402
from diffs_made import Program  # noqa: E402
from page import Page, differences  # noqa: E402
from tap import ROOT, SANITIZED, Tap, run  # noqa: E402

t = Tap()
GRAPHVIZ = "graphs as SVG" in run("--version").stdout.split("without")[0]
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)

# ---- the file ----------------------------------------------------------------------------------------------

EVIL = [b"</script><script>alert(1)</script>", b"<!--<script>", b"\"'><img src=http://evil/ onerror=alert(1)>", b"a\x1b[31m\nb|,\xff\xc3\xa9", b"]]>&lt;"]
NAMES = [b"main", b"leaf", *EVIL]
evil = make("evil.data", NAMES, [[((2 + i % 5, 8), (0, 30), RET, 0), ((1, 90), (0, 20), RET, 1)] for i in range(200)])
# samples in all of them, by moving the address of some
with open(evil, "rb") as f:
    bytes_ = bytearray(f.read())
for n, m in enumerate(re.finditer(re.escape((0xffffffffc0000000 + 16).to_bytes(8, "little") + (7).to_bytes(4, "little") * 2), bytes_)):
    bytes_[m.start():m.start() + 8] = (0xffffffffc0000000 + n % len(NAMES) * 4096 + 16).to_bytes(8, "little")
with open(evil, "wb") as f:
    f.write(bytes_)

r = run("report", "--html", "evil.html", evil)
t.ok(r.returncode == 0 and not r.stdout and re.fullmatch(r"cyclade: evil\.html: [\d.]+ kB(, with.* code.*)?\n", r.stderr), "a page is written; it says where and how large", r.stderr)
size = os.path.getsize("evil.html")
t.ok("%.2f kB" % (size / 1000) in r.stderr or "%.1f kB" % (size / 1000) in r.stderr, "as it is", (r.stderr, size))
t.equal(run("report", "-q", "--html", "quiet.html", evil).stderr, "", "-q: nothing is said")
p = Page("evil.html")
sha = [["sha256-" + base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in v] for v in (p.scripts, p.styles)]
t.equal(p.csp, "default-src 'none'; script-src '%s'; style-src '%s'; img-src data:" % (sha[0][0], sha[1][0]),
        "the policy has the hashes of script and style")
t.equal((len(p.scripts), len(p.styles)), (1, 1), "one script, one style, whatever names contain")
for name, have in (("js", p.scripts[0]), ("css", p.styles[0])):
    with open(os.path.join(ROOT, "web", "dist", "page." + name), encoding="utf-8") as f:
        t.ok(f.read() == have, "page.%s is that of web/dist" % name)
t.ok(p.bytes.startswith(b"<!doctype html>\n"), "it is HTML")
t.equal((p.unbalanced, p.open), ([], []), "each element is closed")
t.equal([(tag, a) for tag, attrs in p.tags for a in attrs if a.startswith("on") or a in ("style", "src", "href")], [],
        "no handlers, styles or resources in attributes")
t.ok(b"<" not in p.json.encode(), "no < in the data")
ids = [a["id"] for _, a in p.tags if "id" in a]
t.equal(len(ids), len(set(ids)), "each id once")
shown = "\n".join(p.texts)
t.ok("</script><script>alert(1)</script>" in shown and "\\x1b[31m" in shown, "names are text without scripts", shown[:2000])
functions = {x["function"] for d in p.data["documents"] if d["view"] == "functions" for x in p.result(d)["rows"]}
t.equal(functions, {n.decode("utf-8", "replace") for n in NAMES}, "and in the data as they are")

with open(os.path.join(ROOT, "src/cli/recordings/results.def"), encoding="utf-8") as f:
    results = set(re.findall(r'^RESULT\(\w+, "(\w+)"', f.read(), re.M)) - {"annotate"} | {"summary"}
t.equal({d["view"] for d in p.data["documents"]} | {a[0] for a in p.data["absent"]}, results - {"info"},
        "each result has a view, or a reason why it has none")
t.ok("\n".join(p.texts).index("leaf") < "\n".join(p.texts).index("file form"), "without scripts the functions come before how they were recorded")
t.equal(p.title, "evil.data", "the title of a recording that names neither command nor thread")
r = run("record", "-q", "-e", "cpu-clock:u", "-o", "true.data", "--", "true", "a word", "x" * 99)
if r.returncode == 0 and run("report", "--html", "true.html", "true.data").returncode == 0:
    t.equal(Page("true.html").title, "true a word ...", "the title is the program, not the recorder")
else:
    t.skip("the title of a program", r.stderr)

r = run("record", "-q", "-a", "-e", "cpu-clock", "-o", "machine.data", "--", "sleep", "0.1")
if r.returncode == 0 and run("report", "--html", "machine.html", "--functions", "0", "machine.data").returncode == 0:
    t.ok(re.fullmatch(re.escape(os.uname().nodename) + r", all CPUs, [\d.]+ m?s", Page("machine.html").title), "the title of a machine is its name, and for how long", Page("machine.html").title)
else:
    t.skip("the title of a machine", r.stderr)

first = p.bytes
run("report", "--html", "evil.html", evil)
t.ok(Page("evil.html").bytes == first, "the same recording gives the same bytes")
t.ok(run("report", "--html", "-", evil).stdout.encode() == first, "also on standard output")
r = run("report", "--html", "no/such/dir.html", evil)
t.equal((r.returncode, "no/such" in r.stderr), (2, True), "a file that cannot be written is an error")
r = run("report", "--html", "x.html", "/dev/null")
t.equal((r.returncode, os.path.exists("x.html")), (2, False), "no file where there is no recording")

MANY = ["n%03d" % i for i in range(190)]
r = run("report", "--html", "many.html", Program(tmp.name + "/many", MANY).record("many.data", dict.fromkeys(MANY, 10)))
many = Page("many.html").data
have = len(many["functions"])
t.ok(50 < have < 150 and "with the code of %d functions; %d less" % (have, len(MANY) - have) in r.stderr and
     [x for x in many["strings"] if x.startswith("code: %d functions" % (len(MANY) - have))],
     "code that is too large for a page: those that are in it and the others are counted", (have, r.stderr))

# ---- view --------------------------------------------------------------------------------------------------

os.makedirs("bin")
with open("bin/xdg-open", "w", encoding="ascii") as f:
    f.write("#!/bin/sh\necho \"$1\" > opened\nexit ${FAILS:-0}\n")
os.chmod("bin/xdg-open", 0o755)
os.mkdir("runtime", 0o700)
where = dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"], XDG_RUNTIME_DIR=os.path.abspath("runtime"), TMPDIR=tmp.name)
page = os.path.abspath("runtime/cyclade/evil.data.html")
r = run("view", evil, env=where)
t.equal((r.returncode, r.stderr, open("opened", encoding="utf-8").read()), (0, r.stderr if r.stderr.startswith("cyclade: %s: " % page) and r.stderr.count("\n") == 1 else page, page + "\n"), "view opens a page")
t.equal(len(p.data["documents"]), len(Page(page).data["documents"]), "with the same views")
t.equal(oct(os.stat("runtime/cyclade").st_mode & 0o777), "0o700", "in a directory that only its user can enter")
r = run("view", evil, env=dict(where, FAILS="3"))
t.ok(r.returncode == 0 and "no browser" in r.stderr and page in r.stderr, "it says where the page is if no browser can be started", r.stderr)
os.chmod("runtime", 0o755)
r = run("view", evil, env=where)
made = open("opened", encoding="utf-8").read().strip()
t.ok(r.returncode == 0 and made.startswith(tmp.name + "/cyclade-") and os.stat(os.path.dirname(made)).st_mode & 0o777 == 0o700,
     "a directory that others may enter is not used", made)
os.remove("opened")
r = run("view", "nothing.data", env=where)
t.equal((r.returncode, os.path.exists("opened"), [x for x in os.listdir(".") if x.startswith("cyclade-") and not os.listdir(x)]),
        (2, False, []), "nothing is opened where there is no recording")

# ---- a cube that would be too large ------------------------------------------------------------------------

FUNCTIONS, SAMPLES = 3000, 200000
BASE = 0xffffffffc0000000


def large(path, chain_of):
    """Samples as (functions from outside in, CPU, time, period)."""
    w, data = gen.Writer("<"), bytearray()
    samples = []
    deep = bool(chain_of(0))
    for i in range(FUNCTIONS):
        data += w.record(gen.KSYMBOL, w.pack("QIHH", BASE + i * 4096, 4096, 1, 0) + gen.pad8(b"f%d\0" % i) + w.pack("IIQQ", 0, 0, 1000, 0), 1)
    for i in range(SAMPLES):  # f0 has most, each on all CPUs and all the time
        f = i * 7919 % FUNCTIONS * (i * 31 % 97) // 97
        callers = chain_of(i)
        if callers and i % 5 == 0:  # it runs itself
            *callers, f = callers
        samples.append(((*callers, f), i % 13, 2000 + i * 1000, 400 + i % 7))
        chain = [0xffffffffffffff80, *(BASE + g * 4096 + 16 + i % 2 * 16 for g in (f, *reversed(callers)))]
        tail = struct.pack("<Q%dQ" % len(chain), len(chain), *chain) if deep else b""
        data += w.record(gen.SAMPLE, w.pack("QIIQIIQ", BASE + f * 4096 + 16 + i % 2 * 16, 7, 7, 2000 + i * 1000, i % 13, 0, 400 + i % 7) + tail, 1)
    gen.one(path, data, period=400, sample=1 | 2 | 4 | 128 | 256 | (32 if deep else 0), sample_id_all=1)
    return samples


def shortened(chain, total, least):
    """The longest beginning of a chain that has enough samples, and None for what is left out."""
    n = len(chain)
    while n and total[chain[:n]] < least:
        n -= 1
    return chain if n == len(chain) else chain[:n] + (None,)


def as_small_as_needed(samples):
    """Less and less detail, in this order, until there are few enough cells: bins, samples of a node that stays, CPUs."""
    total = collections.Counter(chain[:k] for chain, *_ in samples for k in range(1, len(chain) + 1))
    least = 1
    while sum(n >= least for n in total.values()) > 20000:
        least *= 2
    ways = [(2 ** k, least, True) for k in range(3)]
    while least * 2 <= SAMPLES // 20000:
        least *= 2
        ways.append((4, least, True))
    ways.append((4, least, False))
    while least * 2 <= SAMPLES // 100:
        least *= 2
        ways.append((4, least, False))
    for joined, least, cpus in ways:
        width = ((SAMPLES - 1) * 1000 // 4000 + 1) * 8 * joined
        node = {chain: shortened(chain, total, least) for chain in {s[0] for s in samples}}
        if len({(node[chain], cpu if cpus else None, (time - 2000) // width) for chain, cpu, time, _ in samples}) <= 160000:
            cells = collections.defaultdict(lambda: [0, 0])
            for chain, cpu, time, period in samples:
                cell = cells[node[chain], cpu if cpus else None, (time - 2000) // width]
                cell[0] += 1
                cell[1] += period
            return dict(cells), width, sum(n for (chain, *_), (n, _) in cells.items() if chain[-1] is None)
    return None


for name, chain_of in (("no call chains", lambda i: ()), ("call chains", lambda i: tuple((i * 17 % 41 * 71 + k * k * (i % 41)) % FUNCTIONS for k in range(1 + i % 41 % 4)))):
    samples = large("large.data", chain_of)
    t.equal(run("report", "--html", "large.html", "--functions", "0", "large.data").returncode, 0, "%s: a large recording has a page" % name)
    p = Page("large.html")
    c = p.data["cube"]
    have, paths = {}, []
    for parent, frame in c["nodes"]:
        paths.append((paths[parent] if parent >= 0 else ()) + (None if frame < 0 else int(p.text(c["frames"][frame][0])[1:]),))
    for node, _, cpu, b, *n in c["cells"]:
        have[paths[node], c["cpus"][cpu] if cpu >= 0 else None, b] = n
    t.equal(len(set(paths)), len(paths), "%s: a chain of functions is one node" % name)
    want, width, folded = as_small_as_needed(samples)
    t.equal((have == want, len(c["cells"]), c["width"], c["folded"]), (True, len(have), width, folded),
            "%s: cell by cell what was recorded, in as much detail as fits" % name)
    line = p.data["timeline"]
    fine, got, at = line["width"], collections.Counter(), 0
    right = wrong = 0
    for _, _, cpu, _, n, level, moments, *_ in line["tracks"]:
        here = line["moments"][at:at + moments]
        at += moments
        wrong += [b for b, *_ in here] != sorted({b for b, *_ in here}) or sum(x[2] for x in here) != n or level > (cpu >= 0)
        for b, node, n in here:
            got[cpu, b, level] += n
    want = collections.Counter()
    for track in line["tracks"]:
        for _, cpu, time, _ in samples:
            if track[2] in (-1, cpu):
                want[track[2], ((time - 2000) // fine) >> track[5], track[5]] += 1
    t.ok(got == want and not wrong, "%s: the timeline has each sample in its bin, of its thread and its CPU" % name)
    t.equal((line["bins"], fine * 8 * (c["width"] // (8 * fine))), (((SAMPLES - 1) * 1000) // fine + 1, c["width"]), "%s: in fine bins" % name)
    if name == "no call chains":  # the function with the largest part of a bin, of those that are nodes
        whole = {path[-1] for path in paths if path[-1] is not None}
        sums = collections.defaultdict(collections.Counter)
        for chain, _, time, period in samples:
            sums[(time - 2000) // fine][chain[-1] if chain[-1] in whole else None] += period
        for b, node, _ in line["moments"][:line["tracks"][0][6]]:
            most = max(sums[b].values())
            ok = (None if node < 0 else paths[node][-1]) in {f for f, n in sums[b].items() if n == most}
            right += ok
            wrong += not ok
        t.ok(line["tracks"][0][5] == 0 and right > 1000 and not wrong, "%s: the function that most of a bin is in stands for it" % name, (right, wrong))
    t.ok(100 <= c["bins"] < 500 and folded > 0, "%s: it is coarser, but in time" % name, (c["bins"], folded))
    t.ok(len(p.bytes) < 5000000, "%s: in a small page" % name, len(p.bytes))

# ---- every figure ------------------------------------------------------------------------------------------

COMMANDS = {"summary": ["info"], "functions": ["report"], "callees": ["report", "-g"], "callers": ["report", "--callers"],
            "branches": ["report", "-b"], "account": ["report", "--account"], "blocks": ["blocks"], "calls": ["calls"],
            "registers": ["registers"], "instructions": ["blocks", "--mix"], "bounds": ["blocks", "--chains"],
            "account_processes": ["report", "--account", "-s", "comm,pid"], "account_modules": ["report", "--account", "-s", "dso"], "sharing": ["sharing"], "mem": ["mem"], "wait": ["report", "--wait"], "sched": ["report", "--sched"],
            "findings": ["report", "--findings"], "wall": ["report", "--wall"], "concurrency": ["report", "--concurrency"], "critical": ["report", "--critical"]}
seen, filled = collections.Counter(), collections.defaultdict(set)
INLINED = """volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned mix(unsigned x) { for (int i = 0; i < 20; i++) x = x * 31 + 7; return x; }
static inline __attribute__((always_inline)) unsigned outer(unsigned x) { return mix(x) ^ mix(x + 1); }
__attribute__((noinline)) void work(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s += outer(i ^ s); sink = s; }
int main(void) { for (unsigned i = 0; i < 9; i++) { sink += mix(i); work(i); } return 0; }
"""
inlined = Built("inlined/prog", INLINED, "-O1", "-g").record("inlined.data", {"work": 300, "main": 50}, random.Random(5), caller="main")
for rec in [*recordings.made(os.path.abspath("made")), recordings.Recording("inlined", os.path.abspath(inlined), "work")]:
    if re.match("attr_sizes-[1-9]", rec.name):
        continue
    r = run("report", "--html", "page.html", rec.path)
    if run("report", "-j", rec.path).returncode:
        t.equal(r.returncode, 2, "%s: no page of what has no report" % rec.name)
        continue
    if not t.ok(r.returncode == 0, "%s: the page is written" % rec.name, r.stderr):
        continue
    p = Page("page.html")
    bad = []
    for d in p.data["documents"]:
        seen[d["view"]] += 1
        filled[d["view"]] |= {(x["name"], bool(x["rows"])) for x in d["tables"] if d["view"] in ("mem", "sharing")}
        r = run(*COMMANDS[d["view"]], "-j", rec.path)
        if not r.stdout:
            bad += [(d["view"], r.returncode, r.stderr)]
            continue
        j = json.loads(r.stdout)
        have = p.result(d)
        have["notes"] = [x for x in have["notes"] if not re.match("code: [0-9]+ functions", x)]  # of the page itself
        bad += [(d["view"], x) for x in differences(p, have, j)]
    for f in p.data["functions"]:
        seen["function"] += 1
        words = "%s:%s" % (p.text(f["dso"]), p.text(f["function"]))
        j = json.loads(run("annotate", "-j", rec.path, words).stdout)
        bad += [(words, x) for x in differences(p, p.result(f["document"]), j)]
        g = f["graph"]
        if g:  # each jump inside of the function is an arrow between the blocks of its ends
            seen["graph"] += 1
            starts = sorted(int(p.text(n[5]), 16) for n in g["nodes"])
            block = {int(p.text(n[5]), 16): n[0] for n in g["nodes"]}
            arrows = {(e[0], e[1]) for e in g["edges"] if e[2] != "falls"}
            want = {(block[max(s for s in starts if s <= int(e["address"], 16))], block.get(int(e["target"], 16))) for e in j["edges"]}
            if arrows != want or not all(re.fullmatch(r"M[-0-9,c ]+", e[5]) for e in g["edges"]):
                bad.append((words, "graph", arrows ^ want))
            if any(not 0 <= n[1] <= g["width"] or not 0 <= n[2] <= g["height"] for n in g["nodes"]):
                bad.append((words, "a block outside"))
    absent = {view for view, _ in p.data["absent"]}
    t.ok(not bad, "%s: figures are those that the commands print" % rec.name, "\n".join(map(str, bad)))
    t.equal(sorted(absent | {d["view"] for d in p.data["documents"]}), sorted(COMMANDS), "%s: each view is there, or why not" % rec.name)

    c = p.data["cube"]
    event = p.text(c["event"])
    total = next(e for e in json.loads(run("report", "-j", rec.path).stdout)["events"] if e["event"] == event)
    t.equal((sum(x[4] for x in c["cells"]), sum(x[5] for x in c["cells"])), (total["samples"], total["period"]),
            "%s: the cube has all samples" % rec.name)
    t.ok(all(parent < i for i, (parent, _) in enumerate(c["nodes"])), "%s: callers come before those they call" % rec.name)
    keys = [tuple(x[:4]) for x in c["cells"]]
    t.ok(keys == sorted(set(keys)) and all(b < c["bins"] <= 500 for _, _, _, b in keys), "%s: cells are in order" % rec.name)
    def owner(node):  # the function that inlined code stands in
        return owner(c["nodes"][node][0]) if c["nodes"][node][1] >= 0 and c["frames"][c["nodes"][node][1]][2] else node

    for key, name in (("dso,function", lambda x: tuple(map(p.text, c["frames"][c["nodes"][owner(x[0])][1]][1::-1]))),
                      ("tid", lambda x: (c["threads"][x[1]][1],)), ("cpu", lambda x: (c["cpus"][x[2]] if x[2] >= 0 else None,))):
        have = collections.Counter()
        for x in c["cells"]:
            have[name(x)] += x[5]
        rows = [x for x in json.loads(run("report", "-j", "-s", key, "-e", event, rec.path).stdout)["rows"] if x["event"] == event]
        want = collections.Counter()
        for x in rows:
            want[tuple(-1 if x[k] is None and k == "tid" else x[k] for k in key.split(","))] += x["period"]
        t.equal(have, want, "%s: the cube by %s is the report's" % (rec.name, key))
    if p.data["memory"]:  # by class, thread and CPU: the tables of mem
        seen["memory"] += 1
        m, j, keys = p.data["memory"], json.loads(run("mem", "-j", rec.path).stdout), ["kind", "level", "where", "hit", "tlb", "snoop", "locked", "blocked"]
        of = [tuple(p.text(x) if k not in ("hit", "locked") and x is not None else x for k, x in zip(keys, row)) for row in m["classes"]]
        bad = []
        for name, words in (("sources", keys[:4]), ("tlb", keys[4:5]), ("snoops", keys[5:6]), ("locks", keys[6:7]), ("blocks", keys[7:])):
            sums = collections.defaultdict(lambda: [0, 0, 0])
            for x in m["cells"]:
                s = sums[tuple(v for k, v in zip(keys, of[x[0]]) if k in words)]
                for i in range(3):
                    s[i] += x[4 + i]
            want = {tuple(x[k] for k in words): (x["samples"], x["timed"], x["mean"]) for x in j[name]}
            have = {k: (n, timed, cycles / timed if timed else None) for k, (n, timed, cycles) in sums.items()}
            bad += [(name, k) for k in want.keys() | have.keys() if k not in want or k not in have or want[k][:2] != have[k][:2] or abs((want[k][2] or 0) - (have[k][2] or 0)) > 1e-6 * (want[k][2] or 1)]
        for name, at, key in (("threads", 1, lambda x: tuple(m["threads"][x[1]])), ("cpus", 2, lambda x: (x[2],))):
            have = collections.Counter()
            for x in m["cells"]:
                have[key(x)] += x[4]
            want = {tuple(-1 if x[k] is None or x[k] == 0xffffffff else x[k] for k in (["pid", "tid"] if at == 1 else ["cpu"])): x["samples"] for x in j[name]}
            bad += [(name, k) for k in have if have[k] > want.get(k, 0)]  # others are no accesses
            bad += [(name, sum(want.values()), sum(have.values()))] if sum(want.values()) - sum(have.values()) not in (0, j["no_access"]) else []
        t.ok(not bad and all(x[3] < 512 for x in m["cells"]), "%s: memory operations by class, thread and CPU are those of mem" % rec.name, bad)
    if c["folded"]:
        continue
    for words in ([], ["--max-stack", "1"], ["--max-stack", "2"]):
        r = run("report", "-g", "-j", "-e", event, *words, rec.path)
        if r.returncode:  # no call chains
            continue
        if words:
            t.equal(run("report", "--html", "page.html", "--functions", "0", *words, rec.path).returncode, 0, "%s: a page with %s" % (rec.name, words))
            p = Page("page.html")
            c = p.data["cube"]
        seen["chains"] += 1
        want, have, paths, tree = collections.Counter(), collections.Counter(), [], {0: ()}
        for x in json.loads(r.stdout)["rows"]:
            if x["event"] == event:
                tree[x["id"]] = tree[x["parent"]] + ((x["dso"], x["function"], x["inline"] == "inlined"),)
                want[tree[x["id"]]] += x["period"]
        for parent, frame in c["nodes"]:
            paths.append((paths[parent] if parent >= 0 else ()) + ((*map(p.text, c["frames"][frame][1::-1]), c["frames"][frame][2]),))
        for x in c["cells"]:
            have[paths[x[0]]] += x[5]
        seen["inlined"] += sum(path[-1][2] for path in have)
        t.equal(len(set(paths)), len(paths), "%s: a chain of functions is one node" % rec.name)
        t.equal(have, +want, "%s: the cube by call chain is the report's %s" % (rec.name, words))
t.equal([v for v in [*COMMANDS, "function", "chains", "inlined", "memory", *(["graph"] if GRAPHVIZ else [])] if not seen[v]], [], "all views were compared")
for view, without in ("mem", {"map", "regions", "computed_addresses"}), ("sharing", set()):  # those of --map, and of Intel's registers
    untyped = {"fields_by_address"} if SANITIZED else set()  # programs of such a build have no types
    t.equal({name for name, _ in filled[view]} - {name for name, rows in filled[view] if rows} - untyped, without, "%s: all tables, with rows" % view)

t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade script against perf script of the same recordings, line by line, and against known lines where there is no perf. Its JSON
and its chains against those of the text, of sql and of export --folded."""
import collections
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "perfdata")]
import gen  # noqa: E402
import mem_made  # noqa: E402
from account_made import SKX, Made  # noqa: E402
from kernel_names import few_names  # noqa: E402
from tap import CYCLADE, NO_SHARED, PERF, PROGS, SANITIZED, SHARED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-script-")
os.chdir(tmp.name)
os.environ["HOME"] = tmp.name
RECURSE = os.path.join(PROGS, "prog_recurse")
PERFS = [(path, name) for path, name in ((os.environ.get("CYCLADE_PERF612"), "perf 6.12"), (PERF, "perf")) if path]


def script(*words):
    r = run("script", *words)
    t.ok(r.returncode == 0, "script %s" % " ".join(map(os.path.basename, words)), r.stderr)
    return r.stdout


# ---- known lines

m = Made(tmp.name, tree=[*SKX[:2]])
m.put(m.names[0], SKX[0][0], 3)
m.write("made")
lines = script("made").splitlines()
t.ok(len(lines) == 3 and all(re.fullmatch(r" +\S+ +\d+ (\[\d{3}\] )? *\d+\.\d{6}: +\d+ +%s: +[0-9a-f]+ %s\+0x[0-9a-f]+ \(/.*\)" %
                                          (re.escape(SKX[0][0]), m.names[0]), x) for x in lines), "a sample in a line", lines)
src = mem_made.data_src(op=2, lvl=2 | 8, snoop=2, lock=1, tlb=2 | 8, num=1, blk=1)
mem_made.write("memory", [mem_made.Sample(src, weight=7, addr=0x1234)])
t.ok(re.fullmatch(r" {12}1234%16x \|OP LOAD\|LVL L1 hit\|SNP None\|TLB L1 hit\|LCK N/A\|BLK  N/A {15}7 {11}401000\n" % src,
                  script("memory", "-F", "addr,data_src,weight,ip")), "words of a data source", script("memory", "-F", "addr,data_src,weight,ip"))

# ---- refusals

for words, code, says in ((["-F", "comm,tidd"], 2, "did you mean tid?"), (["-F", "iregs"], 2, "do not have 'iregs'"), (["-F", "sw:ip"], 2, "no field 'sw:ip'"),
                          (["-j", "--show-task-events"], 2, "samples alone"), (["-e", "none"], 2, "no event 'none'"), (["-F", ""], 2, "no field ''"),
                          (["--itrace", "i"], 2, "no traces")):
    r = run("script", "made", *words)
    t.ok(r.returncode == code and says in r.stderr and not r.stdout, "refused: %s" % " ".join(words), (r.returncode, r.stderr))
r = run("script", "absent")
t.ok(r.returncode == 2 and "absent" in r.stderr, "a recording that is not there", r.stderr)
p = subprocess.Popen([CYCLADE, "script", "made"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
p.stdout.close()
t.ok(p.stderr.read() == b"" and p.wait() in (0, -13, 141), "a reader that went away", p.returncode)

# ---- names from outside

w = gen.Writer("<")
f = gen.File(w, [("e\x1b[2J\n", dict(type=1, config=0, sample=gen.BIT["IP"] | gen.BIT["TID"] | gen.BIT["TIME"]), [])])
f.data += w.record(gen.COMM, w.pack("II", 5, 5) + gen.text8("a\nb\x1b]0;x\x07"))
f.data += w.record(gen.SAMPLE, w.pack("QIIQ", 0x1000, 5, 5, 1000), misc=2)
gen.write("hostile", f.build())
text = script("hostile")
t.ok(text.count("\n") == 1 and "\x1b" not in text and "\\x1b" in text and "\\x0a" in text, "control characters are written as \\xNN", text)

# ---- recordings of this machine

taken = {}
for name, words in {"plain": ["-e", "cpu-clock:u", "-F", "2000"], "chains": ["-e", "cpu-clock:u", "-F", "2000", "-g=fp"],
                    "unwound": ["-e", "cpu-clock:u", "-F", "500", "-g=dwarf"], "addresses": ["-e", "page-faults:u", "-c", "1", "-d"],
                    "switches": ["--wait", "-F", "500"]}.items():
    r = run("record", "-q", *words, "-o", name, "--", RECURSE, "40", "40")
    if r.returncode:
        t.skip(name, r.stderr.strip().split("\n")[0])
    else:
        taken[name] = name

for name in taken:
    times = [float(x) for x in re.findall(r"^.*?(\d+\.\d{9}):", script(name, "--ns"), re.M)]
    t.ok(times == sorted(times) and len(times) == sum(e["samples"] for e in json.loads(run("info", "-j", name).stdout)["events"]),
         "%s: %d samples in the order of time" % (name, len(times)))
    rows = [json.loads(x) for x in script(name, "-j", "-F", "comm,pid,tid,time,event,period,ip,sym,symoff,dso").splitlines()]
    t.ok([r["time"] for r in rows] == [round(x * 1e9) for x in times] or len(rows) == len(times), "%s: as many lines of JSON" % name)
    text = script(name, "-F", "comm,pid,tid,time,event,period,ip,sym,symoff,dso", "--ns")
    blocks = [b for b in re.split(r"\n\n|\n(?=\S)|\n(?= +\S+ +\d+/)", text.strip("\n"))]
    same = len(blocks) == len(rows)
    for block, row in zip(blocks, rows):
        frames = row.get("callchain", [row])
        want = [("%x" % int(x["ip"], 16), "%s+0x%x" % (x["sym"], x["symoff"]) if x["sym"] else "[unknown]") for x in frames]
        same = same and re.findall(r"(?:\t| )\s*([0-9a-f]+) (\S+)(?= \()", block) == want and "%d/%d" % (row["pid"], row["tid"]) in block.replace(" ", "")
    t.ok(same, "%s: JSON has the places of the text" % name)
if "chains" in taken:
    stacks = collections.Counter()
    for row in map(json.loads, script("chains", "-j", "-F", "comm,period,ip,sym", "--no-inline").splitlines()):
        stacks[len(row["callchain"])] += 1
    folded = collections.Counter()
    for line in run("sql", "--format", "csv", "chains", "SELECT n, count(*) FROM (SELECT sum(NOT inlined) AS n FROM frames GROUP BY run, sample) GROUP BY 1").stdout.splitlines()[1:]:
        n, count = map(int, line.split(","))
        folded[n] += count
    if folded:
        t.ok(stacks == folded, "chains are as long as those of sql", (stacks, folded))
    cut = [json.loads(x) for x in script("chains", "-j", "--max-stack", "2", "--no-inline").splitlines()]
    t.ok(cut and all(len(r["callchain"]) <= 2 for r in cut), "--max-stack")
    t.ok("\t" not in script("chains", "-G"), "-G: without chains")
    tid = json.loads(script("chains", "-j").splitlines()[0])["tid"]
    t.ok(script("chains", "--tid", str(tid)) and not script("chains", "--tid", str(tid + 1)), "--tid, as perf has it")


traced = [r["trace"] for r in map(json.loads, script("switches", "-j").splitlines()) if "trace" in r] if "switches" in taken else []
if traced and PERF:
    theirs = re.findall(r"sched_waking: comm=(.*?) pid=(\d+) prio=(\d+)", subprocess.run([PERF, "script", *few_names("."), "-i", "switches"], capture_output=True,
                                                                                          text=True, errors="replace").stdout)
    own = re.findall(r"sched_waking: comm=(.*?) pid=(\d+) prio=(\d+)", script("switches"))
    if theirs:
        t.ok(own == theirs == [(x["comm"], str(x["pid"]), str(x["prio"])) for x in traced], "fields of %d tracepoints" % len(own), (own[:2], theirs[:2], traced[:2]))


# ---- perf

def normal(text, new, names):
    """Without what is documented as different: inlined frames, whose function has a line of its own; names of the C library's twins."""
    out = []
    for line in text.splitlines():
        if line.endswith("(inlined)"):
            continue
        line = re.sub(r"@@?[A-Z]+[A-Z_0-9.]*(?=\+0x)", "", line)
        if not new:  # before 6.3 the addresses of a chain are those of the file, and threads have narrower columns
            line = re.sub(r"^\t +[0-9a-f]+ ", "\t", line)
            line = re.sub(r" +", " ", line).strip(" ")
        if not names:
            line = re.sub(r"(: +[0-9a-f]+ |^\t).*? (?=\(\S+\)$)", r"\1", line)
        out.append(line)
    return out


def compare(perf, title, path, words, names=True):
    version = [int(x) for x in re.search(r"(\d+)\.(\d+)", subprocess.run([perf, "--version"], capture_output=True, text=True).stdout).groups()]
    # perf's own list of names makes a small recording slow
    p = subprocess.run([perf, "script", *few_names("."), "-i", path, *words], capture_output=True, text=True, errors="replace")
    if p.returncode:
        return False
    own, theirs = (normal(x, version >= [6, 3], names) for x in (script(path, *words), p.stdout))
    apart = [(x, y) for x, y in zip(own, theirs) if x != y]
    # perf forgets a thread's name at its exit
    apart = [(x, y) for x, y in apart if not (re.match(r"\s*:\d+ ", y) and x.split()[1:] == y.split()[1:])]
    t.ok(not apart and len(own) == len(theirs), "%s: %s %s, %d lines" % (title, os.path.basename(path), " ".join(words), len(own)),
         (len(own), len(theirs), apart[:3]))
    return True


mem_made.write("accesses", mem_made.drawn(random.Random(3), 300))
if not PERFS:
    t.skip("perf script", "no perf here")
for perf, title in PERFS:
    new = "6.12" in subprocess.run([perf, "--version"], capture_output=True, text=True).stdout
    for path, words, names in (("made", [], True), ("made", ["-F", "comm,pid,tid,time,event,period,ip,sym"], True), ("plain", [], True), ("plain", ["-F", "+srcline"], None),
                               ("chains", [], True), ("chains", ["-F", "comm,tid,time,ip,sym,dso", "--ns"], True), ("unwound", ["-G"], True),
                               ("addresses", ["-F", "tid,time,addr,event"], True), ("switches", ["-F", "comm,tid,time,event,period"], True)):
        if path in taken or path == "made":
            if names is not None:
                compare(perf, title, path, words, names)
    if new:
        compare(perf, title, "accesses", [])
        if "switches" in taken:
            compare(perf, title, "plain", ["--show-mmap-events"])
    corpus = sorted(glob.glob(os.path.join(SHARED, "corpus", "recordings", "*")))
    if not corpus:
        t.skip("%s: corpus" % title, NO_SHARED)
    for path in corpus[::4 if SANITIZED else 1] if new or perf == PERF and len(PERFS) == 1 else []:
        # others differ as the manual has it: groups' counts, deep chains, unwinding without files, tracepoints, LBR read wrongly
        if re.search(r"autofdo|nnue|branch|hybrid|lost_samples|weight_struct|busy|throttle|armv7|true.v1", path) and "callgraph" not in path and (new or "weight" not in path):
            compare(perf, title, path, [], False)
            if re.search("branch_stack_spec|autofdo", path) and new:
                compare(perf, title, path, ["-F", "ip,brstack,dso"])
t.done()

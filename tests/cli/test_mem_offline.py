#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory operations on another machine: recordings and programs move away from where they were made, and `mem`, `sharing`, `annotate`
and `sql` run there, under another host name, without this machine's /sys, its home and its caches. What they print is what they printed
at home; without the programs, data sources are the same, and what is unknown has a reason."""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import heap_made  # noqa: E402
import heap_programs  # noqa: E402
import mem_made  # noqa: E402
import sharing_made  # noqa: E402
from tap import CYCLADE, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-offline-")
HOME, AWAY = os.path.join(tmp.name, "home"), os.path.join(tmp.name, "away")
os.makedirs(HOME)
os.chdir(HOME)
rnd = random.Random(7)
HAS_SQL = "no SQL" not in run("--version").stdout

# ---- at home: programs, and a recording of each kind ----------------------------------------------------
CODE = """
struct point { double x, y, z; int tag; };
struct point table[4096] __attribute__((aligned(4096)));
long locks[16] __attribute__((aligned(64)));
__attribute__((noinline)) double walk(struct point *p, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++) {
		s += p[i].y;
		p[i].tag++;
	}
	return s;
}
__attribute__((noinline)) void bump(long *l) { __atomic_fetch_add(l, 1, 5); }
int main(void) { bump(locks); return (int)walk(table, 4096); }
"""
TOUCHED = """
NOINLINE char *buffer(size_t n) { return malloc(n); }
int main(void) { for (int i = 0; i < 8; i++) memset(buffer(100000), 1, 100000); return 0; }
"""
program = heap_programs.build("prog", CODE, "-no-pie", head="")
heap_programs.build("touched", TOUCHED)
at = {w[2]: int(w[0], 16) for w in (x.split() for x in subprocess.run(["nm", "prog"], capture_output=True, text=True, check=True).stdout.splitlines()) if len(w) == 3}
code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "prog"], capture_output=True, text=True, check=True).stdout
places = {f: [int(x, 16) for x in re.findall(r"(?m)^ +([0-9a-f]+):\t.*\(%r", re.search(r"<%s>:\n(.*?)\n\n" % f, code, re.S)[1])] for f in ("walk", "bump")}
offset, start, size = heap_made.text_of("prog")
mapped = (program, offset & -4096, (size + 8191) & -4096)


def ip(function):
    """An instruction that accesses memory, mapped at TEXT."""
    return rnd.choice(places[function]) - (start & -4096) + mem_made.TEXT


def op(i):
    """Registers of IBS: of a load or store of the table, some of them slow."""
    slow = i % 5 == 0
    data3 = 1 + i % 2 | slow << 7 | 1 << 17 | slow << 20 | 4 << 22 | (3 << 26 | 300 << 32) * slow
    return [3 << 17, ip("walk"), 0, 3 if slow else 0, data3, at["table"] + i * 32 % 8192 + (8 if i % 2 else 24), 4096, 0]


mem_made.write_ibs("ibs.data", [op(i) for i in range(600)], [[1 << 50 | 20 << 32, ip("walk"), 0, 0] for _ in range(100)], mapped=mapped)
mem_made.write("pebs.data", [mem_made.Sample(mem_made.data_src(op=2, lvl=2 | 0x80, num=13) if i % 4 == 0 else mem_made.data_src(op=2, lvl=2 | 8, num=1),
                                             300 if i % 4 == 0 else 5, ip=ip("walk"), addr=at["table"] + i * 32 % 8192 + 8) for i in range(600)],
               program=program, text_offset=mapped[1], size=mapped[2])
LOAD, LOCKED = 2 | (2 | 8) << 5 | 1 << 33, 2 << 24
REMOTE = 2 | (2 | 0x100) << 5 | 13 << 33 | 1 << 37
BLOCK = 128 << 20
HEAP, PID = 0x10000000, 500
log = b"".join(struct.pack("<%dQ" % len(w), *w) for w in ([heap_made.CHAIN << 56 | 2 << 32 | 1, at["walk"] + 1, at["main"] + 1],
                                                          [heap_made.ALLOC << 56 | HEAP, 900, 1 << 40 | 1 << 20]))
samples = [(1000 + i, HEAP + i * 4096 % (1 << 20) if i % 2 else at["table"] + 32 * i, PID + i % 2, REMOTE, 300) for i in range(800)] + \
    [(2000 + i, at["locks"] + 8 * (i % 8), PID + i % 2, LOAD | LOCKED, 100) for i in range(300)]
heap_made.write("numa.data", "prog", samples, heap_made.chunk(PID, 1, log), PID, cpus=[i % 2 for i in range(1100)], physical=[72 * BLOCK] * 1100,
                pages=[4096] * 1100, features={14: heap_made.topology({0: [0, 3], 1: [4, 7]}), 22: heap_made.memory({0: range(64), 1: range(64, 128)}, BLOCK)})
shared = sharing_made.Program("threads", "long hot[8] __attribute__((aligned(64)));\nvoid work(void) { hot[0]++; }\nint main(void) { work(); return 0; }\n")
sharing_made.write("shared.data", [sharing_made.Access(101 + i % 2, shared.at["hot"] + 8 * (i % 2), "store" if i % 3 else "load", ip=shared.at["work"] + 4,
                                                       hitm=None if i % 3 else "remote", weight=200) for i in range(300)], maps=[shared.map(sharing_made.PID)])
RECORDINGS = {"ibs.data": "walk", "pebs.data": "walk", "numa.data": None, "shared.data": "work"}
os.environ.pop("MALLOC_PERTURB_", None)  # with it malloc itself writes to what it returns: nobody has allocated it yet
p = run("record", "--heap", "-e", "page-faults:u", "-c", "1", "-d", "-W", "-o", "heap.data", "--", "./touched")
if p.returncode == 0:
    RECORDINGS["heap.data"] = None
else:
    t.skip("record --heap", p.stderr)

# ---- what is compared ------------------------------------------------------------------------------------
def commands(data, function):
    out = {"mem": ["mem", "-j", "--map", data], "mem for people": ["mem", data], "sharing": ["sharing", "-j", data]}
    if function:
        out["annotate"] = ["annotate", "-j", "-i", data, function]
    if HAS_SQL:
        out["sql"] = ["sql", "-j", data, "SELECT function, dso, address, file, line, addr, data_level, weight, count(*) AS n FROM samples GROUP BY 1, 2, 3, 4, 5, 6, 7, 8"]
        out["sql, objects"] = ["sql", "-j", data, "SELECT object, kind, samples FROM mem_objects"]
    return out


isolated = ["unshare", "-m", "-u", "sh", "-c", "hostname elsewhere && mount -t tmpfs none /sys && exec \"$@\"", "sh"]
if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode:
    t.skip("another host name, no /sys", "no namespaces may be made here")
    isolated = []


def ran(where, words, options=(), foreign=False):
    """Its exit code, output and messages, with the places of both machines called the same."""
    e = dict(os.environ, HOME=where + "/user", XDG_CACHE_HOME=where + "/cache", NO_COLOR="1", COLUMNS="150", LC_ALL="C.UTF-8")
    p = subprocess.run([*(isolated if foreign else []), CYCLADE, words[0], *options, *words[1:]], capture_output=True, text=True, env=e, check=False,
                       stdin=subprocess.DEVNULL, cwd=where + "/cwd" if foreign else where)
    return p.returncode, re.sub(re.escape(AWAY) + "/(recordings/|programs/)?", HOME + "/", p.stdout), p.stderr.replace(AWAY + "/recordings/", HOME + "/")


at_home = {(d, k): ran(HOME, words) for d, f in RECORDINGS.items() for k, words in commands(os.path.join(HOME, d), f).items()}
for (d, k), (code_, out, err) in at_home.items():
    if not code_:
        t.ok(out, "%s, %s: at home" % (d, k), err)


def doc(result, table):
    return json.loads(result[1])[table]


# what home has to say, so that equality is of something
t.ok({r["object"] for r in doc(at_home["ibs.data", "mem"], "objects")} == {"table"} and "point" in str(doc(at_home["ibs.data", "mem"], "fields")), "objects and fields",
     at_home["ibs.data", "mem"][1][:3000])
t.ok([r for r in doc(at_home["numa.data", "mem"], "nodes") if r["reached"]] and doc(at_home["numa.data", "mem"], "locked_lines") and
     "walk" in str(doc(at_home["numa.data", "mem"], "objects")), "nodes, locked lines and a heap's object", at_home["numa.data", "mem"][1][:3000])
t.equal([r["object"] for r in doc(at_home["shared.data", "sharing"], "lines")], ["hot"], "a shared line")
t.ok("heap.data" not in RECORDINGS or "buffer" in {r["function"] for r in doc(at_home["heap.data", "mem"], "objects")}, "a log of allocations", "")

# ---- away ------------------------------------------------------------------------------------------------
os.makedirs(AWAY + "/cwd")
os.makedirs(AWAY + "/recordings")
os.makedirs(AWAY + "/programs")
for name in RECORDINGS:
    shutil.move(os.path.join(HOME, name), AWAY + "/recordings")
for name in ("prog", "prog.c", "touched", "threads"):
    shutil.move(os.path.join(HOME, name), AWAY + "/programs")
os.chdir(AWAY)
shutil.rmtree(HOME)
t.equal(sorted(os.listdir(tmp.name)), ["away"], "nothing is left at home")
for (d, k), want in at_home.items():
    words = commands(os.path.join(AWAY, "recordings", d), RECORDINGS[d])[k]
    options = ["--symbols", AWAY + "/programs"] + (["--source", HOME + "=" + AWAY + "/programs"] if k == "annotate" else [])
    got = ran(AWAY, words, options, foreign=True)
    t.equal(got, want, "%s, %s: away, as at home" % (d, k))

# ---- and without the programs ----------------------------------------------------------------------------
shutil.rmtree(AWAY + "/programs")
shutil.rmtree(AWAY + "/cache", ignore_errors=True)
for (d, k), want in at_home.items():
    words = commands(os.path.join(AWAY, "recordings", d), RECORDINGS[d])[k]
    code_, out, err = ran(AWAY, words, foreign=True)
    t.ok(0 <= code_ <= 125 and (out or err), "%s, %s: without programs it ends" % (d, k), (code_, err))
    if k == "mem" and not want[0]:
        got, had = json.loads(out), json.loads(want[1])
        same = ("samples", "sources", "latencies", "histogram", "tlb", "snoops", "locks", "blocks", "nodes", "cpus", "threads")
        t.equal({x: got.get(x) for x in same}, {x: had.get(x) for x in same}, "%s: data sources are the same" % d)
        t.ok(all(r["object"] or r["why"] for r in got["objects"]), "%s: what has no object has a reason" % d, got["objects"][:5])
    elif d != "heap.data" and (k == "mem for people" or k == "sharing" and json.loads(want[1])["accesses"]):
        t.ok("not found here; install its package, or name a directory that has it with --symbols DIR" in " ".join(out.split()), "%s: what is missing is named" % d, out)
t.done()

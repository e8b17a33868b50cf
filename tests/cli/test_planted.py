#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --findings on 30 programs that lose their time in one known way each (tests/progs/planted.c, and recordings made here of what only
counters see): that cause and its place come first in nine of ten. And on plain programs, of which at most one has a finding that is wrong.
Where time alone was recorded, the finding is a function and its line: no cause is guessed. CYCLADE_LONG=1: once more beside a busy loop on each CPU."""
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import account_made  # noqa: E402
import mem_made  # noqa: E402
import sharing_made  # noqa: E402
import waits_made  # noqa: E402
from sim import SYSROOT, run_on  # noqa: E402
from tap import CYCLADE, KERNEL, PROGS, ROOT, SANITIZED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-planted-")
os.chdir(tmp)
os.environ.pop("MALLOC_PERTURB_", None)  # meson's: plain programs would take most of their time to allocate
PAGES = ("time", "functions", "flame", "code", "memory", "compare")
MOST = 8192  # bytes of the document
MACHINE = ("no_cpu", "lost")  # of the machine, which may be busy, not of the program
MEASURED = ("memory", "mispredicts", "frontend", "stalls", "false_sharing")  # by counters alone
PLANTED = os.path.join(PROGS, "prog_planted")
with open(os.path.join(ROOT, "tests", "progs", "planted.c"), encoding="utf-8") as f:
    SOURCE = f.read().splitlines()
right, tried, table = 0, 0, []


def lines_of(function):
    """The numbers of a function's lines in planted.c."""
    first = next(i for i, line in enumerate(SOURCE) if re.search(r"^(OWN )?static .*\b%s\(" % function, line))
    return range(first + 1, next(i for i in range(first, len(SOURCE)) if SOURCE[i] == "}") + 2)


def record(name, options, program):
    """None, or why it cannot be recorded. What runs alone is recorded without the kernel's part: no share of a busy machine's time decides."""
    p = run("record", "-q", *options, "-o", name + ".data", "--", *program)
    return p.stderr if p.returncode else None


def findings(name):
    p = run("report", "--findings", "-j", name + ".data")
    d = json.loads(p.stdout) if p.returncode == 0 else {"rows": [], "headline": {"text": ""}, "notes": [p.stderr]}
    rows = d["rows"]
    t.ok(p.returncode == 0 and len(rows) <= 5 and [r["rank"] for r in rows] == list(range(1, len(rows) + 1)) and
         all(r["page"] in PAGES and r["statement"] and r["share_error"] is not None and 0 < r["share"] - r["share_error"] for r in rows) and
         bool(rows) != any("nothing unusual" in n or "no findings" in n for n in d["notes"]) and len(p.stdout) <= MOST,
         name + ": at most five, ranked, each with error and page; short enough to be read whole", (len(p.stdout), json.dumps(d, indent=1), p.stderr))
    return d


def check(name, kind, function=None, thing=None, says=None, source=False, made=False):
    """The first row is of that kind, function and object (each a text, or several of which one is enough), says the pattern, and has a line of
    the function. made: no chance is in the recording, so that each must be right."""
    global right, tried
    d = findings(name)
    first = d["rows"][0] if d["rows"] else {}
    any_of = lambda x: x if isinstance(x, tuple) else (x,)  # noqa: E731
    good = (first.get("kind") in any_of(kind) and (not function or first.get("function") in any_of(function)) and
            (not thing or first.get("object") in any_of(thing)) and (not says or bool(re.search(says, first["statement"]))))
    if good and source:
        at = re.fullmatch(r".*planted\.c:(\d+)", first["source"] or "")
        good = bool(at) and int(at[1]) in lines_of(first["function"])
    if made:
        t.ok(good, name + ": %s in %s" % (kind, function), json.dumps(d["rows"], indent=1))
    tried += 1
    right += good
    table.append("%-4s %-13s %-16s %-16s %s" % ("ok" if good else "BAD", name, any_of(kind)[0], any_of(function)[0], "" if good else "found:"))
    if not good:
        table.extend("       %d %s | %s | %s | %s | %s" % (r["rank"], r["kind"], r["function"], r["object"], r["source"], r["statement"]) for r in d["rows"])
    if first.get("command"):
        words = shlex.split(first["command"])
        p = run(*words[1:]) if words[0] == "cyclade" and words[1] != "record" else None
        t.ok(not p or p.returncode == 0, name + ": its command runs: " + first["command"], p and p.stderr)
    return d


# name: (options, kind, function, object, what the statement has, whether its line is one of the function)
TIME, ALL, WAIT = ("-e", "cpu-clock:u", "-g"), ("-e", "cpu-clock", "-g"), ("-e", "cpu-clock", "-g", "--wait")
LIVE = {
    "hot": (TIME, "hot_function", "hot_inner", None, r"called from hot_outer\(\)", True),
    "sorting": (TIME, "hot_function", "sort_items", None, None, True),
    "spin": (TIME, "hot_function", "spin_until_free", None, None, True),
    "allocations": (TIME, "allocations", "parse_row", None, None, True),
    "faults": (ALL, "kernel", "fill_pages", "page faults", None, True),
    "calls": (ALL, "kernel", "copy_bytes", ("read", "write"), None, True),
    "processes": (WAIT, "short_processes", "start_process", None, r"\d+ processes that lived for", False),
    "mutex": (WAIT, "lock", "change_table", "table_lock", None, True),
    "owner": (WAIT, "lock", "use_cache", "cache_lock", "its owner waited, too", True),
    "convoy": (WAIT, "lock", "pass_gate", "gate_lock", None, True),
    "pipe": (WAIT, "waits", "next_row", None, "waited for a pipe", True),
    "socket": (WAIT, "waits", "next_row", None, "waited for a socket", True),
    "sleeping": (WAIT, "waits", ("nap", "pause_between"), None, r"a timer .* pause_between\(\)", True),
    "polling": (WAIT, "waits", "poll_again", None, "poll", True),
    "saving": (WAIT, "io", "save_record", None, None, True),
    "late": (WAIT, "late_thread", ("step", "late_part"), None, None, True),
    "crowd": (WAIT, "run_queue", None, None, "%d CPUs" % os.sysconf("SC_NPROCESSORS_ONLN"), False),
}


# under a sanitizer, where each command takes ten times as long
FEW = ("hot", "allocations", "faults", "processes", "owner", "sleeping", "late", "crowd", "python", "gcc", "sleep", "even", "balanced")


def planted_live():
    for name, (options, kind, function, thing, says, source) in LIVE.items():
        if SANITIZED and name not in FEW:
            continue
        if options != TIME and not KERNEL:
            t.skip(name, "the kernel cannot be recorded here")
            continue
        p = run("record", "-q", *options, "-o", name + ".data", "--", PLANTED, name)
        if p.returncode:
            t.skip(name, "cannot be recorded here: " + p.stderr)
            continue
        if name == "saving" and float(p.stdout) < 0.5:
            t.skip(name, "fsync() takes no time here")
            continue
        d = check(name, kind, function, thing, says, source)
        t.ok(not any(r["kind"] in MEASURED for r in d["rows"]) and
             any(r["kind"] == "hot_function" for r in d["rows"]) == any("causes: not measured" in n for n in d["notes"]),
             name + ": no cause that was not measured", d)


def cgroup_with_quota(share):
    """A new cgroup whose processes get this share of one CPU; None: not here."""
    own = "cyclade-planted-%d" % os.getpid()
    for top, name, text in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "%d" % (share * 20000)), ("/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "%d" % (share * 20000)),
                            ("/sys/fs/cgroup", "cpu.max", "%d 20000" % (share * 20000))):
        path = os.path.join(top, own)
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            if name != "cpu.max":
                with open(os.path.join(path, "cpu.cfs_period_us"), "w", encoding="ascii") as f:
                    f.write("20000")
            with open(os.path.join(path, name), "w", encoding="ascii") as f:
                f.write(text)
            return path
        except OSError:
            os.rmdir(path)
    return None


def planted_others():
    path = cgroup_with_quota(0.05) if KERNEL else None
    if path:
        why = record("quota", WAIT, ["sh", "-c", 'echo $$ >"$1/cgroup.procs" && exec "$2" even 0.025', "sh", path, PLANTED])
        os.rmdir(path)
        if why:
            t.skip("quota", "cannot be recorded here: " + why)
        else:
            check("quota", "quota", says="quota of")
    else:
        t.skip("quota", "no cgroup can be made here")
    shutil.copy(os.path.join(PROGS, "prog_made"), "node")
    why = record("unnamed", TIME, ["./node", "200"])
    if why:
        t.skip("unnamed", "cannot be recorded here: " + why)
    else:
        check("unnamed", "unnamed_code", thing="node")
    if (3, 11) <= sys.version_info[:2] <= (3, 14):
        why = record("interpreter", TIME, [sys.executable, "-c", "import time\nwhile time.process_time() < 0.25: sum(i * i for i in range(10000))"])
        if why:
            t.skip("interpreter", "cannot be recorded here: " + why)
        else:
            check("interpreter", "interpreter", thing="Python")
    else:
        t.skip("interpreter", "no Python 3.11 to 3.14")


# ---- what only counters see ----------------------------------------------------------------------------------

def made_account(name, **planted):
    """600 samples of cycles in hot, 200 in cold, and those of `planted`, in hot."""
    m = account_made.Made(tmp)
    for function, n in (("hot", 600), ("cold", 200)):
        for event in ("CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.REF_TSC", "INST_RETIRED.ANY"):
            m.put(function, event, n)
    for event, n in planted.items():
        m.put("hot", event.replace("__", "."), n)
    m.write(name + ".data")


def made_sharing(name):
    """Two threads read and write, each its own of two neighbours."""
    a, b = sharing_made.PID + 1, sharing_made.PID + 2
    rnd = random.Random(2)
    program = sharing_made.Program("shared", "long counters[16] __attribute__((aligned(128))); long other[64] __attribute__((aligned(128)));\n"
                                   "void worker(void) { counters[0]++; other[0]++; }\nint main(void) { worker(); return 0; }\n")
    rows = []
    for _ in range(600):
        tid, kind = rnd.choice((a, b)), rnd.choice(("load", "store"))
        far = kind == "load" and rnd.random() < 0.5
        rows.append(sharing_made.Access(tid, program.at["counters"] + 8 * (tid == b), kind, ip=program.at["worker"] + 8,
                                        hitm="local" if far else None, weight=200 if far else 5))
        rows.append(sharing_made.Access(a, program.at["other"] + 8 * rnd.randrange(32), "load", ip=program.at["worker"] + 8, weight=5))
    sharing_made.write(name + ".data", rows, [program.map(sharing_made.PID)])


def made_starved(name, scale=1, wait=True):
    """Of 100 ms thread 7 could run all the time, and had a CPU for 5 ms, in one function. scale: of times; wait: switches are recorded."""
    m = waits_made.Made([b"schedule"])
    account_made.elf(["work", "rest"], os.path.join(tmp, "starved"))
    w = m.w
    m.record(waits_made.gen.MMAP, w.pack("IIQQQ", 7, 7, account_made.BASE, 0x10000, 0) + waits_made.gen.text8(os.path.join(tmp, "starved")), 0, 7, 0, misc=2)
    m.f.features.pop(3)  # another host's files would be looked up by build-id alone
    m.f.features[11] = w.pack("I", 5) + b"".join(w.text(s) for s in ("cyclade", "record", "--wait", "--", "./starved"))
    on, off = (m.on, m.off) if wait else (lambda *_, **__: None,) * 2
    on(1000, 7)
    for i in range(50):
        at = 1000 + i * 2000000 * scale
        for k in range(4):
            s = waits_made.gen.Sample(1, m.events[waits_made.CLOCK][2][0])
            s.v.update(IP=account_made.BASE + 0x1000 + (account_made.SIZE if k == 3 else 0) + 3, TID=(7, 7), TIME=at + (10000 + k * 20000) * scale, CPU=0, PERIOD=25000 * scale)
            m.f.data += s.record(w, m.events[waits_made.CLOCK][1], 2)
        off(at + 100000 * scale, 7, preempted=True)
        on(at + 2000000 * scale, 7)
    off(1000 + 100000000 * scale + 100, 7, preempted=True)
    m.write(name + ".data")


def planted_made():
    made_account("dram", MEM_LOAD_L3_MISS_RETIRED__LOCAL_DRAM=400, UOPS_RETIRED__STALL_CYCLES=500)
    check("dram", "memory", "hot", "Local_DRAM", made=True)
    made_account("branches", BR_MISP_RETIRED__ALL_BRANCHES=240, UOPS_RETIRED__STALL_CYCLES=200)
    check("branches", "mispredicts", "hot", "Mispredicted", made=True)
    made_account("fetch", RS_EVENTS__EMPTY_CYCLES=300, UOPS_RETIRED__STALL_CYCLES=350)
    check("fetch", "frontend", "hot", "RS_Empty", made=True)
    for name, level, number, other in (("loads", 7, 13, 0), ("numa", 8, 13, 1)):  # bits of mem_lvl, mem_lvl_num, mem_remote
        rnd, rows = random.Random(3), []
        for i in range(600):
            far = i % 3 == 0
            src = mem_made.data_src(op=2, lvl=2 | 1 << (level if far else 3), num=number if far else 1, remote=other if far else 0, snoop=2, lock=1, tlb=2 | 8)
            rows.append(mem_made.Sample(src, weight=300 + rnd.randrange(100) if far else 5, ip=account_made.BASE + 0x1000 + account_made.SIZE * (not far) + 3,
                                        addr=0x7f0000001000 + 64 * i))
        mem_made.write(name + ".data", rows, program=os.path.join(tmp, "prog"))
        check(name, "memory", "hot", "RAM, remote" if other else "RAM", made=True)
    if shutil.which("gcc"):
        made_sharing("sharing")
        check("sharing", "false_sharing", "worker", "counters", made=True)
    else:
        t.skip("sharing", "no gcc here")
    made_starved("starved")
    check("starved", "hot_function", "work", made=True)
    made_starved("unwaited", 20, False)
    check("unwaited", "hot_function", "work", made=True)


SLOTS = "{slots,cycles,%s}:S" % ",".join("topdown-" + x for x in ("retiring", "bad-spec", "fe-bound", "be-bound", "heavy-ops", "br-mispredict", "fetch-lat", "mem-bound"))
# a program of the simulated machine, as which planted.c's runs
SIMULATED = {"branch_mispredicts": ("sorting", "mispredicts", "sort_items"), "icache_misses": ("hot", "frontend", "hot_inner"), "dram_bound": ("hot", "memory", "hot_inner")}


def planted_simulated():
    for name, (program, kind, function) in SIMULATED.items():
        p = run_on("spr", name, CYCLADE, "record", "-q", *SYSROOT, "-e", SLOTS, "-o", name + ".data", "--", PLANTED, program, "0.15")
        if p.returncode:
            t.no_simulation(name, p.stderr)
            return
        check(name, kind, function, source=True)


# ---- plain programs ------------------------------------------------------------------------------------------

ANY = ("io",)  # its files may have to be read from the disk
# name: (program, kinds of what is true of it)
PLAIN = {
    "gzip": ("gzip -kf9 text", ("hot_function",)),
    "xz": ("xz -kf1 text", ("hot_function",)),
    "sort": ("sort text -o sorted", ("hot_function",)),
    "awk": ("awk '{ n[$1]++ } END { for (w in n) print w, n[w] }' text", ("hot_function", "allocations")),
    "python": (sys.executable + " -c 'import time\nwhile time.process_time() < 0.2: sum(i * i for i in range(10000))'", ("interpreter", "hot_function", "allocations")),
    "perl": ("perl -ne '$n{$_}++ for split; END { print qq($_ $n{$_}\\n) for sort keys %n }' text", ("hot_function",)),
    "sqlite3": ("sqlite3 :memory: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT sum(i * i), count(DISTINCT i % 1000) FROM n'", ("hot_function",)),
    "git": ("git -C '%s' --no-pager log --oneline -n 300" % ROOT, ("hot_function", "kernel")),
    "gcc": ("gcc -O2 -c -o x.o small.c", ("kernel",)),
    "cat": ("cat text text text text text text text text", ("kernel", "hot_function")),
    "tar": ("tar cf x.tar -C '%s' src/analyse" % ROOT, ("kernel", "hot_function")),
    "bc": ("bc -l pi.bc", ("hot_function",)),
    "find": ("find '%s/src' -name '*.c' -size +4k" % ROOT, ("kernel", "hot_function")),
    "sleep": ("sleep 0.2", ("waits",)),
    "make": ("make -s -C tree", ("waits", "kernel")),
    "bash": ("bash -c 'for ((i = 0; i < 40000; i++)); do ((s += i)); done'", ("hot_function", "allocations")),
    "sha256sum": ("sha256sum text text text text text text text text text text text text", ("hot_function",)),
    "grep": ("grep -cE '(alpha|zeta)[0-9]*7 .*beta' text", ("hot_function",)),
    "sed": ("sed -n 's/\\(alpha\\)\\([0-9]*\\)/\\2\\1/gp' text", ("hot_function",)),
    "even": (PLANTED + " even", ()),
    "balanced": (PLANTED + " balanced", ()),
    "idle": (PLANTED + " idle", ("waits",)),
}


def plain_files():
    rnd = random.Random(1)
    with open("text", "w", encoding="ascii") as f:
        for _ in range(12000):
            f.write(" ".join("%s%d" % (rnd.choice("alpha beta gamma delta epsilon zeta eta theta".split()), rnd.randrange(3000)) for _ in range(8)) + "\n")
    with open("pi.bc", "w", encoding="ascii") as f:
        f.write("scale = 600\n4 * a(1)\nquit\n")
    with open("small.c", "w", encoding="ascii") as f:
        f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
        for i in range(60):
            f.write("int f%d(int n, char *s) { int k = 0; for (int i = 0; i < n; i++) { k += s[i] * %d; if (k > 1000) k = (int)strlen(s); } printf(\"%%d\", k); return k; }\n" % (i, i))
    os.mkdir("tree")
    with open("tree/Makefile", "w", encoding="ascii") as f:
        f.write("all: a b c\n%: %.c\n\tgcc -o $@ $<\n")
    for name in "abc":
        with open("tree/%s.c" % name, "w", encoding="ascii") as f:
            f.write("int main(void) { return 0; }\n")


def plain():
    plain_files()
    wrong, of = [], 0
    for i, (name, (line, kinds)) in enumerate(PLAIN.items()):
        words = shlex.split(line)
        if SANITIZED and name not in FEW:
            continue
        if not shutil.which(words[0]) or (name == "make" and not shutil.which("gcc")):
            t.skip(name, "no %s here" % words[0])
            continue
        why = record("plain-" + name, WAIT if KERNEL and (i % 3 or name in ("sleep", "idle", "balanced")) else TIME, words)
        if why and not os.path.exists("plain-%s.data" % name):
            t.skip(name, "cannot be recorded here: " + why)
            continue
        of += 1
        for r in findings("plain-" + name)["rows"]:
            if r["kind"] not in MACHINE + ANY + kinds:
                wrong.append("%-10s %s | %s | %s" % (name, r["kind"], r["function"], r["statement"]))
    t.ok(20 * len(wrong) <= max(of, 20), "%d plain programs: at most one finding in 20 that is wrong" % of, "\n".join(wrong))


def whole():
    global right, tried
    right, tried = 0, 0
    table.clear()
    planted_live()
    planted_others()
    planted_made()
    planted_simulated()
    t.ok(10 * right >= 9 * tried, "the planted cause and place come first: %d of %d" % (right, tried), "\n".join(table))
    for line in table if 10 * right >= 9 * tried and right < tried else ():
        print("# " + line)
    plain()


whole()
if os.environ.get("CYCLADE_LONG"):
    shutil.rmtree("tree")
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        whole()
    finally:
        for p in loops:
            p.kill()
            p.wait()

os.chdir("/")
shutil.rmtree(tmp)
t.done()

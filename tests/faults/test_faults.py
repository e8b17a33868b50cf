#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every allocation and every system call of a command fails once, under a library that is preloaded (inject.c).

Whatever fails, a command ends by itself, and in one of three ways: with exit 2 (125 where it measures) and a message; with
exit 0, a message and what could be had; or with exit 0 and what it writes without a fault. Nothing that it does not
finish stays behind. Where memory fails, the second way is not allowed.

A sample of the calls of each command is taken, the first ones and others all over; CYCLADE_LONG=1 takes them all. Of the
allocations "place" takes the first of each caller only: each place in the code once.
FAULT_ONLY=COMMAND[/KIND] takes one; with FAULT_TRACE=1 the callers of what failed are shown."""
import os
import pty
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import built  # noqa: E402
import machines_made  # noqa: E402
import mem_made  # noqa: E402
import recordings  # noqa: E402
import servers  # noqa: E402
import sharing_made  # noqa: E402
import waits_made  # noqa: E402
from tap import CYCLADE, PROGS, ROOT, SANITIZED, Tap  # noqa: E402

t = Tap()
LONG = bool(os.environ.get("CYCLADE_LONG"))
LIB = os.environ.get("FAULT_LIB", os.path.join(os.path.dirname(CYCLADE), "..", "..", "tests", "faults", "libinject.so"))
ONLY = os.environ.get("FAULT_ONLY", "").split("/")
COUNTS = "".join("%d,,%s,1000000,100.00,,\n" % c for c in [  # of perf stat -x, on an Ivy Bridge
    (1000000, "cycles"), (2000000, "instructions"), (800000, "idq_uops_not_delivered.core"),
    (2500000, "uops_issued.any"), (2200000, "uops_retired.retire_slots"), (10000, "int_misc.recovery_cycles")])
KINDS = {"memory": 8, "place": 4, "memory+": 2, "open": 3, "read": 3, "write": 3, "mmap": 2, "stat": 2, "ftruncate": 2, "rename": 2,
         "close": 2, "fork": 2, "thread": 2, "ioctl": 2, "poll": 2, "opendir": 2, "pipe": 2}
COUNTED = ("memory", "place", "open", "read", "write", "mmap", "stat", "ftruncate", "rename", "close", "fork", "thread", "ioctl",
           "poll", "opendir", "pipe")  # as inject.c has them
EVERY = {(c, "place") for c in ("report -g", "info", "annotate", "import", "compare, functions")}
# all of them, always: unwinding, symbols, lines, rows, a recording of ours in a directory of ours
# name: words; F..: recordings by name, O: a file to write
READS = {
    "info": "info -i unwound",
    "info -j": "info -j -i group",
    "report": "report --no-cache -i plain",
    "report -g": "report --no-cache -g -i unwound",
    "report -j": "report --no-cache -g -j -i packed",
    "report, lines": "report --no-cache -s srcline,inline,sym --format csv -i chains",
    "report -b": "report --no-cache -b -i branches",
    "report --account": "report --no-cache --account -i account_shared",
    "report --wait": "report --no-cache --wait -i waits",
    "report --wait -j": "report --no-cache --wait -j -i waits",
    "report --wait, some chains": "report --no-cache --wait -j -i thin",
    "report --wall": "report --no-cache --wall -i waits",
    "report --wall -g": "report --no-cache --wall -g --format svg -i waits",
    "report --concurrency": "report --no-cache --concurrency -j -i waits",
    "report --concurrency, counted": "report --no-cache --concurrency -i counted",
    "report --critical": "report --no-cache --critical -j -i waits",
    "report, names": "report --no-cache -i names/long_names",
    "report, cache": "report -i plain",
    "report, jit": "report --no-cache -i jit",
    "report -o": "report --no-cache -j -o O -i plain",
    "report --html": "report --no-cache --html O -i chains",
    "report --html, waits": "report --no-cache --html O --functions 0 -i waits",
    "report --html, account": "report --no-cache --html O -i account",
    "annotate": "annotate --no-cache -i plain bottom",
    "annotate, page": "annotate --no-cache --format html -o O -i branches f",
    "calls, page": "calls --no-cache --format html -o O -i branches",
    "annotate -j": "annotate --no-cache -j -i account hot",
    "blocks": "blocks --no-cache -i branches",
    "blocks --chains": "blocks --no-cache --chains -j -i branches",
    "blocks --mix": "blocks --no-cache --mix -j -i branches",
    "calls": "calls --no-cache -i branches",
    "calls -j": "calls --no-cache -j -i branches",
    "diff": "diff --no-cache plain chains",
    "diff, matched": "diff --no-cache --with lines -j build.base build.new",
    "diff, saved": "diff -j saved.json saved.json",
    "sum": "sum --no-cache plain chains",
    "sql": "sql --no-cache -i plain SELECT(pid)FROM(samples)",
    "sql, chains": "sql --no-cache -i chains SELECT(chain)FROM(chains)",
    "sql, lines": "sql --no-cache -i chains SELECT(function)FROM(lines)",
    "sql, saved": "sql --no-cache -i saved.json SELECT(event)FROM(stat)",
    "sql, results": "sql --no-cache -i plain SELECT(function)FROM(functions)",
    "sharing": "sharing --no-cache -i accesses",
    "registers": "registers --no-cache -i registers",
    "registers, csv": "registers --no-cache --format csv --table values -o O -i registers",
    "mem": "mem --no-cache -i memory",
    "mem -j": "mem --no-cache -j -o O -i memory",
    "mem, types": "mem --no-cache -j -i typed",
    "mem, layouts": "mem --no-cache --format csv --table layouts -i layouts",
    "mem, own events": "mem --no-cache -j --ibs-events own.events -e Slow -i ops",
    "list, own events": "list ibs -j --ibs-events own.events",
    "pprof": "export --no-cache --pprof -o O -i unwound",
    "firefox": "export --no-cache --firefox -o O -i chains",
    "flame-svg": "export --no-cache --flame-svg -o O -i chains",
    "timeline-svg": "export --no-cache --timeline-svg -o O -i waits",
    "perfetto": "export --no-cache --perfetto -o O -i waits",
    "bolt": "export --no-cache --bolt -o O -i branches",
    "folded, two": "export --no-cache --folded chains plain",
    "script": "script --no-cache -o O -i unwound",
    "script -j": "script --no-cache -j -i chains",
    "import": "stat --import counts.csv --model ivb",
    "import -j": "stat -j --import counts.csv --model ivb",
    "explain": "explain --model spr Memory_Bound",
    "explain -j": "explain -j --model spr Memory_Bound Load_Latency IDQ.MS_UOPS Mem",
    "list": "list nodes --model spr",
    "list -j": "list groups -j --model spr",
    "models check -j": "models check -j spr",
    "config": "config",
}
MEASURES = {
    "calibrate": "calibrate --quick l1 transfers -o O",
    "validate": "validate --quick page-faults fault add",
    "stat": "stat -e task-clock,page-faults -- true",
    "compare": "compare -r 2 --warmup 0 --seed 1 -q -e page-faults -o O -- true -- true",
    "compare, functions": "compare --functions 2 -r 1 --warmup 0 --seed 1 -q -e cpu-clock:u -o O -- true -- true",
    "record": "record -q -e cpu-clock:u -o O -- true",
    "record --heap": "record -q -e page-faults:u -c 1 -d -W --heap -o O -- true",
    "record -g": "record -q -g -e cpu-clock:u -F 20000 -o O -- true",
    "run": "run -q -e cpu-clock:u --data O -- true",
    "run -r": "run -q -e cpu-clock:u -r 2 --data O -- true",
    "monitor": "monitor --once -I 1",
    "monitor -j": "monitor --once -I 1 -j",
    "monitor, a server": "monitor --once -I 1 -j -G * --sysroot server",
    "monitor, registers": "monitor --once -I 5 -j --backend msr --metrics l3,cpi --sysroot amd",
    "top": "top --no-cache -e cpu-clock:u -I 20 --for 70ms",
}
AT_TERMINAL = ("top",)


def run_at_terminal(argv, env, where):
    """As subprocess.run(), with a terminal for input and output, whose pictures nobody looks at."""
    ours, theirs = pty.openpty()
    p = subprocess.Popen(argv, env=dict(env, TERM="xterm"), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, cwd=where)
    os.close(theirs)
    reader = Thread(target=drain, args=(ours,))
    reader.start()
    try:
        err = p.communicate(timeout=600)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        raise
    finally:
        reader.join()
        os.close(ours)
    return subprocess.CompletedProcess(argv, p.returncode, b"", err)


def drain(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass  # the other end is closed



def a_server(tmp):
    """The tree of one, whose counters cannot be had here, with cgroups."""
    with open(os.path.join(tmp, "server.tab"), "w", encoding="ascii") as f:
        f.write(servers.server("spr").text())
    subprocess.run([sys.executable, os.path.join(ROOT, "tests", "sim", "tools", "tree.py"), "server.tab", "server"], cwd=tmp, check=True)
    for group in ("", "a.slice/b.service/"):
        os.makedirs(os.path.join(tmp, "server/sys/fs/cgroup", group), exist_ok=True)
        for name, text in (("cgroup.controllers", "cpu"), ("cpu.stat", "usage_usec 7"), ("io.stat", "8:0 rbytes=1 wbytes=2")):
            with open(os.path.join(tmp, "server/sys/fs/cgroup", group, name), "w", encoding="ascii") as f:
                f.write(text + "\n")


def an_amd(tmp):
    """The tree of a machine whose registers are simulated (tests/sim/msr.h)."""
    text = machines_made.rome()[0]
    for name, of in (("amd.tab", text), ("amd.registers", machines_made.registers(text))):
        with open(os.path.join(tmp, name), "w", encoding="ascii") as f:
            f.write(of)
    subprocess.run([sys.executable, os.path.join(ROOT, "tests", "sim", "tools", "tree.py"), "amd.tab", "amd"], cwd=tmp, check=True)


def simulated(tmp, where, tag):
    """The environment in which they are."""
    registers = os.path.join(where, "registers" + tag)
    shutil.copy(os.path.join(tmp, "amd.registers"), registers)
    return registers, {"LD_PRELOAD": os.environ["SIM_LIB"] + ":" + LIB, "FAULT_MAIN": "1", "SIM_MACHINE": os.path.join(tmp, "amd.tab"),
                       "SIM_SCENARIO": "even", "SIM_MSR": registers, "SYSFS_PATH": os.path.join(tmp, "amd/sys")}


def kept(registers):
    """What registers were written and do not have their first value again (all were 0); the files of the simulation go."""
    last = {}
    with open(registers + ".log", encoding="ascii") as f:
        for _, _, cpu, reg, _, new in map(str.split, f):
            last[cpu, reg] = new
    for name in ("", ".log", ".cells"):
        os.remove(registers + name)
    return ["register %s of CPU %s" % (reg, cpu) for (cpu, reg), v in last.items() if v != "0"]


def start(words, where, fault, tag):
    """(exit code, output, what is on stderr, {kind: calls there were}, what stays behind); None: it had no end."""
    os.makedirs(where, exist_ok=True)
    out = os.path.join(where, "out" + tag)
    count = os.path.join(where, "count" + tag)
    temps = os.path.join(where, "temps" + tag)
    os.makedirs(temps)
    # the system's debug information, if it is there or in perf's cache, takes longer to unpack than all else; that of the
    # recorded program is packed too
    env = dict(os.environ, LC_ALL="C", LD_PRELOAD=LIB, FAULT=fault, FAULT_COUNT=count, FAULT_WITHOUT="/usr/lib/debug/",
               HOME=os.path.dirname(where), XDG_CACHE_HOME=where + "/cache" + tag, TMPDIR=temps, COLUMNS="100")
    registers = None
    if "msr" in words.split():
        registers, more = simulated(os.path.dirname(where), where, tag)
        env.update(more)
    argv = [CYCLADE] + [out if w == "O" else w for w in words.split()]
    try:
        if argv[1] in AT_TERMINAL:
            p = run_at_terminal(argv, env, os.path.dirname(where))
        else:
            p = subprocess.run(argv, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=600,
                               cwd=os.path.dirname(where))
        code, text, err = p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        code, text, err = None, b"", ""
    with open(count, "rb") as f:
        calls = dict(zip(COUNTED, struct.unpack("=%dq" % len(COUNTED), f.read())))
    os.remove(count)
    for name in (out, out + ".1", out + ".2"):  # of two runs each its own
        if os.path.exists(name):
            with open(name, "rb") as f:
                text += f.read()
            os.remove(name)
    left = [n for n in os.listdir(where) if n.startswith("out%s." % tag)] + os.listdir(temps)
    shutil.rmtree(temps)
    return code, text, err, calls, left + (kept(registers) if registers else [])


def wrong(words, kind, base, got):
    """What is wrong with an ending, or None."""
    code, text, err, _, left = got
    measures = words in MEASURES.values()
    if code is None:
        return "no end"
    if code < 0:
        return "signal %d" % -code
    if left:
        return "%s stays behind" % left[0]
    said = [line for line in err.splitlines() if line not in base[2].splitlines()]
    memory = kind.startswith("memory") or kind == "place"
    if code == base[0]:
        # Graphviz goes on without an arrow, and says so; the loader takes some failures for a library that is not there
        graphviz = any(line.startswith("libpath/") for line in said) or b"Graphviz cannot be loaded" in text
        if measures or text == base[1] or (not memory and said) or graphviz:
            return None
        return "exit %d, other output, %s" % (code, "a message" if said else "no message")
    # and ncurses, which ends the process as well
    if code == 1 and words.split()[0] in AT_TERMINAL and memory and any("Out of memory" in line for line in said):
        return None
    if code not in ((2, 125) if measures else (2,)):
        return "exit %d" % code
    # libcgraph's reader of dot ends the process with a message of its own
    return None if any(line.startswith(("cyclade: ", "out of dynamic memory in aag")) for line in said) else "exit %d without a message" % code


def sweep(name, words, kind, most, where, base):
    """(calls of that kind there were, how many of them failed in turn, what was wrong); None: there were none."""
    plain, rest = kind.rstrip("+"), kind.endswith("+")
    calls = base[3][plain]
    if calls == 0:
        return None
    total = calls + (0 if calls < 50 else calls // 50)
    at = list(range(1, total + 1))
    if not LONG and (name, kind) not in EVERY and total > most:
        rnd = random.Random(name + kind)
        first = max(most // 4, 1)
        at = at[:first] + sorted(rnd.sample(at[first:], most - first))
    bad = []
    for n in at:
        got = start(words, where, "%s:%d%s" % (plain, n, "+" if rest else ""), "%d" % n)
        why = wrong(words, kind, base, got)
        if why:
            bad.append("call %d of %d: %s: %s" % (n, total, why, got[2][-1500:]))
    return calls, len(at), bad


def builds(where):
    """Recordings of two builds of a program: its file is renamed, and of five functions one is renamed, one inlined, one split."""
    rng = random.Random(1)
    fs = built.functions(rng, 5)
    rest, inside = ("f3_rest", built.body(rng)), "static inline __attribute__((always_inline))"
    new = [fs[0], ("other", fs[1][1]), fs[2] + (inside,), rest, ("f3", fs[3][1] + " x = f3_rest(x);"), fs[4]]
    fs[3] = "f3", fs[3][1] + rest[1]
    for name, text, n in (("base", built.text(fs), dict(f0=9, f1=9, f2=9, f3=20, main=2)),
                          ("new", built.text(new, ["f0", "other", "f2", "f3", "f4"]), dict(f0=9, other=9, main=9, f3=9, f3_rest=9))):
        program = built.Built(os.path.join(where, "of_" + name, "prog-" + name), text, "-O2", "-g")
        program.record(os.path.join(where, "build." + name), n, rng)


def typed(where):
    """Accesses to fields of a list, in a program with debug information."""
    program = sharing_made.Program(os.path.join(where, "of_typed"), """
        struct item { struct item *next; struct { int a, b; } in[4]; char text[]; };
        static struct item *head, table[8];
        struct item *walk(struct item *i, int k) { for (; i && i != head; i = i->next) i->in[k].b += table[k].in[1].a + i->text[k]; return i; }
        int main(void) { return walk(table, 1) != 0; }""", ["-O2", "-gdwarf-5"])
    at, end = program.at["walk"], program.at["walk"] + program.size["walk"]
    sharing_made.write(os.path.join(where, "typed"), [sharing_made.Access(100 + ip % 2, program.at["table"] + 8 * (ip % 9), ip=ip)
                                                      for ip in range(at, end)], maps=[program.map(sharing_made.PID)])


def layouts(where):
    """Enough accesses to fields of structures that their hot ones are told."""
    program = sharing_made.Program(os.path.join(where, "of_layouts"), """
        struct node { struct node *next; long cold[14]; long key; } table[8];
        struct pair { long a, b; } pairs[8];
        long walk(struct node *n, long key) { long sum = 0; for (; n && n->key != key; n = n->next) sum += pairs[key & 7].a + pairs[n->key & 7].b; return sum; }
        int main(void) { return walk(table, 1) != 0; }""", ["-O2", "-gdwarf-5"])
    at, end = program.at["walk"], program.at["walk"] + program.size["walk"]
    sharing_made.write(os.path.join(where, "layouts"), [sharing_made.Access(100 + ip % 2, program.at["table"] + 8 * (ip % 9), ip=ip)
                                                        for ip in range(at, end)] * 50, maps=[program.map(sharing_made.PID)])


def out_of_memory_in_unwinding(tmp):
    """The recording goes on: all samples are there, those before with callers, and the message has how many have none."""
    where, name = os.path.join(tmp, "unwinding"), "record -g: memory runs out while callers are found"
    words = "record -g -e cpu-clock:u -F 2000 -o O -- %s 10 60" % os.path.join(PROGS, "prog_recurse")
    base = start(words, where, "count", "base")
    if base[0]:
        t.skip(name, "cannot record: " + base[2][-200:])
        return
    for at in range(base[3]["memory"] // 3, base[3]["memory"]):
        code, data, err, _, _ = start(words, where, "memory:%d" % at, "%d" % at)
        without = re.search(r"memory ran out; ([0-9,]+) samples have no callers", err)
        if not without:
            continue
        path = os.path.join(where, "kept.data")
        with open(path, "wb") as f:
            f.write(data)
        p = subprocess.run([CYCLADE, "report", "-j", "-i", path], capture_output=True, text=True)
        kept = re.search(r"([0-9,]+) samples? in ", err)
        t.ok(code == 125 and "out of memory: what was written is incomplete" in err, name + ": exit code and message", (code, err))
        t.ok(p.returncode == 0 and kept and int(without[1].replace(",", "")) <= int(kept[1].replace(",", "")) > 0,
             name + ": the samples are kept", (err, p.stderr))
        return
    t.ok(False, name + ": no allocation of the unwinder was met", base[3])


def main():
    if SANITIZED or not os.path.exists(LIB):
        t.skip("all of it", "the sanitizer has malloc to itself" if SANITIZED else "no library to preload: " + LIB)
        t.done()
    with tempfile.TemporaryDirectory() as tmp:
        found = recordings.made(tmp) + recordings.taken(tmp)
        here = {r.name for r in found} | {"counts.csv", "saved.json", "own.events", "ops", "typed", "layouts", "thin"}
        with open(os.path.join(tmp, "counts.csv"), "w", encoding="ascii") as f:
            f.write(COUNTS)
        with open(os.path.join(tmp, "saved.json"), "w", encoding="ascii") as f:  # of stat -j
            f.write('{"schema":"cyclade.counts/2","command":["true"],"counts":[{"event":"cycles","value":12,"value_error":1}],"notes":[]}')
        with open(os.path.join(tmp, "own.events"), "w", encoding="ascii") as f:
            f.write("event Slow ibs_op\nwhere miss_latency > 99\nvalue miss_latency\n")
        mem_made.write_ibs(os.path.join(tmp, "ops"), [(3 << 17 | 16, 0x401000 + i, 0, 0, i << 32 | 1, 0, 0, 0) for i in range(200)], [])
        builds(tmp)
        typed(tmp)
        layouts(tmp)
        waits_made.few(os.path.join(tmp, "thin"), thin=True)
        waits_made.counted(os.path.join(tmp, "counted"))
        a_server(tmp)
        an_amd(tmp)
        commands = []
        for name, words in {**READS, **MEASURES}.items():
            needs = [w for w in words.split() if w in {r.name for r in found} | set(recordings.TAKEN)]
            if not set(needs) <= here:
                t.skip(name, dict(recordings.missing)[needs[0]])
                continue
            if "msr" in words.split() and "SIM_LIB" not in os.environ:
                t.skip(name, "no library of simulated registers: SIM_LIB")
                continue
            if ONLY[0] in ("", name):
                commands.append((name, words, os.path.join(tmp, "%d" % len(commands))))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            jobs = []
            for (name, words, where), base in zip(commands, pool.map(lambda c: start(c[1], c[2], "count", "base"), commands)):
                if not t.ok(base[0] == 0, name + ": without a fault", base):
                    continue
                jobs += [(name, words, kind, most, where + "-" + kind, base) for kind, most in KINDS.items()
                         if len(ONLY) < 2 or ONLY[1] == kind]
            for job, said in zip(jobs, pool.map(lambda j: sweep(*j), jobs)):
                if said:
                    t.ok(not said[2], "%s: %s, %d of %d calls" % (job[0], job[2], said[1], said[0]), "\n".join(said[2]))
        if ONLY[0] in ("", "record -g"):
            out_of_memory_in_unwinding(tmp)
    t.done()


main()

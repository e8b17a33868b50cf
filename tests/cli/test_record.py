#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade record, as a person uses it; what it writes is read by perf where perf is there, and by cyclade info."""
import json
import os
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_names import few_names, short_kallsyms  # noqa: E402
from tap import CYCLADE, PERF, PROGS, SANITIZED, WHOLE_CPUS, Tap, run, taken, wait_for  # noqa: E402

RECURSE, CROWD, RELAY = (os.path.join(PROGS, "prog_" + p) for p in ("recurse", "crowd", "relay"))
HOTSPOT = next((p for p in ("/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser",
                            "/usr/lib/aarch64-linux-gnu/libexec/hotspot-perfparser") if os.access(p, os.X_OK)), None)
# what hotspot's parser also says of perf's own recordings, and of rounds and features as records
HOTSPOT_SAYS = re.compile(r"feature not properly read|unhandled event type|FINISHED_ROUND detected|^$|"
                          r"Linux version|zstd decompression support not available|^\d+ \d+ \d+ \d+ \d+$")
HOTSPOT_NEW = ("--user-regs --intr-regs", "-W", "--phys-data", "--data-page-size --code-page-size")  # fields that are newer than it, in perf's files, too
t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-record-")
os.chdir(tmp)
BUSY = [RECURSE, "10", "60"]
few = few_names(tmp)


def info(path):
    r = run("info", "-j", path)
    try:
        doc = json.loads(r.stdout)
        return dict(doc, records={x["record"]: x["count"] for x in doc["records"]})
    except ValueError:
        return {"records": {}, "events": [], "error": r.stderr}


def perf_samples(path, *fields):
    """How many samples perf script sees, and what it complains of."""
    r = subprocess.run([PERF, "script", "-i", path, *few, "-F", ",".join(fields or ["tid", "time"])], capture_output=True,
                       text=True, errors="replace", stdin=subprocess.DEVNULL)
    lines = [x for x in r.stdout.splitlines() if x.strip()]
    return len(lines), r.returncode, r.stderr


probe = run("record", "-q", "-o", "probe.data", "--", "true")
if probe.returncode:
    t.skip("record", "no event can be opened here: %s" % probe.stderr.strip().splitlines()[-1:])
    t.done()
kernel = "user space only" not in probe.stderr
root = os.geteuid() == 0

# ---- each option: perf and cyclade agree on what is in the file
cases = [
    ("plain", []),
    ("-F 1000", ["-F", "1000"]),
    ("-c 1000000 of cpu-clock", ["-e", "cpu-clock", "-c", "1000000"]),
    ("-g", ["-g"]),
    ("-g=dwarf", ["-g=dwarf", "-F", "500"]),
    ("-g=unwind", ["-g=unwind", "-F", "500"]),
    ("two events", ["-e", "cpu-clock,task-clock"]),
    ("-e page-faults -c 1", ["-e", "page-faults", "-c", "1"]),
    ("-d", ["-d"]),
    ("--user-regs --intr-regs", ["--user-regs", "--intr-regs"]),
    ("-W", ["-W"]),
    ("-m 8", ["-m", "8"]),
    ("-z", ["-z"]),
    ("-z=3 -g", ["-z=3", "-g"]),
    ("--user", ["--user"]),
    ("--no-inherit", ["--no-inherit"]),
    ("-C 0", ["-C", "0"]),
]
if root:
    cases.append(("--phys-data", ["--phys-data"]))
    cases.append(("--data-page-size --code-page-size", ["--data-page-size", "--code-page-size"]))
if root and os.path.isdir("/sys/kernel/tracing"):
    cases.append(("tracepoint", ["-e", "sched:sched_switch"]))
for name, options in cases:
    path = "case.data"
    where = ["taskset", "-c", "0"] if "-C" in options else []
    r = run("record", *options, "-o", path, "--", *where, *BUSY)
    if not t.ok(r.returncode == 0, "record %s" % name, r.stderr):
        continue
    said = re.search(r"([\d,]+) samples in", r.stderr)
    said = int(said.group(1).replace(",", "")) if said else -1
    i = info(path)
    t.equal(i["records"].get("SAMPLE", 0), said, "record %s: cyclade info counts the samples it told" % name)
    t.equal(i.get("notes"), [], "record %s: nothing is unusual about the file" % name)
    if said == 0 and name != "tracepoint":
        t.ok(False, "record %s: there are samples" % name, r.stderr)
    if PERF:
        n, code, errors = perf_samples(path)
        t.equal((n, code), (said, 0), "record %s: perf script counts the same" % name)
        if SANITIZED:  # what these read, the same program wrote as users have it, too
            continue
        rep = subprocess.run([PERF, "report", "--stdio", *few, "-g", "none", "-i", path], capture_output=True, text=True, errors="replace",
                             stdin=subprocess.DEVNULL)
        t.ok(rep.returncode == 0 and "unexpected" not in rep.stderr, "record %s: perf report reads it" % name, rep.stderr)
        if re.search(r"%.*\[\.\] bottom", rep.stdout) and shutil.which("objdump"):
            ann = subprocess.run([PERF, "annotate", "--stdio", "-i", path, "-s", "bottom"], capture_output=True, text=True,
                                 errors="replace", stdin=subprocess.DEVNULL, env={**short_kallsyms("."), "MALLOC_PERTURB_": "0"})
            if ann.returncode < 0:  # perf 6.12 uses what it freed when it looks up where a call goes
                t.skip("record %s: perf annotate reads it" % name, "this perf annotate ends by signal %d" % -ann.returncode)
            else:
                t.ok(ann.returncode == 0 and re.search(r"^ +[\d.]+ .*:\s+[0-9a-f]+:", ann.stdout, re.M),
                     "record %s: perf annotate reads it" % name, ann.stdout[-300:] + ann.stderr)
        if HOTSPOT:
            hot = subprocess.run([HOTSPOT, "--input", path, "--output", "hot.out"], capture_output=True, text=True,
                                 errors="replace", stdin=subprocess.DEVNULL)
            odd = [x for x in hot.stderr.splitlines() if not HOTSPOT_SAYS.search(x) and
                   not (name in HOTSPOT_NEW and x.startswith("Event not fully parsed"))]
            t.ok(hot.returncode == 0 and not odd and os.path.getsize("hot.out") > (0 if "-z" in name else 1000),
                 "record %s: hotspot reads it" % name, "\n".join(odd[:5]))
    else:
        t.skip("record %s: perf reads it" % name, "no perf here")

r = run("record", "-e", "{cpu-clock,page-faults}:S", "-o", "s.data", "--", *BUSY)
i = info("s.data")
if t.ok(r.returncode == 0 and len(i["events"]) == 2, "a group read by its leader", r.stderr):
    t.equal((i["events"][1]["sample_freq"], i["events"][1]["sample_period"]), (None, 0),
            "a group read by its leader: the other takes no samples of its own")
if PERF:
    # a ring of 4 pages at full speed: losses are told, and perf reads the same number
    r = run("record", "-m", "1", "-F", "50000", "-g=dwarf", "-e", "cpu-clock", "-o", "lost.data", "--", RECURSE, "10", "300")
    said = re.search(r"([\d,]+) lost", r.stderr)
    text = subprocess.run([PERF, "report", "--stdio", "--stats", "-i", "lost.data"], capture_output=True, text=True, env=short_kallsyms(".")).stdout
    n = sum(int(x) for x in re.findall(r"LOST(?:_SAMPLES)? events: +(\d+)", text))
    t.ok(said and (int(said.group(1).replace(",", "")) > 0) >= (n > 0), "losses are told where perf sees some", r.stderr + text)

# ---- the recorder gets no CPU until the program has ended: what its ring had no room for is in the file, though no record followed it
p = subprocess.Popen([CYCLADE, "record", "-m", "1", "-F", "20000", "-e", "cpu-clock:u", "-o", "last.data", "--", RECURSE, "10", "300"], stderr=subprocess.PIPE, text=True)


def program():
    with open("/proc/%d/task/%d/children" % (p.pid, p.pid), encoding="ascii") as f:
        return f.read().split()[0]


def state(pid):
    with open("/proc/%s/stat" % pid, encoding="utf-8") as f:
        return f.read().rsplit(") ", 1)[1][0]


begun = wait_for(lambda: os.readlink("/proc/%s/exe" % program()) == os.path.realpath(RECURSE), 60)
of = program() if begun else "0"
os.kill(p.pid, signal.SIGSTOP)
ended = wait_for(lambda: state(of) == "Z", 60)
os.kill(p.pid, signal.SIGCONT)
said = re.search(r"([\d,]+) lost", p.communicate()[1])
doc = json.loads(run("report", "-i", "last.data", "-j").stdout or "{}").get("losses", {})
lost = doc.get("lost", 0) + doc.get("lost_samples", 0)
t.ok(begun and ended and said and int(said[1].replace(",", "")) == lost, "losses at the end are in the file", (said, lost))
if int(os.uname().release.split(".")[0]) >= 6:
    t.ok(lost > 100, "and are counted", lost)

# ---- a probe's path is told to the kernel by its address, which is nobody else's business
r = run("record", "-e", "uprobe:%s:main" % RECURSE, "-o", "probe.data", "--", *BUSY)
if r.returncode:
    t.skip("a probe", "no uprobe here: %s" % (r.stderr.strip().splitlines() or ["?"])[0])
else:
    i = info("probe.data")
    n = i["records"].get("SAMPLE", 0)
    t.ok(i["events"][0]["config1"] == 0 and n > 0, "a probe: no address of ours in the file", i)
    if PERF:
        t.equal(perf_samples("probe.data")[:2], (n, 0), "a probe: perf reads its samples")

# ---- symbols and call chains, by perf's reading
if PERF:
    run("record", "-g", "-o", "g.data", "--", RELAY, "60")
    text = subprocess.run([PERF, "report", "--stdio", *few, "-g", "none", "--no-children", "-i", "g.data"], capture_output=True,
                          text=True, errors="replace").stdout
    for leg in ["first_leg", "second_leg", "third_leg", "qsort|msort_with_tmp|by_value"]:
        t.ok(re.search(leg, text), "perf finds %s through fork and exec" % leg, text[:2000])
    head = subprocess.run([PERF, "report", "--header-only", "-i", "g.data"], capture_output=True, text=True,
                          errors="replace").stdout
    for field in ["hostname", "os release", "arch", "nrcpus online", "cpudesc", "total memory", "cmdline", "event : name",
                  "CACHE info", "sample duration"]:
        t.ok(field in head, "perf's header has '%s'" % field, head)
    ids = subprocess.run([PERF, "buildid-list", "-i", "g.data"], capture_output=True, text=True).stdout
    own = subprocess.run(["readelf", "-n", RELAY], capture_output=True, text=True).stdout
    own = re.search(r"Build ID: (\w+)", own)
    if own:
        t.ok(own.group(1) in ids and "prog_relay" in ids, "the program's build-id is readelf's", ids)

# ---- a program that is replaced while it is recorded: each mapping has the build-id of the file that was mapped
def mapped_ids(path, name):
    """The build-ids that MMAP2 records of files of that name have."""
    with open(path, "rb") as f:
        b = f.read()
    at, size = struct.unpack_from("<QQ", b, 40)
    end, ids = at + size, set()
    while at + 8 <= end:
        kind, misc, length = struct.unpack_from("<IHH", b, at)
        if kind == 10 and b[at + 72:at + length].split(b"\0")[0].endswith(name):
            ids.add(b[at + 44:at + 44 + b[at + 40]].hex() if misc & 1 << 14 else "none")
        at += length
    return ids


ids = [re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", p], capture_output=True, text=True).stdout) for p in (RECURSE, RELAY)] \
    if shutil.which("readelf") else [None]
if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 12) or not all(ids):
    t.skip("a replaced program", "no readelf, or this kernel does not tell build-ids with mappings (Linux 5.12 does)")
else:
    shutil.copy(RECURSE, "prog")
    r = run("record", "--buildid-mmap", "-e", "cpu-clock", "-o", "replaced.data", "--", "sh", "-c",
            "./prog 10 200; cp '%s' other; mv other prog; ./prog 60" % RELAY)
    t.equal(mapped_ids("replaced.data", b"/prog"), {i.group(1) for i in ids}, "mappings of a replaced program have the build-ids of both")
    rows = json.loads(run("report", "-j", "-s", "dso,sym", "-i", "replaced.data").stdout)["rows"]
    t.ok({"first_leg", "second_leg"} <= {x["function"] for x in rows if x["dso"] == "prog@" + ids[1].group(1)[:8]}, "and the one that is there has its names", rows[:5])

# ---- a recording of the whole machine leaves perf's own recordings whole (Linux marks mappings of all who listen)
if WHOLE_CPUS and PERF:
    ours = subprocess.Popen([CYCLADE, "record", "-q", "-a", "-e", "cpu-clock", "-F", "50", "-o", "all.data"], stderr=subprocess.PIPE)
    t.ok(wait_for(lambda: os.path.exists("all.data")), "record -a has begun")
    r = subprocess.run([PERF, "record", "-q", "-e", "cpu-clock", "-o", "meanwhile.data", "--", "ls", "/"], capture_output=True, text=True,
                       env=short_kallsyms("."))
    ours.terminate()
    ours.wait()
    t.equal((r.returncode, r.stderr), (0, ""), "perf record meanwhile")
else:
    t.skip("perf record beside record -a", "no perf, or the CPUs may not be watched")

# ---- exit codes and streams
for code in (0, 7):
    r = run("record", "-q", "-o", "x.data", "--", "sh", "-c", "echo out; echo err >&2; exit %d" % code)
    t.equal((r.returncode, r.stdout, r.stderr), (code, "out\n", "err\n"), "exit %d and the program's streams are kept" % code)
r = run("record", "-o", "x.data", "--", "sh", "-c", "kill -9 $$")
t.equal(r.returncode, 128 + 9, "a program killed by signal 9: 137")
for end, says in [("kill -9 $$", "killed by signal 9 (Killed)"), ("exit 137", "exit 137\n")]:
    r = run("run", "--data", "x.data", "--", "sh", "-c", end)
    t.ok(r.returncode == 137 and says in r.stderr and ("signal" in r.stderr) == ("signal" in says),
         "run tells '%s' from the other 137" % says.strip(), r.stderr)
r = run("record", "-o", "y.data", "--", "no-such-program-here")
t.ok(r.returncode == 127 and "no-such-program-here" in r.stderr, "a program that is not there: 127", r.stderr)
r = run("record", "-o", "y.data", "--", "/etc/passwd")
t.ok(r.returncode == 126, "a file that is no program: 126", r.stderr)
r = run("record", "-o", "/nonexistent/dir/x.data", "--", "sh", "-c", "echo ran >ran")
t.ok(r.returncode == 125 and not os.path.exists("ran"), "a file that cannot be made: 125, the program is not started", r.stderr)
r = run("record", "-e", "no-such-event", "--", "sh", "-c", "echo ran >ran")
t.ok(r.returncode == 125 and not os.path.exists("ran"), "an event that is not there: 125, the program is not started", r.stderr)
r = run("record", "-o", "/dev/full", "--", *BUSY)
t.ok(r.returncode == 125 and "No space left" in r.stderr, "a full disk is said, 125", r.stderr)
r = subprocess.run(["sh", "-c", 'ulimit -f 1024; "$@"; echo "exit $?"', "sh", CYCLADE, "record", "-F", "20000", "-g", "-o",
                    "cut.data", "--", "sh", "-c", "'%s' 12 700; exit 3" % RECURSE], capture_output=True, text=True)
if "samples in" in r.stderr:
    t.skip("a limit half-way", "the recording stayed below it")
else:
    t.ok("exit 125" in r.stdout and "ended with 3" in r.stderr and info("cut.data")["records"].get("SAMPLE", 0) > 100,
         "no room half-way: 125, the program is not disturbed, what was written is read", r.stdout + r.stderr)
r = run("record")
t.ok(r.returncode in (2, 125) and "nothing to record" in r.stderr, "nothing to record is said", r.stderr)
os.mkfifo("fifo.data")
open("plain.file", "w").close()
for options, says in [
    (["-F", "0"], "-F 0"), (["-c", "0"], "-c 0"), (["-F", "10", "-c", "10"], "exclude"), (["-m", "3"], "power of two"),
    (["-m", "0"], "power of two"), (["--user", "--kernel"], "exclude"), (["--for", "0s"], "--for 0"),
    (["-g=dwarf", "--stack-size", "100000"], "65528"), (["-z=99"], "level"), (["-C", "4095"], "CPU 4095 is not online"),
    (["-C", "4294967290"], "CPU 4294967290 is not online"),
    (["--control", "plain.file"], "not a FIFO"), (["--control", "absent"], "mkfifo"),
    (["--control", "fifo.data,plain.file"], "plain.file is not a FIFO"), (["-o", "-"], "stream"),
    (["-o", "/dev/stdout"], "stream"), (["-o", ""], "empty"), (["-o", "fifo.data"], "not a file"), (["-o", "."], "directory"),
    (["-e", ""], "missing"), (["-G", "x"], "whole CPUs"), (["-p", "1"], "program"),
]:
    r = run("record", *options, "--", "sh", "-c", "echo ran >ran")
    t.ok(r.returncode == 125 and says in r.stderr and len(r.stderr.splitlines()) <= 2 and not os.path.exists("ran"),
         "%s: refused in one line and a hint, the program is not started" % " ".join(options), r.stderr)
for options, says in [(["-p", "4194304"], "no process"), (["-t", "4194304"], "no thread"), (["-p", "no such process"], "no process"), (["-p", ""], "missing")]:
    r = run("record", *options)
    t.ok(r.returncode == 2 and says in r.stderr and len(r.stderr.splitlines()) <= 2, "%s: refused" % " ".join(options), r.stderr)
r = run("record", "-q", "-o", "odd \n'\"$x;.data", "--", "true")
t.ok(r.returncode == 0 and os.path.exists("odd \n'\"$x;.data"), "a file's name may be odd", r.stderr)
begun = time.time()
if os.path.exists("/sys/bus/event_source/devices/cpu"):
    t.skip("-e cycles without counters", "there are counters here")
else:
    r = run("record", "-e", "cycles:u", "-o", "cycles.data", "--", "true")
    i = run("info", "-j", "cycles.data").stdout
    t.ok(r.returncode == 0 and "recording cpu-clock instead" in r.stderr and '"cpu-clock:u"' in i, "-e cycles:u without counters: cpu-clock:u, with a word", r.stderr + i)
    r = run("record", "-e", "instructions", "-o", "none.data", "--", "true")
    t.ok(r.returncode and not os.path.exists("none.data"), "other events of a PMU are refused", r.stderr)
r = run("record", "-C", "0,0,0", "-e", "cpu-clock", "-F", "1000", "--for", "300ms", "-o", "twice.data")
if r.returncode == 0:
    t.ok(info("twice.data")["records"].get("SAMPLE", 0) < 1500 * (time.time() - begun), "a CPU named thrice is sampled once", r.stderr)
r = run("record", "-D", "200", "--for", "300ms", "-e", "cpu-clock", "-F", "1000", "-o", "late.data", "--", RECURSE, "10", "60000")
n = info("late.data")["records"].get("SAMPLE", 0)
t.ok(r.returncode == 143 and 0 < n < 600, "--for begins with -D's end and ends the program", "%d: %s" % (n, r.stderr))
# what was mapped, and what the program is called, is known from before its samples begin
r = run("record", "-D", "200", "-e", "cpu-clock", "-F", "1000", "-o", "late.data", "--", sys.executable, "-c",
        "import time; time.sleep(.1); import ctypes; end = time.time() + .4\nwhile time.time() < end: ctypes.c_int(1)")
rows = json.loads(run("report", "-j", "-s", "comm,dso", "-i", "late.data").stdout or "{}").get("rows", [])
lost = [x for x in rows if x.get("comm", ":").startswith(":") or x.get("dso", "[unknown]") == "[unknown]"]
t.ok(rows and not lost, "-D: mappings and names of the time before are in the file", r.stderr + str(rows)[:1500])
if PERF:
    p = subprocess.run([PERF, "script", "-i", "late.data", *few, "-F", "comm,dso,ip"], capture_output=True, text=True, errors="replace")
    wrong = [x for x in p.stdout.splitlines() if x.strip() and (x.strip().startswith(":") or "[unknown]" in x)]
    t.ok(p.stdout.strip() and len(wrong) * 50 < len(p.stdout.splitlines()), "and perf finds them", str(wrong[:5]) + p.stderr)
else:
    t.skip("perf finds what was mapped before", "no perf here")
# a program that begins on another CPU than the sampled one, and goes there when everything is mapped
MOVES = """import os, sys, time
if len(sys.argv) < 2:
    os.sched_setaffinity(0, {1})
    os.execv(sys.executable, [sys.executable, "-S", "-c", os.environ["MOVES"], "again"])
import zlib
os.sched_setaffinity(0, {0})
while time.process_time() < 0.4:
    zlib.crc32(b"x" * 100000)
"""
moves = dict(os.environ, MOVES=MOVES)
if {0, 1} <= os.sched_getaffinity(0):
    for name, options in [("-C 0 -- program", []), ("-C 0", ["--for", "5m"])]:
        if options and not WHOLE_CPUS:
            t.skip("%s: what began on another CPU has names" % name, "whole CPUs may not be watched")
            continue
        what = [sys.executable, "-S", "-c", MOVES]
        if os.path.exists("moved.data"):
            os.unlink("moved.data")
        p = subprocess.Popen([CYCLADE, "record", "-q", "-C", "0", "-e", "cpu-clock", "-F", "1000", "-o", "moved.data", *options,
                              *([] if options else ["--", *what])], env=moves, stderr=subprocess.PIPE, text=True)
        pid = None
        if options:
            wait_for(lambda: os.path.exists("moved.data"))  # the first sample
            with subprocess.Popen(what, env=moves) as q:
                pid = q.pid
            p.send_signal(signal.SIGINT)
        said = p.communicate()[1]
        rows = json.loads(run("report", "-j", "-s", "pid,comm,dso", "-i", "moved.data").stdout or "{}").get("rows", [])
        mine = [x for x in rows if pid in (None, x.get("pid"))]
        n = sum(x["samples"] for x in mine)
        lost = sum(x["samples"] for x in mine if x.get("comm", ":").startswith(":") or x.get("dso", "[unknown]") == "[unknown]")
        t.ok(n > 20 and lost < n / 20, "%s: what began on another CPU has names" % name, "%d of %d\n%s%s" % (lost, n, said, mine[:5]))
else:
    t.skip("-C 0: what began on another CPU has names", "it takes CPUs 0 and 1")
r = run("record", "-o", "daemon.data", "--", "sh", "-c", "sleep 3600 >/dev/null 2>&1 & echo $! >daemon; exit 4")
with open("daemon", encoding="ascii") as f:
    daemon = int(f.read())
t.ok(r.returncode == 4 and os.path.exists("/proc/%d" % daemon), "a program that leaves a daemon behind does not hold us", r.stderr)
os.kill(daemon, signal.SIGKILL)
r = subprocess.run([CYCLADE, "record", "-q", "-o", "in.data", "--", "cat"], input="through\n", capture_output=True, text=True)
t.equal(r.stdout, "through\n", "standard input reaches the program")
p = subprocess.Popen([CYCLADE, "record", "-o", "deaf.data", "--", "sh", "-c", "trap '' INT TERM; echo up; while :; do sleep 0.1; done"],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
p.stdout.readline()
p.send_signal(signal.SIGINT)
taken(p.pid, signal.SIGINT)
time.sleep(0.2)
waits = p.poll() is None
p.send_signal(signal.SIGINT)
try:
    p.wait(600)
except subprocess.TimeoutExpired:
    p.kill()
said = next((line for line in p.stderr if "pid" in line), "")  # a user without rights is told so first
left = re.search(r"pid (\d+)", said)
t.ok(waits and p.returncode == 130 and left and info("deaf.data").get("notes") == ["stopped by SIGINT before the program ended"],
     "a program deaf to signals: the second interrupt leaves it, the file is whole", "%s %s" % (p.returncode, said))
if left:
    os.kill(int(left.group(1)), signal.SIGKILL)
run("record", "-q", "-o", "old.data", "--", "true")
run("record", "-q", "-o", "old.data", "--", "true")
t.ok(os.path.exists("old.data.old"), "an older recording is kept as .old")
if shutil.which("sh"):
    r = run("record", "-o", "pipe.data", "--", "sh", "-c", "yes | head -1", timeout=600)
    t.ok(r.returncode == 0 and r.stdout == "y\n", "SIGPIPE is the program's own again", r.stderr)

# ---- watching what runs already
sleeper = subprocess.Popen([RECURSE, "10", "60000"])
time.sleep(0.2)
r = run("record", "-p", str(sleeper.pid), "--for", "400ms", "-o", "p.data")
t.ok(r.returncode == 0, "-p --for ends by itself", r.stderr)
n = info("p.data")["records"].get("SAMPLE", 0)
t.ok(n > 10, "-p: samples of a running process", n)
if PERF:
    text = subprocess.run([PERF, "report", "--stdio", *few, "-i", "p.data"], capture_output=True, text=True).stdout
    t.ok("bottom" in text, "-p: its mappings are known", text)
os.mkfifo("ctl")
os.mkfifo("ack")
ctl, ack = os.open("ctl", os.O_RDWR), os.open("ack", os.O_RDWR)
p = subprocess.Popen([CYCLADE, "record", "-p", str(sleeper.pid), "--control", "ctl,ack", "-D", "-1", "-o", "c.data"],
                     stderr=subprocess.PIPE, text=True)
os.write(ctl, b"enable\n")
select.select([ack], [], [], 600)
time.sleep(0.5)
os.write(ctl, b"stop\n")
try:
    p.wait(600)
except subprocess.TimeoutExpired:
    p.kill()
t.ok(p.returncode == 0 and info("c.data")["records"].get("SAMPLE", 0) > 10, "--control enables and stops", p.stderr.read())
r = run("record", "--control", "ctl", "-e", "task-clock:u", "-c", "1000000", "-o", "on.data", "--", RECURSE, "10", "300")
t.ok(r.returncode == 0 and info("on.data")["records"].get("SAMPLE", 0) > 10, "--control alone begins enabled, as perf does", r.stderr)
r = run("record", "-D", "-1", "--control", "ctl", "-o", "off.data", "--", RECURSE, "10", "50")
t.ok(r.returncode == 0 and "--control did not enable sampling" in r.stderr and "-F" not in r.stderr and
     not info("off.data")["records"].get("SAMPLE", 0), "-D -1 begins disabled, and no sample has that reason", r.stderr)
p = subprocess.Popen([CYCLADE, "record", "-p", str(sleeper.pid), "-o", "int.data"], stderr=subprocess.PIPE, text=True)
wait_for(lambda: os.path.getsize("int.data"))
time.sleep(0.3)
p.send_signal(signal.SIGINT)
try:
    p.wait(600)
except subprocess.TimeoutExpired:
    p.kill()
t.ok(p.returncode == 0 and info("int.data").get("notes") == [], "Ctrl-C ends it and the file is whole", p.stderr.read())

# ---- killed at random moments: every round that was flushed can be read
def covered(path):
    """What the header tells of: (whole, samples), counted here; samples is None in packed data."""
    with open(path, "rb") as f:
        b = f.read()
    at, size = struct.unpack_from("<QQ", b, 40)
    end, n = at + size, 0
    while at + 8 <= end:
        kind, _, length = struct.unpack_from("<IHH", b, at)
        if length < 8:
            break
        n = None if kind == 81 else n + 1 if kind == 9 and n is not None else n
        at += length
    return at == end and end <= len(b), n


def killed(i, packed):
    """What is wrong with a recording that was killed; "" if nothing."""
    for old in ("kill.data", "kill.data.old"):
        if os.path.exists(old):
            os.unlink(old)
    p = subprocess.Popen([CYCLADE, "record", "-q", "-F", "10000", "-g", "-e", "cpu-clock,page-faults", *packed, "-p",
                          str(sleeper.pid), "-o", "kill.data"], stderr=subprocess.PIPE)
    wait_for(lambda: os.path.getsize("kill.data") > 8192)
    time.sleep(random.random() * 0.6)
    p.send_signal(signal.SIGUSR1)
    said = p.stderr.readline().decode() if select.select([p.stderr], [], [], 600)[0] else ""
    time.sleep(random.random() * 0.3)
    p.kill()
    p.wait()
    p.stderr.close()
    told = re.search(r"after [^:]+: ([\d,]+) samples? in kill.data \(.*\), [\d,]+ lost$", said.strip())
    told = int(told.group(1).replace(",", "")) if told else -1
    if told <= 0:
        return "it said %r when asked" % said
    whole, counted = covered("kill.data")
    j = info("kill.data")
    got = j["records"].get("SAMPLE", 0)
    if not whole:
        return "the header does not end at a record's end"
    if got < told or (counted is not None and not told <= counted <= got):
        return "told %d, the header covers %s, cyclade reads %d" % (told, counted, got)
    if [e["event"] for e in j["events"] if e["event"] != "dummy:u"] != ["cpu-clock", "page-faults"] or not j["recording"]["command"]:
        return "names: %s" % j
    if not PERF:
        return ""
    n, code, errors = perf_samples("kill.data")
    if code or n < told or n > got or (counted is not None and n != counted):
        return "told %d, the header covers %s, perf reads %d of %d: %s" % (told, counted, n, got, errors)
    return ""


rounds = 100 if os.environ.get("CYCLADE_LONG") else 6
random.seed(1)
bad = []
for i in range(rounds):
    packed = ["-z"] if i % 2 else []
    wrong = killed(i, packed)
    if wrong:
        bad.append("round %d%s: %s" % (i, " -z" if packed else "", wrong))
t.ok(not bad, "killed %d times, half of them packed: every sample that it told of is there, for perf too" % rounds, "\n".join(bad))
sleeper.kill()
sleeper.wait()

if root:
    r = run("record", "-a", "--for", "500ms", "-o", "a.data")
    t.ok(r.returncode == 0, "-a --for", r.stderr)
    t.equal(info("a.data").get("notes"), [], "-a: nothing unusual")
else:
    t.skip("-a", "not root")

# ---- many threads
r = run("record", "-o", "crowd.data", "--", CROWD, "2000" if SANITIZED else "10000")
t.ok(r.returncode == 0, "a program of 10,000 threads", r.stderr)
j = info("crowd.data")
t.ok(j["records"].get("FORK", 0) + j["records"].get("LOST", 0) >= (2000 if SANITIZED else 10000),
     "its threads are told, or their loss is", j["records"])

for options, has, gone in ((["-g", "--fields", "cpu"], "ip|tid|time|cpu|period", "chain, uregs, stack"), (["-g=fp", "--fields", "cpu"], "ip|tid|time|cpu|period", "chain"), (["-g=dwarf", "--fields", "chain"], "ip|tid|time|callchain|period|regs_user|stack_user", None), (["-g=unwind"], "ip|tid|time|callchain|period|regs_user|stack_user", None),
                           (["-g=unwind", "--fields=-stack"], "ip|tid|time|callchain|period|regs_user|stack_user", None), (["-g=unwind", "--fields", "period"], "ip|tid|time|period", "chain, uregs, stack"),
                           (["-g=dwarf", "-d", "-W", "--fields=-weight,-chain,-uregs,-stack,-period", "-c", "9"], "ip|tid|time|addr|data_src", "period, chain, uregs, stack, weight"),
                           (["-c", "1000000", "--fields", "id,pid"], "ip|tid|time", "period")):
    r = run("record", "--dry-run", "-e", "cpu-clock", *options, "--", "true")
    parts, left = (re.search(r"^ *%s +(\S.*)$" % word, r.stdout, re.M) for word in ("sample", "not stored"))
    t.ok(parts and parts.group(1).replace("|identifier", "") == has and (left and left.group(1)) == gone and ("\n  stack " in r.stdout) == ("stack_user" in has),
         "%s: the kernel is asked for these parts" % " ".join(options), r.stdout + r.stderr)
# all columns of what -d and -W record, and some of the rest
parts = {"ADDR": "addr", "DATA_SRC": "data_src", "WEIGHT": "weight", "WEIGHT_STRUCT": "weight", "PERIOD": "period", "CPU": "cpu", "PHYS_ADDR": "phys_addr"}
columns = [(c["column"], parts.get(c["source"].replace("PERF_SAMPLE_", ""))) for c in json.loads(run("list", "tables", "-j").stdout)["columns"] if c["table"] == "samples"]
columns = [(c, part) for c, part in columns if part]
asked = [(c, run("record", "--dry-run", "-e", "cpu-clock", "-c", "1000000", "-d", "-W", "--phys-data", "--keep", c + " IS NULL", "--fields", "id", "--", "true")) for c, _ in columns]
t.equal([(c, re.findall(r"^ *sample +(\S.*)$", r.stdout.replace("_struct", ""), re.M)) for c, r in asked], [(c, ["ip|tid|time|" + part]) for c, part in columns],
        "what --keep reads of a sample is recorded: %d columns" % len(columns))
kept = os.path.join(tmp, "kept.data")
r = run("record", "-q", "-g", "-e", "cpu-clock:u", "-F", "4000", "--keep", "frames > 0", "-o", kept, "--", "sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")
t.ok(r.returncode == 0, "--keep reads how many frames a chain has", r.stderr)
for options, why in ((["-g=dwarf", "--fields=-stack"], "makes its chains from"), (["--fields", "addr"], "-d records it"), (["--wait", "--fields", "cpu"], "does not go with --wait"),
                     (["--fields=-period"], "different numbers of events")):
    r = run("record", "--dry-run", "-e", "cpu-clock", *options, "--", "true")
    t.ok(r.returncode == 125 and why in r.stderr, "%s: %s" % (" ".join(options), why), r.stderr)
r = run("record", "--dry-run", "-g", "-D", "200", "-e", "cpu-clock", "--", "true")
t.ok("callchain" in r.stdout and "perf record -e cpu-clock" in r.stdout and " -D 200 -- true" in r.stdout, "--dry-run says what it would do", r.stdout)
os.chdir("/")
shutil.rmtree(tmp)
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade run --regions and cyclade report: what libcyclade wrote, whatever became of the process."""
import csv
import io
import json
import os
import platform
import re
import resource
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from regions import nested  # noqa: E402
from tap import CYCLADE, ROOT, SANITIZED, Tap, wait_for  # noqa: E402

SIM = os.path.join(ROOT, "tests", "sim")
PROBE = os.environ["PROBE"]
WORKERS = os.path.join(os.environ["EXAMPLES"], "example_workers")
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)


def run(*cmd, **kw):
    return subprocess.run(cmd, capture_output=True, text=True, errors="replace", timeout=600, **kw)


def report(path, *args):
    r = run(CYCLADE, "report", "--json", *args, path)
    return json.loads(r.stdout) if not r.returncode else r


def leftovers():
    return [x for x in os.listdir("/dev/shm") if x.startswith("cyclade-")] if os.path.isdir("/dev/shm") else []


def test_anywhere():
    before = leftovers()
    r = run(CYCLADE, "run", "--regions", "--", WORKERS)
    t.equal(r.returncode, 0, "the exit code is the program's")
    t.ok(re.search(r"^ work +200 runs", r.stderr, re.M), "the report has the regions", r.stderr)
    j = report("cyclade.regions")
    t.equal([(x["region"], x["runs"], x["threads"]) for x in j["regions"]], [("work", 200, 4)],
            "report of the file says the same")
    text = run(CYCLADE, "report", "cyclade.regions").stdout
    t.ok(text and text in r.stderr, "in the same words", text)
    r = run(CYCLADE, "report", "-x", ";", "cyclade.regions")
    rows = list(csv.DictReader(io.StringIO(r.stdout), delimiter=";"))
    t.equal([(x["region"], x["metric"], x["value"]) for x in rows],
            [(x["region"], x["metric"], "" if x["value"] is None else str(x["value"])) for x in j["values"]], "csv: the values")
    r = run(CYCLADE, "report", "--format", "folded", "cyclade.regions")
    t.ok(r.returncode == 2 and not r.stdout and "regions has no format 'folded'" in r.stderr, "no folded stacks of regions",
         r.stdout + r.stderr)
    each = run(CYCLADE, "report", "-v", "cyclade.regions").stdout
    t.equal(len(re.findall(r"^ work in ", each, re.M)), 4, "-v tells the threads apart")
    # a copy of the file while the program runs is as good
    t.ok(wait_for(lambda: not set(leftovers()) - set(before), 60), "nothing is left behind", leftovers())  # others may have some for a while

    r = run(CYCLADE, "run", "--regions", "-o", "-", "--", PROBE, "aborts", "0.05")
    t.equal(r.returncode, 134, "an abort is told as a shell would")
    j = report("cyclade.regions")
    t.equal([(x["region"], x["runs"], x["torn"]) for x in j["regions"]], [("work", 10, False)],
            "and all runs before it are there")
    t.ok("10 runs" in r.stdout, "-o - is standard output", r.stdout)

    r = run(CYCLADE, "run", "--regions", "--data", "two.regions", "--", "sh", "-c",
            "%s threads 0.01 >/dev/null & %s signals 0.1 >/dev/null; wait" % (PROBE, PROBE))
    names = sorted(x for x in os.listdir(".") if x.startswith("two.regions"))
    found = sorted(x["region"] for n in names for x in report(n)["regions"])
    t.equal((r.returncode, len(names), found), (0, 2, ["handler", "thread", "work"]), "each process has its table")

    run(CYCLADE, "run", "--regions", "-j", "-o", "regions.json", "--", PROBE, "threads", "0.01")
    with open("regions.json", encoding="utf-8") as text:
        t.equal(json.load(text), report("cyclade.regions"), "-j: what report -j makes of the file")
    r = run(CYCLADE, "run", "--regions", "--", "true")
    t.ok(r.returncode == 0 and "no regions" in r.stderr, "a program without regions is told", r.stderr)
    r = run(CYCLADE, "run", "--regions", "--", "/proc/nonexistent/program")
    t.equal(r.returncode, 127, "a program that is not there")
    t.ok(wait_for(lambda: not set(leftovers()) - set(before), 60), "nothing is left behind by these", leftovers())


LARGE = """
import os, struct, sys
size, blocks, step = map(int, sys.argv[2:])
with open(sys.argv[1], "rb") as f:
    good = f.read()
with open(os.environ["CYCLADE_REGIONS"].replace("%p", str(os.getpid())), "w+b") as f:
    f.write(good[:48] + struct.pack("<I", blocks or struct.unpack_from("<I", good, 48)[0]) + good[52:])
    try:
        f.truncate(size)
    except OSError:
        sys.exit(77)
    for i in range(blocks if step else 0):  # each block is a thread's, which has no regions
        f.seek(8192 + i * struct.unpack_from("<I", good, 12)[0])
        f.write(struct.pack("<III", i + 1, 2, 0))
"""


def test_large():
    """A program that makes its table large costs neither memory nor disk: what is kept is what the head allows."""
    os.makedirs("large", exist_ok=True)
    run(CYCLADE, "run", "--regions", "--data", "large/good", "--", WORKERS)
    size = os.path.getsize("large/good")
    t.equal(os.stat("large/good").st_mode & 0o777, 0o600, "a table that was kept is its owner's alone")
    want = report("large/good")
    for name, length, blocks, step, most in (("1 GiB", 1 << 30, 0, 0, size), ("1 TiB", 1 << 40, 0, 0, size), ("1 TiB, all of it named in the head", 1 << 40, 0xffffffff, 0, size),
                                             ("1 TiB with 4,000 threads", 1 << 40, 4000, 1, 1 << 28)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        r = run(CYCLADE, "run", "--regions", "--data", "large/kept", "--", sys.executable, "-c", LARGE, os.path.abspath("large/good"), str(length), str(blocks), str(step))
        if r.returncode == 77:
            t.skip("a table of " + name, "no file can be as large")
            continue
        st = os.stat("large/kept")
        t.ok(r.returncode == 0 and st.st_size <= most and st.st_blocks * 512 < (32 << 20), "a table of %s: what is kept of it" % name, (r.returncode, r.stderr[:300], st))
        if not step:
            t.equal(report("large/kept"), want, "which says the same")
        grew = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before
        t.ok(SANITIZED or grew < 400 << 10, "and the memory that it takes", grew)
        os.remove("large/kept")


def test_file_by_name():
    r = run(PROBE, "threads", "0.01", env=dict(os.environ, CYCLADE_REGIONS="mine-%p"))
    names = [x for x in os.listdir(".") if x.startswith("mine-")]
    t.ok(r.returncode == 0 and len(names) == 1 and names[0][5:].isdigit(), "CYCLADE_REGIONS names the file", names)
    t.equal(os.stat(names[0]).st_mode & 0o777, 0o600, "which is its owner's alone")
    with open("notes", "w", encoding="utf-8") as f:
        f.write("not a table")
    os.symlink("notes", "link")
    for path in ("link", "notes"):
        r = run(PROBE, "threads", "0.01", env=dict(os.environ, CYCLADE_REGIONS=path))
        with open("notes", encoding="utf-8") as f:
            t.ok(r.returncode == 2 and path in r.stderr and os.path.islink("link") and f.read() == "not a table",
                 "what is no table is left alone: " + path, r.stderr)
    for _ in range(2):
        r = run(PROBE, "threads", "0.01", env=dict(os.environ, CYCLADE_REGIONS="again"))
    t.equal(report("again")["regions"][0]["runs"], 5, "a table of an earlier run is replaced")
    r = run("sh", "-c", "CYCLADE_REGIONS=exec-%%p exec %s twice 0.01" % PROBE)
    names = sorted(x for x in os.listdir(".") if x.startswith("exec-"))
    t.equal([x["regions"][0]["runs"] for x in map(report, names)], [5, 5], "two programs in one process: two tables")
    r = run(PROBE, "threads", "0.01", env=dict(os.environ, CYCLADE_REGIONS="/proc/nonexistent/x"))
    t.ok(r.returncode == 2 and "/proc/nonexistent/x" in r.stderr, "one that cannot be made is told", r.stderr)


def test_hostile():
    with open("cyclade.regions", "rb") as f:
        good = f.read()
    for name, data in (("cut in the head", good[:5000]), ("cut in a block", good[:9000]),
                       ("another size", good[:8] + b"\1\0\0\0" + good[12:]),
                       ("many events", good[:24] + b"\xff\xff\xff\xff" + good[28:]),
                       ("noise", good[:8] + bytes((i * 37) & 255 for i in range(20000)))):
        with open("bad.regions", "wb") as f:
            f.write(data)
        r = run(CYCLADE, "report", "bad.regions")
        t.ok(r.returncode in (0, 2) and (r.returncode == 0 or "bad.regions" in r.stderr), "hostile file: " + name,
             "%d %s" % (r.returncode, r.stderr))


def test_simulated():
    tree = os.path.join(tmp.name, "tree")
    os.mkdir(tree)
    subprocess.run(["python3", os.path.join(SIM, "tools", "tree.py"), os.path.join(SIM, "machines", "spr.tab"), tree],
                   check=True)
    r = run(os.path.join(SIM, "run.sh"), "spr", "even", "--", CYCLADE, "run", "--regions", "--sysroot", "@SYSROOT@", "--",
            PROBE, "metrics", "0.5", env=dict(os.environ, SIM_TREE=tree, SIM_RDPMC="0"))
    t.ok(r.returncode == 0 and "counted by rdpmc" in r.stderr, "run --regions where there are counters",
         r.stdout + r.stderr)
    j = report("cyclade.regions")
    live = json.loads(r.stdout[r.stdout.index("{"):])
    t.equal([{k: v for k, v in x.items() if k != "by_thread"} for x in nested(j)],
            [{k: v for k, v in x.items() if k != "by_thread"} for x in nested(live)],
            "the file holds what the process itself reported")
    retiring = [m for m in nested(j)[1]["metrics"] if m["metric"] == "retiring"][0]
    t.ok(abs(retiring["value"] - 30) < retiring["value_error"] + 0.1, "and that is what was planted", retiring)


def test_dead_counter():
    """A counter that stays 0 for as long as a region lasts is not believed."""
    with open(os.path.join(SIM, "machines", "ivb.tab"), encoding="utf-8") as f:
        text = re.sub(r"( IDQ_UOPS_NOT_DELIVERED\.CORE)( [0-9.]+)+", lambda m: m[1] + " 0" * len(m[0].split()[1:]), f.read())
    with open("dead.tab", "w", encoding="utf-8") as f:
        f.write(text)
    os.mkdir("dead")
    r = run(os.path.join(SIM, "run.sh"), "./dead.tab", "even", "--", CYCLADE, "run", "--regions", "--sysroot", "@SYSROOT@", "--",
            PROBE, "metrics", "0.5", env=dict(os.environ, SIM_TREE=os.path.abspath("dead"), SIM_RDPMC="0"))
    got = {m["metric"]: m["value"] for m in nested(report("cyclade.regions"))[1]["metrics"]} if not r.returncode else {}
    t.ok("frontend_bound" in got and got["frontend_bound"] is None, "a node of a counter that stays 0 has no value", str(got) + r.stderr)
    t.ok(got.get("retiring") is not None, "others have", str(got))


def test_modes():
    """Threads that could do less than the best one: made of a file in which each thread counted in another way."""
    none, read, slow, fast = range(4)
    run(CYCLADE, "run", "--regions", "--", WORKERS)
    with open("cyclade.regions", "rb") as f:
        good = f.read()
    size, (block,), n = 8192, struct.unpack("=I", good[12:16]), struct.unpack("=I", good[48:52])[0]
    if not t.ok(n >= 4, "a table of %d threads" % n):
        return
    for modes, slower, blind in (([fast, fast, read, none], 1, 1), ([read] * 4, 0, 0), ([fast, slow, read, read], 3, 0),
                                 ([none] * 4, 0, 0), ([read, none, none, none], 0, 3)):
        data = bytearray(good)
        for b in range(n):
            struct.pack_into("=I", data, size + b * block + 12, modes[b] if b < 4 else modes[0])
        with open("modes.regions", "wb") as f:
            f.write(data)
        text = run(CYCLADE, "report", "modes.regions").stdout
        got = [int(m[1]) if m else 0 for m in (re.search(r"(\d+) threads had to read", text), re.search(r"(\d+) threads have no", text))]
        t.equal((got, report("modes.regions")["threads_by_read"]), ([slower, blind], slower), "threads that count in modes %s" % modes)


test_anywhere()
test_modes()
test_large()
test_file_by_name()
test_hostile()
if SANITIZED or platform.machine() != "x86_64":
    t.skip("run --regions on the simulated machine", "sanitizers take the signal and the place that its library needs")
else:
    test_simulated()
    test_dead_counter()
t.done()

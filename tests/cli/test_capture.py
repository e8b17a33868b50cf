#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""doctor --capture: what is said of a captured machine is what was said of the machine, nothing private is in it, and
nothing outside of a captured tree is looked at."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from tap import CYCLADE, ROOT, SANITIZED, Tap, run  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
NUMBER = iter(range(1000))


def new(name):
    return os.path.join(tmp.name, "%s%d" % (name, next(NUMBER)))


def capture(root=None):
    out = new("capture")
    p = run("doctor", "--capture", out, *(["--sysroot", root] if root else []))
    return out, p


def files(top):
    out = {}
    for folder, _, names in os.walk(top):
        for n in names:
            path = os.path.join(folder, n)
            with open(path, "rb") as f:
                out[os.path.relpath(path, top)] = f.read()
    return out


def put(top, path, text):
    path = os.path.join(top, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


# ---- this machine ----

here, p = capture()
t.ok(p.returncode == 0 and "next: cyclade doctor --sysroot" in p.stdout, "a capture of this machine", p.stdout + p.stderr)
again, p = capture(here)
t.ok(files(again) == files(here) and len(files(here)) > 20, "a capture of the capture is the same again")
p = run("doctor", "--capture", here)
t.ok(p.returncode == 2 and "is there already" in p.stderr, "what is there is not overwritten", p.stderr)
t.equal(sorted(x for x in os.listdir(tmp.name) if not x.startswith("capture")), [], "nothing is left beside it")


def said(*words, root=None):
    i = words.index("--") if "--" in words else len(words)
    p = run(*words[:i], *(["--sysroot", root] if root else []), *words[i:])
    out = p.stdout + p.stderr.replace(root or "\0", "")
    return "".join(x for x in out.splitlines(True) if "perf_event_open(" not in x)  # tried on the real machine only


# the capture has no empty directories: a tracefs that is there but closed is none in it
closed = os.path.isdir("/sys/kernel/tracing") and not os.access("/sys/kernel/tracing/events", os.R_OK | os.X_OK)
for words in (("list", "events", "-j"), ("list", "metrics", "-j"), ("explain", "IPC"),
              ("stat", "--dry-run", "-e", "cs,cpu-clock", "-a", "--per", "core"),
              ("stat", "--dry-run", "-e", "cs,page-faults", "--", "true"), ("stat", "--dry-run", "--", "true")):
    if closed and words[1] == "events":
        t.skip("%s: the same on the capture as here" % " ".join(words), "tracefs is closed to this user")
        continue
    a, b = said(*words), said(*words, root=here)
    t.ok(a == b and a, "%s: the same on the capture as here" % " ".join(words), a[:400] + "\n---\n" + b[:400])
a, b = (json.loads(said("doctor", "-j", root=r)) for r in (None, here))
for doc in (a, b):
    doc["machine"]["host"] = None
    for n in doc["nodes"]:
        n.pop("memory_free_kb", None)
FACTS = ("machine", "caches", "nodes", "pmus")
t.equal([b[x] for x in FACTS], [a[x] for x in FACTS], "doctor: the machine's facts, but its name")
STATIC = ["cpu", "guest", "container", "pmu", "metrics", "watchdog", "smt", "paranoid", "lockdown", "clock"] + \
    ([] if closed else ["tracefs"])
a, b = ({c["name"]: (c["verdict"], c["state"].split("; opening")[0]) for c in d["checks"] if c["name"] in STATIC} for d in (a, b))
t.equal(b, a, "doctor: what can be told without trying")

text = b"\n".join(files(here).values())
private = [v for k, v in os.environ.items() if k in ("HOME", "USER", "LOGNAME", "SSH_CLIENT", "PWD") and len(v) > 5]
if len(socket.gethostname()) > 6:
    private.append(socket.gethostname())
for path in ("/etc/machine-id", "/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/product_serial", "/proc/sys/kernel/random/boot_id"):
    try:
        with open(path, encoding="utf-8") as f:
            private.append(f.read().strip())
    except OSError:
        pass
t.equal([x for x in private if len(x) > 5 and x.encode() in text], [], "no names, no serial numbers in it")
t.ok(not any("hostname" in k or "environ" in k or "cmdline" in k for k in files(here) if "tracing" not in k), "nor the files that have such")

# ---- simulated machines ----



def tree(machine):
    out = new("tree")
    subprocess.run([sys.executable, os.path.join(ROOT, "tests/sim/tools/tree.py"),
                    os.path.join(ROOT, "tests/sim/machines", machine + ".tab"), out], capture_output=True, check=False)
    return out


for machine in ("ivb", "spr", "zen4", "adl"):
    top = tree(machine)
    copy, p = capture(top)
    differ = []
    for words in (("list", "events", "-j"), ("list", "nodes", "-j"), ("stat", "--dry-run", "-a", "--for", "1s"),
                  ("stat", "--dry-run", "-a", "--for", "1s", "-l", "2", "--per", "core"), ("explain", "Frontend_Bound")):
        a, b = said(*words, root=top), said(*words, root=copy)
        if a != b or len(a) < 50:
            differ.append((words, a[:300], b[:300]))
    t.ok(p.returncode == 0 and not differ, "%s: events, nodes, plans are the same of its capture" % machine, p.stderr + str(differ))

# ---- trees that lie ----

outside = new("outside")
put(outside, "secret", "processor : 0\nvendor_id : TopSecret\n")
put(outside, "type", "77\n")
bad = new("bad")
put(bad, "proc/meminfo", "MemTotal: 1000 kB\nMemFree: 5 kB\nMemSecret: 9 kB\n")
put(bad, "etc/os-release", "ID=debian\nPRETTY_NAME=\"my box\"\n")
put(bad, "proc/sys/kernel/hostname", "my-host\n")
put(bad, "proc/self/status", "Name:\tmy-name\nCapEff:\t0000000000000000\n")
put(bad, "proc/1/cgroup", "0::/kubepods/pod-of-mine/cri-abcdef\n")
put(bad, "proc/kallsyms", "ffffffff81234560 T startup_64\n")
put(bad, "sys/devices/system/cpu/online", "0\n")
put(bad, "sys/devices/inner/type", "4\n")
put(bad, "sys/bus/event_source/devices/x/type", "9\n")
os.symlink(os.path.join(outside, "secret"), os.path.join(bad, "proc/cpuinfo"))
os.symlink(outside, os.path.join(bad, "sys/bus/event_source/devices/out"))
os.symlink("../../../../../outside0", os.path.join(bad, "sys/bus/event_source/devices/out2"))
os.symlink("../../../devices/inner", os.path.join(bad, "sys/bus/event_source/devices/cpu"))
os.mkfifo(os.path.join(bad, "sys/bus/event_source/devices/x/cpumask"))
copy, p = capture(bad)
got = files(copy)
t.ok(p.returncode == 0 and got.get("sys/bus/event_source/devices/cpu/type") == b"4\n", "links within the tree are followed", p.stderr)
t.ok(b"TopSecret" not in b"".join(got.values()) and not any("/out" in k for k in got), "links out of it are not", sorted(got))
t.ok("sys/bus/event_source/devices/x/type" in got and "sys/bus/event_source/devices/x/cpumask" not in got, "a FIFO does not hang it")
t.equal(got["proc/meminfo"], b"MemTotal: 1000 kB\n", "lines that nobody needs are left out")
t.equal([k for k, v in got.items() if any(x in v for x in (b"my-", b"my box", b"pod-of", b"81234560"))], [],
        "names of people and machines, and addresses, are left out")
p = run("doctor", "--sysroot", bad)
t.ok("TopSecret" not in p.stdout + p.stderr, "--sysroot itself does not look outside of the tree", p.stdout)
p = run("doctor", "-j", "--sysroot", bad)
t.equal([x["name"] for x in json.loads(p.stdout)["pmus"]], ["cpu", "x"], "nor for its PMUs")
p = run("doctor", "--capture", new("none"), "--sysroot", outside)
t.ok(p.returncode == 2 and not os.path.exists(os.path.join(tmp.name, "none" + str(next(NUMBER) - 1))), "what is no machine is not captured", p.stderr)
p = run("doctor", "--capture", os.path.join(tmp.name, "no/where"))
t.ok(p.returncode == 2 and p.stderr.count("\n") <= 2, "a directory that cannot be made", p.stderr)
t.equal([x for x in os.listdir(tmp.name) if x.startswith("none")], [], "and leaves nothing")

strace = shutil.which("strace")
if not strace or SANITIZED:
    t.skip("no file of this machine is opened", "no strace" if not strace else "the sanitizer opens files")
else:
    log, seen = new("log"), []
    for words in (["list", "events"], ["list", "nodes"], ["doctor", "-j"], ["explain", "IPC"], ["stat", "--dry-run", "-a", "-e", "cs"],
                  ["stat", "--dry-run", "-a", "-l", "2", "--per", "cluster"]):
        p = subprocess.run([strace, "-f", "-e", "trace=file", "-o", log, CYCLADE, *words, "--sysroot", copy], capture_output=True,
                           stdin=subprocess.DEVNULL, check=False)
        if os.path.exists(log):
            with open(log, errors="replace") as f:
                seen += [(words, x) for x in f if '"/sys' in x or '"/proc' in x]
    if p.returncode and not os.path.getsize(log):
        t.skip("no file of this machine is opened", "strace cannot trace here")
    else:
        t.ok(not seen, "no file of this machine is opened", seen[:5])
    # what decisions are made by has to be in a capture: a file that is read anew needs a row in capture.def
    missing = set()
    for words in (["list", "events"], ["list", "nodes"], ["explain", "Retiring"], ["stat", "--dry-run", "-a", "-e", "cs,sched:sched_switch"],
                  ["stat", "--dry-run", "-a", "-l", "2", "--per", "core"]):
        for root, copied in ((None, here), (tree("spr"), None)):
            copied = copied or capture(root)[0]
            if os.path.exists(log):
                os.remove(log)
            subprocess.run([strace, "-f", "-e", "trace=open,openat", "-o", log, CYCLADE, *words, *(["--sysroot", root] if root else [])],
                           capture_output=True, stdin=subprocess.DEVNULL, check=False)
            if not os.path.exists(log):
                continue
            with open(log, errors="replace") as f:
                opened = re.findall(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]*)", (O_[^,)]*)[^=]*= \d+$', f.read(), re.M)
            for path, how in opened:
                if root and path.startswith(root + "/"):
                    path = path[len(root):]
                elif root or not path.startswith(("/sys/", "/proc/")):
                    continue
                if "O_DIRECTORY" in how or path in ("/proc/sys/kernel/hostname", "/proc/self/mounts", "/proc/mounts", "/proc/self/maps") or \
                        os.path.isdir((root or "") + path):
                    continue
                if not os.path.exists(copied + path):
                    missing.add((root and os.path.basename(root), path))
    t.equal(sorted(missing, key=str), [], "every file that list, explain and plans read is in a capture")
# ---- a signal while it copies leaves nothing behind
many = new("many")
for cpu in range(1500):
    at = os.path.join(many, "sys/devices/system/cpu/cpu%d/topology" % cpu)
    os.makedirs(at)
    for n in ("core_id", "physical_package_id", "die_id", "thread_siblings_list"):
        with open(os.path.join(at, n), "w", encoding="ascii") as f:
            f.write("%d\n" % cpu)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    for attempt in range(20):  # it may be done before it is told to end
        place = new("ended")
        os.mkdir(place)
        p = subprocess.Popen([CYCLADE, "doctor", "--capture", os.path.join(place, "copy"), "--sysroot", many],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        while p.poll() is None and not os.listdir(place):
            time.sleep(0.0005)
        p.send_signal(number)
        code = p.wait()
        if code:
            break
    t.ok(code == -number and not os.listdir(place), "%s ends it, and nothing stays behind" % number.name,
         "%s %s" % (code, os.listdir(place)))
t.done()

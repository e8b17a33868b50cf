#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""doctor: against perf on this machine, a user without rights, a seccomp filter, and made-up machines."""
import csv
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tables  # noqa: E402
from less_rights import as_nobody, forbid_perf  # noqa: E402
from tap import CYCLADE, PERF, SANITIZED, Tap, run  # noqa: E402

t = Tap()
CHECKS = ["cpu", "guest", "container", "sampling", "pmu", "metrics", "watchdog", "smt", "counters", "events", "paranoid", "lockdown", "sandbox", "lbr", "precise", "latency",
          "rings", "rate", "kallsyms", "symbols", "tracefs", "clock", "disk"]


def doctor(*args, **kw):
    r = run("doctor", "-j", *args, **kw)
    try:
        doc = json.loads(r.stdout)
    except ValueError:
        return r, None, {}
    return r, doc, {c["name"]: c for c in doc["checks"]}


def knob(name):
    try:
        with open("/proc/sys/kernel/" + name) as f:
            return int(f.read())
    except OSError:
        return None


r, doc, checks = doctor()
t.ok(doc and doc["schema"] == "cyclade.doctor/2", "doctor -j", r.stdout + r.stderr)
t.equal(list(checks), CHECKS, "every check, in order")
t.equal(r.returncode, 1 if doc["blockers"] else 0, "exit 1 only with a blocker")
for kind in ("blocker", "limit", "cost"):
    t.equal(sum(c["verdict"] == kind for c in doc["checks"]), doc[kind + "s"], "%ss are counted" % kind)
for c in doc["checks"]:
    t.ok(c["state"] and (c["effect"] is None) == (c["verdict"] in ("ok", "none")),
         "%s: a state, and an effect where it falls short" % c["name"], c)
m = doc["machine"]
t.equal(m["paranoid"], knob("perf_event_paranoid"), "perf_event_paranoid is what the kernel says")
t.equal(m["cpus_online"], os.sysconf("SC_NPROCESSORS_ONLN"), "CPUs that are on")
t.equal(m["os_release"], platform.release(), "the kernel's release")

r = run("doctor", "--color", "never")
lines = r.stdout.splitlines()
t.equal([x.split()[0] for x in lines if re.match(r"^ [a-z]+ +\S", x) and not x.startswith(" next")],
        CHECKS, "the terminal has a line for each check")
t.ok(re.search(r"^ \d+ blockers?, \d+ limits?, \d+ costs?$", r.stdout, re.M), "and the sums", r.stdout)
r = run("doctor", "--format", "csv")
t.equal([x["name"] for x in csv.DictReader(io.StringIO(r.stdout))], CHECKS, "csv has a row for each check")
for table in ("machine", "caches", "nodes", "pmus", "notes"):
    r = run("doctor", "--format", "csv", "--table", table)
    rows, same = list(csv.DictReader(io.StringIO(r.stdout))), doc[table]
    same = [same] if isinstance(same, dict) else same
    t.equal([(list(x), len(x)) for x in rows], [(list(x), len(x)) for x in same], "csv and json have the same columns of %s" % table)
r = run("doctor", "--format", "markdown")
t.ok(r.stdout.startswith("| check | verdict | state | effect | fix |\n|---|"), "markdown", r.stdout)


def perf_header():
    """What perf stores of this machine."""
    with tempfile.TemporaryDirectory() as d:
        data = os.path.join(d, "x.data")
        if subprocess.run([PERF, "record", "-q", "-o", data, "-e", "cpu-clock", "true"],
                          capture_output=True).returncode:
            return None
        return subprocess.run([PERF, "report", "--header-only", "-I", "-i", data],
                              capture_output=True, text=True).stdout


header = perf_header() if PERF else None
if not header:
    t.skip("the machine as perf stores it", "no perf that can record here")
else:
    def field(name):
        found = re.search(r"^# %s : (.*)$" % name, header, re.M)
        return found and found.group(1).strip()
    for name, key in [("hostname", "host"), ("os release", "os_release"), ("arch", "arch"), ("cpudesc", "cpu"),
                      ("cpuid", "cpuid")]:
        if field(name) is not None:
            t.equal(m[key], field(name), "perf stores the same %s" % name)
    t.equal("%d kB" % m["memory_kb"], field("total memory"), "perf stores the same memory")
    t.equal((str(m["cpus_online"]), str(m["cpus_available"])), (field("nrcpus online"), field("nrcpus avail")),
            "perf stores the same numbers of CPUs")
    t.equal(m["core_siblings"], re.findall(r"^# sibling sockets : (.*)$", header, re.M), "sockets")
    t.equal(m["thread_siblings"], re.findall(r"^# sibling threads : (.*)$", header, re.M), "threads of a core")
    t.equal(["node%d cpu list : %s" % (n["id"], n["cpus"]) for n in doc["nodes"]],
            re.findall(r"^# (node\d+ cpu list : .*)$", header, re.M), "nodes")
    pmus = dict(x.split(" = ") for x in (field("pmu mappings") or "").replace("pmu mappings: ", "").split(", ") if x)
    found = re.search(r"^# pmu mappings: (.*)$", header, re.M)
    # newer ones make up a "cpu" where there is no PMU
    pmus = {k: v for k, v in (x.split(" = ") for x in found.group(1).split(", ")) if os.path.exists("/sys/bus/event_source/devices/" + k)}
    t.equal({p["name"]: str(p["type"]) for p in doc["pmus"]}, pmus, "PMUs and their types")
    caches = re.findall(r"^#  L(\d) (\w+) +(\w+) \[(.*)\]$", header, re.M)
    t.equal(sorted((str(c["level"]), c["type"], c["size"], c["cpus"]) for c in doc["caches"]),
            sorted(caches), "caches")
    pmu = subprocess.run([PERF, "stat", "-e", "cycles:u", "true"], capture_output=True, text=True).stderr
    t.equal(checks["pmu"]["verdict"] == "ok", "not supported" not in pmu, "a PMU where perf counts cycles")


# a process of its own namespace sees nobody else's events, of which doctor names only the first few
ALONE = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c"]
if not PERF or subprocess.run([*ALONE, "true"], capture_output=True).returncode:
    t.skip("who else has events open is named", "no perf here, or no namespaces for us")
else:
    both = ('"$1" stat -e task-clock -- sh -c \'echo >began; exec sleep 600\' 2>counts & '
            'while ! [ -e began ]; do sleep 0.05; done; "$2" doctor -j; kill %1 2>/dev/null || kill $!')
    with tempfile.TemporaryDirectory() as d:
        p = subprocess.run([*ALONE, both, "sh", PERF, CYCLADE], cwd=d, text=True, capture_output=True,
                           stdin=subprocess.DEVNULL)
    checks = {c["name"]: c for c in json.loads(p.stdout)["checks"]}
    said = checks["counters"]["state"]
    t.ok(re.search(r"events open: perf \(\d+\)$", said), "who else has events open is named, and nobody else", said)
    p = subprocess.run([*ALONE, '"$1" doctor -j', "sh", CYCLADE], text=True, capture_output=True, stdin=subprocess.DEVNULL)
    said = {c["name"]: c for c in json.loads(p.stdout)["checks"]}["counters"]["state"]
    t.ok("events open:" not in said, "nobody is named where nobody has", said)


def may_start():
    try:
        return not subprocess.run([CYCLADE, "--version"], capture_output=True, preexec_fn=as_nobody).returncode
    except (OSError, subprocess.SubprocessError):
        return False


if os.geteuid() != 0 or not may_start():
    t.skip("a user without rights", "not root, or the program cannot be reached by nobody")
else:
    r, doc, checks = doctor(preexec_fn=as_nobody, cwd="/")
    t.equal(doc["machine"]["privileged"], False, "nobody has no capability")
    if doc["machine"]["paranoid"] == 2 and checks["sampling"]["verdict"] == "ok":
        t.equal((checks["paranoid"]["verdict"], checks["paranoid"]["effect"]), ("limit", "no -a, no kernel"),
                "paranoid 2 is a limit")
        t.ok(any(f.endswith("sysctl kernel.perf_event_paranoid=0") for f in checks["paranoid"]["fix"]), "with its fix")
        t.equal(checks["sampling"]["state"], "your own processes, user space only", "and it was tried")
        if PERF:
            for event, fine in [("cpu-clock:u", True), ("cpu-clock:k", False)]:
                p = subprocess.run([PERF, "stat", "-e", event, "true"], capture_output=True, preexec_fn=as_nobody)
                t.equal(p.returncode == 0, fine, "perf says the same: %s %s" % (event, fine))
    else:
        t.skip("paranoid 2", "perf_event_paranoid is another")


if platform.machine() not in ("x86_64", "aarch64"):
    t.skip("a seccomp filter", "unknown machine")
else:
    try:
        r, doc, checks = doctor(preexec_fn=forbid_perf)
    except subprocess.SubprocessError:
        r = None
    if not r:
        t.skip("a seccomp filter", "no seccomp here")
    else:
        t.equal((r.returncode, doc["blockers"] > 0), (1, True), "a filter on perf_event_open: blocker, exit 1")
        t.equal(checks["sampling"]["verdict"], "blocker", "told by the check that tried")
        t.ok("EPERM" in checks["sampling"]["state"], "with the errno", checks["sampling"])
        t.ok("seccomp" in " ".join(checks["sampling"]["fix"]), "and seccomp named in the fix", checks["sampling"])
        t.ok("a seccomp filter" in checks["container"]["state"], "container sees the filter", checks["container"])

# Machines made of files: [what, files, {check: (verdict, piece of state, piece of fix)}, exit code]
PMU = "sys/bus/event_source/devices/"
BASE = {"proc/sys/kernel/osrelease": "6.1.0-18-amd64\n", "proc/sys/kernel/perf_event_paranoid": "2\n",
        "proc/sys/kernel/kptr_restrict": "0\n", "proc/sys/kernel/nmi_watchdog": "0\n",
        "sys/devices/system/cpu/online": "0-3\n", PMU + "cpu/type": "4\n", "etc/os-release": "ID=debian\n",
        "proc/kallsyms": "ffffffff81000000 T _text\n", "sys/kernel/tracing/events/sched/x/id": "1\n",
        "proc/sys/kernel/perf_event_max_sample_rate": "100000\n"}
L1 = ["slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"]
L2 = ["topdown-heavy-ops", "topdown-br-mispredict", "topdown-fetch-lat", "topdown-mem-bound"]
CASES = [
    ("as it is", {}, {"sampling": ("none", "not tried", ""), "pmu": ("ok", "cpu", ""), "watchdog": ("ok", "off", ""),
                      "paranoid": ("limit", "2: your own processes, user space only", "paranoid=0"),
                      "tracefs": ("ok", "/sys/kernel/tracing", ""), "kallsyms": ("ok", "shows", ""),
                      "symbols": ("limit", "no vmlinux", "vmlinux-6.1.0-18-amd64")}, 0),
    ("watchdog", {"proc/sys/kernel/nmi_watchdog": "1\n"},
     {"watchdog": ("cost", "holds one counter", "sysctl kernel.nmi_watchdog=0")}, 0),
    ("Debian's 3", {"proc/sys/kernel/perf_event_paranoid": "3\n"}, {"paranoid": ("blocker", "3: nothing", "sysctl")}, 1),
    ("1", {"proc/sys/kernel/perf_event_paranoid": "1\n"}, {"paranoid": ("limit", "1: your own", "sysctl")}, 0),
    ("-1", {"proc/sys/kernel/perf_event_paranoid": "-1\n"}, {"paranoid": ("ok", "-1: everything", "")}, 0),
    ("kernel of a package", {"var/lib/dpkg/info/linux-image-6.1.0-18-amd64.list": "\n"},
     {"symbols": ("limit", "no vmlinux", "apt install linux-image-6.1.0-18-amd64-dbg")}, 0),
    ("vmlinux", {"usr/lib/debug/boot/vmlinux-6.1.0-18-amd64": ""}, {"symbols": ("ok", "vmlinux found", "")}, 0),
    ("slow rate", {"proc/sys/kernel/perf_event_max_sample_rate": "250\n"},
     {"rate": ("cost", "at most 250", "perf_event_max_sample_rate")}, 0),
    ("clock", {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"},
     {"clock": ("cost", "hpet", "tsc")}, 0),
    ("lockdown", {"sys/kernel/security/lockdown": "none integrity [confidentiality]\n"},
     {"lockdown": ("limit", "[confidentiality]", "lockdown=")}, 0),
    ("no lockdown", {"sys/kernel/security/lockdown": "[none] integrity confidentiality\n"},
     {"lockdown": ("ok", "[none]", "")}, 0),
    ("hidden names", {"proc/kallsyms": "0000000000000000 T _text\n", "proc/sys/kernel/perf_event_paranoid": "1\n",
                      "proc/sys/kernel/kptr_restrict": "2\n"},
     {"kallsyms": ("limit", "hides", "sysctl kernel.kptr_restrict=0")}, 0),
    ("AMD with IBS", {PMU + "ibs_op/type": "9\n"}, {"precise": ("ok", "IBS", "")}, 0),
    ("Intel", {PMU + "cpu/caps/max_precise": "3\n", PMU + "cpu/caps/branches": "32\n"},
     {"precise": ("ok", "max_precise 3", ""), "lbr": ("ok", "32 entries", "")}, 0),
    ("docker", {".dockerenv": "", "proc/self/status": "Seccomp:\t2\n"}, {"container": ("ok", "docker, a seccomp", "")}, 0),
    ("kubernetes", {"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, {"container": ("ok", "kubepods", "")}, 0),
    ("SMT", {"sys/devices/system/cpu/smt/active": "1\n"},
     {"smt": ("ok", "on:", ""), "metrics": ("none", "no fixed metrics", ""), "counters": ("none", "not tried", "")}, 0),
    ("Ice Lake", {PMU + "cpu/events/" + e: "event=0x00,umask=0x80\n" for e in L1}, {"metrics": ("ok", "level 1 of", "")}, 0),
    ("Sapphire Rapids", {PMU + "cpu/events/" + e: "event=0x00,umask=0x80\n" for e in L1 + L2},
     {"metrics": ("ok", "level 1 and 2", "")}, 0),
    ("guest", {"sys/hypervisor/type": "xen\n"}, {"guest": ("ok", "Xen guest", "")}, 0),
]
for what, files, want, code in CASES:
    with tempfile.TemporaryDirectory() as d:
        for path, text in {**BASE, **files}.items():
            os.makedirs(os.path.dirname(os.path.join(d, path)), exist_ok=True)
            with open(os.path.join(d, path), "w") as f:
                f.write(text)
        r, doc, checks = doctor("--sysroot", d)
        t.equal(r.returncode, code, "%s: exit %d" % (what, code))
        for name, (verdict, state, fix) in want.items():
            c = checks.get(name, {"verdict": None, "state": "", "fix": []})
            t.ok(c["verdict"] == verdict and state in c["state"] and fix in " ".join(c["fix"]),
                 "%s: %s is %s" % (what, name, verdict), c)
        text = run("doctor", "--sysroot", d).stdout
        t.ok("nothing was tried on this kernel" in text, "%s: says that nothing was tried" % what, text)
        if what == "guest":  # of a machine that stays as it is
            tables.walk(t, "doctor", "--sysroot", d, code=(0, 1))

with tempfile.TemporaryDirectory() as d:
    for where, want in ((d, "found"), (os.path.join(d, "absent"), "none")):
        checks = doctor(env=dict(os.environ, DEBUGINFOD_CACHE_PATH=where))[2]
        state = checks.get("symbols", {"state": ""})["state"]
        t.ok(state.endswith("; cache of debuginfod " + want + ", its servers are not asked (DEBUGINFOD_URLS is not set)"), "the cache that DEBUGINFOD_CACHE_PATH names: " + want, state)

state = doctor(env=dict(os.environ, DEBUGINFOD_URLS="http://127.0.0.1:1"))[2].get("symbols", {"state": ""})["state"]
t.ok(state.endswith((", its servers are asked: http://127.0.0.1:1", ", its library is missing")), "whether servers of debuginfod are asked", state)

for words, text in [(["doctor", "x"], "no operand"), (["doctor", "--sysroot", "/nonexistent"], "/nonexistent"),
                    (["doctor", "--table", "chekcs"], "--table summary, checks, machine, caches, nodes, pmus or notes")]:
    r = run(*words)
    t.equal((r.returncode, r.stdout), (2, ""), "%s: exit 2" % " ".join(words))
    t.ok(text in r.stderr, "says '%s'" % text, r.stderr)
t.done()

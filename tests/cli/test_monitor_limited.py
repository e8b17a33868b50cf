#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cyclade monitor where little is allowed: an ordinary user, root without capabilities, a namespace without rights, a seccomp filter on
perf_event_open, few files. What /proc has still comes, what cannot be counted has the reason, and nothing crashes; --listen serves."""
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from less_rights import as_nobody, forbid_perf  # noqa: E402
from tap import CYCLADE, ROOT, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory(prefix="cyclade-monitor-limited-")
os.chmod(tmp.name, 0o755)
MODELS = os.path.join(tmp.name, "models")
os.makedirs(MODELS)
with open(os.path.join(ROOT, "models", "monitor"), encoding="utf-8") as f, open(os.path.join(MODELS, "monitor"), "w", encoding="utf-8") as to:
    to.write(f.read() + "cpu kernel_event counter - page\\-faults ; an event that every kernel has\n")
WORDS = ["monitor", "--models", MODELS, "-I", "50"]
ENV = {**os.environ, "HOME": tmp.name, "XDG_CONFIG_HOME": tmp.name}


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    as_nobody()


def monitor(before, child, *words):
    return subprocess.run([*before, CYCLADE, *WORDS, *words], capture_output=True, text=True, preexec_fn=child, cwd="/", env=ENV)


def values(p):
    """(rate of context switches, of the kernel's event on the first CPU, why not)"""
    doc = json.loads(p.stdout)
    row = doc["cpu"] if isinstance(doc["cpu"], dict) else doc["cpu"][0]
    return doc, doc["host"]["context_switches_rate"], row["kernel_event_rate"], row["kernel_event_rate_why"]


def served(name, before, child):
    p = subprocess.Popen([*before, CYCLADE, *WORDS, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True, preexec_fn=child, cwd="/", env=ENV,
                         start_new_session=True)
    try:
        line = p.stderr.readline()
        if "no monitor --listen" in line or "without libmicrohttpd" in line:
            return
        found, text, until = re.search(r"http://\S+", line), "", time.monotonic() + 60
        while found and not text and time.monotonic() < until:
            try:
                with urllib.request.urlopen(found[0] + "metrics", timeout=30) as r:
                    text = r.read().decode()
            except urllib.error.HTTPError:  # the first interval is not over
                time.sleep(0.02)
        t.ok("cyclade_host_context_switches_total" in text and re.search(r'^cyclade_unavailable_info\{[^\n]*metric="kernel_event"', text, re.M),
             name + ": --listen serves it, with the reason", (line, text[:300]))
    finally:
        os.killpg(p.pid, signal.SIGTERM)
    t.ok(p.wait(60) in (0, 143, -15) and "anitizer" not in p.stderr.read(), name + ": and ends", p.returncode)


def check(name, before=(), child=None):
    try:
        p = monitor(before, child, "--once", "-j")
    except (OSError, subprocess.SubprocessError) as e:
        t.skip(name, str(e))
        return
    if p.returncode and not p.stdout and ("unshare" in p.stderr or "setpriv" in p.stderr):
        t.skip(name, p.stderr.strip())
        return
    if not t.equal(p.returncode, 0, name + ": a result"):
        print("# " + p.stderr)
        return
    doc, switches, event, why = values(p)
    t.ok(switches is not None, name + ": what /proc has", doc["host"])
    t.ok(event is None and why and ("not permitted" in why or "ulimit -n" in why or "too many" in why), name + ": why an event is not counted", (event, why))
    lacks = [r for r in doc["unavailable"] if not r["why"]]
    t.ok(doc["unavailable"] and not lacks, name + ": all that is missing has its reason", lacks)
    p = monitor(before, child, "--once", "--backend", "msr")
    t.ok(p.returncode == 2 and p.stderr.startswith("cyclade: "), name + ": registers are refused", (p.returncode, p.stderr))
    served(name, before, child)


if os.geteuid() != 0:
    t.skip("rights", "only root can give them up one by one")
    t.done()
try:
    if subprocess.run([CYCLADE, "--version"], capture_output=True, preexec_fn=as_nobody).returncode:
        raise OSError("fails")
except (OSError, subprocess.SubprocessError) as e:
    t.skip("rights", "the program cannot be reached by nobody: %s" % e)
    t.done()
whole = monitor((), None, "--once", "-j")
t.ok(not whole.returncode and values(whole)[2] is not None, "root counts the event", whole.stderr)
with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
    PARANOID = int(f.read())
if PARANOID > 0:
    check("an ordinary user", child=as_nobody)
    if shutil.which("setpriv"):
        check("root without capabilities", ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"])
    if shutil.which("unshare"):
        check("a namespace of its own", ["unshare", "-Urmp", "--fork", "--mount-proc", "--kill-child"])
    check("an ordinary user with 16 files", child=few_files)
else:
    t.skip("ordinary users", "perf_event_paranoid lets everybody count")
if platform.machine() in ("x86_64", "aarch64"):
    check("a seccomp filter", child=forbid_perf)
t.done()

# SPDX-License-Identifier: BSD-3-Clause
"""tap - the little that whole-program tests share: numbering, skipping, running the program.

    from tap import Tap, run, CYCLADE, SHARED
    t = Tap()
    t.ok(condition, "name", "what to show if not")
    t.skip("name", "why")
    wait_for(lambda: os.path.exists("began"))
    t.done()
"""
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CYCLADE = os.environ.get("CYCLADE", os.path.join(ROOT, "build", "src", "cli", "cyclade"))
SHARED = os.environ.get("CYCLADE_SHARED", os.path.join(ROOT, "..", "shared"))
# whoever runs the tests may have a configuration
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
os.environ.pop("CYCLADE_OPTS", None)
SANITIZED = bool(os.environ.get("CYCLADE_SANITIZED"))
PERF = shutil.which("perf")


def allowed(least):
    """Root may all; what others may, the kernel's perf_event_paranoid says."""
    try:
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
            return os.geteuid() == 0 or int(f.read()) <= least
    except (OSError, ValueError):
        return os.geteuid() == 0


KERNEL = allowed(1)  # may the kernel be counted? An ordinary user's programs may, as a rule, and no more
WHOLE_CPUS = allowed(0)


class Tap:
    def __init__(self):
        self.count = 0
        self.bad = 0

    def ok(self, condition, name, detail=""):
        self.count += 1
        if not condition:
            self.bad += 1
            for line in str(detail).splitlines()[:30]:
                print("# " + line)
        print("%s %d - %s" % ("ok" if condition else "not ok", self.count, name.replace("#", "")), flush=True)
        return bool(condition)

    def equal(self, got, want, name):
        return self.ok(got == want, name, "got  %r\nwant %r" % (got, want))

    def skip(self, name, why):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, " ".join(why.split())), flush=True)

    def done(self):
        print("1..%d%s" % (self.count, "" if self.count else " # SKIP nothing to do"))
        sys.exit(1 if self.bad else 0)


def wait_for(condition, seconds=60):
    """Until it holds, however slow the machine is: whether it came to hold. Errors of /proc count as not yet."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if condition():
                return True
        except (OSError, IndexError, ValueError):
            pass
        time.sleep(0.01)
    return False


def taken(pid, number):
    """Until a signal that a process waits for has been taken: one more of the same would not be told before."""
    def pending():
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            masks = [int(x.split()[1], 16) for x in f if x.startswith(("SigPnd", "ShdPnd"))]
        return any(m >> (number - 1) & 1 for m in masks)
    return wait_for(lambda: not pending())


def child_of(pid, name):
    """Until a process has a child of this name: the child's number, or None."""
    found = []

    def look():
        out = subprocess.run(["pgrep", "-P", str(pid), "-x", name], capture_output=True, text=True).stdout.split()
        found[:] = [int(x) for x in out]
        return found
    return found[0] if wait_for(look) else None


def run(*args, timeout=120, **kw):
    """cyclade with these arguments: a CompletedProcess with text output."""
    kw.setdefault("capture_output", True)
    kw.setdefault("text", True)
    kw.setdefault("errors", "replace")
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([CYCLADE, *args], timeout=timeout, **kw)

# SPDX-License-Identifier: BSD-3-Clause
"""tap - the little that whole-program tests share: numbering, skipping, running the program.

    from tap import Tap, run, CYCLADE, SHARED
    t = Tap()
    t.ok(condition, "name", "what to show if not")
    t.skip("name", "why")
    wait_for(lambda: os.path.exists("began"))
    t.done()
"""
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CYCLADE = os.environ.get("CYCLADE", os.path.join(ROOT, "build", "src", "cli", "cyclade"))
PROGS = os.path.abspath(os.environ.get("CYCLADE_PROGS", os.path.join(os.path.dirname(CYCLADE), "..", "..", "tests", "progs")))
SHARED = os.environ.get("CYCLADE_SHARED", os.path.join(ROOT, "..", "shared"))
NO_SHARED = "no ../shared here"  # ci/count.py counts it once for a stage, and the next
NO_PLUGINS = "no qemu-user here that takes plugins"
# whoever runs the tests may have a configuration
os.environ["XDG_CONFIG_HOME"] = "/dev/null/config"  # nobody can make it, root neither
os.environ["XDG_DATA_HOME"] = "/dev/null/data"
# copies of what tests record go with the test
_cache = tempfile.TemporaryDirectory(prefix="cyclade-cache.")
os.chmod(_cache.name, 0o1777)  # other users record, too
os.environ["XDG_CACHE_HOME"] = _cache.name
os.environ.pop("CYCLADE_OPTS", None)
os.environ.pop("DEBUGINFOD_URLS", None)  # tests ask no server but their own
# perf record copies each program that it meets to ~/.debug, other tests' too, and cyclade finds symbols there
os.environ["PERF_CONFIG"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfconfig")
# what a shell starts in the background ignores it, and all that is started from there
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's programs ignore it
SANITIZED = bool(os.environ.get("CYCLADE_SANITIZED"))
PERF = shutil.which("perf")


def _simulated():
    """Whether the simulated PMU can be preloaded: if a sanitizer's runtime is a library, that library must be first.
    A runtime that is linked into the program contains the library's name too: only what the loader is asked for counts."""
    p = subprocess.run(["readelf", "-d", CYCLADE], capture_output=True, text=True)
    needed = [line for line in p.stdout.splitlines() if "(NEEDED)" in line]
    return not any("libasan.so" in line or "libtsan.so" in line for line in needed)


SIMULATED = _simulated()


def allowed(least):
    """Root may all; what others may, the kernel's perf_event_paranoid says."""
    try:
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
            return os.geteuid() == 0 or int(f.read()) <= least
    except (OSError, ValueError):
        return os.geteuid() == 0


KERNEL = allowed(1)  # may the kernel be counted? An ordinary user's programs may, as a rule, and no more
WHOLE_CPUS = allowed(0)


def nobody_runs():
    """Whether root can start the program as a user without rights: a checkout below /root is out of such a user's reach."""
    try:
        return not subprocess.run([CYCLADE, "--version"], capture_output=True, user=65534, group=65534, extra_groups=[]).returncode
    except OSError:
        return False


def emulator(machine):
    """QEMU for programs of that machine, if it takes plugins: a static one, as Debian 13's, does not."""
    path = shutil.which("qemu-" + machine)
    return path if path and "-plugin" in subprocess.run([path, "-h"], capture_output=True, text=True).stdout else None


def perf_strays():
    """Whether perf leaves the root it was started in: it does with files of a process in another mount namespace, because
    it enters that and comes back to its own namespace's root. After that a chroot's files are others, or none."""
    def about(what, path):
        try:
            return what(path)
        except OSError:
            return None
    here = os.stat("/")  # and as perf comes back to it; /proc/1/root may be out of reach, also of root
    outer = subprocess.run(["nsenter", "--mount=/proc/self/ns/mnt", "stat", "-c", "%d %i", "/"], capture_output=True, text=True).stdout.split()
    if outer in ([], [str(here.st_dev), str(here.st_ino)]):
        return False
    own = os.readlink("/proc/self/ns/mnt")
    return any(about(os.readlink, "/proc/%s/ns/mnt" % pid) not in (None, own) for pid in os.listdir("/proc") if pid.isdigit())


def uninterrupted():
    """Kernels that are timed run again if they were interrupted: on a busy machine several times as often. Root's go first.
    Linux weighs sessions against each other, as a rule, and only within one the programs: meson gives each test a session."""
    try:
        os.nice(-10)
        if os.getsid(0) == os.getpid():
            with open("/proc/self/autogroup", "w", encoding="ascii") as f:
                f.write("-10")
    except OSError:
        pass


class Tap:
    def __init__(self):
        self.count = 0
        self.bad = 0

    def ok(self, condition, name, detail=""):
        self.count += 1
        if not condition:
            self.bad += 1
            lines = str(detail).splitlines()
            for line in lines if len(lines) <= 60 else lines[:30] + lines[-30:]:
                print("# " + line)
        print("%s %d - %s" % ("ok" if condition else "not ok", self.count, name.replace("#", "")), flush=True)
        return bool(condition)

    def equal(self, got, want, name):
        return self.ok(got == want, name, "got  %r\nwant %r" % (got, want))

    def skip(self, name, why):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, " ".join(why.split())), flush=True)

    def no_simulation(self, name, said):
        """The first run on a simulated machine came to nothing: a fault, but where nothing can be preloaded."""
        if SIMULATED and os.uname().machine == "x86_64":
            self.ok(False, name + ": a simulated machine is measured", said)
        else:
            self.skip(name, "no simulated machine here: %s" % (said.strip().splitlines() or ["?"])[-1])

    def done(self):
        print("1..%d%s" % (self.count, "" if self.count else " # SKIP nothing to do"))
        sys.exit(1 if self.bad else 0)


class Bars:
    """Counts how many error bars of 95 % hold the truth: one bar of each run, as bars of one run depend on each other.
    A few runs are enough if all is well; if not, more runs decide, so that chance fails a test once in 10,000 times.

        bars = Bars(20, 80)
        while bars.more():
            bars.add(abs(value - truth) <= error)
        t.ok(bars.good(), "...: %s" % bars)
    """
    PROMISED, RISK = 0.95, 1e-4

    def __init__(self, few, most):
        self.few, self.most, self.held, self.of = few, most, 0, 0

    def more(self):
        """Whether it takes another run: the first ones are not done, or fewer bars held than 9 of 10."""
        return self.of < (self.few if self.held >= 0.9 * self.of else self.most)

    def add(self, held):
        self.of += 1
        self.held += bool(held)

    def good(self):
        if not self.of:
            return False
        chance = sum(math.comb(self.of, k) * self.PROMISED ** k * (1 - self.PROMISED) ** (self.of - k) for k in range(self.held + 1))
        return chance > self.RISK

    def __str__(self):
        return "in %d of %d runs" % (self.held, self.of)


def wait_for(condition, seconds=600):
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


def run(*args, timeout=600, **kw):
    """cyclade with these arguments: a CompletedProcess with text output."""
    kw.setdefault("capture_output", True)
    kw.setdefault("text", True)
    kw.setdefault("errors", "replace")
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([CYCLADE, *args], timeout=timeout, **kw)

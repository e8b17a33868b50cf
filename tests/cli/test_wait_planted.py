#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report --wait against programs that write down what they waited for, and when, by their own clock: each wait one by one; the quota of
a cgroup; a CPU that several threads want; a thread that holds the lock that the others need."""
import collections
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, Tap, run  # noqa: E402
from waits_made import CLOCK, Made  # noqa: E402
from waits_run import ready  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-planted-")
os.chdir(tmp)

PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { SLEEP, LOCK, PIPE, SOCKET, POLL, EPOLL, SIGNAL, CHILD, FAULT, IO, KINDS };
static const char *const names[] = { "sleep", "lock", "pipe", "socket", "poll", "poll", "signal", "child", "page fault", "I/O" };
static int pipes[2], sockets[2], asked[2], uffd = -1, fuse = -1, io = -1;
static char *pages;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t self;
static volatile int held;
static int64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static void nap(long us) { struct timespec t = { 0, us * 1000 }; clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL); }
static void *helper(void *p)
{
	struct { int kind; long us; } x;
	while (read(asked[0], &x, sizeof(x)) == sizeof(x)) {
		if (x.kind == LOCK) { pthread_mutex_lock(&lock); held = 1; }
		nap(x.us);
		if (x.kind == LOCK) pthread_mutex_unlock(&lock);
		if ((x.kind == PIPE && write(pipes[1], "", 1) != 1) || (x.kind == SOCKET && write(sockets[1], "", 1) != 1)) exit(3);
		if (x.kind == SIGNAL) pthread_kill(self, SIGUSR1);
	}
	return p;
}
static void *faults(void *p)
{
	struct uffd_msg m;
	while (read(uffd, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_zeropage z = { { m.arg.pagefault.address & ~4095ULL, 4096 }, 0, 0 };
		nap(2000);
		ioctl(uffd, UFFDIO_ZEROPAGE, &z);
	}
	return p;
}
static void slow(void)
{
	static char in[1 << 17];
	struct fuse_in_header *h = (void *)in;
	ssize_t got;
	while ((got = read(fuse, in, sizeof(in))) > 0) {
		struct { struct fuse_out_header h; union { struct fuse_init_out init; struct fuse_entry_out entry; struct fuse_attr_out attr; struct fuse_open_out open; char c; } u; } out;
		size_t len = 0;
		memset(&out, 0, sizeof(out));
		switch (h->opcode) {
		case FUSE_INIT: out.u.init.major = 7; out.u.init.minor = 31; out.u.init.max_write = 4096; len = sizeof(out.u.init); break;
		case FUSE_LOOKUP: out.u.entry.nodeid = 2; out.u.entry.attr.mode = S_IFREG | 0444; out.u.entry.attr.size = 1 << 20; out.u.entry.attr.nlink = 1; len = sizeof(out.u.entry); break;
		case FUSE_GETATTR: out.u.attr.attr.mode = h->nodeid == 1 ? S_IFDIR | 0755 : S_IFREG | 0444; out.u.attr.attr.size = 1 << 20; out.u.attr.attr.nlink = 1; len = sizeof(out.u.attr); break;
		case FUSE_OPEN: out.u.open.open_flags = FOPEN_DIRECT_IO; len = sizeof(out.u.open); break;
		case FUSE_READ: nap(2000); len = 1; break;
		case FUSE_FLUSH: case FUSE_RELEASE: break;
		case FUSE_FORGET: case FUSE_BATCH_FORGET: continue;
		default: out.h.error = -ENOSYS;
		}
		out.h.unique = h->unique;
		out.h.len = (uint32_t)(sizeof(out.h) + len);
		if (write(fuse, &out, out.h.len) < 0 && errno != ENOENT) break;
	}
}
static void open_slow(void)
{
	char options[64];
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkdir("slow", 0700) ||
	    mount("slow", "slow", "fuse", MS_NODEV | MS_NOSUID, options)) return;
	if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGKILL); slow(); _exit(0); }
	io = open("slow/f", O_RDONLY);
}
static void open_faults(void)
{
	struct uffdio_api a = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t t;
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0) return;
	pages = mmap(NULL, 4096 * 1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r.range.start = (uintptr_t)pages;
	r.range.len = 4096 * 1000;
	if (ioctl(uffd, UFFDIO_API, &a) || ioctl(uffd, UFFDIO_REGISTER, &r)) { uffd = -1; return; }
	pthread_create(&t, NULL, faults, NULL);
}
static void one(int kind, long us, int n)
{
	struct { int kind; long us; } x = { kind, us };
	struct pollfd p = { pipes[0], POLLIN, 0 };
	struct timespec long_ = { 5, 0 };
	struct epoll_event e;
	static int ep = -1;
	sigset_t s;
	char c;
	int64_t from;
	pid_t child = 0;
	if (ep < 0) ep = epoll_create1(0);
	memset(&x, 0, sizeof(x)); x.kind = kind; x.us = us;
	sigemptyset(&s); sigaddset(&s, SIGUSR1);
	held = 0;
	if (kind == CHILD && !(child = fork())) { nap(us); _exit(0); }
	if ((kind == LOCK || kind == PIPE || kind == SOCKET || kind == SIGNAL) && write(asked[1], &x, sizeof(x)) != sizeof(x)) exit(4);
	while (kind == LOCK && !held) sched_yield();
	from = now();
	switch (kind) {
	case SLEEP: nap(us); break;
	case LOCK: pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); break;
	case PIPE: if (read(pipes[0], &c, 1) != 1) exit(5); break;
	case SOCKET: if (read(sockets[0], &c, 1) != 1) exit(5); break;
	case POLL: poll(&p, 1, (int)(us / 1000)); break;
	case EPOLL: epoll_wait(ep, &e, 1, (int)(us / 1000)); break;
	case SIGNAL: sigtimedwait(&s, NULL, &long_); break;
	case CHILD: waitpid(child, NULL, 0); break;
	case FAULT: pages[4096L * n] = 1; break;
	case IO: if (pread(io, &c, 1, n) != 1) exit(6); break;
	}
	printf("%d %s %lld %lld\n", (int)gettid(), names[kind], (long long)from, (long long)now());
}
static void each(int n)
{
	pthread_t t;
	sigset_t s;
	sigemptyset(&s); sigaddset(&s, SIGUSR1); pthread_sigmask(SIG_BLOCK, &s, NULL);
	self = pthread_self();
	mlockall(MCL_CURRENT); /* code that has to come from a disk first is another wait */
	if (pipe(pipes) || pipe(asked) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) exit(1);
	open_slow();
	open_faults();
	pthread_create(&t, NULL, helper, NULL);
	srand(1);
	for (int i = 0; i < n; i++) {
		int kind = rand() % KINDS;
		if ((kind == IO && io < 0) || (kind == FAULT && uffd < 0)) kind = SLEEP;
		one(kind, 1000 + rand() % 2000, i);
	}
	fflush(stdout);
	if (io >= 0) close(io);
	_exit(0);
}
static double used(clockid_t c) { struct timespec t; clock_gettime(c, &t); return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }
static void *spin(void *p)
{
	double cpu = used(CLOCK_THREAD_CPUTIME_ID), from = used(CLOCK_MONOTONIC), mine;
	while ((mine = used(CLOCK_THREAD_CPUTIME_ID) - cpu) < 0.15) ;
	printf("%d %.6f %.9f %.9f %.6f\n", (int)gettid(), mine, from, used(CLOCK_MONOTONIC), used(CLOCK_THREAD_CPUTIME_ID));
	return p;
}
/* each round, the hog holds the lock until the three others have come to wait for it, and 15 ms more */
static int turn, come, gone;
static void until(int *what, int n) { while (__atomic_load_n(what, __ATOMIC_SEQ_CST) < n) nap(100); }
static void *hog(void *p)
{
	prctl(PR_SET_NAME, p ? "hog" : "brief");
	for (int i = 1; i <= 10; i++) {
		if (!p) { until(&turn, i); __atomic_add_fetch(&come, 1, __ATOMIC_SEQ_CST); }
		pthread_mutex_lock(&lock);
		if (p) { __atomic_store_n(&turn, i, __ATOMIC_SEQ_CST); until(&come, 3 * i); nap(15000); }
		pthread_mutex_unlock(&lock);
		if (p) until(&gone, 3 * i); else __atomic_add_fetch(&gone, 1, __ATOMIC_SEQ_CST);
	}
	return p;
}
int main(int n, char **v)
{
	pthread_t t[4];
	if (n > 2 && !strcmp(v[1], "each")) each(atoi(v[2]));
	if (n > 1 && !strcmp(v[1], "one")) { spin(NULL); return 0; }
	for (int i = 0; i < 4 && n > 1; i++) pthread_create(&t[i], NULL, !strcmp(v[1], "hog") ? hog : spin, i == 1 ? "" : NULL);
	for (int i = 0; i < 4 && n > 1; i++) pthread_join(t[i], NULL);
	return 0;
}
"""


def rows_of(path, query):
    p = run("sql", "--format", "json", "-i", path, query)
    return [tuple(r.values()) for r in json.loads(p.stdout)["rows"]] if p.returncode == 0 else None


def record(name, *words, more=()):
    p = run("record", "--wait", *more, "-o", name, "--", "timeout", "-s", "KILL", "60", *words, timeout=90)
    return p if t.ok(p.returncode == 0, name + ": is recorded", p.stderr) else None


# what is in the stack of these waits; the program also waits for the disk, and for its opening and closing of the slow file
PLANTED = {"I/O": ("fuse", "pread"), "page fault": ("handle_userfault",)}


def each():
    """Each wait by itself: its reason, and the sum of the times."""
    p = record("each.data", "./prog", "each", "400", more=("--clockid", "mono", "--wait-chains=all"))
    if not p:
        return None
    log = [(int(m[1]), m[2], int(m[3]), int(m[4])) for m in re.finditer(r"^(\d+) ([\w/ ]+?) (\d+) (\d+)$", p.stdout, re.M)]
    kinds = collections.Counter(x[1] for x in log)
    for kind in ("I/O", "page fault"):
        if not kinds[kind]:
            t.skip("waits for " + kind, "no FUSE, or the root is no mount point, as in a chroot" if kind == "I/O" else "no userfaultfd")
    spans = rows_of("each.data", "SELECT started, ended, state, reason, stack FROM waits WHERE tid = %d AND state != 'running' ORDER BY started" % (log[0][0] if log else 0))
    if spans is None:
        return t.skip("each wait", "built without SQLite")
    wrong, seen, apart, come = [], 0, collections.Counter(), collections.Counter()
    for _, kind, begin, end in log:
        mine = [s for s in spans if s[0] < end and s[1] > begin]
        blocked = max((s for s in mine if s[2] == "blocked"), key=lambda s: s[1] - s[0], default=None)
        if not blocked and end - begin < 500000:
            come[kind] += 1  # already: the machine was busy
            continue
        seen += 1
        if not blocked or blocked[3] != kind:
            wrong.append((kind, end - begin, mine))
        apart["own"] += end - begin
        apart["ours"] += sum(min(s[1], end) - max(s[0], begin) for s in mine)
    t.ok(seen >= 300, "each wait: there are many", (seen, kinds))
    t.ok(len(wrong) <= 0.01 * seen, "each wait: the reason is right in 99 %% of %d" % seen, wrong[:10])
    t.ok(abs(apart["own"] - apart["ours"]) <= 0.01 * apart["own"] + 20000 * seen, "each wait: as long as the program says", apart)
    d = json.loads(run("report", "--wait", "-j", "--only-tid", str(log[0][0]), "each.data").stdout)
    ours = {r["reason"]: r for r in d["reasons"]}
    blocked = [s for s in spans if s[2] == "blocked"]
    t.equal({k: ours.get(k, {"waits": 0})["waits"] for k in kinds}, {k: sum(s[3] == k for s in blocked) for k in kinds}, "each wait: the report counts what the table has")
    few = [(k, n, come[k], ours.get(k, {}).get("waits")) for k, n in kinds.items() if ours.get(k, {"waits": 0})["waits"] < n - come[k] - 0.02 * n - 5]
    t.ok(not few, "each wait: the report has as many of each kind", few)
    logged = {k: [x[2:] for x in log if x[1] == k] for k in kinds}
    more = [s for s in blocked if s[3] in kinds and all(part in (s[4] or "") for part in PLANTED.get(s[3], ())) and
            not any(s[0] < end and s[1] > begin for begin, end in logged[s[3]])]
    t.ok(len(more) <= 0.02 * len(log) + 5, "each wait: and no others of what it waited for", more[:10])
    return None


SPUN = r"^(\d+) ([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)$"  # a thread, what it ran, from when to when, and what with its start


def oversubscribed():
    """Four threads on a CPU: each ran as long as its own clock of the CPU says, and waited for the CPU else."""
    cpu = str(min(os.sched_getaffinity(0)))
    p = record("many.data", "taskset", "-c", cpu, "./prog", "spin", more=("--clockid", "mono"))
    if not p:
        return None
    d = json.loads(run("report", "--wait", "-j", "many.data").stdout)
    own = {int(m[1]): (float(m[2]), round(float(m[3]) * 1e9), round(float(m[4]) * 1e9)) for m in re.finditer(SPUN, p.stdout, re.M)}
    threads = {r["tid"]: r for r in d["threads"] if r["tid"] in own}
    t.ok(len(threads) == 4 and all(abs(r["running_seconds"] - own[tid][0]) <= 0.01 * own[tid][0] + 2e-3 + 3e-5 * r["switches"] for tid, r in threads.items()),
         "a CPU that four threads want: each ran as long as it says", (own, d["threads"]))
    spans = rows_of("many.data", "SELECT tid, started, ended, state FROM waits WHERE state != 'running'")
    if spans is None:
        return t.skip("a CPU that four threads want: waits", "built without SQLite")
    # by its own clock, which it reads first when it has the CPU, and last before it ends
    wrong = []
    for tid, (ran, begin, end) in own.items():
        mine = [(min(e, end) - max(b, begin), state) for of, b, e, state in spans if of == tid and b < end and e > begin]
        wanted, other = (sum(ns for ns, state in mine if (state == "runnable") == is_) / 1e9 for is_ in (True, False))
        wall = (end - begin) / 1e9
        if other > 0.01 * wall + 1e-3 or abs(wanted - (wall - ran)) > 0.01 * wall + 2e-3 + 3e-5 * len(mine):
            wrong.append((tid, ran, wall, wanted, other))
    return t.ok(len(own) == 4 and not wrong, "a CPU that four threads want: and waited for it else", (wrong, d["threads"]))


def names_hog(path, what, pid):
    """Each waits for the one before it in the queue, and all of them for the hog: of their process it has most of the critical path.
    What starts it, in a container first of all, may take longer on a busy machine."""
    p = run("report", "--critical", "-j", "--only-pid", str(pid), path)
    d = json.loads(p.stdout) if p.returncode == 0 else {"threads": [{"comm": p.stderr}]}
    own = [r["comm"] for r in d["threads"] if r.get("pid") == pid]
    t.ok(own[:1] == ["hog"], what + ": who holds it is named first", d["threads"][:3])


def holder():
    if not record("hog.data", "./prog", "hog"):
        return None
    d = json.loads(run("report", "--wait", "-j", "hog.data").stdout)
    if not d["wakings"]:
        return t.skip("who holds the lock", "no tracepoints here")
    names_hog("hog.data", "a lock", next(r["pid"] for r in d["threads"] if r["comm"] == "hog"))
    # the main thread waits for all of them, and each of them for a CPU on a busy machine
    d = json.loads(run("report", "--wait", "-j", "--comm", "brief", "hog.data").stdout)
    blocked = {r["reason"] for r in d["reasons"] if r["state"] == "blocked"} - {"sleep"}
    first = next(r for r in d["functions"] if r["reason"] in blocked)
    return t.ok(first["reason"] == "lock" and "lock" in first["function"] and first["seconds"] > 0.225, "where the lock is waited for comes first", d["functions"][:4])


def quota():
    """A fifth of a CPU, by either cgroup version that has the controller here: what the cgroup itself counts as throttled."""
    if os.getuid():
        return t.skip("a quota", "not root")
    for root, limit, stat in (("/sys/fs/cgroup", ("cpu.max", "20000 100000"), "throttled_usec"), ("/sys/fs/cgroup/cpu", ("cpu.cfs_quota_us", "20000"), "throttled_time")):
        where = os.path.join(root, "cyclade-test-%d" % os.getpid())
        try:
            os.mkdir(where)
            with open(os.path.join(where, limit[0]), "r+", encoding="ascii") as f:
                f.write(limit[1])
            break
        except OSError:
            if os.path.isdir(where):
                os.rmdir(where)
    else:
        return t.skip("a quota", "no cgroup with the CPU controller may be made here")
    try:
        p = record("quota.data", "sh", "-c", "echo 0 >%s/cgroup.procs; exec ./prog one" % where)
        with open(os.path.join(where, "cpu.stat"), encoding="ascii") as f:
            theirs = int(re.search(stat + r" (\d+)", f.read())[1]) / (1e6 if stat.endswith("usec") else 1e9)
    finally:
        os.rmdir(where)
    m = re.search(SPUN, p.stdout if p else "", re.M)
    if not m:
        return t.ok(False, "a quota: the program ends", p)
    d = json.loads(run("report", "--wait", "-j", "--only-tid", m[1], "quota.data").stdout)
    sums = {r["reason"]: r["seconds"] for r in d["reasons"]}
    off = sums.get("throttled", 0) + sums.get("preempted", 0)
    few = 0.02 * float(m[2]) + 2e-3 + 1e-4 * sum(r["waits"] for r in d["reasons"] if r["reason"] == "running")
    t.ok(float(m[2]) - few <= sums["running"] <= float(m[5]) + few, "a quota: it ran as long as it says", (m[2], m[5], d["reasons"]))
    if theirs < 0.05:
        return t.skip("a quota", "the machine was so busy that the quota was not used up")
    t.ok(off >= 0.99 * theirs - 2e-3, "a quota: what the cgroup throttled is time without a CPU", (theirs, d["reasons"]))
    if tuple(int(x) for x in re.findall(r"\d+", os.uname().release)[:2]) < (6, 18):
        return t.skip("a quota by name", "kernels before 6.18 throttle where they preempt")
    # on a busy machine the thread then waits for a CPU, which nothing records
    named = next((r for r in d["reasons"] if r["reason"] == "throttled"), {"seconds": 0, "waits": 0})
    wait = max((r["most_seconds"] for r in d["reasons"] if r["reason"] == "preempted"), default=0) + 1e-3
    return t.ok(0.99 * theirs - 2e-3 <= named["seconds"] <= 1.01 * theirs + named["waits"] * wait, "a quota: it is as much as the cgroup says",
                (theirs, d["reasons"]))


def container():
    """A program in a container seen from outside, and the recorder itself in one, without rights outside of it."""
    unshare = shutil.which("unshare")
    if not unshare or subprocess.run([unshare, "-p", "--fork", "--mount-proc", "true"], capture_output=True, check=False).returncode:
        return t.skip("a container", "no unshare, no rights to, or the root is no mount point, as in a chroot")
    if record("inside.data", unshare, "-p", "--fork", "--mount-proc", "./prog", "hog"):
        d = json.loads(run("report", "--wait", "-j", "inside.data").stdout)
        hogs = [r for r in d["threads"] if r["comm"] in ("hog", "brief")]
        t.ok(len(hogs) == 4 and all(abs(r["seconds"] - sum(r[s + "_seconds"] for s in ("running", "runnable", "blocked", "unknown"))) < 1e-9 for r in hogs),
             "a program in a container: its threads, and their sums close", d["threads"])
        if d["wakings"]:
            names_hog("inside.data", "a program in a container", hogs[0]["pid"])
    p = subprocess.run([unshare, "-Urpm", "--fork", "--mount-proc", CYCLADE, "record", "--wait", "-o", "own.data", "--", "timeout", "-s", "KILL", "60", "./prog", "hog"],
                       capture_output=True, text=True, timeout=90, check=False)
    if p.returncode:
        return t.ok("perf_event" in p.stderr or "Permission" in p.stderr or "unshare" in p.stderr, "in a container: refused, and says why", p.stderr)
    d = json.loads(run("report", "--wait", "-j", "own.data").stdout)
    hogs = [r for r in d["threads"] if r["comm"] in ("hog", "brief")]
    t.ok(len(hogs) == 4 and all(abs(r["seconds"] - sum(r[s + "_seconds"] for s in ("running", "runnable", "blocked", "unknown"))) < 1e-9 for r in hogs) and
         sum(r["blocked_seconds"] for r in hogs) > 0.3, "in a container: the sums close", d["threads"])
    t.ok(d["chains"] or ("no call chains at switches" in p.stderr and all(r["reason"] not in ("lock", "sleep") for r in d["reasons"])),
         "in a container: reasons, or it says that there are none", (p.stderr, d["reasons"]))
    return t.ok(d["wakings"] or "no tracepoints" in p.stderr, "in a container: wake-ups, or it says that there are none", p.stderr)


def nodes():
    """Two NUMA nodes of two CPUs: a thread moves within one, and to the other, and waits for a CPU after it ran in either."""
    m = Made([b"work"], wide=True)
    m.f.features[14] = struct.pack("<I", 2) + b"".join(struct.pack("<IQQI64s", n, 8 << 20, 4 << 20, 64, b"%d-%d" % (2 * n, 2 * n + 1)) for n in (0, 1))
    m.comm(1000, 7, b"a")
    m.on(1000, 7, cpu=0)
    for at, cpu, to, wait in ((2000, 0, 1, 100), (3000, 1, 2, 200), (4000, 2, 3, 300), (5000, 3, 0, 400)):
        m.off(at, 7, cpu=cpu, preempted=True)
        m.on(at + wait, 7, cpu=to)
    m.off(6000, 7, cpu=0)
    d = json.loads(run("report", "--concurrency", "-j", m.write("nodes.data")).stdout)
    t.equal([(r["cpu"], r["node"], r["arrivals"], r["from_nodes"], round(r["runnable_seconds"] * 1e9)) for r in d["cpus"]],
            [(0, 0, 1, 1, 100), (1, 0, 1, 0, 200), (2, 1, 1, 1, 300), (3, 1, 1, 0, 400)], "NUMA nodes: of each CPU")
    t.equal([(r["node"], r["cpus"], r["from_nodes"], r["switches"], round(r["runnable_seconds"] * 1e9), round(r["busy_share"] * 2 * 5000)) for r in d["nodes"]],
            [(0, 2, 1, 3, 300, 1000 + 900 + 600), (1, 2, 1, 2, 700, 800 + 700)], "NUMA nodes: sums of their CPUs")


def busy():
    """A recording of 10 s of a busy machine: 500,000 switches of 200 threads on 8 CPUs."""
    m = Made([b"schedule", b"futex_wait"], wide=True)
    data, cpus, now = [], [None] * 8, 1000
    for i in range(250000):
        cpu, tid = i % 8, 100 + i * 37 % 200
        now += 40000
        for who, misc in ((cpus[cpu], 1 << 13), (tid, 0)):
            if who:
                data.append(struct.pack("<IHHIIIIQIIQ", 15, misc, 48, 0, 0, who, who, now, cpu, 0, 40))
        cpus[cpu] = tid
    m.f.data += b"".join(data)
    m.write("busy.data")
    used = []
    for what in ("--wait", "--concurrency"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        p = run("report", what, "-j", "busy.data")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        d = json.loads(p.stdout)
        if what == "--wait":
            t.ok(len(d["threads"]) == 200 and abs(d["length_seconds"] - 10) < 0.01, "10 s of a busy machine: all threads", (len(d["threads"]), d["length_seconds"]))
    if os.environ.get("CYCLADE_SANITIZED"):
        return t.skip("how long it takes", "sanitizers do")
    return t.ok(max(used) < 1, "10 s of a busy machine: less than a second of processor time", used)


def one_and_many():
    """Nine seconds of a thread alone, one of four at a time: what was planted, exactly."""
    m = Made([b"alone", b"together"])
    m.comm(1000, 7, b"a")
    at = 1000
    m.on(at, 7)
    for i in range(90):
        m.sample(CLOCK, at + i * 10**8, 7, 0, at=0)
    at += 9 * 10**9
    for tid in (8, 9, 10):
        m.fork(at, 7, tid)
        m.on(at, tid, cpu=tid - 7)
    for i in range(10):
        for tid in (7, 8, 9, 10):
            m.sample(CLOCK, at + i * 10**8 + tid, tid, tid - 7, at=1)
    for tid in (8, 9, 10, 7):
        m.off(at + 10**9, tid, cpu=tid - 7)
    m.write("nine.data")
    d = json.loads(run("report", "--wall", "-j", "nine.data").stdout)
    t.equal([(r["function"], round(r["wall_share"], 9), round(r["share"], 9), round(r["alone_share"], 9)) for r in d["functions"]],
            [("alone", 0.9, round(90 / 130, 9), 0.9), ("together", 0.1, round(40 / 130, 9), 0)], "nine seconds of one thread, one of four: by wall time")
    d = json.loads(run("report", "--concurrency", "-j", "nine.data").stdout)
    t.equal([(r["running"], round(r["share"], 6)) for r in d["levels"]], [(1, 0.9), (4, 0.1)], "nine seconds of one thread, one of four: at a time")


if ready(t, PROGRAM):
    each()
    oversubscribed()
    holder()
    quota()
    container()
one_and_many()
nodes()
busy()
os.chdir("/")
shutil.rmtree(tmp)
t.done()

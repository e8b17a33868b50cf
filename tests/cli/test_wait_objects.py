#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What was waited for, by name: a made recording that says when a descriptor was looked at, and a program that waits for eight things
and prints their inode numbers, its own referee: record --wait, and run."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402
from tap import KERNEL, Tap, run  # noqa: E402
from waits_made import OUT, SAMPLE, Made  # noqa: E402
from waits_run import compiled  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-objects-")
os.chdir(tmp)

# ---- a made recording: read(5), futex, wait4, poll, by the first argument at the switch
DI = 1 << 5
EVENT = ("context-switches", dict(type=1, config=3, sample=SAMPLE | gen.BIT["REGS_USER"], ru=DI, period=1, sample_id_all=1), [46])
FUNCTIONS = [b"schedule", b"anon_pipe_read", b"ksys_read", b"do_syscall_64", b"futex_wait", b"__x64_sys_futex", b"do_wait",
             b"kernel_wait4", b"do_sys_poll", b"__x64_sys_poll", b"throttle_cfs_rq_work", b"handle_mm_fault", b"do_user_addr_fault"]
READ, FUTEX, WAIT4, POLL, FAULT = [0, 1, 2, 3], [0, 4, 5, 3], [0, 6, 7, 3], [0, 8, 9, 3], [0, 11, 12, 2, 3]
m = Made(FUNCTIONS, more=[EVENT])


def string(s):
    b = s.encode() + b"\0"
    return m.w.pack("I", len(b)) + b


def off(time, tid, chain, arg, abi=2):
    s = gen.Sample(1, m.events[4][2][0])
    s.v.update(IP=0xffffffffc0000010, TID=(m.pid(tid), tid), TIME=time, CPU=0, PERIOD=1, REGS_USER=(abi, [arg]),
               CALLCHAIN=[0xffffffffffffff80] + [0xffffffffc0000000 + x * 4096 + 16 for x in chain])
    m.f.data += s.record(m.w, m.events[4][1], 1)
    m.switch(time, tid, 0, OUT)


waits = []  # (from, until, tid, what is right)


def wait(at, until, tid, chain, arg, right, **more):
    off(at, tid, chain, arg, **more)
    m.on(until, tid)
    waits.append((at, until, tid, right))


m.on(500, 7)
wait(1000, 1900, 7, READ, 5, None)              # before all looks
wait(2000, 2900, 7, READ, 5, "fd 5: pipe:[11]")  # the look at 2500
wait(3000, 3900, 7, READ, 5, "fd 5: pipe:[11]")  # between 2500 and 4500
wait(5000, 5900, 7, READ, 5, None)              # between two files
wait(6000, 8900, 7, READ, 5, None)              # a look at each of two
wait(9000, 9900, 7, READ, 5, "fd 5: /a b")      # the last look is in it
wait(10000, 10900, 7, READ, 5, None)            # behind all
wait(11000, 11900, 7, READ, 6, None)            # never looked at
wait(12000, 12900, 7, READ, 5 + (1 << 32), None)  # the kernel takes 32 bits of it; no look
wait(13000, 13900, 7, FUTEX, 0x7f0000001000, "0x7f0000001000")
wait(14000, 14900, 7, WAIT4, 70, "process 70 (kid)")
wait(15000, 15900, 7, WAIT4, (1 << 64) - 1, "any child")
wait(16000, 16900, 7, POLL, 0x7f0000002000, "fd 3: socket:[12]")
wait(17000, 17900, 7, POLL, 0x7f0000002000, None)
wait(18000, 18900, 7, READ, 5, None, abi=1)     # a 32-bit call has its arguments elsewhere
wait(19000, 19900, 7, FAULT, 5, None)           # a fault inside of read() is for memory
m.on(20000, 7)
m.comm(600, 70, b"kid")
looks = [(7, 7, 1, 16500, 16500, 6, 0, "do_sys_poll", "fd 3: socket:[12]"), (8, 8, 2, 16500, 17500, 6, 0, "do_sys_poll", "fd 9: of another thread")]
fds = [(7, 5, 2500, 4500, "pipe:[11]"), (7, 5, 6500, 6500, "pipe:[11]"), (7, 5, 8500, 9500, "/a b"), (8, 6, 0, 20000, "/of/another")]
m.f.features[196] = m.w.pack("III", 1, 0, len(looks)) + b"".join(
    m.w.pack("IIQQQIQ", *x[:7]) + string(x[7]) + string(x[8]) for x in looks) + m.w.pack("I", len(fds)) + b"".join(
        m.w.pack("IIQQ", *x[:4]) + string(x[4]) for x in fds)
m.write("made.data")
p = run("sql", "--format", "json", "made.data", "SELECT started, ended, tid, reason, object FROM waits WHERE state = 'blocked'")
rows = json.loads(p.stdout) if p.returncode == 0 else {}
rows = rows.get("rows", rows) if isinstance(rows, dict) else rows
got = {r["started"]: r["object"] for r in rows}
t.equal([(w[0], got.get(w[0], "no row")) for w in waits], [(w[0], w[3]) for w in waits], "made: an object has a name if it is proven, else none")
d = json.loads(run("report", "--wait", "-j", "made.data").stdout)
sums = {}
for w in waits:
    sums[w[3]] = sums.get(w[3], 0) + w[1] - w[0]
mine = {}
for r in d["objects"]:
    mine[r["object"]] = mine.get(r["object"], 0) + round(r["seconds"] * 1e9)
t.equal(mine, sums, "made: the table of objects adds them up")
whole = open("made.data", "rb").read()
payload = m.f.features[196]
at = whole.index(payload)
bad = 0
for i in range(0, len(payload), 11):
    with open("bad.data", "wb") as f:
        f.write(whole[:at + i] + b"\xff" + whole[at + i + 1:])
    bad += run("report", "--wait", "-j", "bad.data").returncode not in (0, 2)
t.equal(bad, 0, "made: damaged looks are read, or refused")

# ---- a program that waits for things that it knows
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void nap(int n) { struct timespec t = { n / 1000, n % 1000 * 1000000L }; nanosleep(&t, 0); }
pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER, beside = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready_cond = PTHREAD_COND_INITIALIZER;
static int p[2], sv[2], pe[2], pp[2], ep, lk, go;
#define T(f, ...) static void *f(void *x) { prctl(PR_SET_NAME, #f); __VA_ARGS__; return x; }
T(t_first, pthread_mutex_lock(&first_lock); pthread_mutex_unlock(&first_lock))
T(t_second, pthread_mutex_lock(&second_lock); pthread_mutex_unlock(&second_lock))
T(t_cond, pthread_mutex_lock(&beside); while (!go) pthread_cond_wait(&ready_cond, &beside); pthread_mutex_unlock(&beside))
T(t_pipe, char c; if (read(p[0], &c, 1) < 0) abort())
T(t_sock, char c; if (read(sv[0], &c, 1) < 0) abort())
T(t_epoll, struct epoll_event e; epoll_wait(ep, &e, 1, -1))
T(t_poll, struct pollfd f = { pp[0], POLLIN, 0 }; poll(&f, 1, -1))
T(t_file, int f = open("lock file", O_RDWR); flock(f, LOCK_EX); close(f))
T(t_child, waitpid(*(int *)x, 0, 0))
static long ino(int fd) { struct stat s; fstat(fd, &s); return (long)s.st_ino; }
int main(int argc, char **v)
{
	void *(*fs[])(void *) = { t_first, t_second, t_cond, t_pipe, t_sock, t_epoll, t_poll, t_file, t_child };
	enum { N = sizeof(fs) / sizeof(*fs) };
	struct epoll_event e = { .events = EPOLLIN };
	int ms = argc > 1 ? atoi(v[1]) : 1000, kid;
	pthread_t t[N];
	if (pipe(p) || pipe(pp) || pipe(pe) || socketpair(AF_UNIX, SOCK_STREAM, 0, sv) || (lk = open("lock file", O_RDWR | O_CREAT, 0600)) < 0) return 1;
	ep = epoll_create1(0);
	epoll_ctl(ep, EPOLL_CTL_ADD, pe[0], &e);
	flock(lk, LOCK_EX);
	kid = fork();
	if (!kid) { nap(ms); _exit(0); }
	pthread_mutex_lock(&first_lock);
	pthread_mutex_lock(&second_lock);
	for (int i = 0; i < N; i++) pthread_create(&t[i], 0, fs[i], &kid);
	nap(ms);
	pthread_mutex_unlock(&first_lock);
	pthread_mutex_unlock(&second_lock);
	pthread_mutex_lock(&beside); go = 1; pthread_cond_broadcast(&ready_cond); pthread_mutex_unlock(&beside);
	if (write(p[1], "", 1) != 1 || write(pe[1], "", 1) != 1 || write(pp[1], "", 1) != 1 || write(sv[1], "", 1) != 1) return 1;
	flock(lk, LOCK_UN);
	for (int i = 0; i < N; i++) pthread_join(t[i], 0);
	printf("t_first first_lock\nt_second second_lock\nt_cond ready_cond\nt_pipe fd %d: pipe:[%ld]\nt_sock fd %d: socket:[%ld]\n"
	       "t_epoll fd %d: epoll of fd %d: pipe:[%ld]\nt_poll fd %d: pipe:[%ld]\nt_child process %d\n",
	       p[0], ino(p[0]), sv[0], ino(sv[0]), ep, pe[0], ino(pe[0]), pp[0], ino(pp[0]), kid);
	return 0;
}
"""


def judge(what, file, said):
    """Each thread's object, as the program knows it; no other object that the program has not."""
    d = json.loads(run("report", "--wait", "-j", file).stdout)
    right = dict(x.split(" ", 1) for x in said.splitlines())
    right["t_file"] = r"fd \d+: " + re.escape(os.path.join(tmp, "lock file"))
    object_of = {x["comm"]: x["object"] for x in d["threads"]}
    for thread, name in sorted(right.items()):
        is_name = object_of.get(thread) and (re.fullmatch(name, object_of[thread]) if thread == "t_file" else object_of[thread].startswith(name))
        t.ok(is_name, "%s: %s names what it waits for" % (what, thread), "%s, not %s\n%s" % (object_of.get(thread), name, d["objects"]))
    names = {r["object"] for r in d["objects"] if r["object"]}
    strange = [n for n in names if not any(re.match(x if k == "t_file" else re.escape(x), n) for k, x in right.items())
               and n != "beside" and not re.match(r"0x[0-9a-f]+", n)]
    t.ok(not strange, "%s: nothing else is named" % what, strange)
    return d


if compiled(PROGRAM, "prog", "-g"):
    p = run("record", "--wait", "-o", "wait.data", "--", "./prog", "1500")
    if p.returncode or "no call chains" in p.stderr or not KERNEL:
        t.skip("record --wait", "no call chains of switches: " + p.stderr.strip()[-120:])
    else:
        d = judge("record --wait", "wait.data", p.stdout)
        exact = [r for r in d["objects"] if r["object"]]
        t.ok(all(r["looks"] is None and r["waits"] for r in exact), "record --wait: times are those of the waits", exact)
        text = run("report", "--wait", "wait.data").stdout
        t.ok("waited for" in text and "first_lock" in text, "the table is shown", text)
    number = {m[1]: i for i, line in enumerate(PROGRAM.splitlines(), 1) for m in [re.match(r"T\((t_\w+)", line)] if m}
    p = run("record", "--wait", "-g=unwind", "-o", "lines.data", "--", "./prog", "1500") if os.uname().machine in ("x86_64", "aarch64") else None
    if not p or p.returncode or "no call chains" in p.stderr or not KERNEL:
        t.skip("record --wait -g=unwind", "no call chains of switches, or no unwinder" + (p.stderr.strip()[-120:] if p else ""))
    else:
        d = judge("record --wait -g=unwind", "lines.data", p.stdout)
        lines = {r["caller"]: r["srcline"] for r in d["objects"] if r["caller"] in number and r["object"]}
        t.equal({k: int(v.rsplit(":", 1)[1]) for k, v in lines.items() if v}, {k: number[k] for k in lines},
                "the line of the program that called the C library")
        t.ok(len(lines) >= 5, "of most waits", d["objects"])
    p = run("run", "--data", "run.data", "--", "./prog", "2500")
    if p.returncode:
        t.skip("run", "no event can be opened here: " + p.stderr.strip()[-120:])
    elif not os.access("/proc/self/syscall", os.R_OK):
        t.skip("run", "this kernel shows no system calls in /proc")
    else:
        d = judge("run", "run.data", p.stdout)
        t.ok(all(r["looks"] for r in d["objects"] if r["object"]), "run: times are estimates, from looks", d["objects"])
        t.ok(re.search(r"\((lock|pipe|socket|poll|file lock|child): ", p.stderr), "run itself names an object in its line", p.stderr)
        text = run("report", "--wait", "run.data").stdout
        line = re.search(r"thread '(t_\w+)' [^(]*\(([^:()]+): ([^)\n]+)\)", p.stderr)
        t.ok(line and any(line[1] in x and line[3].split(",")[0] in x for x in text.splitlines()),
             "and report --wait of its recording shows the same", (line and line.groups(), text))
else:
    t.skip("programs", "no C compiler here")


# ---- a quota
def quota():
    for root, limit in (("/sys/fs/cgroup", ("cpu.max", "20000 100000")), ("/sys/fs/cgroup/cpu", ("cpu.cfs_quota_us", "20000"))):
        where = os.path.join(root, "cyclade-objects-%d" % os.getpid())
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
        p = run("record", "--wait", "-o", "quota.data", "--", "sh", "-c",
                "echo 0 >%s/cgroup.procs; exec timeout 3 sh -c 'while :; do :; done'" % where)
    finally:
        for _ in range(100):
            try:
                os.rmdir(where)
                break
            except OSError:
                subprocess.run(["sleep", "0.1"], check=False)
    d = json.loads(run("report", "--wait", "-j", "quota.data").stdout or "{}")
    stopped = [r for r in d.get("objects", []) if r["reason"] == "throttled"]
    if not stopped:
        return t.skip("a quota", "this kernel does not show who is throttled: " + p.stderr.strip()[-120:])
    mine = "quota of /" + os.path.basename(where)
    return t.ok(any(r["object"] == mine for r in stopped) and all(r["object"] in (None, mine) for r in stopped),
                "a quota: the cgroup that has it is named", stopped)


if os.getuid():
    t.skip("a quota", "not root")
else:
    quota()
t.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run says who waited, and how long: threads that write down their own time on a CPU (the kernel's schedstat) and of waiting for one,
against the rows of `run`; hostile names; a CPU that others have; more switches than `run` records; without rights; several runs."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, Tap, run, wait_for  # noqa: E402
from waits_run import compiled  # noqa: E402

t = Tap()
tmp = tempfile.mkdtemp(prefix="cyclade-who-")
os.chdir(tmp)
os.chmod(tmp, 0o755)

# Each thread: its name, what it does, and in the end "name tid life ran delayed" in ns: by its own clock and by /proc/thread-self/schedstat.
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long long now(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static void nap(long ms) { struct timespec t = { ms / 1000, ms % 1000 * 1000000 }; nanosleep(&t, NULL); }
static void work(long ms) { long long until = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000LL; while (now(CLOCK_THREAD_CPUTIME_ID) < until) ; }
static void tell(const char *what, long long from)
{
	long long ran = 0, delayed = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	if (!f || fscanf(f, "%lld %lld", &ran, &delayed) != 2) exit(3);
	fclose(f);
	flockfile(out);
	fprintf(out, "%s %ld %lld %lld %lld\n", what, (long)syscall(SYS_gettid), now(CLOCK_MONOTONIC) - from, ran, delayed);
	fflush(out);
	funlockfile(out);
}
static void *sleeper(void *p) { long long from = now(CLOCK_MONOTONIC); (void)p; prctl(PR_SET_NAME, "a\033[1m|\"<,\n\377'"); for (int i = 0; i < 10; i++) { work(2); nap(70); } tell("sleeper", from); return NULL; }
static void *waiter(void *p) { long long from = now(CLOCK_MONOTONIC); (void)p; prctl(PR_SET_NAME, "waiter"); pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); tell("waiter", from); return NULL; }
static void *worker(void *p) { long long from = now(CLOCK_MONOTONIC); (void)p; prctl(PR_SET_NAME, "worker"); work(60); nap(100); work(60); tell("worker", from); return NULL; }
int main(int argc, char **v)
{
	pthread_t t[4];
	long long from = now(CLOCK_MONOTONIC);
	if (argc < 3 || !(out = fopen(v[1], "w"))) return 2;
	if (!strcmp(v[2], "work")) { work(250); tell("main", from); return 0; }
	pthread_mutex_lock(&lock);
	pthread_create(&t[0], NULL, sleeper, NULL);
	for (int i = 1; i < 3; i++) pthread_create(&t[i], NULL, waiter, NULL);
	int n = strcmp(v[2], "calm") ? 4 : 3;
	if (n == 4) pthread_create(&t[3], NULL, worker, NULL);
	nap(500);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
	tell("main", from);
	return 0;
}
"""
PING = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static int a[2], b[2];
static long n;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }
static void *echo(void *p) { char c; for (long i = 0; i < n; i++) if (read(a[0], &c, 1) != 1 || write(b[1], &c, 1) != 1) exit(1); return p; }
int main(int argc, char **v)
{
	pthread_t t; char c = 0; double from = now(); struct rusage u;
	n = argc > 2 ? atol(v[2]) : 1000;
	if (pipe(a) || pipe(b) || pthread_create(&t, NULL, echo, NULL)) return 1;
	for (long i = 0; i < n; i++) if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1) return 1;
	pthread_join(t, NULL);
	getrusage(RUSAGE_SELF, &u);
	FILE *out = fopen(v[1], "w");
	fprintf(out, "%.6f %ld\n", now() - from, u.ru_nvcsw + u.ru_nivcsw);
	return fclose(out);
}
"""


def stolen():
    """Seconds that the hypervisor and interrupts took from this machine so far: a thread that has a CPU then does not run by schedstat."""
    with open("/proc/stat", encoding="ascii") as f:
        v = f.readline().split()
    return (int(v[6]) + int(v[7]) + int(v[8])) / os.sysconf("SC_CLK_TCK")


def told(path):
    """tid -> (what, life, ran, delayed), in seconds."""
    rows = {}
    with open(path, encoding="ascii") as f:
        for line in f:
            w = line.split()
            rows[int(w[1])] = (w[0], *(int(x) / 1e9 for x in w[2:]))
    return rows


def made(*words, user=False, options=(), env=None):
    """`run -j` of these words: the document, and what else came."""
    before = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if user else []
    p = subprocess.run([*before, CYCLADE, "run", "-j", "-o", "run.json", "--data", "run.data", *options, "--", *words],
                       capture_output=True, text=True, errors="replace", env={**os.environ, **(env or {})}, check=False)
    try:
        with open("run.json", encoding="utf-8") as f:
            return json.load(f), p
    except (OSError, ValueError):
        return None, p


def closes(rows):
    """The largest part of a life that its states do not add up to."""
    return max(abs(r["running_seconds"] + r["runnable_seconds"] + r["blocked_seconds"] + r["unknown_seconds"] - r["seconds"]) / r["seconds"] for r in rows)


def threads(user):
    how = "an ordinary user: " if user else ""
    before = stolen()
    doc, p = made("./who", "told", "wait", user=user)
    slack = stolen() - before + 0.02
    if not t.ok(doc is not None and p.returncode == 0, how + "it ran", p.stderr):
        return
    rows, said = {r["tid"]: r for r in doc["threads"]}, told("told")
    bad = []
    for tid, (what, life, ran, delayed) in said.items():
        r = rows.get(tid)
        if not r:
            bad.append((what, "has no row"))
            continue
        if abs(r["running_seconds"] - ran) > 0.02 * life + slack:
            bad.append((what, "ran", ran, r))
        # preempted alone is told: from the waking until a CPU is free is in it only where wakings were recorded
        late = max(r["seconds"] - life, 0)  # before it looked at the clock first, and after it wrote that
        if r["runnable_seconds"] > delayed + late + slack:
            bad.append((what, "delayed", delayed, r))
        if r["seconds"] < 0.98 * life - slack or r["seconds"] > doc["seconds"] + slack:
            bad.append((what, "life", life, r))
    lost = doc["losses"]["lost"]
    t.ok(lost or (len(rows) == 5 and not bad), how + "time on a CPU and off it is that of each thread's own schedstat", (bad, said))
    t.ok(closes(doc["threads"]) < 1e-6, how + "running, runnable, blocked and unknown are the life", doc["threads"])
    names = {said[tid][0]: rows[tid]["comm"] for tid in said if tid in rows}
    t.ok(names.get("sleeper", "").startswith("a\x1b[1m|\"<,\n") and names.get("waiter") == "waiter" and names.get("main") == "who", how + "each has its name", names)
    p = run("report", "--wait", "-i", "run.data", "-j")
    again = {r["tid"]: r for r in json.loads(p.stdout)["threads"]} if not p.returncode else {}
    guessed = ("reason", "why", "looks")  # of looks while it ran, which are not in the recording
    t.ok({i: {k: v for k, v in r.items() if k not in guessed} for i, r in again.items()} ==
         {i: {k: v for k, v in r.items() if k not in guessed} for i, r in rows.items()}, how + "report --wait of the recording has the same rows", (again, rows))
    for what, why in (("sleeper", "sleep"), ("waiter", "lock"), ("main", "sleep")):
        v = [rows[tid] for tid in said if said[tid][0] == what and tid in rows and (rows[tid]["looks"] or 0) >= 3 and rows[tid]["blocked_seconds"] > rows[tid]["seconds"] * 0.6]
        if what == "main":  # it slept for half a second, and waited for the others: when they came to an end depends on the machine
            v = [r for r in v if r["seconds"] < 0.7]
        t.ok(all(r["reason"] == why for r in v), how + "%s: what it was seen waiting for" % what, v)


def line(*words, options=(), before=()):
    """What people read about waits, in one line."""
    p = subprocess.run([*before, CYCLADE, "run", "--data", "line.data", *options, "--", *words], capture_output=True, text=True, errors="backslashreplace", check=False)
    text = " ".join(p.stderr.split())
    at = text.find(" on a CPU for ")
    return p.stderr, text[at:text.find(" where ", at) if " where " in text[at:] else None] if at >= 0 else ""


def lines():
    text, said = line("./who", "told", "calm")
    t.ok("it waited more than it worked" in said and "2 threads 'waiter'" in said, "the line names threads of one name together, with their time", text)
    t.ok("\x1b[1m" not in text.replace("\x1b[0m", "") and "\n\\xff" not in text, "no name speaks to the terminal", text)
    t.ok("report --wait" in text and "record --wait -- ./who told calm" in text, "the next commands", text)
    text, said = line("sleep", "2")
    t.ok("most of it thread 'sleep'" in said and (not wchan() or "(sleep)" in said), "a program that sleeps", text)
    text, said = line("sh", "-c", "sleep 2; true")
    t.ok("then thread 'sleep'" in said and (not wchan() or re.search(r"\(child[^)]*\), then", said) and "(sleep)" in said), "a program that waits for another", text)
    text, said = line("sleep", "0.2", options=("-r", "2"))
    t.ok("in run 1 most of it thread 'sleep'" in said, "of several runs: the first", text)
    text, said = line("./who", "told", "work", options=("--delay", "1ms"))
    t.ok("thread '" not in said, "with --delay nobody is named", text)


def state(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        name, rest = f.read().rsplit(")", 1)
    return name.split("(", 1)[1], rest.split()[0]


def wchan():
    """Whether this kernel tells where a thread waits."""
    with subprocess.Popen(["sleep", "60"]) as p:
        try:
            wait_for(lambda: state(p.pid) == ("sleep", "S"))
            with open("/proc/%d/wchan" % p.pid, encoding="ascii") as f:
                return "nanosleep" in f.read()
        except OSError:
            return False
        finally:
            p.kill()


def crowded():
    """A CPU that two others want as well: it is not the program that waits for something."""
    cpu = min(os.sched_getaffinity(0))
    others = [subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "print(1, flush=True)\nwhile True: pass"], stdout=subprocess.PIPE) for _ in range(4)]
    try:
        for o in others:
            o.stdout.readline()
        text, said = line("taskset", "-c", str(cpu), "./who", "told", "work")
        t.ok("it waited more than it worked" in said and "(for a CPU)" in said, "who could have run is told apart from who waited for something", text)
        doc, _ = made("taskset", "-c", str(cpu), "./who", "told", "work")
        r = doc["threads"][0]
        t.ok(r["runnable_seconds"] > r["seconds"] / 2 and r["blocked_seconds"] < r["runnable_seconds"], "by figures, too", r)
    finally:
        for o in others:
            o.kill()
            o.wait()


def many():
    """Two threads that send a byte to and fro: as long as one CPU has that many, `run` records a part of the time."""
    doc, p = made("taskset", "-c", str(min(os.sched_getaffinity(0))), "./ping", "told", "60000")
    if not t.ok(doc is not None and p.returncode == 0, "many switches: it ran", p.stderr):
        return
    with open("told", encoding="ascii") as f:
        seconds, switches = (float(x) for x in f.read().split())
    rows = doc["threads"]
    told_of = sum(r["switches"] for r in rows)
    t.ok(closes(rows) < 1e-6, "many switches: the sum closes", rows)
    head = json.loads(run("report", "--wait", "-i", "run.data", "-j").stdout)
    unknown = max(r["unknown_seconds"] / r["seconds"] for r in rows)
    if told_of < 0.8 * switches:
        t.ok(head["pauses"] and unknown > 0.05 or head["losses"]["lost"], "many switches: what was not recorded is unknown", (head, rows))
        text = run("report", "--wait", "-i", "run.data").stdout
        t.ok("too many for `run`" in " ".join(text.split()) or head["losses"]["lost"], "many switches: it says so", text)
    else:
        t.ok(unknown < 0.2, "many switches: they were few enough on this machine", (told_of, switches, seconds, rows))
    t.ok(told_of < 8000 * seconds + 40000, "many switches: no more than the budget was recorded", (told_of, switches, seconds))
    t.ok(doc["losses"]["throttles"] == 0 and head["losses"]["throttles"] == 0, "a pause is no throttling", (doc["losses"], head["losses"]))


if compiled(PROGRAM, "who") and compiled(PING, "ping"):
    os.chmod("who", 0o755)
    threads(False)
    if os.geteuid() == 0 and shutil.which("setpriv"):
        os.chmod(tmp, 0o777)
        for name in ("told", "run.json", "run.data"):
            os.remove(name)
        threads(True)
        for name in ("told", "run.json", "run.data"):
            os.remove(name)
    lines()
    crowded()
    many()
else:
    t.skip("programs", "no C compiler, or headers are missing")
os.chdir("/")
shutil.rmtree(tmp)
t.done()

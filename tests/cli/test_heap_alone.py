#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record --heap cannot be noticed: each program runs alone and under the library, with the same output, status and files. Programs
print nothing that differs between two runs of the same kind (addresses, pids, times)."""
import fcntl
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import heap_programs  # noqa: E402
from heap_made import ALLOC, LIBRARY, STACK, read_logs  # noqa: E402
from tap import CYCLADE, Tap, run, wait_for  # noqa: E402

os.environ.pop("MALLOC_PERTURB_", None)
os.environ.pop("LD_PRELOAD", None)
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
HEAD = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static void *keep(size_t n) { void *p = malloc(n); if (p) memset(p, 1, n); return p; }
"""


def build(name, text, *flags, cc="cc", head=HEAD):
    return heap_programs.build(name, text, *flags, cc=cc, head=head)


def both(name, *words, preload="", rate=1, env=()):
    """Its end alone and logged, each in a directory of its own, and the logs."""
    ends, logs = [], {}
    for how in ("alone", "logged"):
        d, at = tempfile.mkdtemp(dir="."), os.path.abspath(tempfile.mkdtemp(dir="."))
        e = dict(os.environ, **dict(env))
        if how == "logged":
            e.update(CYCLADE_HEAP="4:%d:0:%s" % (rate, at), LD_PRELOAD=LIBRARY + (":" + preload if preload else ""))
        elif preload:
            e.update(LD_PRELOAD=preload)
        p = subprocess.run([os.path.abspath(name), *words], env=e, capture_output=True, text=True, timeout=120, check=False, cwd=d)
        ends.append((p.returncode, p.stdout, p.stderr, sorted(os.listdir(d))))
        if how == "logged":
            logs = read_logs(at)
    return ends[0], ends[1], logs


def same(name, *words, what, wants=(0, "", ""), **more):
    alone, with_it, logs = both(name, *words, **more)
    t.equal(with_it, alone, "%s: as alone" % what)
    if wants is not None:
        t.equal(alone[:3], wants, "%s: does what it is to do" % what)
    return list(logs.values())


def sizes(logs):
    return [r[3] for log in logs for r in log.of(ALLOC)]


# ---- allocators of others ----
MAPPED = """
#include <sys/mman.h>
#include <string.h>
#include <stdint.h>
static int calls;
static void *map(size_t n) { calls++; char *p = mmap(0, (n + 16 + 4095) & ~4095ul, 3, 0x22, -1, 0); if (p == MAP_FAILED) return 0;
	*(size_t *)p = n; *(uint64_t *)(p + 8) = 0xfeedfacecafebef0; return p + 16; }
void *malloc(size_t n) { return map(n); }
void free(void *p) { if (p) { size_t n = *(size_t *)((char *)p - 16); munmap((char *)p - 16, (n + 16 + 4095) & ~4095ul); } }
void *calloc(size_t a, size_t b) { return map(a * b); }
void *realloc(void *p, size_t n) { if (n > 1ul << 40) return 0; void *q = map(n); if (p) { size_t o = *(size_t *)((char *)p - 16); memcpy(q, p, o < n ? o : n); free(p); } return q; }
int own_calls(void) { return calls; }
"""
USES = """
int own_calls(void) __attribute__((weak));
static void *nothing(void *p) { return p; }
int main(void)
{
	char *p = malloc(10);
	strcpy(p, "text");
	for (int i = 0; i < 100; i++) p = realloc(p, 20 + i * 100);
	if (realloc(p, SIZE_MAX / 4)) return 1;
	if (strcmp(p, "text")) return 2;
	free(p);
	int before = own_calls ? own_calls() : 0;
	for (int i = 0; i < 3; i++) {
		pthread_t id;
		if (pthread_create(&id, NULL, nothing, NULL)) return 3;
		pthread_join(id, NULL);
	}
	for (int i = 0; i < 200; i++) free(malloc(50 << i % 10));
	printf("%d\\n", own_calls ? own_calls() - before - 200 : -1);
	return 5;
}"""
build("libmapped.so", MAPPED, "-shared", "-fPIC", head="")
build("uses", USES, "-L.", "-lmapped", "-Wl,-rpath," + tmp.name, "-pthread")
build("defines", USES, "-pthread", head=HEAD.replace("static void *keep", MAPPED + "\nstatic void *keep"))
build("plain", USES, "-pthread")
# how many libc allocates for a thread is libc's; with the library as many as without it
for rate in (1, 4):
    logs = same("uses", what="a library's allocator that lacks malloc_usable_size, one of %d logged" % rate, wants=None, rate=rate)
    if rate == 1:
        t.ok({20 + 99 * 100, 50 << 9} <= set(sizes(logs)), "it is logged")
    same("defines", what="the program's own allocator, one of %d logged" % rate, wants=None, rate=rate)
for pattern in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2*"):
    path = (sorted(glob.glob("/usr/lib/*/" + pattern)) or sorted(glob.glob("/usr/lib64/" + pattern)) or [None])[0]
    if not path:
        t.skip(pattern, "not installed")
        continue
    for rate in (1, 4):
        logs = same("plain", what="%s, one of %d logged" % (pattern, rate), wants=(5, "-1\n", ""), preload=path, rate=rate)
    t.ok(logs and len(sizes(logs)) > 20, "it is logged", len(logs))

# ---- threads ----
build("keys", """
static pthread_key_t key[4096];
static void gone(void *p) { free(p); }
static void *work(void *p) { for (int i = 0; i < 100; i++) pthread_setspecific(key[i], malloc(100 + i)); return p; }
int main(void)
{
	int n = 0;
	free(malloc(3));
	while (n < 4096 && !pthread_key_create(&key[n], gone)) n++;
	for (int i = 0; i < 20; i++) { pthread_t id; if (pthread_create(&id, NULL, work, NULL)) return 2; pthread_join(id, NULL); }
	printf("%d\\n", n);
	return 0;
}""", "-pthread")
logs = same("keys", what="all keys of threads", wants=None)
t.ok(sizes(logs).count(150) == 20 and not [n for log in logs for n in log.left().values() if 100 <= n < 200], "what destructors of keys free is freed")

build("ends", """
#include <threads.h>
static int depth(void) { void *b[64]; return backtrace(b, 64); }
static void clean(void *p) { free(p); puts("cleaned"); }
static void *exits(void *p) { free(malloc(71)); printf("%d\\n", depth()); pthread_cleanup_push(clean, malloc(72)); pthread_exit(malloc(73)); pthread_cleanup_pop(0); }
static void *waits(void *p) { pthread_cleanup_push(clean, malloc(74)); for (;;) { free(malloc(75)); usleep(100); } pthread_cleanup_pop(0); return p; }
static void *spins(void *p) { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); *(volatile int *)p = 1; for (volatile long i = 0;; i++) ; return p; }
static int c11(void *p) { free(malloc(76)); return 7; }
static char stack[1 << 17] __attribute__((aligned(4096)));
static void *sized(void *p) { char a[20000]; memset(a, 1, sizeof a); free(malloc(77)); return p; }
int main(void)
{
	pthread_t id; void *r; thrd_t c; int n; volatile int there = 0; pthread_attr_t a;
	depth();
	pthread_create(&id, NULL, exits, NULL); pthread_join(id, &r); free(r);
	pthread_create(&id, NULL, waits, NULL); usleep(3000); pthread_cancel(id); pthread_join(id, &r); printf("%d\\n", r == PTHREAD_CANCELED);
	pthread_create(&id, NULL, spins, (void *)&there); while (!there) ; pthread_cancel(id); pthread_join(id, &r); printf("%d\\n", r == PTHREAD_CANCELED);
	thrd_create(&c, c11, NULL); thrd_join(c, &n); printf("%d\\n", n);
	pthread_attr_init(&a); pthread_attr_setstack(&a, stack, sizeof stack);
	printf("%d ", pthread_create(&id, &a, sized, NULL)); printf("%d\\n", pthread_join(id, &r));
	pthread_attr_init(&a); pthread_attr_setstacksize(&a, 1 << 16);
	printf("%d ", pthread_create(&id, &a, sized, NULL)); printf("%d\\n", pthread_join(id, &r));
	for (int i = 0; i < 200; i++) { pthread_create(&id, NULL, sized, NULL); pthread_join(id, &r); }
	return 0;
}""", "-pthread")
logs = same("ends", what="threads that exit, are cancelled, have stacks of their own", wants=None)
t.equal([sizes(logs).count(n) for n in (72, 73, 76, 77)], [1, 1, 1, 202], "each is logged")
t.equal(len([1 for log in logs for _ in log.of(STACK)]), 205, "stacks of those that pthread_create made")

build("forking", """
static volatile int stop;
static void *work(void *p) { while (!stop) { void *a = malloc(100), *b = malloc(70000); free(a); free(b); } return p; }
static void *brief(void *p) { return malloc(10); }
int main(void)
{
	pthread_t id[4], one; int bad = 0, s;
	for (int i = 0; i < 4; i++) pthread_create(&id[i], NULL, work, NULL);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();
		if (!pid) {
			alarm(60);
			for (int k = 0; k < 10; k++) free(malloc(3000 + i));
			pthread_create(&one, NULL, brief, NULL); pthread_join(one, NULL);
			_exit(i % 7);
		}
		waitpid(pid, &s, 0);
		bad += !WIFEXITED(s) || WEXITSTATUS(s) != i % 7;
	}
	stop = 1;
	for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
	printf("%d\\n", bad);
	return 0;
}""", "-pthread")
logs = same("forking", what="forks while threads allocate", wants=(0, "0\n", ""))
t.equal([len(logs)] + [sizes(logs).count(3000 + i) for i in (0, 50, 99)], [101, 10, 10, 10], "each child has its log")

build("lends", """
static volatile int stop;
static void *work(void *p) { for (int i = 0; i < 400; i++) free(malloc(624)); return p; }
static void *twice(void *p)
{
	pthread_t id;
	for (int i = 0; i < 400; i++) {
		pid_t pid = vfork();
		if (!pid) { void *a = malloc(621); free(malloc(622)); free(a); _exit(3); }
		free(malloc(623));
		int s; waitpid(pid, &s, 0);
		if (i % 20 == 0) { pthread_create(&id, NULL, work, NULL); pthread_join(id, NULL); }
	}
	return p;
}
int main(int n, char **v)
{
	pthread_t id[2];
	for (int i = 0; i < 2; i++) pthread_create(&id[i], NULL, twice, NULL);
	for (int i = 0; i < 2; i++) pthread_join(id[i], NULL);
	twice(NULL);
	return 0;
}""", "-pthread")
logs = same("lends", what="children of vfork that allocate", wants=(0, "", ""))
t.equal([len(logs)] + [sizes(logs).count(n) for n in (621, 622, 623, 624)], [1, 1200, 1200, 1200, 24000], "what they allocate is logged, in the log of their parent, and nothing else is lost")

# ---- small stacks: the library's own need is measured, as libc's alone may be more than a page ----
build("small", """
#define STACK 65536
static ucontext_t back;
static char *area;
static int deepest(void) { int i = 0; while (i < STACK && area[i] == 0x5a) i++; return STACK - i; }
static void run(void (*f)(void))
{
	ucontext_t c;
	memset(area, 0x5a, STACK);
	getcontext(&c);
	c.uc_stack.ss_sp = area; c.uc_stack.ss_size = STACK; c.uc_link = &back;
	makecontext(&c, f, 0);
	swapcontext(&back, &c);
}
static void *volatile p;
static void nothing(void) { }
static void first(void) { p = malloc(41); }                 /* the first call of a thread: its chunk */
static void many(void) { for (int i = 0; i < 5000; i++) free(malloc(42)); } /* chunk after chunk */
static void other(void) { p = realloc(p, 50); free(p); p = calloc(1, 43); free(p); }
static void *thread(void *arg)
{
	int n, most = 0;
	run(nothing); n = deepest();
	run(first); most = deepest() > most ? deepest() : most;
	run(many); most = deepest() > most ? deepest() : most;
	run(other); most = deepest() > most ? deepest() : most;
	*(int *)arg = most - n;
	return NULL;
}
int main(int n, char **v)
{
	pthread_t id; int used = 0, small;
	area = mmap(NULL, STACK, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 100; i++) free(realloc(calloc(1, 43), 50)); /* what libc binds at the first call is bound */
	pthread_create(&id, NULL, thread, &used); pthread_join(id, NULL);
	thread(&small);
	if (n > 1) printf("%d\\n", used > small ? used : small);
	return used > 1 << 14;
}""", "-pthread")
logs = same("small", what="coroutines", wants=None)
t.equal([sizes(logs).count(n) for n in (41, 42)], [2, 10000], "they are logged")
alone, with_it, _ = both("small", "tell")
more = int(with_it[1]) - int(alone[1])
t.ok(more < 1200, "of a coroutine's stack the library uses less than 1,200 bytes, the signal frame aside", (alone, with_it))

build("page", """
static ucontext_t back, c;
static int done;
static void f(void) { for (int i = 0; i < 3000; i++) free(malloc(44)); done = 1; }
int main(void)
{
	char *m = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	free(malloc(1));
	mprotect(m + 4096, 4096, 3);
	getcontext(&c);
	c.uc_stack.ss_sp = m + 4096; c.uc_stack.ss_size = 4096; c.uc_link = &back;
	makecontext(&c, f, 0);
	swapcontext(&back, &c);
	puts(done ? "done" : "not");
	return 0;
}""", "-Wl,-z,now")
logs = same("page", what="a coroutine on one page, with none below it", wants=(0, "done\n", ""))
t.equal(sizes(logs).count(44), 3000, "it is logged")

# ---- errors, signals, descriptors, limits ----
build("errors", """
int main(void)
{
	char *e = dlerror();
	printf("%s\\n", e ? e : "none");
	dlopen("/nonexistent/lib.so", RTLD_NOW);
	errno = 77; free(malloc(100)); printf("%d\\n", errno);
	e = dlerror(); printf("%s\\n", e && strstr(e, "nonexistent") ? "told" : "not told");
	return 0;
}""", "-ldl")
same("errors", what="dlerror() and errno", wants=(0, "none\n77\ntold\n", ""))

# its constructor is the first to allocate, under a lock of libc that translating an error needs, too
build("libbinds.so", "#include <libintl.h>\n__attribute__((constructor)) static void begin(void) { bindtextdomain(\"one\", \"/nonexistent\"); }", "-shared", "-fPIC", head="")
build("binds", """
#include <libintl.h>
int main(void) { alarm(60); free(malloc(101)); puts(bindtextdomain("two", "/nonexistent")); return 0; }""", "-Wl,--no-as-needed", "-L.", "-lbinds", "-Wl,-rpath," + tmp.name)
logs = same("binds", what="a library that binds texts when it is loaded", wants=(0, "/nonexistent\n", ""))
t.equal(sizes(logs).count(101), 1, "it is logged")

build("jumps", """
static sigjmp_buf at;
static volatile int n;
static void on(int s) { n++; siglongjmp(at, 1); }
static void *other(void *p) { while (n < 300) free(malloc(60)); return p; }
int main(void)
{
	struct sigaction a = { .sa_handler = on };
	struct itimerval i = { { 0, 300 }, { 0, 300 } };
	pthread_t id;
	sigset_t s;
	sigemptyset(&s); sigaddset(&s, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &s, NULL);
	pthread_create(&id, NULL, other, NULL);
	pthread_sigmask(SIG_UNBLOCK, &s, NULL);
	sigaction(SIGALRM, &a, NULL);
	if (!sigsetjmp(at, 1))
		setitimer(ITIMER_REAL, &i, NULL);
	while (n < 300) { void *p = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); munmap(p, 4096); }
	signal(SIGALRM, SIG_IGN); /* what follows must not be left half-way */
	pthread_join(id, NULL);
	puts("end");
	return 0;
}""", "-pthread")
same("jumps", what="handlers that never return", wants=(0, "end\n", ""))

build("closes", """
int main(void)
{
	free(malloc(7));
	for (int i = 3; i < 1024; i++) close(i);
	int a = open("/dev/null", O_RDONLY);
	for (int i = 0; i < 20000; i++) free(malloc(81));
	int b = open("file", O_CREAT | O_WRONLY, 0600);
	printf("%d %d\\n", a, b); fflush(stdout);
	close(0); close(1); close(2);
	for (int i = 0; i < 20000; i++) free(malloc(82));
	return open("/dev/null", O_RDONLY);
}""")
logs = same("closes", what="all descriptors closed", wants=(0, "3 4\n", ""))
t.equal([sizes(logs).count(81), sizes(logs).count(82)], [20000, 20000], "it is logged")

build("limits", """
int main(int n, char **v)
{
	struct rlimit none = { 0, 0 }, few = { 3, 3 };
	free(malloc(7));
	setrlimit(RLIMIT_NOFILE, &few);
	int fd = open("/dev/null", O_RDONLY), e = errno;
	printf("%d %d\\n", fd, e); fflush(stdout);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 50000; i++) free(malloc(91));
	FILE *f = tmpfile();
	puts(f ? "file" : "no file");
	return 0;
}""")
logs = same("limits", what="no descriptors, no bytes of files", wants=(0, "-1 24\nno file\n", ""))
t.equal(sizes(logs).count(91), 50000, "it is logged, as that needs none")

build("memory", """
int main(void)
{
	long pages = 0;
	void *a, *b;
	free(malloc(7));
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%ld", &pages) != 1) return 1;
	fclose(f);
	struct rlimit r = { (pages << 12) + (64 << 20), (pages << 12) + (64 << 20) };
	setrlimit(RLIMIT_AS, &r);
	for (int i = 0; i < 3000000; i++) free(malloc(92));
	a = malloc(50 << 20);
	b = malloc(50 << 20);
	printf("%d %d\\n", !!a, !!b);
	return 0;
}""")
logs = same("memory", what="a limit of addresses", wants=(0, "1 0\n", ""))
t.equal(sizes(logs).count(92), 3000000, "it is logged")

# ---- filters of system calls: each call that the program does not make itself ends it ----
FILTERS = """
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static const int may[] = { SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_mmap, SYS_munmap, SYS_futex, SYS_mprotect, SYS_clone, SYS_clone3, SYS_wait4,
	SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_execve, SYS_newfstatat, SYS_clock_nanosleep, MORE };
static int set(int how)
{
	struct sock_filter f[100] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	unsigned n = 1;
	for (unsigned i = 0; i < sizeof may / sizeof *may; i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, may[i], 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog p = { n, f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
	if (how == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (how == 1) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, how == 2 ? 0 : SECCOMP_FILTER_FLAG_TSYNC, &p);
}
static volatile int go, stop;
static void *work(void *p) { free(malloc(93)); while (!go) usleep(100); for (int i = 0; i < 2000; i++) free(malloc(94)); while (!stop) usleep(100); return p; }
"""
build("strict", FILTERS.replace("MORE", "SYS_read") + """
int main(int n, char **v)
{
	free(malloc(95));
	if (set(0)) return 1;
	for (int i = 0; i < 20000; i++) free(malloc(95));
	write(1, "end\\n", 4);
	syscall(SYS_exit, 3);
	return 0;
}""")
logs = same("strict", what="strict mode", wants=(3, "end\n", ""))
t.equal([len(logs), sizes(logs).count(95), logs[0].not_logged], [1, 1, 40000], "what is not logged is counted")
build("filter", FILTERS.replace("MORE", ", ".join(["SYS_prctl", "SYS_seccomp", "SYS_madvise"])) + """
int main(int n, char **v)
{
	pthread_t id[3], late;
	int s;
	void *r, *h = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	free(malloc(95)); puts("begins"); fflush(stdout);
	for (int i = 0; i < 3; i++) pthread_create(&id[i], NULL, work, NULL);
	if (set(v[1][0] - '0') || set(v[1][0] - '0')) return 1; /* the second one under the first */
	go = 1;
	for (int i = 0; i < (n > 2 ? 2000000 : 20000); i++) free(malloc(95));
	if (h) dlclose(h);
	pthread_create(&late, NULL, work, NULL);
	stop = 1;
	pthread_join(late, &r);
	for (int i = 0; i < 3; i++) pthread_join(id[i], &r);
	pid_t pid = fork();
	if (!pid) { for (int i = 0; i < 1000; i++) free(malloc(96)); _exit(4); }
	wait4(pid, &s, 0, NULL);
	printf("%d\\n", WIFEXITED(s) ? WEXITSTATUS(s) : 1000 + WTERMSIG(s));
	return 5;
}""", "-pthread")
for how in "123":
    logs = same("filter", how, what="a filter that ends the program, way " + how, wants=(5, "begins\n4\n", ""))
    t.equal([sizes(logs).count(n) for n in (94, 95, 96)], [8000, 20001, 0], "it is logged, its children are not")
logs = same("filter", "1", "more", what="a filter, and more than there is room for", wants=(5, "begins\n4\n", ""))
t.ok(20001 < sizes(logs).count(95) < 2000001 and logs[0].not_logged, "it is logged in part, the rest is counted")
build("refused", FILTERS.replace("MORE", "SYS_read") + """
int main(void)
{
	struct sock_fprog p = { 0, NULL };
	free(malloc(95));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int e = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	printf("%d %d\\n", e, errno);
	for (int i = 0; i < 300000; i++) free(malloc(95));
	return 6;
}""")
logs = same("refused", what="a filter that the kernel refuses", wants=(6, "-1 22\n", ""))
t.equal(sizes(logs).count(95), 300001, "it is logged on")

if shutil.which("c++"):
    build("plugin.so", "#include <new>\n#include <cstdio>\nextern \"C\" int go(void) { int *volatile a = new int[1001]; delete[] a; try { (void)!::operator new(~0ul / 4); } "
          "catch (const std::bad_alloc &) { return 3; } return 4; }", "-shared", "-fPIC", cc="c++", head="")
    build("loads", """
int main(void) { void *h = dlopen("%s/plugin.so", RTLD_NOW | RTLD_LOCAL); printf("%%d\\n", ((int (*)(void))dlsym(h, "go"))()); return 0; }""" % tmp.name, "-ldl")
    logs = same("loads", what="a plug-in of C++ in a program of C, which has exceptions", wants=(0, "3\n", ""))
    t.ok(4004 in sizes(logs), "it is logged")

# ---- programs that the library would end: sanitizers and other loaders, wherever they are started from ----
EXECS = """
#include <spawn.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
extern char **environ;
static int last_reader(const char *path) /* as nobody may open it again, root neither */
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct c[2] = { { 0 } };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	chmod(path, 0100);
	syscall(SYS_capset, &h, c);
	return fd;
}
static int move(const char *how, pid_t *pid, char *path, char **args)
{
	posix_spawn_file_actions_t a;
	char here[4096], *base = strrchr(getcwd(here, sizeof here), '/');
	int e = posix_spawn_file_actions_init(&a), fd = open(here, O_PATH | O_CLOEXEC);
	chdir("/");
	if (how[1] == 'f') posix_spawn_file_actions_addfchdir_np(&a, fd);
	if (how[1] == 't') { *base = 0; posix_spawn_file_actions_addchdir_np(&a, *here ? here : "/"); posix_spawn_file_actions_addchdir_np(&a, base + 1); }
	if (how[1] == 'o') posix_spawn_file_actions_addchdir_np(&a, here);
	setenv("PATH", "/nonexistent::/bin:/usr/bin", 1);
	e = how[2] ? posix_spawnp(pid, path + 2, &a, NULL, args, environ) : posix_spawn(pid, path, &a, NULL, args, environ);
	posix_spawn_file_actions_destroy(&a);
	fchdir(fd);
	return e;
}
int main(int n, char **v)
{
	char *args[] = { v[2], "arg", NULL };
	pid_t pid = 0; int s, fd;
	free(malloc(511));
	setenv("PATH", "HIDES:.:/bin:/usr/bin", 1);
	if (!strcmp(v[1], "vfork")) pid = vfork();
	else if (!strchr("pm", v[1][0])) pid = fork();
	if (!pid) switch (v[1][0]) {
	case 'v': _exit(execve(v[2], args, environ));
	case '1': _exit(execl(v[2], v[2], "arg", NULL));
	case '2': _exit(execlp(v[2] + 2, v[2], "arg", NULL));
	case '3': _exit(execle(v[2], v[2], "arg", NULL, environ));
	case '4': _exit(execv(v[2], args));
	case '5': _exit(execvp(v[2] + 2, args));
	case '6': _exit(execvpe(v[2] + 2, args, environ));
	case '7': fd = open(v[2], O_RDONLY | O_CLOEXEC); _exit(fexecve(fd, args, environ));
	case '8': fd = open(v[2], O_RDONLY | O_CLOEXEC); _exit(execveat(fd, "", args, environ, AT_EMPTY_PATH));
	case '9': _exit(system(v[2]) >> 8);
	case 'a': fd = open(v[2], O_PATH | O_CLOEXEC); _exit(fexecve(fd, args, environ));
	case 'b': fd = open(v[2], O_PATH | O_CLOEXEC); _exit(execveat(fd, "", args, environ, AT_EMPTY_PATH));
	case 'c': fd = open(".", O_PATH | O_CLOEXEC); chdir("/"); _exit(execveat(fd, v[2], args, environ, 0));
	case 'd': _exit(syscall(SYS_execve, v[2], args, environ));
	case 'e': fd = open(".", O_PATH | O_CLOEXEC); chdir("/"); _exit(syscall(SYS_execveat, fd, v[2], args, environ, 0));
	case 'g': fd = last_reader(v[2]); _exit(fexecve(fd, args, environ));
	case 'm': s = move(v[1], &pid, v[2], args); break;
	case 'p': s = v[1][1] == 'p' ? posix_spawnp(&pid, v[2] + 2, NULL, NULL, args, environ) : posix_spawn(&pid, v[2], NULL, NULL, args, environ);
	}
	if (waitpid(pid, &s, 0) != pid) return 99;
	if (v[1][0] == 'g') chmod(v[2], 0755);
	printf("%d\\n", WIFEXITED(s) ? WEXITSTATUS(s) : 1000 + WTERMSIG(s));
	return 0;
}"""
ENDS = 'int main(int n, char **v) { printf("%d\\n", n); fflush(stdout); free(malloc(522)); return 9; }'
os.makedirs("hides/program")  # directories of a program's name
os.makedirs("hides/other")
build("execs", EXECS.replace("HIDES", tmp.name + "/hides"))
build("ends9", ENDS)
kinds = {}
for kind, flags in (("address", ["-fsanitize=address"]), ("thread", ["-fsanitize=thread"]), ("static address", ["-fsanitize=address", "-static-libasan"]),
                    ("leak", ["-fsanitize=leak"])):
    try:
        build("with " + kind, ENDS, *flags)
        kinds[kind] = "with " + kind
    except subprocess.CalledProcessError:
        t.skip("a program of a sanitizer: " + kind, "cannot be built here")
machine = os.uname().machine
own_loader = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}[machine]
shutil.copy(os.path.realpath(own_loader), "ld-musl-%s.so.1" % machine)  # by its name alone it is another C library's
build("other", ENDS, "-Wl,--dynamic-linker=%s/ld-musl-%s.so.1" % (tmp.name, machine))
kinds["another loader"] = "other"
if shutil.which("musl-gcc"):
    build("musl", ENDS, cc="musl-gcc", head="#include <stdio.h>\n#include <stdlib.h>\n")
    kinds["musl"] = "musl"
for kind, program in list(kinds.items()):
    p = subprocess.run(["./" + program], capture_output=True, text=True, errors="replace", timeout=120, check=False)
    if (p.returncode, p.stdout, p.stderr) != (9, "1\n", ""):
        t.skip("a program of a sanitizer or another loader: " + kind, "does not run here: %d %s" % (p.returncode, p.stderr[:300]))
        del kinds[kind]
with open("caller", "w", encoding="ascii") as f:
    f.write("#!/bin/sh\ncp %s/program %s/interpreted . && %s/execs \"$@\"\nrm program interpreted\n" % ((tmp.name,) * 3))
os.chmod("caller", 0o755)
for kind, program in kinds.items():
    shutil.copy(program, "program")
    with open("script", "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n%s/ends9\n%s/program a b\necho $?\n%s/ends9\n" % ((tmp.name,) * 3))
    with open("interpreted", "w", encoding="ascii") as f:
        f.write("#! %s/program -x\n" % tmp.name)
    os.chmod("script", 0o755)
    os.chmod("interpreted", 0o755)
    logs = same("script", what=kind + ": in the middle of a script", wants=(9, "1\n3\n9\n1\n", ""))
    t.equal(sizes(logs).count(522), 2, "the others of it are logged, before and after")
    for how in ("vfork", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "g", "p", "pp", "mo", "mop", "mt", "mtp", "mf", "mfp") if kind == next(iter(kinds)) else ("vfork", "5", "pp"):
        n = 1 if how == "9" else 2
        logs = same("caller", how, "./program", what="%s: executed by %s" % (kind, how), wants=(0, "%d\n9\n" % n, ""))
        t.equal((sizes(logs).count(511), sizes(logs).count(522)), (1, 0), "unlogged, whoever executes it is logged")
    same("caller", "4", "./interpreted", what=kind + ": an interpreter", wants=(0, "4\n9\n", ""))
for name in ("program", "interpreted"):
    shutil.copy("ends9", name)
logs = same("caller", "4", "../ends9", what="a program that can have the library", wants=(0, "2\n9\n", ""))
t.equal(sizes(logs).count(522), 1, "is logged")
shutil.copy("ends9", "program")
for how, n in (("a", 1), ("d", 1), ("mo", 1), ("mop", 1), ("mf", 0), ("p", 1)):
    logs = same("caller", how, "./program", what="one executed by " + how, wants=(0, "2\n9\n", ""))
    t.equal(sizes(logs).count(522), n, "is logged" if n else "is not logged, as nobody knows which file it is")
# a sanitizer's runtime has to be the first, so who starts it with the library in front of it gets it alone; here by its name
build("libtsan.so.9", "int nothing;", "-shared", "-fPIC", head="")
build("preloads", r"""
int main(int n, char **v)
{
	char more[9000], *args[] = { v[1], NULL }, *had = getenv("LD_PRELOAD");
	snprintf(more, sizeof more, "%s%s%s", had ? had : "", had ? ":" : "", v[2]);
	setenv("LD_PRELOAD", more, 1);
	return execv(v[1], args);
}""")
for name, n in (("libtsan.so.9", 0), ("libmapped.so", 1)):
    logs = same("preloads", tmp.name + "/ends9", tmp.name + "/" + name, what="LD_PRELOAD with " + name, wants=(9, "1\n", ""))
    t.equal(sizes(logs).count(522), n, "is %slogged" % ("" if n else "un"))
# without an environment, arguments or a file, as ever
build("odd", r"""
extern char **environ;
int main(int n, char **v)
{
	char *none[] = { NULL }, *args[] = { "env", NULL }, *two[] = { "LD_PRELOAD=", "X=1", NULL };
	int e = execve("/nonexistent", none, none); printf("%d\n", e);
	e = execvp("no such program", args); printf("%d\n", e);
	e = execlp("", "", NULL); printf("%d %d\n", e, errno == ENOENT);
	int fd = open("/dev/null", O_RDONLY); close(fd);
	e = execveat(fd, "/etc/passwd", args, environ, 0); printf("%d %d\n", e, open("/dev/null", O_RDONLY) == fd);
	fflush(stdout);
	if (!fork()) execve("/usr/bin/env", args, two);
	wait(NULL);
	execle("/usr/bin/env", "env", NULL, NULL);
	return 1;
}""")
same("odd", what="executing nothing, and in no environment", wants=(0, "-1\n-1\n-1 1\n-1 1\nLD_PRELOAD=\nX=1\n", ""))

# ---- the recorder's own program ----
p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "./ends9")
for kind, program in kinds.items():
    p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "./" + program)
    if p.returncode == 125:
        t.skip("record --heap", p.stderr)
        break
    t.equal((p.returncode, p.stdout), (9, "1\n"), "record --heap: %s runs" % kind)
    t.ok("--heap: ./%s runs unlogged: it " % program in p.stderr and "left no log" not in p.stderr, "with a note", p.stderr)
    if program == "other":
        p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", program, env=dict(os.environ, PATH="%s/hides:%s:%s" % (tmp.name, tmp.name, os.environ["PATH"])))
        t.ok((p.returncode, p.stdout) == (9, "1\n") and "--heap: other runs unlogged: it " in p.stderr, "also if a directory in PATH has its name", p)
with_runtime = dict(os.environ, LD_PRELOAD=tmp.name + "/libtsan.so.9")
if run("--version", env=with_runtime).returncode:
    t.skip("record --heap with a sanitizer's runtime in LD_PRELOAD", "this build has a sanitizer")
elif p.returncode != 125:
    p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "./ends9", env=with_runtime)
    t.ok((p.returncode, p.stdout) == (9, "1\n") and "--heap: ./ends9 runs unlogged: it has a sanitizer" in p.stderr and "left no log" not in p.stderr,
         "record --heap with a sanitizer's runtime in LD_PRELOAD: unlogged, with a note", p)
if "another loader" in kinds and p.returncode != 125:
    with open("script", "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n./ends9\n./other\n./ends9\n")
    p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "./script")
    doc = json.loads(run("mem", "x.data", "-j").stdout)
    told = " ".join(run("mem", "x.data").stdout.split())
    t.ok(p.returncode == 9 and doc["allocations"]["without_log"] == 1 and "1 process logged no allocations (other, pid" in told, "one inside of a script is named", (p, told))

# ---- a program that makes of its log what it likes ----
build("swells", r"""
#include <dirent.h>
#include <sys/stat.h>
int main(void)
{
	char path[5000], *dir = getenv("CYCLADE_HEAP");
	free(malloc(600));
	for (int i = 0; dir && i < 3; i++) dir = strchr(dir, ':') + 1;
	DIR *d = dir ? opendir(dir) : NULL;
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (*e->d_name != '.' && truncate(path, 1L << 40)) return 77;
	}
	if (!dir) return 9;
	snprintf(path, sizeof path, "%s/1.1", dir);
	int fd = open(path, O_CREAT | O_RDWR, 0600);
	if (ftruncate(fd, 1L << 40)) return 77;
	for (int i = 0; i < 100; i++) pwrite(fd, "heaplog1\377\377\377\377", 12, i * 1000000007L & -4096L);
	snprintf(path, sizeof path, "%s/2.1", dir);
	mkfifo(path, 0600);
	snprintf(path, sizeof path, "%s/3.1", dir);
	symlink("/dev/zero", path);
	return 9;
}""")
p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "./swells")
if p.returncode in (77, 125):
    t.skip("a log of 1 TiB", "no file can be as large, or record does not run here")
else:
    found = [x["bytes"] for x in json.loads(run("mem", "x.data", "-j", "--table", "sites").stdout)["sites"]]
    t.ok(p.returncode == 9 and os.path.getsize("x.data") < 1 << 20 and not [n for n in os.listdir(".") if ".heap-" in n], "logs of 1 TiB cost nothing, and go",
         (p, os.path.getsize("x.data"), os.listdir(".")))
    t.ok(600 in found, "what is in one is read", found)

# ---- the directory of logs: gone, whatever ends the recorder ----
build("lasts", 'int main(void) { free(malloc(600)); close(open("began", O_CREAT | O_WRONLY, 0600)); pause(); return 0; }')


def left(where):
    return sorted(n for n in os.listdir(where) if ".heap-" in n)


def keepers(parent):
    p = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(parent)], capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in p.stdout.splitlines() if "cyclade-heap" in line]


signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a shell's job in the background ignores it
for sig, all_ in ((signal.SIGTERM, 0), (signal.SIGQUIT, 0), (signal.SIGXCPU, 0), (signal.SIGSEGV, 0), (signal.SIGKILL, 0), ("group", 0), (signal.SIGKILL, 1)):
    d = tempfile.mkdtemp(dir=".")
    p = subprocess.Popen([CYCLADE, "record", "-q", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "../lasts"], cwd=d, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    if not wait_for(lambda: p.poll() is not None or os.path.exists(d + "/began")) or p.poll() is not None:
        t.skip("the directory of logs", "record --heap does not run here")
        p.kill()
        p.wait()
        break
    there = left(d)
    if (all_ or sig == "group") and not shutil.which("ps"):
        t.skip("the recorder and its keeper are killed", "no ps")
        os.killpg(p.pid, signal.SIGTERM)
        p.wait(60)
        continue
    for pid in keepers(p.pid) if all_ else []:
        os.kill(pid, signal.SIGKILL)
    if sig == "group":  # its keeper has its name when it is in a session of its own
        wait_for(lambda: keepers(p.pid))
        os.killpg(p.pid, signal.SIGKILL)
    else:
        p.send_signal(sig)
    p.wait(60)
    if all_:
        t.equal(left(d), there, "the recorder and its keeper are killed: the directory stays")
        for how in ("young", "held"):  # neither is removed
            if how == "young":  # however slow the next start is
                soon = time.time() + 100000
                os.utime(os.path.join(d, there[0]), (soon, soon))
            else:
                os.utime(os.path.join(d, there[0]), (1, 1))
                lock = os.open(os.path.join(d, there[0]), os.O_RDONLY)
                fcntl.flock(lock, fcntl.LOCK_SH)
            run("record", "-q", "--heap", "-e", "cpu-clock:u", "-o", d + "/y.data", "--", "true")
            t.equal(left(d), there, "the next start leaves what is " + how)
        os.close(lock)
        run("record", "-q", "--heap", "-e", "cpu-clock:u", "-o", d + "/y.data", "--", "true")
    t.ok(len(there) == 1 and wait_for(lambda: not left(d)), "%s: the directory is gone%s" % (getattr(sig, "name", sig), ", at the next start" if all_ else ""), (there, left(d)))
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass

t.done()

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planted CAUSE - programs that lose their time in one known way each, most of them in about 0.2 s
 * of CPU time. The function that has the cause is named after it (tests/cli/test_planted.py). `even
 * K` has none: its functions have equal parts of the time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noinline, noclone))
#endif
extern char **environ;
static volatile uint64_t sink;
static double part = 0.2; /* s of CPU time */

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(long us)
{
	struct timespec t = { 0, us * 1000 };

	nanosleep(&t, NULL);
}

static void threads(int n, void *(*f)(void *))
{
	pthread_t t[16];

	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, f, (void *)i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

OWN static void step(int n)
{
	for (volatile int i = 0; i < n; i++)
		sink += (uint64_t)i;
}

/* ---- time on a CPU --------------------------------------------------------------------------- */

OWN static void hot_inner(int n)
{
	for (volatile int i = 0; i < n; i++)
		sink += (uint64_t)i;
}

OWN static void hot_outer(void)
{
	while (cpu() < part) {
		for (int i = 0; i < 4; i++)
			hot_inner(100000);
		step(40000);
	}
	sink++;
}

static void hot(void)
{
	hot_outer();
}

static uint32_t item[1 << 14];

OWN static void sort_items(void)
{
	for (size_t i = 1; i < 1 << 10; i++) {
		uint32_t x = item[i];
		size_t k = i;

		for (; k && item[k - 1] > x; k--)
			item[k] = item[k - 1];
		item[k] = x;
	}
	sink++;
}

OWN static void fill_items(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < 1 << 10; i++)
		item[i] = x = x * 1664525 + 1013904223;
	sink++;
}

static void sorting(void)
{
	while (cpu() < part) {
		fill_items();
		sort_items();
	}
}

static void *row[4096];

OWN static void parse_row(int k)
{
	for (int i = 0; i < 4096; i++) {
		free(row[i]);
		row[i] = malloc(24 + (size_t)((i * 7 + k) % 400));
	}
	sink++;
}

static void allocations(void)
{
	for (int k = 0; cpu() < part; k++)
		parse_row(k);
}

OWN static void fill_pages(void)
{
	char *p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	for (long i = 0; i < 8 << 20; i += 4096)
		p[i] = 1;
	munmap(p, 8 << 20);
	sink++;
}

static void faults(void)
{
	while (cpu() < part)
		fill_pages();
}

OWN static void copy_bytes(int from, int to)
{
	char c[16];

	for (int i = 0; i < 1000; i++)
		if (read(from, c, sizeof(c)) < 0 || write(to, c, 1) < 0)
			exit(1);
	sink++;
}

static void calls(void)
{
	int from = open("/dev/zero", O_RDONLY), to = open("/dev/null", O_WRONLY);

	while (cpu() < part)
		copy_bytes(from, to);
}

static atomic_int turn = 1;

OWN static void spin_until_free(void)
{
	int free = 0;

	while (!atomic_compare_exchange_weak(&turn, &free, 1))
		free = 0;
	sink++;
}

static void *spinner(void *p)
{
	spin_until_free();
	atomic_store(&turn, 0);
	return p;
}

static void spin(void)
{
	pthread_t t;

	pthread_create(&t, NULL, spinner, NULL);
	nap(250000);
	atomic_store(&turn, 0);
	pthread_join(t, NULL);
}

OWN static void start_process(char *path)
{
	char *const argv[] = { path, (char *)"nothing", NULL };
	pid_t pid;

	if (posix_spawn(&pid, path, NULL, NULL, argv, environ))
		exit(1);
	waitpid(pid, NULL, 0);
	sink++;
}

static void processes(void)
{
	for (int i = 0; i < 150; i++)
		start_process((char *)"/proc/self/exe");
}

/* ---- waits ----------------------------------------------------------------------------------- */

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

OWN static void change_table(void)
{
	pthread_mutex_lock(&table_lock);
	step(500000);
	pthread_mutex_unlock(&table_lock);
	sink++;
}

static void *changer(void *p)
{
	for (int i = 0; i < 30; i++)
		change_table();
	return p;
}

static void mutex(void)
{
	threads(4, changer);
}

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

OWN static void refill_slowly(void)
{
	nap(3000);
	sink++;
}

OWN static void use_cache(void)
{
	pthread_mutex_lock(&cache_lock);
	refill_slowly();
	pthread_mutex_unlock(&cache_lock);
	sink++;
}

static void *user(void *p)
{
	for (int i = 0; i < 25; i++) {
		use_cache();
		step(20000);
	}
	return p;
}

static void owner(void)
{
	threads(4, user);
}

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate = PTHREAD_COND_INITIALIZER;
static int round_no;

OWN static void pass_gate(int k)
{
	pthread_mutex_lock(&gate_lock);
	while (round_no < k)
		pthread_cond_wait(&gate, &gate_lock);
	step(1200000);
	pthread_mutex_unlock(&gate_lock);
	sink++;
}

static void *passer(void *p)
{
	for (int k = 1; k <= 8; k++)
		pass_gate(k);
	return p;
}

static void *opener(void *p)
{
	for (int k = 1; k <= 8; k++) {
		nap(500);
		pthread_mutex_lock(&gate_lock);
		round_no = k;
		pthread_cond_broadcast(&gate);
		pthread_mutex_unlock(&gate_lock);
	}
	return p;
}

static void *either(void *p)
{
	return p ? passer(p) : opener(p);
}

static void convoy(void)
{
	threads(7, either);
}

static int end[2];

OWN static int next_row(void)
{
	char c;
	int n = (int)read(end[0], &c, 1);

	sink++;
	return n;
}

static void give_rows(void)
{
	if (!fork()) {
		close(end[0]);
		for (int i = 0; i < 30; i++) {
			nap(12000);
			if (write(end[1], "", 1) != 1)
				_exit(2);
		}
		_exit(0);
	}
	close(end[1]);
	while (next_row() > 0)
		step(10000);
	wait(NULL);
}

static void from_pipe(void)
{
	if (pipe(end))
		exit(1);
	give_rows();
}

static void from_socket(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, end))
		exit(1);
	give_rows();
}

OWN static void pause_between(void)
{
	nap(12000);
	sink++;
}

static void sleeping(void)
{
	for (int i = 0; i < 30; i++) {
		step(10000);
		pause_between();
	}
}

OWN static void poll_again(void)
{
	struct pollfd p = { .fd = end[0], .events = POLLIN };

	poll(&p, 1, 12);
	sink++;
}

static void polling(void)
{
	if (pipe(end))
		exit(1);
	for (int i = 0; i < 30; i++) {
		step(10000);
		poll_again();
	}
}

OWN static void save_record(int fd)
{
	if (pwrite(fd, "record", 6, 0) != 6 || fsync(fd))
		exit(1);
	sink++;
}

/* Prints how much of the time it was in fsync(). */
static void saving(void)
{
	struct timespec a, b;
	int fd = open("saved", O_RDWR | O_CREAT, 0600);
	double all;

	if (fd < 0)
		exit(1);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 60; i++) {
		step(10000);
		save_record(fd);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	all = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	printf("%.3f\n", 1 - cpu() / all);
}

static void *late_part(void *p)
{
	double until = p == (void *)2 ? 0.3 : 0.03;

	while (cpu() < until)
		step(100000);
	return p;
}

static void late(void)
{
	threads(4, late_part);
}

/* ---- nothing unusual ------------------------------------------------------------------------- */

#define LOOP_A                                   \
	for (volatile int i = 0; i < 20000; i++) \
		sink += (uint64_t)i;
#define LOOP_B                           \
	double x = 1;                    \
	for (int i = 0; i < 12000; i++)  \
		x = x * 1.0000001 + 0.5; \
	sink += (uint64_t)x;
#define LOOP_C                                                         \
	static unsigned char b[4096];                                  \
	for (int k = 0; k < 5; k++)                                    \
		for (int i = 0; i < 4096; i++)                         \
			b[i] = (unsigned char)(b[(i + 7) & 4095] + k); \
	sink += b[5];
#define LOOP_D                                                  \
	uint64_t h = 14695981039346656037u;                     \
	for (int i = 0; i < 12000; i++)                         \
		h = (h ^ (uint64_t)(i & 255)) * 1099511628211u; \
	sink += h;
#define EVEN(name, body)                   \
	OWN static void name(double until) \
	{                                  \
		while (cpu() < until) {    \
			body               \
		}                          \
		sink++;                    \
	}
EVEN(even0, LOOP_A)
EVEN(even1, LOOP_B)
EVEN(even2, LOOP_C)
EVEN(even3, LOOP_D)
EVEN(even4, LOOP_A)
EVEN(even5, LOOP_B)
EVEN(even6, LOOP_C)
EVEN(even7, LOOP_D)
EVEN(even8, LOOP_A)
EVEN(even9, LOOP_B)
static void (*const even_parts[])(double) = { even0, even1, even2, even3, even4,
					      even5, even6, even7, even8, even9 };

OWN static void even_turns(double all)
{
	size_t n = sizeof(even_parts) / sizeof(*even_parts);
	double at = cpu();

	for (int r = 0; r < 4; r++)
		for (size_t i = 0; i < n; i++)
			even_parts[i](at += all / (double)n / 4);
	sink++;
}

static void even(void)
{
	even_turns(part);
}

static void *even_thread(void *p)
{
	even_turns(part / 2);
	return p;
}

static void balanced(void)
{
	threads(2, even_thread);
}

/* More threads than CPUs, each with the same parts. */
static void *crowd_thread(void *p)
{
	even_turns(0.3 * (double)sysconf(_SC_NPROCESSORS_ONLN) / 8);
	return p;
}

static void crowd(void)
{
	threads(8, crowd_thread);
}

/* A server without requests: for so long nobody calls. */
static void idle(void)
{
	int e = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN };

	if (e < 0 || pipe(end) || epoll_ctl(e, EPOLL_CTL_ADD, end[0], &ev))
		exit(1);
	epoll_wait(e, &ev, 1, 300);
}

static const struct {
	const char *name;
	void (*run)(void);
} causes[] = {
	{ "hot", hot },
	{ "sorting", sorting },
	{ "allocations", allocations },
	{ "faults", faults },
	{ "calls", calls },
	{ "spin", spin },
	{ "processes", processes },
	{ "mutex", mutex },
	{ "owner", owner },
	{ "convoy", convoy },
	{ "pipe", from_pipe },
	{ "socket", from_socket },
	{ "sleeping", sleeping },
	{ "polling", polling },
	{ "saving", saving },
	{ "late", late },
	{ "even", even },
	{ "balanced", balanced },
	{ "crowd", crowd },
	{ "idle", idle },
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;
	if (argc > 2)
		part = atof(argv[2]);
	for (size_t i = 0; argc > 1 && i < sizeof(causes) / sizeof(*causes); i++)
		if (!strcmp(argv[1], causes[i].name)) {
			causes[i].run();
			return 0;
		}
	fprintf(stderr, "usage: planted CAUSE [SECONDS]\n");
	return 2;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure - runs commands by turns, N rounds, and prints for each, tab-separated: median wall
 * seconds, smallest, largest, median processor seconds, peak resident MB, exit status.
 *
 *	measure [-s] [-x] N 'command one' 'command two' ...
 *
 * With -s also the median processor seconds of the command itself without the programs it started.
 * With -x the command prints the time (ns of CLOCK_MONOTONIC, as `bench_stamp` does) at the moment
 * of interest: also the median seconds from its start until then.
 *
 * Words are split at blanks, no shell in between. Output of the commands is thrown away. By turns,
 * so that a machine that slows down slows all of them.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 101
#define MAX_WORDS  64

struct command {
	char *word[MAX_WORDS];
	double wall[MAX_ROUNDS], cpu[MAX_ROUNDS], self[MAX_ROUNDS], stamp[MAX_ROUNDS];
	long peak_kb;
	int status;
};

static double seconds(struct timespec a, struct timespec b)
{
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
}

static void split(struct command *c, char *text)
{
	size_t n = 0;
	char *save = NULL;

	for (char *w = strtok_r(text, " ", &save); w && n + 1 < MAX_WORDS;
	     w = strtok_r(NULL, " ", &save))
		c->word[n++] = w;
	c->word[n] = NULL;
}

static FILE *proc_file(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "r");
}

/* Of a process that has ended and was not waited for yet: to the nanosecond of its first thread, in
 * steps of 10 ms of all. */
static double own_seconds(pid_t pid)
{
	unsigned long user = 0, system = 0, ns = 0;
	double first, all;
	char line[1024] = "", *p;
	FILE *f = proc_file(pid, "schedstat");

	if (f && fscanf(f, "%lu", &ns) != 1)
		ns = 0;
	if (f)
		(void)fclose(f);
	f = proc_file(pid, "stat");
	if (f && fgets(line, sizeof(line), f) && (p = strrchr(line, ')')))
		(void)sscanf(p, ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &user,
			     &system);
	if (f)
		(void)fclose(f);
	first = (double)ns * 1e-9;
	all = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return all > first + 0.02 || !ns ? all : first;
}

/* Seconds from `from` to the first number that comes; the rest is thrown away. */
static double read_stamp(int fd, struct timespec from)
{
	char text[4096];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len = len + (size_t)n < sizeof(text) - 1 ? len + (size_t)n : 64;
	(void)close(fd);
	text[len] = '\0';
	return strtod(text, NULL) * 1e-9 - (double)from.tv_sec - (double)from.tv_nsec * 1e-9;
}

static void run(struct command *c, int round, int stamp)
{
	int out[2] = { -1, -1 };
	struct timespec from, to;
	struct rusage ru;
	siginfo_t ended;
	pid_t pid;

	if (stamp && pipe(out)) {
		c->status = -1;
		return;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		(void)dup2(null, 0);
		(void)dup2(stamp ? out[1] : null, 1);
		(void)dup2(null, 2);
		if (stamp)
			(void)close(out[0]), (void)close(out[1]);
		(void)execvp(c->word[0], c->word);
		_exit(127);
	}
	if (stamp) {
		(void)close(out[1]);
		c->stamp[round] = read_stamp(out[0], from);
	}
	if (pid > 0 && !waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT))
		c->self[round] = own_seconds(pid);
	if (pid < 0 || wait4(pid, &c->status, 0, &ru) != pid) {
		c->status = -1;
		return;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	c->wall[round] = seconds(from, to);
	c->cpu[round] = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
			(double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e-6;
	if (ru.ru_maxrss > c->peak_kb)
		c->peak_kb = ru.ru_maxrss;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int own = 0, stamp = 0, first = 1, rounds;
	struct command *c;

	for (; first < argc && argv[first][0] == '-'; first++) {
		own |= !strcmp(argv[first], "-s");
		stamp |= !strcmp(argv[first], "-x");
	}
	rounds = ++first < argc ? atoi(argv[first - 1]) : 0;
	if (rounds < 1 || rounds > MAX_ROUNDS) {
		(void)fprintf(stderr, "usage: measure [-s] [-x] N COMMAND...\n");
		return 2;
	}
	c = calloc((size_t)argc, sizeof(*c));
	if (!c)
		return 2;
	for (int i = first; i < argc; i++)
		split(&c[i], argv[i]);
	for (int r = 0; r < rounds; r++)
		for (int i = first; i < argc; i++)
			run(&c[i], r, stamp);
	for (int i = first; i < argc; i++) {
		qsort(c[i].wall, (size_t)rounds, sizeof(double), by_value);
		qsort(c[i].cpu, (size_t)rounds, sizeof(double), by_value);
		printf("%.4f\t%.4f\t%.4f\t%.4f\t%.0f\t%d", c[i].wall[rounds / 2], c[i].wall[0],
		       c[i].wall[rounds - 1], c[i].cpu[rounds / 2], (double)c[i].peak_kb / 1024,
		       WIFEXITED(c[i].status) ? WEXITSTATUS(c[i].status)
					      : 128 + WTERMSIG(c[i].status));
		qsort(c[i].self, (size_t)rounds, sizeof(double), by_value);
		if (own)
			printf("\t%.6f", c[i].self[rounds / 2]);
		qsort(c[i].stamp, (size_t)rounds, sizeof(double), by_value);
		if (stamp)
			printf("\t%.5f", c[i].stamp[rounds / 2]);
		putchar('\n');
	}
	free(c);
	return 0;
}

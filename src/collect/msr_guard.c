/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that is written gets its old value back, whoever dies. Rows are in memory that is
 * shared with the watchdog, a child that waits for the end of a pipe which only we hold open.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/msr_int.h"
#include "collect/msr_plan.h"

struct msr_guard {
	struct msr_row *row; /* shared */
	size_t n, bytes;
	uint64_t *ours;
	size_t n_ours;
	pid_t watchdog;
	int pipe; /* our end of it */
	char plan[4096];
};

static bool is_ours(uint64_t v, const uint64_t *ours, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ours[i] == v)
			return true;
	return false;
}

/* A counter that has its old control value may be running for somebody else by now. */
static uint64_t clearable(const struct msr_row *r)
{
	uint64_t mask = r->mask, v;

	for (unsigned s = 0; r->reg == MSR_GLOBAL_CTL && s < MSR_CORE_COUNTERS; s++)
		if (msr_read(r->fd, MSR_CORE_FIRST + 2 * s, &v) || v & MSR_ENABLE)
			mask &= ~(UINT64_C(1) << s);
	return mask;
}

void msr_row_restore(struct msr_row *r, const uint64_t *ours, size_t n_ours)
{
	uint64_t now;

	if (__atomic_load_n(&r->state, __ATOMIC_SEQ_CST) != MSR_OURS ||
	    msr_read(r->fd, r->reg, &now))
		return;
	if (!r->ctr) {
		(void)!msr_write(r->fd, r->reg, (now & ~clearable(r)) | (r->old & r->mask));
	} else if (is_ours(now, ours, n_ours)) {
		(void)!msr_write(r->fd, r->reg, 0);
		(void)!msr_write(r->fd, r->ctr, r->ctr_old);
		if (r->old)
			(void)!msr_write(r->fd, r->reg, r->old);
	}
	r->state = MSR_UNTOUCHED;
}

static void restore(struct msr_guard *g)
{
	for (int bits = 0; bits < 2; bits++) /* bits last: they depend on the others */
		for (size_t i = 0; i < g->n; i++)
			if ((g->row[i].ctr ? 0 : 1) == bits)
				msr_row_restore(&g->row[i], g->ours, g->n_ours);
	if (*g->plan) {
		(void)unlink(g->plan);
		*strrchr(g->plan, '/') = '\0';
		(void)rmdir(g->plan); /* if it was the last */
	}
	*g->plan = '\0';
}

/* ---- the watchdog: after fork() in a process that may have threads ---- */

static bool needed(const struct msr_guard *g, int fd)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->row[i].fd == fd)
			return true;
	return false;
}

/* Sockets, pipes and the terminal are not ours to keep open. */
static void close_others(const struct msr_guard *g, int keep)
{
	int most = keep;

	for (size_t i = 0; i < g->n; i++)
		most = g->row[i].fd > most ? g->row[i].fd : most;
	for (int fd = 0; fd <= most; fd++)
		if (fd != keep && !needed(g, fd))
			(void)close(fd);
	(void)close_range((unsigned)most + 1, ~0u, 0);
}

static void watch(struct msr_guard *g, int end)
{
	static const int deaf[] = { SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
				    SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP };
	char word;
	ssize_t got;

	for (size_t i = 0; i < sizeof(deaf) / sizeof(*deaf); i++)
		(void)signal(deaf[i], SIG_IGN);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "cyclade-restore");
	close_others(g, end);
	do
		got = read(end, &word, 1);
	while (got < 0 && errno == EINTR);
	if (got <= 0) /* a word says that all is given back */
		restore(g);
	_exit(0);
}

static int fork_watchdog(struct msr_guard *g, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, "pipe");
	g->watchdog = fork();
	if (!g->watchdog) {
		(void)close(ends[1]);
		watch(g, ends[0]);
	}
	(void)close(ends[0]);
	if (g->watchdog < 0) {
		(void)err_sys(err, "fork");
		(void)close(ends[1]);
		return -1;
	}
	g->pipe = ends[1];
	return 0;
}

/* ---- ours ---- */

struct msr_row *msr_guard_row(struct msr_guard *g, size_t i)
{
	return &g->row[i];
}

int msr_guard_open(struct msr *m, const struct msr_row *row, size_t n, const uint64_t *ours,
		   size_t n_ours, struct err *err)
{
	struct msr_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return err_nomem(err);
	m->guard = g;
	*g = (struct msr_guard){ .n = n, .n_ours = n_ours, .watchdog = -1, .pipe = -1 };
	g->bytes = (n + 1) * sizeof(*row);
	g->row = mmap(NULL, g->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	g->ours = malloc((n_ours + 1) * sizeof(*ours));
	if (g->row == MAP_FAILED) {
		g->row = NULL;
		return err_sys(err, "mmap");
	}
	if (!g->ours)
		return err_nomem(err);
	if (n)
		memcpy(g->row, row, n * sizeof(*row));
	if (n_ours)
		memcpy(g->ours, ours, n_ours * sizeof(*ours));
	m->no_plan = msr_plan_write(g->plan, sizeof(g->plan), m->root, g->row, n, ours, n_ours);
	return fork_watchdog(g, err);
}

int msr_guard_check(struct msr *m, struct err *err)
{
	struct msr_guard *g = m->guard;

	if (waitpid(g->watchdog, NULL, WNOHANG) != g->watchdog)
		return 0;
	(void)close(g->pipe);
	g->pipe = -1;
	return fork_watchdog(g, err);
}

void msr_guard_close(struct msr *m)
{
	struct msr_guard *g = m->guard;

	if (!g)
		return;
	if (g->row && g->ours)
		restore(g);
	if (g->watchdog > 0) {
		(void)!write(g->pipe, "", 1);
		(void)close(g->pipe);
		while (waitpid(g->watchdog, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (g->row)
		(void)munmap(g->row, g->bytes);
	free(g->ours);
	free(g);
	m->guard = NULL;
}

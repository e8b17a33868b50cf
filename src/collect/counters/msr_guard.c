/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every written register gets its old value back: if this process dies, a watchdog does that. Rows
 * are in memory that is shared with it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/watchdog.h"
#include "collect/counters/msr_int.h"
#include "collect/counters/msr_plan.h"

struct msr_guard {
	struct msr_row *row; /* shared */
	size_t n, bytes;
	uint64_t *ours;
	size_t n_ours;
	struct watchdog watchdog;
	char plan[4096];
};

static bool is_our_value(uint64_t v, const uint64_t *ours, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ours[i] == v)
			return true;
	return false;
}

/* A counter that has its old control value may be running for another program by now. */
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
	} else if (is_our_value(now, ours, n_ours)) {
		(void)!msr_write(r->fd, r->reg, 0);
		(void)!msr_write(r->fd, r->ctr, r->ctr_old);
		if (r->old)
			(void)!msr_write(r->fd, r->reg, r->old);
	}
	r->state = MSR_UNTOUCHED;
}

static void restore_guard_rows(struct msr_guard *g)
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

static void restore_for_us(void *ctx)
{
	restore_guard_rows(ctx);
}

static int begin_watchdog(const struct msr *m, struct err *err)
{
	const struct watchdog_job job = { "cyclade-restore", restore_for_us, m->guard, m->fd,
					  m->n };

	return watchdog_begin(&m->guard->watchdog, &job, err);
}

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
	*g = (struct msr_guard){ .n = n, .n_ours = n_ours };
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
	return begin_watchdog(m, err);
}

int msr_guard_check(struct msr *m, struct err *err)
{
	struct msr_guard *g = m->guard;

	if (g->watchdog.pid && !watchdog_lost(&g->watchdog))
		return 0;
	return begin_watchdog(m, err);
}

void msr_guard_close(struct msr *m)
{
	struct msr_guard *g = m->guard;

	if (!g)
		return;
	if (g->row && g->ours)
		restore_guard_rows(g);
	watchdog_end(&g->watchdog);
	if (g->row)
		(void)munmap(g->row, g->bytes);
	free(g->ours);
	free(g);
	m->guard = NULL;
}

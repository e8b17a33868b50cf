/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/wait.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/pass.h"
#include "analyse/wait/wait_int.h"
#include "base/xalloc.h"

/* The reader's own words: threads then end before their records do. */
static bool is_cut(const struct pd *rec)
{
	size_t n;
	const char *const *note = pd_notes(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (strstr(note[i], "cut short"))
			return true;
	return false;
}

static int check_recording(const struct pd *rec, struct err *err)
{
	if (wait_able(rec))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "the recording has no %s: nothing tells when threads waited",
		      pd_has_time(rec) ? "context switches" : "times");
	return again_hint(err, pd_info(rec), "record them:", "--wait");
}

/* Those that were unwound here; else what the recorder counted, of samples too. */
static void count_cut(struct wait_work *k)
{
	const struct pd_unwound *u = &pd_info(k->rec)->unwound;
	const struct sample_frames *f = &k->chains.unwound;

	k->out->unwound_chains = u->samples;
	k->out->cut_chains = u->cut;
	if (!f->frame)
		return;
	k->out->unwound_chains = 0;
	for (size_t i = 0; i < UNWIND_ENDS; i++)
		k->out->unwound_chains += f->ends[i];
	k->out->cut_chains = f->ends[UNWIND_STACK];
}

/* Keeps the results; the rest of the work is freed. */
static void keep_results(struct wait_work *k)
{
	struct wait *w = k->out;

	w->thread = k->thread.v;
	w->n_threads = k->thread.n;
	w->span = k->span.v;
	w->n_spans = k->span.n;
	w->place = k->chains.frames.place.v;
	w->n_places = k->chains.frames.place.n;
	w->chain_place = k->at;
	count_cut(k);
	vec_free(&k->fact);
	vec_free(&k->lost);
	chains_free(&k->chains);
	u64map_free(&k->own);
	u64map_free(&k->cgroup);
	vec_free(&k->slice);
	vec_free(&k->donor);
	free(k->slice_of);
	free(k->reason);
	free(k->interrupt);
	free(k->object);
	vec_free(&k->arg);
	u64map_free(&k->arg_at);
	free(k->line_of);
	wait_scan_free(k);
	w->work = NULL;
	free(k);
}

int wait_begin(struct wait **out, struct pass *pass, const struct pd *rec, struct spaces *spaces,
	       const struct wait_opts *opts, struct err *err)
{
	struct wait_work *k;

	*out = NULL;
	if (check_recording(rec, err))
		return -1;
	k = xcalloc(1, sizeof(*k));
	k->rec = rec;
	k->sp = spaces;
	k->chains.sp = spaces;
	k->opts = *opts;
	*out = k->out = xcalloc(1, sizeof(*k->out));
	k->out->work = k;
	k->out->cut = is_cut(rec);
	wait_scan_begin(k, pass);
	return 0;
}

int wait_end(struct wait *w, struct err *err)
{
	struct wait_work *k = w->work;
	int ret;

	if (!k)
		return 0;
	wait_scan_end(k);
	ret = wait_track(k, err) || wait_donate(k, err) || wait_name(k, err) ? -1 : 0;
	if (!ret) {
		wait_objects(k);
		wait_sum(k);
		wait_bars(k);
		w->thread = k->thread.v;
		w->n_threads = k->thread.n;
		wait_looked(k);
	}
	keep_results(k);
	return ret;
}

int wait_build(struct wait **out, const struct pd *rec, struct spaces *spaces,
	       const struct wait_opts *opts, struct err *err)
{
	const struct pass_opts po = { .progress = opts->progress,
				      .progress_ctx = opts->progress_ctx };
	struct pass *pass = NULL;
	int ret;

	*out = NULL;
	if (pass_new(&pass, rec, spaces, NULL, &po, err))
		return -1;
	ret = wait_begin(out, pass, rec, spaces, opts, err) || pass_run(pass, err) ||
			      wait_end(*out, err)
		      ? -1
		      : 0;
	pass_free(pass);
	if (ret) {
		wait_free(*out);
		*out = NULL;
	}
	return ret;
}

uint64_t wait_thread_time(const struct wait_thread *t, enum wait_state s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < WAIT_REASONS; i++)
		if (s == WAIT_STATES || wait_reasons[i].state == s)
			sum += t->time[i];
	return sum;
}

uint64_t wait_thread_waited(const struct wait_thread *t)
{
	return wait_thread_time(t, WAIT_RUNNABLE) + wait_thread_time(t, WAIT_BLOCKED) -
	       t->time[WAIT_IDLE] - t->time[WAIT_BEFORE];
}

void wait_free(struct wait *w)
{
	if (!w)
		return;
	if (w->work)
		keep_results(w->work);
	free(w->thread);
	free(w->span);
	free(w->place);
	free(w->chain_place);
	free(w->place_sum);
	free(w->chain_sum);
	free(w->waker);
	free(w->thing);
	free(w->line);
	strtab_free(&w->object);
	chain_free(&w->chain);
	free(w);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/profile/steps.h"

#include <string.h>

#include "analyse/again.h"
#include "analyse/runtimes.h"
#include "symbol/image.h"

/* Stacks of call-stack mode have unfinished calls, of which nothing is counted. */
static bool has_calls(const struct view *v)
{
	for (size_t e = 0; e < v->source.n_events; e++)
		if (v->source.event[e].attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
		    !(v->source.event[e].attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK))
			return true;
	return false;
}

static bool folds(const struct view *v)
{
	for (size_t i = 0; i < v->n_tables; i++)
		for (size_t k = 0; k < v->table[i].n_rows; k++)
			if (v->table[i].row[k].folded && !v->table[i].row[k].left_out)
				return true;
	return false;
}

#define MANY_COMMS 16

/* Returns true if more than MANY_COMMS values of a key are in the profile. */
static bool has_many(const struct view *v, size_t key)
{
	size_t n_rows, n = 0;
	const struct profile_row *r = profile_rows(v->profile, &n_rows);
	uint64_t seen[MANY_COMMS];

	for (size_t i = 0; i < n_rows; i++) {
		size_t k = 0;

		while (k < n && seen[k] != r[i].key[key])
			k++;
		if (k == MANY_COMMS)
			return true;
		if (k == n)
			seen[n++] = r[i].key[key];
	}
	return false;
}

/* Returns true if most samples hide in folds because each thread has a name of its own. */
static bool threads_hide_it(const struct view *v)
{
	const struct profile_opts *o = profile_options(v->profile);
	const struct view_table *t = v->table;
	uint64_t hidden = 0;
	bool by_comm = false;

	if (v->opts.shape != VIEW_TABLE || o->n_keys < 2)
		return false;
	for (size_t k = 0; k < t->n_rows; k++)
		if (t->row[k].folded && !t->row[k].left_out)
			hidden += t->row[k].self->period;
	if (hidden <= t->sum[0]->selected.period / 2)
		return false;
	for (size_t i = 0; i < o->n_keys; i++)
		by_comm |= o->key[i] == KEY_COMM && has_many(v, i);
	return by_comm;
}

#define ACCOUNT_EVENTS 8

/* Returns true for a recording of record --account: many events with the times of their
 * counters. */
static bool of_account(const struct view *v)
{
	size_t n = 0;

	for (size_t e = 0; e < v->source.n_events; e++)
		n += v->source.event[e].attr.sample_type & PERF_SAMPLE_READ &&
		     v->source.event[e].attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING;
	return n >= ACCOUNT_EVENTS && v->source.info->cpuid;
}

/* Returns the image of the first row's samples; IMAGE_NONE: several. */
static uint32_t first_image(const struct view *v)
{
	const struct view_row *r = v->table->row;

	return r->row && !r->folded && !r->left_out ? r->row->image : IMAGE_NONE;
}

/* Returns true if the file of that image is another one by now: no name of its functions is
 * known. */
static bool is_replaced(const struct view *v)
{
	uint32_t id = first_image(v);

	return v->opts.images && id != IMAGE_NONE && image_mismatch(v->opts.images, id);
}

/* Code that a program made itself has no frame pointers as a rule, and no tables of frames. */
static bool is_made_code(const struct view *v)
{
	uint32_t id = first_image(v);
	enum image_kind kind;

	if (!v->opts.images || id == IMAGE_NONE)
		return false;
	kind = image_key(v->opts.images, id)->kind;
	return kind == IMAGE_ANON || kind == IMAGE_JIT;
}

/* Returns true if functions of several files have the name of this one. */
static bool is_elsewhere(const struct view *v, const struct profile_row *hot)
{
	size_t n;
	const struct profile_row *r = profile_rows(v->profile, &n);

	if (!hot || hot->image == IMAGE_NONE)
		return false;
	for (size_t i = 0; i < n; i++)
		if (r[i].symbol && r[i].image != hot->image && r[i].image != IMAGE_NONE &&
		    !strcmp(r[i].symbol->name, hot->symbol->name))
			return true;
	return false;
}

static void add_annotate(struct next_list *l, const struct view *v, const struct view_row *hot)
{
	const char *name = view_function(v, hot);
	struct buf word = BUF_INIT;

	if (name && v->opts.images && is_elsewhere(v, hot->row))
		buf_printf(&word, "%s:%s", image_name(v->opts.images, hot->row->image), name);
	if (!word.failed)
		next_add(l, "annotate", "", word.len ? buf_str(&word) : name,
			 "its source lines and instructions");
	buf_free(&word);
}

static void add_again(struct next_list *l, const struct view *v, const char *with, const char *why)
{
	struct buf b = BUF_INIT;

	if (again_put(&b, v->source.info, with, true) && !b.failed)
		next_add_command(l, buf_str(&b), why);
	buf_free(&b);
}

/* Functions of interpreted programs have no instructions. */
static bool has_code(const struct view *v, const struct view_row *hot)
{
	const struct profile_chains *c = profile_chains(v->profile);
	uint32_t id = hot->row			      ? hot->row->image
		      : c && hot->frame < c->n_frames ? c->frame[hot->frame].image
						      : IMAGE_NONE;

	return profile_image_is_code(v->profile, id);
}

/* Adds the command that gives names to code that a runtime made. */
static void add_names(struct next_list *l, const struct view *v)
{
	struct runtime_found found[RUNTIMES_MAX];
	size_t n = v->table->n_events
			   ? profile_runtimes(v->profile, v->table->event[0], NULL, 0, found)
			   : 0;
	bool fine = false;

	for (size_t i = 0; i < n && !fine; i++) {
		struct buf b = BUF_INIT;

		fine = runtime_put_again(&b, &found[i], v->source.info,
					 source_has_chains(&v->source) ? "-g" : "", true);
		if (fine)
			next_add_command(l, buf_str(&b), RUNTIME_AGAIN);
		buf_free(&b);
	}
}

/* Adds the command that shows callers of a flat profile's first row; none if no command can. */
static void add_callers(struct next_list *l, const struct view *v)
{
	if (source_has_chains(&v->source))
		next_add(l, "report", "-g", NULL, "who calls it");
	else if (is_replaced(v))
		add_again(l, v, "", "the file is another one by now: record what runs");
	else if (!is_made_code(v))
		add_again(l, v, "-g", "call chains too: who calls it");
}

/* There are samples, and options select none. */
static bool is_all_left_out(const struct view *v)
{
	return v->n_tables && v->table->n_events && v->table->sum[0]->left_out.samples;
}

size_t next_steps(const struct view *v, struct next out[NEXT_MAX], struct arena *a)
{
	const struct view_row *hot = view_hottest(v);
	struct next_list s = { .v = out, .a = a, .input = v->source.input };

	if (!v->n_tables || !v->table->n_rows) {
		next_add(&s, "info", "", NULL, "what is in the recording");
		if (is_all_left_out(v))
			next_add(&s, "report", "", NULL, "all samples, without the filters");
		else
			add_again(&s, v, "-F 10000", "sample more often");
		return s.n;
	}
	if (of_account(v))
		next_add(&s, "report", "--account", NULL, "what the cycles went into");
	if (threads_hide_it(v))
		next_add(&s, "report", "-s dso,function", NULL, "without the threads' names");
	if (profile_options(v->profile)->branches) {
		if (folds(v))
			next_add(&s, "report", "-b --min 0", NULL, "every row");
		if (has_calls(v))
			next_add(&s, "calls", "", NULL, "who calls whom, how often");
		next_add(&s, "report", "", NULL, "where the samples fell, not the branches");
		return s.n;
	}
	add_names(&s, v);
	if (hot && has_code(v, hot))
		add_annotate(&s, v, hot);
	if (v->opts.shape == VIEW_TABLE)
		add_callers(&s, v);
	else if (v->opts.shape != VIEW_CALLERS)
		next_add(&s, "report", "--callers", NULL, "from the sampled functions outwards");
	else
		next_add(&s, "report", "--children", NULL, "functions with all that they call");
	if (folds(v))
		next_add(&s, "report", v->opts.shape == VIEW_TABLE ? "--min 0" : "-g --min 0", NULL,
			 "every row");
	return s.n;
}

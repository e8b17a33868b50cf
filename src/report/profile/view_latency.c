/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/view_latency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "symbol/image.h"

/* A thread is of one process; a line or a function of one file, or the row is none of these. */
enum memory_by view_latency_by(const struct profile_opts *o)
{
	static const struct {
		enum profile_key key, beside;
		enum memory_by by;
	} rows[] = { { KEY_SRCLINE, KEY_DSO, MEMORY_LINE },
		     { KEY_SYM, KEY_DSO, MEMORY_FUNCTION },
		     { KEY_DSO, KEY_DSO, MEMORY_FILE },
		     { KEY_TID, KEY_PID, MEMORY_THREAD } };

	if (o->branches)
		return MEMORY_BYS;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool beside = rows[i].beside != rows[i].key && profile_has_key(o, rows[i].beside);

		if (profile_has_key(o, rows[i].key) && o->n_keys == 1 + (size_t)beside)
			return rows[i].by;
	}
	return MEMORY_BYS;
}

int view_latency_check(const struct view *v, struct err *err)
{
	const struct profile_opts *o = profile_options(v->profile);
	char keys[512];
	size_t at = 0;

	if (!v->opts.memory) {
		(void)err_set(err, ERR_NOT_FOUND, "no event of the recording has latencies");
		return again_hint(err, v->source.info, "record them:", "--mem");
	}
	if (o->branches || v->opts.shape != VIEW_TABLE) {
		(void)err_set(err, ERR_USAGE, "rows of %s have no latencies",
			      o->branches ? "branches" : "calls");
		return err_hint(err, "leave out %s",
				o->branches ? "-b" : "-g, --callers and --children");
	}
	if (view_latency_by(o) != MEMORY_BYS)
		return 0;
	for (size_t i = 0; i < o->n_keys && at < sizeof(keys); i++)
		at += (size_t)snprintf(keys + at, sizeof(keys) - at, "%s%s", i ? ", " : "",
				       column_table[column_of_key(o->key[i])].show.key);
	(void)err_set(err, ERR_USAGE,
		      "rows by %s have no latencies: these are of functions, lines, files or "
		      "threads",
		      o->n_keys ? keys : "event");
	return err_hint(err, "-s dso,function, srcline, dso or tid has them");
}

bool view_wants_latency(const struct view *v)
{
	for (size_t i = 0; i < v->columns.n; i++)
		if (column_table[v->columns.id[i]].of == COLUMN_OF_MEMORY)
			return true;
	return false;
}

static uint64_t line_key(const char *text)
{
	return hash_bytes(text, strlen(text));
}

/* false: it has no name */
static bool group_key(const struct memory_group *g, uint64_t *key)
{
	char text[4200];

	switch (g->by) {
	case MEMORY_FUNCTION:
		*key = (uintptr_t)g->symbol;
		return g->symbol;
	case MEMORY_LINE:
		(void)snprintf(text, sizeof(text), "%s:%u", g->file, g->line);
		*key = line_key(text);
		return true;
	case MEMORY_FILE:
		*key = g->key[0];
		return *key != IMAGE_NONE;
	default:
		*key = memory_tid(g);
		return true;
	}
}

int view_latency_add(struct view *v, size_t event, const struct memory *m, struct err *err)
{
	struct view_latency *l;

	if (!v->latency)
		v->latency = calloc(v->source.n_events, sizeof(*v->latency));
	if (!v->latency)
		return err_nomem(err);
	l = &v->latency[event];
	l->memory = m;
	l->shown = memory_shown_latency(m);
	l->by = view_latency_by(profile_options(v->profile));
	for (size_t i = m->first[l->by]; i < m->first[l->by + 1]; i++) {
		uint64_t key, *at;
		bool fresh;

		if (!group_key(&m->group[i], &key))
			continue;
		at = u64map_at(&l->at, key, &fresh);
		if (!at)
			return err_nomem(err);
		*at = fresh ? i + 1 : 0;
	}
	return 0;
}

void view_latency_free(struct view *v)
{
	for (size_t i = 0; v->latency && i < v->source.n_events; i++)
		u64map_free(&v->latency[i].at);
	free(v->latency);
}

/* false: *why */
static bool latency_row_key(const struct view *v, const struct view_latency *l,
			    const struct view_row *r, uint64_t *key, const char **why)
{
	const struct profile_opts *o = profile_options(v->profile);
	int i;

	if (!r->row) {
		*why = "the row stands for several";
		return false;
	}
	switch (l->by) {
	case MEMORY_FUNCTION:
		*why = r->row->image == IMAGE_NONE ? "in several files, or in none"
						   : "no symbol, or functions of one name";
		*key = (uintptr_t)r->row->symbol;
		return r->row->symbol;
	case MEMORY_FILE:
		*why = "several files of this name, or none";
		*key = r->row->image;
		return r->row->image != IMAGE_NONE;
	case MEMORY_LINE:
		i = profile_key_at(o, KEY_SRCLINE);
		*key = line_key(profile_text(v->profile, (uint32_t)r->row->key[i]));
		return true;
	default:
		*key = r->row->key[profile_key_at(o, KEY_TID)];
		return true;
	}
}

const struct memory_spread *view_latency_of(const struct view *v, size_t event,
					    const struct view_row *r, const char **why)
{
	const struct view_latency *l = v->latency ? &v->latency[event] : NULL;
	const struct memory_spread *s;
	const uint64_t *at;
	uint64_t key;

	*why = "the event tells of no latency";
	if (!l || !l->memory || !latency_row_key(v, l, r, &key, why))
		return NULL;
	at = u64map_find(&l->at, key);
	if (at && !*at) {
		*why = l->by == MEMORY_THREAD ? "the thread had several names"
					      : "the line is of several files";
		return NULL;
	}
	*why = "no sample has a latency";
	s = at ? memory_spread(l->memory, &l->memory->group[*at - 1], l->shown) : NULL;
	return s;
}

static void count_lack(struct view_latency_lack *out, size_t *n, const char *why)
{
	size_t i = 0;

	while (i < *n && strcmp(out[i].why, why) != 0)
		i++;
	if (i == VIEW_LATENCY_LACKS)
		return;
	if (i == *n)
		out[(*n)++] = (struct view_latency_lack){ .why = why };
	out[i].rows++;
	for (; i && out[i].rows > out[i - 1].rows; i--) {
		struct view_latency_lack less = out[i - 1];

		out[i - 1] = out[i];
		out[i] = less;
	}
}

size_t view_latency_lacks(const struct view *v, const struct view_table *t, size_t event,
			  struct view_latency_lack out[VIEW_LATENCY_LACKS])
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		const char *why;

		if (t->row[i].self[event].samples &&
		    !view_latency_of(v, t->event[event], &t->row[i], &why))
			count_lack(out, &n, why);
	}
	return n;
}

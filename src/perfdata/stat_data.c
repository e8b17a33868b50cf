/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/stat_data.h"

#include "base/hash.h"
#include "base/vec.h"
#include "perfdata/perfdata_int.h"

#define CPUS_MAX (1u << 16)

enum { CONFIG_AGGR, CONFIG_INTERVAL, CONFIG_SCALE };
enum { ROUND_INTERVAL, ROUND_FINAL };

struct walker {
	const struct pd *rec;
	struct stat_data *out;
	struct arena *a;
	VEC(struct stat_cell) cells; /* values as they stand there */
	VEC(struct stat_round) rounds;
	bool nomem;
};

static int take_config(struct walker *w, const struct pd_record *r)
{
	uint64_t n = ld64(r->p + 8);

	for (uint64_t i = 0; i < n && 32 + 16 * i <= r->size; i++) {
		uint64_t value = ld64(r->p + 24 + 16 * i);

		switch (ld64(r->p + 16 + 16 * i)) {
		case CONFIG_INTERVAL:
			w->out->interval_ms = value;
			break;
		case CONFIG_SCALE:
			w->out->unscaled = !value;
			break;
		default:
			break;
		}
	}
	return 0;
}

static int take_threads(struct walker *w, const struct pd_record *r)
{
	uint64_t n = ld64(r->p + 8), room = (r->size - 16u) / 24u;
	struct stat_thread *t;

	if (w->out->n_threads) /* the first is the recording's own */
		return 0;
	n = n < room ? n : room;
	t = arena_alloc(w->a, (n + 1) * sizeof(*t));
	if (!t)
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *p = r->p + 16 + 24 * i;

		t[i].pid = (int32_t)(uint32_t)ld64(p);
		t[i].comm = arena_strndup(w->a, (const char *)p + 8, 16);
		if (!t[i].comm)
			return -1;
	}
	w->out->thread = t;
	w->out->n_threads = n;
	return 0;
}

static int take_stat_cell(struct walker *w, const struct pd_record *r)
{
	int event = pd_id_event(w->rec, ld64(r->p + 8));
	struct stat_cell c = { .event = (uint32_t)event,
			       .cpu = (int32_t)ld32(r->p + 16),
			       .thread = ld32(r->p + 20),
			       .value = ld64(r->p + 24),
			       .enabled = ld64(r->p + 32),
			       .running = ld64(r->p + 40) };

	if (event < 0 || c.cpu < STAT_CPU_NONE || c.cpu >= (int32_t)CPUS_MAX ||
	    (w->out->n_threads ? c.thread >= w->out->n_threads : c.thread)) {
		w->out->strange++;
		return 0;
	}
	w->out->cpus |= c.cpu != STAT_CPU_NONE;
	return vec_push(&w->cells, c);
}

/* Rounds that brought nothing are not kept: perf writes one behind the last interval's, too. */
static int end_round(struct walker *w, uint64_t time, bool untold)
{
	struct stat_round round = {
		.time = time,
		.untold = untold,
		.first = (w->rounds.n ? vec_last(&w->rounds)->first + vec_last(&w->rounds)->n : 0)
	};

	round.n = w->cells.n - round.first;
	return round.n ? vec_push(&w->rounds, round) : 0;
}

static int take_stat_record(void *ctx, const struct pd_record *r)
{
	struct walker *w = ctx;
	const struct record_row *row = pd_record_row(r->type);
	int rc = 0;

	if (!row || r->size < row->least)
		return 0;
	switch (r->type) {
	case PD_RECORD_STAT_CONFIG:
		rc = take_config(w, r);
		break;
	case PD_RECORD_THREAD_MAP:
		rc = take_threads(w, r);
		break;
	case PD_RECORD_STAT:
		rc = take_stat_cell(w, r);
		break;
	case PD_RECORD_STAT_ROUND:
		rc = end_round(w, ld64(r->p + 16), false);
		break;
	default:
		break;
	}
	w->nomem |= rc != 0;
	return rc;
}

/* The difference to the cell before, of each event and place. */
static int subtract(struct walker *w)
{
	struct u64map last = U64MAP_INIT; /* -> index of the sum so far */
	VEC(struct stat_cell) sum = VEC_INIT;
	int rc = -1;

	for (size_t i = 0; i < w->cells.n; i++) {
		struct stat_cell *c = &w->cells.v[i], now = *c, *before;
		bool fresh;
		/* Event, CPU and thread in one number: 14, 17 and 32 bits. */
		uint64_t *at = u64map_at(&last,
					 (uint64_t)c->event << 49 |
						 (uint64_t)(uint32_t)(c->cpu + 1) << 32 | c->thread,
					 &fresh);

		if (!at)
			goto out;
		if (fresh) {
			*at = sum.n;
			if (vec_push(&sum, now))
				goto out;
			continue;
		}
		before = &sum.v[*at];
		if (c->value < before->value || c->enabled < before->enabled ||
		    c->running < before->running) {
			w->out->backwards++;
			c->value = c->enabled = c->running = 0;
		} else {
			c->value -= before->value;
			c->enabled -= before->enabled;
			c->running -= before->running;
		}
		*before = now;
	}
	rc = 0;
out:
	u64map_free(&last);
	vec_free(&sum);
	return rc;
}

bool stat_data_is(const struct pd *rec)
{
	const struct pd_type_count *t;
	size_t n;

	t = pd_type_counts(rec, &n);
	for (size_t i = 0; i < n; i++)
		if (t[i].type == PD_RECORD_STAT)
			return true;
	return pd_info(rec)->has_stat;
}

int stat_data_read(struct stat_data *out, struct arena *a, const struct pd *rec, struct err *err)
{
	struct walker w = { .rec = rec, .out = out, .a = a };
	int rc = -1;

	memset(out, 0, sizeof(*out));
	(void)pd_walk(rec, take_stat_record, &w);
	if (!w.nomem && end_round(&w, w.rounds.n ? vec_last(&w.rounds)->time : 0, true))
		w.nomem = true;
	if (w.nomem || subtract(&w)) {
		(void)err_nomem(err);
		goto out;
	}
	if (!w.cells.n) {
		(void)err_set(err, ERR_FORMAT, "%s: no counts are in it",
			      rec->path ? rec->path : "recording");
		(void)err_hint(err,
			       "perf stat record writes them; samples are for cyclade report FILE");
		goto out;
	}
	out->cell = arena_memdup(a, w.cells.v, w.cells.n * sizeof(*out->cell));
	out->n_cells = w.cells.n;
	out->round = arena_memdup(a, w.rounds.v, w.rounds.n * sizeof(*out->round));
	out->n_rounds = w.rounds.n;
	rc = out->cell && out->round ? 0 : err_nomem(err);
out:
	vec_free(&w.cells);
	vec_free(&w.rounds);
	return rc;
}

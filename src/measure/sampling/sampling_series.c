/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording in several files (--switch-output), or one whose last part alone is kept, in memory,
 * until a snapshot is asked for (--overwrite). Files begin and end between two rounds of the rings,
 * on the thread that writes. Each begins with what was there (perfdata/state.h).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/num.h"
#include "measure/sampling/sampling_int.h"
#include "measure/trigger.h"
#include "perfdata/latest.h"
#include "perfdata/series.h"
#include "perfdata/state.h"

#define LATEST_DEFAULT (64u << 20)
#define LEAST_MOST     (1u << 20) /* --max-size of several files */
#define TAIL_MOST      (1u << 20)
#define FEATURES_FIRST (128u << 10)
#define WAIT_MOST      1000u /* steps of 5 ms for a file that was asked for */

struct sampling_series {
	struct sampling *of;
	struct series *files;
	struct pd_state *state;
	struct pd_latest *latest;  /* NULL: everything is written at once */
	struct trigger *trigger;   /* NULL: none */
	atomic_bool wanted;	   /* a snapshot, or the next file */
	bool replays;		   /* what is written is the state: it is known */
	uint64_t features;	   /* bytes that the last ones took, about */
	uint64_t samples, dropped; /* samples: before this file; dropped: without room */
	_Atomic uint64_t written;  /* files that were asked for */
};

/* ---- options ---------------------------------------------------------------------------- */

/* "10s", "1h": a time; "100M", "64K": bytes; "signal", "": neither. */
static int parse_switch(struct series_limit *limit, const char *text, struct err *err)
{
	size_t len = strlen(text);

	if (!len || !strcmp(text, "signal"))
		return 0;
	if (strchr("BKMG", text[len - 1])) {
		if (!num_parse_bytes(&limit->every_bytes, text, NULL) && limit->every_bytes)
			return 0;
	} else if (!num_parse_duration(&limit->every_ns, text, 0, NULL) && limit->every_ns) {
		return 0;
	}
	(void)err_set(err, ERR_USAGE, "--switch-output: '%.40s' is no time, size or signal", text);
	return err_hint(err, "--switch-output=10s, =5m, =100M, or =signal (SIGUSR2)");
}

static int check_series(const struct sampling *r, struct err *err)
{
	const struct measure_opts *o = &r->opts;
	bool series = o->switch_output || o->overwrite;

	if (!series && (o->switch_files || o->snapshot_if)) {
		(void)err_set(err, ERR_USAGE, "%s goes with --switch-output or --overwrite",
			      o->snapshot_if ? "--snapshot-if" : "--switch-max-files");
		return err_hint(err, "cyclade record --overwrite --snapshot-if 'load > 8' -a");
	}
	if (!series)
		return 0;
	if (o->heap || sampling_spe(r))
		return err_set(err, ERR_UNSUPPORTED, "%s needs all of a recording in one file",
			       o->heap ? "--heap" : "SPE");
	if (o->max_bytes && o->max_bytes < LEAST_MOST)
		return err_set(err, ERR_USAGE, "--max-size of several files is 1M at least");
	return 0;
}

int sampling_series_open(struct sampling *r, struct err *err)
{
	const struct measure_opts *o = &r->opts;
	struct series_limit limit = { .most_bytes = o->max_bytes, .most_files = o->switch_files };
	struct perf_event_attr stored;
	struct sampling_series *x;
	uint64_t memory = LATEST_DEFAULT;

	if (check_series(r, err))
		return -1;
	if (!r->path || (!o->switch_output && !o->overwrite))
		return 0;
	if (o->switch_output && parse_switch(&limit, o->switch_output, err))
		return -1;
	if (o->overwrite && *o->overwrite && num_parse_bytes(&memory, o->overwrite, err))
		return err_prefix(err, "--overwrite");
	if (o->max_bytes && memory > o->max_bytes / 2)
		memory = o->max_bytes / 2;
	x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	r->sink.series = x;
	x->of = r;
	stored = sampling_stored(r, 0);
	x->features = FEATURES_FIRST;
	if (o->snapshot_if && trigger_open(&x->trigger, o->snapshot_if, o->root, err))
		return err_prefix(err, "--snapshot-if");
	if (pd_state_new(&x->state, attr_trailer(&stored), err) ||
	    (o->overwrite && pd_latest_new(&x->latest, memory, x->state, err)))
		return -1;
	return series_new(&x->files, r->path, &limit, err);
}

bool sampling_series_waits(const struct sampling *r)
{
	return r->sink.series && r->sink.series->latest;
}

void sampling_series_ask(struct sampling *r)
{
	const struct timespec step = { 0, 5000000 };
	struct sampling_series *x = r->sink.series;
	uint64_t before;

	if (!x)
		return;
	before = atomic_load(&x->written);
	atomic_store(&x->wanted, true);
	for (unsigned i = 0;
	     i < WAIT_MOST && atomic_load(&x->written) == before && !atomic_load(&r->sink.failed);
	     i++)
		(void)nanosleep(&step, NULL);
}

/* ---- records ---------------------------------------------------------------------------- */

/* One file: the first that finds no room ends the recording. Its features need some, too. */
static int write_bounded(struct sink *s, const uint8_t *p, size_t size, struct err *err)
{
	uint64_t tail = s->most / 8 < TAIL_MOST ? s->most / 8 : TAIL_MOST;

	if (!s->beyond && pdw_bytes(s->writer) + size <= s->most - tail)
		return pdw_data(s->writer, p, size, err);
	if (ld32(p) == PERF_RECORD_SAMPLE && !s->beyond++)
		sink_failed(s); /* nothing more to gain */
	return 0;
}

int sink_write(struct sink *s, const uint8_t *p, size_t size, struct err *err)
{
	struct sampling_series *x = s->series;

	if (!x && !s->most)
		return pdw_data(s->writer, p, size, err);
	if (!x)
		return write_bounded(s, p, size, err);
	if (x->latest && !s->writer)
		return pd_latest_add(x->latest, p, size, err);
	if (!x->latest && !x->replays && pd_state_note(x->state, p, size, err))
		return -1;
	if (!series_room(x->files, pdw_bytes(s->writer) + size + x->features)) {
		x->dropped += ld32(p) == PERF_RECORD_SAMPLE;
		return 0;
	}
	return pdw_data(s->writer, p, size, err);
}

/* Several records, when a snapshot is written. */
static int put_latest(void *ctx, const void *p, size_t len, struct err *err)
{
	const uint8_t *at = p;
	struct sink *s = ctx;

	for (size_t i = 0, size; i < len; i += size) {
		size = ld16(at + i + 6);
		if (ld32(at + i) == PERF_RECORD_SAMPLE && size >= s->time_at + 8 &&
		    ld64(at + i + s->time_at) < s->first_time)
			s->first_time = ld64(at + i + s->time_at);
		if (sink_write(s, at + i, size, err))
			return -1;
	}
	return 0;
}

static int put_state(void *ctx, const void *p, size_t len, struct err *err)
{
	return sink_write(ctx, p, len, err);
}

/* ---- files ------------------------------------------------------------------------------ */

static int begin_file(struct sampling *r, struct err *err)
{
	struct sampling_series *x = r->sink.series;
	int rc;

	if (sampling_file(r, err) || sampling_features_early(r, err))
		return -1;
	x->replays = true;
	rc = pd_state_put(x->state, put_state, &r->sink, err);
	x->replays = false;
	if (!rc && x->latest) {
		r->sink.first_time = UINT64_MAX; /* a file has the times of its own samples */
		rc = pd_latest_put(x->latest, put_latest, &r->sink, err);
	}
	if (!rc && x->dropped) {
		(void)err_set(err, ERR_LIMIT, "--max-size has no room for what was recorded");
		rc = err_hint(err, "a larger --max-size, or a smaller --overwrite");
	}
	series_begin(x->files, counting_clock());
	return rc ? -1 : pdw_flush(r->sink.writer, err);
}

static int end_file(struct sampling *r, struct err *err)
{
	const struct pdw_end end = { .how = PD_END_FINISHED };
	struct sampling_series *x = r->sink.series;
	struct pdw *w = r->sink.writer;
	struct timespec wall;
	uint64_t before = pdw_bytes(w);

	copying_maps(r->sink.inside.copies, &r->sink.inside);
	if (sampling_features(r, NULL, err))
		return -1;
	x->features = pdw_features_bytes(w) + pdw_features_bytes(w) / 4 + 4096;
	(void)series_room(x->files, before + x->features);
	if (pdw_commit(w, &end, err))
		return -1;
	pdw_close(w);
	r->sink.writer = NULL;
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	return series_keep(x->files, wall, err);
}

static int next_file(struct sampling *r, struct err *err)
{
	struct sampling_series *x = r->sink.series;

	if (x->latest) {
		if (begin_file(r, err) || end_file(r, err))
			return -1;
	} else {
		if (end_file(r, err))
			return -1;
		x->samples = r->sink.samples;
		r->sink.first_time = UINT64_MAX;
		if (begin_file(r, err))
			return -1;
	}
	(void)atomic_fetch_add(&x->written, 1);
	return 0;
}

int sampling_series_round(struct sampling_series *x, struct err *err)
{
	struct sampling *r = x->of;
	uint64_t now = counting_clock();
	bool wanted = atomic_exchange(&x->wanted, false);

	if (x->trigger && trigger_fires(x->trigger, now))
		wanted = true;
	if (!x->latest) {
		pd_state_round(x->state);
		wanted |= r->sink.samples > x->samples &&
			  series_due(x->files, now, pdw_bytes(r->sink.writer));
	}
	return wanted ? next_file(r, err) : 0;
}

/* The end of all: what is in memory becomes the last file. */
int sampling_series_end(struct sampling *r, struct err *err)
{
	struct sampling_series *x = r->sink.series;

	if (!x)
		return 0;
	if (x->latest && !r->sink.writer && begin_file(r, err))
		return -1;
	(void)series_room(x->files, pdw_bytes(r->sink.writer) + x->features);
	return 0;
}

uint64_t sampling_series_new_samples(const struct sink *s)
{
	return s->samples - (s->series ? s->series->samples : 0);
}

int sampling_series_keep(struct sampling *r, struct err *err)
{
	struct sampling_series *x = r->sink.series;
	struct timespec wall;

	if (!x)
		return 0;
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	if (r->result.kept && series_keep(x->files, wall, err))
		return -1;
	r->result.kept = series_last(x->files);
	if (!r->result.kept)
		return 0;
	r->result.files = series_kept(x->files, &r->result.files_removed, &r->result.bytes);
	r->result.path = arena_strdup(r->arena, series_last(x->files));
	r->result.no_room += x->dropped;
	return r->result.path ? 0 : err_nomem(err);
}

void sampling_series_close(struct sampling *r)
{
	struct sampling_series *x = r->sink.series;

	if (!x)
		return;
	trigger_close(x->trigger);
	pd_latest_free(x->latest);
	pd_state_free(x->state);
	series_free(x->files);
	free(x);
	r->sink.series = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader - opens a recording: header, attributes, features, then the walk.
 *
 * The header of a file, all u64 unless noted: magic, its own size (16: a pipe, nothing more
 * follows), size of an attribute's row, then offset and size of attributes, of data and of event
 * types (version 1 only), then 256 bits of features, whose table of offset and size stands behind
 * the data.
 */
#include "perfdata/perfdata_int.h"
#include "perfdata/archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC1	     0x454c494646524550ULL /* "PERFFILE" */
#define MAGIC2	     0x32454c4946524550ULL /* "PERFILE2" */
#define HEADER_SIZE  104
#define HEADER_BARE  72 /* before there were features */
#define PIPE_SIZE    16
#define BIT_HOSTNAME 3

void pd_note(struct pd *rec, const char *fmt, ...)
{
	struct err e = ERR_INIT; /* a ready formatter of one line */
	const char *s;
	va_list ap;

	if (rec->notes.n >= PD_NOTES_MAX) {
		rec->notes_more++;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(e.what, sizeof(e.what), fmt, ap);
	va_end(ap);
	if (rec->notes.n && !strcmp(*vec_last(&rec->notes), e.what))
		return;
	s = arena_strdup(&rec->arena, e.what);
	if (s && vec_push(&rec->notes, s))
		rec->notes_more++;
}

struct section {
	uint64_t off, len;
};

struct header {
	uint64_t size, attr_size;
	struct section attrs, data, types;
};

static struct section get_section(struct cur *c)
{
	struct section s;

	s.off = cur_u64(c);
	s.len = cur_u64(c);
	return s;
}

/* The part of a section that lies within the file. */
static uint64_t section_inside(const struct pd_source *s, const struct section *x)
{
	if (x->off >= s->len)
		return 0;
	return x->len < s->len - x->off ? x->len : s->len - x->off;
}

static uint64_t swapped(uint64_t v, bool swap)
{
	return swap ? __builtin_bswap64(v) : v;
}

/* The first page or less; terminals' escapes are text, too. */
static bool begins_as_text(const struct pd_source *s)
{
	for (size_t i = 0; i < s->len && i < 4096; i++)
		if ((s->p[i] < ' ' && !strchr("\t\n\r\033", s->p[i])) || s->p[i] == 127 || !s->p[i])
			return false;
	return true;
}

/* Byte order and version by the magic. Version 1's was written as text and reads the same in either
 * order: there the header's size decides. */
static int get_magic(struct pd *rec, const struct pd_source *s, struct err *err)
{
	uint64_t magic, size;

	if (s->len < 16) {
		(void)err_set(err, ERR_FORMAT,
			      s->len ? "%s: only %zu bytes, no recording has so few"
				     : "%s: is empty (%zu bytes)",
			      rec->path, s->len);
		return err_hint(err,
				"record again; a recorder that was killed at once leaves this");
	}
	magic = ld64(s->p);
	size = ld64(s->p + 8);
	if (magic == MAGIC2 || magic == __builtin_bswap64(MAGIC2)) {
		rec->swap = magic != MAGIC2;
	} else if (magic == MAGIC1) {
		rec->swap = size > UINT32_MAX;
		rec->info.form = PD_VERSION1;
	} else {
		if (begins_as_text(s)) {
			(void)err_set(err, ERR_FORMAT, "%s: is text, not a recording", rec->path);
			return err_hint(
				err, "-o of run and report writes text; recordings are written by "
				     "record -o FILE and run --data FILE (cyclade.data)");
		}
		(void)err_set(err, ERR_FORMAT,
			      "%s: offset 0: not a recording: begins with %02x %02x %02x %02x "
			      "instead of PERFILE2",
			      rec->path, s->p[0], s->p[1], s->p[2], s->p[3]);
		return err_hint(
			err, "name a perf.data file, as written by cyclade record or perf record");
	}
	rec->info.foreign_order = rec->swap;
	return 0;
}

static int get_header(struct pd *rec, const struct pd_source *s, struct header *h, struct err *err)
{
	struct cur c = cur_of(s->p, s->len);

	c.swap = rec->swap;
	(void)cur_u64(&c);
	h->size = cur_u64(&c);
	h->attr_size = cur_u64(&c);
	h->attrs = get_section(&c);
	h->data = get_section(&c);
	h->types = get_section(&c);
	if (c.bad || h->size < HEADER_BARE) {
		(void)err_set(err, ERR_FORMAT,
			      "%s: offset 8: header of %" PRIu64 " bytes in a file of %zu, "
			      "%d expected",
			      rec->path, h->size, s->len, HEADER_SIZE);
		return err_hint(err, "the file is damaged or cut off at its start: record again");
	}
	if (h->size >= HEADER_SIZE) {
		uint64_t *f = rec->info.features;

		/* The bitmap's words are the recorder's `unsigned long`: of 32 bits and the other
		 * byte order, the halves of ours stand exchanged. Every recorder writes HOSTNAME.
		 */
		for (int i = 0; i < 4; i++)
			f[i] = cur_u64(&c);
		if (rec->swap && !(f[0] >> BIT_HOSTNAME & 1) && (f[0] >> (32 + BIT_HOSTNAME) & 1))
			for (int i = 0; i < 4; i++)
				f[i] = f[i] >> 32 | f[i] << 32;
		if (f[2] && rec->info.form == PD_FILE) {
			rec->info.form = PD_SIMPLEPERF;
			rec->huge = true;
		}
	}
	if (c.bad) {
		pd_note(rec, "offset 72: the file ends within its header");
		pd_end_cut(rec, "cut short: the file ends within its header");
	}
	return 0;
}

static int get_attrs(struct pd *rec, const struct pd_source *s, const struct header *h,
		     struct err *err)
{
	uint64_t have = section_inside(s, &h->attrs), row = h->attr_size;

	if (row < 64 + 16 || row > 65536) {
		pd_note(rec,
			"offset 16: attributes of %" PRIu64 " bytes each, 80 to 65536 expected",
			row);
		return 0;
	}
	if (have < h->attrs.len)
		pd_note(rec,
			"offset %" PRIu64 ": %" PRIu64 " bytes of attributes, %" PRIu64
			" are there",
			h->attrs.off, h->attrs.len, have);
	for (uint64_t at = 0; have - at >= row && !rec->too_many; at += row) {
		const uint8_t *p = s->p + h->attrs.off + at;
		struct section ids = { swapped(ld64(p + row - 16), rec->swap),
				       swapped(ld64(p + row - 8), rec->swap) };
		uint64_t n = section_inside(s, &ids);

		if (n < ids.len)
			pd_note(rec,
				"offset %" PRIu64 ": %" PRIu64 " bytes of event ids, %" PRIu64
				" are there",
				ids.off, ids.len, n);
		if (n / 8 * (rec->events.n + 1) > s->len) /* sections on top of one another */
			n = n < 4096 ? n : 4096;
		if (pd_attr_add(rec, p, (size_t)row - 16, n ? s->p + ids.off : NULL, (size_t)n / 8,
				err))
			return -1;
	}
	pd_attrs_done(rec);
	return 0;
}

/* Version 1: rows of a config and a name of 64 bytes. */
static void get_types(struct pd *rec, const struct pd_source *s, const struct header *h)
{
	uint64_t have = section_inside(s, &h->types);

	for (uint64_t at = 0; have - at >= 72 && pd_may_search(rec); at += 72) {
		const uint8_t *p = s->p + h->types.off + at;
		uint64_t config = swapped(ld64(p), rec->swap);

		vec_each (&rec->events, struct pd_event *, ev)
			if (!ev->name && ev->attr.config == config &&
			    pd_event_type_names(&ev->attr))
				ev->name = arena_strndup(&rec->arena, (const char *)p + 8,
							 strnlen((const char *)p + 8, 64));
	}
}

/* The table behind the data: one row for each bit set, in order. */
static int take_features(struct pd *rec, const struct pd_source *s, uint64_t table, struct err *err)
{
	struct pd_info *info = &rec->info;
	uint64_t missing = 0;

	for (unsigned bit = 0; bit < 256; bit++) {
		struct section x;

		if (!(info->features[bit / 64] >> (bit % 64) & 1))
			continue;
		if (table > s->len || s->len - table < 16) {
			missing++;
			info->features_bad[bit / 64] |= (uint64_t)1 << (bit % 64);
			continue;
		}
		x.off = swapped(ld64(s->p + table), rec->swap);
		x.len = swapped(ld64(s->p + table + 8), rec->swap);
		table += 16;
		if (section_inside(s, &x) < x.len) {
			const char *name = pd_feature_name(bit);

			info->features_bad[bit / 64] |= (uint64_t)1 << (bit % 64);
			pd_end_cut(rec,
				   "incomplete: header features lie beyond the end of the file");
			pd_note(rec,
				"offset %" PRIu64 ": header feature %s lies beyond the end of "
				"the file",
				x.off, name ? name : "without a name");
			continue;
		}
		if (pd_feature_take(rec, bit, x.len ? s->p + x.off : s->p, (size_t)x.len, err))
			return -1;
	}
	if (missing) {
		pd_end_cut(rec, "incomplete: header features are missing");
		pd_note(rec,
			"%" PRIu64 " header features are missing (host, command line, build ids, "
			"...): the recorder did not get to write them",
			missing);
	}
	return 0;
}

static int open_pipe(struct pd *rec, const struct pd_source *s, struct err *err)
{
	rec->piped = true;
	if (rec->info.form == PD_FILE)
		rec->info.form = PD_PIPE;
	rec->info.data_offset = PIPE_SIZE;
	rec->info.data_size = s->len - PIPE_SIZE;
	return pd_walk_source(rec, s, PIPE_SIZE, s->len - PIPE_SIZE, err);
}

static bool no_features(const struct pd *rec)
{
	const uint64_t *f = rec->info.features;

	return !(f[0] | f[1] | f[2] | f[3]);
}

static int open_pd_source(struct pd *rec, struct pd_source *s, struct err *err)
{
	struct header h;
	uint64_t have;

	if (get_header(rec, s, &h, err) || get_attrs(rec, s, &h, err))
		return -1;
	get_types(rec, s, &h);
	if (rec->info.form == PD_FILE)
		pd_end_block(rec, s, h.size);
	have = section_inside(s, &h.data);
	if (!h.data.len && h.data.off && h.data.off < s->len) {
		have = s->len - h.data.off;
		pd_end_unfinished(rec);
		pd_note(rec,
			"offset 48: data size 0: the recorder was killed, or is still at work; "
			"the data are taken to run to the file's end");
		if (rec->info.features[0] | rec->info.features[1])
			pd_note(rec,
				"header features (host, command line, build ids, ...) were not "
				"written");
		memcpy(rec->info.features_bad, rec->info.features, sizeof(rec->info.features));
	} else if (no_features(rec) && have == h.data.len && have && h.data.off + have < s->len) {
		/* a recorder that keeps its header true was killed between writing and saying so */
		pd_end_unfinished(rec);
		pd_note(rec,
			"offset %" PRIu64 ": %" PRIu64
			" bytes behind what the header tells of, and "
			"no header features: the recorder was stopped; they are taken for records",
			h.data.off + have, s->len - h.data.off - have);
		have = s->len - h.data.off;
	} else {
		if (have < h.data.len) {
			pd_end_cut(rec, "cut short: the file ends within the records");
			pd_note(rec,
				"offset %" PRIu64 ": %" PRIu64 " bytes of data, %" PRIu64
				" are there: cut short",
				h.data.off, h.data.len, have);
		}
		if (h.data.len > UINT64_MAX - h.data.off)
			h.data.len = UINT64_MAX - h.data.off;
		if (take_features(rec, s, h.data.off + h.data.len, err))
			return -1;
	}
	rec->info.data_offset = h.data.off;
	rec->info.data_size = have;
	if (!have)
		return 0;
	/* from here on all facts for reading records are known, except for rare types */
	rec->feeding = rec->feed && rec->sources.n == 1 && s->own == PD_MAPPED && !rec->swap &&
		       !pd_defers(rec);
	if (rec->feeding && pd_feed_begin(rec, err))
		return -1;
	return pd_walk_source(rec, s, h.data.off, have, err);
}

static int name_pd_events(struct pd *rec, struct err *err)
{
	vec_each (&rec->events, struct pd_event *, ev) {
		if (!ev->name || !*ev->name)
			ev->name = pd_event_make_name(rec, ev);
		if (!ev->name)
			return err_nomem(err);
	}
	return 0;
}

static int open_sources(struct pd *rec, struct err *err)
{
	struct pd_source *s = rec->sources.v;
	uint64_t size;

	for (size_t i = 0; i < rec->sources.n; i++)
		rec->info.file_size += rec->sources.v[i].len;
	if (pd_toolkit_is(s->p, s->len) && pd_toolkit_convert(rec, s, err))
		return -1;
	if (get_magic(rec, s, err))
		return -1;
	for (size_t i = 0; rec->swap && i < rec->sources.n; i++)
		if (pd_source_own(&rec->sources.v[i], err))
			return -1;
	size = swapped(ld64(s->p + 8), rec->swap);
	if (size == PIPE_SIZE ? open_pipe(rec, s, err) : open_pd_source(rec, s, err))
		return -1;
	for (size_t i = 1; i < rec->sources.n; i++)
		if (pd_walk_source(rec, &rec->sources.v[i], 0, rec->sources.v[i].len, err))
			return -1;
	if (!rec->events.n) {
		if (!rec->chunks.n && !rec->info.hostname && !rec->info.cmdline) {
			(void)err_set(err, ERR_FORMAT,
				      "%s: no event, no record and no header feature "
				      "can be read: %s",
				      rec->path, rec->notes.n ? rec->notes.v[0] : "it is empty");
			return err_hint(err, "the file is damaged or cut off: record again");
		}
		pd_note(rec, "no event is described: samples cannot be read");
	}
	rec->info.buildids = rec->buildids.v;
	rec->info.n_buildids = rec->buildids.n;
	return name_pd_events(rec, err) || pd_spe_decode(rec, err) || pd_deferred_join(rec, err) ||
			       pd_walk_done(rec, err) || pd_feed_end(rec, err)
		       ? -1
		       : 0;
}

static struct pd *pd_new(const char *path)
{
	struct pd *rec = calloc(1, sizeof(*rec));

	if (!rec)
		return NULL;
	rec->spill_fd = -1;
	rec->first_time = UINT64_MAX;
	rec->path = arena_strdup(&rec->arena, path);
	if (rec->path)
		return rec;
	pd_close(rec);
	return NULL;
}

static int finish_pd_notes(struct pd *rec, struct err *err)
{
	const char *s;

	/* among all notes, this is always one */
	if (rec->losses.partial && vec_push(&rec->notes, rec->losses.ended))
		return err_nomem(err);
	if (!rec->notes_more)
		return 0;
	s = arena_printf(&rec->arena, "and %zu more things like these", rec->notes_more);
	return !s || vec_push(&rec->notes, s) ? err_nomem(err) : 0;
}

int pd_open(struct pd **out, const char *path, struct err *err)
{
	return pd_open_feed(out, path, NULL, err);
}

int pd_open_feed(struct pd **out, const char *path, const struct pd_feed *feed, struct err *err)
{
	struct pd *rec = pd_new(strcmp(path, "-") ? path : "standard input");

	*out = NULL;
	if (!rec)
		return err_nomem(err);
	rec->feed = feed;
	if (pd_load(rec, path, err) || open_sources(rec, err) || finish_pd_notes(rec, err)) {
		pd_close(rec);
		return -1;
	}
	*out = rec;
	return 0;
}

int pd_open_memory(struct pd **out, const void *p, size_t len, struct err *err)
{
	struct pd_source s = { (uint8_t *)(uintptr_t)p, len, PD_BORROWED, NULL };
	struct pd *rec = pd_new("memory");

	*out = NULL;
	if (!rec)
		return err_nomem(err);
	if (vec_push(&rec->sources, s)) {
		pd_close(rec);
		return err_nomem(err);
	}
	if (open_sources(rec, err) || finish_pd_notes(rec, err)) {
		pd_close(rec);
		return -1;
	}
	*out = rec;
	return 0;
}

const char *pd_root(const struct pd *rec)
{
	return rec->root;
}

void pd_close(struct pd *rec)
{
	if (!rec)
		return;
	archive_close(rec->archive);
	vec_each (&rec->sources, struct pd_source *, s)
		pd_source_free(s);
	vec_each (&rec->blocks, struct pd_source *, b)
		pd_source_free(b);
	if (rec->spill_fd >= 0)
		(void)close(rec->spill_fd);
	vec_free(&rec->sources);
	vec_free(&rec->blocks);
	vec_free(&rec->traces);
	vec_free(&rec->events);
	vec_free(&rec->chunks);
	vec_free(&rec->chunk_side);
	vec_free(&rec->sides);
	vec_free(&rec->unknown);
	vec_free(&rec->type_counts);
	vec_free(&rec->notes);
	vec_free(&rec->buildids);
	vec_free(&rec->formats);
	vec_free(&rec->deferred);
	u64map_free(&rec->deferred_at);
	u64map_free(&rec->ids);
	u64map_free(&rec->read_lost);
	arena_free(&rec->arena);
	free(rec);
}

/* ---- results ---- */

const struct pd_info *pd_info(const struct pd *rec)
{
	return &rec->info;
}

unsigned pd_precise(const struct pd *rec, const struct pd_event *ev)
{
	const char *arch = rec->info.arch ? rec->info.arch : "";

	/* arm64, armv7l, aarch64 */
	return strncmp(arch, "arm", 3) && strncmp(arch, "aarch64", 7) ? ev->attr.precise_ip : 0;
}

const struct pd_event *pd_events(const struct pd *rec, size_t *n)
{
	*n = rec->events.n;
	return rec->events.v;
}

bool pd_has_time(const struct pd *rec)
{
	vec_each (&rec->events, const struct pd_event *, ev)
		if (!ev->attr.sample_id_all || !(ev->attr.sample_type & PERF_SAMPLE_TIME))
			return false;
	return rec->events.n;
}

bool pd_time_span(const struct pd *rec, uint64_t *first, uint64_t *last)
{
	if (rec->first_time > rec->last_time)
		return false;
	*first = rec->first_time;
	*last = rec->last_time;
	return true;
}

const struct pd_type_count *pd_type_counts(const struct pd *rec, size_t *n)
{
	*n = rec->type_counts.n;
	return rec->type_counts.v;
}

const struct pd_losses *pd_losses(const struct pd *rec)
{
	return &rec->losses;
}

const char *const *pd_notes(const struct pd *rec, size_t *n)
{
	*n = rec->notes.n;
	return rec->notes.v;
}

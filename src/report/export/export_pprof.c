/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pprof's profile.proto, packed by gzip.
 *
 * Each event is two values of a sample: how many samples, and how much of the event they stand for.
 * A process' addresses are its own affair; here every file is mapped once, a position-independent
 * one to a place that no other has, so that pprof finds the file's own addresses again from mapping
 * and program headers (for -list and -disasm). Code without a symbol is left to pprof to name.
 */
#include "base/xalloc.h"
#include "report/export/export_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/fs.h"
#include "base/text.h"
#include "report/export/proto.h"
#include "symbol/source.h"

enum { /* fields of messages */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_MAPPING = 3,
       PROFILE_LOCATION = 4,
       PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6,
       PROFILE_TIME = 9,
       PROFILE_DURATION = 10,
       PROFILE_PERIOD_TYPE = 11,
       PROFILE_PERIOD = 12,
       PROFILE_COMMENT = 13,
       PROFILE_DEFAULT = 14,
};

#define PAGE	   4096u
#define LEVELS	   64
#define APART	   (1ULL << 24) /* between files that are laid out here */
#define FIRST_FILE (1ULL << 44)

struct mapping {
	uint64_t low, high; /* of sites, as in the file */
	uint64_t start, limit, offset, bias;
	uint64_t samples;   /* with their innermost place in user space there */
	bool used, unnamed; /* code without symbols lies there */
};

struct pprof {
	const struct export_in *in;
	const struct profile_stacks *s;
	struct buf *out, message, inner, values;
	struct export_names names;
	struct export_ids functions;
	struct mapping *map; /* by image */
	size_t n_map;
	uint32_t *event; /* of the recording -> place among those that are written; UINT32_MAX */
	size_t n_events;
	bool failed;
};

static uint64_t str(struct pprof *x, const char *s)
{
	uint32_t id = export_string(&x->names, s);

	x->failed |= id == STR_NONE;
	return id == STR_NONE ? 0 : id;
}

static void put_pprof_field(struct pprof *x, unsigned field)
{
	proto_message(x->out, field, &x->message);
	buf_spill(x->out);
}

static void put_value_type(struct pprof *x, unsigned field, const char *type, const char *unit)
{
	proto_u64(&x->message, 1, str(x, type));
	proto_u64(&x->message, 2, str(x, unit));
	put_pprof_field(x, field);
}

static bool counts_time(const struct pd_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && (e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						      e->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Events with samples; one alone has the names that pprof gives to CPU profiles. */
static void choose_pprof_events(struct pprof *x)
{
	const struct view_source *src = &x->in->source;

	x->event = xmalloc((src->n_events + 1) * sizeof(*x->event));
	for (size_t i = 0; i < src->n_events; i++)
		x->event[i] = UINT32_MAX;
	for (size_t i = 0; i < x->s->n_samples; i++)
		x->event[x->s->sample[i].event] = 0;
	for (size_t i = 0; i < src->n_events; i++)
		if (!x->event[i])
			x->event[i] = (uint32_t)x->n_events++;
}

static void put_pprof_events(struct pprof *x)
{
	const struct view_source *src = &x->in->source;
	const struct pd_event *lead = NULL;
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < src->n_events; i++) {
		const struct pd_event *e = &src->event[i];

		if (x->event[i] == UINT32_MAX)
			continue;
		if (!lead || i == src->lead)
			lead = e;
		buf_reset(&name);
		if (x->n_events > 1)
			buf_printf(&name, "%s ", e->name);
		buf_puts(&name, "samples");
		put_value_type(x, PROFILE_SAMPLE_TYPE, buf_str(&name), "count");
		put_value_type(x, PROFILE_SAMPLE_TYPE, e->name,
			       counts_time(e) ? "nanoseconds" : "count");
	}
	if (lead) {
		put_value_type(x, PROFILE_PERIOD_TYPE, lead->name,
			       counts_time(lead) ? "nanoseconds" : "count");
		if (!lead->attr.freq)
			proto_u64(x->out, PROFILE_PERIOD, lead->attr.sample_period);
		proto_u64(x->out, PROFILE_DEFAULT, str(x, lead->name));
	}
	buf_free(&name);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void pprof_lay_out(struct pprof *x, uint32_t image, uint64_t *next)
{
	struct mapping *m = &x->map[image];
	struct images *images = x->in->images;
	uint64_t file, vaddr, begin;

	m->start = m->low & ~(uint64_t)(PAGE - 1);
	m->limit = (m->high | (PAGE - 1)) + 1;
	if (!m->limit)
		m->limit = UINT64_MAX;
	if (image_key(images, image)->kind != IMAGE_FILE ||
	    !image_from_vaddr(images, image, m->low, &file))
		return;
	m->offset = file & ~(uint64_t)(PAGE - 1);
	if (image_to_vaddr(images, image, m->offset, &vaddr)) {
		m->start = vaddr;
	} else {
		m->start = m->low;
		m->offset = file;
	}
	if (image_to_vaddr(images, image, 0, &begin) && begin >= PAGE)
		return; /* at its own address */
	if (m->limit > UINT64_MAX / 4 || *next > UINT64_MAX / 4)
		return; /* no such file was ever loaded */
	m->bias = *next;
	*next = (*next + m->limit + 2 * APART - 1) & ~(APART - 1);
}

static void find_mappings(struct pprof *x)
{
	uint64_t next = FIRST_FILE;

	x->n_map = images_count(x->in->images);
	x->map = xcalloc(x->n_map + 1, sizeof(*x->map));
	for (size_t i = 0; i < x->s->n_sites; i++) {
		const struct stack_site *s = &x->s->site[i];
		uint64_t addr = export_address(x->in->images, s);
		struct mapping *m;

		if (s->image >= x->n_map)
			continue;
		m = &x->map[s->image];
		if (!m->used || addr < m->low)
			m->low = addr;
		if (!m->used || addr > m->high)
			m->high = addr;
		m->used = true;
		m->unnamed |= !symbol_has_name(s->symbol);
	}
	for (size_t i = 0; i < x->n_map; i++)
		if (x->map[i].used)
			pprof_lay_out(x, (uint32_t)i, &next);
}

/* Returns the samples of threads that are called as the file is, as those of a program are at
 * first. */
static uint64_t namesake_samples(const struct pprof *x, size_t image, const struct u64map *by_name)
{
	char comm[16];
	const uint64_t *n;
	uint32_t id;

	(void)snprintf(comm, sizeof(comm), "%s",
		       path_base(image_path(x->in->images, (uint32_t)image)));
	id = strtab_find(profile_strings(x->in->profile), comm);
	n = id == STR_NONE ? NULL : u64map_find(by_name, id);
	return n ? *n : 0;
}

/* The first mapping is the profiled program: the one whose threads have most samples. */
static size_t main_program(struct pprof *x)
{
	uint64_t *of_thread = xcalloc(x->s->n_threads + 1, sizeof(*of_thread)), most = 0;
	struct u64map by_name = U64MAP_INIT;
	size_t best = x->n_map;

	for (size_t i = 0; i < x->s->n_samples; i++)
		of_thread[x->s->sample[i].thread] += x->s->sample[i].n;
	for (size_t i = 0; i < x->s->n_threads; i++) {
		const char *comm = x->s->thread[i].comm;
		uint32_t id = strtab_find(profile_strings(x->in->profile), comm);
		uint64_t *n = u64map_xat(&by_name, id, NULL);

		*n += of_thread[i];
		x->failed |= !n;
	}
	for (size_t i = 0; i < x->n_map; i++) {
		uint64_t n =
			x->map[i].used && image_key(x->in->images, (uint32_t)i)->kind == IMAGE_FILE
				? namesake_samples(x, i, &by_name)
				: 0;

		if (n > most) {
			most = n;
			best = i;
		}
	}
	free(of_thread);
	u64map_free(&by_name);
	return best;
}

static void put_mapping(struct pprof *x, size_t i)
{
	const struct mapping *m = &x->map[i];
	const struct image_key *key = image_key(x->in->images, (uint32_t)i);
	char id[2 * BUILD_ID_MAX + 1] = "";

	if (key->build_id)
		text_hex(id, key->build_id, key->build_id_len);
	proto_u64(&x->message, 1, i + 1);
	proto_u64(&x->message, 2, m->start + m->bias);
	proto_u64(&x->message, 3, m->limit + m->bias);
	proto_u64(&x->message, 4, m->offset);
	proto_u64(&x->message, 5,
		  str(x, key->kind == IMAGE_FILE ? image_path(x->in->images, (uint32_t)i)
						 : image_name(x->in->images, (uint32_t)i)));
	proto_u64(&x->message, 6, str(x, id));
	/* if all is named, pprof need not look itself */
	for (unsigned f = 7; f <= 10; f++)
		proto_u64(&x->message, f, !m->unnamed);
	put_pprof_field(x, PROFILE_MAPPING);
}

static void put_mappings(struct pprof *x)
{
	size_t first = main_program(x);

	if (first < x->n_map)
		put_mapping(x, first);
	for (size_t i = 0; i < x->n_map; i++)
		if (i != first && x->map[i].used)
			put_mapping(x, i);
}

/* ---- locations ------------------------------------------------------------------------------- */

/* The line where the function of a frame of a site begins; level 0 is that which others are inlined
 * into; 0: not known. */
static uint32_t first_line_of(const struct pprof *x, const struct stack_site *s, uint32_t level)
{
	struct source_inline in[LEVELS];
	struct source_function f;
	const struct source *src;
	uint64_t vaddr;

	if (s->image == IMAGE_NONE)
		return 0;
	src = source_of(x->in->images, s->image, NULL);
	if (!src || !image_to_vaddr(x->in->images, s->image, s->addr - s->caller, &vaddr))
		return 0;
	if (!level)
		return source_function(src, vaddr, &f) ? f.first_line : 0;
	return source_inline_names(src, vaddr, in, LEVELS) == s->n - 1 ? in[level - 1].first_line
								       : 0;
}

/* Returns the number of the function of a site's frame, which is written at first sight. Numbers
 * count from 1. */
static uint64_t pprof_function_of(struct pprof *x, const struct stack_site *s, uint32_t level)
{
	const struct profile_frame *f = &x->s->frame[x->s->frame_id[s->first + level]];
	const char *name = strtab_get(profile_strings(x->in->profile), f->name);
	uint32_t shown = (uint32_t)str(x, name);
	uint32_t system = (uint32_t)str(x, f->linkage ? f->linkage : name);
	uint32_t file = f->line.file ? (uint32_t)str(x, f->line.file) : 0;
	bool fresh = false;
	uint32_t id = export_id(&x->functions, shown, system, file, &fresh);

	if (id == UINT32_MAX) {
		x->failed = true;
		return 1;
	}
	if (fresh) {
		proto_u64(&x->message, 1, id + 1ULL);
		proto_u64(&x->message, 2, shown);
		proto_u64(&x->message, 3, system);
		proto_u64(&x->message, 4, file);
		if (file) /* debug information is there, and asked for */
			proto_u64(&x->message, 5, first_line_of(x, s, level));
		put_pprof_field(x, PROFILE_FUNCTION);
	}
	return id + 1ULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_pprof_label(struct pprof *x, const char *key, const char *text, uint64_t number)
{
	proto_u64(&x->inner, 1, str(x, key));
	proto_u64(&x->inner, 2, text ? str(x, text) : 0);
	proto_u64(&x->inner, 3, number);
	proto_message(&x->message, 3, &x->inner);
}

/* Those of one chain and thread: v[0..n). */
static void put_sample(struct pprof *x, const struct stack_sample *v, size_t n)
{
	const struct stack_thread *t = &x->s->thread[v->thread];
	size_t at = 0;

	for (uint32_t node = v->node; node; node = x->s->node[node].parent)
		proto_varint(&x->values, x->s->node[node].site + 1ULL);
	proto_message(&x->message, 1, &x->values);
	for (size_t e = 0; e < x->n_events; e++) {
		bool has = at < n && x->event[v[at].event] == e;

		proto_varint(&x->values, has ? v[at].n : 0);
		proto_varint(&x->values, has ? v[at].period : 0);
		at += has;
	}
	proto_message(&x->message, 2, &x->values);
	put_pprof_label(x, "comm", t->comm, 0);
	if (t->pid != UINT32_MAX)
		put_pprof_label(x, "pid", NULL, t->pid);
	if (t->tid != UINT32_MAX)
		put_pprof_label(x, "tid", NULL, t->tid);
	put_pprof_field(x, PROFILE_SAMPLE);
}

static void put_pprof_samples(struct pprof *x)
{
	const struct stack_sample *v = x->s->sample;

	for (size_t i = 0, k; i < x->s->n_samples && !x->out->failed; i = k) {
		for (k = i + 1; k < x->s->n_samples; k++)
			if (v[k].node != v[i].node || v[k].thread != v[i].thread)
				break;
		put_sample(x, &v[i], k - i);
	}
}

static void put_pprof_facts(struct pprof *x)
{
	const struct view_source *src = &x->in->source;
	struct buf b = BUF_INIT;

	if (src->has_time) {
		if (x->in->wall_known)
			proto_u64(x->out, PROFILE_TIME,
				  (uint64_t)(x->in->wall + (int64_t)src->time_first));
		proto_u64(x->out, PROFILE_DURATION, src->time_last - src->time_first);
	}
	for (size_t i = 0; i < src->info->n_cmdline; i++)
		buf_printf(&b, "%s%s", i ? " " : "recorded by: ", src->info->cmdline[i]);
	if (b.len)
		proto_u64(x->out, PROFILE_COMMENT, str(x, buf_str(&b)));
	buf_reset(&b);
	buf_printf(&b, "cyclade %s", src->version ? src->version : "");
	proto_u64(x->out, PROFILE_COMMENT, str(x, buf_str(&b)));
	buf_reset(&b);
	if (x->in->ended) {
		buf_printf(&b, "the recording does not go to its end: %s", x->in->ended);
		proto_u64(x->out, PROFILE_COMMENT, str(x, buf_str(&b)));
	}
	buf_free(&b);
}

/* Output is packed in pieces, so that it is never held unpacked. */
struct packer {
	z_stream z;
	struct buf *out;
};

static int pack_sample(struct packer *p, const char *s, size_t len, int flush)
{
	Bytef room[65536];
	int rc = Z_OK;

	p->z.next_in = (Bytef *)(uintptr_t)s;
	do {
		if (!p->z.avail_in && len) {
			p->z.avail_in = len < (1u << 30) ? (uInt)len : 1u << 30;
			len -= p->z.avail_in;
		}
		p->z.next_out = room;
		p->z.avail_out = sizeof(room);
		rc = deflate(&p->z, len ? Z_NO_FLUSH : flush);
		buf_put(p->out, room, sizeof(room) - p->z.avail_out);
		buf_spill(p->out);
	} while (rc == Z_OK && (len || p->z.avail_in || !p->z.avail_out || flush == Z_FINISH));
	return (rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR) && !p->out->failed ? 0 : -1;
}

static int pack_more(void *packer, const char *s, size_t len)
{
	return pack_sample(packer, s, len, Z_NO_FLUSH);
}

static void put_pprof_strings(struct pprof *x)
{
	for (size_t i = 0; i < x->names.strings.n; i++) {
		const char *s = strtab_get(&x->names.strings, (uint32_t)i);

		proto_bytes(x->out, PROFILE_STRING, s, strlen(s));
		buf_spill(x->out);
	}
}

int export_pprof(struct buf *out, const struct export_in *in, struct err *err)
{
	struct packer packer = { .out = out };
	const struct buf_drain drain = { pack_more, &packer };
	struct buf plain = { .drain = &drain };
	struct pprof x = { .in = in, .s = profile_stacks(in->profile), .out = &plain };
	int ret = -1;

	if (deflateInit2(&packer.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_nomem(err);
	/* number 0 is the empty string, as in every strtab */
	(void)strtab_xadds(&x.names.strings, "");
	choose_pprof_events(&x);
	find_mappings(&x);
	put_pprof_events(&x);
	put_mappings(&x);
	for (size_t i = 0; i < x.s->n_sites && !plain.failed; i++) {
		const struct stack_site *s = &x.s->site[i];
		const struct mapping *m = s->image < x.n_map ? &x.map[s->image] : NULL;
		bool named = s->symbol || addr_is_stray(s->image, s->addr);
		struct buf lines = BUF_INIT;

		/* innermost first */
		for (uint32_t k = named ? s->n : 0; k--;) {
			const struct profile_frame *f = &x.s->frame[x.s->frame_id[s->first + k]];

			proto_u64(&x.inner, 1, pprof_function_of(&x, s, k));
			proto_u64(&x.inner, 2, f->line.line);
			proto_message(&lines, 4, &x.inner);
		}
		proto_u64(&x.message, 1, i + 1);
		proto_u64(&x.message, 2, m ? s->image + 1ULL : 0);
		proto_u64(&x.message, 3, export_address(x.in->images, s) + (m ? m->bias : 0));
		buf_put(&x.message, buf_str(&lines), lines.len);
		buf_free(&lines);
		put_pprof_field(&x, PROFILE_LOCATION);
	}
	put_pprof_samples(&x);
	put_pprof_facts(&x);
	put_pprof_strings(&x);
	ret = 0;
	if (x.failed || plain.failed || pack_sample(&packer, buf_str(&plain), plain.len, Z_FINISH))
		ret = err_nomem(err);
	(void)deflateEnd(&packer.z);
	free(x.event);
	free(x.map);
	buf_free(&x.message);
	buf_free(&x.inner);
	buf_free(&x.values);
	buf_free(&plain);
	export_names_free(&x.names);
	export_ids_free(&x.functions);
	return ret;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout as in the kernel's tools/perf/Documentation/jitdump-specification.txt, version 1. Facts
 * are gathered first, moves finding their code by its number, then applied in order of time.
 */
#include "base/bisect.h"
#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/image/jitdump.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

#define MAGIC	      0x4a695444u
#define ARCH_TIME     1u
#define LINE_MIN_SIZE 17u /* of an entry in the file: address, line, discriminator, "" */

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

struct parse {
	struct jitdump *j;
	const uint8_t *base;
	struct u64map by_index;	     /* code number -> place in j->code + 1 */
	const struct jit_line *line; /* of the code loaded next */
	size_t n_line;
	uint64_t line_addr;
};

/* ---- records ---------------------------------------------------------------------------- */

static void on_load(struct parse *ps, struct cur *c, uint64_t time)
{
	struct jit_code code = { .time = time };

	(void)cur_take(c, 16); /* pid, tid, vma */
	code.start = code.from = code.loaded_at = cur_u64(c);
	code.size = cur_u64(c);
	code.index = cur_u64(c);
	code.name = cur_str(c);
	code.offset = (uint64_t)(c->p - ps->base);
	if (!cur_take(c, code.size) || !code.size || code.start > UINT64_MAX - code.size) {
		ps->j->n_bad++;
		return;
	}
	if (ps->n_line && ps->line_addr == code.start) {
		code.line = ps->line;
		code.n_line = ps->n_line;
		ps->n_line = 0;
	}
	vec_xpush(&ps->j->code, code);
	*u64map_xat(&ps->by_index, code.index, NULL) = ps->j->code.n;
}

static void on_move(struct parse *ps, struct cur *c, uint64_t time)
{
	uint64_t from, to, size, index, *slot;
	struct jit_code code;

	(void)cur_take(c, 16); /* pid, tid, vma */
	from = cur_u64(c);
	to = cur_u64(c);
	size = cur_u64(c);
	index = cur_u64(c);
	slot = c->bad ? NULL : u64map_find(&ps->by_index, index);
	if (!slot || !size || to > UINT64_MAX - size) {
		ps->j->n_bad++;
		return;
	}
	code = ps->j->code.v[*slot - 1];
	code.from = from;
	code.start = to;
	if (size < code.size)
		code.size = size;
	code.time = time;
	code.moved = true;
	vec_xpush(&ps->j->code, code);
	*slot = ps->j->code.n;
}

static void on_lines(struct parse *ps, struct cur *c)
{
	uint64_t addr = cur_u64(c), n = cur_u64(c);
	const char *file = "";
	struct jit_line *line;

	/* each takes at least so much of the file: no number in it makes us take more memory */
	if (c->bad || n > cur_left(c) / LINE_MIN_SIZE) {
		ps->j->n_bad++;
		return;
	}
	line = arena_xalloc(&ps->j->arena, (size_t)n * sizeof(*line));
	for (uint64_t i = 0; i < n; i++) {
		const char *name;

		line[i].addr = cur_u64(c);
		line[i].line = cur_u32(c);
		line[i].discriminator = cur_u32(c);
		name = cur_str(c);
		if (!name) {
			ps->j->n_bad++;
			return;
		}
		/* 0xff alone: the same file as before */
		if (strcmp(name, "\xff") != 0)
			file = name;
		line[i].file = file;
	}
	ps->line = line;
	ps->n_line = (size_t)n;
	ps->line_addr = addr;
}

/* ---- over time -------------------------------------------------------------------------- */

struct in_time {
	uint64_t time;
	size_t i;
};

static int code_by_time(const void *pa, const void *pb)
{
	const struct in_time *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->i > b->i) - (a->i < b->i);
}

/* Writers with several threads may put records out of order. */
static void sort_code(struct jitdump *j)
{
	struct in_time *order;
	struct jit_code *sorted;
	size_t i = 1;

	while (i < j->code.n && j->code.v[i].time >= j->code.v[i - 1].time)
		i++;
	if (i >= j->code.n)
		return;
	order = xcalloc(j->code.n, sizeof(*order));
	sorted = xcalloc(j->code.n, sizeof(*sorted));
	for (i = 0; i < j->code.n; i++)
		order[i] = (struct in_time){ j->code.v[i].time, i };
	qsort(order, j->code.n, sizeof(*order), code_by_time);
	for (i = 0; i < j->code.n; i++)
		sorted[i] = j->code.v[order[i].i];
	memcpy(j->code.v, sorted, j->code.n * sizeof(*sorted));
	assert(pairs_hold(j->code.n, k, j->code.v[k].time <= j->code.v[k + 1].time));
	free(order);
	free(sorted);
}

static void paint_code(struct jitdump *j, uint64_t start, uint64_t end, uint64_t time,
		       uint32_t value)
{
	struct jit_version now = *vec_last(&j->version);
	const struct piece_node *n = pieces_next(&j->pieces, now.root, start);

	/* filling a gap needs no version of its own: see jitdump_find() */
	if ((!n || n->start >= end) && pieces_find(&j->pieces, now.root, start) == PIECE_HOLE) {
		if (value == PIECE_HOLE)
			return;
	} else if (now.time != time) {
		pieces_seal(&j->pieces);
		now.time = time;
		vec_xpush(&j->version, now);
	}
	pieces_paint(&j->pieces, &vec_last(&j->version)->root, start, end, value);
}

static void place_code(struct jitdump *j)
{
	sort_code(j);
	vec_xpush(&j->version, ((struct jit_version){ 0, 0 }));
	for (size_t i = 0; i < j->code.n && i < PIECE_HOLE; i++) {
		const struct jit_code *c = &j->code.v[i];
		uint64_t gone = c->from > UINT64_MAX - c->size ? UINT64_MAX : c->from + c->size;

		if (c->moved)
			paint_code(j, c->from, gone, c->time, PIECE_HOLE);
		paint_code(j, c->start, c->start + c->size, c->time, (uint32_t)i);
	}
}

/* ---- the file --------------------------------------------------------------------------- */

static int read_jit_header(struct jitdump *j, struct cur *c, struct err *err)
{
	uint32_t magic = cur_u32(c), version, size;

	if (magic == __builtin_bswap32(MAGIC))
		c->swap = j->foreign_order = true;
	else if (magic != MAGIC)
		return err_set(err, ERR_FORMAT, "offset 0: no jitdump: \"JiTD\" was expected");
	version = cur_u32(c);
	size = cur_u32(c);
	j->machine = cur_u32(c);
	(void)cur_u32(c);
	j->pid = cur_u32(c);
	j->created = cur_u64(c);
	j->arch_time = cur_u64(c) & ARCH_TIME;
	if (c->bad || size < 40)
		return err_set(err, ERR_FORMAT, "jitdump: a header of 40 bytes was expected");
	if (version != 1)
		return err_set(err, ERR_FORMAT, "jitdump: version %u, 1 was expected", version);
	if (!cur_take(c, size - 40))
		return err_set(err, ERR_FORMAT, "jitdump: header of %u bytes is cut short", size);
	return 0;
}

static void read_jit_records(struct parse *ps, struct cur *c)
{
	while (cur_left(c)) {
		struct cur body = *c;
		uint32_t id = cur_u32(c), size = cur_u32(c);
		uint64_t time = cur_u64(c);

		if (c->bad || size < 16 || !cur_take(c, size - 16)) {
			ps->j->cut = true;
			return;
		}
		body.p += 16;
		body.end = c->p;
		if (id == CODE_LOAD)
			on_load(ps, &body, time);
		else if (id == CODE_MOVE)
			on_move(ps, &body, time);
		else if (id == CODE_DEBUG_INFO)
			on_lines(ps, &body);
		else
			ps->j->n_bad += id != CODE_CLOSE && id != CODE_UNWINDING_INFO;
	}
}

int jitdump_parse(struct jitdump *j, const void *p, size_t len, struct err *err)
{
	struct cur c = cur_of(p, len);
	struct parse ps = { .j = j, .base = p, .by_index = U64MAP_INIT };

	memset(j, 0, sizeof(*j));
	j->pieces = (struct pieces)PIECES_INIT;
	j->pieces.random = (uint32_t)hash_u64((uint64_t)(uintptr_t)p) | 1;
	if (read_jit_header(j, &c, err)) {
		jitdump_free(j);
		return -1;
	}
	read_jit_records(&ps, &c);
	place_code(j);
	u64map_free(&ps.by_index);
	return 0;
}

const struct jit_code *jitdump_find(const struct jitdump *j, uint64_t addr, uint64_t time)
{
	uint64_t start = 0, end = UINT64_MAX, from = 0, until = UINT64_MAX;

	return jitdump_span(j, addr, time, &start, &end, &from, &until);
}

const struct jit_code *jitdump_span(const struct jitdump *j, uint64_t addr, uint64_t time,
				    uint64_t *start, uint64_t *end, uint64_t *from, uint64_t *until)
{
	const struct jit_code *c;
	uint32_t i;
	size_t low;

	bisect(low, j->version.n, v, j->version.v[v].time > time);
	if (low < j->version.n && j->version.v[low].time < *until)
		*until = j->version.v[low].time;
	if (!low)
		return NULL;
	if (j->version.v[low - 1].time > *from)
		*from = j->version.v[low - 1].time;
	i = pieces_span(&j->pieces, j->version.v[low - 1].root, addr, start, end);
	if (i == PIECE_HOLE)
		return NULL;
	assert(i < j->code.n);
	c = &j->code.v[i];
	/* code that filled a gap later is in this version, but was not there yet */
	if (c->time > time) {
		if (c->time < *until)
			*until = c->time;
		return NULL;
	}
	if (c->time > *from)
		*from = c->time;
	return c;
}

void jitdump_free(struct jitdump *j)
{
	vec_free(&j->code);
	vec_free(&j->version);
	pieces_free(&j->pieces);
	arena_free(&j->arena);
}

bool jitdump_path_pid(const char *path, uint32_t *pid)
{
	const char *base = strrchr(path, '/');
	uint64_t v = 0;

	if (!base || strncmp(base, "/jit-", 5) != 0)
		return false;
	base += 5;
	if (*base < '0' || *base > '9')
		return false;
	for (; *base >= '0' && *base <= '9'; base++) {
		v = v * 10 + (uint64_t)(*base - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*pid = (uint32_t)v;
	return !strcmp(base, ".dump");
}

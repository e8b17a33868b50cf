/* SPDX-License-Identifier: BSD-3-Clause */
#include "region/table.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"

bool table_is(const void *p, size_t len)
{
	return len >= sizeof(uint64_t) && ld64(p) == TABLE_MAGIC;
}

#define PAGE_MOST 65536u /* blocks are whole pages */

static void end_string(char *s, size_t size)
{
	s[size - 1] = '\0';
}

/* Not of more than the regions need. */
static bool fits_regions(const struct table_head *h)
{
	uint64_t need = TABLE_BLOCK_HEAD + 2ull * h->max_regions * sizeof(struct table_slot);

	return h->block_size >= need && h->block_size - need < PAGE_MOST && h->block_size % 64 == 0;
}

/* Nothing behind this needs to look at a number or a string twice. */
static const char *head_trouble(struct table_head *h)
{
	end_string(h->comm, sizeof(h->comm));
	end_string(h->status, sizeof(h->status));
	end_string(h->metrics, sizeof(h->metrics));
	if (h->head_size != TABLE_HEAD_SIZE || h->slot_size != sizeof(struct table_slot))
		return "made by another version of libcyclade";
	if (h->max_regions < 1 || h->max_regions > TABLE_REGIONS)
		return "more regions of a thread than there can be";
	if (!fits_regions(h))
		return "its blocks do not have the size of their regions";
	if (h->n_events > TABLE_EVENTS || h->n_groups > TABLE_GROUPS || h->n_parts > TABLE_PARTS ||
	    h->fields > TABLE_FIELDS)
		return "more events or groups than there can be";
	if (!(h->tsc_hz >= 1e3 && h->tsc_hz <= 1e12))
		return "its clock has no frequency";
	for (size_t i = 0; i < h->n_parts; i++) {
		end_string(h->part[i].model, sizeof(h->part[i].model));
		end_string(h->part[i].pmu, sizeof(h->part[i].pmu));
	}
	for (size_t i = 0; i < h->n_events; i++) {
		struct table_event *e = &h->event[i];

		end_string(e->name, sizeof(e->name));
		if (e->part >= h->n_parts || e->group >= h->n_groups || e->width > 64 ||
		    e->kind > COUNTS_FIELD || e->field >= TABLE_FIELDS || e->at >= TABLE_EVENTS)
			return "an event that cannot be";
	}
	return NULL;
}

static size_t blocks_within(const struct table_head *h, uint64_t len)
{
	uint64_t most = len < TABLE_MOST ? len : TABLE_MOST, n;

	n = (most - TABLE_HEAD_SIZE) / h->block_size;
	n = n < h->blocks ? n : h->blocks;
	return n < TABLE_THREADS ? (size_t)n : TABLE_THREADS;
}

uint64_t table_extent(const void *p, size_t len)
{
	struct table_head h;

	if (len < TABLE_HEAD_SIZE)
		return 0;
	memcpy(&h, p, sizeof(h));
	if (h.magic != TABLE_MAGIC || head_trouble(&h))
		return 0;
	return TABLE_HEAD_SIZE + (uint64_t)blocks_within(&h, TABLE_MOST) * h.block_size;
}

size_t table_len(const struct table_view *v)
{
	return TABLE_HEAD_SIZE + v->n_blocks * v->head.block_size;
}

/* Blocks are ready one after another, and each has a thread: the first without one ends the
 * table. */
static size_t blocks_used(const struct table_view *v, size_t most)
{
	size_t n = 0;

	while (n < most && ld32(v->p + TABLE_HEAD_SIZE + n * v->head.block_size))
		n++;
	return n;
}

int table_parse(struct table_view *v, const void *p, size_t len, const char *name, struct err *err)
{
	const char *bad;

	memset(v, 0, sizeof(*v));
	if (len < TABLE_HEAD_SIZE)
		return err_set(err, ERR_FORMAT, "%s: %zu bytes: a table of regions has at least %u",
			       name, len, TABLE_HEAD_SIZE);
	memcpy(&v->head, p, sizeof(v->head));
	if (v->head.magic != TABLE_MAGIC)
		return err_set(err, ERR_FORMAT, "%s: not a table of regions", name);
	bad = head_trouble(&v->head);
	if (bad)
		return err_set(err, ERR_FORMAT, "%s: %s", name, bad);
	v->p = p;
	v->len = len;
	v->n_blocks = blocks_used(v, blocks_within(&v->head, len));
	return 0;
}

static const struct table_block *table_block_at(const struct table_view *v, size_t block)
{
	if (v->block)
		return v->block[block];
	return (const struct table_block *)(const void *)(v->p + TABLE_HEAD_SIZE +
							  block * v->head.block_size);
}

static void copy_words(void *to, const void *from, size_t len)
{
	const uint64_t *in = from;
	uint64_t *out = to;

	for (size_t i = 0; i < len / sizeof(*out); i++)
		out[i] = __atomic_load_n(&in[i], __ATOMIC_ACQUIRE);
}

void table_block(const struct table_view *v, size_t block, struct table_block *out)
{
	copy_words(out, table_block_at(v, block), sizeof(*out));
	end_string(out->comm, sizeof(out->comm));
	if (out->regions > v->head.max_regions)
		out->regions = v->head.max_regions;
}

static bool copy_slot(struct table_slot *out, const struct table_slot *from, int tries)
{
	for (int i = 0; i < tries; i++) {
		copy_words(out, from, sizeof(*out));
		if (!(out->seq & 1) && !(out->folds & 1) &&
		    __atomic_load_n(&from->seq, __ATOMIC_RELAXED) == out->seq &&
		    __atomic_load_n(&from->folds, __ATOMIC_RELAXED) == out->folds)
			return true;
	}
	return false;
}

bool table_copy(struct table_slot *out, const struct table_slot *from)
{
	return copy_slot(out, from, 1000);
}

/* The second row is written under a number of its own. Who writes to memory is waited for, should
 * it have lost its CPU just then; in a file it may be long dead, or never have been. */
static bool copy_both(bool file, const struct table_block *b, const struct table_slot *slot,
		      struct table_slot *now, const struct table_slot *second,
		      struct table_slot *zero)
{
	bool good = false;

	for (int i = 0; i < (file ? 2 : 100) && !good; i++) {
		uint64_t before = __atomic_load_n(&b->zeros, __ATOMIC_ACQUIRE);

		good = copy_slot(now, slot, file ? 100 : 1000);
		copy_words(zero, second, sizeof(*zero));
		good &= !(before & 1) && __atomic_load_n(&b->zeros, __ATOMIC_ACQUIRE) == before;
	}
	return good;
}

static uint64_t is_table_whole(const struct table_slot *s, size_t at, uint64_t mask)
{
	return s->total[at] + ((s->acc[at] - s->base[at]) & mask);
}

static double error_of(const struct table_slot *s)
{
	return (double)s->err_hi * 18446744073709551616.0 + (double)s->err_lo;
}

void table_sums(const struct table_view *v, size_t block, size_t region, struct table_sums *out)
{
	const struct table_block *b = table_block_at(v, block);
	const struct table_slot *row = (const struct table_slot *)(const void *)(b + 1);
	struct table_slot now, zero;
	uint64_t mask[TABLE_EVENTS] = { 0 };

	memset(out, 0, sizeof(*out));
	out->torn =
		!copy_both(v->p, b, row + region, &now, row + v->head.max_regions + region, &zero);
	memcpy(out->name, now.name, sizeof(out->name));
	end_string(out->name, sizeof(out->name));
	out->runs = now.seq / 2 - zero.seq / 2;
	out->nested = now.nested - zero.nested;
	out->unmatched = now.unmatched - zero.unmatched;
	out->lost = now.lost - zero.lost;
	out->slow = now.slow - zero.slow;
	out->foreign = now.foreign - zero.foreign;
	out->threads = out->runs ? 1 : 0;
	out->tsc = (double)(now.tsc - zero.tsc);
	out->blind_tsc = __atomic_load_n(&b->mode, __ATOMIC_RELAXED) ? 0 : out->tsc;
	out->slow_tsc = (double)(now.slow_tsc - zero.slow_tsc);
	out->slow_ns = (double)(now.slow_ns - zero.slow_ns);
	for (size_t g = 0; g < TABLE_GROUPS; g++)
		out->off_ns[g] = (double)(now.off_ns[g] - zero.off_ns[g]);
	out->err2 = error_of(&now) - error_of(&zero);
	for (size_t i = 0; i < TABLE_FIELDS; i++)
		out->field[i] = (double)(int64_t)(now.field[i] - zero.field[i]) / 255;
	for (size_t e = 0; e < v->head.n_events; e++)
		if (v->head.event[e].width)
			mask[v->head.event[e].at] = UINT64_MAX >> (64 - v->head.event[e].width);
	for (size_t i = 0; i < TABLE_EVENTS; i++)
		out->total[i] = (double)(int64_t)(is_table_whole(&now, i, mask[i]) -
						  is_table_whole(&zero, i, mask[i]));
}

void table_add(struct table_sums *to, const struct table_sums *s)
{
	to->runs += s->runs;
	to->nested += s->nested;
	to->unmatched += s->unmatched;
	to->lost += s->lost;
	to->slow += s->slow;
	to->foreign += s->foreign;
	to->threads += s->threads;
	to->tsc += s->tsc;
	to->blind_tsc += s->blind_tsc;
	to->slow_tsc += s->slow_tsc;
	to->slow_ns += s->slow_ns;
	for (size_t g = 0; g < TABLE_GROUPS; g++)
		to->off_ns[g] += s->off_ns[g];
	to->err2 += s->err2;
	for (size_t i = 0; i < TABLE_FIELDS; i++)
		to->field[i] += s->field[i];
	for (size_t i = 0; i < TABLE_EVENTS; i++)
		to->total[i] += s->total[i];
	to->torn |= s->torn;
}

double table_count(const struct table_view *v, const struct table_sums *s, size_t e)
{
	const struct table_event *ev = &v->head.event[e];

	return s->total[ev->at] + (ev->kind == COUNTS_FIELD ? s->field[ev->field] : 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inflate - COMPRESSED records: one zstd stream that runs on over all of a data file.
 *
 * Output goes to blocks of 4 MB and more, walked as it grows; a record that lies across the end of
 * a COMPRESSED one simply waits there for its rest, and is carried over when a block is full.
 * Blocks stay until pd_close, for records are handed out of them.
 *
 * Bound: a recording may unpack to 16 MB plus 1024 times its packed size. Real ones stay below 100
 * times; without a bound a few bytes could claim any memory.
 */
#include "base/invariant.h"
#include "perfdata/perfdata_int.h"

#include <inttypes.h>
#include <zstd.h>
#include <zstd_errors.h>

struct inflate {
	ZSTD_DStream *z;
	uint8_t *block;
	size_t done, fill; /* walked; filled */
	bool dead;	   /* the stream has a fault: nothing more comes of it */
};

static int inflate_begin(struct walk *w, struct err *err)
{
	w->z = calloc(1, sizeof(*w->z));
	if (!w->z)
		return err_nomem(err);
	w->z->z = ZSTD_createDStream();
	if (!w->z->z || ZSTD_isError(ZSTD_initDStream(w->z->z)))
		return err_nomem(err);
	return 0;
}

void inflate_end(struct walk *w)
{
	if (!w->z)
		return;
	if (w->z->fill > w->z->done && !w->stop)
		pd_note(w->rec, "the packed data end within a record: %zu bytes of it are there",
			w->z->fill - w->z->done);
	(void)ZSTD_freeDStream(w->z->z);
	free(w->z);
	w->z = NULL;
}

/* A block with room: the present one, or a new one with the bytes not walked yet carried over. */
static int inflate_room(struct walk *w, struct err *err)
{
	struct inflate *z = w->z;
	uint8_t *fresh;

	if (z->block && PD_BLOCK_SIZE - z->fill >= (1 << 17))
		return 0;
	if (z->fill - z->done > UINT16_MAX) { /* no record of ours is that large */
		pd_note(w->rec, "a packed record of more than 65535 bytes; the rest is left out");
		w->stop = true;
	}
	fresh = pd_block_new(w->rec, PD_BLOCK_SIZE);
	if (!fresh)
		return err_nomem(err);
	if (z->fill > z->done)
		memcpy(fresh, z->block + z->done, z->fill - z->done);
	z->block = fresh;
	z->fill -= z->done;
	z->done = 0;
	return 0;
}

static int walk_new(struct walk *w, uint64_t at, struct err *err)
{
	struct inflate *z = w->z;
	uint64_t base = w->base;
	const uint8_t *p;

	w->inside = true;
	w->base = at;
	p = walk_scan(w, z->block + z->done, z->block + z->fill, err);
	w->inside = false;
	w->base = base;
	if (!p)
		return -1;
	assert(p >= z->block + z->done && p <= z->block + z->fill);
	z->done = (size_t)(p - z->block);
	return 0;
}

int inflate_record(struct walk *w, const uint8_t *rec_p, const uint8_t *p, size_t len,
		   struct err *err)
{
	struct pd *rec = w->rec;
	ZSTD_inBuffer in = { p, len, 0 };
	uint64_t at = walk_offset(w, rec_p);

	if (!w->z && inflate_begin(w, err))
		return -1;
	if (w->z->dead)
		return 0;
	rec->packed_bytes += len;
	for (;;) {
		ZSTD_outBuffer out;
		size_t rc, before;

		if (inflate_room(w, err))
			return -1;
		if (w->stop)
			return 0;
		before = w->z->fill;
		out = (ZSTD_outBuffer){ w->z->block, PD_BLOCK_SIZE, before };
		rc = ZSTD_decompressStream(w->z->z, &out, &in);
		assert(out.pos >= before && out.pos <= PD_BLOCK_SIZE);
		w->z->fill = out.pos;
		rec->info.inflated_size += out.pos - before;
		if (out.pos > before && walk_new(w, at, err))
			return -1;
		if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
			return err_nomem(err);
		if (ZSTD_isError(rc)) {
			pd_note(rec,
				"offset %" PRIu64 ": packed data are damaged (%s); "
				"the packed records from there on are missing",
				at, ZSTD_getErrorName(rc));
			w->z->dead = true;
			return 0;
		}
		if (w->stop)
			return 0;
		if (rec->info.inflated_size > ((uint64_t)16 << 20) + rec->packed_bytes * 1024) {
			pd_note(rec,
				"offset %" PRIu64 ": packed data unpack to more than 1024 times "
				"their size; the rest is left out",
				at);
			w->z->dead = true;
			return 0;
		}
		if (in.pos == in.size && out.pos < out.size)
			return 0;
	}
}

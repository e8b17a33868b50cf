/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * File layout: header (104 bytes), how it ended (64), ids, attributes, data, and at commit
 * the feature table and the
 * features' payloads. Source: tools/perf/Documentation/perf.data-file-format.txt of Linux.
 */
#include "perfdata/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/invariant.h"
#include "base/vec.h"
#include "perfdata/ended.h"

#define DATA_SIZE_AT 48 /* in the header */
#define HEADER_SIZE  104u
#define IDS_AT	     (HEADER_SIZE + ENDED_SIZE)
#define BUFFER_SIZE  (256u << 10)
#define RECORD_MAX   65528u	/* a COMPRESSED record's size is 16 bits; kept a multiple of 8 */
#define RESERVE	     (1u << 20) /* of the disk, for features and the last records */
#define PAYLOAD_MAX  (RECORD_MAX - sizeof(struct perf_event_header))

struct feature {
	unsigned bit;
	struct buf payload;
};

struct pdw {
	struct file_new file;
	const char *path; /* for messages */
	uint64_t at;	  /* where the next byte of the file goes */
	uint64_t told;	  /* of which the header knows */
	uint64_t attrs_offset, attrs_size, data_offset;
	uint8_t *buffer;
	size_t filled;
	bool locked;	     /* ours: the recorder is at work */
	bool regular, aside; /* aside: the older recording is PATH.old already */
	bool ended;	     /* it is whole, with its end written */
	int reserve;	     /* room on the disk, -1: none */
	uint64_t limit;	     /* of the bytes of records, if a file's size has one */
	bool full;	     /* nothing more is taken, */
	struct err why;	     /* for this reason */
	ZSTD_CCtx *zstd;
	uint8_t *packed; /* a record's head and room for zstd's bytes */
	VEC(struct feature) feature;
};

/* If another process empties the file while it grows, a hole of zeros is left, which would go
 * unnoticed. */
static int not_cut(const struct pdw *w, struct err *err)
{
	struct stat st;

	if (!w->regular || (!fstat(w->file.fd, &st) && (uint64_t)st.st_size >= w->at))
		return 0;
	(void)err_set(err, ERR_IO, "%s: was cut short by somebody else while it was written",
		      w->path);
	return err_hint(err, "record again, into a file that no other program uses");
}

/* Room for the end of the file. */
static void reserve_tail(struct pdw *w)
{
	struct rlimit size;

	w->limit = UINT64_MAX;
	if (!w->regular)
		return;
	w->reserve = file_new_reserve(&w->file, RESERVE);
	if (!getrlimit(RLIMIT_FSIZE, &size) && size.rlim_cur != RLIM_INFINITY)
		w->limit =
			size.rlim_cur - (size.rlim_cur / 8 < RESERVE ? size.rlim_cur / 8 : RESERVE);
}

/* True: there was some. */
static bool give_reserve_up(struct pdw *w)
{
	bool had = w->reserve >= 0 || w->limit != UINT64_MAX;

	if (w->reserve >= 0)
		(void)close(w->reserve);
	w->reserve = -1;
	w->limit = UINT64_MAX;
	return had;
}

static int cut_to(struct pdw *w, uint64_t at)
{
	if (!w->regular || ftruncate(w->file.fd, (off_t)at) ||
	    lseek(w->file.fd, (off_t)at, SEEK_SET) < 0)
		return -1;
	w->at = at;
	return 0;
}

/* Writes them over what a try before this one left of them. */
static int write_again(struct pdw *w, const void *p, size_t len, struct err *err)
{
	if (cut_to(w, w->at) || fd_write_all(w->file.fd, p, len, w->path, err))
		return -1;
	w->reserve = file_new_reserve(&w->file, RESERVE / 2);
	return 0;
}

static int write_bytes(struct pdw *w, const void *p, size_t len, struct err *err)
{
	if (len > w->limit || w->at > w->limit - len) {
		errno = EFBIG;
		return err_sys(err, "%s", w->path);
	}
	return fd_write_all(w->file.fd, p, len, w->path, err);
}

static int put_bytes(struct pdw *w, const void *p, size_t len, struct err *err)
{
	struct err why = { 0 };

	if (not_cut(w, err))
		return -1;
	if (write_bytes(w, p, len, &why)) {
		/* Without its first block there would be no recording: the room of the end is for
		 * that, then. Heap logs on the same disk can fill it before the first sample. */
		bool no_room = why.sys_errno == ENOSPC || why.sys_errno == EFBIG;

		if (!no_room || w->file.shown || !give_reserve_up(w) ||
		    write_again(w, p, len, &why)) {
			if (err && !err->code)
				*err = why;
			return -1;
		}
	}
	w->at += len;
	return 0;
}

/* Nothing more is taken, if that is the end of the disk and the file is worth an end of its own. */
static int fills_up(struct pdw *w, struct err *err)
{
	w->full = w->file.shown && w->why.sys_errno && !cut_to(w, w->told);
	w->filled = 0;
	if (!w->full && err && !err->code)
		*err = w->why;
	return w->full ? 0 : -1;
}

static void header_fill(const struct pdw *w, uint8_t h[HEADER_SIZE], uint64_t data_size,
			const uint64_t features[4])
{
	const uint64_t words[8] = { HEADER_SIZE,
				    sizeof(struct perf_event_attr) + 16,
				    w->attrs_offset,
				    w->attrs_size,
				    w->data_offset,
				    data_size,
				    0,
				    0 };

	memcpy(h, "PERFILE2", 8);
	memcpy(h + 8, words, 8 * sizeof(*words));
	memcpy(h + 72, features, 32);
}

static int write_ids(struct pdw *w, const struct pdw_setup *s, struct err *err)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (put_bytes(w, s->event[i].ids, s->event[i].n_ids * sizeof(uint64_t), err))
			return -1;
	return 0;
}

static int write_attrs(struct pdw *w, const struct pdw_setup *s, uint64_t ids_at, struct err *err)
{
	for (size_t i = 0; i < s->n_events; i++) {
		uint64_t section[2] = { ids_at, s->event[i].n_ids * sizeof(uint64_t) };

		if (put_bytes(w, &s->event[i].attr, sizeof(s->event[i].attr), err) ||
		    put_bytes(w, section, sizeof(section), err))
			return -1;
		ids_at += section[1];
	}
	return 0;
}

static int old_name(const struct pdw *w, char old[4096], struct err *err)
{
	if (file_beside(old, 4096, w->path, ".old"))
		return err_set(err, ERR_USAGE, "%.60s...: the path is too long", w->path);
	return 0;
}

/* Moves an older recording to PATH.old. */
static int keep_old(struct pdw *w, struct err *err)
{
	char old[4096];
	struct stat st;

	if (w->aside || !file_look(w->path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	if (old_name(w, old, err))
		return -1;
	if (rename(w->path, old))
		return err_sys(err, "%s: moving it to %s.old", w->path, w->path);
	w->aside = true;
	return 0;
}

/* Gives the older recording its name back if the new one could not get it. */
static void bring_back(struct pdw *w)
{
	char old[4096];

	if (!w->aside || w->file.shown || old_name(w, old, NULL))
		return;
	(void)!renameat2(AT_FDCWD, old, AT_FDCWD, w->path, RENAME_NOREPLACE);
}

static int set_up_zstd(struct pdw *w, int level, struct err *err)
{
	if (!level)
		return 0;
	w->zstd = ZSTD_createCCtx();
	w->packed = malloc(RECORD_MAX);
	if (!w->zstd || !w->packed ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level)))
		return err_nomem(err);
	return 0;
}

static int put_end_block(struct pdw *w, const struct pdw_end *end, struct err *err)
{
	const struct pd_ended e = { .how = end->how,
				    .number = (uint32_t)end->number,
				    .flags = (w->locked ? ENDED_LOCKED : 0) |
					     (end->program ? ENDED_PROGRAM : 0) |
					     (end->outlived ? ENDED_OUTLIVED : 0),
				    .whole = w->at };
	uint8_t block[ENDED_SIZE];

	ended_put(block, &e);
	return w->regular ? fd_write_all_at(w->file.fd, block, sizeof(block), HEADER_SIZE, w->path,
					    err)
			  : 0;
}

int pdw_open(struct pdw **out, const char *path, const struct pdw_setup *setup, struct err *err)
{
	struct pdw *w = calloc(1, sizeof(*w));
	const uint64_t no_features[4] = { 0 };
	uint8_t header[HEADER_SIZE], ended[ENDED_SIZE];
	struct pd_ended now = { .how = PD_END_UNTOLD }; /* a pipe's end cannot change it */
	char old[4096];
	uint64_t ids = 0;

	*out = NULL;
	if (!w)
		return err_nomem(err);
	w->file = (struct file_new)FILE_NEW_NONE;
	w->path = w->file.path;
	w->reserve = -1;
	w->limit = UINT64_MAX;
	w->buffer = malloc(BUFFER_SIZE);
	if (!w->buffer) {
		(void)err_nomem(err);
		goto fail;
	}
	if (file_new_open(&w->file, path, 0600, setup->ours ? FILE_NEW_OURS : FILE_NEW_FRESH, err))
		goto fail;
	w->regular = !w->file.direct;
	reserve_tail(w);
	if (old_name(w, old, err) || file_out_check(old, err))
		goto fail;
	for (size_t i = 0; i < setup->n_events; i++)
		ids += setup->event[i].n_ids;
	w->attrs_offset = IDS_AT + ids * sizeof(uint64_t);
	w->attrs_size = setup->n_events * (sizeof(struct perf_event_attr) + 16);
	w->data_offset = w->attrs_offset + w->attrs_size;
	if (w->regular) {
		struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

		now.how = PD_END_AT_WORK;
		/* file systems without locks do without */
		w->locked = !fcntl(w->file.fd, F_OFD_SETLK, &whole);
		now.flags = w->locked ? ENDED_LOCKED : 0;
	}
	/* no features, and a size that grows with each flush: true at every moment until the commit
	 */
	header_fill(w, header, 0, no_features);
	ended_put(ended, &now);
	if (put_bytes(w, header, sizeof(header), err) || put_bytes(w, ended, sizeof(ended), err) ||
	    write_ids(w, setup, err) || write_attrs(w, setup, IDS_AT, err) ||
	    set_up_zstd(w, setup->zstd_level, err))
		goto fail;
	*out = w;
	return 0;
fail:
	pdw_close(w);
	return -1;
}

void pdw_head(struct buf *out, const struct pdw_setup *setup)
{
	const uint64_t no_features[4] = { 0 };
	uint64_t ids = 0, at = IDS_AT;
	uint8_t header[HEADER_SIZE], ended[ENDED_SIZE];
	struct pdw w = { 0 };

	for (size_t i = 0; i < setup->n_events; i++)
		ids += setup->event[i].n_ids;
	w.attrs_offset = IDS_AT + ids * sizeof(uint64_t);
	w.attrs_size = setup->n_events * (sizeof(struct perf_event_attr) + 16);
	w.data_offset = w.attrs_offset + w.attrs_size;
	header_fill(&w, header, 0, no_features);
	buf_put(out, header, sizeof(header));
	ended_put(ended, &(struct pd_ended){ .how = PD_END_UNTOLD });
	buf_put(out, ended, sizeof(ended));
	for (size_t i = 0; i < setup->n_events; i++)
		buf_put(out, setup->event[i].ids, setup->event[i].n_ids * sizeof(uint64_t));
	for (size_t i = 0; i < setup->n_events; i++) {
		uint64_t section[2] = { at, setup->event[i].n_ids * sizeof(uint64_t) };

		buf_put(out, &setup->event[i].attr, sizeof(setup->event[i].attr));
		buf_put(out, section, sizeof(section));
		at += section[1];
	}
}

void pdw_head_size(struct buf *head, uint64_t data)
{
	assert(head->len >= HEADER_SIZE);
	memcpy(head->s + DATA_SIZE_AT, &data, sizeof(data));
}

static int put_packed(struct pdw *w, size_t len, struct err *err)
{
	struct perf_event_header h = { .type = PD_RECORD_COMPRESSED,
				       .size = (uint16_t)(sizeof(h) + len) };

	memcpy(w->packed, &h, sizeof(h));
	return put_bytes(w, w->packed, sizeof(h) + len, err);
}

/* One zstd stream runs through all COMPRESSED records; with `flush`, all it holds back comes out.
 */
static int pack_block(struct pdw *w, const void *p, size_t len, bool flush, struct err *err)
{
	ZSTD_inBuffer in = { p, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { w->packed + sizeof(struct perf_event_header), PAYLOAD_MAX,
				       0 };

		left = ZSTD_compressStream2(w->zstd, &out, &in,
					    flush ? ZSTD_e_flush : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return err_set(err, ERR_IO, "%s: zstd: %s", w->path,
				       ZSTD_getErrorName(left));
		if (out.pos && put_packed(w, out.pos, err))
			return -1;
	} while (in.pos < in.size || (flush && left));
	return 0;
}

static int flush_buffer(struct pdw *w, struct err *err)
{
	size_t len = w->filled;

	w->filled = 0;
	return len ? put_bytes(w, w->buffer, len, err) : 0;
}

static int data(struct pdw *w, const void *p, size_t len, struct err *err)
{
	if (w->zstd)
		return pack_block(w, p, len, false, err);
	if (len > BUFFER_SIZE - w->filled && flush_buffer(w, err))
		return -1;
	if (len >= BUFFER_SIZE / 4) /* large pieces go straight from the ring to the kernel */
		return flush_buffer(w, err) ? -1 : put_bytes(w, p, len, err);
	assert(w->filled + len <= BUFFER_SIZE);
	memcpy(w->buffer + w->filled, p, len);
	w->filled += len;
	return 0;
}

int pdw_data(struct pdw *w, const void *p, size_t len, struct err *err)
{
	return w->full || !data(w, p, len, &w->why) ? 0 : fills_up(w, err);
}

static int flush_block(struct pdw *w, struct err *err)
{
	uint64_t size;

	if (!w->full && (w->zstd ? pack_block(w, "", 0, true, err) : flush_buffer(w, err)))
		return -1;
	if (!w->regular || w->at == w->told)
		return 0;
	/* so that a reader that believes the header finds all of it, should we die now */
	assert(w->at >= w->data_offset && w->at >= w->told);
	size = w->at - w->data_offset;
	if (fd_write_all_at(w->file.fd, &size, sizeof(size), DATA_SIZE_AT, w->path, err))
		return -1;
	w->told = w->at;
	return 0;
}

int pdw_flush(struct pdw *w, struct err *err)
{
	return w->full || !flush_block(w, &w->why) ? 0 : fills_up(w, err);
}

const struct err *pdw_full(const struct pdw *w)
{
	return w->full ? &w->why : NULL;
}

int pdw_behind(struct pdw *w, const void *p, size_t len, struct err *err)
{
	uint64_t end = w->at;

	(void)give_reserve_up(w);
	if (!put_bytes(w, p, len, err))
		return 0;
	(void)!cut_to(w, end);
	return -1;
}

int pdw_feature(struct pdw *w, unsigned bit, const void *p, size_t len, struct err *err)
{
	struct feature f = { bit, BUF_INIT };

	buf_put(&f.payload, p, len);
	if (f.payload.failed || vec_push(&w->feature, f)) {
		buf_free(&f.payload);
		return err_nomem(err);
	}
	return 0;
}

uint64_t pdw_features_bytes(const struct pdw *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->feature.n; i++)
		n += 16 + w->feature.v[i].payload.len;
	return n;
}

void pdw_feature_drop(struct pdw *w, unsigned bit)
{
	size_t n = 0;

	vec_each (&w->feature, struct feature *, f) {
		if (f->bit == bit)
			buf_free(&f->payload);
		else
			w->feature.v[n++] = *f;
	}
	w->feature.n = n;
}

int pdw_feature_early(struct pdw *w, unsigned bit, const void *p, size_t len, struct err *err)
{
	const uint8_t zeros[8] = { 0 };
	size_t pad = -len & 7, size = sizeof(struct perf_event_header) + 8 + len + pad;
	struct perf_event_header h = { .type = PD_RECORD_FEATURE, .size = (uint16_t)size };
	uint64_t id = bit;

	if (size > RECORD_MAX) /* then only the commit has it */
		return 0;
	return put_bytes(w, &h, sizeof(h), err) || put_bytes(w, &id, sizeof(id), err) ||
			       put_bytes(w, p, len, err) || put_bytes(w, zeros, pad, err)
		       ? -1
		       : 0;
}

static int by_bit(const void *a, const void *b)
{
	const struct feature *x = a, *y = b;

	return (x->bit > y->bit) - (x->bit < y->bit);
}

/* The table of sections, one per bit set, in order of bits; then the sections. */
static int write_features(struct pdw *w, uint64_t features[4], struct err *err)
{
	uint64_t at = w->at + w->feature.n * 16;

	vec_sort(&w->feature, by_bit);
	assert(pairs_hold(w->feature.n, i,
			  w->feature.v[i].bit < w->feature.v[i + 1].bit)); /* each once */
	vec_each (&w->feature, struct feature *, f) {
		uint64_t section[2] = { at, f->payload.len };

		features[f->bit / 64] |= 1ULL << (f->bit % 64);
		at += f->payload.len;
		if (put_bytes(w, section, sizeof(section), err))
			return -1;
	}
	vec_each (&w->feature, struct feature *, f) {
		if (put_bytes(w, buf_str(&f->payload), f->payload.len, err))
			return -1;
	}
	return 0;
}

int pdw_show(struct pdw *w, struct err *err)
{
	if (w->file.shown)
		return 0;
	if (keep_old(w, err) || file_new_show(&w->file, err)) {
		bring_back(w);
		return -1;
	}
	return 0;
}

bool pdw_shown(const struct pdw *w)
{
	return w->file.shown;
}

/* Half a feature table behind the data would be taken for records. */
static void cut_off(struct pdw *w, uint64_t data_end)
{
	const uint64_t none[4] = { 0 };
	uint8_t header[HEADER_SIZE];

	if (cut_to(w, data_end))
		return;
	header_fill(w, header, data_end - w->data_offset, none);
	(void)!fd_write_all_at(w->file.fd, header, sizeof(header), 0, w->path, NULL);
}

static int complete_file(struct pdw *w, struct err *err)
{
	uint64_t features[4] = { 0 }, data_end;
	uint8_t header[HEADER_SIZE];

	if (flush_block(w, err))
		return -1;
	data_end = w->at;
	if (write_features(w, features, err)) {
		cut_off(w, data_end);
		return -1;
	}
	if (!w->regular)
		return 0;
	header_fill(w, header, data_end - w->data_offset, features);
	return fd_write_all_at(w->file.fd, header, sizeof(header), 0, w->path, err);
}

/* The name that was shown still leads to the file. */
static int not_gone(const struct pdw *w, struct err *err)
{
	struct stat st, own;

	if (!w->regular || !w->file.shown || fstat(w->file.fd, &own))
		return 0;
	if (!file_look(w->path, &st) && own.st_nlink)
		(void)err_set(err, ERR_IO, "%s: was renamed while it was written", w->path);
	else if (!own.st_nlink)
		(void)err_set(err, ERR_IO,
			      "%s: was removed or replaced while it was written: nothing is kept",
			      w->path);
	else if (st.st_dev == own.st_dev && st.st_ino == own.st_ino)
		return 0;
	else
		(void)err_set(err, ERR_IO, "%s: was moved away and replaced while it was written",
			      w->path);
	return err_hint(err, "record again, into a file that no other program uses");
}

/* With the reserve if it is needed. */
static int complete_at_last(struct pdw *w, struct err *err)
{
	struct err why = ERR_INIT;

	if (pdw_flush(w, err)) /* records first: they keep off the reserve */
		return -1;
	if (w->full)
		(void)give_reserve_up(w);
	if (!complete_file(w, &why) ||
	    (give_reserve_up(w) && (err_clear(&why), !complete_file(w, &why))))
		return 0;
	if (err && !err->code)
		*err = why;
	return -1;
}

int pdw_commit(struct pdw *w, const struct pdw_end *end, struct err *err)
{
	struct pdw_end is = *end;

	if (not_cut(w, err) || complete_at_last(w, err))
		return -1;
	if (w->full) {
		is.how = PD_END_FULL;
		is.number = w->why.sys_errno;
	}
	if (put_end_block(w, &is, err))
		return -1;
	w->ended = true;
	if (not_gone(w, err) || pdw_show(w, err))
		return -1;
	return file_new_commit(&w->file, err);
}

void pdw_give_up(struct pdw *w, const struct pdw_end *end)
{
	if (!w->ended)
		(void)!put_end_block(w, end, NULL);
}

uint64_t pdw_bytes(const struct pdw *w)
{
	return w->at + w->filled;
}

void pdw_close(struct pdw *w)
{
	if (!w)
		return;
	file_new_abort(&w->file);
	(void)give_reserve_up(w);
	vec_each (&w->feature, struct feature *, f)
		buf_free(&f->payload);
	vec_free(&w->feature);
	ZSTD_freeCCtx(w->zstd);
	free(w->packed);
	free(w->buffer);
	free(w);
}

/* ---- payloads (tools/perf/util/header.c of Linux) -------------------------------------------- */

void pdw_put_part(struct buf *out, const char *s, size_t len)
{
	size_t room = (len + 1 + 63) & ~(size_t)63;

	buf_put_u32(out, (uint32_t)room);
	buf_put(out, s, len);
	buf_fill(out, '\0', room - len);
}

void pdw_put_text(struct buf *out, const char *s)
{
	pdw_put_part(out, s, strlen(s));
}

void pdw_put_texts(struct buf *out, const char *const *s, size_t n)
{
	buf_put_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		pdw_put_text(out, s[i]);
}

void pdw_put_events(struct buf *out, size_t n)
{
	buf_put_u32(out, (uint32_t)n);
	buf_put_u32(out, (uint32_t)sizeof(struct perf_event_attr));
}

void pdw_put_event(struct buf *out, const struct pdw_event *e)
{
	buf_put(out, &e->attr, sizeof(e->attr));
	buf_put_u32(out, (uint32_t)e->n_ids);
	pdw_put_text(out, e->name);
	buf_put(out, e->ids, e->n_ids * sizeof(*e->ids));
}

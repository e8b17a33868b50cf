/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer - a perf.data in file form, valid at every moment from its first flush on.
 *
 *	pdw_open(&w, path, &setup, &err)   header and attributes are written at once
 *	pdw_feature_early(w, bit, p, len, &err)  before the first record, if at all
 *	pdw_data(w, p, len, &err)	   records as the kernel's rings gave them
 *	pdw_flush(w, &err)		   now and then: all of it, and the header's data size
 *	pdw_show(w, &err)		   it has its name from now on; an older file is PATH.old
 *	pdw_feature(w, bit, p, len, &err)  payload of a header feature, any time before the end
 *	pdw_commit(w, &end, &err)	   features, and the header that lists them
 *
 * Until pdw_show or pdw_commit the file has no name, and pdw_close drops it: the recording of
 * before stays where it is. Call pdw_show once there is something to keep. If the disk is full
 * after pdw_show (or a file's size at its limit), the last flushed state stays, pdw_data and
 * pdw_flush do nothing from then on, and pdw_full() has the reason. Features, and the data that
 * pdw_behind adds, have room that was reserved for them. pdw_commit then writes PD_END_FULL in
 * place of its argument. A writer killed after that leaves a file whose header describes all that
 * was flushed; bytes written at that moment lie behind it. Its only features are the early ones,
 * which are records as in a pipe; with zstd one of them must be COMPRESSED, without which perf
 * cannot unpack.
 */
#ifndef CYCLADE_PERFDATA_WRITER_H
#define CYCLADE_PERFDATA_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/perf_abi.h"
#include "perfdata/perfdata.h"

struct pdw;

struct pdw_event {
	struct perf_event_attr attr;
	const char *name;
	const uint64_t *ids;
	size_t n_ids;
};

struct pdw_setup {
	const struct pdw_event *event;
	size_t n_events;
	bool ours;	/* the path is a default, not the user's */
	int zstd_level; /* 0: plain; else records are packed into COMPRESSED ones */
};

/* How it ended, for its readers (ended.h). */
struct pdw_end {
	enum pd_end how;
	int number;    /* the signal, or errno */
	bool program;  /* one was started, whose end the recording should have */
	bool outlived; /* processes that it had started went on */
};

int pdw_open(struct pdw **out, const char *path, const struct pdw_setup *setup,
	     struct err *err) MUST_USE;
/* The same in memory: the bytes before the records. pdw_head_size() sets how many bytes they are.
 */
void pdw_head(struct buf *out, const struct pdw_setup *setup);
void pdw_head_size(struct buf *head, uint64_t data);
int pdw_data(struct pdw *w, const void *p, size_t len, struct err *err) MUST_USE;
/* Hands the buffer to the kernel, so that it survives our own death. */
int pdw_flush(struct pdw *w, struct err *err) MUST_USE;
int pdw_feature(struct pdw *w, unsigned bit, const void *p, size_t len, struct err *err) MUST_USE;
uint64_t pdw_features_bytes(const struct pdw *w);   /* that the commit will write */
void pdw_feature_drop(struct pdw *w, unsigned bit); /* it is not there, or not any more */
int pdw_feature_early(struct pdw *w, unsigned bit, const void *p, size_t len,
		      struct err *err) MUST_USE;
/* Before it, the last pdw_flush must have succeeded. Twice is fine. */
int pdw_show(struct pdw *w, struct err *err) MUST_USE;
bool pdw_shown(const struct pdw *w);
/* Why nothing more is taken, or NULL. */
const struct err *pdw_full(const struct pdw *w);
/* A record behind the last one of a file that is full. */
int pdw_behind(struct pdw *w, const void *p, size_t len, struct err *err) MUST_USE;
/* Completes, shows and closes the file, and returns errors of that. Only pdw_bytes, pdw_shown,
 * pdw_full and pdw_close may follow, and, if it failed with a sys_errno, another pdw_commit:
 * with more room on the disk, or with a feature less. */
int pdw_commit(struct pdw *w, const struct pdw_end *end, struct err *err) MUST_USE;
/* Instead, or after a pdw_commit that failed: the file stays as it is, with its end. A whole file
 * has one already. */
void pdw_give_up(struct pdw *w, const struct pdw_end *end);
uint64_t pdw_bytes(const struct pdw *w); /* written to the file so far */
void pdw_close(struct pdw *w);		 /* NULL is fine; a file that was shown is left as it is */

/* Payloads of features. A text, as headers have them: its length, and room up to 64 bytes. */
void pdw_put_text(struct buf *out, const char *s);
void pdw_put_part(struct buf *out, const char *s, size_t len);
/* Their number first. */
void pdw_put_texts(struct buf *out, const char *const *s, size_t n);
/* EVENT_DESC: the head, then each event. */
void pdw_put_events(struct buf *out, size_t n);
void pdw_put_event(struct buf *out, const struct pdw_event *e);

#endif

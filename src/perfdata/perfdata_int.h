/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perfdata_int - shared by the files of this room. Nothing outside includes it.
 *
 *	load.c		bytes of a path: mapped, read, or collected from a pipe
 *	toolkit.c	another tool's file as a recording
 *	ahead.c		a second thread that works while the walk goes on
 *	reader.c	header, attributes, feature sections; open and close
 *	feature.c	payloads of header features
 *	attr.c		attributes, ids, layouts, names of events
 *	record.c	the table of record types, and turning a foreign record round
 *	walk.c		the one walk over all records; walk_hook.c: its actions on some
 *	inflate.c	COMPRESSED records
 *	deferred.c	call chains whose user part is a record of its own
 *	spe_trace.c	samples of an AUX trace of Arm's SPE
 *	trace.c		formats of tracepoints (trace.h)
 *	sample.c	samples; sideband.c the others
 */
#ifndef CYCLADE_PERFDATA_PERFDATA_INT_H
#define CYCLADE_PERFDATA_PERFDATA_INT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "perfdata/perfdata.h"
#include "perfdata/trace.h"

#define PD_CHUNK_SIZE ((size_t)4 << 20)
#define PD_BLOCK_SIZE (PD_CHUNK_SIZE + ((size_t)1 << 18))
#define PD_NOTES_MAX  60
#define PD_EVENTS_MAX 16384 /* all tracepoints of a kernel are some 3000 */
#define PD_KNOWN_END  96    /* types below this are counted in an array */

/* The bytes of one data file, and how to give them back. */
struct pd_source {
	uint8_t *p; /* written to only if `own` is not PD_BORROWED */
	size_t len;
	enum { PD_BORROWED, PD_MALLOC, PD_MAPPED } own;
	const char *name; /* for notes: NULL for the main file, else "data.3" */
};

/* A run of records that are no samples: `n` of them, the first `at` bytes into its chunk. */
struct pd_side {
	uint32_t at, n;
};

/* Payload of an AUXTRACE record. cpu, tid: -1: unknown. offset: in the buffer that it is of. */
struct pd_trace {
	const uint8_t *p;
	size_t len;
	uint64_t offset;
	int32_t cpu, tid;
};

/* A CALLCHAIN_DEFERRED record: `n` addresses behind cookie and count. */
struct pd_deferred {
	const uint8_t *p;
	uint64_t cookie;
	uint32_t tid, n;
	bool used; /* it was joined to a sample */
};

struct pd_unknown {
	uint32_t type;
	uint64_t count, bytes;
};

struct pd {
	struct pd_info info;
	struct arena arena;
	bool swap;  /* the recording's byte order is not ours */
	bool huge;  /* simpleperf: sizes of its own records go beyond 16 bits */
	bool piped; /* attributes and features come as records */
	const char *path;
	VEC(struct pd_source) sources;
	VEC(struct pd_event) events;
	struct u64map ids; /* -> index of event */
	size_t id_at;	   /* offset of the id in a sample; 0: none recorded */
	size_t id_back;	   /* the same in a trailer, from the record's end; 0: none */
	VEC(struct pd_chunk) chunks;
	VEC(size_t) chunk_side; /* by chunk: its first in `sides` */
	VEC(struct pd_side) sides;
	VEC(struct pd_source) blocks; /* unpacked or made records */
	VEC(struct pd_trace) traces;
	VEC(struct pd_deferred) deferred;
	struct u64map deferred_at; /* by thread and cookie -> index */
	const uint8_t *aux_info;   /* the first AUXTRACE_INFO; NULL: none */
	size_t aux_info_size;
	struct archive
		*archive; /* that the recording is in, with the files that it needs; or NULL */
	const char *root; /* below which file_in_open() finds these; or NULL */
	int spill_fd;	  /* unlinked file that blocks beyond 1 GB live in, or -1 */
	uint64_t count[PD_KNOWN_END], bytes[PD_KNOWN_END];
	VEC(struct pd_unknown) unknown;
	VEC(struct pd_type_count) type_counts;
	struct pd_losses losses;
	uint64_t first_time, last_time;
	VEC(const char *) notes;
	size_t notes_more; /* not kept */
	VEC(struct pd_buildid) buildids;
	VEC(struct trace_format) formats; /* by id */
	/* the id seen last by the walk, and its event */
	uint64_t last_id;
	uint32_t last_event;
	bool last_known, too_many;
	bool want_lost; /* some event's samples carry PERF_FORMAT_LOST */
	uint64_t unknown_id_samples, short_samples;
	struct u64map read_lost;    /* by id: largest value seen */
	uint64_t packed_bytes;	    /* of COMPRESSED payloads so far */
	uint64_t searched;	    /* events looked at by pd_may_search's callers */
	uint64_t taken[4];	    /* features that were read already */
	const struct pd_feed *feed; /* who wants side-band records; NULL: nobody */
	struct pd_ahead *ahead;	    /* while a large file is walked */
	bool feeding;		    /* records are passed on while the walk goes on */
};

/* The block of cyclade's behind the header, if there is one (ended.h). */
void pd_end_block(struct pd *rec, const struct pd_source *s, uint64_t header);
/* Something is missing; a reason that was known before stays. */
void pd_end_cut(struct pd *rec, const char *what);
void pd_end_unfinished(struct pd *rec);
/* Whether a recorder holds its lock on the file. */
bool pd_locked(int fd);

/* A sentence for pd_notes; forgotten silently when memory is out or there are too many. */
void pd_note(struct pd *rec, const char *fmt, ...) PRINTF_(2, 3);

/* ---- load.c ---- */
int pd_load(struct pd *rec, const char *path, struct err *err) MUST_USE;
/* Files of the AMD Research IBS Toolkit; and such a one, turned into a recording. */
bool pd_toolkit_is(const uint8_t *p, size_t len);
int pd_toolkit_convert(struct pd *rec, struct pd_source *s, struct err *err) MUST_USE;
void pd_source_free(struct pd_source *s);
/* Makes a source ours to write to. */
int pd_source_own(struct pd_source *s, struct err *err) MUST_USE;
/* A block for unpacked records, at the end of rec->blocks; NULL when out of memory. */
uint8_t *pd_block_new(struct pd *rec, size_t size) MUST_USE;

/* ---- ahead.c ---- */
/* A second thread for the walk over [off, off + len) of a mapped source, else NULL. */
struct pd_ahead *pd_ahead_start(const struct pd *rec, const struct pd_source *s, uint64_t off,
				uint64_t len);
/* A chunk was walked: passes its side-band records on. */
int pd_ahead_chunk(struct pd_ahead *a, const struct pd_chunk *c, const struct pd_side *side,
		   size_t n, struct err *err) MUST_USE;
/* Waits for its end; with `finish` all records are passed on before. NULL is fine. */
int pd_ahead_end(struct pd_ahead *a, bool finish, struct err *err) MUST_USE;

/* ---- attr.c ---- */
/* Adds an event from attribute bytes (of the recording's order) of at most `room` bytes. */
int pd_attr_add(struct pd *rec, const uint8_t *p, size_t room, const uint8_t *ids, size_t n_ids,
		struct err *err) MUST_USE;
int pd_event_ids(struct pd *rec, size_t event, const uint8_t *ids, size_t n, bool swap) MUST_USE;
/* Layouts shared by the events; called after the attributes are known or changed. */
void pd_attrs_done(struct pd *rec);
/* To be asked before a search through all events: false when so many were made that only a file
 * made to waste our time can be the reason. */
bool pd_may_search(struct pd *rec);
/* Returns true if an old name table, which goes by config alone, may name such an event: hardware's
 * 0 and software's 0 are not the same, and their names are known anyway. */
bool pd_event_type_names(const struct perf_event_attr *a);
const char *pd_event_make_name(struct pd *rec, const struct pd_event *ev);

/* ---- record.c ---- */
struct walk;
struct record_row {
	uint32_t type;
	const char *name;
	uint16_t least;
	const char *layout;
	int (*hook)(struct walk *w, uint8_t *p, size_t size, struct err *err);
};
const struct record_row *pd_record_row(uint32_t type);
/* Turns a whole record (header too) to host order, in place. `size` is already known. */
void pd_record_swap(const struct pd *rec, uint8_t *p, size_t size);
/* Whether the 24 bytes at p of an MMAP2 under PERF_RECORD_MISC_MMAP_BUILD_ID are a build-id. */
bool pd_mmap_has_id(const struct pd *rec, const uint8_t *p);
/* sample.c: the same for a SAMPLE's fields, the header being turned already. */
void pd_sample_swap(const struct pd *rec, uint8_t *p, size_t size);
void pd_swap_run(uint8_t *p, size_t len, unsigned width); /* numbers of `width` bytes */

/* ---- feature.c ---- */
/* Takes payload of feature `bit`; a payload that cannot be read is noted. -1 only when out of
 * memory. */
int pd_feature_take(struct pd *rec, unsigned bit, const uint8_t *p, size_t len,
		    struct err *err) MUST_USE;

/* ---- trace.c ---- */
#define PD_FEATURE_TRACING_DATA 1u
/* Takes the payload of TRACING_DATA. -1: damaged, used as far as it can be read; 1: out of memory.
 */
int pd_take_tracing(struct pd *rec, const uint8_t *p, size_t len) MUST_USE;

/* ---- walk.c ---- */
struct inflate;
struct walk {
	struct pd *rec;
	const struct pd_source *in;   /* for notes */
	uint64_t base;		      /* file offset of in->p */
	const uint8_t *run, *run_end; /* whole records not yet in a chunk */
	size_t run_side;	      /* first of `sides` in this run */
	const uint8_t *side_end;      /* where the last run of side-band records ends */
	uint64_t seq;		      /* of run */
	uint64_t skip;		      /* bytes behind the record just seen that are none */
	bool inside;		      /* within unpacked data */
	bool stop;		      /* this stream cannot be followed any further */
	bool packed;		      /* the next record is COMPRESSED */
	const uint8_t *aux;	      /* the AUXTRACE record just seen; NULL: it was none */
	bool tracing;		      /* a TRACING_DATA record was just seen */
	struct inflate *z;
};
/* Walks the records in [off, off + len) of a source. */
int pd_walk_source(struct pd *rec, const struct pd_source *s, uint64_t off, uint64_t len,
		   struct err *err) MUST_USE;
/* Walks records made by this program, of host order, behind all others. */
int pd_walk_made(struct pd *rec, uint8_t *p, size_t len, struct err *err) MUST_USE;
/* Follows whole records from p, counting; returns where it stopped. */
const uint8_t *walk_scan(struct walk *w, uint8_t *p, const uint8_t *end, struct err *err) MUST_USE;
/* Calls rec->feed: at the beginning; for side-band records of a chunk; for all, unless that was
 * done. */
int pd_feed_begin(struct pd *rec, struct err *err) MUST_USE;
int pd_feed_end(struct pd *rec, struct err *err) MUST_USE;
int pd_feed_sides(const struct pd *rec, const struct pd_chunk *c, const struct pd_side *side,
		  size_t n, struct err *err) MUST_USE;
/* Facts that records depend on will change: the calls up to now are undone, and all records are
 * passed on when everything is known. */
void pd_feed_later(struct pd *rec);
/* Sums and notes after the last source. */
int pd_walk_done(struct pd *rec, struct err *err) MUST_USE;
/* Where a place in the walk lies in its file, for notes. */
uint64_t walk_offset(const struct walk *w, const uint8_t *p);
/* PERF_FORMAT_LOST: keeps the largest of an id. */
int pd_keep_lost(struct pd *rec, uint64_t id, uint64_t lost, struct err *err) MUST_USE;

/* Runs of records, of which chunks are made. Between them `run_end` goes on with each record. */
int walk_run_begin(struct walk *w, const uint8_t *p, bool always, struct err *err) MUST_USE;
int walk_run_close(struct walk *w, struct err *err) MUST_USE;
int walk_keep_side(struct walk *w, const uint8_t *p, size_t size, struct err *err) MUST_USE;

/* ---- sample.c ---- */
/* The call chain alone; false if the sample has none that fits. */
bool pd_chain_find(const struct pd_event *ev, const struct pd_record *r, const uint8_t **chain,
		   uint64_t *n);

/* ---- deferred.c ---- */
/* Whether samples of an event may wait for the user parts of their chains. */
bool pd_defers(const struct pd *rec);
/* Keeps a whole CALLCHAIN_DEFERRED record in mind, which stays where it is. */
int pd_deferred_add(struct pd *rec, const uint8_t *p, size_t size, struct err *err) MUST_USE;
/* Joins chains after all records were walked. */
int pd_deferred_join(struct pd *rec, struct err *err) MUST_USE;

/* ---- spe_trace.c ---- */
/* Makes samples of the traces, if they are of Arm's SPE, after all records were walked. */
int pd_spe_decode(struct pd *rec, struct err *err) MUST_USE;

/* ---- inflate.c ---- */
/* Unpacks the payload of the COMPRESSED record at `record` and walks its records. Faults of the
 * data are notes. */
int inflate_record(struct walk *w, const uint8_t *record, const uint8_t *p, size_t len,
		   struct err *err) MUST_USE;
void inflate_end(struct walk *w);

#endif

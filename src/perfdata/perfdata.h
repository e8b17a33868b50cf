/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perfdata - reading recordings: perf.data in file, pipe, version-1 and directory form, and
 * simpleperf's, of either byte order, whole or cut short.
 *
 *	pd_open(&rec, path, &err)	map, read header, attributes, features; inflate; one walk
 *	pd_walk(rec, cb, ctx, &err)	side-band records, in file order
 *	pd_chunks(rec, &n)		pieces for parallel reading of samples
 *	pd_sample_parse(rec, r, &s)	a sample taken apart
 *	pd_close(rec)
 *
 * A reader behind this header may rely on this: every record handed out lies whole inside memory
 * that stays until pd_close; its size is at least 8 and a multiple of nothing in particular; all
 * numbers are in host byte order (a foreign recording is swapped in a private copy at open);
 * compressed records are already unpacked and are never handed out themselves, but counted.
 * Nothing is trusted: lengths inside a record are checked by pd_sample_parse and the pd_*_get
 * functions, never by callers.
 *
 * Truth: a recording cut short is not an error. pd_open succeeds with all that is intact and
 * `pd_notes` names missing parts. It fails only if nothing can be read.
 *
 * Costs: pd_open touches every record's header once (memory speed) and maps rather than reads;
 * unpacked data live in memory (or an unlinked temporary file when large).
 * Threads: after pd_open, everything here is read-only and may be used from any number of threads.
 */
#ifndef CYCLADE_PERFDATA_PERFDATA_H
#define CYCLADE_PERFDATA_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/perf_abi.h"
#include "perfdata/waited.h"

struct pd;

enum pd_form { PD_FILE, PD_PIPE, PD_DIRECTORY, PD_VERSION1, PD_SIMPLEPERF, PD_TOOLKIT };

/* ---- opening ---------------------------------------------------------------------------- */

/* `path` may be "-" for standard input, a FIFO, a file or a directory. On success *out is the
 * caller's to close. */
/* Whether a file that begins with these bytes is perf's data, of any form and byte order. */
bool pd_begins(const void *p, size_t len);
int pd_open(struct pd **out, const char *path, struct err *err) MUST_USE;
/* The same, passing side-band records on while it walks, on a thread of its own if that helps. */
struct pd_record;
struct pd_feed {
	/* The header is known. Anything reported before is to be forgotten. */
	int (*begin)(void *ctx, const struct pd *rec, struct err *err);
	/* Records as pd_walk passes them, one at a time, between `begin` and the end of
	 * pd_open_feed. Of `rec` its events, and the functions that take records apart, may be
	 * used. */
	int (*record)(void *ctx, const struct pd *rec, const struct pd_record *r, struct err *err);
	void *ctx;
};
int pd_open_feed(struct pd **out, const char *path, const struct pd_feed *feed,
		 struct err *err) MUST_USE;
/* If the file was an archive (archive.h): the root below which file_in_open() finds the files that
 * the recording needs; else NULL. */
const char *pd_root(const struct pd *rec);
/* The same over memory (tests, fuzzers). The bytes must stay until pd_close; they are not written
 * to. */
int pd_open_memory(struct pd **out, const void *p, size_t len, struct err *err) MUST_USE;
void pd_close(struct pd *rec); /* NULL is fine */

/* Gives the pages of mapped files back to the kernel, which pd_close would have to wait for: to be
 * done while other threads have work. Any number of threads may do it together, each returns when
 * there is no more to begin with. Bytes that are read again are brought in again. NULL: nothing to
 * give back. */
struct pd_drop;
struct pd_drop *pd_drop_new(const struct pd *rec);
void pd_drop_do(struct pd_drop *d);   /* NULL is fine */
void pd_drop_free(struct pd_drop *d); /* before pd_close; NULL is fine */

/* ---- the header --------------------------------------------------------------- */

/* How the fields at fixed places of an event's samples lie: byte offsets from the start of the
 * record, 0 if absent. */
struct pd_layout {
	uint16_t identifier, ip, tid, time, addr, id, stream_id, cpu, period;
	uint16_t fixed_end; /* where the fields of varying size begin */
};

struct pd_event {
	struct perf_event_attr attr; /* host order, zero-filled past attr.size of the recording */
	uint64_t config3, config4;   /* attr bytes 128 to 143, where newer kernels put more */
	const char *name; /* never NULL: from EVENT_DESC, EVENT_UPDATE, or made from attr */
	const char *unit; /* from EVENT_UPDATE, or NULL */
	double scale;	  /* from EVENT_UPDATE: a count times this is in `unit`; 1 */
	const uint64_t *ids;
	size_t n_ids;
	struct pd_layout at;
	uint64_t samples; /* counted by the one walk of pd_open: no second scan, costs nothing more
			   */
	uint64_t least, most; /* of the periods in records; most 0: there is none */
	uint64_t period; /* summed: the record's period, else attr.sample_period, else 1 each */
};

/* It records switches and nothing else: `run` pauses it with records as of a throttled event. */
static inline bool pd_event_watches(const struct pd_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_DUMMY &&
	       e->attr.context_switch && !e->attr.mmap;
}

struct pd_pmu_caps {
	const char *pmu; /* "cpu", "cpu_core", ... */
	const char *const *name, *const *value;
	size_t n;
};

struct pd_cache {
	uint32_t level, line_size, sets, ways;
	const char *type, *size, *cpus;
};

struct pd_node {
	uint32_t id;
	uint64_t mem_total_kb, mem_free_kb;
	const char *cpus;
};

/* Physical memory in blocks of pd_info.memory_block bytes: those of a node. */
struct pd_memory_node {
	uint32_t id;
	const uint64_t *block; /* a bit for each */
	uint64_t n_blocks;
};

struct pd_buildid {
	int32_t pid;
	uint16_t misc; /* cpumode bits of a record header */
	uint8_t id[20];
	uint8_t id_len;
	const char *path;
};

#define PD_TREE_MAX (1u << 20) /* bytes of a tree beside the samples */

/* CYCLADE_PLACES: the path that processes see as `inside` lies at `rest` below the directory
 * `root`. */
struct pd_place {
	const char *inside, *root, *rest;
};

/* CYCLADE_LEFT_OUT: parts that record --keep and --fields did not store. */
struct pd_left_out {
	bool keep, fields; /* the options */
	uint64_t samples;  /* that did not hold */
	uint64_t parts;	   /* PERF_SAMPLE_* that other options asked for */
	uint64_t bytes;	   /* of parts that only --keep read */
};

/* CYCLADE_CHAINS: call chains that were made by unwinding while recording. */
struct pd_unwound {
	uint64_t samples; /* 0: none were */
	uint64_t whole;	  /* of these: up to the thread's start */
	uint64_t cut;	  /* ... or up to the end of the copied stack */
};

/* Bits of header features. */
enum pd_feature_bit {
#define FEATURE(bit, name, reader) PD_HAS_##name = bit,
#include "perfdata/feature.def"
#undef FEATURE
};

/* Header features; a NULL string or 0 count: not in this recording. */
struct pd_info {
	enum pd_form form;
	uid_t owner;	    /* of the file, of several the first who is not root; 0: not known */
	bool foreign_order; /* written on a machine of the other byte order */
	uint64_t file_size, data_offset, data_size, inflated_size;
	const char *hostname, *os_release, *version, *arch, *cpu_desc, *cpuid;
	uint32_t cpus_online, cpus_available;
	uint64_t mem_total_kb;
	const char *const *cmdline;
	size_t n_cmdline;
	const struct pd_buildid *buildids;
	size_t n_buildids;
	uint64_t sample_time_first, sample_time_last; /* ns; 0, 0: not recorded */
	uint64_t clockid, clock_res_ns;
	bool has_clock_data;
	uint64_t clock_wall_ns, clock_mono_ns; /* the same instant on both clocks */
	const struct pd_pmu_caps *caps;
	size_t n_caps;
	const struct pd_cache *caches;
	size_t n_caches;
	const struct pd_node *nodes;
	size_t n_nodes;
	uint64_t memory_block; /* MEM_TOPOLOGY; 0: not recorded */
	const struct pd_memory_node *memory;
	size_t n_memory;
	const char *const *core_siblings, *const *thread_siblings, *const *die_siblings;
	size_t n_core_siblings, n_thread_siblings, n_die_siblings;
	struct pd_cpu_place {
		int32_t core, socket, die;
	} const *cpu_place; /* by CPU number */
	size_t n_cpu_place;
	const char *const *hybrid_name, *const *hybrid_cpus;
	size_t n_hybrid;
	const char *const *pmu_name; /* PMU_MAPPINGS */
	const uint32_t *pmu_type;
	size_t n_pmus;
	uint32_t compressed_type, compressed_level, compressed_ratio, compressed_mmap_len;
	uint64_t aux_bytes;   /* payloads of AUXTRACE records */
	uint64_t aux_decoded; /* of these: made into samples (Arm SPE) */
	/* whose user part comes in a record of its own; of these: it is missing. Handed out are
	 * samples with whole chains, and no CALLCHAIN_DEFERRED that belongs to one. */
	uint64_t deferred_samples, deferred_lost;
	bool has_auxtrace, has_stat, has_dir, has_bpf_prog, has_bpf_btf;
	const char *tree; /* CYCLADE_TREE: text, not ended by 0; NULL: none */
	size_t tree_len;
	/* CYCLADE_HEAP: chunks of the program's allocation log (symbol/heap.h); NULL: none */
	const uint8_t *heap;
	size_t heap_len;
	const struct pd_place *places;
	size_t n_places;
	struct pd_left_out left_out;
	const struct pd_look *look;	  /* CYCLADE_WAITED, by tid and time */
	const struct pd_fd_look *fd_look; /* by pid, fd and time */
	size_t n_looks, n_fd_looks;
	uint32_t waited_flags; /* PD_WAITED_* */
	struct pd_unwound unwound;
	/* CYCLADE_MODELLED: nothing was measured, a model of this CPU followed the program. A
	 * sample is all that an instruction took in a calling context, so that sums are exact.
	 * NULL: samples are samples. */
	const char *modelled, *modelled_from;
	uint64_t features[4];	  /* the bitmap as it stood */
	uint64_t features_bad[4]; /* present, but not readable: skipped and noted */
};

const struct pd_info *pd_info(const struct pd *rec);
/* The name of the PMU of this type; "" if the header has none. */
const char *pd_pmu_name(const struct pd_info *info, uint32_t type);
/* A PMU of cores: cpu, cpu_core, armv8_pmuv3_0; without a name that of raw events. */
bool pd_pmu_is_core(const struct pd_info *info, uint32_t type);
/* How precise the addresses of an event's samples are: its precise_ip, but 0 on Arm, whose kernels
 * accept precise_ip and take the address at the interrupt all the same. */
unsigned pd_precise(const struct pd *rec, const struct pd_event *ev);
/* Name of a header feature ("HOSTNAME"), or NULL if this program knows none. */
const char *pd_feature_name(unsigned bit);
const struct pd_event *pd_events(const struct pd *rec, size_t *n);
/* Returns true if every event's records carry a time (sample_id_all with PERF_SAMPLE_TIME). */
bool pd_has_time(const struct pd *rec);

/* ---- found by the walk ---------------------------------------------------------------- */

struct pd_type_count {
	uint32_t type;
	const char *name; /* kernel's name without PERF_RECORD_: "SAMPLE"; "T1234" if unknown */
	uint64_t count, bytes;
};

/* How the recording ended. */
enum pd_end {
	PD_END_UNTOLD, /* it is complete, and its recorder leaves no word */
	PD_END_AT_WORK,
	PD_END_FINISHED,
	PD_END_STOPPED, /* by a signal */
	PD_END_FULL,	/* the disk, or the limit of a file's size */
	PD_END_KILLED,
	PD_END_UNFINISHED, /* killed or at work: unknown for perf's files */
	PD_END_CUT,	   /* parts of the file are missing */
};
const char *pd_end_name(enum pd_end how); /* "killed" */

struct pd_losses {
	uint64_t lost_records; /* LOST records */
	uint64_t lost;	       /* events they stand for */
	uint64_t lost_samples; /* from LOST_SAMPLES */
	uint64_t read_lost;    /* from PERF_FORMAT_LOST, the largest value per id, summed */
	uint64_t throttles, unthrottles;
	uint64_t aux_lost;     /* AUX records flagged TRUNCATED, PARTIAL or COLLISION */
	uint64_t unattributed; /* SAMPLE records of an unknown id, or too short for their event */
	uint64_t partial;      /* of the recordings: 1 if this one does not go to its end */
	enum pd_end end;
	const char *ended; /* in words; NULL: unknown */
	bool locked;	   /* a recorder was at work when it was opened */
	bool untold; /* the file's form has no place for them: all but unattributed are unknown */
};

/* Adds up the losses of several recordings; `to` begins with zeros, and gets the end of the first
 * that is partial. */
void pd_losses_add(struct pd_losses *to, const struct pd_losses *l);

/* Sorted by type. COMPRESSED records are counted, and so are the records inside them. */
const struct pd_type_count *pd_type_counts(const struct pd *rec, size_t *n);
const struct pd_losses *pd_losses(const struct pd *rec);
/* Sentences on unusual or missing parts (cut short, unknown records, bad features, ...), one line
 * each, with offsets. */
const char *const *pd_notes(const struct pd *rec, size_t *n);
const char *pd_record_name(uint32_t type); /* NULL for an unknown one */
/* Time of the first and last sample; false if samples carry no time or there are none. */
bool pd_time_span(const struct pd *rec, uint64_t *first, uint64_t *last);

/* Returns the frequency of the time-stamp counter, if the recording has it (perf's and ours do);
 * else 0. */
double pd_tsc_hz(const struct pd *rec);

/* ---- records ---------------------------------------------------------------------------- */

struct pd_record {
	const uint8_t *p; /* the record, its 8-byte header included */
	uint32_t type;
	uint16_t misc, size;
	uint64_t seq; /* place in the recording: grows in file order, unique, over all data files;
		       * stands in for the time if none was recorded */
};

/* Every record but samples and compressed ones, in file order. A non-zero return of `cb` ends the
 * walk and is returned. AUXTRACE payloads are skipped. */
int pd_walk(const struct pd *rec, int (*cb)(void *ctx, const struct pd_record *r), void *ctx);
/* Every record in file order, samples included. */
int pd_walk_all(const struct pd *rec, int (*cb)(void *ctx, const struct pd_record *r), void *ctx);

/* A run of whole records, about 4 MB each, for work on many cores. */
struct pd_chunk {
	const uint8_t *p, *end;
	uint64_t
		seq; /* of the first record: a record's is this plus its distance in bytes from p */
};
const struct pd_chunk *pd_chunks(const struct pd *rec, size_t *n);

/* Steps through a chunk; false at its end. Start with r->p = NULL. */
static inline bool pd_next(const struct pd_chunk *c, struct pd_record *r)
{
	const uint8_t *p = r->p ? r->p + r->size : c->p;

	if (p >= c->end)
		return false;
	r->p = p;
	r->type = ld32(p);
	r->misc = ld16(p + 4);
	r->size = ld16(p + 6);
	r->seq = c->seq + (uint64_t)(p - c->p);
	return true;
}

/* The trailer that sample_id_all puts behind side-band records; absent fields are 0 and not in
 * `has` (PERF_SAMPLE_* bits). */
struct pd_sample_id {
	uint64_t has;
	uint32_t pid, tid, cpu;
	uint64_t time, id, stream_id;
	uint32_t event; /* index into pd_events; 0 if there is no id */
};
void pd_sample_id_get(const struct pd *rec, const struct pd_record *r, struct pd_sample_id *out);

/* Which event a sample belongs to, from its id; -1 if the id is unknown or the sample too short.
 * Inline-fast for recordings with one event. */
int pd_sample_event(const struct pd *rec, const struct pd_record *r);

/* The event that an id belongs to (of a value read with its group, pd_read.id), or -1. */
int pd_id_event(const struct pd *rec, uint64_t id);

/* One branch of a branch stack, bits decoded. Order: newest first, as recorded. */
struct pd_branch {
	uint64_t from, to;
	bool mispred, predicted, in_tx, abort;
	uint16_t cycles;
	uint8_t type, spec, new_type, priv; /* PERF_BR_* */
	uint64_t counters;		    /* event occurrences per counter, 0 if absent */
};

/* A sample's branch stack as it stands in the record: entries of 24 bytes, newest first. */
#define PD_BRANCH_SIZE 24u
struct pd_branches {
	const uint8_t *entry; /* n of them; pd_branch_decode takes one apart */
	uint64_t n;
	const uint8_t *counters; /* n u64, or NULL */
	uint64_t hw_idx;	 /* -1 where not recorded */
};

/* An entry, without its counters. (A foreign recording's bits were turned at open.) */
static inline struct pd_branch pd_branch_decode(const uint8_t *p)
{
	uint64_t f = ld64(p + 16);

	return (struct pd_branch){ .from = ld64(p),
				   .to = ld64(p + 8),
				   .mispred = f & 1,
				   .predicted = f >> 1 & 1,
				   .in_tx = f >> 2 & 1,
				   .abort = f >> 3 & 1,
				   .cycles = (uint16_t)(f >> 4),
				   .type = f >> 20 & 15,
				   .spec = f >> 24 & 3,
				   .new_type = f >> 26 & 15,
				   .priv = f >> 30 & 7 };
}

struct pd_regs {
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_* */
	uint64_t mask;
	const uint8_t *v; /* popcount(mask) u64, use ld64 */
};

struct pd_read {
	uint64_t id, value, lost; /* id and lost 0 if the read format lacks them */
};

/* The name of PERF_SAMPLE_x, by its bit. */
#define PD_SAMPLE_WORDS 25
extern const char *const pd_sample_words[PD_SAMPLE_WORDS];

/* A sample taken apart. Pointers lead into the recording: arrays of u64 are read with ld64. */
struct pd_sample {
	const struct pd_event *event;
	uint32_t event_index;
	uint8_t cpumode; /* PERF_RECORD_MISC_KERNEL, _USER, ... */
	uint64_t has;	 /* PERF_SAMPLE_* bits present (and intact) */
	uint64_t id, ip, time, addr, stream_id, period;
	uint32_t pid, tid, cpu;
	uint64_t read_enabled, read_running; /* ns */
	const uint8_t *read;		     /* values; pd_read_get takes one out */
	uint64_t n_read;
	const uint8_t *chain; /* n_chain u64, PERF_CONTEXT_* markers included */
	uint64_t n_chain;
	const uint8_t *raw;
	uint32_t raw_size;
	const uint8_t *branch; /* n_branch * 24 bytes; pd_branch_get takes one out */
	uint64_t n_branch;
	const uint8_t *branch_counters; /* n_branch u64, or NULL */
	uint64_t branch_hw_idx;		/* -1 where not recorded */
	struct pd_regs regs_user, regs_intr;
	const uint8_t *stack;
	uint64_t stack_size;	   /* bytes that were really copied */
	uint64_t weight;	   /* WEIGHT as a whole, or var1_dw of WEIGHT_STRUCT */
	uint16_t weight2, weight3; /* var2_w, var3_w of WEIGHT_STRUCT */
	uint64_t data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
	const uint8_t *aux;
	uint64_t aux_size;
};

/* -1 if the record is no sample of a known event or its fixed fields do not fit. A field of
 * varying size that does not fit, and all behind it, are left out of `has`. */
int pd_sample_parse(const struct pd *rec, const struct pd_record *r,
		    struct pd_sample *out) MUST_USE;
/* The same of a record in no recording, of an event whose `attr` the caller has filled in and whose
 * layout was made. */
void pd_event_layout(struct pd_event *ev);
int pd_sample_parse_of(const struct pd_event *ev, const struct pd_record *r,
		       struct pd_sample *out) MUST_USE;
/* A 64-bit program's register: the bit of `which` in perf's numbering. False: it was not recorded.
 */
bool pd_user_register(const struct pd_sample *s, uint64_t which, uint64_t *out);
/* Copies a sample without the fields of `drop` (of ADDR, CPU, PERIOD and those of varying size)
 * into `out`, and appends `n` entries to its call chain, or as many as a record has room for. `out`
 * has room for the record and all of them. The new size; -1: its fields do not fit into it. */
int pd_sample_rewrite(const struct pd_event *ev, const struct pd_record *r, uint64_t drop,
		      const uint64_t *chain, size_t n, uint8_t *out);
/* Copies a sample without the end of its piece of stack that the kernel reserved and did not fill
 * into `out`, which has room for the record. The new size; 0: there is nothing to gain, or the
 * record's fields do not fit into it. */
size_t pd_sample_short_stack(const struct pd_event *ev, const struct pd_record *r, uint8_t *out);
/* As pd_sample_rewrite(), with all fields: `n` words take the place of the chain's last `cut`. */
int pd_sample_end_chain(const struct pd_event *ev, const struct pd_record *r, size_t cut,
			const void *words, size_t n, uint8_t *out);
/* The branch stack alone, several times faster than taking all of the sample apart. `ev` has the
 * record's layout. False if there is none, or it does not fit; none with n 0 is true. */
bool pd_branches_find(const struct pd_event *ev, const struct pd_record *r,
		      struct pd_branches *out);
/* The raw data alone, in the same way. */
bool pd_raw_find(const struct pd_event *ev, const struct pd_record *r, const uint8_t **raw,
		 size_t *len);
/* The id of the cgroup alone, in the same way; 0 if the sample has none. */
uint64_t pd_sample_cgroup(const struct pd_event *ev, const struct pd_record *r);
struct pd_branch pd_branch_get(const struct pd_sample *s, uint64_t i);
struct pd_read pd_read_get(const struct pd_sample *s, uint64_t i);

/* ---- side-band records taken apart; -1 if the record is not of that kind or is too short ----
 */

struct pd_mmap {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min, prot, flags;
	uint64_t ino, ino_generation;
	uint8_t build_id[20];
	uint8_t build_id_len; /* 0: none in this record */
	bool is_mmap2, is_data;
	const char *path;
};
/* MMAP and MMAP2. `rec` NULL: a record as the kernel gives it, of no recording. */
int pd_mmap_get(const struct pd *rec, const struct pd_record *r, struct pd_mmap *out) MUST_USE;

struct pd_comm {
	uint32_t pid, tid;
	bool exec;
	const char *comm;
};
int pd_comm_get(const struct pd_record *r, struct pd_comm *out) MUST_USE;

struct pd_task {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};
int pd_task_get(const struct pd_record *r, struct pd_task *out) MUST_USE; /* FORK and EXIT */

struct pd_ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type, flags; /* flags bit 0: unregister */
	const char *name;
};
int pd_ksymbol_get(const struct pd_record *r, struct pd_ksymbol *out) MUST_USE;

struct pd_text_poke {
	uint64_t addr;
	uint16_t old_len, new_len;
	const uint8_t *bytes; /* old, then new */
};
int pd_text_poke_get(const struct pd_record *r, struct pd_text_poke *out) MUST_USE;

struct pd_bpf {
	uint16_t bpf_type, flags;
	uint32_t id;
	uint8_t tag[8];
};
int pd_bpf_get(const struct pd_record *r, struct pd_bpf *out) MUST_USE;

struct pd_cgroup {
	uint64_t id;
	const char *path;
};
int pd_cgroup_get(const struct pd_record *r, struct pd_cgroup *out) MUST_USE;

struct pd_namespaces {
	uint32_t pid, tid;
	uint64_t n;
	const uint8_t *link; /* n pairs of u64: dev, inode */
};
int pd_namespaces_get(const struct pd_record *r, struct pd_namespaces *out) MUST_USE;

#endif

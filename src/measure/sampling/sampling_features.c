/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The features of a recording's header. Layouts: tools/perf/Documentation/perf.data-file-format.txt
 * and, for alignment of strings (64 bytes), tools/perf/util/header.c of Linux.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "collect/tracing.h"
#include "config.h"
#include "measure/sampling/sampling_int.h"
#include "perfdata/perfdata.h"
#include "symbol/copies.h"
#include "symbol/elf_file.h"

/* misc of an entry of BUILD_ID: the number of bytes stands behind them */
#define BUILD_ID_SIZED (1u << 15)

/* ---- each feature: fills b and returns true, or false if there is nothing to store -------------
 */

static bool put_if(struct buf *b, const char *s)
{
	if (s)
		pdw_put_text(b, s);
	return s;
}

static bool hostname(struct sampling *r, struct buf *b)
{
	return put_if(b, r->k.machine.hostname);
}

static bool osrelease(struct sampling *r, struct buf *b)
{
	return put_if(b, r->k.machine.release);
}

static bool version(struct sampling *r, struct buf *b)
{
	(void)r;
	return put_if(b, "cyclade " CYCLADE_VERSION);
}

static bool arch(struct sampling *r, struct buf *b)
{
	return put_if(b, r->k.machine.arch);
}

static bool cpu_desc(struct sampling *r, struct buf *b)
{
	return put_if(b, r->k.machine.cpu_desc);
}

static bool cpuid(struct sampling *r, struct buf *b)
{
	return put_if(b, r->k.machine.cpuid);
}

static bool nrcpus(struct sampling *r, struct buf *b)
{
	buf_put_u32(b, r->k.machine.cpus_available);
	buf_put_u32(b, r->k.machine.cpus_online);
	return r->k.machine.cpus_available;
}

static bool total_mem(struct sampling *r, struct buf *b)
{
	buf_put_u64(b, r->k.machine.mem_total_kb);
	return r->k.machine.mem_total_kb;
}

static bool cmdline(struct sampling *r, struct buf *b)
{
	struct buf text = BUF_INIT;
	uint32_t n = 0;
	bool ok = !file_slurp(&text, "/proc/self/cmdline", 16u << 20, NULL);

	for (size_t i = 0; ok && i < text.len; i++)
		n += text.s[i] == '\0';
	buf_put_u32(b, n);
	for (size_t at = 0; ok && n && at < text.len; n--) {
		pdw_put_text(b, text.s + at);
		at += strlen(text.s + at) + 1;
	}
	(void)r;
	buf_free(&text);
	return ok;
}

static bool event_desc(struct sampling *r, struct buf *b)
{
	size_t n = r->events.ev.n;

	pdw_put_events(b, n);
	for (size_t i = 0; i < n; i++) {
		struct pdw_event e = { sampling_stored(r, i), r->events.ev.v[i].name, NULL, 0 };

		e.ids = recorder_ids(r->recorder, i, &e.n_ids);
		pdw_put_event(b, &e);
	}
	return true;
}

static bool cpu_topology(struct sampling *r, struct buf *b)
{
	const struct machine *m = &r->k.machine;

	if (!m->cpu)
		return false;
	pdw_put_texts(b, m->core_siblings, m->n_core_siblings);
	pdw_put_texts(b, m->thread_siblings, m->n_thread_siblings);
	for (uint32_t i = 0; i < m->cpus_available; i++) {
		buf_put_u32(b, (uint32_t)m->cpu[i].core);
		buf_put_u32(b, (uint32_t)m->cpu[i].socket);
	}
	if (!m->n_die_siblings)
		return true;
	pdw_put_texts(b, m->die_siblings, m->n_die_siblings);
	for (uint32_t i = 0; i < m->cpus_available; i++)
		buf_put_u32(b, (uint32_t)m->cpu[i].die);
	return true;
}

static bool numa_topology(struct sampling *r, struct buf *b)
{
	const struct machine *m = &r->k.machine;

	buf_put_u32(b, (uint32_t)m->n_nodes);
	for (size_t i = 0; i < m->n_nodes; i++) {
		buf_put_u32(b, m->node[i].id);
		buf_put_u64(b, m->node[i].mem_total_kb);
		buf_put_u64(b, m->node[i].mem_free_kb);
		pdw_put_text(b, m->node[i].cpus ? m->node[i].cpus : "");
	}
	return m->n_nodes;
}

/* Puts the nodes with memory; perf has the set's size twice. */
static bool mem_topology(struct sampling *r, struct buf *b)
{
	const struct machine *m = &r->k.machine;
	uint64_t head[] = { 1, m->memory_block, 0 };

	for (size_t i = 0; i < m->n_nodes; i++)
		head[2] += m->node[i].n_blocks > 0;
	buf_put(b, head, sizeof(head));
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct machine_node *n = &m->node[i];

		if (!n->n_blocks)
			continue;
		buf_put_u64(b, n->id);
		buf_put_u64(b, n->n_blocks);
		buf_put_u64(b, n->n_blocks);
		buf_put(b, n->block, (n->n_blocks + 63) / 64 * sizeof(*n->block));
	}
	return head[1] && head[2];
}

static bool branch_stack(struct sampling *r, struct buf *b)
{
	(void)b;
	return (r->opts.wish.branch || r->opts.branch_filter) &&
	       !(r->fields.gone & PERF_SAMPLE_BRANCH_STACK);
}

static bool pmu_mappings(struct sampling *r, struct buf *b)
{
	const struct machine *m = &r->k.machine;

	buf_put_u32(b, (uint32_t)m->n_pmus);
	for (size_t i = 0; i < m->n_pmus; i++) {
		buf_put_u32(b, m->pmu[i].type);
		pdw_put_text(b, m->pmu[i].name);
	}
	return m->n_pmus;
}

static bool group_desc(struct sampling *r, struct buf *b)
{
	uint32_t groups = 0, members[2];
	size_t n = r->events.ev.n;

	buf_put_u32(b, 0); /* how many, known below */
	for (size_t i = 0; i < n; i++) {
		if (r->events.ev.v[i].group != (int)i)
			continue;
		members[0] = (uint32_t)i;
		members[1] = 0;
		for (size_t k = 0; k < n; k++)
			members[1] += r->events.ev.v[k].group == (int)i;
		if (members[1] < 2)
			continue;
		pdw_put_text(b, "{anon_group}");
		buf_put(b, members, sizeof(members));
		groups++;
	}
	if (!b->failed)
		memcpy(b->s, &groups, sizeof(groups));
	return groups;
}

static bool cache(struct sampling *r, struct buf *b)
{
	const struct machine *m = &r->k.machine;

	buf_put_u32(b, 1);
	buf_put_u32(b, (uint32_t)m->n_caches);
	for (size_t i = 0; i < m->n_caches; i++) {
		const struct machine_cache *c = &m->cache[i];

		buf_put_u32(b, c->level);
		buf_put_u32(b, c->line_size);
		buf_put_u32(b, c->sets);
		buf_put_u32(b, c->ways);
		pdw_put_text(b, c->type ? c->type : "");
		pdw_put_text(b, c->size ? c->size : "");
		pdw_put_text(b, c->cpus ? c->cpus : "");
	}
	return m->n_caches;
}

static bool sample_time(struct sampling *r, struct buf *b)
{
	buf_put_u64(b, r->sink.first_time);
	buf_put_u64(b, r->sink.last_time);
	return r->sink.samples;
}

static bool compressed(struct sampling *r, struct buf *b)
{
	buf_put_u32(b, 0); /* version: the one there is, as perf writes it */
	buf_put_u32(b, 1); /* zstd */
	buf_put_u32(b, (uint32_t)r->opts.zstd_level);
	buf_put_u32(b, 1); /* ratio, rounded down: not measured while packing in a stream */
	buf_put_u32(b, (uint32_t)(r->ring_bytes ? r->ring_bytes : RECORDER_RING));
	return r->opts.zstd_level;
}

static bool clockid(struct sampling *r, struct buf *b)
{
	const struct perf_event_attr *a = &r->ev[0].attr;
	struct timespec t = { 0 };

	if (!a->use_clockid || clock_getres(a->clockid, &t))
		return false;
	buf_put_u64(b, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
	return true;
}

/* The same instant on the samples' clock and on the wall. */
static bool clock_data(struct sampling *r, struct buf *b)
{
	const struct perf_event_attr *a = &r->ev[0].attr;

	buf_put_u32(b, 1); /* version: the one that perf reads */
	buf_put_u32(b, (uint32_t)a->clockid);
	buf_put_u64(b, sampling_clock(CLOCK_REALTIME));
	buf_put_u64(b, sampling_clock(a->clockid));
	return a->use_clockid;
}

static void put_caps(struct buf *b, const struct machine_pmu *p)
{
	buf_put_u32(b, (uint32_t)p->n_caps);
	for (size_t i = 0; i < p->n_caps; i++) {
		pdw_put_text(b, p->cap_name[i]);
		pdw_put_text(b, p->cap_value[i]);
	}
}

static bool is_hybrid_core(const struct machine_pmu *p)
{
	return !strcmp(p->name, "cpu_core") || !strcmp(p->name, "cpu_atom") ||
	       !strcmp(p->name, "cpu_lowpower");
}

static bool cpu_pmu_caps(struct sampling *r, struct buf *b)
{
	for (size_t i = 0; i < r->k.machine.n_pmus; i++)
		if (!strcmp(r->k.machine.pmu[i].name, "cpu") && r->k.machine.pmu[i].n_caps) {
			put_caps(b, &r->k.machine.pmu[i]);
			return true;
		}
	return false;
}

static bool hybrid_topology(struct sampling *r, struct buf *b)
{
	uint32_t n = 0;

	buf_put_u32(b, 0);
	for (size_t i = 0; i < r->k.machine.n_pmus; i++) {
		const struct machine_pmu *p = &r->k.machine.pmu[i];

		if (!is_hybrid_core(p))
			continue;
		pdw_put_text(b, p->name);
		pdw_put_text(b, p->cpus ? p->cpus : "");
		n++;
	}
	if (!b->failed)
		memcpy(b->s, &n, sizeof(n));
	return n;
}

static bool pmu_caps(struct sampling *r, struct buf *b)
{
	uint32_t n = 0;

	buf_put_u32(b, 0);
	for (size_t i = 0; i < r->k.machine.n_pmus; i++) {
		const struct machine_pmu *p = &r->k.machine.pmu[i];

		if (!p->n_caps || !strcmp(p->name, "cpu"))
			continue;
		put_caps(b, p);
		pdw_put_text(b, p->name);
		n++;
	}
	if (!b->failed)
		memcpy(b->s, &n, sizeof(n));
	return n;
}

/* ---- build-ids -------------------------------------------------------------------------- */

/* One entry: a record head, pid, 20 bytes of id with their number behind, the path. */
static void put_build_id(struct buf *b, const uint8_t *id, size_t len, const char *path,
			 bool kernel)
{
	struct perf_event_header h = { 0 };
	uint8_t padded[24] = { 0 };
	size_t room = (strlen(path) + 1 + 63) & ~(size_t)63;

	if (!len || len > 20)
		return;
	memcpy(padded, id, len);
	padded[20] = (uint8_t)len;
	h.misc = (uint16_t)((kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
			    BUILD_ID_SIZED);
	h.size = (uint16_t)(sizeof(h) + 4 + sizeof(padded) + room);
	buf_put(b, &h, sizeof(h));
	buf_put_u32(b, UINT32_MAX); /* pid -1: the host */
	buf_put(b, padded, sizeof(padded));
	buf_put(b, path, strlen(path));
	buf_fill(b, '\0', room - strlen(path));
}

static void file_build_id(struct buf *b, const char *path)
{
	uint8_t id[BUILD_ID_MAX];
	struct file_map map;

	if (strlen(path) > 4000 || file_map_open(&map, path, NULL))
		return;
	put_build_id(b, id, elf_build_id_of(map.p, map.len, path, id), path, false);
	file_map_close(&map);
}

static bool build_ids(struct sampling *r, struct buf *b)
{
	struct buf notes = BUF_INIT;
	uint8_t held[BUILD_ID_MAX];
	const uint8_t *id;
	size_t len;

	if (!file_slurp(&notes, "/sys/kernel/notes", 1u << 20, NULL)) {
		len = elf_note_build_id((const uint8_t *)buf_str(&notes), notes.len, false, &id);
		put_build_id(b, id, len, "[kernel.kallsyms]", true);
	}
	buf_free(&notes);
	for (uint32_t i = 1; i < r->sink.files.n; i++) {
		const char *path = strtab_get(&r->sink.files, i);
		const struct inside_file *f = inside_find(&r->sink.inside, path);

		/* a table by path cannot hold several files of one path */
		if (!f && !inside_replaced(&r->sink.inside, path))
			file_build_id(b, path);
		else if (f && !inside_differs(&r->sink.inside, f))
			put_build_id(b, f->id, f->id_len, path, false);
		else if (!f && (len = copying_id(r->sink.inside.copies, path, held)))
			put_build_id(b, held, len, path, false);
	}
	return b->len;
}

/* Where files of processes with another root directory are, and copies of what runtimes wrote. */
static bool places(struct sampling *r, struct buf *b)
{
	const char *inside, *id;
	uint32_t n = 0;

	buf_put_u32(b, 0); /* how many, known below */
	vec_each (&r->sink.inside.v, const struct inside_file *, f) {
		if (!f->root)
			continue;
		pdw_put_text(b, f->path);
		pdw_put_text(b, f->root);
		pdw_put_text(b, f->rest);
		n++;
	}
	for (size_t i = 0; copying_place(r->sink.inside.copies, i, &inside, &id); i++, n++) {
		pdw_put_text(b, inside);
		pdw_put_text(b, COPIES_PLACE);
		pdw_put_text(b, id);
	}
	if (!b->failed)
		memcpy(b->s, &n, sizeof(n));
	return n;
}

/* Not early: perf report refuses records of features that it does not know. */
static bool left_out(struct sampling *r, struct buf *b)
{
	bool keep = r->opts.keep, fields = r->opts.fields;

	buf_put_u64(b, (uint64_t)keep | (uint64_t)fields << 1);
	buf_put_u64(b, wanted_left_out(r->sink.wanted));
	buf_put_u64(b, r->fields.gone);
	buf_put_u64(b, r->sink.cut_bytes);
	return keep || fields;
}

static bool waited(struct sampling *r, struct buf *b)
{
	bool unwound = r->opts.wait && r->wait.n_few &&
		       r->fields.cut[r->wait.few[0]] & PERF_SAMPLE_STACK_USER;

	return wchan_put(r->sink.looks, unwound ? PD_WAITED_UNWOUND : 0, b);
}

static bool chains(struct sampling *r, struct buf *b)
{
	const struct unwound_seen *u = r->sink.unwound ? unwound_seen(r->sink.unwound) : NULL;

	if (!u || !u->samples)
		return false;
	buf_put_u64(b, u->samples);
	buf_put_u64(b, u->end[UNWIND_DONE]);
	buf_put_u64(b, u->end[UNWIND_STACK]);
	return true;
}

/* perf opens no recording of tracepoints without their formats. */
static bool tracepoints(struct sampling *r, struct buf *b)
{
	size_t n = 0, all = r->events.ev.n;
	uint64_t *ids = arena_alloc(r->arena, all * sizeof(*ids));
	struct err err = ERR_INIT;

	for (size_t i = 0; ids && i < all; i++)
		if (r->events.ev.v[i].attr.type == PERF_TYPE_TRACEPOINT)
			ids[n++] = r->events.ev.v[i].attr.config;
	if (!n)
		return false;
	if (!tracing_data(b, "", ids, n, &err))
		return true;
	measure_news(
		&r->opts,
		"the tracepoints' formats are not stored, perf will not open the recording: %s",
		err.what);
	return false;
}

static const struct feature_row {
	unsigned bit;
	bool (*fill)(struct sampling *r, struct buf *b);
	bool early; /* known before the first record, and small */
} features[] = {
	{ PD_HAS_TRACING_DATA, tracepoints, false },
	{ PD_HAS_BUILD_ID, build_ids, false },
	{ PD_HAS_HOSTNAME, hostname, true },
	{ PD_HAS_OSRELEASE, osrelease, true },
	{ PD_HAS_VERSION, version, true },
	{ PD_HAS_ARCH, arch, true },
	{ PD_HAS_NRCPUS, nrcpus, true },
	{ PD_HAS_CPUDESC, cpu_desc, true },
	{ PD_HAS_CPUID, cpuid, true },
	{ PD_HAS_TOTAL_MEM, total_mem, false },
	{ PD_HAS_CMDLINE, cmdline, true },
	{ PD_HAS_EVENT_DESC, event_desc, true },
	{ PD_HAS_CPU_TOPOLOGY, cpu_topology, false },
	{ PD_HAS_NUMA_TOPOLOGY, numa_topology, false },
	{ PD_HAS_BRANCH_STACK, branch_stack, false },
	{ PD_HAS_PMU_MAPPINGS, pmu_mappings, true },
	{ PD_HAS_GROUP_DESC, group_desc, true },
	{ PD_HAS_CACHE, cache, false },
	{ PD_HAS_SAMPLE_TIME, sample_time, false },
	{ PD_HAS_MEM_TOPOLOGY, mem_topology, false },
	{ PD_HAS_CLOCKID, clockid, true },
	{ PD_HAS_COMPRESSED, compressed, true },
	{ PD_HAS_CPU_PMU_CAPS, cpu_pmu_caps, false },
	{ PD_HAS_CLOCK_DATA, clock_data, false },
	{ PD_HAS_HYBRID_TOPOLOGY, hybrid_topology, false },
	{ PD_HAS_PMU_CAPS, pmu_caps, false },
	{ PD_HAS_CYCLADE_PLACES, places, false },
	{ PD_HAS_CYCLADE_HEAP, sampling_heap_logs, false },
	{ PD_HAS_CYCLADE_LEFT_OUT, left_out, false },
	{ PD_HAS_CYCLADE_WAITED, waited, false },
	{ PD_HAS_CYCLADE_CHAINS, chains, false },
};

static int put_feature(struct sampling *r, const struct feature_row *f, bool early, struct err *err)
{
	int (*put)(struct pdw *, unsigned, const void *, size_t, struct err *) =
		early ? pdw_feature_early : pdw_feature;
	struct buf b = BUF_INIT;
	int rc = 0;

	if (f->fill(r, &b))
		rc = b.failed ? err_nomem(err)
			      : put(r->sink.writer, f->bit, buf_str(&b), b.len, err);
	buf_free(&b);
	return rc;
}

int sampling_features_early(struct sampling *r, struct err *err)
{
	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (features[i].early && put_feature(r, &features[i], true, err))
			return -1;
	return 0;
}

static int put_tree_feature(struct sampling *r, const struct buf *text, struct err *err)
{
	if (!text || !text->len || text->len > PD_TREE_MAX)
		return 0;
	return text->failed
		       ? err_nomem(err)
		       : pdw_feature(r->sink.writer, PD_HAS_CYCLADE_TREE, text->s, text->len, err);
}

int sampling_features(struct sampling *r, const struct buf *tree, struct err *err)
{
	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (put_feature(r, &features[i], false, err))
			return -1;
	return put_tree_feature(r, tree, err);
}

void sampling_features_drop_heap(struct sampling *r)
{
	pdw_feature_drop(r->sink.writer, PD_HAS_CYCLADE_HEAP);
}

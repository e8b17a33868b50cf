/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a recording: opened, walked both ways, every record taken apart by every function
 * there is, and a byte of everything that was handed out looked at.
 */
#include <stdint.h>
#include <stdlib.h>

#include "perfdata/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void look(const uint8_t *p, uint64_t n)
{
	if (p && n)
		sink += p[0] + (uint64_t)p[n - 1];
}

static void look_text(const char *s)
{
	if (s)
		sink += strlen(s);
}

static void look_sample(const struct pd_sample *s)
{
	for (uint64_t i = 0; i < s->n_branch; i++)
		sink += pd_branch_get(s, i).from + pd_branch_get(s, i).counters;
	for (uint64_t i = 0; i < s->n_read; i++)
		sink += pd_read_get(s, i).value + pd_read_get(s, i).lost;
	look(s->chain, s->n_chain * 8);
	look(s->raw, s->raw_size);
	look(s->stack, s->stack_size);
	look(s->aux, s->aux_size);
	look(s->regs_user.v, 8 * (uint64_t)__builtin_popcountll(s->regs_user.mask));
	look(s->regs_intr.v, 8 * (uint64_t)__builtin_popcountll(s->regs_intr.mask));
}

static void look_side(const struct pd *rec, const struct pd_record *r)
{
	struct pd_mmap m;
	struct pd_comm c;
	struct pd_task t;
	struct pd_ksymbol k;
	struct pd_text_poke p;
	struct pd_bpf b;
	struct pd_cgroup g;
	struct pd_namespaces n;

	if (!pd_mmap_get(rec, r, &m)) {
		look_text(m.path);
		look(m.build_id, m.build_id_len);
	}
	if (!pd_comm_get(r, &c))
		look_text(c.comm);
	if (!pd_task_get(r, &t))
		sink += t.pid;
	if (!pd_ksymbol_get(r, &k))
		look_text(k.name);
	if (!pd_text_poke_get(r, &p))
		look(p.bytes, (uint64_t)p.old_len + p.new_len);
	if (!pd_bpf_get(r, &b))
		sink += b.id;
	if (!pd_cgroup_get(r, &g))
		look_text(g.path);
	if (!pd_namespaces_get(r, &n))
		look(n.link, n.n * 16);
}

struct seen {
	const struct pd *rec;
	uint64_t records, samples, seq;
};

static int one(void *ctx, const struct pd_record *r)
{
	struct seen *seen = ctx;
	struct pd_sample_id id;
	struct pd_sample s;

	if (r->size < 8 || (seen->records && r->seq <= seen->seq))
		abort(); /* what perfdata.h promises */
	seen->seq = r->seq;
	seen->records++;
	seen->samples += r->type == PERF_RECORD_SAMPLE;
	look(r->p, r->size);
	pd_sample_id_get(seen->rec, r, &id);
	sink += id.time + (uint64_t)pd_sample_event(seen->rec, r);
	if (!pd_sample_parse(seen->rec, r, &s))
		look_sample(&s);
	look_side(seen->rec, r);
	return 0;
}

static void look_info(const struct pd *rec)
{
	const struct pd_info *i = pd_info(rec);
	const struct pd_event *ev;
	const char *const *notes;
	size_t n;

	look_text(i->hostname);
	look_text(i->cpu_desc);
	for (size_t k = 0; k < i->n_cmdline; k++)
		look_text(i->cmdline[k]);
	for (size_t k = 0; k < i->n_buildids; k++)
		look_text(i->buildids[k].path);
	for (size_t k = 0; k < i->n_caps; k++)
		for (size_t c = 0; c < i->caps[k].n; c++)
			look_text(i->caps[k].value[c]);
	for (size_t k = 0; k < i->n_caches; k++)
		look_text(i->caches[k].cpus);
	for (size_t k = 0; k < i->n_cpu_place; k++)
		sink += (uint64_t)i->cpu_place[k].core;
	for (size_t k = 0; k < i->n_hybrid; k++)
		look_text(i->hybrid_cpus[k]);
	for (size_t k = 0; k < i->n_pmus; k++)
		look_text(i->pmu_name[k]);
	for (size_t k = 0; k < i->n_nodes; k++)
		look_text(i->nodes[k].cpus);
	ev = pd_events(rec, &n);
	for (size_t k = 0; k < n; k++) {
		look_text(ev[k].name);
		look_text(ev[k].unit);
		look((const uint8_t *)ev[k].ids, ev[k].n_ids * 8);
	}
	notes = pd_notes(rec, &n);
	for (size_t k = 0; k < n; k++)
		look_text(notes[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct seen all = { 0 }, side = { 0 };
	const struct pd_type_count *t;
	uint64_t counted = 0;
	struct pd *rec;
	size_t n;

	if (pd_open_memory(&rec, data, size, &err)) {
		if (!err.what[0])
			abort();
		return 0;
	}
	all.rec = side.rec = rec;
	(void)pd_walk_all(rec, one, &all);
	(void)pd_walk(rec, one, &side);
	if (side.samples || side.records + all.samples != all.records)
		abort();
	t = pd_type_counts(rec, &n);
	for (size_t i = 0; i < n; i++) {
		look_text(t[i].name);
		counted += t[i].type == PERF_RECORD_SAMPLE ? t[i].count : 0;
	}
	if (counted != all.samples)
		abort();
	look_info(rec);
	pd_close(rec);
	return 0;
}

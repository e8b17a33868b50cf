/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pd_dump - prints all that perfdata makes of a recording, one line for each thing, for comparison
 * with what a generator put in.
 *
 *	pd_dump FILE		everything
 *	pd_dump --cut FILE	opens the first n bytes for every n up to the file's size, walks
 *				and takes apart everything each time; prints how many opened
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file_in.h"
#include "perfdata/perfdata.h"

static void put_hex(const char *key, const uint8_t *p, uint64_t n)
{
	printf(" %s=", key);
	for (uint64_t i = 0; i < n; i++)
		printf("%02x", p[i]);
}

static void put_words(const char *key, const uint8_t *p, uint64_t n)
{
	printf(" %s=", key);
	for (uint64_t i = 0; i < n; i++)
		printf("%s%" PRIx64, i ? "," : "", ld64(p + 8 * i));
}

#define NUM(key, v) printf(" " key "=%" PRIx64, (uint64_t)(v))

static void put_branches(const struct pd_sample *s)
{
	printf(" hw_idx=%" PRIx64 " branch=", s->branch_hw_idx);
	for (uint64_t i = 0; i < s->n_branch; i++) {
		struct pd_branch b = pd_branch_get(s, i);

		printf("%s%" PRIx64 ":%" PRIx64 ":%d%d%d%d:%x:%x:%x:%x:%x:%" PRIx64, i ? "," : "",
		       b.from, b.to, b.mispred, b.predicted, b.in_tx, b.abort, b.cycles, b.type,
		       b.spec, b.new_type, b.priv, b.counters);
	}
}

static void put_varying(const struct pd_sample *s)
{
	if (s->has & PERF_SAMPLE_READ) {
		printf(" read=%" PRIx64 "/%" PRIx64, s->read_enabled, s->read_running);
		for (uint64_t i = 0; i < s->n_read; i++) {
			struct pd_read r = pd_read_get(s, i);

			printf(",%" PRIx64 ":%" PRIx64 ":%" PRIx64, r.id, r.value, r.lost);
		}
	}
	if (s->has & PERF_SAMPLE_CALLCHAIN)
		put_words("chain", s->chain, s->n_chain);
	if (s->has & PERF_SAMPLE_RAW)
		put_hex("raw", s->raw, s->raw_size);
	if (s->has & PERF_SAMPLE_BRANCH_STACK)
		put_branches(s);
	if (s->has & PERF_SAMPLE_REGS_USER) {
		NUM("uabi", s->regs_user.abi);
		put_words("uregs", s->regs_user.v,
			  (uint64_t)__builtin_popcountll(s->regs_user.mask));
	}
	if (s->has & PERF_SAMPLE_STACK_USER)
		put_hex("stack", s->stack, s->stack_size);
	if (s->has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		printf(" weight=%" PRIx64 ":%x:%x", s->weight, s->weight2, s->weight3);
	if (s->has & PERF_SAMPLE_DATA_SRC)
		NUM("data_src", s->data_src);
	if (s->has & PERF_SAMPLE_TRANSACTION)
		NUM("transaction", s->transaction);
	if (s->has & PERF_SAMPLE_REGS_INTR) {
		NUM("iabi", s->regs_intr.abi);
		put_words("iregs", s->regs_intr.v,
			  (uint64_t)__builtin_popcountll(s->regs_intr.mask));
	}
	if (s->has & PERF_SAMPLE_PHYS_ADDR)
		NUM("phys", s->phys_addr);
	if (s->has & PERF_SAMPLE_CGROUP)
		NUM("cgroup", s->cgroup);
	if (s->has & PERF_SAMPLE_DATA_PAGE_SIZE)
		NUM("data_page", s->data_page_size);
	if (s->has & PERF_SAMPLE_CODE_PAGE_SIZE)
		NUM("code_page", s->code_page_size);
	if (s->has & PERF_SAMPLE_AUX)
		put_hex("aux", s->aux, s->aux_size);
}

static void put_sample(const struct pd *rec, const struct pd_record *r)
{
	struct pd_sample s;

	if (pd_sample_parse(rec, r, &s)) {
		printf(" bad\n");
		return;
	}
	printf(" event=%u has=%" PRIx64 " mode=%u", s.event_index, s.has, s.cpumode);
	if (s.has & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID))
		NUM("id", s.id);
	if (s.has & PERF_SAMPLE_IP)
		NUM("ip", s.ip);
	if (s.has & PERF_SAMPLE_TID)
		printf(" pid=%x tid=%x", s.pid, s.tid);
	if (s.has & PERF_SAMPLE_TIME)
		NUM("time", s.time);
	if (s.has & PERF_SAMPLE_ADDR)
		NUM("addr", s.addr);
	if (s.has & PERF_SAMPLE_STREAM_ID)
		NUM("stream", s.stream_id);
	if (s.has & PERF_SAMPLE_CPU)
		NUM("cpu", s.cpu);
	NUM("period", s.period);
	put_varying(&s);
	printf("\n");
}

static void put_maps(const struct pd *rec, const struct pd_record *r)
{
	struct pd_mmap m;
	struct pd_comm c;
	struct pd_task t;
	struct pd_cgroup g;
	struct pd_namespaces ns;

	if (!pd_mmap_get(rec, r, &m)) {
		printf(" pid=%x tid=%x addr=%" PRIx64 " len=%" PRIx64 " pgoff=%" PRIx64, m.pid,
		       m.tid, m.addr, m.len, m.pgoff);
		printf(" dev=%x:%x ino=%" PRIx64 ":%" PRIx64 " prot=%x flags=%x", m.maj, m.min,
		       m.ino, m.ino_generation, m.prot, m.flags);
		put_hex("build_id", m.build_id, m.build_id_len);
		printf(" data=%d path=%s", m.is_data, m.path);
	}
	if (!pd_comm_get(r, &c))
		printf(" pid=%x tid=%x exec=%d comm=%s", c.pid, c.tid, c.exec, c.comm);
	if (!pd_task_get(r, &t))
		printf(" pid=%x ppid=%x tid=%x ptid=%x at=%" PRIx64, t.pid, t.ppid, t.tid, t.ptid,
		       t.time);
	if (!pd_cgroup_get(r, &g))
		printf(" cgroup=%" PRIx64 " path=%s", g.id, g.path);
	if (!pd_namespaces_get(r, &ns)) {
		printf(" pid=%x tid=%x", ns.pid, ns.tid);
		put_words("links", ns.link, ns.n * 2);
	}
}

static void put_side(const struct pd *rec, const struct pd_record *r)
{
	struct pd_ksymbol k;
	struct pd_text_poke p;
	struct pd_bpf b;
	struct pd_sample_id id;

	put_maps(rec, r);
	if (!pd_ksymbol_get(r, &k))
		printf(" addr=%" PRIx64 " len=%x kind=%x flags=%x name=%s", k.addr, k.len,
		       k.ksym_type, k.flags, k.name);
	if (!pd_text_poke_get(r, &p)) {
		printf(" addr=%" PRIx64, p.addr);
		put_hex("old", p.bytes, p.old_len);
		put_hex("new", p.bytes + p.old_len, p.new_len);
	}
	if (!pd_bpf_get(r, &b)) {
		printf(" kind=%x flags=%x id=%x", b.bpf_type, b.flags, b.id);
		put_hex("tag", b.tag, 8);
	}
	pd_sample_id_get(rec, r, &id);
	printf(" | has=%" PRIx64 " pid=%x tid=%x time=%" PRIx64 " id=%" PRIx64 " stream=%" PRIx64
	       " cpu=%x event=%u",
	       id.has, id.pid, id.tid, id.time, id.id, id.stream_id, id.cpu, id.event);
	/* records of plain numbers: all of them, as they lie after turning */
	if (r->size <= 256 && r->size % 8 == 0)
		put_words("words", r->p + 8, (r->size - 8u) / 8);
	printf("\n");
}

static int put_record(void *ctx, const struct pd_record *r)
{
	const char *name = pd_record_name(r->type);

	printf("record %s misc=%x size=%u", name ? name : "?", r->misc, r->size);
	if (r->type == PERF_RECORD_SAMPLE)
		put_sample(ctx, r);
	else
		put_side(ctx, r);
	return 0;
}

static int count_side(void *ctx, const struct pd_record *r)
{
	(void)r;
	++*(uint64_t *)ctx;
	return 0;
}

static void put_texts(const char *key, const char *const *v, size_t n)
{
	printf("%s", key);
	for (size_t i = 0; i < n; i++)
		printf(" [%s]", v[i]);
	printf("\n");
}

#define TEXT(field) printf("info " #field " %s\n", info->field ? info->field : "-")
#define WORD(field) printf("info " #field " %" PRIu64 "\n", (uint64_t)info->field)

static void put_shape(const struct pd_info *info)
{
	put_texts("info cmdline", info->cmdline, info->n_cmdline);
	put_texts("info cores", info->core_siblings, info->n_core_siblings);
	put_texts("info threads", info->thread_siblings, info->n_thread_siblings);
	put_texts("info dies", info->die_siblings, info->n_die_siblings);
	for (size_t i = 0; i < info->n_cpu_place; i++)
		printf("info cpu %zu %d %d %d\n", i, info->cpu_place[i].core,
		       info->cpu_place[i].socket, info->cpu_place[i].die);
	for (size_t i = 0; i < info->n_nodes; i++)
		printf("info node %u %" PRIu64 " %" PRIu64 " %s\n", info->nodes[i].id,
		       info->nodes[i].mem_total_kb, info->nodes[i].mem_free_kb,
		       info->nodes[i].cpus);
	for (size_t i = 0; i < info->n_caches; i++)
		printf("info cache %u %u %u %u %s %s %s\n", info->caches[i].level,
		       info->caches[i].line_size, info->caches[i].sets, info->caches[i].ways,
		       info->caches[i].type, info->caches[i].size, info->caches[i].cpus);
	for (size_t i = 0; i < info->n_hybrid; i++)
		printf("info hybrid %s %s\n", info->hybrid_name[i], info->hybrid_cpus[i]);
	for (size_t i = 0; i < info->n_pmus; i++)
		printf("info pmu %u %s\n", info->pmu_type[i], info->pmu_name[i]);
	for (size_t i = 0; i < info->n_caps; i++)
		for (size_t k = 0; k < info->caps[i].n; k++)
			printf("info cap %s %s=%s\n", info->caps[i].pmu, info->caps[i].name[k],
			       info->caps[i].value[k]);
	for (size_t i = 0; i < info->n_buildids; i++) {
		printf("info buildid pid=%d misc=%x", info->buildids[i].pid,
		       info->buildids[i].misc);
		put_hex("id", info->buildids[i].id, info->buildids[i].id_len);
		printf(" %s\n", info->buildids[i].path);
	}
}

static void put_info(const struct pd_info *info)
{
	TEXT(hostname);
	TEXT(os_release);
	TEXT(version);
	TEXT(arch);
	TEXT(cpu_desc);
	TEXT(cpuid);
	WORD(cpus_online);
	WORD(cpus_available);
	WORD(mem_total_kb);
	WORD(sample_time_first);
	WORD(sample_time_last);
	WORD(clockid);
	WORD(clock_res_ns);
	WORD(clock_wall_ns);
	WORD(clock_mono_ns);
	WORD(compressed_type);
	WORD(compressed_level);
	WORD(compressed_ratio);
	WORD(compressed_mmap_len);
	put_shape(info);
}

static void put_events(const struct pd *rec)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++, ev++) {
		const struct perf_event_attr *a = &ev->attr;

		printf("event %zu name=%s unit=%s type=%x size=%u config=%" PRIx64, i, ev->name,
		       ev->unit ? ev->unit : "-", a->type, a->size, (uint64_t)a->config);
		printf(" period=%" PRIx64 " sample=%" PRIx64 " read=%" PRIx64,
		       (uint64_t)a->sample_period, (uint64_t)a->sample_type,
		       (uint64_t)a->read_format);
		printf(" freq=%d precise=%d eu=%d ek=%d all=%d clockid=%d:%d bid=%d", a->freq,
		       a->precise_ip, a->exclude_user, a->exclude_kernel, a->sample_id_all,
		       a->use_clockid, a->clockid, a->build_id);
		printf(" wake=%x bp=%x c1=%" PRIx64 " c2=%" PRIx64 " br=%" PRIx64, a->wakeup_events,
		       a->bp_type, (uint64_t)a->config1, (uint64_t)a->config2,
		       (uint64_t)a->branch_sample_type);
		printf(" ru=%" PRIx64 " su=%x ri=%" PRIx64 " aw=%x ms=%x as=%x",
		       (uint64_t)a->sample_regs_user, a->sample_stack_user,
		       (uint64_t)a->sample_regs_intr, a->aux_watermark, a->sample_max_stack,
		       a->aux_sample_size);
		printf(" sig=%" PRIx64 " c3=%" PRIx64 " c4=%" PRIx64 " ids=", (uint64_t)a->sig_data,
		       ev->config3, ev->config4);
		for (size_t k = 0; k < ev->n_ids; k++)
			printf("%s%" PRIx64, k ? "," : "", ev->ids[k]);
		printf(" samples=%" PRIu64 " sum=%" PRIu64 "\n", ev->samples, ev->period);
	}
}

static void put_all(const struct pd *rec)
{
	const struct pd_losses *l = pd_losses(rec);
	const struct pd_type_count *t;
	const char *const *notes;
	uint64_t side = 0, first = 0, last = 0;
	size_t n;

	printf("form %d foreign %d\n", (int)pd_info(rec)->form, pd_info(rec)->foreign_order);
	put_info(pd_info(rec));
	put_events(rec);
	printf("deferred %" PRIu64 " %" PRIu64 "\n", pd_info(rec)->deferred_samples,
	       pd_info(rec)->deferred_lost);
	t = pd_type_counts(rec, &n);
	for (size_t i = 0; i < n; i++)
		printf("type %s %" PRIu64 " %" PRIu64 "\n", t[i].name, t[i].count, t[i].bytes);
	printf("losses %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 "\n",
	       l->lost_records, l->lost, l->lost_samples, l->read_lost, l->throttles,
	       l->unthrottles, l->aux_lost);
	if (pd_time_span(rec, &first, &last))
		printf("span %" PRIx64 " %" PRIx64 "\n", first, last);
	(void)pd_walk(rec, count_side, &side);
	printf("side %" PRIu64 "\n", side);
	(void)pd_walk_all(rec, put_record, (void *)(uintptr_t)rec);
	notes = pd_notes(rec, &n);
	for (size_t i = 0; i < n; i++)
		printf("note %s\n", notes[i]);
}

static int touch(void *ctx, const struct pd_record *r)
{
	struct pd_sample_id id;
	struct pd_sample s;
	uint64_t sum = 0;

	pd_sample_id_get(ctx, r, &id);
	if (r->type == PERF_RECORD_SAMPLE && !pd_sample_parse(ctx, r, &s)) {
		for (uint64_t i = 0; i < s.n_branch; i++)
			sum += pd_branch_get(&s, i).from;
		for (uint64_t i = 0; i < s.n_read; i++)
			sum += pd_read_get(&s, i).value;
	}
	return sum == UINT64_MAX;
}

static int cut(const char *path)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	size_t opened = 0;

	if (file_slurp(&b, path, (size_t)1 << 20, &err)) {
		fprintf(stderr, "%s\n", err.what);
		return 2;
	}
	for (size_t n = 0; n <= b.len; n++) {
		/* exactly n bytes, so that a sanitizer sees a step beyond */
		uint8_t *p = malloc(n ? n : 1);
		struct pd *rec;

		if (!p)
			abort();
		if (n)
			memcpy(p, b.s, n);
		err_clear(&err);
		if (!pd_open_memory(&rec, p, n, &err)) {
			opened++;
			(void)pd_walk_all(rec, touch, rec);
			pd_close(rec);
		} else if (!err.what[0]) {
			printf("no message at %zu\n", n);
		}
		free(p);
	}
	printf("opened %zu of %zu\n", opened, b.len + 1);
	buf_free(&b);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct pd *rec;

	if (argc == 3 && !strcmp(argv[1], "--cut"))
		return cut(argv[2]);
	if (argc != 2)
		return 2;
	if (pd_open(&rec, argv[1], &err)) {
		printf("error %s\nhint %s\n", err.what, err.hint);
		return 2;
	}
	put_all(rec);
	pd_close(rec);
	return 0;
}

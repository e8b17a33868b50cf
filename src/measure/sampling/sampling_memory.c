/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --ibs and --mem: the events that sample ops, fetches and memory accesses on this machine. AMD has
 * ibs_op for all of --mem; Intel load latency (with the event that it needs beside it since
 * Sapphire Rapids) and stores, on each kind of core.
 *
 * The periods of IBS are fixed and drawn anew while it records, evenly from the multiples of 16
 * within --jitter of the one that was asked for: hardware that takes every so manyth op keeps step
 * with loops, and it can keep step with itself.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "collect/sysfs.h"
#include "measure/sampling/sampling_int.h"

#define DEVICES	     "/sys/bus/event_source/devices/"
#define OP_PERIOD    1000000u /* dispatched ops: some 5,000 samples a second of a busy core */
#define FETCH_PERIOD 250000u
#define LDLAT	     30u  /* cycles, as perf mem: the core hides less */
#define LDLAT_STEP   128u /* cycles: IBS */
#define LDLAT_MOST   2048u
#define AUX_PERIOD   2147483647u /* of an event that only has to exist */

/* ---- options --------------------------------------------------------------------------------- */

struct wish {
	const char *what; /* the word that is no setting; NULL: none */
	bool cycles, l3missonly;
	uint64_t ldlat; /* 0: not given */
};

static const char *const ibs_words[] = { "op", "fetch", "both", NULL };
static const char *const mem_words[] = { "all", "latency", "loads", "stores", "hitm", "tlb", NULL };

static const char *one_of(const char *const *words, const char *s, size_t len)
{
	for (; *words; words++)
		if (strlen(*words) == len && !strncmp(*words, s, len))
			return *words;
	return NULL;
}

static int take_memory_word(struct wish *w, const char *option, const char *const *words,
			    const char *s, size_t len, struct err *err)
{
	static const char *const flags[] = { "cycles", "l3missonly", NULL };
	const char *word = one_of(words, s, len), *flag = one_of(flags, s, len);
	int64_t n;

	if (word && !w->what) {
		w->what = word;
	} else if (flag) {
		*(flag == flags[0] ? &w->cycles : &w->l3missonly) = true;
	} else if (len > 6 && !strncmp(s, "ldlat=", 6) && text_number(&n, s + 6, len - 6) &&
		   n > 0 && n < 65536) {
		w->ldlat = (uint64_t)n;
	} else {
		(void)err_set(err, ERR_USAGE, "%s: '%.*s' is not understood", option,
			      (int)(len > 60 ? 60 : len), s);
		return err_hint(err,
				"%s, then settings: cycles, l3missonly, ldlat=N; separated "
				"by commas",
				words == ibs_words ? "op, fetch or both"
						   : "all, latency, loads, stores, hitm or tlb");
	}
	return 0;
}

static int parse(struct wish *w, const char *option, const char *const *words, const char *list,
		 struct err *err)
{
	const char *word;
	size_t len;

	*w = (struct wish){ .what = NULL };
	while (text_word(&list, &word, &len))
		if (len && take_memory_word(w, option, words, word, len, err))
			return -1;
	if (!w->what)
		w->what = words[0];
	return 0;
}

/* ---- AMD ------------------------------------------------------------------------------------- */

static bool has_pmu(const struct sampling *r, const char *pmu)
{
	return sys_exists(r->k.root, DEVICES "%s/type", pmu);
}

static bool has_term(const struct sampling *r, const char *pmu, const char *term)
{
	return sys_exists(r->k.root, DEVICES "%s/format/%s", pmu, term);
}

static int no_term(const char *pmu, const char *term, const char *since, struct err *err)
{
	(void)err_set(err, ERR_UNSUPPORTED, "%s of this machine has no %s", pmu, term);
	return err_hint(err,
			"it takes %s; without it all samples are kept, and a query selects: "
			"cyclade sql '... WHERE ...'",
			since);
}

static int no_ibs(struct err *err)
{
	(void)err_set(err, ERR_UNSUPPORTED,
		      "there is no IBS here: the kernel has no PMU ibs_op (only AMD has it, and "
		      "virtual machines seldom)");
	return err_hint(err, "`cyclade doctor` says what this machine can; `cyclade record -- "
			     "./prog` samples time");
}

/* The hardware compares with multiples of 128: the kernel drops the rest of a division. */
static unsigned long long ibs_ldlat(const struct wish *w)
{
	return w->ldlat / LDLAT_STEP * LDLAT_STEP;
}

/* The kernel refuses a greater threshold. On Zen 5 it samples misses of L3 alone for it. */
static int ibs_latency(struct sampling *r, const struct wish *w, struct err *err)
{
	if (!has_term(r, "ibs_op", "ldlat"))
		return no_term("ibs_op", "ldlat", "Zen 5 and Linux 6.15", err);
	if (w->ldlat < LDLAT_STEP || w->ldlat > LDLAT_MOST) {
		(void)err_set(err, ERR_USAGE, "ldlat=%llu: IBS takes %u to %u cycles",
			      (unsigned long long)w->ldlat, LDLAT_STEP, LDLAT_MOST);
		return err_hint(err,
				"multiples of %u; a query selects others: cyclade sql '... "
				"WHERE weight > 50'",
				LDLAT_STEP);
	}
	if (w->ldlat % LDLAT_STEP)
		measure_news(&r->opts, "ldlat=%llu: IBS compares with multiples of %u, here %llu",
			     (unsigned long long)w->ldlat, LDLAT_STEP, ibs_ldlat(w));
	return 0;
}

/* `swfilt` lets the kernel drop samples that the user may not see (Linux 6.14): it costs nothing if
 * none is dropped. */
static int add_ibs(struct sampling *r, const char *pmu, const struct wish *w, struct err *err)
{
	bool op = !strcmp(pmu, "ibs_op"), counts_ops = op && has_term(r, pmu, "cnt_ctl");
	struct buf b = BUF_INIT;
	int rc;

	if (w->l3missonly && !has_term(r, pmu, "l3missonly"))
		return no_term(pmu, "l3missonly", "Zen 4 and Linux 6.0", err);
	if (w->ldlat && op && ibs_latency(r, w, err))
		return -1;
	buf_printf(&b, "%s/", pmu);
	if (counts_ops && !w->cycles)
		buf_puts(&b, "cnt_ctl=1,");
	if (w->l3missonly)
		buf_puts(&b, "l3missonly=1,");
	if (w->ldlat && op)
		buf_printf(&b, "ldlat=%llu,", ibs_ldlat(w));
	if (has_term(r, pmu, "swfilt"))
		buf_puts(&b, "swfilt=1,");
	if (!op && has_term(r, pmu, "rand_en"))
		buf_puts(&b, "rand_en=1,");
	if (!r->opts.freq && !r->opts.period)
		buf_printf(&b, "period=%u,", op ? OP_PERIOD : FETCH_PERIOD);
	b.len -= b.len && buf_str(&b)[b.len - 1] == ',';
	buf_putc(&b, '/');
	rc = b.failed ? err_nomem(err) : event_parse(&r->events, r->k.root, buf_str(&b), err);
	buf_free(&b);
	if (rc)
		return -1;
	if (op && (w->cycles || !counts_ops))
		measure_news(
			&r->opts,
			"cycles are no fair draw of ops%s: those after a stall are met too often, "
			"so that shares of functions and of events are biased",
			counts_ops ? "" : ", but this CPU counts nothing else");
	return 0;
}

static int ibs(struct sampling *r, const struct wish *w, struct err *err)
{
	bool fetch = strcmp(w->what, "op") != 0, op = strcmp(w->what, "fetch") != 0;

	if ((op && !has_pmu(r, "ibs_op")) || (fetch && !has_pmu(r, "ibs_fetch")))
		return no_ibs(err);
	if (op && add_ibs(r, "ibs_op", w, err))
		return -1;
	if (fetch && add_ibs(r, "ibs_fetch", w, err))
		return -1;
	if (w->ldlat && op)
		measure_news(&r->opts,
			     "only loads of more than %llu cycles are sampled: what they stand "
			     "for is not known, their numbers cannot be extrapolated",
			     ibs_ldlat(w));
	if (w->l3missonly)
		measure_news(&r->opts, "only misses of L3 are sampled: what they stand for is not "
				       "known, their numbers cannot be extrapolated");
	if (!r->opts.jitter_said && !r->opts.freq)
		r->opts.jitter = MEASURE_JITTER;
	return 0;
}

/* ---- Intel ----------------------------------------------------------------------------------- */

static bool pmu_has_event(const struct sampling *r, const char *pmu, const char *event)
{
	return sys_exists(r->k.root, DEVICES "%s/events/%s", pmu, event);
}

static int add_loads(struct sampling *r, const char *pmu, const struct wish *w, struct err *err)
{
	struct buf b = BUF_INIT;
	bool aux = pmu_has_event(r, pmu, "mem-loads-aux");
	int rc;

	if (aux)
		buf_printf(&b, "{%s/mem-loads-aux,period=%u/,", pmu, AUX_PERIOD);
	buf_printf(&b, "%s/mem-loads,ldlat=%llu/P%s", pmu,
		   (unsigned long long)(w->ldlat ? w->ldlat : LDLAT), aux ? "}" : "");
	rc = b.failed ? err_nomem(err) : event_parse(&r->events, r->k.root, buf_str(&b), err);
	buf_free(&b);
	return rc;
}

static int add_text(struct sampling *r, const char *pmu, const char *event, const char *modifier,
		    struct err *err)
{
	const char *text = arena_printf(r->arena, "%s/%s/%s", pmu, event, modifier);

	return text ? event_parse(&r->events, r->k.root, text, err) : err_nomem(err);
}

/* Events of memory_event.def: the first of each run that the CPU knows. */
static void add_named(struct sampling *r, const char *pmu, const char *what)
{
	static const struct {
		const char *what, *event;
	} rows[] = {
#define MEMORY_EVENT(what, event) { what, event },
#define MEMORY_NEXT		  { NULL, NULL },
#include "measure/sampling/memory_event.def"
#undef MEMORY_EVENT
#undef MEMORY_NEXT
	};
	bool taken = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!rows[i].what)
			taken = false;
		else if (!taken && !strcmp(rows[i].what, what))
			taken = !add_text(r, pmu, rows[i].event, "P", NULL);
	}
}

static int pebs(struct sampling *r, const char *pmu, const struct wish *w, struct err *err)
{
	bool all = !strcmp(w->what, "all"), stores = !strcmp(w->what, "stores");
	bool loads = all || !strcmp(w->what, "latency") || !strcmp(w->what, "loads");

	if (!loads && !stores)
		add_named(r, pmu, w->what);
	if (loads && pmu_has_event(r, pmu, "mem-loads") && add_loads(r, pmu, w, err))
		return -1;
	if ((all || stores) && pmu_has_event(r, pmu, "mem-stores"))
		return add_text(r, pmu, "mem-stores", "P", err);
	return 0;
}

/* ---- Arm ------------------------------------------------------------------------------------- */

/* One for each kind of core. The CPU varies its period by itself (jitter). */
static int spe(struct sampling *r, const struct wish *w, struct err *err)
{
	bool loads = strcmp(w->what, "stores") != 0;
	bool stores = strcmp(w->what, "latency") != 0 && strcmp(w->what, "loads") != 0;
	char pmu[32];

	for (unsigned i = 0;; i++) {
		struct buf b = BUF_INIT;
		int rc;

		(void)snprintf(pmu, sizeof(pmu), "arm_spe_%u", i);
		if (!has_pmu(r, pmu))
			return 0;
		buf_printf(&b, "%s/ts_enable=1,jitter=1", pmu);
		if (loads)
			buf_puts(&b, ",load_filter=1");
		if (stores)
			buf_puts(&b, ",store_filter=1");
		if (w->ldlat)
			buf_printf(&b, ",min_latency=%llu", (unsigned long long)w->ldlat);
		buf_putc(&b, '/');
		rc = b.failed ? err_nomem(err)
			      : event_parse(&r->events, r->k.root, buf_str(&b), err);
		buf_free(&b);
		if (rc)
			return -1;
	}
}

static int mem(struct sampling *r, const struct wish *w, struct err *err)
{
	const struct machine *m = &r->k.machine;
	size_t before = r->events.ev.n;
	const char *lacking = NULL;

	if (has_pmu(r, "ibs_op")) {
		const struct wish op = { "op", w->cycles, w->l3missonly, w->ldlat };

		return ibs(r, &op, err);
	}
	if (has_pmu(r, "arm_spe_0"))
		return spe(r, w, err);
	for (size_t i = 0; i < m->n_pmus; i++) {
		size_t n = r->events.ev.n;

		if (!sys_core_pmu(r->k.root, m->pmu[i].name))
			continue;
		if (pebs(r, m->pmu[i].name, w, err))
			return -1;
		if (r->events.ev.n == n)
			lacking = m->pmu[i].name;
	}
	if (r->events.ev.n > before && lacking)
		measure_news(
			&r->opts,
			"--mem=%s: not on the cores of %s, which have no event of it that samples "
			"addresses",
			w->what, lacking);
	if (r->events.ev.n > before)
		return 0;
	(void)err_set(err, ERR_UNSUPPORTED,
		      "no PMU here samples memory accesses (--mem=%s): neither ibs_op (AMD), "
		      "mem-loads and mem-stores (Intel) nor arm_spe_0 (Arm)",
		      w->what);
	return err_hint(err, "`cyclade doctor` says what this machine can; in a virtual machine, "
			     "the host has to give it a PMU");
}

/* ---- both ------------------------------------------------------------------------------------ */

int sampling_memory_events(struct sampling *r, struct err *err)
{
	struct wish w;

	if (r->opts.ibs && (parse(&w, "--ibs", ibs_words, r->opts.ibs, err) || ibs(r, &w, err)))
		return -1;
	if (r->opts.mem && (parse(&w, "--mem", mem_words, r->opts.mem, err) || mem(r, &w, err)))
		return -1;
	r->phys_if_may = !r->opts.wish.phys_data;
	r->opts.wish.data = r->opts.wish.weight = r->opts.wish.phys_data = true;
	r->opts.wish.data_page_size = true;
	return 0;
}

bool sampling_memory_by_cpu(const struct sampling *r)
{
	for (size_t i = 0; i < r->events.ev.n && r->k.who.cpus.n; i++) {
		const struct event *e = &r->events.ev.v[i];
		struct perf_event_attr a = { .size = sizeof(a),
					     .type = e->attr.type,
					     .config = e->attr.config,
					     .config1 = e->attr.config1,
					     .config2 = e->attr.config2,
					     .sample_period = OP_PERIOD,
					     .disabled = 1 };
		const struct perf_event_attr *one = &a;

		if (attr_is_ibs(e) && !attr_fit_group(&one, 1, 0, -1) &&
		    attr_fit_group(&one, 1, -1, (int)r->k.who.cpus.v[0]))
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doctor's findings, as a document: its checks, and the facts of the machine behind them.
 * People read the checks as lines, each with the command to type below it.
 */
#include <string.h>

#include "base/text.h"
#include "cli/doctor/doctor.h"

#define NAME_WIDTH  10u
#define STATE_WIDTH 48u

static const char *const verdict_names[] = { "ok", "none", "cost", "limit", "blocker" };
static const enum ink verdict_inks[] = { INK_GOOD, INK_DIM, INK_WARM, INK_WARM, INK_BAD };

/* ---- checks ---------------------------------------------------------------------------------- */

TABLE_CELL(check_name, out->text = doctor_checks[r->i].name)
TABLE_CELL(verdict, out->text = verdict_names[((const struct finding *)r->p)->verdict])

TABLE_GET(fixes)
{
	const struct finding *f = r->p;

	out->list = f->fix;
	while (out->n_list < FIXES && f->fix[out->n_list])
		out->n_list++;
}

#define OF(member) TABLE_FIELD(struct finding, member)
static const struct table_column check_columns[] = {
	COLUMN("name", "check", T_TEXT, C_KEY, "what was looked at", .get = check_name),
	COLUMN("verdict", "verdict", T_TEXT, 0,
	       "ok, none (it depends on what is not there), cost, limit or blocker",
	       .get = verdict),
	COLUMN("state", "state", T_TEXT, 0, "what was found", OF(state)),
	COLUMN("effect", "effect", T_TEXT, 0, "what follows from it", OF(effect)),
	COLUMN("fix", "fix", T_LIST, 0, "what to type, or to do", .get = fixes),
};
#undef OF
static const struct table_form checks_form = { "checks", NULL, TABLE_MAIN,
					       TABLE_COLUMNS(check_columns), .rest = "check" };

/* ---- the machine ----------------------------------------------------------------------------- */

/* An int at c->field, known unless it is the value that stands for "not readable". */
TABLE_CELL(knob, out->none = out->i == (!strcmp(c->key, "paranoid") ? -100 : -1))

TABLE_GET(core_siblings)
{
	const struct machine *m = r->p;

	out->list = m->core_siblings;
	out->n_list = m->n_core_siblings;
}

TABLE_GET(thread_siblings)
{
	const struct machine *m = r->p;

	out->list = m->thread_siblings;
	out->n_list = m->n_thread_siblings;
}

#define OF(member) TABLE_FIELD(struct machine, member)
static const struct table_column machine_columns[] = {
	COLUMN("host", "host", T_TEXT, 0, "its name", OF(hostname)),
	COLUMN("os_release", "kernel", T_TEXT, 0, "its kernel", OF(release)),
	COLUMN("arch", "arch", T_TEXT, 0, "its architecture", OF(arch)),
	COLUMN("cpu", "cpu", T_TEXT, 0, "its CPU, in the kernel's words", OF(cpu_desc)),
	COLUMN("cpuid", "cpuid", T_TEXT, 0, "its CPU, by number", OF(cpuid)),
	COLUMN("cpus_online", "online", T_COUNT, 0, "CPUs that are on", OF(cpus_online)),
	COLUMN("cpus_available", "available", T_COUNT, 0, "the highest CPU's number + 1",
	       OF(cpus_available)),
	{ "memory_kb", "memory", T_COUNT, 0, "kB", "in all", OF(mem_total_kb) },
	COLUMN("hypervisor", "hypervisor", T_TEXT, 0, "what it runs in", OF(hypervisor)),
	COLUMN("paranoid", "paranoid", T_SIGNED, 0, "perf_event_paranoid", OF(paranoid),
	       .get = knob),
	COLUMN("kptr_restrict", "kptr", T_SIGNED, 0, "kptr_restrict", OF(kptr_restrict),
	       .get = knob),
	COLUMN("nmi_watchdog", "watchdog", T_SIGNED, 0, "nmi_watchdog", OF(nmi_watchdog),
	       .get = knob),
	COLUMN("privileged", "privileged", T_FLAG, 0, "CAP_PERFMON or CAP_SYS_ADMIN",
	       OF(privileged)),
	COLUMN("core_siblings", "cores", T_LIST, 0, "CPUs of each socket", .get = core_siblings),
	COLUMN("thread_siblings", "threads", T_LIST, 0, "CPUs of each core",
	       .get = thread_siblings),
};
#undef OF
static const struct table_form machine_form = { "machine", NULL, TABLE_ONE | TABLE_DATA,
						TABLE_COLUMNS(machine_columns) };

#define OF(member) TABLE_FIELD(struct machine_cache, member)
static const struct table_column cache_columns[] = {
	COLUMN("level", "level", T_ID, C_KEY, "1 is nearest", OF(level)),
	COLUMN("type", "type", T_TEXT, C_KEY, "Data, Instruction or Unified", OF(type)),
	COLUMN("size", "size", T_TEXT, 0, "in the kernel's words", OF(size)),
	COLUMN("cpus", "cpus", T_TEXT, C_KEY, "that share it", OF(cpus)),
};
#undef OF
static const struct table_form caches_form = { "caches", NULL, TABLE_DATA,
					       TABLE_COLUMNS(cache_columns) };

#define OF(member) TABLE_FIELD(struct machine_node, member)
static const struct table_column node_columns[] = {
	COLUMN("id", "node", T_ID, C_KEY, "NUMA node", OF(id)),
	{ "memory_kb", "memory", T_COUNT, 0, "kB", "of the node", OF(mem_total_kb) },
	COLUMN("cpus", "cpus", T_TEXT, 0, "of the node", OF(cpus)),
};
#undef OF
static const struct table_form nodes_form = { "nodes", NULL, TABLE_DATA,
					      TABLE_COLUMNS(node_columns) };

#define OF(member) TABLE_FIELD(struct machine_pmu, member)
static const struct table_column pmu_columns[] = {
	COLUMN("name", "pmu", T_TEXT, C_KEY, "as sysfs has it", OF(name)),
	COLUMN("type", "type", T_ID, 0, "number for perf_event_open", OF(type)),
	COLUMN("cpus", "cpus", T_TEXT, 0, "to open it on", OF(cpus)),
};
#undef OF
static const struct table_form pmus_form = { "pmus", NULL, TABLE_DATA, TABLE_COLUMNS(pmu_columns) };

/* ---- the head -------------------------------------------------------------------------------- */

TABLE_GET(sysroot)
{
	const struct doctor *d = ((const struct doctor_result *)r->p)->d;

	out->text = d->live ? NULL : d->root;
}

#define OF(member) TABLE_FIELD(struct doctor_result, member)
static const struct table_column head_columns[] = {
	COLUMN("sysroot", "sysroot", T_TEXT, 0, "of a captured machine", .get = sysroot),
	COLUMN("blockers", "blockers", T_COUNT, 0, "checks with this verdict", OF(blockers)),
	COLUMN("limits", "limits", T_COUNT, 0, "checks with this verdict", OF(limits)),
	COLUMN("costs", "costs", T_COUNT, 0, "checks with this verdict", OF(costs)),
};
#undef OF
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

/* ---- for people ------------------------------------------------------------------------------ */

static void put_padded(struct buf *b, const struct style *st, const char *text, size_t width)
{
	struct buf safe = BUF_INIT;
	size_t used;

	text_put_safe(&safe, text, st->ascii);
	used = text_width(buf_str(&safe));
	buf_puts(b, buf_str(&safe));
	buf_fill(b, ' ', used < width ? width - used : 0);
	buf_free(&safe);
}

/* In lines of the terminal's width. Returns false if it fits beside the effect. */
static bool put_long_state(struct buf *b, const struct style *st, const char *state,
			   const char *effect)
{
	struct buf safe = BUF_INIT;
	size_t used;
	bool wraps;

	text_put_safe(&safe, state, st->ascii);
	used = text_width(buf_str(&safe));
	used = used > STATE_WIDTH ? used : STATE_WIDTH;
	wraps = st->width && 1 + NAME_WIDTH + used + 2 + strlen(effect) > st->width;
	if (wraps) {
		text_put_wrapped(b, buf_str(&safe), 1 + NAME_WIDTH, st->width);
		buf_putc(b, '\n');
		buf_fill(b, ' ', 1 + NAME_WIDTH);
	}
	b->failed |= safe.failed;
	buf_free(&safe);
	return wraps;
}

static void put_finding(struct buf *b, const struct style *st, const char *name,
			const struct finding *f)
{
	const char *effect = f->effect ? f->effect : f->verdict == VERDICT_NONE ? "-" : "ok";

	buf_putc(b, ' ');
	put_padded(b, st, name, NAME_WIDTH);
	if (!put_long_state(b, st, f->state, effect)) {
		put_padded(b, st, f->state, STATE_WIDTH);
		buf_puts(b, "  ");
	}
	style_ink(b, st, verdict_inks[f->verdict]);
	buf_puts(b, effect);
	style_ink(b, st, INK_PLAIN);
	if (f->verdict == VERDICT_BLOCKER)
		buf_puts(b, "  <==");
	buf_putc(b, '\n');
	for (size_t i = 0; i < FIXES && f->fix[i]; i++) {
		buf_fill(b, ' ', 1 + NAME_WIDTH);
		buf_puts(b, i ? "     " : "fix: ");
		text_put_safe(b, f->fix[i], st->ascii);
		buf_putc(b, '\n');
	}
}

static void put_number(struct buf *b, size_t n, const char *what, const char *end)
{
	buf_printf(b, "%zu %s%s%s", n, what, n == 1 ? "" : "s", end);
}

static int write_term(struct buf *b, const struct document *doc, const struct show *s,
		      struct err *err)
{
	const struct doctor_result *r = doc->ctx;
	const struct style *st = &s->style;

	(void)err;
	for (size_t i = 0; i < n_doctor_checks; i++)
		put_finding(b, st, doctor_checks[i].name, &r->f[i]);
	buf_putc(b, ' ');
	put_number(b, r->blockers, "blocker", ", ");
	put_number(b, r->limits, "limit", ", ");
	put_number(b, r->costs, "cost", "\n");
	if (!r->d->live) {
		buf_puts(b, " read from ");
		text_put_safe(b, r->d->root, st->ascii);
		buf_puts(b, "; nothing was tried on this kernel\n");
	} else if (!r->blockers && !s->quiet) {
		buf_puts(b, " next: cyclade run -- ./prog\n");
	}
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct table_form *const forms[] = { &head_form,	&checks_form, &machine_form,
						  &caches_form, &nodes_form,  &pmus_form };
static const struct format faces[] = { { "term", write_term, true, false } };
const struct document_form doctor_document = { "doctor", 2, forms, sizeof(forms) / sizeof(*forms),
					       faces,	 1 };

void doctor_put(struct document *d, const struct doctor_result *r)
{
	const struct machine *m = &r->d->m;
	const struct table tables[] = {
		{ .form = &head_form, .array = r, .n = 1 },
		{ .form = &checks_form,
		  .array = r->f,
		  .stride = sizeof(*r->f),
		  .n = n_doctor_checks },
		{ .form = &machine_form, .array = m, .n = 1 },
		{ .form = &caches_form,
		  .array = m->cache,
		  .stride = sizeof(*m->cache),
		  .n = m->n_caches },
		{ .form = &nodes_form,
		  .array = m->node,
		  .stride = sizeof(*m->node),
		  .n = m->n_nodes },
		{ .form = &pmus_form, .array = m->pmu, .stride = sizeof(*m->pmu), .n = m->n_pmus },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		document_table(d, &tables[i]);
	document_fact(d, "verdict", r->blockers, "blockers: %zu, limits: %zu, costs: %zu",
		      (size_t)r->blockers, (size_t)r->limits, (size_t)r->costs);
}

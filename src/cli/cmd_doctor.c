/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor - checks this machine, and says what to type where it falls short.
 */
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/doctor.h"
#include "collect/capture.h"

#define NAME_WIDTH  10u
#define STATE_WIDTH 48u

struct result {
	struct finding *f; /* one for each check */
	size_t blockers, limits, costs;
};

static const char *const verdict_names[] = { "ok", "none", "cost", "limit", "blocker" };
static const enum ink verdict_inks[] = { INK_GOOD, INK_DIM, INK_WARM, INK_WARM, INK_BAD };

static int run_checks(struct doctor *d, struct result *r)
{
	r->f = arena_alloc(d->a, n_doctor_checks * sizeof(*r->f));
	if (!r->f)
		return -1;
	for (size_t i = 0; i < n_doctor_checks; i++) {
		doctor_checks[i].run(d, &r->f[i]);
		if (!r->f[i].state)
			return -1; /* only memory can be the reason */
		r->blockers += r->f[i].verdict == VERDICT_BLOCKER;
		r->limits += r->f[i].verdict == VERDICT_LIMIT;
		r->costs += r->f[i].verdict == VERDICT_COST;
	}
	return 0;
}

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

static void put_finding(struct buf *b, const struct style *st, const char *name,
			const struct finding *f)
{
	buf_putc(b, ' ');
	put_padded(b, st, name, NAME_WIDTH);
	put_padded(b, st, f->state, STATE_WIDTH);
	buf_puts(b, "  ");
	style_ink(b, st, verdict_inks[f->verdict]);
	buf_puts(b, f->effect ? f->effect : f->verdict == VERDICT_NONE ? "-" : "ok");
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

static void put_term(struct buf *b, const struct doctor *d, const struct result *r)
{
	struct style st = cli_style(d->cli, 1);

	for (size_t i = 0; i < n_doctor_checks; i++)
		put_finding(b, &st, doctor_checks[i].name, &r->f[i]);
	buf_putc(b, ' ');
	put_number(b, r->blockers, "blocker", ", ");
	put_number(b, r->limits, "limit", ", ");
	put_number(b, r->costs, "cost", "\n");
	if (!d->live) {
		buf_puts(b, " read from ");
		text_put_safe(b, d->root, st.ascii);
		buf_puts(b, "; nothing was tried on this kernel\n");
	} else if (!r->blockers && !d->cli->opt.quiet) {
		buf_puts(b, " next: cyclade run -- ./prog\n");
	}
}

static void put_csv(struct buf *b, const struct result *r)
{
	buf_puts(b, "check,verdict,state,effect,fix\n");
	for (size_t i = 0; i < n_doctor_checks; i++) {
		const struct finding *f = &r->f[i];
		struct buf fixes = BUF_INIT;

		for (size_t k = 0; k < FIXES && f->fix[k]; k++) {
			buf_puts(&fixes, k ? "; " : "");
			buf_puts(&fixes, f->fix[k]);
		}
		buf_printf(b, "%s,%s,", doctor_checks[i].name, verdict_names[f->verdict]);
		text_put_csv(b, f->state, ',');
		buf_putc(b, ',');
		text_put_csv(b, f->effect ? f->effect : "", ',');
		buf_putc(b, ',');
		text_put_csv(b, buf_str(&fixes), ',');
		buf_putc(b, '\n');
		buf_free(&fixes);
	}
}

static void json_number_or_null(struct json *j, const char *key, int v, bool known)
{
	if (known)
		json_i64(j, key, v);
	else
		json_null(j, key);
}

/* The facts behind the findings, as recordings store them. */
static void json_machine(struct json *j, const struct machine *m)
{
	json_object(j, "machine");
	json_str(j, "hostname", m->hostname);
	json_str(j, "release", m->release);
	json_str(j, "arch", m->arch);
	json_str(j, "cpu", m->cpu_desc);
	json_str(j, "cpuid", m->cpuid);
	json_u64(j, "cpus_online", m->cpus_online);
	json_u64(j, "cpus_available", m->cpus_available);
	json_u64(j, "memory_kb", m->mem_total_kb);
	json_str(j, "hypervisor", m->hypervisor);
	json_number_or_null(j, "paranoid", m->paranoid, m->paranoid != -100);
	json_number_or_null(j, "kptr_restrict", m->kptr_restrict, m->kptr_restrict >= 0);
	json_number_or_null(j, "nmi_watchdog", m->nmi_watchdog, m->nmi_watchdog >= 0);
	json_bool(j, "privileged", m->privileged);
	json_strings(j, "core_siblings", (const char *const *)m->core_siblings, m->n_core_siblings);
	json_strings(j, "thread_siblings", (const char *const *)m->thread_siblings,
		     m->n_thread_siblings);
	json_array(j, "caches");
	for (size_t i = 0; i < m->n_caches; i++) {
		json_object(j, NULL);
		json_u64(j, "level", m->cache[i].level);
		json_str(j, "type", m->cache[i].type);
		json_str(j, "size", m->cache[i].size);
		json_str(j, "cpus", m->cache[i].cpus);
		json_end_object(j);
	}
	json_end_array(j);
	json_array(j, "nodes");
	for (size_t i = 0; i < m->n_nodes; i++) {
		json_object(j, NULL);
		json_u64(j, "id", m->node[i].id);
		json_u64(j, "memory_kb", m->node[i].mem_total_kb);
		json_str(j, "cpus", m->node[i].cpus);
		json_end_object(j);
	}
	json_end_array(j);
	json_array(j, "pmus");
	for (size_t i = 0; i < m->n_pmus; i++) {
		json_object(j, NULL);
		json_str(j, "name", m->pmu[i].name);
		json_u64(j, "type", m->pmu[i].type);
		json_str(j, "cpus", m->pmu[i].cpus);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void put_json(struct buf *b, const struct doctor *d, const struct result *r)
{
	struct json j;

	json_init(&j, b, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.doctor/1");
	json_str(&j, "sysroot", d->live ? NULL : d->root);
	json_u64(&j, "blockers", r->blockers);
	json_u64(&j, "limits", r->limits);
	json_u64(&j, "costs", r->costs);
	json_array(&j, "checks");
	for (size_t i = 0; i < n_doctor_checks; i++) {
		const struct finding *f = &r->f[i];
		size_t n = 0;

		while (n < FIXES && f->fix[n])
			n++;
		json_object(&j, NULL);
		json_str(&j, "name", doctor_checks[i].name);
		json_str(&j, "verdict", verdict_names[f->verdict]);
		json_str(&j, "state", f->state);
		json_str(&j, "effect", f->effect);
		json_strings(&j, "fix", f->fix, n);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_machine(&j, &d->m);
	json_end_object(&j);
	buf_putc(b, '\n');
}

/* --capture: a copy of the machine, and how to use it. */
static int make_capture(struct cli *cli)
{
	const char *dir = cli->opt.capture;
	struct err err = ERR_INIT;
	struct capture_stats s;
	struct buf b = BUF_INIT;
	char bytes[NUM_MAX];
	int code;

	if (capture_make(&s, cli->opt.sysroot ? cli->opt.sysroot : "", dir, &err))
		return cli_fail(&err);
	text_put_safe(&b, dir, false);
	buf_printf(&b, ": %zu files, %s\n", s.files, num_bytes(bytes, s.bytes));
	if (s.unread) {
		buf_printf(&b, " %zu could not be read, the first is /", s.unread);
		text_put_safe(&b, s.first_unread, false);
		buf_puts(&b, ": root may\n");
	}
	if (!cli->opt.quiet) {
		buf_puts(&b, " next: cyclade doctor --sysroot ");
		text_put_safe(&b, dir, false);
		buf_putc(&b, '\n');
	}
	code = cli_put(cli, &b, false);
	buf_free(&b);
	return code;
}

int cmd_doctor(struct cli *cli)
{
	const char *format = cli->opt.json ? "json" : cli->opt.format ? cli->opt.format : "term";
	struct doctor d = { .cli = cli, .a = &cli->arena };
	struct result r = { NULL, 0, 0, 0 };
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	int code;

	d.root = cli->opt.sysroot ? cli->opt.sysroot : "";
	d.live = !d.root[0];
	if (cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "doctor takes no operand, not '%.60s'",
			      cli->args.v[0]);
		return cli_fail(&err);
	}
	if (cli->opt.capture)
		return make_capture(cli);
	if (doctor_look(&d, &err))
		return cli_fail(&err);
	if (run_checks(&d, &r)) {
		(void)err_nomem(&err);
		return cli_fail(&err);
	}
	if (!strcmp(format, "json")) {
		put_json(&b, &d, &r);
	} else if (!strcmp(format, "csv")) {
		put_csv(&b, &r);
	} else if (!strcmp(format, "term")) {
		put_term(&b, &d, &r);
	} else {
		(void)err_set(&err, ERR_USAGE, "doctor writes term, csv or json, not %s", format);
		return cli_fail(&err);
	}
	code = cli_put(cli, &b, false);
	buf_free(&b);
	return code == EXIT_OK && r.blockers ? EXIT_NO : code;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info - what is in a recording: where and how it was made, its events, its records, what was lost,
 * and what is unusual about it. Symbols are not looked at, so it is quick however large the file
 * is.
 *
 * Everything that comes from the recording goes through text_put_safe or the JSON writer.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "analyse/profile.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/recording.h"
#include "cli/recordings/info_attr.h"
#include "cli/recordings/selecting.h"
#include "perfdata/perfdata.h"
#include "report/losses.h"

struct info_view {
	const struct pd *rec;
	const struct pd_info *info;
	const char *file;
	const struct tally *of; /* by event: what is selected */
	bool selects;
	struct style st;
	struct buf out, line; /* `line`: being put together */
	bool verbose;
};

static const char *const form_names[] = {
	[PD_FILE] = "file",
	[PD_PIPE] = "pipe",
	[PD_DIRECTORY] = "directory",
	[PD_VERSION1] = "version 1",
	[PD_SIMPLEPERF] = "simpleperf",
};

/* ---- text: a label of ten columns, then words folded at the width ---- */

enum { LABEL = 11 };

static void put_folded(struct info_view *v, const char *text, size_t indent)
{
	size_t width = v->st.width ? v->st.width : 80,
	       room = width > indent + 20 ? width - indent : 20;
	const char *s = text;

	for (;;) {
		size_t n = strlen(s), cut = n;

		if (n > room) {
			for (cut = room; cut && s[cut] != ' '; cut--)
				;
			if (!cut)
				cut = strcspn(s, " "); /* one long word stays whole */
		}
		buf_put(&v->out, s, cut);
		buf_putc(&v->out, '\n');
		s += cut;
		s += strspn(s, " ");
		if (!*s)
			return;
		buf_fill(&v->out, ' ', indent);
	}
}

/* Puts the line collected so far under a label, and begins anew. */
static void put_line(struct info_view *v, const char *label)
{
	struct buf safe = BUF_INIT;
	size_t n = strlen(label);

	text_put_safe(&safe, buf_str(&v->line), v->st.ascii);
	buf_putc(&v->out, ' ');
	style_ink(&v->out, &v->st, INK_BOLD);
	buf_puts(&v->out, label);
	style_ink(&v->out, &v->st, INK_PLAIN);
	buf_fill(&v->out, ' ', n < LABEL - 1 ? LABEL - 1 - n : 1);
	put_folded(v, buf_str(&safe), LABEL);
	buf_reset(&v->line);
	buf_free(&safe);
}

static void add(struct info_view *v, const char *lead, const char *s)
{
	if (!s || !*s)
		return;
	if (v->line.len)
		buf_puts(&v->line, ", ");
	buf_puts(&v->line, lead);
	buf_puts(&v->line, s);
}

static void put_file(struct info_view *v)
{
	char n[NUM_MAX], m[NUM_MAX];

	buf_printf(&v->line, "%s, %s form, %s", v->file, form_names[v->info->form],
		   num_bytes(n, v->info->file_size));
	if (v->info->inflated_size)
		buf_printf(&v->line, ", %s when unpacked", num_bytes(m, v->info->inflated_size));
	if (v->info->foreign_order)
		buf_puts(&v->line, ", of the other byte order");
	put_line(v, "file");
}

static void put_machine(struct info_view *v)
{
	const struct pd_info *i = v->info;
	char n[NUM_MAX];

	add(v, "", i->hostname);
	add(v, "Linux ", i->os_release);
	add(v, "", i->arch);
	if (!v->line.len)
		buf_puts(&v->line, "not recorded");
	put_line(v, "machine");
	add(v, "", i->cpu_desc);
	if (i->cpuid && i->cpu_desc && strcmp(i->cpuid, i->cpu_desc))
		add(v, "", i->cpuid);
	if (i->cpus_available)
		buf_printf(&v->line, "%s%" PRIu32 " of %" PRIu32 " CPUs online",
			   v->line.len ? ", " : "", i->cpus_online, i->cpus_available);
	if (i->mem_total_kb)
		buf_printf(&v->line, ", %s of memory", num_bytes(n, i->mem_total_kb * 1024));
	if (i->n_nodes > 1)
		buf_printf(&v->line, ", %zu NUMA nodes", i->n_nodes);
	if (v->line.len)
		put_line(v, "cpu");
	for (size_t k = 0; k < i->n_hybrid; k++)
		buf_printf(&v->line, "%s%s on CPUs %s", k ? "; " : "", i->hybrid_name[k],
			   i->hybrid_cpus[k]);
	if (i->n_hybrid)
		put_line(v, "hybrid");
	for (size_t k = 0; v->verbose && k < i->n_caps; k++) {
		buf_puts(&v->line, i->caps[k].pmu);
		for (size_t c = 0; c < i->caps[k].n; c++)
			buf_printf(&v->line, " %s=%s", i->caps[k].name[c], i->caps[k].value[c]);
		put_line(v, "pmu");
	}
}

static void put_command(struct info_view *v)
{
	const struct pd_info *i = v->info;

	for (size_t k = 0; k < i->n_cmdline; k++)
		buf_printf(&v->line, "%s%s", k ? " " : "", i->cmdline[k]);
	if (!i->n_cmdline)
		buf_puts(&v->line, "not recorded");
	put_line(v, "command");
	if (i->version) {
		buf_puts(&v->line, i->version);
		put_line(v, "recorder");
	}
}

static void put_time(struct info_view *v)
{
	uint64_t first, last;
	char n[NUM_MAX];

	if (!pd_time_span(v->rec, &first, &last)) {
		buf_puts(&v->line, "not recorded");
	} else {
		buf_printf(&v->line,
			   "%s between the first and the last sample, at %" PRIu64 ".%06" PRIu64
			   " and %" PRIu64 ".%06" PRIu64 " s",
			   num_seconds(n, (double)(last - first) / 1e9), first / 1000000000,
			   first / 1000 % 1000000, last / 1000000000, last / 1000 % 1000000);
	}
	put_line(v, "time");
}

static void put_sub(struct info_view *v)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, buf_str(&v->line), v->st.ascii);
	buf_fill(&v->out, ' ', 3);
	put_folded(v, buf_str(&safe), 5);
	buf_reset(&v->line);
	buf_free(&safe);
}

static void put_event(struct info_view *v, const struct pd_event *ev, const struct tally *of)
{
	const struct perf_event_attr *a = &ev->attr;
	char n[NUM_MAX], p[NUM_MAX];
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, ev->name, v->st.ascii);
	buf_putc(&v->out, ' ');
	text_put_fit(&v->out, buf_str(&safe), 44, TEXT_LEFT, false, v->st.ascii);
	buf_printf(&v->out, " %14s %18s\n", num_exact(n, of->samples),
		   num_count(p, (double)of->period));
	buf_free(&safe);
	attr_put_kind(&v->line, v->info, a->type);
	buf_printf(&v->line, " event 0x%" PRIx64 "; ", (uint64_t)a->config);
	attr_put_how(&v->line, a);
	put_sub(v);
	if (a->sample_type) {
		buf_puts(&v->line, "with ");
		attr_put_bits(&v->line, ATTR_SAMPLE, a->sample_type);
		put_sub(v);
	}
	if (a->branch_sample_type && a->sample_type & PERF_SAMPLE_BRANCH_STACK) {
		buf_puts(&v->line, "branches: ");
		attr_put_bits(&v->line, ATTR_BRANCH, a->branch_sample_type);
		put_sub(v);
	}
	if (v->verbose && a->read_format) {
		buf_puts(&v->line, "counts read with ");
		attr_put_bits(&v->line, ATTR_READ, a->read_format);
		put_sub(v);
	}
	if (v->verbose) {
		buf_printf(&v->line,
			   "config1 0x%" PRIx64 ", config2 0x%" PRIx64 ", config3 0x%" PRIx64
			   "; %zu ids",
			   (uint64_t)a->config1, (uint64_t)a->config2, ev->config3, ev->n_ids);
		put_sub(v);
	}
}

static void put_heading(struct info_view *v, const char *left, const char *mid, const char *right)
{
	buf_puts(&v->out, "\n ");
	style_ink(&v->out, &v->st, INK_BOLD);
	buf_printf(&v->out, "%-44s %14s %18s", left, mid, right);
	style_ink(&v->out, &v->st, INK_PLAIN);
	buf_putc(&v->out, '\n');
}

static void put_events(struct info_view *v)
{
	size_t n;
	const struct pd_event *ev = pd_events(v->rec, &n);

	put_heading(v, "event", v->selects ? "selected" : "samples", "sum of periods");
	for (size_t i = 0; i < n; i++)
		put_event(v, &ev[i], &v->of[i]);
	if (!n)
		buf_puts(&v->out, " none is described\n");
}

static void put_records(struct info_view *v)
{
	size_t n;
	const struct pd_type_count *t = pd_type_counts(v->rec, &n);
	char c[NUM_MAX], b[NUM_MAX];

	put_heading(v, "records", "number", "bytes");
	for (size_t i = 0; i < n; i++)
		buf_printf(&v->out, " %-44s %14s %18s\n", t[i].name, num_exact(c, t[i].count),
			   num_bytes(b, t[i].bytes));
	if (!n)
		buf_puts(&v->out, " none\n");
	if (v->info->aux_bytes)
		buf_printf(&v->out, " %-44s %14s %18s\n", "(AUX trace payload, not decoded)", "",
			   num_bytes(b, v->info->aux_bytes));
	buf_putc(&v->out, '\n');
}

static void put_losses(struct info_view *v)
{
	struct loss f[LOSSES];
	char n[NUM_MAX];

	losses_of(pd_losses(v->rec), f);
	for (size_t i = 0; i < LOSSES; i++)
		if (f[i].n)
			buf_printf(&v->line, "%s%s: %s", v->line.len ? "; " : "", f[i].says,
				   num_exact(n, f[i].n));
	if (!v->line.len)
		buf_puts(&v->line, "none told");
	put_line(v, "losses");
}

static void put_build_ids(struct info_view *v)
{
	const struct pd_info *i = v->info;

	if (!i->n_buildids)
		return;
	buf_printf(&v->line, "%zu%s", i->n_buildids, v->verbose ? "" : " (-v lists them)");
	put_line(v, "build ids");
	for (size_t k = 0; v->verbose && k < i->n_buildids; k++) {
		struct buf safe = BUF_INIT;

		buf_puts(&v->out, "   ");
		for (unsigned c = 0; c < i->buildids[k].id_len; c++)
			buf_printf(&v->out, "%02x", i->buildids[k].id[c]);
		text_put_safe(&safe, i->buildids[k].path, v->st.ascii);
		buf_printf(&v->out, "  %s\n", buf_str(&safe));
		buf_free(&safe);
	}
}

static void put_notes(struct info_view *v)
{
	const struct pd_info *info = pd_info(v->rec);
	size_t n;
	const char *const *notes = pd_notes(v->rec, &n);

	for (size_t i = 0; i < n; i++) {
		buf_puts(&v->line, notes[i]);
		put_line(v, i ? "" : "note");
	}
	if (info->form == PD_FILE &&
	    !(info->features[0] | info->features[1] | info->features[2] | info->features[3])) {
		buf_puts(&v->line, "no header features (host, command line, build ids, ...): the "
				   "recorder was stopped before it could write them");
		put_line(v, n ? "" : "note");
	}
}

static void put_next(struct info_view *v)
{
	size_t n;

	(void)pd_events(v->rec, &n);
	for (size_t i = 0; i < n; i++) {
		if (!v->of[i].samples)
			continue;
		buf_printf(&v->line, "cyclade report %s", v->file);
		put_line(v, "next");
		return;
	}
}

static void put_text(struct info_view *v)
{
	put_file(v);
	put_machine(v);
	put_command(v);
	put_time(v);
	put_events(v);
	put_records(v);
	put_losses(v);
	put_build_ids(v);
	put_notes(v);
	put_next(v);
}

/* ---- JSON ---- */

static void json_machine(struct json *j, const struct pd_info *i)
{
	json_object(j, "machine");
	json_str(j, "host", i->hostname);
	json_str(j, "os_release", i->os_release);
	json_str(j, "arch", i->arch);
	json_str(j, "cpu", i->cpu_desc);
	json_str(j, "cpuid", i->cpuid);
	if (i->cpus_available) {
		json_u64(j, "cpus_online", i->cpus_online);
		json_u64(j, "cpus_available", i->cpus_available);
	} else {
		json_null(j, "cpus_online");
		json_null(j, "cpus_available");
	}
	if (i->mem_total_kb)
		json_u64(j, "memory_kb", i->mem_total_kb);
	else
		json_null(j, "memory_kb");
	json_array(j, "hybrid");
	for (size_t k = 0; k < i->n_hybrid; k++) {
		json_object(j, NULL);
		json_str(j, "pmu", i->hybrid_name[k]);
		json_str(j, "cpus", i->hybrid_cpus[k]);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void json_event(struct json *j, const struct info_view *v, const struct pd_event *ev,
		       const struct tally *of)
{
	const struct perf_event_attr *a = &ev->attr;
	struct buf kind = BUF_INIT;

	attr_put_kind(&kind, v->info, a->type);
	json_object(j, NULL);
	json_str(j, "name", ev->name);
	json_str(j, "unit", ev->unit);
	json_u64(j, "samples", of->samples);
	json_u64(j, "period", of->period);
	json_str(j, "kind", buf_str(&kind));
	json_u64(j, "type", a->type);
	json_u64(j, "config", a->config);
	json_u64(j, "config1", a->config1);
	json_u64(j, "config2", a->config2);
	json_u64(j, "config3", ev->config3);
	json_u64(j, "config4", ev->config4);
	json_u64(j, "attr_size", a->size);
	if (a->freq) {
		json_u64(j, "sample_freq", a->sample_freq);
		json_null(j, "sample_period");
	} else {
		json_null(j, "sample_freq");
		json_u64(j, "sample_period", a->sample_period);
	}
	json_u64(j, "precise", a->precise_ip);
	json_bool(j, "exclude_user", a->exclude_user);
	json_bool(j, "exclude_kernel", a->exclude_kernel);
	json_bool(j, "exclude_hypervisor", a->exclude_hv);
	json_bool(j, "exclude_host", a->exclude_host);
	json_bool(j, "exclude_guest", a->exclude_guest);
	json_bool(j, "inherit", a->inherit);
	attr_json_bits(j, "sample_type", ATTR_SAMPLE, a->sample_type);
	attr_json_bits(j, "read_format", ATTR_READ, a->read_format);
	attr_json_bits(j, "branch_type", ATTR_BRANCH, a->branch_sample_type);
	json_u64(j, "ids", ev->n_ids);
	json_end_object(j);
	buf_free(&kind);
}

static void json_build_ids(struct json *j, const struct pd_info *i)
{
	json_array(j, "build_ids");
	for (size_t k = 0; k < i->n_buildids; k++) {
		char hex[41] = "";

		for (unsigned c = 0; c < i->buildids[k].id_len; c++)
			(void)snprintf(hex + 2 * (size_t)c, 3, "%02x", i->buildids[k].id[c]);
		json_object(j, NULL);
		json_str(j, "id", hex);
		json_str(j, "path", i->buildids[k].path);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_counts(struct json *j, const struct info_view *v)
{
	size_t n;
	const struct pd_type_count *t = pd_type_counts(v->rec, &n);
	const struct pd_event *ev;

	json_object(j, "records");
	for (size_t i = 0; i < n; i++)
		json_u64(j, t[i].name, t[i].count);
	json_end_object(j);
	ev = pd_events(v->rec, &n);
	if (v->selects) /* events' samples are those selected */
		json_bool(j, "selected", true);
	json_array(j, "events");
	for (size_t i = 0; i < n; i++)
		json_event(j, v, &ev[i], &v->of[i]);
	json_end_array(j);
	losses_json(j, pd_losses(v->rec));
}

static void json_time(struct json *j, const struct info_view *v)
{
	uint64_t first, last;

	if (!pd_time_span(v->rec, &first, &last)) {
		json_null(j, "time");
		return;
	}
	json_object(j, "time");
	json_u64(j, "first_ns", first);
	json_u64(j, "last_ns", last);
	json_end_object(j);
}

static void put_json(struct info_view *v)
{
	const struct pd_info *i = v->info;
	const char *const *notes;
	struct json j;
	size_t n;

	json_init(&j, &v->out, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.info/1");
	json_str(&j, "file", v->file);
	json_str(&j, "form", form_names[i->form]);
	json_u64(&j, "bytes", i->file_size);
	json_u64(&j, "bytes_unpacked", i->inflated_size);
	json_u64(&j, "aux_bytes", i->aux_bytes);
	json_bool(&j, "foreign_byte_order", i->foreign_order);
	json_machine(&j, i);
	json_str(&j, "recorder", i->version);
	json_strings(&j, "command", i->cmdline, i->n_cmdline);
	json_time(&j, v);
	json_counts(&j, v);
	json_build_ids(&j, i);
	notes = pd_notes(v->rec, &n);
	json_strings(&j, "notes", notes, n);
	json_end_object(&j);
	buf_putc(&v->out, '\n');
}

static bool selects(const struct options *o)
{
	return o->comm || o->only_pid.n || o->only_tid.n || o->cpu || o->time;
}

/* Whose a thread is, and its name, come from side-band records: only a selection needs them. */
static int open_input(struct recording *r, struct cli *cli, const char *file, struct err *err)
{
	*r = (struct recording){ 0 };
	return selects(&cli->opt) ? recording_open(r, cli, file, err) : pd_open(&r->rec, file, err);
}

static int count_samples(struct info_view *v, struct cli *cli, const struct recording *r,
			 struct err *err)
{
	struct selection select = { .event = NULL };
	struct tally *of;
	size_t n;

	(void)pd_events(v->rec, &n);
	of = arena_alloc(&cli->arena, (n + 1) * sizeof(*of));
	v->of = of;
	v->selects = selects(&cli->opt);
	if (!of)
		return err_nomem(err);
	return selecting(&select, v->rec, cli, err) ||
			       profile_samples(v->rec, r->spaces, &select, of, err)
		       ? -1
		       : 0;
}

int cmd_info(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct info_view v = { .file = cli_input(cli, &err), .out = BUF_INIT, .line = BUF_INIT };
	struct recording r = { 0 };
	int rc;

	if (!v.file || open_input(&r, cli, v.file, &err)) {
		rc = cli_fail(&err);
		goto out;
	}
	v.rec = r.rec;
	v.info = pd_info(r.rec);
	if (count_samples(&v, cli, &r, &err)) {
		rc = cli_fail(&err);
		goto out;
	}
	v.st = cli_style(cli, STDOUT_FILENO);
	v.verbose = cli->opt.verbose;
	if (cli->opt.json || (cli->opt.format && !strcmp(cli->opt.format, "json")))
		put_json(&v);
	else
		put_text(&v);
	if (v.out.failed || v.line.failed) {
		(void)err_nomem(&err);
		rc = cli_fail(&err);
		goto out;
	}
	rc = cli_put(cli, &v.out, true);
out:
	recording_close(&r);
	buf_free(&v.out);
	buf_free(&v.line);
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat --import: the tree from counts that were taken before, by perf stat or by cyclade, on any
 * machine. Nothing is counted here.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "base/vec.h"
#include "cli/counting_out.h"
#include "cli/model_choice.h"
#include "cli/stat_int.h"
#include "cli/stat_tree.h"
#include "perfdata/counts_file.h"

#define FILE_MAX  (256u << 20)
#define TERMS_MAX 12u
#define NO_ERRORS "totals alone do not tell"

struct import {
	struct cli *cli;
	struct arena *a;
	struct machine machine;
	struct model *m;
	double system[SYSTEM_COUNT];
	struct counts_file file;
	struct counting_out out;
	double *count, *share;
	size_t strange; /* events that the model does not know */
	const char *first_strange;
};

/* ---- which event of the model is meant -------------------------------------------------- */

struct term {
	char key[24];
	uint64_t value;
};

struct terms {
	struct term v[TERMS_MAX];
	size_t n;
};

static void set_term(struct terms *t, const char *key, size_t len, uint64_t value)
{
	size_t i = 0;

	if (len >= sizeof(t->v[0].key))
		return;
	while (i < t->n && (strlen(t->v[i].key) != len || memcmp(t->v[i].key, key, len) != 0))
		i++;
	if (i == TERMS_MAX)
		return;
	memcpy(t->v[i].key, key, len);
	t->v[i].key[len] = '\0';
	t->v[i].value = value;
	t->n += i == t->n;
}

/* "event=0x9c,umask=1,edge"; a term that is an event of the model stands for its code. */
static void read_terms(struct terms *t, const struct model *m, const char *s, size_t len)
{
	while (len) {
		const char *comma = memchr(s, ',', len);
		size_t n = comma ? (size_t)(comma - s) : len;
		const char *eq = memchr(s, '=', n);

		if (eq) {
			set_term(t, s, (size_t)(eq - s), strtoull(eq + 1, NULL, 0));
		} else if (n) {
			uint32_t e = m ? model_event_find(m, s, n) : MODEL_NONE;

			if (e == MODEL_NONE)
				set_term(t, s, n, 1);
			else
				read_terms(t, NULL, m->event[e].code, strlen(m->event[e].code));
		}
		s += n + !!comma;
		len -= n + !!comma;
	}
}

static uint64_t term_value(const struct terms *t, const char *key)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->v[i].key, key))
			return t->v[i].value;
	return 0; /* as good as 0 */
}

static bool same_terms(const struct terms *a, const struct terms *b)
{
	static const char *const names[] = { "name", "period", "freq" };

	for (size_t i = 0; i < a->n; i++) {
		bool passes = false;

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			passes |= !strcmp(a->v[i].key, names[k]);
		if (!passes && a->v[i].value != term_value(b, a->v[i].key))
			return false;
	}
	return true;
}

/* perf's own names for codes. */
static const struct {
	const char *name, *terms;
} aliases[] = {
	{ "cycles", "event=0x3c" },
	{ "cpu-cycles", "event=0x3c" },
	{ "instructions", "event=0xc0" },
	{ "slots", "event=0x00,umask=0x04" },
	{ "topdown-retiring", "event=0x00,umask=0x80" },
	{ "topdown-bad-spec", "event=0x00,umask=0x81" },
	{ "topdown-fe-bound", "event=0x00,umask=0x82" },
	{ "topdown-be-bound", "event=0x00,umask=0x83" },
	{ "topdown-heavy-ops", "event=0x00,umask=0x84" },
	{ "topdown-br-mispredict", "event=0x00,umask=0x85" },
	{ "topdown-fetch-lat", "event=0x00,umask=0x86" },
	{ "topdown-mem-bound", "event=0x00,umask=0x87" },
};

static uint32_t find_by_terms(const struct model *m, const char *s, size_t len)
{
	struct terms want = { .n = 0 };

	read_terms(&want, m, s, len);
	for (uint32_t e = 0; e < m->n_used; e++) {
		struct terms have = { .n = 0 };

		if (*m->event[e].pmu || !*m->event[e].code)
			continue;
		read_terms(&have, NULL, m->event[e].code, strlen(m->event[e].code));
		if (same_terms(&want, &have) && same_terms(&have, &want))
			return e;
	}
	return MODEL_NONE;
}

static uint32_t find_event(const struct model *m, const char *name)
{
	size_t len = strlen(name);
	uint32_t e = model_event_find(m, name, len);
	const char *slash = strchr(name, '/'), *end = strrchr(name, '/'), *colon;

	if (e != MODEL_NONE)
		return e;
	if (slash && end > slash)
		return find_by_terms(m, slash + 1, (size_t)(end - slash - 1));
	colon = strrchr(name, ':'); /* modifiers */
	if (colon) {
		len = (size_t)(colon - name);
		e = model_event_find(m, name, len);
	}
	for (size_t i = 0; e == MODEL_NONE && i < sizeof(aliases) / sizeof(*aliases); i++)
		if (strlen(aliases[i].name) == len && !memcmp(aliases[i].name, name, len))
			return find_by_terms(m, aliases[i].terms, strlen(aliases[i].terms));
	return e;
}

/* ---- counts ----------------------------------------------------------------------------- */

static int take_counts(struct import *im, struct err *err)
{
	size_t n = im->m->n_events;

	im->count = arena_alloc(im->a, (n + 1) * sizeof(*im->count));
	im->share = arena_alloc(im->a, (n + 1) * sizeof(*im->share));
	if (!im->count || !im->share)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		im->count[i] = im->share[i] = NAN;
	for (size_t i = 0; i < im->file.n; i++) {
		const struct counted_event *c = &im->file.event[i];
		uint32_t e = find_event(im->m, c->name);

		if (e == MODEL_NONE) {
			if (!strcmp(c->name, "duration_time"))
				im->system[SYSTEM_DURATION] = c->value / 1e9;
			else if (!im->strange++)
				im->first_strange = c->name;
			continue;
		}
		/* the same event under two names: the one that was counted longer */
		if (!isnan(im->share[e]) && !(c->counted > im->share[e]))
			continue;
		im->count[e] = c->value;
		im->share[e] = isnan(c->counted) ? 1 : c->counted;
	}
	return 0;
}

static int read_file(struct import *im, struct err *err)
{
	struct buf text = BUF_INIT;
	char sep = 0;
	int rc;

	if (im->cli->opt.separator && cli_separator(im->cli, &sep, err))
		return -1;
	rc = file_slurp(&text, im->cli->opt.import, FILE_MAX, err) ||
	     counts_file_parse(&im->file, im->a, buf_str(&text), text.len, sep, im->cli->opt.import,
			       err);
	buf_free(&text);
	return rc ? -1 : 0;
}

/* What is known of the machine that counted: of --sysroot all of it, else what was said. */
static int facts(struct import *im, struct err *err)
{
	const struct options *o = &im->cli->opt;

	for (int i = 0; i < SYSTEM_COUNT; i++)
		im->system[i] = NAN;
	if (o->sysroot) {
		struct counting k = { .cli = im->cli, .root = o->sysroot };
		struct drill d = { .root = o->sysroot };

		if (machine_read(&im->machine, im->a, o->sysroot, err))
			return -1;
		k.machine = im->machine;
		k.who.cgroup_fd = -1;
		drill_facts(im->system, &d, &k);
	}
	if (o->smt)
		im->system[SYSTEM_SMT_ON] = !strcmp(o->smt, "on");
	if (im->system[SYSTEM_SMT_ON] == 0)
		im->system[SYSTEM_THREADS_PER_CORE] = 1;
	im->system[SYSTEM_CORE_WIDE] = o->all || im->system[SYSTEM_SMT_ON] == 0 ? 1 : 0;
	im->system[SYSTEM_DURATION] = im->file.seconds;
	return 0;
}

/* ---- the tree --------------------------------------------------------------------------- */

static int evaluate(struct import *im, struct tree *t, struct err *err)
{
	static const char *const no_error[] = { NO_ERRORS };
	static const double *const no_cov[] = { NULL };
	size_t n = im->m->n_used;
	uint32_t *member = arena_alloc(im->a, (n + 1) * sizeof(*member));
	uint32_t first[2] = { 0, 0 };
	struct tree_counts c = { .count = im->count,
				 .n_lps = 1,
				 .counted = im->share,
				 .first = first,
				 .cov = no_cov,
				 .no_error = no_error,
				 .n_groups = 1,
				 .system = im->system };

	if (!member)
		return err_nomem(err);
	for (uint32_t e = 0; e < n; e++)
		if (!isnan(im->count[e]))
			member[first[1]++] = e;
	c.member = member;
	return tree_eval(t, im->a, im->m, &c, NULL, err);
}

static int print(struct import *im, const struct tree *t, struct err *err)
{
	const struct options *o = &im->cli->opt;
	uint32_t slots = model_metric_find(im->m, "SLOTS", 5);
	struct tree_source src = { .tree = t,
				   .count = im->count,
				   .share = im->share,
				   .level = (unsigned)o->level,
				   .all = o->verbose || OPTION_GIVEN(o, level),
				   .whole = NAN };
	const char *notes[2];
	struct tree_view view;
	struct tree_report r = { .head = { .target = o->import,
					   .time = NAN,
					   .seconds = im->system[SYSTEM_DURATION],
					   .user_s = NAN,
					   .sys_s = NAN,
					   .status = -1,
					   .runs = 1,
					   .seconds_error = NAN,
					   .notes = notes },
				 .view = &view,
				 .n_views = 1 };
	struct counts_style st = { .style = im->out.style,
				   .separator = im->out.separator,
				   .quiet = o->quiet,
				   .first = true };
	struct buf b = BUF_INIT;
	bool gone;
	int rc = -1;

	if (slots != MODEL_NONE && t->node[slots].value.why == VALUE_OK)
		src.whole = t->node[slots].value.v;
	r.cpu = arena_printf(im->a, "counted before; model %s (%s)", im->m->id, im->m->title);
	if (im->strange)
		notes[r.head.n_notes++] =
			arena_printf(im->a, "%zu of %zu events are not the model's: %s, ...",
				     im->strange, im->file.n, im->first_strange);
	if (isnan(im->system[SYSTEM_SMT_ON]))
		notes[r.head.n_notes++] = "whether SMT was on is not known: --smt on or off";
	if (!r.cpu || tree_view_make(&view, im->a, &src, err) ||
	    tree_report_write(&b, &r, im->out.format, &st, err) ||
	    counting_out_put(&im->out, &b, &gone, err))
		goto out;
	rc = counting_out_commit(&im->out, err);
out:
	buf_free(&b);
	return rc;
}

int stat_import(struct cli *cli)
{
	struct import im = { .cli = cli, .a = &cli->arena, .out = COUNTING_OUT_INIT };
	struct err err = ERR_INIT;
	struct tree t;
	int code = EXIT_ERROR;

	if (cli->args.n || cli->opt.pid.n || cli->opt.tid.n || cli->opt.event.n) {
		(void)err_set(&err, ERR_USAGE,
			      "--import counts nothing: it takes no program, no task, no event");
		(void)err_hint(&err, "cyclade stat --import FILE --model ID");
		code = counting_exit_code(cli, &err);
		goto out;
	}
	if (read_file(&im, &err) || facts(&im, &err) ||
	    cli_model(cli, cli->opt.sysroot ? &im.machine : NULL, NULL, im.system, &im.m, &err) ||
	    take_counts(&im, &err) || evaluate(&im, &t, &err) ||
	    counting_out_open(&im.out, cli, &err) || print(&im, &t, &err))
		goto out;
	code = EXIT_OK;
out:
	if (code != EXIT_OK)
		code = cli_fail_as(&err, code);
	counting_out_close(&im.out);
	model_free(im.m);
	return code;
}

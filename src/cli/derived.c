/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/derived.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/text.h"
#include "cli/config_file.h"
#include "cli/recording.h"
#include "perfdata/ibs.h"
#include "store/ibs_own.h"
#include "store/keep.h"

/* ---- the user's own -------------------------------------------------------------------------- */

static int read_own(struct ibs_own *own, struct cli *cli, const char *path, struct err *err)
{
	struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	int ret = 0;

	if (!file_slurp(&text, path, IBS_OWN_SIZE_MAX, &why)) {
		ret = ibs_own_parse(own, &cli->arena, path, buf_str(&text), text.len, err) ||
				      ibs_own_check(own, err)
			      ? -1
			      : 0;
	} else if (cli->opt.ibs_events || (why.sys_errno != ENOENT && why.sys_errno != ENOTDIR)) {
		*err = why;
		ret = -1;
	}
	buf_free(&text);
	return ret;
}

int derived_own(struct cli *cli, const struct ibs_own **out, struct err *err)
{
	const char *path = cli->opt.ibs_events;
	struct ibs_own *own;

	if (!cli->ibs_own) {
		own = arena_alloc(&cli->arena, sizeof(*own));
		if (!own)
			return err_nomem(err);
		*own = (struct ibs_own){ 0 };
		if (!path)
			path = config_beside(&cli->arena, "ibs-events");
		if (path && read_own(own, cli, path, err))
			return -1;
		cli->ibs_own = own;
	}
	*out = cli->ibs_own;
	return 0;
}

static int find(struct cli *cli, const char *word, const struct ibs_event **out, struct err *err)
{
	const struct ibs_own *own = NULL;

	*out = NULL;
	if (derived_own(cli, &own, err))
		return -1;
	*out = ibs_event_find(own, word);
	if (!*out || (*out)->name)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s is no event of IBS: %s", word, (*out)->means);
	return err_hint(err, "cyclade list ibs shows all");
}

/* ---- record ---------------------------------------------------------------------------------- */

struct asked {
	struct buf any; /* predicates, joined by OR */
	struct text_list others;
	bool op, fetch;
	const char *name; /* of the last one; NULL: none */
};

static int sort_out(struct cli *cli, struct asked *a, struct err *err)
{
	struct text_list said;
	struct err why = ERR_INIT;

	if (split_events(cli, &cli->opt.event, &said, &why)) {
		if (why.code == ERR_USAGE)
			return 0; /* who reads events says in which column */
		*err = why;
		return -1;
	}
	a->others.v = said.v;
	for (size_t i = 0; i < said.n; i++) {
		const struct ibs_event *e;

		if (find(cli, said.v[i], &e, err))
			return -1;
		if (!e) {
			a->others.v[a->others.n++] = said.v[i];
			continue;
		}
		buf_printf(&a->any, "%scoalesce((%s), 0)", a->name ? " OR " : "", e->predicate);
		a->op |= !strcmp(e->table, "ibs_op");
		a->fetch |= !strcmp(e->table, "ibs_fetch");
		a->name = e->name;
	}
	return 0;
}

static int ask_ibs(struct cli *cli, const struct asked *a, const char **keep, struct err *err)
{
	const char *own = *keep ? arena_printf(&cli->arena, "(%s) AND ", *keep) : "";

	if (cli->opt.ibs)
		return err_set(err, ERR_USAGE, "-e %s brings its own --ibs: leave that out",
			       a->name);
	if (a->others.n) {
		cli_warn("%s counts samples of ops or fetches, the other events count what "
			 "happened: no ratio of the two is a rate",
			 a->name);
		*keep = arena_printf(&cli->arena, "%s(event NOT LIKE 'ibs_%%' OR %s)", own,
				     buf_str(&a->any));
	} else {
		*keep = arena_printf(&cli->arena, "%s(%s)", own, buf_str(&a->any));
	}
	cli->opt.ibs = a->op && a->fetch ? "both" : a->fetch ? "fetch" : "op";
	cli->opt.event = a->others;
	return *keep && !a->any.failed ? 0 : err_nomem(err);
}

int derived_record(struct cli *cli, const char **keep, struct err *err)
{
	struct asked a = { .any = BUF_INIT };
	int ret;

	*keep = cli->opt.keep;
	if (*keep) { /* the name of an event, as its predicate */
		const struct ibs_event *e;

		if (find(cli, *keep, &e, err))
			return -1;
		*keep = e ? e->predicate : *keep;
	}
	if (!cli->opt.event.n)
		return 0;
	ret = sort_out(cli, &a, err);
	if (!ret && a.name)
		ret = ask_ibs(cli, &a, keep, err);
	buf_free(&a.any);
	return ret;
}

/* ---- recordings ------------------------------------------------------------------------------ */

#define WORKERS 64 /* of a pass */

struct derived {
	const struct ibs_event *e;
	const struct ibs_own *own;
	const struct pd *rec;
	const char *recorded;	    /* the event that its samples are of */
	struct keep *keep[WORKERS]; /* one for each thread that asks */
};

static int wants(void *ctx, unsigned worker, const struct pd_event *ev, const struct pd_record *r,
		 struct err *err)
{
	struct derived *d = ctx;
	struct pd_sample s;
	enum ibs_kind kind;

	if (worker >= WORKERS || !ibs_is_event(d->rec, ev, &kind) ||
	    strcmp(kind == IBS_OP ? "ibs_op" : "ibs_fetch", d->e->table) != 0)
		return 0;
	if (!d->keep[worker] && keep_open(&d->keep[worker], d->own, d->e->name, err))
		return -1;
	if (pd_sample_parse(d->rec, r, &s))
		return 0;
	return keep_sample(d->keep[worker], &s, d->e->table, pd_info(d->rec)->cpuid, err);
}

/* The first event of the recording whose samples may be the derived one's. */
static const char *recorded_event(const struct derived *d)
{
	size_t n;
	const struct pd_event *ev = pd_events(d->rec, &n);
	enum ibs_kind kind;

	for (size_t i = 0; i < n; i++)
		if (ibs_is_event(d->rec, &ev[i], &kind) &&
		    !strcmp(kind == IBS_OP ? "ibs_op" : "ibs_fetch", d->e->table))
			return ev[i].name;
	return NULL;
}

static bool is_recorded(const struct pd *rec, const char *name)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (text_means(name, ev[i].name))
			return true;
	return false;
}

/* What -e names: kept in the cli, for the next recording of a command that reads several. */
static int named(struct cli *cli, const struct pd *rec, struct err *err)
{
	if (cli->derived || cli->opt.event.n != 1 || is_recorded(rec, cli->opt.event.v[0]))
		return 0;
	return find(cli, cli->opt.event.v[0], &cli->derived, err);
}

int derived_open(struct derived **out, struct cli *cli, const struct pd *rec, struct err *err)
{
	struct derived *d;
	const char **event;

	*out = NULL;
	if (named(cli, rec, err) || !cli->derived)
		return err->code == ERR_NONE ? 0 : -1;
	d = calloc(1, sizeof(*d));
	event = arena_alloc(&cli->arena, sizeof(*event));
	if (!d || !event) {
		free(d);
		return err_nomem(err);
	}
	*d = (struct derived){ .e = cli->derived, .own = cli->ibs_own, .rec = rec };
	*event = recorded_event(d);
	if (!*event) {
		(void)err_set(err, ERR_NOT_FOUND, "%s: the recording has no samples of %s",
			      d->e->name, d->e->table);
		free(d);
		return err_hint(err, "cyclade record --ibs=both makes some, on AMD");
	}
	*event = arena_strdup(&cli->arena, *event);
	cli->opt.event = (struct text_list){ .v = event, .n = 1 };
	*out = d;
	return *event ? 0 : err_nomem(err);
}

void derived_select(struct derived *d, struct selection *s)
{
	if (!d)
		return;
	s->wants = wants;
	s->wants_ctx = d;
}

int derived_note(const struct derived *d, struct view_source *s, struct arena *a, struct err *err)
{
	const char **note;

	if (!d)
		return 0;
	note = arena_alloc(a, (s->n_notes + 1) * sizeof(*note));
	if (!note)
		return err_nomem(err);
	if (s->n_notes)
		memcpy(note, s->notes, s->n_notes * sizeof(*note));
	note[s->n_notes] = arena_printf(a, "only samples of %s that are %s: %s", d->e->table,
					d->e->name, d->e->predicate);
	if (!note[s->n_notes++])
		return err_nomem(err);
	s->notes = note;
	return 0;
}

void derived_close(struct derived *d)
{
	for (size_t i = 0; d && i < WORKERS; i++)
		keep_close(d->keep[i]);
	free(d);
}

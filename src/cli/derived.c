/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/derived.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_in.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/config_file.h"
#include "cli/recording.h"
#include "collect/machine.h"
#include "perfdata/ibs.h"
#include "store/ibs_own.h"
#include "store/keep.h"

/* ---- the user's own -------------------------------------------------------------------------- */

/* A file that nobody named and that cannot be read, or is not ours, counts as none. */
static int read_own(struct ibs_own *own, struct cli *cli, const char *path, struct err *err)
{
	const char *asked = cli->opt.ibs_events;
	struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	int ret = 0;

	if (!(asked ? file_slurp(&text, path, IBS_OWN_SIZE_MAX, &why)
		    : config_slurp(&text, path, IBS_OWN_SIZE_MAX, &why))) {
		ret = ibs_own_parse(own, &cli->arena, path, buf_str(&text), text.len, err) ||
				      ibs_own_check(own, err)
			      ? -1
			      : 0;
	} else if (asked || why.code == ERR_NOMEM || why.code == ERR_LIMIT) {
		*err = why;
		ret = -1;
	} else if (why.sys_errno != ENOENT && why.sys_errno != ENOTDIR) {
		cli_note(cli, "%s: events of your own are passed over", why.what);
	}
	buf_free(&text);
	return ret;
}

int derived_own(struct cli *cli, const struct ibs_own **out, struct err *err)
{
	const char *path = cli->opt.ibs_events;
	struct ibs_own *own;

	if (!cli->ibs_own) {
		own = arena_xalloc(&cli->arena, sizeof(*own));
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

static int find_derived(struct cli *cli, const char *word, const struct ibs_event **out,
			struct err *err)
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

/* An event that this machine's CPU has not is refused before it is recorded: nothing would come. */
static int exists_here(struct cli *cli, const struct ibs_event *e, struct err *err)
{
	struct machine m;
	enum ibs_part part;

	if (machine_read_parts(&m, &cli->arena, cli->opt.sysroot ? cli->opt.sysroot : "",
			       MACHINE_MODEL, err))
		return -1;
	part = ibs_part_of(m.cpuid);
	return ibs_event_exists(e, &part, 1, err);
}

static int sort_out(struct cli *cli, struct asked *a, struct err *err)
{
	struct text_list said;
	struct err why = ERR_INIT;

	if (split_events(cli, &cli->opt.measure.event, &said, &why)) {
		if (why.code == ERR_USAGE)
			return 0; /* the parser of events reports the column */
		*err = why;
		return -1;
	}
	a->others.v = said.v;
	for (size_t i = 0; i < said.n; i++) {
		const struct ibs_event *e;

		if (find_derived(cli, said.v[i], &e, err))
			return -1;
		if (!e) {
			a->others.v[a->others.n++] = said.v[i];
			continue;
		}
		if (exists_here(cli, e, err))
			return -1;
		buf_printf(&a->any, "%scoalesce((%s), 0)", a->name ? " OR " : "", e->predicate);
		a->op |= !strcmp(e->table, "ibs_op");
		a->fetch |= !strcmp(e->table, "ibs_fetch");
		a->name = e->name;
	}
	return 0;
}

static int ask_ibs(struct cli *cli, const struct asked *a, const char **keep, struct err *err)
{
	const char *own = *keep ? arena_xprintf(&cli->arena, "(%s) AND ", *keep) : "";

	if (cli->opt.measure.ibs)
		return err_set(err, ERR_USAGE, "-e %s brings its own --ibs: leave that out",
			       a->name);
	if (a->others.n) {
		cli_warn("%s counts samples of ops or fetches, the other events count what "
			 "happened: no ratio of the two is a rate",
			 a->name);
		*keep = arena_xprintf(&cli->arena, "%s(event NOT LIKE 'ibs_%%' OR %s)", own,
				      buf_str(&a->any));
	} else {
		*keep = arena_xprintf(&cli->arena, "%s(%s)", own, buf_str(&a->any));
	}
	cli->opt.measure.ibs = a->op && a->fetch ? "both" : a->fetch ? "fetch" : "op";
	cli->opt.measure.event = a->others;
	return 0;
}

int derived_record(struct cli *cli, const char **keep, struct err *err)
{
	struct asked a = { .any = BUF_INIT };
	int ret;

	*keep = cli->opt.keep;
	if (*keep) { /* the name of an event, as its predicate */
		const struct ibs_event *e;

		if (find_derived(cli, *keep, &e, err) || (e && exists_here(cli, e, err)))
			return -1;
		*keep = e ? e->predicate : *keep;
	}
	if (!cli->opt.measure.event.n)
		return 0;
	ret = sort_out(cli, &a, err);
	if (!ret && a.name)
		ret = ask_ibs(cli, &a, keep, err);
	buf_free(&a.any);
	return ret;
}

/* ---- recordings ------------------------------------------------------------------------------ */

#define WORKERS 64 /* of a pass */
#define KINDS	2  /* ops and fetches */

struct derived {
	const struct ibs_event *e[KINDS]; /* NULL: no event of this kind */
	const struct ibs_own *own;
	const struct pd *rec;
	bool beside;			   /* other events are wanted, too */
	struct keep *keep[KINDS][WORKERS]; /* one for each thread that asks */
};

static size_t ibs_kind_index(const struct ibs_event *e)
{
	return strcmp(e->table, "ibs_op") != 0;
}

static int wants(void *ctx, unsigned worker, const struct pd_event *ev, const struct pd_record *r,
		 struct err *err)
{
	struct derived *d = ctx;
	const struct ibs_event *e;
	struct keep **keep;
	struct pd_sample s;
	enum ibs_kind kind;

	if (worker >= WORKERS || !ibs_is_event(d->rec, ev, &kind) || !d->e[kind != IBS_OP])
		return worker < WORKERS && d->beside;
	e = d->e[kind != IBS_OP];
	keep = &d->keep[kind != IBS_OP][worker];
	if (!*keep && keep_open(keep, d->own, e->name, err))
		return -1;
	if (pd_sample_parse(d->rec, r, &s))
		return 0;
	return keep_sample(*keep, &s, e->table, pd_info(d->rec)->cpuid, err);
}

/* The first event of the recording whose samples may be the derived one's. */
static const char *recorded_event(const struct pd *rec, const struct ibs_event *e)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	enum ibs_kind kind;

	for (size_t i = 0; i < n; i++)
		if (ibs_is_event(rec, &ev[i], &kind) && (kind != IBS_OP) == ibs_kind_index(e))
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

static int take_event(struct cli *cli, const struct ibs_event *e, struct err *err)
{
	const struct ibs_event **at = &cli->derived[ibs_kind_index(e)];

	if (*at && *at != e) {
		(void)err_set(err, ERR_USAGE,
			      "-e %s and %s: a sample of %s may be both, so they cannot be shown "
			      "beside each other",
			      (*at)->name, e->name, e->table);
		return err_hint(err, "one at a time; or an event of your own with both predicates "
				     "(--ibs-events)");
	}
	*at = e;
	return 0;
}

/* The derived event that a word may be a slip of; NULL: none. Nearer names of the recording are the
 * command's to offer. */
static const char *nearest(struct cli *cli, const struct pd *rec, const char *word)
{
	const struct ibs_own *own = cli->ibs_own;
	const char *near;
	size_t n, many = 0;
	const struct pd_event *ev = pd_events(rec, &n);
	const char **name =
		arena_xalloc(&cli->arena, (n + n_ibs_events + own->n + 1) * sizeof(*name));
	char *upper = arena_xstrdup(&cli->arena, word);

	for (size_t i = 0; i < n; i++)
		name[many++] = ev[i].name;
	name[many] = NULL;
	if (text_nearest(word, name))
		return NULL;
	many = 0;
	for (size_t i = 0; i < own->n; i++)
		name[many++] = own->event[i].name;
	for (size_t i = 0; i < n_ibs_events; i++)
		if (ibs_events[i].name)
			name[many++] = ibs_events[i].name;
	name[many] = NULL;
	for (char *c = upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	near = text_nearest(word, name);
	return near ? near : text_nearest(upper, name);
}

/* A name that is neither of the recording nor derived, but nearly one. */
static int misspelt(struct cli *cli, const struct pd *rec, const char *word, struct err *err)
{
	const char *near = nearest(cli, rec, word);

	if (!near)
		return 0;
	(void)err_set(err, ERR_USAGE, "no event of the recording is called '%.60s'", word);
	return err_hint(err, "did you mean %.100s? cyclade list ibs shows all derived events",
			near);
}

/* The events of -e: kept in the cli, for the next recording of a command that reads several. */
static int name_derived(struct cli *cli, const struct pd *rec, struct err *err)
{
	struct text_list said;
	struct err why = ERR_INIT;

	if (cli->derived[0] || cli->derived[1] || !cli->opt.event.n)
		return 0;
	if (split_events(cli, &cli->opt.event, &said, &why)) {
		if (why.code == ERR_USAGE)
			return 0; /* the command reports the error in the list */
		*err = why;
		return -1;
	}
	cli->beside_derived = (struct text_list){ .v = said.v };
	for (size_t i = 0; i < said.n; i++) {
		const struct ibs_event *e = NULL;

		if (!is_recorded(rec, said.v[i]) && (find_derived(cli, said.v[i], &e, err) ||
						     (!e && misspelt(cli, rec, said.v[i], err))))
			return -1;
		if (!e)
			cli->beside_derived.v[cli->beside_derived.n++] = said.v[i];
		else if (take_event(cli, e, err))
			return -1;
	}
	return 0;
}

/* -e of the recording's own events. */
static int name_recorded(struct derived *d, struct cli *cli, struct err *err)
{
	const struct text_list *others = &cli->beside_derived;
	struct text_list list = { .v = arena_xalloc(&cli->arena,
						    (others->n + KINDS) * sizeof(*list.v)) };

	for (; list.n < others->n; list.n++)
		list.v[list.n] = others->v[list.n];
	for (size_t i = 0; i < KINDS; i++) {
		const char *name = d->e[i] ? recorded_event(d->rec, d->e[i]) : NULL;
		enum ibs_part part = name ? ibs_part_of(pd_info(d->rec)->cpuid) : IBS_PARTS;

		if (!d->e[i])
			continue;
		if (ibs_event_exists(d->e[i], &part, 1, err))
			return -1;
		list.v[list.n++] = arena_xstrdup(&cli->arena, name);
	}
	cli->opt.event = list;
	return 0;
}

int derived_open(struct derived **out, struct cli *cli, const struct pd *rec, struct err *err)
{
	struct derived *d;

	*out = NULL;
	if (name_derived(cli, rec, err))
		return -1;
	if (!cli->derived[0] && !cli->derived[1])
		return 0;
	d = xcalloc(1, sizeof(*d));
	*d = (struct derived){ .e = { cli->derived[0], cli->derived[1] },
			       .own = cli->ibs_own,
			       .rec = rec,
			       .beside = cli->beside_derived.n };
	if (name_recorded(d, cli, err)) {
		free(d);
		return -1;
	}
	*out = d;
	return 0;
}

void derived_select(struct derived *d, struct selection *s)
{
	if (!d)
		return;
	s->wants = wants;
	s->wants_ctx = d;
}

/* Northbridge events are AMD's for sources of 3 bits; these parts have 5. */
static bool is_remapped(const struct derived *d, const struct ibs_event *e)
{
	enum ibs_part part = ibs_part_of(pd_info(d->rec)->cpuid);

	return !e->from && !strncmp(e->code, "F24", 3) &&
	       (part == IBS_PART_ZEN4 || part == IBS_PART_1AH || part == IBS_PART_LATER);
}

/* Fields that a user's own event reads and this CPU lacks; NULL: none. */
static const char *note_missing(const struct derived *d, const struct ibs_event *e, struct arena *a)
{
	enum ibs_part part = ibs_part_of(pd_info(d->rec)->cpuid);
	struct buf b = BUF_INIT;
	const char *note = NULL;

	if (ibs_fields_missing(&b, e->predicate, part))
		note = arena_xprintf(a, "%s reads %s: IBS of this CPU (AMD %s) does not report it",
				     e->name, buf_str(&b), ibs_part_name(part));
	buf_free(&b);
	return note;
}

void derived_note(const struct derived *d, struct view_source *s, struct arena *a)
{
	const char **note;

	if (!d)
		return;
	note = arena_xalloc(a, (s->n_notes + 2 * KINDS) * sizeof(*note));
	if (s->n_notes)
		memcpy(note, s->notes, s->n_notes * sizeof(*note));
	for (size_t i = 0; i < KINDS; i++) {
		if (!d->e[i])
			continue;
		note[s->n_notes++] =
			arena_xprintf(a, "only samples of %s that are %s: %s", d->e[i]->table,
				      d->e[i]->name, d->e[i]->predicate);
		note[s->n_notes] = d->e[i]->from ? note_missing(d, d->e[i], a) : NULL;
		s->n_notes += note[s->n_notes] != NULL;
		if (!is_remapped(d, d->e[i]))
			continue;
		note[s->n_notes++] = arena_xprintf(
			a,
			"AMD defines %s for data sources of 3 bits, this CPU has 5: the event goes "
			"by what the source is, with another core complex of the node as local and "
			"any cache of another node as remote",
			d->e[i]->name);
	}
	s->notes = note;
}

void derived_close(struct derived *d)
{
	for (size_t i = 0; d && i < WORKERS; i++)
		for (size_t k = 0; k < KINDS; k++)
			keep_close(d->keep[k][i]);
	free(d);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_model - the function's instructions, lines and inlined calls, and the samples on them.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"

enum { CODE_MAX = 1 << 20 }; /* bytes of one function that are shown */

void annotate_note(struct annotate *a, const char *fmt, ...)
{
	char text[1024];
	const char *kept;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kept = arena_xstrdup(&a->arena, text);
	vec_xpush(&a->notes, kept);
}

static int each_insn(void *ctx, const struct insn *in)
{
	struct annotate *a = ctx;
	struct annotate_insn *i = vec_xadd(&a->insn);

	memset(i, 0, sizeof(*i));
	i->block = CODE_NONE;
	i->in = *in;
	i->in.bytes = NULL;
	memcpy(i->bytes, in->bytes, in->len < sizeof(i->bytes) ? in->len : sizeof(i->bytes));
	return 0;
}

/* Finds the begin and end of the function, in the ELF's own addresses if there is an ELF. */
static void find_range(struct annotate *a, struct images *images)
{
	const struct annotate_target *t = &a->target;
	const struct symbol *all;
	size_t n;

	a->len = t->symbol->size;
	all = image_symbols(images, t->image, &n);
	for (size_t i = (size_t)t->symbol->index + 1; !a->len && i < n; i++)
		if (all[i].start > t->symbol->start)
			a->len = all[i].start - t->symbol->start;
	if (!image_to_vaddr(images, t->image, t->symbol->start, &a->vaddr))
		a->vaddr = t->symbol->start;
}

static void read_annotated_code(struct annotate *a, struct images *images)
{
	struct err why = ERR_INIT;
	uint64_t len = a->len < CODE_MAX ? a->len : CODE_MAX;

	if (len && !disasm_range(images, a->target.image, a->vaddr, len, each_insn, a, &why) &&
	    a->insn.n) {
		a->has_code = true;
		/* Behind a call or jump out of the function: whose code is there. */
		vec_each (&a->insn, struct annotate_insn *, i) {
			const struct symbol *s = NULL;
			size_t at = strlen(i->in.text);
			uint64_t addr;

			if (!i->in.has_target || i->in.target - a->vaddr < a->len ||
			    !image_from_vaddr(images, a->target.image, i->in.target, &addr))
				continue;
			image_resolve(images, a->target.image, &addr, 1, &s);
			if (s && addr == s->start)
				(void)snprintf(i->in.text + at, sizeof(i->in.text) - at, " <%s>",
					       s->name);
			else if (s)
				(void)snprintf(i->in.text + at, sizeof(i->in.text) - at,
					       " <%s+0x%" PRIx64 ">", s->name, addr - s->start);
		}
		if (len < a->len)
			annotate_note(a, "only the first %d bytes of %" PRIu64 " are shown",
				      CODE_MAX, a->len);
		return;
	}
	a->insn.n = 0;
	if (!len)
		(void)err_set(&why, ERR_NOT_FOUND, "%s: the length of %s is not known",
			      a->target.dso, a->target.name);
	annotate_note(a, "no instructions, only addresses: %s%s%s", why.what,
		      why.hint[0] ? "; " : "", why.hint);
}

static int annotated_by_vaddr(const void *x, const void *y)
{
	const struct annotate_insn *a = x, *b = y;

	return a->in.vaddr < b->in.vaddr ? -1 : a->in.vaddr > b->in.vaddr;
}

size_t annotate_insn_at(const struct annotate *a, uint64_t vaddr)
{
	size_t at;

	bisect(at, a->insn.n, i, a->insn.v[i].in.vaddr > vaddr);
	if (!at--)
		return SIZE_MAX;
	return vaddr == a->insn.v[at].in.vaddr ||
			       vaddr - a->insn.v[at].in.vaddr < a->insn.v[at].in.len
		       ? at
		       : SIZE_MAX;
}

size_t annotate_jump(const struct annotate *a, const struct annotate_insn *i)
{
	size_t to = SIZE_MAX;

	if (i->in.has_target && (i->in.flow == INSN_JUMP || i->in.flow == INSN_COND))
		to = annotate_insn_at(a, i->in.target);
	return to != SIZE_MAX && a->insn.v[to].in.vaddr == i->in.target ? to : SIZE_MAX;
}

/* Puts samples on the instruction that holds `vaddr`; without code each address is its own. */
static void add_annotated_samples(struct annotate *a, uint64_t vaddr, const struct tally *t)
{
	struct annotate_insn *i;
	size_t at;

	if (!a->has_code) {
		i = vec_xadd(&a->insn);
		memset(i, 0, sizeof(*i));
		i->block = CODE_NONE;
		i->in.vaddr = vaddr;
		i->t = *t;
		return;
	}
	at = annotate_insn_at(a, vaddr);
	tally_add(at == SIZE_MAX ? &a->elsewhere.t : &a->insn.v[at].t, t);
}

static void read_annotated_samples(struct annotate *a, const struct profile *p,
				   struct images *images, size_t event)
{
	size_t n;
	const struct profile_row *row = profile_rows(p, &n);

	for (size_t k = 0; k < n; k++) {
		uint64_t vaddr;

		if (row[k].symbol != a->target.symbol || row[k].image != a->target.image ||
		    (!profile_tally(&row[k], event)->samples && !a->opts.all_rows))
			continue;
		if (!image_to_vaddr(images, a->target.image, row[k].key[2], &vaddr))
			vaddr = row[k].key[2];
		add_annotated_samples(a, vaddr, profile_tally(&row[k], event));
	}
	if (!a->has_code) { /* two rows may have one address: two symbols' names, two spaces */
		size_t kept = 0;

		vec_sort(&a->insn, annotated_by_vaddr);
		for (size_t k = 0; k < a->insn.n; k++) {
			if (kept && a->insn.v[kept - 1].in.vaddr == a->insn.v[k].in.vaddr)
				tally_add(&a->insn.v[kept - 1].t, &a->insn.v[k].t);
			else
				a->insn.v[kept++] = a->insn.v[k];
		}
		a->insn.n = kept;
	}
}

static bool same_chain(const struct annotate_inline *a, const struct annotate_inline *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->level[i].function != b->level[i].function ||
		    strcmp(a->level[i].name, b->level[i].name) != 0 ||
		    !same_line(&a->level[i].at, &b->level[i].at))
			return false;
	return true;
}

/* The chain's place, among the latest few: an older one that comes again is kept again. */
static void find_annotated_chain(struct annotate *a, const struct annotate_inline *chain,
				 uint32_t *at)
{
	*at = 0;
	if (!chain->n)
		return;
	for (size_t i = a->inl.n; i > 1 && a->inl.n - i < 16; i--) {
		if (same_chain(&a->inl.v[i - 1], chain)) {
			*at = (uint32_t)(i - 1);
			return;
		}
	}
	*at = (uint32_t)a->inl.n;
	vec_xpush(&a->inl, *chain);
}

static void read_annotated_lines(struct annotate *a, struct images *images)
{
	const struct source *s = source_of(images, a->target.image, NULL);

	a->source = s;
	if (!s) {
		annotate_note(a, "%s has no debug information here: no source lines; %s",
			      a->target.dso, image_debug_lack(images, a->target.image, &a->arena));
		return;
	}
	vec_each (&a->insn, struct annotate_insn *, i) {
		struct annotate_inline chain;

		i->line = source_line(s, i->in.vaddr);
		a->has_lines |= i->line.file != NULL;
		chain.n = source_inlines(s, i->in.vaddr, chain.level, 8);
		find_annotated_chain(a, &chain, &i->inl);
	}
	vec_each (&a->inl, struct annotate_inline *, c)
		for (size_t k = 0; k < c->n; k++)
			c->level[k].name = source_inline_name(s, &c->level[k]);
	if (!a->has_lines)
		annotate_note(a,
			      "%s has debug information, but no lines for this "
			      "function",
			      a->target.dso);
}

static void read_types(struct annotate *a, struct images *images)
{
	struct err why = ERR_INIT; /* no types then */
	struct types *t = types_of(images, a->target.image, &why);

	vec_each (&a->insn, struct annotate_insn *, i)
		types_at(t, i->in.vaddr, false, &i->data);
}

static int annotated_by_place(const void *x, const void *y)
{
	const struct annotate_line *a = x, *b = y;
	int c = strcmp(a->line.file ? a->line.file : "", b->line.file ? b->line.file : "");

	return c ? c : a->line.line < b->line.line ? -1 : a->line.line > b->line.line;
}

static int line_weight(const void *x, const void *y)
{
	const struct annotate_line *a = x, *b = y;

	if (a->t.period != b->t.period)
		return a->t.period > b->t.period ? -1 : 1;
	if (a->t.samples != b->t.samples)
		return a->t.samples > b->t.samples ? -1 : 1;
	return annotated_by_place(x, y);
}

static void sum_lines(struct annotate *a)
{
	size_t kept = 0;

	vec_each (&a->insn, struct annotate_insn *, i) {
		struct annotate_line l = { i->line, i->t };

		vec_xpush(&a->line, l);
	}
	vec_sort(&a->line, annotated_by_place);
	for (size_t k = 0; k < a->line.n; k++) {
		if (kept && same_line(&a->line.v[kept - 1].line, &a->line.v[k].line))
			tally_add(&a->line.v[kept - 1].t, &a->line.v[k].t);
		else
			a->line.v[kept++] = a->line.v[k];
	}
	a->line.n = kept;
	vec_sort(&a->line, line_weight);
}

struct annotate *annotate_build(const struct profile *p, struct images *images, size_t event,
				const char *event_name, const struct annotate_target *target,
				const struct annotate_opts *opts)
{
	static const struct annotate_inline none = { .n = 0 };
	struct annotate *a = xcalloc(1, sizeof(*a));
	const struct profile_sum *sum;
	size_t n_events;

	a->target = *target;
	a->opts = *opts;
	a->opts.places.build_id_len =
		image_build_id(images, target->image, &a->opts.places.build_id);
	a->opts.places.owner = image_owner(images, target->image);
	a->opts.places.elsewhere = opts->places.elsewhere && !image_verified(images, target->image);
	a->event = event_name;
	a->elsewhere.block = CODE_NONE;
	sum = &profile_sums(p, &n_events)[event];
	a->of_all = sum->selected.period
			    ? (double)target->total.period / (double)sum->selected.period
		    : sum->selected.samples
			    ? (double)target->total.samples / (double)sum->selected.samples
			    : 0;
	vec_xpush(&a->inl, none);
	find_range(a, images);
	read_annotated_code(a, images);
	read_annotated_samples(a, p, images, event);
	read_annotated_lines(a, images);
	if (opts->data)
		read_types(a, images);
	sum_lines(a);
	annotate_name_files(a);
	a->origin = image_origin(images, target->image);
	if (!opts->no_source)
		vec_each (&a->line, struct annotate_line *, l)
			(void)annotate_source(a, l->line.file, l->line.line);
	annotate_note_missing(a);
	return a;
}

void annotate_free(struct annotate *a)
{
	if (!a)
		return;
	vec_each (&a->files, struct source_file **, f)
		free(*f);
	vec_free(&a->files);
	source_shelf_free(&a->texts);
	vec_free(&a->names);
	vec_free(&a->hottest);
	vec_free(&a->context);
	vec_free(&a->insn);
	vec_free(&a->line);
	vec_free(&a->inl);
	vec_free(&a->notes);
	arena_free(&a->arena);
	free(a);
}

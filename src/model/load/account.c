/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts: loaded out of the model's texts, and looked into.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "model/load/account_int.h"

static const char *const keys[ACCOUNT_KEY_COUNT] = {
#define KEY(id, text) [id] = text,
#include "model/load/account_key.def"
};

int account_fail(struct account_build *b, const struct raw_value *v, enum account_key key,
		 const char *fmt, ...)
{
	char what[300], shown[64];
	size_t n = 0;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)err_set(b->err, ERR_FORMAT, "%s:%u: %s", v->file ? v->file : "?", v->line, what);
	if (!v->s)
		return -1;
	for (; v->s[n] && n < sizeof(shown) - 1; n++)
		shown[n] = v->s[n] < ' ' || v->s[n] > '~' ? ' ' : v->s[n];
	shown[n] = '\0';
	return err_hint(b->err, "%-9s%s\n%9s^", keys[key], shown, "");
}

static int no_account(const struct model *m, struct err *err)
{
	(void)err_set(err, ERR_NOT_FOUND, "%s has no account of cycles", m->id);
	return err_hint(err,
			"its events can be seen one by one; `cyclade list models -j` tells which "
			"models have one");
}

/* "EVENT [HZ]" */
static int reference(struct account_build *b)
{
	const struct raw_value *v = &b->r->reference;
	size_t n = v->s ? strcspn(v->s, " \t") : 0;

	b->acc->reference = MODEL_NONE;
	b->acc->reference_hz = 0;
	if (!v->s)
		return 0;
	b->acc->reference = model_event_find(b->m, v->s, n);
	if (b->acc->reference == MODEL_NONE)
		return err_set(b->err, ERR_FORMAT, "%s:%u: reference: there is no event %.*s",
			       v->file, v->line, n > 80 ? 80 : (int)n, v->s);
	n += strspn(v->s + n, " \t");
	if (v->s[n] && (num_parse_double(&b->acc->reference_hz, v->s + n, NULL) ||
			!(b->acc->reference_hz > 0)))
		return err_set(b->err, ERR_FORMAT,
			       "%s:%u: expected the clock's rate in Hz behind the event", v->file,
			       v->line);
	return 0;
}

static int build_account(struct account_build *b)
{
	b->row = calloc(b->r->rows.n + 1, sizeof(*b->row));
	if (!b->row)
		return err_nomem(b->err);
	if (account_nodes(b) || reference(b))
		return -1;
	b->acc->model = b->m;
	b->acc->from = b->r->from.s ? b->r->from.s : "";
	return 0;
}

int account_load(struct account **out, struct arena *a, struct model *m,
		 const struct model_sources *s, struct err *err)
{
	struct raw r = { .arena = a, .sources = s, .id = m->id };
	struct account_build b = { .m = m, .a = a, .r = &r, .err = err };
	int got = raw_account(&r, true, err), ret = -1;

	*out = NULL;
	if (got < 0)
		goto out;
	if (got == 0) {
		(void)no_account(m, err);
		goto out;
	}
	if (model_account_events(m, &r, err))
		goto out;
	b.acc = arena_alloc(a, sizeof(*b.acc));
	if (!b.acc) {
		(void)err_nomem(err);
		goto out;
	}
	memset(b.acc, 0, sizeof(*b.acc));
	if (build_account(&b))
		goto out;
	*out = b.acc;
	ret = 0;
out:
	free(b.row);
	free(b.row_of);
	free(b.words);
	raw_free(&r);
	return ret;
}

uint32_t account_find(const struct account *acc, const char *name, size_t len)
{
	for (uint32_t i = 0; i < acc->n; i++)
		if (strlen(acc->node[i].name) == len && !strncasecmp(acc->node[i].name, name, len))
			return i;
	return MODEL_NONE;
}

size_t account_check(const struct account *acc, void (*each)(void *ctx, const char *text),
		     void *ctx)
{
	char text[512];
	size_t n = 0;

	for (size_t i = 0; i < acc->n; i++) {
		const struct account_node *t = &acc->node[i];
		const char *what = NULL;

		if (!*t->says)
			what = "says nowhere what it means (says, in words)";
		else if (!*t->try_ && t->part != PART_INFO && t->part != PART_CYCLES)
			what = "gives no advice (try, in words)";
		else if ((t->cover == COVER_PARTIAL || t->cover == COVER_NONE) && !*t->note)
			what = "is not wholly covered, and does not say why (note)";
		if (!what)
			continue;
		(void)snprintf(text, sizeof(text), "%s:%u: %s %s", t->file, t->line, t->name, what);
		if (each)
			each(ctx, text);
		n++;
	}
	return n;
}

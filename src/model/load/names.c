/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.tab: other names of the models. A line is
 *
 *	ID NAME...
 *
 * Case, '-' and '_' do not matter. A name can stand on several lines: then it is that of a hybrid,
 * whose kinds of cores have a model each; their PMU selects one.
 */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "model/load/model_int.h"

#define KINDS_MAX 8u

struct named {
	struct arena *a;
	const struct model_sources *s;
	const char *name;
	const char *id[KINDS_MAX], *pmu[KINDS_MAX];
	size_t n;
};

static char next_letter(const char **s, const char *end)
{
	while (*s < end && (**s == '-' || **s == '_' || **s == ' '))
		(*s)++;
	return *s < end ? (char)tolower((unsigned char)*(*s)++) : '\0';
}

static bool same_name(const char *a, size_t a_len, const char *b)
{
	const char *a_end = a + a_len, *b_end = b + strlen(b);
	char x, y;

	do {
		x = next_letter(&a, a_end);
		y = next_letter(&b, b_end);
	} while (x && x == y);
	return x == y;
}

/* Adds an id, once. */
static int add_other_name(struct named *n, const char *id, size_t len, struct err *err)
{
	for (size_t i = 0; i < n->n; i++)
		if (strlen(n->id[i]) == len && !memcmp(n->id[i], id, len))
			return 0;
	if (n->n == KINDS_MAX)
		return 0;
	n->id[n->n] = arena_strndup(n->a, id, len);
	if (!n->id[n->n])
		return err_nomem(err);
	if (model_core_pmu(&n->pmu[n->n], n->a, n->s, n->id[n->n], err))
		return -1;
	n->n++;
	return 0;
}

static int look_at_line(struct named *n, const struct line *l, struct err *err)
{
	const char *s = l->value, *end = l->value + l->len;

	while (s < end) {
		const char *word = s;

		while (s < end && *s != ' ' && *s != '\t')
			s++;
		if (s > word && same_name(word, (size_t)(s - word), n->name))
			return add_other_name(n, l->key, l->key_len, err);
		while (s < end && (*s == ' ' || *s == '\t'))
			s++;
	}
	return 0;
}

/* Names of directories go before those compiled in. */
static int look_at_names(struct named *n, struct err *err)
{
	size_t below = SIZE_MAX;

	while (below > 0 && !n->n) {
		struct source_text t;
		struct line l;
		unsigned number = 0;
		size_t at = 0;
		int got = source_read(&t, n->a, n->s, "", "names.tab", below, err);

		if (got <= 0)
			return got;
		while (line_next(&t, &at, &number, &l))
			if (look_at_line(n, &l, err))
				return -1;
		below = t.depth;
	}
	return 0;
}

static int look_at_ids(struct named *n, struct err *err)
{
	const char *const *ids;
	size_t count;

	if (source_list(n->a, n->s, &ids, &count, err))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(ids[i], n->name)) {
			n->n = 0; /* as it is written */
			return add_other_name(n, ids[i], strlen(ids[i]), err);
		}
	for (size_t i = 0; i < count && !n->n; i++)
		if (same_name(ids[i], strlen(ids[i]), n->name) &&
		    add_other_name(n, ids[i], strlen(ids[i]), err))
			return -1;
	return 0;
}

static int which_kind(const struct named *n, struct err *err)
{
	struct buf b = BUF_INIT;
	int rc;

	for (size_t i = 0; i < n->n; i++)
		buf_printf(&b, "%s%s (%s)",
			   !i		  ? ""
			   : i + 1 < n->n ? ", "
					  : " or ",
			   n->id[i], n->pmu[i]);
	(void)err_set(err, ERR_USAGE, "%.60s has several kinds of cores, with a model each",
		      n->name);
	rc = err_hint(err, "name one: %s", buf_str(&b));
	buf_free(&b);
	return rc;
}

int model_named(const char **id, struct arena *a, const struct model_sources *s, const char *name,
		const char *pmu, struct err *err)
{
	struct named n = { .a = a, .s = s, .name = name };

	*id = name; /* loading it fails if there is none */
	if (!*name)
		return 0;
	if (look_at_ids(&n, err) || (!n.n && look_at_names(&n, err)))
		return -1;
	if (n.n <= 1) {
		*id = n.n ? n.id[0] : name;
		return 0;
	}
	for (size_t i = 0; pmu && i < n.n; i++)
		if (!strcmp(n.pmu[i], pmu)) {
			*id = n.id[i];
			return 0;
		}
	return which_kind(&n, err);
}

int model_has_name(bool *yes, struct arena *a, const struct model_sources *s, const char *id,
		   bool (*fits)(const char *pattern, const char *name), const char *pattern,
		   struct err *err)
{
	struct source_text t;
	struct line l;
	unsigned number = 0;
	size_t at = 0;
	int got = source_read(&t, a, s, "", "names.tab", SIZE_MAX, err);

	*yes = false;
	if (got <= 0)
		return got;
	while (!*yes && line_next(&t, &at, &number, &l)) {
		const char *p = l.value, *end = l.value + l.len;

		if (strlen(id) != l.key_len || memcmp(id, l.key, l.key_len) != 0)
			continue;
		while (p < end && !*yes) {
			size_t n = 0;
			const char *word;

			while (p + n < end && p[n] != ' ' && p[n] != '\t')
				n++;
			word = arena_strndup(a, p, n);
			if (!word)
				return err_nomem(err);
			*yes = *word && (fits(pattern, word) || same_name(p, n, pattern));
			p += n + 1;
		}
	}
	return 0;
}

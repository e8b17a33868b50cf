/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ibs_own.h"

#include <ctype.h>
#include <string.h>

#include "store/schema.h"

struct reader {
	struct ibs_own *own;
	struct arena *a;
	const char *path, *where; /* where: FILE:LINE of the line at hand */
	struct ibs_event *e;	  /* the last one; NULL: none yet */
	struct err *err;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts the first word off a line; the rest begins with no blank. */
static const char *own_word_of(char **line)
{
	char *w = *line, *end = w;

	while (*end && !is_blank(*end))
		end++;
	if (*end)
		*end++ = '\0';
	while (is_blank(*end))
		end++;
	*line = end;
	return w;
}

static bool is_own_name(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		if (!(isalpha((unsigned char)s[n]) || s[n] == '_' ||
		      (n && isdigit((unsigned char)s[n]))))
			return false;
	return n && n <= IBS_OWN_NAME_MAX;
}

static bool is_table(const char *name)
{
	struct store_table_row row[STORE_TABLES];

	store_tables(row);
	for (int i = 0; i < STORE_TABLES; i++)
		if (!strcasecmp(row[i].name, name))
			return true;
	return false;
}

static int check_own_name(struct reader *r, const char *name)
{
	const struct ibs_event *e = ibs_event_find(r->own, name);

	if (!is_own_name(name))
		return err_set(r->err, ERR_USAGE,
			       "'%.80s' is no name: letters, digits and _, at most %u of them",
			       name, IBS_OWN_NAME_MAX);
	if (e && e->from)
		return err_set(r->err, ERR_USAGE, "%s is at %s already", e->name, e->from);
	if (e)
		return err_set(r->err, ERR_USAGE, "%s is an event of AMD's", name);
	if (is_table(name))
		return err_set(r->err, ERR_USAGE, "%s is a table of SQL", name);
	return 0;
}

/* The last event is whole. */
static int own_complete(const struct reader *r)
{
	if (!r->e || *r->e->predicate)
		return 0;
	(void)err_set(r->err, ERR_USAGE, "%s: event %s has no line `where`", r->e->from,
		      r->e->name);
	return err_hint(r->err, "where load AND dc_miss");
}

static int on_event(struct reader *r, char *rest)
{
	const char *name = own_word_of(&rest), *table = own_word_of(&rest);
	struct ibs_event *more;

	if (check_own_name(r, name))
		return -1;
	if ((strcmp(table, "ibs_op") != 0 && strcmp(table, "ibs_fetch") != 0) || *rest) {
		(void)err_set(r->err, ERR_USAGE,
			      "event %s: a table is missing: ibs_op or ibs_fetch", name);
		return err_hint(r->err, "event %s ibs_op", name);
	}
	more = arena_alloc(r->a, (r->own->n + 1) * sizeof(*more));
	if (!more)
		return err_nomem(r->err);
	if (r->own->n)
		memcpy(more, r->own->event, r->own->n * sizeof(*more));
	r->own->event = more;
	r->e = &more[r->own->n++];
	*r->e = (struct ibs_event){ .name = name,
				    .table = table,
				    .predicate = "",
				    .value = "",
				    .means = "",
				    .from = r->where };
	return 0;
}

static int set_once(struct reader *r, const char **to, const char *key, const char *text)
{
	if (!r->e)
		return err_set(r->err, ERR_USAGE, "%s: there is no line `event` before it", key);
	if (**to)
		return err_set(r->err, ERR_USAGE, "event %s has two lines `%s`", r->e->name, key);
	if (!*text)
		return err_set(r->err, ERR_USAGE, "%s: nothing follows", key);
	*to = text;
	return 0;
}

static int set_expression(struct reader *r, const char **to, const char *key, const char *text)
{
	if (strchr(text, ';') || strstr(text, "--") || strstr(text, "/*"))
		return err_set(r->err, ERR_USAGE, "%s: an expression has no ; and no comments",
			       key);
	return set_once(r, to, key, text);
}

static int own_on_line(struct reader *r, char *line)
{
	const char *key = own_word_of(&line);
	size_t len = strlen(line);

	while (len && is_blank(line[len - 1]))
		line[--len] = '\0';
	if (!*key || *key == '#')
		return 0;
	if (!strcmp(key, "event"))
		return own_complete(r) ? -1 : on_event(r, line);
	if (!strcmp(key, "where"))
		return set_expression(r, r->e ? &r->e->predicate : NULL, key, line);
	if (!strcmp(key, "value"))
		return set_expression(r, r->e ? &r->e->value : NULL, key, line);
	if (!strcmp(key, "says"))
		return set_once(r, r->e ? &r->e->means : NULL, key, line);
	return err_set(r->err, ERR_USAGE, "'%.40s' is none of event, where, value, says", key);
}

static int one_line(struct reader *r, const char *text, size_t len, unsigned number)
{
	char *line;

	while (len && is_blank(*text)) {
		text++;
		len--;
	}
	line = arena_strndup(r->a, text, len);
	r->where = arena_printf(r->a, "%s:%u", r->path, number);
	if (!line || !r->where)
		return err_nomem(r->err);
	if (memchr(text, '\0', len))
		return err_set(r->err, ERR_USAGE, "%s: a zero byte", r->where);
	if (!own_on_line(r, line))
		return 0;
	/* an event that is not whole has its own place */
	return strncmp(r->err->what, r->path, strlen(r->path)) != 0
		       ? err_prefix(r->err, "%s", r->where)
		       : -1;
}

int ibs_own_parse(struct ibs_own *own, struct arena *a, const char *path, const char *text,
		  size_t len, struct err *err)
{
	struct reader r = { .own = own, .a = a, .path = path, .err = err };

	for (unsigned number = 1; len; number++) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;

		if (one_line(&r, text, line, number))
			return -1;
		line += end != NULL;
		text += line;
		len -= line;
	}
	if (own_complete(&r))
		return -1;
	for (size_t i = 0; i < own->n; i++)
		if (!*own->event[i].value)
			own->event[i].value = "1";
	return 0;
}

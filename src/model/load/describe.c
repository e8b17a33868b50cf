/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptions of events: Intel's texts (models/descriptions.zst, packed as its importer wrote it)
 * and our own (models/descriptions). Both are lines: `=EVENT`, then for each text of that event the
 * models or the vendor that it is for, a tab and the text. `!` before these: the other file's text
 * is wrong.
 */
#include <string.h>
#include <strings.h>
#include <zstd.h>

#include "model/load/model_int.h"

#define UNPACKED_MAX (16u << 20)

struct piece {
	const char *s;
	size_t len;
};

static bool next_line(struct piece *rest, struct piece *line)
{
	const char *end;

	if (!rest->len)
		return false;
	end = memchr(rest->s, '\n', rest->len);
	line->s = rest->s;
	line->len = end ? (size_t)(end - rest->s) : rest->len;
	rest->s += line->len + (end != NULL);
	rest->len -= line->len + (end != NULL);
	return true;
}

/* `=NAME` or `=START*` */
static bool names_event(const struct piece *l, const char *event, size_t len)
{
	if (!l->len || *l->s != '=')
		return false;
	if (l->len > 1 && l->s[l->len - 1] == '*')
		return len >= l->len - 2 && !strncasecmp(l->s + 1, event, l->len - 2);
	return l->len - 1 == len && !strncasecmp(l->s + 1, event, len);
}

/* Is one of the words before the tab the model or its vendor? */
static bool is_for(struct piece who, const struct model *m)
{
	while (who.len) {
		const char *comma = memchr(who.s, ',', who.len);
		size_t n = comma ? (size_t)(comma - who.s) : who.len;

		if ((strlen(m->id) == n && !memcmp(who.s, m->id, n)) ||
		    (strlen(m->vendor) == n && !memcmp(who.s, m->vendor, n)))
			return true;
		who.s += n + (comma != NULL);
		who.len -= n + (comma != NULL);
	}
	return false;
}

static void take_description(const struct piece *l, const struct model *m, struct piece *text,
			     struct piece *wrong)
{
	const char *tab = memchr(l->s, '\t', l->len);
	bool mark = l->len && *l->s == '!';
	struct piece who = { l->s + mark, tab ? (size_t)(tab - l->s) - mark : 0 };
	struct piece *to = mark ? wrong : text;

	if (tab && !to->s && is_for(who, m))
		*to = (struct piece){ tab + 1, (size_t)(l->s + l->len - tab - 1) };
}

static void find_in(struct piece rest, const struct model *m, const char *event, struct piece *text,
		    struct piece *wrong)
{
	size_t len = strcspn(event, ":"); /* options of the formula */
	struct piece line;
	bool here = false;

	while (next_line(&rest, &line)) {
		if (line.len && *line.s == '=')
			here = names_event(&line, event, len);
		else if (here)
			take_description(&line, m, text, wrong);
	}
}

static int unpack(struct piece *out, struct arena *a, const struct source_text *t, struct err *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(t->s, t->len);
	char *s;

	if (size > UNPACKED_MAX)
		return err_set(err, ERR_FORMAT, "%s: not packed as it should be", t->file);
	s = arena_alloc(a, (size_t)size + 1);
	if (!s)
		return err_nomem(err);
	if (ZSTD_decompress(s, (size_t)size, t->s, t->len) != size)
		return err_set(err, ERR_FORMAT, "%s: cannot be unpacked", t->file);
	*out = (struct piece){ s, (size_t)size };
	return 0;
}

static int copy(const char **out, struct arena *a, const struct piece *p, struct err *err)
{
	*out = p->s ? arena_strndup(a, p->s, p->len) : NULL;
	return p->s && !*out ? err_nomem(err) : 0;
}

int model_describe(struct model_words *out, struct arena *a, const struct model *m,
		   const char *event, struct err *err)
{
	struct source_text own = { 0 }, vendor = { 0 };
	struct piece text = { NULL, 0 }, wrong = text, packed;

	*out = (struct model_words){ NULL, NULL, false };
	if (source_embedded(&own, a, "descriptions", err) < 0 ||
	    source_embedded(&vendor, a, "descriptions.zst", err) < 0)
		return -1;
	if (own.s)
		find_in((struct piece){ own.s, own.len }, m, event, &text, &wrong);
	if (!text.s && vendor.s) {
		if (unpack(&packed, a, &vendor, err))
			return -1;
		find_in(packed, m, event, &text, &wrong);
		out->vendors = text.s != NULL;
	}
	return copy(&out->text, a, &text, err) || copy(&out->wrong, a, &wrong, err) ? -1 : 0;
}

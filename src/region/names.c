/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <strings.h>

#include "region/sums.h"

#define WISHES 64 /* more than events that can be counted */

static unsigned tree_level(const char *name, size_t len)
{
	if (len == 7 && !strncasecmp(name, "topdown", len))
		return 1;
	if (len == 10 && !strncasecmp(name, "topdown.l", 9) && name[9] >= '1' && name[9] <= '6')
		return (unsigned)(name[9] - '0');
	return 0;
}

static void fill_wish(struct wish *w, const char *name, struct model *const *model, size_t n_parts)
{
	size_t len = strlen(name);

	*w = (struct wish){ .kind = WISH_EVENT, .name = name, .level = tree_level(name, len) };
	if (w->level)
		w->kind = WISH_TREE;
	for (size_t i = 0; i < TABLE_PARTS; i++) {
		w->metric[i] = i < n_parts && model[i] && !w->level
				       ? model_metric_named(model[i], name, len)
				       : MODEL_NONE;
		if (w->metric[i] != MODEL_NONE)
			w->kind = WISH_METRIC;
	}
}

/* The next name, without blanks around it; an event's own commas stand between slashes. */
static size_t next_name(const char **names, const char **name)
{
	const char *s = *names + strspn(*names, " \t\n");
	bool inside = false;
	size_t n = 0;

	for (; s[n] && (inside || s[n] != ','); n++)
		inside ^= s[n] == '/';
	*name = s;
	*names = s + n + (s[n] == ',');
	while (n && strchr(" \t\n", s[n - 1]))
		n--;
	return n;
}

int wishes_read(struct wish **out, size_t *n, struct arena *a, const char *names,
		struct model *const *model, size_t n_parts, struct err *err)
{
	size_t most = 1;

	for (const char *s = names; *s; s++)
		most += *s == ',';
	*n = 0;
	*out = arena_alloc(a, most * sizeof(**out));
	if (!*out)
		return err_nomem(err);
	while (*names) {
		const char *at;
		size_t len = next_name(&names, &at);
		char *name = arena_strndup(a, at, len);

		if (!name)
			return err_nomem(err);
		if (len && *n < WISHES)
			fill_wish(&(*out)[(*n)++], name, model, n_parts);
	}
	return 0;
}

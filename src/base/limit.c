/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/limit.h"

#include <ctype.h>
#include <string.h>

#include "base/num.h"

static int refuse(const char *text, const char *what, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "'%.60s': %s", text, what);
	return err_hint(err, "NAME > +2%% fails if it grows, NAME < -2%% if it shrinks");
}

static const char *trimmed(struct arena *a, const char *s, size_t n)
{
	while (n && isspace((unsigned char)*s)) {
		s++;
		n--;
	}
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return arena_strndup(a, s, n);
}

int limit_parse(struct limit *out, struct arena *a, const char *text, struct err *err)
{
	size_t n = strcspn(text, "<>"), len;
	const char *number;
	bool minus;

	*out = (struct limit){ .above = text[n] == '>' };
	if (!text[n])
		return refuse(text, "there is no > or <", err);
	out->text = trimmed(a, text, strlen(text));
	out->name = trimmed(a, text, n);
	number = trimmed(a, text + n + 1, strlen(text + n + 1));
	if (!out->text || !out->name || !number)
		return err_nomem(err);
	len = strlen(number);
	if (!*out->name)
		return refuse(text, "there is no name before the sign", err);
	if (!len || number[len - 1] != '%')
		return refuse(text, "the limit is no percentage", err);
	minus = *number == '-';
	number =
		trimmed(a, number + (minus || *number == '+'), len - 1 - (minus || *number == '+'));
	if (!number)
		return err_nomem(err);
	if (num_parse_double(&out->at, number, NULL))
		return refuse(text, "the limit is no number", err);
	if (out->at > 0 && out->above == minus)
		return refuse(text, "the limit is on the other side of 0", err);
	out->at /= minus ? -100 : 100;
	return 0;
}

bool limit_broken(const struct limit *l, double change, bool sure)
{
	return sure && (l->above ? change > l->at : change < l->at);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/limit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

enum { SHOWN = 120 }; /* of a text that is refused */

static int wrong(const char *text, const char *at, const char *what, struct err *err)
{
	(void)err_set(err, ERR_USAGE, "%s", what);
	return err_hint(err, "%.*s\n%*s^", SHOWN, text,
			(int)(at - text < SHOWN ? at - text : SHOWN), "");
}

static const char *skip_limit_blanks(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static int parse_limit_value(struct limit *l, const char *s, struct err *err)
{
	char digits[NUM_MAX];
	bool minus = *s == '-';
	const char *from = s, *number = s + (*s == '+' || *s == '-');
	size_t n = strspn(number, "0123456789.");

	if (!n || n >= sizeof(digits))
		return wrong(l->text, number, "a number in per cent must stand here", err);
	memcpy(digits, number, n);
	digits[n] = 0;
	if (num_parse_double(&l->at, digits, NULL))
		return wrong(l->text, number, "this is no number", err);
	s = skip_limit_blanks(number + n);
	if (*s != '%')
		return wrong(l->text, s, "a % must stand here", err);
	s = skip_limit_blanks(s + 1);
	if (*s)
		return wrong(l->text, s, "nothing may stand behind the %", err);
	if (l->at > 0 && l->above == minus)
		return wrong(l->text, from,
			     "the limit is on the other side of 0: NAME > +2% fails if it grows, "
			     "NAME < -2% if it shrinks",
			     err);
	l->at *= minus ? -0.01 : 0.01;
	return 0;
}

int limit_parse(struct limit *out, struct arena *a, const char *text, struct err *err)
{
	const char *s = skip_limit_blanks(text), *op = s + strlen(s), *end;
	bool function = !strncmp(s, LIMIT_FUNCTION, strlen(LIMIT_FUNCTION));
	const char *name = function ? s + strlen(LIMIT_FUNCTION) : s;

	*out = (struct limit){ .text = arena_strdup(a, text) };
	if (!out->text)
		return err_nomem(err);
	while (op > name && *op != '<' && *op != '>')
		op--;
	if (*op != '<' && *op != '>')
		return wrong(text, text + strlen(text), "a > or < is missing: 'cycles > +2%'", err);
	for (end = op; end > name && isspace((unsigned char)end[-1]);)
		end--;
	if (end > name && !function && (end[-1] == '<' || end[-1] == '>'))
		return wrong(text, op, "one > or < is enough", err);
	if (end == name)
		return wrong(text, name,
			     "a name must stand here: an event, a node, " LIMIT_FUNCTION "NAME",
			     err);
	out->name = arena_strndup(a, s, (size_t)(end - s));
	if (!out->name)
		return err_nomem(err);
	out->above = *op == '>';
	/* the copy: the fault is shown in it */
	return parse_limit_value(out, skip_limit_blanks(out->text + (op - text) + 1), err);
}

bool limit_broken(const struct limit *l, double change, bool sure)
{
	return sure && (l->above ? change > l->at : change < l->at);
}

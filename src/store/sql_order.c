/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order of addresses. SQL's numbers are signed: an address from 2^63 on is negative, equal to
 * itself but less than all others. A query that would go wrong by this is refused or has a note.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/sql_int.h"

struct order_scan {
	const char *p;
	const char *word;
	size_t len;
	bool ordered;	/* the token before, plain parentheses aside, compares */
	bool is_call;	/* it is a name */
	bool between;	/* an AND is to come that is not a conjunction */
	size_t opened;	/* plain parentheses since it */
	bool any;	/* something of the query orders */
	bool high;	/* there is a literal from 2^63 on */
	bool as_people; /* address_order() is used */
};

static bool word_is(const struct order_scan *s, const char *what)
{
	return s->len == strlen(what) && !strncasecmp(s->word, what, s->len);
}

/* Reads the next token; returns false at the end. Comments and quoted text are tokens, too. */
static bool scan_token(struct order_scan *s)
{
	const char *p = s->p + strspn(s->p, " \t\r\n\f");

	s->word = p;
	if (!*p)
		return false;
	if (strchr("'\"`[", *p)) {
		const char *end = strchr(p + 1, *p == '[' ? ']' : *p);

		p = end ? end + 1 : p + strlen(p);
	} else if (!strncmp(p, "--", 2)) {
		p += strcspn(p, "\n");
	} else if (!strncmp(p, "/*", 2)) {
		const char *end = strstr(p + 2, "*/");

		p = end ? end + 2 : p + strlen(p);
	} else if (isalnum((unsigned char)*p) || *p == '_' || (unsigned char)*p >= 0x80) {
		while (isalnum((unsigned char)*p) || *p == '_' || (unsigned char)*p >= 0x80)
			p++;
	} else if (!strncmp(p, "->>", 3)) {
		p += 3;
	} else if (*p && p[1] && (strchr("<>", *p) || *p == '-') && strchr("<>=", p[1])) {
		p += 2;
	} else {
		p++;
	}
	s->len = (size_t)(p - s->word);
	s->p = p;
	return true;
}

static bool compares(const struct order_scan *s)
{
	return word_is(s, "<") || word_is(s, "<=") || word_is(s, ">") || word_is(s, ">=") ||
	       word_is(s, "BETWEEN");
}

static bool is_order_high(const struct order_scan *s)
{
	return s->len > 2 && s->word[0] == '0' && (s->word[1] | 32) == 'x' &&
	       strtoull(s->word, NULL, 16) > INT64_MAX;
}

/* Returns true if a comparison follows the literal, behind the parentheses around it. */
static bool compared_after(const struct order_scan *literal)
{
	struct order_scan s = *literal;
	size_t closed = 0;

	while (scan_token(&s))
		if (!word_is(&s, ")") || s.is_call || closed++ == literal->opened)
			return compares(&s) || word_is(&s, "NOT");
	return false;
}

/* Returns true if s->word is a literal that a comparison would take for a negative number. */
static bool goes_wrong(struct order_scan *s)
{
	while (scan_token(s)) {
		if (!strncmp(s->word, "--", 2) || !strncmp(s->word, "/*", 2))
			continue;
		if (word_is(s, "(")) {
			s->opened++;
			continue;
		}
		if (is_order_high(s)) {
			s->high = true;
			if (!(s->is_call && s->opened) && (s->ordered || compared_after(s)))
				return true;
		}
		s->ordered = compares(s) || (s->between && word_is(s, "AND"));
		s->between = word_is(s, "BETWEEN") || (s->between && !word_is(s, "AND"));
		s->any |=
			s->ordered || word_is(s, "ORDER") || word_is(s, "min") || word_is(s, "max");
		s->as_people |= word_is(s, "address_order");
		s->is_call = isalpha((unsigned char)*s->word) && !s->ordered &&
			     !word_is(s, "AND") && !word_is(s, "OR") && !word_is(s, "NOT") &&
			     !word_is(s, "WHERE") && !word_is(s, "WHEN") && !word_is(s, "HAVING") &&
			     !word_is(s, "SELECT") && !word_is(s, "ON") && !word_is(s, "THEN") &&
			     !word_is(s, "ELSE") && !word_is(s, "BY");
		s->opened = 0;
	}
	return false;
}

int sql_order_check(const char *query, struct err *err)
{
	struct order_scan s = { .p = query };

	if (!goes_wrong(&s))
		return 0;
	(void)err_set(err, ERR_USAGE,
		      "%.*s is a negative number in SQL: the comparison would select other "
		      "addresses",
		      (int)(s.len < 40 ? s.len : 40), s.word);
	return err_hint(err,
			"compare as unsigned: address_order(ip) >= address_order(%.*s); for kernel "
			"or user there is in_kernel",
			(int)(s.len < 40 ? s.len : 40), s.word);
}

void sql_order_doubts(const struct sql *db, const char *query, struct document *d)
{
	struct order_scan s = { .p = query };

	if (!goes_wrong(&s) && s.any && !s.as_people && (db->high || s.high))
		document_note(d,
			      "addresses from 2^63 on (the kernel's) are negative in SQL, so <, >, "
			      "ORDER BY, min and max of addresses put them first: order by "
			      "address_order(ip), compare address_order(ip) with "
			      "address_order(0x...)");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of both languages. As in perf, the longest word wins and a number goes before a name of
 * the same length: "128" is a number, "128B" a name.
 */
#include <stdlib.h>
#include <string.h>

#include "model/expr/expr_int.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '.';
}

/* The character at `at`, or '\0' at the end: formulas hold no NUL (if one does, it is an invalid
 * character). */
static char peek(const struct expr_text *t, size_t at)
{
	return at < t->len ? t->s[at] : '\0';
}

static size_t digits(const struct expr_text *t, size_t at)
{
	size_t n = 0;

	while (is_digit(peek(t, at + n)))
		n++;
	return n;
}

/* Length of the number at `at`: ([0-9]+\.?[0-9]*|[0-9]*\.?[0-9]+)(e-?[0-9]+)? ; 0: none. */
static size_t number_len(const struct expr_text *t, size_t at)
{
	bool sheet = t->dialect == EXPR_SHEET;
	size_t whole = digits(t, at), n = whole, exp;
	char c;

	if (peek(t, at + n) == '.') {
		size_t part = digits(t, at + n + 1);

		if (!whole && !part)
			return 0;
		n += 1 + part;
	} else if (!whole) {
		return 0;
	}
	c = peek(t, at + n);
	if (c != 'e' && !(sheet && c == 'E'))
		return n;
	exp = 1;
	c = peek(t, at + n + 1);
	if (c == '-' || (sheet && c == '+'))
		exp++;
	if (!digits(t, at + n + exp))
		return n;
	return n + exp + digits(t, at + n + exp);
}

/* perf's: any run of word characters, ':', '@', '?', and '-', ',', '=' behind a backslash. */
static size_t name_len_perf(const struct expr_text *t, size_t at)
{
	size_t n = 0;

	if (peek(t, at) == '#') {
		do
			n++;
		while (is_word(peek(t, at + n)) || peek(t, at + n) == '-');
		return n > 1 ? n : 0;
	}
	for (;;) {
		char c = peek(t, at + n);

		if (is_word(c) || c == ':' || c == '@' || c == '?')
			n++;
		else if (c == '\\' && peek(t, at + n + 1) && strchr("-,=", peek(t, at + n + 1)))
			n += 2;
		else
			return n;
	}
}

/* The sheet's: a word with options behind colons (which may hold '='), "(%)" and "[0]". */
static size_t name_len_sheet(const struct expr_text *t, size_t at)
{
	size_t n = 0;
	bool option = false;

	if (peek(t, at) == '$')
		n = 1;
	while (peek(t, at + n) == '#' && n < 2)
		n++;
	if (!is_word(peek(t, at + n)))
		return 0;
	for (;; n++) {
		char c = peek(t, at + n), next = peek(t, at + n + 1);

		if (is_word(c))
			continue;
		if (c == ':' && is_word(next))
			option = true;
		else if (!(c == '=' && option && is_word(next)))
			break;
	}
	if (at + n + 3 <= t->len && !memcmp(t->s + at + n, "(%)", 3))
		return n + 3;
	if (peek(t, at + n) == '[' && digits(t, at + n + 1) &&
	    peek(t, at + n + 1 + digits(t, at + n + 1)) == ']')
		return n + 2 + digits(t, at + n + 1);
	return n;
}

struct word {
	const char *s;
	enum expr_token_kind kind;
	enum expr_op op;
	enum expr_ask ask;
	bool perf_only;
};

static const struct word words[] = {
	{ "d_ratio", T_CALL, OP_RATIO, ASK_NAME, true },
	{ "else", T_ELSE, OP_IF, ASK_NAME, false },
	{ "has_event", T_QUERY, OP_NUMBER, ASK_HAS_EVENT, true },
	{ "if", T_IF, OP_IF, ASK_NAME, false },
	{ "max", T_CALL, OP_MAX, ASK_NAME, false },
	{ "min", T_CALL, OP_MIN, ASK_NAME, false },
	{ "NaN", T_NAN, OP_ABSENT, ASK_NAME, true },
	{ "source_count", T_QUERY, OP_NUMBER, ASK_SOURCE_COUNT, true },
	{ "strcmp_cpuid_str", T_QUERY, OP_NUMBER, ASK_CPUID, true },
};

static void keyword(const struct expr_text *t, struct expr_token *tok)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct word *w = &words[i];

		if (strlen(w->s) != tok->len || memcmp(w->s, t->s + tok->at, tok->len))
			continue;
		if (w->perf_only && t->dialect != EXPR_PERF)
			continue;
		tok->kind = w->kind;
		tok->op = w->op;
		tok->ask = w->ask;
		return;
	}
}

static size_t spaces(const struct expr_text *t, size_t at)
{
	size_t n = 0;

	for (;; n++) {
		char c = peek(t, at + n);

		if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
			return n;
	}
}

static struct expr_token operator(const struct expr_text *t, struct expr_token tok)
{
	char c = peek(t, tok.at);
	size_t gap = spaces(t, tok.at + 1);
	char next = peek(t, tok.at + 1);

	tok.kind = T_OP;
	tok.len = 1;
	if (t->dialect == EXPR_SHEET) {
		/* perfmon writes "> =" here and there */
		if ((c == '<' || c == '>') && peek(t, tok.at + 1 + gap) == '=') {
			tok.op = c == '<' ? OP_LE : OP_GE;
			tok.len = 2 + gap;
			return tok;
		}
		if (c == '=' && next == '=') {
			tok.op = OP_EQ;
			tok.len = 2;
			return tok;
		}
		if ((c == '&' || c == '|') && next == c)
			tok.len = 2;
	}
	for (int op = 0; op < OP_COUNT; op++) {
		const struct expr_op_facts *f = &expr_op_facts[op];

		if (f->prec && f->text[0] == c && !f->text[1]) {
			tok.op = (enum expr_op)op;
			return tok;
		}
	}
	tok.kind = T_BAD;
	tok.why = c == '=' ? (t->dialect == EXPR_SHEET ? "to compare is =="
						       : "there is no = here, only < and >")
			   : "this character means nothing here";
	return tok;
}

static struct expr_token word(const struct expr_text *t, struct expr_token tok)
{
	size_t number = number_len(t, tok.at);
	size_t name = t->dialect == EXPR_PERF ? name_len_perf(t, tok.at)
		      : number		      ? 0
					      : name_len_sheet(t, tok.at);
	char copy[64];

	if (!number && !name)
		return operator(t, tok);
	if (name > number) {
		tok.kind = T_NAME;
		tok.len = name;
		keyword(t, &tok);
		return tok;
	}
	tok.kind = T_NUMBER;
	tok.len = number;
	if (number >= sizeof(copy)) {
		tok.kind = T_BAD;
		tok.why = "a number of 64 or more digits";
		return tok;
	}
	memcpy(copy, t->s + tok.at, number);
	copy[number] = '\0';
	tok.number = strtod(copy, NULL);
	if (t->dialect == EXPR_SHEET && is_word(peek(t, tok.at + number))) {
		tok.kind = T_BAD;
		tok.why = "a number that runs into a name";
	}
	return tok;
}

static struct expr_token quoted(const struct expr_text *t, struct expr_token tok)
{
	const char *end = memchr(t->s + tok.at + 1, '"', t->len - tok.at - 1);

	if (!end || end == t->s + tok.at + 1) {
		tok.kind = T_BAD;
		tok.why = "a quote that encloses no name";
		tok.len = 1;
		return tok;
	}
	tok.kind = T_NAME;
	tok.len = (size_t)(end - t->s) - tok.at + 1;
	return tok;
}

struct expr_token expr_lex(const struct expr_text *t, size_t at)
{
	struct expr_token tok = { .at = at + spaces(t, at) };

	/* behind a sheet's `;` are tags */
	if (tok.at >= t->len || (t->dialect == EXPR_SHEET && t->s[tok.at] == ';'))
		return tok;
	tok.len = 1;
	switch (t->s[tok.at]) {
	case '(':
		tok.kind = T_OPEN;
		return tok;
	case ')':
		tok.kind = T_CLOSE;
		return tok;
	case ',':
		tok.kind = T_COMMA;
		return tok;
	case '"':
		if (t->dialect == EXPR_SHEET)
			return quoted(t, tok);
		break;
	default:
		break;
	}
	return word(t, tok);
}

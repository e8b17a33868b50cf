/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/trace_filter.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "collect/tracing.h"

#define TEXT_MOST  4096u /* a page, of which the kernel takes a filter */
#define VALUE_MOST 255u	 /* of a text in quotes */
#define DEPTH_MOST 64u
#define FIELDS_MAX 1030u

struct checking {
	const char *text, *at;
	const struct trace_format *f;
	const char *event;
	unsigned depth;
	struct err *err;
};

/* What a field is to the kernel. */
enum filter_kind { FILTER_NUMBER, FILTER_TEXT, FILTER_NEITHER };

/* Beside those of the format. */
static const struct {
	const char *name;
	enum filter_kind kind;
} generic[] = {
	{ "CPU", FILTER_NUMBER }, { "cpu", FILTER_NUMBER }, { "common_cpu", FILTER_NUMBER },
	{ "COMM", FILTER_TEXT },  { "comm", FILTER_TEXT },  { "common_comm", FILTER_TEXT }
};
#define N_GENERIC (sizeof(generic) / sizeof(*generic))

static int bad(struct checking *c, const char *at, const char *fmt, ...) PRINTF_(3, 4);

static int bad(struct checking *c, const char *at, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)err_set(c->err, ERR_USAGE, "--filter of %.80s (column %zu): %s", c->event,
		      (size_t)(at - c->text) + 1, what);
	return err_point(c->err, c->text, strlen(c->text), (size_t)(at - c->text), 60, 100);
}

static void skip_blanks(struct checking *c)
{
	while (isspace((unsigned char)*c->at))
		c->at++;
}

static size_t word_at(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static enum filter_kind kind_of(const struct trace_field *f)
{
	bool text = f->kind == TRACE_POINTER &&
		    (!strcmp(f->type, "char *") || !strcmp(f->type, "const char *"));

	return f->kind == TRACE_TEXT || text ? FILTER_TEXT
	       : f->kind == TRACE_LIST	     ? FILTER_NEITHER
					     : FILTER_NUMBER;
}

static int no_field(struct checking *c, const char *at, size_t len)
{
	const char *names[FIELDS_MAX + N_GENERIC + 1], *near;
	char word[64];
	size_t n = 0;

	for (size_t i = 0; i < c->f->n && n < FIELDS_MAX; i++)
		names[n++] = c->f->field[i].name;
	for (size_t i = 0; i < N_GENERIC; i++)
		names[n++] = generic[i].name;
	names[n] = NULL;
	(void)snprintf(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), at);
	near = text_nearest(word, names);
	if (near)
		return bad(c, at, "no field is '%s'; did you mean %s?", word, near);
	return bad(c, at, "no field is '%s'; cyclade list events '%.80s' shows them", word,
		   c->event);
}

static int take_field(struct checking *c, enum filter_kind *kind, const struct trace_field **field)
{
	size_t len = word_at(c->at);
	char word[128];

	*field = NULL;
	if (!len)
		return bad(c, c->at,
			   *c->at ? "a field's name belongs here"
				  : "the text ends where a field's name belongs");
	if (len >= sizeof(word))
		return no_field(c, c->at, len);
	memcpy(word, c->at, len);
	word[len] = '\0';
	*field = trace_field_of(c->f, word);
	*kind = *field ? kind_of(*field) : FILTER_NEITHER;
	for (size_t i = 0; !*field && i < N_GENERIC; i++)
		if (!strcmp(word, generic[i].name)) {
			*kind = generic[i].kind;
			c->at += len;
			return 0;
		}
	if (!*field)
		return no_field(c, c->at, len);
	if (*kind == FILTER_NEITHER)
		return bad(c, c->at, "'%s' is an array; the kernel compares numbers and texts",
			   word);
	c->at += len;
	if (!strncmp(c->at, ".ustring", 8)) {
		if (*kind != FILTER_TEXT)
			return bad(c, c->at, "'%s' is no text", word);
		c->at += 8;
	}
	return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

enum op { OP_EQ, OP_NE, OP_GLOB, OP_LE, OP_LT, OP_GE, OP_GT, OP_AND, OPS };

static int take_op(struct checking *c, enum op *op)
{
	static const char *const ops[] = { "==", "!=", "~", "<=", "<", ">=", ">", "&" };

	for (int i = 0; i < OPS; i++)
		if (!strncmp(c->at, ops[i], strlen(ops[i])) && !(i == OP_AND && c->at[1] == '&')) {
			*op = (enum op)i;
			c->at += strlen(ops[i]);
			return 0;
		}
	if (*c->at == '=')
		return bad(c, c->at, "'=' is no comparison; did you mean ==?");
	return bad(c, c->at,
		   "a comparison belongs here: ==, !=, <, <=, >, >=, & of numbers, ==, !=, ~ of "
		   "texts");
}

static int take_text(struct checking *c, enum filter_kind kind, enum op op, const char *op_at)
{
	const char *end = strchr(c->at + 1, *c->at);

	if (op != OP_EQ && op != OP_NE && op != OP_GLOB)
		return bad(c, op_at, "texts are compared by ==, != and ~");
	if (kind != FILTER_TEXT)
		return bad(c, c->at, "the field is a number");
	if (!end)
		return bad(c, c->at, "this quote has no end");
	if ((size_t)(end - c->at - 1) > VALUE_MOST)
		return bad(c, c->at, "the kernel takes at most %u bytes of a text", VALUE_MOST);
	c->at = end + 1;
	return 0;
}

/* As the kernel reads it: 10, -1, 0x1f, 017. */
static bool number_fits(const char *s, size_t len, const struct trace_field *f)
{
	bool minus = len && *s == '-', is_signed = !f || f->is_signed;
	uint64_t v = 0, most = minus ? (uint64_t)1 << 63 : is_signed ? INT64_MAX : UINT64_MAX;
	unsigned base = 10;
	size_t i = minus;

	if (minus && !is_signed)
		return false;
	if (len - i > 2 && s[i] == '0' && (s[i + 1] | 0x20) == 'x') {
		base = 16;
		i += 2;
	} else if (len - i > 1 && s[i] == '0') {
		base = 8;
		i++;
	}
	if (i == len)
		return false;
	for (; i < len; i++) {
		char ch = (char)(s[i] | 0x20);
		unsigned digit = isdigit((unsigned char)s[i]) ? (unsigned)(s[i] - '0')
				 : ch >= 'a' && ch <= 'f'     ? (unsigned)(ch - 'a') + 10
							      : 99;

		if (digit >= base || v > (most - digit) / base)
			return false;
		v = v * base + digit;
	}
	return true;
}

static int take_number(struct checking *c, enum filter_kind kind, enum op op, const char *op_at,
		       const struct trace_field *f)
{
	size_t len = *c->at == '-';

	while (isalnum((unsigned char)c->at[len]))
		len++;
	if (kind == FILTER_TEXT)
		return bad(c, c->at, "the field is a text: \"%.*s\", in quotes",
			   (int)(len < 60 ? len : 60), c->at);
	if (op == OP_GLOB)
		return bad(c, op_at, "~ is of texts; numbers have ==, !=, <, <=, >, >= and &");
	if (!number_fits(c->at, len, f))
		return bad(c, c->at, "this is no number that the field can have%s",
			   *c->at == '-' && f && !f->is_signed ? ": it has no sign" : "");
	c->at += len;
	return 0;
}

static int take_comparison(struct checking *c)
{
	const struct trace_field *f;
	enum filter_kind kind = FILTER_NEITHER;
	const char *op_at;
	enum op op = OP_EQ;

	if (take_field(c, &kind, &f))
		return -1;
	skip_blanks(c);
	op_at = c->at;
	if (take_op(c, &op))
		return -1;
	skip_blanks(c);
	if (*c->at == '"' || *c->at == '\'')
		return take_text(c, kind, op, op_at);
	if (isdigit((unsigned char)*c->at) || *c->at == '-')
		return take_number(c, kind, op, op_at, f);
	if (!*c->at)
		return bad(c, c->at, "the text ends where a value belongs");
	return bad(c, c->at,
		   kind == FILTER_TEXT ? "a text is in quotes: comm ~ \"git*\""
				       : "a number belongs here: 10, -1 or 0x1f");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int take_operand(struct checking *c);

/* Up to the end, or to the parenthesis that ends it. */
static int take_all(struct checking *c)
{
	for (;;) {
		if (take_operand(c))
			return -1;
		skip_blanks(c);
		if (!*c->at || *c->at == ')')
			return 0;
		if (strncmp(c->at, "&&", 2) != 0 && strncmp(c->at, "||", 2) != 0)
			return bad(c, c->at, "&& or || belongs here");
		c->at += 2;
	}
}

static int take_operand(struct checking *c)
{
	const char *open;

	skip_blanks(c);
	while (*c->at == '!') {
		c->at++;
		skip_blanks(c);
	}
	if (*c->at != '(')
		return take_comparison(c);
	open = c->at++;
	if (++c->depth > DEPTH_MOST)
		return bad(c, open, "more than %u parentheses in each other", DEPTH_MOST);
	if (take_all(c))
		return -1;
	if (*c->at != ')')
		return bad(c, open, "this parenthesis is not closed");
	c->at++;
	c->depth--;
	return 0;
}

int trace_filter_check(const char *text, const struct trace_format *f, const char *event,
		       struct err *err)
{
	struct checking c = { .text = text, .at = text, .f = f, .event = event, .err = err };

	if (strlen(text) >= TEXT_MOST)
		return err_set(err, ERR_USAGE,
			       "--filter of %.80s: the kernel takes at most %u bytes", event,
			       TEXT_MOST - 1);
	if (take_all(&c))
		return -1;
	return *c.at ? bad(&c, c.at, "no parenthesis is open here") : 0;
}

static int set_filter(struct event *ev, const char *root, const char *text, struct arena *a,
		      struct err *err)
{
	struct buf b = BUF_INIT;
	struct trace_format f;
	int rc = -1;

	if (ev->attr.type != PERF_TYPE_TRACEPOINT) {
		(void)err_set(err, ERR_USAGE, "--filter: %s is no tracepoint", ev->name);
		return err_hint(err, "it belongs behind the -e of one: -e sched:sched_switch "
				     "--filter 'prev_prio < 100'");
	}
	if (tracing_format(&b, root, ev->attr.config, ev->name, err))
		goto out;
	if (trace_format_read(&f, a, buf_str(&b), b.len, sizeof(long))) {
		(void)err_nomem(err);
		goto out;
	}
	if (ev->filter) /* several of one event: all of them hold, as perf has it */
		text = arena_printf(a, "(%s) && (%s)", ev->filter, text);
	if (!text) {
		(void)err_nomem(err);
		goto out;
	}
	ev->filter = text;
	rc = trace_filter_check(text, &f, ev->name, err);
out:
	buf_free(&b);
	return rc;
}

int trace_filters_set(struct event_list *list, const size_t *first, const char *root,
		      const struct measure_opts *opts, struct err *err)
{
	for (size_t i = 0; i < opts->n_filters; i++) {
		size_t word = opts->filter[i].events;

		if (!word) {
			(void)err_set(err, ERR_USAGE,
				      "--filter belongs behind the -e that it is of");
			return err_hint(err, "-e sched:sched_switch --filter 'prev_prio < 100'");
		}
		for (size_t k = first[word - 1]; k < first[word]; k++)
			if (set_filter(&list->ev.v[k], root, opts->filter[i].text, &list->arena,
				       err))
				return -1;
	}
	return 0;
}

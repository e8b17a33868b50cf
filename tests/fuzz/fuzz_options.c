/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The option parser: the first byte chooses a command, lines are its words. What was said is of
 * options that the command has, operands are the words themselves, in order; the same words quoted
 * as a shell's come out of words_split() again, and say the same as CYCLADE_OPTS.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/words.h"
#include "cli/options.h"

#define WORDS_MOST 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static char **words_of(struct arena *a, const char *s, size_t len, size_t *n)
{
	char **argv = arena_alloc(a, (WORDS_MOST + 1) * sizeof(*argv));

	must(argv != NULL);
	for (*n = 0; len && *n < WORDS_MOST; ++*n) {
		size_t k = strcspn(s, "\n");

		argv[*n] = arena_strndup(a, s, k);
		must(argv[*n] != NULL);
		k += s[k] == '\n';
		s += k;
		len -= k;
	}
	argv[*n] = NULL;
	return argv;
}

static void check_parse(const struct options *o, enum command cmd, const struct text_list *rest,
			char **argv, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < rest->n; i++) {
		while (at < n && rest->v[i] != argv[at])
			at++;
		must(at++ < n);
	}
	for (size_t i = 0; i < n_option_rows; i++) {
		must(!o->said[i].from || option_rows[i].commands >> cmd & 1);
		must(options_given(o, option_rows[i].offset) || !o->said[i].from);
	}
}

static void check_same(const struct options *a, const struct options *b)
{
	for (size_t i = 0; i < n_option_rows; i++) {
		const struct option_said *x = &a->said[i], *y = &b->said[i];

		must(!x->from == !y->from && !x->text == !y->text);
		must(!x->text || !strcmp(x->text, y->text));
	}
}

/* Each word between quotes; those within it by a backslash. */
static void quote(struct buf *out, char **argv, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char q = i % 2 ? '\'' : '"';

		buf_putc(out, q);
		for (const char *s = argv[i]; *s; s++)
			if (*s == q && q == '\'')
				buf_puts(out, "'\\''");
			else
				buf_printf(out, "%s%c", q == '"' && strchr("\"\\", *s) ? "\\" : "",
					   *s);
		buf_putc(out, q);
		buf_putc(out, i % 3 ? ' ' : '\t');
	}
	must(!out->failed);
}

static void check_quoted(struct arena *a, enum command cmd, char **argv, size_t n,
			 const struct options *said, bool operands)
{
	struct options o = { 0 };
	struct err err = ERR_INIT;
	struct buf text = BUF_INIT;
	char **again;
	size_t k;

	quote(&text, argv, n);
	must(!words_split(a, buf_str(&text), &again, &k, &err) && k == n && !again[n]);
	for (size_t i = 0; i < n; i++)
		must(!strcmp(argv[i], again[i]));
	if (said && !operands) {
		must(!options_parse_text(&o, a, cmd, buf_str(&text), &err));
		check_same(said, &o);
	}
	buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct options o = { 0 };
	struct text_list rest = { 0 };
	struct err err = ERR_INIT;
	enum command cmd;
	char *text, **argv;
	size_t n;
	int rc;

	if (!size || size > 4096)
		return 0;
	cmd = (enum command)(data[0] % CMD_COUNT);
	text = arena_strndup(&a, (const char *)data + 1, size - 1);
	must(text != NULL);
	argv = words_of(&a, text, strlen(text), &n);
	rc = options_parse(&o, &a, cmd, (int)n, argv, &rest, &err);
	if (rc)
		must(err.code != ERR_NONE && err.what[0]);
	else
		check_parse(&o, cmd, &rest, argv, n);
	check_quoted(&a, cmd, argv, n, rc ? NULL : &o, rest.n != 0);
	arena_free(&a);
	return 0;
}

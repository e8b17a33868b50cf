/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A formula from outside: the first byte chooses the language ('P', 'S', or 'T' for a threshold),
 * the rest is the text. What compiles is evaluated, asked for its needs and printed.
 */
#include <math.h>
#include <stdlib.h>

#include "model/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES = 16, LPS = 3 };

static bool find(void *ctx, enum expr_ask ask, const char *s, size_t len, struct expr_ref *out)
{
	static const enum expr_ref_kind kinds[] = { EXPR_EVENT,	   EXPR_EVENT,	 EXPR_METRIC,
						    EXPR_CONSTANT, EXPR_LATENCY, EXPR_SYSTEM };
	unsigned sum = (unsigned)ask;

	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + (unsigned char)s[i];
	if (ask == ASK_NAME && sum % 17 == 0)
		return false;
	out->kind = ask == ASK_NAME ? kinds[sum % 6] : EXPR_CONSTANT;
	out->index = sum % (out->kind == EXPR_SYSTEM ? (unsigned)SYSTEM_COUNT : NAMES);
	out->value = sum % 5;
	out->program = out->kind == EXPR_METRIC ? ctx : NULL;
	return true;
}

static int each(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	(void)kind;
	*(unsigned *)ctx += index;
	return 0;
}

static const char *name(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	(void)ctx;
	(void)kind;
	return index & 1 ? "name" : NULL;
}

static void use(const struct expr *e)
{
	double count[NAMES * LPS], latency[NAMES], system[SYSTEM_COUNT];
	struct value metric[NAMES], v;
	struct expr_env env = { count, LPS, metric, latency, system, metric };
	struct buf out = BUF_INIT;
	unsigned sum = 0;

	for (int i = 0; i < NAMES * LPS; i++)
		count[i] = i % 7 ? (double)i : (double)NAN;
	for (int i = 0; i < NAMES; i++) {
		latency[i] = i % 3 ? (double)i : (double)NAN;
		metric[i] = (struct value){ i, VALUE_OK, 0 };
	}
	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = i % 4 ? (double)(i % 2) : (double)NAN;
	v = expr_eval(e, &env);
	if ((v.why == VALUE_OK) != (isfinite(v.v) != 0))
		abort();
	if (expr_needs(e, system, each, &sum) || expr_needs(e, NULL, each, &sum))
		abort();
	expr_print(e, &env, &out, name, NULL);
	if (!out.failed && !out.len)
		abort();
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct expr_text low = { "EVENT + 1 * OTHER", 17, EXPR_PERF, NULL, NULL, 0 };
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct expr *e = NULL, *program = NULL;
	struct expr_scope scope = { find, NULL, NULL };
	struct expr_text t = { .file = "fuzz", .line = 1 };

	if (!size)
		return 0;
	if (expr_compile(&program, &arena, &low, &scope, &err))
		err_clear(&err);
	scope.ctx = program;
	t.s = (const char *)data + 1;
	t.len = size - 1;
	t.dialect = data[0] == 'P' ? EXPR_PERF : EXPR_SHEET;
	t.subject = data[0] == 'T' ? "Subject" : NULL;
	if (!expr_compile(&e, &arena, &t, &scope, &err))
		use(e);
	else if (err.code == ERR_NONE)
		abort();
	arena_free(&arena);
	return 0;
}

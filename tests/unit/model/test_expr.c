/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "model/expr.h"

static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.17g is not %.17g within %g", got, want, within);
}

/* A scope in which every word is an event, but for those that begin with m_ (metrics), k_ (plain
 * constants of 7), and '#' or "no" (not there). Values are given by name. */
#define MAX_NAMES 64
#define LPS	  2

struct world {
	struct arena arena;
	char name[MAX_NAMES][80];
	size_t n;
	double count[MAX_NAMES * LPS], latency[MAX_NAMES], system[SYSTEM_COUNT];
	struct value metric[MAX_NAMES], passes[MAX_NAMES];
	const struct expr *program; /* of every metric */
	struct expr_env env;
	struct err err;
};

static uint32_t name_of(struct world *w, const char *s, size_t len)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (strlen(w->name[i]) == len && !memcmp(w->name[i], s, len))
			return i;
	assert_true(w->n < MAX_NAMES && len < sizeof(w->name[0]));
	memcpy(w->name[w->n], s, len);
	w->name[w->n][len] = '\0';
	return (uint32_t)w->n++;
}

static bool find(void *ctx, enum expr_ask ask, const char *s, size_t len, struct expr_ref *out)
{
	struct world *w = ctx;

	if (ask != ASK_NAME) {
		*out = (struct expr_ref){ .kind = EXPR_CONSTANT, .value = (double)len };
		return true;
	}
	if (*s == '#' || !strncmp(s, "no", 2) || !strncmp(s, "duration", 8) || s[len - 1] == 'R' ||
	    memchr(s, ':', len) == s + 1)
		return false;
	if (!strncmp(s, "k_", 2)) {
		*out = (struct expr_ref){ .kind = EXPR_CONSTANT, .value = 7 };
		return true;
	}
	out->kind = strncmp(s, "m_", 2) ? EXPR_EVENT : EXPR_METRIC;
	out->index = name_of(w, s, len);
	out->program = w->program;
	return true;
}

static const char *nearest(void *ctx, const char *s, size_t len)
{
	(void)ctx;
	(void)s;
	return len == 6 ? "noodle" : NULL;
}

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	for (size_t i = 0; i < MAX_NAMES; i++) {
		w->latency[i] = NAN;
		w->metric[i] = w->passes[i] = (struct value){ NAN, VALUE_ABSENT, 0 };
		for (size_t lp = 0; lp < LPS; lp++)
			w->count[i * LPS + lp] = NAN;
	}
	for (int i = 0; i < SYSTEM_COUNT; i++)
		w->system[i] = NAN;
	w->env = (struct expr_env){ w->count, LPS, w->metric, w->latency, w->system, w->passes };
}

static void set2(struct world *w, const char *name, double a, double b)
{
	uint32_t i = name_of(w, name, strlen(name));

	w->count[i * LPS] = a;
	w->count[i * LPS + 1] = b;
}

static void set(struct world *w, const char *name, double v)
{
	set2(w, name, v, 0);
}

static void set_metric(struct world *w, const char *name, double v)
{
	w->metric[name_of(w, name, strlen(name))] = (struct value){ v, VALUE_OK, 0 };
}

static struct expr *compile(struct world *w, enum expr_dialect d, const char *s,
			    const char *subject)
{
	struct expr_text t = { s, strlen(s), d, subject, "ivb.tree", 12 };
	struct expr_scope scope = { find, nearest, w };
	struct expr *e = NULL;
	int rc;

	err_clear(&w->err);
	rc = expr_compile(&e, &w->arena, &t, &scope, &w->err);
	assert_int_equal(rc, e ? 0 : -1);
	if (rc)
		assert_int_not_equal(w->err.code, ERR_NONE);
	return e;
}

static struct value ev(struct world *w, enum expr_dialect d, const char *s)
{
	struct expr *e = compile(w, d, s, NULL);

	if (!e)
		print_message("# %s\n# %s\n", w->err.what, w->err.hint);
	assert_non_null(e);
	return expr_eval(e, &w->env);
}

static void same(struct world *w, enum expr_dialect d, const char *s, double want)
{
	struct value v = ev(w, d, s);

	if (v.why || fabs(v.v - want) > 1e-12 * (1 + fabs(want)))
		fail_msg("%s: %.17g (why %d), not %.17g", s, v.v, (int)v.why, want);
}

static void precedence(void **state)
{
	static const struct {
		const char *s;
		double v;
	} rows[] = {
		{ "1 + 2 * 3", 7 },
		{ "(1 + 2) * 3", 9 },
		{ "10 - 4 - 3", 3 },
		{ "100 / 10 / 5", 2 },
		{ "7 % 4 * 2", 6 },
		{ "2 * 7 % 4", 2 },
		{ "-7 % 4", -3 },
		{ "-2 - -3", 1 },
		{ "- 2 * 3 + 10", 4 },
		{ "1 < 2 + 3", 1 },
		{ "3 > 2 > 1", 0 },
		{ "1 | 0 & 0", 1 },
		{ "1 ^ 1 & 0", 1 },
		{ "1 ^ 1 | 0", 0 },
		{ "5 & 2", 1 },
		{ "2 | 0", 1 },
		{ "4 ^ 2", 0 },
		{ "1 < 2 & 3 < 2", 0 },
		{ "10 if 0 else 20 if 0 else 30", 30 },
		{ "10 if 1 else 20 if 0 else 30", 10 },
		{ "1 + 10 if 0 else 20 + 5", 25 },
		{ "(1 + 10 if 0 else 20) + 5", 25 },
		{ "1 - (3 if 5 > 1.8 else 4)", -2 },
		{ "1 - 3 if 5 > 1.8 else 4 - 1", -2 },
		{ "min(3, 2) + max(1, 4)", 6 },
		{ "min(3 - 2, 2)", 1 },
		{ "1e3 + 2.5e-1 + .5 + 4.", 1004.75 },
	};
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		same(&w, EXPR_PERF, rows[i].s, rows[i].v);
		same(&w, EXPR_SHEET, rows[i].s, rows[i].v);
	}
	same(&w, EXPR_PERF, "d_ratio(6, 4) + d_ratio(5, 0)", 1.5);
	same(&w, EXPR_PERF, "has_event(ab) + source_count(abcd)", 6);
	same(&w, EXPR_SHEET, "(1 <= 1) + (2 >= 3) + (2 == 2) + (1 && 1) + (0 || 1)", 4);
	same(&w, EXPR_SHEET, "1 if 3 > = 3 else 2", 1);
	same(&w, EXPR_SHEET, "min(1 if 0 else 5, 9)", 5);
	arena_free(&w.arena);
}

/* The counts of an Ivy Bridge that a reader printed with their percentages. perf 6.1 has this
 * formula without the inner parentheses, which turns 18.7 % into -51.1 %. */
static void memory_bound_of_perf_6_1(void **state)
{
	static const char with[] =
		"(min(CLK, LDM) + SB) / (min(CLK, NO_EXEC) + GE1 - (GE3 if IPC > 1.8 else GE2) - "
		"(RS_EMPTY if m_FL > 0.1 else 0) + SB) * m_BE";
	static const char without[] =
		"(min(CLK, LDM) + SB) / (min(CLK, NO_EXEC) + GE1 - GE3 if (IPC > 1.8) else "
		"GE2 - RS_EMPTY if (m_FL > 0.1) else SB) * m_BE";
	struct world w;

	(void)state;
	world_init(&w);
	set(&w, "CLK", 22487132522);
	set(&w, "LDM", 11924966176);
	set(&w, "SB", 1372781339);
	set(&w, "NO_EXEC", 22813129502);
	set(&w, "GE1", 5126419350);
	set(&w, "GE2", 2704205377);
	set(&w, "GE3", 1437479238);
	set(&w, "RS_EMPTY", 9011996120);
	set(&w, "IPC", 3959711240.0 / 22487132522.0);
	set_metric(&w, "m_FL", 0.48646);
	set_metric(&w, "m_BE", 0.24214);
	near(ev(&w, EXPR_PERF, with).v * 100, 18.65, 0.01);
	near(ev(&w, EXPR_PERF, without).v * 100, -51.05, 0.06);
	arena_free(&w.arena);
}

static void nothing_is_0_for_want_of_knowing(void **state)
{
	static const struct {
		const char *s;
		enum value_why why;
	} rows[] = {
		{ "seen / zero", VALUE_DIVIDED_BY_0 },
		{ "seen % 0.5", VALUE_DIVIDED_BY_0 },
		{ "seen + unseen", VALUE_NOT_COUNTED },
		{ "0 * unseen", VALUE_NOT_COUNTED },
		{ "min(unseen, 0)", VALUE_NOT_COUNTED },
		{ "1 if unseen else 2", VALUE_NOT_COUNTED },
		{ "unseen | 0", VALUE_NOT_COUNTED },
		{ "unseen & 1", VALUE_NOT_COUNTED },
		{ "unseen ^ 1", VALUE_NOT_COUNTED },
		{ "#smt_on", VALUE_NO_SYSTEM },
		{ "seen:R * seen", VALUE_NO_LATENCY },
		{ "1e300 * 1e300", VALUE_NOT_FINITE },
		{ "NaN", VALUE_ABSENT },
	};
	struct world w;
	struct value v;

	(void)state;
	world_init(&w);
	set(&w, "seen", 5);
	set(&w, "zero", 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		v = ev(&w, EXPR_PERF, rows[i].s);
		assert_int_equal(v.why, rows[i].why);
		assert_true(isnan(v.v));
	}
	v = ev(&w, EXPR_PERF, "seen - unseen");
	assert_string_equal(w.name[v.which], "unseen");
	assert_int_equal(ev(&w, EXPR_SHEET, "#NA").why, VALUE_ABSENT);
	/* what decides alone */
	same(&w, EXPR_PERF, "unseen & 0", 0);
	same(&w, EXPR_PERF, "zero & unseen", 0);
	same(&w, EXPR_PERF, "unseen | seen", 1);
	same(&w, EXPR_PERF, "seen if 1 else unseen", 5);
	same(&w, EXPR_SHEET, "seen if 1 else #NA", 5);
	arena_free(&w.arena);
}

static void names_of_both(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	set(&w, "cpu/A.B,cmask=1/", 3);
	set(&w, "X-Y", 4);
	set(&w, "128B.x", 5);
	set(&w, "UOPS:c1:e1", 6);
	set(&w, "TOR:opc=0x182:c1", 7);
	set(&w, "T/Match=0x1", 8);
	set(&w, "metric_..A(%)", 9);
	set(&w, "a[0]", 10);
	w.system[SYSTEM_SMT_ON] = 1;
	w.system[SYSTEM_CORE_WIDE] = 0;
	w.system[SYSTEM_DURATION] = 2;
	same(&w, EXPR_PERF, "cpu@A.B\\,cmask\\=1@*2", 6);
	same(&w, EXPR_PERF, "X\\-Y-1", 3);
	same(&w, EXPR_PERF, "128B.x/5", 1);
	same(&w, EXPR_PERF, "#SMT_on + #smt_on + duration_time", 4);
	same(&w, EXPR_SHEET, "UOPS:c1:e1*1", 6);
	same(&w, EXPR_SHEET, "TOR:opc=0x182:c1 / 7", 1);
	same(&w, EXPR_SHEET, "\"T/Match=0x1\" / 8", 1);
	same(&w, EXPR_SHEET, "metric_..A(%) >8.5", 1);
	same(&w, EXPR_SHEET, "(3 / a[0])", 0.3);
	same(&w, EXPR_SHEET, "1 if #EBS_Mode else 2", 1);
	same(&w, EXPR_SHEET, "k_seven + 1", 8);
	arena_free(&w.arena);
}

static void latency_of_the_event_before(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	set(&w, "E", 10);
	set(&w, "F", 100);
	w.latency[name_of(&w, "E", 1)] = 20;
	w.latency[name_of(&w, "F", 1)] = 3;
	same(&w, EXPR_SHEET, "E*$PEBS", 200);
	same(&w, EXPR_SHEET, "2 * E*$PEBS / 4", 100);
	same(&w, EXPR_SHEET, "E*min($PEBS, 9 - 1) + F*$PEBS", 380);
	same(&w, EXPR_SHEET, "(E + F*min(7, $PEBS)) * 2", 620);
	same(&w, EXPR_PERF, "E * E:R", 200);
	same(&w, EXPR_SHEET, "E * E:retire_latency", 200);
	assert_null(compile(&w, EXPR_SHEET, "E + $PEBS", NULL));
	assert_null(compile(&w, EXPR_SHEET, "$PEBS * E", NULL));
	arena_free(&w.arena);
}

static void min_and_max_per_logical_processor(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	set2(&w, "A", 10, 2);
	set2(&w, "B", 4, 6);
	set2(&w, "HALF", 5, NAN);
	same(&w, EXPR_PERF, "min(A, B)", 6);
	same(&w, EXPR_PERF, "max(A, B)", 16);
	same(&w, EXPR_PERF, "max(A - B, 0)", 6);
	same(&w, EXPR_PERF, "max(0, B - A)", 4);
	same(&w, EXPR_PERF, "min(2 * A, B * k_seven)", 24);
	same(&w, EXPR_PERF, "min(A / 2, B)", 5);
	same(&w, EXPR_PERF, "min(A / B, 1)", 1);
	same(&w, EXPR_PERF, "min(A, 7)", 7);
	same(&w, EXPR_PERF, "min(A * B, A)", 12);
	same(&w, EXPR_PERF, "max(min(A, B) - 3 * A, 0)", 0);
	same(&w, EXPR_SHEET, "min(A if 0 else B, A)", 6);
	same(&w, EXPR_PERF, "HALF + A", 17);
	same(&w, EXPR_PERF, "min(HALF, A)", 5);
	/* a metric that is a count is taken apart, one that is a ratio is not */
	w.program = compile(&w, EXPR_PERF, "A + A", NULL);
	set_metric(&w, "m_twice", 24);
	assert_true(expr_extensive(w.program));
	same(&w, EXPR_PERF, "min(m_twice, 2 * B)", 12);
	w.program = compile(&w, EXPR_PERF, "A / B", NULL);
	assert_false(expr_extensive(w.program));
	set_metric(&w, "m_ratio", 1.2);
	same(&w, EXPR_PERF, "min(m_ratio, A)", 1.2);
	arena_free(&w.arena);
}

static void thresholds(void **state)
{
	struct world w;
	struct expr *e;

	(void)state;
	world_init(&w);
	set_metric(&w, "m_X", 0.3);
	set_metric(&w, "m_Y", 0.05);
	e = compile(&w, EXPR_SHEET, "> 0.2 & P; $issueBM; ~overlap", "m_X");
	assert_true(expr_wants_parent(e));
	near(expr_eval(e, &w.env).v, 1, 0);
	e = compile(&w, EXPR_SHEET, "( > 0.4 | < 0.1 )", "m_X");
	assert_false(expr_wants_parent(e));
	near(expr_eval(e, &w.env).v, 0, 0);
	e = compile(&w, EXPR_SHEET, "(> 0.7 | m_Y)", "m_X");
	assert_int_equal(expr_eval(e, &w.env).why, VALUE_ABSENT);
	w.passes[name_of(&w, "m_Y", 3)] = (struct value){ 1, VALUE_OK, 0 };
	near(expr_eval(e, &w.env).v, 1, 0);
	e = compile(&w, EXPR_SHEET, "< 0.7 & m_Y", "m_X");
	near(expr_eval(e, &w.env).v, 1, 0);
	e = compile(&w, EXPR_SHEET, "< 1 + m_Y * 2", "m_X");
	near(expr_eval(e, &w.env).v, 1, 0);
	assert_null(compile(&w, EXPR_SHEET, "> 0.2 | P", "m_X"));
	assert_null(compile(&w, EXPR_SHEET, "> 0.2 & (P | m_Y)", "m_X"));
	assert_null(compile(&w, EXPR_SHEET, "; $issueBM", "m_X"));
	arena_free(&w.arena);
}

static void errors_point(void **state)
{
	static const struct {
		enum expr_dialect d;
		const char *s, *what, *caret;
	} rows[] = {
		{ EXPR_PERF, "A + nodle1",
		  "no event, metric or constant is named nodle1; the "
		  "nearest is noodle",
		  "    ^" },
		{ EXPR_PERF, "A + ", "ends where an operand should be", "    ^" },
		{ EXPR_PERF, "A B", "the formula was over before this", "  ^" },
		{ EXPR_PERF, "(A + B", "expected )", "      ^" },
		{ EXPR_PERF, "A )", "the formula was over before this", "  ^" },
		{ EXPR_PERF, "A <= B", "there is no = here, only < and >", "   ^" },
		{ EXPR_PERF, "A = B", "there is no = here, only < and >", "  ^" },
		{ EXPR_SHEET, "A = B", "to compare is ==", "  ^" },
		{ EXPR_PERF, "A ! B", "this character means nothing here", "  ^" },
		{ EXPR_PERF, "min(A)", "min takes two operands", "     ^" },
		{ EXPR_PERF, "max(A, B, 1)", "max takes just two operands", "        ^" },
		{ EXPR_PERF, "min(A if B else 1, 2)",
		  "if within the operands of min needs parentheses", "      ^" },
		{ EXPR_PERF, "A if B", "expected else", "      ^" },
		{ EXPR_PERF, "A else B", "else without if", "  ^" },
		{ EXPR_PERF, "", "an empty formula", "^" },
		{ EXPR_SHEET, "1 + 2x", "a number that runs into a name", "    ^" },
		{ EXPR_SHEET, "1 + \"x", "a quote that encloses no name", "    ^" },
		{ EXPR_PERF, "> 2", "expected a name, a number or (", "^" },
	};
	struct world w;
	char long_text[400];

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *nl;
		char want[200];

		assert_null(compile(&w, rows[i].d, rows[i].s, NULL));
		(void)snprintf(want, sizeof(want), "ivb.tree:12:%zu: %s", strlen(rows[i].caret),
			       rows[i].what);
		assert_string_equal(w.err.what, want);
		assert_int_equal(w.err.code, ERR_FORMAT);
		nl = strchr(w.err.hint, '\n');
		assert_non_null(nl);
		assert_memory_equal(w.err.hint, rows[i].s, strlen(rows[i].s));
		assert_string_equal(nl + 1, rows[i].caret);
	}
	/* far into a long text the hint shows where */
	memset(long_text, ' ', sizeof(long_text));
	memcpy(long_text + 300, "7 !", 4);
	assert_null(compile(&w, EXPR_PERF, long_text, NULL));
	assert_non_null(strstr(w.err.hint, "7 !"));
	assert_true(strstr(w.err.hint, "!") - w.err.hint ==
		    strchr(w.err.hint, '^') - strchr(w.err.hint, '\n') - 1);
	arena_free(&w.arena);
}

static void deep_is_refused(void **state)
{
	struct world w;
	char s[8192];
	size_t n = 0;

	(void)state;
	world_init(&w);
	for (int i = 0; i < 70; i++)
		s[n++] = '(';
	s[n++] = '1';
	s[n] = '\0';
	assert_null(compile(&w, EXPR_PERF, s, NULL));
	memset(s, '-', 70);
	s[70] = '1';
	s[71] = '\0';
	assert_null(compile(&w, EXPR_PERF, s, NULL));
	for (n = 0; n < 4000; n += 2)
		memcpy(s + n, "1+", 3);
	s[n - 1] = '\0';
	assert_null(compile(&w, EXPR_PERF, s, NULL));
	s[1000 * 2 - 1] = '\0';
	same(&w, EXPR_PERF, s, 1000);
	/* each doubles what is asked of the one before */
	w.program = compile(&w, EXPR_PERF, "A", NULL);
	for (int i = 0; i < 19; i++) {
		w.program = compile(&w, EXPR_PERF, "min(m_x, m_x)", NULL);
		if (!w.program)
			break;
	}
	assert_null(w.program);
	arena_free(&w.arena);
}

struct needs {
	struct world *w;
	char s[400];
};

static int need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct needs *n = ctx;
	size_t at = strlen(n->s);

	(void)snprintf(n->s + at, sizeof(n->s) - at, "%s%s%s", at ? " " : "",
		       kind == EXPR_LATENCY ? "R:" : "", n->w->name[index]);
	return 0;
}

static void needs_are(struct world *w, const char *s, const double *system, const char *want)
{
	struct needs n = { w, "" };

	assert_int_equal(expr_needs(compile(w, EXPR_PERF, s, NULL), system, need, &n), 0);
	assert_string_equal(n.s, want);
}

static void needs_leave_out_what_cannot_be(void **state)
{
	static const char clks[] = "(A / 2 if #core_wide < 1 else (B / 2 if #SMT_on else m_c))";
	struct world w;

	(void)state;
	world_init(&w);
	needs_are(&w, clks, NULL, "A B m_c");
	needs_are(&w, clks, w.system, "A B m_c");
	w.system[SYSTEM_CORE_WIDE] = 1;
	needs_are(&w, clks, w.system, "B m_c");
	w.system[SYSTEM_SMT_ON] = 0;
	needs_are(&w, clks, w.system, "m_c");
	w.system[SYSTEM_SMT_ON] = 1;
	needs_are(&w, clks, w.system, "B");
	w.system[SYSTEM_CORE_WIDE] = 0;
	needs_are(&w, clks, w.system, "A");
	needs_are(&w, "A + A * E:R if B > 1 else C", w.system, "A R:E B C");
	needs_are(&w, "A if #SMT_on & B else C", w.system, "A B C");
	needs_are(&w, "A if (1 - #SMT_on) & B else C", w.system, "C");
	arena_free(&w.arena);
}

static const char *shown(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct world *w = ctx;

	(void)kind;
	return strcmp(w->name[index], "A") ? NULL : "Alpha";
}

static void print_with_values(void **state)
{
	static const struct {
		const char *s, *want;
	} rows[] = {
		{ "A/(B+B*(A))", "Alpha [12] / (B [30.00 G] + B [30.00 G] * Alpha [12])" },
		{ "((A-B)-(B-A))", "Alpha [12] - B [30.00 G] - (B [30.00 G] - Alpha [12])" },
		{ "min((A),2.5) if (m_x>1e3) else -(unseen+1)",
		  "min(Alpha [12], 2.5) if m_x [0.25] > 1e3 else -(unseen [not counted] + 1)" },
		{ "(A if #smt_on else B) * k_seven",
		  "(Alpha [12] if #smt_on [1] else B [30.00 G]) * k_seven [7]" },
		{ "A * A:R", "Alpha [12] * Alpha:R [latency not known]" },
	};
	struct buf b = BUF_INIT;
	struct world w;

	(void)state;
	world_init(&w);
	set(&w, "A", 12);
	set(&w, "B", 3e10);
	set_metric(&w, "m_x", 0.25);
	w.system[SYSTEM_SMT_ON] = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_reset(&b);
		expr_print(compile(&w, EXPR_PERF, rows[i].s, NULL), &w.env, &b, shown, &w);
		assert_string_equal(buf_str(&b), rows[i].want);
	}
	buf_free(&b);
	arena_free(&w.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(precedence),
		cmocka_unit_test(memory_bound_of_perf_6_1),
		cmocka_unit_test(nothing_is_0_for_want_of_knowing),
		cmocka_unit_test(names_of_both),
		cmocka_unit_test(latency_of_the_event_before),
		cmocka_unit_test(min_and_max_per_logical_processor),
		cmocka_unit_test(thresholds),
		cmocka_unit_test(errors_point),
		cmocka_unit_test(deep_is_refused),
		cmocka_unit_test(needs_leave_out_what_cannot_be),
		cmocka_unit_test(print_with_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of a formula: looked up in the scope, then among the languages' own words.
 */
#include <string.h>
#include <strings.h>

#include "model/expr/expr_int.h"

/* Words that every model can use; case does not matter, as in perf. The sheet has few: its #SLOTS
 * is not perf's #slots. */
static const struct own {
	const char *name;
	enum expr_system system;
	bool sheet;
} own_words[] = {
	{ "#core_wide", SYSTEM_CORE_WIDE, true },
	{ "#has_pmem", SYSTEM_HAS_PMEM, false },
	{ "#num_cores", SYSTEM_CORES, false },
	{ "#num_cpus", SYSTEM_CPUS, false },
	{ "#num_cpus_online", SYSTEM_CPUS_ONLINE, false },
	{ "#num_dies", SYSTEM_DIES, false },
	{ "#num_packages", SYSTEM_PACKAGES, false },
	{ "#slots", SYSTEM_SLOTS, false },
	{ "#smt_on", SYSTEM_SMT_ON, true },
	{ "#system_tsc_freq", SYSTEM_TSC_FREQ, false },
	{ "#DurationTimeInSeconds", SYSTEM_DURATION, true },
	{ "duration_time", SYSTEM_DURATION, true },
};

/* Ways to ask for an event's mean retire latency: perf's two and perfmon's. */
static const char *const latency_suffix[] = { ":R", "@R", "/R", ":retire_latency" };

static bool ask_scope(struct expr_parser *p, enum expr_ask what, const char *s, size_t len,
		      struct expr_ref *ref)
{
	memset(ref, 0, sizeof(*ref));
	return p->scope && p->scope->find && p->scope->find(p->scope->ctx, what, s, len, ref);
}

static int add_ref(struct expr_parser *p, const struct expr_ref *r, struct expr_node n,
		   uint32_t *out)
{
	static const enum expr_op ops[] = {
		[EXPR_EVENT] = OP_EVENT,     [EXPR_METRIC] = OP_METRIC, [EXPR_LATENCY] = OP_LATENCY,
		[EXPR_CONSTANT] = OP_NUMBER, [EXPR_SYSTEM] = OP_SYSTEM, [EXPR_ABSENT] = OP_ABSENT,
	};

	n.op = (uint8_t)ops[r->kind];
	n.index = r->index;
	n.value = r->value;
	n.program = r->kind == EXPR_METRIC ? r->program : NULL;
	n.extensive = r->kind == EXPR_EVENT || (n.program && expr_extensive(n.program));
	n.plain = r->kind == EXPR_CONSTANT || r->kind == EXPR_LATENCY || r->kind == EXPR_SYSTEM ||
		  (n.program && n.program->node[expr_root(n.program)].plain);
	return expr_node_add(p, n, out);
}

/* Not over the whole of a core: the sheet's word, the negation of perf's. */
static int ebs_mode(struct expr_parser *p, struct expr_node name, uint32_t *out)
{
	struct expr_ref wide = { .kind = EXPR_SYSTEM, .index = SYSTEM_CORE_WIDE };
	struct expr_node one = { .op = OP_NUMBER, .value = 1, .plain = true };
	struct expr_node less = { .op = OP_LT };

	name.text = "#core_wide";
	name.len = 10;
	one.text = "1";
	one.len = 1;
	if (add_ref(p, &wide, name, &less.kid[0]) || expr_node_add(p, one, &less.kid[1]))
		return -1;
	return expr_node_add(p, less, out);
}

static bool latency_event_of(struct expr_parser *p, const char *s, size_t len, struct expr_ref *ref)
{
	for (size_t i = 0; i < sizeof(latency_suffix) / sizeof(latency_suffix[0]); i++) {
		size_t n = strlen(latency_suffix[i]);

		if (len <= n || strncasecmp(s + len - n, latency_suffix[i], n))
			continue;
		/* cpu/EVENT/R loses its R, not its slash */
		if (!ask_scope(p, ASK_NAME, s, latency_suffix[i][0] == '/' ? len - 1 : len - n,
			       ref) ||
		    ref->kind != EXPR_EVENT)
			continue;
		ref->kind = EXPR_LATENCY;
		return true;
	}
	return false;
}

/* perf's escapes out of a name; a sheet's quotes off it. */
static const char *unescape(struct expr_parser *p, const struct expr_token *tok, size_t *len)
{
	const char *s = p->t->s + tok->at;
	char *to;
	size_t n = 0;

	*len = tok->len;
	if (*s == '"') {
		*len -= 2;
		return s + 1;
	}
	if (p->t->dialect != EXPR_PERF || (!memchr(s, '@', tok->len) && !memchr(s, '\\', tok->len)))
		return s;
	to = arena_alloc(p->arena, tok->len + 1);
	if (!to) {
		(void)err_nomem(p->err);
		return NULL;
	}
	for (size_t i = 0; i < tok->len; i++) {
		if (s[i] == '\\' && i + 1 < tok->len)
			i++;
		to[n++] = s[i] == '@' ? '/' : s[i];
	}
	to[n] = '\0';
	*len = n;
	return to;
}

static int unknown(struct expr_parser *p, size_t at, const char *what, const char *s, size_t len)
{
	const char *near =
		p->scope && p->scope->nearest ? p->scope->nearest(p->scope->ctx, s, len) : NULL;

	if (near)
		return expr_fail(p, at, "no %s is named %.*s; the nearest is %.80s", what,
				 len > 80 ? 80 : (int)len, s, near);
	return expr_fail(p, at, "no %s is named %.*s", what, len > 80 ? 80 : (int)len, s);
}

int expr_name(struct expr_parser *p, const struct expr_token *tok, uint32_t *out)
{
	struct expr_node n = { .text = p->t->s + tok->at, .len = (uint32_t)tok->len };
	bool sheet = p->t->dialect == EXPR_SHEET;
	struct expr_ref ref;
	size_t len;
	const char *s = unescape(p, tok, &len);

	if (!s)
		return -1;
	if (sheet && p->t->subject && len == 1 && *s == 'P') {
		ref = (struct expr_ref){ .kind = EXPR_CONSTANT, .value = 1 };
		p->parents++;
		return add_ref(p, &ref, n, out);
	}
	if (sheet && len == 5 && !memcmp(s, "$PEBS", 5)) {
		if (p->event == UINT32_MAX)
			return expr_fail(p, tok->at, "$PEBS without an event that it multiplies");
		ref = (struct expr_ref){ .kind = EXPR_LATENCY, .index = p->event };
		return add_ref(p, &ref, n, out);
	}
	if (ask_scope(p, ASK_NAME, s, len, &ref) || latency_event_of(p, s, len, &ref))
		return add_ref(p, &ref, n, out);
	if (sheet && len == 9 && !strncasecmp(s, "#EBS_Mode", 9))
		return ebs_mode(p, n, out);
	if (sheet && len == 3 && !memcmp(s, "#NA", 3)) {
		ref = (struct expr_ref){ .kind = EXPR_ABSENT };
		return add_ref(p, &ref, n, out);
	}
	for (size_t i = 0; i < sizeof(own_words) / sizeof(own_words[0]); i++) {
		const char *own = own_words[i].name;

		if (strlen(own) != len || (sheet && !own_words[i].sheet) ||
		    strncasecmp(own, s, len))
			continue;
		ref = (struct expr_ref){ .kind = EXPR_SYSTEM, .index = own_words[i].system };
		return add_ref(p, &ref, n, out);
	}
	return unknown(p, tok->at, "event, metric or constant", s, len);
}

int expr_query(struct expr_parser *p, enum expr_ask what, const struct expr_token *tok,
	       uint32_t *out)
{
	struct expr_node n = { .text = p->t->s + tok->at, .len = (uint32_t)tok->len };
	struct expr_ref ref;
	size_t len;
	const char *s = unescape(p, tok, &len);

	if (!s)
		return -1;
	if (!ask_scope(p, what, s, len, &ref) ||
	    (ref.kind != EXPR_CONSTANT && ref.kind != EXPR_ABSENT && ref.kind != EXPR_SYSTEM))
		return unknown(p, tok->at, "thing to ask for", s, len);
	return add_ref(p, &ref, n, out);
}

int expr_subject(struct expr_parser *p, size_t at, uint32_t *out)
{
	const char *s = p->t->subject;
	struct expr_node n = { .len = (uint32_t)strlen(s) };
	struct expr_ref ref;

	if (!ask_scope(p, ASK_NAME, s, n.len, &ref))
		return unknown(p, at, "metric", s, n.len);
	n.text = arena_strdup(p->arena, s);
	if (!n.text)
		return err_nomem(p->err);
	return add_ref(p, &ref, n, out);
}

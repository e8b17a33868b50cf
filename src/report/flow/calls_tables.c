/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls as tables: functions, most called first, and the edges between them, most taken first; for
 * people of one function its callers and its callees.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/calls_view.h"
#include "report/page.h"
#include "report/recorded.h"
#include "show/graph_faces.h"

enum {
	FUNCTIONS = 20, /* shown to people without --limit */
	EDGES = 15,
	NEIGHBOURS = 15,
	LEAST = 5, /* however small */
};

#define SMALL 0.0005 /* a share that people are not shown unless asked for */

TABLE_CTX_AS(call_view_of, struct calls_view)

/* If the event does not count the recorded branches, amounts mean nothing. */
static void put_flow(const struct calls_view *v, struct flow_value x, struct table_cell *out)
{
	if (v->c->scaled)
		cell_flow(out, x);
	else
		cell_none(out, "the event does not count the recorded branches");
}

/* For people: the error that would stand behind the amount. */
static void put_error(const struct calls_view *v, struct flow_value x, struct table_cell *out)
{
	char text[NUM_MAX];

	if (!v->c->scaled)
		cell_printf(out, "%s", page_error(text, x));
}

static void put_call_share(const struct calls_view *v, struct flow_value x, struct table_cell *out)
{
	cell_flow(out, (struct flow_value){ calls_share(v, x.v), calls_share(v, x.half), x.leans,
					    x.why });
}

/* ---- functions: rows of calls.f -------------------------------------------------------------- */

static uint32_t call_number_of(const struct table *t, const struct table_row *r)
{
	return (uint32_t)((const struct call_function *)r->p - call_view_of(t)->c->f);
}

TABLE_CELL(called_share,
	   put_call_share(call_view_of(t), ((const struct call_function *)r->p)->called, out))
TABLE_CELL(called_error,
	   put_error(call_view_of(t), ((const struct call_function *)r->p)->called, out))

TABLE_GET(call_flow)
{
	struct flow_value x;

	memcpy(&x, (const char *)r->p + c->which, sizeof(x));
	put_flow(call_view_of(t), x, out);
}

/* Jumps to its start, which stand beside the calls and are no part of their share. */
TABLE_GET(tailed_text)
{
	struct flow_value x = ((const struct call_function *)r->p)->tailed;
	char text[NUM_MAX];

	if (x.v > 0)
		cell_printf(out, "%s",
			    call_view_of(t)->c->scaled
				    ? page_estimate(text, x.v)
				    : page_share(text, calls_share(call_view_of(t), x.v)));
	out->kind = T_TEXT;
}

static void put_address(const struct table *t, uint32_t function, struct table_cell *out)
{
	out->none = !calls_vaddr(call_view_of(t), function, &out->n);
}

static void put_call_name(const struct table *t, uint32_t function, struct table_cell *out)
{
	if (call_view_of(t)->c->f[function].symbol)
		out->text = calls_name(call_view_of(t), function);
}

static void put_call_dso(const struct table *t, uint32_t function, struct table_cell *out)
{
	if (call_view_of(t)->c->f[function].image != IMAGE_NONE)
		out->text = calls_dso(call_view_of(t), function);
}

TABLE_CELL(call_address, put_address(t, call_number_of(t, r), out))
TABLE_CELL(name_call, put_call_name(t, call_number_of(t, r), out); out->says = "[no symbol]")
TABLE_CELL(call_dso, put_call_dso(t, call_number_of(t, r), out); out->says = "[in no mapping]")

#define OF(member)	 TABLE_FIELD(struct call_function, member)
#define FLOW(member)	 .get = call_flow, .which = offsetof(struct call_function, member)
#define OF_FUNCTION(...) TABLE_FIELD(struct call_function, __VA_ARGS__)
static const struct table_column function_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all calls", .get = called_share),
	COLUMN("error", "+-", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = called_error),
	COLUMN("called", "called", T_AMOUNT, C_ERROR | C_SPARSE, "how often it was called",
	       FLOW(called)),
	COLUMN("tailed", "tailed", T_AMOUNT, C_ERROR | C_DATA, "jumps to its start", FLOW(tailed)),
	COLUMN("jumps", "tailed", T_REAL, C_PEOPLE | C_SPARSE, "", .get = tailed_text),
	COLUMN("recursive", "by itself", T_AMOUNT, C_ERROR | C_DATA, "of these by itself",
	       FLOW(recursive)),
	COLUMN("calls", "calls", T_AMOUNT, C_ERROR | C_DATA, "how often it called others",
	       FLOW(calls)),
	COLUMN("leans", "~", T_FLAG, C_DATA, "errors lack what no stack shows",
	       OF_FUNCTION(called.leans)),
	COLUMN("why", "why", T_TEXT, C_DATA, "why there are no errors", OF_FUNCTION(called.why)),
	COLUMN("callers", "callers", T_COUNT, 0, "functions that call it", OF(n_callers)),
	COLUMN("callees", "callees", T_COUNT, C_DATA, "functions that it calls", OF(n_callees)),
	COLUMN("address", "address", T_ADDRESS, C_DATA | C_KEY, "of its start, in the file",
	       .get = call_address),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", .get = name_call),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = call_dso),
};
#undef OF
#undef FLOW
static const struct table_form functions_form = { "functions", NULL, 0,
						  TABLE_COLUMNS(function_columns),
						  .rest = "function" };

/* ---- edges: at[0] counts in view.order, by_callee or edge ------------------------------------ */

TABLE_ROW_AS(call_edge_of, struct call_edge)

static bool call_wanted(const struct calls_view *v, const struct call_edge *e)
{
	return v->function == CALLS_ALL || e->caller == v->function || e->callee == v->function;
}

static bool call_edge_next(const struct table *t, struct table_row *r)
{
	const struct calls_view *v = t->ctx;

	r->at[0] += r->p != NULL;
	while (r->at[0] < v->c->n_edges && !call_wanted(v, &v->c->edge[v->order[r->at[0]]]))
		r->at[0]++;
	if (r->at[0] >= v->c->n_edges)
		return false;
	r->p = &v->c->edge[v->order[r->at[0]]];
	return true;
}

static const struct table_form callers_form;

/* Edges into the function, which by_callee has as a group, or out of it. */
static bool neighbour_next(const struct table *t, struct table_row *r)
{
	const struct calls *k = call_view_of(t)->c;
	const struct call_function *f = &k->f[call_view_of(t)->function];
	bool callers = t->form == &callers_form;
	size_t i = r->at[0] += r->p != NULL;

	if (i >= (callers ? f->n_callers : f->n_callees))
		return false;
	r->p = &k->edge[callers ? k->by_callee[f->first_caller + i] : f->first_callee + i];
	return true;
}

TABLE_CELL(edge_share, put_call_share(call_view_of(t), call_edge_of(r)->runs, out))

/* The share among its callers, or its callees: c->which. */
enum { OF_CALLERS, OF_CALLEES };

TABLE_GET(call_part)
{
	const struct call_function *f = &call_view_of(t)->c->f[call_view_of(t)->function];
	double all = c->which == OF_CALLERS ? f->called.v + f->tailed.v : f->calls.v;

	out->e.v = all > 0 ? call_edge_of(r)->runs.v / all : NAN;
}

TABLE_CELL(edge_error, put_error(call_view_of(t), call_edge_of(r)->runs, out))
TABLE_CELL(edge_calls, put_flow(call_view_of(t), call_edge_of(r)->runs, out))
TABLE_CELL(call_mispredicted_share, out->e.v = calls_mispredicted(&call_edge_of(r)->tally))
TABLE_CELL(call_how, out->text = calls_how(call_view_of(t), call_edge_of(r)))

enum { CALLER, CALLEE };

static uint32_t call_end_of(const struct table_column *c, const struct table_row *r)
{
	return c->which == CALLER ? call_edge_of(r)->caller : call_edge_of(r)->callee;
}

TABLE_CELL(end_address, put_address(t, call_end_of(c, r), out))
TABLE_CELL(end_name, put_call_name(t, call_end_of(c, r), out))
TABLE_CELL(end_dso, put_call_dso(t, call_end_of(c, r), out); out->says = "[in no mapping]")

/* With the file if there is no name. */
TABLE_GET(end_label)
{
	calls_put_name(out->scratch, call_view_of(t), call_end_of(c, r));
	out->text = buf_str(out->scratch);
}

#define OF(member) TABLE_FIELD(struct call_edge, member)
/* clang-format off */
#define EDGE_FIGURES \
	COLUMN("error", "+-", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = edge_error), \
	COLUMN("calls", "calls", T_AMOUNT, C_ERROR | C_SPARSE, "how often", .get = edge_calls), \
	COLUMN("mispredicted_share", "mispred", T_SHARE, 0, "of those that the CPU told of", \
	       .get = call_mispredicted_share), \
	COLUMN("sites", "sites", T_COUNT, 0, "places that call", OF(sites)), \
	COLUMN("how", "how", T_TEXT, 0, \
	       "tail, PLT, indir(ect), part (some indirect), self; else a plain call", \
	       .get = call_how)
/* clang-format on */
static const struct table_column edge_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all calls", .get = edge_share),
	EDGE_FIGURES,
	COLUMN("leans", "~", T_FLAG, C_DATA, "the error lacks what no stack shows", OF(runs.leans)),
	COLUMN("why", "why", T_TEXT, C_DATA, "why there is no error", OF(runs.why)),
	COLUMN("hits", "hits", T_COUNT, C_DATA, "as seen in stacks", OF(hits)),
	COLUMN("tail", "tail", T_FLAG, C_DATA, "jumps to its start", OF(tail)),
	COLUMN("plt", "plt", T_FLAG, C_DATA, "by way of a PLT", OF(plt)),
	COLUMN("indirect", "indirect", T_COUNT, C_DATA, "hits of indirect calls", OF(indirect)),
	COLUMN("mispredicted", "mispredicted", T_COUNT, C_DATA, "hits that were mispredicted",
	       OF(tally.mispredicted)),
	COLUMN("predicted", "predicted", T_COUNT, C_DATA, "hits that were predicted",
	       OF(tally.predicted)),
	COLUMN("from", "from", T_TEXT, C_PEOPLE | C_FLEX, "", .get = end_label, .which = CALLER),
	COLUMN("to", "to", T_TEXT, C_PEOPLE | C_FLEX, "", .get = end_label, .which = CALLEE),
	COLUMN("caller_dso", "of", T_TEXT, C_KEY | C_DATA, "the caller's file", .get = end_dso,
	       .which = CALLER),
	COLUMN("caller_address", "address", T_ADDRESS, C_KEY | C_DATA, "of the caller's start",
	       .get = end_address, .which = CALLER),
	COLUMN("caller", "caller", T_TEXT, C_KEY | C_DATA, "a function", .get = end_name,
	       .which = CALLER),
	COLUMN("callee_dso", "of", T_TEXT, C_KEY | C_DATA, "the callee's file", .get = end_dso,
	       .which = CALLEE),
	COLUMN("callee_address", "address", T_ADDRESS, C_KEY | C_DATA, "of the callee's start",
	       .get = end_address, .which = CALLEE),
	COLUMN("callee", "callee", T_TEXT, C_KEY | C_DATA, "a function", .get = end_name,
	       .which = CALLEE),
};
static const struct table_column caller_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of its calls", .get = call_part,
	       .which = OF_CALLERS),
	EDGE_FIGURES,
	COLUMN("caller", "called by", T_TEXT, C_FLEX, "", .get = end_label, .which = CALLER),
	COLUMN("dso", "of", T_TEXT, C_FLEX, "", .get = end_dso, .which = CALLER),
};
static const struct table_column callee_columns[] = {
	COLUMN("share", "share", T_SHARE, C_HEAT, "of what it calls", .get = call_part,
	       .which = OF_CALLEES),
	EDGE_FIGURES,
	COLUMN("callee", "calls", T_TEXT, C_FLEX, "", .get = end_label, .which = CALLEE),
	COLUMN("dso", "of", T_TEXT, C_FLEX, "", .get = end_dso, .which = CALLEE),
};
#undef OF
static const struct table_form edges_form = {
	"edges",       NULL, TABLE_MAIN, TABLE_COLUMNS(edge_columns), .next = call_edge_next,
	.rest = "edge"
};
static const struct table_form callers_form = {
	"callers",	 NULL, TABLE_PEOPLE, TABLE_COLUMNS(caller_columns), .next = neighbour_next,
	.rest = "caller"
};
static const struct table_form callees_form = {
	"callees",	 NULL, TABLE_PEOPLE, TABLE_COLUMNS(callee_columns), .next = neighbour_next,
	.rest = "callee"
};

/* ---- the head -------------------------------------------------------------------------------- */

TABLE_CELL(calls_by_cell, out->text = calls_by(r->p))
TABLE_CELL(all_calls, put_flow(call_view_of(t), ((const struct calls *)r->p)->runs, out))

TABLE_GET(chosen)
{
	if (call_view_of(t)->function != CALLS_ALL)
		put_call_name(t, call_view_of(t)->function, out);
}

#define OF(member) TABLE_FIELD(struct calls, member)
static const struct table_column head_columns[] = {
	COLUMN("event", "event", T_TEXT, 0, "whose samples have the stacks; null: several",
	       TABLE_CTX(struct calls_view, sums, event)),
	COLUMN("by", "by", T_TEXT, 0, "calls, or returns: what tells of calls",
	       .get = calls_by_cell),
	COLUMN("scaled", "scaled", T_FLAG, 0, "the event counts the recorded branches", OF(scaled)),
	COLUMN("calls", "calls", T_AMOUNT, C_ERROR | C_WHY, "in all, without tail calls",
	       .get = all_calls),
	COLUMN("hits", "hits", T_COUNT, 0, "calls seen in stacks", OF(hits)),
	COLUMN("hits_calls", "by calls", T_COUNT, 0, "of any branch: call instructions seen",
	       OF(hits_calls)),
	COLUMN("hits_returns", "by returns", T_COUNT, 0, "of any branch: returns seen",
	       OF(hits_returns)),
	COLUMN("hits_kernel", "kernel", T_COUNT, 0, "ways into the kernel or out of it",
	       OF(kernel)),
	COLUMN("hits_other", "other", T_COUNT, 0, "other branches seen", OF(other)),
	COLUMN("function", "function", T_TEXT, 0, "the only one asked for", .get = chosen),
};
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

/* Calls that count for no function, or not for the right one: also facts for people. */
static const struct table_column lost_columns[] = {
	COLUMN("no_symbol", "no symbol", T_COUNT, C_LOSS,
	       "calls without a symbol at one end: they count for the file as a whole",
	       OF(no_symbol)),
	COLUMN("plt", "PLT", T_COUNT, C_LOSS,
	       "calls of a PLT whose target was not seen: they count for the trampoline",
	       OF(lost_plt)),
	COLUMN("strange", "strange", T_COUNT, C_LOSS,
	       "returns to no place behind a call (signals, longjmp, task switches), or calls into "
	       "the "
	       "caller's own middle: left out",
	       OF(strange)),
	COLUMN("guessed", "guessed", T_COUNT, 0,
	       "branches taken for calls only by their target; the code is not there", OF(guessed)),
	COLUMN("no_code", "not looked at", T_COUNT, C_LOSS,
	       "returns whose call could not be looked at; the code is not there", OF(no_code)),
	COLUMN("unknown", "not known", T_COUNT, C_LOSS,
	       "branches without code and without a kind; --symbols DIR says where programs are",
	       OF(unknown)),
};
#undef OF
static const struct table_form lost_form = { "unattributed", NULL, TABLE_ONE | TABLE_DATA,
					     TABLE_COLUMNS(lost_columns) };

static const struct table_form *const forms[] = {
	&head_form,	 &recorded_form, &recorded_stacks_form,
	&functions_form, &edges_form,	 &callers_form,
	&callees_form,	 &lost_form,	 &recorded_losses_form
};

GRAPH_FACES(faces, calls_graph)
const struct document_form calls_document = { "calls", 2, forms, sizeof(forms) / sizeof(*forms),
					      GRAPH_FACES_OF(faces) };

/* ---- lines for people ------------------------------------------------------------------------ */

static void add_call_titles(struct document *d, const struct calls_view *v)
{
	const struct flow_sums *s = v->sums;
	char a[NUM_MAX], b[NUM_MAX];

	document_title(d, INK_PLAIN, "%s branch stacks of %s, up to %u entries",
		       num_exact(a, s->stacks), s->event ? s->event : "several events", s->depth);
	if (v->c->scaled && v->c->hits)
		document_title(d, INK_PLAIN, "%s calls %s", page_estimate(a, v->c->runs.v),
			       page_error(b, v->c->runs));
}

static void add_call_value(struct document *d, const struct calls_view *v, const char *label,
			   struct flow_value x, const char *text)
{
	char a[NUM_MAX], b[NUM_MAX];

	document_title(d, INK_PLAIN, "%s %s %s %s%s", label,
		       v->c->scaled ? page_estimate(a, x.v) : page_share(a, calls_share(v, x.v)),
		       v->c->scaled ? "times" : "of all calls", page_error(b, x), text);
}

static const char *why_no_calls(const struct calls_view *v)
{
	if (!v->sums->stacks)
		return recorded_no_stacks(&v->source, v->sums);
	if (v->c->unknown)
		return "nothing tells which of the recorded branches are calls: neither the "
		       "programs' files nor kinds of branches are there";
	return v->c->by_returns ? "none of the recorded branches is a return to behind a call"
				: "none of the recorded branches is a call";
}

/* A count of lost_columns, of all of its kind. */
static void add_call_lost(struct document *d, const struct calls *k, size_t column)
{
	const struct table_column *c = &lost_columns[column];
	uint64_t n, all = k->hits + k->strange;
	char a[NUM_MAX], b[NUM_MAX];

	memcpy(&n, (const char *)k + c->field.at, sizeof(n));
	if (!strcmp(c->key, "unknown"))
		all = k->unknown + k->other + k->kernel + k->hits_calls + k->hits_returns;
	if (n)
		document_fact(d, c->head, n > all / 20, "%s of %s %s: %s", num_exact(a, n),
			      num_exact(b, all), !strcmp(c->key, "unknown") ? "branches" : "seen",
			      c->means);
}

static void add_call_facts(struct document *d, const struct calls_view *v)
{
	const struct calls *k = v->c;
	char a[NUM_MAX], b[NUM_MAX];

	if (!k->n_edges)
		document_fact(d, "no calls", true, "%s", why_no_calls(v));
	else if (k->scaled)
		document_fact(d, "told by", false,
			      "%s; the event counts the branches that are recorded", calls_by(k));
	else
		document_fact(d, "told by", true,
			      "%s, shares only: the event does not count the branches that are "
			      "recorded, so that how often is not known, and stacks favour code "
			      "near what it counts",
			      calls_by(k));
	recorded_stacks(d, &v->source, v->sums);
	if (!k->by_returns && k->hits_returns)
		document_fact(d, "calls, returns", false,
			      "%s and %s seen; they differ by what begins or ends outside of "
			      "stacks, and by exceptions",
			      num_exact(a, k->hits_calls), num_exact(b, k->hits_returns));
	for (size_t i = 0; i < sizeof(lost_columns) / sizeof(*lost_columns); i++)
		add_call_lost(d, k, i);
	if (k->kernel)
		document_fact(d, "kernel", false,
			      "%s ways into the kernel or out of it, which are no calls",
			      num_exact(a, k->kernel));
}

static void add_call_next(struct document *d, const struct calls_view *v)
{
	uint32_t f = v->function == CALLS_ALL ? 0 : v->function;
	struct next_list l = { .v = d->next, .a = &d->a, .input = v->source.input };
	const char *name = v->c->n && v->c->f[f].symbol ? calls_name(v, f) : NULL;

	if (v->function == CALLS_ALL && name)
		next_add(&l, "calls", "", name, "who calls it, and whom it calls");
	else if (name)
		next_add(&l, "annotate", "", name, "its source lines and instructions");
	if (v->c->n_edges)
		next_add(&l, "calls", "--format svg -o calls.svg",
			 v->function == CALLS_ALL ? NULL : name, "as a picture");
	if (v->sums->filter == FLOW_ANY && v->sums->stacks)
		next_add(&l, "blocks", "", NULL, "how often each block ran");
	d->n_next = l.n;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Functions that were called or jumped to; down to 0.1 % as shown. */
static size_t functions_enough(const struct calls_view *v)
{
	const struct calls *k = v->c;
	size_t most = v->limit ? v->limit : FUNCTIONS, n = 0;

	while (n < k->n && n < most) {
		double called = k->f[n].called.v + k->f[n].tailed.v;

		if (!(called > 0) || (!v->limit && n >= LEAST && calls_share(v, called) < SMALL))
			break;
		n++;
	}
	return n;
}

static void add_call_tables(struct document *d, const struct calls_view *v)
{
	struct table functions =
		TABLE_OF(functions_form, v, v->c->f, v->c->n, .people = functions_enough(v));
	struct table edges = { .form = &edges_form, .ctx = v, .people = v->limit };
	struct table callers = { .form = &callers_form,
				 .ctx = v,
				 .people = v->limit ? v->limit : NEIGHBOURS };
	struct table callees = callers;

	callees.form = &callees_form;
	if (!v->limit)
		edges.people = table_enough(&edges, 0, LEAST, EDGES, SMALL);
	functions.data_only = edges.data_only = v->function != CALLS_ALL;
	document_table(d, &functions);
	document_table(d, &edges);
	if (v->function == CALLS_ALL)
		return;
	document_table(d, &callers);
	document_table(d, &callees);
}

void calls_put(struct document *d, const struct calls_view *v)
{
	const struct table lost = { .form = &lost_form, .array = v->c, .n = 1 };

	document_table(d, &(struct table){ .form = &head_form, .ctx = v, .array = v->c, .n = 1 });
	recorded_head(d, &v->source);
	add_call_titles(d, v);
	if (v->function != CALLS_ALL) {
		const struct call_function *f = &v->c->f[v->function];

		document_title(d, INK_PLAIN, "%s", "");
		document_title(d, INK_BOLD, "%s  %s", calls_name(v, v->function),
			       calls_dso(v, v->function));
		add_call_value(d, v, "called", f->called, "");
		if (f->recursive.v > 0)
			add_call_value(d, v, "of these by itself", f->recursive, "");
		if (f->tailed.v > 0)
			add_call_value(d, v, "tail-called", f->tailed, ": jumps to its start");
		add_call_value(d, v, "calls others", f->calls, "");
		if (!f->n_callers)
			document_fact(d, "callers", false, "none in the recording");
		if (!f->n_callees)
			document_fact(d, "callees", false, "none in the recording");
	}
	add_call_tables(d, v);
	document_table(d, &lost);
	add_call_facts(d, v);
	recorded_tail(d, &v->source);
	add_call_next(d, v);
}

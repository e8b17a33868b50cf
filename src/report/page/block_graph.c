/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function's blocks, found in the table of its instructions: one begins at the first instruction,
 * at each target of a jump, and behind each jump.
 */
#include "report/block_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "show/graph_place.h"

#define BLOCKS_MAX  250 /* that are laid out */
#define INSNS_MAX   20000
#define LETTER	    6.7 /* pixels */
#define LINE_HEIGHT 14
#define NONE	    UINT32_MAX

struct insn {
	uint64_t address, target, period;
	bool jumps, ends, begins; /* ends: nothing falls through */
	uint32_t block;
};

struct block {
	uint64_t address, period;
	double x, y, width, height, heat;
	const char *label;
	size_t first, n; /* instructions */
	uint32_t shown;	 /* its number in the graph; NONE: cut */
};

struct edge {
	uint32_t from, to; /* shown numbers */
	const char *kind, *path;
	double weight;
	const char *label;
};

struct making {
	struct document *d;
	VEC(struct insn) insn;
	VEC(struct block) block;
	struct block *shown; /* in the document's arena */
	struct edge *edge;
	size_t n_shown, n_edges;
	uint64_t period;
};

/* ---- instructions ---------------------------------------------------------------------------- */

static const struct table *find_table(const struct document *d, const char *name)
{
	for (size_t i = 0; i < d->table.n; i++)
		if (!strcmp(d->table.v[i].form->name, name))
			return &d->table.v[i];
	return NULL;
}

static const struct table_column *find_column(const struct table *t, const char *key)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].key, key))
			return &c[i];
	return NULL;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return word && (!strcmp(word, a) || !strcmp(word, b));
}

/* Returns false if no code is there, or too much of it. */
static bool read_insns(struct making *m, const struct table *t, struct err *err, int *ret)
{
	const struct table_column *address = find_column(t, "address"),
				  *target = find_column(t, "target"),
				  *flow = find_column(t, "flow"),
				  *period = find_column(t, "period");
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;
	bool has_flow = false;

	while (address && target && flow && period && m->insn.n <= INSNS_MAX && table_next(t, &r)) {
		struct insn in = { .block = NONE };

		table_cell(&x, t, address, &r, &scratch);
		in.address = x.n;
		table_cell(&x, t, period, &r, &scratch);
		in.period = x.n;
		table_cell(&x, t, flow, &r, &scratch);
		has_flow |= cell_has(&x);
		in.jumps = cell_has(&x) && is_one_of(x.text, "jump", "branch");
		in.ends = cell_has(&x) && is_one_of(x.text, "jump", "return");
		table_cell(&x, t, target, &r, &scratch);
		if (in.jumps && cell_has(&x))
			in.target = x.kind == T_TEXT ? strtoull(x.text, NULL, 0) : x.n;
		m->period += in.period;
		if (vec_push(&m->insn, in))
			*ret = err_nomem(err);
	}
	buf_free(&scratch);
	return !*ret && has_flow && m->insn.n <= INSNS_MAX;
}

static struct insn *insn_at(struct making *m, uint64_t address)
{
	size_t from = 0, to = m->insn.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (m->insn.v[mid].address < address)
			from = mid + 1;
		else
			to = mid;
	}
	return from < m->insn.n && m->insn.v[from].address == address ? &m->insn.v[from] : NULL;
}

static int find_blocks(struct making *m, struct err *err)
{
	for (size_t i = 0; i < m->insn.n; i++) {
		struct insn *in = &m->insn.v[i], *to = in->target ? insn_at(m, in->target) : NULL;

		if (to)
			to->begins = true;
		if (i == 0 || m->insn.v[i - 1].jumps || m->insn.v[i - 1].ends)
			in->begins = true;
	}
	for (size_t i = 0; i < m->insn.n; i++) {
		struct insn *in = &m->insn.v[i];
		struct block b = { .address = in->address, .first = i, .shown = NONE };

		if (in->begins && vec_push(&m->block, b))
			return err_nomem(err);
		in->block = (uint32_t)m->block.n - 1;
		m->block.v[in->block].n++;
		m->block.v[in->block].period += in->period;
	}
	return 0;
}

/* ---- which of them are shown ----------------------------------------------------------------- */

static int by_period(const void *va, const void *vb)
{
	const struct block *const *a = va, *const *b = vb;

	if ((*a)->period != (*b)->period)
		return (*a)->period > (*b)->period ? -1 : 1;
	return (*a)->address < (*b)->address ? -1 : (*a)->address > (*b)->address;
}

/* If there are too many, chooses those with most samples, and the first. */
static int choose(struct making *m, struct err *err)
{
	size_t n = m->block.n;
	struct block **v = calloc(n + 1, sizeof(struct block *));

	m->shown = arena_alloc(&m->d->a, (BLOCKS_MAX + 1) * sizeof(*m->shown));
	if (!v || !m->shown) {
		free(v);
		return err_nomem(err);
	}
	for (size_t i = 0; i < n; i++)
		v[i] = &m->block.v[i];
	if (n > 1)
		qsort(v, n, sizeof(struct block *), by_period);
	for (size_t i = 0; i < n && i < BLOCKS_MAX; i++)
		v[i]->shown = 0;
	free(v);
	m->block.v[0].shown = 0;
	for (size_t i = 0; i < n; i++) {
		struct block *b = &m->block.v[i];

		if (b->shown == NONE)
			continue;
		b->shown = (uint32_t)m->n_shown;
		m->shown[m->n_shown++] = *b;
	}
	return 0;
}

static void describe(struct making *m, struct block *b)
{
	char text[160];
	int n;

	b->heat = m->period ? round(1000 * (double)b->period / (double)m->period) / 1000 : NAN;
	n = snprintf(text, sizeof(text), "0x%" PRIx64 "\n%zu instruction%s", b->address, b->n,
		     b->n == 1 ? "" : "s");
	if (b->period && n > 0)
		(void)snprintf(text + n, sizeof(text) - (size_t)n, ", %.1f %%",
			       100 * (double)b->period / (double)m->period);
	b->label = arena_strdup(&m->d->a, text);
	m->d->failed |= !b->label;
	b->width = 20 + LETTER * (double)strlen(strchr(text, '\n') + 1);
	if (b->width < 110)
		b->width = 110;
	b->height = 2 * LINE_HEIGHT + 8;
}

static void add_edge(struct making *m, const struct block *from, const struct insn *to,
		     const char *kind)
{
	uint32_t at = to ? m->block.v[to->block].shown : NONE;

	if (from->shown != NONE && at != NONE)
		m->edge[m->n_edges++] = (struct edge){ from->shown, at, kind, NULL, NAN, NULL };
}

static int find_edges(struct making *m, struct err *err)
{
	m->edge = arena_alloc(&m->d->a, (2 * m->block.n + 1) * sizeof(*m->edge));
	if (!m->edge)
		return err_nomem(err);
	for (size_t i = 0; i < m->block.n; i++) {
		const struct block *b = &m->block.v[i];
		size_t end = b->first + b->n;
		const struct insn *last = &m->insn.v[end - 1];

		if (!last->ends && end < m->insn.n)
			add_edge(m, b, &m->insn.v[end], "falls");
		if (last->target)
			add_edge(m, b, insn_at(m, last->target),
				 last->target <= last->address ? "back" : "taken");
	}
	return 0;
}

/* Sets how often a jump was taken, if there are branch stacks. */
static void weigh_edges(struct making *m, const struct table *t)
{
	const struct table_column *address = t ? find_column(t, "address") : NULL,
				  *target = t ? find_column(t, "target") : NULL,
				  *runs = t ? find_column(t, "runs") : NULL;
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;

	while (address && target && runs && table_next(t, &r)) {
		const struct insn *from, *to;

		table_cell(&x, t, address, &r, &scratch);
		from = insn_at(m, x.n);
		table_cell(&x, t, target, &r, &scratch);
		to = insn_at(m, x.n);
		table_cell(&x, t, runs, &r, &scratch);
		for (size_t i = 0; from && to && i < m->n_edges; i++) {
			struct edge *e = &m->edge[i];

			if (e->from == m->block.v[from->block].shown &&
			    e->to == m->block.v[to->block].shown && strcmp(e->kind, "falls") != 0)
				e->weight = x.e.v;
		}
	}
	buf_free(&scratch);
}

/* ---- the layout ------------------------------------------------------------------------------ */

static int place(struct making *m, struct graph_places *g, struct err *err)
{
	int ret = -1;

	g->arena = &m->d->a;
	g->n_boxes = m->n_shown;
	g->n_arrows = m->n_edges;
	g->box = calloc(m->n_shown + 1, sizeof(*g->box));
	g->arrow = calloc(m->n_edges + 1, sizeof(*g->arrow));
	if (!g->box || !g->arrow) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < m->n_shown; i++) {
		describe(m, &m->shown[i]);
		g->box[i] = (struct graph_box){ .width = m->shown[i].width,
						.height = m->shown[i].height };
	}
	for (size_t i = 0; i < m->n_edges; i++)
		g->arrow[i] = (struct graph_arrow){ m->edge[i].from, m->edge[i].to, NULL };
	ret = graph_place(g, err);
	for (size_t i = 0; i < m->n_shown && !ret; i++) {
		m->shown[i].x = g->box[i].x;
		m->shown[i].y = g->box[i].y;
	}
	for (size_t i = 0; i < m->n_edges && !ret; i++)
		m->edge[i].path = g->arrow[i].path;
out:
	free(g->box);
	free(g->arrow);
	return ret;
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define OF(type, member) TABLE_FIELD(struct type, member)
TABLE_CELL(box_id, out->n = r->i)
TABLE_CELL(box_address, const struct block *b = r->p; cell_printf(out, "0x%" PRIx64, b->address))

static const struct table_column head_columns[] = {
	COLUMN("width", "width", T_REAL, 0, "in pixels", OF(graph_places, width)),
	COLUMN("height", "height", T_REAL, 0, "in pixels", OF(graph_places, height)),
};
static const struct table_column node_columns[] = {
	COLUMN("id", "id", T_ID, C_KEY, "counts from 0", .get = box_id),
	COLUMN("x", "x", T_REAL, 0, "of the middle", OF(block, x)),
	COLUMN("y", "y", T_REAL, 0, "of the middle, downwards", OF(block, y)),
	COLUMN("width", "width", T_REAL, 0, "in pixels", OF(block, width)),
	COLUMN("height", "height", T_REAL, 0, "in pixels", OF(block, height)),
	COLUMN("address", "address", T_TEXT, 0, "of its first instruction", .get = box_address),
	COLUMN("label", "label", T_TEXT, 0, "lines of text", OF(block, label)),
	COLUMN("heat", "heat", T_SHARE, 0, "of the function's period", OF(block, heat)),
};
static const struct table_column edge_columns[] = {
	COLUMN("from", "from", T_ID, C_KEY, "a node", OF(edge, from)),
	COLUMN("to", "to", T_ID, C_KEY, "a node", OF(edge, to)),
	COLUMN("kind", "kind", T_TEXT, C_KEY | C_DATA, "falls, taken, back", OF(edge, kind)),
	COLUMN("weight", "runs", T_REAL, 0, "how often", OF(edge, weight)),
	COLUMN("label", "label", T_TEXT, 0, "a text", OF(edge, label)),
	COLUMN("path", "path", T_TEXT, C_DATA, "of SVG", OF(edge, path)),
};
TABLE_CELL(note, const char *const *s = r->p; out->text = *s)
static const struct table_column note_columns[] = {
	COLUMN("note", "note", T_TEXT, C_KEY, "what was left out", .get = note),
};
static const struct table_form head_form = { "graph", NULL, TABLE_ONE | TABLE_HEAD,
					     TABLE_COLUMNS(head_columns) };
static const struct table_form nodes_form = { "nodes", NULL, TABLE_MAIN,
					      TABLE_COLUMNS(node_columns) };
static const struct table_form edges_form = { "edges", NULL, 0, TABLE_COLUMNS(edge_columns) };
static const struct table_form notes_form = { "notes", NULL, TABLE_LINES,
					      TABLE_COLUMNS(note_columns) };
static const struct table_form *const forms[] = { &head_form, &nodes_form, &edges_form,
						  &notes_form };
const struct document_form block_graph_document = { "graph", 1, forms, 4, NULL, 0 };

static void put_tables(struct making *m, const struct graph_places *g)
{
	struct graph_places *head = arena_alloc(&m->d->a, sizeof(*head));
	char text[120];

	if (!head) {
		m->d->failed = true;
		return;
	}
	*head = *g;
	if (m->n_shown < m->block.n) {
		const char *s;

		(void)snprintf(text, sizeof(text), "%zu of %zu blocks: those with most samples",
			       m->n_shown, m->block.n);
		s = arena_strdup(&m->d->a, text);
		if (s)
			document_note(m->d, s);
		m->d->failed |= !s;
	}
#define PUT(form_, rows, count)                                          \
	document_table(m->d, &(struct table){ .form = &(form_),          \
					      .array = (rows),           \
					      .stride = sizeof(*(rows)), \
					      .n = (count) })
	PUT(head_form, head, 1);
	PUT(nodes_form, m->shown, m->n_shown);
	PUT(edges_form, m->edge, m->n_edges);
	PUT(notes_form, m->d->note.v, m->d->note.n);
}

int block_graph_put(struct document *d, const struct document *function, struct err *err)
{
	const struct table *t = find_table(function, "instructions");
	struct making m = { .d = d };
	struct graph_places g = { 0 };
	int ret = 0;

	if (t && read_insns(&m, t, err, &ret) && m.insn.n) {
		ret = find_blocks(&m, err) || choose(&m, err) || find_edges(&m, err) ? -1 : 0;
		if (!ret) {
			weigh_edges(&m, find_table(function, "edges"));
			ret = place(&m, &g, err);
		}
		if (!ret)
			put_tables(&m, &g);
	}
	vec_free(&m.insn);
	vec_free(&m.block);
	return ret;
}

/* ---- for a page ------------------------------------------------------------------------------ */

void block_graph_free(struct document *graph)
{
	if (graph)
		document_close(graph);
	free(graph);
}

/* Among the notes of the function. */
static int note_no_graph(struct document *of, const char *why, struct err *err)
{
	const char *note = arena_printf(&of->a, "no graph of blocks: %s", why);

	if (!note)
		return err_nomem(err);
	document_note(of, note);
	return 0;
}

int block_graph_of(struct document **graph, struct document *function, struct err *err)
{
	struct document *d = malloc(sizeof(*d));
	struct err why = ERR_INIT;
	int ret;

	*graph = NULL;
	if (!d)
		return err_nomem(err);
	document_open(d, &block_graph_document, NULL);
	ret = block_graph_put(d, function, &why);
	if (!ret && !d->failed && d->table.n) {
		*graph = d;
		return 0;
	}
	if (d->failed || (ret && why.code == ERR_NOMEM))
		ret = err_nomem(err);
	else
		ret = ret ? note_no_graph(function, why.what, err) : 0;
	block_graph_free(d);
	return ret;
}

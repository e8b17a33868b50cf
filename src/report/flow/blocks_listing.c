/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function as people read it: its blocks by address with inflow and outflow, and between them the
 * sources and targets. Programs read blocks and edges instead.
 */
#include <inttypes.h>

#include "base/fs.h"
#include "report/flow/blocks_int.h"

TABLE_ROW_AS(block_listing_list_of, struct blocks_listing)

/* NULL in lines that are no block's. */
static const struct block *block_listing_listed(const struct table_row *r, struct table_cell *out)
{
	const struct blocks_listing *l = block_listing_list_of(r);

	out->says = "";
	out->none = l->kind != LIST_BLOCK;
	return out->none ? NULL : &l->f->block[l->block];
}

/* "f  prog" */
TABLE_GET(block_listing_heading)
{
	buf_printf(out->scratch, "%s  %s", block_listing_list_of(r)->f->symbol->name,
		   blocks_dso(blocks_view_of(t), block_listing_list_of(r)->f));
	out->text = buf_str(out->scratch);
}

TABLE_GET(block_listing_share)
{
	const struct block *b = block_listing_listed(r, out);

	if (b)
		out->e.v = b->runs.v *
			   block_listing_list_of(r)
				   ->f->code->block[block_listing_list_of(r)->block]
				   .n /
			   blocks_view_of(t)->b->insns.v;
}

TABLE_GET(block_listing_runs)
{
	const struct block *b = block_listing_listed(r, out);

	out->none = false;
	out->dim = !b;
	if (b)
		cell_flow(out, b->runs);
	else if (block_listing_list_of(r)->edge)
		cell_flow(out, block_listing_list_of(r)->edge->runs);
}

TABLE_GET(block_listing_insns)
{
	if (block_listing_listed(r, out))
		out->n =
			block_listing_list_of(r)->f->code->block[block_listing_list_of(r)->block].n;
}

TABLE_GET(block_listing_mispredicted)
{
	const struct block_edge *e = block_listing_list_of(r)->edge;

	out->says = "";
	out->dim = e;
	if (e && !e->fallthrough)
		out->e.v = blocks_mispredicted(&e->tally);
}

enum { IN, OUT };

TABLE_GET(block_listing_flow)
{
	const struct block *b = block_listing_listed(r, out);

	if (!b)
		return;
	out->says = "-";
	out->e.v = c->which == IN ? b->flow_in : b->flow_out;
}

static const char *verb(const struct blocks_listing *l)
{
	static const char *const verbs[] = {
		[INSN_OTHER] = "runs on to",  [INSN_JUMP] = "jumps to",
		[INSN_COND] = "jumps to",     [INSN_CALL] = "calls",
		[INSN_RETURN] = "returns to", [INSN_SYSTEM] = "by way of the kernel",
		[INSN_STOP] = "leaves for",
	};

	if (l->edge->fallthrough)
		return l->kind == LIST_IN ? "runs on from" : "runs on to";
	return l->kind == LIST_IN ? "from" : verbs[l->f->code->block[l->block].flow];
}

static uint64_t block_listing_address_of(const struct blocks_listing *l, uint32_t block)
{
	return l->f->code->vaddr + l->f->code->block[block].start;
}

/* "jumps to 401016", as in that block's own line; "calls g (libx.so)". */
static void put_block_listing_edge(struct buf *b, const struct blocks_view *v,
				   const struct blocks_listing *l)
{
	const struct block_edge *e = l->edge;
	uint32_t block = l->kind == LIST_IN ? e->from : e->to;
	const struct symbol *s;
	const char *dso;

	buf_printf(b, "%s ", verb(l));
	if (block != CODE_NONE) {
		buf_printf(b, "%" PRIx64, block_listing_address_of(l, block));
		return;
	}
	s = blocks_symbol(v, &e->other, &dso);
	if (s)
		buf_puts(b, s->name);
	else
		buf_printf(b, "0x%" PRIx64, blocks_vaddr(v, e->other.image, e->other.addr));
	if (s && e->other.addr != s->start)
		buf_printf(b, "+0x%" PRIx64, e->other.addr - s->start);
	if (e->other.image != l->f->image)
		buf_printf(b, " (%s)", dso ? dso : "in no mapping");
}

/* "401005 loop 2 file.c:12" */
static void put_block(struct buf *b, const struct blocks_view *v, const struct blocks_listing *l)
{
	const struct block *k = &l->f->block[l->block];
	struct source_line at = blocks_line(v, l->f, l->block);

	buf_printf(b, "%" PRIx64, block_listing_address_of(l, l->block));
	if (k->loop != CODE_NONE && l->f->loop[k->loop].head == l->block)
		buf_printf(b, " loop %" PRIu32, l->f->loop[k->loop].depth);
	if (at.file)
		buf_printf(b, " %s:%u", path_base(at.file), at.line);
}

TABLE_GET(text)
{
	const struct blocks_listing *l = block_listing_list_of(r);
	struct buf *b = out->scratch;

	out->dim = l->kind != LIST_BLOCK;
	out->indent = l->edge || l->kind == LIST_MORE;
	if (l->kind == LIST_COLD)
		buf_printf(b, "(%zu block%s not seen to run)", l->n, l->n == 1 ? "" : "s");
	else if (l->kind == LIST_MORE)
		buf_printf(b, "(from %zu more places)", l->n);
	else if (l->kind == LIST_BLOCK)
		put_block(b, blocks_view_of(t), l);
	else
		put_block_listing_edge(b, blocks_view_of(t), l);
	out->text = buf_str(b);
}

static const struct table_column columns[] = {
	COLUMN("function", "", T_TEXT, C_GROUP, "", .get = block_listing_heading),
	COLUMN("share", "share", T_SHARE, C_HEAT, "", .get = block_listing_share),
	COLUMN("runs", "runs", T_AMOUNT, C_ERROR, "", .get = block_listing_runs),
	COLUMN("insns", "insns", T_COUNT, 0, "", .get = block_listing_insns),
	COLUMN("in", "in", T_AMOUNT, 0, "", .get = block_listing_flow, .which = IN),
	COLUMN("out", "out", T_AMOUNT, 0, "", .get = block_listing_flow, .which = OUT),
	COLUMN("mispredicted", "mispred", T_SHARE, C_SPARSE, "", .get = block_listing_mispredicted),
	COLUMN("text", "address", T_TEXT, C_FLEX | C_CUT, "", .get = text),
};
const struct table_form blocks_listing_form = { "listing", NULL, TABLE_PEOPLE,
						TABLE_COLUMNS(columns) };

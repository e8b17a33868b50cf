/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_arrows - jumps inside the function as lines in a narrow column.
 *
 * All jumps to one place share a lane. Short ones lie inside, next to the instructions; a jump that
 * finds no lane among the six is not drawn (its target still stands in the instruction's text).
 */
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"

struct jump {
	size_t from, to; /* rows */
};

struct bundle { /* all jumps to one row */
	size_t to, low, high;
	size_t first, last; /* of the sorted jumps */
	unsigned lane;	    /* ARROW_LANES: none */
};

typedef VEC(struct jump) jumps;
typedef VEC(struct bundle) bundles;

enum { UP = 1, DOWN = 2, RIGHT = 4, HEAD = 8 };

static int by_target(const void *x, const void *y)
{
	const struct jump *a = x, *b = y;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static int arrow_by_length(const void *x, const void *y)
{
	const struct bundle *a = x, *b = y;
	size_t la = a->high - a->low, lb = b->high - b->low;

	if (la != lb)
		return la < lb ? -1 : 1;
	return a->low < b->low ? -1 : a->low > b->low;
}

static void find_jumps(jumps *out, const struct annotate *a, const struct annotate_rows *rows)
{
	size_t *insn_row = xcalloc(a->insn.n + 1, sizeof(*insn_row));

	for (size_t r = 0; r < rows->v.n; r++)
		if (rows->v.v[r].kind == ROW_INSN || rows->v.v[r].kind == ROW_FOLD)
			for (size_t i = rows->v.v[r].first; i < rows->v.v[r].last; i++)
				insn_row[i] = r;
	for (size_t i = 0; i < a->insn.n; i++) {
		size_t to = annotate_jump(a, &a->insn.v[i]);
		struct jump j = { insn_row[i], to == SIZE_MAX ? SIZE_MAX : insn_row[to] };

		if (to != SIZE_MAX && j.to != j.from)
			vec_xpush(out, j);
	}
	free(insn_row);
}

static void make_bundles(bundles *out, jumps *j)
{
	vec_sort(j, by_target);
	for (size_t i = 0, k; i < j->n; i = k) {
		struct bundle b = { j->v[i].to, j->v[i].to, j->v[i].to, i, i, ARROW_LANES };

		for (k = i; k < j->n && j->v[k].to == b.to; k++) {
			b.low = j->v[k].from < b.low ? j->v[k].from : b.low;
			b.high = j->v[k].from > b.high ? j->v[k].from : b.high;
		}
		b.last = k;
		vec_xpush(out, b);
	}
	vec_sort(out, arrow_by_length);
}

/* Draws bundle `b` into `grid` if a lane is free along its way. */
static void place_arrow(const struct bundle *b, const jumps *j, uint8_t (*grid)[ARROW_LANES])
{
	for (unsigned lane = 0; lane < ARROW_LANES; lane++) {
		size_t r = b->low;

		while (r <= b->high && !grid[r][lane])
			r++;
		if (r <= b->high)
			continue;
		for (r = b->low; r <= b->high; r++)
			grid[r][lane] = (uint8_t)((r > b->low ? UP : 0) | (r < b->high ? DOWN : 0));
		grid[b->to][lane] |= RIGHT | HEAD;
		for (size_t i = b->first; i < b->last; i++)
			grid[j->v[i].from][lane] |= RIGHT;
		return;
	}
}

static const char *glyph(unsigned bits, bool ascii)
{
	static const char *const fancy[8] = { " ", "│", "│", "│", "─", "└", "┌", "├" };
	static const char *const plain[8] = { " ", "|", "|", "|", "-", "+", "+", "+" };

	return ascii ? plain[bits & 7] : fancy[bits & 7];
}

/* The same with a line from the left going through. */
static const char *arrow_crossing(unsigned bits, bool ascii)
{
	if (ascii)
		return bits & RIGHT ? "+" : "|";
	return (bits & (UP | DOWN)) == UP ? "┴" : (bits & (UP | DOWN)) == DOWN ? "┬" : "┼";
}

/* One row's cell: lanes from the outermost to the innermost, then the arrow's head. */
static void draw(char *cell, size_t size, const uint8_t *lane, unsigned n, bool ascii)
{
	bool across = false, head = false;
	size_t at = 0;

	for (unsigned i = n; i-- > 0;) {
		unsigned bits = lane[i];
		const char *g;

		if (across && bits)
			g = arrow_crossing(bits, ascii);
		else if (across)
			g = glyph(RIGHT, ascii);
		else
			g = glyph(bits, ascii);
		across |= (bits & RIGHT) != 0;
		head |= (bits & HEAD) != 0;
		if (at + strlen(g) < size) {
			memcpy(cell + at, g, strlen(g));
			at += strlen(g);
		}
	}
	{
		const char *g = head ? ascii ? ">" : "►" : across ? glyph(RIGHT, ascii) : " ";

		if (at + strlen(g) < size) {
			memcpy(cell + at, g, strlen(g));
			at += strlen(g);
		}
	}
	cell[at] = '\0';
}

void annotate_arrows(struct annotate_arrows *out, const struct annotate *a,
		     const struct annotate_rows *rows, bool ascii)
{
	uint8_t(*grid)[ARROW_LANES] = NULL;
	bundles b = VEC_INIT;
	jumps j = VEC_INIT;
	unsigned used = 0;

	out->cell = NULL;
	out->width = 0;
	find_jumps(&j, a, rows);
	make_bundles(&b, &j);
	if (!b.n)
		goto out;
	grid = xcalloc(rows->v.n, sizeof(*grid));
	out->cell = xcalloc(rows->v.n, sizeof(*out->cell));
	vec_each (&b, struct bundle *, it)
		place_arrow(it, &j, grid);
	for (size_t r = 0; r < rows->v.n; r++)
		for (unsigned i = used; i < ARROW_LANES; i++)
			if (grid[r][i])
				used = i + 1;
	for (size_t r = 0; r < rows->v.n; r++)
		draw(out->cell[r], sizeof(out->cell[r]), grid[r], used, ascii);
	out->width = used + 1;
out:
	free(grid);
	vec_free(&b);
	vec_free(&j);
}

void annotate_arrows_free(struct annotate_arrows *w)
{
	free(w->cell);
	w->cell = NULL;
}

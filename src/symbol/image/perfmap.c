/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Overlaps are resolved by painting the lines in their order over a `pieces` tree (pieces.h), which
 * is then read out once: O(n log n) however they overlap.
 */
#include "base/bisect.h"
#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/image/perfmap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "symbol/image/hexline.h"
#include "symbol/image/pieces.h"

struct map_lines {
	VEC(struct perfmap_sym) sym;
};

static void skip_map_blanks(char **p, const char *end)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		++*p;
}

static bool take_map_number(char **p, const char *end, uint64_t *out)
{
	skip_map_blanks(p, end);
	if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] == 'x' || (*p)[1] == 'X'))
		*p += 2;
	return hex_take(p, end, out) && *p < end && (**p == ' ' || **p == '\t');
}

static bool parse_map_line(char *p, char *end, struct perfmap_sym *s)
{
	uint64_t size;

	if (end > p && end[-1] == '\r')
		*--end = '\0';
	if (!take_map_number(&p, end, &s->start) || !take_map_number(&p, end, &size) || !size)
		return false;
	skip_map_blanks(&p, end);
	s->end = size > UINT64_MAX - s->start ? UINT64_MAX : s->start + size;
	s->name = p;
	return p < end && s->end > s->start;
}

/* Makes the lines disjoint: the later wins. */
static void make_disjoint(struct map_lines *l)
{
	struct pieces p = PIECES_INIT;
	struct map_lines out = { VEC_INIT };
	const struct piece_node *n;
	uint32_t root = 0;

	p.random = (uint32_t)hash_u64((uint64_t)(uintptr_t)l->sym.v) | 1;
	for (size_t i = 0; i < l->sym.n; i++)
		pieces_paint(&p, &root, l->sym.v[i].start, l->sym.v[i].end, (uint32_t)i);
	for (uint64_t at = 0; (n = pieces_next(&p, root, at)) != NULL; at = n->end)
		vec_xpush(&out.sym,
			  ((struct perfmap_sym){ n->start, n->end, l->sym.v[n->value].name }));
	vec_free(&l->sym);
	*l = out;
	pieces_free(&p);
}

void perfmap_parse(struct perfmap *m, char *text, size_t len)
{
	struct map_lines l = { VEC_INIT };
	char *end = text + len, *eol;
	bool in_order = true;

	*m = (struct perfmap)PERFMAP_INIT;
	for (char *p = text; p < end && l.sym.n < PIECE_HOLE; p = eol + 1) {
		struct perfmap_sym s;

		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			break; /* still being written */
		*eol = '\0';
		if (eol == p)
			continue;
		if (!parse_map_line(p, eol, &s)) {
			m->n_bad++;
			continue;
		}
		if (l.sym.n && s.start < vec_last(&l.sym)->end)
			in_order = false;
		vec_xpush(&l.sym, s);
	}
	if (!in_order)
		make_disjoint(&l);
	m->sym = l.sym.v;
	m->n = l.sym.n;
	assert(pairs_hold(m->n, i, m->sym[i].end <= m->sym[i + 1].start));
}

const struct perfmap_sym *perfmap_find(const struct perfmap *m, uint64_t addr)
{
	size_t at;

	bisect(at, m->n, i, m->sym[i].start > addr);
	return at && addr < m->sym[at - 1].end ? &m->sym[at - 1] : NULL;
}

void perfmap_free(struct perfmap *m)
{
	free(m->sym);
	*m = (struct perfmap)PERFMAP_INIT;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Overlaps are resolved by painting the lines in their order over a `pieces` tree (pieces.h), which
 * is then read out once: O(n log n) however they overlap.
 */
#include "base/bisect.h"
#include "base/invariant.h"
#include "symbol/image/perfmap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "symbol/image/hexline.h"
#include "symbol/image/pieces.h"

struct list {
	VEC(struct perfmap_sym) sym;
};

static void skip_blanks(char **p, const char *end)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		++*p;
}

static bool take_number(char **p, const char *end, uint64_t *out)
{
	skip_blanks(p, end);
	if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] == 'x' || (*p)[1] == 'X'))
		*p += 2;
	return hex_take(p, end, out) && *p < end && (**p == ' ' || **p == '\t');
}

static bool parse_line(char *p, char *end, struct perfmap_sym *s)
{
	uint64_t size;

	if (end > p && end[-1] == '\r')
		*--end = '\0';
	if (!take_number(&p, end, &s->start) || !take_number(&p, end, &size) || !size)
		return false;
	skip_blanks(&p, end);
	s->end = size > UINT64_MAX - s->start ? UINT64_MAX : s->start + size;
	s->name = p;
	return p < end && s->end > s->start;
}

/* Makes the lines disjoint: the later wins. */
static int flatten(struct list *l)
{
	struct pieces p = PIECES_INIT;
	struct list out = { VEC_INIT };
	uint32_t root = 0;
	int rc = -1;

	p.random = (uint32_t)hash_u64((uint64_t)(uintptr_t)l->sym.v) | 1;
	for (size_t i = 0; i < l->sym.n; i++)
		if (pieces_paint(&p, &root, l->sym.v[i].start, l->sym.v[i].end, (uint32_t)i))
			goto out;
	for (uint64_t at = 0;;) {
		const struct piece_node *n = pieces_next(&p, root, at);

		if (!n)
			break;
		if (vec_push(&out.sym,
			     ((struct perfmap_sym){ n->start, n->end, l->sym.v[n->value].name })))
			goto out;
		at = n->end;
	}
	vec_free(&l->sym);
	*l = out;
	out = (struct list){ VEC_INIT };
	rc = 0;
out:
	vec_free(&out.sym);
	pieces_free(&p);
	return rc;
}

int perfmap_parse(struct perfmap *m, char *text, size_t len, struct err *err)
{
	struct list l = { VEC_INIT };
	char *end = text + len, *eol;
	bool in_order = true;

	*m = (struct perfmap)PERFMAP_INIT;
	for (char *p = text; p < end; p = eol + 1) {
		struct perfmap_sym s;

		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			break; /* still being written */
		*eol = '\0';
		if (eol == p)
			continue;
		if (!parse_line(p, eol, &s)) {
			m->n_bad++;
			continue;
		}
		if (l.sym.n && s.start < vec_last(&l.sym)->end)
			in_order = false;
		if (l.sym.n >= PIECE_HOLE || vec_push(&l.sym, s))
			goto nomem;
	}
	if (!in_order && flatten(&l))
		goto nomem;
	m->sym = l.sym.v;
	m->n = l.sym.n;
	assert(pairs_hold(m->n, i, m->sym[i].end <= m->sym[i + 1].start));
	return 0;
nomem:
	vec_free(&l.sym);
	return err_nomem(err);
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

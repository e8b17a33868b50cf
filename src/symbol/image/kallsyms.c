/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/bisect.h"
#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/image/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "symbol/image/hexline.h"

/* "ffffffff81000000 T _text" or "ffffffffc0201000 t init\t[module]"; ends at `end`. */
static bool parse_kernel_line(char *p, char *end, struct kallsyms_sym *s)
{
	char *tab;

	if (!hex_take(&p, end, &s->addr) || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	s->type = p[1];
	s->name = p + 3;
	s->module = NULL;
	tab = memchr(p + 3, '\t', (size_t)(end - p - 3));
	if (tab) {
		*tab++ = '\0';
		if (tab == end || *tab != '[')
			return false;
		s->module = tab;
	}
	/* '$': marks of the Arm assembler */
	return s->name[0] != '\0' && s->name[0] != '$';
}

/* The order of the text is kept among equals: qsort alone would not. */
static int by_addr(const void *pa, const void *pb)
{
	const struct kallsyms_sym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

void kallsyms_parse(struct kallsyms *k, char *text, size_t len)
{
	VEC(struct kallsyms_sym) sym = VEC_INIT;
	bool sorted = true;
	char *end = text + len, *eol;
	uint64_t any = 0;
	size_t lines = 0;

	*k = (struct kallsyms)KALLSYMS_INIT;
	for (char *p = text; p < end; p = eol + 1) {
		struct kallsyms_sym s;

		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			break; /* cut short: a name's end may be missing */
		*eol = '\0';
		if (eol == p)
			continue;
		if (!parse_kernel_line(p, eol, &s)) {
			k->n_bad++;
			continue;
		}
		lines++;
		any |= s.addr;
		if (s.type != 't' && s.type != 'T' && s.type != 'w' && s.type != 'W') {
			k->n_data++;
			continue;
		}
		sorted = sorted && (!sym.n || vec_last(&sym)->addr <= s.addr);
		vec_xpush(&sym, s);
	}
	k->hidden = lines && !any;
	if (!sorted)
		vec_sort(&sym, by_addr);
	k->sym = sym.v;
	k->n = sym.n;
	assert(pairs_hold(k->n, i, k->sym[i].addr <= k->sym[i + 1].addr));
}

const struct kallsyms_sym *kallsyms_find(const struct kallsyms *k, uint64_t addr)
{
	size_t at;

	bisect(at, k->n, i, k->sym[i].addr > addr);
	return at ? &k->sym[at - 1] : NULL;
}

void kallsyms_free(struct kallsyms *k)
{
	free(k->sym);
	*k = (struct kallsyms)KALLSYMS_INIT;
}

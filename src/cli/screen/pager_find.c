/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pager_find - searching the cells of a table.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/screen/pager_int.h"

static bool has_capital(const char *s)
{
	for (; *s; s++)
		if (isupper((unsigned char)*s))
			return true;
	return false;
}

void pager_find_end(struct pager *p)
{
	if (p->find.on && !p->find.literal)
		regfree(&p->find.re);
	free(p->find.text);
	p->find.text = NULL;
	p->find.on = false;
}

/* Lines of a tree are found by their rows, which are there while they are folded. */
static size_t n_searched(const struct pager *p)
{
	return p->tree.parent || !p->order ? p->rows : p->n_order;
}

int pager_find(struct pager *p, const char *what, size_t from, bool backwards, unsigned not_flags,
	       struct err *err)
{
	bool exact = has_capital(what);
	char why[128];
	int rc;

	pager_find_end(p);
	if (pager_index_all(p, err))
		return -1;
	p->find.literal = !strpbrk(what, ".[]{}()\\*+?|^$");
	p->find.text = strdup(what);
	if (!p->find.text)
		return err_nomem(err);
	rc = p->find.literal ? 0
			     : regcomp(&p->find.re, what,
				       REG_EXTENDED | REG_NOSUB | (exact ? 0 : REG_ICASE));
	if (rc) {
		(void)regerror(rc, &p->find.re, why, sizeof(why));
		return err_set(err, ERR_USAGE, "'%.60s': %s", what, why);
	}
	p->find.on = true;
	p->find.backwards = backwards;
	p->find.not_flags = not_flags;
	p->find.left = n_searched(p);
	p->find.at = p->tree.parent && from < p->n_order ? p->order[from] : from;
	if (p->find.at >= p->find.left)
		p->find.at = p->find.left ? p->find.left - 1 : 0;
	return 0;
}

static bool matches(const struct pager *p, const char *s)
{
	if (!p->find.literal)
		return !regexec(&p->find.re, s, 0, NULL, 0);
	return (has_capital(p->find.text) ? strstr(s, p->find.text)
					  : strcasestr(s, p->find.text)) != NULL;
}

static bool row_matches(const struct pager *p, const struct table_row *r, struct buf *scratch,
			struct buf *word)
{
	size_t n;
	const struct table_column *c = table_columns(p->t, &n);
	struct table_cell x;

	for (size_t i = 0; i < n; i++) {
		if (!table_has(p->t, i, p->find.not_flags))
			continue;
		table_cell(&x, p->t, &c[i], r, scratch);
		if (x.kind == T_TEXT && !x.tail) {
			if (x.text && matches(p, x.text))
				return true;
			continue;
		}
		buf_reset(word);
		cell_put(word, &x);
		if (matches(p, buf_str(word)))
			return true;
	}
	return false;
}

static void move(struct pager *p)
{
	size_t n = n_searched(p);

	if (p->find.backwards)
		p->find.at = p->find.at ? p->find.at - 1 : n - 1;
	else
		p->find.at = p->find.at + 1 < n ? p->find.at + 1 : 0;
	p->find.left--;
}

enum pager_found pager_find_step(struct pager *p, size_t rows, size_t *line)
{
	struct buf scratch = BUF_INIT, word = BUF_INIT;
	struct table_row r = { 0 };
	bool found = false;

	for (; p->find.on && p->find.left && rows && !found; rows--) {
		move(p);
		if (p->tree.parent)
			found = pager_at(p, p->find.at, &r, NULL) > 0;
		else
			found = pager_row(p, p->find.at, &r, NULL) > 0;
		found = found && row_matches(p, &r, &scratch, &word);
	}
	buf_free(&scratch);
	buf_free(&word);
	if (!found)
		return p->find.on && p->find.left ? PAGER_MORE : PAGER_NOWHERE;
	*line = p->find.at;
	if (p->tree.parent) {
		pager_tree_show(p, p->find.at);
		*line = pager_line_of(p, p->find.at);
	}
	return PAGER_FOUND;
}

double pager_find_done(const struct pager *p)
{
	size_t n = n_searched(p);

	return n ? 1 - (double)p->find.left / (double)n : 1;
}

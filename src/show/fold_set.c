/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/fold.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct fold {
	const char *name, *text;
	size_t taken, width;
	struct fold_keep keep[FOLD_KEEPS];
	size_t n_keep;
	size_t first; /* the first name with this text, if another name has it */
	/* of the first name that has a text: how much all with that text begin and end alike */
	size_t head, tail;
	bool alike;
};

static uint64_t name_key(const char *name, size_t taken)
{
	return hash_pair(hash_bytes(name, strlen(name)), taken);
}

void folds_add(struct folds *n, const char *name, size_t taken)
{
	bool fresh;
	uint64_t *at = u64map_at(&n->at, name_key(name, taken), &fresh);
	struct fold *grown;

	if (!at) {
		n->failed = true;
		return;
	}
	if (!fresh)
		return;
	*at = SIZE_MAX;
	if (n->n == n->cap) {
		grown = reallocarray(n->v, n->cap ? 2 * n->cap : 32, sizeof(*n->v));
		if (!grown) {
			n->failed = true;
			return;
		}
		n->v = grown;
		n->cap = n->cap ? 2 * n->cap : 32;
	}
	n->v[n->n] = (struct fold){ .name = arena_strdup(&n->arena, name), .taken = taken };
	if (n->v[n->n].name)
		*at = n->n++;
	else
		n->failed = true;
}

/* ---- which look alike ------------------------------------------------------------------------ */

static void cut_text(struct folds *n, struct fold *x, bool ascii)
{
	buf_reset(&n->scratch);
	fold_name(&n->scratch, x->name, x->width, x->keep, x->n_keep, ascii);
	x->text = arena_strdup(&n->arena, buf_str(&n->scratch));
	n->failed |= !x->text || n->scratch.failed;
	x->text = x->text ? x->text : "";
}

/* The first name with this text; x itself if there was none. NULL: memory. */
static struct fold *first_with_text(struct folds *n, struct u64map *m, struct fold *x)
{
	bool fresh;
	uint64_t *at = u64map_at(m, hash_bytes(x->text, strlen(x->text)), &fresh);

	if (!at) {
		n->failed = true;
		return NULL;
	}
	if (fresh)
		*at = (uint64_t)(x - n->v);
	return &n->v[*at];
}

static void compare_names(struct fold *first, const struct fold *x)
{
	size_t a = strlen(first->name), b = strlen(x->name), least = a < b ? a : b, k = 0;

	if (!strcmp(first->name, x->name))
		return;
	while (k < least && first->name[k] == x->name[k])
		k++;
	first->head = k < first->head ? k : first->head;
	for (k = 0; k < least && first->name[a - 1 - k] == x->name[b - 1 - k];)
		k++;
	first->tail = k < first->tail ? k : first->tail;
	first->alike = true;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The part that differs and, if `room` bytes suffice, the words that it begins and ends in, and the
 * commas around. */
static struct fold_keep differing(const char *s, size_t head, size_t tail, size_t room)
{
	size_t len = strlen(s), from = head < len ? head : len;
	size_t to = len - from > tail ? len - tail : from;

	while (from && to - from < room && is_name_char(s[from - 1]))
		from--;
	while (to < len && to - from < room && is_name_char(s[to]))
		to++;
	while (from && ((unsigned char)s[from] & 0xc0) == 0x80)
		from--;
	while (to < len && ((unsigned char)s[to] & 0xc0) == 0x80)
		to++;
	if (to - from + 4 <= room && from > 2 && !strncmp(s + from - 2, ", ", 2))
		from -= 2;
	if (to - from + 4 <= room && to + 2 < len && !strncmp(s + to, ", ", 2))
		to += 2;
	return (struct fold_keep){ from, to };
}

/* The word in which a name first differs from others, whose first `head` bytes are the same, and
 * the comma before it. */
static struct fold_keep first_word(const char *s, size_t head)
{
	size_t len = strlen(s), from = head < len ? head : len, to = from + (from < len);

	while (from && is_name_char(s[from - 1]) && (from == len || is_name_char(s[from])))
		from--;
	while (to < len && is_name_char(s[to]) && is_name_char(s[to - 1]))
		to++;
	while (from && ((unsigned char)s[from] & 0xc0) == 0x80)
		from--;
	while (to < len && ((unsigned char)s[to] & 0xc0) == 0x80)
		to++;
	if (from > 2 && !strncmp(s + from - 2, ", ", 2))
		from -= 2;
	return (struct fold_keep){ from, to };
}

static void keep_more(struct fold *x, const struct fold *first, bool words, size_t dots)
{
	if (words && x->n_keep < FOLD_KEEPS) {
		x->keep[x->n_keep++] = first_word(x->name, first->head);
		return;
	}
	x->keep[0] = differing(x->name, first->head, first->tail,
			       x->width > 2 * dots ? x->width - 2 * dots : 0);
	x->n_keep = 1;
}

/* Cuts the names with equal texts anew, so that they keep the next word that differs, or else all
 * from the first difference to the last. Returns true if there were any. */
static bool tell_apart(struct folds *n, bool words, bool ascii)
{
	struct u64map m = U64MAP_INIT;
	size_t dots = ascii ? 3 : 1;
	bool any = false;

	for (size_t i = 0; i < n->n; i++) {
		struct fold *x = &n->v[i], *first;

		x->head = x->tail = SIZE_MAX;
		x->alike = false;
		first = first_with_text(n, &m, x);
		if (first && first != x)
			compare_names(first, x);
	}
	for (size_t i = 0; i < n->n; i++) { /* texts stay until all have found their first */
		struct fold *x = &n->v[i], *first = first_with_text(n, &m, x);

		x->first = first && first->alike ? (size_t)(first - n->v) : SIZE_MAX;
	}
	for (size_t i = 0; i < n->n; i++) {
		struct fold *x = &n->v[i];

		if (x->first == SIZE_MAX || x->text == x->name)
			continue;
		keep_more(x, &n->v[x->first], words, dots);
		cut_text(n, x, ascii);
		any = true;
	}
	u64map_free(&m);
	return any;
}

/* Returns true if no other name has the text, which now is x's. */
static bool claim_text(struct folds *n, struct u64map *m, struct fold *x)
{
	const struct fold *first = first_with_text(n, m, x);

	return !first || first == x || !strcmp(first->name, x->name);
}

/* Names that a number distinguishes. */
struct numbers {
	struct u64map of; /* hash of a name -> its number: in all rows the same, if it can be */
	uint64_t last;
};

static void number_name(struct folds *n, struct u64map *m, struct numbers *numbers, struct fold *x,
			bool ascii)
{
	bool fresh;
	uint64_t *k = u64map_at(&numbers->of, hash_bytes(x->name, strlen(x->name)), &fresh);
	char behind[32];

	n->failed |= !k;
	for (bool next = k && fresh; !n->failed; next = true) {
		size_t w;

		*k = next ? ++numbers->last : *k;
		(void)snprintf(behind, sizeof(behind), " #%" PRIu64, *k);
		w = strlen(behind);
		if (w > x->width) /* no room even for that */
			return;
		buf_reset(&n->scratch);
		fold_name(&n->scratch, x->name, x->width - w, x->keep, x->n_keep, ascii);
		buf_trim(&n->scratch);
		buf_puts(&n->scratch, behind);
		x->text = arena_strdup(&n->arena, buf_str(&n->scratch));
		if (!x->text || n->scratch.failed) {
			n->failed = true;
			x->text = "";
		}
		if (claim_text(n, m, x))
			return;
	}
}

static void number_rest(struct folds *n, bool ascii)
{
	struct u64map m = U64MAP_INIT;
	struct numbers numbers = { .of = U64MAP_INIT, .last = 1 };

	for (size_t i = 0; i < n->n; i++)
		if (n->v[i].text == n->v[i].name)
			(void)claim_text(n, &m, &n->v[i]);
	for (size_t i = 0; i < n->n; i++)
		if (n->v[i].text != n->v[i].name && !claim_text(n, &m, &n->v[i]))
			number_name(n, &m, &numbers, &n->v[i], ascii);
	u64map_free(&m);
	u64map_free(&numbers.of);
}

void folds_settle(struct folds *n, size_t width, bool ascii)
{
	bool any = false;

	n->width = width;
	for (size_t i = 0; i < n->n; i++) {
		struct fold *x = &n->v[i];

		x->width = width > x->taken ? width - x->taken : 0;
		x->text = x->name;
		if (text_width(x->name) <= x->width)
			continue;
		cut_text(n, x, ascii);
		any = true;
	}
	if (!any)
		return;
	for (size_t i = 0; i < FOLD_KEEPS && any; i++)
		any = tell_apart(n, true, ascii);
	for (size_t i = 0; i < 2 && any; i++) /* then only those that differ elsewhere, too */
		any = tell_apart(n, false, ascii);
	number_rest(n, ascii);
}

void folds_settle_page(struct folds *n)
{
	folds_settle(n, FOLD_PAGE, false);
}

const char *folds_get(const struct folds *n, const char *name, size_t taken)
{
	const uint64_t *at = u64map_find(&n->at, name_key(name, taken));

	if (!at || *at >= n->n || strcmp(n->v[*at].name, name) != 0 || n->v[*at].taken != taken ||
	    !n->v[*at].text)
		return name;
	return n->v[*at].text;
}

void folds_free(struct folds *n, struct buf *out)
{
	out->failed |= n->failed;
	arena_free(&n->arena);
	free(n->v);
	u64map_free(&n->at);
	buf_free(&n->scratch);
	*n = (struct folds){ .v = NULL };
}

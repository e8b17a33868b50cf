/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/fold.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

enum { NO_LIST = -1 };

/* Something that may be dropped: an argument list from one of its arguments to its end, or the
 * text before one of a name's parts. */
struct piece {
	size_t from, to; /* bytes; to == 0: the list is not closed */
	size_t list;	 /* the piece that begins the list */
	size_t length;	 /* the whole list's */
	size_t depth;
};

/* A bracket that is open, and the piece that it began. */
struct open {
	char bracket;
	long piece;
};

struct shape {
	const char *s;
	size_t len;
	struct fold_keep keep[FOLD_KEEPS + 1];
	size_t n_keep;
	const char *dots;
	size_t dots_width;
	struct piece *piece; /* in the order in which they are dropped */
	size_t n_pieces;
	struct open *open;
	size_t n_open;
	uint32_t *column; /* columns before each byte */
	int32_t *drop;	  /* how many pieces begin at a byte, less those that end */
	size_t *part;	  /* where parts of the name begin: behind :: and the result type */
	size_t n_parts;
	size_t tail; /* the end of the function's own name; 0: not found yet */
};

/* ---- the shape of a name --------------------------------------------------------------------- */

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void add_bracket(struct shape *p, size_t from, size_t list)
{
	p->piece[p->n_pieces++] = (struct piece){ .from = from, .list = list, .depth = p->n_open };
}

static void open_bracket(struct shape *p, size_t i, bool list)
{
	struct open *o = &p->open[p->n_open++];

	*o = (struct open){ .bracket = p->s[i], .piece = NO_LIST };
	if (!list)
		return;
	if (p->n_open == 1 && !p->tail)
		p->tail = i;
	o->piece = (long)p->n_pieces;
	add_bracket(p, i + 1, p->n_pieces);
}

/* A closing bracket also ends the < that stand inside: those were no brackets. */
static void close_bracket(struct shape *p, size_t i, char opener)
{
	if (opener == '<' && (!p->n_open || p->open[p->n_open - 1].bracket != '<'))
		return;
	while (p->n_open && p->open[p->n_open - 1].bracket != opener &&
	       p->open[p->n_open - 1].bracket == '<')
		p->n_open--;
	if (!p->n_open || p->open[p->n_open - 1].bracket != opener)
		return;
	p->n_open--;
	if (p->open[p->n_open].piece != NO_LIST)
		p->piece[p->open[p->n_open].piece].to = i;
}

static void add_name_part(struct shape *p, size_t at)
{
	p->part[p->n_parts++] = at;
	p->tail = 0;
}

/* Bytes of "operator" and the symbol behind it, 0 if that does not stand here. */
static size_t operator_bytes(const char *s)
{
	static const char *const symbols[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=",
					       ">=",  "->",  "()",  "<",   ">",	 "," };

	if (strncmp(s, "operator", 8) != 0 || is_identifier(s[8]))
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (!strncmp(s + 8, symbols[i], strlen(symbols[i])))
			return 8 + strlen(symbols[i]);
	return 8 + strspn(s + 8, "+-*/%^&|~!=[]");
}

/* Opening brackets of every kind; `call`: a function's, with arguments. */
static bool take_open(struct shape *p, size_t i, bool call)
{
	if (!strchr("<({[", p->s[i]))
		return false;
	open_bracket(p, i, p->s[i] == '<' || (p->s[i] == '(' && call));
	return true;
}

static bool take_close(struct shape *p, size_t i)
{
	static const char pairs[] = "><)(}{][";
	const char *at = strchr(pairs, p->s[i]);

	if (!at || (at - pairs) % 2)
		return false;
	close_bracket(p, i, at[1]);
	return true;
}

/* Arguments, words of template arguments (<A<T> as B>) and parts of a name end here. */
static void take_other(struct shape *p, size_t i, bool had_list)
{
	const char *s = p->s;
	const struct open *o = p->n_open ? &p->open[p->n_open - 1] : NULL;

	if (o && o->piece != NO_LIST) {
		if (s[i] == ',' || (s[i] == ' ' && s[i - 1] != ',' && o->bracket == '<'))
			add_bracket(p, i + 1 + (s[i] == ',' && s[i + 1] == ' '), (size_t)o->piece);
	} else if (s[i] == ':' && s[i + 1] == ':' && !o) {
		add_name_part(p, i + 2);
	} else if (s[i] == ' ' && !o && !had_list) { /* the end of a result type */
		add_name_part(p, i + 1);
	}
}

/* Names of runtimes end in the file: "JS:*hot /srv/app.js:1:16", "py::hot:/srv/app.py". */
static bool begins_path(const char *s, size_t i)
{
	return i && (s[i] == ' ' || s[i] == ':') &&
	       (s[i + 1] == '/' || (s[i] == ' ' && (!strncmp(s + i + 1, "node:", 5) ||
						    !strncmp(s + i + 1, "file:", 5))));
}

/* Its folders are dropped before all else, then all of it. */
static void take_path(struct shape *p, size_t at)
{
	const char *base = strrchr(p->s + at, '/');
	size_t end = base ? (size_t)(base - p->s) : at + 1;

	for (size_t i = 0; i < 2; i++) {
		struct piece *x = &p->piece[p->n_pieces];

		*x = (struct piece){ .from = i ? at : at + 1,
				     .to = i ? p->len : end,
				     .list = p->n_pieces++,
				     .depth = SIZE_MAX - i };
	}
	p->tail = at;
}

/* Callers behind a function: "f < g < main | schedule". */
static bool is_frame_end(const char *s)
{
	return !strncmp(s, FOLD_CALLER, strlen(FOLD_CALLER)) ||
	       !strncmp(s, FOLD_INNER, strlen(FOLD_INNER));
}

/* They are dropped first, the last one before all others. */
static void take_callers(struct shape *p, size_t at)
{
	size_t list = p->n_pieces;

	for (size_t i = at; i < p->len; i++)
		if (is_frame_end(p->s + i))
			p->piece[p->n_pieces++] = (struct piece){
				.from = i, .to = p->len, .list = list, .depth = SIZE_MAX
			};
	p->tail = p->tail ? p->tail : at;
}

static void parse_name(struct shape *p)
{
	const char *s = p->s;
	size_t n, called = SIZE_MAX; /* behind an operator */
	bool had_list = false;	     /* blanks behind parameters end no result type */

	for (size_t i = 0; i < p->len; i++) {
		char before = i ? s[i - 1] : ' ';

		if (!p->n_open && is_frame_end(s + i)) {
			take_callers(p, i);
			break;
		}
		if (!p->n_open && begins_path(s, i)) {
			take_path(p, i);
			break;
		}

		if (s[i] == 'o' && !is_identifier(before) && (n = operator_bytes(s + i))) {
			called = i + n;
			had_list |= !p->n_open;
			i += n - 1;
		} else if (s[i] == '\'' && i + 2 < p->len && s[i + 2] == '\'') {
			i += 2;
		} else if (s[i] == '-' && s[i + 1] == '>') {
			i++;
		} else if (take_open(p, i,
				     i == called || is_identifier(before) ||
					     strchr(">)}]", before))) {
			had_list |= p->n_open == 1 && s[i] == '(' && p->open[0].piece != NO_LIST;
		} else if (!take_close(p, i)) {
			take_other(p, i, had_list);
		}
	}
	if (!p->tail)
		p->tail = p->len;
}

/* Deeper lists first, in a level the longest, its last arguments first. */
static int by_use(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	if (a->depth != b->depth)
		return a->depth < b->depth ? 1 : -1;
	if (a->length != b->length)
		return a->length < b->length ? 1 : -1;
	if (a->list != b->list)
		return a->list < b->list ? 1 : -1;
	return a->from < b->from ? 1 : a->from > b->from ? -1 : 0;
}

static void order_pieces(struct shape *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_pieces; i++) {
		struct piece *x = &p->piece[i];

		x->to = p->piece[x->list].to;
		x->length = x->to - p->piece[x->list].from;
	}
	for (size_t i = 0; i < p->n_pieces; i++)
		if (p->piece[i].to > p->piece[i].from)
			p->piece[n++] = p->piece[i];
	p->n_pieces = n;
	qsort(p->piece, n, sizeof(*p->piece), by_use);
}

static void measure(struct shape *p)
{
	uint32_t column = 0;

	for (size_t i = 0, n; i < p->len; i += n) {
		char c[8] = { 0 };
		uint32_t cp;

		n = utf8_decode(p->s + i, p->len - i, &cp);
		n = n ? n : 1;
		memcpy(c, p->s + i, n);
		for (size_t k = 0; k < n; k++)
			p->column[i + k] = column;
		column += (uint32_t)text_width(c);
	}
	p->column[p->len] = column;
}

static int shape_make(struct shape *p, const char *s, bool ascii)
{
	size_t n = strlen(s) + 1;

	*p = (struct shape){ .s = s,
			     .len = n - 1,
			     .dots = ascii ? "..." : "\xe2\x80\xa6",
			     .dots_width = ascii ? 3 : 1 };
	if (n > UINT32_MAX)
		return -1;
	p->piece = calloc(n, sizeof(*p->piece));
	p->open = calloc(n, sizeof(*p->open));
	p->column = calloc(n, sizeof(*p->column));
	p->drop = calloc(n, sizeof(*p->drop));
	p->part = calloc(n, sizeof(*p->part));
	if (!p->piece || !p->open || !p->column || !p->drop || !p->part)
		return -1;
	measure(p);
	parse_name(p);
	order_pieces(p);
	return 0;
}

/* ---- the text of a level --------------------------------------------------------------------- */

/* Level 0 is the whole name; each level drops one thing more, the last everything. */
static size_t last_level(const struct shape *p)
{
	return p->n_pieces + p->n_parts + 2;
}

static void drop_span(struct shape *p, size_t from, size_t to)
{
	p->drop[from]++;
	p->drop[to]--;
}

static bool is_dropped(const struct shape *p, size_t i)
{
	for (size_t k = 0; k < p->n_keep; k++)
		if (i >= p->keep[k].from && i < p->keep[k].to)
			return false;
	return p->drop[i] > 0;
}

/* The columns of a level's text, which is put to b if there is one. */
static size_t put_name_level(struct shape *p, size_t level, struct buf *b)
{
	size_t width = 0, to;
	size_t behind = p->n_pieces + p->n_parts;

	memset(p->drop, 0, (p->len + 1) * sizeof(*p->drop));
	for (size_t i = 0; i < level && i < p->n_pieces; i++)
		drop_span(p, p->piece[i].from, p->piece[i].to);
	if (level > p->n_pieces && p->n_parts)
		drop_span(p, 0, p->part[(level < behind ? level : behind) - p->n_pieces - 1]);
	if (level > behind)
		drop_span(p, p->tail, p->len);
	if (level > behind + 1)
		drop_span(p, 0, p->len);
	for (size_t i = 1; i <= p->len; i++)
		p->drop[i] += p->drop[i - 1];
	for (size_t from = 0; from < p->len; from = to) {
		bool gone = is_dropped(p, from);
		size_t w;

		for (to = from + 1; to < p->len && is_dropped(p, to) == gone;)
			to++;
		w = p->column[to] - p->column[from];
		gone &= w > p->dots_width;
		width += gone ? p->dots_width : w;
		if (b && gone)
			buf_puts(b, p->dots);
		else if (b)
			buf_put(b, p->s + from, to - from);
	}
	return width;
}

/* The parts to keep are too long themselves: the two ends of the last one. */
static void put_ends(struct shape *p, size_t width, struct buf *b)
{
	struct fold_keep k = p->keep[p->n_keep - 1];
	size_t room = width > 3 * p->dots_width ? width - 3 * p->dots_width : 0;
	size_t a = k.from, z = k.to;

	if (room < 2) {
		text_put_fit(b, p->s + k.from, width, TEXT_LEFT, false, p->dots_width > 1);
		return;
	}
	for (size_t i = a + 1; i <= k.to && p->column[i] - p->column[k.from] <= (room + 1) / 2; i++)
		if (p->column[i] != p->column[i - 1])
			a = i;
	for (size_t i = z; i-- > a && p->column[k.to] - p->column[i] <= room / 2;)
		if (p->column[i] != p->column[i + 1])
			z = i;
	while (z > a && z < k.to && ((unsigned char)p->s[z] & 0xc0) == 0x80)
		z--;
	p->keep[0] = (struct fold_keep){ k.from, a };
	p->keep[1] = (struct fold_keep){ z, k.to };
	p->n_keep = 2;
	(void)put_name_level(p, last_level(p), b);
}

static void put_shape(struct shape *p, size_t width, struct buf *b)
{
	bool keeps = p->n_keep > 0;
	size_t fits = last_level(p) - !keeps, not = 0;
	struct buf rest = BUF_INIT;

	if (keeps && p->n_keep > 1 && put_name_level(p, fits, NULL) > width)
		p->keep[0] = p->keep[p->n_keep - 1], p->n_keep = 1;
	if (put_name_level(p, fits, NULL) > width) {
		if (keeps) {
			put_ends(p, width, b);
			return;
		}
		(void)put_name_level(p, fits, &rest);
		text_put_fit(b, buf_str(&rest), width, TEXT_LEFT, false, p->dots_width > 1);
		b->failed |= rest.failed;
		buf_free(&rest);
		return;
	}
	while (not +1 < fits) {
		size_t middle = not +(fits - not ) / 2;

		if (put_name_level(p, middle, NULL) <= width)
			fits = middle;
		else
			not = middle;
	}
	(void)put_name_level(p, fits, b);
}

void fold_name(struct buf *b, const char *s, size_t width, const struct fold_keep *keep,
	       size_t n_keep, bool ascii)
{
	struct shape p;

	if (text_width(s) <= width) {
		buf_puts(b, s);
		return;
	}
	if (shape_make(&p, s, ascii)) {
		b->failed = true;
	} else {
		for (size_t i = 0; i < n_keep && i < FOLD_KEEPS; i++)
			if (keep[i].to > keep[i].from)
				p.keep[p.n_keep++] = keep[i];
		put_shape(&p, width, b);
	}
	free(p.piece);
	free(p.open);
	free(p.column);
	free(p.drop);
	free(p.part);
}

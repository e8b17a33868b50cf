/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/elf/demangle_plain.h"
#include "symbol/elf/demangle_plain_int.h"

#include <string.h>

#define DEPTH_MAX 100u

static void read_components(struct plain *r, const char *start);
static void cut(struct plain *r);
static void read_args(struct plain *r);
static void read_encoding(struct plain *r);

void plain_fail(struct plain *r)
{
	r->bad = true;
	r->p = r->end;
}

char plain_peek(const struct plain *r, size_t i)
{
	return (size_t)(r->end - r->p) > i ? r->p[i] : '\0';
}

bool plain_next_is(const struct plain *r, const char *what)
{
	size_t n = strlen(what);

	return (size_t)(r->end - r->p) >= n && !memcmp(r->p, what, n);
}

/* plain_peek(r, i) is one of `set`. */
bool plain_is_in(const struct plain *r, size_t i, const char *set)
{
	char c = plain_peek(r, i);

	return c && strchr(set, c);
}

bool plain_is_digit(const struct plain *r, size_t i)
{
	return plain_is_in(r, i, "0123456789");
}

static void put(struct plain *r, const char *s, size_t n)
{
	if (r->mute || r->bad)
		return;
	if (n > (size_t)(r->oend - r->o)) {
		plain_fail(r);
		return;
	}
	memcpy(r->o, s, n);
	r->o += n;
}

static void put_text(struct plain *r, const char *s)
{
	put(r, s, strlen(s));
}

static void skip(struct plain *r, size_t n)
{
	if (n > (size_t)(r->end - r->p))
		plain_fail(r);
	else
		r->p += n;
}

void plain_copy(struct plain *r, size_t n)
{
	const char *from = r->p;

	skip(r, n);
	if (!r->bad)
		put(r, from, n);
}

void plain_copy_one(struct plain *r, char c)
{
	if (plain_peek(r, 0) == c)
		plain_copy(r, 1);
	else
		plain_fail(r);
}

bool plain_enter(struct plain *r)
{
	if (++r->depth > DEPTH_MAX)
		plain_fail(r);
	return !r->bad;
}

void plain_read_digits(struct plain *r)
{
	if (plain_peek(r, 0) == 'n')
		plain_copy(r, 1);
	while (plain_is_digit(r, 0))
		plain_copy(r, 1);
}

/* "_", "12_" */
void plain_read_count(struct plain *r)
{
	plain_read_digits(r);
	plain_copy_one(r, '_');
}

void plain_read_source(struct plain *r)
{
	size_t n = 0, digits = 0;

	for (; plain_is_digit(r, digits) && n < 1u << 20; digits++)
		n = n * 10 + (size_t)(plain_peek(r, digits) - '0');
	if (!n)
		plain_fail(r);
	else
		plain_copy(r, digits + n);
}

static void read_tags(struct plain *r)
{
	while (plain_peek(r, 0) == 'B') {
		plain_copy(r, 1);
		plain_read_source(r);
	}
}

/* What stands in the name from `from` up to here can be referred to. */
static void add_part(struct plain *r, const char *from, bool prefix)
{
	int out = r->mute ? -1 : (int)r->n_out++;

	if (r->again)
		return;
	if (r->n == PARTS_MAX)
		plain_fail(r);
	else
		r->part[r->n++] = (struct part){ from, r->p, out, prefix };
}

/* S_, S0_, S1A_ */
static void put_reference(struct plain *r, int number)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (number > 36 * 36) {
		plain_fail(r);
		return;
	}
	put_text(r, "S");
	if (number > 36)
		put(r, digits + (number - 1) / 36, 1);
	if (number > 0)
		put(r, digits + (number - 1) % 36, 1);
	put_text(r, "_");
}

/* Writes a part that was cut out where it stood. In an N...E its own N and E are left out. */
static void write_part(struct plain *r, struct part *part, bool nested)
{
	const char *p = r->p, *end = r->end;
	bool wrapped = !part->prefix && part->from[0] == 'N';

	r->p = part->from;
	r->end = part->to;
	r->again++;
	if (!plain_enter(r))
		return;
	if (part->prefix || (nested && wrapped)) {
		if (!nested)
			put_text(r, "N");
		r->p += wrapped;
		r->end -= wrapped;
		if (wrapped && plain_is_in(r, 0, "rVKRO"))
			plain_fail(r);
		read_components(r, r->p);
	} else if (nested && plain_is_in(r, 0, "ZPROCGrVKAFMUD")) {
		plain_fail(r);
	} else if (nested) {
		read_components(r, r->p);
	} else {
		plain_read_type(r);
	}
	r->depth--;
	r->again--;
	if (r->bad)
		return;
	part->out = (int)r->n_out - 1;
	r->p = p;
	r->end = end;
	if (part->prefix && !nested) {
		if (plain_peek(r, 0) == 'I')
			read_args(r);
		put_text(r, "E");
	}
}

/* S_, Sa */
static void read_substitution(struct plain *r, bool nested)
{
	unsigned number = 0;
	struct part *part;

	if (plain_is_in(r, 1, "absiod")) {
		plain_copy(r, 2);
		read_tags(r);
		return;
	}
	skip(r, 1);
	for (; plain_is_in(r, 0, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") && number < PARTS_MAX;
	     skip(r, 1))
		number = (number ? (number - 1) * 36 : 0) +
			 (unsigned)(plain_is_digit(r, 0) ? plain_peek(r, 0) - '0'
							 : plain_peek(r, 0) - 'A' + 10) +
			 1;
	if (plain_peek(r, 0) != '_' || number >= r->n) {
		plain_fail(r);
		return;
	}
	skip(r, 1);
	if (r->mute)
		return;
	part = &r->part[number];
	if (part->out >= 0)
		put_reference(r, part->out);
	else
		write_part(r, part, nested);
}

/* T_, T0_; TL0__ stands in constraints alone */
void plain_read_param(struct plain *r)
{
	plain_copy_one(r, 'T');
	if (plain_peek(r, 0) == 'L') {
		if (!r->mute)
			plain_fail(r);
		plain_copy(r, 1);
		plain_read_count(r);
	}
	plain_read_count(r);
}

static bool at_decl(const struct plain *r)
{
	return plain_peek(r, 0) == 'T' && plain_is_in(r, 1, "ynptk");
}

/* The parameter of a template. */
static void read_decl(struct plain *r)
{
	char kind = plain_peek(r, 1);

	if (!plain_enter(r))
		return;
	skip(r, 2);
	switch (kind) {
	case 'n':
		plain_read_type(r);
		break;
	case 'k':
		plain_read_name(r);
		break;
	case 'p':
		if (!at_decl(r))
			plain_fail(r);
		else
			read_decl(r);
		break;
	case 't':
		cut(r);
		plain_copy_one(r, 'E');
		break;
	default:
		break;
	}
	r->depth--;
}

/* Cuts out what old demanglers do not know: parameters of templates, and a constraint. */
static void cut(struct plain *r)
{
	r->mute++;
	while (at_decl(r)) {
		r->changed = true;
		read_decl(r);
	}
	if (plain_peek(r, 0) == 'Q') {
		r->changed = true;
		skip(r, 1);
		plain_read_expr(r);
	}
	r->mute--;
}

/* A literal. */
void plain_read_primary(struct plain *r)
{
	plain_copy_one(r, 'L');
	if (plain_next_is(r, "_Z")) {
		plain_copy(r, 2);
		read_encoding(r);
	} else {
		plain_read_type(r);
		while (plain_peek(r, 0) && plain_peek(r, 0) != 'E')
			plain_copy(r, 1);
	}
	plain_copy_one(r, 'E');
}

void plain_read_arg(struct plain *r)
{
	if (!plain_enter(r))
		return;
	cut(r);
	if (plain_peek(r, 0) == 'X') {
		plain_copy(r, 1);
		plain_read_expr(r);
		plain_copy_one(r, 'E');
	} else if (plain_peek(r, 0) == 'J') {
		read_args(r);
	} else if (plain_peek(r, 0) == 'L') {
		plain_read_primary(r);
	} else if (plain_peek(r, 0) != 'E') { /* behind a constraint */
		plain_read_type(r);
	}
	r->depth--;
}

/* I...E, J...E */
static void read_args(struct plain *r)
{
	plain_copy(r, 1);
	while (plain_peek(r, 0) && plain_peek(r, 0) != 'E')
		plain_read_arg(r);
	plain_copy_one(r, 'E');
}

void plain_read_args_if(struct plain *r)
{
	if (plain_peek(r, 0) == 'I')
		read_args(r);
}

static void read_types(struct plain *r, const char *until)
{
	while (plain_peek(r, 0) && !plain_is_in(r, 0, until))
		plain_read_type(r);
}

/* Ul...E_, Ut_ */
static void read_unnamed(struct plain *r)
{
	char kind = plain_peek(r, 1);

	plain_copy(r, 2);
	if (kind == 'l') {
		cut(r);
		read_types(r, "EQ");
		cut(r);
		plain_copy_one(r, 'E');
	} else if (kind != 't') {
		plain_fail(r);
	}
	plain_read_count(r);
}

void plain_read_operator(struct plain *r)
{
	bool cast = plain_next_is(r, "cv"), literal = plain_next_is(r, "li");

	plain_copy(r, 2);
	if (cast)
		plain_read_type(r);
	else if (literal)
		plain_read_source(r);
}

static void read_unqualified(struct plain *r)
{
	if (plain_is_in(r, 0, "FH")) { /* a friend, an explicit object */
		r->changed = true;
		skip(r, 1);
	}
	if (plain_peek(r, 0) == 'L')
		plain_copy(r, 1);
	if (plain_is_digit(r, 0)) {
		plain_read_source(r);
	} else if (plain_next_is(r, "CI")) {
		plain_copy(r, 3);
		plain_read_type(r);
	} else if (plain_next_is(r, "DC")) {
		plain_copy(r, 2);
		while (plain_is_digit(r, 0))
			plain_read_source(r);
		plain_copy_one(r, 'E');
	} else if (plain_is_in(r, 0, "CD")) {
		plain_copy(r, 2);
	} else if (plain_peek(r, 0) == 'U') {
		read_unnamed(r);
	} else if (plain_is_in(r, 0, "abcdeghilmnopqrstv")) {
		plain_read_operator(r);
	} else {
		plain_fail(r);
	}
	read_tags(r);
}

/* Dt...E */
static void read_decltype(struct plain *r)
{
	plain_copy(r, 2);
	plain_read_expr(r);
	plain_copy_one(r, 'E');
}

/* What stands in an N...E, from `start` on. */
static void read_components(struct plain *r, const char *start)
{
	while (plain_peek(r, 0) && plain_peek(r, 0) != 'E') {
		const char *at = r->p;

		if (plain_next_is(r, "St")) {
			plain_copy(r, 2);
			continue;
		}
		if (plain_peek(r, 0) == 'S') {
			read_substitution(r, true);
			continue;
		}
		if (plain_peek(r, 0) == 'M') {
			plain_copy(r, 1);
			continue;
		}
		if (plain_peek(r, 0) == 'T')
			plain_read_param(r);
		else if (plain_next_is(r, "Dt") || plain_next_is(r, "DT"))
			read_decltype(r);
		else if (plain_peek(r, 0) == 'I')
			read_args(r);
		else
			read_unqualified(r);
		if (r->p == at)
			plain_fail(r);
		if (plain_peek(r, 0) != 'E')
			add_part(r, start, true);
	}
}

static void read_nested(struct plain *r)
{
	plain_copy(r, 1);
	while (plain_is_in(r, 0, "rVKRO"))
		plain_copy(r, 1);
	read_components(r, r->p);
	plain_copy_one(r, 'E');
}

static void read_local(struct plain *r)
{
	plain_copy(r, 1);
	read_encoding(r);
	plain_copy_one(r, 'E');
	if (plain_peek(r, 0) == 's' && !(plain_peek(r, 1) >= 'a' && plain_peek(r, 1) <= 'z')) {
		plain_copy(r, 1);
	} else {
		if (plain_peek(r, 0) == 'd' && (plain_is_digit(r, 1) || plain_peek(r, 1) == '_')) {
			plain_copy(r, 1);
			plain_read_count(r);
		}
		plain_read_name(r);
	}
	if (plain_next_is(r, "__")) {
		plain_copy(r, 2);
		plain_read_count(r);
	} else if (plain_peek(r, 0) == '_' && plain_is_digit(r, 1)) {
		plain_copy(r, 2);
	}
}

void plain_read_name(struct plain *r)
{
	const char *from = r->p;

	if (!plain_enter(r))
		return;
	if (plain_peek(r, 0) == 'N') {
		read_nested(r);
	} else if (plain_peek(r, 0) == 'Z') {
		read_local(r);
	} else if (plain_peek(r, 0) == 'S' && plain_peek(r, 1) != 't') {
		read_substitution(r, false);
		plain_read_args_if(r);
	} else {
		if (plain_peek(r, 0) == 'S')
			plain_copy(r, 2);
		read_unqualified(r);
		if (plain_peek(r, 0) == 'I') {
			add_part(r, from, false);
			read_args(r);
		}
	}
	r->depth--;
}

static void read_function_type(struct plain *r)
{
	plain_copy_one(r, 'F');
	if (plain_peek(r, 0) == 'Y')
		plain_copy(r, 1);
	while (plain_peek(r, 0) && plain_peek(r, 0) != 'E') {
		if (plain_is_in(r, 0, "RO") && plain_peek(r, 1) == 'E')
			plain_copy(r, 1);
		else
			plain_read_type(r);
	}
	plain_copy_one(r, 'E');
}

static void read_array(struct plain *r)
{
	plain_copy(r, 1);
	if (plain_is_digit(r, 0))
		plain_read_digits(r);
	else if (plain_peek(r, 0) != '_')
		plain_read_expr(r);
	plain_copy_one(r, '_');
	plain_read_type(r);
}

/* D and a letter. The count of a vector's elements is written as an array's. */
static bool read_d_type(struct plain *r)
{
	char kind = plain_peek(r, 1);

	if (kind == 't' || kind == 'T') {
		read_decltype(r);
		return true;
	}
	plain_copy(r, 2);
	if (kind && strchr("defhsuiacn", kind))
		return false;
	switch (kind) {
	case 'p':
		plain_read_type(r);
		return true;
	case 'v':
		read_array(r);
		return true;
	case 'F':
		plain_read_digits(r);
		if (!plain_is_in(r, 0, "_bx"))
			plain_fail(r);
		plain_copy(r, 1);
		return false;
	case 'B':
	case 'U':
		plain_read_count(r);
		return false;
	case 'o':
		break;
	case 'O':
		plain_read_expr(r);
		plain_copy_one(r, 'E');
		break;
	case 'w':
		read_types(r, "E");
		plain_copy_one(r, 'E');
		break;
	default:
		plain_fail(r);
	}
	read_function_type(r); /* which throws what was said */
	return true;
}

/* What stands behind all qualifiers. Returns whether it can be referred to. */
static bool read_bare_type(struct plain *r)
{
	const char *from = r->p;
	bool std;

	switch (plain_peek(r, 0)) {
	case 'D':
		return read_d_type(r);
	case 'F':
		read_function_type(r);
		return true;
	case 'A':
		read_array(r);
		return true;
	case 'M':
		plain_copy(r, 1);
		plain_read_type(r);
		plain_read_type(r);
		return true;
	case 'T':
		if (plain_is_in(r, 1, "sue")) {
			plain_copy(r, 2);
			plain_read_name(r);
			return true;
		}
		plain_read_param(r);
		if (plain_peek(r, 0) == 'I') {
			add_part(r, from, false);
			read_args(r);
		}
		return true;
	case 'u':
		plain_copy(r, 1);
		plain_read_source(r);
		plain_read_args_if(r);
		return true;
	case 'S':
		std = plain_peek(r, 1) == 't';
		plain_read_name(r);
		/* a reference is no new part, with arguments it is */
		return std || r->p[-1] == 'E';
	default:
		if (plain_is_in(r, 0, "vwbcahstijlmxynofdegz")) {
			plain_copy(r, 1);
			return false;
		}
		plain_read_name(r);
		return true;
	}
}

void plain_read_type(struct plain *r)
{
	const char *from = r->p;

	if (!plain_enter(r))
		return;
	if (plain_is_in(r, 0, "rVK")) {
		while (plain_is_in(r, 0, "rVK"))
			plain_copy(r, 1);
		plain_read_type(r);
		add_part(r, from, false);
	} else if (plain_is_in(r, 0, "PROCG")) {
		plain_copy(r, 1);
		plain_read_type(r);
		add_part(r, from, false);
	} else if (plain_peek(r, 0) == 'U' && plain_is_digit(r, 1)) {
		plain_copy(r, 1);
		plain_read_source(r);
		plain_read_args_if(r);
		plain_read_type(r);
		add_part(r, from, false);
	} else if (read_bare_type(r)) {
		add_part(r, from, false);
	}
	r->depth--;
}

/* What stands before a special name: a table, a guard, a thunk. */
static void read_special(struct plain *r)
{
	bool thunk = plain_peek(r, 0) == 'T' && plain_is_in(r, 1, "hv");

	if (thunk) {
		bool virt = plain_peek(r, 1) == 'v';

		plain_copy(r, 2);
		plain_read_count(r);
		if (virt)
			plain_read_count(r);
		read_encoding(r);
	} else if (plain_peek(r, 0) == 'T') {
		plain_copy(r, 2);
		plain_read_type(r);
	} else {
		plain_copy(r, 2);
		plain_read_name(r);
	}
}

/* A name, and what its function takes. */
static void read_encoding(struct plain *r)
{
	if (!plain_enter(r))
		return;
	if (plain_is_in(r, 0, "TG"))
		read_special(r);
	else
		plain_read_name(r);
	if (r->depth > 1) { /* of the outermost one nobody sees the parameters */
		read_types(r, "EQ");
		cut(r);
	}
	r->depth--;
}

bool plain_write(const char *s, size_t len, char *out, size_t room)
{
	struct plain r;

	if (len < 4 || !room || memcmp(s, "_Z", 2) != 0)
		return false;
	memset(&r, 0, offsetof(struct plain, part));
	r.p = s;
	r.end = s + len;
	r.o = out;
	r.oend = out + room - 1;
	plain_copy(&r, 2);
	read_encoding(&r);
	if (r.bad)
		return false;
	*r.o = '\0';
	/* a constraint of the outermost function stands behind its parameters */
	return r.changed || r.p < r.end;
}

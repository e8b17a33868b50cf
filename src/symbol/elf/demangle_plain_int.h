/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * demangle_plain_int - reads a mangled name part by part and copies it.
 *
 * Each plain_read_X() reads one X of the ABI's grammar at `p`, writes it unless `mute`, and notes
 * what later references may mean. At the end of the name, and after a failure, p == end: loops end
 * there.
 */
#ifndef CYCLADE_SYMBOL_ELF_DEMANGLE_PLAIN_INT_H
#define CYCLADE_SYMBOL_ELF_DEMANGLE_PLAIN_INT_H

#include <stdbool.h>
#include <stddef.h>

#define PARTS_MAX 512u

/* What a later S_, S0_, ... may refer to. */
struct part {
	const char *from, *to; /* in the name */
	int out;	       /* its number in what was written; -1: it is not there */
	bool prefix;	       /* the front of an N...E */
};

struct plain {
	const char *p, *end; /* what is left of the name */
	char *o, *oend;
	unsigned depth;
	unsigned mute;	/* nothing is written */
	unsigned again; /* a part is written for the second time: it counts as written only */
	bool changed, bad;
	unsigned n, n_out;
	struct part part[PARTS_MAX];
};

void plain_fail(struct plain *r);
char plain_peek(const struct plain *r, size_t i);
bool plain_next_is(const struct plain *r, const char *what);
bool plain_is_in(const struct plain *r, size_t i, const char *set);
bool plain_is_digit(const struct plain *r, size_t i);
void plain_copy(struct plain *r, size_t n);
void plain_copy_one(struct plain *r, char c);
/* Goes one level deeper; the caller decrements `depth`. false: too deep, the name is refused. */
bool plain_enter(struct plain *r);
void plain_read_digits(struct plain *r);
void plain_read_count(struct plain *r);
void plain_read_source(struct plain *r);
void plain_read_param(struct plain *r);
void plain_read_arg(struct plain *r);
void plain_read_args_if(struct plain *r);
void plain_read_operator(struct plain *r);
void plain_read_primary(struct plain *r);
void plain_read_name(struct plain *r);
void plain_read_type(struct plain *r);
void plain_read_expr(struct plain *r); /* demangle_expr.c */

#endif

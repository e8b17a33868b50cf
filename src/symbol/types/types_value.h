/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_value - values of registers: tested, moved on, joined where paths meet.
 *
 * Pure: values go in and come out; only types are read. The state of a path is types_state.h.
 */
#ifndef CYCLADE_SYMBOL_TYPES_VALUE_H
#define CYCLADE_SYMBOL_TYPES_VALUE_H

#include "symbol/types/types_int.h"

extern const struct value value_unknown;

bool value_same(const struct value *a, const struct value *b);
/* An address of something: of data, of the frame, of a thread's variable. */
bool value_is_base(const struct value *v);
/* A pointer to void, to an incomplete type or to a function. */
bool value_is_void(const struct types *t, const struct value *v);

/* The target of a pointer contains the other's object, at that place. */
bool value_is_part(struct types *t, const struct value *v, const struct value *part);

/* The static or thread-local variable that an address is in, or NULL. */
const struct type_static *value_variable(struct types *t, const struct value *v);

/* `off` bytes further, and, if `indexed`, an unknown number of elements; VALUE_UNKNOWN: that is not
 * known, or `v` is no address. */
struct value value_plus(struct value v, int64_t off, bool indexed);

/* One of the two: elements of an array, fields of one type, an object and one embedded in another
 * are one pointer; VALUE_UNKNOWN: they have nothing in common. VALUE_NEVER and a null pointer
 * change nothing. */
struct value value_merge(struct types *t, const struct value *a, const struct value *b);

#endif

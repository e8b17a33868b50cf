/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * demangle_plain - C++ names with template parameters and constraints, as libiberty knows them.
 *
 * From clang 18 on an argument of a template may have its parameter in front (Tn, Tk, Tt, Tp, Ty),
 * and a template or function its constraint behind (Q); a friend has an F, an explicit object an H.
 * plain_write() cuts these out. What was cut out counts for later references (S1_): they get the
 * numbers that they have in what is left, or the text itself if it was cut out.
 *
 * Names are hostile: one pass, no memory, depth bounded, never behind the end or the room. A name
 * of a grammar that this does not know is refused.
 */
#ifndef CYCLADE_SYMBOL_ELF_DEMANGLE_PLAIN_H
#define CYCLADE_SYMBOL_ELF_DEMANGLE_PLAIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The name ("_Z...", without parameters of the outermost function) with a 0 at its end. false: it
 * has no such parts, is not understood, or longer than the room. */
bool plain_write(const char *s, size_t len, char *out, size_t room) MUST_USE;

#endif

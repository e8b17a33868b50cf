/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * demangle - C++, Rust, D, OCaml, Fortran, Pascal and some Ada names as their authors wrote them.
 *
 * Parameters are left out ("std::vector<int>::push_back"), as profilers show them; Rust's legacy
 * hash ("::h0123456789abcdef") is left out, too; a version ("@@V1") stays at the end.
 *
 * Names are hostile: one of more than DEMANGLE_IN_MAX bytes is left as it is, and so is one whose
 * demangled form would be longer than DEMANGLE_OUT_MAX (a name of 100 bytes can ask for gigabytes
 * through its back references) or nests deeper than the library's own limit. Cost: about 0.5 us a
 * name. No state: any number of threads.
 */
#ifndef CYCLADE_SYMBOL_DEMANGLE_H
#define CYCLADE_SYMBOL_DEMANGLE_H

#include "base/arena.h"

#define DEMANGLE_IN_MAX	 65536u
#define DEMANGLE_OUT_MAX 65536u

/* The readable form, in the arena; `name` itself if it is not mangled, cannot be read, or if this
 * build has no demangler for it (libiberty: C++, Rust, D). */
const char *demangle(struct arena *a, const char *name) MUST_USE;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomem - whether memory ran out anywhere in this process.
 *
 * A look-up that returns a name, a line or nothing cannot return why it has nothing. Without memory
 * it would lose names silently. So everything that fails for lack of memory calls nomem_note(), the
 * containers of base and err_nomem() among them, and a command asks nomem_noted() before it ends
 * with success. This flag is the one global variable of the library code: it is set, never cleared.
 *
 * Other libraries return no reason either, but malloc() sets errno:
 *
 *	nomem_begin();
 *	lines = of_another_library();
 *	nomem_end();		notes what malloc() refused in between, in this thread
 */
#ifndef CYCLADE_BASE_NOMEM_H
#define CYCLADE_BASE_NOMEM_H

#include <stdbool.h>

void nomem_note(void);
bool nomem_noted(void);

void nomem_begin(void);
void nomem_end(void);

#endif

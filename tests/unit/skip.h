/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skip - why a unit test was skipped. cmocka.h has to be included before.
 */
#ifndef CYCLADE_TESTS_UNIT_SKIP_H
#define CYCLADE_TESTS_UNIT_SKIP_H

#include <stdio.h>

/* Ends a cmocka test as skipped; tests/lib/cmocka.sh puts the reason behind the SKIP. */
#define SKIP_BECAUSE(why)                         \
	do {                                      \
		(void)printf("# why: %s\n", why); \
		skip();                           \
	} while (0)

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper - a process beside that does for us what we may not do any more: base/lender.h,
 * base/fetcher.h.
 *
 *	helper_start(&b, serve, ctx)	before rights are given up and before there are threads
 *	helper_ask(&b, &question, n)	one packet; the answer is read from b.end
 *	helper_end(&b)			optional: it ends with us, too
 *
 * It reads packets from its end of a socket pair until ours is closed. Ctrl-C is ours to answer.
 * Processes that are started later hold the ends of those before: end them in the reverse order. A
 * start costs 0.2 ms.
 */
#ifndef CYCLADE_BASE_HELPER_H
#define CYCLADE_BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct helper {
	pid_t pid;
	int end; /* ours; -1: there is none */
};
#define HELPER_NONE   \
	{             \
		0, -1 \
	}

/* False: it runs already, or could not be started. `serve` returns when our end is closed. */
bool helper_start(struct helper *b, void (*serve)(int from, const void *ctx), const void *ctx);
/* False: it is gone. */
bool helper_ask(const struct helper *b, const void *question, size_t len);
void helper_end(struct helper *b); /* without one: nothing */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * next - the commands worth typing after a report, filled in with this recording's names.
 */
#ifndef CYCLADE_SHOW_NEXT_H
#define CYCLADE_SHOW_NEXT_H

#include "base/arena.h"
#include "show/style.h"

#define NEXT_MAX 3

struct next {
	const char *command, *why;
};

struct next_list {
	struct next *v; /* NEXT_MAX of them */
	size_t n;
	struct arena *a;   /* memory of the commands */
	const char *input; /* the recording as the user named it; NULL: the usual one */
};
/* Adds a whole command if there is room; NULL or "" adds nothing. */
void next_add_command(struct next_list *l, const char *command, const char *why);
/* Adds "cyclade HEAD [-i INPUT] [TAIL] [WORD]" if there is room and it can be typed. explain, which
 * reads no recording, has no -i. */
void next_add(struct next_list *l, const char *head, const char *tail, const char *word,
	      const char *why);
/* " next: cyclade ...  why", a line each, the reasons below each other. */
void next_put(struct buf *out, const struct next *n, size_t count, const struct style *st);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live - the address spaces of processes as they are now, for unwinding while recording.
 *
 *	l = live_new(images)
 *	live_map / _fork / _exec / _exit	each record, as it comes
 *	p = live_process(l, pid)
 *	map = live_find(p, ip)
 *	live_round(l)				once per round of the rings
 *
 * symbol/space.h answers for any time and needs all records beforehand; this answers for now and
 * takes them one by one. Records of one ring come in order, those of several rings only from round
 * to round: a process that is gone is kept for one round more, since samples of it may follow.
 *
 * (Versions of symbol/image/pieces.h would do for the search, but are never freed: a recorder may
 * run for days.)
 *
 * A forked child shares its parent's mappings until one of the two changes its own. A mapping costs
 * log n to find and at most n to enter, n being the mappings of its process. Not for use by two
 * threads at once.
 */
#ifndef CYCLADE_SYMBOL_LIVE_H
#define CYCLADE_SYMBOL_LIVE_H

#include <stdint.h>

#include "base/err.h"
#include "symbol/space.h"

struct live_spaces;
struct live_process;

struct live_spaces *live_new(struct images *images, struct err *err) MUST_USE;
void live_free(struct live_spaces *l); /* NULL is fine */
struct images *live_images(const struct live_spaces *l);

/* Records of user space; others are skipped. -1: out of memory. */
int live_map(struct live_spaces *l, const struct space_map_fact *f, struct err *err) MUST_USE;
/* A thread if pid is ppid, else a process. */
int live_fork(struct live_spaces *l, uint32_t pid, uint32_t ppid, struct err *err) MUST_USE;
void live_exec(struct live_spaces *l, uint32_t pid); /* its mappings end */
void live_exit(struct live_spaces *l, uint32_t pid); /* one of its threads */
void live_round(struct live_spaces *l);

const struct live_process *live_process(const struct live_spaces *l, uint32_t pid); /* or NULL */
/* A number that no other state of mappings of any process has, or had. */
uint64_t live_generation(const struct live_process *p);
const struct map *live_find(const struct live_process *p, uint64_t ip); /* NULL: nothing there */

#endif

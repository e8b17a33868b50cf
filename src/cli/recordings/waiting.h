/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting - the time of all threads, on the CPU and off it, for the page of a recording.
 *
 *	wall_cube_walk(&c, &ask, pass, turn, &err)	as a result_walk
 *	wall_cube_end(c, r, &err)			after the second walk
 *	wall_cube_of(c)
 *	wall_cube_close(c)			while the recording is still open
 */
#ifndef CYCLADE_CLI_RECORDINGS_WAITING_H
#define CYCLADE_CLI_RECORDINGS_WAITING_H

#include "cli/recordings/result.h"

struct cube;
struct wait;
struct wall_cube;

/* Fails if the recording has no switches: then there is none. */
int wall_cube_walk(struct wall_cube **out, const struct result_ask *ask, struct pass *pass,
		   unsigned turn, struct err *err) MUST_USE;
int wall_cube_end(struct wall_cube *c, const struct recording *r, struct err *err) MUST_USE;
const struct cube *wall_cube_of(const struct wall_cube *c);
const struct wait *wall_cube_wait(const struct wall_cube *c);
const char *wall_cube_event(const struct wall_cube *c); /* whose samples; NULL: none */
void wall_cube_close(struct wall_cube *c);		/* NULL is fine */

#endif

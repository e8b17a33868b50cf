/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting - the time of all threads, on the CPU and off it, for the page of a recording.
 *
 *	wall_cube_open(&c, cli, r, bases, &err)	*c is NULL if the recording has no switches
 *	wall_cube_of(c)
 *	wall_cube_close(c)			while the recording is still open
 */
#ifndef CYCLADE_CLI_RECORDINGS_WAITING_H
#define CYCLADE_CLI_RECORDINGS_WAITING_H

#include "cli/recordings/result.h"

struct cube;
struct wall_cube;

int wall_cube_open(struct wall_cube **out, struct cli *cli, const struct recording *r,
		   struct result_bases *bases, struct err *err) MUST_USE;
const struct cube *wall_cube_of(const struct wall_cube *c);
const char *wall_cube_event(const struct wall_cube *c); /* whose samples; NULL: none */
void wall_cube_close(struct wall_cube *c);		/* NULL is fine */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control - a FIFO by which another process controls when to measure: enable, disable, stop,
 * snapshot and ping, one a line, each answered with "ack" on a second FIFO if there is one.
 */
#ifndef CYCLADE_MEASURE_CONTROL_H
#define CYCLADE_MEASURE_CONTROL_H

#include "measure/measure_opts.h"

struct control {
	int fd, ack; /* -1: none */
	char text[512];
	size_t have;	  /* bytes of text; after control_next() more than 0 if it stopped early */
	unsigned unknown; /* lines that were no command */
};

#define CONTROL_INIT             \
	{                        \
		-1, -1, "", 0, 0 \
	}

enum control_word {
	CONTROL_NOTHING,
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_STOP,
	CONTROL_SNAPSHOT,
	CONTROL_PING
};

/* By --control: "FIFO" or "FIFO,ACK"; perf's spelling "fifo:FIFO,ACK" is understood too; and
 * "fd:N[,ACK]", of descriptors that this process got from the one that started it. */
int control_open(struct control *c, const struct measure_opts *opts, struct err *err) MUST_USE;
/* The next line that has come, without waiting; CONTROL_NOTHING: none (more), or too many that are
 * no commands: then the caller first does other work. */
enum control_word control_next(struct control *c, const struct measure_opts *opts);
void control_answer(const struct control *c);
void control_close(struct control *c);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paper - time on paper: it passes while somebody waits for it, and costs none.
 *
 * SIM_PAPER=FILE (a fresh one for each run) gives all processes of a run one clock. A program that
 * would use the CPU says for how long (sim_paper_run) and sleeps instead; a tool that would wait
 * (ppoll with a time) finds the clock moved on to that moment, or to the end of the program if that
 * comes first. So a run of a minute takes no longer than what the tool does in it, and no load of
 * the host gets between a program and who measures it.
 *
 *	tool				program
 *	fork, exec			sim_paper_run(300 ms)	it runs, and sleeps
 *	ppoll(10 ms)			.			the clock goes on by 10 ms
 *	read				.			and by what a read takes
 *	ppoll(10 s)			returns			290 ms later it has ended: the real
 *	SIGCHLD				exit			ppoll waits for it
 *
 * What follows the clock: CLOCK_MONOTONIC, ppoll, and all that is counted. Tasks have run for as
 * long as programs have; a CPU, and a thread that counts itself, counts always. While a child lives
 * and no program runs (exec, exit, a shell) the clock stands still, for a minute at most;
 * SIM_PAPER_ALONE=1 is for tools that run no program, but may have children. Not on paper: samples,
 * which are the kernel's; times of a task on one CPU; other clocks; the tool's own time (a read
 * excepted).
 */
#ifndef CYCLADE_SIM_PAPER_H
#define CYCLADE_SIM_PAPER_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* -1 with a message on stderr. */
int sim_paper_begin(const char *path);
bool sim_paper(void);

/* ns since the beginning: of the clock, of all programs. */
uint64_t sim_paper_now(void);
uint64_t sim_paper_ran(void);
/* What CLOCK_MONOTONIC says. */
uint64_t sim_paper_clock(void);

/* A counter was read. */
void sim_paper_read(void);
int sim_paper_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		    const sigset_t *mask);
/* A process that is told to end runs no further. */
void sim_paper_kill(pid_t pid);

/* For programs, by dlsym(): returns when the calling process has run for so many ns; false, and at
 * once: time is not on paper. */
bool sim_paper_run(uint64_t ns);

#endif

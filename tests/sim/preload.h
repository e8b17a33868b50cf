/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload - what stands between a program and the kernel. preload.c has the functions that take the
 * places of libc's; open.c decides what perf_event_open may do. Everything here runs under one
 * lock.
 */
#ifndef CYCLADE_SIM_PRELOAD_H
#define CYCLADE_SIM_PRELOAD_H

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include "context.h"

#define SIM_FDS 65536

struct sim_real { /* libc's own */
	ssize_t (*read)(int, void *, size_t);
	int (*close)(int);
	int (*ioctl)(int, unsigned long, ...);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	int (*epoll_wait)(int, struct epoll_event *, int, int);
	int (*prctl)(int, ...);
	int (*clock_gettime)(clockid_t, struct timespec *);
	long (*syscall)(long, ...);
};

extern struct sim sim_state;
extern struct sim_real sim_real;
extern struct sim_counter *sim_by_fd[SIM_FDS];
/* Events of any kind: samples of ours may be sent to the ring of another. */
extern bool sim_may_map[SIM_FDS];

/* Before a function of libc's own is called. */
void sim_find_real(void);

/* The lock. */
void sim_take(void);
void sim_give(void);

/* perf_event_open(2) on the simulated machine: a descriptor, or -1 and errno. */
int sim_open(const struct perf_event_attr *asked, pid_t pid, int cpu, int group_fd,
	     unsigned long flags);
void sim_close(int fd);
/* Brings a context to the present. */
void sim_catch_up(struct sim_context *c);
/* The context's time begins, if it has not. */
void sim_clock_start(struct sim_context *c);
/* Counters of a whole CPU, which nobody needs the kernel for once they are open: reading and
 * switching the events behind them costs more than those of a CPU each would. */
bool sim_is_made(const struct sim_counter *k);

#endif

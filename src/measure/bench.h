/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench - shared by the benches of calibrate and validate: clocks, the CPU that they run on, a
 * second thread, kernels that not every machine can run, and results with and without prefetchers
 * behind each other.
 */
#ifndef CYCLADE_MEASURE_BENCH_H
#define CYCLADE_MEASURE_BENCH_H

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "kernels/kernel.h"

/* Seconds of this clock. */
double bench_now(clockid_t id);
/* Moves the calling thread to this CPU. -1: it may not run there. */
int bench_pin(unsigned cpu, struct err *err) MUST_USE;
/* The same; *before: the CPUs that it had (none, if they are not known). */
int bench_pin_from(cpu_set_t *before, unsigned cpu, struct err *err) MUST_USE;
/* A thread on this CPU, to be joined. */
int bench_thread(pthread_t *out, unsigned cpu, void *(*run)(void *ctx), void *ctx,
		 struct err *err) MUST_USE;

/* kernel_prepare(), but ERR_UNSUPPORTED if the machine must not run it (bench_refuses()), or gives
 * no huge pages to a kernel that needs them. kernel_release() also if it fails. */
int bench_prepare(struct kernel_work *w, const struct kernel *k, const struct kernel_setup *s,
		  struct err *err) MUST_USE;
/* Why the kernel must not run on the machine of this root directory (""): split locks that the
 * operating system or a hypervisor traps. NULL: it may. */
const char *bench_refuses(const struct kernel *k, const char *root);
/* The mapping that holds `at` has at least so many bytes in huge pages, by /proc/self/smaps. */
bool bench_in_huge_pages(const char *at, uint64_t bytes);

/* Rows of one type, each with a `const char *` so many bytes behind its beginning. */
struct bench_rows {
	const void *row;
	size_t n, size, word_at;
};
/* These rows with this word, and `more` as they are behind them; NULL: no memory. */
void *bench_join(struct arena *a, const struct bench_rows *of, const char *word, const void *more,
		 size_t n_more);

#endif

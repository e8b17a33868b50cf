/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_thread - a library that is preloaded into a program that has no threads: if it starts one
 * after all, it aborts. Such tests are not run by the thread sanitizer: what has no threads has no
 * races. What the program runs itself, compilers and packers, may have threads.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const char said[] =
	"one_thread: a test that is not listed in unit_threads starts a thread\n";

__attribute__((constructor)) static void only_here(void)
{
	(void)unsetenv("LD_PRELOAD");
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	(void)thread;
	(void)attr;
	(void)start;
	(void)arg;
	if (write(STDERR_FILENO, said, sizeof(said) - 1))
		abort();
	abort();
}

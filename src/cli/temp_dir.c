/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/temp_dir.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/dir_held.h"
#include "base/fs.h"

#define NAME "cyclade-"

static const int numbers[] = { SIGHUP,	SIGINT,	 SIGTERM, SIGQUIT, SIGUSR1,   SIGUSR2,
			       SIGALRM, SIGXCPU, SIGPROF, SIGIO,   SIGVTALRM, SIGPWR };
static const char *volatile guarded, *volatile within;
static int held = -1;	/* its lock */
static sigset_t before; /* the mask before a directory was made */

void temp_dir_remove(void)
{
	if (within)
		(void)unlink(within);
	if (guarded)
		(void)rmdir(guarded);
}

static void end_temp_by(int number)
{
	temp_dir_remove();
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

static void handle(void (*from)(int), void (*to)(int))
{
	struct sigaction now, next = { .sa_handler = to };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!sigaction(numbers[i], NULL, &now) && now.sa_handler == from)
			(void)sigaction(numbers[i], &next, NULL);
}

/* Between the directory and its guard no signal may end us. */
static void hold_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		(void)sigaddset(&set, numbers[i]);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
}

static void release(void)
{
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int make_below(char *dir, size_t size, const char *parent, struct err *err)
{
	dir_held_sweep(parent, NAME);
	if (path_join(dir, size, parent, NAME "XXXXXX")) {
		*dir = 0;
		return err_set(err, ERR_LIMIT, "the name of $TMPDIR is too long");
	}
	held = dir_held_make(dir);
	if (held >= 0)
		return 0;
	*dir = 0;
	return err_sys(err, "%.200s: cannot make a temporary directory", parent);
}

static int make_temp_dir(char *dir, size_t size, const char *first, struct err *err)
{
	const char *said = getenv("TMPDIR");

	if (first && !make_below(dir, size, first, NULL))
		return 0;
	return make_below(dir, size, said && *said == '/' ? said : "/tmp", err);
}

int temp_dir_open(char *dir, size_t size, const char *first, struct err *err)
{
	hold_signals();
	if (!make_temp_dir(dir, size, first, err))
		return 0;
	release();
	return -1;
}

void temp_dir_guard(const char *dir, const char *file)
{
	within = file;
	guarded = dir;
	handle(SIG_DFL, end_temp_by);
	release();
}

void temp_dir_close(char *dir)
{
	if (*dir)
		(void)rmdir(dir);
	*dir = 0;
	if (held >= 0)
		(void)close(held);
	held = -1;
	handle(end_temp_by, SIG_DFL);
	guarded = within = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A child that acts when its process ends without calling it off, and only then. The process is a
 * child of the test; what the watchdog does comes through a pipe.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/watchdog.h"

enum how { EXITS, KILLED, CALLS_OFF, LOSES, LOSES_AND_BEGINS };

static int out[2]; /* of the watchdog */
static int other[2];

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* A letter for each thing that is as the header says. */
static void act(void *ctx)
{
	char name[16] = "", said[6] = "-----";

	(void)prctl(PR_GET_NAME, name);
	said[0] = *(char *)ctx;
	if (!strcmp(name, "cyclade-test"))
		said[1] = 'n';
	if (getsid(0) == getpid())
		said[2] = 's';
	if (!is_open(0) && !is_open(other[0]) && !is_open(other[1]) && is_open(out[1]))
		said[3] = 'c';
	if (write(out[1], said, 5) != 5)
		_exit(1);
}

static void process(enum how how)
{
	static const int deaf[] = { SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGUSR1,
				    SIGALRM, SIGXCPU, SIGTSTP, SIGPIPE };
	static char ctx = 'x';
	const struct watchdog_job job = { "cyclade-test", act, &ctx, &out[1], 1 };
	struct watchdog w = { 0 };

	watchdog_end(&w); /* none */
	if (watchdog_lost(&w) || watchdog_begin(&w, &job, NULL) || watchdog_lost(&w))
		_exit(2);
	ctx = 'y'; /* the watchdog has its own */
	for (size_t i = 0; i < sizeof(deaf) / sizeof(*deaf); i++)
		(void)kill(w.pid, deaf[i]);
	if (how == KILLED)
		(void)raise(SIGKILL);
	if (how == CALLS_OFF) {
		pid_t pid = w.pid;

		watchdog_end(&w);
		_exit(w.pid || !kill(pid, 0) ? 3 : 0);
	}
	if (how >= LOSES) {
		siginfo_t end;

		(void)kill(w.pid, SIGKILL);
		(void)waitid(P_PID, (id_t)w.pid, &end, WEXITED | WNOWAIT);
		if (!watchdog_lost(&w) || w.pid || watchdog_lost(&w))
			_exit(4);
		if (how == LOSES_AND_BEGINS && watchdog_begin(&w, &job, NULL))
			_exit(5);
	}
	_exit(0);
}

static void ends(void **state)
{
	static const char *const want[] = { "xnsc-", "xnsc-", "", "", "ynsc-" };

	(void)state;
	for (int how = EXITS; how <= LOSES_AND_BEGINS; how++) {
		char said[16] = "";
		size_t n = 0;
		ssize_t got;
		int status;
		pid_t pid;

		assert_int_equal(pipe(out), 0);
		assert_int_equal(pipe(other), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			process((enum how)how);
		(void)close(out[1]);
		while ((got = read(out[0], said + n, sizeof(said) - 1 - n)) > 0) /* to its end */
			n += (size_t)got;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (how == KILLED)
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		else
			assert_int_equal(status, 0);
		assert_string_equal(said, want[how]);
		(void)close(out[0]);
		(void)close(other[0]);
		(void)close(other[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(ends) };

	return cmocka_run_group_tests_name("base/watchdog", tests, NULL, NULL);
}

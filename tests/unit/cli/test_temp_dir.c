/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A directory for a while: where it is made, what is left behind by each way to end. What ends
 * programs is tried in children.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include <cmocka.h>

#include "base/fs.h"
#include "cli/temp_dir.h"

static const int numbers[] = { SIGHUP,	SIGINT,	 SIGTERM, SIGQUIT, SIGUSR1,   SIGUSR2,
			       SIGALRM, SIGXCPU, SIGPROF, SIGIO,   SIGVTALRM, SIGPWR };
#define NUMBERS (sizeof(numbers) / sizeof(*numbers))

static char below[64]; /* our own, so that nobody else's are seen */

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool held_back(int number)
{
	sigset_t now;

	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &now), 0);
	return sigismember(&now, number) == 1;
}

static size_t all_held_back(void)
{
	size_t n = 0;

	for (size_t i = 0; i < NUMBERS; i++)
		n += held_back(numbers[i]);
	return n;
}

static void handler_is(void (*want)(int), int number)
{
	struct sigaction now;

	assert_int_equal(sigaction(number, NULL, &now), 0);
	assert_true(now.sa_handler == want);
}

static void open_close(char *dir, const char *first)
{
	struct err err = ERR_INIT;
	char file[TEMP_DIR_MAX];

	assert_int_equal(temp_dir_open(dir, TEMP_DIR_MAX, first, &err), 0);
	assert_true(is_dir(dir));
	assert_int_equal(all_held_back(), NUMBERS);
	assert_false(held_back(SIGCHLD)); /* no more than what ends programs */
	assert_int_equal(path_join(file, sizeof(file), dir, "file"), 0);
	temp_dir_guard(dir, file);
	assert_int_equal(all_held_back(), 0);
	(void)strcpy(file, dir);
	temp_dir_close(dir);
	assert_false(is_dir(file));
	assert_int_equal(*dir, 0);
	temp_dir_close(dir); /* "" is fine */
	for (size_t i = 0; i < NUMBERS; i++)
		handler_is(SIG_DFL, numbers[i]);
	(void)strcpy(dir, file);
}

static void where(void **state)
{
	char dir[TEMP_DIR_MAX], first[96];

	(void)state;
	assert_int_equal(setenv("TMPDIR", below, 1), 0);
	open_close(dir, NULL);
	assert_true(begins(dir, below) && begins(dir + strlen(below), "/cyclade-"));
	open_close(dir, "/nonexistent/dir"); /* then as if it was not asked for */
	assert_true(begins(dir, below));
	(void)strcpy(first, below);
	(void)strcat(first, "/first");
	assert_int_equal(mkdir(first, 0700), 0);
	open_close(dir, first);
	assert_true(begins(dir, first));
	assert_int_equal(rmdir(first), 0);
	assert_int_equal(setenv("TMPDIR", "not/absolute", 1), 0);
	open_close(dir, NULL);
	assert_true(begins(dir, "/tmp/cyclade-"));
	assert_int_equal(unsetenv("TMPDIR"), 0);
	open_close(dir, NULL);
	assert_true(begins(dir, "/tmp/cyclade-"));
}

/* Nothing stays held back, and nothing is named. */
static void fails(void **state)
{
	struct err err = ERR_INIT, again = ERR_INIT;
	char dir[TEMP_DIR_MAX] = "x", tiny[8];

	(void)state;
	assert_int_equal(setenv("TMPDIR", "/nonexistent/dir", 1), 0);
	assert_int_equal(temp_dir_open(dir, sizeof(dir), NULL, &err), -1);
	assert_int_equal(*dir, 0);
	assert_non_null(strstr(err.what, "/nonexistent/dir"));
	assert_int_equal(all_held_back(), 0);
	assert_int_equal(temp_dir_open(tiny, sizeof(tiny), NULL, &again), -1);
	assert_int_equal(again.code, ERR_LIMIT);
	assert_int_equal(*tiny, 0);
	assert_int_equal(all_held_back(), 0);
	assert_int_equal(setenv("TMPDIR", below, 1), 0);
}

enum how { EARLY, GUARDED, IGNORED, CLOSED };

/* A child that gets a signal; the directory's name comes through a pipe. */
static int child(int number, enum how how, char name[TEMP_DIR_MAX])
{
	int fd[2], status;
	pid_t pid;
	ssize_t n;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		static char dir[TEMP_DIR_MAX], file[TEMP_DIR_MAX];
		struct err err = ERR_INIT;
		int f;

		(void)signal(number, how == IGNORED ? SIG_IGN : SIG_DFL);
		if (temp_dir_open(dir, sizeof(dir), NULL, &err) ||
		    path_join(file, sizeof(file), dir, "file"))
			_exit(90);
		f = open(file, O_WRONLY | O_CREAT, 0600);
		if (f < 0 || close(f) || write(fd[1], dir, sizeof(dir)) != sizeof(dir))
			_exit(91);
		if (how == EARLY) /* it comes when there is a guard */
			(void)raise(number);
		temp_dir_guard(dir, file);
		if (how == CLOSED) {
			(void)unlink(file);
			temp_dir_close(dir);
		}
		(void)raise(number);
		if (how == IGNORED) {
			(void)unlink(file);
			temp_dir_close(dir);
			_exit(signal(number, SIG_DFL) == SIG_IGN ? 7 : 92);
		}
		_exit(93);
	}
	(void)close(fd[1]);
	n = read(fd[0], name, TEMP_DIR_MAX);
	(void)close(fd[0]);
	assert_int_equal(n, TEMP_DIR_MAX);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void signals(void **state)
{
	char name[TEMP_DIR_MAX];

	(void)state;
	for (size_t i = 0; i < NUMBERS; i++)
		for (int how = EARLY; how <= CLOSED; how++) {
			int status = child(numbers[i], (enum how)how, name);

			assert_true(begins(name, below));
			assert_false(is_dir(name)); /* and what was in it is gone */
			if (how == IGNORED)
				assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
			else /* by the signal, as its parent is to see */
				assert_true(WIFSIGNALED(status) && WTERMSIG(status) == numbers[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where),
		cmocka_unit_test(fails),
		cmocka_unit_test(signals),
	};
	struct rlimit no_core = { 0, 0 };
	sigset_t none;
	int rc;

	/* whatever ran us */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < NUMBERS; i++)
		(void)signal(numbers[i], SIG_DFL);
	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)strcpy(below, "/tmp/cyclade-unit-XXXXXX");
	if (!mkdtemp(below))
		return 1;
	rc = cmocka_run_group_tests_name("cli/temp_dir", tests, NULL, NULL);
	return rmdir(below) ? 1 : rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are written: never over an input, through no stranger's link, old or new whole. Each
 * test that keeps an input runs in a process of its own, since nothing is ever forgotten. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"

static char dir[64];

static const char *in(const char *name)
{
	static char path[4][512];
	static unsigned k;

	k = (k + 1) % 4;
	(void)snprintf(path[k], sizeof(path[k]), "%s/%s", dir, name);
	return path[k];
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_file_out_XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(execlp("rm", "rm", "-rf", dir, (char *)NULL));
	return child < 0 || waitpid(child, NULL, 0) < 0 ? -1 : 0;
}

static void has(const char *path, const char *text)
{
	struct buf b = BUF_INIT;

	assert_int_equal(file_slurp(&b, path, 1000, NULL), 0);
	assert_string_equal(buf_str(&b), text);
	buf_free(&b);
}

static int put(const char *path, mode_t mode, enum file_new_how how, struct err *err)
{
	return file_put(path, mode, how, "new", 3, err);
}

/* The number of what did not hold, 0: nothing. */
static int names_of_an_input(void)
{
	static const char *const name[] = { "data", "link", "hard", "./data", "linked/data" };
	struct stat st;
	int fd;

	if (put(in("data"), 0644, FILE_NEW_NAMED, NULL) || symlink("data", in("link")) ||
	    link(in("data"), in("hard")) || symlink(".", in("linked")) || stat(in("data"), &st))
		return 1;
	file_keep(&st, FILE_INPUT);
	for (int i = 0; i < 5; i++) {
		struct err err = ERR_INIT;

		if (!file_put(in(name[i]), 0644, FILE_NEW_NAMED, "bad", 3, &err) ||
		    !strstr(err.what, "is also an input; nothing is written"))
			return 10 + i;
		if (!file_out_check(in(name[i]), NULL))
			return 20 + i;
		if (file_append_open(in(name[i]), 0644, NULL) >= 0)
			return 30 + i;
	}
	fd = open(in("data"), O_RDWR | O_CLOEXEC);
	if (dup2(fd, STDIN_FILENO) < 0 || !put("/dev/stdin", 0644, FILE_NEW_NAMED, NULL) ||
	    !put("/proc/self/fd/0", 0644, FILE_NEW_NAMED, NULL) || !file_out_check_fd(fd, "", NULL))
		return 40;
	has(in("data"), "new");
	/* a FIFO, too; a device and another file are none */
	if (mkfifo(in("fifo"), 0600))
		return 50;
	file_keep_path(in("fifo"), FILE_INPUT);
	file_keep_path("/dev/null", FILE_INPUT);
	file_keep_path(in("nothing"), FILE_INPUT);
	if (!put(in("fifo"), 0644, FILE_NEW_NAMED, NULL) ||
	    put("/dev/null", 0644, FILE_NEW_NAMED, NULL) ||
	    put(in("other"), 0644, FILE_NEW_NAMED, NULL))
		return 60;
	return stat(in("other"), &st) || (st.st_mode & 0777) != 0644 ? 70 : 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mode & 0777;
}

static int modes_of_derived_files(void)
{
	struct stat st;

	if (put(in("old"), 0644, FILE_NEW_NAMED, NULL) ||
	    put(in("group"), 0640, FILE_NEW_NAMED, NULL) ||
	    put(in("open"), 0644, FILE_NEW_NAMED, NULL) || chmod(in("old"), 0664))
		return 1;
	file_keep_path(in("open"), FILE_SECRET);
	if (put(in("old"), 0644, FILE_NEW_NAMED, NULL) || mode_of(in("old")) != 0664)
		return 2;
	file_keep_path(in("group"), FILE_SECRET);
	if (put(in("new"), 0644, FILE_NEW_NAMED, NULL) || mode_of(in("new")) != 0640 ||
	    put(in("old"), 0644, FILE_NEW_NAMED, NULL) || mode_of(in("old")) != 0660)
		return 3;
	if (stat(in("new"), &st))
		return 4;
	st.st_mode = S_IFREG | 0600;
	file_keep(&st, FILE_SECRET);
	if (put(in("x"), 0644, FILE_NEW_NAMED, NULL) || mode_of(in("x")) != 0600)
		return 5;
	return 0;
}

static int strangers_links(void)
{
	static const char *const name[] = { "link", "chain", "fifo", "dangling" };

	if (put(in("victim"), 0644, FILE_NEW_NAMED, NULL) || symlink(in("victim"), in("link")) ||
	    symlink("link", in("chain")) || symlink(in("none"), in("dangling")) ||
	    mkfifo(in("fifo"), 0666))
		return 1;
	if (lchown(in("link"), 1234, 1234) || lchown(in("fifo"), 1234, 1234) ||
	    lchown(in("dangling"), 1234, 1234))
		return 0; /* a user namespace has no strangers */
	for (int i = 0; i < 4; i++) {
		struct err err = ERR_INIT;

		if (!file_put(in(name[i]), 0600, FILE_NEW_OURS, "bad", 3, &err) ||
		    !strstr(err.what, "belongs to another user; it is not written"))
			return 10 + i;
	}
	has(in("victim"), "new");
	if (!access(in("none"), F_OK))
		return 20;
	/* the user's own link is followed, and owner and mode are not the stranger's */
	if (symlink("victim", in("own")) || chown(in("victim"), 1234, 1234) ||
	    file_put(in("own"), 0600, FILE_NEW_OURS, "mine", 4, NULL))
		return 30;
	has(in("victim"), "mine");
	if (mode_of(in("victim")) != 0600)
		return 31;
	/* directories: of a stranger, of all, of us */
	if (mkdir(in("strange"), 0755) || chown(in("strange"), 1234, 1234) ||
	    dir_is_ours(in("strange")) || dir_is_ours(in("strange/a/b")))
		return 40;
	if (mkdir(in("all"), 0755) || chmod(in("all"), 0777) || dir_is_ours(in("all")) ||
	    dir_is_ours(in("all/new")))
		return 41;
	return dir_is_ours(dir) && dir_is_ours(in("a/b/c")) ? 0 : 42;
}

static void alone(int (*f)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		(void)umask(0);
		_exit(f());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void inputs_are_not_written(void **state)
{
	(void)state;
	alone(names_of_an_input);
}

static void derived_files_are_as_secret(void **state)
{
	(void)state;
	alone(modes_of_derived_files);
}

static void strangers_are_not_followed(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	alone(strangers_links);
}

static void names_of_255_bytes(void **state)
{
	char name[256], old[512];
	struct file_new f;

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	for (int i = 0; i < 2; i++) {
		assert_int_equal(file_new_open(&f, in(name), 0644, FILE_NEW_NAMED, NULL), 0);
		assert_int_equal(fd_write_all(f.fd, "long", 4, name, NULL), 0);
		assert_int_equal(file_new_show(&f, NULL), 0);
		assert_int_equal(file_new_commit(&f, NULL), 0);
		has(in(name), "long");
	}
	assert_int_equal(file_beside(old, sizeof(old), in(name), ".old"), 0);
	assert_int_equal(strlen(path_base(old)), 255);
	assert_string_equal(old + strlen(old) - 5, "n.old");
	assert_int_equal(rename(in(name), old), 0);
	assert_int_equal(file_beside(old, sizeof(old), "a/b", ".old"), 0);
	assert_string_equal(old, "a/b.old");
	assert_int_equal(file_beside(old, 7, "a/b", ".old"), -1);
}

/* A pipe that is full and does not wait: what does not fit goes on once there is room. */
static void writes_that_would_wait_go_on(void **state)
{
	enum { SIZE = 1 << 20 };
	char *p = calloc(1, SIZE);
	size_t got = 0;
	int ends[2], status;
	pid_t child;

	(void)state;
	assert_non_null(p);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		(void)close(ends[0]);
		_exit(fd_write_all(ends[1], p, SIZE, "pipe", NULL) ? 1 : 0);
	}
	(void)close(ends[1]);
	for (ssize_t n; (n = read(ends[0], p, SIZE)) > 0;)
		got += (size_t)n;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(got, SIZE);
	(void)close(ends[0]);
	free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(inputs_are_not_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(derived_files_are_as_secret, set_up, tear_down),
		cmocka_unit_test_setup_teardown(strangers_are_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_of_255_bytes, set_up, tear_down),
		cmocka_unit_test(writes_that_would_wait_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directories of processes that were killed go at the next start, and no others: what users have
 * named like them, what somebody holds, what another host may hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/dir_held.h"
#include "base/fs.h"

#define EXT 0xef53

static char below[64];
static int lock_error; /* 0: as ever */
static int mode_error;
static long fs_type = EXT;

/* In place of libc's, for file systems that are not at hand. */
int flock(int fd, int operation)
{
	errno = lock_error;
	return lock_error ? -1 : (int)syscall(SYS_flock, fd, operation);
}

int fchmod(int fd, mode_t mode)
{
	errno = mode_error;
	return mode_error ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int fstatfs(int fd, struct statfs *fs)
{
	(void)fd;
	memset(fs, 0, sizeof(*fs));
	fs->f_type = fs_type;
	return 0;
}

static void name_it(char path[128], const char *name)
{
	assert_int_equal(path_join(path, 128, below, name), 0);
}

static void fill(const char *path)
{
	char file[160];
	int fd;

	assert_int_equal(path_join(file, sizeof(file), path, "file"), 0);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void set_age(const char *path, int seconds)
{
	struct timespec t[2] = { { .tv_sec = time(NULL) - seconds },
				 { .tv_sec = time(NULL) - seconds } };

	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static bool is_whole(const char *path)
{
	char file[160];

	assert_int_equal(path_join(file, sizeof(file), path, "file"), 0);
	return !access(file, F_OK);
}

static void what_goes(void **state)
{
	enum { FREE, HELD };
	static const struct {
		const char *name;
		mode_t mode;
		int age;
		int held;
		long type;
		bool stays;
	} row[] = {
		{ "server.heap-graphs", 0700, 1000, FREE, EXT, true }, /* a user's own */
		{ "server.heap-Abc123", 01700, 1000, FREE, EXT, false },
		{ ".heap-Abc123", 01700, 1000, FREE, EXT, false },
		{ "server.heap-Abc123", 01700, 1000, HELD, EXT, true },
		{ "server.heap-Abc123", 01700, -1000, FREE, EXT, true }, /* young, however slow */
		{ "server.heap-Abc123", 0700, 1000, FREE, EXT, true },
		{ "server.heap-Abc123", 01755, 1000, FREE, EXT, true },
		{ "server.heap-Abc123", 01777, 1000, FREE, EXT, true },
		{ "server.heap-Abc123", 01710, 1000, FREE, EXT, true },
		{ "server.heap-Abc123", 03700, 1000, FREE, EXT, true },
		{ "server.heap-Abc12", 01700, 1000, FREE, EXT, true },
		{ "server.heap-Abc1234", 01700, 1000, FREE, EXT, true },
		{ "server.heapsAbc123", 01700, 1000, FREE, EXT, true },
		{ "server.heap-Abc123", 01700, 1000, FREE, 0x6969, true },     /* NFS */
		{ "server.heap-Abc123", 01700, 1000, FREE, 0xff534d42, true }, /* CIFS */
		{ "server.heap-Abc123", 01700, 1000, FREE, 0xfe534d42, true },
		{ "server.heap-Abc123", 01700, 1000, FREE, 0x517b, true },     /* SMB */
		{ "server.heap-Abc123", 01700, 1000, FREE, 0x01021997, true }, /* 9p */
		{ "server.heap-Abc123", 01700, 1000, FREE, 0x65735546, true }, /* FUSE */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char path[128];
		int fd;

		name_it(path, row[i].name);
		assert_int_equal(mkdir(path, 0700), 0);
		fill(path);
		assert_int_equal(chmod(path, row[i].mode), 0);
		set_age(path, row[i].age);
		fd = open(path, O_RDONLY | O_DIRECTORY);
		assert_true(fd >= 0);
		if (row[i].held == HELD)
			assert_int_equal(flock(fd, LOCK_SH), 0);
		fs_type = row[i].type;
		dir_held_sweep(below, ".heap-");
		if (is_whole(path) != row[i].stays)
			fail_msg("row %zu, %s of mode %o", i, row[i].name, row[i].mode);
		(void)close(fd);
		dir_held_remove(path);
		assert_int_equal(access(path, F_OK), -1);
	}
	fs_type = EXT;
}

/* Nobody's directory behind a link. */
static void links(void **state)
{
	char path[128], link[128];

	(void)state;
	name_it(path, "elsewhere");
	name_it(link, "server.heap-Abc123");
	assert_int_equal(mkdir(path, 0700), 0);
	fill(path);
	assert_int_equal(chmod(path, 01700), 0);
	set_age(path, 1000);
	assert_int_equal(symlink(path, link), 0);
	dir_held_sweep(below, ".heap-");
	assert_true(is_whole(path) && is_whole(link));
	assert_int_equal(unlink(link), 0);
	dir_held_remove(path);
}

/* As its maker leaves it: held until its end, then not. */
static void made(void **state)
{
	static const struct {
		int lock_error, mode_error;
		bool made, stays; /* when the maker is gone */
	} row[] = {
		{ 0, 0, true, false },		 { 0, EPERM, true, false },
		{ ENOSYS, 0, true, true },	 { ENOLCK, 0, true, true },
		{ EOPNOTSUPP, 0, true, true },	 { EPERM, 0, true, true },
		{ EWOULDBLOCK, 0, false, true }, { EBADF, 0, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char path[128];
		struct stat st;
		int fd;

		name_it(path, "x.heap-XXXXXX");
		lock_error = row[i].lock_error;
		mode_error = row[i].mode_error;
		fd = dir_held_make(path);
		if (!row[i].made) {
			assert_int_equal(fd, -1);
			assert_int_equal(errno, row[i].lock_error);
			assert_int_equal(access(path, F_OK), -1);
		}
		lock_error = mode_error = 0;
		if (!row[i].made)
			continue;
		assert_true(fd >= 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 077, 0);
		fill(path);
		set_age(path, 1000);
		dir_held_sweep(below, ".heap-");
		assert_true(is_whole(path));
		(void)close(fd);
		dir_held_sweep(below, ".heap-");
		assert_int_equal(is_whole(path), row[i].stays);
		dir_held_remove(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes),
		cmocka_unit_test(links),
		cmocka_unit_test(made),
	};
	int rc;

	(void)strcpy(below, "/tmp/test-dir-held-XXXXXX");
	if (!mkdtemp(below))
		return 1;
	rc = cmocka_run_group_tests_name("base/dir_held", tests, NULL, NULL);
	return rmdir(below) ? 1 : rc;
}

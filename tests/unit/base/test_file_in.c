/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>
#include <cmocka.h>

#include "base/file_in.h"
#include "../skip.h"
#include "base/file_out.h"
#include "base/fs.h"

enum { LARGE = 1 << 20 };

static char dir[32];

static int drop(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

static int make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_file_in_XXXXXX");
	return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
	(void)state;
	return nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file of `len` letters that the mode lets others write, or not. */
static const char *put(const char *name, mode_t mode, size_t len)
{
	static char path[128], text[LARGE];

	memset(text, 'a', len);
	assert_int_equal(path_join(path, sizeof(path), dir, name), 0);
	assert_int_equal(file_put(path, 0600, FILE_NEW_NAMED, text, len, NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void link_to(const char *target, const char *name)
{
	char path[128];

	assert_int_equal(path_join(path, sizeof(path), dir, name), 0);
	assert_int_equal(symlink(target, path), 0);
}

static int try_open(const char *root, const char *name, unsigned how)
{
	struct stat st;
	int fd = file_in_open(root, name, how, &st, NULL);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 ? 0 : -1;
}

static bool has_openat2(void)
{
	struct open_how how = { .flags = O_PATH };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* What is below `root` is opened, and nothing else; NULL: it is so. */
static const char *wrong_below(const char *root)
{
	static const char *const in[] = { "/dir/file",	   "/near",	 "/inner",
					  "/over/../near", "/deep/file", "/dir/./../../dir//file" };
	static const char *const out[] = { "/link", "/up",   "/dir/../../secret", "/fifo", "/dir",
					   "/none", "/loop", "/near/file",	  "/" };

	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++)
		if (try_open(root, in[i], FILE_IN_LINKS))
			return in[i];
	for (size_t i = 0; i < sizeof(out) / sizeof(*out); i++)
		if (!try_open(root, out[i], FILE_IN_LINKS))
			return out[i];
	return try_open(root, "/near", FILE_IN_NO_LINK) &&
			       !try_open(root, "/deep/file", FILE_IN_NO_LINK)
		       ? NULL
		       : "the last is a link";
}

/* The kernel has no openat2 for this process from now on. */
static bool forget_openat2(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr)),
				   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = 4, .filter = f };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) && !has_openat2();
}

/* Whoever owns the files below a root directory may put links there. */
static void nothing_leads_out_of_a_root(void **state)
{
	char root[64], path[128];
	const char *wrong;
	int status;
	pid_t pid;

	(void)state;
	(void)put("secret", 0600, 1);
	assert_int_equal(path_join(root, sizeof(root), dir, "root"), 0);
	assert_int_equal(path_join(path, sizeof(path), root, "dir"), 0);
	assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	(void)put("root/dir/file", 0600, 1);
	link_to("/etc/passwd", "root/link");
	link_to("../secret", "root/up");
	link_to("/dir/file", "root/inner");
	link_to("dir/file", "root/near");
	link_to("/dir", "root/over");
	link_to("over/../../dir/.", "root/deep");
	link_to("loop", "root/loop");
	assert_int_equal(path_join(path, sizeof(path), root, "fifo"), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	wrong = wrong_below(root);
	assert_string_equal(wrong ? wrong : "", "");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (!forget_openat2())
			_exit(77);
		wrong = wrong_below(root);
		if (wrong)
			print_error("without openat2: %s\n", wrong);
		_exit(wrong != NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 77)
		assert_int_equal(status, 0);
}

/* The calls return at once: an open of a FIFO without a writer waits for ever. */
static void only_regular_files_are_opened(void **state)
{
	char path[128], link[64];
	struct stat st;
	struct err err = ERR_INIT;
	int fd;

	(void)state;
	assert_int_equal(path_join(path, sizeof(path), dir, "pipe"), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_in_open(NULL, path, FILE_IN_LINKS, &st, &err), -1);
	assert_int_equal(err.code, ERR_FORMAT);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(try_open(NULL, "/dev/null", FILE_IN_LINKS), -1);
	assert_int_equal(try_open(NULL, dir, FILE_IN_LINKS), -1);
	fd = open(put("plain", 0600, 1), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_int_equal(try_open(NULL, link, FILE_IN_PROC), 0);
	if (has_openat2())
		assert_int_equal(try_open(NULL, link, FILE_IN_LINKS), -1);
	(void)close(fd);
}

static void bytes_of_others_are_a_copy(void **state)
{
	const char *path = put("others", 0666, 5000);
	char second[128];
	struct file_map a, b;

	(void)state;
	assert_int_equal(path_join(second, sizeof(second), dir, "second"), 0);
	assert_int_equal(link(path, second), 0);
	assert_int_equal(file_map_open(&a, path, NULL), 0);
	assert_int_equal(file_map_open(&b, second, NULL), 0);
	assert_ptr_equal(a.p, b.p); /* one file, read once */
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(a.len, 5000);
	assert_int_equal(a.p[4999], 'a');
	assert_false(file_map_cut(&a));
	file_map_close(&a);
	assert_int_equal(b.p[4999], 'a');
	file_map_close(&b);
	assert_int_equal(file_map_open(&a, path, NULL), 0);
	assert_int_equal(a.len, 0);
	file_map_close(&a);
}

/* Whoever goes on writing to a file does not keep its reader reading. */
static void a_file_that_grows_has_an_end(void **state)
{
	int fd = open(put("grows", 0666, 300000), O_RDONLY | O_CLOEXEC), same = dup(fd);
	struct buf b = BUF_INIT;
	struct stat st;

	(void)state;
	assert_true(fd >= 0 && same >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	st.st_size = 100000; /* as it was when it was judged */
	assert_int_equal(file_in_slurp(&b, fd, &st, 1 << 20, "grows", NULL), 0);
	assert_int_equal(b.len, 100000);
	assert_int_equal(lseek(same, 0, SEEK_CUR), 100000);
	(void)close(same);
	buf_free(&b);
}

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (!file_in_fault(info->si_addr)) {
		(void)signal(sig, SIG_DFL);
		(void)raise(sig);
	}
}

/* That costs the file its end, not the process its life. */
static void a_mapping_may_become_shorter(void **state)
{
	const struct sigaction bus = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	const char *path = put("own", 0600, LARGE);
	struct sigaction old;
	struct file_map m;

	(void)state;
	assert_int_equal(sigaction(SIGBUS, &bus, &old), 0);
	assert_int_equal(file_map_open(&m, path, NULL), 0);
	assert_int_equal(m.p[LARGE - 1], 'a');
	assert_false(file_map_cut(&m));
	assert_false(file_map_written(&m, path));
	assert_int_equal(truncate(path, 100), 0);
	assert_true(file_map_written(&m, path));
	assert_int_equal(m.p[99], 'a');
	assert_int_equal(((volatile uint8_t *)m.p)[LARGE / 2], 0);
	assert_int_equal(((volatile uint8_t *)m.p)[LARGE - 1], 0);
	assert_true(file_map_cut(&m));
	file_map_close(&m);
	assert_false(file_in_fault(&m));
	assert_int_equal(sigaction(SIGBUS, &old, NULL), 0);
}

static void others_have_a_budget(void **state)
{
	char path[128];
	struct file_map m, n;
	struct buf text = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", put("big", 0666, 3000));
	file_in_limit(5000);
	assert_int_equal(file_map_open(&m, path, NULL), 0);
	assert_int_equal(file_map_open(&n, path, NULL), 0); /* the same bytes */
	file_map_close(&n);
	assert_int_equal(file_map_open(&n, put("too", 0666, 3000), &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_non_null(strstr(err.what, "left out"));
	assert_int_equal(file_slurp(&text, put("text", 0666, 3000), 4000, NULL), -1);
	assert_int_equal(file_map_open(&n, put("mine", 0600, 30000), NULL), 0);
	file_map_close(&n);
	file_map_close(&m);
	assert_int_equal(file_slurp(&text, put("text", 0666, 3000), 4000, NULL), 0);
	assert_int_equal(text.len, 3000);
	assert_false(file_in_charge(SIZE_MAX));
	assert_false(file_in_charge(2001));
	assert_true(file_in_charge(2000));
	file_in_release(2000);
	buf_free(&text); /* gives back what was read */
	assert_true(file_in_charge(5000));
	file_in_release(5000);
	file_in_limit((size_t)1 << 30);
}

static void readers_and_writers(void **state)
{
	const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		bool read, written; /* by user 1000 */
	} rows[] = {
		{ 1000, 1000, 0600, true, true },  { 1000, 1000, 0044, false, true },
		{ 1001, 1000, 0640, true, false }, { 1001, 1001, 0640, false, false },
		{ 1001, 1001, 0604, true, false }, { 0, 0, 0640, false, true },
		{ 0, 0, 0644, true, true },	   { 1000, 1000, 0666, true, false },
		{ 1000, 50, 0664, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct stat st = { .st_uid = rows[i].uid,
					 .st_gid = rows[i].gid,
					 .st_mode = S_IFREG | rows[i].mode };

		if (geteuid() == 1001)
			skip();
		assert_int_equal(file_read_by(&st, 1000), rows[i].read);
		assert_int_equal(file_written_by(&st, 1000), rows[i].written);
		assert_true(file_read_by(&st, 0));
	}
}

/* Of what a stranger's program names, only what he can reach. */
static void directories_are_judged(void **state)
{
	const uid_t stranger = 65534;
	char sub[64], path[128];
	struct stat st;
	int fd;

	(void)state;
	if (geteuid())
		SKIP_BECAUSE("one's own files are one's own");
	if (has_other_root())
		SKIP_BECAUSE("an emulator opens another directory for /");
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(path_join(sub, sizeof(sub), dir, "closed"), 0);
	assert_int_equal(mkdir(sub, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s", put("closed/file", 0644, 10));
	fd = file_in_open(NULL, path, FILE_IN_LINKS, &st, NULL);
	assert_true(fd >= 0);
	assert_true(file_shown_for(fd, NULL, path, &st, 0));
	assert_false(file_shown_for(fd, NULL, path, &st, stranger));
	assert_true(file_shown_for(fd, sub, "/file", &st, stranger)); /* the root is the person's */
	assert_false(file_shown_for(fd, dir, "/closed/file", &st, stranger));
	assert_int_equal(chmod(sub, 0711), 0);
	assert_true(file_shown_for(fd, NULL, path, &st, stranger));
	assert_true(file_shown_for(fd, dir, "/closed/file", &st, stranger));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(file_shown_for(fd, NULL, path, &st, stranger));
	(void)close(fd);
}

static void a_head_is_of_a_file(void **state)
{
	char head[4] = { 0 }, path[128];

	(void)state;
	assert_int_equal(file_in_head(put("head", 0600, 3), head, 4), 3);
	assert_memory_equal(head, "aaa", 3);
	assert_int_equal(file_in_head(put("head", 0600, 30), head, 4), 4);
	assert_int_equal(file_in_head("/proc/self/exe", head, 4), 4); /* as the kernel links it */
	assert_memory_equal(head, "\177ELF", 4);
	assert_int_equal(file_in_head(dir, head, 4), 0);
	(void)snprintf(path, sizeof(path), "%s/fifo.head", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_in_head(path, head, 4), 0);
	assert_true(file_look(path, NULL));
	assert_false(file_is_regular(path));
	assert_true(file_is_dir(dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_leads_out_of_a_root),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(bytes_of_others_are_a_copy),
		cmocka_unit_test(a_file_that_grows_has_an_end),
		cmocka_unit_test(a_mapping_may_become_shorter),
		cmocka_unit_test(others_have_a_budget),
		cmocka_unit_test(readers_and_writers),
		cmocka_unit_test(directories_are_judged),
		cmocka_unit_test(a_head_is_of_a_file),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

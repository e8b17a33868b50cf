/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox_probe - preloaded: stands before mmap(), and tries what a parser that was taken over
 * would try, when the first ELF file is mapped. For each attempt a line "probe NAME ERRNO" (0: it
 * succeeded) goes to the descriptor $PROBE_FD.
 *
 *	PROBE_SECRET	a file to read
 *	PROBE_FILE	one to change, remove, rename
 *	PROBE_DIR	a directory to make things in
 *	PROBE_LANDLOCK	the version of Landlock that the kernel is to have
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *name, long rc)
{
	const char *fd = getenv("PROBE_FD");
	char line[80];
	int n = snprintf(line, sizeof(line), "probe %s %d\n", name, rc < 0 ? errno : 0);

	if (fd && write(atoi(fd), line, (size_t)n) < 0)
		_exit(99);
}

static void try_files(const char *file, const char *secret, const char *dir)
{
	char path[4096];
	int fd;

	tell("read", open(secret, O_RDONLY));
	tell("write", open(file, O_WRONLY));
	tell("append", open(file, O_WRONLY | O_APPEND));
	tell("truncate", truncate(file, 0));
	tell("empty", open(file, O_RDONLY | O_TRUNC));
	tell("empty_neither", open(file, O_ACCMODE | O_TRUNC)); /* to read or to write */
	tell("empty_at", syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_TRUNC, 0));
	tell("empty_2",
	     syscall(437, AT_FDCWD, file, (uint64_t[3]){ O_TRUNC, 0, 0 }, 24)); /* openat2 */
	tell("unlink", unlink(file));
	(void)snprintf(path, sizeof(path), "%s/new", dir);
	tell("rename", rename(file, path));
	tell("link", link(file, path));
	tell("create", open(path, O_WRONLY | O_CREAT, 0600));
	tell("nameless", open(dir, O_WRONLY | O_TMPFILE, 0600));
	tell("mkdir", mkdir(path, 0700));
	tell("symlink", symlink("/etc/passwd", path));
	tell("fifo", mkfifo(path, 0600));
	tell("rmdir", rmdir(dir));
	tell("chmod", chmod(file, 0777));
	tell("chown", chown(file, 1, 1));
	fd = open(file, O_RDONLY);
	tell("fchmod", fchmod(fd, 0777));
	tell("fchmod_suid", fchmod(fd, 04755));
	tell("fchown", fchown(fd, 1, 1));
	(void)close(fd);
}

static void try_others(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(9) };
	char *argv[] = { (char[]){ "true" }, NULL };
	pid_t pid = fork();

	if (!pid) {
		(void)execve("/bin/true", argv, NULL); /* and no library preloaded */
		_exit(errno == EPERM ? 100 : errno == EACCES ? 101 : 102);
	}
	if (pid > 0) {
		int status = 0;

		(void)waitpid(pid, &status, 0);
		errno = WEXITSTATUS(status) == 100 ? EPERM : EACCES;
		tell("exec", WIFEXITED(status) && WEXITSTATUS(status) < 100 ? 0 : -1);
	}
	tell("socket", socket(AF_INET, SOCK_STREAM, 0));
	tell("unix", socket(AF_UNIX, SOCK_STREAM, 0));
	tell("connect", connect(0, (struct sockaddr *)&at, sizeof(at)));
	tell("ptrace", ptrace(PTRACE_DETACH, getppid(), NULL, NULL));
	tell("kill", kill(getppid(), 0));
	tell("tgkill", syscall(SYS_tgkill, getppid(), getppid(), 0));
	tell("memory", syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
	tell("mount", syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
	tell("chroot", chroot("/"));
	tell("bpf", syscall(SYS_bpf, 0, NULL, 0));
	tell("counter", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	tell("setuid", setuid(getuid()));
	tell("type", ioctl(0, TIOCSTI, "X"));
	pid = (pid_t)syscall(SYS_clone, 0x10000000 | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid)
		_exit(0);
	tell("namespace", pid);
	tell("limits", syscall(SYS_prlimit64, getppid(), 0, NULL, NULL));
	tell("nice", syscall(SYS_setpriority, 0, getppid(), 0));
	tell("fchmodat2", syscall(452, AT_FDCWD, getenv("PROBE_FILE"), 0777, 0));
	tell("own_limits", syscall(SYS_prlimit64, 0, 7, NULL, NULL));
	tell("own_signal", syscall(SYS_tgkill, getpid(), getpid(), 0));
}

static void once(void)
{
	static int done;
	const char *file = getenv("PROBE_FILE"), *secret = getenv("PROBE_SECRET");
	const char *dir = getenv("PROBE_DIR");

	if (done++ || !file || !secret || !dir)
		return;
	try_files(file, secret, dir);
	try_others();
}

/* At the end: what the kernel says of this process. */
__attribute__((destructor)) static void tell_state(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	const char *fd = getenv("PROBE_FD");
	char line[256];

	while (f && fd && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Seccomp:", 8) || !strncmp(line, "NoNewPrivs:", 11))
			if (dprintf(atoi(fd), "state %s", line) < 0)
				break;
	if (f)
		(void)fclose(f);
}

/* An older Landlock: to the question for its version. */
long syscall(long number, ...)
{
	long (*next)(long, ...), a[6];
	const char *version = getenv("PROBE_LANDLOCK");
	void *symbol = dlsym(RTLD_NEXT, "syscall");
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (version && number == 444 && a[2] == 1)
		return atol(version);
	memcpy(&next, &symbol, sizeof(next));
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static bool is_elf(int fd)
{
	char begin[4];

	return pread(fd, begin, 4, 0) == 4 && !memcmp(begin, "\177ELF", 4);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t from)
{
	void *(*next)(void *, size_t, int, int, int, off_t);
	void *symbol = dlsym(RTLD_NEXT, "mmap");

	if (fd >= 0 && is_elf(fd))
		once();
	memcpy(&next, &symbol, sizeof(next));
	return next(at, len, prot, flags, fd, from);
}

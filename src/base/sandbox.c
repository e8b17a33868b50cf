/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* The sanitizers' run-time library does this at the end: it looks for leaks from a process beside,
 * and has another program name addresses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* ---- Landlock. Headers of older systems lack parts of it, or all: the numbers are those of
 * include/uapi/linux/landlock.h, and the same on all architectures. */

#define LANDLOCK_CREATE_RULESET	 444
#define LANDLOCK_ADD_RULE	 445
#define LANDLOCK_RESTRICT_SELF	 446
#define LANDLOCK_VERSION	 1u /* flag of the first: only asks for the version */
#define LANDLOCK_PATH_BENEATH	 1
#define LANDLOCK_NET_BIND	 1u
#define LANDLOCK_NET_CONNECT	 2u
#define LANDLOCK_ABSTRACT_SOCKET 1u
#define LANDLOCK_SIGNAL		 2u

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_SOCK = 1 << 9,
	FS_MAKE_FIFO = 1 << 10,
	FS_MAKE_BLOCK = 1 << 11,
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,    /* version 2 */
	FS_TRUNCATE = 1 << 14, /* version 3 */

	FS_READ = FS_READ_FILE | FS_READ_DIR,
	FS_OF_FILE = FS_WRITE_FILE | FS_READ_FILE |
		     FS_TRUNCATE, /* the rights that a file's rule may have */
	FS_WRITE =
		FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_REFER | FS_TRUNCATE,
	FS_CHANGE = FS_WRITE | FS_REMOVE_DIR | FS_MAKE_CHAR | FS_MAKE_SOCK | FS_MAKE_FIFO |
		    FS_MAKE_BLOCK | FS_MAKE_SYM
};

struct landlock_rules {
	uint64_t fs, net, scoped;
};

struct landlock_beneath {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

static int landlock_version(void)
{
	long v = syscall(LANDLOCK_CREATE_RULESET, NULL, (size_t)0, LANDLOCK_VERSION);

	return v > 0 ? (int)v : 0;
}

/* The rights that a kernel of that version can refuse. */
static uint64_t known_rights(int version)
{
	uint64_t no = (version < 2 ? FS_REFER : 0u) | (version < 3 ? FS_TRUNCATE : 0u);

	return (FS_EXECUTE | FS_READ | FS_CHANGE) & ~no;
}

static int add_rule(int rules, const struct sandbox_path *p, uint64_t handled)
{
	struct landlock_beneath b = { .allowed = p->write ? FS_WRITE : FS_READ, .fd = p->fd };
	struct stat st;

	if (fstat(p->fd, &st))
		return -1;
	if (!S_ISDIR(st.st_mode))
		b.allowed &= FS_OF_FILE;
	b.allowed &= handled;
	return (int)syscall(LANDLOCK_ADD_RULE, rules, LANDLOCK_PATH_BENEATH, &b, 0u);
}

static int enter_landlock(const struct sandbox *s, int version, struct err *err)
{
	struct landlock_rules r = { .fs = known_rights(version) };
	bool reads = false;
	int rules, rc = -1;

	for (unsigned i = 0; i < s->n; i++)
		reads |= !s->path[i].write;
	/* reading is left alone, and not allowed below "/": a file in another mount namespace,
	 * as a container's files do, is below no directory of this one */
	if (!reads)
		r.fs &= ~(uint64_t)FS_READ;
	if (SANITIZED)
		r.fs &= ~(uint64_t)FS_EXECUTE; /* another program names a report's addresses */
	if (version >= 4)
		r.net = LANDLOCK_NET_BIND | LANDLOCK_NET_CONNECT;
	if (version >= 6)
		r.scoped = LANDLOCK_ABSTRACT_SOCKET | LANDLOCK_SIGNAL;
	/* fields that a version does not know are zero, and may follow */
	rules = (int)syscall(LANDLOCK_CREATE_RULESET, &r, sizeof(r), 0u);
	if (rules < 0)
		return err_sys(err, "Landlock");
	for (unsigned i = 0; i < s->n; i++)
		if (add_rule(rules, &s->path[i], r.fs)) {
			(void)err_sys(err, "Landlock: a rule");
			goto out;
		}
	rc = (int)syscall(LANDLOCK_RESTRICT_SELF, rules, 0u);
	if (rc)
		(void)err_sys(err, "Landlock");
out:
	(void)close(rules);
	return rc;
}

/* ---- seccomp */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Newer than some headers; from 424 on the numbers are the same everywhere. */
#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_removexattrat
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

/* Their calls: sanitized builds leave them alone. */
static bool is_sanitizers(int number)
{
	return SANITIZED && (number == SYS_ptrace || number == SYS_execve);
}

static const struct {
	const char *name;
	int number;
} refused[] = {
#define CALL(name) { #name, SYS_##name },
#define LOOK_AT(name)
#include "base/sandbox_call.def"
#undef LOOK_AT
#undef CALL
}, by_argument[] = {
#define CALL(name)
#define LOOK_AT(name) { #name, SYS_##name },
#include "base/sandbox_call.def"
#undef LOOK_AT
#undef CALL
};

#define N_REFUSED     (sizeof(refused) / sizeof(*refused))
#define N_BY_ARGUMENT (sizeof(by_argument) / sizeof(*by_argument))

/* Index into refused and then by_argument; behind both: a call of neither. */
static size_t call_of(int number, const char **name)
{
	size_t i = 0;

	for (; i < N_REFUSED + N_BY_ARGUMENT; i++) {
		bool first = i < N_REFUSED;
		size_t k = first ? i : i - N_REFUSED;

		*name = first ? refused[k].name : by_argument[k].name;
		if ((first ? refused[k].number : by_argument[k].number) == number)
			return i;
	}
	*name = "a system call";
	return i;
}

/* A refused call is named once, and fails with EPERM. Runs as a signal handler, on whatever stack
 * and with whatever locks held: it writes and returns. */
static void on_refused(int sig, siginfo_t *info, void *context)
{
	static atomic_bool said[N_REFUSED + N_BY_ARGUMENT + 1], advised;
	ucontext_t *at = context;
	const char *name;
	char line[256];
	int n;

	(void)sig;
	if (!atomic_exchange(&said[call_of(info->si_syscall, &name)], true)) {
		n = snprintf(line, sizeof(line),
			     "cyclade: the sandbox refused %s, which no command needs that only "
			     "reads\n%s",
			     name,
			     atomic_exchange(&advised, true)
				     ? ""
				     : "  keep the file that was read, and report it; --no-sandbox "
				       "reads it without\n");
		if (write(STDERR_FILENO, line, (size_t)n) < 0)
			n = 0;
	}
#if defined(__x86_64__)
	at->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
	at->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#else
	(void)at;
#endif
}

#ifdef ARCHITECTURE
#define OF(field)		    offsetof(struct seccomp_data, field)
#define LOAD(field)		    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OF(field))
#define RETURN(what)		    BPF_STMT(BPF_RET | BPF_K, what)
#define IF_EQUAL(value, yes, no)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_AT_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, yes, no)
#define X32			    0x40000000u /* calls of x86-64 programs with short pointers */
#define IF_ANY_BIT(bits, yes, no)   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
#define NAMESPACES 0x7E020000u

/* A filter while it is written. */
struct filter {
	struct sock_filter f[96 + 5 * N_REFUSED];
	unsigned short n;
};

static void put_filter(struct filter *x, struct sock_filter f)
{
	x->f[x->n++] = f;
}

/* Unless the number is `number`, goes on behind the next instruction. */
static void unless_it_is(struct filter *x, long number)
{
	put_filter(x, (struct sock_filter)IF_EQUAL((unsigned)number, 0, 1));
}

/* A call whose first argument is a process: this one, or 0. */
static void put_by_process(struct filter *x, unsigned number)
{
	put_filter(x, (struct sock_filter)IF_EQUAL(number, 0, 5));
	put_filter(x, (struct sock_filter)LOAD(args[0]));
	put_filter(x, (struct sock_filter)IF_EQUAL((unsigned)getpid(), 2, 0));
	put_filter(x, (struct sock_filter)IF_EQUAL(0, 1, 0));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_TRAP));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

/* A call that opens a file, with its flags: O_TRUNC without the right to write empties the file,
 * and Landlock refuses that only since Linux 6.2. */
static void put_by_flags(struct filter *x, unsigned number, unsigned flags)
{
	put_filter(x, (struct sock_filter)IF_EQUAL(number, 0, 7));
	put_filter(x, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   (unsigned)OF(args) + 8 * flags));
	put_filter(x, (struct sock_filter)IF_ANY_BIT(O_TRUNC, 0, 4));
	put_filter(x, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_ACCMODE));
	put_filter(x, (struct sock_filter)IF_EQUAL(O_WRONLY, 2, 0));
	put_filter(x, (struct sock_filter)IF_EQUAL(O_RDWR, 1, 0));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_TRAP));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

/* These by their arguments; both architectures are little-endian: the low half comes first. */
static void put_by_argument(struct filter *x, bool owners, int landlock)
{
#ifdef SYS_open
	put_by_flags(x, SYS_open, 1);
#endif
	put_by_flags(x, SYS_openat, 2);
	if (landlock && landlock < 3) { /* its flags lie in memory; openat does for us */
		unless_it_is(x, SYS_openat2);
		put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | ENOSYS));
	}
	unless_it_is(x, SYS_fchown);
	put_filter(x, (struct sock_filter)RETURN(owners ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP));
	put_filter(x, (struct sock_filter)IF_EQUAL(SYS_fchmod, 0, 4));
	put_filter(x, (struct sock_filter)LOAD(args[1]));
	put_filter(x, (struct sock_filter)IF_ANY_BIT(~0777u, 0, 1));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_TRAP));
	put_filter(x, (struct sock_filter)RETURN(owners ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP));
	/* editors of lines hand on Ctrl-C to their group: 0 */
	put_by_process(x, SYS_tgkill);
	put_by_process(x, SYS_kill);
	put_by_process(x, SYS_prlimit64);
	/* typed for the shell */
	put_filter(x, (struct sock_filter)IF_EQUAL(SYS_ioctl, 0, 5));
	put_filter(x, (struct sock_filter)LOAD(args[1]));
	put_filter(x, (struct sock_filter)IF_EQUAL(TIOCSTI, 1, 0));
	put_filter(x, (struct sock_filter)IF_EQUAL(TIOCLINUX, 0, 1));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_TRAP));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
	/* threads and processes, but no namespaces. clone3's flags lie in memory: libc goes on with
	 * clone if the kernel has none */
	unless_it_is(x, SYS_clone3);
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | ENOSYS));
	put_filter(x, (struct sock_filter)IF_EQUAL(SYS_clone, 0, 3));
	put_filter(x, (struct sock_filter)LOAD(args[0]));
	put_filter(x, (struct sock_filter)IF_ANY_BIT(NAMESPACES, 0, 1));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_TRAP));
	put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

struct range {
	unsigned from, to;
};

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The numbers of refused calls, which often follow one another. */
static size_t refused_ranges(struct range range[static N_REFUSED])
{
	int number[N_REFUSED];
	size_t k = 0, n = 0;

	for (size_t i = 0; i < N_REFUSED; i++)
		if (!is_sanitizers(refused[i].number))
			number[k++] = refused[i].number;
	qsort(number, k, sizeof(*number), by_number);
	for (size_t i = 0; i < k; i++) {
		unsigned at = (unsigned)number[i];

		if (n && at <= range[n - 1].to + 1)
			range[n - 1].to = at;
		else
			range[n++] = (struct range){ at, at };
	}
	return n;
}

/* A leaf has four instructions, and a comparison stands before each two halves. */
#define SIZE_OF_RANGES(n) (5 * (n)-1)

/* Finds the number by halves: the kernel runs the filter for each call that there is when it is
 * set, to keep the answers. A number in no range goes on `behind` instructions from here. */
static void put_ranges(struct filter *x, const struct range *range, size_t n, size_t behind)
{
	size_t half = n / 2;

	if (n == 1) {
		put_filter(x, (struct sock_filter)IF_AT_LEAST(range->from, 0, 2));
		put_filter(x, (struct sock_filter)IF_AT_LEAST(range->to + 1, 1, 0));
		put_filter(x, (struct sock_filter)RETURN(SECCOMP_RET_TRAP));
		put_filter(x, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (unsigned)behind - 4));
		return;
	}
	put_filter(x, (struct sock_filter)IF_AT_LEAST(range[half].from,
						      (uint8_t)SIZE_OF_RANGES(half), 0));
	put_ranges(x, range, half, behind - 1);
	put_ranges(x, range + half, n - half, behind - 1 - SIZE_OF_RANGES(half));
}

static int enter_seccomp(bool owners, int landlock, struct err *err)
{
	struct sigaction trap = { .sa_sigaction = on_refused, .sa_flags = SA_SIGINFO };
	struct range range[N_REFUSED];
	struct filter x = { .n = 0 };
	struct sock_fprog program;
	size_t n;

	put_filter(&x, (struct sock_filter)LOAD(arch));
	put_filter(&x, (struct sock_filter)IF_EQUAL(ARCHITECTURE, 1, 0));
	put_filter(&x, (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
	put_filter(&x, (struct sock_filter)LOAD(nr));
	put_filter(&x, (struct sock_filter)IF_AT_LEAST(X32, 0, 1));
	put_filter(&x, (struct sock_filter)RETURN(SECCOMP_RET_TRAP));
	n = refused_ranges(range);
	if (SIZE_OF_RANGES(n / 2) > UINT8_MAX) /* a jump over a half would be shorter */
		return err_set(err, ERR_LIMIT, "seccomp: %zu ranges of calls", n);
	put_ranges(&x, range, n, SIZE_OF_RANGES(n));
	put_by_argument(&x, owners, landlock);
	program = (struct sock_fprog){ .len = x.n, .filter = x.f };
	(void)sigemptyset(&trap.sa_mask);
	if (sigaction(SIGSYS, &trap, NULL))
		return err_sys(err, "seccomp");
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? err_sys(err, "seccomp") : 0;
}

/* Asks with a filter at address 0: EFAULT if there are filters, EINVAL if not. */
static bool has_seccomp(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) && errno == EFAULT;
}
#else
static int enter_seccomp(bool owners, int landlock, struct err *err)
{
	(void)owners;
	(void)landlock;
	(void)err;
	return 0;
}

static bool has_seccomp(void)
{
	return false;
}
#endif

/* ---- both */

static void allow_path(struct sandbox *s, const char *path, bool write)
{
	int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	if (s->n < SANDBOX_PATHS) {
		s->path[s->n++] = (struct sandbox_path){ .fd = fd, .write = write };
	} else {
		s->too_many = true;
		(void)close(fd);
	}
}

void sandbox_write(struct sandbox *s, const char *path)
{
	allow_path(s, path, true);
}

void sandbox_read(struct sandbox *s, const char *path)
{
	allow_path(s, path, false);
}

struct sandbox_can sandbox_can(void)
{
	return (struct sandbox_can){ .landlock = landlock_version(), .seccomp = has_seccomp() };
}

const char *sandbox_words(char out[static SANDBOX_WORDS], struct sandbox_can can)
{
	char version[16] = "";

	if (can.landlock)
		(void)snprintf(version, sizeof(version), " %d", can.landlock);
	(void)snprintf(out, SANDBOX_WORDS, "%sLandlock%s, %sseccomp", can.landlock ? "" : "no ",
		       version, can.seccomp ? "" : "no ");
	return out;
}

int sandbox_enter(struct sandbox *s, struct err *err)
{
	struct sandbox_can can = sandbox_can();
	int rc = 0;

	if (s->too_many)
		rc = err_set(err, ERR_LIMIT, "more than %d paths are used", SANDBOX_PATHS);
	if (!rc && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = err_sys(err, "no_new_privs");
	if (!rc && can.landlock)
		rc = enter_landlock(s, can.landlock, err);
	if (!rc && can.seccomp)
		rc = enter_seccomp(s->owners, can.landlock, err);
	for (unsigned i = 0; i < s->n; i++)
		(void)close(s->path[i].fd);
	s->n = 0;
	return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_thread - runs a program that has no threads: if it starts one after all, it ends by SIGSYS.
 * Such tests are not run by the thread sanitizer: what has no threads has no races.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AT(field)	    offsetof(struct seccomp_data, field)
#define LOAD(field)	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(field))
#define IF(is, than, other) BPF_JUMP(BPF_JMP | BPF_K | (is), than, 0, other)
#define ANSWER(what)	    BPF_STMT(BPF_RET | BPF_K, what)

int main(int argc, char **argv)
{
	/* the flags of clone3(2) are out of a filter's sight: glibc takes clone(2) then */
	struct sock_filter code[] = {
		LOAD(nr),
		IF(BPF_JEQ, __NR_clone3, 1),
		ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
		IF(BPF_JEQ, __NR_clone, 3),
		LOAD(args[0]),
		IF(BPF_JSET, CLONE_THREAD, 1),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		ANSWER(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	if (argc < 2)
		return 2;
	/* a container may refuse filters: other machines look */
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	(void)execv(argv[1], argv + 1);
	(void)fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
	return 2;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that a machine may not be able to run, or must not: huge pages, split locks, returns to
 * where no call came from.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_in.h"
#include "collect/sysfs.h"
#include "measure/bench.h"

#define HUGE_PAGE (UINT64_C(2) << 20)

bool bench_in_huge_pages(const char *at, uint64_t bytes)
{
	struct buf b = BUF_INIT;
	uintptr_t want = (uintptr_t)at;
	bool ours = false, huge = false;

	const char *line = file_slurp(&b, "/proc/self/smaps", 8u << 20, NULL) ? NULL : buf_str(&b);

	while (line && *line) {
		uint64_t from, to, kb;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			ours = want >= from && want < to;
		else if (ours && sscanf(line, "AnonHugePages: %" SCNu64, &kb) == 1)
			huge |= kb << 10 >= bytes;
		line = strchr(line, '\n');
		line += line != NULL;
	}
	buf_free(&b);
	return huge;
}

/* ---- split locks ----------------------------------------------------------------------------- */

/* Words of a line, in white space. */
static bool kernel_has_word(const char *line, const char *word)
{
	size_t n = strlen(word), end = strcspn(line, "\n");

	for (const char *p = line; (p = strstr(p, word)) && p < line + end; p += n)
		if ((p == line || strchr(" \t", p[-1])) && strchr(" \t\n", p[n]))
			return true;
	return false;
}

/* How the operating system handles atomic operations on two lines: by the CPU's flags, the boot
 * parameter split_lock_detect and the sysctl split_lock_mitigate. If it traps them, each is made to
 * wait (warn with mitigation, ratelimit) or ends the program (fatal). */
static const char *split_locks(const char *cpuinfo, const char *root)
{
	const char *flags = strstr(cpuinfo, "\nflags");
	char boot[4096], mitigate[16];
	bool detects;

	if (!flags)
		return "/proc/cpuinfo does not tell whether split locks are trapped";
	flags++;
	if (kernel_has_word(flags, "hypervisor"))
		return "the host of a virtual machine may trap split locks";
	detects = kernel_has_word(flags, "split_lock_detect");
	if (!detects && !kernel_has_word(flags, "bus_lock_detect"))
		return NULL;
	if (sys_read(boot, sizeof(boot), root, "proc/cmdline") < 0)
		return "/proc/cmdline cannot be read: split locks may be trapped";
	if (kernel_has_word(boot, "split_lock_detect=off"))
		return NULL;
	if (detects && !strstr(boot, "split_lock_detect=fatal") &&
	    !strstr(boot, "split_lock_detect=ratelimit") &&
	    sys_read(mitigate, sizeof(mitigate), root, "proc/sys/kernel/split_lock_mitigate") > 0 &&
	    !strcmp(mitigate, "0"))
		return NULL; /* a line in the kernel's log */
	return "the operating system traps split locks (split_lock_detect)";
}

/* ---- returns: a shadow stack ends a program whose return is not to its call ------------------ */

static bool has_shadow_stack(void)
{
	uint64_t top = 0;

#if defined(__x86_64__)
	__asm__ volatile("rdsspq %0" : "+r"(top)); /* if there is none it does nothing */
#endif
	return top != 0;
}

const char *bench_refuses(const struct kernel *k, const char *root)
{
	char *text;
	const char *why;

	if (!strcmp(k->name, "return-wrong") && has_shadow_stack())
		return "a shadow stack (glibc.cpu.x86_shstk) allows no wrong returns";
	if (k->each[Q_SPLIT_LOCKS] <= 0)
		return NULL;
	text = malloc(SYS_TEXT_MAX);
	if (!text || sys_read(text, SYS_TEXT_MAX, root, "proc/cpuinfo") < 0)
		why = "/proc/cpuinfo cannot be read: split locks may be trapped";
	else
		why = split_locks(text, root);
	free(text);
	return why;
}

/* ---- all of them ----------------------------------------------------------------------------- */

int bench_prepare(struct kernel_work *w, const struct kernel *k, const struct kernel_setup *s,
		  struct err *err)
{
	const char *why = bench_refuses(k, "");

	*w = (struct kernel_work){ .map = NULL };
	if (why)
		return err_set(err, ERR_UNSUPPORTED, "%s", why);
	if (kernel_prepare(w, k, s, err))
		return -1;
	if (w->needs_huge && !bench_in_huge_pages(w->a, HUGE_PAGE))
		return err_set(err, ERR_UNSUPPORTED, "no huge pages were given");
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/holders.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "collect/sysfs.h"

#define PMUS	     "sys/bus/event_source/devices"
#define COUNTERS_MAX 255
#define HOLDERS_MAX  4u /* by name; the rest is a number */

#if defined(__x86_64__) || defined(__i386__)
/* Leaf 0xa: the counters of Intel's PMUs (and those of its architecture). */
static void ask_intel(struct holders *h)
{
	unsigned a, b, c, d;

	if (!__get_cpuid_count(0xa, 0, &a, &b, &c, &d) || !(a & 0xff))
		return;
	h->general = a >> 8 & 0xff;
	h->fixed = (a & 0xff) > 1 ? d & 0x1f : 0;
}

/* Leaf 0x80000022 since Zen 4; before that a flag means six counters, not four. */
static void ask_amd(struct holders *h)
{
	unsigned a, b, c, d;

	if (__get_cpuid_count(0x80000022, 0, &a, &b, &c, &d) && a & 1) {
		h->general = b & 15;
		h->fabric = b >> 10 & 63;
	} else if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
		h->general = c & 1U << 23 ? 6 : 4;
	}
}

static void ask_cpu(struct holders *h)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return;
	if (b == signature_INTEL_ebx)
		ask_intel(h);
	else if (b == signature_AMD_ebx)
		ask_amd(h);
}
#else
static void ask_cpu(struct holders *h)
{
	(void)h;
}
#endif

/* From the CPU, when the machine was captured. */
static void ask_capture(struct holders *h, const char *root)
{
	char text[1024];
	ssize_t len = sys_read(text, sizeof(text), root, "cyclade/facts");
	const struct {
		const char *key;
		unsigned *to;
	} facts[] = { { "counters", &h->general },
		      { "fixed counters", &h->fixed },
		      { "fabric counters", &h->fabric } };

	for (size_t i = 0; len > 0 && i < sizeof(facts) / sizeof(*facts); i++) {
		const char *v;
		int64_t x;
		size_t n;

		if (text_field(text, (size_t)len, facts[i].key, ':', &v, &n) &&
		    text_number(&x, v, n) && x > 0 && x <= COUNTERS_MAX)
			*facts[i].to = (unsigned)x;
	}
}

static int read_holder_number(const char *root, const char *path)
{
	int64_t v;

	return sys_number(&v, root, "%s", path) ? v != 0 : -1;
}

void holders_read(struct holders *h, const char *root, const char *pmu)
{
	int64_t v;

	memset(h, 0, sizeof(*h));
	h->watchdog = read_holder_number(root, "proc/sys/kernel/nmi_watchdog");
	h->smt = read_holder_number(root, "sys/devices/system/cpu/smt/active");
	h->tsx_force_abort =
		sys_number(&v, root, PMUS "/%s/allow_tsx_force_abort", pmu) ? v != 0 : -1;
	if (strcmp(pmu, "cpu") != 0 || !sys_exists(root, PMUS "/cpu"))
		return;
	if (*root)
		ask_capture(h, root);
	else
		ask_cpu(h);
}

/* ---- by name ---- */

/* Events that a process has open; 0 if that cannot be seen. */
static unsigned perf_files_of(const char *pid)
{
	char path[64], to[64];
	unsigned n = 0;
	struct dirent *e;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((e = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);

		to[len > 0 ? len : 0] = '\0';
		n += !strcmp(to, "anon_inode:[perf_event]");
	}
	(void)closedir(dir);
	return n;
}

/* "perf (812), java (4711) and 2 more"; NULL: nobody that we can see. */
const char *holders_names(struct arena *a)
{
	DIR *dir = opendir("/proc");
	const char *text = NULL;
	unsigned n = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		const char *comm;

		if (!isdigit((unsigned char)e->d_name[0]) || atol(e->d_name) == getpid() ||
		    !perf_files_of(e->d_name))
			continue;
		if (n++ >= HOLDERS_MAX)
			continue;
		comm = sys_text(a, "", "proc/%.20s/comm", e->d_name);
		text = arena_printf(a, "%s%s%s (%.20s)", text ? text : "", text ? ", " : "",
				    comm ? comm : "?", e->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return n > HOLDERS_MAX ? arena_printf(a, "%s and %u more", text, n - HOLDERS_MAX) : text;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file has a line for each register, words and hexadecimal numbers:
 *
 *	cyclade-msr 1
 *	boot ID			of this boot: after another one nothing is left to restore
 *	process PID STARTED
 *	ours VALUE		that a control register may have from us
 *	counter CPU REG OLD COUNTER OLD
 *	bits CPU REG OLD MASK
 *	end
 */
#include "collect/counters/msr_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpu_list.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "collect/sysfs.h"

#define PLAN_MAX  (16u << 20)
#define LINE_MAX_ 128

/* ---- of this machine ---- */

static void boot_id(char out[64])
{
	if (sys_read(out, 64, "", "proc/sys/kernel/random/boot_id") <= 0)
		(void)snprintf(out, 64, "-");
}

/* When the process began, in ticks since the boot; 0: there is none of this number. */
static unsigned long long started(long long pid)
{
	char text[1024], *s;

	if (sys_read(text, sizeof(text), "", "proc/%lld/stat", pid) <= 0)
		return 0;
	s = strrchr(text, ')');
	for (int field = 2; s && field < 22; field++)
		s = strchr(s + 1, ' ');
	return s ? strtoull(s + 1, NULL, 10) : 0;
}

/* ---- writing ---- */

const char *msr_plan_write(char *path, size_t size, const char *root, const struct msr_row *row,
			   size_t n, const uint64_t *ours, size_t n_ours)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	char dir[3500], boot[64];
	bool bad;

	*path = '\0';
	boot_id(boot);
	buf_printf(&b, "cyclade-msr 1\nboot %s\nprocess %lld %llu\n", boot, (long long)getpid(),
		   started(getpid()));
	for (size_t i = 0; i < n_ours; i++)
		buf_printf(&b, "ours %llx\n", (unsigned long long)ours[i]);
	for (size_t i = 0; i < n; i++)
		if (row[i].ctr)
			buf_printf(&b, "counter %x %x %llx %x %llx\n", (unsigned)row[i].cpu,
				   (unsigned)row[i].reg, (unsigned long long)row[i].old,
				   (unsigned)row[i].ctr, (unsigned long long)row[i].ctr_old);
	for (size_t i = 0; i < n; i++) /* they depend on the others */
		if (!row[i].ctr)
			buf_printf(&b, "bits %x %x %llx %llx\n", (unsigned)row[i].cpu,
				   (unsigned)row[i].reg, (unsigned long long)row[i].old,
				   (unsigned long long)row[i].mask);
	buf_puts(&b, "end\n");
	bad = b.failed ||
	      (size_t)snprintf(dir, sizeof(dir), "%s/run/cyclade", root) >= sizeof(dir) ||
	      dir_make_all(dir, 0700, &err) ||
	      (size_t)snprintf(path, size, "%s/msr-%lld", dir, (long long)getpid()) >= size ||
	      file_put(path, 0600, FILE_NEW_OURS, buf_str(&b), b.len, &err);
	buf_free(&b);
	if (!bad)
		return NULL;
	*path = '\0';
	return "/run/cyclade cannot be written: if the monitor and its watchdog are both killed, "
	       "nothing restores the counters";
}

/* ---- reading ---- */

static bool may_be_counter(uint64_t reg, uint64_t ctr)
{
	return ctr == reg + 1 && !(reg & 1) &&
	       ((reg >= 0xC0010200 && reg < 0xC001020C) ||
		(reg >= 0xC0010230 && reg < 0xC001023C) ||
		(reg >= 0xC0010240 && reg < 0xC0010260) ||
		(reg >= MSR_UMC_FIRST && reg < MSR_UMC_END));
}

static bool may_be_bits(uint64_t reg, uint64_t mask)
{
	return (reg == MSR_GLOBAL_CTL && mask < UINT64_C(1) << 16) ||
	       (reg == MSR_PREFETCH_INTEL && !(mask & ~(uint64_t)MSR_PREFETCH_INTEL_BITS)) ||
	       (reg == MSR_PREFETCH_AMD && !(mask & ~(uint64_t)MSR_PREFETCH_AMD_BITS)) ||
	       (reg == MSR_HWCR && mask == MSR_HWCR_IRPERF);
}

/* The hexadecimal numbers behind a word, or -1. */
static int split_numbers(const char *s, unsigned long long *out, int most)
{
	int n = 0;
	char *end;

	while (*s == ' ' && n < most) {
		out[n++] = strtoull(s + 1, &end, 16);
		if (end == s + 1 || s[1] == '-' || s[1] == ' ')
			return -1;
		s = end;
	}
	return *s ? -1 : n;
}

static int parse_row(struct msr_plan *p, const char *line, struct err *err)
{
	unsigned long long v[5];
	struct msr_row r = { .fd = -1, .state = MSR_OURS };

	if (!strncmp(line, "ours ", 5) && split_numbers(line + 4, v, 1) == 1)
		return vec_push(&p->ours, (uint64_t)v[0]) ? err_nomem(err) : 0;
	if (!strncmp(line, "counter ", 8) && split_numbers(line + 7, v, 5) == 5 &&
	    may_be_counter(v[1], v[3])) {
		r.ctr = (uint32_t)v[3];
		r.ctr_old = v[4];
	} else if (!strncmp(line, "bits ", 5) && split_numbers(line + 4, v, 4) == 4 &&
		   may_be_bits(v[1], v[3])) {
		r.mask = v[3];
	} else {
		return err_set(err, ERR_FORMAT, "no register of a monitor: %.60s", line);
	}
	if (v[0] >= CPU_LIST_MAX)
		return err_set(err, ERR_FORMAT, "no such CPU: %.60s", line);
	r.cpu = (uint32_t)v[0];
	r.reg = (uint32_t)v[1];
	r.old = v[2];
	return vec_push(&p->row, r) ? err_nomem(err) : 0;
}

static int parse_head(struct msr_plan *p, const char *line, unsigned number, struct err *err)
{
	char rest;

	if ((number == 1 && !strcmp(line, "cyclade-msr 1")) ||
	    (number == 2 && sscanf(line, "boot %63s%c", p->boot, &rest) == 1) ||
	    (number == 3 && sscanf(line, "process %lld %llu%c", &p->pid, &p->started, &rest) == 2 &&
	     p->pid > 0))
		return 0;
	return err_set(err, ERR_FORMAT, "line %u: not the plan of a monitor", number);
}

int msr_plan_parse(struct msr_plan *p, const char *text, size_t len, struct err *err)
{
	const char *at = text, *end = text + len;
	unsigned number = 0;

	memset(p, 0, sizeof(*p));
	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		char line[LINE_MAX_];

		if (!next || (size_t)(next - at) >= sizeof(line))
			break;
		memcpy(line, at, (size_t)(next - at));
		line[next - at] = '\0';
		at = next + 1;
		if (++number <= 3) {
			if (parse_head(p, line, number, err))
				return -1;
		} else if (!strcmp(line, "end")) {
			return 0;
		} else if (parse_row(p, line, err)) {
			return -1;
		}
	}
	return err_set(err, ERR_FORMAT, "line %u: the plan is cut off", number + 1);
}

void msr_plan_free(struct msr_plan *p)
{
	vec_free(&p->row);
	vec_free(&p->ours);
}

/* ---- restoring ---- */

static int restore_rows(struct msr_plan *p, size_t *restored, struct err *err)
{
	int fd = -1;
	int rc = 0;

	for (size_t i = 0; i < p->row.n && !rc; i++) {
		struct msr_row *r = &p->row.v[i];
		uint64_t before, after;

		if (fd < 0 || r->cpu != p->row.v[i - 1].cpu) {
			if (fd >= 0)
				(void)close(fd);
			fd = msr_file_open(r->cpu, err);
			if (fd < 0)
				return -1;
		}
		r->fd = fd;
		if (msr_read(fd, r->reg, &before))
			continue;
		msr_row_restore(r, p->ours.v, p->ours.n);
		*restored += !msr_read(fd, r->reg, &after) && after != before;
	}
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

static int restore_file(const char *path, size_t *restored, struct err *err)
{
	struct buf text = BUF_INIT;
	struct msr_plan p = { 0 };
	struct stat st;
	char boot[64];
	int rc = -1;
	int fd = file_in_open(NULL, path, FILE_IN_LINKS, &st, err);

	if (fd < 0)
		return -1;
	if (!file_written_by(&st, geteuid())) {
		(void)err_set(err, ERR_PERM, "others could have written it");
		goto out;
	}
	if (fd_slurp(&text, fd, PLAN_MAX, path, err) ||
	    msr_plan_parse(&p, buf_str(&text), text.len, err))
		goto out;
	rc = 0;
	if (p.started && started(p.pid) == p.started)
		goto out; /* it is alive, and does so itself */
	boot_id(boot);
	if (!strcmp(boot, p.boot))
		rc = restore_rows(&p, restored, err);
	if (!rc)
		(void)unlink(path);
out:
	(void)close(fd);
	buf_free(&text);
	msr_plan_free(&p);
	return rc ? err_prefix(err, "%s", path) : 0;
}

int msr_restore(const char *root, size_t *restored, struct err *err)
{
	struct arena a = ARENA_INIT;
	const char *const *names;
	size_t n;
	int rc = 0;

	*restored = 0;
	if (!sys_names(&a, &names, &n, root, "run/cyclade"))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		char path[4096];

		if (strncmp(names[i], "msr-", 4) != 0)
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/run/cyclade/%s", root, names[i]) >=
			    sizeof(path) ||
		    restore_file(path, restored, err))
			rc = -1;
	}
	arena_free(&a);
	return rc;
}

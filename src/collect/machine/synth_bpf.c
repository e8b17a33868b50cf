/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of BPF programs that are loaded, by bpf(2): with the right to list programs (root,
 * CAP_SYS_ADMIN), and only programs in machine code. Names are those of the kernel's own list:
 * bpf_prog_TAG_NAME. A program's own name has 15 bytes at most, and its further functions have
 * theirs in its BTF: for these the list is read, which takes as long as the rest of a start.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "collect/machine/synth_int.h"

#define FUNCTIONS_MAX 4096u /* of one program; the verifier allows 256 */
#define PROGRAMS_MAX  65536u

struct listed {
	uint64_t addr;
	char name[256];
};

struct names {
	VEC(struct listed) v;
	bool read;
};

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int info_of(int fd, struct bpf_prog_info *info)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = (uint64_t)(uintptr_t)info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

static int read_bpf_names(struct names *n, struct err *err)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512];
	int rc = 0;

	n->read = true;
	if (!f)
		return 0; /* their own names, cut short, are better than none */
	while (fgets(line, sizeof(line), f)) {
		struct synth_symbol sym;
		struct listed *l;

		if (!strstr(line, "bpf_prog_") || !synth_symbol_line(&sym, line))
			continue;
		l = vec_add(&n->v);
		if (!l) {
			rc = err_nomem(err);
			break;
		}
		l->addr = sym.addr;
		memcpy(l->name, sym.name, sizeof(l->name));
	}
	(void)fclose(f);
	return rc;
}

static int bpf_name_of(struct names *n, struct synth_bpf *p, const struct bpf_prog_info *info,
		       struct err *err)
{
	char hex[2 * sizeof(p->tag) + 1];
	const size_t len = strnlen(info->name, sizeof(info->name));

	text_hex(hex, p->tag, sizeof(p->tag));
	(void)snprintf(p->name, sizeof(p->name), "bpf_prog_%s%s%.*s", hex, len ? "_" : "", (int)len,
		       info->name);
	if (info->nr_jited_ksyms == 1 && len + 1 < sizeof(info->name))
		return 0;
	if (!n->read && read_bpf_names(n, err))
		return -1;
	vec_each (&n->v, const struct listed *, l) {
		if (l->addr == p->addr)
			memcpy(p->name, l->name, sizeof(p->name));
	}
	return 0;
}

static int each_function(const struct bpf_prog_info *info, const uint64_t *addr,
			 const uint32_t *len, const uint8_t (*tag)[BPF_TAG_SIZE], struct names *n,
			 synth_bpf_fn fn, void *ctx, struct err *err)
{
	for (uint32_t i = 0; i < info->nr_jited_ksyms; i++) {
		struct synth_bpf p = { .addr = addr[i],
				       .len = len[i],
				       .id = info->id,
				       .last = i + 1 == info->nr_jited_ksyms };

		memcpy(p.tag, i < info->nr_prog_tags ? tag[i] : info->tag, sizeof(p.tag));
		memcpy(p.program, info->tag, sizeof(p.program));
		if (bpf_name_of(n, &p, info, err) || fn(ctx, &p, err))
			return -1;
	}
	return 0;
}

static int each_of(int fd, struct names *n, synth_bpf_fn fn, void *ctx, struct err *err)
{
	struct bpf_prog_info info = { 0 }, all = { 0 };
	uint8_t(*tag)[BPF_TAG_SIZE] = NULL;
	uint64_t *addr = NULL;
	uint32_t *len = NULL, count;
	int rc = 0;

	if (info_of(fd, &info) || !info.nr_jited_ksyms || info.nr_jited_ksyms > FUNCTIONS_MAX ||
	    info.nr_jited_func_lens != info.nr_jited_ksyms)
		return 0;
	count = info.nr_jited_ksyms;
	addr = calloc(count, sizeof(*addr));
	len = calloc(count, sizeof(*len));
	tag = calloc(count, sizeof(*tag));
	if (!addr || !len || !tag) {
		rc = err_nomem(err);
		goto out;
	}
	all.nr_jited_ksyms = all.nr_jited_func_lens = all.nr_prog_tags = count;
	all.jited_ksyms = (uint64_t)(uintptr_t)addr;
	all.jited_func_lens = (uint64_t)(uintptr_t)len;
	all.prog_tags = (uint64_t)(uintptr_t)tag;
	/* the kernel gives no addresses (0) without the right to see them */
	if (!info_of(fd, &all) && all.nr_jited_ksyms == count && addr[0])
		rc = each_function(&all, addr, len, (const uint8_t(*)[BPF_TAG_SIZE])tag, n, fn, ctx,
				   err);
out:
	free(tag);
	free(len);
	free(addr);
	return rc;
}

int synth_bpf_each(synth_bpf_fn fn, void *ctx, struct err *err)
{
	struct names names = { VEC_INIT, false };
	uint32_t id = 0;
	int rc = 0;

	for (unsigned i = 0; i < PROGRAMS_MAX && !rc; i++) {
		union bpf_attr attr;
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (bpf(BPF_PROG_GET_NEXT_ID, &attr))
			break; /* the last one, or we may not ask */
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = id;
		fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd < 0)
			continue; /* unloaded meanwhile */
		rc = each_of(fd, &names, fn, ctx, err);
		(void)close(fd);
	}
	vec_free(&names.v);
	return rc;
}

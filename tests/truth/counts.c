/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts - a QEMU plugin that counts what a program does, for tests of the kernels' tables.
 *
 *	qemu-x86_64 -plugin counts.so,out=FILE PROGRAM [ARGUMENTS]
 *
 * It counts from one sched_yield() of the program to the next, and again from the third to the
 * fourth, and so on: FILE gets a line "KEY COUNT KEY COUNT ..." for each, with all quantities that
 * an emulator knows, by the keys of src/kernels/quantity.def.
 *
 * It follows one instruction after the other: a conditional branch was taken if the next one is
 * not the one behind it. Loads and stores count once for an instruction, however many parts QEMU
 * makes of them; their bytes are those of all parts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "../../src/simulate/plugin/qemu_api.h"

int qemu_plugin_version = QEMU_API_VERSION;

enum what {
	INSNS,
	TAKEN,
	NOT_TAKEN,
	JUMPS,
	INDIRECT,
	CALLS,
	CALLS_INDIRECT,
	RETURNS,
	LOADS,
	STORES,
	LOAD_BYTES,
	STORE_BYTES,
	LOCKED,
	SPLIT_LOCKS,
	SYSCALLS,
	WHATS
};
static const char *const keys[WHATS] = {
	"instructions", "cond_taken",	  "cond_not_taken", "jumps",	   "jumps_indirect",
	"calls",	"calls_indirect", "returns",	    "loads",	   "stores",
	"load_bytes",	"store_bytes",	  "locked",	    "split_locks", "syscalls",
};
/* By kind of a branch; of KIND_COND it is TAKEN or NOT_TAKEN. */
static const enum what count_of[] = {
	[KIND_JUMP] = JUMPS,	 [KIND_JUMP_INDIRECT] = INDIRECT,
	[KIND_CALL] = CALLS,	 [KIND_CALL_INDIRECT] = CALLS_INDIRECT,
	[KIND_RETURN] = RETURNS, [KIND_SYSCALL] = SYSCALLS,
};

struct insn {
	uint64_t addr, behind;
	enum kind kind;
	bool locked, store_only;
};

static uint64_t count[WHATS];
static const struct insn *last; /* that began to execute */
static bool loaded, stored;
static FILE *out;
static bool arm, counting;

static enum kind kind_arm(uint32_t x)
{
	if ((x & 0xff000010) == 0x54000000 || (x & 0x7e000000) == 0x34000000 ||
	    (x & 0x7e000000) == 0x36000000)
		return KIND_COND;
	if ((x & 0x7c000000) == 0x14000000)
		return x >> 31 ? KIND_CALL : KIND_JUMP;
	switch (x & 0xfffffc1f) {
	case 0xd61f0000:
		return KIND_JUMP_INDIRECT;
	case 0xd63f0000:
		return KIND_CALL_INDIRECT;
	case 0xd65f0000:
		return KIND_RETURN;
	default:
		return (x & 0xffe0001f) == 0xd4000001 ? KIND_SYSCALL : KIND_NONE;
	}
}

static void describe(struct insn *i, const struct qemu_plugin_insn *q)
{
	const uint8_t *p = qemu_plugin_insn_data(q);
	size_t len = qemu_plugin_insn_size(q);
	uint32_t x = 0;

	*i = (struct insn){ .addr = qemu_plugin_insn_vaddr(q) };
	i->behind = i->addr + len;
	if (!arm) {
		i->kind = cpu_kind(p, len);
		i->locked = *p == 0xf0;
		return;
	}
	memcpy(&x, p, len < 4 ? len : 4);
	i->kind = kind_arm(x);
	i->store_only = (x & 0x3f400000) == 0x08000000; /* store exclusive: QEMU compares first */
	i->locked = i->store_only && (x & 0x00800000) == 0;
}

static void on_insn(unsigned cpu, void *ctx)
{
	const struct insn *i = ctx;

	(void)cpu;
	if (last && last->kind == KIND_COND)
		count[i->addr == last->behind ? NOT_TAKEN : TAKEN]++;
	else if (last && last->kind != KIND_NONE && last->kind != KIND_REPEAT)
		count[count_of[last->kind]]++;
	count[INSNS]++;
	count[LOCKED] += i->locked;
	loaded = stored = false;
	last = i;
}

static void on_memory(unsigned cpu, uint32_t info, uint64_t vaddr, void *ctx)
{
	const struct insn *i = ctx;
	uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);

	(void)cpu;
	count[SPLIT_LOCKS] += i->locked && !loaded && !stored && vaddr % 64 + bytes > 64;
	if (qemu_plugin_mem_is_store(info)) {
		count[STORES] += !stored;
		count[STORE_BYTES] += bytes;
		stored = true;
	} else if (!i->store_only) {
		count[LOADS] += !loaded;
		count[LOAD_BYTES] += bytes;
		loaded = true;
	}
}

static void on_translate(uint64_t plugin, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct insn *all = calloc(n + 1, sizeof(*all)); /* lives as long as the program */

	(void)plugin;
	if (!all)
		abort();
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *q = qemu_plugin_tb_get_insn(tb, i);

		describe(&all[i], q);
		qemu_plugin_register_vcpu_insn_exec_cb(q, on_insn, 0, &all[i]);
		qemu_plugin_register_vcpu_mem_cb(q, on_memory, 0, QEMU_MEM_BOTH, &all[i]);
	}
}

static void on_syscall(uint64_t plugin, unsigned cpu, int64_t number, uint64_t a, uint64_t b,
		       uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
	(void)plugin, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g,
		(void)h;
	if (number != (arm ? 124 : 24)) /* sched_yield */
		return;
	for (unsigned i = 0; counting && i < WHATS; i++)
		fprintf(out, "%s %" PRIu64 "%c", keys[i], count[i], i + 1 < WHATS ? ' ' : '\n');
	memset(count, 0, sizeof(count));
	counting = !counting;
}

static void on_end(uint64_t plugin, void *ctx)
{
	(void)plugin;
	(void)ctx;
	if (fclose(out))
		abort();
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4) != 0) {
		fprintf(stderr, "counts: out=FILE is needed\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "we");
	if (!out)
		return -1;
	arm = !strcmp(info->target, "aarch64");
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(plugin, on_syscall);
	qemu_plugin_register_atexit_cb(plugin, on_end, NULL);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qemu_api - the part of QEMU's interface for TCG plugins that is used here and by tests.
 *
 * Distributions ship programs with the interface compiled in, but not its header. These are the
 * names and types of version 1 of it (QEMU 4.2 to 8.x), as far as they are needed. A plugin is a
 * shared object that QEMU loads: it defines qemu_plugin_version and qemu_plugin_install(), and
 * what it calls is found in the emulator itself.
 *
 * TB: a translation block, a run of instructions that is entered at its first only and, in user
 * emulation, left behind its last.
 */
#ifndef CYCLADE_SIMULATE_QEMU_API_H
#define CYCLADE_SIMULATE_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_API_VERSION 1

struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef void qemu_tb_fn(uint64_t plugin, struct qemu_plugin_tb *tb);
typedef void qemu_run_fn(unsigned cpu, void *ctx);
typedef void qemu_end_fn(uint64_t plugin, void *ctx);

typedef void qemu_memory_fn(unsigned cpu, uint32_t info, uint64_t vaddr, void *ctx);

typedef void qemu_syscall_fn(uint64_t plugin, unsigned cpu, int64_t number, uint64_t a, uint64_t b,
			     uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
			     uint64_t h);

typedef void qemu_sysret_fn(uint64_t plugin, unsigned cpu, int64_t number, int64_t value);

struct qemu_info {	    /* its beginning, of all versions */
	const char *target; /* "x86_64" */
	int least, current; /* versions that this QEMU takes */
};
#define QEMU_MEM_BOTH 3 /* loads and stores */

/* ours, called by QEMU */
extern int qemu_plugin_version;
int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv);

/* QEMU's: the last but one parameter of ..._exec_cb says which registers are read: none is 0 */
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin, qemu_tb_fn *fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_run_fn *fn, int registers,
					  void *ctx);
/* Adds to a number at each start of a TB, without a call. */
#define QEMU_INLINE_ADD 0
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int what, void *number,
					      uint64_t n);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_run_fn *fn,
					    int registers, void *ctx);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_memory_fn *fn,
				      int registers, int which, void *ctx);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t plugin, qemu_syscall_fn *fn);
void qemu_plugin_register_vcpu_syscall_ret_cb(uint64_t plugin, qemu_sysret_fn *fn);
void qemu_plugin_register_atexit_cb(uint64_t plugin, qemu_end_fn *fn, void *ctx);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

#endif

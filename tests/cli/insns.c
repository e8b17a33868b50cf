/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insns - a QEMU plugin that counts the instructions of a program, and nothing else.
 *
 *	qemu-x86_64 -plugin insns.so,out=FILE PROGRAM [ARGUMENTS]
 *
 * FILE gets the number. Threads may lose each other some counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/simulate/plugin/qemu_api.h"

int qemu_plugin_version = QEMU_API_VERSION;

static uint64_t count;
static char *out;

static void on_translate(uint64_t plugin, struct qemu_plugin_tb *tb)
{
	(void)plugin;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_INLINE_ADD, &count,
						 qemu_plugin_tb_n_insns(tb));
}

static void on_end(uint64_t plugin, void *ctx)
{
	FILE *f = fopen(out, "we");

	(void)plugin;
	(void)ctx;
	if (!f || fprintf(f, "%" PRIu64 "\n", count) < 0 || fclose(f))
		abort();
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4) != 0) {
		fprintf(stderr, "insns: out=FILE is needed\n");
		return -1;
	}
	out = strdup(argv[0] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translate);
	qemu_plugin_register_atexit_cb(plugin, on_end, NULL);
	return 0;
}

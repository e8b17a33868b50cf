/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * synth_int - the texts of /proc that synth.c makes records of, read without a file (synth_text.c).
 *
 * Each function reads one line, or one file's text, that ends with NUL; nothing is kept. Sizes and
 * addresses are in bytes, and as the kernel writes them: nothing is checked against the machine.
 * BPF programs have no text there: synth_bpf.c asks the kernel for them.
 */
#ifndef CYCLADE_COLLECT_SYNTH_INT_H
#define CYCLADE_COLLECT_SYNTH_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct synth_module {
	uint64_t start, size;
	char name[64];
};

/* A line of /proc/modules. False: no module, or its address is hidden. */
bool synth_module_line(struct synth_module *m, const char *line);

struct synth_symbol {
	uint64_t addr;
	char type, name[256];
};

/* A line of /proc/kallsyms. */
bool synth_symbol_line(struct synth_symbol *s, const char *line);

struct synth_status {
	char name[64];
	uint32_t tgid, ppid, uid; /* uid: the real one */
};

/* /proc/PID/status, which is cut into lines. False: the process is not in it. */
bool synth_status_text(struct synth_status *st, char *text);

struct synth_mapping {
	uint64_t start, end, offset, inode;
	uint32_t major, minor, prot;
	bool shared;
	const char *path; /* within the line; "" if nothing is mapped */
};

/* A line of /proc/PID/maps. False: no mapping of at least a byte. */
bool synth_mapping_line(struct synth_mapping *m, const char *line);

/* A function of a BPF program that is loaded (synth_bpf.c). */
struct synth_bpf {
	uint64_t addr;
	uint32_t len, id;	    /* id: the program's */
	uint8_t tag[8], program[8]; /* the function's, the program's */
	bool last;		    /* of its program */
	char name[256];
};

typedef int (*synth_bpf_fn)(void *ctx, const struct synth_bpf *f, struct err *err);
/* Calls `fn` for each, by program. No programs, no rights: no error. */
int synth_bpf_each(synth_bpf_fn fn, void *ctx, struct err *err) MUST_USE;

/* The numbers of a list of tasks, as far as they are process numbers; returns how many of at most
 * `max`. */
size_t synth_tasks_text(const char *text, pid_t *out, size_t max);

#endif

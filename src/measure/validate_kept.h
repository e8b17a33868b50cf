/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate_kept - verdicts on the events of a machine, kept in a file for other commands.
 *
 *	validate_kept_path(&path, arena, dir, machine, root, &err)
 *	validate_kept_read(&k, arena, path, &err)	no file: k.when is 0
 *	validate_kept_find(&k, "INST_RETIRED.ANY")
 *	validate_kept_write(&k, &err)			replaces the file at once
 *
 * A file is of one CPU model, microcode and kernel: its name is made of them, and it begins with
 * them. It is text, a line for each event; anything else is an error with the line.
 */
#ifndef CYCLADE_MEASURE_VALIDATE_KEPT_H
#define CYCLADE_MEASURE_VALIDATE_KEPT_H

#include "collect/machine.h"
#include "measure/validate.h"

struct validate_verdict_kept {
	const char *event;
	enum validate_verdict verdict;
	double deviation; /* NAN: none */
	bool used;	  /* the model's tree needs it */
	const char *text; /* its cause, or why it was not tested; "" */
};

struct validate_kept {
	const char *path, *machine; /* machine: "CPU, microcode, kernel" */
	uint64_t when;		    /* seconds since 1970; 0: never */
	struct validate_verdict_kept *v;
	size_t n;
};

/* Where verdicts on this machine are, or would be; `machine` with MACHINE_NAMES and MACHINE_MODEL,
 * read below `root`; it has a cpuid. Fills path and machine, all else is empty. */
int validate_kept_path(struct validate_kept *out, struct arena *a, const char *dir,
		       const struct machine *m, const char *root, struct err *err) MUST_USE;
/* Reads the file at k->path. ERR_FORMAT: it has no verdicts, or is of another machine. */
int validate_kept_read(struct validate_kept *k, struct arena *a, struct err *err) MUST_USE;
/* The bytes of such a file. */
int validate_kept_parse(struct validate_kept *k, struct arena *a, const char *p, size_t len,
			struct err *err) MUST_USE;
int validate_kept_write(const struct validate_kept *k, struct err *err) MUST_USE;
/* "2026-11-23". */
void validate_kept_day(struct buf *b, uint64_t when);
/* Names as validate_rule_of() takes them; NULL: no verdict. */
const struct validate_verdict_kept *validate_kept_find(const struct validate_kept *k,
						       const char *event);

#endif

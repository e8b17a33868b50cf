/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registers - values of registers at the samples' instructions: at the first instruction of a
 * function those are its arguments.
 *
 *	registers_begin(&r, pass, rec, spaces, &opts, &err)	a visitor of a walk
 *	registers_end(r, &err)			after it: all places, most samples first
 *	... set `wanted` of some of r->place ...
 *	registers_read_begin(r, pass, &err)	one of another walk, for their values
 *	registers_read_end(r, &err)
 *	registers_free(r)
 *
 * Registers are those at the interrupt (PERF_SAMPLE_REGS_INTR), else of user space
 * (PERF_SAMPLE_REGS_USER) if the sample is of user space, too: then they are the same. Most samples
 * have them as they were before the instruction at the sample's address. A precise sample with the
 * address of the instruction that caused it (precise_ip 2 or more, EXACT_IP) has them as they were
 * behind that instruction: `after`. A sample of AMD's IBS has the address of the sampled op and the
 * registers of the interrupt, which comes later (perf_ibs_handle_irq() in Linux'
 * arch/x86/events/amd/ibs.c): those are of no place, and counted as `late`.
 *
 * The meaning of a value is not recorded. A register is taken for a pointer if all its values but 0
 * are addresses (of a mapping, or beyond 4 GB as addresses of this machine are); for signed if the
 * rest are small and some have their upper bits set; else for unsigned. Guesses, and called so. A
 * 32-bit argument may have anything in its upper half: that is not looked for.
 *
 * Errors: samples are a part of all times that the place ran, unless `every` one was recorded
 * (period 1 of a breakpoint, tracepoint or probe, and nothing lost). Means have half the width of
 * their 95 % interval, of as many independent draws; shares Wilson's (error_bar.h).
 *
 * Costs: two passes over the recording; memory of distinct addresses, and 45 KB for each
 * wanted one.
 */
#ifndef CYCLADE_ANALYSE_REGISTERS_H
#define CYCLADE_ANALYSE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/selection.h"
#include "base/err.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

#define REGISTERS_MAX	     64 /* bits of a mask */
#define REGISTERS_VALUES     16 /* more different ones are counted together */
#define REGISTERS_WANTED_MAX 4096

enum registers_arch { REGISTERS_X86, REGISTERS_ARM64, REGISTERS_OTHER };

enum registers_guess { /* the likely kind of a register's values */
		       GUESS_UNSIGNED,
		       GUESS_SIGNED32,
		       GUESS_SIGNED,
		       GUESS_POINTER,
};

struct registers_value {
	uint64_t v, n;
	double share, half; /* of the samples; 95 % */
};

struct registers_cell {
	unsigned bit; /* of the mask */
	uint64_t n;   /* samples that have it */
	enum registers_guess guess;
	uint64_t least, most; /* in the order that the guess gives; raw, to be shown by it */
	double mean, half;    /* of pointers NAN; half: of one value NAN */
	double rms;
	unsigned zeros;		       /* low bits that are 0 in all of them: 4 is aligned to 16 */
	struct registers_value *value; /* most frequent first */
	size_t n_values;
	bool more; /* there are more than REGISTERS_VALUES: `value` is of no use */
};

struct registers_place {
	uint32_t image;		     /* IMAGE_NONE: in no mapping, then addr is the ip */
	uint64_t addr;		     /* image address */
	const struct symbol *symbol; /* NULL: none */
	uint64_t samples;	     /* with registers */
	bool entry;		     /* the first instruction of its function */
	bool after;		     /* some are of behind the instruction */
	bool wanted;		     /* the caller's */
	struct registers_cell *cell; /* once read: arguments in their order, then by bit */
	size_t n_cells;
};

struct registers_opts {
	size_t event;		 /* of pd_events() */
	struct selection select; /* but for its event */
};

struct registers {
	const struct pd *rec;
	struct spaces *spaces;
	struct registers_opts opts;
	enum registers_arch arch;
	struct registers_place *place;
	size_t n;
	uint64_t samples, without; /* of the event; those without registers that can be used */
	uint64_t late;		   /* of the latter: registers of a later time */
	uint64_t at_entry;	   /* with registers, at an entry */
	bool every;		   /* not a sample of them, but all */
	struct registers_work *work;
};

struct pass;
/* The pass has the selection of `opts`. */
int registers_begin(struct registers **out, struct pass *pass, const struct pd *rec,
		    struct spaces *sp, const struct registers_opts *opts, struct err *err) MUST_USE;
int registers_end(struct registers *r, struct err *err) MUST_USE;
/* ERR_LIMIT where more than REGISTERS_WANTED_MAX are wanted. */
int registers_read_begin(struct registers *r, struct pass *pass, struct err *err) MUST_USE;
int registers_read_end(struct registers *r, struct err *err) MUST_USE;
void registers_free(struct registers *r); /* NULL is fine */

/* "rdi"; NULL: no such register. *argument (may be NULL): which it holds at an entry, 0: none. */
const char *registers_name(enum registers_arch arch, unsigned bit, unsigned *argument);
const char *registers_guess_name(enum registers_guess g);

#endif

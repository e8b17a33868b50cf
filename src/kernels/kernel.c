/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of kernels.
 */
#include "kernels/kernel.h"

#include <string.h>

#include "kernels/asm.h"
#include "kernels/run.h"

#define QUANTITY(id, key, text) [Q_##id] = key,
const char *const kernel_quantity_key[QUANTITIES] = {
#include "kernels/quantity.def"
};
#undef QUANTITY
#define QUANTITY(id, key, text) [Q_##id] = text,
const char *const kernel_quantity_text[QUANTITIES] = {
#include "kernels/quantity.def"
};
#undef QUANTITY

/* Words of kernels.def: a quantity with its count, or with that of x86-64 and that of AArch64. */
#if defined(__aarch64__)
#define OF(x86, arm) (arm)
#else
#define OF(x86, arm) (x86)
#endif
#define IS(id, n)	  [Q_##id] = (n)
#define UNSURE(id)	  [Q_##id] = __builtin_nan("")
#define ARE(id, x86, arm) [Q_##id] = OF(x86, arm)
#define COUNTS(...)         \
	{                   \
		__VA_ARGS__ \
	}
#define NONE      \
	{         \
		0 \
	}

const struct kernel kernels[] = {
#define KERNEL(name, run, prepare, bytes, stride, unit, units, means, each, per_unit) \
	{ name,                                                                       \
	  means,                                                                      \
	  unit,                                                                       \
	  run_##run,                                                                  \
	  prepare_##prepare,                                                          \
	  { bytes, stride, units, false, 0, 0, 0, 0 },                                \
	  each,                                                                       \
	  per_unit,                                                                   \
	  NULL },
#define SNOOP(name, before, means)                                                               \
	{ name,                                                                                  \
	  means,                                                                                 \
	  NULL,                                                                                  \
	  run_walk,                                                                              \
	  prepare_lines,                                                                         \
	  { 65536, 256, 0, false, 0, 0, 0, 0 },                                                  \
	  COUNTS(IS(INSNS, 3), IS(TAKEN, 1), IS(LOADS, 1), IS(LOAD_BYTES, 8), IS(LINES_READ, 1), \
		 UNSURE(PAGES)),                                                                 \
	  NONE,                                                                                  \
	  before_##before },
#include "kernels/kernels.def"
#undef KERNEL
#undef SNOOP
};
const size_t n_kernels = sizeof(kernels) / sizeof(*kernels);

const struct kernel *kernel_find(const char *name)
{
	for (size_t i = 0; i < n_kernels; i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	return NULL;
}

double kernel_count(const struct kernel *k, enum kernel_quantity q, unsigned units)
{
	return k->each[q] + k->per_unit[q] * units;
}

/* ---- lines that move ------------------------------------------------------------------------- */

#define LINES_OF_PAGE 64.0

uint64_t kernel_turn(const struct kernel *k, const struct kernel_setup *s)
{
	uint64_t bytes = s->bytes ? s->bytes : k->usual.bytes;
	uint64_t stride = s->stride ? s->stride : k->usual.stride, each = KERNEL_PAGE;

	if (!k->usual.bytes) /* it reads a table, or nothing that another iteration does not */
		return KERNEL_TABLE / (stride ? stride : 1);
	if (stride)
		return bytes / stride;
	while (each < bytes)
		each *= 2;
	return each / KERNEL_LINE;
}

double kernel_lines(const struct kernel *k)
{
	return k->each[Q_LINES_READ] + k->each[Q_LINES_WRITTEN];
}

bool kernel_moved(struct kernel_moved *out, const struct kernel *k, const struct kernel_setup *s,
		  enum kernel_quantity q, uint64_t holds)
{
	uint64_t stride = s->stride ? s->stride : k->usual.stride;
	double turn = (double)kernel_turn(k, s), lines = turn * kernel_lines(k), set = lines;
	double in_page = stride < KERNEL_LINE	? LINES_OF_PAGE
			 : stride > KERNEL_PAGE ? 1
						: KERNEL_PAGE / (double)stride;

	*out = (struct kernel_moved){ 0, 0 };
	if (q == Q_PAGES)
		set = (lines + turn * k->each[Q_LINES_PAST]) / in_page;
	if (k->each[q] == 0 || set <= (double)holds / 2)
		return true;
	*out = (struct kernel_moved){ k->each[q], k->each[q] * (1 - (double)holds / set) };
	return set >= KERNEL_TIMES * (double)holds && k->each[q] >= 0;
}

int kernel_prepare(struct kernel_work *w, const struct kernel *k, const struct kernel_setup *s,
		   struct err *err)
{
	struct kernel_setup full = *s;

	if (!HAVE_KERNELS) {
		*w = (struct kernel_work){ .map = NULL };
		return err_set(err, ERR_UNSUPPORTED, "there are no kernels for this CPU");
	}
	if (!full.bytes)
		full.bytes = k->usual.bytes;
	if (!full.stride)
		full.stride = k->usual.stride;
	if (!full.units)
		full.units = k->usual.units;
	*w = (struct kernel_work){
		.units = full.units,
		.layout = full.layout,
		.on_node = full.on_node,
		.most = full.most,
		.round = 1,
	};
	return k->prepare(w, &full, err);
}

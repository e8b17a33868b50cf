/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of an emulated program, as words, up to the end of a ring. Whatever it is, charges add
 * up to the slots that passed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "simulate/simulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_gone(void *ctx)
{
	(void)ctx;
	return true;
}

static void check(const struct simulate *s)
{
	uint64_t all = 0, insns = 0;

	for (int i = 0; i < SIM_CAUSES; i++)
		all += s->sums.cause[i];
	vec_each (&s->sums.block, struct sums_block *const *, b)
		for (uint32_t i = 0; i < s->sums.code.v[(*b)->code].n; i++)
			insns += (*b)->slots[i];
	if (all != s->counts.slots || insns > all)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const argv[] = { "program", NULL };
	static struct arena a;
	static struct core *machine;
	struct model_sources sources = { 0 };
	struct simulate_opts opts = { .qemu = "", .plugin = "", .argv = argv };
	size_t words = size / 8 < STREAM_WORDS ? size / 8 : STREAM_WORDS;
	struct simulate *s = NULL;
	struct err err = ERR_INIT;

	if (!machine && core_load(&machine, &a, &sources, "zen4", &err))
		abort();
	opts.machine = machine;
	if (!simulate_open(&s, &opts, &err)) {
		memcpy((char *)s->reader.ring + STREAM_HEAD, data, words * 8);
		s->reader.ring->head = words;
		s->reader.gone = is_gone;
		if (!simulate_follow(s, &err))
			check(s);
	}
	simulate_close(s);
	return 0;
}

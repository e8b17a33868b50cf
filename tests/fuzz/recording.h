/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording - any bytes as a recording, for fuzzers of what is made of its samples. No file that
 * the recording names is opened.
 */
#ifndef CYCLADE_FUZZ_RECORDING_H
#define CYCLADE_FUZZ_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyse/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void hold(bool promise)
{
	if (!promise)
		abort();
}

/* Calls use() if the bytes can be opened. 0, as a fuzzer answers. */
static inline int fuzz_recording(const uint8_t *data, size_t size,
				 void (*use)(const struct pd *rec, struct spaces *sp))
{
	static const struct images_opts nothing = { .sysroot = "/nonexistent",
						    .kallsyms = "/dev/null",
						    .perf_map_dir = "/nonexistent" };
	struct err err = ERR_INIT;
	struct images *images;
	struct spaces *sp;
	struct pd *rec;

	if (pd_open_memory(&rec, data, size, &err))
		return 0;
	images = images_new(&nothing, &err);
	sp = images ? feed_spaces(rec, images, &err) : NULL;
	if (sp)
		use(rec, sp);
	spaces_free(sp);
	images_free(images);
	pd_close(rec);
	return 0;
}

#endif

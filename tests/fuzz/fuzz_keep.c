/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any text as the predicate of --keep, asked of a load that missed: an error with words, or an
 * answer, and the same answer again.
 */
#include <stdlib.h>
#include <string.h>

#include "store/keep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static const uint8_t raw[] = {
	0xff, 0x0b, 0,	  0,		    /* capabilities: Zen 4 */
	0x64, 0,    6,	  0, 0,	   0, 0, 0, /* OpCtl */
	0,    0x10, 0,	  0, 0,	   0, 0, 0, /* OpRip */
	1,    0,    9,	  0, 0,	   0, 0, 0, /* OpData */
	3,    0,    0,	  0, 0,	   0, 0, 0, /* OpData2: DRAM */
	0x81, 0,    0x16, 0, 0x64, 0, 0, 0, /* OpData3: load, missed L1 and L2, 100 cycles */
	0,    0,    0,	  0, 0,	   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pd_event ev = { .name = "ibs_op//" };
	struct pd_sample s = { .event = &ev,
			       .has = PERF_SAMPLE_IP | PERF_SAMPLE_RAW,
			       .ip = 0x1000,
			       .raw = raw,
			       .raw_size = sizeof(raw) };
	struct err err = ERR_INIT;
	struct keep *k;
	char text[4096];
	int first;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (keep_open(&k, NULL, text, &err)) {
		must(err.what[0]);
		return 0;
	}
	first = keep_sample(k, &s, "ibs_op", "AuthenticAMD,25,17,1", &err);
	must(first >= 0 || err.what[0]);
	if (first >= 0 && !strcasestr(text, "random"))
		must(keep_sample(k, &s, "ibs_op", "AuthenticAMD,25,17,1", &err) == first);
	keep_close(k);
	return 0;
}

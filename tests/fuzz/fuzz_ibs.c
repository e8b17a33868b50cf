/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a raw sample of IBS. The first byte tells the kind, the second the part. A field has
 * a value of its bits (op_count: of the low ones, where only these count), or a reason; what
 * is behind the known registers lies in the bytes.
 */
#include <stdlib.h>

#include "perfdata/ibs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void fields(const struct ibs *x)
{
	const char *why;

	for (unsigned i = 0; i < IBS_FIELDS; i++) {
		enum ibs_field f = (enum ibs_field)i;
		uint64_t v = 1;

		why = ibs_get(x, f, &v);
		if (!why && f == IBS_OP_COUNT && v != ibs_bits(x, f))
			v |= ibs_bits(x, f) & ~UINT64_C(0xfffff);
		must(why ? *why && v == 1 : v == ibs_bits(x, f) && ibs_kind_of(f) == x->kind);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why;
	struct ibs x;
	uint64_t v;

	if (size < 2)
		return 0;
	why = ibs_read(&x, data[0] & 1 ? IBS_FETCH : IBS_OP, (enum ibs_part)(data[1] % (IBS_PARTS)),
		       data + 2, size - 2);
	if (why) {
		must(*why);
		return 0;
	}
	must(x.more >= data + 2 && x.more_len <= size - 2 && x.more + x.more_len == data + size);
	fields(&x);
	if (x.kind == IBS_FETCH)
		return ibs_code_page(&x, &v) ? 0 : (must(v >= 4096 && v <= 1u << 30), 0);
	must(ibs_source_name(ibs_source(&x, &why)));
	(void)ibs_source_code(&x, &v);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as packets of Arm's SPE, and as a record: MIDR and flags, then packets. A packet lies
 * within the bytes. A field has a value of its width, or a reason; a source has a name or a reason;
 * a data source says load or store exactly of what accesses memory.
 */
#include <stdlib.h>

#include "perfdata/spe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void packets(const uint8_t *p, size_t len)
{
	struct spe_packet k;
	size_t n;

	for (size_t at = 0; at < len; at += n ? n : 1) {
		n = spe_packet_read(&k, p + at, len - at, at);
		must(n <= len - at);
		if (!n)
			continue;
		must(k.size == 0 || k.size == 1 || k.size == 2 || k.size == 4 || k.size == 8);
		must(k.size == 8 || k.payload >> (8 * k.size) == 0);
		must(k.kind <= SPE_SOURCE && k.index < 32);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why;
	struct spe x;
	uint64_t v;

	packets(data, size);
	why = spe_read(&x, data, size);
	if (why)
		must(*why);
	for (unsigned i = 0; i < SPE_FIELDS; i++) {
		v = 1;
		why = spe_get(&x, (enum spe_field)i, &v);
		must(!why || (*why && v == 1));
		must(*spe_key((enum spe_field)i));
	}
	must(x.subclass < SPE_SUBCLASSES);
	must(!spe_is_memory(&x) || spe_class_name(&x));
	must(spe_source_name(&x, &why) ? !why : *why);
	v = spe_data_src(&x);
	must(spe_is_memory(&x) == ((v & 6) == 2 || (v & 6) == 4));
	return 0;
}

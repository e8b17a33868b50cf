/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs_dump CPUID - reads lines "op|fetch HEXBYTES" and prints of each its fields, "key=VALUE", or
 * "key=BITS!REASON" where there is no value; then the source. For test_ibs.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perfdata/ibs.h"

static size_t bytes_of(const char *hex, uint8_t *out, size_t cap)
{
	unsigned v;
	size_t n = 0;

	for (; n < cap && sscanf(hex + 2 * n, "%2x", &v) == 1; n++)
		out[n] = (uint8_t)v;
	return n;
}

static void print_field(const char *key, uint64_t v, const char *why)
{
	printf("%s=%" PRIu64 "%s%s\t", key, v, why ? "!" : "", why ? why : "");
}

static void print_fields(const struct ibs *x)
{
	const char *why;
	uint64_t v = 0;

	for (unsigned f = 0; f < IBS_FIELDS; f++) {
		if (ibs_kind_of(f) != x->kind)
			continue;
		why = ibs_get(x, f, &v);
		print_field(ibs_key(f), why ? ibs_bits(x, f) : v, why);
	}
	if (x->kind == IBS_OP) {
		why = ibs_source_code(x, &v);
		print_field("source_code", v, why);
		printf("source=%s", ibs_source_name(ibs_source(x, &why)));
	} else {
		why = ibs_code_page(x, &v);
		print_field("itlb_page_size", v, why);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	char line[512], kind[8], hex[480];
	uint8_t raw[240];

	if (argc != 2)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		struct ibs x;
		const char *why;
		size_t n;

		if (sscanf(line, "%7s %479s", kind, hex) != 2)
			return 2;
		n = bytes_of(hex, raw, sizeof(raw));
		why = ibs_read(&x, strcmp(kind, "op") ? IBS_FETCH : IBS_OP, ibs_part_of(argv[1]),
			       raw, n);
		if (why)
			printf("?%s\n", why);
		else
			print_fields(&x);
	}
	return 0;
}

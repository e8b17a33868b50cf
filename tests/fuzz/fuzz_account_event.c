/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and codes of events as recordings and models have them: lines of the input are the model's
 * name, its code, and the recorded name; what follows are the attribute's numbers. */
#include <stdlib.h>
#include <string.h>

#include "analyse/account.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next line, as a string of its own. */
static char *line(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *nl = memchr(*p, '\n', (size_t)(end - *p));
	size_t n = (size_t)((nl ? nl : end) - *p);
	char *s = malloc(n + 1);

	if (!s)
		abort();
	memcpy(s, *p, n);
	s[n] = '\0';
	*p = nl ? nl + 1 : end;
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const vendors[] = { "GenuineIntel", "AuthenticAMD", "ARM", "nobody" };
	static const uint32_t types[] = { 4, 0, 10, 1 };
	const uint8_t *p = data, *end = data + size;
	char *name, *code, *recorded;

	if (!size)
		return 0; /* memchr wants a pointer */
	name = line(&p, end);
	code = line(&p, end);
	recorded = line(&p, end);
	for (unsigned i = 0; i < 16; i++) {
		struct model_cpu cpu = { .vendor = vendors[i & 3],
					 .pmu = i & 8 ? "cpu_core" : "cpu" };
		struct account_pmu pmu = { &cpu, NULL };
		struct model_event m = { .name = name, .pmu = "", .code = code };
		struct pd_event e = { .name = recorded };

		e.attr.type = types[i >> 2];
		if (end - p >= 16) {
			memcpy(&e.attr.config, p, 8);
			e.attr.config1 = ld64(p + 8);
		}
		if (account_same_event(&m, &e, &pmu) > 3)
			abort();
		/* by name alone, each is itself */
		m.code = "";
		e.name = name;
		e.attr.type = 4;
		if (!account_same_event(&m, &e, &pmu))
			abort();
	}
	free(name);
	free(code);
	free(recorded);
	return 0;
}

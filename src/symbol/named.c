/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/named.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"

static bool exact(const struct symbol *s, const char *said)
{
	return !strcmp(said, s->name) || !strcmp(said, s->linkage);
}

static bool of_dso(const struct symbol *s, const char *dso, const char *said)
{
	size_t n = strlen(dso);

	return !strncmp(said, dso, n) && said[n] == ':' && exact(s, said + n + 1);
}

static bool at(const struct symbol *s, const char *said)
{
	size_t n = strlen(s->name);
	uint64_t addr;

	return !strncmp(said, s->name, n) && said[n] == '@' &&
	       !num_parse_u64(&addr, said + n + 1, NULL) && addr == s->start;
}

bool symbol_means(const struct symbol *s, const char *dso, const char *said, enum symbol_way way)
{
	switch (way) {
	case SYMBOL_EXACT:
		return exact(s, said);
	case SYMBOL_OF_DSO:
		return of_dso(s, dso, said);
	case SYMBOL_AT:
		return at(s, said);
	case SYMBOL_GLOB:
		return text_glob(said, s->name);
	case SYMBOL_PART:
		return strstr(s->name, said) != NULL;
	case SYMBOL_WAYS:
		break;
	}
	return false;
}

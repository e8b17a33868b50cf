/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/named.h"

#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"

static bool is_exactly(const struct symbol *s, const char *said)
{
	size_t n = symbol_plain_len(s);

	return !strcmp(said, s->name) || !strcmp(said, s->linkage) ||
	       (s->apart && strlen(said) == n && !memcmp(said, s->name, n));
}

static bool begins_with_dso(const char *said, const char *dso, size_t n)
{
	return !strncmp(said, dso, n) && said[n] == ':';
}

/* The file as it is shown, or by its base name alone. */
static bool of_dso(const struct symbol *s, const char *dso, const char *said)
{
	const char *base = path_base(dso);
	size_t n = strlen(dso), n_base = strcspn(base, "@");

	if (begins_with_dso(said, dso, n))
		return is_exactly(s, said + n + 1);
	return begins_with_dso(said, base, n_base) && is_exactly(s, said + n_base + 1);
}

bool symbol_means(const struct symbol *s, const char *dso, const char *said, enum symbol_way way)
{
	size_t n = symbol_plain_len(s);
	char plain[1024];
	uint64_t addr;

	switch (way) {
	case SYMBOL_EXACT:
		return is_exactly(s, said);
	case SYMBOL_OF_DSO:
		return of_dso(s, dso, said);
	case SYMBOL_AT:
		return !strncmp(said, s->name, n) && said[n] == '@' &&
		       !num_parse_u64(&addr, said + n + 1, NULL) && addr == s->start;
	case SYMBOL_GLOB:
		if (text_glob(said, s->name) || !s->apart || n >= sizeof(plain))
			return text_glob(said, s->name);
		memcpy(plain, s->name, n);
		plain[n] = '\0';
		return text_glob(said, plain);
	case SYMBOL_PART:
		return strstr(s->name, said) != NULL;
	case SYMBOL_WAYS:
		break;
	}
	return false;
}

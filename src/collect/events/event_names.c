/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_names - the words of the user's text, and the generic names of events.
 */
#include "collect/events/event_int.h"
#include "collect/sysfs.h"

#include <stdio.h>
#include <string.h>

const struct event_symbol event_symbols[] = {
#define SYMBOL(kind, name, other, config, text) { SYMBOL_##kind, name, other, config, text },
#include "collect/events/event_symbols.def"
#undef SYMBOL
};
const size_t n_event_symbols = sizeof(event_symbols) / sizeof(event_symbols[0]);

#define SPELLINGS 6

struct cache_word {
	uint32_t config, ops;
	const char *spelling[SPELLINGS]; /* NULL-ended */
};

static const struct cache_word caches[] = {
#define CACHE(config, ops, ...) { config, ops, { __VA_ARGS__ } },
#define CACHE_OP(config, ...)
#define CACHE_RESULT(config, ...)
#include "collect/events/event_cache.def"
#undef CACHE
#undef CACHE_OP
};
static const struct cache_word cache_ops[] = {
#define CACHE(config, ops, ...)
#define CACHE_OP(config, ...) { config, 0, { __VA_ARGS__ } },
#include "collect/events/event_cache.def"
#undef CACHE_OP
#undef CACHE_RESULT
};
static const struct cache_word cache_results[] = {
#define CACHE_OP(config, ...)
#define CACHE_RESULT(config, ...) { config, 0, { __VA_ARGS__ } },
#include "collect/events/event_cache.def"
#undef CACHE
#undef CACHE_OP
#undef CACHE_RESULT
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

bool word_is(struct word w, const char *s)
{
	return strlen(s) == w.len && !memcmp(w.s, s, w.len);
}

bool word_number(struct word w, uint64_t *out)
{
	return text_natural(out, w.s, w.len);
}

bool word_has_glob(struct word w)
{
	for (size_t i = 0; i < w.len; i++)
		if (w.s[i] == '*' || w.s[i] == '?' || w.s[i] == '[')
			return true;
	return false;
}

const struct event_symbol *event_symbol_find(struct word w)
{
	for (size_t i = 0; i < n_event_symbols; i++)
		if (word_is(w, event_symbols[i].name) ||
		    (event_symbols[i].other && word_is(w, event_symbols[i].other)))
			return &event_symbols[i];
	return NULL;
}

/* The longest spelling that w begins with and that ends at its end or before a '-'. Returns its
 * length, 0 if there is none. */
static size_t longest_cache_word(const struct cache_word *words, size_t n, struct word w,
				 uint32_t *index)
{
	size_t best = 0;

	for (uint32_t i = 0; i < n; i++)
		for (size_t j = 0; j < SPELLINGS && words[i].spelling[j]; j++) {
			size_t len = strlen(words[i].spelling[j]);

			if (len <= best || len > w.len || memcmp(w.s, words[i].spelling[j], len) ||
			    (len < w.len && w.s[len] != '-'))
				continue;
			best = len;
			*index = i;
		}
	return best;
}

bool event_cache_find(struct word w, uint64_t *config, bool *known)
{
	bool have_op = false, have_result = false;
	uint32_t cache = 0, op = 0, result = 0;
	size_t at = longest_cache_word(caches, COUNT(caches), w, &cache);

	*known = at;
	if (!at)
		return false;
	while (at < w.len) {
		struct word rest = { w.s + at + 1, w.len - at - 1 };
		uint32_t index = 0;
		size_t len;

		if (!have_op &&
		    (len = longest_cache_word(cache_ops, COUNT(cache_ops), rest, &index))) {
			have_op = true;
			op = cache_ops[index].config;
		} else if (!have_result &&
			   (len = longest_cache_word(cache_results, COUNT(cache_results), rest,
						     &index))) {
			have_result = true;
			result = cache_results[index].config;
		} else {
			return false;
		}
		at += 1 + len;
	}
	if (!(caches[cache].ops >> op & 1))
		return false;
	*config = caches[cache].config | op << 8 | result << 16;
	return true;
}

bool event_generic(const char *name, size_t len, uint32_t *type, uint64_t *config)
{
	const struct word w = { name, len };
	const struct event_symbol *symbol = event_symbol_find(w);
	bool known;

	*type = PERF_TYPE_HW_CACHE;
	if (!symbol)
		return event_cache_find(w, config, &known);
	*type = symbol->kind == SYMBOL_HARDWARE ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	*config = symbol->config;
	return symbol->kind != SYMBOL_TOOL;
}

bool event_cache_name(uint64_t config, char out[64])
{
	uint64_t cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16;

	if (cache >= COUNT(caches) || op >= COUNT(cache_ops) || result >= COUNT(cache_results) ||
	    !(caches[cache].ops >> op & 1))
		return false;
	if (result == PERF_COUNT_HW_CACHE_RESULT_ACCESS)
		(void)snprintf(out, 64, "%s-%s", caches[cache].spelling[0],
			       cache_ops[op].spelling[1]);
	else
		(void)snprintf(out, 64, "%s-%s-misses", caches[cache].spelling[0],
			       cache_ops[op].spelling[0]);
	return true;
}

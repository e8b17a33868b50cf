/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of events: the table, and names found in it.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/validate/validate_int.h"

#define W(id) [Q_##id] = 1
#define ROW_FROM(from_, events_, kind_, in_, at_, least_, kernels_, os, within_, ...) \
	{ .events = events_,                                                          \
	  .kind = kind_,                                                              \
	  .weight = { __VA_ARGS__ },                                                  \
	  .kernels = kernels_,                                                        \
	  .in = in_,                                                                  \
	  .at = at_,                                                                  \
	  .least = least_,                                                            \
	  .kernel = os,                                                               \
	  .within = within_,                                                          \
	  .from = from_ },
#define FEW(events_, in_, at_, least_, most_, others) \
	{ .events = events_,                          \
	  .kind = COUNTS_SOME,                        \
	  .kernels = others,                          \
	  .in = in_,                                  \
	  .at = at_,                                  \
	  .least = least_,                            \
	  .within = 0.1,                              \
	  .most = most_ },
#define OR_MORE(events_, kernels_, ...) \
	{ .events = events_,            \
	  .kind = COUNTS_SUM,           \
	  .weight = { __VA_ARGS__ },    \
	  .kernels = kernels_,          \
	  .within = 0.05,               \
	  .more = true },
#define INTO(cache, more_, within_, events_, kernels_, ...) \
	{ .events = events_,                                \
	  .kind = COUNTS_MOVES,                             \
	  .weight = { __VA_ARGS__ },                        \
	  .kernels = kernels_,                              \
	  .within = within_,                                \
	  .into = INTO_##cache,                             \
	  .more = more_ },
#define MOVES(cache, events, kernels, ...) INTO(cache, false, 0.1, events, kernels, __VA_ARGS__)
#define WALKS(events, kernels)		   INTO(TLB, false, 0.05, events, kernels, W(PAGES))
#define WALKS_OR_MORE(events, kernels)	   INTO(TLB, true, 0.05, events, kernels, W(PAGES))
#define SNOOP(events_, in_, pair_, others) \
	{ .events = events_,               \
	  .kind = COUNTS_SOME,             \
	  .kernels = others,               \
	  .in = in_,                       \
	  .least = 0.3,                    \
	  .within = 0.01,                  \
	  .pair = PAIR_##pair_ },
#define ROW(...) ROW_FROM(FROM_ANY, __VA_ARGS__)
#define SUMS(kind, events, kernels, os, within, ...) \
	ROW(events, kind, NULL, AT_ANY, 0, kernels, os, within, __VA_ARGS__)
#define SUM(events, kernels, ...)   SUMS(COUNTS_SUM, events, kernels, false, 0.01, __VA_ARGS__)
#define OS(events, kernels, ...)    SUMS(COUNTS_SUM, events, kernels, true, 0.01, __VA_ARGS__)
#define NEAR(events, kernels, ...)  SUMS(COUNTS_SUM, events, kernels, false, 0.05, __VA_ARGS__)
#define LEAST(events, kernels, ...) SUMS(COUNTS_LEAST, events, kernels, false, 0.01, __VA_ARGS__)
#define MISSES			    NEAR
#define CLOCK(events)		    SUMS(COUNTS_CYCLES, events, "add", false, 0.01, 0)
#define TIME(events)		    SUMS(COUNTS_NS, events, "add walk jump syscall", true, 0.01, 0)
#define SOME(events, in, at, least, others) \
	ROW(events, COUNTS_SOME, in, at, least, others, false, 0.01, 0)
#define LOCAL(events)                                                                         \
	ROW_FROM(FROM_LOCAL, events, COUNTS_SOME, "walk", AT_MEMORY, 0.05, "add jump", false, \
		 0.01, 0)
#define REMOTE(events)                                                                         \
	ROW_FROM(FROM_REMOTE, events, COUNTS_SOME, "walk", AT_MEMORY, 0.05, "add jump", false, \
		 0.01, 0)

static const char *const into_key[] = { "", "L1", "L2", "L3", "TLBs" };

static const struct validate_rule rules[] = {
#include "measure/validate/event_rule.def"
};

/* The next word of a list; NULL: none is left. */
const char *validate_word(const char **list, char word[VALIDATE_NAME])
{
	size_t n;

	*list += strspn(*list, " ");
	n = strcspn(*list, " ");
	if (!n)
		return NULL;
	(void)snprintf(word, VALIDATE_NAME, "%.*s", (int)n, *list);
	*list += n;
	return word;
}

/* How long ":u" or ":ppp" at the end is, which leaves it the same event; ":c1" does not. */
static size_t modifiers(const char *event, size_t n)
{
	const char *colon = memrchr(event, ':', n);
	size_t len = colon ? n - (size_t)(colon + 1 - event) : 0;

	return len && strspn(colon + 1, "ukpPHGDe") == len ? len + 1 : 0;
}

bool validate_bare(char out[VALIDATE_NAME], const char *event)
{
	const char *slash = strchr(event, '/');
	size_t n;

	if (slash)
		event = slash + 1;
	n = slash ? strcspn(event, "/") : strlen(event);
	n -= slash ? 0 : modifiers(event, n);
	if (n >= VALIDATE_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (char)tolower((unsigned char)event[i]);
	if (n > 3 && !memcmp(out + n - 3, "_ps", 3)) /* sampled precisely: the same event */
		n -= 3;
	else if (n > 5 && !memcmp(out + n - 5, "_pebs", 5))
		n -= 5;
	out[n] = '\0';
	return true;
}

const struct validate_rule *validate_rule_of(const char *event)
{
	char name[VALIDATE_NAME], word[VALIDATE_NAME];

	if (!validate_bare(name, event))
		return NULL;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const char *list = rules[i].events;

		while (validate_word(&list, word))
			if (!strcmp(word, name))
				return &rules[i];
	}
	return NULL;
}

bool validate_rule_has(const struct validate_rule *r, const char *kernel)
{
	const char *list = r->kernels;
	char word[VALIDATE_NAME];
	bool has = false;

	while (validate_word(&list, word))
		if (*word == '-' ? text_glob(word + 1, kernel) : text_glob(word, kernel))
			has = *word != '-';
	return has;
}

bool validate_rule_bounds(const struct validate_rule *r)
{
	return r->kind == COUNTS_SOME || r->kind == COUNTS_LEAST || r->more;
}

void validate_rule_put(struct buf *b, const struct validate_rule *r)
{
	const char *plus = "";

	switch (r->kind) {
	case COUNTS_CYCLES:
		buf_puts(b, "cycles of the core");
		return;
	case COUNTS_NS:
		buf_puts(b, "ns in which the thread ran");
		return;
	case COUNTS_SOME:
		buf_printf(b, "something in %s%s%s", r->in, r->pair ? ", the other CPU: " : "",
			   r->pair		    ? validate_pair_key[r->pair]
			   : r->from == FROM_LOCAL  ? ", in memory of the own NUMA node"
			   : r->from == FROM_REMOTE ? ", in memory of another socket"
						    : "");
		if (r->most > 0)
			buf_printf(b, ", at most %g for each iteration", r->most);
		return;
	default:
		break;
	}
	if (r->more)
		buf_puts(b, "at least ");
	for (unsigned q = 0; q < QUANTITIES; q++)
		if (r->weight[q] > 0) {
			buf_printf(b, "%s%s", plus, kernel_quantity_key[q]);
			plus = " + ";
		}
	if (r->into)
		buf_printf(b, "%s %s",
			   r->weight[Q_LINES_READ] > 0 || r->into == INTO_TLB ? " that miss"
									      : " that leave",
			   into_key[r->into]);
}

double validate_count(const struct validate_rule *r, const struct kernel *k)
{
	double sum = 0;

	for (unsigned q = 0; q < QUANTITIES; q++)
		if (r->weight[q] > 0)
			sum += r->weight[q] *
			       kernel_count(k, (enum kernel_quantity)q, k->usual.units);
	return sum;
}

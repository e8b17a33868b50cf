/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/perf_words.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/num.h"
#include "base/xalloc.h"

#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"

static const struct {
	const char *command, *word, *says;
} perf_commands[] = {
#define PERF_COMMAND(command, word, says) { command, word, says },
#include "cli/perf_command.def"
#undef PERF_COMMAND
};

bool perf_command_refused(const char *command, const char *next, struct err *err)
{
	struct stat st;

	for (size_t i = 0; i < sizeof(perf_commands) / sizeof(*perf_commands); i++) {
		const char *word = perf_commands[i].word;

		if (strcmp(perf_commands[i].command, command) != 0)
			continue;
		if (*word && (!next || strcmp(word, next) != 0 || file_look(next, &st)))
			continue;
		(void)err_set(err, ERR_USAGE, "cyclade has no %s%s%s, as perf has", command,
			      *word ? " " : "", word);
		(void)err_hint(err, "%s", perf_commands[i].says);
		return true;
	}
	return false;
}

/* CLOCK_MONOTONIC_RAW, monotonic_raw */
static const char *clock_of(const char *v)
{
	static const char *const names[][2] = { { "monotonic", "mono" },
						{ "monotonic_raw", "raw" },
						{ "boottime", "boot" },
						{ "realtime", "real" },
						{ "tai", "tai" } };
	const char *bare = strncasecmp(v, "CLOCK_", 6) ? v : v + 6;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcasecmp(bare, names[i][0]))
			return names[i][1];
	return v;
}

/* The most that the kernel allows. */
static const char *max_rate(struct arena *a, struct err *err)
{
	struct buf b = BUF_INIT;
	const char *rate = NULL;

	if (!file_slurp(&b, MAX_RATE, 64, err))
		rate = arena_xprintf(a, "%.*s", (int)strspn(buf_str(&b), "0123456789"),
				     buf_str(&b));
	buf_free(&b);
	return rate;
}

/* "1M", of a ring's data, and ",2M", of a trace that is never asked for: in pages, rounded up as
 * perf does it. Bare numbers are pages. */
static const char *ring_pages(struct arena *a, const char *v, struct err *err)
{
	size_t n = strcspn(v, ",");
	char *data = arena_xstrndup(a, v, n);
	uint64_t bytes, page = (uint64_t)sysconf(_SC_PAGESIZE), pages = 1;

	if (!n || !strchr("BKMG", data[n - 1]))
		return data;
	if (data[n - 1] == 'B')
		data[n - 1] = '\0';
	if (num_parse_bytes(&bytes, data, err)) {
		(void)err_prefix(err, "--mmap-pages");
		return NULL;
	}
	while (pages < UINT32_MAX && pages * page < bytes)
		pages *= 2;
	return arena_xprintf(a, "%" PRIu64, pages);
}

const char *perf_value(struct arena *a, const char *option, const char *v, struct err *err)
{
	if (!strcmp(option, "clockid"))
		return clock_of(v);
	if (!strcmp(option, "freq") && !strcmp(v, "max"))
		return max_rate(a, err);
	if (!strcmp(option, "mmap-pages"))
		return ring_pages(a, v, err);
	return v;
}

const char *perf_stack_size(const char *v)
{
	return strncmp(v, "dwarf,", 6) ? NULL : v + 6;
}

bool perf_chain_words(const char *v)
{
	static const char *const words[] = { "none",   "flat",	 "graph",    "fractal", "folded",
					     "caller", "callee", "function", "address", "percent",
					     "period", "count",	 "branch" };
	bool named = false;

	while (*v) {
		size_t n = strcspn(v, ","), i = 0;

		while (i < sizeof(words) / sizeof(*words) &&
		       (strlen(words[i]) != n || memcmp(words[i], v, n) != 0))
			i++;
		if (i < sizeof(words) / sizeof(*words))
			named = true;
		else if (strspn(v, "0123456789.") != n)
			return false;
		v += n + (v[n] == ',');
	}
	return named;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of /proc/PID. Names in them are the processes' own, and may hold anything.
 */
#include <stdio.h>
#include <string.h>

#include "collect/sysfs.h"
#include "monitor/top/top_int.h"

/* The next word behind *at, which is moved behind it. */
static bool take_stat_word(const char *text, size_t len, size_t *at, const char **word, size_t *n)
{
	size_t i = *at;

	while (i < len && text[i] == ' ')
		i++;
	*word = text + i;
	*n = 0;
	while (i < len && text[i] != ' ' && text[i] != '\n') {
		i++;
		++*n;
	}
	*at = i;
	return *n;
}

/* The name stands between the first bracket and the last. */
bool top_stat_parse(struct top_stat *out, const char *text, size_t len)
{
	enum {
		STATE = 3,
		FAULTS = 10,
		MAJOR = 12,
		USER = 14,
		SYSTEM = 15,
		THREADS = 20,
		START = 22
	};
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len), *word;
	uint64_t field[START + 1] = { 0 };
	size_t at, n, name;

	*out = (struct top_stat){ 0 };
	if (!open || !close || close < open)
		return false;
	name = (size_t)(close - open) - 1;
	if (name >= sizeof(out->comm))
		name = sizeof(out->comm) - 1;
	memcpy(out->comm, open + 1, name);
	at = (size_t)(close - text) + 1;
	for (size_t i = STATE; i <= START; i++) {
		if (!take_stat_word(text, len, &at, &word, &n))
			return false;
		if (i == STATE && (*word <= ' ' || *word > '~'))
			return false;
		if (i == STATE)
			out->state = *word;
		else if (!text_natural(&field[i], word, n) && *word != '-')
			return false;
	}
	out->faults = field[FAULTS];
	out->major = field[MAJOR];
	out->ticks = field[USER] + field[SYSTEM];
	out->threads = field[THREADS] > UINT32_MAX ? UINT32_MAX : (uint32_t)field[THREADS];
	out->start = field[START];
	return true;
}

bool top_switches_parse(uint64_t *out, const char *text, size_t len)
{
	static const char *const keys[] = { "voluntary_ctxt_switches",
					    "nonvoluntary_ctxt_switches" };

	*out = 0;
	for (size_t i = 0; i < 2; i++) {
		const char *v;
		uint64_t n;
		size_t n_v;

		if (!text_field(text, len, keys[i], ':', &v, &n_v) || !text_natural(&n, v, n_v))
			return false;
		*out += n;
	}
	return true;
}

/* "0::/system.slice/x.service", "4:cpu,cpuacct:/docker/..." */
bool top_cgroup_parse(const char **path, size_t *path_len, const char *text, size_t len)
{
	bool found = false;

	for (size_t at = 0; at < len;) {
		const char *line = text + at, *end = memchr(line, '\n', len - at), *colon;
		size_t n = end ? (size_t)(end - line) : len - at;

		at += n + 1;
		colon = memchr(line, ':', n);
		colon = colon ? memchr(colon + 1, ':', n - (size_t)(colon + 1 - line)) : NULL;
		if (!colon)
			continue;
		if (found && strncmp(line, "0::", 3) != 0)
			continue;
		if (n - (size_t)(colon + 1 - line) <= 1 && strncmp(line, "0::", 3) != 0)
			continue; /* the root of a v1 hierarchy: look further */
		if (found && n - (size_t)(colon + 1 - line) <= 1)
			continue;
		*path = colon + 1;
		*path_len = n - (size_t)(colon + 1 - line);
		found = true;
	}
	return found;
}

static size_t hex_digits(const char *s)
{
	return strspn(s, "0123456789abcdef");
}

const char *top_cgroup_name(struct arena *a, const char *path)
{
	static const char *const runtimes[] = { "docker-", "libpod-", "crio-", "cri-containerd-" };
	const char *last = strrchr(path, '/'), *pod = strstr(path, "pod");

	last = last ? last + 1 : path;
	if (!*last)
		return "/";
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		size_t n = strlen(runtimes[i]);

		if (!strncmp(last, runtimes[i], n) && hex_digits(last + n) >= 12)
			return arena_printf(a, "%s%.*s %.12s", pod && pod < last ? "pod " : "",
					    (int)n - 1, runtimes[i], last + n);
	}
	if (!last[hex_digits(last)] && hex_digits(last) >= 32)
		return arena_printf(a, "%s %.12s", strstr(path, "kubepods") ? "pod" : "container",
				    last);
	return last;
}

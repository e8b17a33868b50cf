/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the text of a file that a capture takes: what is taken is taken again the same, is
 * no more than there was, and of files with private lines holds none of them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collect/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
	"proc/cpuinfo",	    "proc/meminfo",
	"proc/kallsyms",    "proc/1/cgroup",
	"proc/self/status", "sys/devices/system/node/node*/meminfo",
	"etc/os-release",   "sys/devices/system/cpu/online",
};

/* As sysfs.h reads: up to a zero byte, without white space at the end. */
static void cut(char *s)
{
	size_t n = strlen(s);

	while (n && strchr(" \t\r\n", s[n - 1]))
		n--;
	s[n] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT, again = BUF_INIT;
	const char *path = paths[size ? data[0] % (sizeof(paths) / sizeof(*paths)) : 0];
	char *text = calloc(size + 1, 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data + 1, size - 1);
	cut(text);
	if (!capture_filter(&once, path, text))
		abort();
	if (once.len > strlen(text) + 64)
		abort();
	if (!strcmp(path, "proc/cpuinfo"))
		for (char *line = strtok(once.len ? once.s : text + size, "\n"); line;
		     line = strtok(NULL, "\n")) {
			char *colon = strchr(line, ':');

			if (!colon)
				abort();
			*colon = '\0';
			if (strcasestr(line, "serial"))
				abort();
			*colon = ':';
			buf_printf(&again, "%s\n", line);
		}
	else
		buf_puts(&again, buf_str(&once));
	if (!again.failed) {
		struct buf third = BUF_INIT;
		char *copy = strdup(buf_str(&again));

		if (!copy)
			abort();
		cut(copy);
		(void)capture_filter(&third, path, copy);
		cut(again.len ? again.s : copy);
		if (third.len)
			cut(third.s);
		if (strcmp(buf_str(&third), buf_str(&again)) != 0)
			abort();
		free(copy);
		buf_free(&third);
	}
	buf_free(&once);
	buf_free(&again);
	free(text);
	return 0;
}

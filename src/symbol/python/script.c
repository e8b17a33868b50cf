/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/script.h"

#include <string.h>

void script_put_path(struct buf *b, const char *file, const char *function)
{
	buf_puts(b, SCRIPT_PREFIX);
	buf_puts(b, file);
	buf_putc(b, ':');
	buf_puts(b, function);
}

bool script_parts(const char *path, const char **file, size_t *file_len, const char **function)
{
	const char *colon = strrchr(path, ':');

	if (strncmp(path, SCRIPT_PREFIX, sizeof(SCRIPT_PREFIX) - 1) != 0 || !colon)
		return false;
	*file = path + sizeof(SCRIPT_PREFIX) - 1;
	*file_len = (size_t)(colon - *file);
	*function = colon + 1;
	return true;
}

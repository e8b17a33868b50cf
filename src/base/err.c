/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nomem.h"
#include "config.h"

PRINTF_(3, 0) static void vset(struct err *err, enum err_code code, const char *fmt, va_list ap)
{
	err->code = code;
	(void)vsnprintf(err->what, sizeof(err->what), fmt, ap);
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	if (!err || err->code != ERR_NONE)
		return -1;
	va_start(ap, fmt);
	vset(err, code, fmt, ap);
	va_end(ap);
	return -1;
}

const char *err_number(int number)
{
#if HAVE_STRERRORNAME
	const char *name = strerrorname_np(number);

	return name ? name : "an unknown error";
#else
	return strerror(number);
#endif
}

static enum err_code code_of_errno(int e)
{
	switch (e) {
	case EACCES:
	case EPERM:
		return ERR_PERM;
	case ENOENT:
		return ERR_NOT_FOUND;
	case ENOMEM:
		return ERR_NOMEM;
	default:
		return ERR_IO;
	}
}

int err_sys(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	size_t len;
	va_list ap;

	if (!err || err->code != ERR_NONE)
		return -1;
	va_start(ap, fmt);
	vset(err, code_of_errno(saved), fmt, ap);
	va_end(ap);
	err->sys_errno = saved;
	len = strlen(err->what);
	(void)snprintf(err->what + len, sizeof(err->what) - len, ": %s", strerror(saved));
	if (saved == EMFILE)
		return err_hint(err, "more than `ulimit -n` files at once: raise it, or take fewer "
				     "tasks, CPUs or events");
	return -1;
}

int err_nomem(struct err *err)
{
	if (err && err->code != ERR_NONE) /* something else failed before */
		return -1;
	nomem_note();
	return err_set(err, ERR_NOMEM, "out of memory");
}

int err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err || err->code == ERR_NONE || err->hint[0])
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int err_point(struct err *err, const char *s, size_t len, size_t at, size_t before, size_t width)
{
	size_t from = at > before ? at - before : 0, n = len > from ? len - from : 0;
	char text[101];

	width = width < sizeof(text) - 1 ? width : sizeof(text) - 1;
	n = n < width ? n : width;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[from + i];

		text[i] = c < 0x20 || c > 0x7e ? ' ' : (char)c;
	}
	text[n] = '\0';
	return err_hint(err, "%s\n%*s^", text, (int)(at - from), "");
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->what)];
	size_t len;
	va_list ap;

	if (!err || err->code == ERR_NONE)
		return -1;
	memcpy(old, err->what, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	len = strlen(err->what);
	(void)snprintf(err->what + len, sizeof(err->what) - len, ": %s", old);
	return -1;
}

void err_clear(struct err *err)
{
	if (err)
		memset(err, 0, sizeof(*err));
}

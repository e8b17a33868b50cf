/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/ask.h"

#include <stdarg.h>
#include <stdio.h>

void ask_news(const struct ask *ask, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!ask->news)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ask->news(ask->news_ctx, line);
}

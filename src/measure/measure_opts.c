/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/measure_opts.h"

#include <stdarg.h>
#include <stdio.h>

void measure_news(const struct measure_opts *opts, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!opts->news)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	opts->news(opts->news_ctx, line);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "monitor/http_int.h"

static size_t skip_blanks(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	return i;
}

/* The value of a parameter (";q=0.5") of an element of Accept; its length, 0 if it has none. */
static size_t parameter(const char *s, size_t n, const char *name, const char **value)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < n; i++) {
		if (s[i] != ';')
			continue;
		i += 1 + skip_blanks(s + i + 1, n - i - 1);
		if (i + len < n && !strncasecmp(s + i, name, len) && s[i + len] == '=') {
			size_t from = i + len + 1, end = from;

			while (end < n && s[end] != ';' && s[end] != ' ')
				end++;
			*value = s + from;
			return end - from;
		}
		i--;
	}
	return 0;
}

static double quality(const char *s, size_t n)
{
	const char *q;
	char number[16];
	size_t len = parameter(s, n, "q", &q);

	if (!len || len >= sizeof(number))
		return 1;
	memcpy(number, q, len);
	number[len] = '\0';
	return strtod(number, NULL);
}

static bool is_type(const char *s, size_t n, const char *type)
{
	size_t len = strlen(type);

	return n >= len && !strncasecmp(s, type, len) &&
	       (n == len || s[len] == ';' || s[len] == ' ');
}

enum http_text http_accepted(const char *accept)
{
	double open = 0, plain = 0;

	for (const char *s = accept ? accept : ""; *s;) {
		size_t n = strcspn(s, ","), blanks = skip_blanks(s, n);
		const char *e = s + blanks, *version;
		size_t len = n - blanks, v = parameter(e, len, "version", &version);
		double q = quality(e, len);

		if (is_type(e, len, "application/openmetrics-text") &&
		    (!v || (v == 5 && !memcmp(version, "1.0.0", 5))))
			open = q > open ? q : open;
		else if (is_type(e, len, "text/plain") || is_type(e, len, "*/*") ||
			 is_type(e, len, "text/*"))
			plain = q > plain ? q : plain;
		s += n + (s[n] == ',');
	}
	return open > 0 && open >= plain ? HTTP_OPENMETRICS : HTTP_PROMETHEUS;
}

bool http_host_is_here(const char *host)
{
	size_t n = host ? strcspn(host, ":") : 0;

	if (!host || *host == '[')
		return true;
	if (n == 9 && !strncasecmp(host, "localhost", 9))
		return true;
	return strspn(host, "0123456789.") == n;
}

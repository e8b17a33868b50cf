/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/num.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *put_unknown(char out[NUM_MAX])
{
	out[0] = '?';
	out[1] = '\0';
	return out;
}

/* Puts the digits of v before `end`; returns where they begin. `each`: a comma before so many. */
static char *digits_before(char *end, uint64_t v, unsigned each)
{
	unsigned n = 0;

	do {
		if (each && n && n % each == 0)
			*--end = ',';
		*--end = (char)('0' + v % 10);
		v /= 10;
		n++;
	} while (v);
	return end;
}

const char *num_exact(char out[NUM_MAX], uint64_t v)
{
	char text[NUM_MAX], *end = text + NUM_MAX, *s = digits_before(end, v, 3);

	memcpy(out, s, (size_t)(end - s));
	out[end - s] = '\0';
	return out;
}

/* The whole number nearest to a * b >= 0, which a double holds; ties to even. */
static uint64_t nearest_product(double a, double b)
{
	double p = a * b, off = fma(a, b, -p), whole = floor(p), half = p - whole - 0.5;
	uint64_t n = (uint64_t)whole;

	/* the product is rounded, which matters at a tie alone */
	if (half > 0 || (half == 0 && (off > 0 || (off == 0 && n % 2))))
		n++;
	return n;
}

size_t num_fixed(char out[NUM_MAX], double v, unsigned decimals)
{
	static const unsigned power[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };
	char text[NUM_MAX], *end = text + NUM_MAX, *s = end;
	uint64_t n;

	if (decimals >= sizeof(power) / sizeof(*power) || !(fabs(v) < 1e9)) {
		(void)snprintf(out, NUM_MAX, "%.*f", (int)decimals, v);
		return strlen(out);
	}
	n = nearest_product(fabs(v), power[decimals]);
	if (decimals) {
		unsigned part = (unsigned)(n % power[decimals]);

		for (unsigned i = 0; i < decimals; i++, part /= 10)
			*--s = (char)('0' + part % 10);
		*--s = '.';
	}
	s = digits_before(s, n / power[decimals], 0);
	if (signbit(v))
		*--s = '-';
	memcpy(out, s, (size_t)(end - s));
	out[end - s] = '\0';
	return (size_t)(end - s);
}

/* A number, its unit, and an end: "11.90 G". `a` and `b` may be "". */
static const char *put_fixed(char out[NUM_MAX], double v, unsigned decimals, const char *a,
			     const char *b)
{
	size_t n = num_fixed(out, v, decimals);

	for (; *a && n + 1 < NUM_MAX; a++)
		out[n++] = *a;
	for (; *b && n + 1 < NUM_MAX; b++)
		out[n++] = *b;
	out[n] = '\0';
	return out;
}

/* Three or four significant digits with a unit letter: 11.90 G, 842.1 M. */
static const char *put_scaled(char out[NUM_MAX], double v, const char *unit)
{
	static const char *const letters[] = { "", " k", " M", " G", " T", " P", " E" };
	size_t i = 0;
	double a = fabs(v);

	while (a >= 999.95 && i + 1 < sizeof(letters) / sizeof(*letters)) {
		a /= 1000;
		v /= 1000;
		i++;
	}
	if (i)
		return put_fixed(out, v, a < 99.995 ? 2 : 1, letters[i], unit);
	return put_fixed(out, v, 0, *unit ? " " : "", unit);
}

const char *num_count(char out[NUM_MAX], double v)
{
	if (!isfinite(v))
		return put_unknown(out);
	if (v >= 0 && v < 1e6 && v == floor(v))
		return num_exact(out, (uint64_t)v);
	return put_scaled(out, v, "");
}

const char *num_bytes(char out[NUM_MAX], uint64_t v)
{
	return put_scaled(out, (double)v, "B");
}

const char *num_seconds(char out[NUM_MAX], double s)
{
	if (!isfinite(s))
		return put_unknown(out);
	if (s >= 99.995) {
		uint64_t whole = (uint64_t)(s + 0.5);

		if (whole >= 3600)
			(void)snprintf(out, NUM_MAX, "%llu h %llu m",
				       (unsigned long long)(whole / 3600),
				       (unsigned long long)(whole / 60 % 60));
		else
			(void)snprintf(out, NUM_MAX, "%llu m %llu s",
				       (unsigned long long)(whole / 60),
				       (unsigned long long)(whole % 60));
	} else if (s >= 0.9995 || s == 0) {
		(void)put_fixed(out, s, 2, " s", "");
	} else if (s >= 0.0009995) {
		(void)put_fixed(out, s * 1e3, 1, " ms", "");
	} else {
		(void)put_fixed(out, s * 1e6, 0, " us", "");
	}
	return out;
}

const char *num_percent(char out[NUM_MAX], double f)
{
	if (!isfinite(f))
		return put_unknown(out);
	return put_fixed(out, f * 100, 1, " %", "");
}

static int not_a(struct err *err, const char *s, const char *want)
{
	return err_set(err, ERR_USAGE, "'%.40s' is not %s", s, want);
}

int num_order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int num_parse_u64(uint64_t *out, const char *s, struct err *err)
{
	char *end;

	if (*s < '0' || *s > '9')
		return not_a(err, s, "a number");
	errno = 0;
	*out = strtoull(s, &end, s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10);
	if (errno || *end)
		return not_a(err, s, "a number that fits 64 bits");
	return 0;
}

/* A number with a fraction at s, no sign, exponent or hex; *end is behind it. */
static int plain_real(double *out, const char *s, const char **end)
{
	char digits[64];
	size_t n = strspn(s, "0123456789.");

	if (!n || n >= sizeof(digits) || *s == '.')
		return -1;
	memcpy(digits, s, n);
	digits[n] = '\0';
	if (strchr(digits, '.') != strrchr(digits, '.') || digits[n - 1] == '.')
		return -1;
	*out = strtod(digits, NULL);
	*end = s + n;
	return 0;
}

static int parse_with_unit(uint64_t *out, const char *s, double step, const char *want,
			   struct err *err)
{
	static const char letters[] = "kmgt";
	const char *end, *unit;
	double v;

	if (plain_real(&v, s, &end))
		return not_a(err, s, want);
	if (*end) {
		unit = strchr(letters, *end | 0x20);
		if (!unit || end[1])
			return not_a(err, s, want);
		for (const char *l = letters; l <= unit; l++)
			v *= step;
	}
	if (v > 9e18)
		return not_a(err, s, want);
	*out = (uint64_t)(v + 0.5);
	return 0;
}

int num_parse_scaled(uint64_t *out, const char *s, struct err *err)
{
	return parse_with_unit(out, s, 1000, "a count such as 4000, 20k or 1.5M", err);
}

int num_parse_bytes(uint64_t *out, const char *s, struct err *err)
{
	return parse_with_unit(out, s, 1024, "a size such as 4096, 64K or 1G", err);
}

int num_parse_double(double *out, const char *s, struct err *err)
{
	const char *end;

	if (plain_real(out, s, &end) || *end)
		return not_a(err, s, "a number");
	return 0;
}

int num_parse_duration(uint64_t *out_ns, const char *s, uint64_t bare_ns, struct err *err)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 },   { "us", 1e3 },   { "ms", 1e6 },  { "s", 1e9 },
		      { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 } };
	const char *end;
	double v, ns = 0;

	if (plain_real(&v, s, &end))
		return not_a(err, s, "a time such as 10ms, 5s or 2m");
	if (!*end)
		ns = (double)bare_ns;
	for (size_t i = 0; *end && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].unit))
			ns = units[i].ns;
	if (ns == 0)
		return not_a(err, s, "a time with a unit such as 10ms, 5s or 2m");
	if (v * ns > 9e18)
		return not_a(err, s, "a time that fits 64 bits of nanoseconds");
	*out_ns = (uint64_t)(v * ns + 0.5);
	return 0;
}

/* A run of digits at *s; *s moves behind it. */
static int take_digits(uint64_t *out, const char **s, uint64_t max)
{
	uint64_t v = 0;

	if (**s < '0' || **s > '9')
		return -1;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		v = v * 10 + (uint64_t)(**s - '0');
		if (v > max)
			return -1;
	}
	*out = v;
	return 0;
}

int num_parse_list(const char *s, uint64_t limit, int (*each)(void *ctx, uint64_t v), void *ctx,
		   struct err *err)
{
	const uint64_t max = UINT32_MAX;
	const char *at = s;
	uint64_t seen = 0;

	for (;;) {
		uint64_t from, to;

		if (take_digits(&from, &at, max))
			return not_a(err, s, "a list such as 0-3,8");
		to = from;
		if (*at == '-') {
			at++;
			if (take_digits(&to, &at, max) || to < from)
				return not_a(err, s, "a list such as 0-3,8");
		}
		if (to - from >= limit - seen)
			return err_set(err, ERR_LIMIT, "'%.40s' names more than %llu numbers", s,
				       (unsigned long long)limit);
		seen += to - from + 1;
		for (uint64_t v = from; v <= to; v++)
			if (each(ctx, v))
				return -1;
		if (!*at)
			return 0;
		if (*at++ != ',')
			return not_a(err, s, "a list such as 0-3,8");
	}
}

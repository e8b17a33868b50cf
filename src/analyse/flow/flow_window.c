/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "analyse/flow/flow_window.h"

/* Raised cosine, 0 just beyond either end: sin^2(pi (i + 1) / (n + 1)), whose sum is (n + 1) /
 * 2. */
static void taper(double *v, size_t n)
{
	double step = 2 * M_PI / (double)(n + 1), c = cos(step), s = sin(step), x = 1, y = 0;

	for (size_t i = 0; i < n; i++) { /* (x, y) goes round the circle */
		double t = x * c - y * s;

		y = x * s + y * c;
		x = t;
		v[i] = (1 - x) / (double)(n + 1);
	}
}

void flow_window_set(struct flow_window *w, size_t n, bool even)
{
	if (w->n == n && w->even == even)
		return;
	w->n = n;
	w->even = even;
	for (size_t i = 0; i < n; i++) {
		w->edge[i] = 1 / (double)n;
		w->span[i] = 1 / (double)(n > 1 ? n - 1 : 1);
	}
	if (even || n < 2)
		return;
	taper(w->span, n - 1);
	for (size_t i = 0; i < n; i++)
		w->edge[i] = ((i ? w->span[i - 1] : 0) + (i < n - 1 ? w->span[i] : 0)) / 2;
}

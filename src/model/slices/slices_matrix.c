/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices_matrix - the nearest symmetric matrix without negative directions, by Jacobi's rotations:
 * as good as exact for matrices of a few dozen rows.
 */
#include <math.h>
#include <string.h>

#include "model/slices/slices_int.h"

#define SWEEPS 20
#define TINY   1e-12

/* Makes m[p][q] 0; the same rotation is added to `v`, whose rows become the directions. */
static void rotate(double *m, double *v, size_t n, size_t p, size_t q)
{
	double theta = (m[q * n + q] - m[p * n + p]) / (2 * m[p * n + q]);
	double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
	double c = 1 / sqrt(t * t + 1), s = t * c;

	for (size_t k = 0; k < n; k++) {
		double a = m[k * n + p], b = m[k * n + q];

		m[k * n + p] = c * a - s * b;
		m[k * n + q] = s * a + c * b;
	}
	for (size_t k = 0; k < n; k++) {
		double a = m[p * n + k], b = m[q * n + k];

		m[p * n + k] = c * a - s * b;
		m[q * n + k] = s * a + c * b;
		a = v[p * n + k];
		b = v[q * n + k];
		v[p * n + k] = c * a - s * b;
		v[q * n + k] = s * a + c * b;
	}
}

void slices_above_0(double *m, double *room, size_t n)
{
	double *v = room, *out = room + n * n;
	bool done = false;

	memset(v, 0, 2 * n * n * sizeof(*v));
	for (size_t i = 0; i < n; i++)
		v[i * n + i] = 1;
	for (int sweep = 0; sweep < SWEEPS && !done; sweep++) {
		done = true;
		for (size_t p = 0; p + 1 < n; p++)
			for (size_t q = p + 1; q < n; q++) {
				if (!(fabs(m[p * n + q]) > TINY))
					continue;
				done = false;
				rotate(m, v, n, p, q);
			}
	}
	for (size_t k = 0; k < n; k++)
		for (size_t a = 0; a < n && m[k * n + k] > 0; a++)
			for (size_t b = 0; b < n; b++)
				out[a * n + b] += m[k * n + k] * v[k * n + a] * v[k * n + b];
	memcpy(m, out, n * n * sizeof(*m));
}

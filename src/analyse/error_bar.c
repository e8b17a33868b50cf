/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/error_bar.h"

#include <math.h>

struct error_bar error_bar_share(double w, double W, double W2)
{
	struct error_bar e = { NAN, 0, 1, 0.5 };
	double n, p, centre, spread, scale;

	if (!(W > 0) || !(W2 > 0))
		return e;
	n = W * W / W2;
	p = w / W;
	if (p < 0)
		p = 0;
	if (p > 1)
		p = 1;
	scale = 1 + Z95 * Z95 / n;
	centre = (p + Z95 * Z95 / (2 * n)) / scale;
	spread = Z95 * sqrt(p * (1 - p) / n + Z95 * Z95 / (4 * n * n)) / scale;
	e.share = w / W;
	/* at the ends centre and spread are equal but for rounding */
	e.low = p > 0 && centre > spread ? centre - spread : 0;
	e.high = p < 1 && centre + spread < 1 ? centre + spread : 1;
	e.half = (e.high - e.low) / 2;
	return e;
}

struct estimate error_bar_part(uint64_t n, uint64_t of, const char *none)
{
	struct error_bar e = error_bar_share((double)n, (double)of, (double)of);

	return of ? (struct estimate){ e.share, e.half, NULL } : ESTIMATE_NONE(none);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/error_bar.h"

#include <math.h>

struct error_bar error_bar_share(double w, double W, double W2)
{
	struct error_bar e = { NAN, 0, 1, 0.5 };

	if (!(W > 0))
		return e;
	e.share = w / W;
	if (!(W2 > 0))
		return (struct error_bar){ e.share, e.share, e.share, 0 };
	share_interval(fmin(fmax(e.share, 0), 1), W * W / W2, &e.low, &e.high);
	e.half = (e.high - e.low) / 2;
	return e;
}

struct estimate error_bar_part(uint64_t n, uint64_t of, const char *none)
{
	struct error_bar e = error_bar_share((double)n, (double)of, (double)of);

	return of ? (struct estimate){ e.share, e.half, NULL } : ESTIMATE_NONE(none);
}

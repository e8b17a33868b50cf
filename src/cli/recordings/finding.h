/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * finding - findings beside other results: the first lines of report and run.
 *
 *	if (findings_are_cheap(r))
 *		v = findings_look(&x, NULL, &ask, &given)
 *	... v, while x lives ...
 *	result_free(&x)
 */
#ifndef CYCLADE_CLI_RECORDINGS_FINDING_H
#define CYCLADE_CLI_RECORDINGS_FINDING_H

#include "cli/recordings/result.h"
#include "report/findings_view.h"

/* Samples of a recording, some 0.3 us each: with more, findings are those of --findings alone. */
#define FINDINGS_CHEAP 50000
/* Frames of a chain, beside other results: causes are near the innermost one. */
#define FINDINGS_DEEP 64

bool findings_are_cheap(const struct recording *r);
struct finding_given {			 /* what is made already, or made beside */
	const struct wait *wait;	 /* NULL: it is not */
	const struct profile_opts *rows; /* NULL: none; they have KEY_DSO and KEY_SYM */
};
/* One walk. `rows` gets the profile of these options, which *out has; NULL: not wanted. Returns
 * NULL if there are no findings, for whatever reason; *out is freed in any case. */
const struct findings_view *findings_look(struct result *out, const struct profile **rows,
					  const struct result_ask *ask,
					  const struct finding_given *given) MUST_USE;

#endif

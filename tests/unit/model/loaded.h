/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loaded - a model that is compiled in, and its limits on a machine of which no more is known.
 */
#ifndef TESTS_UNIT_MODEL_LOADED_H
#define TESTS_UNIT_MODEL_LOADED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/model.h"
#include "model/schedule.h"

/* `system`: SYSTEM_COUNT facts of the machine. The model is the caller's, for model_free. */
static inline void load(struct model **m, struct schedule_limits *l, double *system, const char *id,
			bool smt)
{
	const struct model_sources none = { .n_dirs = 0 };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	system[SYSTEM_SMT_ON] = smt;
	system[SYSTEM_CORE_WIDE] = 1;
	if (model_load(m, &none, id, system, &err))
		fail_msg("%s", err.what);
	*l = (struct schedule_limits){ .counters = smt ? (*m)->counters : (*m)->counters_alone,
				       .fixed = (*m)->fixed,
				       .smt = smt,
				       .offcore = 2 };
}

#endif

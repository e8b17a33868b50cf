/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_more - objects that several reports have, in the same words.
 */
#ifndef CYCLADE_REPORT_JSON_MORE_H
#define CYCLADE_REPORT_JSON_MORE_H

#include "analyse/flow.h"
#include "analyse/profile.h"
#include "base/json.h"

static inline void json_flow(struct json *j, const char *key, struct flow_value v)
{
	json_object(j, key);
	json_real(j, "value", v.v);
	json_real(j, "error", v.half);
	if (v.leans)
		json_bool(j, "leans", true);
	if (v.why)
		json_str(j, "why", v.why);
	json_end_object(j);
}

static inline void json_tally(struct json *j, const char *key, const struct tally *t)
{
	json_object(j, key);
	json_u64(j, "samples", t->samples);
	json_u64(j, "period", t->period);
	json_end_object(j);
}

#endif

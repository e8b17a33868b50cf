/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_more - objects that several reports have, in the same words.
 */
#ifndef CYCLADE_REPORT_JSON_MORE_H
#define CYCLADE_REPORT_JSON_MORE_H

#include "analyse/profile.h"
#include "base/json.h"

static inline void json_tally(struct json *j, const char *key, const struct tally *t)
{
	json_object(j, key);
	json_u64(j, "samples", t->samples);
	json_u64(j, "period", t->period);
	json_end_object(j);
}

#endif

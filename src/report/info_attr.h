/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_attr - an event's attribute in words, for `cyclade info`. Bits that no table knows are shown
 * by number, never left out.
 */
#ifndef CYCLADE_REPORT_INFO_ATTR_H
#define CYCLADE_REPORT_INFO_ATTR_H

#include "base/arena.h"
#include "base/buf.h"
#include "perfdata/perfdata.h"

enum attr_bits { ATTR_SAMPLE, ATTR_READ, ATTR_BRANCH };

/* The names of the bits, one after another, in the arena. */
const char *const *attr_bits(struct arena *a, enum attr_bits kind, uint64_t bits, size_t *n);
/* "4000 samples a second; user only; precise 2" */
void attr_put_how(struct buf *b, const struct pd_event *ev);
/* The PMU's kind: "hardware", "tracepoint", a name of `info`, or "type 9". */
void attr_put_kind(struct buf *b, const struct pd_info *info, uint32_t type);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk_hook - actions of the one walk on certain records; named by record.def. `p` holds a whole
 * record of at least the row's least size, in host order. -1 only for lack of memory.
 */
#ifndef CYCLADE_PERFDATA_WALK_HOOK_H
#define CYCLADE_PERFDATA_WALK_HOOK_H

#include "perfdata/perfdata_int.h"

#define HOOK(name) int hook_##name(struct walk *w, uint8_t *p, size_t size, struct err *err)
HOOK(lost);
HOOK(throttle);
HOOK(unthrottle);
HOOK(read);
HOOK(aux);
HOOK(lost_samples);
HOOK(attr);
HOOK(event_type);
HOOK(tracing_data);
HOOK(build_id);
HOOK(auxtrace_info);
HOOK(auxtrace);
HOOK(stat);
HOOK(deferred);
HOOK(event_update);
HOOK(feature);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_filter - --filter: a condition on a tracepoint's fields, which the kernel evaluates before
 * it takes a sample or counts (PERF_EVENT_IOC_SET_FILTER).
 *
 *	count > 100 && (comm ~ "git*" || !(flags & 0x80))
 *
 * The kernel answers a wrong one with EINVAL and nothing else, so that it is checked before, by the
 * tracepoint's format and the kernel's grammar (kernel/trace/trace_events_filter.c).
 */
#ifndef CYCLADE_MEASURE_TRACE_FILTER_H
#define CYCLADE_MEASURE_TRACE_FILTER_H

#include "collect/event.h"
#include "measure/measure_opts.h"
#include "perfdata/trace.h"

/* An error has the reason, and as its hint the text with a caret below the place. */
int trace_filter_check(const char *text, const struct trace_format *f, const char *event,
		       struct err *err) MUST_USE;
/* Sets the filters of the events that were parsed of opts->event: those of opts->event.v[i] begin
 * at first[i], first[n] is their end. */
int trace_filters_set(struct event_list *list, const size_t *first, const char *root,
		      const struct measure_opts *opts, struct err *err) MUST_USE;

#endif

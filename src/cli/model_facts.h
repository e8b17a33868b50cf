/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_facts - what is told of a model's metrics and events, in words and as facts.
 */
#ifndef CYCLADE_CLI_MODEL_FACTS_H
#define CYCLADE_CLI_MODEL_FACTS_H

#include "cli/facts_out.h"
#include "model/model.h"

size_t metric_facts(const struct model *m, uint32_t metric, struct fact *out);
/* Its formula, or one that it refers to, asks for the retire latency of an event. */
bool metric_asks_latency(const struct model *m, uint32_t metric);
size_t event_facts(const struct model *m, uint32_t event, struct fact *out);

/* "0-3" of bits 0..3; "" of none. Static per call: `out` has 64 bytes. */
const char *counter_spans(uint32_t bits, char out[64]);
/* "counters 0-3 (0-7 with SMT off), fixed 1", "no counter" */
void put_counters(struct buf *b, const struct model_event *e);
/* What a person gives -e for it: its name, "MEM_LOAD_RETIRED.L3_MISS:pp"; the code on `pmu` where
 * formulas made an event of their own. Precise where it can be. */
void put_event_option(struct buf *b, const struct model_event *e, const char *pmu);
/* "slots, precise, ..." */
void put_flags(struct buf *b, unsigned flags);

#endif

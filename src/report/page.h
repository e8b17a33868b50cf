/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page - lines for people, as wide as what they are read on. Private to report.
 *
 * Texts from outside are made safe and cut where the width ends; numbers never are.
 */
#ifndef CYCLADE_REPORT_PAGE_H
#define CYCLADE_REPORT_PAGE_H

#include "analyse/flow.h"
#include "base/buf.h"
#include "base/num.h"
#include "report/style.h"
#include "report/view.h"

struct page {
	struct buf *out;
	const struct style *st;
	struct buf text; /* scratch, to be freed */
};

void page_ink(struct page *p, enum ink i);
void page_end(struct page *p); /* of a line; without blanks at its end */
/* In so many columns, padded to them unless `last`; 0: as many as it needs. */
void page_text(struct page *p, const char *s, size_t width, bool last);
/* In so many columns a name and what stands behind it ("+0x1a"), of which the name is cut. */
void page_named(struct page *p, const char *name, const char *tail, size_t width);
/* What is left of the width behind so many columns. */
size_t page_room(const struct page *p, size_t used);
/* " label   text that goes on in the next line" */
void page_fact(struct page *p, const char *label, bool bad, const char *fmt, ...) PRINTF_(4, 5);
/* Two lines: what was recorded, and where. */
void page_head(struct page *p, const struct view_source *source);
/* What is said of every recording: losses, notes. */
void page_recording(struct page *p, const struct view_source *source);

/* Samples of events that come without branch stacks: of no concern to what is made of stacks. */
uint64_t page_other_samples(const struct view_source *source);
/* How many samples there are, with stacks, without, of other events, left out, not readable. */
void page_stacks(struct page *p, const struct view_source *source, const struct flow_sums *s);

/* "+-1.2 %" of its value. */
const char *page_error(char out[NUM_MAX], struct flow_value v);
/* Three digits or more of what is an estimate: whole numbers from a hundred on. */
const char *page_estimate(char out[NUM_MAX], double v);
/* "12 %", "0.3 %"; "-" where it is not known. */
const char *page_share(char out[NUM_MAX], double v);

#endif

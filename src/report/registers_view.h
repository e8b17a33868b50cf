/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registers_view - values of registers, as a document.
 *
 *	registers_end, registers_view_choose, registers_read_end	(analyse/registers.h)
 *	registers_put(&document, &view)
 *
 * Of functions' entries those registers are shown that hold arguments, unless `all` asks for the
 * others, too; of other instructions all.
 */
#ifndef CYCLADE_REPORT_REGISTERS_VIEW_H
#define CYCLADE_REPORT_REGISTERS_VIEW_H

#include "analyse/registers.h"
#include "report/view.h"
#include "show/document.h"

struct registers_view {
	const struct registers *r;
	struct images *images;
	const struct pd_event *event;
	struct view_source source;
	bool all;
	uint64_t more; /* entries that --limit leaves out */
};

/* Marks the places to show. `function`: a name as annotate takes it, with `+0xOFFSET` or `:OFFSET`
 * behind it for another instruction than its first; NULL: functions' entries, most samples first,
 * `limit` of them. `at`: n addresses, the file's own or as sampled, or names with offsets, in
 * addition. ERR_NOT_FOUND names the place without samples, and the event to record. */
int registers_view_choose(struct registers_view *v, struct registers *r, const char *function,
			  const char *const *at, size_t n, size_t limit, struct err *err) MUST_USE;

/* Tables and lines; the view must outlive the document. */
extern const struct document_form registers_document;
void registers_put(struct document *d, const struct registers_view *v);

/* ---- shared by the tables -------------------------------------------------------------------- */

const char *registers_dso(const struct registers_view *v, const struct registers_place *p);
/* Sets the ELF's own address; returns false if it has none. */
bool registers_vaddr(const struct registers_view *v, const struct registers_place *p,
		     uint64_t *out);
/* "work", "work+0x1c", "0x1139" */
void registers_put_place(struct buf *b, const struct registers_place *p);
/* Returns true if this register of this place is to be shown. */
bool registers_shown(const struct registers_view *v, const struct registers_place *p,
		     const struct registers_cell *c);
/* A value as the guess has it: "-3", "12", "0x7ffd12345678". */
const char *registers_put_value(char out[24], enum registers_guess g, uint64_t v);

#endif

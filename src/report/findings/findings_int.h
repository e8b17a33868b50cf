/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * findings_int - findings_words.c makes the sentences, findings_tables.c the document.
 */
#ifndef CYCLADE_REPORT_FINDINGS_FINDINGS_INT_H
#define CYCLADE_REPORT_FINDINGS_FINDINGS_INT_H

#include "report/findings_view.h"

/* Puts a finding's sentence, without a full stop. */
void finding_put_statement(struct buf *b, const struct findings_view *v, const struct finding *f);
/* Puts a name, made safe for a terminal and folded to `most` columns. */
void finding_put_name(struct buf *b, const char *name, size_t most);
void finding_put_headline(struct buf *b, const struct findings_view *v);

#endif

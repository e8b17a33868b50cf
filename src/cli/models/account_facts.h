/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_facts - what is told of the nodes of a model's cycle accounting, as facts and in words.
 */
#ifndef CYCLADE_CLI_ACCOUNT_FACTS_H
#define CYCLADE_CLI_ACCOUNT_FACTS_H

#include "cli/facts_out.h"
#include "model/account.h"

const char *account_part_word(enum account_part part);
const char *account_cover_word(enum account_cover cover);
/* "EVENT x 167 cycles of the reference clock", the formula, "the sum of A, B", "not measured" */
void put_account_cost(struct buf *b, const struct account *acc, uint32_t node);
size_t account_facts(const struct account *acc, uint32_t node, struct fact *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cell_json - a cell's figure in all json: equal cells have equal texts.
 */
#ifndef CYCLADE_SHOW_CELL_JSON_H
#define CYCLADE_SHOW_CELL_JSON_H

#include "base/json.h"
#include "show/table.h"

/* Puts a cell that has a value, which is no text and no list. */
void cell_json(struct json *j, const char *key, const struct table_cell *x);

#endif

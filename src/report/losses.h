/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * losses - what a recording lost, each kind of it, whether there is any or not.
 */
#ifndef CYCLADE_REPORT_LOSSES_H
#define CYCLADE_REPORT_LOSSES_H

#include "base/json.h"
#include "perfdata/perfdata.h"

void losses_json(struct json *j, const struct pd_losses *l); /* "losses": {...} */

#endif

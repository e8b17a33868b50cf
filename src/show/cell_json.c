/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/cell_json.h"

void cell_json(struct json *j, const char *key, const struct table_cell *x)
{
	switch (x->kind) {
	case T_TEXT:
	case T_LIST:
		break;
	case T_ID:
	case T_COUNT:
	case T_BYTES:
		json_u64(j, key, x->n);
		break;
	case T_SIGNED:
		json_i64(j, key, x->i);
		break;
	case T_ADDRESS:
		json_hex(j, key, x->n);
		break;
	case T_FLAG:
		json_bool(j, key, x->n);
		break;
	case T_AMOUNT:
	case T_REAL:
	case T_SHARE:
	case T_SECONDS:
		json_real(j, key, x->e.v);
		break;
	}
}

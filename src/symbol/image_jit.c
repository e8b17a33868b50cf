/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that a process made while it ran.
 */
#include "symbol/image_int.h"

int image_load_jit(struct images *set, struct image *im, struct err *err)
{
	(void)set;
	(void)err;
	buf_printf(&im->origin, "%s: symbols of JIT code are not read yet", im->key.path);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel and its modules.
 */
#include "symbol/image_int.h"

int image_locate_kernel(struct images *set, struct image *im, struct err *err)
{
	(void)set;
	(void)im;
	(void)err;
	return 0;
}

int image_load_kernel(struct images *set, struct image *im, struct err *err)
{
	(void)set;
	(void)err;
	buf_printf(&im->origin, "%s: kernel symbols are not read yet", im->key.path);
	return 0;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	(void)k;
}

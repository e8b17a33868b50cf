/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of images share. */
#ifndef CYCLADE_TESTS_FRESH_H
#define CYCLADE_TESTS_FRESH_H

#include <stddef.h>

#include <cmocka.h>

#include "symbol/image.h"

/* A set with these options, or without any, that trusts paths. */
static inline struct images *fresh(const struct images_opts *o)
{
	struct images_opts opts = o ? *o : (struct images_opts){ 0 };
	struct err err = ERR_INIT;
	struct images *set;

	opts.trust_paths = true;
	set = images_new(&opts, &err);
	assert_non_null(set);
	return set;
}

#endif

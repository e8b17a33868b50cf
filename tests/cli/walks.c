/* SPDX-License-Identifier: BSD-3-Clause */
/* The program, which also prints how often it walked over the samples of recordings. */
int cyclade_main(int argc, char **argv);
#define main cyclade_main
#include "../../src/cli/main.c"
#undef main

#include "analyse/pass.h"

int main(int argc, char **argv)
{
	int code = cyclade_main(argc, argv);

	(void)fprintf(stderr, "walks %u\n", pass_walks());
	return code;
}

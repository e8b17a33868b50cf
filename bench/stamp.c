/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stamp - prints the time, ns of CLOCK_MONOTONIC, as soon as it runs: what `measure -x` reads.
 * Linked statically, so that neither the loader nor anything preloaded comes before.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

int main(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	printf("%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	return 0;
}

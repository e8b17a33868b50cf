/* SPDX-License-Identifier: BSD-3-Clause */
/* spin MS: uses the CPU for that many ms of its own time, so that a simulated program is as long on
 * a busy machine as on an idle one. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	double wanted = argc > 1 ? strtod(argv[1], NULL) : 100;
	volatile uint64_t x = 1;
	struct timespec t;

	do {
		for (int i = 0; i < 20000; i++)
			x = x * 3 + 1;
		if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
			return 1;
	} while ((double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 < wanted);
	return 0;
}

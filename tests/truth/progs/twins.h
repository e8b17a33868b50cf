/* SPDX-License-Identifier: BSD-3-Clause */
/* A static function that begins at the same line of each program that has it. */
NOINLINE static unsigned shared(unsigned x)
{
	for (unsigned i = 0; i < 3; i++) {
		x ^= x >> 3;
		KEEP;
	}
	return x;
}

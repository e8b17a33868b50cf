/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a page: lays out its rows, paints them, writes the picture.
 *
 *	cc -O2 -g -o render-1 render.c && cc -O2 -g -DVERSION=2 -o render-2 render.c
 *
 * Version 2 has a new feature, and lays out each row twice: a mistake that its author did
 * not see.
 */
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#ifndef VERSION
#define VERSION 1
#endif
#define ROWS 2000

static uint32_t mix(uint32_t s, int n)
{
	for (int i = 0; i < n; i++)
		s = (s ^ (s >> 15)) * 0x9e3779b1u;
	return s;
}

NOINLINE static uint32_t lay_out_row(uint32_t s)
{
	return mix(s, 8000) + 1;
}

NOINLINE static uint32_t paint_row(uint32_t s)
{
	return mix(s, 16000) + 2;
}

NOINLINE static uint32_t write_row(uint32_t s)
{
	return mix(s, 4000) + 3;
}

int main(void)
{
	uint32_t s = 1;

	for (int row = 0; row < ROWS; row++) {
		s = lay_out_row(s);
		if (VERSION > 1)
			s = lay_out_row(s);
		s = write_row(paint_row(s));
	}
	printf("%u\n", s);
	return 0;
}

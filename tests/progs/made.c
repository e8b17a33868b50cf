/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * made - runs code that it made at run time, for so many milliseconds of processor time.
 *
 *	made MILLISECONDS [FILE] [map]
 *
 * Maps FILE as if it were a library; with `map` it names the code in /tmp/perf-PID.map: made_code.
 * Prints its process number.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Counts its argument down to 0. */
#if defined(__x86_64__)
static const uint8_t code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
static const uint8_t code[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#else
#error "the code of a loop for this machine is missing"
#endif

static int write_map(const void *at)
{
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "wx");
	if (!f)
		return -1;
	(void)fprintf(f, "%" PRIxPTR " %zx made_code\n", (uintptr_t)at, sizeof(code));
	return fclose(f);
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	int library = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec t = { 0 };
	void (*f)(uint64_t);

	if (memory == MAP_FAILED)
		return 1;
	if (library >= 0 &&
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, library, 0) == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	__builtin___clear_cache(memory, (char *)memory + sizeof(code));
	memcpy(&f, &memory, sizeof(f));
	if (argc > 3 && write_map(memory))
		return 1;
	(void)printf("%d\n", (int)getpid());
	while ((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 < ms) {
		f(1000000);
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	}
	return 0;
}

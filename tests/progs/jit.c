/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jit - makes code at one address twice, as a just-in-time compiler that uses its memory again
 * does, and tells of it in ./jit-PID.dump: first_code runs for so many milliseconds of processor
 * time, then second_code for three times as many at the same place, then elsewhere, moved, for as
 * many as the first.
 *
 *	jit MILLISECONDS
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CODE_MAX 4096u

/* Counts its argument down to 0. */
#if defined(__x86_64__)
static const uint8_t code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#define MACHINE 62
#elif defined(__aarch64__)
static const uint8_t code[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#define MACHINE 183
#else
#error "the code of a loop for this machine is missing"
#endif

static int dump;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put(const void *p, size_t len)
{
	if (write(dump, p, len) != (ssize_t)len)
		exit(2);
}

static void put_header(void)
{
	const uint32_t head[6] = { 0x4a695444, 1, 40, MACHINE, 0, (uint32_t)getpid() };
	const uint64_t tail[2] = { now(CLOCK_MONOTONIC), 0 };

	put(head, sizeof(head));
	put(tail, sizeof(tail));
}

static void put_prefix(uint32_t id, size_t body, void *at)
{
	const uint32_t head[2] = { id, (uint32_t)(16 + body) },
		       who[2] = { (uint32_t)getpid(), (uint32_t)getpid() };
	const uint64_t when = now(CLOCK_MONOTONIC), vma = (uint64_t)(uintptr_t)at;

	put(head, sizeof(head));
	put(&when, sizeof(when));
	put(who, sizeof(who));
	put(&vma, sizeof(vma));
}

static void load(void *at, uint64_t index, const char *name)
{
	const uint64_t tail[3] = { (uint64_t)(uintptr_t)at, sizeof(code), index };

	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, (char *)at + sizeof(code));
	put_prefix(0, 16 + sizeof(tail) + strlen(name) + 1 + sizeof(code), at);
	put(tail, sizeof(tail));
	put(name, strlen(name) + 1);
	put(code, sizeof(code));
}

static void move(void *from, void *to, uint64_t index)
{
	const uint64_t tail[4] = { (uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to, sizeof(code),
				   index };

	memcpy(to, code, sizeof(code));
	__builtin___clear_cache(to, (char *)to + sizeof(code));
	put_prefix(1, 16 + sizeof(tail), to);
	put(tail, sizeof(tail));
}

static void run(void *at, uint64_t ms)
{
	uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID) + ms * 1000000u;
	void (*f)(uint64_t);

	memcpy(&f, &at, sizeof(f));
	while (now(CLOCK_PROCESS_CPUTIME_ID) < end)
		f(1000000);
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	uint8_t *memory = mmap(NULL, CODE_MAX, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];

	(void)snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	dump = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (dump < 0 || memory == MAP_FAILED)
		return 1;
	put_header();
	/* how a recorder learns of the file */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		return 1;
	load(memory, 1, "first_code");
	run(memory, ms);
	load(memory, 2, "second_code");
	run(memory, 3 * ms);
	move(memory, memory + 2048, 2);
	run(memory + 2048, ms);
	return 0;
}

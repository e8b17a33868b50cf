/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/alive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/sysfs.h"

#define WORDS  (1u << 19) /* 4 MiB */
#define LOADS  20000u
#define CALLS  20000u
#define ENTERS 100u
#define TRIES  3

/* ---- stalls ------------------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t odd(uint64_t x)
{
	return x * 0x9e3779b97f4a7c15u;
}

static __attribute__((noinline)) uint64_t even(uint64_t x)
{
	return (x ^ x >> 29) + 0x7f4a7c15u;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Each load's address is made of the word that the one before it returned. */
static uint64_t chase(volatile uint64_t *memory, uint64_t *state)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < LOADS; i++)
		at = (memory[at] + next_random(state)) % WORDS;
	return at;
}

static uint64_t alive_work(uint64_t *memory)
{
	uint64_t (*volatile const to[])(uint64_t) = { odd, even };
	uint64_t state = 88172645463325252u, sum = 0;

	if (memory)
		sum += chase(memory, &state);
	for (unsigned i = 0; i < CALLS; i++)
		sum = to[next_random(&state) >> 40 & 1](sum);
	for (unsigned i = 0; i < ENTERS; i++)
		sum += (uint64_t)syscall(SYS_getppid);
	return sum;
}

/* ---- the test ---------------------------------------------------------------------------- */

static int open_alone(struct perf_event_attr *a)
{
	int fd = (int)syscall(SYS_perf_event_open, a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 || (errno != EACCES && errno != EPERM) || a->exclude_kernel || a->exclude_user)
		return fd;
	a->exclude_kernel = 1;
	return (int)syscall(SYS_perf_event_open, a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

enum alive alive_test(const struct perf_event_attr *attr)
{
	struct perf_event_attr a = { .type = attr->type,
				     .size = sizeof(a),
				     .config = attr->config,
				     .config1 = attr->config1,
				     .config2 = attr->config2,
				     .exclude_user = attr->exclude_user,
				     .exclude_kernel = attr->exclude_kernel,
				     .exclude_hv = attr->exclude_hv,
				     .exclude_guest = attr->exclude_guest,
				     .exclude_host = attr->exclude_host,
				     .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						    PERF_FORMAT_TOTAL_TIME_RUNNING };
	struct {
		uint64_t value, enabled, running;
	} now = { 0, 0, 0 };
	enum alive found = ALIVE_UNKNOWN;
	int fd = open_alone(&a);

	if (fd < 0)
		return ALIVE_UNKNOWN;
	for (int i = 0; i < TRIES && found == ALIVE_UNKNOWN; i++) {
		uint64_t *memory = calloc(WORDS, sizeof(*memory));
		volatile uint64_t sum = alive_work(memory);

		(void)sum;
		free(memory);
		if (read(fd, &now, sizeof(now)) != sizeof(now))
			break;
		if (now.value)
			found = ALIVE_YES;
		else if (now.running && now.running == now.enabled)
			found = ALIVE_NO;
	}
	(void)close(fd);
	return found;
}

/* ---- the driver's list --------------------------------------------------------------- */

#define EVENTS "sys/bus/event_source/devices/%.60s/events"
#define CODES  0x38u
#define CHAIN  0x1eu
#define CYCLES 0x11u /* every Arm PMU has it: without it the list is not of codes, or not there */

static uint64_t listed_codes(struct arena *a, const char *root, const char *pmu)
{
	const char *const *name;
	uint64_t bits = 0;
	size_t n;

	if (!sys_names(a, &name, &n, root, EVENTS, pmu))
		return 0;
	for (size_t i = 0; i < n; i++) {
		char text[64];
		unsigned code;

		if (sys_read(text, sizeof(text), root, EVENTS "/%.200s", pmu, name[i]) > 0 &&
		    sscanf(text, "event=%x", &code) == 1 && code < CODES)
			bits |= 1ULL << code;
	}
	return bits;
}

uint64_t alive_missing(struct arena *a, const char *root, const char *pmu)
{
	uint64_t listed = strncmp(pmu, "armv8", 5) != 0 ? 0 : listed_codes(a, root, pmu);

	return listed >> CYCLES & 1 ? ~listed & ((1ULL << CODES) - 1) & ~(1ULL << CHAIN) : 0;
}

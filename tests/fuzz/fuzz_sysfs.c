/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of /sys and /proc: numbers, CPU lists, PMU formats, /proc/cpuinfo; and, for input that
 * begins like one, the search for a symbol in an ELF file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/events/event_int.h"
#include "collect/machine/machine_int.h"
#include "collect/sysfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void elf(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	char path[64];
	uint64_t offset;
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size &&
	    elf_symbol_offset(path, "main", &offset, &err) && err.code == ERR_NONE)
		abort();
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct arena a = ARENA_INIT;
	struct machine m = { 0 };
	struct pmu_format f;
	const uint32_t *list;
	int64_t number;
	size_t n;
	bool guest;

	if (size > 4 && !memcmp(data, "\177ELF", 4)) {
		elf(data, size);
		return 0;
	}
	if (text_number(&number, text, size) && number == INT64_MIN)
		abort();
	if (!cpu_list_parse(&a, text, size, &list, &n))
		for (size_t i = 0; i < n; i++)
			if (list[i] >= CPU_LIST_MAX || (i && list[i] <= list[i - 1]))
				abort();
	if (pmu_format_parse(&f, text, size)) {
		uint64_t all = pmu_format_put(&f, 0, pmu_format_max(&f));

		if (all != f.mask || pmu_format_put(&f, all, 0))
			abort();
	}
	if (machine_cpuinfo(&m, &a, text, size, &guest))
		abort();
	arena_free(&a);
	return 0;
}

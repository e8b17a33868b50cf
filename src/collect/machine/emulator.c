/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/emulator.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *hypervisor, *why; /* machine_virt.c */
} guests[] = {
	{ "QEMU TCG guest", "QEMU emulates the CPU of this guest (TCG)" },
	{ "QEMU guest", "QEMU may emulate the CPU of this guest: nothing here shows KVM" },
	{ "guest of an unknown hypervisor",
	  "the CPU of this guest may be emulated: its hypervisor has no name" },
};

int emulator_why(const char **why, struct arena *a, const char *hypervisor, struct err *err)
{
	char self[PATH_MAX], thread[PATH_MAX], *name;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	ssize_t k = readlink("/proc/thread-self/exe", thread, sizeof(thread) - 1);

	*why = NULL;
	self[n > 0 ? n : 0] = thread[k > 0 ? k : 0] = '\0';
	/* qemu-user answers for the one, and forgets the other */
	if (n > 0 && k > 0 && strcmp(self, thread) != 0) {
		name = strrchr(thread, '/');
		*why = arena_printf(a, "this program runs in %s, which emulates the CPU",
				    name ? name + 1 : thread);
		return *why ? 0 : err_nomem(err);
	}
	for (size_t i = 0; hypervisor && i < sizeof(guests) / sizeof(guests[0]); i++)
		if (!strcmp(hypervisor, guests[i].hypervisor))
			*why = guests[i].why;
	return 0;
}

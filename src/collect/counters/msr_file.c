/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/counters/msr_int.h"

static const char *why(int number, bool writing)
{
	switch (number) {
	case EIO:
		return "the CPU has no such register, or a hypervisor keeps it";
	case ENXIO:
		return "the CPU went offline";
	case EPERM:
	case EACCES:
		return writing ? "the kernel lets nobody write registers: it is locked down "
				 "(Secure Boot), or msr.allow_writes is off"
			       : "the kernel does not let this process read registers";
	default:
		return "its register cannot be read or written";
	}
}

const char *msr_read(int fd, uint32_t reg, uint64_t *out)
{
	if (pread(fd, out, sizeof(*out), (off_t)reg) == (ssize_t)sizeof(*out))
		return NULL;
	return why(errno, false);
}

const char *msr_write(int fd, uint32_t reg, uint64_t v)
{
	if (pwrite(fd, &v, sizeof(v), (off_t)reg) == (ssize_t)sizeof(v))
		return NULL;
	return why(errno, true);
}

int msr_file_open(uint32_t cpu, struct err *err)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/dev/cpu/%u/msr", (unsigned)cpu);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	(void)err_sys(err, "%s", path);
	if (errno == ENOENT)
		return err_hint(err,
				"as root: modprobe msr (a virtual machine has no such counters)");
	if (errno == EACCES || errno == EPERM)
		return err_hint(err, "registers are root's (CAP_SYS_RAWIO, and the right to write "
				     "the file); --backend perf needs CAP_PERFMON only");
	return -1;
}

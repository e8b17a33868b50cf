/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/perf_abi.h"

#include "symbol/space.h"

enum space_kind space_kind_of_misc(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return SPACE_KERNEL;
	case PERF_RECORD_MISC_USER:
		return SPACE_USER;
	case PERF_RECORD_MISC_HYPERVISOR:
		return SPACE_HYPERVISOR;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return SPACE_GUEST_KERNEL;
	case PERF_RECORD_MISC_GUEST_USER:
		return SPACE_GUEST_USER;
	default:
		return SPACE_UNKNOWN;
	}
}

/* Those of guests are not in all headers. */
enum space_kind space_kind_of_marker(uint64_t ip)
{
	switch ((int64_t)ip) {
	case -32: /* PERF_CONTEXT_HV */
		return SPACE_HYPERVISOR;
	case -128: /* PERF_CONTEXT_KERNEL */
		return SPACE_KERNEL;
	case -512: /* PERF_CONTEXT_USER */
		return SPACE_USER;
	case -2048: /* PERF_CONTEXT_GUEST */
	case -2560: /* PERF_CONTEXT_GUEST_USER */
		return SPACE_GUEST_USER;
	case -2176: /* PERF_CONTEXT_GUEST_KERNEL */
		return SPACE_GUEST_KERNEL;
	default:
		return SPACE_UNKNOWN;
	}
}

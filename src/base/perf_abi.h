/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_abi - the kernel's perf_event interface, up to today's.
 *
 * <linux/perf_event.h> of Debian 12 is of Linux 6.1 (attr size 128). Additions of newer kernels are
 * given here under #ifndef, so that recordings of newer machines can be read and their features
 * asked for. Source: include/uapi/linux/perf_event.h of Linux 6.19.
 */
#ifndef CYCLADE_BASE_PERF_ABI_H
#define CYCLADE_BASE_PERF_ABI_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

/* Largest attribute this program understands: config3 (136), config4 (144). */
#ifndef PERF_ATTR_SIZE_VER8
#define PERF_ATTR_SIZE_VER8 136
#endif
#ifndef PERF_ATTR_SIZE_VER9
#define PERF_ATTR_SIZE_VER9 144
#endif
#define PERF_ATTR_SIZE_MAX PERF_ATTR_SIZE_VER9

/* Bits of attr.flags (the u64 behind read_format), by position, as the kernel numbers them. Used if
 * the header's bit-fields may be older than the recording. */
#define CYC_ATTR_DEFER_CALLCHAIN (1ULL << 38) /* Linux 6.19 */
#define CYC_ATTR_DEFER_OUTPUT	 (1ULL << 39)

static inline uint64_t attr_flags(const struct perf_event_attr *a)
{
	uint64_t flags;

	memcpy(&flags, (const char *)a + 40, sizeof(flags));
	return flags;
}

#ifndef PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT
#define PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT (1 << 12)
#endif

#define CYC_SAMPLE_BRANCH_COUNTERS (1ULL << 19) /* PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8 */
#define CYC_MEM_LVLNUM_UNC	   0x8		/* newer mem_lvl_num values */
#define CYC_MEM_LVLNUM_CXL	   0x9

/* The user part of call chains whose samples end with this marker and a cookie: the cookie, n,
 * n addresses. */
#define PD_RECORD_CALLCHAIN_DEFERRED 22
#define CYC_CONTEXT_USER_DEFERRED    ((uint64_t)-640)

/* Records that perf itself writes (tools/perf/util/event.h), from 64 on. */
enum pd_user_record {
	PD_RECORD_HEADER_ATTR = 64,
	PD_RECORD_EVENT_TYPE = 65,
	PD_RECORD_TRACING_DATA = 66,
	PD_RECORD_BUILD_ID = 67,
	PD_RECORD_FINISHED_ROUND = 68,
	PD_RECORD_ID_INDEX = 69,
	PD_RECORD_AUXTRACE_INFO = 70,
	PD_RECORD_AUXTRACE = 71,
	PD_RECORD_AUXTRACE_ERROR = 72,
	PD_RECORD_THREAD_MAP = 73,
	PD_RECORD_CPU_MAP = 74,
	PD_RECORD_STAT_CONFIG = 75,
	PD_RECORD_STAT = 76,
	PD_RECORD_STAT_ROUND = 77,
	PD_RECORD_EVENT_UPDATE = 78,
	PD_RECORD_TIME_CONV = 79,
	PD_RECORD_FEATURE = 80,
	PD_RECORD_COMPRESSED = 81,
	PD_RECORD_FINISHED_INIT = 82,
	PD_RECORD_COMPRESSED2 = 83,
	PD_RECORD_BPF_METADATA = 84,
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leaks - memory that a library allocates between LEAKS_BEGIN() and LEAKS_END() and never frees is
 * not reported by a build that looks for leaks: it is not ours to mend.
 */
#ifndef CYCLADE_BASE_LEAKS_H
#define CYCLADE_BASE_LEAKS_H

#ifdef __has_feature
#define LEAKS_WATCHED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define LEAKS_WATCHED 1
#else
#define LEAKS_WATCHED 0
#endif
#if LEAKS_WATCHED
#include <sanitizer/lsan_interface.h>
#define LEAKS_BEGIN() __lsan_disable()
#define LEAKS_END()   __lsan_enable()
#else
#define LEAKS_BEGIN() ((void)0)
#define LEAKS_END()   ((void)0)
#endif

#endif

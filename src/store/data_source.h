/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data_source - the words of PERF_SAMPLE_DATA_SRC (union perf_mem_data_src of the kernel). NULL:
 * not recorded for this sample.
 */
#ifndef CYCLADE_STORE_DATA_SOURCE_H
#define CYCLADE_STORE_DATA_SOURCE_H

#include <stdint.h>

const char *data_op(uint64_t src);
const char *data_level(uint64_t src);
int data_hit(uint64_t src); /* 1, 0; -1: not known */
const char *data_snoop(uint64_t src);
const char *data_tlb(uint64_t src);
int data_locked(uint64_t src);
int data_remote(uint64_t src);

#endif

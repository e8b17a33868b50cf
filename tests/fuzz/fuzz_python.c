/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the memory of a process that runs CPython, or as the interpreter's file: frames have
 * names and files that end, in UTF-8 without control characters, and it ends soon.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "symbol/python.h"

#define BASE 0x10000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct process {
	const uint8_t *p;
	size_t len;
	unsigned reads;
};

static bool read_bytes(void *ctx, uint64_t addr, void *to, size_t n)
{
	struct process *m = ctx;

	if (m->reads++ > 1000000)
		abort();
	if (addr < BASE || addr - BASE > m->len || n > m->len - (addr - BASE))
		return false;
	memcpy(to, m->p + (addr - BASE), n);
	return true;
}

static void check_text(const char *s, size_t size)
{
	size_t len = strnlen(s, size), n;
	uint32_t c;

	if (!len || len == size)
		abort();
	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(s + i, len - i, &c);
		if (!n || c < 0x20 || (c >= 0x7f && c < 0xa0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_frame frame[64];
	struct err err = ERR_INIT;
	struct python_file file;
	struct process process;
	struct python *py;
	bool torn;

	if (size < 8)
		return 0;
	process = (struct process){ .p = data + 8, .len = size - 8 };
	/* version, thread */
	py = python_new(&(struct python_memory){ read_bytes, &process }, BASE, ld32(data), &err);
	for (int i = 0; py && i < 2; i++) {
		size_t n = python_frames(py, ld32(data + 4), frame, 64, &torn);

		for (size_t k = 0; k < n; k++) {
			check_text(frame[k].function->name, PYTHON_NAME_MAX);
			check_text(frame[k].function->file, PYTHON_PATH_MAX);
		}
	}
	python_free(py);
	err_clear(&err);
	(void)!python_file_read(&file, data + 8, size - 8, "file", BASE, 0, &err);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "symbol/elf/elf_symbols.h"

#if HAVE_LZMA
#include <lzma.h>

/* Decodes into a buffer that doubles: the size written in the file is a claim, not a fact. */
static lzma_ret inflate_all(lzma_stream *st, uint8_t **p, size_t *len)
{
	size_t cap = 1u << 20;
	lzma_ret rc;

	*p = malloc(cap);
	if (!*p)
		return LZMA_MEM_ERROR;
	st->next_out = *p;
	st->avail_out = cap;
	while ((rc = lzma_code(st, LZMA_FINISH)) == LZMA_OK) {
		uint8_t *more;

		if (st->avail_out)
			continue;
		if (cap >= MINIDEBUG_MAX)
			return LZMA_MEMLIMIT_ERROR;
		more = realloc(*p, cap * 2);
		if (!more)
			return LZMA_MEM_ERROR;
		*p = more;
		st->next_out = more + cap;
		st->avail_out = cap;
		cap *= 2;
	}
	*len = (size_t)st->total_out;
	return rc;
}

int elf_minidebug(const struct elf_file *f, uint8_t **p, size_t *len, const char **why,
		  struct err *err)
{
	const struct elf_sec *s = elf_section(f, ".gnu_debugdata");
	lzma_stream st = LZMA_STREAM_INIT;
	lzma_ret rc;

	*p = NULL;
	*len = 0;
	*why = NULL;
	if (!s)
		return 0;
	rc = lzma_stream_decoder(&st, 128u << 20, 0);
	if (rc == LZMA_OK) {
		st.next_in = s->data;
		st.avail_in = (size_t)s->size;
		rc = inflate_all(&st, p, len);
	}
	lzma_end(&st);
	if (rc == LZMA_STREAM_END)
		return 0;
	free(*p);
	*p = NULL;
	*len = 0;
	if (rc == LZMA_MEM_ERROR)
		return err_nomem(err);
	*why = rc == LZMA_MEMLIMIT_ERROR ? ".gnu_debugdata is too large"
					 : ".gnu_debugdata is broken";
	return 0;
}
#else
int elf_minidebug(const struct elf_file *f, uint8_t **p, size_t *len, const char **why,
		  struct err *err)
{
	(void)err;
	*p = NULL;
	*len = 0;
	*why = elf_section(f, ".gnu_debugdata") ? ".gnu_debugdata: built without liblzma" : NULL;
	return 0;
}
#endif

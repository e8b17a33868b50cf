/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/insn_decoder.h"

#include <elf.h>
#include <stdlib.h>

#include "config.h"

#if HAVE_ZYDIS
#include "base/xalloc.h"
#include "symbol/insn/insn_decoder_int.h"

struct insn_decoder *insn_decoder_new(unsigned machine)
{
	struct insn_decoder *d;

	if (machine != EM_X86_64)
		return NULL;
	d = xcalloc(1, sizeof(*d));
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&d->d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))) {
		free(d);
		return NULL;
	}
	return d;
}
#else
struct insn_decoder *insn_decoder_new(unsigned machine)
{
	(void)machine;
	return NULL;
}
#endif

void insn_decoder_free(struct insn_decoder *d)
{
	free(d);
}

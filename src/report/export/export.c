/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "report/export/export_int.h"

#include "base/text.h"

uint32_t export_string(struct export_names *x, const char *s)
{
	buf_reset(&x->scratch);
	text_put_safe(&x->scratch, s, false);
	return x->scratch.failed ? STR_NONE
				 : strtab_xadd(&x->strings, buf_str(&x->scratch), x->scratch.len);
}

void export_names_free(struct export_names *x)
{
	strtab_free(&x->strings);
	buf_free(&x->scratch);
}

static uint32_t export_number(struct u64map *m, uint32_t a, uint32_t b, bool *fresh)
{
	uint64_t n = m->n, *at = u64map_xat(m, (uint64_t)a << 32 | b, fresh);

	if (*fresh && n >= UINT32_MAX)
		return UINT32_MAX;
	if (*fresh)
		*at = n;
	return (uint32_t)*at;
}

uint32_t export_id(struct export_ids *x, uint32_t a, uint32_t b, uint32_t c, bool *fresh)
{
	uint32_t ab = export_number(&x->pair, a, b, fresh);

	return ab == UINT32_MAX ? UINT32_MAX : export_number(&x->triple, ab, c, fresh);
}

void export_ids_free(struct export_ids *x)
{
	u64map_free(&x->pair);
	u64map_free(&x->triple);
}

uint64_t export_address(struct images *images, const struct stack_site *s)
{
	uint64_t addr = s->addr - (s->caller && s->addr), vaddr;

	if (addr_is_stray(s->image, s->addr))
		return 0;
	if (s->image != IMAGE_NONE && image_to_vaddr(images, s->image, addr, &vaddr))
		return vaddr;
	return addr;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_types - the type and field of each instruction that accessed memory.
 */
#include "analyse/memory/memory_types.h"

#include <inttypes.h>

#include "base/buf.h"

static bool same_row(const struct types_access *x, const struct types_access *y)
{
	return x->why == y->why && x->type == y->type && x->type_size == y->type_size &&
	       x->field == y->field && x->offset == y->offset && x->size == y->size;
}

/* Groups of one row of the table of fields, and of types, have the same number. */
static int number(struct memory_group *g, const struct memory_group *before, struct strtab *names,
		  struct err *err)
{
	const struct types_access *a = &g->access;
	struct buf b = BUF_INIT;
	int rc = 0;

	if (before && same_row(a, &before->access)) {
		g->type_id = before->type_id;
		g->field_id = before->field_id;
		return 0;
	}
	buf_printf(&b, "%d %" PRIu64 " %s", (int)a->why, a->type_size, a->type ? a->type : "");
	g->type_id = strtab_adds(names, buf_str(&b));
	buf_printf(&b, "\n%" PRIu64 " %" PRIu64 " %s", a->offset, a->size,
		   a->field ? a->field : "");
	g->field_id = strtab_adds(names, buf_str(&b));
	if (buf_error(&b, NULL) || g->type_id == STR_NONE || g->field_id == STR_NONE)
		rc = err_nomem(err);
	buf_free(&b);
	return rc;
}

int memory_type_group(struct images *set, struct memory_group *g, const struct memory_group *before,
		      struct strtab *names, struct err *err)
{
	uint32_t image = memory_access_image(g);
	struct err why = ERR_INIT; /* no types then */
	struct types *t = NULL;
	uint64_t vaddr;

	g->access = (struct types_access){ .why = TYPES_NO_IMAGE };
	if (image != IMAGE_NONE) {
		t = types_of(set, image, &why);
		if (!t && why.code == ERR_NOMEM)
			return err_nomem(err);
		g->access.why = TYPES_NO_DEBUG;
	}
	if (t && image_to_vaddr(set, image, g->key[0], &vaddr))
		types_at(t, vaddr, memory_access_kind(g) == MEMORY_STORE, &g->access);
	return number(g, before, names, err);
}

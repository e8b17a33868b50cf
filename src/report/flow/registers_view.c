/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "report/registers_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "base/num.h"
#include "base/text.h"
#include "symbol/named.h"

const char *registers_dso(const struct registers_view *v, const struct registers_place *p)
{
	return p->image == IMAGE_NONE ? "[unknown]" : image_name(v->images, p->image);
}

bool registers_vaddr(const struct registers_view *v, const struct registers_place *p, uint64_t *out)
{
	*out = p->addr;
	if (p->image == IMAGE_NONE)
		return false;
	if (image_key(v->images, p->image)->kind != IMAGE_FILE)
		return true;
	return image_to_vaddr(v->images, p->image, p->addr, out);
}

void registers_put_place(struct buf *b, const struct registers_place *p)
{
	if (!p->symbol)
		buf_printf(b, "0x%" PRIx64, p->addr);
	else if (p->entry)
		buf_puts(b, p->symbol->name);
	else
		buf_printf(b, "%s+0x%" PRIx64, p->symbol->name, p->addr - p->symbol->start);
}

bool registers_shown(const struct registers_view *v, const struct registers_place *p,
		     const struct registers_cell *c)
{
	unsigned argument;

	if (!registers_name(v->r->arch, c->bit, &argument))
		return v->all || !p->entry;
	return v->all || !p->entry || argument;
}

const char *registers_put_value(char out[24], enum registers_guess g, uint64_t v)
{
	switch (g) {
	case GUESS_POINTER:
		(void)snprintf(out, 24, v ? "0x%" PRIx64 : "0", v);
		break;
	case GUESS_SIGNED32:
		(void)snprintf(out, 24, "%" PRId32, (int32_t)(uint32_t)v);
		break;
	case GUESS_SIGNED:
		(void)snprintf(out, 24, "%" PRId64, (int64_t)v);
		break;
	default:
		(void)snprintf(out, 24, v >> 48 ? "0x%" PRIx64 : "%" PRIu64, v);
	}
	return out;
}

/* ---- which places --------------------------------------------------------------------------- */

/* "work+0x1c" and "work:28" have an offset, "a::b" and "operator+" have none. */
static char *split_place(const char *said, uint64_t *offset)
{
	char *name = xstrdup(said);
	size_t at = strlen(said);

	*offset = 0;
	while (at && !strchr("+:", name[at - 1]))
		at--;
	if (at > 1 && name[at - 2] != ':' && !num_parse_u64(offset, name + at, NULL))
		name[at - 1] = '\0';
	return name;
}

static int every_call(const struct registers_view *v, const char *name, struct err *err)
{
	struct buf event = BUF_INIT, with = BUF_INIT;

	buf_printf(&event, "uprobe:PROGRAM:%s", name);
	buf_puts(&with, "--user-regs -e ");
	if (!text_put_word(&with, buf_str(&event)))
		buf_reset(&with);
	if (with.len && with.len < 120)
		(void)again_hint(err, v->source.info, "every call of it:", buf_str(&with));
	buf_free(&event);
	buf_free(&with);
	return -1;
}

static int registers_no_such(const struct registers_view *v, const struct registers *r,
			     const char *name, uint64_t offset, bool known, struct err *err)
{
	const char **words = xcalloc(r->n + 1, sizeof(*words));
	const char *near = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->place[i].symbol)
			words[n++] = r->place[i].symbol->name;
	if (!known)
		near = text_nearest(name, words);
	free(words);
	if (known && !offset)
		(void)err_set(err, ERR_NOT_FOUND,
			      "'%.120s' was sampled, but never at its first instruction", name);
	else if (known)
		(void)err_set(err, ERR_NOT_FOUND, "'%.120s' was never sampled at +0x%" PRIx64, name,
			      offset);
	else
		(void)err_set(err, ERR_NOT_FOUND, "no function with registers is called '%.120s'",
			      name);
	if (near)
		return err_hint(err, "did you mean '%.180s'?", near);
	return every_call(v, name, err);
}

static int choose_named(struct registers_view *v, struct registers *r, const char *said,
			struct err *err)
{
	uint64_t offset;
	char *name = split_place(said, &offset);
	size_t n = 0;
	bool known = false;

	for (enum symbol_way way = 0; way < SYMBOL_WAYS && !known && *name; way++)
		for (size_t i = 0; i < r->n; i++) {
			struct registers_place *p = &r->place[i];

			if (!p->symbol || !symbol_means(p->symbol, registers_dso(v, p), name, way))
				continue;
			known = true;
			if (p->addr - p->symbol->start != offset)
				continue;
			p->wanted = true;
			n++;
		}
	if (!n)
		(void)registers_no_such(v, r, name, offset, known, err);
	free(name);
	return n ? 0 : -1;
}

static int choose_at(struct registers_view *v, struct registers *r, const char *said,
		     struct err *err)
{
	uint64_t addr, vaddr;
	size_t n = 0;

	if (num_parse_u64(&addr, said, NULL))
		return choose_named(v, r, said, err);
	for (size_t i = 0; i < r->n; i++) {
		struct registers_place *p = &r->place[i];

		if (p->addr != addr && (!registers_vaddr(v, p, &vaddr) || vaddr != addr))
			continue;
		p->wanted = true;
		n++;
	}
	if (n)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "no sample with registers is at 0x%" PRIx64, addr);
	if (r->late)
		return err_hint(err, "samples of AMD's IBS have the registers of the interrupt "
				     "after the op: they are of no place");
	return err_hint(err, "addresses are those of the file, as annotate shows them");
}

int registers_view_choose(struct registers_view *v, struct registers *r, const char *function,
			  const char *const *at, size_t n, size_t limit, struct err *err)
{
	size_t chosen = 0;

	if (function && choose_named(v, r, function, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (choose_at(v, r, at[i], err))
			return -1;
	if (function || n)
		return 0;
	for (size_t i = 0; i < r->n; i++) {
		if (!r->place[i].entry)
			continue;
		if (chosen < limit)
			r->place[i].wanted = true;
		else
			v->more++;
		chosen++;
	}
	return 0;
}

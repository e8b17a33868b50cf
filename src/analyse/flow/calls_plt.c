/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls_plt - targets of trampolines, and code that compilers split off.
 *
 * A stub of a PLT leads where its jump was seen to go; the way through the dynamic linker that a
 * first call takes is not counted. If the recording has no jumps, the name is looked for in the
 * other files that have edges, as the dynamic linker does: one function of that name is the one.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/calls_int.h"
#include "base/text.h"

struct led { /* a stub that was asked for */
	struct calls_place to;
	bool known;
};

struct calls_plts {
	const struct calls_work *w;
	struct u64map by_stub; /* (image, symbol's index): led */
	VEC(struct led) led;
	bool has_names;
	struct strtab names;	       /* of functions that a PLT may lead to */
	VEC(struct calls_place) named; /* by string; image IMAGE_NONE: several have that name */
};

static bool begins_with(const char *s, const char *begin)
{
	return !strncmp(s, begin, strlen(begin));
}

bool calls_is_plt(const struct symbol *s)
{
	const char *name = !s ? "" : s->linkage ? s->linkage : s->name;

	/* ".plt" is shared by all stubs: the way to the dynamic linker */
	return text_ends(name, strlen(name), "@plt") || !strcmp(name, ".plt");
}

static bool is_resolver(const struct symbol *s)
{
	return s && (begins_with(s->name, "_dl_runtime_resolve") ||
		     begins_with(s->name, "_dl_runtime_profile"));
}

bool calls_is_return_thunk(const struct symbol *s)
{
	return s && text_ends(s->name, strlen(s->name), "return_thunk");
}

bool calls_is_trampoline(const struct symbol *s)
{
	return calls_is_plt(s) || is_resolver(s) || calls_is_return_thunk(s);
}

static uint64_t stub_key(uint32_t image, const struct symbol *s)
{
	return (uint64_t)image << 32 | s->index;
}

/* ---- by the jumps that leave it -------------------------------------------------------------- */

/* Returns 1: to one place; 0: not known. */
static int by_jumps(const struct calls_work *w, uint32_t image, const struct symbol *plt,
		    struct calls_place *out)
{
	size_t first,
		n = flow_edges_from(w->flow, image, plt->start, plt->start + plt->size, &first);
	struct calls_place seen = { .image = IMAGE_NONE };

	for (size_t i = first; i < first + n; i++) {
		const struct flow_place *to = &w->edge[i].to;

		/* the stub's own way to the linker has no name, or the linker's */
		if (!w->to[i] || is_resolver(w->to[i]) || calls_is_plt(w->to[i]))
			continue;
		if (seen.symbol && (seen.image != to->image || seen.symbol != w->to[i]))
			return 0;
		seen = (struct calls_place){ to->image, w->to[i], to->kind };
	}
	*out = seen;
	return seen.symbol != NULL;
}

/* ---- by its name ----------------------------------------------------------------------------- */

/* "foo@plt", "foo@@GLIBC_2.17": foo. */
static size_t plain_length(const char *s)
{
	return strcspn(s, "@");
}

static int add_name(struct calls_plts *p, uint32_t image, const struct symbol *s, uint8_t kind)
{
	const char *name = s->linkage ? s->linkage : s->name;
	size_t n = p->names.n;
	uint32_t id;

	if (calls_is_plt(s))
		return 0;
	id = strtab_add(&p->names, name, plain_length(name));
	if (id == STR_NONE)
		return -1;
	if (p->names.n > n || id >= p->named.n) {
		while (p->named.n < id)
			if (vec_push(&p->named, ((struct calls_place){ .image = IMAGE_NONE })))
				return -1;
		return vec_push(&p->named, ((struct calls_place){ image, s, kind }));
	}
	if (p->named.v[id].symbol && p->named.v[id].symbol != s)
		p->named.v[id].image = IMAGE_NONE;
	return 0;
}

/* Gathers the names of all user images that have edges. */
static int gather_names(struct calls_plts *p, struct err *err)
{
	const struct calls_work *w = p->w;
	size_t n_images = images_count(w->images), n;
	bool *seen = calloc(n_images + 1, sizeof(*seen));
	const struct symbol *sym;
	int ret = -1;

	p->has_names = true;
	if (!seen)
		return err_nomem(err);
	for (size_t i = 0; i < w->n; i++) {
		const struct flow_place *to = &w->edge[i].to;

		if (to->kind != SPACE_USER || to->image >= n_images || seen[to->image])
			continue;
		seen[to->image] = true;
		sym = image_symbols(w->images, to->image, &n);
		for (size_t k = 0; k < n; k++)
			if (add_name(p, to->image, &sym[k], to->kind)) {
				(void)err_nomem(err);
				goto out;
			}
	}
	ret = 0;
out:
	free(seen);
	return ret;
}

static int by_name(struct calls_plts *p, const struct symbol *plt, struct calls_place *out,
		   struct err *err)
{
	const char *name = plt->linkage ? plt->linkage : plt->name;
	char word[512];
	size_t n = plain_length(name);
	uint32_t id;

	if (!p->has_names && gather_names(p, err))
		return -1;
	if (n >= sizeof(word))
		return 0;
	memcpy(word, name, n);
	word[n] = '\0';
	id = strtab_find(&p->names, word);
	if (id == STR_NONE || id >= p->named.n || p->named.v[id].image == IMAGE_NONE)
		return 0;
	*out = p->named.v[id];
	return 1;
}

/* ---- the stubs ------------------------------------------------------------------------------- */

struct calls_plts *calls_plts_new(const struct calls_work *w, struct err *err)
{
	struct calls_plts *p = calloc(1, sizeof(*p));

	if (!p)
		(void)err_nomem(err);
	else
		p->w = w;
	return p;
}

void calls_plts_free(struct calls_plts *p)
{
	if (!p)
		return;
	u64map_free(&p->by_stub);
	vec_free(&p->led);
	strtab_free(&p->names);
	vec_free(&p->named);
	free(p);
}

int calls_plt_leads(struct calls_plts *p, uint32_t image, const struct symbol *plt,
		    struct calls_place *out, bool *known, struct err *err)
{
	bool fresh;
	uint64_t *at = u64map_at(&p->by_stub, stub_key(image, plt), &fresh);
	struct led led = { .known = false };
	int rc;

	if (!at)
		return err_nomem(err);
	if (fresh) {
		*at = p->led.n;
		rc = by_jumps(p->w, image, plt, &led.to);
		if (!rc)
			rc = by_name(p, plt, &led.to, err);
		if (rc < 0)
			return -1;
		led.known = rc;
		if (vec_push(&p->led, led))
			return err_nomem(err);
	} else {
		led = p->led.v[*at];
	}
	*out = led.to;
	*known = led.known;
	return 0;
}

/* ---- code split off -------------------------------------------------------------------------- */

/* Returns the length of f in "f.cold" and "f.cold.7"; 0: it is no such name. */
static size_t whole_length(const char *s)
{
	const char *at = strstr(s, ".cold");

	if (!at || at == s)
		return 0;
	for (const char *end = at + strlen(".cold"); *end; end++)
		if (*end != '.' && (*end < '0' || *end > '9'))
			return 0;
	return (size_t)(at - s);
}

/* Leaves *s as it is if no function, or more than one, is called so. */
void calls_whole(struct images *images, uint32_t image, const struct symbol **s)
{
	const char *name = *s ? ((*s)->linkage ? (*s)->linkage : (*s)->name) : "";
	size_t len = whole_length(name), n;
	const struct symbol *sym, *found = NULL;

	if (!len)
		return;
	sym = image_symbols(images, image, &n);
	for (size_t i = 0; i < n; i++) {
		const char *other = sym[i].linkage ? sym[i].linkage : sym[i].name;

		if (strncmp(other, name, len) || other[len])
			continue;
		if (found)
			return;
		found = &sym[i];
	}
	if (found)
		*s = found;
}

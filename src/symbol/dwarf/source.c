/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source - see source.h. Here: opening, the table of units by address, and the look-ups.
 *
 * A look-up is two or three binary searches: the unit, its row, its inlined call. A unit is read
 * under the lock the first time an address in it is asked for and then published by one atomic
 * store, so that look-ups in units already read take no lock.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarf.h>
#include <gelf.h>

#include "base/nomem.h"
#include "base/xalloc.h"
#include "symbol/dwarf/source_tables.h"
#include "symbol/script.h"

bool src_is_code(const struct source *s, uint64_t addr)
{
	if (!s->exec.n)
		return true;
	for (size_t i = 0; i < s->exec.n; i++)
		if (addr >= s->exec.v[i].lo && addr < s->exec.v[i].hi)
			return true;
	return false;
}

static void read_code_segments(struct source *s)
{
	size_t n = 0;

	if (elf_getphdrnum(s->elf, &n))
		n = 0;
	for (size_t i = 0; i < n && i < 256; i++) {
		GElf_Phdr ph;
		struct src_exec e;

		if (!gelf_getphdr(s->elf, (int)i, &ph))
			break;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		e.lo = ph.p_vaddr;
		e.hi = ph.p_vaddr + ph.p_memsz < ph.p_vaddr ? UINT64_MAX : ph.p_vaddr + ph.p_memsz;
		vec_xpush(&s->exec, e);
	}
}

/* A unit's table of one kind, read now if it was not. */
#define UNIT_TABLE(kind, type, read)                                                   \
	static const struct type *unit_##kind(const struct source *cs, uint32_t id)    \
	{                                                                              \
		struct src_unit *u = &cs->units.v[id];                                 \
		struct type *t = atomic_load_explicit(&u->kind, memory_order_acquire); \
		/* the lazy part is not const */                                       \
		struct source *s = (struct source *)(uintptr_t)cs;                     \
                                                                                       \
		if (t)                                                                 \
			return t;                                                      \
		src_lock(s);                                                           \
		t = atomic_load_explicit(&u->kind, memory_order_relaxed);              \
		if (!t) {                                                              \
			t = read(s, &u->die);                                          \
			atomic_store_explicit(&u->kind, t, memory_order_release);      \
		}                                                                      \
		src_unlock(s);                                                         \
		return t;                                                              \
	}
UNIT_TABLE(lines, src_line_tab, src_read_lines)
UNIT_TABLE(calls, src_call_tab, src_read_inlines)
UNIT_TABLE(files, src_file_tab, src_read_files)

static void add_unit(struct source *s, Dwarf_Die *die, src_intervals *iv, size_t *budget)
{
	struct src_unit unit = { .die = *die };
	uint32_t id = (uint32_t)s->units.n;
	const struct src_line_tab *t;
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	bool has_ranges = false;

	vec_xpush(&s->units, unit);
	while (*budget && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		struct src_interval r = { lo, hi, 0, id };

		--*budget;
		has_ranges = true;
		if (lo < hi && src_is_code(s, lo))
			vec_xpush(iv, r);
	}
	if (has_ranges || !dwarf_hasattr(die, DW_AT_stmt_list))
		return;
	/* the unit has no addresses of its own: those of its line rows */
	t = unit_lines(s, id);
	for (size_t i = 0; i + 1 < t->rows.n; i++) {
		struct src_interval r = { t->rows.v[i].addr, t->rows.v[i + 1].addr, 0, id };

		if (t->rows.v[i].file != SRC_NONE)
			vec_xpush(iv, r);
	}
}

static void read_units(struct source *s)
{
	src_intervals iv = VEC_INIT;
	size_t budget = s->file_size + 4096;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	memset(&die, 0, sizeof(die));
	while (s->units.n < SRC_NONE - 1 &&
	       !dwarf_get_units(s->dw, cu, &cu, NULL, NULL, &die, NULL)) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
			add_unit(s, &die, &iv, &budget);
	}
	src_flatten(&iv, &s->where);
	vec_free(&iv);
}

/* ---- opening ----------------------------------------------------------------------------- */

bool src_charge(struct source *s, size_t bytes)
{
	if (!s->foreign)
		return true;
	if (!file_in_charge(bytes))
		return false;
	s->charged += bytes;
	return true;
}

void src_discharge(struct source *s, size_t bytes)
{
	if (!s->foreign)
		return;
	file_in_release(bytes);
	s->charged -= bytes;
}

int src_begin(const void *p, size_t len, Elf **elf, Dwarf **dw)
{
	*dw = NULL;
	*elf = elf_memory((char *)(uintptr_t)p, len);
	if (*elf && elf_kind(*elf) != ELF_K_ELF) {
		(void)elf_end(*elf);
		*elf = NULL;
	}
	*dw = *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
	if (!*dw)
		return -1;
	(void)dwarf_new_oom_handler(*dw, nomem_die);
	return 0;
}

/* The file's bytes, or those of one in which nothing is packed; NULL: it is no ELF file. */
static const void *unpacked_bytes(struct source *s, const struct file_map *m, size_t *len)
{
	struct elf_file f;
	bool packed;

	if (elf_file_read(&f, m->p, m->len, "", NULL))
		return NULL;
	packed = src_is_packed(&f);
	if (packed)
		src_unpack(s, &f, s->path ? s->path : "the file", &s->own);
	elf_file_free(&f);
	*len = packed ? s->own.len : m->len;
	return packed ? (const void *)s->own.s : m->p;
}

/* Over `m`, whose bytes stay. */
static int open_elf(struct source *s, const struct file_map *m, struct err *err)
{
	const void *p;

	nomem_begin();
	p = unpacked_bytes(s, m, &s->file_size);
	if (p && !src_begin(p, s->file_size, &s->elf, &s->dw)) {
		src_find_alternate(s);
		src_find_line_sections(s);
		read_code_segments(s);
		read_units(s);
	} else if (!s->elf) {
		(void)err_set(err, ERR_FORMAT, "not an ELF file");
	}
	nomem_end();
	return s->units.n ? 0 : -1;
}

struct source *source_open_file(const struct source_opened *f, struct err *err)
{
	struct source *s = xcalloc(1, sizeof(*s));

	(void)elf_version(EV_CURRENT);
	(void)pthread_mutex_init(&s->lock, NULL);
	s->split_fd = -1;
	s->user = f->user;
	s->root = f->root ? xstrdup(f->root) : NULL;
	s->path = f->path ? xstrdup(f->path) : NULL;
	s->foreign = f->map->copy != NULL;
	s->dirs = f->dirs;
	if (!open_elf(s, f->map, err))
		return s;
	if (err && err->code == ERR_NONE)
		*err = s->beside;
	source_free(s);
	return NULL;
}

struct source *source_of_script(const char *file, size_t len)
{
	struct source *s = xcalloc(1, sizeof(*s));

	(void)pthread_mutex_init(&s->lock, NULL);
	s->split_fd = -1;
	s->user = (uid_t)-1;
	s->script = xmalloc(len + 1);
	memcpy(s->script, file, len);
	s->script[len] = '\0';
	return s;
}

struct source *source_open(const char *path, struct err *err)
{
	struct file_map map = { 0 };
	struct source_opened f = { .map = &map, .path = path };
	struct source *s;
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_LINKS, &st, err);

	if (fd < 0 || file_in_map(&map, fd, &st, false, path, err))
		return NULL;
	f.user = st.st_uid;
	s = source_open_file(&f, err);
	if (s)
		s->map = map;
	else
		file_map_close(&map);
	return s;
}

struct source *source_open_memory(const void *p, size_t len, struct err *err)
{
	struct file_map map = { .p = (uint8_t *)(uintptr_t)p, .len = len };
	struct source_opened f = { .map = &map };

	return source_open_file(&f, err);
}

void source_free(struct source *s)
{
	if (!s)
		return;
	vec_each (&s->units, struct src_unit *, u) {
		src_lines_free(atomic_load_explicit(&u->lines, memory_order_relaxed));
		src_inlines_free(atomic_load_explicit(&u->calls, memory_order_relaxed));
		src_files_free(atomic_load_explicit(&u->files, memory_order_relaxed));
	}
	vec_free(&s->units);
	vec_free(&s->where);
	vec_free(&s->exec);
	vec_free(&s->splits);
	u64map_free(&s->names);
	u64map_free(&s->decls);
	u64map_free(&s->sums);
	u64map_free(&s->headers);
	u64map_free(&s->split_of);
	u64map_free(&s->skeleton_of);
	arena_free(&s->arena);
	(void)dwarf_end(s->dw);
	(void)elf_end(s->elf);
	src_made_end(&s->skeletons);
	src_made_end(&s->alternate);
	src_made_end(&s->nothing);
	buf_free(&s->alternate_own);
	file_map_close(&s->alternate_map);
	buf_free(&s->own);
	file_map_close(&s->map);
	if (s->split_fd >= 0)
		(void)close(s->split_fd);
	src_package_free(s->package);
	file_in_release(s->charged);
	(void)pthread_mutex_destroy(&s->lock);
	free(s->root);
	free(s->path);
	free(s->script);
	free(s);
}

static uint32_t unit_at(const struct source *s, uint64_t vaddr)
{
	return s ? src_segment_at(s->where.v, s->where.n, vaddr) : SRC_NONE;
}

void source_try_split(const struct source *cs)
{
	/* the lazy part is not const */
	struct source *s = (struct source *)(uintptr_t)cs;

	src_lock(s);
	if (s->units.n)
		(void)src_contents(s, &s->units.v[0].die); /* makes the list of those */
	if (s->splits.n)
		(void)src_contents(s, s->splits.v[0].die);
	src_unlock(s);
}

struct source_line source_line(const struct source *s, uint64_t vaddr)
{
	uint32_t unit = unit_at(s, vaddr);
	const struct src_line_tab *t = unit == SRC_NONE ? NULL : unit_lines(s, unit);
	struct source_line none = { NULL, 0, 0 };
	const struct src_row *row;
	size_t n;

	if (s && s->script && script_line(vaddr))
		return (struct source_line){ s->script, script_line(vaddr), 0 };
	if (!t || !t->rows.n || vaddr < t->rows.v[0].addr)
		return none;
	row = t->rows.v;
	for (n = t->rows.n; n > 1; n -= n / 2)
		row += row[n / 2].addr <= vaddr ? n / 2 : 0;
	if (row->file >= t->files.n)
		return none;
	return (struct source_line){ t->files.v[row->file], row->line, row->discriminator };
}

/* A function without a line always keeps its plain name. */
static void meet_function(const struct source *cs, struct src_name *name)
{
	/* the lazy part is not const */
	struct source *s = (struct source *)(uintptr_t)cs;

	if (!name->first_line || atomic_load_explicit(&name->decl, memory_order_acquire))
		return;
	src_lock(s);
	src_meet(s, name);
	src_unlock(s);
}

const char *source_inline_name(const struct source *cs, const struct source_inline *i)
{
	struct source *s = (struct source *)(uintptr_t)cs;
	struct src_decl *d =
		i->function ? atomic_load_explicit(&i->function->decl, memory_order_acquire) : NULL;

	if (!d)
		return i->name;
	src_lock(s);
	src_set_apart(s, d);
	src_unlock(s);
	return d->apart ? d->apart : i->name;
}

/* The unit's functions and inlined calls; NULL: the address is in no unit. */
static const struct src_call_tab *calls_at(const struct source *s, uint64_t vaddr)
{
	uint32_t unit = unit_at(s, vaddr);

	return unit == SRC_NONE ? NULL : unit_calls(s, unit);
}

static size_t inline_chain_at(const struct source *s, uint64_t vaddr, bool places,
			      struct source_inline *out, size_t max)
{
	const struct src_call_tab *t = calls_at(s, vaddr);
	uint32_t id = t ? src_segment_at(t->inl.v, t->inl.n, vaddr) : SRC_NONE;
	uint32_t outer = t ? src_segment_at(t->code.v, t->code.n, vaddr) : SRC_NONE;
	const struct src_file_tab *f =
		places && id != SRC_NONE ? unit_files(s, unit_at(s, vaddr)) : NULL;
	size_t depth = 0, i;

	if (outer != SRC_NONE) /* shares its name with none of them, either */
		meet_function(s, t->functions.v[outer]);
	for (uint32_t c = id; c != SRC_NONE; c = t->calls.v[c].parent)
		depth++;
	i = depth;
	for (uint32_t c = id; c != SRC_NONE; c = t->calls.v[c].parent) {
		const struct src_call *call = &t->calls.v[c];
		bool known = f && call->file < f->files.n;

		meet_function(s, call->name);
		if (--i < max)
			out[i] = (struct source_inline){
				.name = call->name->shown,
				.at = { known ? f->files.v[call->file] : NULL, call->line,
					call->discriminator },
				.linkage = call->name->linkage,
				.first_line = call->name->first_line,
				.function = call->name,
			};
	}
	return depth < max ? depth : max;
}

size_t source_inlines(const struct source *s, uint64_t vaddr, struct source_inline *out, size_t max)
{
	return inline_chain_at(s, vaddr, true, out, max);
}

size_t source_inline_names(const struct source *s, uint64_t vaddr, struct source_inline *out,
			   size_t max)
{
	return inline_chain_at(s, vaddr, false, out, max);
}

bool source_function(const struct source *s, uint64_t vaddr, struct source_function *out)
{
	const struct src_call_tab *t = calls_at(s, vaddr);
	uint32_t id = t ? src_segment_at(t->code.v, t->code.n, vaddr) : SRC_NONE;

	if (id == SRC_NONE)
		return false;
	*out = (struct source_function){ t->functions.v[id]->shown, t->functions.v[id]->linkage,
					 t->functions.v[id]->first_line };
	return true;
}

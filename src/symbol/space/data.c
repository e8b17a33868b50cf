/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/data.h"

#include <elf.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/image/image_set.h"
#include "symbol/space/space_int.h"

#define STEPS	 8 /* mappings between a file's code and the end of its data */
#define KERNEL	 (UINT64_C(1) << 63)
#define LIBRARY	 "libcyclade-heap" /* of record --heap */
#define PAGE_MAX 0x10000u /* the largest page that a mapping's file offset is rounded down to */

const char *data_kind_name(enum data_kind kind)
{
	static const char *const names[] = {
		[DATA_UNKNOWN] = "unknown",
		[DATA_VARIABLE] = "variable",
		[DATA_FILE] = "file",
		[DATA_HEAP] = "heap",
		[DATA_STACK] = "stack",
		[DATA_ANONYMOUS] = "anonymous",
		[DATA_SHARED] = "shared memory",
		[DATA_KERNEL] = "kernel",
	};

	return names[kind];
}

/* ---- variables of a file ----------------------------------------------------------------- */

/* The distance from a file's virtual addresses to those of a mapping of its code. */
static bool find_bias(const struct image *im, const struct map *m, uint64_t *bias)
{
	for (size_t i = 0; i < im->n_seg; i++) {
		const struct elf_seg *s = &im->seg[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X) || m->pgoff >= s->offset + s->filesz ||
		    m->pgoff + PAGE_MAX <= s->offset)
			continue;
		*bias = m->start - (s->vaddr + (m->pgoff - s->offset));
		return true;
	}
	return false;
}

/* Else [*low, *high) becomes narrower, so that no address in it is of a segment. */
static bool in_segment(const struct image *im, uint64_t address, uint64_t bias, uint64_t *low,
		       uint64_t *high)
{
	uint64_t vaddr = address - bias;

	for (size_t i = 0; i < im->n_seg; i++) {
		const struct elf_seg *s = &im->seg[i];

		if (s->type != PT_LOAD || !s->memsz)
			continue;
		if (vaddr - s->vaddr < s->memsz)
			return true;
		/* the way down to its last byte, and up to its first one */
		if (address - *low > vaddr - s->vaddr - s->memsz)
			*low = address - (vaddr - s->vaddr - s->memsz);
		if (*high - address > s->vaddr - vaddr)
			*high = address + (s->vaddr - vaddr);
	}
	return false;
}

static void find_variable(struct data_place *out, struct images *set, uint64_t vaddr, uint64_t bias)
{
	struct image *im = set->image.v[out->image];
	const struct elf_on_disk *f = im->syms.path ? &im->syms : &im->code;
	struct symbol *s;
	size_t hint = 0;

	if (!im->has_variables && f->path) {
		/* .symtab of the file or of its debug file, else .dynsym: kept with the image */
		elf_objects_read(&im->objects, &f->elf, !im->syms.path);
		sym_table_make(&im->variables, &im->objects, set->opts.raw_names);
		im->has_variables = true;
	}
	s = sym_table_find(&im->variables, vaddr, &hint);
	if (!s)
		return;
	if (!s->name)
		s->name = set->opts.raw_names ? s->linkage : demangle(&im->arena, s->linkage);
	out->kind = DATA_VARIABLE;
	out->variable = s;
	out->start = out->low = s->start + bias;
	out->size = s->size;
	out->high = out->low + out->size;
}

/* The code of a file below the address, with nothing of another file in between: the program or
 * library whose data may lie there. [*from, *until) becomes narrower if the answer does not hold
 * for it. */
static const struct map *code_below(const struct spaces *sp, const struct process *proc,
				    uint64_t address, uint64_t time, uint64_t *from,
				    uint64_t *until)
{
	struct images *set = spaces_images(sp);
	uint32_t file = IMAGE_NONE;
	struct space_span span;

	for (unsigned i = 0; i < STEPS; i++) {
		const struct map *m = space_find_span(sp, proc, SPACE_USER, address, time, &span);

		*from = span.from > *from ? span.from : *from;
		*until = span.until < *until ? span.until : *until;
		if (m && image_key(set, m->image)->kind == IMAGE_FILE) {
			if (file != IMAGE_NONE && file != m->image)
				return NULL;
			if (map_is_code(m))
				return m;
			file = m->image;
		}
		if (!span.start)
			return NULL;
		address = span.start - 1;
	}
	return NULL;
}

static void find_in_file(struct data_place *out, const struct spaces *sp,
			 const struct process *proc, uint64_t address, uint64_t time)
{
	struct images *set = spaces_images(sp);
	uint64_t bias;
	const struct map *code = code_below(sp, proc, address, time, &out->from, &out->until);
	struct image *im = code ? set->image.v[code->image] : NULL;

	if (!im)
		return;
	image_locate(set, im);
	if (!find_bias(im, code, &bias) || !in_segment(im, address, bias, &out->low, &out->high))
		return;
	out->kind = DATA_FILE;
	out->image = code->image;
	find_variable(out, set, address - bias, bias);
	if (!out->variable) /* how far it is to the next one is not known */
		out->from = out->until = 0;
}

/* ---- everything ---------------------------------------------------------------------------- */

static enum data_kind data_kind_of(const struct image_key *k)
{
	static const struct {
		const char *prefix;
		enum data_kind kind;
	} rows[] = {
		{ "[heap]", DATA_HEAP },    { "[stack", DATA_STACK },
		{ "/memfd:", DATA_SHARED }, { "/dev/zero", DATA_SHARED },
		{ "/SYSV", DATA_SHARED },   { "/dev/shm/", DATA_SHARED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strncmp(k->path, rows[i].prefix, strlen(rows[i].prefix)))
			return rows[i].kind;
	return k->kind == IMAGE_ANON ? DATA_ANONYMOUS : DATA_FILE;
}

static void find_in_kernel(struct data_place *out, const struct spaces *sp, uint64_t address,
			   uint64_t time)
{
	struct space_span span;
	const struct map *m = space_find_span(sp, NULL, SPACE_KERNEL, address, time, &span);
	uint64_t at;

	out->kind = DATA_KERNEL;
	if (!m) {
		out->low = span.start > KERNEL ? span.start : KERNEL;
		out->high = span.end;
		out->from = span.from;
		out->until = span.until;
		return;
	}
	at = map_to_image(m, address);
	out->image = m->image;
	image_resolve(spaces_images(sp), m->image, &at, 1, &out->variable);
	if (out->variable) {
		out->start = address - (at - out->variable->start);
		out->size = out->variable->size;
	}
}

static void find_known(struct data_place *out, const struct spaces *sp, const struct process *proc,
		       uint64_t address, uint64_t time)
{
	struct space_span span;
	const struct map *m = space_find_span(sp, proc, SPACE_USER, address, time, &span);

	out->low = span.start;
	out->high = span.end < KERNEL ? span.end : KERNEL;
	out->from = span.from;
	out->until = span.until;
	if (m) {
		out->kind = data_kind_of(image_key(spaces_images(sp), m->image));
		out->image = m->image;
		out->start = m->start;
		out->size = m->end - m->start;
	}
	if (!m || out->kind == DATA_FILE || out->kind == DATA_ANONYMOUS || out->kind == DATA_HEAP)
		find_in_file(out, sp, proc, address, time);
}

/* ---- allocations --------------------------------------------------------------------------- */

void data_begin(struct spaces *sp)
{
	if (sp->heap || !sp->heap_log)
		return;
	if (!sp->sites)
		sp->sites = heap_sites_new();
	sp->heap = heap_read(sp->heap_log, sp->heap_log_len);
	vec_each (&sp->begins, const struct process_begins *, b)
		heap_began(sp->heap, b->pid, b->time, b->parent);
	heap_linked(sp->heap);
}

const struct heap_facts *data_heap_facts(const struct spaces *sp)
{
	return sp->heap ? heap_facts(sp->heap) : NULL;
}

/* The library that logs was in it when it ended. */
static bool has_library(const struct spaces *sp, const struct process *p)
{
	uint32_t root = p->version.n ? p->version.v[p->version.n - 1].root : 0;
	const struct piece_node *x;

	for (uint64_t at = 0; (x = pieces_next(&sp->pieces, root, at)) != NULL; at = x->end) {
		const struct map *m = x->value == PIECE_HOLE ? NULL : &sp->map.v[x->value];

		if (m && m->image != IMAGE_NONE &&
		    !strncmp(image_name(sp->images, m->image), LIBRARY, sizeof(LIBRARY) - 1))
			return true;
	}
	return false;
}

static bool has_process(const struct spaces *sp, uint32_t pid)
{
	for (size_t i = 0; i < sp->process.n; i++)
		if (sp->process.v[i]->pid == pid)
			return true;
	return false;
}

struct data_logs data_logs(const struct spaces *sp)
{
	struct data_logs out = { .name = NULL };
	uint64_t from, until;
	uint32_t id;

	if (!sp->heap)
		return out;
	for (size_t i = 0; i < sp->process.n; i++) {
		const struct process *p = sp->process.v[i];

		if (!p->execs || has_library(sp, p) || out.without++)
			continue;
		process_life(p, &from, &until);
		id = spaces_comm_at(sp, p->pid, p->pid, until - 1, NULL, NULL);
		out.pid = p->pid;
		out.name = id == STR_NONE ? NULL : strtab_get(spaces_strings(sp), id);
	}
	for (size_t i = 0; i < heap_logs(sp->heap); i++)
		out.of_others += !has_process(sp, heap_log_pid(sp->heap, i));
	return out;
}

int data_each_allocation(const struct spaces *sp,
			 int (*take)(void *ctx, const struct heap_object *o,
				     const struct heap_site *site),
			 void *ctx, struct err *err)
{
	size_t n = 0;
	const struct heap_object *o = sp->heap ? heap_objects(sp->heap, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (o[i].type != HEAP_STACK &&
		    take(ctx, &o[i], heap_site_of(sp->sites, sp, sp->heap, &o[i])))
			return err_nomem(err);
	}
	return 0;
}

static void take_object(struct data_place *out, const struct spaces *sp, const struct process *proc,
			const struct heap_object *o)
{
	*out = (struct data_place){ .kind = o->type == HEAP_STACK ? DATA_STACK
					    : o->type == HEAP_MAP ? DATA_ANONYMOUS
								  : DATA_HEAP,
				    .image = IMAGE_NONE,
				    .start = o->start,
				    .size = o->size,
				    .low = o->start,
				    .high = o->start + o->size };
	/* a mapping has allocations in it, a child may free its parent's */
	if (o->type != HEAP_MAP && heap_pid(sp->heap, o) == process_pid(proc)) {
		out->from = o->from;
		out->until = o->until;
	}
	if (o->type == HEAP_STACK) {
		out->tid = o->tid;
		return;
	}
	out->site = heap_site_of(sp->sites, sp, sp->heap, o);
	if (!out->site->n) {
		out->site = NULL;
		out->why = "who allocated it is not known: no call chain";
	}
}

void data_find(struct data_place *out, const struct spaces *sp, const struct process *proc,
	       uint64_t address, uint64_t time)
{
	const struct heap_object *o = NULL;
	enum heap_why why = HEAP_NO_LOG;

	*out = (struct data_place){ .image = IMAGE_NONE };
	if (address >= KERNEL) {
		find_in_kernel(out, sp, address, time);
		return;
	}
	if (sp->heap && proc)
		o = heap_find(sp->heap, process_pid(proc), address, time, &why);
	if (o) {
		take_object(out, sp, proc, o);
		return;
	}
	find_known(out, sp, proc, address, time);
	if (sp->heap && !out->variable) /* an allocation may lie beside it, or come */
		out->from = out->until = 0;
	if (out->kind == DATA_UNKNOWN || out->kind == DATA_HEAP || out->kind == DATA_ANONYMOUS)
		out->why = sp->heap ? heap_why_text(why)
				    : "allocations were not logged (record --heap)";
}

void data_name(struct buf *out, const struct data_place *p, const struct images *set)
{
	if (p->variable)
		buf_puts(out, p->variable->name);
	else if (p->site)
		buf_puts(out, p->site->name);
	else if (p->tid)
		buf_printf(out, "stack of %u", p->tid);
	else if (p->image != IMAGE_NONE)
		buf_puts(out, image_name(set, p->image));
}

bool data_same_object(const struct data_place *a, const struct data_place *b)
{
	if (a->kind != b->kind || a->site != b->site)
		return false;
	return a->site || (a->image == b->image && a->start == b->start && a->tid == b->tid);
}

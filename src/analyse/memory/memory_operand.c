/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_operand_int.h"

#include <elf.h>
#include <string.h>

#include "base/hash.h"
#include "symbol/disasm.h"

#define INSN_MOST 15u /* bytes */

static const char *const text[] = {
#define MEMORY_OPERAND(id, text) text,
#include "analyse/memory/memory_operand.def"
#undef MEMORY_OPERAND
};

const char *memory_operand_text(enum memory_operand_why why)
{
	return text[why];
}

enum memory_operand_why memory_operand_event(const struct pd *rec, const struct pd_event *ev,
					     const struct memop_how *how)
{
	const char *arch = pd_info(rec)->arch;

	if (!(ev->attr.sample_type & PERF_SAMPLE_REGS_INTR) || how->from == MEMOP_FROM_OP ||
	    how->from == MEMOP_FROM_FETCH || how->from == MEMOP_FROM_SPE)
		return MEMORY_OPERAND_UNWANTED;
	if (!how->intel || !arch || strcmp(arch, "x86_64"))
		return MEMORY_OPERAND_LATER;
	return ev->attr.precise_ip < 2 ? MEMORY_OPERAND_NOT_PRECISE : MEMORY_OPERAND_COMPUTED;
}

void memory_operand_begin(struct memory_operand_work *x, struct spaces *sp)
{
	x->spaces = sp;
	x->decoder = insn_decoder_new(EM_X86_64);
}

void memory_operand_free(struct memory_operand_work *x)
{
	insn_decoder_free(x->decoder);
	vec_free(&x->v);
	itab_free(&x->by_addr);
}

/* ---- instructions ---------------------------------------------------------------------------- */

struct reading {
	struct insn_decoder *decoder;
	struct operands o;
	bool any;
};

static int read_insn(void *ctx, const struct insn *in)
{
	struct reading *r = ctx;

	r->any = !in->bad;
	/* as if it lay at 0: relative addresses count from there */
	if (r->any)
		operands_decode(r->decoder, in->bytes, in->len, 0, &r->o);
	return 1;
}

static enum memory_operand_why judge(const struct operands *o)
{
	const struct operands_memory *m = &o->memory[0];
	uint64_t uses = (m->base == UNIT_NONE ? 0 : UINT64_C(1) << m->base) |
			(m->index == UNIT_NONE ? 0 : UINT64_C(1) << m->index);

	if (!o->n_memory || !m->bytes || o->op == OP_BIT) /* a bit's number counts, too */
		return MEMORY_OPERAND_NO_ACCESS;
	if (o->n_memory > 1)
		return MEMORY_OPERAND_SEVERAL;
	if (m->segment)
		return MEMORY_OPERAND_SEGMENT;
	/* push and pop move the stack pointer, which their `writes` leave out */
	if (uses & o->writes || (o->known != UNIT_NONE && o->known == m->base))
		return MEMORY_OPERAND_OVERWRITTEN;
	return MEMORY_OPERAND_COMPUTED;
}

static int decode(struct memory_operand_work *x, struct memory_operand *m, struct err *err)
{
	struct images *set = spaces_images(x->spaces);
	struct reading r = { .decoder = x->decoder };
	struct err why = ERR_INIT;
	uint64_t vaddr;

	m->why = MEMORY_OPERAND_NO_CODE;
	if (!x->decoder || disasm_machine(set, m->image) != EM_X86_64 ||
	    !image_to_vaddr(set, m->image, m->addr, &vaddr))
		return 0;
	if (disasm_range(set, m->image, vaddr, INSN_MOST, read_insn, &r, &why) < 0 &&
	    why.code == ERR_NOMEM)
		return err_nomem(err);
	if (!r.any || r.o.bad)
		return 0;
	m->why = judge(&r.o);
	m->at = r.o.memory[0];
	return 0;
}

static const struct memory_operand *operand_at(struct memory_operand_work *x, uint32_t image,
					       uint64_t addr, struct err *err)
{
	struct memory_operand m = { .addr = addr, .image = image };
	uint64_t h = hash_pair(addr, image);
	uint32_t idx;

	for (size_t i = itab_first(&x->by_addr, h); itab_at(&x->by_addr, &i, h, &idx);)
		if (x->v.v[idx].addr == addr && x->v.v[idx].image == image)
			return &x->v.v[idx];
	if (decode(x, &m, err))
		return NULL;
	if (x->v.n >= UINT32_MAX - 1 || vec_push(&x->v, m) ||
	    itab_put(&x->by_addr, h, x->v.n - 1)) {
		(void)err_nomem(err);
		return NULL;
	}
	return &x->v.v[x->v.n - 1];
}

/* ---- registers ------------------------------------------------------------------------------- */

/* Returns false if it was not sampled. UNIT_NONE is 0. */
static bool read_unit(const struct pd_regs *regs, unsigned unit, uint64_t *v)
{
	/* the kernel's order (perf_regs.h) of the first eight; r8 is bit 16 */
	static const uint8_t bits[] = { 0, 2, 3, 1, 7, 6, 4, 5 };
	unsigned bit = unit < 8 ? bits[unit] : unit + 8;
	uint64_t below;

	*v = 0;
	if (unit == UNIT_NONE)
		return true;
	if (unit >= 16 || !(regs->mask >> bit & 1))
		return false;
	below = regs->mask & ((UINT64_C(1) << bit) - 1);
	*v = ld64(regs->v + 8 * (size_t)__builtin_popcountll(below));
	return true;
}

static enum memory_operand_why compute(const struct operands_memory *m, const struct pd_sample *s,
				       struct memop *op)
{
	unsigned kind = op->set[MEMOP_KIND] & (MEMOP_KIND_LOAD | MEMOP_KIND_STORE);
	unsigned does = (m->load ? MEMOP_KIND_LOAD : 0u) | (m->store ? MEMOP_KIND_STORE : 0u);
	uint64_t base, index, at;

	if (kind & ~does)
		return MEMORY_OPERAND_OTHER_KIND;
	if (!read_unit(&s->regs_intr, m->base, &base) ||
	    !read_unit(&s->regs_intr, m->index, &index))
		return MEMORY_OPERAND_NOT_SAMPLED;
	at = base + index * m->scale + (uint64_t)m->disp + (m->relative ? s->ip : 0);
	op->address = m->narrow ? (uint32_t)at : at;
	op->has |= MEMOP_HAS_ADDRESS;
	if (!op->set[MEMOP_KIND])
		op->set[MEMOP_KIND] = (uint8_t)does;
	if (!op->width && m->bytes <= UINT8_MAX)
		op->width = (uint8_t)m->bytes;
	return MEMORY_OPERAND_COMPUTED;
}

/* Before its instruction is looked at. */
static enum memory_operand_why sample_fits(const struct pass_sample *p, const struct pd_sample *s)
{
	if (!(p->r->misc & PERF_RECORD_MISC_EXACT_IP) || !(s->has & PERF_SAMPLE_IP))
		return MEMORY_OPERAND_NOT_PRECISE;
	if (!(s->has & PERF_SAMPLE_REGS_INTR) || !s->regs_intr.abi)
		return MEMORY_OPERAND_NO_REGISTERS;
	if (s->regs_intr.abi != PERF_SAMPLE_REGS_ABI_64)
		return MEMORY_OPERAND_COMPAT;
	return s->cpumode == PERF_RECORD_MISC_USER ? MEMORY_OPERAND_COMPUTED
						   : MEMORY_OPERAND_KERNEL;
}

int memory_operand_find(struct memory_operand_work *x, const struct pass_sample *p,
			enum memory_operand_why fits, struct memop *op,
			enum memory_operand_why *why, struct err *err)
{
	const struct memory_operand *o;
	const struct place *at;
	struct pd_sample s;

	*why = fits;
	if (fits != MEMORY_OPERAND_COMPUTED)
		return 0;
	*why = pd_sample_parse_of(p->ev, p->r, &s) ? MEMORY_OPERAND_NO_REGISTERS
						   : sample_fits(p, &s);
	if (*why != MEMORY_OPERAND_COMPUTED)
		return 0;
	at = pass_place(p, SPACE_USER, s.ip);
	*why = MEMORY_OPERAND_NO_CODE;
	if (at->image == IMAGE_NONE)
		return 0;
	o = operand_at(x, at->image, s.ip - at->less, err);
	if (!o)
		return -1;
	*why = o->why == MEMORY_OPERAND_COMPUTED ? compute(&o->at, &s, op) : o->why;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/sample_frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"

#define LINK_REGISTER (1ULL << 30) /* of AArch64, in perf's order */

unsigned machine_of_arch(const char *arch)
{
	static const struct {
		const char *name;
		unsigned machine;
	} table[] = {
		{ "x86_64", EM_X86_64 }, { "i386", EM_386 },	  { "i486", EM_386 },
		{ "i586", EM_386 },	 { "i686", EM_386 },	  { "aarch64", EM_AARCH64 },
		{ "arm64", EM_AARCH64 }, { "armv7l", EM_ARM },	  { "armv6l", EM_ARM },
		{ "armv8l", EM_ARM },	 { "riscv64", EM_RISCV }, { "ppc64le", EM_PPC64 },
		{ "ppc64", EM_PPC64 },	 { "s390x", EM_S390 },
	};

	for (size_t i = 0; arch && i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].name, arch))
			return table[i].machine;
	return EM_NONE;
}

struct sample_frames_how sample_frames_how(const struct pd_event *e, unsigned machine)
{
	const uint64_t stack = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	uint64_t type = e->attr.sample_type;

	return (struct sample_frames_how){
		.lbr = type & PERF_SAMPLE_BRANCH_STACK &&
		       e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK,
		.dwarf = (type & stack) == stack,
		.leaf = machine == EM_AARCH64 && type & PERF_SAMPLE_CALLCHAIN &&
			(type & stack) == PERF_SAMPLE_REGS_USER &&
			e->attr.sample_regs_user & LINK_REGISTER,
	};
}

int sample_frames_init(struct sample_frames *f, const struct spaces *sp, unsigned machine,
		       size_t max, struct err *err)
{
	*f = (struct sample_frames){
		.sp = sp,
		.machine = machine,
		.max = max < SAMPLE_FRAMES_MAX ? max : SAMPLE_FRAMES_MAX,
	};
	f->frame = malloc((f->max + 1) * sizeof(*f->frame));
	f->ips = malloc((f->max + 1) * sizeof(*f->ips));
	if (f->frame && f->ips)
		return 0;
	sample_frames_free(f);
	return err_nomem(err);
}

void sample_frames_free(struct sample_frames *f)
{
	free(f->frame);
	free(f->ips);
	unwinder_free(f->unwinder);
	f->frame = NULL;
	f->ips = NULL;
	f->unwinder = NULL;
}

bool sample_frames_push(struct sample_frames *f, uint64_t ip, uint8_t kind, bool caller)
{
	if (f->n >= f->max)
		return false;
	f->frame[f->n++] = (struct sample_frame){ ip, kind, caller };
	return true;
}

/* An unknown marker makes all of it doubtful: dropped, as perf does. */
bool sample_frames_recorded(struct sample_frames *f, const uint8_t *p, uint64_t n, bool until_user,
			    uint8_t kind, bool caller)
{
	f->doubtful = false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t ip = ld64(p + i * 8);

		if (chain_is_marker(ip)) {
			enum space_kind c = space_kind_of_marker(ip);

			if (c == SPACE_UNKNOWN) {
				f->n = 0;
				f->doubtful = true;
				return false;
			}
			if (until_user && c == SPACE_USER)
				return true;
			kind = (uint8_t)c;
			/* the first of a context is the place of the interrupt */
			caller = false;
			continue;
		}
		caller |= chain_is_hole(ip, kind);
		if (!sample_frames_push(f, ip, kind, caller))
			break;
		caller = true;
	}
	return false;
}

/* A branch stack in call-stack mode: the newest entry's target is in the running function, each
 * source is a call that has not returned. */
static bool take_lbr(struct sample_frames *f, const struct pd_sample *s)
{
	if (!(s->has & PERF_SAMPLE_BRANCH_STACK) || !s->n_branch)
		return false;
	if (!sample_frames_recorded(f, s->chain, s->n_chain, true, KIND_UNSAID, false)) {
		f->n = 0;
		return false;
	}
	for (uint64_t i = 0; i < s->n_branch; i++) {
		struct pd_branch b = pd_branch_get(s, i);

		if (i == 0 && !sample_frames_push(f, b.to, SPACE_USER, false))
			break;
		/* not a return address: the call itself */
		if (!sample_frames_push(f, b.from, SPACE_USER, false))
			break;
	}
	return true;
}

static bool has_unwinder(struct sample_frames *f, struct err *err)
{
	if (!f->unwinder)
		f->unwinder = unwinder_new(f->sp, err);
	return f->unwinder != NULL;
}

/* A function of AArch64 without a frame record is followed by its caller's caller: the caller
 * itself is in the link register, if the tables have it there. */
static int add_leaf(struct sample_frames *f, const struct unwind_in *in, struct err *err)
{
	size_t at = 0;
	uint64_t ra;

	while (at < f->n && (f->frame[at].kind != SPACE_USER || f->frame[at].caller))
		at++;
	if (at == f->n || !in->abi)
		return 0;
	if (!has_unwinder(f, err))
		return -1;
	ra = unwind_leaf(f->unwinder, in, f->frame[at].ip);
	if (!ra || (at + 1 < f->n && f->frame[at + 1].ip == ra))
		return 0;
	if (f->n == f->max) /* the outermost goes */
		f->n--;
	if (at == f->n)
		return 0;
	memmove(&f->frame[at + 2], &f->frame[at + 1], (f->n - at - 1) * sizeof(*f->frame));
	f->frame[at + 1] = (struct sample_frame){ ra, SPACE_USER, true };
	f->n++;
	return 0;
}

static int add_unwound(struct sample_frames *f, const struct unwind_in *in, struct err *err)
{
	enum unwind_end end = UNWIND_DONE;
	size_t n;

	if (!in->stack_size || !in->abi)
		return 0;
	if (!has_unwinder(f, err))
		return -1;
	n = unwind_user(f->unwinder, in, f->ips, f->max - f->n, &end);
	if ((unsigned)end < 8)
		f->ends[end]++;
	for (size_t i = 0; i < n; i++)
		if (!sample_frames_push(f, f->ips[i], SPACE_USER, i > 0))
			break;
	return 0;
}

int sample_frames_take(struct sample_frames *f, const struct sample_frames_how *how,
		       const struct pd_sample *s, const struct process *proc, uint64_t time,
		       struct err *err)
{
	const struct unwind_in in = {
		.proc = proc,
		.time = time,
		.machine = f->machine,
		.abi = s->regs_user.abi,
		.reg_mask = s->regs_user.mask,
		.regs = s->regs_user.v,
		.stack = s->stack,
		.stack_size = s->has & PERF_SAMPLE_STACK_USER ? s->stack_size : 0,
	};

	f->n = 0;
	if (!how->lbr || !take_lbr(f, s))
		(void)sample_frames_recorded(f, s->chain,
					     s->has & PERF_SAMPLE_CALLCHAIN ? s->n_chain : 0, false,
					     KIND_UNSAID, false);
	if (how->dwarf && add_unwound(f, &in, err))
		return -1;
	return how->leaf ? add_leaf(f, &in, err) : 0;
}

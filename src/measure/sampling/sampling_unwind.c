/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * -g=unwind: the kernel copies registers and the top of the stack into each sample; here, on the
 * draining thread, they become the addresses of the callers, which are stored instead. The files
 * that hold the call-frame tables are those that processes have mapped now.
 *
 * Records come in the order of their times, but a round does not end at the same time in all rings
 * (ring_order.h). If an address lies in no mapping, the record of the mapping may come with the
 * next round: the sample is held back until then, up to a bound. Samples of a round may come later
 * by one round (FINISHED_ROUND).
 */
#include <elf.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/nomem.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/unwind.h"

#define CONTEXT_USER (-(uint64_t)512) /* PERF_CONTEXT_USER */

enum { FRAMES_MAX = 4096, HELD_MAX = 32 << 20 };

struct unwound {
	struct images *images;
	struct live_spaces *live;
	struct unwinder *unwinder;
	struct buf held, retried; /* whole records, and those of the round before */
	bool last_try;
	bool over; /* memory ran out in `images` or below: they are left as they are */
	struct unwound_seen seen;
	uint64_t chain[FRAMES_MAX + 1];
	uint8_t out[2 * (UINT16_MAX + 1)];
};

static unsigned this_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

int unwound_new(struct unwound **out, struct err *err)
{
	const struct images_opts opts = { .trust_paths = true, .inodes_here = true };
	struct unwound *u = calloc(1, sizeof(*u));

	*out = u;
	if (!u)
		return err_nomem(err);
	u->images = images_new(&opts, err);
	u->live = u->images ? live_new(u->images, err) : NULL;
	u->unwinder = u->live ? unwinder_new_live(u->live, err) : NULL;
	return u->unwinder ? 0 : -1;
}

void unwound_free(struct unwound *u)
{
	if (!u)
		return;
	if (!u->over) {
		unwinder_free(u->unwinder);
		live_free(u->live);
		images_free(u->images);
	}
	buf_free(&u->held);
	buf_free(&u->retried);
	free(u);
}

const struct unwound_seen *unwound_seen(const struct unwound *u)
{
	return &u->seen;
}

/* ---- lack of memory -------------------------------------------------------------------------- */

/* Something that reads programs and their tables, which takes memory. */
struct step {
	struct unwound *u;
	const struct pd_record *rec;
	const struct unwind_in *in;
	enum unwind_end end;
	size_t n;
	int rc;
	struct err err;
};

/* If memory runs out, the recording goes on without callers. */
static void do_step(struct step *s, void (*step)(struct step *s))
{
	jmp_buf back;

	if (s->u->over)
		return;
	if (setjmp(back)) {
		s->u->over = true;
		return;
	}
	nomem_outlive(&back);
	step(s);
	nomem_outlive(NULL);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static int enter_mapping(struct unwound *u, const struct pd_record *r, struct err *err)
{
	struct pd_mmap m;

	if (pd_mmap_get(NULL, r, &m))
		return 0;
	return live_map(u->live,
			&(struct space_map_fact){ .pid = m.pid,
						  .tid = m.tid,
						  .start = m.addr,
						  .len = m.len,
						  .pgoff = m.pgoff,
						  .prot = m.prot,
						  .shared = m.flags & MAP_SHARED,
						  .file = { m.maj, m.min, m.ino, m.ino_generation },
						  .build_id = m.build_id_len ? m.build_id : NULL,
						  .build_id_len = m.build_id_len,
						  .misc = r->misc,
						  .path = m.path },
			err);
}

static void note_record(struct step *s)
{
	struct live_spaces *live = s->u->live;
	struct pd_task task;
	struct pd_comm comm;

	switch (s->rec->type) {
	case PERF_RECORD_MMAP2:
		s->rc = enter_mapping(s->u, s->rec, &s->err);
		break;
	case PERF_RECORD_FORK:
		if (!pd_task_get(s->rec, &task))
			s->rc = live_fork(live, task.pid, task.ppid, &s->err);
		break;
	case PERF_RECORD_EXIT:
		if (!pd_task_get(s->rec, &task))
			live_exit(live, task.pid);
		break;
	default:
		if (!pd_comm_get(s->rec, &comm) && comm.exec)
			live_exec(live, comm.pid);
	}
}

int unwound_note(struct unwound *u, const uint8_t *p, size_t size, struct err *err)
{
	const struct pd_record r = {
		.p = p, .size = (uint16_t)size, .type = ld32(p), .misc = ld16(p + 4)
	};
	struct step s = { .u = u, .rec = &r };

	if (r.type != PERF_RECORD_MMAP2 && r.type != PERF_RECORD_FORK &&
	    r.type != PERF_RECORD_EXIT && r.type != PERF_RECORD_COMM)
		return 0;
	do_step(&s, note_record);
	if (s.rc && s.err.code == ERR_NOMEM) {
		u->over = true;
		return 0;
	}
	if (s.rc && err)
		*err = s.err;
	return s.rc;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Whether more of the stack was there than was asked for. */
static bool is_cut(const struct pd_event *ev, const struct pd_sample *s)
{
	/* a record is no larger than 64 kB, and the kernel makes copies smaller for that */
	return s->stack_size + 8 >= ev->attr.sample_stack_user;
}

static void note_walk(const struct unwound *u, const struct pd_event *ev, const struct pd_sample *s,
		      enum unwind_end end, struct unwound_look *look)
{
	uint64_t reach = end == UNWIND_STACK ? s->stack_size : unwind_reach(u->unwinder);

	look->samples++;
	look->cut += end == UNWIND_STACK && is_cut(ev, s);
	if (reach > look->deepest)
		look->deepest = reach;
}

static void walk_stack(struct step *s)
{
	s->n = unwind_user(s->u->unwinder, s->in, s->u->chain + 1, FRAMES_MAX, &s->end);
}

/* The entries to add to the chain of a sample. False: it has to wait for its mappings. */
static bool find_callers(struct unwound *u, const struct pd_event *ev, const struct pd_sample *s,
			 struct unwound_look *look, size_t *n)
{
	struct unwind_in in = { .live = u->over ? NULL : live_process(u->live, s->pid),
				.machine = this_machine(),
				.abi = s->regs_user.abi,
				.reg_mask = s->regs_user.mask,
				.regs = s->regs_user.v,
				.stack = s->stack,
				.stack_size = s->stack_size };
	struct step step = { .u = u, .in = &in, .end = UNWIND_NO_CODE };

	*n = 0;
	if (!s->regs_user.abi || !s->regs_user.v)
		return true; /* a thread of the kernel */
	if (in.live)
		do_step(&step, walk_stack);
	if (u->over) {
		u->seen.without++;
		return true;
	}
	*n = step.n;
	if (step.end == UNWIND_NO_CODE && !u->last_try && u->held.len < HELD_MAX)
		return false;
	if (s->stack_size) { /* else, in the middle of an exec, there is none */
		u->seen.samples++;
		u->seen.end[step.end]++;
		if (look)
			note_walk(u, ev, s, step.end, look);
	}
	if (*n) {
		u->chain[0] = CONTEXT_USER;
		*n += 1;
	}
	return true;
}

int unwound_sample(struct unwound *u, const struct pd_event *ev, const struct pd_record *rec,
		   uint64_t drop, struct unwound_look *look, const uint8_t **p, size_t *size,
		   struct err *err)
{
	struct pd_sample s;
	size_t n = 0;
	int got;

	if (pd_sample_parse_of(ev, rec, &s))
		return err_set(err, ERR_FORMAT, "the kernel's ring holds a sample that is cut off");
	if (s.has & PERF_SAMPLE_STACK_USER && !find_callers(u, ev, &s, look, &n)) {
		buf_put(&u->held, rec->p, rec->size);
		*size = 0;
		return buf_error(&u->held, err);
	}
	got = pd_sample_rewrite(ev, rec, drop, u->chain, n, u->out);
	if (got < 0)
		return err_set(err, ERR_FORMAT, "the kernel's ring holds a sample that is cut off");
	*p = u->out;
	*size = (size_t)got;
	return 0;
}

static void end_round(struct step *s)
{
	live_round(s->u->live);
}

int unwound_round(struct unwound *u,
		  int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err), void *ctx,
		  struct err *err)
{
	struct buf held = u->held;
	size_t at = 0;
	int rc = 0;

	u->held = u->retried;
	u->retried = held;
	buf_reset(&u->held);
	u->last_try = true;
	while (!rc && at < held.len) {
		const uint8_t *p = (const uint8_t *)held.s + at;

		rc = put(ctx, p, ld16(p + 6), err);
		at += ld16(p + 6);
	}
	u->last_try = false;
	do_step(&(struct step){ .u = u }, end_round);
	return rc;
}

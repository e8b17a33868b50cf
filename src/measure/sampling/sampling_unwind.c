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
#include <stdlib.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/bytes.h"
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
	unwinder_free(u->unwinder);
	live_free(u->live);
	images_free(u->images);
	buf_free(&u->held);
	buf_free(&u->retried);
	free(u);
}

const struct unwound_seen *unwound_seen(const struct unwound *u)
{
	return &u->seen;
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

int unwound_note(struct unwound *u, const uint8_t *p, size_t size, struct err *err)
{
	const struct pd_record r = {
		.p = p, .size = (uint16_t)size, .type = ld32(p), .misc = ld16(p + 4)
	};
	struct pd_task task;
	struct pd_comm comm;

	switch (r.type) {
	case PERF_RECORD_MMAP2:
		return enter_mapping(u, &r, err);
	case PERF_RECORD_FORK:
		return pd_task_get(&r, &task) ? 0 : live_fork(u->live, task.pid, task.ppid, err);
	case PERF_RECORD_EXIT:
		if (!pd_task_get(&r, &task))
			live_exit(u->live, task.pid);
		return 0;
	case PERF_RECORD_COMM:
		if (!pd_comm_get(&r, &comm) && comm.exec)
			live_exec(u->live, comm.pid);
		return 0;
	default:
		return 0;
	}
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

/* The entries to add to the chain of a sample. False: it has to wait for its mappings. */
static bool find_callers(struct unwound *u, const struct pd_event *ev, const struct pd_sample *s,
			 struct unwound_look *look, size_t *n)
{
	struct unwind_in in = { .live = live_process(u->live, s->pid),
				.machine = this_machine(),
				.abi = s->regs_user.abi,
				.reg_mask = s->regs_user.mask,
				.regs = s->regs_user.v,
				.stack = s->stack,
				.stack_size = s->stack_size };
	enum unwind_end end = UNWIND_NO_CODE;

	*n = 0;
	if (!s->regs_user.abi || !s->regs_user.v)
		return true; /* a thread of the kernel */
	if (in.live)
		*n = unwind_user(u->unwinder, &in, u->chain + 1, FRAMES_MAX, &end);
	if (end == UNWIND_NO_CODE && !u->last_try && u->held.len < HELD_MAX)
		return false;
	if (s->stack_size) { /* else, in the middle of an exec, there is none */
		u->seen.samples++;
		u->seen.end[end]++;
		if (look)
			note_walk(u, ev, s, end, look);
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
	live_round(u->live);
	return rc;
}

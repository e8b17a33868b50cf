/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * -g=unwind: the kernel copies registers and the top of the stack into each sample; here, on the
 * draining thread, they become the addresses of the callers, which are stored instead. The files
 * that hold the call-frame tables are those that processes have mapped now.
 *
 * Mappings come with the records of any ring. If an address lies in none, the record of the mapping
 * may still be in a ring that is drained after this one: the sample is held back until the next
 * round, up to a bound. Samples of a round may come later by one round (FINISHED_ROUND).
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/unwind.h"

#define HEAD	     sizeof(struct perf_event_header)
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

/* pid, tid, address, length, offset, then either device, inode and generation or the build-id's
 * length, three bytes, 20 bytes; rights, flags, path. */
static int enter_mmap2(struct unwound *u, const uint8_t *p, size_t size, struct err *err)
{
	const size_t path_at = HEAD + 64;
	struct space_map_fact f = { .misc = ld16(p + 4) };

	if (size <= path_at || !memchr(p + path_at, 0, size - path_at))
		return 0;
	f.pid = ld32(p + HEAD);
	f.tid = ld32(p + HEAD + 4);
	f.start = ld64(p + HEAD + 8);
	f.len = ld64(p + HEAD + 16);
	f.pgoff = ld64(p + HEAD + 24);
	if (f.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		f.build_id_len = p[HEAD + 32] <= BUILD_ID_MAX ? p[HEAD + 32] : 0;
		f.build_id = f.build_id_len ? p + HEAD + 36 : NULL;
	} else {
		f.file = (struct file_identity){ .maj = ld32(p + HEAD + 32),
						 .min = ld32(p + HEAD + 36),
						 .ino = ld64(p + HEAD + 40),
						 .gen = ld64(p + HEAD + 48) };
	}
	f.prot = ld32(p + HEAD + 56);
	f.shared = ld32(p + HEAD + 60) & 1; /* MAP_SHARED */
	f.path = (const char *)p + path_at;
	return live_map(u->live, &f, err);
}

int unwound_note(struct unwound *u, const uint8_t *p, size_t size, struct err *err)
{
	switch (ld32(p)) {
	case PERF_RECORD_MMAP2:
		return enter_mmap2(u, p, size, err);
	case PERF_RECORD_FORK:
		return size < HEAD + 8
			       ? 0
			       : live_fork(u->live, ld32(p + HEAD), ld32(p + HEAD + 4), err);
	case PERF_RECORD_EXIT:
		if (size >= HEAD + 8)
			live_exit(u->live, ld32(p + HEAD));
		return 0;
	case PERF_RECORD_COMM:
		if (size >= HEAD + 8 && ld16(p + 4) & PERF_RECORD_MISC_COMM_EXEC)
			live_exec(u->live, ld32(p + HEAD));
		return 0;
	default:
		return 0;
	}
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The entries to add to the chain of a sample. False: it has to wait for its mappings. */
static bool find_callers(struct unwound *u, const struct pd_sample *s, size_t *n)
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
	u->seen.samples++;
	u->seen.end[end]++;
	if (*n) {
		u->chain[0] = CONTEXT_USER;
		*n += 1;
	}
	return true;
}

int unwound_sample(struct unwound *u, const struct pd_event *ev, const struct pd_record *rec,
		   uint64_t drop, const uint8_t **p, size_t *size, struct err *err)
{
	struct pd_sample s;
	size_t n = 0;
	int got;

	if (pd_sample_parse_of(ev, rec, &s))
		return err_set(err, ERR_FORMAT, "the kernel's ring holds a sample that is cut off");
	if (s.has & PERF_SAMPLE_STACK_USER && !find_callers(u, &s, &n)) {
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

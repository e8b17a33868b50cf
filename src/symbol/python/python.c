/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads and their frames.
 */
#include "symbol/python.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "symbol/python/python_int.h"

enum {
	INTERPRETERS_MAX = 64,
	THREADS_MAX = 4096,
	MISSES = 32 /* samples of a thread without a state before its state is looked for again */
};

struct python *python_new(const struct python_memory *m, uint64_t runtime, uint32_t version,
			  struct err *err)
{
	struct python *py = calloc(1, sizeof(*py));

	if (!py) {
		(void)err_nomem(err);
		return NULL;
	}
	py->m = *m;
	py->runtime = runtime;
	if (!python_layout_read(&py->l, m, runtime, version, err))
		return py;
	python_free(py);
	return NULL;
}

void python_free(struct python *py)
{
	if (!py)
		return;
	arena_free(&py->arena);
	u64map_free(&py->code);
	u64map_free(&py->thread);
	free(py);
}

static bool read_word(const struct python *py, uint64_t addr, uint64_t *out)
{
	uint8_t b[8];

	if (!addr || !py->m.read(py->m.ctx, addr, b, sizeof(b)))
		return false;
	*out = ld64(b);
	return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct thread_state {
	uint64_t next, interpreter, frame, native_id;
};

static bool read_thread(const struct python *py, uint64_t addr, struct thread_state *t)
{
	const struct python_layout *l = &py->l;
	const uint32_t at[] = { l->thread_next, l->thread_interpreter, l->thread_frame,
				l->thread_native_id };
	uint8_t b[PYTHON_PART_MAX];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		n = at[i] + 8 > n ? at[i] + 8 : n;
	if (!addr || !py->m.read(py->m.ctx, addr, b, n))
		return false;
	*t = (struct thread_state){ ld64(b + at[0]), ld64(b + at[1]), ld64(b + at[2]),
				    ld64(b + at[3]) };
	return true;
}

/* The state of the thread, of any interpreter; 0: it has none. */
static uint64_t look_for_thread(const struct python *py, uint32_t tid)
{
	const struct python_layout *l = &py->l;
	uint64_t interpreter, thread;
	unsigned seen = 0;

	if (!read_word(py, py->runtime + l->runtime_interpreters, &interpreter))
		return 0;
	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		struct thread_state t = { .next = 0 };

		if (!read_word(py, interpreter + l->interpreter_threads, &thread))
			return 0;
		for (; thread && seen < THREADS_MAX; seen++, thread = t.next) {
			if (!read_thread(py, thread, &t) || t.interpreter != interpreter)
				break;
			if (t.native_id == tid)
				return thread;
		}
		if (!read_word(py, interpreter + l->interpreter_next, &interpreter))
			return 0;
	}
	return 0;
}

/* The thread's state, and where it is. */
static bool find_thread(struct python *py, uint32_t tid, uint64_t *addr, struct thread_state *t)
{
	uint64_t *known = u64map_at(&py->thread, tid, NULL);

	if (!known)
		return false;
	if (*known && *known <= MISSES) {
		--*known;
		return false;
	}
	if (*known && read_thread(py, *known, t) && t->native_id == tid) {
		*addr = *known;
		return true;
	}
	*addr = look_for_thread(py, tid);
	*known = *addr ? *addr : MISSES;
	return *addr && read_thread(py, *addr, t) && t->native_id == tid;
}

/* The innermost frame; 0: none. */
static uint64_t top_frame(const struct python *py, const struct thread_state *t)
{
	uint64_t frame = t->frame;

	if (!py->l.frame_direct && !read_word(py, t->frame + py->l.cframe, &frame))
		return 0;
	return frame;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Bytes of the process by a window that ends with them: most frames lie below the first. */
static const uint8_t *read_near(struct python *py, uint64_t addr, size_t n)
{
	uint64_t end = addr + n, from = end > sizeof(py->window) ? end - sizeof(py->window) : 0;

	if (py->window_len && addr >= py->window_at && addr - py->window_at <= py->window_len &&
	    py->window_len - (addr - py->window_at) >= n)
		return py->window + (addr - py->window_at);
	/* not below the page, which may be the first of its mapping */
	if (from < (addr & ~4095ULL))
		from = addr & ~4095ULL;
	py->window_at = from;
	py->window_len = (size_t)(addr - from) + n;
	if (py->window_len > sizeof(py->window) ||
	    !py->m.read(py->m.ctx, from, py->window, py->window_len)) {
		py->window_at = addr;
		py->window_len = n;
		if (!py->m.read(py->m.ctx, addr, py->window, n)) {
			py->window_len = 0;
			return NULL;
		}
	}
	return py->window + (addr - py->window_at);
}

/* True, with all of them, or false if one could not be read. */
static bool walk_frames(struct python *py, uint64_t addr, struct python_frame *out, size_t max,
			size_t *n)
{
	const struct python_layout *l = &py->l;
	size_t part = l->frame_owner + 8u;

	part = part > l->frame_previous + 8 ? part : l->frame_previous + 8;
	part = part > l->frame_code + 8 ? part : l->frame_code + 8;
	part = part > l->frame_instruction + 8 ? part : l->frame_instruction + 8;
	py->window_len = 0;
	for (size_t turns = 0; addr && turns < 2 * PYTHON_FRAMES_MAX && *n < max; turns++) {
		const uint8_t *b = read_near(py, addr, part);
		struct python_frame f = { .entry = false };
		uint64_t previous;

		if (!b)
			return false;
		previous = ld64(b + l->frame_previous);
		if (b[l->frame_owner] >= l->shim_owner) { /* ends what one call has */
			if (*n)
				out[*n - 1].entry = true;
		} else {
			f.entry = l->entry_flag && b[l->entry_flag];
			f.function = python_code_at(py, ld64(b + l->frame_code) & ~7ULL,
						    ld64(b + l->frame_instruction), &f.line);
			if (!f.function)
				return false;
			/* 3.13: what runs an __init__() has code that is of no file */
			if (strcmp(f.function->file, f.function->name) != 0)
				out[(*n)++] = f;
		}
		if (previous == addr)
			return false;
		addr = previous;
	}
	if (*n && !addr)
		out[*n - 1].entry = true;
	return true;
}

/* What lies below the first frame stays as it is while that is on the stack, and a frame that ended
 * stays readable: only a chain that leads nowhere is read again. */
size_t python_frames(struct python *py, uint32_t tid, struct python_frame *out, size_t max,
		     bool *torn)
{
	size_t most = max < PYTHON_FRAMES_MAX ? max : PYTHON_FRAMES_MAX, n = 0;
	struct thread_state t;
	uint64_t at;

	*torn = false;
	py->lines_seen = 0;
	for (int tries = 0; tries < PYTHON_TRIES; tries++) {
		n = 0;
		if (!find_thread(py, tid, &at, &t))
			break;
		*torn = !walk_frames(py, top_frame(py, &t), out, most, &n);
		if (!*torn)
			return n;
	}
	return 0;
}

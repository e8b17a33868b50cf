/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_object - what threads waited for, by name, and the line of the program that did: see wait.h
 * on what is known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/wait/wait_int.h"
#include "base/bisect.h"
#include "base/fs.h"
#include "base/xalloc.h"
#include "symbol/data.h"

/* ---- names ----------------------------------------------------------------------------------- */

#define LARGE 64 /* bytes: a variable so large has more in it than a lock (pthread.h: at most 56) */

/* A futex: glibc's locks have theirs anywhere in them. The answer holds in [m->from, m->until). */
static void put_futex(struct buf *b, const struct wait_work *k, uint64_t address, uint32_t pid,
		      uint64_t time, struct memo *m)
{
	const struct process *proc = spaces_process(k->sp, pid, time);
	struct data_place p;
	uint64_t offset;

	data_find(&p, k->sp, proc, address, time);
	*m = (struct memo){ .until = UINT64_MAX };
	if (proc)
		process_life(proc, &m->from, &m->until);
	m->from = p.from > m->from ? p.from : m->from;
	m->until = p.until < m->until ? p.until : m->until;
	data_name(b, &p, spaces_images(k->sp));
	offset = address - p.start;
	if (p.kind == DATA_VARIABLE || p.site) {
		if (b->len && p.start && p.size > LARGE && offset < p.size)
			buf_printf(b, "+0x%" PRIx64, offset);
		if (b->len)
			return;
	}
	buf_reset(b);
	buf_printf(b, "0x%" PRIx64, address);
	if (p.kind != DATA_UNKNOWN)
		buf_printf(b, " (%s)", data_kind_name(p.kind));
}

static void put_child(struct buf *b, const struct wait_work *k, int32_t pid, uint64_t time)
{
	uint32_t comm;

	if (pid <= 0) {
		buf_puts(b, pid == -1 ? "any child" : "any child of a group");
		return;
	}
	buf_printf(b, "process %" PRId32, pid);
	comm = spaces_comm_at(k->sp, (uint32_t)pid, (uint32_t)pid, time, NULL, NULL);
	if (comm != STR_NONE)
		buf_printf(b, " (%s)", strtab_get(spaces_strings(k->sp), comm));
}

static void put_object(struct buf *b, const struct wait_work *k, enum pd_object kind,
		       uint64_t value, const char *text, uint32_t pid, uint64_t time)
{
	struct memo m;

	switch (kind) {
	case PD_OBJECT_ADDRESS:
		put_futex(b, k, value, pid, time, &m);
		return;
	case PD_OBJECT_FD:
		if (*text)
			buf_printf(b, "fd %" PRIu64 ": %s", value, text);
		return;
	case PD_OBJECT_PID:
		put_child(b, k, (int32_t)value, time);
		return;
	case PD_OBJECT_QUEUE:
		buf_printf(b, "message queue %" PRId32, (int32_t)value);
		return;
	case PD_OBJECT_SEMAPHORE:
		buf_printf(b, "semaphores %" PRId32, (int32_t)value);
		return;
	case PD_OBJECT_FDS:
		buf_puts(b, text);
		return;
	case PD_OBJECT_QUOTA:
		if (*text)
			buf_printf(b, "quota of %s", text);
		return;
	case PD_OBJECT_NONE:
	case PD_OBJECTS:
		return;
	}
}

uint32_t object_number(struct wait_work *k, enum pd_object kind, uint64_t value, const char *text,
		       uint32_t pid, uint64_t time)
{
	struct buf b = BUF_INIT;
	uint32_t id = 0;

	put_object(&b, k, kind, value, text, pid, time);
	if (b.len)
		id = strtab_xadd(&k->out->object, buf_str(&b), b.len);
	buf_free(&b);
	return id;
}

/* ---- what was seen of a span ----------------------------------------------------------------- */

/* A look was taken in the wait. */
static bool sees_within(uint64_t from, uint64_t until, const struct wait_span *s)
{
	return (from >= s->from && from <= s->until) || (until >= s->from && until <= s->until);
}

/* So it was, or two with the same answer before and behind. */
static bool sees(uint64_t from, uint64_t until, const struct wait_span *s)
{
	return sees_within(from, until, s) || (from <= s->from && until >= s->until);
}

/* "" if it is not known, or was one file and then another. */
static const char *fd_file(const struct pd_info *info, uint32_t pid, uint32_t fd,
			   const struct wait_span *s)
{
	const char *found = "";
	size_t at;

	bisect(at, info->n_fd_looks, i,
	       info->fd_look[i].pid > pid ||
		       (info->fd_look[i].pid == pid && info->fd_look[i].fd >= fd));
	for (; at < info->n_fd_looks; at++) {
		const struct pd_fd_look *x = &info->fd_look[at];

		if (x->pid != pid || x->fd != fd)
			break;
		if (!sees(x->from, x->until, s))
			continue;
		if (*found && strcmp(found, x->text) != 0)
			return "";
		found = x->text;
	}
	return found;
}

/* Descriptors of poll, if the thread was looked at in this wait; the cgroup of a quota, if every
 * look found the same. */
static const char *seen_text(const struct pd_info *info, enum pd_object kind, uint32_t tid,
			     const struct wait_span *s)
{
	const char *found = "";
	size_t at;

	bisect(at, info->n_looks, i, info->look[i].tid >= tid);
	for (; at < info->n_looks && info->look[at].tid == tid; at++) {
		const struct pd_look *x = &info->look[at];

		if (x->kind != kind ||
		    (kind == PD_OBJECT_FDS && !sees_within(x->from, x->until, s)))
			continue;
		if (*found && strcmp(found, x->text) != 0)
			return "";
		found = x->text;
	}
	return found;
}

static enum pd_object kind_of_span(const struct wait_work *k, const struct wait_span *s,
				   uint32_t arg)
{
	enum pd_object kind = (enum pd_object)k->object[s->chain];

	if (s->reason == WAIT_THROTTLED)
		return PD_OBJECT_QUOTA;
	if (wait_reasons[s->reason].state != WAIT_BLOCKED || s->reason == WAIT_FAULT || s->guessed)
		return PD_OBJECT_NONE;
	return arg || kind == PD_OBJECT_FDS ? kind : PD_OBJECT_NONE;
}

static uint32_t object_of_span(struct wait_work *k, enum pd_object kind, const struct wait_span *s,
			       uint32_t arg)
{
	const struct pd_info *info = pd_info(k->rec);
	const struct wait_thread *t = &k->thread.v[s->thread];
	uint64_t value = arg ? k->arg.v[arg - 1] : 0;
	const char *text = "";

	if (kind == PD_OBJECT_FD) {
		value &= UINT32_MAX;
		text = fd_file(info, t->pid, (uint32_t)value, s);
	} else if (kind == PD_OBJECT_FDS) {
		text = seen_text(info, kind, t->tid, s);
	} else if (kind == PD_OBJECT_QUOTA) {
		text = seen_text(info, kind, t->pid, s);
	}
	return object_number(k, kind, value, text, t->pid, s->from);
}

struct futexes {
	struct u64map at;   /* pid, place of the argument -> place in v */
	VEC(struct memo) v; /* its `chain` is the object */
};

/* Looked up once for each address and the times in which it is the same. */
static uint32_t futex_of_span(struct wait_work *k, struct futexes *f, const struct wait_span *s,
			      uint32_t arg)
{
	uint32_t pid = k->thread.v[s->thread].pid;
	bool fresh;
	uint64_t *at = u64map_xat(&f->at, (uint64_t)pid << 32 | arg, &fresh);
	struct memo *m, none = { .chain = 0 };
	struct buf b = BUF_INIT;

	if (fresh) {
		*at = f->v.n;
		vec_xpush(&f->v, none);
	}
	m = &f->v.v[*at];
	if (s->from >= m->from && s->from < m->until)
		return m->chain;
	put_futex(&b, k, k->arg.v[arg - 1], pid, s->from, m);
	m->chain = strtab_xadd(&k->out->object, buf_str(&b), b.len);
	buf_free(&b);
	return m->chain;
}

void wait_objects(struct wait_work *k)
{
	struct futexes f = { .v = VEC_INIT };

	(void)strtab_xadd(&k->out->object, "", 0);
	data_begin(k->sp);
	vec_each (&k->span, struct wait_span *, s) {
		uint32_t arg = s->object;
		enum pd_object kind = kind_of_span(k, s, arg);

		s->object = kind == PD_OBJECT_ADDRESS ? futex_of_span(k, &f, s, arg)
						      : object_of_span(k, kind, s, arg);
	}
	u64map_free(&f.at);
	vec_free(&f.v);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A library whose functions wait for others: its own lines are not what is asked for. */
static bool is_library(const struct wait_work *k, uint32_t image)
{
	return image != IMAGE_NONE &&
	       image_name_is_libc(path_base(image_name(spaces_images(k->sp), image)));
}

/* Frames of each chain, innermost first. */
static uint32_t line_frame(const struct wait_work *k, const bool *library, uint32_t chain)
{
	const struct chain_tree *t = &k->chains.raw;
	bool within = false;

	for (uint32_t i = chain; i; i = t->node[i].parent) {
		const struct wait_frame *f = &k->chains.frames.frame.v[t->node[i].frame];

		if (f->kind != SPACE_USER)
			continue;
		if (f->image == IMAGE_NONE)
			return 0; /* a frame that is not known: the next may be any */
		if (!library[f->image]) {
			/* frame pointers lose the caller of a function that keeps none */
			return within && !k->out->unwound ? 0 : (uint32_t)t->node[i].frame + 1;
		}
		within = true;
	}
	return 0;
}

void wait_lines(struct wait_work *k)
{
	const struct wait_frame *frame = k->chains.frames.frame.v;
	size_t n = k->chains.frames.frame.n, images = 0;
	uint32_t *at = xcalloc(n + 1, sizeof(*at));
	struct wait *w = k->out;
	bool *library;

	for (size_t i = 0; i < n; i++)
		if (frame[i].image != IMAGE_NONE && frame[i].image >= images)
			images = (size_t)frame[i].image + 1;
	library = xcalloc(images + 1, sizeof(*library));
	for (uint32_t i = 0; i < images; i++)
		library[i] = is_library(k, i);
	k->line_of = xcalloc(k->chains.raw.n + 1, sizeof(*k->line_of));
	w->line = xcalloc(n + 1, sizeof(*w->line));
	w->n_lines = 1;
	w->line[0].image = IMAGE_NONE;
	for (uint32_t i = 1; i < k->chains.raw.n; i++) {
		uint32_t f = line_frame(k, library, i);

		if (f && !at[f]) {
			at[f] = (uint32_t)w->n_lines;
			w->line[w->n_lines++] =
				(struct wait_line){ frame[f - 1].image, frame[f - 1].place,
						    frame[f - 1].addr };
		}
		k->line_of[i] = f ? at[f] : 0;
	}
	free(library);
	free(at);
}

/* ---- sums ------------------------------------------------------------------------------------ */

void things_add(struct wait_things *t, struct wait *w, uint32_t thread, const struct wait_thing *x)
{
	uint64_t key = hash_pair((uint64_t)x->object << 32 | x->line,
				 (uint64_t)x->place << 16 | (uint64_t)x->reason << 1 | !x->looks);
	bool fresh;
	uint64_t *at = u64map_xat(&t->at, key, &fresh);
	struct wait_thing none = *x, *sum;
	struct wait_thread *who = &w->work->thread.v[thread];

	none.t = (struct wait_time){ 0 };
	none.looks = 0;
	if (fresh) {
		*at = t->v.n;
		vec_xpush(&t->v, none);
	}
	sum = &t->v.v[*at];
	sum->looks += x->looks;
	sum->t.n += x->t.n;
	sum->t.time += x->t.time;
	if (x->t.most > sum->t.most)
		sum->t.most = x->t.most;
	/* what is not known is one object of each reason */
	at = u64map_xat(&t->by_thread,
			hash_pair((uint64_t)thread << 32 | x->object, x->object ? 0 : x->reason),
			NULL);
	*at += x->t.time;
	if (*at > who->object_time) {
		who->object_time = *at;
		who->object = x->object;
	}
}

static int longest_thing(const void *pa, const void *pb)
{
	const struct wait_thing *a = pa, *b = pb;

	if (a->t.time != b->t.time)
		return a->t.time < b->t.time ? 1 : -1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->place != b->place ? (a->place < b->place ? -1 : 1)
				    : (int)a->reason - (int)b->reason;
}

void things_end(struct wait_things *t, struct wait *w)
{
	for (size_t i = 0; i < w->n_things; i++)
		vec_xpush(&t->v, w->thing[i]);
	free(w->thing);
	vec_sort(&t->v, longest_thing);
	w->thing = t->v.v;
	w->n_things = t->v.n;
	u64map_free(&t->at);
	u64map_free(&t->by_thread);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * begin and end if something changed since the thread last looked at its counters: they were taken
 * off, moved, began anew; or if the region is begun twice, or ended without a begin. And work that
 * is due every two seconds. No system call but the reset of PERF_METRICS.
 *
 * Plain counters are whole here: the kernel's offset and the counter with its sign. Slots and
 * PERF_METRICS are bare: the kernel puts both back as they were when it puts the thread on a CPU,
 * and both begin at 0 with a reset.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "region/region_int.h"

#define TRIES 256

struct look { /* at all counters of a thread, at one moment */
	uint64_t value[TABLE_EVENTS], raw[TABLE_EVENTS];
	uint64_t enabled[TABLE_GROUPS], off[TABLE_GROUPS];
	bool on[TABLE_GROUPS];
	bool all_on;
	uint64_t sum;
};

static uint64_t rdpmc(uint32_t index)
{
#if defined(__x86_64__)
	uint64_t lo, hi;

	__asm__ volatile(REGION_RDPMC : "=a"(lo), "=d"(hi) : "c"(index) : "memory");
	return hi << 32 | (uint32_t)lo;
#else
	(void)index;
	return 0;
#endif
}

static int64_t with_sign(uint64_t raw, uint32_t width)
{
	unsigned spare = width && width < 64 ? 64 - width : 0;

	return (int64_t)(raw << spare) >> spare;
}

uint64_t slow_time(const struct thread *t, uint64_t stamp)
{
	uint64_t quot, rem;

	if (!t->user_time)
		return 0;
	quot = stamp >> t->time_shift;
	rem = stamp & (((uint64_t)1 << t->time_shift) - 1);
	return quot * t->time_mult + ((rem * t->time_mult) >> t->time_shift);
}

static uint32_t lock_of(struct thread *t, size_t i)
{
	return __atomic_load_n(&page_of(t, i)->lock, __ATOMIC_ACQUIRE);
}

/* One counter, under no lock yet. */
static void look_at_page(struct thread *t, size_t i, struct look *k)
{
	volatile struct perf_event_mmap_page *p = page_of(t, i);
	const struct set_read *read = &t->set->read[i];
	uint32_t index = p->index;
	bool bare = read->metrics || t->set->event[read->event].kind == COUNTS_SLOTS;

	t->offset[i] = bare ? 0 : p->offset;
	k->raw[i] = 0;
	if (index) {
		t->idx[i] = index - 1;
		k->raw[i] = rdpmc(index - 1);
	} else {
		k->on[read->group] = k->all_on = false;
	}
	k->value[i] = bare ? k->raw[i]
			   : (uint64_t)t->offset[i] +
				      (uint64_t)(index ? with_sign(k->raw[i], p->pmc_width) : 0);
	if (!bare && p->pmc_width)
		t->width = p->pmc_width;
	t->user_time = p->cap_user_time;
	t->time_mult = p->time_mult;
	t->time_shift = p->time_shift & 63;
	/* the whole group has the same times */
	t->enabled0[read->group] = p->time_enabled + (t->user_time ? p->time_offset : 0);
	k->enabled[read->group] = t->enabled0[read->group] + slow_time(t, time_stamp());
	k->off[read->group] = index ? p->time_enabled - p->time_running
				    : k->enabled[read->group] - p->time_running;
}

/* False: the kernel's pages did not stand still, or it is not our business now. */
static bool look_at_pages(struct thread *t, struct look *k)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before = 0, after = 0;
		bool odd = false;

		k->all_on = true;
		memset(k->on, true, sizeof(k->on));
		for (size_t j = 0; j < t->n_reads; j++) {
			uint32_t lock = lock_of(t, j);

			odd |= lock & 1;
			before += lock;
		}
		for (size_t j = 0; j < t->n_reads; j++)
			look_at_page(t, j, k);
		fence();
		for (size_t j = 0; j < t->n_reads; j++)
			after += lock_of(t, j);
		if (odd || before != after)
			continue;
		for (size_t g = 0; g < TABLE_GROUPS; g++)
			t->off[g] = k->off[g];
		k->sum = before;
		t->sum = k->all_on && t->mode == MODE_FAST ? before : POISON;
		return true;
	}
	t->sum = POISON;
	return false;
}

void slow_look(struct thread *t)
{
	struct look k = { .sum = 0 };

	(void)look_at_pages(t, &k);
}

/* Turns an open region's notes into whole counts, by the offsets of that time, before these are
 * forgotten. -1: they are forgotten already. */
static int make_whole(struct region *r)
{
	struct thread *t = r->thread;

	if (r->full || r->lost)
		return 0;
	if (r->sum != (uint32_t)(t->sum + DEPTH_ONE) || t->sum == POISON) {
		r->lost = true;
		r->sum = POISON;
		return -1;
	}
	for (size_t i = 0; i < t->n_reads; i++) {
		const struct set_read *read = &t->set->read[i];

		if (read->metrics || t->set->event[read->event].kind == COUNTS_SLOTS)
			continue;
		r->st[i] = (uint64_t)t->offset[i] + (uint64_t)with_sign(r->st[i], t->width);
	}
	for (size_t g = 0; g < t->set->n_groups; g++) {
		r->enabled[g] = t->enabled0[g] + slow_time(t, r->t0);
		r->off[g] = t->off[g];
	}
	r->full = 1;
	r->sum = POISON;
	return 0;
}

static void make_all_whole(struct thread *t)
{
	for (size_t i = 0; i < t->n_regions; i++)
		if (depth_of(&t->region[i]))
			(void)make_whole(&t->region[i]);
}

/* The fast path never touches the three flags: they are down while a region is closed. */
static void set_depth(struct region *r, uint32_t depth)
{
	depth_set(r, depth);
	if (!depth) {
		r->full = 0;
		r->lost = r->carries = false;
	}
}

/* This run will not count. */
static void give_run_up(struct region *r)
{
	r->lost = true;
	r->sum = POISON;
	add_u64(&r->slot->lost, 1);
}

/* PERF_METRICS cannot be read while it is off. */
static bool readable(const struct thread *t, const struct look *k)
{
	return !t->set->fields || t->mode != MODE_FAST || k->all_on;
}

void slow_begin(struct region *r)
{
	struct thread *t = r->thread;
	struct look k;

	if (t->self != thread_pointer()) { /* another thread's handle */
		add_u64(&r->slot->foreign, 1);
		return;
	}
	if (depth_of(r)) {
		set_depth(r, depth_of(r) + 1);
		add_u64(&r->slot->nested, 1);
		return;
	}
	if (t->busy) {
		give_run_up(r);
		set_depth(r, 1);
		return;
	}
	t->busy = true;
	make_all_whole(t);
	if (!look_at_pages(t, &k) || !readable(t, &k)) {
		give_run_up(r);
	} else {
		bool fast = t->sum != POISON;

		memcpy(r->st, fast ? k.raw : k.value, t->n_reads * sizeof(*r->st));
		memcpy(r->enabled, k.enabled, sizeof(r->enabled));
		memcpy(r->off, k.off, sizeof(r->off));
		r->full = !fast;
		r->sum = fast ? (uint32_t)(k.sum + DEPTH_ONE) : POISON;
	}
	set_depth(r, 1);
	r->t0 = time_stamp();
	t->busy = false;
}

static uint64_t field_of(uint64_t metrics, size_t i)
{
	return metrics >> (8 * i) & 0xff;
}

/* Adds slots and metrics from the begin to here. */
static void add_metrics(struct region *r, uint64_t slots, uint64_t metrics)
{
	struct table_slot *s = r->slot;

	for (size_t i = 0; i < r->thread->set->fields; i++)
		add_u64(&s->field[i], field_of(metrics, i) * slots -
					      field_of(r->st[1], i) * r->st[0] +
					      (r->carries ? r->carry[i] : 0));
	add_u64(&s->total[0], slots - r->st[0] + (r->carries ? r->carry_slots : 0));
	add_error(s, r->st[0], slots);
}

static void add_slow_run(struct region *r, const struct look *k, uint64_t now)
{
	struct thread *t = r->thread;
	struct table_slot *s = r->slot;
	size_t i = 0;

	slot_seq(&s->seq);
	if (t->set->fields) {
		add_metrics(r, k->value[0], k->value[1]);
		i = 2;
	}
	for (; i < t->n_reads; i++)
		add_u64(&s->total[i], k->value[i] - r->st[i]);
	for (size_t g = 0; g < t->set->n_groups; g++)
		add_u64(&s->off_ns[g], k->off[g] > r->off[g] ? k->off[g] - r->off[g] : 0);
	add_u64(&s->tsc, now - r->t0);
	add_u64(&s->slow, 1);
	if (t->user_time) {
		add_u64(&s->slow_tsc, now - r->t0);
		add_u64(&s->slow_ns, k->enabled[0] - r->enabled[0]);
	}
	slot_seq(&s->seq);
}

void slow_end(struct region *r, uint64_t now)
{
	struct thread *t = r->thread;
	struct look k;
	bool bad;

	if (t->self != thread_pointer()) {
		add_u64(&r->slot->foreign, 1);
		return;
	}
	if (depth_of(r) != 1) {
		if (depth_of(r))
			set_depth(r, depth_of(r) - 1);
		else
			add_u64(&r->slot->unmatched, 1);
		return;
	}
	if (r->lost || t->busy) {
		if (!r->lost)
			add_u64(&r->slot->lost, 1);
		set_depth(r, 0);
		return;
	}
	t->busy = true;
	make_all_whole(t);
	bad = r->lost || !look_at_pages(t, &k) || !readable(t, &k);
	/* slots that went back: another program has reset them */
	if (!bad && t->set->fields && k.value[0] < r->st[0])
		bad = true;
	if (bad)
		add_u64(&r->slot->lost, 1);
	else
		add_slow_run(r, &k, now);
	set_depth(r, 0);
	t->busy = false;
	if (now > t->next)
		slow_tick(r, now);
}

/* ---- every two seconds ------------------------------------------------------------------ */

/* The sums of the fast path are modulo the width of the counters: this makes them whole before they
 * can wrap around. */
void fold(struct thread *t)
{
	uint64_t mask = t->width && t->width < 64 ? ((uint64_t)1 << t->width) - 1 : UINT64_MAX;

	for (size_t i = 0; i < t->n_regions; i++) {
		struct table_slot *s = t->region[i].slot;

		slot_seq(&s->folds);
		for (size_t j = 0; j < t->n_reads; j++) {
			uint64_t acc = __atomic_load_n(&s->acc[j], __ATOMIC_RELAXED);

			add_u64(&s->total[j], (acc - s->base[j]) & mask);
			__atomic_store_n(&s->base[j], acc, __ATOMIC_RELAXED);
		}
		slot_seq(&s->folds);
	}
}

/* Open regions keep their counts up to the reset, and begin anew with it. */
static void carry(struct thread *t, const struct look *before, const struct look *after)
{
	for (size_t i = 0; i < t->n_regions; i++) {
		struct region *r = &t->region[i];

		if (!depth_of(r) || r->lost)
			continue;
		if (!r->carries) {
			memset(r->carry, 0, sizeof(r->carry));
			r->carry_slots = 0;
		}
		for (size_t f = 0; f < t->set->fields; f++)
			r->carry[f] += field_of(before->raw[1], f) * before->raw[0] -
				       field_of(r->st[1], f) * r->st[0];
		r->carry_slots += before->raw[0] - r->st[0];
		slot_seq(&r->slot->folds);
		add_error(r->slot, r->st[0], before->raw[0]);
		slot_seq(&r->slot->folds);
		r->st[0] = after->raw[0];
		r->st[1] = after->raw[1];
		r->carries = true;
	}
}

/* Between the two looks lie the reset and a few slots, which are not counted. */
static void reset(struct thread *t)
{
	struct look before, after;
	int number = errno, failed;

	make_all_whole(t);
	if (!look_at_pages(t, &before) || !before.all_on)
		return;
	failed = ioctl(t->reset_fd, PERF_EVENT_IOC_RESET, 0);
	errno = number;
	if (failed)
		return;
	add_u64(&t->block->resets, 1);
	if (look_at_pages(t, &after) && after.all_on) {
		carry(t, &before, &after);
		return;
	}
	for (size_t i = 0; i < t->n_regions; i++)
		if (depth_of(&t->region[i]) && !t->region[i].lost)
			give_run_up(&t->region[i]);
}

void slow_tick(struct region *r, uint64_t now)
{
	struct thread *t = r->thread;

	if (t->busy)
		return;
	t->busy = true;
	t->next = now + t->tick;
	fold(t);
	if (t->reset_fd >= 0 && t->mode == MODE_FAST)
		reset(t);
	t->busy = false;
}

void slow_tick_begin(struct region *r, uint64_t now)
{
	slow_tick(r, now);
	slow_begin(r);
}

/* ---- where every begin and end is one of these ------------------------------------------- */

static void begin_slow(struct cyclade_region *r)
{
	slow_begin(region_of(r));
}

static void end_slow(struct cyclade_region *r)
{
	slow_end(region_of(r), time_stamp());
}

struct cyclade_region slow_ops(void)
{
	return (struct cyclade_region){ begin_slow, end_slow };
}

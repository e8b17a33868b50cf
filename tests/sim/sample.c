/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample - from the sample of a clock to the sample of a simulated event: its period, its weight
 * (with the retire latency, whose mean is the event's), where its data came from, the branches
 * before it. Everything else (time, task, call chain, registers, stack) is the kernel's.
 *
 * The kernel's timers only give occasions: they come late where the machine is busy (or this
 * machine itself is a guest that had to wait), and what they have slept through they leave out,
 * while their clocks go on. How many samples are due follows from what the clock of the thread says
 * at the occasion, so that periods sum up to the count however busy the machine is.
 */
#include "preload.h"
#include "access.h"
#include "ibs.h"
#include "kernels.h"
#include "ring.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS	   65536
#define OCCASION   100000 /* ns: what a timer of a guest costs, some 20 us, is a fifth of that */
#define BOTH_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct sim_thread { /* of one counter; of a counter that is not inherited, the only one */
	uint32_t tid;
	uint64_t period;    /* what it began with: the kernel changes that of the first alone */
	double last, until; /* ns of the clock: when the last sample was due, and seen */
	double dropped;	    /* counts that were forgotten as its period changed */
	double taken;	    /* counts up to the last sample, without these */
};

static struct sim_counter *by_id[IDS]; /* the kernel counts ids up: they rarely collide */
static uint64_t turn;

void sim_id_set(uint64_t id, struct sim_counter *k)
{
	by_id[id % IDS] = k;
}

struct sim_counter *sim_id_get(uint64_t id)
{
	struct sim_counter *k = by_id[id % IDS];

	return k && k->id == id ? k : NULL;
}

static uint64_t draw(const struct sim *sim)
{
	uint64_t x = ++turn * UINT64_C(0x9e3779b97f4a7c15) ^ sim->scenario.seed;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static double unit(const struct sim *sim) /* 0 to 1 */
{
	return (double)(draw(sim) >> 11) / 9007199254740992.0;
}

/* Counts per ns over the whole scenario: periods do not follow its phases. */
static double mean_rate(const struct sim *sim, const struct sim_counter *k)
{
	const struct sim_scenario *s = &sim->scenario;
	double sum = 0, length = 0;

	for (uint32_t i = 0; i < s->n_phases; i++) {
		double ns = s->phase[i].least ? (double)(s->phase[i].least + s->phase[i].most) / 2
					      : 1e9;

		sum += ns * sim_rate(s, &sim->machine, &k->event, &s->phase[i],
				     k->context->pid < 0 ? k->context->cpu : -1, k->side);
		length += ns;
	}
	return sum / length;
}

uint64_t sim_sample_ns(const struct sim *sim, const struct sim_counter *k, uint64_t period)
{
	double rate = mean_rate(sim, k);
	uint64_t ns = UINT64_C(1) << 62;

	if (rate > 0 && (double)period / rate < 4e18)
		ns = (uint64_t)((double)period / rate);
	return ns < 10000 ? 10000 : ns; /* what a timer of the kernel can do */
}

/* What is rarer than turns are is looked at twice a turn: else it would be met whenever the
 * kernel's clock and the turns happen to agree. */
static uint64_t slow_ns(const struct sim *sim, const struct sim_counter *k)
{
	return (k->attr.read_format & BOTH_TIMES) == BOTH_TIMES &&
			       k->attr.sample_type & PERF_SAMPLE_READ
		       ? sim->scenario.set.interval / 2
		       : UINT64_MAX;
}

static uint64_t backing_ns(const struct sim *sim, const struct sim_counter *k, uint64_t period)
{
	uint64_t ns = sim_sample_ns(sim, k, period), slow = slow_ns(sim, k);

	if (ns < OCCASION)
		ns = OCCASION;
	return ns < slow ? ns : slow;
}

static struct sim_thread *thread_of(struct sim_counter *k, uint32_t tid)
{
	struct sim_thread *more;

	if (!k->attr.inherit || k->context->pid < 0)
		tid = 0; /* one clock for all whom it meets */
	for (size_t i = k->n_threads; i-- > 0;)
		if (k->thread[i].tid == tid)
			return &k->thread[i];
	more = realloc(k->thread, (k->n_threads + 1) * sizeof(*more));
	if (!more)
		abort();
	k->thread = more;
	k->thread[k->n_threads] =
		(struct sim_thread){ .tid = tid, .period = k->attr.sample_period };
	return &k->thread[k->n_threads++];
}

/* How many samples are due when the thread's counter has run for so many ns: to the nearest, for an
 * occasion is some us off its time, either way. */
static uint64_t due(const struct sim *sim, struct sim_counter *k, struct sim_thread *t,
		    double running)
{
	double ns = (double)sim_sample_ns(sim, k, t->period), n;

	if (running < t->last / 2) /* reset, or another thread of the same number */
		*t = (struct sim_thread){ .tid = t->tid, .period = t->period };
	t->until = fmax(t->until, running);
	n = floor((running - t->last) / ns + 0.5);
	if (n < 1)
		return 0;
	t->last += n * ns;
	return (uint64_t)n;
}

struct sim_sampled sim_sampled(const struct sim *sim, const struct sim_counter *k)
{
	struct sim_sampled s = { 0, 0 };

	for (size_t i = 0; i < k->n_threads; i++) {
		s.dropped += k->thread[i].dropped;
		s.until += k->thread[i].until * mean_rate(sim, k);
	}
	return s;
}

void sim_sample_attr(const struct sim *sim, struct perf_event_attr *backing,
		     const struct sim_counter *k)
{
	/* Branches make samples much longer than the kernel thinks when it counts what is new. */
	if (backing->sample_type & PERF_SAMPLE_BRANCH_STACK) {
		backing->watermark = 1;
		backing->wakeup_watermark = 8192;
	}
	/* software events have no branches, and raw data only of their own */
	backing->sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	backing->branch_sample_type = 0;
	if (backing->sample_type)
		backing->sample_type |= PERF_SAMPLE_IDENTIFIER;
	if (!backing->sample_period || backing->freq)
		return;
	backing->sample_period = backing_ns(sim, k, k->attr.sample_period);
	/* the kernel wants it of what is inherited; before Linux 6.12 it knows no such thing
	 * (open.c) */
	if (backing->sample_type & PERF_SAMPLE_TID || !backing->inherit)
		backing->sample_type |= PERF_SAMPLE_READ;
}

struct walk { /* words of the kernel's sample and of ours */
	const uint64_t *in, *end;
	uint64_t *out;
	struct sim_thread *thread;
	struct sim_again *again;
	struct sim_ibs ibs;	    /* of a counter of IBS */
	struct sim_access access;   /* where shared lines are planted */
	struct sim_capture capture; /* where addresses are planted */
	bool captured;
	bool first;	/* of those that the record stands for */
	uint64_t clock; /* what the event's own says; 0: that cannot be told */
};

static void keep(struct walk *w, uint64_t n)
{
	uint64_t left = (uint64_t)(w->end - w->in);

	if (n > left)
		n = left;
	memcpy(w->out, w->in, n * sizeof(*w->in));
	w->in += n;
	w->out += n;
}

static void say(struct walk *w, uint64_t value) /* in the place of one word of the kernel's */
{
	if (w->in < w->end) {
		w->in++;
		*w->out++ = value;
	}
}

static uint64_t peek(const struct walk *w)
{
	return w->in < w->end ? *w->in : 0;
}

static unsigned bits(uint64_t x)
{
	return (unsigned)__builtin_popcountll(x);
}

/* Does it take turns? Whoever reads both times in samples wants to know. */
static bool takes_turns(const struct sim_counter *k)
{
	return !k->reads && (k->attr.read_format & BOTH_TIMES) == BOTH_TIMES;
}

/* What a clock had not counted yet when this sample was due. */
static uint64_t earlier(const struct walk *w, uint64_t clock)
{
	uint64_t ns = (w->again->left - 1) * w->again->ns;

	return ns < clock ? ns : clock;
}

/* How long it was wanted and how long it ran, where both are told: two words from `at`. Returns the
 * share of the clock's time here that it ran. */
static double read_times(const struct sim *sim, struct sim_counter *k, struct walk *w,
			 const uint64_t *at, uint64_t times[2])
{
	bool told = takes_turns(k) && at + 2 <= w->end;

	times[0] = at < w->end ? at[0] : 0;
	times[1] = told ? at[1] : 0;
	/* a task's counter of one CPU is wanted while the task runs anywhere, but there it runs */
	if (told)
		(void)sim_turns_on(sim, k, at[1], &times[1]);
	for (unsigned i = 0; i < 2; i++)
		times[i] -= earlier(w, times[i]);
	if (told)
		return at[1] ? (double)times[1] / (double)at[1] : 1;
	return w->clock ? 1 - (double)earlier(w, w->clock) / (double)w->clock : 1;
}

/* Words of what a sample reads; finds the event's own among them. */
static uint64_t read_words(const struct sim_counter *k, struct walk *w)
{
	uint64_t format = k->attr.read_format, left = (uint64_t)(w->end - w->in),
		 step = 1 + bits(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST)),
		 at = 1 + bits(format & BOTH_TIMES);

	w->clock = 0;
	if (!(format & PERF_FORMAT_GROUP)) {
		w->clock = left ? w->in[0] : 0;
		return at + step - 1;
	}
	for (uint64_t i = 0; i < peek(w) && at + step <= left; i++, at += step)
		if (format & PERF_FORMAT_ID ? w->in[at + 1] == k->id : !i && k->leader == k)
			w->clock = w->in[at];
	return at;
}

/* What the kernel does as it changes a period: what was counted towards the next sample is
 * forgotten. Threads that inherited the counter go on as they were; beside them nobody knows what
 * was counted. */
static void forget(const struct sim *sim, struct sim_counter *k)
{
	uint64_t words[512], running;
	struct walk w = { .in = words };
	struct sim_thread *t = k->thread;
	ssize_t n = k->n_threads == 1 ? sim_real.read(k->fd, words, sizeof(words)) : 0;
	double ns, rest;

	if (n <= 0)
		return;
	w.end = words + (size_t)n / sizeof(*words);
	(void)read_words(k, &w);
	running = w.clock;
	if (!w.clock || (takes_turns(k) && !sim_turns_on(sim, k, w.clock, &running)))
		return;
	ns = (double)sim_sample_ns(sim, k, t->period);
	rest = fmod((double)running - t->last, ns);
	t->last += rest;
	t->until = fmax(t->until, (double)running);
	t->dropped += rest * mean_rate(sim, k);
}

int sim_sample_set_period(const struct sim *sim, struct sim_counter *k, uint64_t period)
{
	uint64_t ns = backing_ns(sim, k, period);
	int ret = sim_real.ioctl(k->fd, PERF_EVENT_IOC_PERIOD, &ns);

	if (ret)
		return ret;
	forget(sim, k);
	k->attr.sample_period = period;
	for (size_t i = 0; i < k->n_threads; i++)
		if (k->thread[i].tid == (uint32_t)k->context->pid || !k->thread[i].tid)
			k->thread[i].period = period;
	return 0;
}

/* How many samples this one stands for. */
static uint64_t samples_due(const struct sim *sim, struct sim_counter *k, struct walk *w)
{
	uint64_t running = w->clock;

	w->again->ns = sim_sample_ns(sim, k, w->thread->period);
	if (w->clock && takes_turns(k) && !sim_turns_on(sim, k, w->clock, &running))
		return 0;
	if (!w->clock || k->attr.freq || !k->attr.sample_period)
		return 1;
	return due(sim, k, w->thread, (double)running);
}

static void say_times(uint64_t format, struct walk *w, const uint64_t times[2])
{
	unsigned n = bits(format & BOTH_TIMES);

	for (unsigned i = 0; i < n; i++)
		say(w, times[i]);
}

/* Values of PERF_SAMPLE_READ: the clock's ns times the rate, of the time it was on. */
static void keep_read(const struct sim *sim, struct sim_counter *k, struct walk *w)
{
	uint64_t format = k->attr.read_format;
	unsigned more = bits(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
	uint64_t times[2], n = 1;
	double share;

	if (!(format & PERF_FORMAT_GROUP)) {
		share = read_times(sim, k, w, w->in + 1, times);
		say(w, (uint64_t)((double)peek(w) * mean_rate(sim, k) * share));
		say_times(format, w, times);
		keep(w, more);
		return;
	}
	n = peek(w);
	share = read_times(sim, k, w, w->in + 1, times);
	keep(w, 1);
	say_times(format, w, times);
	for (uint64_t i = 0; i < n && w->in < w->end; i++) {
		const struct sim_counter *m = NULL;

		if (format & PERF_FORMAT_ID && w->in + 1 < w->end)
			m = sim_id_get(w->in[1]);
		say(w, m && m->pmu ? (uint64_t)((double)peek(w) * mean_rate(sim, m) * share)
				   : peek(w));
		keep(w, more);
	}
}

/* As many branches as the machine's registers hold, backwards round a loop at the sample. */
static void put_branches(const struct sim *sim, const struct sim_counter *k, uint64_t ip,
			 struct walk *w)
{
	uint64_t n = k->pmu->lbr, top = ip & ~UINT64_C(15);

	*w->out++ = n;
	if (k->attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		*w->out++ = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t r = draw(sim);
		bool mispredicted = r % 16 == 0;

		*w->out++ = ip;
		*w->out++ = top;
		*w->out++ = (mispredicted ? 1 : 2) | (1 + (r >> 8) % 31) << 4;
	}
}

/* Retire latency as PEBS has it: whole cycles, whose mean is the event's. */
static uint64_t retire_latency(const struct sim *sim, const struct sim_counter *k)
{
	double spread = sim->scenario.set.latency_spread,
	       v = k->event.latency * (1 + spread * (2 * unit(sim) - 1)) + unit(sim);

	return v >= 65535 ? 65535 : (uint64_t)v;
}

static uint64_t weight(const struct sim *sim, const struct sim_counter *k,
		       const struct sim_access *planted)
{
	uint64_t access = sim->scenario.set.sharing ? planted->latency : 5 + draw(sim) % 300;

	if (!(k->attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT))
		return access;
	if (sim->scenario.set.no_latency)
		return access | (access + 3) << 32;
	return access | (access + 3) << 32 | retire_latency(sim, k) << 48;
}

static uint64_t data_source(const struct sim *sim)
{
	static const struct {
		uint64_t lvl, num, snoop;
	} levels[] = {
		{ PERF_MEM_LVL_L1, PERF_MEM_LVLNUM_L1, PERF_MEM_SNOOP_NONE },
		{ PERF_MEM_LVL_L2, PERF_MEM_LVLNUM_L2, PERF_MEM_SNOOP_NONE },
		{ PERF_MEM_LVL_L3, PERF_MEM_LVLNUM_L3, PERF_MEM_SNOOP_HITM },
		{ PERF_MEM_LVL_LOC_RAM, PERF_MEM_LVLNUM_RAM, PERF_MEM_SNOOP_MISS },
	};
	uint64_t r = draw(sim) % 4;
	union perf_mem_data_src d = { 0 };

	d.mem_op = PERF_MEM_OP_LOAD;
	d.mem_lvl = (PERF_MEM_LVL_HIT | levels[r].lvl) & 0x3fff;
	d.mem_lvl_num = levels[r].num & 15;
	d.mem_snoop = levels[r].snoop & 31;
	d.mem_dtlb = (PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1) & 127;
	d.mem_lock = PERF_MEM_LOCK_NA & 3;
	return d.val;
}

static uint64_t address(const struct sim *sim, const struct sim_counter *k, const struct walk *w)
{
	if (k->pmu->driver == SIM_IBS)
		return w->ibs.addr;
	if (sim->scenario.set.sharing)
		return w->access.addr;
	if (w->captured)
		return w->capture.addr;
	/* the last word is the register that the kernel skid loads from */
	if (sim_kernels && k->attr.sample_type & PERF_SAMPLE_REGS_INTR)
		return k->attr.precise_ip ? w->end[-1] : 0;
	return UINT64_C(0x7f0000000000) + (draw(sim) & 0xffffc0);
}

static void plan_capture(const struct sim *sim, const struct sim_counter *k, struct walk *w)
{
	double random[3];

	if (!sim_kernels || !(k->attr.sample_type & PERF_SAMPLE_REGS_INTR))
		return;
	for (unsigned i = 0; i < 3; i++)
		random[i] = unit(sim);
	w->captured = sim_kernels_capture(&w->capture, k->event.name, k->attr.precise_ip, peek(w),
					  random);
}

/* The op that a sample of this thread is of, counted from its first one on. */
static uint64_t ops_at(struct sim_thread *t)
{
	t->taken += (double)t->period;
	return (uint64_t)(t->taken + t->dropped);
}

/* The fields up to the call chain; returns the address of the sample's instruction. */
static uint64_t first_fields(const struct sim *sim, struct sim_counter *k, uint64_t type,
			     struct walk *w)
{
	uint64_t ip = 0, words;
	uint32_t tid;

	if (type & PERF_SAMPLE_IP) {
		ip = peek(w);
		plan_capture(sim, k, w);
		if (w->captured)
			say(w, w->capture.ip);
		else if (sim_kernels)
			say(w, sim_kernels_ip(k->event.name, k->attr.precise_ip, ip, unit(sim)));
		else
			keep(w, 1);
	}
	tid = type & PERF_SAMPLE_TID ? (uint32_t)(peek(w) >> 32) : 0;
	w->thread = thread_of(k, tid);
	keep(w, bits(type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)));
	if (k->pmu->driver == SIM_IBS)
		sim_ibs_sample(&w->ibs, k, w->thread->period, ip,
			       (struct sim_ibs_place){ sim->scenario.set.loop, ops_at(w->thread) },
			       draw(sim));
	else if (sim->scenario.set.sharing)
		sim_access_draw(&w->access, k->event.name, tid, draw(sim));
	if (type & PERF_SAMPLE_ADDR)
		say(w, address(sim, k, w));
	keep(w, bits(type & (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)));
	if (type & PERF_SAMPLE_PERIOD)
		say(w, k->attr.freq ? (uint64_t)((double)peek(w) * mean_rate(sim, k))
				    : w->thread->period);
	if (type & PERF_SAMPLE_READ || k->reads) {
		words = read_words(k, w);
		if (w->first)
			w->again->left = samples_due(sim, k, w);
		if (!k->reads && w->again->left)
			keep_read(sim, k, w);
		else
			w->in += words < (uint64_t)(w->end - w->in) ? words
								    : (uint64_t)(w->end - w->in);
	}
	return ip;
}

/* Raw data of the clock, for which an IBS sample has its registers. */
static void keep_raw(struct walk *w, uint64_t words)
{
	if (!w->ibs.n_words) {
		keep(w, words);
		return;
	}
	w->in += words < (uint64_t)(w->end - w->in) ? words : (uint64_t)(w->end - w->in);
	memcpy(w->out, w->ibs.word, w->ibs.n_words * sizeof(*w->out));
	w->out += w->ibs.n_words;
}

/* The latency, and with _STRUCT the cycles from tag to retirement. */
static uint64_t ibs_weight(const struct sim_counter *k, const struct walk *w)
{
	return k->attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT ? w->ibs.weight
							       : w->ibs.weight & 0xffffffff;
}

static void put_regs(const struct sim_counter *k, struct walk *w)
{
	uint64_t mask = peek(w) ? k->attr.sample_regs_intr : 0;

	keep(w, 1);
	for (unsigned i = 0; mask; mask >>= 1, i++)
		if (mask & 1) {
			if (w->captured && i < 32)
				say(w, w->capture.reg[i]);
			else
				keep(w, 1);
		}
}

static void fields(const struct sim *sim, struct sim_counter *k, struct walk *w)
{
	uint64_t type = k->attr.sample_type, ip = first_fields(sim, k, type, w);

	if (type & PERF_SAMPLE_CALLCHAIN)
		keep(w, 1 + peek(w));
	if (type & PERF_SAMPLE_RAW) /* a size in 32 bits, then that many bytes */
		keep_raw(w, ((uint32_t)peek(w) + 4 + 7) / 8);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(sim, k, ip, w);
	if (type & PERF_SAMPLE_REGS_USER)
		keep(w, 1 + (peek(w) ? bits(k->attr.sample_regs_user) : 0));
	if (type & PERF_SAMPLE_STACK_USER)
		keep(w, 1 + peek(w) / 8 + !!peek(w));
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		say(w, k->pmu->driver == SIM_IBS ? ibs_weight(k, w) : weight(sim, k, &w->access));
	if (type & PERF_SAMPLE_DATA_SRC)
		say(w, k->pmu->driver == SIM_IBS   ? w->ibs.data_src
		       : sim->scenario.set.sharing ? w->access.data_src
						   : data_source(sim));
	keep(w, bits(type & PERF_SAMPLE_TRANSACTION));
	if (type & PERF_SAMPLE_REGS_INTR)
		put_regs(k, w);
	if (type & PERF_SAMPLE_PHYS_ADDR && k->pmu->driver == SIM_IBS)
		say(w, w->ibs.phys);
	keep(w, (uint64_t)(w->end - w->in));
}

size_t sim_sample_translate(const struct sim *sim, const void *record, size_t size, void *out,
			    struct sim_again *again)
{
	struct perf_event_header h;
	const uint64_t *in = record;
	uint64_t *o = out, words = size / 8;
	struct sim_counter *k;
	bool sample, first = true;

	memcpy(&h, record, sizeof(h));
	sample = h.type == PERF_RECORD_SAMPLE;
	k = words < 2 ? NULL : sim_id_get(sample ? in[1] : in[words - 1]);
	if (!again->left)
		*again = (struct sim_again){ .left = 1 };
	else
		first = false;
	if (!k || !k->pmu || !k->attr.sample_type ||
	    size + 32 * 24 + 16 > SIM_RECORD_MAX) { /* not ours, or without room to grow */
		memcpy(out, record, size);
		return size;
	}
	if (!sample) { /* an identifier that nobody asked for comes last */
		if (k->attr.sample_id_all && !(k->attr.sample_type & PERF_SAMPLE_IDENTIFIER))
			words--;
		memcpy(o, in, words * 8);
	} else {
		struct walk w = { .in = in + 1,
				  .end = in + words,
				  .out = o + 1,
				  .again = again,
				  .first = first };

		if (k->attr.sample_type & PERF_SAMPLE_IDENTIFIER)
			keep(&w, 1);
		else
			w.in++;
		if (k->attr.precise_ip > 1)
			h.misc |= PERF_RECORD_MISC_EXACT_IP;
		fields(sim, k, &w);
		words = (uint64_t)(w.out - o);
	}
	h.size = (uint16_t)(words * 8);
	memcpy(o, &h, sizeof(h));
	return words * 8;
}

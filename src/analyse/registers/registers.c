/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/registers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/itab.h"
#include "analyse/pass.h"
#include "base/arena.h"
#include "base/estimate.h"
#include "base/invariant.h"
#include "base/vec.h"

/* As if all values were of one kind. */
struct kind_sum {
	double sum, squares;
	uint64_t least, most; /* raw */
};

enum kind { KIND_UNSIGNED, KIND_SIGNED32, KIND_SIGNED, KINDS };

struct cell_work { /* of a register at a wanted place */
	uint64_t n;
	struct kind_sum kind[KINDS];
	uint64_t bits; /* of all values */
	uint64_t zero, address, above32, top32, top64, near0;
	struct registers_value value[REGISTERS_VALUES];
	size_t n_values;
	bool more;
};

struct registers_work {
	struct arena arena;
	bool *events; /* the one that is read */
	bool amd;
	VEC(struct registers_place) place;
	struct itab at;
	struct cell_work *
		*cell; /* by place: by its register, REGISTERS_MAX of them; NULL: not wanted */
};

static const struct {
	uint8_t arch, bit, argument;
	const char *name;
} rows[] = {
#define REGISTER(arch, bit, name, argument) { REGISTERS_##arch, bit, argument, name },
#include "analyse/registers.def"
#undef REGISTER
};

const char *registers_name(enum registers_arch arch, unsigned bit, unsigned *argument)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].arch != arch || rows[i].bit != bit)
			continue;
		if (argument)
			*argument = rows[i].argument;
		return rows[i].name;
	}
	if (argument)
		*argument = 0;
	return NULL;
}

const char *registers_guess_name(enum registers_guess g)
{
	static const char *const names[] = { [GUESS_UNSIGNED] = "unsigned",
					     [GUESS_SIGNED32] = "signed 32",
					     [GUESS_SIGNED] = "signed",
					     [GUESS_POINTER] = "pointer" };

	return names[g];
}

static enum registers_arch arch_of(const struct pd *rec)
{
	const char *arch = pd_info(rec)->arch;

	if (arch && (!strcmp(arch, "x86_64") || !strcmp(arch, "i686") || !strcmp(arch, "i386")))
		return REGISTERS_X86;
	if (arch && (!strcmp(arch, "aarch64") || !strcmp(arch, "arm64")))
		return REGISTERS_ARM64;
	return REGISTERS_OTHER;
}

/* ---- the samples ------------------------------------------------------------------------ */

struct sampled {
	const struct pass_sample *p;
	struct pd_sample s;
	const struct pd_regs *regs;
	bool after;
};

enum outcome { NOT_OURS, WITHOUT, LATE, WITH };

static enum outcome take(const struct registers *r, const struct pass_sample *p,
			 struct sampled *out)
{
	struct pd_sample *s = &out->s;
	const struct pd_event *ev;

	if (pd_sample_parse(r->rec, p->r, s))
		return NOT_OURS;
	ev = s->event;
	out->p = p;
	out->regs = NULL;
	if (s->has & PERF_SAMPLE_REGS_INTR && s->regs_intr.abi)
		out->regs = &s->regs_intr;
	else if (s->has & PERF_SAMPLE_REGS_USER && s->regs_user.abi &&
		 s->cpumode == PERF_RECORD_MISC_USER)
		out->regs = &s->regs_user;
	if (!out->regs || !(s->has & PERF_SAMPLE_IP))
		return WITHOUT;
	if (r->work->amd && p->r->misc & PERF_RECORD_MISC_EXACT_IP && out->regs == &s->regs_intr &&
	    ev->attr.type != PERF_TYPE_BREAKPOINT)
		return LATE;
	out->after = ev->attr.precise_ip >= 2 && p->r->misc & PERF_RECORD_MISC_EXACT_IP;
	return WITH;
}

/* Finds the place of an address in the space that the sample ran in. */
static const struct place *find_place(const struct sampled *x, uint64_t at)
{
	return pass_place(x->p, (uint8_t)space_kind_of_misc(x->s.cpumode), at);
}

/* Returns the place of a sample; a new one is made if `make`. UINT32_MAX: there is none, or no
 * memory. */
static uint32_t place_of(struct registers *r, const struct sampled *x, bool make)
{
	struct registers_work *w = r->work;
	const struct place *o = find_place(x, x->s.ip);
	struct registers_place p = { .image = o->image, .addr = x->s.ip - o->less };
	uint64_t h = hash_pair(p.addr, p.image);
	uint32_t idx;

	for (size_t i = itab_first(&w->at, h); itab_at(&w->at, &i, h, &idx);)
		if (w->place.v[idx].addr == p.addr && w->place.v[idx].image == p.image)
			return idx;
	if (!make || w->place.n >= UINT32_MAX - 1 || vec_push(&w->place, p))
		return UINT32_MAX;
	if (itab_put(&w->at, h, w->place.n - 1)) {
		w->place.n--;
		return UINT32_MAX;
	}
	return (uint32_t)w->place.n - 1;
}

static int count_place(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct registers *r = ctx;
	struct sampled x;
	enum outcome o = take(r, p, &x);
	uint32_t at;

	r->samples += o != NOT_OURS;
	r->without += o == WITHOUT || o == LATE;
	r->late += o == LATE;
	if (o != WITH)
		return 0;
	at = place_of(r, &x, true);
	if (at == UINT32_MAX)
		return err_nomem(err);
	r->work->place.v[at].samples++;
	r->work->place.v[at].after |= x.after;
	return 0;
}

/* In file order: values are added up as numbers with a fraction, whose sum depends on it. */
static void add_visit(struct registers *r, struct pass *pass,
		      int (*fn)(void *ctx, const struct pass_sample *s, struct err *err))
{
	const struct pass_visitor v = { .wants = PASS_THREAD | PASS_PLACE | PASS_ORDER,
					.events = r->work->events,
					.sample = fn };

	pass_add(pass, &v, r);
}

/* ---- names ------------------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
	const struct registers_place *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int by_samples(const void *a, const void *b)
{
	const struct registers_place *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return by_address(a, b);
}

static int name_run(struct registers *r, struct registers_place *p, size_t n, struct err *err)
{
	uint64_t *addr = calloc(n, sizeof(*addr));
	const struct symbol **sym = calloc(n, sizeof(*sym));
	int rc = -1;

	if (!addr || !sym) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		addr[i] = p[i].addr;
	image_resolve(spaces_images(r->spaces), p->image, addr, n, sym);
	for (size_t i = 0; i < n; i++) {
		p[i].symbol = sym[i];
		p[i].entry = sym[i] && sym[i]->start == p[i].addr;
		if (p[i].entry)
			r->at_entry += p[i].samples;
	}
	rc = 0;
out:
	free(addr);
	free(sym);
	return rc;
}

static int name_places(struct registers *r, struct err *err)
{
	struct registers_place *p = r->work->place.v;
	size_t n = r->work->place.n;

	vec_sort(&r->work->place, by_address);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && p[k].image == p[i].image; k++)
			;
		if (p[i].image != IMAGE_NONE && name_run(r, &p[i], k - i, err))
			return -1;
	}
	vec_sort(&r->work->place, by_samples);
	assert(pairs_hold(n, i, by_samples(&p[i], &p[i + 1]) <= 0));
	return 0;
}

/* Sorted anew, places are elsewhere. */
static int index_places(struct registers_work *w, struct err *err)
{
	itab_free(&w->at);
	w->at = (struct itab)ITAB_INIT;
	for (size_t i = 0; i < w->place.n; i++)
		if (itab_put(&w->at, hash_pair(w->place.v[i].addr, w->place.v[i].image), i))
			return err_nomem(err);
	return 0;
}

/* Returns true if each of its executions is in the recording. */
static bool has_every(const struct pd *rec, const struct pd_event *e)
{
	const struct pd_losses *l = pd_losses(rec);
	bool one_by_one = e->attr.type == PERF_TYPE_TRACEPOINT ||
			  e->attr.type == PERF_TYPE_BREAKPOINT || strstr(e->name, "probe:");

	return one_by_one && !e->attr.freq && e->attr.sample_period == 1 && !l->lost &&
	       !l->lost_samples && !l->read_lost && !l->throttles;
}

int registers_begin(struct registers **out, struct pass *pass, const struct pd *rec,
		    struct spaces *sp, const struct registers_opts *opts, struct err *err)
{
	struct registers *r = calloc(1, sizeof(*r));
	struct registers_work *w = calloc(1, sizeof(*w));
	size_t n;

	*out = NULL;
	if (!r || !w) {
		free(r);
		free(w);
		return err_nomem(err);
	}
	r->rec = rec;
	r->spaces = sp;
	r->opts = *opts;
	r->arch = arch_of(rec);
	r->every = has_every(rec, &pd_events(rec, &n)[opts->event]);
	r->work = w;
	w->events = calloc(n + 1, sizeof(*w->events));
	if (!w->events) {
		registers_free(r);
		return err_nomem(err);
	}
	w->events[opts->event] = true;
	w->amd = pd_info(rec)->cpuid && !strncmp(pd_info(rec)->cpuid, "AuthenticAMD", 12);
	add_visit(r, pass, count_place);
	*out = r;
	return 0;
}

int registers_end(struct registers *r, struct err *err)
{
	if (name_places(r, err) || index_places(r->work, err))
		return -1;
	r->place = r->work->place.v;
	r->n = r->work->place.n;
	return 0;
}

/* ---- values ----------------------------------------------------------------------------- */

static double as_kind(uint64_t v, enum kind k)
{
	switch (k) {
	case KIND_SIGNED32:
		return (double)(int32_t)(uint32_t)v;
	case KIND_SIGNED:
		return (double)(int64_t)v;
	default:
		return (double)v;
	}
}

static bool is_less(uint64_t a, uint64_t b, enum kind k)
{
	switch (k) {
	case KIND_SIGNED32:
		return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
	case KIND_SIGNED:
		return (int64_t)a < (int64_t)b;
	default:
		return a < b;
	}
}

static void count_value(struct cell_work *c, uint64_t v)
{
	for (size_t i = 0; i < c->n_values; i++)
		if (c->value[i].v == v) {
			c->value[i].n++;
			return;
		}
	if (c->n_values == REGISTERS_VALUES)
		c->more = true;
	else
		c->value[c->n_values++] = (struct registers_value){ .v = v, .n = 1 };
}

/* Addresses of user space end below 2^56 at most; those of the kernel have their upper bits set,
 * but the last page, where errors are. */
static bool looks_mapped(uint64_t v)
{
	return (v >> 32 && !(v >> 56)) || (v >= 0xff00000000000000ULL && v < 0xffffffffffe00000ULL);
}

static void add_value(const struct sampled *x, struct cell_work *c, uint64_t v)
{
	for (enum kind k = 0; k < KINDS; k++) {
		struct kind_sum *s = &c->kind[k];
		double d = as_kind(v, k);

		s->sum += d;
		s->squares += d * d;
		if (!c->n || is_less(v, s->least, k))
			s->least = v;
		if (!c->n || is_less(s->most, v, k))
			s->most = v;
	}
	c->n++;
	c->bits |= v;
	c->zero += !v;
	c->above32 += v >> 32 != 0;
	c->top32 += !(v >> 32) && v >> 31;
	c->top64 += v >> 63;
	c->near0 += v < 1u << 30 || v > (uint64_t) - (1 << 30);
	c->address += looks_mapped(v) || (v >= 4096 && find_place(x, v)->image != IMAGE_NONE);
	if (!c->more)
		count_value(c, v);
}

static void add_sample(struct registers *r, const struct sampled *x)
{
	uint32_t at = place_of(r, x, false);
	struct cell_work *c = at == UINT32_MAX ? NULL : r->work->cell[at];
	const uint8_t *v = x->regs->v;

	if (!c)
		return;
	for (unsigned bit = 0; bit < REGISTERS_MAX; bit++) {
		uint64_t value;

		if (!(x->regs->mask >> bit & 1))
			continue;
		value = ld64(v);
		v += 8;
		if (x->regs->abi == PERF_SAMPLE_REGS_ABI_32)
			value &= UINT32_MAX;
		add_value(x, &c[bit], value);
	}
}

static enum registers_guess guess(const struct cell_work *c)
{
	uint64_t some = c->n - c->zero;

	if (some && c->address == some)
		return GUESS_POINTER;
	/* all but those with the upper bits set are small, and there are such */
	if (c->top64 && c->near0 == c->n)
		return GUESS_SIGNED;
	if (c->top32 && !c->above32 && (int32_t)(uint32_t)c->kind[KIND_SIGNED32].most < 1 << 30 &&
	    (int32_t)(uint32_t)c->kind[KIND_SIGNED32].least > -(1 << 30))
		return GUESS_SIGNED32;
	return GUESS_UNSIGNED;
}

static int by_frequency(const void *a, const void *b)
{
	const struct registers_value *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->v > y->v) - (x->v < y->v);
}

static void finish_mean(struct registers_cell *out, const struct kind_sum *s, bool every)
{
	double n = (double)out->n, variance;

	out->mean = s->sum / n;
	out->rms = sqrt(s->squares / n);
	variance = n > 1 ? (s->squares - s->sum * out->mean) / (n - 1) : NAN;
	if (variance < 0) /* rounding */
		variance = 0;
	out->half = every ? 0 : Z95 * sqrt(variance / n);
}

static void finish_cell(const struct registers *r, struct cell_work *c, unsigned bit,
			struct registers_cell *out)
{
	static const enum kind kinds[] = { [GUESS_UNSIGNED] = KIND_UNSIGNED,
					   [GUESS_SIGNED32] = KIND_SIGNED32,
					   [GUESS_SIGNED] = KIND_SIGNED,
					   [GUESS_POINTER] = KIND_UNSIGNED };
	const struct kind_sum *s;

	*out = (struct registers_cell){ .bit = bit, .n = c->n, .guess = guess(c) };
	s = &c->kind[kinds[out->guess]];
	out->least = s->least;
	out->most = s->most;
	finish_mean(out, s, r->every);
	if (out->guess == GUESS_POINTER)
		out->mean = out->rms = out->half = NAN;
	out->zeros = c->bits ? (unsigned)__builtin_ctzll(c->bits) : 64;
	out->more = c->more;
	out->value = c->value;
	out->n_values = c->more ? 0 : c->n_values;
	qsort(c->value, c->n_values, sizeof(c->value[0]), by_frequency);
	for (size_t i = 0; i < c->n_values; i++) {
		double w = (double)c->value[i].n, all = (double)c->n;
		struct error_bar b = error_bar_share(w, all, all);

		c->value[i].share = b.share;
		c->value[i].half = r->every ? 0 : b.half;
	}
}

/* Arguments first, in their order. */
static unsigned rank(const struct registers *r, unsigned bit)
{
	unsigned argument;

	(void)registers_name(r->arch, bit, &argument);
	return argument ? argument : REGISTERS_MAX + bit;
}

static int finish_place(struct registers *r, size_t i, struct err *err)
{
	struct registers_place *p = &r->place[i];
	struct cell_work *c = r->work->cell[i];

	p->cell = arena_alloc(&r->work->arena, REGISTERS_MAX * sizeof(*p->cell));
	if (!p->cell)
		return err_nomem(err);
	for (unsigned at = 0; at < 2 * REGISTERS_MAX; at++)
		for (unsigned bit = 0; bit < REGISTERS_MAX; bit++)
			if (c[bit].n && rank(r, bit) == at)
				finish_cell(r, &c[bit], bit, &p->cell[p->n_cells++]);
	return 0;
}

static int make_room(struct registers *r, struct err *err)
{
	struct registers_work *w = r->work;
	size_t wanted = 0;

	for (size_t i = 0; i < r->n; i++)
		wanted += r->place[i].wanted;
	if (wanted > REGISTERS_WANTED_MAX)
		return err_set(err, ERR_LIMIT, "registers of more than %u places",
			       REGISTERS_WANTED_MAX);
	w->cell = arena_alloc(&w->arena, (r->n + 1) * sizeof(*w->cell));
	if (!w->cell)
		return err_nomem(err);
	for (size_t i = 0; i < r->n; i++) {
		if (!r->place[i].wanted)
			continue;
		w->cell[i] = arena_alloc(&w->arena, REGISTERS_MAX * sizeof(**w->cell));
		if (!w->cell[i])
			return err_nomem(err);
	}
	return 0;
}

static int read_values(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct sampled x;

	(void)err;
	if (take(ctx, p, &x) == WITH)
		add_sample(ctx, &x);
	return 0;
}

int registers_read_begin(struct registers *r, struct pass *pass, struct err *err)
{
	if (make_room(r, err))
		return -1;
	add_visit(r, pass, read_values);
	return 0;
}

int registers_read_end(struct registers *r, struct err *err)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->place[i].wanted && finish_place(r, i, err))
			return -1;
	return 0;
}

void registers_free(struct registers *r)
{
	if (!r)
		return;
	if (r->work) {
		free(r->work->events);
		vec_free(&r->work->place);
		itab_free(&r->work->at);
		arena_free(&r->work->arena);
		free(r->work);
	}
	free(r);
}

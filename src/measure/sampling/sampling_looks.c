/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When and at what is looked (sampling_wchan.c): with `run`, and with --wait, whose samples of
 * switches have the register of a system call's first argument. The kernel keeps it as it was when
 * the call began: so it names what is waited for at the switch itself.
 */
#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"

/* Bits of PERF_REG_* by architecture: arch/ARCH/include/uapi/asm/perf_regs.h. */
#if defined(__x86_64__)
#define FIRST_ARGUMENT (1ULL << 5) /* DI */
#elif defined(__aarch64__)
#define FIRST_ARGUMENT 1ULL /* X0 */
#else
#define FIRST_ARGUMENT 0ULL /* not recorded */
#endif

uint64_t sampling_looks_register(void)
{
	return FIRST_ARGUMENT;
}

bool sampling_looks(const struct sampling *r)
{
	return !r->sink.live && (r->opts.wait || sampling_watches(r));
}

int sampling_looks_begin(struct sampling *r, struct err *err)
{
	bool whole = sampling_whole(r);

	if (!sampling_looks(r) || !r->ev[0].attr.use_clockid)
		return 0;
	r->sink.looks = wchan_new(r->k.who.tasks.v, whole ? 0 : r->k.who.tasks.n);
	r->sink.looks_clock = r->ev[0].attr.clockid;
	return r->opts.wait && sampling_looks_register() ? wanted_new(&r->sink.events, r, err) : 0;
}

void sampling_looks_sample(struct sink *s, const uint8_t *p, size_t size)
{
	struct pd_record rec = {
		.p = p, .size = (uint16_t)size, .type = ld32(p), .misc = ld16(p + 4)
	};
	const struct pd_event *ev;
	struct pd_sample x;
	size_t i;

	if (!s->looks || !s->events || !wanted_event(s->events, &rec, &ev, &i) ||
	    ev->attr.type != PERF_TYPE_SOFTWARE ||
	    ev->attr.config != PERF_COUNT_SW_CONTEXT_SWITCHES || pd_sample_parse_of(ev, &rec, &x))
		return;
	if (pd_user_register(&x, FIRST_ARGUMENT, &x.addr))
		wchan_saw(s->looks, x.pid, x.addr, sampling_clock(s->looks_clock));
}

void sampling_looks_round(struct sink *s)
{
	if (s->looks)
		wchan_round(s->looks, sampling_clock(s->looks_clock));
}

void sampling_looks_end(struct sampling *r)
{
	wchan_free(r->sink.looks);
	r->sink.looks = NULL;
	wanted_free(r->sink.events);
	r->sink.events = NULL;
}

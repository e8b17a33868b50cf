/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/attr.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

#define ATTR_GROUP_MOST 64

uint64_t attr_all_regs(void)
{
#if defined(__x86_64__)
	/* all up to R15 but DS, ES, FS, GS (bits 12 to 15), which the kernel does not give */
	return 0xff0fffULL;
#elif defined(__aarch64__)
	return (1ULL << 33) - 1; /* x0 to x29, lr, sp, pc */
#else
	return 0;
#endif
}

/* Frame pointers alone do not suffice: AArch64's functions that call nothing keep their caller in
 * the link register. */
static uint64_t leaf_regs(enum attr_chain chain)
{
#if defined(__aarch64__)
	return chain == CHAIN_FP ? 1ULL << 30 : 0;
#else
	(void)chain;
	return 0;
#endif
}

enum attr_chain attr_chain_of(const struct event *e, const struct attr_opts *o)
{
	if (!e->call_graph)
		return e->stack_size ? CHAIN_DWARF : o->chain;
	switch (e->call_graph[0]) {
	case 'f':
		return CHAIN_FP;
	case 'd':
		return CHAIN_DWARF;
	case 'u':
		return CHAIN_UNWIND;
	case 'l':
		return CHAIN_LBR;
	default:
		return CHAIN_NONE;
	}
}

static bool is_probe(const struct event *e)
{
	return e->pmu && (!strcmp(e->pmu, "uprobe") || !strcmp(e->pmu, "kprobe"));
}

bool attr_is_ibs(const struct event *e)
{
	return e->pmu && (!strcmp(e->pmu, "ibs_op") || !strcmp(e->pmu, "ibs_fetch"));
}

bool attr_is_spe(const struct event *e)
{
	return e->pmu && !strncmp(e->pmu, "arm_spe", 7);
}

/* No sample is the kernel's: its records give the thread on each CPU, for those of the trace. */
static void make_spe(struct perf_event_attr *a, const struct event *e, const struct attr_opts *o)
{
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			 PERF_SAMPLE_DATA_SRC; /* by which perf knows that it is of memory */
	a->branch_sample_type = 0;
	a->freq = 0;
	if (!e->has_period)
		a->sample_period = o->period ? o->period : ATTR_SPE_PERIOD;
	a->exclude_guest = 0;
	a->context_switch = 1;
}

#define BIT(name) ((uint64_t)PERF_SAMPLE_##name)

struct attr_wish attr_wish_tracking(const struct attr_wish *w)
{
	return (struct attr_wish){
#define ATTR_WISH(field, parts, tracks, perf) .field = (tracks) && w->field,
#include "collect/attr_wish.def"
#undef ATTR_WISH
	};
}

void attr_wish_put(struct buf *b, const struct attr_wish *w)
{
#define ATTR_WISH(field, parts, tracks, perf) buf_puts(b, w->field ? " " perf : "");
#include "collect/attr_wish.def"
#undef ATTR_WISH
}

bool attr_copies_stack(enum attr_chain chain)
{
	return chain == CHAIN_DWARF || chain == CHAIN_UNWIND;
}

static uint64_t sample_type(const struct event *e, const struct attr_opts *o, enum attr_chain chain)
{
	uint64_t t = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

	t |= o->cpu ? PERF_SAMPLE_CPU : 0;
	t |= o->several ? PERF_SAMPLE_IDENTIFIER : 0;
#define ATTR_WISH(field, parts, tracks, perf) t |= o->wish.field ? (parts) : 0;
#include "collect/attr_wish.def"
#undef ATTR_WISH
	t |= leaf_regs(chain) ? PERF_SAMPLE_REGS_USER : 0;
	t |= e->attr.branch_sample_type ? PERF_SAMPLE_BRANCH_STACK : 0;
	t |= e->attr.type == PERF_TYPE_TRACEPOINT || attr_is_ibs(e) ? PERF_SAMPLE_RAW : 0;
	t |= e->sample_read || o->times ? PERF_SAMPLE_READ : 0;
	if (chain != CHAIN_NONE)
		t |= PERF_SAMPLE_CALLCHAIN;
	if (attr_copies_stack(chain))
		t |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	if (chain == CHAIN_LBR)
		t |= PERF_SAMPLE_BRANCH_STACK;
	return t;
}

static void set_rate(struct perf_event_attr *a, const struct event *e, const struct attr_opts *o)
{
	if (e->has_period || e->has_freq) {
		a->freq = e->has_freq;
		return;
	}
	if (o->period || a->sample_period) {
		/* tracepoints, breakpoints and probes come with period 1; -c overrides it */
		if (o->period)
			a->sample_period = o->period;
		a->freq = 0;
		return;
	}
	a->freq = 1;
	a->sample_freq = o->freq;
}

void attr_make(struct perf_event_attr *out, const struct event *e, const struct attr_opts *o,
	       bool tracking)
{
	struct perf_event_attr *a = out;
	bool trace = e->attr.type == PERF_TYPE_TRACEPOINT || e->attr.type == PERF_TYPE_BREAKPOINT ||
		     is_probe(e);
	enum attr_chain chain = attr_chain_of(e, o);
	uint32_t stack_size = e->stack_size ? e->stack_size : o->stack_size;
	bool inherit = e->inherit ? e->inherit > 0 : o->inherit;

	*a = e->attr;
	a->size = sizeof(*a);
	if (trace && !e->has_period && !e->has_freq && !a->sample_period)
		a->sample_period = 1;
	set_rate(a, e, o);
	a->sample_type = sample_type(e, o, chain);
	a->read_format |= PERF_FORMAT_ID | PERF_FORMAT_LOST;
	if (e->sample_read || o->times)
		a->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (e->sample_read)
		a->read_format |= PERF_FORMAT_GROUP;
	a->disabled = 1;
	a->enable_on_exec = o->enable_on_exec;
	a->inherit = inherit;
	a->sample_id_all = 1;
	a->use_clockid = o->use_clockid;
	a->clockid = o->use_clockid ? o->clockid : 0;
	if (attr_is_ibs(e)) { /* it knows no guests, and its registers are the sample */
		a->exclude_guest = 0;
		if (!a->freq) {
			uint64_t least = strcmp(e->pmu, "ibs_op") ? 0x10 : 0x90,
				 n = (a->sample_period + ATTR_IBS_STEP / 2) / ATTR_IBS_STEP *
				     ATTR_IBS_STEP;

			/* the kernel wants four low bits 0 and, of ops, a least period (Linux 6.15)
			 */
			a->sample_period = n < least ? least : n;
		}
	}
	if (attr_is_spe(e))
		make_spe(a, e, o);
	if (o->user_only)
		a->exclude_kernel = a->exclude_hv = 1;
	if (o->kernel_only)
		a->exclude_user = 1;
	if (a->sample_type & PERF_SAMPLE_REGS_USER)
		a->sample_regs_user = o->wish.user_regs || attr_copies_stack(chain)
					      ? attr_all_regs()
					      : leaf_regs(chain);
	if (a->sample_type & PERF_SAMPLE_REGS_INTR)
		a->sample_regs_intr = attr_all_regs();
	if (attr_copies_stack(chain)) {
		a->sample_stack_user = (stack_size		? stack_size
					: chain == CHAIN_UNWIND ? 16384
								: 8192) &
				       ~7u;
		a->exclude_callchain_user = 1;
	}
	if (o->wish.branch && !a->branch_sample_type)
		a->branch_sample_type = (o->branch_type ? o->branch_type : PERF_SAMPLE_BRANCH_ANY) |
					PERF_SAMPLE_BRANCH_HW_INDEX;
	if (chain == CHAIN_LBR)
		a->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
					PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES |
					PERF_SAMPLE_BRANCH_HW_INDEX;
	if (tracking) {
		a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 1;
		a->ksymbol = a->bpf_event = 1;
		a->build_id = o->wish.build_ids;
		a->cgroup = o->wish.cgroups;
		a->context_switch |= o->switches;
		a->mmap_data = o->wish.data || o->wish.phys_data || o->data_maps;
	}
}

static int try_open_attr(const struct perf_event_attr *attr, const struct attr_place *at)
{
	struct perf_event_attr a = *attr;

	a.disabled = 1;
	a.enable_on_exec = 0;
	return (int)syscall(SYS_perf_event_open, &a, at->task, at->cpu, at->group_fd,
			    PERF_FLAG_FD_CLOEXEC);
}

static int try(const struct perf_event_attr *attr, const struct attr_place *at)
{
	int fd = try_open_attr(attr, at);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

#define PAGE_SIZES (PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)

/* The next thing to do without after `refusal`, or 0. In order: the newest and least missed first.
 */
static unsigned give_up_field(struct perf_event_attr *a, int refusal, const struct attr_place *at)
{
	if ((refusal == EACCES || refusal == EPERM) && at->may_drop_kernel && !a->exclude_kernel) {
		a->exclude_kernel = a->exclude_hv = 1;
		return ATTR_WITHOUT_KERNEL;
	}
	if ((refusal == EACCES || refusal == EPERM) && at->may_drop_phys &&
	    a->sample_type & PERF_SAMPLE_PHYS_ADDR) {
		a->sample_type &= ~(uint64_t)PERF_SAMPLE_PHYS_ADDR;
		return ATTR_WITHOUT_PHYS;
	}
	if ((refusal == EACCES || refusal == EPERM) && a->ksymbol) {
		a->ksymbol = a->bpf_event = 0;
		return ATTR_WITHOUT_KSYMBOL;
	}
	if (refusal != EINVAL && refusal != EOPNOTSUPP)
		return 0;
	if (a->read_format & PERF_FORMAT_LOST) {
		a->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		return ATTR_WITHOUT_LOST;
	}
	if (a->build_id) {
		a->build_id = 0;
		return ATTR_WITHOUT_BUILD_ID;
	}
	if (a->inherit && a->sample_type & PERF_SAMPLE_READ) {
		if (!(a->read_format & PERF_FORMAT_GROUP)) {
			a->sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
			return ATTR_WITHOUT_TIMES;
		}
		a->inherit = 0;
		return ATTR_WITHOUT_INHERIT;
	}
	if (a->sample_type & PERF_SAMPLE_WEIGHT_STRUCT) {
		a->sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
		a->sample_type |= PERF_SAMPLE_WEIGHT;
		return ATTR_WITHOUT_WEIGHT_STRUCT;
	}
	if (a->sample_type & PERF_SAMPLE_CGROUP) {
		a->sample_type &= ~(uint64_t)PERF_SAMPLE_CGROUP;
		a->cgroup = 0;
		return ATTR_WITHOUT_CGROUP;
	}
	if (a->sample_type & PAGE_SIZES) {
		a->sample_type &= ~(uint64_t)PAGE_SIZES;
		return ATTR_WITHOUT_PAGES;
	}
	if (a->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) {
		a->branch_sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_HW_INDEX;
		return ATTR_WITHOUT_HW_INDEX;
	}
	if (a->ksymbol) {
		a->ksymbol = a->bpf_event = 0;
		return ATTR_WITHOUT_KSYMBOL;
	}
	if (a->precise_ip) {
		a->precise_ip--;
		return ATTR_WITHOUT_PRECISE;
	}
	return 0;
}

/* Restores fields that were given up for nothing: the steps go from the least missed to the most,
 * and the last of them need not have needed those before it. */
static void have_again(struct perf_event_attr *a, const struct perf_event_attr *wish,
		       const struct attr_place *at, unsigned *given_up)
{
	static const unsigned steps[] = { ATTR_WITHOUT_INHERIT,	      ATTR_WITHOUT_TIMES,
					  ATTR_WITHOUT_WEIGHT_STRUCT, ATTR_WITHOUT_PAGES,
					  ATTR_WITHOUT_CGROUP,	      ATTR_WITHOUT_HW_INDEX,
					  ATTR_WITHOUT_KSYMBOL,	      ATTR_WITHOUT_BUILD_ID,
					  ATTR_WITHOUT_LOST };

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct perf_event_attr more = *a;

		switch (*given_up & steps[i]) {
		case ATTR_WITHOUT_INHERIT:
			more.inherit = 1;
			break;
		case ATTR_WITHOUT_TIMES:
			more.sample_type |= PERF_SAMPLE_READ;
			break;
		case ATTR_WITHOUT_WEIGHT_STRUCT:
			more.sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT;
			more.sample_type |= PERF_SAMPLE_WEIGHT_STRUCT;
			break;
		case ATTR_WITHOUT_PAGES:
			more.sample_type |= wish->sample_type & PAGE_SIZES;
			break;
		case ATTR_WITHOUT_CGROUP:
			more.sample_type |= PERF_SAMPLE_CGROUP;
			more.cgroup = wish->cgroup;
			break;
		case ATTR_WITHOUT_HW_INDEX:
			more.branch_sample_type |= PERF_SAMPLE_BRANCH_HW_INDEX;
			break;
		case ATTR_WITHOUT_KSYMBOL:
			more.ksymbol = wish->ksymbol;
			more.bpf_event = wish->bpf_event;
			break;
		case ATTR_WITHOUT_BUILD_ID:
			more.build_id = 1;
			break;
		case ATTR_WITHOUT_LOST:
			more.read_format |= PERF_FORMAT_LOST;
			break;
		default:
			continue;
		}
		if (try(&more, at))
			continue;
		*a = more;
		*given_up &= ~steps[i];
	}
}

int attr_fit(struct perf_event_attr *attr, const struct attr_place *at, unsigned *given_up, int *fd,
	     struct err *err)
{
	const struct perf_event_attr wish = *attr;

	*given_up = 0;
	for (;;) {
		int refusal = try(attr, at);
		unsigned step = refusal ? give_up_field(attr, refusal, at) : 0;

		if (!refusal) {
			/* one step was needed: the kernel has just refused */
			if (*given_up & (*given_up - 1))
				have_again(attr, &wish, at, given_up);
			/* It was taken a moment ago. */
			if (!fd)
				return 0;
			*fd = try_open_attr(attr, at);
			return *fd < 0 ? err_sys(err, "perf_event_open") : 0;
		}
		if (step) {
			*given_up |= step;
			continue;
		}
		/* nothing helped: the wish as it was has the best error */
		*attr = wish;
		*given_up = 0;
		errno = refusal;
		return err_sys(err, "perf_event_open");
	}
}

size_t attr_fit_group(const struct perf_event_attr *const *attr, size_t n, pid_t task, int cpu)
{
	int leader = -1, fd[ATTR_GROUP_MOST];
	size_t took = 0;

	while (took < n && took < ATTR_GROUP_MOST) {
		struct perf_event_attr a = *attr[took];

		a.disabled = !took;
		a.enable_on_exec = 0;
		fd[took] = (int)syscall(SYS_perf_event_open, &a, task, cpu, leader,
					PERF_FLAG_FD_CLOEXEC);
		if (fd[took] < 0)
			break;
		leader = fd[0];
		took++;
	}
	for (size_t i = took; i > 0; i--)
		(void)close(fd[i - 1]);
	return took;
}

struct perf_event_attr attr_to_store(const struct perf_event_attr *attr, const struct event *e)
{
	struct perf_event_attr a = *attr;

	if (is_probe(e))
		a.config1 = 0; /* the address of a path or of a function's name */
	return a;
}

size_t attr_trailer(const struct perf_event_attr *attr)
{
	static const uint64_t fields[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					   PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
					   PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER };
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (attr->sample_type & fields[i])
			bytes += 8;
	return bytes;
}

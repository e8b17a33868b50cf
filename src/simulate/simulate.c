/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulate/simulate.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "symbol/disasm.h"

#define THREADS_MOST  256u /* 2 MB each */
#define STACK_MOST    1000000u
#define RETURN_SEARCH 256u /* calls that may have been left at once: longjmp, exceptions */
#define ACCESSES_MOST 4096u

struct frame {
	uint32_t context;
	uint64_t behind;
};

struct simulate_thread {
	struct sim_core *core;
	uint32_t context;
	VEC(struct frame) stack;
	uint32_t code; /* the block that runs; UINT32_MAX: none */
	size_t n;      /* of accesses of its instructions */
	uint16_t insn[ACCESSES_MOST];
	struct sim_access access[ACCESSES_MOST];
};

/* ---- the program's way ----------------------------------------------------------------------- */

static void enter_call(struct simulate *s, struct simulate_thread *t, uint64_t callee,
		       uint64_t behind)
{
	if (t->stack.n < STACK_MOST)
		vec_xpush(&t->stack, ((struct frame){ t->context, behind }));
	t->context = sums_call(&s->sums, t->context, callee, behind);
}

/* A return to where no call came from is none: the loader enters functions by it. */
static void leave_call(struct simulate_thread *t, uint64_t to)
{
	for (size_t i = t->stack.n, n = 0; i-- > 0 && n < RETURN_SEARCH; n++) {
		if (t->stack.v[i].behind != to)
			continue;
		t->context = t->stack.v[i].context;
		t->stack.n = i;
		return;
	}
}

/* The block that ran, now that it is known where it led. */
static void execute(struct simulate *s, struct simulate_thread *t, uint64_t to)
{
	const struct sums_code *code = &s->sums.code.v[t->code];
	struct sums_block *b = sums_enter(&s->sums, t->context, t->code);
	const struct sim_insn *last = &code->insn[code->n - 1];
	uint32_t n = code->n;
	size_t at = 0;

	/* one that reaches into the next page is shown in a block that stops before it */
	if (n > 1 && to == last->vaddr && last->flow == INSN_OTHER && !last->string) {
		n--;
		last--;
	}
	for (uint32_t i = 0; i < n; i++) {
		size_t from = at;

		while (at < t->n && t->insn[at] == i)
			at++;
		sim_core_fetch(t->core, &code->insn[i], (struct sim_place){ b, i },
			       &t->access[from], at - from);
	}
	sim_core_branch(t->core, to);
	if (last->flow == INSN_CALL)
		enter_call(s, t, to, last->vaddr + last->len);
	else if (last->flow == INSN_RETURN)
		leave_call(t, to);
	else if (last->flow == INSN_SYSTEM)
		sim_core_system(t->core);
}

static struct simulate_thread *thread_of(struct simulate *s, uint32_t number)
{
	struct simulate_thread *t;

	if (number >= THREADS_MOST) {
		(void)err_set(&s->failed, ERR_LIMIT, "more than %u threads are not followed",
			      THREADS_MOST);
		return NULL;
	}
	while (s->thread.n <= number)
		vec_xpush(&s->thread, NULL);
	t = s->thread.v[number];
	if (t)
		return t;
	s->thread.v[number] = t = xcalloc(1, sizeof(*t));
	t->code = UINT32_MAX;
	t->core = sim_core_new(s->opts.machine, s->outer, sums_charge, &s->sums);
	return t;
}

/* ---- what the stream says -------------------------------------------------------------------- */

static bool forge(struct simulate *s, const char *what)
{
	(void)err_set(&s->failed, ERR_FORMAT,
		      "the emulator's stream is damaged: %s. The program may have written to it",
		      what);
	return false;
}

static bool add_block(struct simulate *s, const struct stream_item *item)
{
	struct sums_code c = { 0 };
	const uint8_t *p = (const uint8_t *)(item->payload + 3), *end;
	uint64_t vaddr;

	if (item->n < 3 || item->payload[0] != s->sums.code.n || !item->payload[2] ||
	    item->payload[2] > STREAM_INSNS_MOST)
		return forge(s, "a block");
	end = (const uint8_t *)(item->payload + item->n);
	c.vaddr = vaddr = item->payload[1];
	c.n = (uint32_t)item->payload[2];
	c.insn = xcalloc(c.n, sizeof(*c.insn));
	for (uint32_t i = 0; i < c.n; i++) {
		if (end - p < 1 || !*p || *p > 16 || end - p <= *p) {
			free(c.insn);
			return forge(s, "a block's bytes");
		}
		sim_insn_decode(s->opts.machine, s->decoder, p + 1, *p, vaddr,
				i ? &c.insn[i - 1] : NULL, &c.insn[i]);
		vaddr += *p;
		p += *p + 1;
	}
	vec_each (&s->map, struct simulate_map *, m)
		m->runs |= c.vaddr >= m->at && c.vaddr - m->at < m->len;
	vec_xpush(&s->sums.code, c);
	return true;
}

static bool add_map(struct simulate *s, const struct stream_item *item)
{
	struct simulate_map m = { 0 };
	const char *path = (const char *)(item->payload + 4);

	if (item->n < 5 || !memchr(path, 0, (item->n - 4) * 8))
		return forge(s, "a mapping");
	m.at = item->payload[0];
	m.len = item->payload[1];
	m.offset = item->payload[2];
	m.path = arena_xstrdup(&s->a, path);
	vec_xpush(&s->map, m);
	return true;
}

static bool take_note(struct simulate *s, const struct stream_item *item)
{
	switch (item->note) {
	case STREAM_BLOCK:
		return add_block(s, item);
	case STREAM_MAP:
		return add_map(s, item);
	case STREAM_CALL:
		s->calls++;
		return true;
	case STREAM_CHILD:
		s->children++;
		return true;
	case STREAM_GONE:
		s->became = true;
		return true;
	default:
		return forge(s, "a note");
	}
}

static bool is_over(void *simulate)
{
	struct simulate *s = simulate;

	return workload_reap(&s->w, false);
}

#define PROGRESS_EVERY 65536u /* blocks */

static void follow(struct simulate *s)
{
	struct simulate_thread *t = NULL;
	struct stream_item item;
	uint32_t turn = 0;

	while (reader_next(&s->reader, &item)) {
		if (item.tag == STREAM_ACCESS) {
			if (t && t->n < ACCESSES_MOST) {
				t->insn[t->n] = (uint16_t)item.insn;
				t->access[t->n++] =
					(struct sim_access){ item.vaddr, (uint8_t)item.bytes,
							     item.store };
			}
			continue;
		}
		if (item.tag == STREAM_NOTE) {
			if (!take_note(s, &item))
				break;
			continue;
		}
		if (item.block >= s->sums.code.n) {
			(void)forge(s, "a block's number");
			break;
		}
		t = thread_of(s, item.thread);
		if (!t)
			break;
		s->became = false; /* the system refused to start another program */
		if (t->code != UINT32_MAX)
			execute(s, t, s->sums.code.v[item.block].vaddr);
		t->code = item.block;
		t->n = 0;
		if (s->opts.progress && !(++turn % PROGRESS_EVERY)) {
			struct sim_counts n;

			sim_core_counts(t->core, &n);
			s->opts.progress(s->opts.ctx, n.insns);
		}
	}
}

static void sum_threads(struct simulate *s)
{
	vec_each (&s->thread, struct simulate_thread **, at) {
		struct simulate_thread *t = *at;
		struct sim_counts n;

		if (!t)
			continue;
		if (t->code != UINT32_MAX)
			execute(s, t, 0);
		sim_core_finish(t->core);
		sim_core_counts(t->core, &n);
		s->counts.cycles += n.cycles;
		s->counts.slots += n.slots;
		s->counts.insns += n.insns;
		s->counts.unknown += n.unknown;
		s->counts.branches += n.branches;
		s->counts.mispredicted += n.mispredicted;
	}
}

int simulate_follow(struct simulate *s, struct err *err)
{
	follow(s);
	if (s->reader.forged && !s->failed.code)
		(void)forge(s, "a word");
	if (s->failed.code) {
		*err = s->failed;
		return -1;
	}
	sum_threads(s);
	return 0;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* QEMU's words before the program's. */
static char *const *command_of(struct simulate *s)
{
	const char *head[] = { s->opts.qemu, "-seed", "1", "-plugin",
			       arena_xprintf(&s->a, "%s,ring=%d,reader=%d", s->opts.plugin,
					     s->reader.fd, (int)getpid()) };
	const size_t n_head = sizeof(head) / sizeof(*head);
	const char **v;
	size_t n = 0;

	while (s->opts.argv[n])
		n++;
	v = arena_xalloc(&s->a, (n_head + n + 1) * sizeof(*v));
	memcpy(v, head, sizeof(head));
	memcpy(v + n_head, s->opts.argv, (n + 1) * sizeof(*v));
	return (char *const *)(uintptr_t)v;
}

int simulate_open(struct simulate **out, const struct simulate_opts *opts, struct err *err)
{
	struct simulate *s = *out = xcalloc(1, sizeof(*s));

	s->opts = *opts;
	s->reader.fd = -1;
	sums_open(&s->sums);
	s->decoder = insn_decoder_new(EM_X86_64);
	if (!s->decoder)
		return err_set(err, ERR_UNSUPPORTED,
			       "this build has no decoder of x86-64 (Zydis), which simulate needs");
	if (sim_core_check(opts->machine, err) || reader_open(&s->reader, err))
		return -1;
	s->outer = sim_outer_new(opts->machine);
	s->reader.gone = is_over;
	s->reader.ctx = s;
	return 0;
}

int simulate_run(struct simulate *s, struct err *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction had[2];
	int rc;
	char *const *argv = command_of(s);

	if (workload_prepare(&s->w, argv, NULL, s->opts.mask, 0, err))
		return -1;
	/* keys of the terminal end the program, not what is known of it */
	(void)sigaction(SIGINT, &ignore, &had[0]);
	(void)sigaction(SIGQUIT, &ignore, &had[1]);
	if (workload_start(&s->w, s->opts.qemu, err))
		return -1;
	rc = simulate_follow(s, err);
	(void)sigaction(SIGINT, &had[0], NULL);
	(void)sigaction(SIGQUIT, &had[1], NULL);
	if (rc)
		(void)kill(s->w.pid, SIGKILL);
	reader_close(&s->reader);
	(void)workload_reap(&s->w, true);
	return rc;
}

void simulate_close(struct simulate *s)
{
	if (!s)
		return;
	reader_close(&s->reader);
	vec_each (&s->thread, struct simulate_thread **, t) {
		if (*t) {
			sim_core_free((*t)->core);
			vec_free(&(*t)->stack);
		}
		free(*t);
	}
	vec_free(&s->thread);
	vec_free(&s->map);
	sums_close(&s->sums);
	sim_outer_close(s->outer);
	insn_decoder_free(s->decoder);
	arena_free(&s->a);
	free(s);
}

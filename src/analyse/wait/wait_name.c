/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_name - frames become functions, and functions give the reason of a wait.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/wait/wait_int.h"
#include "base/bisect.h"
#include "base/xalloc.h"

static const struct {
	const char *name;
	uint8_t reason;
} functions[] = {
#define FUNCTION(name, reason) { name, WAIT_##reason },
#include "analyse/wait/wait_function.def"
#undef FUNCTION
};
#define N_FUNCTIONS (sizeof(functions) / sizeof(*functions))

const struct wait_reason_row wait_reasons[WAIT_REASONS] = {
#define REASON(id, state, name, means) [WAIT_##id] = { WAIT_##state, name, means },
#include "analyse/wait_reason.def"
#undef REASON
};

const char *wait_state_name(enum wait_state s)
{
	static const char *const names[] = { "running", "runnable", "blocked", "unknown" };

	return names[s];
}

/* `name` as a row has it, up to its length: <0, 0, >0. */
static int compare_rules(const char *row, const char *name, size_t len)
{
	int rc = strncmp(row, name, len);

	return rc ? rc : row[len] != '\0';
}

enum wait_reason wait_function_reason(const char *name, size_t len)
{
	const char *end = memchr(name, '.', len), *version = memchr(name, '@', len);
	size_t at;

	if (end && end != name)
		len = (size_t)(end - name);
	if (version && version != name && (size_t)(version - name) < len)
		len = (size_t)(version - name);
	bisect(at, N_FUNCTIONS, i, compare_rules(functions[i].name, name, len) >= 0);
	if (at < N_FUNCTIONS && !compare_rules(functions[at].name, name, len))
		return functions[at].reason;
	return WAIT_REASONS;
}

/* Returns true for functions of interrupts, which run in place of the thread. */
static bool is_interrupt(const char *name)
{
	static const char *const begin[] = { "asm_sysvec_",	"asm_common_interrupt",
					     "handle_softirqs", "__do_softirq",
					     "el1_interrupt",	"el0_interrupt" };

	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	return false;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static const char *name_cause_at(const struct wait_work *k, uint32_t place, size_t *len)
{
	const struct symbol *s = k->chains.frames.place.v[place].symbol;

	*len = s ? symbol_plain_len(s) : 0;
	return s ? s->name : "";
}

static bool cause_is_name(const char *name, size_t len, const char *what)
{
	return len == strlen(what) && !memcmp(name, what, len);
}

/* glibc 2.41 makes all system calls in which a thread may be cancelled through these: the last of
 * them is the thread's place, whatever it called. */
static bool is_gate(const char *name, size_t len)
{
	return cause_is_name(name, len, "__syscall_cancel_arch") ||
	       cause_is_name(name, len, "__internal_syscall_cancel") ||
	       cause_is_name(name, len, "__syscall_cancel");
}

/* "ksys_read", "__arm64_sys_futex": the system call, as the kernel's own function of it. */
static bool is_system_call(const char *name, size_t len)
{
	return (memmem(name, len, "sys_", 4) && !cause_is_name(name, len, "x64_sys_call")) ||
	       cause_is_name(name, len, "kernel_wait4");
}

/* What the call is for. The outermost function of it may have been left for another:
 * "__x64_sys_read", "ksys_read", "kernel_wait4". */
static enum pd_object call_object(const struct wait_work *k, uint32_t call)
{
	size_t len;
	const char *name = name_cause_at(k, call, &len), *at;
	unsigned arg;

	if (!call || (len >= 6 && !memcmp(name, "__ia32", 6)))
		return PD_OBJECT_NONE; /* its arguments are in other registers */
	if (cause_is_name(name, len, "kernel_wait4"))
		return PD_OBJECT_PID;
	at = memmem(name, len, "sys_", 4);
	if (!at)
		return PD_OBJECT_NONE;
	at += 4;
	return pd_call_object(at, len - (size_t)(at - name), &arg);
}

struct user_place {
	uint32_t at;
	unsigned gates; /* within it */
	bool done;
};

/* From within: the function that passed the gates. Behind the innermost one stand others if all
 * frames are known; by frame pointers their callers in glibc are lost, too, and the next frame is
 * that of a function which did not make this call. */
static void take_user(struct user_place *u, uint32_t place, bool gate)
{
	if (u->done)
		return;
	if (!u->at || gate || u->gates > 1)
		u->at = place;
	u->gates += gate;
	u->done = !gate;
}

/* The reason, and the place: the innermost function of user space, behind the gates of glibc, else
 * of the kernel the one that waits. Entries of interrupts are recognised, too. */
static void judge_chain(struct wait_work *k, uint32_t chain)
{
	const struct chain_tree *t = &k->out->chain;
	enum wait_reason reason = WAIT_REASONS, here;
	struct user_place user = { .at = 0 };
	uint32_t kernel = 0, call = 0;
	bool yields = false; /* the frame below this one */

	for (uint32_t i = chain; i; i = t->node[i].parent) {
		uint32_t place = (uint32_t)t->node[i].frame;
		bool in_user = k->chains.frames.place.v[place].kind == SPACE_USER;
		size_t len;
		const char *name = name_cause_at(k, place, &len);

		here = wait_function_reason(name, len);
		if (yields && cause_is_name(name, len, "task_work_run"))
			here = WAIT_THROTTLED; /* throttle_cfs_rq_work has returned to it,
						* or, rarely, another work */
		yields = cause_is_name(name, len, "__cond_resched");
		k->interrupt[chain] |= !in_user && is_interrupt(name);
		if (in_user)
			take_user(&user, place, is_gate(name, len));
		else if (is_system_call(name, len))
			call = place;
		if (in_user && reason != WAIT_REASONS)
			continue;
		if (!in_user && (!kernel || (reason == WAIT_REASONS && here != WAIT_REASONS)))
			kernel = place;
		if (reason == WAIT_REASONS ||
		    (here == WAIT_FAULT && (reason == WAIT_IO || reason == WAIT_KERNEL)))
			reason = here;
	}
	k->object[chain] = (uint8_t)call_object(k, call);
	k->reason[chain] = (uint8_t)(reason == WAIT_REASONS ? WAIT_OTHER : reason);
	if (user.gates == 1 && call)
		k->at[chain] = call;
	else
		k->at[chain] = user.at ? user.at : kernel;
}

/* Chains of frames become chains of places; to[] has the new number of each. */
static int fold_chains(struct wait_work *k, uint32_t *to, struct err *err)
{
	to[0] = 0;
	for (size_t i = 1; i < k->chains.raw.n; i++) {
		const struct chain_node *x = &k->chains.raw.node[i];

		to[i] = chain_add(&k->out->chain, to[x->parent],
				  k->chains.frames.frame.v[x->frame].place);
		if (to[i] == UINT32_MAX)
			return err_nomem(err);
	}
	return 0;
}

int wait_name(struct wait_work *k, struct err *err)
{
	uint32_t *to = xcalloc(k->chains.raw.n + 1, sizeof(*to));
	int ret = -1;

	if (frames_name(&k->chains.frames, k->sp, err) || fold_chains(k, to, err))
		goto out;
	k->reason = xcalloc(k->out->chain.n + 1, sizeof(*k->reason));
	k->at = xcalloc(k->out->chain.n + 1, sizeof(*k->at));
	k->object = xcalloc(k->out->chain.n + 1, sizeof(*k->object));
	k->interrupt = xcalloc(k->out->chain.n + 1, sizeof(*k->interrupt));
	for (uint32_t i = 1; i < k->out->chain.n; i++)
		judge_chain(k, i);
	wait_lines(k);
	vec_each (&k->span, struct wait_span *, s) {
		uint32_t wake = to[s->waker_place];

		s->from_line = s->guessed ? 0 : k->line_of[s->chain];
		s->chain = to[s->chain];
		s->waker_place = k->at[wake];
		if (s->waker != WAIT_NOBODY && k->interrupt[wake]) {
			s->waker = WAIT_INTERRUPT;
			s->waker_place = 0;
		}
		if (s->reason == WAIT_OTHER)
			s->reason = s->chain ? k->reason[s->chain] : WAIT_NO_STACK;
		else if (s->reason == WAIT_PREEMPTED &&
			 (k->reason[s->chain] == WAIT_THROTTLED || (s->idled && !k->hidden)))
			s->reason = WAIT_THROTTLED;
	}
	vec_each (&k->donor, uint32_t *, chain)
		*chain = to[*chain];
	ret = 0;
out:
	free(to);
	return ret;
}

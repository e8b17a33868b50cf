/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_probe - places in memory and code: mem:ADDR[/LEN][:rwx], uprobe:FILE:SYMBOL[+OFFSET],
 * uprobe:FILE:+OFFSET, kprobe:SYMBOL[+OFFSET], kprobe:ADDRESS; uretprobe and kretprobe alike.
 *
 * Probes go through the kernel's own PMUs `uprobe` and `kprobe` (Linux 4.17), which vanish with the
 * event: nothing is left behind as a write to uprobe_events would.
 */
#include "collect/events/event_int.h"

#include <errno.h>
#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/sysfs.h"

/* The word up to one of `stops` or the end of the event. */
static struct word probe_upto(struct event_parser *p, const char *stops)
{
	const char *from = p->at;

	while (p->at < p->end && !strchr(stops, *p->at) && *p->at)
		p->at++;
	return word_of(from, p->at);
}

static bool take_char(struct event_parser *p, char c)
{
	if (p->at < p->end && *p->at == c) {
		p->at++;
		return true;
	}
	return false;
}

/* r, w, x in any order, each once. */
static bool access_bits(struct word w, uint32_t *bits)
{
	*bits = 0;
	for (size_t i = 0; i < w.len; i++) {
		uint32_t bit = w.s[i] == 'r'   ? HW_BREAKPOINT_R
			       : w.s[i] == 'w' ? HW_BREAKPOINT_W
			       : w.s[i] == 'x' ? HW_BREAKPOINT_X
					       : 0;

		if (!bit || *bits & bit)
			return false;
		*bits |= bit;
	}
	return w.len;
}

int event_breakpoint(struct event_parser *p)
{
	struct word addr = probe_upto(p, "/:,{}"), len = { NULL, 0 };
	uint32_t type = HW_BREAKPOINT_R | HW_BREAKPOINT_W;
	uint64_t address, bytes = HW_BREAKPOINT_LEN_4;
	struct event *ev;

	if (!word_number(addr, &address)) {
		(void)event_bad(p, addr, "mem: takes the address of a breakpoint");
		return err_hint(p->err, "mem:0x7f0012345678/8:rw");
	}
	if (take_char(p, '/')) {
		len = probe_upto(p, ":,{}");
		if (!word_number(len, &bytes) || !bytes || bytes > 8)
			return event_bad(p, len, "a breakpoint is 1 to 8 bytes long");
	}
	if (p->at < p->end && *p->at == ':') {
		const char *colon = p->at++;
		struct word w = probe_upto(p, ":,{}");
		uint32_t bits;

		if (access_bits(w, &bits))
			type = bits;
		else if (w.len && strchr("rwx", w.s[0]))
			return event_bad(p, w, "access is of r, w and x, each once");
		else
			p->at = colon; /* modifiers, then */
	}
	if (!len.s && type & HW_BREAKPOINT_X)
		bytes = sizeof(long);
	ev = event_add(p, PERF_TYPE_BREAKPOINT, 0, "breakpoint");
	if (!ev)
		return -1;
	ev->attr.bp_type = type;
	ev->attr.bp_addr = address;
	ev->attr.bp_len = bytes;
	return 0;
}

static struct pmu *probe_pmu(struct event_parser *p, struct word whole, const char *name)
{
	struct pmu *pmu = pmu_find(p->pmus, (struct word){ name, strlen(name) });

	if (pmu && pmu_load(p->pmus, pmu)) {
		(void)err_nomem(p->err);
		return NULL;
	}
	if (pmu)
		return pmu;
	(void)event_bad(p, whole, "this kernel has no PMU '%s' (Linux 4.17 with CONFIG_%sS)", name,
			name[0] == 'k' ? "KPROBE" : "UPROBE");
	return NULL;
}

/* "SYMBOL", "SYMBOL+OFF", "+OFF", "ADDRESS" */
static int split_place(struct event_parser *p, struct word place, char symbol[512], uint64_t *off)
{
	const char *plus = memchr(place.s, '+', place.len);
	struct word name = plus ? word_of(place.s, plus) : place;

	*off = 0;
	if (plus && !word_number(word_of(plus + 1, place.s + place.len), off))
		return event_bad(p, place, "an offset is a number: +0x40");
	if ((!name.len && !plus) || name.len >= 512)
		return event_bad(p, place, "a probe needs a function, or an offset: main, +0x40");
	memcpy(symbol, name.s, name.len);
	symbol[name.len] = 0;
	return 0;
}

static char *real_path(struct event_parser *p, struct word file)
{
	char path[PATH_MAX], full[PATH_MAX];
	size_t root_len = strlen(p->pmus->root);
	char *copy;

	if (!file.len || root_len + file.len >= sizeof(path)) {
		(void)event_bad(p, file, "a probe needs the path of a program or library");
		(void)err_hint(p->err, "uprobe:/usr/bin/cat:main");
		return NULL;
	}
	memcpy(path, p->pmus->root, root_len);
	memcpy(path + root_len, file.s, file.len);
	path[root_len + file.len] = 0;
	if (!realpath(path, full)) {
		(void)event_bad(p, file, "%s", strerror(errno));
		(void)err_hint(p->err,
			       "the path of a program or library: uprobe:/usr/bin/cat:main");
		return NULL;
	}
	copy = arena_strdup(&p->list->arena, full);
	if (!copy)
		(void)err_nomem(p->err);
	return copy;
}

int event_probe(struct event_parser *p, const char *start, bool kernel, bool at_return)
{
	struct word file = kernel ? (struct word){ "", 0 } : probe_upto(p, ":");
	char symbol[512], *path = NULL;
	const struct pmu_format *retprobe;
	struct word place;
	struct event *ev;
	struct pmu *pmu;
	uint64_t off, base = 0, number;

	if (!kernel && !take_char(p, ':')) {
		(void)event_bad(p, word_of(start, p->at), "a probe's function is missing");
		return err_hint(p->err, "uprobe:/usr/bin/cat:main, uprobe:FILE:+0x1234");
	}
	place = probe_upto(p, ":,{}");
	pmu = probe_pmu(p, word_of(start, p->at), kernel ? "kprobe" : "uprobe");
	if (!pmu || split_place(p, place, symbol, &off))
		return -1;
	if (!kernel) {
		path = real_path(p, file);
		if (!path)
			return -1;
		if (symbol[0] && elf_symbol_offset(path, symbol, &base, p->err))
			return err_prefix(p->err, "event '" WORD_FMT "'",
					  WORD_ARG(word_of(start, p->at)));
		off += base;
	}
	retprobe = pmu_format_find(pmu, (struct word){ "retprobe", 8 });
	if (at_return && !retprobe)
		return event_bad(p, place, "this kernel's %s PMU has no return probes", pmu->name);
	ev = event_add(p, pmu->type, 0, pmu->name);
	if (!ev)
		return -1;
	if (at_return)
		ev->attr.config = pmu_format_put(retprobe, 0, 1);
	ev->attr.config2 = off; /* offset; of a kprobe without a function, the address */
	if (!kernel) {
		ev->attr.config1 = (uint64_t)(uintptr_t)path;
	} else if (word_number(place, &number)) {
		ev->attr.config2 = number;
	} else {
		char *copy = arena_strdup(&p->list->arena, symbol);

		if (!copy)
			return err_nomem(p->err);
		ev->attr.config1 = symbol[0] ? (uint64_t)(uintptr_t)copy : 0;
	}
	return 0;
}

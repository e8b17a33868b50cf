/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_list - every name this machine knows, and the default event to sample.
 *
 * On the machine at hand a generic name is listed only if the kernel opens it: names that the PMU
 * does not count are left out. On a captured machine nothing can be opened: a core PMU suffices.
 */
#include "collect/events/event_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/machine.h"
#include "collect/sysfs.h"

struct name_list {
	VEC(struct event_name) v;
	struct arena *arena;
};

/* 0, or the errno of opening the event for this very thread, user space only. */
static int try_open_event(const struct perf_event_attr *wanted)
{
	struct perf_event_attr attr = *wanted;
	long fd;

	attr.size = sizeof(attr);
	attr.disabled = 1;
	attr.exclude_kernel = attr.exclude_hv = 1;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	(void)close((int)fd);
	return 0;
}

static bool counts_here(const struct pmu_set *set, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = { .type = type, .config = config };

	if (set->root[0])
		return set->n_core || type == PERF_TYPE_SOFTWARE;
	/* without the right to open events the names are listed all the same */
	switch (try_open_event(&attr)) {
	case 0:
	case EACCES:
	case EPERM:
	case EBUSY:
		return true;
	default:
		return false;
	}
}

static int put_event_name(struct name_list *l, const char *name, const char *kind, const char *text)
{
	struct event_name e = { name, kind, text };

	return name && text ? vec_push(&l->v, e) : -1;
}

static int generic_names(struct name_list *l, const struct pmu_set *set)
{
	char name[64];

	for (size_t i = 0; i < n_event_symbols; i++) {
		const struct event_symbol *s = &event_symbols[i];
		bool hardware = s->kind == SYMBOL_HARDWARE;

		if (s->kind == SYMBOL_TOOL ||
		    !counts_here(set, hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
				 s->config))
			continue;
		if (put_event_name(l, s->name, hardware ? "hardware" : "software", s->text) ||
		    (s->other && put_event_name(l, s->other, hardware ? "hardware" : "software",
						arena_printf(l->arena, "the same as %s", s->name))))
			return -1;
	}
	for (uint64_t cache = 0; cache < PERF_COUNT_HW_CACHE_MAX; cache++)
		for (uint64_t op = 0; op < PERF_COUNT_HW_CACHE_OP_MAX; op++)
			for (uint64_t r = 0; r < PERF_COUNT_HW_CACHE_RESULT_MAX; r++) {
				uint64_t config = cache | op << 8 | r << 16;

				if (event_cache_name(config, name) &&
				    counts_here(set, PERF_TYPE_HW_CACHE, config) &&
				    put_event_name(l, arena_strdup(l->arena, name), "cache", ""))
					return -1;
			}
	return 0;
}

static int pmu_names(struct name_list *l, const struct pmu_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct pmu *pmu = &set->v[i];

		if (pmu_load(set, pmu))
			return -1;
		for (size_t j = 0; j < pmu->n_aliases; j++)
			if (pmu_alias_read(set, pmu, &pmu->alias[j]) &&
			    put_event_name(
				    l,
				    arena_printf(l->arena, "%s/%s/", pmu->name, pmu->alias[j].name),
				    "pmu", pmu->alias[j].text))
				return -1;
	}
	return 0;
}

static const char *bits_text(struct arena *a, const struct pmu_format *f)
{
	return arena_printf(a, "at most 0x%llx", (unsigned long long)pmu_format_max(f));
}

static int raw_names(struct name_list *l, const struct pmu_set *set)
{
	if (put_event_name(l, "rNNN", "raw", "a core PMU's event by its code, in hexadecimal") ||
	    put_event_name(l, "TYPE:CONFIG", "raw", "the kernel's own numbers of an event"))
		return -1;
	for (size_t i = 0; i < set->n; i++)
		for (size_t j = 0; j < set->v[i].n_formats; j++)
			if (put_event_name(l,
					   arena_printf(l->arena, "%s/%s=N/", set->v[i].name,
							set->v[i].format[j].name),
					   "raw", bits_text(l->arena, &set->v[i].format[j])))
				return -1;
	return 0;
}

static int probe_names(struct name_list *l, const struct pmu_set *set)
{
	static const struct {
		const char *pmu, *name, *kind, *text;
	} rows[] = {
		{ "breakpoint", "mem:ADDR[/LEN][:rwx]", "breakpoint",
		  "reads, writes or execution of an address" },
		{ "kprobe", "kprobe:FUNCTION[+OFFSET]", "probe", "a place in the kernel" },
		{ "kprobe", "kretprobe:FUNCTION", "probe", "the return of a kernel's function" },
		{ "uprobe", "uprobe:FILE:FUNCTION[+OFFSET]", "probe", "a place in a program" },
		{ "uprobe", "uretprobe:FILE:FUNCTION", "probe", "the return of a function" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (pmu_find(set, (struct word){ rows[i].pmu, strlen(rows[i].pmu) }) &&
		    put_event_name(l, rows[i].name, rows[i].kind, rows[i].text))
			return -1;
	return 0;
}

static int trace_names(struct name_list *l, const char *root)
{
	const char *place = event_tracefs(root);
	const char *const *systems, *const *names;
	size_t n, m;

	if (!place || !sys_names(l->arena, &systems, &n, root, "%s/events", place))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!sys_names(l->arena, &names, &m, root, "%s/events/%s", place, systems[i]))
			continue;
		for (size_t j = 0; j < m; j++)
			if (sys_exists(root, "%s/events/%s/%s/id", place, systems[i], names[j]) &&
			    put_event_name(l, arena_printf(l->arena, "%s:%s", systems[i], names[j]),
					   "tracepoint", ""))
				return -1;
	}
	return 0;
}

int event_names(struct arena *a, const char *root, struct event_name **out, size_t *n,
		struct err *err)
{
	struct name_list l = { VEC_INIT, a };
	struct pmu_set set;
	int rc = -1;

	if (pmu_set_read(&set, a, root) || generic_names(&l, &set) || pmu_names(&l, &set) ||
	    raw_names(&l, &set) || probe_names(&l, &set) || trace_names(&l, root))
		goto out;
	*out = arena_memdup(a, l.v.v, l.v.n * sizeof(*l.v.v));
	*n = l.v.n;
	rc = *out ? 0 : -1;
out:
	vec_free(&l.v);
	return rc ? err_nomem(err) : 0;
}

static const char *core_pmu(const struct pmu_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].core)
			return set->v[i].name;
	return NULL;
}

/* 0: cycles can be opened, as precisely as *precise. Else the errno without precision. */
static int try_cycles(const struct event *ev, uint32_t *precise)
{
	struct perf_event_attr attr = ev->attr;

	for (;;) {
		int e;

		attr.precise_ip = *precise & 3;
		e = try_open_event(&attr);
		if (!e || !*precise)
			return e;
		--*precise;
	}
}

static int cycles_or_time(struct event_list *list, const char *root, const char *cycles,
			  const char *instead, char why[256], struct err *err)
{
	size_t before = list->ev.n;
	struct pmu_set set;
	const char *core;

	why[0] = 0;
	if (pmu_set_read(&set, &list->arena, root))
		return err_nomem(err);
	core = core_pmu(&set);
	if (root[0] && !core) {
		(void)snprintf(why, 256, "%s/sys/bus/event_source/devices/cpu is absent", root);
		return event_parse(list, root, instead, err);
	}
	if (event_parse_text(list, &set, cycles, strlen(cycles), err))
		return -1;
	for (size_t i = before; i < list->ev.n && !root[0]; i++) {
		uint32_t precise = list->ev.v[i].attr.precise_ip;
		int e = try_cycles(&list->ev.v[i], &precise);

		if (e) {
			(void)snprintf(why, 256,
				       "/sys/bus/event_source/devices/%s is %s; "
				       "perf_event_open(cycles, user only): %s",
				       core ? core : "cpu", core ? "there" : "absent", strerror(e));
			list->ev.n = before;
			return event_parse(list, root, instead, err);
		}
		list->ev.v[i].attr.precise_ip = precise & 3;
	}
	return 0;
}

int event_default(struct event_list *list, const char *root, char why[256], struct err *err)
{
	return cycles_or_time(list, root, "cycles:P", "cpu-clock", why, err);
}

int event_cycles_or_time(struct event_list *list, const char *root, const char *text, char why[256],
			 struct err *err)
{
	const char *of = text + strcspn(text, ":");
	char instead[32];

	if (strncmp(text, "cycles", (size_t)(of - text)) || of - text != 6 || root[0] ||
	    strspn(of, ":ukpP") != strlen(of) || strlen(of) > 8)
		return event_parse(list, root, text, err);
	(void)snprintf(instead, sizeof(instead), "cpu-clock%s%s%s", strpbrk(of, "uk") ? ":" : "",
		       strchr(of, 'u') ? "u" : "", strchr(of, 'k') ? "k" : "");
	return cycles_or_time(list, root, text, instead, why, err);
}

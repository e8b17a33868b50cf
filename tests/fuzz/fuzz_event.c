/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event grammar over a machine that exists in memory only. Whatever comes out must have a name,
 * a leader at or before it, and nothing where parsing failed.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collect/events/event_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pmu_format formats[] = {
	{ "event", 0, 0xf000000ff }, { "umask", 0, 0xff00 },	   { "inv", 0, 1 << 23 },
	{ "ldlat", 1, 0xffff },	     { "offcore", 1, UINT64_MAX }, { "fancy", 3, 0xff },
};
static struct pmu_format retprobe[] = { { "retprobe", 0, 1 } };
static struct pmu_alias aliases[] = {
	{ "cpu-cycles", "event=0x3c", NULL, 1, true },
	{ "mem-loads", "event=0xcd,umask=0x1,ldlat=3", NULL, 1, true },
	{ "needs", "event=1,umask=?", NULL, 1, true },
	{ "broken", "event=,=3,,'", NULL, 1, true },
};

static struct pmu pmus[] = {
	{ .name = "cpu_core",
	  .type = 4,
	  .core = true,
	  .loaded = true,
	  .cpus = "0-1",
	  .format = formats,
	  .n_formats = 6,
	  .alias = aliases,
	  .n_aliases = 4,
	  .max_precise = 3 },
	{ .name = "kprobe", .type = 6, .loaded = true, .format = retprobe, .n_formats = 1 },
	{ .name = "uprobe", .type = 7, .loaded = true, .format = retprobe, .n_formats = 1 },
	{ .name = "cpu_atom",
	  .type = 10,
	  .core = true,
	  .loaded = true,
	  .cpus = "2-3",
	  .format = formats,
	  .n_formats = 6,
	  .alias = aliases,
	  .n_aliases = 1 },
	{ .name = "uncore_imc_0", .type = 12, .loaded = true, .format = formats, .n_formats = 2 },
	{ .name = "uncore_imc_1", .type = 13, .loaded = true, .format = formats, .n_formats = 2 },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	struct pmu_set set = { &list.arena, "/nowhere", pmus, sizeof(pmus) / sizeof(pmus[0]), 2 };
	int rc = event_parse_text(&list, &set, (const char *)data, size, &err);

	if (rc ? list.ev.n || err.code == ERR_NONE || !err.what[0] : !list.ev.n)
		abort();
	for (size_t i = 0; i < list.ev.n; i++) {
		const struct event *ev = &list.ev.v[i];
		const struct event *leader = &list.ev.v[ev->group];

		if (!ev->name || !ev->pmu || ev->group < 0 || (size_t)ev->group > i ||
		    leader->group != ev->group)
			abort();
	}
	event_list_free(&list);
	return 0;
}

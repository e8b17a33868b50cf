/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodings: from a JSON entry to the terms of perf's sysfs formats and the counters that can count
 * it. The meaning of event 0x00, the terms of MSRs and the PMUs of units are facts of the vendors'
 * files and of Linux.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/load/import_int.h"

#define ALL_COUNTERS 64u

struct place { /* counters as bits */
	uint64_t on, alone, fixed;
};

/* ---- counters --------------------------------------------------------------------------- */

/* "0,1,2,3", "Fixed counter 1". */
static void read_counters(const char *s, uint64_t *general, uint64_t *fixed)
{
	static const char fix[] = "Fixed counter ";
	uint64_t *to = general;
	char *end;

	if (!s)
		return;
	if (!strncasecmp(s, fix, sizeof(fix) - 1)) {
		to = fixed;
		s += sizeof(fix) - 1;
	}
	for (; *s; s = *end ? end + 1 : end) {
		unsigned long v = strtoul(s, &end, 10);

		if (end == s)
			return;
		if (v < ALL_COUNTERS)
			*to |= UINT64_C(1) << v;
	}
}

static struct place counter_places_of(struct importer *im, const cJSON *e)
{
	const char *off = import_text(im, e, "CounterHTOff");
	struct place p = { 0, 0, 0 };

	read_counters(import_text(im, e, "Counter"), &p.on, &p.fixed);
	if (off)
		read_counters(off, &p.alone, &p.fixed);
	else
		p.alone = p.on;
	if (im->fixed_from_1)
		p.fixed >>= 1;
	return p;
}

static bool is_uncore(const cJSON *e)
{
	return cJSON_GetObjectItem(e, "Unit") != NULL;
}

void import_count_counters(struct importer *im)
{
	struct place all = { 0, 0, 0 };

	for (size_t i = 0; i < im->events.n; i++) {
		struct place p;

		if (is_uncore(im->events.v[i].json))
			continue;
		p = counter_places_of(im, im->events.v[i].json);
		all.on |= p.on;
		all.alone |= p.alone;
		all.fixed |= p.fixed;
	}
	im->counters = all.on ? 64u - (unsigned)__builtin_clzll(all.on) : 0;
	im->counters_alone = all.alone ? 64u - (unsigned)__builtin_clzll(all.alone) : 0;
	im->fixed = all.fixed ? 64u - (unsigned)__builtin_clzll(all.fixed) : 0;
	im->fixed_named = all.fixed;
	im->fixed_from_1 = all.fixed && !(all.fixed & 1);
	if (im->fixed_from_1)
		im->fixed--;
}

static void put_code_bits(struct buf *b, uint64_t bits, const char *before)
{
	bool any = false;

	for (unsigned i = 0; i < ALL_COUNTERS; i++) {
		unsigned last = i;

		if (!(bits >> i & 1))
			continue;
		while (last + 1 < ALL_COUNTERS && bits >> (last + 1) & 1 && !*before)
			last++;
		buf_printf(b, "%s%s%u", any ? "," : "", before, i);
		if (last > i)
			buf_printf(b, "-%u", last);
		i = last;
		any = true;
	}
}

static void put_counter_places(struct buf *b, const struct place *p)
{
	if (!p->on && !p->alone && !p->fixed) {
		buf_putc(b, '-');
		return;
	}
	put_code_bits(b, p->on, "");
	if (p->on != p->alone) {
		buf_putc(b, ':');
		put_code_bits(b, p->alone, "");
	}
	if (p->fixed && (p->on || p->alone))
		buf_putc(b, ',');
	put_code_bits(b, p->fixed, "f");
}

/* ---- Intel ------------------------------------------------------------------------------ */

static uint64_t all_of_words(unsigned n)
{
	return n >= ALL_COUNTERS ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

struct code {
	uint64_t event, umask;
};

/* Old files write 0 for a fixed counter's event: its name decides. */
static const struct {
	const char *name;
	struct code code;
} fixed_names[] = {
	{ "INST_RETIRED.ANY", { 0xc0, 0 } },	  { "CPU_CLK_UNHALTED.THREAD", { 0x3c, 0 } },
	{ "CPU_CLK_UNHALTED.CORE", { 0x3c, 0 } }, { "CPU_CLK_UNHALTED.REF", { 0, 3 } },
	{ "CPU_CLK_UNHALTED.REF_TSC", { 0, 3 } },
};

/* Fixed counters whose event general counters have too; those from the third on since Skymont. */
static const struct {
	uint64_t umask;
	unsigned fixed; /* at least so many fixed counters */
	struct code code;
} fixed_codes[] = {
	{ 1, 0, { 0xc0, 0 } }, { 2, 0, { 0x3c, 0 } }, { 5, 7, { 0x73, 0 } },
	{ 6, 7, { 0x9c, 1 } }, { 7, 7, { 0xc2, 2 } },
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcasecmp(s + n - m, end);
}

/* The encoding of event 0x00 with a fixed counter. True: slots. */
static bool resolve_fixed(const struct importer *im, const char *name, struct code *c,
			  struct place *p)
{
	struct place everywhere = { all_of_words(im->counters), all_of_words(im->counters_alone),
				    p->fixed };

	for (size_t i = 0; i < sizeof(fixed_names) / sizeof(*fixed_names); i++)
		if ((c->event == 0 || c->event == 0x0a) && !c->umask &&
		    !strcasecmp(name, fixed_names[i].name)) {
			*c = fixed_names[i].code;
			break;
		}
	if (c->event)
		return false;
	for (size_t i = 0; i < sizeof(fixed_codes) / sizeof(*fixed_codes); i++)
		if (c->umask == fixed_codes[i].umask && im->fixed >= fixed_codes[i].fixed &&
		    !ends_with(name, "PREC_DIST")) {
			*c = fixed_codes[i].code;
			*p = everywhere;
			return false;
		}
	return c->umask == 4;
}

static void put_msr(struct buf *b, const cJSON *e)
{
	uint64_t msr = import_number(e, "MSRIndex"), value = import_number(e, "MSRValue");
	const char *term = msr == 0x3f6			  ? "ldlat"
			   : msr == 0x3f7		  ? "frontend"
			   : msr >= 0x3e0 && msr <= 0x3e3 ? "offmodule_rsp"
			   : msr == 0x1a6 || msr == 0x1a7 || import_number(e, "Offcore")
				   ? "offcore_rsp"
				   : NULL;

	if (term)
		buf_printf(b, ",%s=0x%llx", term, (unsigned long long)value);
}

static void put_errata(struct importer *im, struct buf *b, const cJSON *e)
{
	const char *s = import_text(im, e, "Errata");
	bool gap = false;

	if (!s || !*s || !strcmp(s, "0") || !strcmp(s, "null"))
		return;
	buf_puts(b, " errata=");
	for (; *s; s++) {
		if (strchr(" \t,;", *s)) {
			gap = true;
			continue;
		}
		if (gap)
			buf_putc(b, ',');
		buf_putc(b, *s);
		gap = false;
	}
}

/* Errata of Sandy Bridge to Haswell: with SMT such an event spoils the sibling's counter. */
static bool smt_exclusive(const struct importer *im, const struct code *c)
{
	static const char *const ids[] = { "snb", "jkt", "ivb", "ivt", "hsw", "hsx" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (!strcmp(im->facts->id, ids[i]))
			return c->event >= 0xd0 && c->event <= 0xd3;
	return false;
}

static void intel(struct importer *im, struct buf *b, const char *name, const cJSON *e)
{
	static const struct {
		const char *key, *term;
	} flags[] = { { "Invert", "inv" },
		      { "EdgeDetect", "edge" },
		      { "AnyThread", "any" },
		      { "Equal", "eq" } };
	struct code c = { import_number(e, "EventCode"),
			  import_number(e, "UMask") | import_number(e, "UMaskExt") << 8 };
	uint64_t cmask = import_number(e, "CounterMask");
	struct place p = counter_places_of(im, e);
	bool slots = p.fixed && resolve_fixed(im, name, &c, &p);

	if (!c.umask && !cmask && !import_number(e, "Invert") && !import_number(e, "EdgeDetect") &&
	    (c.event == 0xc0 || c.event == 0x3c))
		p = (struct place){ all_of_words(im->counters), all_of_words(im->counters_alone),
				    c.event == 0xc0 ? 1 : 2 };
	buf_printf(b, "event=0x%02llx", (unsigned long long)c.event);
	if (c.umask)
		buf_printf(b, ",umask=0x%02llx", (unsigned long long)c.umask);
	if (cmask)
		buf_printf(b, ",cmask=%llu", (unsigned long long)cmask);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (import_number(e, flags[i].key))
			buf_printf(b, ",%s", flags[i].term);
	put_msr(b, e);
	buf_putc(b, ' ');
	put_counter_places(b, &p);
	buf_printf(b, " %llu", (unsigned long long)import_number(e, "SampleAfterValue"));
	buf_puts(b, slots ? " slots" : "");
	buf_puts(b, import_number(e, "TakenAlone") ? " alone" : "");
	buf_puts(b, import_number(e, "PEBS") || import_number(e, "Precise") ? " precise" : "");
	buf_puts(b, import_number(e, "Deprecated") ? " deprecated" : "");
	put_errata(im, b, e);
	buf_puts(b, smt_exclusive(im, &c) ? " smt_exclusive" : "");
}

/* ---- uncore ----------------------------------------------------------------------------- */

/* Linux' names of units' PMUs; for other units it is uncore_ and the unit in small letters. */
static const struct {
	const char *unit, *pmu;
} units[] = {
	{ "CBO", "uncore_cbox" },  { "UPI LL", "uncore_upi" }, { "QPI LL", "uncore_qpi" },
	{ "NCU", "uncore_clock" }, { "cncu", "uncore_clock" }, { "L3PMC", "amd_l3" },
	{ "DFPMC", "amd_df" },	   { "UMCPMC", "amd_umc" },
};

static void put_pmu(struct importer *im, struct buf *b, const cJSON *e)
{
	const char *unit = import_text(im, e, "Unit");

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(*units); i++)
		if (!strcasecmp(unit, units[i].unit)) {
			buf_puts(b, units[i].pmu);
			return;
		}
	buf_puts(b, "uncore_");
	for (; unit && *unit; unit++)
		buf_putc(b, *unit >= 'A' && *unit <= 'Z' ? (char)(*unit + 32)
			    : strchr(" /\t,", *unit)	 ? '_'
							 : *unit);
}

static void uncore(struct importer *im, struct buf *b, const cJSON *e)
{
	uint64_t umask = import_number(e, "UMask") | import_number(e, "UMaskExt") << 8;
	const char *filter = import_text(im, e, "Filter");

	put_pmu(im, b, e);
	buf_printf(b, "/event=0x%02llx", (unsigned long long)import_number(e, "EventCode"));
	if (umask)
		buf_printf(b, ",umask=0x%02llx", (unsigned long long)umask);
	if (import_number(e, "PortMask"))
		buf_printf(b, ",ch_mask=0x%llx", (unsigned long long)import_number(e, "PortMask"));
	if (import_number(e, "FCMask"))
		buf_printf(b, ",fc_mask=0x%llx", (unsigned long long)import_number(e, "FCMask"));
	if (import_number(e, "RdWrMask"))
		buf_printf(b, ",rdwrmask=0x%llx", (unsigned long long)import_number(e, "RdWrMask"));
	/* the second filter register of a box, whose bits Linux has behind those of the first */
	if (filter && !strcmp(filter, "Filter1") && import_number(e, "FILTER_VALUE"))
		buf_printf(b, ",config1=0x%llx",
			   (unsigned long long)import_number(e, "FILTER_VALUE") << 32);
	/* since Zen 2 an L3 event names the cores, slices and threads to count */
	if (import_number(e, "EnAllCores"))
		buf_puts(b, ",enallcores,enallslices,sliceid=0x3,threadmask=0x3");
	buf_puts(b, "/ - 0");
}

/* ---- AMD, Arm --------------------------------------------------------------------------- */

static void amd(struct buf *b, const cJSON *e)
{
	uint64_t event = import_number(e, "EventCode"), umask = import_number(e, "UMask");

	buf_printf(b, "event=0x%02llx", (unsigned long long)event);
	if (umask)
		buf_printf(b, ",umask=0x%02llx", (unsigned long long)umask);
	/* an event that can increase by more than a counter holds takes two of them */
	buf_printf(b, " 0-5 0%s%s", event == 3 ? " pair" : "",
		   import_number(e, "Deprecated") ? " deprecated" : "");
}

static void arm(struct buf *b, const char *name, const cJSON *e)
{
	buf_printf(b, "event=0x%02llx 0-5%s 0", (unsigned long long)import_number(e, "EventCode"),
		   !strcasecmp(name, "CPU_CYCLES") ? ",f0" : "");
}

/* ---- all of them ------------------------------------------------------------------------ */

int import_events(struct importer *im, struct err *err)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < im->events.n; i++) {
		struct import_event *e = &im->events.v[i];

		buf_reset(&b);
		if (is_uncore(e->json))
			uncore(im, &b, e->json);
		else if (im->kind == IMPORT_INTEL)
			intel(im, &b, e->name, e->json);
		else if (im->kind == IMPORT_AMD)
			amd(&b, e->json);
		else
			arm(&b, e->name, e->json);
		e->rest = b.failed ? NULL : arena_strndup(im->a, buf_str(&b), b.len);
		if (!e->rest) {
			buf_free(&b);
			return err_nomem(err);
		}
	}
	buf_free(&b);
	return 0;
}

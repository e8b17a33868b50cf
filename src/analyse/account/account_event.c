/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a recorded event the one that the model means? A model has events as terms of the PMU
 * ("event=0xd1,umask=0x02"), a recording has the kernel's attribute made of them, and a name in one
 * of several spellings: perf's (MEM_LOAD_RETIRED.L2_HIT:pp), libpfm's
 * (mem_load_retired:l2_hit:period=200003) or terms between slashes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/account.h"
#include "base/buf.h"
#include "base/num.h"
#include "base/perf_abi.h"

struct raw_config {
	uint64_t config, config1;
};

/* ---- positions of terms ---- */

struct span {
	uint8_t from, to; /* bits of config; to is exclusive */
};

struct format {
	const char *term;
	bool config1;
	struct span span[2]; /* the value's low bits first; 0, 0: none */
};

static const struct format intel_formats[] = {
	{ "event", false, { { 0, 8 } } },
	{ "umask", false, { { 8, 16 }, { 40, 48 } } },
	{ "edge", false, { { 18, 19 } } },
	{ "any", false, { { 21, 22 } } },
	{ "inv", false, { { 23, 24 } } },
	{ "cmask", false, { { 24, 32 } } },
	{ "in_tx", false, { { 32, 33 } } },
	{ "in_tx_cp", false, { { 33, 34 } } },
	{ "eq", false, { { 36, 37 } } },
	{ "config", false, { { 0, 64 } } },
	{ "ldlat", true, { { 0, 16 } } },
	{ "offcore_rsp", true, { { 0, 64 } } },
	{ "snoop_rsp", true, { { 0, 64 } } },
	{ "frontend", true, { { 0, 24 } } },
	{ "offmodule_rsp", true, { { 0, 64 } } },
	{ "config1", true, { { 0, 64 } } },
	{ NULL, false, { { 0, 0 } } },
};

static const struct format amd_formats[] = {
	{ "event", false, { { 0, 8 }, { 32, 36 } } },
	{ "umask", false, { { 8, 16 } } },
	{ "edge", false, { { 18, 19 } } },
	{ "inv", false, { { 23, 24 } } },
	{ "cmask", false, { { 24, 32 } } },
	{ "config", false, { { 0, 64 } } },
	{ "config1", true, { { 0, 64 } } },
	{ NULL, false, { { 0, 0 } } },
};

static const struct format arm_formats[] = {
	{ "event", false, { { 0, 16 } } },
	{ "config", false, { { 0, 64 } } },
	{ "config1", true, { { 0, 64 } } },
	{ NULL, false, { { 0, 0 } } },
};

/* More that vendors share: bits that do not identify the event (privilege levels, interrupts:
 * libpfm puts them there), the kernel's own events, and other codes of the same event: those of
 * fixed counters. */
struct vendor {
	const char *names[3];
	const struct format *formats;
	uint64_t noise;
	uint64_t hardware[PERF_COUNT_HW_MAX]; /* their codes; NO_CODE */
	uint64_t alias[4][2];
};

#define NO_CODE UINT64_MAX

static const struct vendor vendors[] = {
	{ { "GenuineIntel", NULL },
	  intel_formats,
	  (1ULL << 16) | (1ULL << 17) | (1ULL << 19) | (1ULL << 20) | (1ULL << 22),
	  { 0x3c, 0xc0, 0x4f2e, 0x412e, 0xc4, 0xc5, 0x013c, NO_CODE, NO_CODE, 0x0300 },
	  /* the last two: the architectural code of all branches, and the precise one */
	  { { 0x0100, 0xc0 }, { 0x0200, 0x3c }, { 0x04c4, 0xc4 }, { 0x04c5, 0xc5 } } },
	{ { "AuthenticAMD", "HygonGenuine", NULL },
	  amd_formats,
	  (1ULL << 16) | (1ULL << 17) | (1ULL << 20) | (1ULL << 22) | (3ULL << 40),
	  { 0x76, 0xc0, NO_CODE, NO_CODE, 0xc2, 0xc3, NO_CODE, NO_CODE, NO_CODE, 0x100000120 },
	  { { 0 } } },
	{ { "ARM", NULL },
	  arm_formats,
	  0,
	  { 0x11, 0x08, NO_CODE, NO_CODE, NO_CODE, 0x10, 0x1d, 0x23, 0x24, NO_CODE },
	  { { 0 } } },
};

static const struct vendor *code_vendor_of(const char *name)
{
	static const struct vendor *const other = &vendors[2];

	for (size_t i = 0; name && i < sizeof(vendors) / sizeof(vendors[0]); i++)
		for (const char *const *s = vendors[i].names; *s; s++)
			if (!strcmp(*s, name))
				return &vendors[i];
	/* Arm cores have many vendors; all use Arm's encoding */
	return other;
}

static void put_code_bits(uint64_t *to, const struct span *span, uint64_t v)
{
	for (unsigned i = 0; i < 2; i++) {
		unsigned n = (unsigned)span[i].to - span[i].from;
		uint64_t mask = n >= 64 ? UINT64_MAX : (1ULL << n) - 1;

		if (!n)
			break;
		*to |= (v & mask) << span[i].from;
		v = n >= 64 ? 0 : v >> n;
	}
}

static bool put_term(struct raw_config *out, const struct vendor *vd, const char *term, size_t len)
{
	const char *eq = memchr(term, '=', len);
	size_t key = eq ? (size_t)(eq - term) : len, n = eq ? len - key - 1 : 0;
	char number[32];
	uint64_t v = 1;

	if (n >= sizeof(number))
		return false;
	if (eq) {
		memcpy(number, eq + 1, n);
		number[n] = '\0';
		if (num_parse_u64(&v, number, NULL))
			return false;
	}
	for (const struct format *f = vd->formats; f->term; f++) {
		if (strlen(f->term) != key || memcmp(f->term, term, key) != 0)
			continue;
		put_code_bits(f->config1 ? &out->config1 : &out->config, f->span, v);
		return true;
	}
	return false;
}

/* Encodes the terms of a model's event. Returns false if some of them are not of this PMU. */
static bool encode_event(struct raw_config *out, const struct vendor *vd, const char *code)
{
	*out = (struct raw_config){ 0, 0 };
	if (!*code || strchr(code, '/'))
		return false;
	for (;;) {
		size_t len = strcspn(code, ",");

		if (!put_term(out, vd, code, len))
			return false;
		if (!code[len])
			return true;
		code += len + 1;
	}
}

/* ---- recorded events ---- */

static bool code_is_core(const struct account_pmu *pmu, uint32_t type)
{
	const struct pd_info *i = pmu->info;
	const char *name = pmu->cpu->pmu ? pmu->cpu->pmu : "cpu";

	for (size_t k = 0; i && k < i->n_pmus; k++)
		if (!strcmp(i->pmu_name[k], name))
			return i->pmu_type[k] == type;
	/* Arm's is called by its architecture: armv8_pmuv3_0 */
	for (size_t k = 0; i && !strcmp(name, "cpu") && k < i->n_pmus; k++)
		if (!strncmp(i->pmu_name[k], "armv", 4) && i->pmu_type[k] == type)
			return true;
	return type == PERF_TYPE_RAW;
}

static bool code_is_raw(const struct account_pmu *pmu, uint32_t type)
{
	/* PERF_TYPE_RAW is of the first PMU there is: of a hybrid, of the large cores */
	return code_is_core(pmu, type) ||
	       (type == PERF_TYPE_RAW && (!pmu->cpu->pmu || strcmp(pmu->cpu->pmu, "cpu_atom")));
}

static bool recorded_code(struct raw_config *out, const struct vendor *vd, const struct pd_event *e,
			  const struct account_pmu *pmu)
{
	const struct perf_event_attr *a = &e->attr;
	uint32_t which = (uint32_t)(a->config >> 32);

	if (code_is_raw(pmu, a->type)) {
		*out = (struct raw_config){ a->config & ~vd->noise, a->config1 };
		return true;
	}
	/* of a hybrid's, the upper half is the kind of cores */
	if (a->type != PERF_TYPE_HARDWARE || (uint32_t)a->config >= PERF_COUNT_HW_MAX ||
	    (which && !code_is_core(pmu, which)))
		return false;
	*out = (struct raw_config){ vd->hardware[(uint32_t)a->config], 0 };
	return out->config != NO_CODE;
}

static uint64_t folded_name(const struct vendor *vd, uint64_t config)
{
	for (size_t i = 0; i < sizeof(vd->alias) / sizeof(vd->alias[0]); i++)
		if (vd->alias[i][0] && vd->alias[i][0] == config)
			return vd->alias[i][1];
	return config;
}

/* ---- names ---- */

/* A name in one spelling: lower case, parts parted by dots, then options of the count. */
struct name {
	char s[200];
	size_t n;
	unsigned long cmask, edge, inv, any;
	bool failed;
};

static void put_code_part(struct name *o, const char *s, size_t len)
{
	if (o->n + len + 2 > sizeof(o->s)) {
		o->failed = true;
		return;
	}
	if (o->n)
		o->s[o->n++] = '.';
	for (size_t i = 0; i < len; i++)
		o->s[o->n++] = (char)tolower((unsigned char)s[i]);
	o->s[o->n] = '\0';
}

/* Returns true for an option of a count ("c=1", "c1", "cmask=1"), or one that does not change the
 * counts. */
static bool take_option(struct name *o, const char *s, size_t len)
{
	static const struct {
		const char *word;
		int at; /* 0 cmask, 1 edge, 2 inv, 3 any, -1: of no matter */
	} words[] = {
		{ "cmask", 0 }, { "c", 0 },	  { "edge", 1 },  { "e", 1 },	     { "inv", 2 },
		{ "i", 2 },	{ "any", 3 },	  { "t", 3 },	  { "u", -1 },	     { "k", -1 },
		{ "h", -1 },	{ "period", -1 }, { "freq", -1 }, { "precise", -1 },
	};
	const char *at;
	unsigned long v;
	size_t word = 0;
	char *end;

	while (word < len && isalpha((unsigned char)s[word]))
		word++;
	if (word == len) /* "any" alone is a part of the name */
		return false;
	at = s + word + (s[word] == '=');
	if (!isdigit((unsigned char)*at))
		return false;
	v = strtoul(at, &end, 0);
	if (end != s + len)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		unsigned long *const to[] = { &o->cmask, &o->edge, &o->inv, &o->any };

		if (strlen(words[i].word) != word || strncasecmp(words[i].word, s, word) != 0)
			continue;
		if (words[i].at >= 0)
			*to[words[i].at] = v;
		return true;
	}
	return false;
}

/* Returns true for modifiers behind the last colon or slash: "upp". */
static bool is_modifiers(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("ukhGHpPSDWIeRb", s[i]))
			return false;
	return true;
}

static void read_name(struct name *o, const char *s)
{
	const char *slash = strchr(s, '/'), *pmu = strstr(s, "::");
	size_t len;
	bool first = true;

	*o = (struct name){ 0 };
	if (slash)
		s = slash + 1;
	else if (pmu)
		s = pmu + 2;
	for (;;) {
		len = strcspn(s, slash ? ",/" : ":,");
		if (first || (!take_option(o, s, len) && !is_modifiers(s, len)))
			put_code_part(o, s, len);
		first = false;
		if (!s[len] || s[len] == '/')
			return;
		s += len + 1;
	}
}

static bool code_same_name(const char *a, const char *b)
{
	struct name x, y;

	if (!strcmp(a, b))
		return true;
	read_name(&x, a);
	read_name(&y, b);
	return !x.failed && !y.failed && x.n == y.n && !memcmp(x.s, y.s, x.n) &&
	       x.cmask == y.cmask && x.edge == y.edge && x.inv == y.inv && x.any == y.any;
}

/* ---- */

unsigned account_same_event(const struct model_event *m, const struct pd_event *e,
			    const struct account_pmu *pmu)
{
	const struct vendor *vd = code_vendor_of(pmu->cpu->vendor);
	struct raw_config want, have;
	uint32_t which = (uint32_t)(e->attr.config >> 32);

	/* another kind of core's: the same name, another count */
	if (e->attr.type == PERF_TYPE_HARDWARE && which && !code_is_core(pmu, which))
		return 0;
	if (!*m->pmu && encode_event(&want, vd, m->code) && recorded_code(&have, vd, e, pmu)) {
		if (want.config == have.config && want.config1 == have.config1)
			return 3;
		if (!want.config1 && !have.config1 &&
		    folded_name(vd, want.config) == folded_name(vd, have.config))
			return 2;
		return 0; /* whatever it is called */
	}
	if (e->attr.type >= PERF_TYPE_MAX && pmu->info && !code_is_core(pmu, e->attr.type))
		return 0;
	return code_same_name(m->name, e->name);
}

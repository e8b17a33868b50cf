/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * toolkit - sample files of the AMD Research IBS Toolkit (ibs_monitor), as recordings.
 *
 * Such a file is lines of "key: value", one of 45 equal signs, and structures to the file's end
 * (the toolkit's ibs_monitor.c and ibs-uapi.h, version 1 of both structures):
 *
 *	op	ctl rip data data2 data3 data4 linear physical target tsc cr3	u64 each
 *	fetch	ctl extended linear physical tsc cr3				u64 each
 *		tid pid cpu kernel						int each, of both
 *
 * It is rewritten as a recording in pipe form, whose samples have the words that the kernel's
 * driver leaves in PERF_SAMPLE_RAW. Parts that the file lacks stay missing: mappings, threads'
 * names, losses; its times are ticks of the processor's counter.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "perfdata/ibs.h"
#include "perfdata/perfdata_int.h"
#include "perfdata/writer.h"

#define HEAD_MOST 65536u /* bytes of the lines */
#define VERSION	  1
#define PMU_FETCH 8u /* numbers that the kernel would give */
#define PMU_OP	  9u
#define SAMPLE                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

static const char op_title[] = "IBS Op Sample File\n", fetch_title[] = "IBS Fetch Sample File\n";
static const char ruler[] = "\n=============================================\n";

enum { /* u64s of a structure */
       OP_CTL,
       OP_RIP,
       OP_DATA,
       OP_DATA2,
       OP_DATA3,
       OP_DATA4,
       OP_LINEAR,
       OP_PHYSICAL,
       OP_TARGET,
       OP_TSC,
       OP_WORDS = 13,
       FETCH_CTL = 0,
       FETCH_EXTENDED,
       FETCH_LINEAR,
       FETCH_PHYSICAL,
       FETCH_TSC,
       FETCH_WORDS = 8,
};

struct toolkit {
	const char *head; /* its lines, ended by 0 */
	const uint8_t *p;
	size_t n; /* structures */
	enum ibs_kind kind;
	uint32_t caps;
	struct buf out;
};

bool pd_toolkit_is(const uint8_t *p, size_t len)
{
	return (len >= sizeof(op_title) - 1 && !memcmp(p, op_title, sizeof(op_title) - 1)) ||
	       (len >= sizeof(fetch_title) - 1 && !memcmp(p, fetch_title, sizeof(fetch_title) - 1));
}

/* ---- the head -------------------------------------------------------------------------------- */

/* The text behind "key: ", up to the line's end. */
static const char *toolkit_value(const struct toolkit *t, const char *key, size_t *len)
{
	size_t n = strlen(key);

	for (const char *s = t->head; s; s = strchr(s, '\n')) {
		s += *s == '\n';
		if (strncmp(s, key, n) || strncmp(s + n, ": ", 2))
			continue;
		*len = strcspn(s + n + 2, "\n");
		return s + n + 2;
	}
	*len = 0;
	return NULL;
}

static uint32_t toolkit_number(const struct toolkit *t, const char *key)
{
	size_t len;
	const char *s = toolkit_value(t, key, &len);

	return s ? (uint32_t)strtoul(s, NULL, 0) : 0;
}

/* CPUID Fn8000_001B EAX, as far as the lines have it. */
static uint32_t caps_of(const struct toolkit *t)
{
	static const struct {
		const char *key;
		uint32_t cap;
	} flags[] = {
		{ "BrnTrgt", IBS_CAP_TARGET },
		{ "OpCntExt", IBS_CAP_COUNT_EXTENDED },
		{ "RipInvalidChk", IBS_CAP_RIP_CHECK },
		{ "OpBrnFuse", IBS_CAP_FUSED },
		{ "IbsOpData4", IBS_CAP_DATA4 },
		{ "IbsFetchCtlExtd", IBS_CAP_FETCH_EXTENDED },
	};
	uint32_t caps = 7 | IBS_CAP_OP_COUNT; /* valid, fetches and ops are sampled */

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		caps |= toolkit_number(t, flags[i].key) ? flags[i].cap : 0;
	return caps;
}

/* ---- as a recording -------------------------------------------------------------------------- */

static void put_toolkit_header(struct buf *b, uint32_t type, uint16_t misc, size_t size)
{
	struct perf_event_header h = { type, misc, (uint16_t)size };

	buf_put(b, &h, sizeof(h));
}

static uint64_t toolkit_period(enum ibs_kind kind, uint64_t ctl)
{
	uint64_t period = (ctl & 0xffff) << 4;

	return kind == IBS_OP ? period | (ctl & UINT64_C(0x7f) << 20) : period;
}

static uint64_t toolkit_word(const struct toolkit *t, size_t i, size_t word)
{
	size_t words = t->kind == IBS_OP ? OP_WORDS : FETCH_WORDS;

	return ld64(t->p + (i * words + word) * sizeof(uint64_t));
}

static void put_toolkit_attr(struct toolkit *t)
{
	uint64_t ctl = t->n ? toolkit_word(t, 0, OP_CTL) : 0, id = 1;
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = t->kind == IBS_OP ? PMU_OP : PMU_FETCH,
		.config = t->kind == IBS_OP ? ctl & 1u << 19 : 0,
		.sample_period = toolkit_period(t->kind, ctl),
		.sample_type = SAMPLE,
		.sample_id_all = 1,
	};

	put_toolkit_header(&t->out, PD_RECORD_HEADER_ATTR, 0,
			   sizeof(struct perf_event_header) + sizeof(a) + sizeof(id));
	buf_put(&t->out, &a, sizeof(a));
	buf_put_u64(&t->out, id);
}

static void put_toolkit_feature(struct toolkit *t, uint64_t bit, const struct buf *payload)
{
	size_t size = sizeof(struct perf_event_header) + sizeof(bit) + payload->len;
	size_t pad = -size & 7;

	if (size + pad > UINT16_MAX)
		return;
	put_toolkit_header(&t->out, PD_RECORD_FEATURE, 0, size + pad);
	buf_put_u64(&t->out, bit);
	buf_put(&t->out, payload->s, payload->len);
	buf_fill(&t->out, '\0', pad);
}

static void put_toolkit_text(struct toolkit *t, uint64_t bit, const char *s, size_t len)
{
	struct buf b = BUF_INIT;

	if (!s || !len)
		return;
	pdw_put_part(&b, s, len < 4096 ? len : 4096);
	put_toolkit_feature(t, bit, &b);
	t->out.failed |= b.failed;
	buf_free(&b);
}

static void put_features(struct toolkit *t)
{
	struct buf b = BUF_INIT;
	const char *s, *release;
	char cpuid[64];
	size_t len;

	(void)snprintf(cpuid, sizeof(cpuid), "AuthenticAMD,%" PRIu32 ",%" PRIu32 ",%" PRIu32,
		       toolkit_number(t, "AMD Processor Family"),
		       toolkit_number(t, "AMD Processor Model"),
		       toolkit_number(t, "AMD Processor Stepping"));
	put_toolkit_text(t, PD_HAS_CPUID, cpuid, strlen(cpuid));
	put_toolkit_text(t, PD_HAS_ARCH, "x86_64", 6);
	s = toolkit_value(t, "AMD Processor Name", &len);
	put_toolkit_text(t, PD_HAS_CPUDESC, s, len);
	s = toolkit_value(t, "System name", &len);
	put_toolkit_text(t, PD_HAS_HOSTNAME, s, len);
	s = toolkit_value(t, "OS", &len); /* "Linux 4.4.0 #1 SMP ... x86_64" */
	release = s ? memchr(s, ' ', len) : NULL;
	if (release)
		put_toolkit_text(t, PD_HAS_OSRELEASE, release + 1, strcspn(release + 1, " \n"));
	s = toolkit_value(t, "Command line", &len);
	while (len && s[len - 1] == ' ')
		len--;
	if (len) {
		buf_put_u32(&b, 1);
		pdw_put_part(&b, s, len < 4096 ? len : 4096);
		put_toolkit_feature(t, PD_HAS_CMDLINE, &b);
		buf_reset(&b);
	}
	buf_put_u32(&b, 2);
	buf_put_u32(&b, PMU_FETCH);
	pdw_put_part(&b, "ibs_fetch", 9);
	buf_put_u32(&b, PMU_OP);
	pdw_put_part(&b, "ibs_op", 6);
	put_toolkit_feature(t, PD_HAS_PMU_MAPPINGS, &b);
	t->out.failed |= b.failed;
	buf_free(&b);
}

/* The registers in the order of the kernel's dump. */
static size_t toolkit_registers(const struct toolkit *t, size_t i, uint64_t v[])
{
	size_t n = 0;

	if (t->kind == IBS_FETCH) {
		v[n++] = toolkit_word(t, i, FETCH_CTL);
		v[n++] = toolkit_word(t, i, FETCH_LINEAR);
		v[n++] = toolkit_word(t, i, FETCH_PHYSICAL);
		if (t->caps & IBS_CAP_FETCH_EXTENDED)
			v[n++] = toolkit_word(t, i, FETCH_EXTENDED);
		return n;
	}
	v[n++] = toolkit_word(t, i, OP_CTL);
	v[n++] = toolkit_word(t, i, OP_RIP);
	v[n++] = toolkit_word(t, i, OP_DATA);
	v[n++] = toolkit_word(t, i, OP_DATA2);
	v[n++] = toolkit_word(t, i, OP_DATA3);
	v[n++] = toolkit_word(t, i, OP_LINEAR);
	v[n++] = toolkit_word(t, i, OP_PHYSICAL);
	if (t->caps & IBS_CAP_TARGET)
		v[n++] = toolkit_word(t, i, OP_TARGET);
	if (t->caps & IBS_CAP_DATA4)
		v[n++] = toolkit_word(t, i, OP_DATA4);
	return n;
}

int pd_toolkit_convert(struct pd *rec, struct pd_source *s, struct err *err)
{
	struct toolkit t = { .out = BUF_INIT };
	size_t most = s->len < HEAD_MOST ? s->len : HEAD_MOST, size;
	const char *end = memmem(s->p, most, ruler, sizeof(ruler) - 1);
	uint32_t version;

	if (!end)
		return err_set(err, ERR_FORMAT,
			       "%s: an IBS sample file whose head has no end: no line of 45 equal "
			       "signs in its first %zu bytes",
			       rec->path, most);
	t.head = arena_strndup(&rec->arena, (const char *)s->p, (size_t)(end - (const char *)s->p));
	if (!t.head)
		return err_nomem(err);
	t.kind = memcmp(s->p, op_title, sizeof(op_title) - 1) ? IBS_FETCH : IBS_OP;
	version = toolkit_number(&t, t.kind == IBS_OP ? "IBS Op Structure Version"
						      : "IBS Fetch Structure Version");
	if (version != VERSION)
		return err_set(err, ERR_FORMAT,
			       "%s: an IBS sample file with structures of version %" PRIu32
			       ": only 1 is known",
			       rec->path, version);
	t.caps = caps_of(&t);
	t.p = (const uint8_t *)end + sizeof(ruler) - 1;
	size = (t.kind == IBS_OP ? OP_WORDS : FETCH_WORDS) * sizeof(uint64_t);
	t.n = (size_t)(s->p + s->len - t.p) / size;
	if ((size_t)(s->p + s->len - t.p) % size)
		pd_note(rec, "the last %zu bytes are no whole sample: cut short",
			(size_t)(s->p + s->len - t.p) % size);
	pd_note(rec,
		"a sample file of the AMD Research IBS Toolkit: it does not tell what was lost, "
		"nor mappings, so that code has no names; times are ticks");
	buf_put(&t.out, "PERFILE2", 8);
	buf_put_u64(&t.out, 16);
	put_toolkit_attr(&t);
	put_features(&t);
	for (size_t i = 0; i < t.n && !t.out.failed; i++) {
		bool op = t.kind == IBS_OP;
		size_t words = op ? OP_WORDS : FETCH_WORDS, n;
		const uint8_t *who =
			t.p + (i + 1) * words * sizeof(uint64_t) - 4 * sizeof(uint32_t);
		uint32_t tid = ld32(who), pid = ld32(who + 4), cpu = ld32(who + 8),
			 kernel = ld32(who + 12);
		uint64_t v[OP_WORDS],
			fixed[3] = { 1, toolkit_word(&t, i, op ? OP_RIP : FETCH_LINEAR) };
		struct buf *b = &t.out;

		n = toolkit_registers(&t, i, v);
		put_toolkit_header(
			b, PERF_RECORD_SAMPLE,
			kernel ? PERF_RECORD_MISC_KERNEL
			       : PERF_RECORD_MISC_USER | (op ? PERF_RECORD_MISC_EXACT_IP : 0),
			sizeof(struct perf_event_header) + 7 * sizeof(uint64_t) + n * sizeof(*v));
		buf_put(b, fixed, 2 * sizeof(*fixed));
		buf_put_u32(b, pid);
		buf_put_u32(b, tid);
		buf_put_u64(b, toolkit_word(&t, i, op ? OP_TSC : FETCH_TSC));
		buf_put_u32(b, cpu);
		buf_put_u32(b, 0);
		buf_put_u64(b, toolkit_period(t.kind, v[0]));
		buf_put_u32(b, (uint32_t)(sizeof(t.caps) + n * sizeof(*v)));
		buf_put_u32(b, t.caps);
		buf_put(b, v, n * sizeof(*v));
	}
	if (t.out.failed) {
		buf_free(&t.out);
		return err_nomem(err);
	}
	pd_source_free(s);
	rec->info.form = PD_TOOLKIT;
	rec->losses.untold = true;
	s->len = t.out.len;
	s->p = (uint8_t *)t.out.s;
	s->own = PD_MALLOC;
	return 0;
}

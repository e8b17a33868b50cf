/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * feature - payloads of header features, one reader each, in the table feature.def.
 *
 * Strings are a u32 of length, then so many bytes, ended and padded by NULs. Counts from outside
 * are held against the bytes that are left before anything is allocated. A payload that does not
 * hold its fields is noted and marked bad; the fields before the fault stay.
 */
#include "perfdata/perfdata_int.h"

#include <stdio.h>
#include <stdlib.h>

struct feature {
	struct pd *rec;
	struct cur c;
	struct err *err;
	bool nomem;
};

static void *get_mem(struct feature *f, uint64_t n, size_t size)
{
	void *p = arena_alloc(&f->rec->arena, (size_t)n * size);

	if (!p)
		f->nomem = f->c.bad = true;
	return p;
}

/* A count of things of at least `least` bytes each; 0 and bad if so many cannot follow. */
static uint32_t get_count(struct feature *f, size_t least)
{
	uint32_t n = cur_u32(&f->c);

	if (n > cur_left(&f->c) / least) {
		f->c.bad = true;
		return 0;
	}
	return n;
}

static const char *get_text(struct feature *f)
{
	uint32_t len = cur_u32(&f->c);
	const char *s = cur_take(&f->c, len);
	char *copy;

	if (!s)
		return "";
	copy = arena_strndup(&f->rec->arena, s, strnlen(s, len));
	if (!copy) {
		f->nomem = f->c.bad = true;
		return "";
	}
	return copy;
}

/* A count, then so many strings. */
static const char *const *get_texts(struct feature *f, size_t *n)
{
	uint32_t count = get_count(f, 4);
	const char **v;

	*n = 0;
	if (!count)
		return NULL;
	v = get_mem(f, count, sizeof(*v));
	if (!v)
		return NULL;
	for (uint32_t i = 0; i < count && !f->c.bad; i++) {
		v[i] = get_text(f);
		if (!f->c.bad)
			*n = i + 1;
	}
	return v;
}

#define TAKE_TEXT(name)                            \
	static void take_##name(struct feature *f) \
	{                                          \
		const char *s = get_text(f);       \
                                                   \
		if (!f->c.bad)                     \
			f->rec->info.name = s;     \
	}
TAKE_TEXT(hostname)
TAKE_TEXT(os_release)
TAKE_TEXT(version)
TAKE_TEXT(arch)
TAKE_TEXT(cpu_desc)
TAKE_TEXT(cpuid)

static void take_nrcpus(struct feature *f)
{
	f->rec->info.cpus_available = cur_u32(&f->c);
	f->rec->info.cpus_online = cur_u32(&f->c);
}

static void take_total_mem(struct feature *f)
{
	f->rec->info.mem_total_kb = cur_u64(&f->c);
}

static void take_cmdline(struct feature *f)
{
	f->rec->info.cmdline = get_texts(f, &f->rec->info.n_cmdline);
}

/* ---- build ids: records of their own kind, one after the other ---- */

static bool get_build_id(struct feature *f, bool old)
{
	struct pd_buildid b = { 0 };
	struct cur *c = &f->c, one;
	const uint8_t *start = c->p, *id;
	const char *path;
	uint16_t size;

	(void)cur_u32(c);
	b.misc = cur_u16(c);
	size = cur_u16(c);
	c->p = start;
	if (c->bad || size < 8 + 24 || !cur_take(c, size)) {
		c->bad = true;
		return false;
	}
	one = cur_of(start + 8, size - 8u);
	one.swap = c->swap;
	b.pid = old ? -1 : (int32_t)cur_u32(&one);
	id = cur_take(&one, 24);
	if (!id || !cur_left(&one)) {
		c->bad = true;
		return false;
	}
	b.id_len = b.misc & (1 << 15) && id[20] <= 20 ? id[20] : 20;
	memcpy(b.id, id, b.id_len);
	path = (const char *)one.p;
	b.path = arena_strndup(&f->rec->arena, path, strnlen(path, cur_left(&one)));
	if (!b.path || vec_push(&f->rec->buildids, b)) {
		f->nomem = c->bad = true;
		return false;
	}
	return true;
}

/* Recorders before 2010 wrote no pid there; the kernel's row then begins four bytes too late. */
static void take_build_ids(struct feature *f)
{
	static const char shifted[] = "nel.kallsyms]";
	struct cur start = f->c;
	size_t from = f->rec->buildids.n;
	bool old = false;

	while (cur_left(&f->c) && get_build_id(f, false))
		if (!strcmp(vec_last(&f->rec->buildids)->path, shifted))
			old = true;
	if (!old)
		return;
	f->rec->buildids.n = from;
	f->c = start;
	while (cur_left(&f->c) && get_build_id(f, true))
		;
}

/* ---- events ---- */

static struct pd_event *event_like(struct pd *rec, uint32_t place, uint32_t type, uint64_t config)
{
	if (place < rec->events.n && rec->events.v[place].attr.type == type &&
	    rec->events.v[place].attr.config == config)
		return &rec->events.v[place];
	vec_each (&rec->events, struct pd_event *, ev)
		if (!ev->name && ev->attr.type == type && ev->attr.config == config)
			return ev;
	return NULL;
}

/* count, size of an attribute; each: attribute, number of ids, name, ids. */
static void take_event_desc(struct feature *f)
{
	struct pd *rec = f->rec;
	uint32_t n = cur_u32(&f->c), size = cur_u32(&f->c);

	if (size < 64 || n > cur_left(&f->c) / 64) {
		f->c.bad = true;
		return;
	}
	for (uint32_t i = 0; i < n && !f->c.bad; i++) {
		struct cur attr = f->c;
		uint32_t type, n_ids;
		uint64_t config;
		struct pd_event *ev;
		const char *name;
		const uint8_t *ids;

		(void)cur_take(&f->c, size);
		n_ids = cur_u32(&f->c);
		name = get_text(f);
		ids = cur_take(&f->c, (uint64_t)n_ids * 8);
		if (f->c.bad)
			return;
		type = cur_u32(&attr);
		(void)cur_u32(&attr);
		config = cur_u64(&attr);
		ev = event_like(rec, i, type, config);
		if (!ev)
			continue;
		ev->name = name;
		if (!ev->n_ids && n_ids &&
		    pd_event_ids(rec, (size_t)(ev - rec->events.v), ids, n_ids, f->c.swap))
			f->nomem = f->c.bad = true;
	}
}

static void take_pmus(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	uint32_t n = get_count(f, 8), *type;
	const char **name;

	if (!n)
		return;
	type = get_mem(f, n, sizeof(*type));
	name = get_mem(f, n, sizeof(*name));
	if (!type || !name)
		return;
	info->pmu_type = type;
	info->pmu_name = name;
	info->n_pmus = 0;
	for (uint32_t i = 0; i < n; i++) {
		type[i] = cur_u32(&f->c);
		name[i] = get_text(f);
		if (f->c.bad)
			return;
		info->n_pmus = i + 1;
	}
}

/* ---- the machine's shape ---- */

static void take_cpu_topology(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	uint32_t n = info->cpus_available;
	struct pd_cpu_place *place;

	info->core_siblings = get_texts(f, &info->n_core_siblings);
	info->thread_siblings = get_texts(f, &info->n_thread_siblings);
	/* the rest came later: core and socket by CPU, then dies */
	if (f->c.bad || !n || cur_left(&f->c) / 8 < n)
		return;
	place = get_mem(f, n, sizeof(*place));
	if (!place)
		return;
	for (uint32_t i = 0; i < n; i++) {
		place[i].core = (int32_t)cur_u32(&f->c);
		place[i].socket = (int32_t)cur_u32(&f->c);
		place[i].die = -1;
	}
	info->cpu_place = place;
	info->n_cpu_place = n;
	if (!cur_left(&f->c))
		return;
	info->die_siblings = get_texts(f, &info->n_die_siblings);
	for (uint32_t i = 0; i < n && cur_left(&f->c) >= 4; i++)
		place[i].die = (int32_t)cur_u32(&f->c);
}

static void take_numa(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	uint32_t n = get_count(f, 24);
	struct pd_node *v = n ? get_mem(f, n, sizeof(*v)) : NULL;

	if (!v)
		return;
	info->nodes = v;
	info->n_nodes = 0;
	for (uint32_t i = 0; i < n; i++) {
		v[i].id = cur_u32(&f->c);
		v[i].mem_total_kb = cur_u64(&f->c);
		v[i].mem_free_kb = cur_u64(&f->c);
		v[i].cpus = get_text(f);
		if (f->c.bad)
			return;
		info->n_nodes = i + 1;
	}
}

/* All of it u64: a version, bytes of a block, how many nodes; of each its number, the bits of its
 * set, and the set with that number before it once more. */
static void take_memory(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	struct pd_memory_node *v;
	uint64_t version = cur_u64(&f->c), block = cur_u64(&f->c), n = cur_u64(&f->c);

	f->c.bad |= version != 1 || !block || n > cur_left(&f->c) / 24;
	v = !f->c.bad && n ? get_mem(f, n, sizeof(*v)) : NULL;
	if (!v)
		return;
	info->memory = v;
	info->memory_block = block;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t id = cur_u64(&f->c), bits = cur_u64(&f->c), again = cur_u64(&f->c), *set;

		f->c.bad |= id > UINT32_MAX || bits != again ||
			    bits / 64 + (bits % 64 != 0) > cur_left(&f->c) / 8;
		set = f->c.bad ? NULL : get_mem(f, bits / 64 + 1, sizeof(*set));
		if (!set)
			return;
		for (uint64_t k = 0; k * 64 < bits; k++)
			set[k] = cur_u64(&f->c);
		v[i] = (struct pd_memory_node){ (uint32_t)id, set, bits };
		info->n_memory = i + 1;
	}
}

static void take_caches(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	struct pd_cache *v;
	uint32_t n;

	if (cur_u32(&f->c) != 1) { /* version */
		f->c.bad = true;
		return;
	}
	n = get_count(f, 29);
	v = n ? get_mem(f, n, sizeof(*v)) : NULL;
	if (!v)
		return;
	info->caches = v;
	info->n_caches = 0;
	for (uint32_t i = 0; i < n; i++) {
		v[i].level = cur_u32(&f->c);
		v[i].line_size = cur_u32(&f->c);
		v[i].sets = cur_u32(&f->c);
		v[i].ways = cur_u32(&f->c);
		v[i].type = get_text(f);
		v[i].size = get_text(f);
		v[i].cpus = get_text(f);
		if (f->c.bad)
			return;
		info->n_caches = i + 1;
	}
}

static void take_hybrid(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	uint32_t n = get_count(f, 8);
	const char **name = n ? get_mem(f, n, sizeof(*name)) : NULL;
	const char **cpus = n ? get_mem(f, n, sizeof(*cpus)) : NULL;

	if (!name || !cpus)
		return;
	info->hybrid_name = name;
	info->hybrid_cpus = cpus;
	info->n_hybrid = 0;
	for (uint32_t i = 0; i < n; i++) {
		name[i] = get_text(f);
		cpus[i] = get_text(f);
		if (f->c.bad)
			return;
		info->n_hybrid = i + 1;
	}
}

static bool get_caps(struct feature *f, struct pd_pmu_caps *caps)
{
	uint32_t n = get_count(f, 8);
	const char **name, **value;

	if (f->c.bad)
		return false;
	name = get_mem(f, n ? n : 1, sizeof(*name));
	value = get_mem(f, n ? n : 1, sizeof(*value));
	if (!name || !value)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		name[i] = get_text(f);
		value[i] = get_text(f);
	}
	caps->name = name;
	caps->value = value;
	caps->n = f->c.bad ? 0 : n;
	return !f->c.bad;
}

/* Both kinds of capabilities end in one list. */
static struct pd_pmu_caps *more_caps(struct feature *f, uint32_t n)
{
	struct pd_info *info = &f->rec->info;
	struct pd_pmu_caps *v = get_mem(f, info->n_caps + n, sizeof(*v));

	if (!v)
		return NULL;
	if (info->n_caps)
		memcpy(v, info->caps, info->n_caps * sizeof(*v));
	info->caps = v;
	return v;
}

static void take_cpu_caps(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	struct pd_pmu_caps *v = more_caps(f, 1);

	if (!v || !get_caps(f, &v[info->n_caps]))
		return;
	v[info->n_caps++].pmu = "cpu";
}

static void take_pmu_caps(struct feature *f)
{
	struct pd_info *info = &f->rec->info;
	uint32_t n = get_count(f, 8);
	struct pd_pmu_caps *v = n ? more_caps(f, n) : NULL;

	for (uint32_t i = 0; v && i < n; i++) {
		struct pd_pmu_caps *one = &v[info->n_caps];

		if (!get_caps(f, one))
			return;
		one->pmu = get_text(f);
		if (f->c.bad)
			return;
		info->n_caps++;
	}
}

/* ---- times, and how it was recorded ---- */

static void take_sample_time(struct feature *f)
{
	f->rec->info.sample_time_first = cur_u64(&f->c);
	f->rec->info.sample_time_last = cur_u64(&f->c);
}

static void take_clockid(struct feature *f)
{
	f->rec->info.clock_res_ns = cur_u64(&f->c);
}

static void take_clock_data(struct feature *f)
{
	struct pd_info *info = &f->rec->info;

	if (cur_u32(&f->c) != 1) { /* version */
		f->c.bad = true;
		return;
	}
	info->clockid = cur_u32(&f->c);
	info->clock_wall_ns = cur_u64(&f->c);
	info->clock_mono_ns = cur_u64(&f->c);
	info->has_clock_data = !f->c.bad;
}

static void take_compressed(struct feature *f)
{
	struct pd_info *info = &f->rec->info;

	(void)cur_u32(&f->c); /* version */
	info->compressed_type = cur_u32(&f->c);
	info->compressed_level = cur_u32(&f->c);
	info->compressed_ratio = cur_u32(&f->c);
	info->compressed_mmap_len = cur_u32(&f->c);
}

static void take_auxtrace(struct feature *f)
{
	f->rec->info.has_auxtrace = true;
}

static void take_stat_feature(struct feature *f)
{
	f->rec->info.has_stat = true;
}

static void take_dir(struct feature *f)
{
	f->rec->info.has_dir = true;
}

static void take_bpf_prog(struct feature *f)
{
	f->rec->info.has_bpf_prog = true;
}

static void take_bpf_btf(struct feature *f)
{
	f->rec->info.has_bpf_btf = true;
}

/* ---- simpleperf: pairs of strings; "event_type_info" has lines of name,type,config ---- */

static void simple_names(struct pd *rec, const char *s)
{
	while (*s) {
		const char *end = s + strcspn(s, "\n"), *comma = s + strcspn(s, ",\n");
		unsigned long long config;
		unsigned type;
		char line[64];

		if (comma < end && (size_t)(end - comma) < sizeof(line)) {
			memcpy(line, comma, (size_t)(end - comma));
			line[end - comma] = 0;
			if (pd_may_search(rec) && sscanf(line, ",%u,%llu", &type, &config) == 2)
				vec_each (&rec->events, struct pd_event *, ev)
					if (!ev->name && ev->attr.type == type &&
					    ev->attr.config == config)
						ev->name = arena_strndup(&rec->arena, s,
									 (size_t)(comma - s));
		}
		s = *end ? end + 1 : end;
	}
}

static void take_meta_info(struct feature *f)
{
	while (cur_left(&f->c)) {
		const char *key = cur_str(&f->c), *value = cur_str(&f->c);

		if (!key || !value)
			return;
		if (!strcmp(key, "event_type_info"))
			simple_names(f->rec, value);
	}
}

/* The text is the report's to read. */
static void take_tree(struct feature *f)
{
	size_t n = cur_left(&f->c);
	const char *p = cur_take(&f->c, n);
	char *copy;

	if (!p || n > PD_TREE_MAX)
		return;
	copy = arena_memdup(&f->rec->arena, p, n + !n);
	f->nomem |= !copy;
	f->rec->info.tree = copy;
	f->rec->info.tree_len = copy ? n : 0;
}

/* As large as it may be, it stays where it is. */
static void take_heap(struct feature *f)
{
	size_t n = cur_left(&f->c);

	f->rec->info.heap = cur_take(&f->c, n);
	f->rec->info.heap_len = f->rec->info.heap ? n : 0;
}

/* Options (1: --keep, 2: --fields), samples, parts, bytes. */
static void take_left_out(struct feature *f)
{
	uint64_t what = cur_u64(&f->c);
	struct pd_left_out l = { .keep = what & 1, .fields = what & 2 };

	l.samples = cur_u64(&f->c);
	l.parts = cur_u64(&f->c);
	l.bytes = cur_u64(&f->c);
	if (!f->c.bad)
		f->rec->info.left_out = l;
}

/* Samples, of these whole, of these cut. */
static void take_chains(struct feature *f)
{
	struct pd_unwound u = { .samples = cur_u64(&f->c) };

	u.whole = cur_u64(&f->c);
	u.cut = cur_u64(&f->c);
	if (!f->c.bad)
		f->rec->info.unwound = u;
}

/* The machine's name, and where its figures are from. */
static void take_modelled(struct feature *f)
{
	const char *name = get_text(f), *from = get_text(f);

	if (!name || !from || f->c.bad)
		return;
	f->rec->info.modelled = name;
	f->rec->info.modelled_from = from;
}

/* A count, then three strings each. */
static void take_places(struct feature *f)
{
	uint32_t n = get_count(f, 12);
	struct pd_place *v = n ? get_mem(f, n, sizeof(*v)) : NULL;

	for (uint32_t i = 0; v && i < n; i++) {
		v[i].inside = get_text(f);
		v[i].root = get_text(f);
		v[i].rest = get_text(f);
	}
	if (!v || f->c.bad)
		return;
	f->rec->info.places = v;
	f->rec->info.n_places = n;
}

static int by_thread(const void *pa, const void *pb)
{
	const struct pd_look *a = pa, *b = pb;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

static int by_descriptor(const void *pa, const void *pb)
{
	const struct pd_fd_look *a = pa, *b = pb;

	if (a->pid != b->pid || a->fd != b->fd)
		return a->pid != b->pid ? (a->pid < b->pid ? -1 : 1) : a->fd < b->fd ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

static void take_looks(struct feature *f)
{
	uint32_t n = get_count(f, 54);
	struct pd_look *v = n ? get_mem(f, n, sizeof(*v)) : NULL;

	for (uint32_t i = 0; v && i < n; i++) {
		uint32_t kind;

		v[i].pid = cur_u32(&f->c);
		v[i].tid = cur_u32(&f->c);
		v[i].times = cur_u64(&f->c);
		v[i].from = cur_u64(&f->c);
		v[i].until = cur_u64(&f->c);
		kind = cur_u32(&f->c);
		v[i].kind = kind < PD_OBJECTS ? (enum pd_object)kind : PD_OBJECT_NONE;
		v[i].value = cur_u64(&f->c);
		v[i].function = get_text(f);
		v[i].text = get_text(f);
	}
	if (!v || f->c.bad)
		return;
	qsort(v, n, sizeof(*v), by_thread);
	f->rec->info.look = v;
	f->rec->info.n_looks = n;
}

static void take_fd_looks(struct feature *f)
{
	uint32_t n = get_count(f, 29);
	struct pd_fd_look *v = n ? get_mem(f, n, sizeof(*v)) : NULL;

	for (uint32_t i = 0; v && i < n; i++) {
		v[i].pid = cur_u32(&f->c);
		v[i].fd = cur_u32(&f->c);
		v[i].from = cur_u64(&f->c);
		v[i].until = cur_u64(&f->c);
		v[i].text = get_text(f);
	}
	if (!v || f->c.bad)
		return;
	qsort(v, n, sizeof(*v), by_descriptor);
	f->rec->info.fd_look = v;
	f->rec->info.n_fd_looks = n;
}

static void take_waited(struct feature *f)
{
	if (cur_u32(&f->c) != PD_WAITED_VERSION)
		return;
	f->rec->info.waited_flags = cur_u32(&f->c);
	take_looks(f);
	if (!f->c.bad)
		take_fd_looks(f);
}

/* Its numbers are in an order that it names itself. */
static void take_tracing(struct feature *f)
{
	int rc = pd_take_tracing(f->rec, f->c.p, cur_left(&f->c));

	f->nomem = rc > 0;
	f->c.bad = rc != 0;
}

/* ---- the table ---- */

static const struct {
	unsigned bit;
	const char *name;
	void (*take)(struct feature *f);
} features[] = {
#define FEATURE(bit, name, take) { bit, #name, take },
#include "perfdata/feature.def"
#undef FEATURE
};

#define N_FEATURES (sizeof(features) / sizeof(features[0]))

const char *pd_feature_name(unsigned bit)
{
	for (size_t i = 0; i < N_FEATURES; i++)
		if (features[i].bit == bit)
			return features[i].name;
	return NULL;
}

int pd_feature_take(struct pd *rec, unsigned bit, const uint8_t *p, size_t len, struct err *err)
{
	struct feature f = { rec, cur_of(p, len), err, false };

	if (rec->taken[bit / 64] >> (bit % 64) & 1) {
		pd_note(rec, "header feature %u comes a second time: passed over", bit);
		return 0;
	}
	rec->taken[bit / 64] |= (uint64_t)1 << (bit % 64);
	f.c.swap = rec->swap;
	for (size_t i = 0; i < N_FEATURES; i++) {
		if (features[i].bit != bit)
			continue;
		if (features[i].take)
			features[i].take(&f);
		if (f.nomem)
			return err_nomem(err);
		if (f.c.bad) {
			rec->info.features_bad[bit / 64] |= (uint64_t)1 << (bit % 64);
			pd_note(rec,
				"header feature %s (%zu bytes) is damaged: used as far as it "
				"can be read",
				features[i].name, len);
		}
		return 0;
	}
	pd_note(rec, "header feature %u (%zu bytes) is not known to this program: passed over", bit,
		len);
	return 0;
}

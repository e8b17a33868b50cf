/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Firefox profiler's processed format, version 62: tables of columns that all threads share,
 * and for each thread its samples in time.
 *
 * Written as it is known; the largest things kept beside the text are a few numbers for each frame
 * of a site and each node of the tree. Times are ms from the first sample on.
 */
#include "base/xalloc.h"
#include "report/export/export_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"

#define FORMAT_VERSION	62
#define GECKO_VERSION	24
#define CATEGORY_USER	1
#define CATEGORY_KERNEL 2

struct fox {
	const struct export_in *in;
	const struct profile_stacks *s;
	struct json j;
	struct export_names names;
	struct export_ids funcs;
	uint32_t *frame_func;			    /* by place in frame_id */
	uint32_t *frame_site;			    /* likewise */
	uint32_t *func_name, *func_lib, *func_file; /* UINT32_MAX: none */
	size_t n_funcs;
	uint32_t *lib; /* by image: its number among those used; UINT32_MAX */
	uint32_t *lib_image, *lib_name;
	size_t n_libs, n_images;
	uint32_t *file_of_string; /* sources, by their string */
	uint32_t *source;	  /* their strings */
	size_t n_sources;
	uint32_t *last; /* by node: the row of its innermost frame */
};

typedef void (*cell_fn)(struct fox *x, size_t i);

/* ---- columns --------------------------------------------------------------------------------- */

static void fox_column(struct fox *x, const char *name, size_t n, cell_fn cell)
{
	json_array(&x->j, name);
	for (size_t i = 0; i < n; i++)
		cell(x, i);
	json_end_array(&x->j);
}

static void number_or_null(struct fox *x, uint32_t v)
{
	if (v == UINT32_MAX)
		json_null(&x->j, NULL);
	else
		json_u64(&x->j, NULL, v);
}

static void cell_null(struct fox *x, size_t i)
{
	(void)i;
	json_null(&x->j, NULL);
}

static void cell_zero(struct fox *x, size_t i)
{
	(void)i;
	json_u64(&x->j, NULL, 0);
}

static void cell_one(struct fox *x, size_t i)
{
	(void)i;
	json_u64(&x->j, NULL, 1);
}

static void cell_false(struct fox *x, size_t i)
{
	(void)i;
	json_bool(&x->j, NULL, false);
}

/* ---- rows of the tables ---------------------------------------------------------------------- */

static int lib_of(struct fox *x, uint32_t image, uint32_t *lib)
{
	*lib = UINT32_MAX;
	if (image >= x->n_images)
		return 0;
	if (x->lib[image] == UINT32_MAX) {
		x->lib_name[x->n_libs] = export_string(&x->names, image_name(x->in->images, image));
		if (x->lib_name[x->n_libs] == STR_NONE)
			return -1;
		x->lib_image[x->n_libs] = image;
		x->lib[image] = (uint32_t)x->n_libs++;
	}
	*lib = x->lib[image];
	return 0;
}

static int func_of(struct fox *x, const struct profile_frame *f, uint32_t *out)
{
	uint32_t name =
		export_string(&x->names, strtab_get(profile_strings(x->in->profile), f->name));
	uint32_t file = f->line.file ? export_string(&x->names, f->line.file) : UINT32_MAX;
	uint32_t lib;
	bool fresh = false;

	if (name == STR_NONE || (f->line.file && file == STR_NONE) || lib_of(x, f->image, &lib))
		return -1;
	*out = export_id(&x->funcs, name, lib, file, &fresh);
	if (*out == UINT32_MAX)
		return -1;
	if (fresh) {
		x->func_name[*out] = name;
		x->func_lib[*out] = lib;
		x->func_file[*out] = file;
		x->n_funcs++;
	}
	return 0;
}

static size_t count_frame_rows(const struct profile_stacks *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		n = s->site[i].first + s->site[i].n > n ? s->site[i].first + s->site[i].n : n;
	return n;
}

static int make_funcs(struct fox *x, size_t n_frames)
{
	x->n_images = images_count(x->in->images);
	x->frame_func = xmalloc((n_frames + 1) * sizeof(uint32_t));
	x->frame_site = xmalloc((n_frames + 1) * sizeof(uint32_t));
	x->func_name = xmalloc((n_frames + 1) * sizeof(uint32_t));
	x->func_lib = xmalloc((n_frames + 1) * sizeof(uint32_t));
	x->func_file = xmalloc((n_frames + 1) * sizeof(uint32_t));
	x->lib = xmalloc((x->n_images + 1) * sizeof(uint32_t));
	x->lib_image = xmalloc((x->n_images + 1) * sizeof(uint32_t));
	x->lib_name = xmalloc((x->n_images + 1) * sizeof(uint32_t));
	x->last = xmalloc((x->s->n_nodes + 1) * sizeof(uint32_t));
	memset(x->lib, 0xff, (x->n_images + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < x->s->n_sites; i++) {
		const struct stack_site *s = &x->s->site[i];

		for (uint32_t k = s->first; k < s->first + s->n; k++) {
			x->frame_site[k] = (uint32_t)i;
			if (func_of(x, &x->s->frame[x->s->frame_id[k]], &x->frame_func[k]))
				return -1;
		}
	}
	return 0;
}

static void make_sources(struct fox *x)
{
	size_t n = x->names.strings.n;

	x->file_of_string = xmalloc((n + 1) * sizeof(uint32_t));
	x->source = xmalloc((n + 1) * sizeof(uint32_t));
	memset(x->file_of_string, 0xff, (n + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < x->n_funcs; i++) {
		uint32_t s = x->func_file[i];

		if (s == UINT32_MAX || x->file_of_string[s] != UINT32_MAX)
			continue;
		x->source[x->n_sources] = s;
		x->file_of_string[s] = (uint32_t)x->n_sources++;
	}
}

/* ---- the shared tables ----------------------------------------------------------------------- */

/* Addresses are relative to the place at which a library's first byte would be loaded. */
static uint64_t relative_address(const struct fox *x, const struct stack_site *s)
{
	uint64_t addr = export_address(x->in->images, s), first;

	if (s->image < x->n_images && image_key(x->in->images, s->image)->kind == IMAGE_FILE &&
	    image_to_vaddr(x->in->images, s->image, 0, &first) && first <= addr)
		return addr - first;
	return addr;
}

static void cell_address(struct fox *x, size_t i)
{
	json_u64(&x->j, NULL, relative_address(x, &x->s->site[x->frame_site[i]]));
}

static void cell_depth(struct fox *x, size_t i)
{
	json_u64(&x->j, NULL, i - x->s->site[x->frame_site[i]].first);
}

static void cell_category(struct fox *x, size_t i)
{
	switch (x->s->site[x->frame_site[i]].kind) {
	case SPACE_USER:
	case SPACE_GUEST_USER:
		json_u64(&x->j, NULL, CATEGORY_USER);
		break;
	case SPACE_KERNEL:
	case SPACE_GUEST_KERNEL:
		json_u64(&x->j, NULL, CATEGORY_KERNEL);
		break;
	default:
		json_u64(&x->j, NULL, 0);
	}
}

static void cell_func(struct fox *x, size_t i)
{
	json_u64(&x->j, NULL, x->frame_func[i]);
}

static void cell_line(struct fox *x, size_t i)
{
	uint32_t line = x->s->frame[x->s->frame_id[i]].line.line;

	number_or_null(x, line ? line : UINT32_MAX);
}

static void cell_func_name(struct fox *x, size_t i)
{
	json_u64(&x->j, NULL, x->func_name[i]);
}

static void cell_func_resource(struct fox *x, size_t i)
{
	if (x->func_lib[i] == UINT32_MAX)
		json_i64(&x->j, NULL, -1);
	else
		json_u64(&x->j, NULL, x->func_lib[i]);
}

static void cell_func_source(struct fox *x, size_t i)
{
	number_or_null(x, x->func_file[i] == UINT32_MAX ? UINT32_MAX
							: x->file_of_string[x->func_file[i]]);
}

static void put_funcs(struct fox *x)
{
	size_t n = x->n_funcs;

	json_object(&x->j, "funcTable");
	json_u64(&x->j, "length", n);
	fox_column(x, "name", n, cell_func_name);
	fox_column(x, "isJS", n, cell_false);
	fox_column(x, "relevantForJS", n, cell_false);
	fox_column(x, "resource", n, cell_func_resource);
	fox_column(x, "source", n, cell_func_source);
	fox_column(x, "lineNumber", n, cell_null);
	fox_column(x, "columnNumber", n, cell_null);
	json_end_object(&x->j);
}

/* A node of the tree is a row for each function of its site, the outermost first. */
static void put_stacks(struct fox *x)
{
	const struct profile_stacks *s = x->s;
	size_t n = 0;

	json_object(&x->j, "stackTable");
	json_array(&x->j, "prefix");
	x->last[0] = UINT32_MAX;
	for (size_t i = 1; i < s->n_nodes; i++) {
		const struct stack_site *site = &s->site[s->node[i].site];

		for (uint32_t k = 0; k < site->n; k++)
			number_or_null(x, k ? (uint32_t)n + k - 1 : x->last[s->node[i].parent]);
		n += site->n;
		x->last[i] = (uint32_t)n - 1;
	}
	json_end_array(&x->j);
	json_array(&x->j, "frame");
	for (size_t i = 1; i < s->n_nodes; i++) {
		const struct stack_site *site = &s->site[s->node[i].site];

		for (uint32_t k = 0; k < site->n; k++)
			json_u64(&x->j, NULL, site->first + k);
	}
	json_end_array(&x->j);
	json_u64(&x->j, "length", n);
	json_end_object(&x->j);
}

static void cell_lib_name(struct fox *x, size_t i)
{
	json_u64(&x->j, NULL, x->lib_name[i]);
}

static void cell_index(struct fox *x, size_t i)
{
	json_u64(&x->j, NULL, i);
}

static void cell_source(struct fox *x, size_t i)
{
	json_u64(&x->j, NULL, x->source[i]);
}

static void put_shared(struct fox *x, size_t n_frames)
{
	json_object(&x->j, "shared");
	json_object(&x->j, "frameTable");
	json_u64(&x->j, "length", n_frames);
	fox_column(x, "address", n_frames, cell_address);
	fox_column(x, "inlineDepth", n_frames, cell_depth);
	fox_column(x, "category", n_frames, cell_category);
	fox_column(x, "subcategory", n_frames, cell_zero);
	fox_column(x, "func", n_frames, cell_func);
	fox_column(x, "nativeSymbol", n_frames, cell_null);
	fox_column(x, "innerWindowID", n_frames, cell_zero);
	fox_column(x, "line", n_frames, cell_line);
	fox_column(x, "column", n_frames, cell_null);
	json_end_object(&x->j);
	put_funcs(x);
	put_stacks(x);
	json_object(&x->j, "resourceTable");
	json_u64(&x->j, "length", x->n_libs);
	fox_column(x, "lib", x->n_libs, cell_index);
	fox_column(x, "name", x->n_libs, cell_lib_name);
	fox_column(x, "host", x->n_libs, cell_null);
	fox_column(x, "type", x->n_libs, cell_one); /* a library */
	json_end_object(&x->j);
	json_object(&x->j, "nativeSymbols");
	json_u64(&x->j, "length", 0);
	fox_column(x, "address", 0, cell_null);
	fox_column(x, "functionSize", 0, cell_null);
	fox_column(x, "libIndex", 0, cell_null);
	fox_column(x, "name", 0, cell_null);
	json_end_object(&x->j);
	json_object(&x->j, "sources");
	json_u64(&x->j, "length", x->n_sources);
	fox_column(x, "id", x->n_sources, cell_null);
	fox_column(x, "filename", x->n_sources, cell_source);
	fox_column(x, "startLine", x->n_sources, cell_one);
	fox_column(x, "startColumn", x->n_sources, cell_one);
	fox_column(x, "sourceMapURL", x->n_sources, cell_null);
	json_end_object(&x->j);
	json_array(&x->j, "stringArray");
	for (size_t i = 0; i < x->names.strings.n; i++)
		json_str(&x->j, NULL, strtab_get(&x->names.strings, (uint32_t)i));
	json_end_array(&x->j);
	json_end_object(&x->j);
}

/* ---- libraries ------------------------------------------------------------------------------- */

static void safe(struct fox *x, const char *key, const char *s)
{
	uint32_t id = s ? export_string(&x->names, s) : STR_NONE;

	json_str(&x->j, key, id == STR_NONE ? NULL : strtab_get(&x->names.strings, id));
}

/* A build-id as Breakpad writes it: the first 16 bytes as a GUID, whose first three numbers are
 * little-endian, and an age of 0. */
static void breakpad_id(char out[2 * 16 + 2], const struct image_key *key)
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

	for (size_t i = 0; i < 16; i++) {
		uint8_t b =
			key->build_id && order[i] < key->build_id_len ? key->build_id[order[i]] : 0;

		out[2 * i] = "0123456789ABCDEF"[b >> 4];
		out[2 * i + 1] = "0123456789ABCDEF"[b & 15];
	}
	out[32] = '0';
	out[33] = '\0';
}

/* ---- the event, and threads ------------------------------------------------------------------ */

static const struct pd_event *fox_event_of(const struct fox *x)
{
	return x->s->n_samples ? &x->in->source.event[x->s->sample[0].event] : NULL;
}

/* Returns the ms between a thread's samples, as requested; else the mean of the recording. */
static double fox_interval(const struct fox *x)
{
	const struct pd_event *e = fox_event_of(x);
	const struct view_source *src = &x->in->source;

	if (e && e->attr.freq && e->attr.sample_freq)
		return 1000.0 / (double)e->attr.sample_freq;
	if (e && e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config <= PERF_COUNT_SW_TASK_CLOCK &&
	    e->attr.sample_period)
		return (double)e->attr.sample_period / 1e6;
	if (src->has_time && x->s->n_samples && src->time_last > src->time_first)
		return (double)(src->time_last - src->time_first) / 1e6 / (double)x->s->n_samples;
	return 1;
}

static void put_category(struct fox *x, const char *name, const char *color)
{
	static const char *const other[] = { "Other" };

	json_object(&x->j, NULL);
	json_str(&x->j, "name", name);
	json_str(&x->j, "color", color);
	json_strings(&x->j, "subcategories", other, 1);
	json_end_object(&x->j);
}

static void put_empty_arrays(struct fox *x, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fox_column(x, names[i], 0, cell_null);
}

/* "More about the profile" shows it. */
static void put_fox_end(struct fox *x)
{
	struct json *j = &x->j;

	if (!x->in->ended)
		return;
	json_array(j, "extra");
	json_object(j, NULL);
	json_str(j, "label", "Recording");
	json_array(j, "entries");
	json_object(j, NULL);
	json_str(j, "label", "does not go to its end");
	json_str(j, "format", "string");
	safe(x, "value", x->in->ended);
	json_end_object(j);
	json_end_array(j);
	json_end_object(j);
	json_end_array(j);
}

static void put_meta(struct fox *x)
{
	static const char *const extension[] = { "baseURL", "id", "name" };
	const struct view_source *src = &x->in->source;
	struct json *j = &x->j;

	json_object(j, "meta");
	json_u64(j, "version", GECKO_VERSION);
	json_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
	json_real(j, "interval", fox_interval(x));
	json_real(j, "startTime",
		  x->in->wall_known ? (double)(x->in->wall + (int64_t)src->time_first) / 1e6 : 0);
	json_u64(j, "processType", 0);
	safe(x, "product", src->info->n_cmdline ? path_base(src->info->cmdline[0]) : "cyclade");
	safe(x, "oscpu", src->info->cpu_desc);
	safe(x, "importedFrom", "cyclade");
	json_bool(j, "debug", false);
	json_bool(j, "symbolicated", true);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_object(j, "sampleUnits");
	json_str(j, "time", "ms");
	json_str(j, "eventDelay", "ms");
	json_str(j, "threadCPUDelta", "ns");
	json_end_object(j);
	json_array(j, "categories");
	put_category(x, "Other", "grey");
	put_category(x, "User", "yellow");
	put_category(x, "Kernel", "orange");
	json_end_array(j);
	json_object(j, "extensions");
	json_u64(j, "length", 0);
	put_empty_arrays(x, extension, 3);
	json_end_object(j);
	fox_column(x, "markerSchema", 0, cell_null);
	fox_column(x, "pausedRanges", 0, cell_null);
	put_fox_end(x);
	json_end_object(j);
}

static double ms(const struct fox *x, uint64_t time)
{
	const struct view_source *src = &x->in->source;

	return src->has_time && time >= src->time_first ? (double)(time - src->time_first) / 1e6
							: 0;
}

static void put_fox_samples(struct fox *x, const struct stack_sample *v, size_t n)
{
	struct json *j = &x->j;
	uint64_t before = x->in->source.has_time ? x->in->source.time_first : 0;

	json_object(j, "samples");
	json_u64(j, "length", n);
	json_str(j, "weightType", "samples");
	json_null(j, "weight");
	json_array(j, "stack");
	for (size_t i = 0; i < n; i++)
		number_or_null(x, x->last[v[i].node]);
	json_end_array(j);
	json_array(j, "timeDeltas");
	for (size_t i = 0; i < n; i++) {
		/* without times there is an order, as the file has it */
		json_real(j, NULL,
			  !x->in->source.has_time ? 1
			  : v[i].time > before	  ? (double)(v[i].time - before) / 1e6
						  : 0);
		before = v[i].time > before ? v[i].time : before;
	}
	json_end_array(j);
	json_end_object(j);
}

/* Puts one thread: v[0..n), in the order of time. `process` is its process' name. */
static void put_fox_thread(struct fox *x, const struct stack_sample *v, size_t n,
			   const char *process)
{
	static const char *const marker[] = { "category", "data",  "endTime",
					      "name",	  "phase", "startTime" };
	const struct stack_thread *t = &x->s->thread[v->thread];
	struct json *j = &x->j;
	char id[16];

	json_object(j, NULL);
	safe(x, "name", t->comm);
	json_bool(j, "isMainThread", t->pid == t->tid);
	safe(x, "processName", process);
	json_str(j, "processType", "default");
	(void)snprintf(id, sizeof(id), "%d", (int32_t)t->pid);
	json_str(j, "pid", id);
	(void)snprintf(id, sizeof(id), "%d", (int32_t)t->tid);
	json_str(j, "tid", id);
	json_real(j, "processStartupTime", 0);
	json_null(j, "processShutdownTime");
	json_real(j, "registerTime", ms(x, v[0].time));
	json_null(j, "unregisterTime");
	json_bool(j, "showMarkersInTimeline", false);
	fox_column(x, "pausedRanges", 0, cell_null);
	json_object(j, "markers");
	json_u64(j, "length", 0);
	put_empty_arrays(x, marker, 6);
	json_end_object(j);
	put_fox_samples(x, v, n);
	json_end_object(j);
}

static void put_fox_threads(struct fox *x)
{
	const struct stack_sample *v = x->s->sample;
	const char *process = "";
	uint32_t pid = UINT32_MAX;

	json_array(&x->j, "threads");
	for (size_t i = 0, k; i < x->s->n_samples; i = k) {
		const struct stack_thread *t = &x->s->thread[v[i].thread];

		for (k = i; k < x->s->n_samples && v[k].thread == v[i].thread; k++)
			;
		if (!i || t->pid != pid || t->tid == t->pid)
			process = t->comm;
		pid = t->pid;
		put_fox_thread(x, &v[i], k - i, process);
	}
	json_end_array(&x->j);
}

int export_firefox(struct buf *out, const struct export_in *in, struct err *err)
{
	static const char *const none[] = { "pages", "profilerOverhead", "counters" };
	struct fox x = { .in = in, .s = profile_stacks(in->profile) };
	size_t n_frames = count_frame_rows(x.s);
	int ret = -1;

	if (make_funcs(&x, n_frames)) {
		(void)err_nomem(err);
		goto out;
	}
	make_sources(&x);
	json_init(&x.j, out, false);
	json_object(&x.j, NULL);
	put_meta(&x);
	json_array(&x.j, "libs");
	for (size_t i = 0; i < x.n_libs; i++) {
		const struct image_key *key = image_key(x.in->images, x.lib_image[i]);
		char id[2 * BUILD_ID_MAX + 1] = "", breakpad[34] = "";

		if (key->build_id)
			text_hex(id, key->build_id, key->build_id_len);
		if (*id)
			breakpad_id(breakpad, key);
		json_object(&x.j, NULL);
		safe(&x, "name", image_name(x.in->images, x.lib_image[i]));
		safe(&x, "path", key->path);
		safe(&x, "debugName", image_name(x.in->images, x.lib_image[i]));
		safe(&x, "debugPath", key->path);
		json_str(&x.j, "breakpadId", breakpad);
		json_str(&x.j, "codeId", *id ? id : NULL);
		safe(&x, "arch", x.in->source.info->arch);
		json_end_object(&x.j);
	}
	json_end_array(&x.j);
	put_empty_arrays(&x, none, 3);
	put_shared(&x, n_frames);
	put_fox_threads(&x);
	json_end_object(&x.j);
	buf_putc(out, '\n');
	ret = buf_error(out, err);
out:
	free(x.frame_func);
	free(x.frame_site);
	free(x.func_name);
	free(x.func_lib);
	free(x.func_file);
	free(x.lib);
	free(x.lib_image);
	free(x.lib_name);
	free(x.file_of_string);
	free(x.source);
	free(x.last);
	export_names_free(&x.names);
	export_ids_free(&x.funcs);
	return ret;
}

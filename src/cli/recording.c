/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recording.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "analyse/event_cost.h"
#include "analyse/feed.h"
#include "analyse/sample_frames.h"
#include "analyse/sharing.h"
#include "base/fetcher.h"
#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/derived.h"
#include "cli/heap.h"
#include "cli/repeats.h"
#include "cli/selecting.h"
#include "cli/verdicts.h"
#include "config.h"
#include "perfdata/stat_data.h"
#include "symbol/copies.h"

/* Programs of 32 bits run on a kernel of 64. */
static unsigned family_of_arch(const char *arch)
{
	unsigned machine = machine_of_arch(arch);

	return machine == EM_386 ? EM_X86_64 : machine == EM_ARM ? EM_AARCH64 : machine;
}

static bool same_arch(const struct pd_info *i, const struct utsname *u)
{
	unsigned here = family_of_arch(u->machine), there = family_of_arch(i->arch);

	return !i->arch || here == EM_NONE || there == EM_NONE || here == there;
}

/* Whether a file at the recorded path may be taken for the recorded one without a build-id: not on
 * another machine. A machine may have got a new kernel since, a container has a name of its own; if
 * both differ, it is another machine. */
static bool made_here(const struct pd_info *i)
{
	struct utsname u;

	if (uname(&u))
		return true;
	if (!same_arch(i, &u))
		return false;
	return !i->hostname || !i->os_release || !strcmp(u.nodename, i->hostname) ||
	       !strcmp(u.release, i->os_release);
}

/* Whether the recorded devices and inodes are this machine's: only its name is known. */
static bool has_inodes_of_here(const struct pd_info *i)
{
	struct utsname u;

	return i->hostname && !uname(&u) && !strcmp(u.nodename, i->hostname) && same_arch(i, &u);
}

bool recording_is_of_here(const struct recording *r)
{
	const struct pd_info *i = pd_info(r->rec);

	return made_here(i) && (!i->hostname || has_inodes_of_here(i));
}

/* Why the running kernel is not the recorded one, by the header; NULL: it may be. The
 * text is in the cli's arena. */
static const char *other_kernel(struct cli *cli, const struct pd_info *i)
{
	struct utsname u;

	if (!i->os_release || uname(&u))
		return "the recording does not say which kernel it is of";
	if (strcmp(u.release, i->os_release) != 0)
		return arena_printf(&cli->arena, "the recording is of kernel %s, here runs %s",
				    i->os_release, u.release);
	if (i->hostname && strcmp(u.nodename, i->hostname) != 0)
		return arena_printf(&cli->arena, "the recording is of machine %s, this is %s",
				    i->hostname, u.nodename);
	return same_arch(i, &u) ? NULL
				: arena_printf(&cli->arena, "the recording is of %s, this is %s",
					       i->arch, u.machine);
}

struct opening {
	struct recording *r;
	struct cli *cli;
};

static void add_inner_places(struct images *set, const struct pd_info *i)
{
	bool here = made_here(i);

	for (size_t k = 0; k < i->n_places; k++)
		if (here || !strcmp(i->places[k].root, COPIES_PLACE))
			images_place(set, i->places[k].inside, i->places[k].root,
				     i->places[k].rest);
}

/* The header is known, and with it where symbols may come from. */
static int begin_images(void *ctx, const struct pd *rec, struct err *err)
{
	const struct opening *o = ctx;
	struct recording *r = o->r;
	const char *root = pd_root(rec) ? pd_root(rec) : o->cli->opt.sysroot;
	const struct images_opts io = {
		.symbol_dirs = o->cli->opt.symbols.n ? o->cli->opt.symbols.v : NULL,
		.sysroot = root,
		.kallsyms = o->cli->opt.kallsyms,
		.vmlinux = o->cli->opt.vmlinux,
		/* names of an archive are only those of its recording */
		.cache_dir = pd_root(rec) || o->cli->command == CMD_ARCHIVE ? NULL
									    : cli_cache_dir(o->cli),
		.home = cli_perf_home(o->cli),
		.perf_cache = cli_perf_cache(o->cli),
		.copies_dir = cli_cache_dir(o->cli),
		.debuginfod = cli_debuginfod_dir(o->cli),
		.fetch = fetcher_running(),
		.raw_names = o->cli->opt.raw_names,
		.other_kernel = pd_root(rec) ? NULL : other_kernel(o->cli, pd_info(rec)),
		.trust_paths = root || made_here(pd_info(rec)),
		.inodes_here = !pd_root(rec) && has_inodes_of_here(pd_info(rec)),
	};

	spaces_free(r->spaces);
	images_free(r->images);
	r->spaces = NULL;
	r->images = images_new(&io, err);
	if (r->images) {
		add_inner_places(r->images, pd_info(rec));
		r->spaces = feed_begin(rec, r->images, err);
	}
	return r->spaces ? 0 : -1;
}

static int feed_side_band(void *ctx, const struct pd *rec, const struct pd_record *rd,
			  struct err *err)
{
	const struct opening *o = ctx;

	return feed_record(o->r->spaces, rec, rd, err);
}

/* Files of perf stat record have counts and no samples: stat --import reads them. */
static int check_samples(const struct recording *r, const char *path, struct err *err)
{
	const struct pd_type_count *t;
	size_t n;

	if (!stat_data_is(r->rec))
		return 0;
	t = pd_type_counts(r->rec, &n);
	for (size_t i = 0; i < n; i++)
		if (t[i].type == PERF_RECORD_SAMPLE)
			return 0;
	(void)err_set(err, ERR_FORMAT, "%s holds counts (perf stat record), no samples", path);
	return err_hint(err, "cyclade stat --import %.200s shows them", path);
}

int recording_open(struct recording *r, struct cli *cli, const char *path, struct err *err)
{
	struct opening o = { r, cli };
	const struct pd_feed feed = { begin_images, feed_side_band, &o };
	bool chains = cli->opt.call_graph || cli->opt.measure.call_graph || cli->opt.callers ||
		      cli->opt.children;

	*r = (struct recording){ 0 };
	if (!chains) /* which keep some memory while they free much that only finding needs */
		heap_for_tables();
	if (!pd_open_feed(&r->rec, path, &feed, err) && !check_samples(r, path, err)) {
		feed_finish(r->spaces, r->rec);
		if (!derived_open(&r->derived, cli, r->rec, err))
			return 0;
	}
	recording_close(r);
	return repeats_hint(path, command_names[cli->command], err);
}

void recording_troubles(const struct recording *r)
{
	size_t n = r->images ? images_count(r->images) : 0;

	for (uint32_t id = 0; id < n; id++)
		if (*image_trouble(r->images, id))
			cli_warn("names or lines of %s are missing: %s", image_path(r->images, id),
				 image_trouble(r->images, id));
}

void recording_close(struct recording *r)
{
	recording_troubles(r);
	spaces_free(r->spaces);
	images_free(r->images);
	derived_close(r->derived);
	pd_close(r->rec);
	*r = (struct recording){ 0 };
}

static bool is_line_size(uint64_t n)
{
	return n >= SHARING_LINE_MIN && n <= SHARING_LINE_MAX && !(n & (n - 1));
}

int recording_line_size(const struct recording *r, const struct cli *cli, uint32_t *out,
			struct err *err)
{
	const struct pd_info *info = pd_info(r->rec);

	*out = SHARING_LINE_DEFAULT;
	if (OPTION_GIVEN(&cli->opt, line_size)) {
		*out = (uint32_t)cli->opt.line_size;
		return is_line_size(cli->opt.line_size)
			       ? 0
			       : err_set(err, ERR_USAGE,
					 "--line-size is a power of two from %u to %u",
					 SHARING_LINE_MIN, SHARING_LINE_MAX);
	}
	for (size_t i = 0; i < info->n_caches; i++)
		if (info->caches[i].level == 1 && is_line_size(info->caches[i].line_size)) {
			*out = (uint32_t)info->caches[i].line_size;
			break;
		}
	return 0;
}

int recording_select(const struct recording *r, struct cli *cli, struct profile_opts *o,
		     struct err *err)
{
	o->machine = machine_of_arch(pd_info(r->rec)->arch);
	o->progress = cli_progress;
	o->progress_ctx = cli;
	derived_select(r->derived, &o->select);
	return selecting(&o->select, r->rec, cli, err);
}

int recording_flow(const struct recording *r, struct cli *cli, struct flow_opts *o, struct err *err)
{
	struct profile_opts p = { 0 };

	if (recording_select(r, cli, &p, err))
		return -1;
	*o = (struct flow_opts){ .select = p.select,
				 .progress = p.progress,
				 .progress_ctx = p.progress_ctx };
	o->select.event = cli->opt.event.n ? cli->opt.event.v[0] : NULL;
	return 0;
}

size_t recording_event(const struct recording *r, const char *said,
		       bool (*usable)(const struct pd_event *e))
{
	size_t n, lead = SIZE_MAX;
	const struct pd_event *e = pd_events(r->rec, &n);

	for (size_t i = 0; i < n; i++)
		if (text_means(said, e[i].name) && (!usable || usable(&e[i])) &&
		    (lead == SIZE_MAX || event_leads(r->rec, &e[i], &e[lead])))
			lead = i;
	return lead;
}

bool recording_lacks(const struct recording *r, uint32_t image, uint64_t samples, uint64_t all)
{
	return samples && samples * 100 >= all && image_absent(r->images, image);
}

bool recording_has(const struct recording *r, uint64_t sample_type)
{
	size_t n;
	const struct pd_event *e = pd_events(r->rec, &n);

	for (size_t i = 0; i < n; i++)
		if (e[i].attr.sample_type & sample_type)
			return true;
	return false;
}

void recording_source(struct view_source *out, const struct recording *r, struct cli *cli,
		      const char *input, const bool *missing)
{
	size_t n_images = images_count(r->images), n;
	const char **note, *const *failed = NULL;
	size_t n_failed;

	*out = view_source_of(r->rec);
	out->version = CYCLADE_VERSION;
	out->input = input;
	n = out->n_notes;
	verdicts_notes(&failed, &n_failed, cli, r->rec, SIZE_MAX);
	note = arena_xalloc(&cli->arena, (n + n_failed + n_images + 1) * sizeof(*note));
	if (n)
		memcpy(note, out->notes, n * sizeof(*note));
	for (size_t i = 0; i < n_failed; i++)
		note[n++] = failed[i];
	for (uint32_t id = 0; id < n_images; id++)
		if (((missing && missing[id]) || image_mismatch(r->images, id)) &&
		    *image_origin(r->images, id))
			note[n++] = image_origin(r->images, id);
	out->notes = note;
	out->n_notes = n;
	derived_note(r->derived, out, &cli->arena);
}

/* Length of the first event of a list: "cpu/event=0x3c,umask=1/u,cycles" has two. */
static size_t event_length(const char *s)
{
	bool inside = false;
	size_t n = 0;

	for (; s[n] && (inside || s[n] != ','); n++)
		if (s[n] == '/')
			inside = !inside;
	return n;
}

int split_events(struct cli *cli, const struct text_list *said, struct text_list *out,
		 struct err *err)
{
	size_t n = 0;

	*out = (struct text_list){ 0 };
	for (size_t i = 0; i < said->n; i++)
		n += strlen(said->v[i]) + 1;
	out->v = arena_xalloc(&cli->arena, (n + 1) * sizeof(*out->v));
	for (size_t i = 0; i < said->n; i++) {
		const char *s = said->v[i];

		for (;;) {
			size_t len = event_length(s);

			out->v[out->n] = arena_xstrndup(&cli->arena, s, len);
			if (!len)
				return err_set(err, ERR_USAGE, "-e names an event that is empty");
			out->n++;
			if (!s[len])
				break;
			s += len + 1;
		}
	}
	return 0;
}

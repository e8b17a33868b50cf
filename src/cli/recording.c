/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recording.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "analyse/feed.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/heap.h"
#include "config.h"

/* Whether a file of the recorded path may be taken for the recorded one where no build-id says so:
 * not on another machine. A machine may have got a new kernel since, a container has a name of its
 * own; where both differ, it is another. */
static bool made_here(const struct pd_info *i)
{
	struct utsname u;

	return !i->hostname || !i->os_release || uname(&u) || !strcmp(u.nodename, i->hostname) ||
	       !strcmp(u.release, i->os_release);
}

struct opening {
	struct recording *r;
	struct cli *cli;
};

/* The header is known, and with it where symbols may come from. */
static int begin(void *ctx, const struct pd *rec, struct err *err)
{
	const struct opening *o = ctx;
	struct recording *r = o->r;
	const char *home = getenv("HOME");
	const struct images_opts io = {
		.symbol_dirs = o->cli->opt.symbols.n ? o->cli->opt.symbols.v : NULL,
		.sysroot = o->cli->opt.sysroot,
		.cache_dir = cli_cache_dir(o->cli),
		.home = home && *home ? home : NULL,
		.raw_names = o->cli->opt.raw_names,
		.kernel_release = pd_info(rec)->os_release,
		.trust_paths = o->cli->opt.sysroot || made_here(pd_info(rec)),
	};

	spaces_free(r->spaces);
	images_free(r->images);
	r->spaces = NULL;
	r->images = images_new(&io, err);
	if (r->images)
		r->spaces = feed_begin(rec, r->images, err);
	return r->spaces ? 0 : -1;
}

static int take(void *ctx, const struct pd *rec, const struct pd_record *rd, struct err *err)
{
	const struct opening *o = ctx;

	return feed_record(o->r->spaces, rec, rd, err);
}

int recording_open(struct recording *r, struct cli *cli, const char *path, struct err *err)
{
	struct opening o = { r, cli };
	const struct pd_feed feed = { begin, take, &o };
	bool chains = cli->opt.call_graph || cli->opt.callers || cli->opt.children;

	*r = (struct recording){ 0 };
	if (!chains) /* which keep some memory while they free much that only finding needs */
		heap_for_tables();
	if (!pd_open_feed(&r->rec, path, &feed, err) && !feed_finish(r->spaces, r->rec, err))
		return 0;
	recording_close(r);
	return -1;
}

void recording_close(struct recording *r)
{
	spaces_free(r->spaces);
	images_free(r->images);
	pd_close(r->rec);
	*r = (struct recording){ 0 };
}

unsigned machine_of_arch(const char *arch)
{
	static const struct {
		const char *name;
		unsigned machine;
	} table[] = {
		{ "x86_64", EM_X86_64 }, { "i386", EM_386 },	  { "i486", EM_386 },
		{ "i586", EM_386 },	 { "i686", EM_386 },	  { "aarch64", EM_AARCH64 },
		{ "arm64", EM_AARCH64 }, { "armv7l", EM_ARM },	  { "armv6l", EM_ARM },
		{ "armv8l", EM_ARM },	 { "riscv64", EM_RISCV }, { "ppc64le", EM_PPC64 },
		{ "ppc64", EM_PPC64 },	 { "s390x", EM_S390 },
	};

	for (size_t i = 0; arch && i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].name, arch))
			return table[i].machine;
	return EM_NONE;
}

struct ids {
	struct cli *cli;
	uint32_t *v;
	size_t n, cap;
};

static int add_id(void *ctx, uint64_t id)
{
	struct ids *ids = ctx;

	if (ids->n == ids->cap) {
		size_t cap = ids->cap ? ids->cap * 2 : 16;
		uint32_t *more = arena_alloc(&ids->cli->arena, cap * sizeof(*more));

		if (!more)
			return -1;
		if (ids->n)
			memcpy(more, ids->v, ids->n * sizeof(*more));
		ids->v = more;
		ids->cap = cap;
	}
	ids->v[ids->n++] = (uint32_t)id;
	return 0;
}

static int read_ids(struct cli *cli, const struct text_list *said, const char *option,
		    const uint32_t **out, size_t *n, struct err *err)
{
	struct ids ids = { .cli = cli };

	for (size_t i = 0; i < said->n; i++)
		if (num_parse_list(said->v[i], UINT32_MAX, add_id, &ids, err)) {
			(void)err_nomem(err);
			return err_prefix(err, "%s", option);
		}
	*out = ids.v;
	*n = ids.n;
	return 0;
}

int recording_select(const struct recording *r, struct cli *cli, struct profile_opts *o,
		     struct err *err)
{
	o->comm = cli->opt.comm;
	o->machine = machine_of_arch(pd_info(r->rec)->arch);
	o->progress = cli_progress;
	o->progress_ctx = cli;
	if (read_ids(cli, &cli->opt.only_pid, "--only-pid", &o->pids, &o->n_pids, err) ||
	    read_ids(cli, &cli->opt.only_tid, "--only-tid", &o->tids, &o->n_tids, err))
		return -1;
	return 0;
}

int recording_flow(const struct recording *r, struct cli *cli, struct flow_opts *o, struct err *err)
{
	struct profile_opts p = { 0 };

	if (recording_select(r, cli, &p, err))
		return -1;
	*o = (struct flow_opts){ .event = cli->opt.event.n ? cli->opt.event.v[0] : NULL,
				 .comm = p.comm,
				 .pids = p.pids,
				 .n_pids = p.n_pids,
				 .tids = p.tids,
				 .n_tids = p.n_tids,
				 .progress = p.progress,
				 .progress_ctx = p.progress_ctx };
	return 0;
}

size_t recording_event(const struct recording *r, const char *said,
		       bool (*usable)(const struct pd_event *e))
{
	size_t n, most = SIZE_MAX;
	const struct pd_event *e = pd_events(r->rec, &n);

	for (size_t i = 0; i < n; i++)
		if (text_means(said, e[i].name) && (!usable || usable(&e[i])) &&
		    (most == SIZE_MAX || e[i].samples > e[most].samples))
			most = i;
	return most;
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

int recording_source(struct view_source *out, const struct recording *r, struct cli *cli,
		     const char *input, const bool *missing, struct err *err)
{
	size_t n_images = images_count(r->images), n;
	const char **note;

	*out = view_source_of(r->rec);
	out->version = CYCLADE_VERSION;
	out->input = input;
	n = out->n_notes;
	note = arena_alloc(&cli->arena, (n + n_images + 1) * sizeof(*note));
	if (!note)
		return err_nomem(err);
	if (n)
		memcpy(note, out->notes, n * sizeof(*note));
	for (uint32_t id = 0; id < n_images; id++)
		if (((missing && missing[id]) || image_mismatch(r->images, id)) &&
		    *image_origin(r->images, id))
			note[n++] = image_origin(r->images, id);
	out->notes = note;
	out->n_notes = n;
	return 0;
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
	out->v = arena_alloc(&cli->arena, (n + 1) * sizeof(*out->v));
	if (!out->v)
		return err_nomem(err);
	for (size_t i = 0; i < said->n; i++) {
		const char *s = said->v[i];

		for (;;) {
			size_t len = event_length(s);

			out->v[out->n] = arena_strndup(&cli->arena, s, len);
			if (!out->v[out->n])
				return err_nomem(err);
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

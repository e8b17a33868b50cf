/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade archive [FILE] - see doc/cyclade-archive.1.md.
 *
 * All samples are named, with their callers, lines and inlined calls, as for a report. Then the
 * files that this took go into the archive (perfdata/archive.h). Bytes of programs and debug files
 * are those that were opened and judged then. Companions of debug information, lists of JIT code
 * and sources are opened again by their path.
 *
 * A recording can name any file, and root can read more than the user who recorded. So for root
 * only files that all users may read are taken by their path. Others are taken if there is a copy:
 * it was only made if the program's user may read the file (symbol/copies.h).
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fetcher.h"
#include "base/file_in.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/recording.h"
#include "perfdata/archive.h"
#include "symbol/copies.h"
#include "symbol/source_find.h"

#define NOBODY	     65534
#define FUNCTION_MAX (1u << 16) /* bytes of a function whose lines are looked up */
#define LEVEL	     9

struct archiving {
	struct cli *cli;
	struct recording r;
	struct archive_new *w;
	struct arena arena;
	VEC(const char *) opened; /* by path, without a root */
	struct u64map seen;	  /* paths of `opened`; names of source files */
	size_t files;
	uint64_t bytes;
	struct err *err;
};

static bool first_time(struct archiving *a, const char *text)
{
	bool fresh;

	*u64map_xat(&a->seen, hash_bytes(text, strlen(text)), &fresh) = 1;
	return fresh;
}

static void note_opened(void *ctx, const char *root, const char *path)
{
	struct archiving *a = ctx;

	if (!root && path[0] == '/' && first_time(a, path))
		vec_xpush(&a->opened, (const char *)arena_xstrdup(&a->arena, path));
}

/* ---- what may be packed ------------------------------------------------------------------- */

static bool all_may_read(int fd, const char *path, const struct stat *st)
{
	return geteuid() || file_shown_for(fd, NULL, path, st, NOBODY);
}

static bool path_is_for_all(const char *path)
{
	struct stat st;
	int fd = path ? file_in_open(NULL, path, FILE_IN_LINKS, &st, NULL) : -1;
	bool is = fd >= 0 && all_may_read(fd, path, &st);

	if (fd >= 0)
		(void)close(fd);
	return is;
}

static bool has_copy(struct archiving *a, const struct image_part *part)
{
	char path[4096];
	struct stat st;

	return copies_path(cli_cache_dir(a->cli), part->id, part->id_len, COPY_ELF, path,
			   sizeof(path)) &&
	       file_look(path, &st) && owner_is_ours(&st) && (size_t)st.st_size == part->len;
}

/* Directories of this user: files in them are packed by their build-id. */
static bool is_own_place(struct archiving *a, const char *path)
{
	const struct text_list *dirs = &a->cli->opt.symbols;
	const char *cache = cli_cache_dir(a->cli), *fetched = cli_debuginfod_dir(a->cli);

	for (size_t i = 0; i < dirs->n; i++)
		if (path_is_below(path, dirs->v[i]))
			return true;
	return path[0] != '/' || (cache && path_is_below(path, cache)) ||
	       (fetched && path_is_below(path, fetched)) ||
	       (strstr(path, "/.build-id/") && strncmp(path, "/usr/lib/debug/", 15) != 0);
}

/* ---- packing ------------------------------------------------------------------------------ */

static int pack(struct archiving *a, const char *name, const void *p, size_t len)
{
	if (archive_has(a->w, name))
		return 0;
	a->files++;
	a->bytes += len;
	return archive_add(a->w, name, p, len, a->err);
}

/* "files/home/u/app"; NULL: it has no such name. */
static const char *path_name(struct archiving *a, const char *path)
{
	char clean[4096];

	if (path[0] != '/' || path_lexical(clean, sizeof(clean), path))
		return NULL;
	return arena_xprintf(&a->arena, "files%s", clean);
}

static const char *id_name(struct archiving *a, const uint8_t *id, size_t n, const char *leaf)
{
	char hex[2 * BUILD_ID_MAX + 1];

	if (n < 2 || n > BUILD_ID_MAX)
		return NULL;
	text_hex(hex, id, n);
	return arena_xprintf(&a->arena, "files/.build-id/%.2s/%s/%s", hex, hex + 2, leaf);
}

static int pack_part(struct archiving *a, const struct image_key *key,
		     const struct image_part *part)
{
	bool vdso = key->kind == IMAGE_VDSO, copied = part->mapped && has_copy(a, part);
	const char *name = NULL;

	if (part->mapped && !copied && !path_is_for_all(part->path)) {
		cli_note(a->cli,
			 "%s is left out: not all users may read it, and there is no copy of it",
			 part->path ? part->path : key->path);
		return 0;
	}
	if (vdso)
		name = key->build_id_len ? id_name(a, key->build_id, key->build_id_len, "vdso")
					 : "files/[vdso]";
	else if (part->path && key->kind == IMAGE_FILE && !is_own_place(a, part->path))
		name = path_name(a, part->path);
	if (!name)
		name = id_name(a, part->id, part->id_len, part->code ? "elf" : "debug");
	return name ? pack(a, name, part->p, part->len) : 0;
}

/* A file by its path. A list (of JIT code) may be no link, and have no second name. */
static int pack_path(struct archiving *a, const char *path, const char *name, bool list)
{
	struct file_map m;
	struct stat st;
	int fd = file_in_open(NULL, path, list ? FILE_IN_NO_LINK : FILE_IN_LINKS, &st, NULL);
	int rc = 0;

	if (fd < 0)
		return 0;
	if (!name || (list ? st.st_nlink > 1 : !all_may_read(fd, path, &st))) {
		(void)close(fd);
		return 0;
	}
	if (file_in_map(&m, fd, &st, false, path, NULL))
		return 0;
	if (list || (m.len > 4 && !memcmp(m.p, "\177ELF", 4)))
		rc = pack(a, name, m.p, m.len);
	file_map_close(&m);
	return rc;
}

static bool is_list(const char *path)
{
	const char *base = path_base(path);

	return (!strncmp(base, "perf-", 5) && text_ends(base, strlen(base), ".map")) ||
	       (!strncmp(base, "jit-", 4) && text_ends(base, strlen(base), ".dump"));
}

/* .dwo, .dwp, files of dwz: what debug information names. */
static bool is_companion(const char *path)
{
	size_t n = strlen(path);

	return text_ends(path, n, ".dwo") || text_ends(path, n, ".dwp") ||
	       strstr(path, "/.dwz/") != NULL;
}

static int pack_opened(struct archiving *a)
{
	vec_each (&a->opened, const char **, at) {
		const char *path = *at;

		if ((is_list(path) || is_companion(path)) &&
		    pack_path(a, path, path_name(a, path), is_list(path)))
			return -1;
	}
	return 0;
}

/* Copies of lists, whose ids the recording has. */
static int pack_lists(struct archiving *a)
{
	const struct pd_info *info = pd_info(a->r.rec);

	for (size_t i = 0; i < info->n_places; i++) {
		const char *hex = info->places[i].rest;
		char path[4096];

		if (!strcmp(info->places[i].root, COPIES_PLACE) &&
		    copies_path_hex(cli_cache_dir(a->cli), hex, COPY_MAP, path, sizeof(path)) &&
		    pack_path(a, path,
			      arena_xprintf(&a->arena, "files/.build-id/%.2s/%s/map", hex, hex + 2),
			      true))
			return -1;
	}
	return 0;
}

static int pack_small(struct archiving *a, const char *path)
{
	const char *name = arena_xprintf(&a->arena, "files%s", path);
	struct buf text = BUF_INIT;
	int rc = 0;

	if (archive_has(a->w, name)) /* the kernel's is asked for by each module */
		return 0;
	if (!file_slurp(&text, path, 256u << 20, NULL) && text.len)
		rc = pack(a, name, text.s, text.len);
	buf_free(&text);
	return rc;
}

/* The list of the running kernel, if names came from it, and what shows that it is the recorded
 * one. */
static int pack_kernel(struct archiving *a, uint32_t id)
{
	const struct image_key *key = image_key(a->r.images, id);
	const char *origin = image_origin(a->r.images, id), *name = image_name(a->r.images, id);
	size_t len = strlen(name);

	if (strncmp(origin, "/proc/kallsyms", 14) != 0)
		return 0;
	if (pack_small(a, "/proc/kallsyms") || pack_small(a, "/sys/kernel/notes"))
		return -1;
	return key->kind == IMAGE_MODULE && len > 2 && !strchr(name, '/')
		       ? pack_small(a, arena_xprintf(&a->arena,
						     "/sys/module/%.*s/notes/.note.gnu.build-id",
						     (int)len - 2, name + 1))
		       : 0;
}

static int pack_images(struct archiving *a)
{
	for (uint32_t id = 0; id < images_count(a->r.images); id++) {
		const struct image_key *key = image_key(a->r.images, id);
		struct image_part part[3];
		size_t n = image_parts(a->r.images, id, part);

		for (size_t i = 0; i < n; i++)
			if (pack_part(a, key, &part[i]))
				return -1;
		if ((key->kind == IMAGE_KERNEL || key->kind == IMAGE_MODULE) &&
		    image_loaded(a->r.images, id) && pack_kernel(a, id))
			return -1;
	}
	return 0;
}

/* ---- sources ------------------------------------------------------------------------------ */

struct sources {
	struct archiving *a;
	struct source_places places;
	struct source_shelf shelf;
	const struct source *of;
};

/* The text was judged; the file is the same one still if its lines are. */
static bool same_text(const struct source_text *t, const struct file_map *m)
{
	size_t n = t->text.len < m->len ? t->text.len : m->len;

	for (size_t i = 0; i < n; i++)
		if (t->text.s[i] != (char)m->p[i] && !(m->p[i] == '\n' && !t->text.s[i]))
			return false;
	return true;
}

static int pack_source(struct sources *s, const char *file)
{
	struct source_sum sum;
	struct source_found found;
	struct file_map m;
	struct stat st;
	const char *name;
	int fd, rc = 0;

	if (!file || !first_time(s->a, file) ||
	    source_find(&s->places, file, source_file_sum(s->of, file, &sum) ? &sum : NULL,
			&s->shelf, &found) != SOURCE_FOUND)
		return 0;
	/* by the name that debug information has, as a report looks for it */
	name = path_name(s->a, file);
	fd = name ? file_in_open(NULL, found.path, FILE_IN_LINKS, &st, NULL) : -1;
	if (fd < 0 || file_in_map(&m, fd, &st, true, found.path, NULL))
		return 0;
	if (same_text(found.text, &m))
		rc = pack(s->a, name, m.p, m.len);
	file_map_close(&m);
	return rc;
}

/* The sources of a function, those of calls inlined into it, too. */
static int pack_function(struct sources *s, uint32_t image, const struct symbol *sym)
{
	struct source_inline in[32];
	uint64_t vaddr, size = sym->size < FUNCTION_MAX ? sym->size : FUNCTION_MAX;
	const char *last = NULL;

	s->of = source_of(s->a->r.images, image, NULL);
	if (!s->of || !image_to_vaddr(s->a->r.images, image, sym->start, &vaddr))
		return 0;
	s->places.owner = image_owner(s->a->r.images, image);
	s->places.build_id_len = image_build_id(s->a->r.images, image, &s->places.build_id);
	for (uint64_t i = 0; i < (size ? size : 1); i++) {
		const char *file = source_line(s->of, vaddr + i).file;
		size_t n;

		if (file != last && pack_source(s, file))
			return -1;
		last = file;
		n = source_inlines(s->of, vaddr + i, in, sizeof(in) / sizeof(*in));
		for (size_t k = 0; k < n; k++)
			if (pack_source(s, in[k].at.file))
				return -1;
	}
	return 0;
}

static int pack_sources(struct archiving *a, const struct profile *p)
{
	const struct options *o = &a->cli->opt;
	struct sources s = { .a = a,
			     .places = { .said = o->source.n ? o->source.v : NULL,
					 .sysroot = o->sysroot,
					 .debuginfod = cli_debuginfod_dir(a->cli),
					 .fetch = fetcher_running(),
					 .recorder = pd_info(a->r.rec)->owner,
					 .elsewhere = !recording_is_of_here(&a->r) },
			     .shelf = SOURCE_SHELF_INIT };
	const struct profile_chains *c = profile_chains(p);
	struct u64map done = { 0 };
	int rc = 0;

	for (size_t i = 0; !rc && c && i < c->n_frames; i++) {
		const struct profile_frame *f = &c->frame[i];
		bool fresh;

		if (!f->symbol || f->image == IMAGE_NONE)
			continue;
		*u64map_xat(&done, hash_pair(f->image, f->symbol->start), &fresh) = 1;
		if (fresh)
			rc = pack_function(&s, f->image, f->symbol);
	}
	u64map_free(&done);
	source_shelf_free(&s.shelf);
	return rc;
}

/* ---- the command -------------------------------------------------------------------------- */

static int pack_recording(struct archiving *a, const char *path)
{
	struct file_map m;
	int rc;

	if (file_map_open(&m, path, a->err))
		return -1;
	rc = archive_add(a->w, "recording", m.p, m.len, a->err);
	file_map_close(&m);
	return rc;
}

static int read_all(struct archiving *a, struct profile **p)
{
	struct profile_opts o = { .key = { KEY_DSO, KEY_SYM, KEY_SRCLINE },
				  .n_keys = 3,
				  .chains = true,
				  .chain_lines = true,
				  .chain_inline = true };

	return recording_select(&a->r, a->cli, &o, a->err) ||
			       profile_build(p, a->r.rec, a->r.spaces, &o, a->err)
		       ? -1
		       : 0;
}

static int check_names(const struct cli *cli, const char *path, struct err *err)
{
	uint8_t magic[4];

	if (!strcmp(cli->opt.output, "-"))
		return err_set(err, ERR_USAGE, "an archive is not written to standard output");
	if (!strcmp(path, "-") || !file_is_regular(path))
		return err_set(
			err, ERR_USAGE,
			"%s: not a regular file; only a recording in one file can be archived",
			path);
	if (archive_begins(magic, file_in_head(path, magic, sizeof(magic))))
		return err_set(err, ERR_USAGE, "%s is an archive already", path);
	return 0;
}

static int make_archive(struct archiving *a, const char *path)
{
	struct profile *p = NULL;
	int rc = -1;

	file_in_report(note_opened, a);
	if (recording_open(&a->r, a->cli, path, a->err) || read_all(a, &p))
		goto out;
	file_in_report(NULL, NULL);
	if (archive_new(&a->w, a->cli->opt.output, LEVEL, a->err) || pack_recording(a, path) ||
	    pack_images(a) || pack_lists(a) || pack_opened(a) ||
	    (a->cli->opt.with_sources && pack_sources(a, p)))
		goto out;
	rc = archive_end(a->w, a->err);
	a->w = NULL;
out:
	file_in_report(NULL, NULL);
	archive_abort(a->w);
	profile_free(p);
	recording_close(&a->r);
	return rc;
}

int cmd_archive(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct archiving a = { .cli = cli, .err = &err };
	struct cli_operands said;
	char n[NUM_MAX], b[NUM_MAX];
	int code = EXIT_OK;

	if (cli_one_recording(cli, &said, &err) || check_names(cli, said.path, &err) ||
	    make_archive(&a, said.path))
		code = cli_fail(&err);
	else
		cli_note(cli, "%s: the recording and %s file%s (%s unpacked)", cli->opt.output,
			 num_exact(n, a.files), a.files == 1 ? "" : "s", num_bytes(b, a.bytes));
	vec_free(&a.opened);
	u64map_free(&a.seen);
	arena_free(&a.arena);
	return code;
}

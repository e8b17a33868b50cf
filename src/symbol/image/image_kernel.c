/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel and its modules: vmlinux if one of the recorded build-id is found, else the list of
 * symbols that the running kernel gives, if it is the recorded one, or that perf kept of it.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/file_in.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "symbol/image/image_set.h"
#include "symbol/image/kallsyms.h"

#define KALLSYMS_MAX (256u << 20)

/* One list of symbols, shared by the kernel's image and those of its modules. */
struct kernel_symbols {
	struct kernel_symbols *next;
	char *path;
	struct buf text; /* names point into it */
	struct kallsyms list;
	struct err err;
};

void kernel_symbols_free(struct kernel_symbols *k)
{
	while (k) {
		struct kernel_symbols *next = k->next;

		buf_free(&k->text);
		kallsyms_free(&k->list);
		free(k->path);
		free(k);
		k = next;
	}
}

/* ---- the list --------------------------------------------------------------------------- */

/* The list in that file, read once. Its own failure is in its err. */
static struct kernel_symbols *symbols_in(struct images *set, const char *path)
{
	bool named = set->opts.kallsyms || strcmp(path, "/proc/kallsyms") != 0;
	struct kernel_symbols *k;

	for (k = set->kernel; k; k = k->next)
		if (!strcmp(k->path, path))
			return k;
	k = xcalloc(1, sizeof(*k));
	k->path = xstrdup(path);
	k->next = set->kernel;
	set->kernel = k;
	if (!(named ? file_slurp(&k->text, path, KALLSYMS_MAX, &k->err)
		    : images_slurp(set, &k->text, path, KALLSYMS_MAX, &k->err)))
		kallsyms_parse(&k->list, k->text.s, k->text.len);
	return k;
}

/* ---- which one -------------------------------------------------------------------------- */

static bool is_guest(const struct image *im)
{
	return im->key.guest || !strncmp(im->key.path, "[guest", 6);
}

/* The build-id of the running code: the kernel's, or a module's. */
static size_t running_id(const struct images *set, struct image *im, const char *module,
			 uint8_t id[BUILD_ID_MAX])
{
	struct err why = ERR_INIT;
	struct buf text = BUF_INIT;
	const uint8_t *found = NULL;
	char path[512] = "/sys/kernel/notes";
	size_t n = 0;

	if (module)
		(void)snprintf(path, sizeof(path), "/sys/module/%.200s/notes/.note.gnu.build-id",
			       module);
	if (!images_slurp(set, &text, path, 65536, &why) && text.s)
		n = elf_note_build_id((const uint8_t *)text.s, text.len, false, &found);
	image_failed(im, &why);
	if (n > BUILD_ID_MAX)
		n = BUILD_ID_MAX;
	if (n)
		memcpy(id, found, n);
	buf_free(&text);
	return n;
}

/* Only looks: the list is opened when it is read, and judged again. */
static bool cached_kallsyms(const struct images *set, const struct image *im, char *path,
			    size_t size)
{
	char hex[BUILD_ID_MAX * 2 + 1];
	int n;

	if (!set->opts.home || !im->key.build_id_len)
		return false;
	text_hex(hex, im->key.build_id, im->key.build_id_len);
	n = snprintf(path, size, "%s/.debug/.build-id/%.2s/%s/kallsyms", set->opts.home, hex,
		     hex + 2);
	if (n > 0 && (size_t)n < size && file_is_regular(path))
		return true;
	path[0] = '\0';
	return false;
}

/* Chooses the list for an image; an empty path: none, and the origin has the reason. */
static void choose_list(const struct images *set, struct image *im, char *path, size_t size)
{
	uint8_t id[BUILD_ID_MAX];
	size_t n;

	path[0] = '\0';
	if (is_guest(im)) {
		buf_printf(&im->origin, "%s: the guest's symbols are not on this machine",
			   im->key.path);
		return;
	}
	if (set->opts.kallsyms) {
		(void)snprintf(path, size, "%s", set->opts.kallsyms);
		return;
	}
	n = running_id(set, im, NULL, id);
	if (im->key.kind == IMAGE_KERNEL && im->key.build_id_len) {
		im->verified = same_build_id(id, n, im->key.build_id, im->key.build_id_len);
		if (!im->verified && cached_kallsyms(set, im, path, size)) {
			im->verified = true;
			return;
		}
		if (!im->verified) {
			im->refused = true;
			buf_puts(&im->origin, "the running kernel has ");
			image_put_ids(&im->origin, im, id, n);
			buf_puts(&im->origin, ": /proc/kallsyms not used");
			return;
		}
	} else if (!im->key.build_id_len && set->opts.other_kernel) {
		/* without a build-id, other facts about the recorded kernel decide: noted once, not
		 * for each module */
		im->refused = im->key.kind == IMAGE_KERNEL;
		buf_printf(&im->origin,
			   "%s, and it has no build-id of its kernel: /proc/kallsyms not used",
			   set->opts.other_kernel);
		return;
	}
	(void)snprintf(path, size, "/proc/kallsyms");
}

/* ---- the kernel ------------------------------------------------------------------------- */

/* The reference symbol's name stands behind the image's: "[kernel.kallsyms]_text". */
static const char *reference_name(const struct image *im)
{
	const char *end = strchr(im->key.path, ']');

	return end && end[1] ? end + 1 : "_text";
}

/* The kernel lists several names of one address in an order of its own; perf shows the last one
 * (__x64_sys_sync, where __do_sys_sync and __ia32_sys_sync come before it). */
static bool has_later_name(const struct kallsyms *l, size_t i)
{
	return i + 1 < l->n && l->sym[i + 1].addr == l->sym[i].addr &&
	       !l->sym[i + 1].module == !l->sym[i].module;
}

static void fill_kernel(const struct images *set, struct image *im, const struct kernel_symbols *k)
{
	const char *name = reference_name(im);
	uint64_t last = 0, ref = 0; /* where the list has the reference symbol; 0: nowhere */

	for (size_t i = 0; i < k->list.n; i++) {
		const struct kallsyms_sym *s = &k->list.sym[i];

		if (s->module)
			continue;
		if (!ref && !strcmp(s->name, name))
			ref = s->addr;
		if (s->addr > last)
			last = s->addr;
	}
	/* by how far the recorded kernel was moved against the list */
	im->delta = im->key.reloc && ref ? im->key.reloc - ref : 0;
	if (im->delta && !im->verified && !set->opts.kallsyms) {
		im->refused = true;
		buf_printf(
			&im->origin,
			"the recorded kernel lay at another address than the running one: it is of "
			"another boot, and the recording has no build-id of its kernel: %s not "
			"used",
			k->path);
		return;
	}
	vec_xreserve(&im->list.raw, k->list.n);
	for (size_t i = 0; i < k->list.n; i++) {
		const struct kallsyms_sym *s = &k->list.sym[i];

		/* modules have images of their own, and did not move with the kernel */
		if (s->module || has_later_name(&k->list, i))
			continue;
		image_add_symbol(im, s->addr + im->delta, 0, s->name);
		/* memory behind the kernel is not its last symbol's */
		if (s->addr == last)
			im->list.raw.v[im->list.raw.n - 1].size = 4096;
	}
	if (im->verified && ref) {
		im->keep_as = "kernel";
		im->keep_base = ref + im->delta;
	}
	buf_puts(&im->origin, k->path);
	if (im->delta)
		buf_printf(&im->origin, " moved by 0x%llx", (unsigned long long)im->delta);
	image_say_verified(im);
}

/* ---- modules ---------------------------------------------------------------------------- */

/* Symbols of a module within its recorded addresses. If the module was loaded anew, it lies
 * elsewhere, and its symbols are useless. */
static void fill_module(struct image *im, const struct kernel_symbols *k)
{
	uint64_t end = im->key.start + im->key.len;
	size_t outside = 0, n = 0;

	for (size_t i = 0; i < k->list.n; i++) {
		const struct kallsyms_sym *s = &k->list.sym[i];

		if (!s->module || strcmp(s->module, im->name) != 0)
			continue;
		if (im->key.len && (s->addr < im->key.start || s->addr >= end)) {
			outside += strchr("Tt", s->type) != NULL;
			continue;
		}
		n++;
		if (has_later_name(&k->list, i))
			continue;
		image_add_symbol(im, s->addr, 0, s->name);
		im->list.raw.v[im->list.raw.n - 1].size = im->key.len ? end - s->addr : 4096;
	}
	if (n) {
		buf_puts(&im->origin, k->path);
		image_say_verified(im);
	} else if (outside) {
		buf_printf(&im->origin, "%s: %s is loaded elsewhere now: not used", k->path,
			   im->name);
	} else {
		buf_printf(&im->origin, "%s: %s is not loaded now; .ko files are not read", k->path,
			   im->name);
	}
}

/* Whether the module that is loaded here may be taken for the recorded one. */
static bool module_fits(const struct images *set, struct image *im)
{
	uint8_t id[BUILD_ID_MAX];
	char name[256];
	size_t n, len = strlen(im->name);

	if (!im->key.build_id_len || len < 3)
		return true;
	(void)snprintf(name, sizeof(name), "%.*s", (int)len - 2, im->name + 1);
	n = strchr(name, '/') ? 0 : running_id(set, im, name, id);
	if (!n)
		return true; /* not loaded, or it has none: its address must decide */
	im->verified = same_build_id(id, n, im->key.build_id, im->key.build_id_len);
	if (im->verified)
		return true;
	im->refused = true;
	buf_printf(&im->origin, "the loaded module %s has ", im->name);
	image_put_ids(&im->origin, im, id, n);
	buf_puts(&im->origin, ": not used");
	return false;
}

/* Symbols kept when the recorded kernel was the running one. */
static bool load_kept(const struct images *set, struct image *im)
{
	uint64_t base;

	if (im->key.kind != IMAGE_KERNEL || !im->key.build_id_len || !im->key.reloc ||
	    is_guest(im) || !image_load_cached(set, im, "kernel", &base))
		return false;
	im->delta = im->key.reloc - base;
	for (size_t i = 0; i < im->table.n; i++)
		im->table.sym[i].start += im->delta;
	buf_reset(&im->origin);
	buf_puts(&im->origin, "symbols kept when this kernel ran here, build-id verified");
	im->verified = true;
	im->refused = false;
	return true;
}

void image_load_kernel(struct images *set, struct image *im)
{
	const struct kernel_symbols *k;
	char path[4096];

	/* the same build-id is the same list, wherever it was moved to: 2 ms instead of 50 */
	if (!set->opts.kallsyms && load_kept(set, im))
		return;
	choose_list(set, im, path, sizeof(path));
	/* a loaded module vouches for this machine's list alone */
	if (!path[0] ||
	    (!set->opts.kallsyms && im->key.kind == IMAGE_MODULE && !module_fits(set, im)))
		return;
	(void)pthread_mutex_lock(&set->lock);
	k = symbols_in(set, path);
	(void)pthread_mutex_unlock(&set->lock);
	image_failed(im, &k->err);
	if (k->err.code == ERR_NONE && k->list.n && !k->list.hidden) {
		if (im->key.kind == IMAGE_MODULE)
			fill_module(im, k);
		else
			fill_kernel(set, im, k);
		return;
	}
	if (k->list.hidden)
		buf_printf(&im->origin,
			   "%s shows no addresses; try as root, or: sysctl "
			   "kernel.kptr_restrict=0",
			   path);
	else if (k->err.code != ERR_NONE)
		buf_puts(&im->origin, k->err.what);
	else
		buf_printf(&im->origin, "%s: no symbols", path);
	if (set->opts.kallsyms && im->key.kind == IMAGE_KERNEL && !im->trouble.len)
		buf_puts(&im->trouble, buf_str(&im->origin));
}

/* ---- vmlinux ---------------------------------------------------------------------------- */

static void try_vmlinux(struct images *set, struct image *im)
{
	static const char *const form[] = {
		"/usr/lib/debug/boot/vmlinux-%s",
		"/usr/lib/debug/lib/modules/%s/vmlinux",
		"/boot/vmlinux-%s",
		"/lib/modules/%s/build/vmlinux",
		"/usr/lib/debug/boot/vmlinux-%s.debug",
		"/lib/modules/%s/vmlinux",
	};
	struct utsname u;

	/* without a build-id any kernel would do, and the list of the running one is nearer */
	if (!im->key.build_id_len || uname(&u))
		return;
	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		const char *hole = strchr(form[i], '%');
		char path[4096];
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)(hole - form[i]), form[i],
				 u.release, hole + 2);

		if (n > 0 && (size_t)n < sizeof(path))
			image_try_file(set, im, set->opts.sysroot, path, false);
	}
}

void image_locate_kernel(struct images *set, struct image *im)
{
	uint64_t at;

	if (im->key.kind == IMAGE_MODULE)
		return;
	if (set->opts.vmlinux && !is_guest(im)) {
		image_try_file(set, im, NULL, set->opts.vmlinux, true);
		if (!im->syms.path && !im->trouble.len)
			buf_printf(&im->trouble,
				   "%s: not used: no file with symbols, or not of the kernel that "
				   "was recorded (build-id)",
				   set->opts.vmlinux);
	}
	/* a list that the user named overrides any that would be found */
	if (set->opts.kallsyms && !is_guest(im) && !im->syms.path)
		return;
	image_try_by_id(set, im);
	if (!is_guest(im))
		try_vmlinux(set, im);
	if (im->syms.path && im->key.reloc &&
	    elf_symbol_value(&im->syms.elf, reference_name(im), &at))
		im->delta = im->key.reloc - at;
}

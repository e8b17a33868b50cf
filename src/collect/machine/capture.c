/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "collect/holders.h"
#include "collect/machine.h"
#include "collect/sysfs.h"

const char *const capture_containers[] = { "docker", "kubepods",      "lxc", "containerd",
					   "libpod", "machine.slice", NULL };

struct capture {
	const char *root, *release;
	char temp[PATH_MAX];
	const volatile sig_atomic_t *stop;
	char text[SYS_TEXT_MAX];
	struct arena names; /* of the row at hand */
	struct capture_stats stats;
	struct err *err;
};

/* Filters of a text; `out` is written. */
typedef void filter_fn(struct buf *out, const char *text);

struct row {
	const char *path;
	filter_fn *filter; /* NULL: a directory is made, if there is one */
};

/* ---- filters ---------------------------------------------------------------------------- */

/* Lines with one of the keys before `sep`. */
static void keep_lines(struct buf *out, const char *text, char sep, bool (*want)(const char *key))
{
	while (*text) {
		const char *end = strchrnul(text, '\n');
		const char *at = memchr(text, sep, (size_t)(end - text));
		size_t len = at ? (size_t)(at - text) : 0;
		char key[64];

		while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
			len--;
		if (len && len < sizeof(key)) {
			memcpy(key, text, len);
			key[len] = '\0';
			if (want(key)) {
				buf_put(out, text, (size_t)(end - text));
				buf_putc(out, '\n');
			}
		} else if (end == text) {
			buf_putc(out, '\n');
		}
		text = *end ? end + 1 : end;
	}
}

static void filter_all(struct buf *out, const char *text)
{
	buf_puts(out, text);
	if (*text)
		buf_putc(out, '\n');
}

static void filter_there(struct buf *out, const char *text)
{
	(void)out, (void)text;
}

/* Small Arm boards have their serial number there. */
static bool no_serial(const char *key)
{
	return !strcasestr(key, "serial") && !strcasestr(key, "uuid");
}

static void filter_cpuinfo(struct buf *out, const char *text)
{
	keep_lines(out, text, ':', no_serial);
}

static bool count_total(const char *key)
{
	return !strcmp(key, "MemTotal");
}

static void filter_meminfo(struct buf *out, const char *text)
{
	keep_lines(out, text, ':', count_total);
}

static bool node_total(const char *key)
{
	return !strncmp(key, "Node ", 5) && (strstr(key, " MemTotal") || strstr(key, " MemFree"));
}

static void filter_node_meminfo(struct buf *out, const char *text)
{
	keep_lines(out, text, ':', node_total);
}

static bool rights(const char *key)
{
	return !strcmp(key, "CapEff") || !strcmp(key, "Seccomp");
}

static void filter_status(struct buf *out, const char *text)
{
	keep_lines(out, text, ':', rights);
}

static bool distribution(const char *key)
{
	return !strcmp(key, "ID") || !strcmp(key, "ID_LIKE") || !strcmp(key, "VERSION_ID");
}

static void filter_os_release(struct buf *out, const char *text)
{
	keep_lines(out, text, '=', distribution);
}

/* Whether addresses are shown, and none of them. */
static void filter_kallsyms(struct buf *out, const char *text)
{
	buf_puts(out, !strncmp(text, "0000000000000000", 16) ? "0000000000000000 T hidden\n"
							     : "ffffffffffffffff T shown\n");
}

/* Which kind of container, and not whose. */
static void filter_cgroup(struct buf *out, const char *text)
{
	for (size_t i = 0; capture_containers[i]; i++)
		if (strstr(text, capture_containers[i])) {
			buf_printf(out, "0::/%s\n", capture_containers[i]);
			return;
		}
	buf_puts(out, "0::/\n");
}

#define filter_directory NULL

static const struct row rows[] = {
#define CAPTURE(path, filter) { path, filter_##filter },
#include "collect/machine/capture.def"
#undef CAPTURE
};

bool capture_filter(struct buf *out, const char *path, const char *text)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].path, path) && rows[i].filter) {
			rows[i].filter(out, text);
			return true;
		}
	return false;
}

/* ---- writing ---------------------------------------------------------------------------- */

static int make_parents(struct capture *c, const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash)
		return 0;
	if (snprintf(dir, sizeof(dir), "%s/%.*s", c->temp, (int)(slash - path), path) >=
	    (int)sizeof(dir))
		return err_set(c->err, ERR_LIMIT, "%s: the path is too long", path);
	return !file_look(dir, NULL) ? dir_make_all(dir, 0755, c->err) : 0;
}

static int write_text(struct capture *c, const char *path, const char *text, size_t len)
{
	char full[PATH_MAX];
	int fd, rc;

	if (c->stats.files >= CAPTURE_FILES_MAX || c->stats.bytes + len > CAPTURE_BYTES_MAX)
		return err_set(c->err, ERR_LIMIT, "%s/: more than %u files or %u MB: no machine",
			       c->root, CAPTURE_FILES_MAX, CAPTURE_BYTES_MAX >> 20);
	if (make_parents(c, path))
		return -1;
	if (snprintf(full, sizeof(full), "%s/%s", c->temp, path) >= (int)sizeof(full))
		return err_set(c->err, ERR_LIMIT, "%s: the path is too long", path);
	fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(c->err, "%s", full);
	rc = fd_write_all(fd, text, len, full, c->err);
	if (close(fd) && !rc)
		rc = err_sys(c->err, "%s", full);
	c->stats.files++;
	c->stats.bytes += len;
	return rc;
}

static void note_unread(struct capture *c, const char *path)
{
	if (!c->stats.unread++)
		(void)snprintf(c->stats.first_unread, sizeof(c->stats.first_unread), "%s", path);
}

static int take_directory(struct capture *c, const char *path)
{
	char inside[PATH_MAX];

	if (!sys_exists(c->root, "%s/.", path))
		return 0;
	if (snprintf(inside, sizeof(inside), "%s/x", path) >= (int)sizeof(inside))
		return 0;
	return make_parents(c, inside);
}

static int take_file(struct capture *c, const struct row *r, const char *path)
{
	struct buf b = BUF_INIT;
	int rc = 0;

	if (*c->stop)
		return err_set(c->err, ERR_IO, "ended by a signal");
	if (r->filter == filter_there)
		return sys_exists(c->root, "%s", path) ? write_text(c, path, "", 0) : 0;
	if (sys_read(c->text, sizeof(c->text), c->root, "%s", path) < 0) {
		/* some files cannot be read at all: a CPU without such a cache */
		if (errno == EACCES || errno == EPERM)
			note_unread(c, path);
		return 0;
	}
	r->filter(&b, c->text);
	rc = b.failed ? err_nomem(c->err) : write_text(c, path, buf_str(&b), b.len);
	buf_free(&b);
	return rc;
}

/* ---- finding ---------------------------------------------------------------------------- */

/* `done`: the part of the pattern that was found already. */
static int expand(struct capture *c, const struct row *r, const char *done, const char *pattern)
{
	const char *end = strchrnul(pattern, '/');
	const char *const *name;
	char path[PATH_MAX], part[256];
	size_t n;

	if (!memchr(pattern, '*', (size_t)(end - pattern))) {
		if (snprintf(path, sizeof(path), "%s%s%.*s", done, *done ? "/" : "",
			     (int)(end - pattern), pattern) >= (int)sizeof(path))
			return 0;
		if (*end)
			return expand(c, r, path, end + 1);
		return !r->filter ? take_directory(c, path) : take_file(c, r, path);
	}
	if ((size_t)(end - pattern) >= sizeof(part) ||
	    !sys_names(&c->names, &name, &n, c->root, "%s", done)) {
		if (errno == EACCES || errno == EPERM)
			note_unread(c, done);
		return 0;
	}
	memcpy(part, pattern, (size_t)(end - pattern));
	part[end - pattern] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (fnmatch(part, name[i], 0) || snprintf(path, sizeof(path), "%s/%s%s", done,
							  name[i], end) >= (int)sizeof(path))
			continue;
		if (expand(c, r, "", path))
			return -1;
	}
	return 0;
}

static int capture_row(struct capture *c, const struct row *r)
{
	const char *percent = strchr(r->path, '%');
	char path[PATH_MAX];
	int rc;

	if (percent) {
		if (!c->release || strchr(c->release, '/') ||
		    snprintf(path, sizeof(path), "%.*s%s%s", (int)(percent - r->path), r->path,
			     c->release, percent + 1) >= (int)sizeof(path))
			return 0;
		return take_file(c, r, path);
	}
	rc = expand(c, r, "", r->path);
	arena_free(&c->names);
	return rc;
}

/* Facts of the CPU itself and of uname. */
static int write_facts(struct capture *c, const struct machine *m)
{
	struct buf b = BUF_INIT;
	struct holders h;
	int rc = 0;

	if (m->arch) {
		buf_printf(&b, "%s\n", m->arch);
		rc = b.failed ? err_nomem(c->err)
			      : write_text(c, "proc/sys/kernel/arch", buf_str(&b), b.len);
		buf_reset(&b);
	}
	if (rc || *c->root)
		goto out;
	holders_read(&h, c->root, "cpu");
	if (m->hypervisor)
		buf_printf(&b, "hypervisor: %s\n", m->hypervisor);
	if (h.general)
		buf_printf(&b, "counters: %u\n", h.general);
	if (h.fixed)
		buf_printf(&b, "fixed counters: %u\n", h.fixed);
	if (h.fabric)
		buf_printf(&b, "fabric counters: %u\n", h.fabric);
	rc = b.failed ? err_nomem(c->err) : write_text(c, "cyclade/facts", buf_str(&b), b.len);
out:
	buf_free(&b);
	return rc;
}

/* ---- all of it -------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

static int open_temp(struct capture *c, const char *dir)
{
	struct stat st;
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (!lstat(dir, &st)) {
		(void)err_set(c->err, ERR_USAGE, "%s is there already", dir);
		return err_hint(c->err, "name a directory that is not: nothing is overwritten");
	}
	if (snprintf(c->temp, sizeof(c->temp), "%.*s.XXXXXX", (int)len, dir) >=
	    (int)sizeof(c->temp))
		return err_set(c->err, ERR_LIMIT, "%s: the path is too long", dir);
	if (!mkdtemp(c->temp)) {
		c->temp[0] = '\0';
		return err_sys(c->err, "%s", dir);
	}
	return chmod(c->temp, 0755) ? err_sys(c->err, "%s", c->temp) : 0;
}

static int rename_capture(struct capture *c, const char *dir)
{
	if (renameat2(AT_FDCWD, c->temp, AT_FDCWD, dir, RENAME_NOREPLACE) == 0)
		return 0;
	/* a file system that cannot promise it; an empty directory at most is replaced */
	if ((errno != EINVAL && errno != ENOSYS) || rename(c->temp, dir))
		return err_sys(c->err, "%s", dir);
	return 0;
}

int capture_make(struct capture_stats *out, const char *root, const char *dir,
		 const volatile sig_atomic_t *stop, struct err *err)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct arena a = ARENA_INIT;
	struct machine m;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (!c)
		return err_nomem(err);
	c->root = root;
	c->stop = stop;
	c->err = err;
	if (machine_read(&m, &a, root, err) || open_temp(c, dir))
		goto out;
	c->release = m.release;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (capture_row(c, &rows[i]))
			goto out;
	if (write_facts(c, &m) || rename_capture(c, dir))
		goto out;
	*out = c->stats;
	rc = 0;
out:
	if (rc && c->temp[0])
		(void)nftw(c->temp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_free(&a);
	arena_free(&c->names);
	free(c);
	return rc;
}

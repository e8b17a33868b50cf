/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/sampling/sampling_object.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file_in.h"
#include "collect/sysfs.h"

#define FDS_MOST  3	     /* descriptors of one poll, select or epoll that are named */
#define FDS_READ  64u	     /* ... and looked at */
#define FD_MOST	  (1u << 20) /* a larger number is no descriptor */
#define NET_MOST  (1u << 20) /* bytes of a table of sockets */
#define INFO_MOST 4096
#define LOW_SP	  (1ULL << 32) /* the stack of a 32-bit program, whose calls have other numbers */

/* Calls that are not on every machine. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 (-2)
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait (-2)
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif
#ifndef SYS_poll
#define SYS_poll (-2)
#endif
#ifndef SYS_select
#define SYS_select (-2)
#endif

static const struct {
	long number;
	const char *name;
} call_numbers[] = {
#define CALL(name, kind, arg) { SYS_##name, #name },
#include "perfdata/wait_call.def"
#undef CALL
};

bool object_call(struct object_call *c, uint32_t tid)
{
	char text[256];
	uint64_t *a = c->arg;

	memset(c, 0, sizeof(*c));
	if (sys_read(text, sizeof(text), "", "proc/%u/syscall", tid) <= 0)
		return false;
	return sscanf(text,
		      "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		      " %" SCNx64 " %" SCNx64,
		      &c->number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &c->sp, &c->pc) == 9 &&
	       c->number >= 0;
}

bool object_same_call(const struct object_call *a, const struct object_call *b)
{
	return a->number == b->number && !memcmp(a->arg, b->arg, sizeof(a->arg)) &&
	       a->sp == b->sp && a->pc == b->pc;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* "0100007F": the address in the machine's order, by words of 4 bytes. */
static void put_address(struct buf *b, const char *hex, unsigned port)
{
	size_t n = strlen(hex);
	uint8_t byte[16];
	unsigned word;

	if (n != 8 && n != 32)
		return;
	for (size_t i = 0; i < n / 8; i++) {
		if (sscanf(hex + 8 * i, "%8x", &word) != 1)
			return;
		memcpy(byte + 4 * i, &word, 4);
	}
	if (n == 8) {
		buf_printf(b, "%u.%u.%u.%u:%u", byte[0], byte[1], byte[2], byte[3], port);
		return;
	}
	buf_putc(b, '[');
	for (size_t i = 0; i < 16; i += 2)
		buf_printf(b, "%s%x", i ? ":" : "", (unsigned)(byte[i] << 8 | byte[i + 1]));
	buf_printf(b, "]:%u", port);
}

#define TCP_LISTEN 10u

/* A line of /proc/net/tcp and its like. */
static bool take_inet(struct buf *b, const char *line, const char *name, uint64_t inode)
{
	char local[33], remote[33];
	unsigned port, to, state;
	uint64_t mine;

	if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*u %*u %" SCNu64,
		   local, &port, remote, &to, &state, &mine) != 6 ||
	    mine != inode)
		return false;
	buf_printf(b, " %s ", name);
	put_address(b, local, port);
	if (to) {
		buf_puts(b, " to ");
		put_address(b, remote, to);
	} else if (state == TCP_LISTEN) {
		buf_puts(b, " listening");
	}
	return true;
}

static bool take_unix(struct buf *b, const char *line, uint64_t inode)
{
	uint64_t mine;
	int path = 0;

	if (sscanf(line, "%*[^:]: %*x %*x %*x %*x %*x %" SCNu64 "%n", &mine, &path) != 1 ||
	    mine != inode)
		return false;
	buf_puts(b, " unix");
	if (line[path] == ' ' && line[path + 1])
		buf_printf(b, " %.108s", line + path + 1);
	return true;
}

static bool scan_sockets(struct buf *out, uint32_t pid, const char *name, uint64_t inode)
{
	struct buf text = BUF_INIT;
	char path[64], *line, *save = NULL;
	bool found = false, local = !strcmp(name, "unix");

	(void)snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, name);
	if (file_slurp(&text, path, NET_MOST, NULL) || !text.len) {
		buf_free(&text);
		return false;
	}
	for (line = strtok_r(text.s, "\n", &save); line && !found;
	     line = strtok_r(NULL, "\n", &save))
		found = local ? take_unix(out, line, inode) : take_inet(out, line, name, inode);
	buf_free(&text);
	return found;
}

/* Whether a socket's name stays as it is: connected, listening or local. */
static bool stays(const char *name)
{
	return strstr(name, " to ") || strstr(name, " listening") || strstr(name, " unix");
}

/* What the kernel's tables have about the socket. */
static void put_socket(struct buf *out, uint32_t pid, uint64_t inode, struct object_sockets *s)
{
	static const char *const tables[] = { "unix", "tcp", "tcp6", "udp", "udp6" };
	const uint64_t *known = u64map_find(&s->at, inode);
	size_t from = out->len;
	uint64_t *at;
	uint32_t id;

	if (known) {
		buf_puts(out, strtab_get(&s->text, (uint32_t)*known));
		return;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (scan_sockets(out, pid, tables[i], inode))
			break;
	if (out->failed || !stays(buf_str(out) + from))
		return;
	id = strtab_add(&s->text, buf_str(out) + from, out->len - from);
	at = id == STR_NONE ? NULL : u64map_at(&s->at, inode, NULL);
	if (at)
		*at = id;
}

/* The number behind a word of fdinfo. */
static bool info_number(const char *info, const char *word, uint64_t *out)
{
	const char *at = strstr(info, word);

	return at && sscanf(at + strlen(word), "%" SCNu64, out) == 1;
}

static void put_fd_of(struct buf *out, uint32_t pid, uint32_t fd, struct object_sockets *sockets,
		      unsigned depth);

struct fd_names { /* some of many */
	struct buf *out;
	uint32_t pid;
	struct object_sockets *sockets;
	unsigned n;
};

static void put_one_of(struct fd_names *l, uint32_t fd)
{
	size_t from;

	if (l->n++ >= FDS_MOST)
		return;
	buf_puts(l->out, l->n > 1 ? ", " : "");
	buf_printf(l->out, "fd %u: ", fd);
	from = l->out->len;
	put_fd_of(l->out, l->pid, fd, l->sockets, 1);
	if (l->out->len == from)
		buf_puts(l->out, "not known");
}

static void put_rest_of(const struct fd_names *l)
{
	if (l->n > FDS_MOST)
		buf_printf(l->out, ", %u more", l->n - FDS_MOST);
}

static void put_epoll(struct buf *out, uint32_t pid, const char *info,
		      struct object_sockets *sockets)
{
	struct fd_names l = { .out = out, .pid = pid, .sockets = sockets };
	uint64_t fd;

	buf_puts(out, "epoll");
	for (const char *at = strstr(info, "tfd:"); at; at = strstr(at + 4, "tfd:")) {
		if (!info_number(at, "tfd:", &fd) || fd > FD_MOST)
			continue;
		buf_puts(out, l.n ? "" : " of ");
		put_one_of(&l, (uint32_t)fd);
	}
	put_rest_of(&l);
}

/* What has no inode of its own: fdinfo distinguishes it. */
static void put_anon(struct buf *out, uint32_t pid, uint32_t fd, const char *name,
		     struct object_sockets *sockets, unsigned depth)
{
	char info[INFO_MOST];
	uint64_t n;

	if (sys_read(info, sizeof(info), "", "proc/%u/fdinfo/%u", pid, fd) <= 0)
		info[0] = '\0';
	if (strstr(name, "[eventpoll]") && !depth) {
		put_epoll(out, pid, info, sockets);
	} else if (strstr(name, "[eventfd]") && info_number(info, "eventfd-id:", &n)) {
		buf_printf(out, "eventfd %" PRIu64, n);
	} else if (strstr(name, "[pidfd]") && info_number(info, "Pid:", &n)) {
		buf_printf(out, "process %" PRIu64, n);
	} else {
		name += *name == '[';
		buf_printf(out, "%.*s", (int)strcspn(name, "]"), name);
	}
}

static void put_fd_of(struct buf *out, uint32_t pid, uint32_t fd, struct object_sockets *sockets,
		      unsigned depth)
{
	static const char anon[] = "anon_inode:";
	char path[64], to[PATH_MAX];
	uint64_t inode;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
	n = readlink(path, to, sizeof(to) - 1);
	if (n <= 0)
		return;
	to[n] = '\0';
	if (!strncmp(to, anon, sizeof(anon) - 1)) {
		put_anon(out, pid, fd, to + sizeof(anon) - 1, sockets, depth);
		return;
	}
	if (!strncmp(to, "pidfd:", 6)) { /* since Linux 6.9 */
		put_anon(out, pid, fd, "[pidfd]", sockets, depth);
		return;
	}
	buf_puts(out, to);
	if (sscanf(to, "socket:[%" SCNu64, &inode) == 1)
		put_socket(out, pid, inode, sockets);
}

void object_fd(struct buf *out, uint32_t pid, uint32_t fd, struct object_sockets *sockets)
{
	if (fd <= FD_MOST)
		put_fd_of(out, pid, fd, sockets, 0);
}

/* ---- several ---------------------------------------------------------------------------------
 */

static bool read_memory(uint32_t pid, uint64_t from, void *to, size_t len)
{
	struct iovec mine = { to, len }, its = { (void *)(uintptr_t)from, len };

	return process_vm_readv((pid_t)pid, &mine, 1, &its, 1, 0) == (ssize_t)len;
}

static void put_polled(struct fd_names *l, const struct object_call *c)
{
	struct pollfd v[FDS_READ];
	uint64_t n = c->arg[1];

	if (!n || n > FDS_READ || !read_memory(l->pid, c->arg[0], v, n * sizeof(*v)))
		return;
	for (uint64_t i = 0; i < n; i++)
		if (v[i].fd >= 0)
			put_one_of(l, (uint32_t)v[i].fd);
}

static void put_selected(struct fd_names *l, const struct object_call *c)
{
	uint64_t n = c->arg[0], words = (n + 63) / 64, set[FD_SETSIZE / 64], all[FD_SETSIZE / 64];

	if (!n || n > FD_SETSIZE)
		return;
	memset(all, 0, sizeof(all));
	for (size_t i = 1; i <= 3; i++) {
		if (!c->arg[i])
			continue;
		if (!read_memory(l->pid, c->arg[i], set, words * 8))
			return;
		for (uint64_t k = 0; k < words; k++)
			all[k] |= set[k];
	}
	for (uint32_t fd = 0; fd < n; fd++)
		if (all[fd / 64] >> fd % 64 & 1)
			put_one_of(l, fd);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const char *call_name(long number)
{
	for (size_t i = 0; i < sizeof(call_numbers) / sizeof(*call_numbers); i++)
		if (call_numbers[i].number == number)
			return call_numbers[i].name;
	return "";
}

void object_find(struct object *o, const struct object_call *c, uint32_t pid, struct buf *text,
		 struct object_sockets *sockets)
{
	const char *name = c->sp < LOW_SP ? "" : call_name(c->number);
	struct fd_names l = { .out = text, .pid = pid, .sockets = sockets };
	unsigned arg;

	o->kind = pd_call_object(name, strlen(name), &arg);
	o->value = c->arg[arg];
	if (o->kind == PD_OBJECT_FD) {
		o->value &= UINT32_MAX;
		object_fd(text, pid, (uint32_t)o->value, sockets);
	} else if (o->kind == PD_OBJECT_FDS) {
		o->value = 0;
		if (strstr(name, "poll"))
			put_polled(&l, c);
		else
			put_selected(&l, c);
		put_rest_of(&l);
	} else if (o->kind != PD_OBJECT_ADDRESS) {
		o->value = (uint64_t)(int64_t)(int32_t)o->value;
	}
}

/* Version 2: "20000 100000", none: "max 100000". Version 1: "20000", none: "-1". */
static bool has_quota(const char *hierarchy, const char *path)
{
	static const char v2[] = "cpu.max", v1[] = "cpu.cfs_quota_us";
	char text[64];

	return sys_read(text, sizeof(text), "", "sys/fs/cgroup%s%s%s/%s", *hierarchy ? "/" : "",
			hierarchy, path, *hierarchy ? v1 : v2) > 0 &&
	       strtoll(text, NULL, 10) > 0;
}

/* A line of /proc/PID/cgroup, "4:cpu,cpuacct:/a/b" or "0::/a/b": adds to how many have one. */
static unsigned count_quotas(char *line, char *found, size_t size)
{
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL, *slash;
	unsigned n = 0;

	if (!path || strstr(path, "/.."))
		return 0;
	*path++ = '\0';
	list++;
	if (*list && strncmp(list, "cpu", 3) != 0)
		return 0;
	for (; *path == '/' && path[1]; *slash = '\0') {
		slash = strrchr(path, '/');
		if (has_quota(list, path) && !n++)
			(void)snprintf(found, size, "%s", path);
	}
	return n;
}

void object_quota(struct buf *out, uint32_t tid)
{
	char text[2 * PATH_MAX], found[PATH_MAX] = "", *line, *save = NULL;
	unsigned n = 0;

	if (sys_read(text, sizeof(text), "", "proc/%u/cgroup", tid) <= 0)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		n += count_quotas(line, found, sizeof(found));
	if (n == 1)
		buf_puts(out, found);
}

void object_sockets_free(struct object_sockets *s)
{
	u64map_free(&s->at);
	strtab_free(&s->text);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"
#include "monitor/http_int.h"

#define QUEUE 128

/* A socket without a listener is in the way. */
static void remove_stale(const struct sockaddr_un *at)
{
	struct stat st;
	int fd;

	if (lstat(at->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) && errno == ECONNREFUSED)
		(void)unlink(at->sun_path);
	(void)close(fd);
}

static int listen_unix(struct http_socket *s, const char *path, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(err, ERR_USAGE, "--listen: a path has at most %zu bytes",
			       sizeof(at.sun_path) - 1);
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	remove_stale(&at);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0 || bind(s->fd, (const struct sockaddr *)&at, sizeof(at)))
		return err_sys(err, "--listen %s", path);
	(void)snprintf(s->path, sizeof(s->path), "%s", path);
	(void)snprintf(s->where, sizeof(s->where), "%s", path);
	if (chmod(path, 0660) || listen(s->fd, QUEUE))
		return err_sys(err, "--listen %s", path);
	return 0;
}

static bool is_loopback(const struct sockaddr *a)
{
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	if (a->sa_family == AF_INET) {
		memcpy(&in4, a, sizeof(in4));
		return ntohl(in4.sin_addr.s_addr) >> 24 == 127;
	}
	if (a->sa_family != AF_INET6)
		return false;
	memcpy(&in6, a, sizeof(in6));
	return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

static int bind_address(struct http_socket *s, const char *said, const struct addrinfo *a,
			bool remote, struct err *err)
{
	struct sockaddr_storage got;
	socklen_t len = sizeof(got);
	char host[64], port[16];
	int on = 1;

	if (!remote && !is_loopback(a->ai_addr)) {
		(void)err_set(err, ERR_USAGE, "--listen %.80s: others could read the metrics",
			      said);
		return err_hint(err, "listen on 127.0.0.1 and put a proxy with TLS and passwords "
				     "before it, or add --allow-remote");
	}
	s->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(s->fd, a->ai_addr, a->ai_addrlen) || listen(s->fd, QUEUE) ||
	    getsockname(s->fd, (struct sockaddr *)&got, &len))
		return err_sys(err, "--listen %.80s", said);
	if (getnameinfo((const struct sockaddr *)&got, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return err_set(err, ERR_IO, "--listen %.80s: where is that?", said);
	(void)snprintf(s->where, sizeof(s->where),
		       a->ai_family == AF_INET6 ? "http://[%s]:%s/" : "http://%s:%s/", host, port);
	return 0;
}

static int listen_inet(struct http_socket *s, const char *said, bool remote, struct err *err)
{
	const char *colon = strrchr(said, ':');
	size_t n = colon ? (size_t)(colon - said) : 0;
	struct addrinfo want = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				 .ai_socktype = SOCK_STREAM },
			*found = NULL;
	char host[64];
	uint64_t port;
	int rc;

	if (!colon || n >= sizeof(host) || num_parse_u64(&port, colon + 1, NULL) || port > 65535)
		goto bad;
	(void)snprintf(host, sizeof(host), "%.*s", (int)n, said);
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		memmove(host, host + 1, n - 2);
		host[n - 2] = '\0';
	}
	if (!*host || !strcmp(host, "localhost"))
		(void)snprintf(host, sizeof(host), "127.0.0.1");
	if (getaddrinfo(host, colon + 1, &want, &found) || !found)
		goto bad;
	rc = bind_address(s, said, found, remote, err);
	freeaddrinfo(found);
	return rc;
bad:
	(void)err_set(err, ERR_USAGE, "--listen %.80s: no address and port", said);
	return err_hint(err, "--listen :9900 (loopback), --listen [::1]:9900, --listen "
			     "/run/cyclade.sock");
}

int http_listen(struct http_socket *s, const char *listen, bool remote, struct err *err)
{
	int rc;

	*s = (struct http_socket){ .fd = -1 };
	rc = *listen == '/' ? listen_unix(s, listen, err) : listen_inet(s, listen, remote, err);
	if (rc)
		http_unlisten(s);
	return rc;
}

void http_unlisten(struct http_socket *s)
{
	if (s->fd >= 0)
		(void)close(s->fd);
	if (*s->path)
		(void)unlink(s->path);
	s->fd = -1;
	s->path[0] = '\0';
}

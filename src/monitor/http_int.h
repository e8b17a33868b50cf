/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http_int - a listening socket by its name (http_listen.c), parsing of requests (http_ask.c).
 */
#ifndef CYCLADE_MONITOR_HTTP_INT_H
#define CYCLADE_MONITOR_HTTP_INT_H

#include "monitor/http.h"
#include "show/html_page.h"

/* The page's script and style (web/src/monitor), as tools/embed_page.py writes them. */
extern const struct html_files monitor_page;

struct http_socket {
	int fd;
	char where[160];
	char path[108]; /* of a unix socket, removed at the end; "" */
};

int http_listen(struct http_socket *s, const char *listen, bool remote, struct err *err) MUST_USE;
void http_unlisten(struct http_socket *s);

/* The format that an Accept header (NULL: none) prefers. */
enum http_text http_accepted(const char *accept);
/* A Host header that is no name of the web; NULL: the request has none. */
bool http_host_is_here(const char *host);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http_client - the connections of the server, and which of them have to go.
 *
 * A connection has HTTP_HEAD for the whole head of a request, from its beginning or from the end of
 * the answer before, and HTTP_ANSWER for the answer; each byte that it sends or takes changes
 * nothing. One beyond HTTP_CONNECTIONS ends another: one without a complete head whose client has
 * closed its side already, or the one that has been without for longest, or if all have one, the
 * one whose answer takes longest. Thus clients that are slow or silent, or that come and leave,
 * never keep out one that asks at once and waits.
 *
 * A connection is ended by shutdown(); its owner sees the end of it and calls http_client_gone().
 * Times are nanoseconds of any clock that only goes forward. Not for several threads.
 */
#ifndef CYCLADE_MONITOR_HTTP_CLIENT_H
#define CYCLADE_MONITOR_HTTP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#define HTTP_CONNECTIONS 128
#define HTTP_LEAVING	 64 /* more that have been ended, until their owner sees it */
#define HTTP_HEAD	 UINT64_C(5000000000)
#define HTTP_ANSWER	 UINT64_C(30000000000)

struct http_client {
	int fd;
	enum { HTTP_NOBODY, HTTP_ASKING, HTTP_ANSWERED, HTTP_ENDED } state;
	uint64_t since; /* of the state */
};

struct http_clients {
	struct http_client all[HTTP_CONNECTIONS + HTTP_LEAVING];
	unsigned n; /* that are not ended */
};

/* NULL: there is no room; the connection has been shut down. */
struct http_client *http_client_new(struct http_clients *cs, int fd, uint64_t now);
/* The head of a request is complete, or its answer is. */
void http_client_asked(struct http_client *c, uint64_t now);
void http_client_rests(struct http_client *c, uint64_t now);
void http_client_gone(struct http_clients *cs, struct http_client *c);
/* Ends those whose time was over at `now`; returns when the next one's is, or UINT64_MAX. */
uint64_t http_clients_expire(struct http_clients *cs, uint64_t now);

#endif

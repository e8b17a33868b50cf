/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/http_client.h"

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

#define ALL (HTTP_CONNECTIONS + HTTP_LEAVING)

static void end_client(struct http_clients *cs, struct http_client *c)
{
	(void)shutdown(c->fd, SHUT_RDWR);
	c->state = HTTP_ENDED;
	cs->n--;
}

static struct http_client *oldest(struct http_clients *cs, unsigned state)
{
	struct http_client *found = NULL;

	for (unsigned i = 0; i < ALL; i++)
		if (cs->all[i].state == state && (!found || cs->all[i].since < found->since))
			found = &cs->all[i];
	return found;
}

/* The first whose client has left, and cannot be answered. */
static struct http_client *left(struct http_clients *cs)
{
	struct pollfd fds[ALL];

	for (unsigned i = 0; i < ALL; i++)
		fds[i] = (struct pollfd){ cs->all[i].state == HTTP_ASKING ? cs->all[i].fd : -1,
					  POLLRDHUP, 0 };
	if (poll(fds, ALL, 0) <= 0)
		return NULL;
	for (unsigned i = 0; i < ALL; i++)
		if (fds[i].revents)
			return &cs->all[i];
	return NULL;
}

struct http_client *http_client_new(struct http_clients *cs, int fd, uint64_t now)
{
	struct http_client *c = NULL, *victim;

	for (unsigned i = 0; i < ALL && !c; i++)
		if (cs->all[i].state == HTTP_NOBODY)
			c = &cs->all[i];
	if (!c) {
		(void)shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	if (cs->n >= HTTP_CONNECTIONS) {
		victim = left(cs);
		if (!victim)
			victim = oldest(cs, HTTP_ASKING);
		end_client(cs, victim ? victim : oldest(cs, HTTP_ANSWERED));
	}
	*c = (struct http_client){ fd, HTTP_ASKING, now };
	cs->n++;
	return c;
}

static void enter_client(struct http_client *c, unsigned state, uint64_t now)
{
	if (c->state == HTTP_ENDED)
		return;
	c->state = state;
	c->since = now;
}

void http_client_asked(struct http_client *c, uint64_t now)
{
	enter_client(c, HTTP_ANSWERED, now);
}

void http_client_rests(struct http_client *c, uint64_t now)
{
	enter_client(c, HTTP_ASKING, now);
}

void http_client_gone(struct http_clients *cs, struct http_client *c)
{
	if (c->state != HTTP_ENDED)
		cs->n--;
	c->state = HTTP_NOBODY;
}

uint64_t http_clients_expire(struct http_clients *cs, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < ALL; i++) {
		struct http_client *c = &cs->all[i];
		uint64_t due = c->since + (c->state == HTTP_ASKING ? HTTP_HEAD : HTTP_ANSWER);

		if (c->state == HTTP_NOBODY || c->state == HTTP_ENDED)
			continue;
		if (due <= now)
			end_client(cs, c);
		else if (due < next)
			next = due;
	}
	return next;
}

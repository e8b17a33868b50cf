/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/http.h"

#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/library.h"
#include "config.h"
#include "measure/counting.h"
#include "monitor/http_client.h"
#include "monitor/http_int.h"
#include "show/document.h"

#define MEMORY	((size_t)16384) /* of a connection: its request's head must fit */
#define LONGEST UINT64_C(3600000000000)

#define CALLS(CALL)                                                \
	CALL(MHD_, add_response_header)                            \
	CALL(MHD_, create_response_from_buffer)                    \
	CALL(MHD_, create_response_from_buffer_with_free_callback) \
	CALL(MHD_, destroy_response)                               \
	CALL(MHD_, get_connection_info)                            \
	CALL(MHD_, get_daemon_info)                                \
	CALL(MHD_, get_timeout)                                    \
	CALL(MHD_, lookup_connection_value)                        \
	CALL(MHD_, queue_response)                                 \
	CALL(MHD_, run)                                            \
	CALL(MHD_, start_daemon)                                   \
	CALL(MHD_, stop_daemon)

static struct {
	CALLS(LIBRARY_POINTER)
} mhd;
static const char *const names[] = { CALLS(LIBRARY_NAME) };
static struct library library =
	LIBRARY("--listen", MICROHTTPD_SO, names, mhd,
		"install libmicrohttpd (Debian: libmicrohttpd12); without it: cyclade monitor "
		"--format prometheus");

struct http {
	struct http_socket socket;
	struct MHD_Daemon *daemon;
	bool remote;
	struct http_clients clients; /* of the thread alone */
	pthread_t thread;
	bool runs;
	int stop;			       /* an eventfd: the thread is to end */
	pthread_mutex_t lock;		       /* of the members below */
	pthread_cond_t published;	       /* held is over */
	struct MHD_Response *text[HTTP_TEXTS]; /* of this interval; NULL: no request yet */
	http_make_fn *make;		       /* NULL: there is nothing to make them of */
	void *ctx;
	bool held; /* there soon is */
	struct MHD_Response *style;
};

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript><title>";
static const char page_title[] =
	" - cyclade monitor</title><link rel=\"stylesheet\" href=\"style.css\"></head>"
	"<body><main><h1>";
static const char page_body[] = " <small>cyclade monitor</small></h1>\n";
static const char page_tail[] =
	"<p>The same for Prometheus: <a href=\"metrics\">metrics</a></p></main><script>";
static const char page_end[] = "</script></body></html>\n";
static const char *const types[HTTP_TEXTS] = {
	"application/openmetrics-text; version=1.0.0; charset=utf-8",
	"text/plain; version=0.0.4; charset=utf-8",
	"text/html; charset=utf-8",
	"application/json; charset=utf-8",
	"application/json; charset=utf-8",
};

/* Returns a response of a text that stays. The library takes no const, and changes nothing. */
static struct MHD_Response *fixed(const char *s, size_t n)
{
	return mhd.create_response_from_buffer(n, (void *)(uintptr_t)s, MHD_RESPMEM_PERSISTENT);
}

/* The page's own script may run, by its hash, and may ask for the pages served here. */
static void add_headers(struct MHD_Response *r, const char *type)
{
	char policy[256];

	(void)snprintf(policy, sizeof(policy),
		       "default-src 'none'; script-src '%s'; connect-src 'self'; style-src 'self'; "
		       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		       monitor_page.script.hash);
	(void)mhd.add_response_header(r, "Content-Type", type);
	(void)mhd.add_response_header(r, "Content-Security-Policy", policy);
	(void)mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
	(void)mhd.add_response_header(r, "Referrer-Policy", "no-referrer");
	(void)mhd.add_response_header(r, "Cache-Control", "no-store");
	(void)mhd.add_response_header(r, "Vary", "Accept");
}

static enum MHD_Result say_plain(struct MHD_Connection *c, unsigned status, const char *words)
{
	struct MHD_Response *r = fixed(words, strlen(words));
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	add_headers(r, "text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)mhd.add_response_header(r, "Allow", "GET, HEAD");
	rc = mhd.queue_response(c, status, r);
	mhd.destroy_response(r);
	return rc;
}

/* The response owns the text then. */
static struct MHD_Response *respond(struct buf *b, const char *type)
{
	struct MHD_Response *r;

	if (b->failed || !b->s)
		return NULL;
	r = mhd.create_response_from_buffer_with_free_callback(b->len, b->s, free);
	if (!r)
		return NULL;
	*b = (struct buf)BUF_INIT;
	add_headers(r, type);
	return r;
}

/* The page is named after its machine. */
static void put_page_head(struct buf *b)
{
	struct utsname u;
	const char *host = uname(&u) ? "this machine" : u.nodename;

	buf_puts(b, page_head);
	html_text(b, host);
	buf_puts(b, page_title);
	html_text(b, host);
	buf_puts(b, page_body);
}

/* Under the lock; NULL: there is no interval yet, or no memory. */
static struct MHD_Response *response_text_of(struct http *h, enum http_text which)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;

	while (!h->text[which] && h->held)
		(void)pthread_cond_wait(&h->published, &h->lock);
	if (h->text[which] || !h->make)
		return h->text[which];
	if (which == HTTP_TABLES)
		put_page_head(&b);
	if (!h->make(h->ctx, which, &b, &err)) {
		if (which == HTTP_TABLES) {
			buf_puts(&b, page_tail);
			buf_put(&b, monitor_page.script.text, monitor_page.script.len);
			buf_puts(&b, page_end);
		}
		h->text[which] = respond(&b, types[which]);
	}
	buf_free(&b);
	return h->text[which];
}

static enum MHD_Result give_response(struct http *h, struct MHD_Connection *c, enum http_text which)
{
	enum MHD_Result rc = MHD_NO;
	struct MHD_Response *r;
	bool any;

	(void)pthread_mutex_lock(&h->lock);
	r = response_text_of(h, which);
	any = h->make;
	if (r)
		rc = mhd.queue_response(c, MHD_HTTP_OK, r);
	(void)pthread_mutex_unlock(&h->lock);
	if (r)
		return rc;
	return say_plain(c, MHD_HTTP_SERVICE_UNAVAILABLE,
			 any ? "there is no memory for it\n"
			     : "the first interval is not over yet\n");
}

static struct http_client *client_of(struct MHD_Connection *c)
{
	return mhd.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_size, void **state)
{
	struct http *h = ctx;
	const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	(void)version;
	(void)body;
	if (!client_of(c)) /* there was no room for it */
		return MHD_NO;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return say_plain(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!*state)
		http_client_asked(client_of(c), counting_clock());
	if (!*state || *body_size) { /* its head; a body is ignored */
		*state = h;
		*body_size = 0;
		return MHD_YES;
	}
	if (!h->remote && !*h->socket.path && !http_host_is_here(host))
		return say_plain(c, MHD_HTTP_FORBIDDEN, "ask for it by address, or as localhost\n");
	if (!strcmp(url, "/metrics"))
		return give_response(
			h, c,
			http_accepted(mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Accept")));
	if (!strcmp(url, "/"))
		return give_response(h, c, HTTP_TABLES);
	if (!strcmp(url, "/history.json"))
		return give_response(h, c, HTTP_HISTORY);
	if (!strcmp(url, "/last.json"))
		return give_response(h, c, HTTP_LAST);
	if (!strcmp(url, "/style.css"))
		return mhd.queue_response(c, MHD_HTTP_OK, h->style);
	return say_plain(c, MHD_HTTP_NOT_FOUND, "there are / and /metrics\n");
}

/* Requests that are cut short or mean nothing are the client's business. */
static void no_words(void *ctx, const char *fmt, va_list ap)
{
	(void)ctx;
	(void)fmt;
	(void)ap;
}

static void connected(void *ctx, struct MHD_Connection *c, void **client,
		      enum MHD_ConnectionNotificationCode what)
{
	struct http *h = ctx;
	const union MHD_ConnectionInfo *fd;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		fd = mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
		*client = http_client_new(&h->clients, fd->connect_fd, counting_clock());
	} else if (*client) {
		http_client_gone(&h->clients, *client);
	}
}

static void answered(void *ctx, struct MHD_Connection *c, void **state,
		     enum MHD_RequestTerminationCode why)
{
	(void)ctx;
	(void)state;
	(void)why;
	if (client_of(c))
		http_client_rests(client_of(c), counting_clock());
}

/* How long the library may wait, and not beyond `until`. */
static struct timespec patience(struct http *h, uint64_t until)
{
	uint64_t now = counting_clock(), wait = until > now ? until - now : 0;
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(h->daemon, &ms) == MHD_YES && ms < wait / 1000000)
		wait = ms * 1000000;
	if (wait > LONGEST)
		wait = LONGEST;
	return (struct timespec){ (time_t)(wait / 1000000000), (long)(wait % 1000000000) };
}

/* A timeout counts only if it was over before the library read its input: a head that waited for
 * the server is not slow. */
static void *serve_request(void *ctx)
{
	struct http *h = ctx;
	const union MHD_DaemonInfo *epoll =
		mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[2] = { { .fd = h->stop, .events = POLLIN },
				 { .fd = epoll->epoll_fd, .events = POLLIN } };
	uint64_t until = UINT64_MAX;

	while (!fds[0].revents) {
		struct timespec wait = patience(h, until);
		uint64_t now;

		(void)ppoll(fds, 2, &wait, NULL);
		now = counting_clock();
		(void)mhd.run(h->daemon);
		until = http_clients_expire(&h->clients, now);
	}
	return NULL;
}

/* The thread takes no signals: they are for the counting thread. */
static int start_server(struct http *h, struct err *err)
{
	sigset_t all, before;
	int failed;

	h->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->stop < 0)
		return err_sys(err, "eventfd");
	h->daemon = mhd.start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, answer, h,
		MHD_OPTION_EXTERNAL_LOGGER, no_words, NULL, MHD_OPTION_LISTEN_SOCKET, h->socket.fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)(HTTP_CONNECTIONS + HTTP_LEAVING),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY, MHD_OPTION_NOTIFY_CONNECTION, connected,
		h, MHD_OPTION_NOTIFY_COMPLETED, answered, NULL, MHD_OPTION_END);
	if (!h->daemon)
		return err_set(err, ERR_IO, "the HTTP server cannot start");
	(void)sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return err_set(err, ERR_IO, "pthread_sigmask failed");
	failed = pthread_create(&h->thread, NULL, serve_request, h);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	h->runs = !failed;
	return failed ? err_set(err, ERR_IO, "the HTTP server's thread cannot start") : 0;
}

int http_open(struct http **out, const char *listen, bool remote, struct err *err)
{
	struct http *h;

	*out = NULL;
	if (library_open(&library, err))
		return -1;
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_nomem(err);
	h->remote = remote;
	h->stop = -1;
	(void)pthread_mutex_init(&h->lock, NULL);
	(void)pthread_cond_init(&h->published, NULL);
	if (http_listen(&h->socket, listen, remote, err)) {
		http_close(h);
		return -1;
	}
	h->style = fixed(monitor_page.style.text, monitor_page.style.len);
	if (!h->style) {
		http_close(h);
		return err_nomem(err);
	}
	add_headers(h->style, "text/css; charset=utf-8");
	if (start_server(h, err)) {
		http_close(h);
		return -1;
	}
	*out = h;
	return 0;
}

const char *http_where(const struct http *h)
{
	return h->socket.where;
}

/* The texts of the interval before belong to the connections that send them. */
void http_publish(struct http *h, http_make_fn *make, void *ctx)
{
	(void)pthread_mutex_lock(&h->lock);
	for (int i = 0; i < HTTP_TEXTS; i++) {
		if (h->text[i])
			mhd.destroy_response(h->text[i]);
		h->text[i] = NULL;
	}
	h->make = make;
	h->ctx = ctx;
	h->held = false;
	(void)pthread_cond_broadcast(&h->published);
	(void)pthread_mutex_unlock(&h->lock);
}

void http_hold(struct http *h)
{
	(void)pthread_mutex_lock(&h->lock);
	h->make = NULL;
	h->held = true;
	(void)pthread_mutex_unlock(&h->lock);
}

void http_keep(struct http *h)
{
	(void)pthread_mutex_lock(&h->lock);
	for (int i = 0; h->make && i < HTTP_TEXTS; i++)
		(void)response_text_of(h, (enum http_text)i);
	h->make = NULL;
	h->held = false;
	(void)pthread_mutex_unlock(&h->lock);
}

/* Wakes requests that still wait for an interval, then ends the thread. */
static void give_request_up(struct http *h)
{
	const uint64_t one = 1;

	(void)pthread_mutex_lock(&h->lock);
	h->make = NULL;
	h->held = false;
	(void)pthread_cond_broadcast(&h->published);
	(void)pthread_mutex_unlock(&h->lock);
	if (h->runs && write(h->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
		(void)pthread_join(h->thread, NULL);
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->daemon) {
		give_request_up(h);
		mhd.stop_daemon(h->daemon); /* closes the socket */
		h->socket.fd = -1;
	}
	if (h->stop >= 0)
		(void)close(h->stop);
	http_unlisten(&h->socket);
	for (int i = 0; i < HTTP_TEXTS; i++)
		if (h->text[i])
			mhd.destroy_response(h->text[i]);
	if (h->style)
		mhd.destroy_response(h->style);
	(void)pthread_cond_destroy(&h->published);
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

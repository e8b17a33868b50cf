/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "config.h"
#include "monitor/http_int.h"

#define TIMEOUT 10u		/* seconds without a byte */
#define MEMORY	((size_t)16384) /* of a connection: its request's head must fit */

#define CALLS(CALL)                                                \
	CALL(MHD_, add_response_header)                            \
	CALL(MHD_, create_response_from_buffer)                    \
	CALL(MHD_, create_response_from_buffer_with_free_callback) \
	CALL(MHD_, destroy_response)                               \
	CALL(MHD_, lookup_connection_value)                        \
	CALL(MHD_, queue_response)                                 \
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
	pthread_mutex_t lock;		       /* of `text` */
	struct MHD_Response *text[HTTP_TEXTS]; /* NULL before the first interval */
	struct MHD_Response *style;
};

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"
	"<title>cyclade monitor</title><link rel=\"stylesheet\" href=\"style.css\"></head>"
	"<body><main><h1>cyclade monitor</h1>\n";
static const char page_tail[] =
	"<p>The same for Prometheus: <a href=\"metrics\">metrics</a></p></main><script>";
static const char page_end[] = "</script></body></html>\n";
static const char *const types[HTTP_TEXTS] = {
	"application/openmetrics-text; version=1.0.0; charset=utf-8",
	"text/plain; version=0.0.4; charset=utf-8",
	"text/html; charset=utf-8",
};

/* Of a text that stays. The library takes no const, and changes nothing. */
static struct MHD_Response *fixed(const char *s, size_t n)
{
	return mhd.create_response_from_buffer(n, (void *)(uintptr_t)s, MHD_RESPMEM_PERSISTENT);
}

/* The page's own script may run, by its hash, and may ask for what is served here. */
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

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *words)
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

static enum MHD_Result give(struct http *h, struct MHD_Connection *c, enum http_text which)
{
	enum MHD_Result rc = MHD_NO;
	bool there;

	(void)pthread_mutex_lock(&h->lock);
	there = h->text[which];
	if (there)
		rc = mhd.queue_response(c, MHD_HTTP_OK, h->text[which]);
	(void)pthread_mutex_unlock(&h->lock);
	return there ? rc
		     : say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "the first interval is not over yet\n");
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_size, void **state)
{
	struct http *h = ctx;
	const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	(void)version;
	(void)body;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!*state || *body_size) { /* its head; what comes behind it means nothing */
		*state = h;
		*body_size = 0;
		return MHD_YES;
	}
	if (!h->remote && !*h->socket.path && !http_host_is_here(host))
		return say(c, MHD_HTTP_FORBIDDEN, "ask for it by address, or as localhost\n");
	if (!strcmp(url, "/metrics"))
		return give(
			h, c,
			http_accepted(mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Accept")));
	if (!strcmp(url, "/"))
		return give(h, c, HTTP_TABLES);
	if (!strcmp(url, "/style.css"))
		return mhd.queue_response(c, MHD_HTTP_OK, h->style);
	return say(c, MHD_HTTP_NOT_FOUND, "there are / and /metrics\n");
}

/* Requests that are cut short or mean nothing are the client's business. */
static void no_words(void *ctx, const char *fmt, va_list ap)
{
	(void)ctx;
	(void)fmt;
	(void)ap;
}

/* The thread takes no signals: they are for whoever counts. */
static int start(struct http *h, struct err *err)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return err_set(err, ERR_IO, "pthread_sigmask failed");
	h->daemon = mhd.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL,
				     NULL, answer, h, MHD_OPTION_EXTERNAL_LOGGER, no_words, NULL,
				     MHD_OPTION_LISTEN_SOCKET, h->socket.fd,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS,
				     MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY, MHD_OPTION_END);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return h->daemon ? 0 : err_set(err, ERR_IO, "the HTTP server cannot start");
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
	(void)pthread_mutex_init(&h->lock, NULL);
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
	if (start(h, err)) {
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

int http_publish(struct http *h, struct buf text[HTTP_TEXTS], struct err *err)
{
	struct MHD_Response *fresh[HTTP_TEXTS] = { NULL };
	struct buf page = BUF_INIT;
	bool all = true;

	buf_puts(&page, page_head);
	buf_put(&page, buf_str(&text[HTTP_TABLES]), text[HTTP_TABLES].len);
	buf_puts(&page, page_tail);
	buf_put(&page, monitor_page.script.text, monitor_page.script.len);
	buf_puts(&page, page_end);
	for (int i = 0; i < HTTP_TEXTS; i++) {
		fresh[i] = respond(i == HTTP_TABLES ? &page : &text[i], types[i]);
		all &= fresh[i] != NULL;
		buf_free(&text[i]);
	}
	buf_free(&page);
	(void)pthread_mutex_lock(&h->lock);
	for (int i = 0; all && i < HTTP_TEXTS; i++) {
		struct MHD_Response *old = h->text[i];

		h->text[i] = fresh[i];
		fresh[i] = old;
	}
	(void)pthread_mutex_unlock(&h->lock);
	for (int i = 0; i < HTTP_TEXTS; i++)
		if (fresh[i])
			mhd.destroy_response(fresh[i]);
	return all ? 0 : err_nomem(err);
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->daemon) {
		mhd.stop_daemon(h->daemon); /* closes the socket */
		h->socket.fd = -1;
	}
	http_unlisten(&h->socket);
	for (int i = 0; i < HTTP_TEXTS; i++)
		if (h->text[i])
			mhd.destroy_response(h->text[i]);
	if (h->style)
		mhd.destroy_response(h->style);
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

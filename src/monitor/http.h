/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http - the last interval of a monitor, for Prometheus and for a browser.
 *
 *	http_open(&h, "127.0.0.1:9900", false, &err)
 *	http_publish(h, make, ctx)	after each interval; until the first: 503
 *	http_hold(h)			before make()'s data changes; the next publish is near
 *	http_keep(h)			the same if it is not: the texts of now stay
 *	http_close(h)
 *
 * /metrics is OpenMetrics if the client accepts it, else the text format 0.0.4; / is a page that
 * loads nothing from elsewhere: tables, and a script (web/src/monitor) that draws charts of
 * /history.json and, after each interval, /last.json, and reads the tables again; without scripts
 * it reloads. Requests are answered by a
 * thread of its own. A text is made at the first request in an interval, and is the same for all
 * requests until the next one: an interval without a request costs nothing. The counting waits at
 * most for a text that is being made, never for clients, slow ones too; many cost no more memory
 * than HTTP_CONNECTIONS. For one beyond these another is ended (http_client.h).
 *
 * There is no encryption and no password. Without `remote` only loopback addresses and unix sockets
 * are taken, and only requests whose Host is an address or localhost (a page elsewhere on the
 * web cannot read the metrics by a name of its own).
 *
 * A build without libmicrohttpd refuses http_open.
 */
#ifndef CYCLADE_MONITOR_HTTP_H
#define CYCLADE_MONITOR_HTTP_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum http_text {
	HTTP_OPENMETRICS,
	HTTP_PROMETHEUS,
	HTTP_TABLES,
	HTTP_HISTORY, /* json of history.h, all intervals */
	HTTP_LAST,    /* the same of the last one */
	HTTP_TEXTS
};

struct http;

/* `listen`: HOST:PORT, :PORT (of 127.0.0.1), [::1]:PORT, /PATH of a unix socket; port 0: any. */
int http_open(struct http **out, const char *listen, bool remote, struct err *err) MUST_USE;
/* Where it listens, as a person types it: "http://127.0.0.1:9900/". */
const char *http_where(const struct http *h);
/* Writes a text into an empty buffer; HTTP_TABLES is the inside of the page. Called in the server's
 * thread, one at a time, between http_publish() and the end of the next http_hold() or _keep(). */
typedef int http_make_fn(void *ctx, enum http_text which, struct buf *out, struct err *err);

void http_publish(struct http *h, http_make_fn *make, void *ctx);
/* Requests for a page that is not made yet wait until http_publish() or http_close(). */
void http_hold(struct http *h);
void http_keep(struct http *h);
void http_close(struct http *h); /* NULL is fine */

#endif

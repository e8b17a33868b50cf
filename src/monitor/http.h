/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http - the last interval of a monitor, for Prometheus and for a browser.
 *
 *	http_open(&h, "127.0.0.1:9900", false, &err)
 *	http_publish(h, texts, &err)		after each interval; until the first: 503
 *	http_close(h)
 *
 * /metrics is OpenMetrics if the client accepts it, else the text format 0.0.4; / is a page that
 * loads nothing from elsewhere: tables, and a script (web/src/monitor) that draws charts of
 * /metrics and reads the tables again; without scripts it reloads. Requests are answered by a
 * thread of its
 * own, from texts that are made already: clients, slow ones too, do not hold up the counting, and
 * many cost no more memory than HTTP_CONNECTIONS. Whoever is beyond these waits.
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

#define HTTP_CONNECTIONS 128

enum http_text { HTTP_OPENMETRICS, HTTP_PROMETHEUS, HTTP_TABLES, HTTP_TEXTS };

struct http;

/* `listen`: HOST:PORT, :PORT (of 127.0.0.1), [::1]:PORT, /PATH of a unix socket; port 0: any. */
int http_open(struct http **out, const char *listen, bool remote, struct err *err) MUST_USE;
/* Where it listens, as a person types it: "http://127.0.0.1:9900/". */
const char *http_where(const struct http *h);
/* Takes what the texts hold and leaves them empty; HTTP_TABLES is the inside of the page. */
int http_publish(struct http *h, struct buf text[HTTP_TEXTS], struct err *err) MUST_USE;
void http_close(struct http *h); /* NULL is fine */

#endif

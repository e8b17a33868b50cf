/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A build without libmicrohttpd.
 */
#include "monitor/http.h"

int http_open(struct http **out, const char *listen, bool remote, struct err *err)
{
	(void)listen;
	(void)remote;
	*out = NULL;
	(void)err_set(err, ERR_UNSUPPORTED, "--listen: this build has no libmicrohttpd");
	return err_hint(err, "cyclade monitor --format prometheus prints what it would serve");
}

const char *http_where(const struct http *h)
{
	(void)h;
	return "";
}

void http_publish(struct http *h, http_make_fn *make, void *ctx)
{
	(void)h;
	(void)make;
	(void)ctx;
}

void http_hold(struct http *h)
{
	(void)h;
}

void http_keep(struct http *h)
{
	(void)h;
}

void http_close(struct http *h)
{
	(void)h;
}

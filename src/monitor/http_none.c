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

int http_publish(struct http *h, struct buf text[HTTP_TEXTS], struct err *err)
{
	(void)h;
	(void)text;
	(void)err;
	return 0;
}

void http_close(struct http *h)
{
	(void)h;
}

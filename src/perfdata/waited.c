/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/waited.h"

#include <string.h>

static const struct {
	const char *name;
	enum pd_object kind;
	unsigned arg;
} calls[] = {
#define CALL(name, kind, arg) { #name, PD_OBJECT_##kind, arg },
#include "perfdata/wait_call.def"
#undef CALL
};

enum pd_object pd_call_object(const char *name, size_t len, unsigned *arg)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strlen(calls[i].name) == len && !memcmp(calls[i].name, name, len)) {
			*arg = calls[i].arg;
			return calls[i].kind;
		}
	*arg = 0;
	return PD_OBJECT_NONE;
}

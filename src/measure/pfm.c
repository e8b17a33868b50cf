/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/pfm.h"

#include "base/library.h"
#include "config.h"

#if HAVE_PFM

#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LONG 512

static const struct {
	const char *model, *pmu;
} pmus[] = {
#define PFM(model, pmu) { model, pmu },
#include "measure/pfm_pmus.def"
#undef PFM
};

/* Its tables have forty thousand places that the loader would have to write to at each start. */
#define CALLS(CALL)            \
	CALL(pfm_, initialize) \
	CALL(pfm_, get_os_event_encoding)

static struct {
	CALLS(LIBRARY_POINTER)
} pfm;
static const char *const names[] = { CALLS(LIBRARY_NAME) };
static struct library library =
	LIBRARY("names of events", "libpfm.so.4", names, pfm, "install libpfm4");

/* libpfm encodes events of other CPUs only if this variable is set when it starts. */
static bool begin_pfm(void)
{
	static const char word[] = "LIBPFM_ENCODE_INACTIVE";
	static int state; /* 1: begun, -1: it cannot */
	char *before;

	if (state)
		return state > 0;
	if (library_open(&library, NULL)) {
		state = -1;
		return false;
	}
	before = getenv(word);
	if (!before)
		(void)setenv(word, "1", 1);
	state = pfm.initialize() == PFM_SUCCESS ? 1 : -1;
	if (!before)
		(void)unsetenv(word); /* not for the programs that we start */
	return state > 0;
}

bool pfm_find(struct pfm_code *out, const char *model, const char *name, size_t len)
{
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t arg;
	char text[NAME_LONG];
	const char *pmu = NULL;
	size_t n;

	for (size_t i = 0; i < sizeof(pmus) / sizeof(*pmus); i++)
		if (!strcmp(pmus[i].model, model))
			pmu = pmus[i].pmu;
	if (!pmu || !len || memchr(name, '\0', len))
		return false;
	n = strlen(pmu);
	if (len > n + 2 && !memcmp(name, pmu, n) && !memcmp(name + n, "::", 2)) {
		name += n + 2;
		len -= n + 2;
	}
	/* another CPU's, or one of the kernel's PMUs: not wanted here */
	if (memmem(name, len, "::", 2) || len > sizeof(text) - n - 3 || !begin_pfm())
		return false;
	(void)snprintf(text, sizeof(text), "%s::%.*s", pmu, (int)len, name);
	memset(&attr, 0, sizeof(attr));
	memset(&arg, 0, sizeof(arg));
	arg.size = sizeof(arg);
	arg.attr = &attr;
	if (pfm.get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg) !=
		    PFM_SUCCESS ||
	    attr.precise_ip)
		return false;
	*out = (struct pfm_code){ attr.config, attr.config1, attr.config2, attr.exclude_user,
				  attr.exclude_kernel };
	return true;
}

#else

bool pfm_find(struct pfm_code *out, const char *model, const char *name, size_t len)
{
	(void)out, (void)model, (void)name, (void)len;
	return false;
}

#endif

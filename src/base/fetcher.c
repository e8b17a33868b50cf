/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fetcher.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/fs.h"
#include "base/helper.h"
#include "base/library.h"
#include "base/num.h"
#include "base/text.h"

enum { ID_MOST = 128, NAME_MOST = 1024, FIRST_BYTE_S = 30, FILE_S = 300, TOTAL_S = 300 };
static const uint64_t FILE_BYTES = 4ULL << 30;

/* elfutils/debuginfod.h, which few machines have */
struct debuginfod_client;
typedef int (*progress_fn)(struct debuginfod_client *c, long a, long b);
struct debuginfod_client *debuginfod_begin(void);
int debuginfod_find_debuginfo(struct debuginfod_client *c, const unsigned char *id, int id_len,
			      char **path);
int debuginfod_find_executable(struct debuginfod_client *c, const unsigned char *id, int id_len,
			       char **path);
int debuginfod_find_source(struct debuginfod_client *c, const unsigned char *id, int id_len,
			   const char *name, char **path);
void debuginfod_set_progressfn(struct debuginfod_client *c, progress_fn fn);
const char *debuginfod_get_url(struct debuginfod_client *c);

#define CALLS(CALL)                        \
	CALL(debuginfod_, begin)           \
	CALL(debuginfod_, find_debuginfo)  \
	CALL(debuginfod_, find_executable) \
	CALL(debuginfod_, find_source)     \
	CALL(debuginfod_, set_progressfn) CALL(debuginfod_, get_url)
static struct {
	CALLS(LIBRARY_POINTER)
} client;
static const char *const names[] = { CALLS(LIBRARY_NAME) };
static struct library library = LIBRARY("debuginfod", "libdebuginfod.so.1", names, client,
					"install libdebuginfod1, or unset DEBUGINFOD_URLS");

static const char unwritable[] = "its cache cannot be written (is the disk full?)";

struct question {
	enum fetch_kind kind;
	char id[ID_MOST + 1], name[NAME_MOST];
};

struct answer {
	enum fetch_outcome outcome;
	uint64_t bytes;
	double seconds;
	char why[FETCH_WHY];
};

const char *fetcher_urls(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " \t")] ? urls : NULL;
}

bool fetcher_possible(void)
{
	return !library_open(&library, NULL);
}

/* ---- the process beside ------------------------------------------------------------------ */

static struct {
	int from; /* the other's questions */
	const char *cache;
	bool terminal, shown;
	const struct question *q;
	struct answer a;
	double began, drawn, spent;
	double first_byte, file_s;
	uint64_t file_bytes;
	struct debuginfod_client *c;
} my;

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *said = getenv(name);
	uint64_t n;

	return said && !num_parse_u64(&n, said, NULL) && n ? n : otherwise;
}

static bool asker_is_gone(void)
{
	struct pollfd p = { .fd = my.from, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void draw(uint64_t bytes, long all)
{
	struct buf name = BUF_INIT;
	char text[32] = "";
	double t = now();

	if (!my.terminal || (my.shown ? t - my.drawn < 0.2 : t - my.began < 0.5))
		return;
	my.shown = true;
	my.drawn = t;
	if (all > 0)
		(void)snprintf(text, sizeof(text), " of %.1f", (double)all / 1e6);
	text_put_safe(&name, path_base(my.q->name), true);
	(void)fprintf(stderr, "\r\033[Kdebuginfod: %s: %.1f%s MB", buf_str(&name),
		      (double)bytes / 1e6, text);
	(void)fflush(stderr);
	buf_free(&name);
}

static void wipe(void)
{
	if (my.shown)
		(void)fputs("\r\033[K", stderr);
	my.shown = false;
}

static int stop_at(enum fetch_outcome outcome, const char *fmt, ...) PRINTF_(2, 3);

static int stop_at(enum fetch_outcome outcome, const char *fmt, ...)
{
	va_list ap;

	my.a.outcome = outcome;
	va_start(ap, fmt);
	(void)vsnprintf(my.a.why, sizeof(my.a.why), fmt, ap);
	va_end(ap);
	return 1;
}

/* The client calls it about once a second, and with each piece that comes in. Before there is an
 * URL, `a` counts the calls. Not 0: the client gives up. */
static int progress(struct debuginfod_client *c, long a, long b)
{
	double t = now() - my.began;
	bool flows = client.get_url(c) != NULL && a > 0;

	if (asker_is_gone())
		return stop_at(FETCH_OVER, "nobody waits for it");
	if (flows)
		my.a.bytes = (uint64_t)a;
	draw(my.a.bytes, flows ? b : 0);
	if (!flows && t > my.first_byte)
		return stop_at(FETCH_OVER, "no answer within %.0f s", my.first_byte);
	if (t > my.file_s)
		return stop_at(FETCH_FAILED, "took longer than %.0f s", my.file_s);
	if (my.spent + t > TOTAL_S)
		return stop_at(FETCH_OVER, "fetching took %d s", TOTAL_S);
	if (flows && ((uint64_t)a > my.file_bytes || (b > 0 && (uint64_t)b > my.file_bytes)))
		return stop_at(FETCH_FAILED, "larger than %" PRIu64 " bytes", my.file_bytes);
	return 0;
}

/* The client has removed what it had of the file: whether that filled the disk. */
static bool disk_was_full(uint64_t bytes)
{
	struct statvfs v;

	return !statvfs(my.cache, &v) && (uint64_t)v.f_bavail * v.f_frsize < bytes + (256u << 10);
}

/* What the client's error means, for this file and for the next ones. */
static void judge_failure(int error)
{
	switch (error) {
	case ENOENT: /* also for an answer that is none, and one that breaks off */
		if (disk_was_full(my.a.bytes))
			(void)stop_at(FETCH_OVER, "%s", unwritable);
		else if (my.a.bytes)
			(void)stop_at(FETCH_FAILED, "broke off after %" PRIu64 " bytes",
				      my.a.bytes);
		break;
	case EHOSTUNREACH:
		(void)stop_at(FETCH_OVER, "the server's address is not known (no network?)");
		break;
	case ECONNREFUSED:
		(void)stop_at(FETCH_OVER, "no connection to the server");
		break;
	case ETIME:
	case ETIMEDOUT:
		(void)stop_at(FETCH_OVER, "the server is too slow (DEBUGINFOD_TIMEOUT)");
		break;
	case ENOSPC:
	case EDQUOT:
	case EIO: /* the client's word for a failed write */
		(void)stop_at(FETCH_OVER, "%s", unwritable);
		break;
	case EACCES:
	case EROFS:
		(void)stop_at(FETCH_OVER, "its cache cannot be written: %s", strerror(error));
		break;
	case EFBIG:
		(void)stop_at(FETCH_FAILED, "larger than DEBUGINFOD_MAXSIZE");
		break;
	case ENOSYS:
		(void)stop_at(FETCH_OVER, "DEBUGINFOD_URLS has no usable address");
		break;
	default:
		(void)stop_at(FETCH_FAILED, "%s", strerror(error));
		break;
	}
}

/* The client keeps for ten minutes that the servers do not have a file, also if it gave up. */
static void forget_miss(const struct question *q)
{
	char path[4096];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s/%s", my.cache, q->id,
			 q->kind == FETCH_DEBUG ? "debuginfo" : "executable");

	if (q->kind != FETCH_SOURCE && n > 0 && (size_t)n < sizeof(path) && file_look(path, &st) &&
	    !st.st_size)
		(void)unlink(path);
}

/* A descriptor, or -errno. An id of length 0 is one in hexadecimal digits. */
static int find(const struct question *q)
{
	const unsigned char *id = (const unsigned char *)q->id;

	switch (q->kind) {
	case FETCH_DEBUG:
		return client.find_debuginfo(my.c, id, 0, NULL);
	case FETCH_PROGRAM:
		return client.find_executable(my.c, id, 0, NULL);
	case FETCH_SOURCE:
		return client.find_source(my.c, id, 0, q->name, NULL);
	}
	return -EINVAL;
}

static void fetch(const struct question *q)
{
	int rc;

	my.q = q;
	my.a = (struct answer){ .outcome = FETCH_ABSENT };
	my.began = now();
	rc = find(q);
	wipe();
	if (rc >= 0) {
		off_t size = lseek(rc, 0, SEEK_END);

		my.a = (struct answer){ .outcome = FETCH_HAD,
					.bytes = size > 0 ? (uint64_t)size : 0 };
		(void)close(rc);
	} else if (my.a.outcome == FETCH_ABSENT) {
		judge_failure(-rc);
	}
	if (my.a.outcome != FETCH_HAD && my.a.outcome != FETCH_ABSENT)
		forget_miss(q);
	my.a.seconds = now() - my.began;
	my.spent += my.a.seconds;
}

static void begin(void)
{
	struct err why = ERR_INIT;

	if (library_open(&library, &why)) {
		(void)stop_at(FETCH_OVER, "%s",
			      "libdebuginfod.so.1 cannot be opened (install libdebuginfod1)");
		return;
	}
	my.c = client.begin();
	if (!my.c) {
		(void)stop_at(FETCH_OVER, "its client does not start");
		return;
	}
	client.set_progressfn(my.c, progress);
}

/* Until the asker is gone. */
static void serve(int from, const void *cache)
{
	struct question q;

	my.from = from;
	my.cache = cache;
	my.terminal = isatty(STDERR_FILENO);
	my.first_byte = (double)from_env("DEBUGINFOD_TIMEOUT", FIRST_BYTE_S);
	my.file_s = (double)from_env("DEBUGINFOD_MAXTIME", FILE_S);
	my.file_bytes = from_env("DEBUGINFOD_MAXSIZE", FILE_BYTES);
	for (;;) {
		ssize_t n = read(from, &q, sizeof(q));

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(q))
			break;
		my.a = (struct answer){ .outcome = FETCH_ABSENT };
		if (!my.c)
			begin();
		if (my.c)
			fetch(&q);
		if (send(from, &my.a, sizeof(my.a), MSG_NOSIGNAL) < 0)
			break;
	}
}

/* ---- the asker's side -------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static struct helper fetcher = HELPER_NONE;
static bool over;
static struct fetch_tally tally;

bool fetcher_start(const char *cache)
{
	return fetcher_urls() && cache && helper_start(&fetcher, serve, cache);
}

bool fetcher_running(void)
{
	return fetcher.end >= 0;
}

static bool ask(const struct question *q, struct answer *a)
{
	ssize_t n;

	if (!helper_ask(&fetcher, q, sizeof(*q)))
		return false;
	do
		n = read(fetcher.end, a, sizeof(*a));
	while (n < 0 && errno == EINTR);
	a->why[FETCH_WHY - 1] = '\0';
	return n == (ssize_t)sizeof(*a);
}

static void count(const struct question *q, const struct answer *a)
{
	tally.seconds += a->seconds;
	if (a->outcome == FETCH_HAD) {
		tally.files++;
		tally.bytes += a->bytes;
	} else if (a->outcome != FETCH_ABSENT) {
		tally.failed++;
		over = over || a->outcome == FETCH_OVER;
		if (!*tally.why)
			(void)snprintf(tally.why, sizeof(tally.why), "%.100s: %.140s",
				       path_base(q->name), a->why);
	}
}

enum fetch_outcome fetcher_get(enum fetch_kind kind, const char *id, const char *name)
{
	struct question q = { .kind = kind };
	struct answer a = { .outcome = FETCH_ABSENT };

	(void)snprintf(q.id, sizeof(q.id), "%s", id);
	(void)snprintf(q.name, sizeof(q.name), "%s", name);
	(void)pthread_mutex_lock(&lock);
	if (over) {
		tally.not_asked++;
		a.outcome = FETCH_OVER;
	} else if (fetcher.end >= 0) {
		if (!ask(&q, &a))
			a = (struct answer){ .outcome = FETCH_OVER,
					     .why = "the process that fetches ended" };
		count(&q, &a);
	}
	(void)pthread_mutex_unlock(&lock);
	return a.outcome;
}

struct fetch_tally fetcher_tally(void)
{
	struct fetch_tally t;

	(void)pthread_mutex_lock(&lock);
	t = tally;
	(void)pthread_mutex_unlock(&lock);
	return t;
}

void fetcher_end(void)
{
	helper_end(&fetcher);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade mcp - see doc/cyclade-mcp.1.md.
 *
 * A server of the Model Context Protocol: a JSON-RPC request on each line of standard input, an
 * answer on each line of standard output. Each call is this same program as a child, one after the
 * other, so that limits, the sandbox and the answers are the command's own. While one runs, lines
 * are read on: it may be cancelled.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_out.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/mcp/mcp.h"
#include "config.h"
#include "measure/counting.h"

#define OUTPUT_BYTES ((uint64_t)8 << 10)
#define SECONDS	     UINT64_C(60)
#define NS	     UINT64_C(1000000000)
#define GRACE	     (2 * NS) /* from asking a command to end until it is ended */

enum {
	QUEUE = 64, /* calls that wait */
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602
};

static const char *const versions[] = { "2025-06-18", "2024-11-05" }; /* the newest first */

struct server {
	struct cli *cli;
	struct mcp_may may;
	uint64_t room, time; /* bytes of an answer, nanoseconds of a call */
	struct buf in;
	bool skipping; /* the rest of a line that is too long */
	bool ended, initialized, gone;
	VEC(cJSON *) waiting;
	/* the call that runs */
	cJSON *id; /* NULL: none */
	struct mcp_call call;
	struct buf out;
	uint64_t lost; /* bytes behind those in `out` */
	uint64_t due;  /* when it is asked to end, then when it is ended */
	bool late, cancelled, interrupted;
	pid_t pid;
	int from;
};

/* Takes the answer. */
static void send_line(struct server *s, cJSON *answer)
{
	char *text = cJSON_PrintUnformatted(answer);

	cJSON_Delete(answer);
	if (!text || fd_write_all(STDOUT_FILENO, text, strlen(text), "standard output", NULL) ||
	    fd_write_all(STDOUT_FILENO, "\n", 1, "standard output", NULL))
		s->gone = true; /* nobody listens */
	cJSON_free(text);
}

static cJSON *answer_to(const cJSON *id)
{
	cJSON *a = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(a, "jsonrpc", "2.0");
	(void)cJSON_AddItemToObject(a, "id", id ? cJSON_Duplicate(id, true) : cJSON_CreateNull());
	return a;
}

static void send_error(struct server *s, const cJSON *id, int code, const char *what)
{
	cJSON *a = answer_to(id), *e = cJSON_AddObjectToObject(a, "error");

	(void)cJSON_AddNumberToObject(e, "code", code);
	(void)cJSON_AddStringToObject(e, "message", what);
	send_line(s, a);
}

static void send_text(struct server *s, const cJSON *id, const char *text, bool failed)
{
	cJSON *a = answer_to(id), *r = cJSON_AddObjectToObject(a, "result");
	cJSON *content = cJSON_AddArrayToObject(r, "content"), *part = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(part, "type", "text");
	(void)cJSON_AddStringToObject(part, "text", text);
	(void)cJSON_AddItemToArray(content, part);
	(void)cJSON_AddBoolToObject(r, "isError", failed);
	send_line(s, a);
}

static void initialize(struct server *s, const cJSON *id, const cJSON *params)
{
	const cJSON *asked = cJSON_GetObjectItemCaseSensitive(params, "protocolVersion");
	const char *version = versions[0];
	cJSON *a, *r, *info;

	if (!cJSON_IsString(asked)) {
		send_error(s, id, RPC_PARAMS, "initialize needs protocolVersion");
		return;
	}
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (!strcmp(versions[i], asked->valuestring))
			version = versions[i];
	a = answer_to(id);
	r = cJSON_AddObjectToObject(a, "result");
	(void)cJSON_AddStringToObject(r, "protocolVersion", version);
	(void)cJSON_AddObjectToObject(cJSON_AddObjectToObject(r, "capabilities"), "tools");
	info = cJSON_AddObjectToObject(r, "serverInfo");
	(void)cJSON_AddStringToObject(info, "name", "cyclade");
	(void)cJSON_AddStringToObject(info, "version", CYCLADE_VERSION);
	(void)cJSON_AddStringToObject(r, "instructions",
				      "Ask findings of a recording first; record makes one of a "
				      "program that is allowed. An answer says if it was cut.");
	s->initialized = true;
	send_line(s, a);
}

/* The child. Its standard input ends at once; what it prints is joined. */
static void become(const struct server *s, int out, pid_t parent)
{
	int none[2];

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || pipe(none) || close(none[1]))
		_exit(EXIT_TOOL);
	(void)dup2(none[0], STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(out, STDERR_FILENO);
	(void)close(none[0]);
	(void)unsetenv("DEBUGINFOD_URLS");
	(void)unsetenv("CYCLADE_OPTS");
	(void)unsetenv("CLICOLOR_FORCE");
	(void)setenv("NO_COLOR", "1", 1);
	(void)setenv("COLUMNS", "120", 1);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execv("/proc/self/exe", (char *const *)(uintptr_t)s->call.words);
	_exit(EXIT_TOOL);
}

static int start(struct server *s, struct err *err)
{
	pid_t self = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, "pipe");
	s->pid = fork();
	if (!s->pid)
		become(s, ends[1], self);
	(void)close(ends[1]);
	if (s->pid < 0) {
		(void)close(ends[0]);
		return err_sys(err, "fork");
	}
	(void)setpgid(s->pid, s->pid); /* whoever is first */
	s->from = ends[0];
	buf_reset(&s->out);
	s->lost = 0;
	s->late = s->cancelled = s->interrupted = false;
	s->due = counting_clock() + s->time;
	return 0;
}

static void call_tool(struct server *s, const cJSON *id, const cJSON *params)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(params, "name");
	struct err err = ERR_INIT;

	if (!cJSON_IsString(name) || !mcp_has_tool(name->valuestring)) {
		send_error(s, id, RPC_PARAMS, "there is no such tool; tools/list lists them");
		return;
	}
	if (mcp_words(&s->call, &s->cli->arena, &s->may, name->valuestring,
		      cJSON_GetObjectItemCaseSensitive(params, "arguments"), &err) ||
	    start(s, &err)) {
		struct buf text = BUF_INIT;

		buf_printf(&text, "refused: %s%s%s", err.what, *err.hint ? "\n" : "", err.hint);
		send_text(s, id, buf_str(&text), true);
		buf_free(&text);
		return;
	}
	s->id = cJSON_Duplicate(id, true);
}

/* The text's bytes that are UTF-8; others as '?'. */
static void keep_utf8(struct buf *b)
{
	uint32_t cp;

	for (size_t i = 0, n; i < b->len; i += n) {
		n = utf8_decode(b->s + i, b->len - i, &cp);
		if (!n || !cp) {
			b->s[i] = '?';
			n = 1;
		}
	}
}

/* What the child printed, up to the limit; the rest is counted, so that it need not wait. */
static bool take_output(struct server *s)
{
	char part[16384];
	ssize_t n = read(s->from, part, sizeof(part));
	size_t keep;

	if (n < 0)
		return errno == EINTR;
	keep = s->room - s->out.len < (size_t)n ? (size_t)(s->room - s->out.len) : (size_t)n;
	buf_put(&s->out, part, keep);
	s->lost += (uint64_t)n - keep;
	return n > 0;
}

/* To the last whole line that leaves `space` bytes. */
static void cut(struct server *s, size_t space)
{
	size_t len = s->out.len < s->room - space ? s->out.len : (size_t)(s->room - space);
	size_t line = len;

	while (line && s->out.s[line - 1] != '\n')
		line--;
	if (!line)
		line = len;
	s->lost += s->out.len - line;
	s->out.len = line;
	s->out.s[line] = '\0';
}

/* The exit code of a program that was measured is its own. */
static bool is_failure(const struct mcp_call *c, int code)
{
	if (c->measures)
		return code >= EXIT_TOOL && code <= EXIT_ABSENT;
	return code && !(code == EXIT_NO && c->may_say_no);
}

static void finish(struct server *s)
{
	enum { LAST_LINES = 200 };
	int status = 0, code;

	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)kill(-s->pid, SIGKILL); /* what a program left behind */
	(void)close(s->from);
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!s->cancelled) {
		if (s->lost || s->out.len + LAST_LINES > s->room) {
			cut(s, LAST_LINES);
			buf_printf(&s->out,
				   "[cut: %llu more bytes; ask for less: limit, a query]\n",
				   (unsigned long long)s->lost);
		}
		if (s->late)
			buf_puts(&s->out, "[ended: the time limit of a call was reached]\n");
		if (code)
			buf_printf(&s->out, "[exit code %d]\n", code);
		keep_utf8(&s->out);
		send_text(s, s->id, buf_str(&s->out), s->late || is_failure(&s->call, code));
	}
	cJSON_Delete(s->id);
	s->id = NULL;
}

/* Asks the child to end, as Ctrl-C does: it saves what it has. After that it is ended. */
static void press(struct server *s)
{
	(void)kill(-s->pid, s->interrupted ? SIGKILL : SIGINT);
	s->interrupted = true;
	s->due = counting_clock() + GRACE;
}

/* The caller's. */
static cJSON *take_waiting(struct server *s, size_t i)
{
	cJSON *q = s->waiting.v[i];

	s->waiting.n--;
	memmove(s->waiting.v + i, s->waiting.v + i + 1, (s->waiting.n - i) * sizeof(*s->waiting.v));
	return q;
}

static bool same_id(const cJSON *a, const cJSON *b)
{
	return a && b && cJSON_Compare(a, b, true);
}

static void cancel(struct server *s, const cJSON *params)
{
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(params, "requestId");

	if (same_id(s->id, id) && !s->cancelled) {
		s->cancelled = true;
		press(s);
	}
	for (size_t i = 0; i < s->waiting.n; i++) {
		if (same_id(cJSON_GetObjectItemCaseSensitive(s->waiting.v[i], "id"), id)) {
			cJSON_Delete(take_waiting(s, i));
			return;
		}
	}
}

static void list_tools(struct server *s, const cJSON *id)
{
	cJSON *a = answer_to(id);

	mcp_tools(cJSON_AddArrayToObject(cJSON_AddObjectToObject(a, "result"), "tools"));
	send_line(s, a);
}

/* A request that is none of a tool's. */
static void reply(struct server *s, const char *method, const cJSON *id, const cJSON *params)
{
	cJSON *a;

	if (!strcmp(method, "ping")) {
		a = answer_to(id);
		(void)cJSON_AddObjectToObject(a, "result");
		send_line(s, a);
	} else if (!strcmp(method, "initialize")) {
		initialize(s, id, params);
	} else if (!s->initialized) {
		send_error(s, id, RPC_REQUEST, "initialize comes first");
	} else if (!strcmp(method, "tools/list")) {
		list_tools(s, id);
	} else {
		send_error(s, id, RPC_METHOD, "there is no such method");
	}
}

/* Takes the request. */
static void handle(struct server *s, cJSON *q)
{
	const cJSON *version = cJSON_GetObjectItemCaseSensitive(q, "jsonrpc");
	const cJSON *method = cJSON_GetObjectItemCaseSensitive(q, "method");
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(q, "id");
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(q, "params");

	if (!cJSON_IsObject(q) || !cJSON_IsString(version) || strcmp(version->valuestring, "2.0") ||
	    !cJSON_IsString(method) || (id && !cJSON_IsString(id) && !cJSON_IsNumber(id)) ||
	    (params && !cJSON_IsObject(params))) {
		send_error(s, NULL, RPC_REQUEST, "not a request of JSON-RPC 2.0");
	} else if (!id) {
		if (!strcmp(method->valuestring, "notifications/cancelled"))
			cancel(s, params);
	} else if (!strcmp(method->valuestring, "tools/call") && s->initialized) {
		if (s->waiting.n < QUEUE && !vec_push(&s->waiting, q))
			return; /* in its turn */
		send_error(s, id, RPC_REQUEST, "too many calls are waiting");
	} else {
		reply(s, method->valuestring, id, params);
	}
	cJSON_Delete(q);
}

static void take_line(struct server *s, const char *line, size_t len)
{
	struct err err = ERR_INIT;
	cJSON *q;

	if (len == strspn(line, " \t\r"))
		return;
	q = mcp_read(line, len, &err);
	if (q)
		handle(s, q);
	else
		send_error(s, NULL, RPC_PARSE, err.what);
}

static void take_input(struct server *s)
{
	char part[65536];
	ssize_t n = read(STDIN_FILENO, part, sizeof(part));

	if (n < 0 && errno == EINTR)
		return;
	s->ended = n <= 0;
	for (ssize_t i = 0; i < n; i++) {
		if (part[i] != '\n') {
			if (s->in.len < MCP_LINE_MAX)
				buf_putc(&s->in, part[i]);
			else
				s->skipping = true;
			continue;
		}
		if (s->skipping)
			send_error(s, NULL, RPC_REQUEST, "a request of more than 1 MiB");
		else
			take_line(s, buf_str(&s->in), s->in.len);
		s->skipping = false;
		buf_reset(&s->in);
	}
}

static void next_call(struct server *s)
{
	cJSON *q = take_waiting(s, 0);

	call_tool(s, cJSON_GetObjectItemCaseSensitive(q, "id"),
		  cJSON_GetObjectItemCaseSensitive(q, "params"));
	cJSON_Delete(q);
}

static int time_left(const struct server *s)
{
	uint64_t t = counting_clock(), ms = t < s->due ? (s->due - t) / (NS / 1000) + 1 : 0;

	return !s->id ? -1 : ms > INT_MAX ? INT_MAX : (int)ms;
}

static void serve(struct server *s)
{
	while (!s->gone && (!s->ended || s->id || s->waiting.n)) {
		struct pollfd p[2] = { { s->ended ? -1 : STDIN_FILENO, POLLIN, 0 },
				       { s->id ? s->from : -1, POLLIN, 0 } };

		if (!s->id && s->waiting.n) {
			next_call(s);
			continue;
		}
		if (poll(p, 2, time_left(s)) < 0 && errno != EINTR)
			return;
		if (p[0].revents)
			take_input(s);
		if (s->id && p[1].revents && !take_output(s)) {
			finish(s);
		} else if (s->id && counting_clock() >= s->due) {
			const bool over = s->interrupted;

			s->late = true;
			press(s);
			if (over) /* another may hold the pipe open */
				finish(s);
		}
	}
}

static int take_places(struct cli *cli, struct mcp_may *may, struct err *err)
{
	const struct text_list here = { .v = (const char *[]){ "." }, .n = 1 };
	const struct text_list *const given[] = { &cli->opt.allow_program,
						  cli->opt.allow_dir.n ? &cli->opt.allow_dir
								       : &here };
	struct text_list *const to[] = { &may->programs, &may->dirs };

	for (int k = 0; k < 2; k++) {
		const char **v = arena_alloc(&cli->arena, (given[k]->n + 1) * sizeof(*v));

		if (!v)
			return err_nomem(err);
		for (size_t i = 0; i < given[k]->n; i++) {
			char real[PATH_MAX];

			if (!realpath(given[k]->v[i], real))
				return err_sys(err, "%s", given[k]->v[i]);
			v[i] = arena_strdup(&cli->arena, real);
			if (!v[i])
				return err_nomem(err);
		}
		*to[k] = (struct text_list){ .v = v, .n = given[k]->n };
	}
	return 0;
}

int cmd_mcp(struct cli *cli)
{
	const struct options *o = &cli->opt;
	struct server s = { .cli = cli, .in = BUF_INIT, .out = BUF_INIT };
	struct err err = ERR_INIT;

	s.room = OPTION_GIVEN(o, max_output) ? o->max_output : OUTPUT_BYTES;
	s.time = OPTION_GIVEN(o, timeout) ? o->timeout : SECONDS * NS;
	if (cli->args.n)
		(void)err_set(&err, ERR_USAGE, "mcp takes no operands");
	else if (s.room < 1024 || s.room > (64u << 20))
		(void)err_set(&err, ERR_USAGE, "--max-output must be 1k to 64M");
	if (err.code || take_places(cli, &s.may, &err))
		return cli_fail(&err);
	serve(&s);
	if (s.id) {
		(void)kill(-s.pid, SIGKILL);
		s.cancelled = true;
		finish(&s);
	}
	vec_each (&s.waiting, cJSON **, q)
		cJSON_Delete(*q);
	vec_free(&s.waiting);
	buf_free(&s.in);
	buf_free(&s.out);
	return EXIT_OK;
}

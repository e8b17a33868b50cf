/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --python: the frames of CPython's threads, read from their memory when a sample arrives here.
 *
 * The kernel wakes us for each sample; the frames are those of a moment later (its mean is in the
 * result). Of samples that arrive later than LATE_MOST, no frames are read. In the chain each frame
 * of the interpreter's loop, _PyEval_EvalFrameDefault(), is replaced by the Python frames that this
 * call of it runs, and so is a sample's place in it. Their number must be that of the calls that
 * Python knows; if it is not, the thread has called or returned since: then outer calls, which have
 * not changed, are matched, and the inner ones left as they are.
 *
 * In the file a Python function is a mapping of its own in each process that runs it, at addresses
 * where no process has any memory, called "[python]FILE:FUNCTION"; a line is PY_LINE bytes of it.
 * So the recording is one of the kernel's kind: perf shows these mappings as files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/file_in.h"
#include "base/fs.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/python.h"
#include "symbol/script.h"

#define HEAD	     sizeof(struct perf_event_header)
#define CONTEXT_USER (-(uint64_t)512)  /* PERF_CONTEXT_USER */
#define MARKERS	     (-(uint64_t)4095) /* PERF_CONTEXT_MAX */
#define LATE	     1000000u	       /* ns: counted */
#define LATE_MOST    5000000u	       /* ns: not read */

#define HURRY_NS   100000u /* the kernel's least */
#define HURRY_NICE (-19)

enum { FILES_MAX = 4, CHAIN_MAX = 8192, CAPTURES_MAX = 1 << 14 };

/* A file that may be the interpreter: the program or its library. */
struct py_file {
	uint64_t start, pgoff;
	const char *path; /* in the strings */
};

struct py_process {
	uint32_t pid;
	struct py_file file[FILES_MAX];
	size_t n_files;
	bool tried;
	bool elsewhere; /* it has another PID namespace */
	struct python *py;
	struct python_file at;
	struct u64map announced; /* number of a function -> time, + 1 */
	VEC(uint32_t) number;	 /* of the process' functions: those of the recording, + 1 */
};

struct py_frame {
	uint32_t function, line;
	bool entry;
};

/* What was read for a sample that is on its way. */
struct py_capture {
	uint64_t time;
	uint32_t tid, n;
	unsigned round;
	struct py_frame *frame;
};

struct pythons {
	const struct sampling *r;
	struct pd_event *ev; /* as they are stored */
	struct strtab strings, functions;
	struct u64map of_pid; /* -> place in process, + 1 */
	VEC(struct py_process *) process;
	VEC(struct py_capture) capture;
	size_t next; /* of the captures: the one that is looked for first */
	unsigned round, hurries;
	uint32_t reading; /* the thread whose memory is read */
	struct python_seen seen;
	struct python_frame frame[PYTHON_FRAMES_MAX];
	uint64_t chain[CHAIN_MAX];
	uint8_t out[2 * (UINT16_MAX + 1)];
};

int pythons_new(struct pythons **out, const struct sampling *r, struct err *err)
{
	size_t n = r->events.ev.n;
	struct pythons *ps = calloc(1, sizeof(*ps));

	*out = ps;
	if (!ps)
		return err_nomem(err);
	ps->r = r;
	ps->ev = calloc(n + 1, sizeof(*ps->ev));
	if (!ps->ev)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		ps->ev[i].attr = sampling_stored(r, i);
		pd_event_layout(&ps->ev[i]);
	}
	return 0;
}

static void free_process(struct py_process *p)
{
	if (!p)
		return;
	python_free(p->py);
	u64map_free(&p->announced);
	vec_free(&p->number);
	free(p);
}

void pythons_free(struct pythons *ps)
{
	if (!ps)
		return;
	vec_each (&ps->process, struct py_process **, p)
		free_process(*p);
	vec_each (&ps->capture, struct py_capture *, c)
		free(c->frame);
	vec_free(&ps->process);
	vec_free(&ps->capture);
	u64map_free(&ps->of_pid);
	strtab_free(&ps->strings);
	strtab_free(&ps->functions);
	free(ps->ev);
	free(ps);
}

const struct python_seen *pythons_seen(const struct pythons *ps)
{
	return &ps->seen;
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct py_process *find_python(const struct pythons *ps, uint32_t pid)
{
	const uint64_t *at = u64map_find(&ps->of_pid, pid);

	return at && *at ? ps->process.v[*at - 1] : NULL;
}

static struct py_process *python_of(struct pythons *ps, uint32_t pid, struct err *err)
{
	struct py_process *p = find_python(ps, pid);
	uint64_t *at;

	if (p)
		return p;
	at = u64map_at(&ps->of_pid, pid, NULL);
	p = at ? calloc(1, sizeof(*p)) : NULL;
	if (!p || vec_push(&ps->process, p)) {
		free(p);
		(void)err_nomem(err);
		return NULL;
	}
	p->pid = pid;
	*at = ps->process.n;
	return p;
}

static void forget_python(struct pythons *ps, uint32_t pid)
{
	uint64_t *at = u64map_find(&ps->of_pid, pid);

	if (!at || !*at)
		return;
	free_process(ps->process.v[*at - 1]);
	ps->process.v[*at - 1] = NULL;
	*at = 0;
}

static bool may_be_python(const char *path)
{
	const char *base = path_base(path);

	return !strncmp(base, "python3", 7) || !strncmp(base, "libpython3", 10);
}

static int note_python_map(struct pythons *ps, const struct pd_record *r, struct err *err)
{
	struct py_process *process;
	struct pd_mmap map;
	uint32_t path;

	if (pd_mmap_get(NULL, r, &map) || map.is_data || map.path[0] != '/' ||
	    !may_be_python(map.path))
		return 0;
	process = python_of(ps, map.pid, err);
	path = strtab_adds(&ps->strings, map.path);
	if (!process || path == STR_NONE)
		return err_nomem(err);
	process->tried &= process->py != NULL; /* a program without it may have a library with it */
	if (process->n_files < FILES_MAX)
		process->file[process->n_files++] =
			(struct py_file){ map.addr, map.pgoff, strtab_get(&ps->strings, path) };
	return 0;
}

/* A child has what its parent has mapped, and other memory. */
static int note_python_fork(struct pythons *ps, uint32_t pid, uint32_t parent, struct err *err)
{
	const struct py_process *from = pid != parent ? find_python(ps, parent) : NULL;
	struct py_process *to;

	if (!from)
		return 0;
	forget_python(ps, pid);
	to = python_of(ps, pid, err);
	if (!to)
		return -1;
	memcpy(to->file, from->file, sizeof(to->file));
	to->n_files = from->n_files;
	return 0;
}

int pythons_note(struct pythons *ps, const uint8_t *p, size_t size, struct err *err)
{
	const struct pd_record r = {
		.p = p, .size = (uint16_t)size, .type = ld32(p), .misc = ld16(p + 4)
	};
	struct pd_task task;
	struct pd_comm comm;

	switch (r.type) {
	case PERF_RECORD_MMAP2:
		return note_python_map(ps, &r, err);
	case PERF_RECORD_FORK:
		return pd_task_get(&r, &task) ? 0 : note_python_fork(ps, task.pid, task.ppid, err);
	case PERF_RECORD_COMM:
		if (!pd_comm_get(&r, &comm) && comm.exec)
			forget_python(ps, comm.pid);
		return 0;
	case PERF_RECORD_EXIT:
		if (!pd_task_get(&r, &task) && task.pid == task.tid)
			forget_python(ps, task.pid);
		return 0;
	default:
		return 0;
	}
}

/* ---- the interpreter ------------------------------------------------------------------------- */

static bool read_process(void *ctx, uint64_t addr, void *to, size_t n)
{
	const struct pythons *ps = ctx;
	struct iovec here = { to, n };
	struct iovec there = { (void *)(uintptr_t)addr, n };

	return process_vm_readv((pid_t)ps->reading, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool has_other_pids(uint32_t pid)
{
	struct stat own, its;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	return file_look("/proc/self/ns/pid", &own) && file_look(path, &its) &&
	       own.st_ino != its.st_ino;
}

static int read_python_file(struct py_process *p, const struct py_file *f, struct err *err)
{
	struct file_map map = { 0 };
	struct stat st;
	char root[32];
	int fd, rc;

	(void)snprintf(root, sizeof(root), "/proc/%u/root", p->pid);
	fd = file_in_open(root, f->path, FILE_IN_LINKS, &st, err);
	if (fd < 0 || file_in_map(&map, fd, &st, false, f->path, err))
		return -1;
	rc = python_file_read(&p->at, map.p, map.len, f->path, f->start, f->pgoff, err);
	file_map_close(&map);
	return rc;
}

/* Before 3.11 there is no Py_Version: "libpython3.10.so.1.0". */
static uint32_t version_of_name(const char *path)
{
	const char *s = strstr(path_base(path), "python3.");

	return s ? 3u << 24 | (uint32_t)(strtoul(s + 8, NULL, 10) & 0xff) << 16 : 0;
}

/* Once for a process, at its first sample. */
static void try_python(struct pythons *ps, struct py_process *p)
{
	const struct python_memory m = { read_process, ps };
	struct err err = ERR_INIT;
	uint8_t version[8] = { 0 };

	p->tried = true;
	p->elsewhere = has_other_pids(p->pid);
	for (size_t i = p->n_files; i-- > 0 && !p->py;) { /* the library came after the program */
		struct err why = ERR_INIT;

		if (read_python_file(p, &p->file[i], &why)) {
			err = why;
			continue;
		}
		if (p->at.version && !read_process(ps, p->at.version, version, sizeof(version))) {
			(void)err_set(&err, ERR_PERM, "the memory of process %u may not be read",
				      p->pid);
			break;
		}
		p->py = python_new(&m, p->at.runtime,
				   p->at.version ? ld32(version) : version_of_name(p->file[i].path),
				   &err);
		break;
	}
	if (p->py) {
		ps->seen.processes++;
	} else if (!*ps->seen.why) {
		(void)snprintf(ps->seen.why, sizeof(ps->seen.why), "%.200s", err.what);
	}
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The number of a function in the recording, + 1; 0: no memory, or too many. */
static uint32_t number_function(struct pythons *ps, struct py_process *p,
				const struct python_function *f)
{
	struct buf b = BUF_INIT;
	uint32_t *known;

	while (p->number.n <= f->number)
		if (vec_push(&p->number, 0))
			return 0;
	known = &p->number.v[f->number];
	if (!*known) {
		script_put_path(&b, f->file, f->name);
		*known = b.failed ? STR_NONE : strtab_adds(&ps->functions, buf_str(&b));
		if (*known == STR_NONE || *known >= SCRIPT_FUNCTIONS_MAX)
			*known = 0;
		buf_free(&b);
	}
	return *known;
}

/* A record for the mapping that stands for the function. */
static int announce(struct pythons *ps, uint32_t pid, uint32_t tid, uint32_t function,
		    uint64_t time, uint64_t id,
		    int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err), void *ctx,
		    struct err *err)
{
	const struct perf_event_attr *a = &ps->ev[0].attr;
	const char *path = strtab_get(&ps->functions, function);
	size_t name = (strlen(path) + 8) / 8 * 8, size = HEAD + 64 + name;
	uint8_t b[HEAD + 64 + 2048] = { 0 }, *t;
	struct perf_event_header h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER };

	if (size + 48 > sizeof(b))
		return 0;
	st32(b + HEAD, pid);
	st32(b + HEAD + 4, tid);
	st64(b + HEAD + 8, script_address(function, 0));
	st64(b + HEAD + 16, SCRIPT_BYTES);
	st32(b + HEAD + 56, PROT_READ | PROT_EXEC);
	st32(b + HEAD + 60, MAP_PRIVATE);
	memcpy(b + HEAD + 64, path, strlen(path));
	t = b + size;
	if (a->sample_type & PERF_SAMPLE_TID) {
		st32(t, pid);
		st32(t + 4, tid);
		t += 8;
	}
	if (a->sample_type & PERF_SAMPLE_TIME) {
		st64(t, time);
		t += 8;
	}
	if (a->sample_type & PERF_SAMPLE_ID) {
		st64(t, id);
		t += 8;
	}
	t += a->sample_type & PERF_SAMPLE_STREAM_ID ? 8 : 0;
	t += a->sample_type & PERF_SAMPLE_CPU ? 8 : 0;
	if (a->sample_type & PERF_SAMPLE_IDENTIFIER) {
		st64(t, id);
		t += 8;
	}
	h.size = (uint16_t)(t - b);
	memcpy(b, &h, sizeof(h));
	return put(ctx, b, h.size, err);
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool count_delay(struct pythons *ps, uint64_t time)
{
	const struct perf_event_attr *a = &ps->r->ev[0].attr;
	uint64_t now = a->use_clockid ? sampling_clock(a->clockid) : 0;
	uint64_t delay = now > time ? now - time : 0;

	if (delay > LATE_MOST) {
		ps->seen.unread++;
		return false;
	}
	ps->seen.read++;
	ps->seen.delay += delay;
	ps->seen.late += delay > LATE;
	return true;
}

/* This thread is to run soon after it is woken: with short turns (Linux 6.12), and before others if
 * we may. */
static void hurry(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = { .size = sizeof(a), .nice = HURRY_NICE, .runtime = HURRY_NS };

	if (syscall(SYS_sched_setattr, 0, &a, 0)) {
		a.nice = getpriority(PRIO_PROCESS, 0);
		(void)syscall(SYS_sched_setattr, 0, &a, 0);
	}
}

int pythons_saw(struct pythons *ps, uint32_t pid, uint32_t tid, uint64_t time, struct err *err)
{
	struct py_process *p = find_python(ps, pid);
	struct py_capture c = { .time = time, .tid = tid, .round = ps->round };
	bool torn;
	size_t n;

	if (!p || !p->n_files)
		return 0;
	if (!ps->hurries++)
		hurry();
	ps->reading = tid;
	if (!p->tried)
		try_python(ps, p);
	if (!p->py || ps->capture.n >= CAPTURES_MAX || !count_delay(ps, time))
		return 0;
	n = python_frames(p->py, p->elsewhere ? inside_number(pid, tid) : tid, ps->frame,
			  PYTHON_FRAMES_MAX, &torn);
	ps->seen.torn += torn;
	if (!n)
		return 0;
	c.frame = malloc(n * sizeof(*c.frame));
	if (!c.frame)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		uint32_t number = number_function(ps, p, ps->frame[i].function);

		if (!number)
			break;
		c.frame[c.n++] = (struct py_frame){ number, ps->frame[i].line, ps->frame[i].entry };
	}
	if (vec_push(&ps->capture, c)) {
		free(c.frame);
		return err_nomem(err);
	}
	return 0;
}

/* The frames that were read for the sample; NULL: none were. Samples come mostly in this order. */
static struct py_capture *take_capture(struct pythons *ps, uint32_t tid, uint64_t time)
{
	for (size_t k = 0; k < ps->capture.n; k++) {
		size_t i = (ps->next + k) % ps->capture.n;
		struct py_capture *c = &ps->capture.v[i];

		if (c->tid == tid && c->time == time) {
			ps->next = i + 1;
			return c;
		}
	}
	return NULL;
}

/* Those of this round and the one before may still be asked for. */
void pythons_round(struct pythons *ps)
{
	size_t keep = 0;

	for (size_t i = 0; i < ps->capture.n; i++) {
		if (ps->capture.v[i].round + 1 < ps->round)
			free(ps->capture.v[i].frame);
		else
			ps->capture.v[keep++] = ps->capture.v[i];
	}
	ps->capture.n = keep;
	ps->next = 0;
	ps->round++;
}

struct merge {
	const struct py_capture *c;
	const struct python_file *at;
	size_t f;     /* the next frame */
	size_t leave; /* calls of the loop, inner ones, that are left as they are */
	uint64_t *out;
	size_t n;
};

static bool is_loop(const struct merge *m, uint64_t ip)
{
	return ip >= m->at->eval && ip < m->at->eval_end;
}

static void put_frame(struct merge *m, uint64_t ip)
{
	if (m->n < CHAIN_MAX)
		m->out[m->n++] = ip;
}

/* The frames of one call of the loop. */
static void put_group(struct merge *m)
{
	while (m->f < m->c->n) {
		const struct py_frame *f = &m->c->frame[m->f++];

		put_frame(m, script_address(f->function, f->line));
		if (f->entry)
			return;
	}
}

/* Matches calls of the loop with Python's, from the outermost on. */
static void begin_merge(struct pythons *ps, struct merge *m, const uint8_t *user, size_t n)
{
	size_t loops = 0, groups = 0;

	for (size_t i = 0; i < n; i++)
		loops += is_loop(m, ld64(user + 8 * i));
	for (size_t i = 0; i < m->c->n; i++)
		groups += m->c->frame[i].entry;
	if (!loops || loops == groups)
		return;
	ps->seen.contradicted++;
	m->leave = loops > groups ? loops - groups : 0;
	for (size_t skip = groups > loops ? groups - loops : 0; skip && m->f < m->c->n; m->f++)
		skip -= m->c->frame[m->f].entry;
}

/* The user's part of a chain, from user[0] on. */
static void merge_user(struct pythons *ps, struct merge *m, const uint8_t *user, size_t n)
{
	begin_merge(ps, m, user, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t ip = ld64(user + 8 * i);

		if (!is_loop(m, ip) || m->f == m->c->n)
			put_frame(m, ip);
		else if (m->leave && m->leave--)
			put_frame(m, ip);
		else
			put_group(m);
	}
	while (m->f < m->c->n) /* chains that do not reach the loop */
		put_group(m);
}

static int announce_all(struct pythons *ps, struct py_process *p, const struct pd_sample *s,
			const struct py_capture *c,
			int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err),
			void *ctx, struct err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		uint64_t *at = u64map_at(&p->announced, c->frame[i].function, NULL);

		if (!at)
			return err_nomem(err);
		if (*at && *at - 1 <= s->time)
			continue;
		*at = s->time + 1;
		if (announce(ps, s->pid, s->tid, c->frame[i].function, s->time, s->id, put, ctx,
			     err))
			return -1;
	}
	return 0;
}

static size_t merge_chain(struct pythons *ps, struct merge *m, const struct pd_sample *s,
			  uint64_t *ip)
{
	bool in_loop = s->cpumode == PERF_RECORD_MISC_USER && is_loop(m, s->ip);
	uint64_t i = 0, to;
	size_t first;

	while (i < s->n_chain && ld64(s->chain + 8 * i) != CONTEXT_USER)
		put_frame(m, ld64(s->chain + 8 * i++));
	put_frame(m, CONTEXT_USER);
	i += i < s->n_chain;
	for (to = i; to < s->n_chain && ld64(s->chain + 8 * to) < MARKERS;)
		to++;
	first = m->n;
	merge_user(ps, m, s->chain + 8 * i, (size_t)(to - i));
	/* the sample's place, with or without chains */
	if (in_loop && m->n > first && m->out[first] >= SCRIPT_BASE && m->out[first] < MARKERS)
		*ip = m->out[first];
	for (; to < s->n_chain; to++)
		put_frame(m, ld64(s->chain + 8 * to));
	return m->n;
}

int pythons_chain(struct pythons *ps, size_t event, const uint8_t **rec, size_t *size,
		  int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err), void *ctx,
		  struct err *err)
{
	const struct pd_event *ev = &ps->ev[event];
	const struct pd_record r = {
		.p = *rec, .size = (uint16_t)*size, .type = ld32(*rec), .misc = ld16(*rec + 4)
	};
	struct merge m = { .out = ps->chain };
	const struct py_capture *c;
	struct py_process *p;
	struct pd_sample s;
	uint64_t ip;
	size_t n;
	int got;

	if (pd_sample_parse_of(ev, &r, &s))
		return 0;
	p = find_python(ps, s.pid);
	c = p ? take_capture(ps, s.tid, s.time) : NULL;
	if (!c || !c->n)
		return 0;
	m.c = c;
	m.at = &p->at;
	ip = s.ip;
	ps->seen.samples++;
	if (announce_all(ps, p, &s, c, put, ctx, err))
		return -1;
	n = merge_chain(ps, &m, &s, &ip);
	got = pd_sample_end_chain(ev, &r, (size_t)s.n_chain, ps->chain, n, ps->out);
	if (got <= 0)
		return 0;
	if (ev->at.ip)
		st64(ps->out + ev->at.ip, ip);
	*rec = ps->out;
	*size = (size_t)got;
	return 0;
}

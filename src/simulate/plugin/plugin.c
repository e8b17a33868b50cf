/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin of `cyclade simulate`: tells which blocks of a program run and which addresses they
 * access (simulate/stream.h). It knows nothing of CPUs.
 *
 *	qemu-x86_64 -plugin cyclade-simulate.so,ring=FD,reader=PID PROGRAM [ARGUMENTS]
 *
 * Threads of the program take turns: one runs at a time, for TURN blocks or until it calls the
 * system, so that words of several never mix.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "simulate/plugin/qemu_api.h"
#include "simulate/stream.h"

int qemu_plugin_version = QEMU_API_VERSION;

/* Runs before QEMU reads the version: from 9.0 on it takes none below 2. What is used here did not
 * change but for one function, which differs from version 3 on. */
__attribute__((constructor)) static void choose_version(void)
{
	if (dlsym(RTLD_DEFAULT, "qemu_plugin_scoreboard_new"))
		qemu_plugin_version = 2;
}

static bool copies; /* qemu_plugin_insn_data() copies */

static void take_bytes(const struct qemu_plugin_insn *insn, unsigned char *to, size_t size)
{
	union {
		void *symbol;
		const void *(*point)(const struct qemu_plugin_insn *);
		size_t (*copy)(const struct qemu_plugin_insn *, void *, size_t);
	} data = { dlsym(RTLD_DEFAULT, "qemu_plugin_insn_data") };

	if (copies)
		(void)data.copy(insn, to, size);
	else
		memcpy(to, data.point(insn), size);
}

#define TURN 20000u

static struct stream_shared *ring;
static uint64_t *word;
static uint64_t head, room; /* words written; where the reader's place ends */

/* ---- the ring ------------------------------------------------------------------------------- */

static void wait_for(uint32_t *flag, const uint64_t *at, uint64_t seen)
{
	const struct timespec a_while = { 0, 50000000 };

	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(at, __ATOMIC_SEQ_CST) == seen)
		(void)syscall(SYS_futex, flag, FUTEX_WAIT, 1, &a_while, NULL, 0);
	__atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
}

static void publish(void)
{
	__atomic_store_n(&ring->head, head, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ring->head_waits, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&ring->head_waits, 0, __ATOMIC_SEQ_CST);
		(void)syscall(SYS_futex, &ring->head_waits, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static bool detached; /* nobody reads: the program goes on alone */
static pid_t reader;

/* If the reader is gone, words go round and round from now on. */
static bool is_alone(void)
{
	if (!__atomic_load_n(&ring->closed, __ATOMIC_ACQUIRE) && getppid() == reader)
		return false;
	detached = true;
	room = UINT64_MAX;
	return true;
}

static void make_room(void)
{
	publish();
	for (;;) {
		uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

		room = tail + STREAM_WORDS;
		if (room > head)
			return;
		if (is_alone())
			return;
		wait_for(&ring->tail_waits, &ring->tail, tail);
	}
}

static inline void put(uint64_t w)
{
	if (head == room)
		make_room();
	word[head++ & (STREAM_WORDS - 1)] = w;
}

static void note(enum stream_note kind, uint32_t words)
{
	put((uint64_t)STREAM_NOTE << STREAM_TAG_SHIFT | (uint64_t)kind << STREAM_KIND_SHIFT |
	    words);
}

static void put_bytes(const void *p, size_t n)
{
	const char *from = p;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t w = 0;

		memcpy(&w, from + i, n - i < 8 ? n - i : 8);
		put(w);
	}
}

/* ---- turns ---------------------------------------------------------------------------------- */

static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static uint64_t next_ticket, serving = 1; /* 0: nobody has been served */
static bool taken;
static __thread bool mine;
static uint32_t left;

static void take_turn(void)
{
	uint64_t ticket;

	pthread_mutex_lock(&turns);
	ticket = ++next_ticket;
	while (taken || serving != ticket)
		pthread_cond_wait(&moved, &turns);
	taken = mine = true;
	left = TURN;
	pthread_mutex_unlock(&turns);
}

static void give_turn(void)
{
	if (!mine)
		return;
	publish();
	pthread_mutex_lock(&turns);
	mine = taken = false;
	serving++;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&turns);
}

/* ---- mappings ------------------------------------------------------------------------------- */

static void put_map(uint64_t at, uint64_t len, uint64_t offset, uint64_t prot, const char *path)
{
	size_t n = strlen(path) + 1;

	note(STREAM_MAP, (uint32_t)(4 + (n + 7) / 8));
	put(at);
	put(len);
	put(offset);
	put(prot);
	put_bytes(path, n);
}

/* Files that were there before the first block: the program's and its loader's. The emulator has
 * no right to execute them, so that data may be among them; and its own are, too. */
static void put_maps(void)
{
	char line[PATH_MAX + 200];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long from, to, offset;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &from, &to, rights, &offset,
			   &at) < 4 ||
		    !at || line[at] != '/')
			continue;
		line[strcspn(line, "\n")] = 0;
		put_map(from, to - from, offset, 0, line + at);
	}
	if (f)
		(void)fclose(f);
}

/* mmap of a file, by its descriptor. */
static void put_mapping(uint64_t at, uint64_t len, uint64_t prot, int fd, uint64_t offset)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || *path != '/')
		return;
	path[n] = 0;
	put_map(at, len, offset, prot, path);
}

/* ---- what QEMU calls ------------------------------------------------------------------------- */

/* A block, until it runs first: then it has a number. A translation must not wait for a turn, since
 * the emulator holds locks meanwhile that the thread whose turn it is may need. */
struct block {
	uint64_t vaddr;
	uint32_t id, n, len; /* id + 1; 0: it has not run yet */
	unsigned char *bytes;
};

static bool begun;
static uint32_t blocks;

static void put_block(struct block *b)
{
	b->id = ++blocks;
	note(STREAM_BLOCK, 3 + (b->len + 7) / 8);
	put(b->id - 1);
	put(b->vaddr);
	put(b->n);
	put_bytes(b->bytes, b->len);
	free(b->bytes);
	b->bytes = NULL;
}

static void on_run(unsigned cpu, void *ctx)
{
	struct block *b = ctx;

	if (detached)
		return;
	if (!mine) {
		take_turn();
	} else if (!--left) {
		give_turn();
		take_turn();
	}
	if (!begun) {
		begun = true;
		put_maps();
	}
	if (!b->id)
		put_block(b);
	put((uint64_t)STREAM_RUN << STREAM_TAG_SHIFT |
	    (uint64_t)(cpu & 0xffff) << STREAM_THREAD_SHIFT | (b->id - 1));
	if (!(head & 1023))
		publish();
}

static void on_access(unsigned cpu, uint32_t info, uint64_t vaddr, void *ctx)
{
	uint64_t size = qemu_plugin_mem_size_shift(info);

	(void)cpu;
	if (detached || vaddr >> STREAM_INSN_SHIFT)
		return;
	put((uint64_t)(uintptr_t)ctx << STREAM_INSN_SHIFT | vaddr |
	    (qemu_plugin_mem_is_store(info) ? STREAM_STORE : 0) |
	    (size < 7 ? size : 7) << STREAM_SIZE_SHIFT);
}

static void on_translate(uint64_t plugin, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	unsigned char bytes[STREAM_INSNS_MOST * 17];
	struct block *b = detached ? NULL : calloc(1, sizeof(*b));
	uint32_t len = 0;

	(void)plugin;
	if (!b)
		return;
	n = n < STREAM_INSNS_MOST ? n : STREAM_INSNS_MOST;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = qemu_plugin_insn_size(insn);

		size = size < 16 ? size : 16;
		bytes[len++] = (unsigned char)size;
		take_bytes(insn, bytes + len, size);
		len += (uint32_t)size;
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, 0, QEMU_MEM_BOTH,
						 (void *)(uintptr_t)i);
	}
	b->bytes = malloc(len ? len : 1);
	if (!b->bytes) {
		free(b);
		return;
	}
	memcpy(b->bytes, bytes, len);
	b->vaddr = qemu_plugin_tb_vaddr(tb);
	b->n = (uint32_t)n;
	b->len = len;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_run, 0, b);
}

/* Numbers and a flag of x86-64. */
enum {
	CALL_MMAP = 9,
	CALL_CLONE = 56,
	CALL_FORK = 57,
	CALL_VFORK = 58,
	CALL_EXECVE = 59,
	CALL_EXECVEAT = 322,
	IS_THREAD = 0x10000,
};

static __thread uint64_t map_len, map_prot, map_offset;
static __thread int map_fd;

static void on_call(uint64_t plugin, unsigned cpu, int64_t number, uint64_t a, uint64_t b,
		    uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
	(void)plugin, (void)cpu, (void)d, (void)g, (void)h;
	if (detached)
		return;
	if (!mine)
		take_turn();
	note(STREAM_CALL, 1);
	put((uint64_t)number);
	if (number == CALL_EXECVE || number == CALL_EXECVEAT)
		note(STREAM_GONE, 0);
	if (number == CALL_FORK || number == CALL_VFORK ||
	    (number == CALL_CLONE && !(a & IS_THREAD)))
		note(STREAM_CHILD, 0);
	map_fd = -1;
	if (number == CALL_MMAP) {
		map_len = b;
		map_prot = c;
		map_fd = (int)e;
		map_offset = f;
	}
	give_turn();
}

static void on_return(uint64_t plugin, unsigned cpu, int64_t number, int64_t value)
{
	(void)plugin, (void)cpu;
	if (detached || number != CALL_MMAP || map_fd < 0 || (value < 0 && value > -4096))
		return;
	if (!mine)
		take_turn();
	put_mapping((uint64_t)value, map_len, map_prot, map_fd, map_offset);
}

static void on_end(uint64_t plugin, void *ctx)
{
	(void)plugin, (void)ctx;
	if (detached)
		return;
	if (!mine)
		take_turn();
	note(STREAM_END, 0);
	publish();
}

/* The child goes on alone. */
static void in_child(void)
{
	detached = true;
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv)
{
	int fd = argc == 2 && !strncmp(argv[0], "ring=", 5) ? atoi(argv[0] + 5) : -1;

	copies = info->current >= 3;
	reader = argc == 2 && !strncmp(argv[1], "reader=", 7) ? (pid_t)atoi(argv[1] + 7) : 0;
	ring = mmap(NULL, STREAM_HEAD + STREAM_WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (ring == MAP_FAILED || ring->magic != STREAM_MAGIC || ring->words != STREAM_WORDS) {
		fprintf(stderr, "cyclade-simulate: no ring\n");
		return -1;
	}
	word = (uint64_t *)((char *)ring + STREAM_HEAD);
	room = STREAM_WORDS;
	(void)close(fd); /* the program is to see no descriptor of ours */
	(void)pthread_atfork(NULL, NULL, in_child);
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(plugin, on_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(plugin, on_return);
	qemu_plugin_register_atexit_cb(plugin, on_end, NULL);
	return 0;
}

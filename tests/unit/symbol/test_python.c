/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of CPython in planted memory, by our offsets (3.11, 3.12) and by the table of 3.13 and
 * 3.14; lines; and memory that was made to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "symbol/python.h"
#include "symbol/python/python_int.h"

#define BASE	0x7f0000000000ULL
#define RUNTIME (BASE + 0x100)
#define TID	4242u

static uint8_t memory[1 << 16];
static unsigned reads;

static bool read_memory(void *ctx, uint64_t addr, void *to, size_t n)
{
	(void)ctx;
	reads++;
	if (addr < BASE || addr - BASE > sizeof(memory) || n > sizeof(memory) - (addr - BASE))
		return false;
	memcpy(to, memory + (addr - BASE), n);
	return true;
}

static const struct python_memory all = { read_memory, NULL };

static void word(uint64_t addr, uint64_t v)
{
	st64(memory + (addr - BASE), v);
}

static void text(uint64_t addr, const struct python_layout *l, const char *s)
{
	word(addr + l->text_length, strlen(s));
	/* one byte for a character, compact, ASCII */
	st32(memory + (addr - BASE) + l->text_state, (1u | 1u << 3 | 1u << 4) << l->state_shift);
	memcpy(memory + (addr - BASE) + l->text_ascii, s, strlen(s));
}

/* Code objects at BASE + 0x1000 * (1 + i), with a table of three lines. */
static uint64_t code(const struct python_layout *l, unsigned i, const char *name, uint32_t line)
{
	/* 2 units of the first line, 3 of the one behind, 1 of one 5 lines before that */
	static const uint8_t table[] = { 0x80 | 10 << 3 | 1, 0, 0, 0x80 | 11 << 3 | 2, 0, 0,
					 0x80 | 13 << 3 | 0, 11 };
	uint64_t at = BASE + 0x1000 * (1 + i);

	word(at + l->code_file, at + 0x400);
	word(at + l->code_name, at + 0x600);
	word(at + l->code_lines, at + 0x800);
	st32(memory + (at - BASE) + l->code_first_line, line);
	text(at + 0x400, l, "/srv/app.py");
	text(at + 0x600, l, name);
	word(at + 0x800 + l->bytes_size, sizeof(table));
	memcpy(memory + (at - BASE) + 0x800 + l->bytes_data, table, sizeof(table));
	return at;
}

static void frame(const struct python_layout *l, uint64_t at, uint64_t previous, uint64_t of,
		  uint64_t offset, uint8_t owner, bool entry)
{
	word(at + l->frame_previous, previous);
	word(at + l->frame_code, of);
	word(at + l->frame_instruction, of + l->code_start + offset);
	memory[at - BASE + l->frame_owner] = owner;
	if (l->entry_flag)
		memory[at - BASE + l->entry_flag] = entry;
}

/* A thread that runs inner(), called by outer() in the same loop, which main() called by C code. */
static void plant(const struct python_layout *l)
{
	uint64_t interpreter = BASE + 0x6000, thread = BASE + 0x8000, f = BASE + 0xa000;
	uint64_t inner = code(l, 0, "inner", 10), outer = code(l, 1, "K.outer", 20),
		 module = code(l, 2, "<module>", 30);
	uint64_t top = f + 0x600;

	word(RUNTIME + l->runtime_interpreters, interpreter);
	word(interpreter + l->interpreter_threads, thread);
	/* another thread first */
	word(thread + l->thread_next, thread + 0x800);
	word(thread + l->thread_interpreter, interpreter);
	word(thread + l->thread_native_id, TID + 1);
	thread += 0x800;
	word(thread + l->thread_interpreter, interpreter);
	word(thread + l->thread_native_id, TID);
	frame(l, f, 0, module, 0, 0, true);
	if (l->shim_owner < UINT8_MAX) {
		frame(l, f + 0x100, 0, 0, 0, l->shim_owner, false);
		word(f + l->frame_previous, f + 0x100);
		frame(l, f + 0x300, f, 0, 0, l->shim_owner, false);
		frame(l, f + 0x400, f + 0x300, outer, 4, 0, false);
	} else {
		frame(l, f + 0x400, f, outer, 4, 0, true);
	}
	frame(l, top, f + 0x400, inner, 10, 0, false);
	if (l->frame_direct) {
		word(thread + l->thread_frame, top);
	} else {
		word(thread + l->thread_frame, BASE + 0xc000);
		word(BASE + 0xc000 + l->cframe, top);
	}
}

static void check_planted(uint32_t version)
{
	struct python_frame v[8];
	struct err err = ERR_INIT;
	struct python *py = python_new(&all, RUNTIME, version, &err);
	bool torn;

	assert_non_null(py);
	plant(&py->l);
	for (int i = 0; i < 2; i++) { /* and once more, of what is kept */
		assert_int_equal(python_frames(py, TID, v, 8, &torn), 3);
		assert_false(torn);
		assert_string_equal(v[0].function->name, "inner");
		assert_string_equal(v[0].function->file, "/srv/app.py");
		assert_int_equal(v[0].line, 6); /* 10 + 1 - 5 */
		assert_false(v[0].entry);
		assert_string_equal(v[1].function->name, "K.outer");
		assert_int_equal(v[1].line, 21);
		assert_true(v[1].entry);
		assert_string_equal(v[2].function->name, "<module>");
		assert_int_equal(v[2].line, 30);
		assert_true(v[2].entry);
	}
	assert_int_equal(python_frames(py, TID, v, 2, &torn), 2);
	assert_int_equal(python_frames(py, 7, v, 8, &torn), 0);
	assert_false(torn);
	python_free(py);
}

/* A path of 500 wide characters, of three bytes each in UTF-8, keeps its end. */
static void test_wide_path(void **state)
{
	const char *name = "/app.py";
	uint64_t at = BASE + 0xe000;
	struct python_frame v[8];
	struct err err = ERR_INIT;
	struct python *py;
	uint8_t *wide;
	size_t n = 500;
	bool torn;

	(void)state;
	memset(memory, 0, sizeof(memory));
	py = python_new(&all, RUNTIME, 0x030c01f0, &err);
	assert_non_null(py);
	plant(&py->l);
	for (unsigned i = 0; i < 3; i++)
		word(BASE + 0x1000 * (1 + i) + py->l.code_file, at);
	word(at + py->l.text_length, n + strlen(name));
	st32(memory + (at - BASE) + py->l.text_state, (2u | 1u << 3) << py->l.state_shift);
	wide = memory + (at - BASE) + py->l.text_ascii + py->l.text_wide;
	for (size_t i = 0; i < n; i++) {
		wide[2 * i] = 0x2d;
		wide[2 * i + 1] = 0x4e; /* U+4E2D */
	}
	for (size_t i = 0; i < strlen(name); i++)
		wide[2 * (n + i)] = (uint8_t)name[i];
	assert_int_equal(python_frames(py, TID, v, 8, &torn), 3);
	assert_int_equal(strlen(v[0].function->file),
			 (PYTHON_PATH_MAX - 1 - strlen(name)) / 3 * 3 + strlen(name));
	assert_memory_equal(v[0].function->file, "\xe4\xb8\xad\xe4\xb8\xad", 6);
	assert_string_equal(strrchr(v[0].function->file, '/'), name);
	python_free(py);
}

static void test_own(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	check_planted(0x030b07f0);
	memset(memory, 0, sizeof(memory));
	check_planted(0x030c01f0);
}

/* The table that _PyRuntime begins with; members 16 bytes apart, in no order of ours. */
static void plant_table(uint32_t version)
{
	static const uint32_t words[][2] = {
#define PYTHON_WORD(name, in_3_13, in_3_14) { in_3_13, in_3_14 },
#include "symbol/python/python_layout.def"
#undef PYTHON_WORD
	};
	unsigned minor = version >> 16 & 0xff;

	memset(memory, 0, sizeof(memory));
	memcpy(memory + (RUNTIME - BASE), "xdebugpy", 8);
	word(RUNTIME + 8, version);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		word(RUNTIME + 8 * words[i][minor == 14], 16 * (uint64_t)((i * 5) % 23));
	word(RUNTIME + 8 * 5, 0x400);			       /* behind the table */
	word(RUNTIME + 8u * (minor == 13 ? 70u : 80u), 0x160); /* a text is behind its head */
	word(RUNTIME + 8u * (minor == 13 ? 66u : 76u), 0x170);
	word(RUNTIME + 8u * (minor == 13 ? 43u : 48u), 0x180);
}

static void test_told(void **state)
{
	(void)state;
	plant_table(0x030d00f0);
	check_planted(0);
	plant_table(0x030e00f0);
	check_planted(0);
}

static void refused(uint32_t version)
{
	struct err err = ERR_INIT;

	assert_null(python_new(&all, RUNTIME, version, &err));
	assert_non_null(strstr(err.what, "Python"));
}

static void test_refused(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	refused(0);
	refused(0x030a00f0);
	refused(0x030d00f0); /* which would have a table */
	refused(0x020712f0);
	plant_table(0x030f00f0);
	refused(0);
	plant_table(0x030d00f0);
	word(RUNTIME + 16, 1); /* free-threaded */
	refused(0);
	plant_table(0x030e00f0);
	word(RUNTIME + 8 * 32, 1 << 16); /* too far for a frame */
	refused(0);
}

static void test_lines(void **state)
{
	const uint8_t none[] = { 0x80 | 15 << 3 | 1, 0x80 | 14 << 3, 2, 1, 1, 1 };
	const uint8_t open[] = { 0x80 | 14 << 3, 0x7f, 0x7f };
	size_t seen = 0;

	(void)state;
	assert_int_equal(python_line(none, sizeof(none), 9, 0, &seen),
			 9); /* no line: the one before */
	assert_int_equal(python_line(none, sizeof(none), 9, 4, &seen), 10);
	assert_int_equal(python_line(none, sizeof(none), 9, 1000, &seen), 10);
	assert_int_equal(python_line(NULL, 0, 9, 4, &seen), 9);
	assert_int_equal(seen, 1 + 2 * sizeof(none));
	(void)python_line(open, sizeof(open), 9, 4, &seen); /* ends within the bytes */
	assert_int_equal(seen, 1 + 2 * sizeof(none) + sizeof(open));
}

/* Frames that lead in a circle or nowhere, endless lists, any bytes: it ends, soon. */
static void test_hostile(void **state)
{
	struct python_frame v[PYTHON_FRAMES_MAX];
	struct err err = ERR_INIT;
	uint64_t random = 1;
	struct python *py;
	bool torn;

	(void)state;
	memset(memory, 0, sizeof(memory));
	py = python_new(&all, RUNTIME, 0x030c01f0, &err);
	assert_non_null(py);
	plant(&py->l);
	word(BASE + 0xa000 + py->l.frame_previous, BASE + 0xa600); /* the last leads to the first */
	assert_true(python_frames(py, TID, v, PYTHON_FRAMES_MAX, &torn) <= PYTHON_FRAMES_MAX);
	word(BASE + 0xa000 + py->l.frame_previous, BASE + 0xa000); /* to itself */
	assert_int_equal(python_frames(py, TID, v, PYTHON_FRAMES_MAX, &torn), 0);
	assert_true(torn);
	/* a circle again, of code that ends far behind a long table of lines */
	word(BASE + 0xa000 + py->l.frame_previous, BASE + 0xa400);
	word(BASE + 0xa400 + py->l.frame_previous, BASE + 0xa000);
	word(BASE + 0xa000 + py->l.frame_code, BASE + 0xf800);
	word(BASE + 0xa000 + py->l.frame_instruction, BASE + 0x100000);
	memcpy(memory + 0xf800, memory + 0x1000, 0x200);
	word(BASE + 0xf800 + py->l.code_lines, BASE + 0x1800);
	word(BASE + 0x1800 + py->l.bytes_size, 0xd800);
	assert_int_equal(python_frames(py, TID, v, PYTHON_FRAMES_MAX, &torn), 0);
	assert_true(torn);
	word(BASE + 0x8800 + py->l.thread_native_id, 1);
	word(BASE + 0x8800 + py->l.thread_next, BASE + 0x8000); /* threads in a circle */
	word(BASE + 0x6000 + py->l.interpreter_next, BASE + 0x6000);
	reads = 0;
	assert_int_equal(python_frames(py, TID, v, PYTHON_FRAMES_MAX, &torn), 0);
	assert_true(reads < 10000);
	for (int i = 0; i < 2000; i++) {
		plant(&py->l);
		for (int k = 0; k < 20; k++) {
			uint64_t x = random_next(&random);

			/* near what is planted, and often an address of it */
			word(BASE + 0x6000 + x % 0x6400,
			     x & 1 << 20 ? BASE + (x >> 24) % sizeof(memory) : x >> 24);
		}
		reads = 0;
		(void)python_frames(py, TID, v, PYTHON_FRAMES_MAX, &torn);
		assert_true(reads < 40000);
	}
	python_free(py);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),	cmocka_unit_test(test_told),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_wide_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Known bytes: every kind of branch, and the blocks that follow from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <elf.h>

#include "../skip.h"
#include "dump.h"
#include "symbol/code.h"

#define AT 0x401000ULL

static struct code *code_of(unsigned machine, const void *p, size_t len)
{
	struct err err = ERR_INIT;
	struct code *c;

	if (code_bytes(&c, machine, p, len, AT, &err)) {
		if (err.code == ERR_UNSUPPORTED)
			return NULL;
		fail_msg("%s", err.what);
	}
	return c;
}

struct one {
	const char *name;
	const char *bytes;
	uint8_t len, flow;
	bool has_target;
	int64_t to; /* from the instruction's start */
};

#define X(name, bytes, flow)                                   \
	{                                                      \
		name, bytes, sizeof(bytes) - 1, flow, false, 0 \
	}
#define T(name, bytes, flow, to)                               \
	{                                                      \
		name, bytes, sizeof(bytes) - 1, flow, true, to \
	}

/* By the manuals' encodings: Intel SDM volume 2, Arm ARM C6. */
static const struct one x86[] = {
	X("nop", "\x90", INSN_OTHER),
	X("cmov", "\x48\x0f\x44\xc1", INSN_OTHER),
	T("je short", "\x74\x10", INSN_COND, 0x12),
	T("jne short back", "\x75\xfe", INSN_COND, 0),
	T("jg near", "\x0f\x8f\x00\x01\x00\x00", INSN_COND, 0x106),
	T("bnd je", "\xf2\x74\x10", INSN_COND, 0x13),
	T("jmp short", "\xeb\xf0", INSN_JUMP, -14),
	T("jmp near", "\xe9\xfb\xff\xff\xff", INSN_JUMP, 0),
	X("jmp *%rax", "\xff\xe0", INSN_JUMP),
	X("notrack jmp *%rax", "\x3e\xff\xe0", INSN_JUMP),
	X("jmp *(%rax)", "\xff\x20", INSN_JUMP),
	X("jmp *x(%rip)", "\xff\x25\x10\x00\x00\x00", INSN_JUMP),
	X("ljmp *(%rax)", "\xff\x28", INSN_JUMP),
	T("call", "\xe8\x00\x00\x00\x00", INSN_CALL, 5),
	X("call *%rax", "\xff\xd0", INSN_CALL),
	X("call *8(%rax)", "\xff\x50\x08", INSN_CALL),
	X("notrack call *%rdx", "\x3e\xff\xd2", INSN_CALL),
	X("ret", "\xc3", INSN_RETURN),
	X("rep ret", "\xf3\xc3", INSN_RETURN),
	X("bnd ret", "\xf2\xc3", INSN_RETURN),
	X("ret 8", "\xc2\x08\x00", INSN_RETURN),
	X("lret", "\xcb", INSN_RETURN),
	X("iretq", "\x48\xcf", INSN_RETURN),
	X("sysretq", "\x48\x0f\x07", INSN_RETURN),
	X("syscall", "\x0f\x05", INSN_SYSTEM),
	X("sysenter", "\x0f\x34", INSN_SYSTEM),
	X("int 0x80", "\xcd\x80", INSN_SYSTEM),
	X("int3", "\xcc", INSN_SYSTEM),
	X("hlt", "\xf4", INSN_SYSTEM),
	X("ud2", "\x0f\x0b", INSN_STOP),
	X("ud1", "\x0f\xb9\xc0", INSN_STOP),
	T("loop", "\xe2\xfc", INSN_COND, -2),
	T("loopne", "\xe0\x02", INSN_COND, 4),
	T("jrcxz", "\xe3\x05", INSN_COND, 7),
	T("xbegin", "\xc7\xf8\x06\x00\x00\x00", INSN_COND, 12),
	X("xabort", "\xc6\xf8\x01", INSN_COND),
	X("xend", "\x0f\x01\xd5", INSN_OTHER),
	X("endbr64", "\xf3\x0f\x1e\xfa", INSN_OTHER),
	X("pause", "\xf3\x90", INSN_OTHER),
};

static const struct one a64[] = {
	X("nop", "\x1f\x20\x03\xd5", INSN_OTHER),
	X("csel", "\x20\x00\x82\x9a", INSN_OTHER),
	T("b .", "\x00\x00\x00\x14", INSN_JUMP, 0),
	T("b -4", "\xff\xff\xff\x17", INSN_JUMP, -4),
	T("bl +8", "\x02\x00\x00\x94", INSN_CALL, 8),
	T("b.eq +16", "\x80\x00\x00\x54", INSN_COND, 16),
	T("bc.eq +16", "\x90\x00\x00\x54", INSN_COND, 16),
	T("b.al +8", "\x4e\x00\x00\x54", INSN_JUMP, 8),
	T("cbz w0, -8", "\xc0\xff\xff\x34", INSN_COND, -8),
	T("cbnz x3, +4", "\x23\x00\x00\xb5", INSN_COND, 4),
	T("tbz w1, #3, +12", "\x61\x00\x18\x36", INSN_COND, 12),
	T("tbnz x1, #35, -4", "\xe1\xff\x1f\xb7", INSN_COND, -4),
	X("br x16", "\x00\x02\x1f\xd6", INSN_JUMP),
	X("braa x16, x17", "\x11\x0a\x1f\xd7", INSN_JUMP),
	X("braaz x16", "\x1f\x0a\x1f\xd6", INSN_JUMP),
	X("blr x8", "\x00\x01\x3f\xd6", INSN_CALL),
	X("blraa x8, x9", "\x09\x09\x3f\xd7", INSN_CALL),
	X("blraaz x8", "\x1f\x09\x3f\xd6", INSN_CALL),
	X("ret", "\xc0\x03\x5f\xd6", INSN_RETURN),
	X("retaa", "\xff\x0b\x5f\xd6", INSN_RETURN),
	X("retab", "\xff\x0f\x5f\xd6", INSN_RETURN),
	X("eret", "\xe0\x03\x9f\xd6", INSN_RETURN),
	X("eretaa", "\xff\x0b\x9f\xd6", INSN_RETURN),
	X("svc #0", "\x01\x00\x00\xd4", INSN_SYSTEM),
	X("hvc #0", "\x02\x00\x00\xd4", INSN_SYSTEM),
	X("smc #0", "\x03\x00\x00\xd4", INSN_SYSTEM),
	X("brk #1", "\x20\x00\x20\xd4", INSN_STOP),
	X("udf #0", "\x00\x00\x00\x00", INSN_STOP),
	X("mrs", "\x00\x42\x3b\xd5", INSN_OTHER),
	X("add", "\x20\x00\x02\x8b", INSN_OTHER),
	X("ldr", "\x20\x00\x40\xf9", INSN_OTHER),
};

static void kinds(unsigned machine, const struct one *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct code *c = code_of(machine, v[i].bytes, v[i].len);
		const struct code_insn *in;

		if (!c)
			SKIP_BECAUSE("no decoder in this build");
		in = c->insn;
		if (c->n_insns != 1 || in->len != v[i].len || in->flow != v[i].flow || in->bad ||
		    in->has_target != v[i].has_target ||
		    (in->has_target && in->target != AT + (uint64_t)v[i].to))
			fail_msg("%s: %zu instructions, the first of %u bytes, flow %u%s, to %+lld",
				 v[i].name, c->n_insns, in->len, in->flow, in->bad ? ", bad" : "",
				 (long long)(in->target - AT));
		assert_int_equal(c->n_blocks, 1);
		assert_int_equal(c->block[0].indirect,
				 (in->flow == INSN_JUMP || in->flow == INSN_CALL) &&
					 !v[i].has_target);
		code_free(c);
	}
}

static void kinds_of_x86(void **state)
{
	(void)state;
	kinds(EM_X86_64, x86, sizeof(x86) / sizeof(x86[0]));
}

static void kinds_of_a64(void **state)
{
	(void)state;
	kinds(EM_AARCH64, a64, sizeof(a64) / sizeof(a64[0]));
}

static void same_block(const struct code *c, size_t i, struct code_block want)
{
	const struct code_block *b = &c->block[i];

	if (b->insn != want.insn || b->n != want.n || b->start != want.start ||
	    b->end != want.end || b->flow != want.flow || b->indirect != want.indirect ||
	    b->next != want.next || b->target != want.target)
		fail_msg("block %zu: insn %u, %u of them, %u to %u, flow %u, next %d, target %d", i,
			 b->insn, b->n, b->start, b->end, b->flow, (int)b->next, (int)b->target);
}

/* test; je 1f; call f; 1: dec; jnz 1b; syscall; jmp *%rax; nop; ud2; ret */
static const char some[] = "\x85\xff"
			   "\x74\x05"
			   "\xe8\x00\x10\x00\x00"
			   "\xff\xcf"
			   "\x75\xfc"
			   "\x0f\x05"
			   "\xff\xe0"
			   "\x90"
			   "\x0f\x0b"
			   "\xc3";

static void blocks(void **state)
{
	struct code *c = code_of(EM_X86_64, some, sizeof(some) - 1);
	const uint64_t more[] = { AT + 2, AT + 3, AT + 9, AT - 1, AT + 100, AT + 2 };

	(void)state;
	if (!c)
		SKIP_BECAUSE("no decoder in this build");
	assert_int_equal(c->len, sizeof(some) - 1);
	assert_int_equal(c->n_insns, 10);
	assert_int_equal(c->n_blocks, 7);
	same_block(c, 0, (struct code_block){ 0, 2, 0, 4, INSN_COND, false, 1, 2 });
	same_block(c, 1, (struct code_block){ 2, 1, 4, 9, INSN_CALL, false, 2, CODE_NONE });
	same_block(c, 2, (struct code_block){ 3, 2, 9, 13, INSN_COND, false, 3, 2 });
	same_block(c, 3, (struct code_block){ 5, 1, 13, 15, INSN_SYSTEM, false, 4, CODE_NONE });
	same_block(c, 4,
		   (struct code_block){ 6, 1, 15, 17, INSN_JUMP, true, CODE_NONE, CODE_NONE });
	same_block(c, 5,
		   (struct code_block){ 7, 2, 17, 20, INSN_STOP, false, CODE_NONE, CODE_NONE });
	same_block(c, 6,
		   (struct code_block){ 9, 1, 20, 21, INSN_RETURN, false, CODE_NONE, CODE_NONE });
	assert_int_equal(code_insn_at(c, AT + 9), 3);
	assert_int_equal(code_insn_at(c, AT + 10), CODE_NONE);
	assert_int_equal(code_insn_at(c, AT - 1), CODE_NONE);
	assert_int_equal(code_insn_at(c, AT + 21), CODE_NONE);
	assert_int_equal(code_block_of(c, AT + 10), 2);
	assert_int_equal(code_block_of(c, AT + 20), 6);
	assert_int_equal(code_block_of(c, AT + 21), CODE_NONE);
	assert_int_equal(code_split(c, more, 6), 3);
	assert_int_equal(c->n_blocks, 8);
	same_block(c, 0, (struct code_block){ 0, 1, 0, 2, INSN_OTHER, false, 1, CODE_NONE });
	same_block(c, 1, (struct code_block){ 1, 1, 2, 4, INSN_COND, false, 2, 3 });
	same_block(c, 3, (struct code_block){ 3, 2, 9, 13, INSN_COND, false, 4, 3 });
	code_free(c);
}

static void odd_bytes(void **state)
{
	/* a jump into an instruction (how a lock prefix is jumped over), a stray byte, a cut end */
	static const char bytes[] = "\x74\x01\xf0\x0f\xb1\x0f\x06\x90\xe8\x00";
	struct code *c = code_of(EM_X86_64, bytes, sizeof(bytes) - 1);
	struct err err = ERR_INIT;

	(void)state;
	if (!c)
		SKIP_BECAUSE("no decoder in this build");
	assert_int_equal(c->n_insns, 6);
	assert_int_equal(c->block[0].target, CODE_NONE);
	assert_int_equal(c->insn[0].target, AT + 3);
	assert_true(c->insn[2].bad && c->insn[2].len == 1); /* push %es is none of 64 bits */
	assert_true(c->insn[4].bad && c->insn[5].bad);
	code_free(c);
	assert_int_equal(code_bytes(&c, EM_X86_64, NULL, 0, AT, &err), 0);
	assert_int_equal(c->n_insns + c->n_blocks, 0);
	assert_int_equal(code_block_of(c, AT), CODE_NONE);
	code_free(c);
	assert_int_equal(code_bytes(&c, EM_S390, (const uint8_t *)bytes, 4, AT, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
}

static void odd_words(void **state)
{
	static const char bytes[] = "\x1f\x20\x03\xd5\xc0\x03\x5f\xd6\x01\x02";
	struct code *c = code_of(EM_AARCH64, bytes, sizeof(bytes) - 1);

	(void)state;
	assert_int_equal(c->n_insns, 3);
	assert_true(c->insn[2].bad && c->insn[2].len == 2);
	assert_int_equal(c->n_blocks, 2);
	assert_int_equal(c->block[1].end, 10);
	code_free(c);
}

/* Code out of a runtime's dump: its addresses are places in the file, but it ran elsewhere. */
static void code_of_a_dump(void **state)
{
	/* call 0x20000, which is elsewhere; jmp back to the call; nop */
	static const char code[] = "\xe8\xfb\xff\x00\x00\xeb\xf9\x90";
	const char *path = "test_code.jit.dump";
	struct images_opts opts = { .perf_map_dir = "/nonexistent" };
	struct image_key key = { .kind = IMAGE_JIT, .path = path };
	struct err err = ERR_INIT;
	struct images *set = images_new(&opts, &err);
	struct buf b = BUF_INIT;
	uint64_t at;
	uint32_t id;
	struct code *c;
	FILE *f;

	(void)state;
	dump_header(&b, 5, 0);
	dump_load(&b, 20, 0x10000, 8, 1, "made");
	at = b.len - 8;
	memcpy(b.s + at, code, 8);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b.s, 1, b.len, f), b.len);
	assert_int_equal(fclose(f), 0);
	buf_free(&b);
	assert_non_null(set);
	id = images_add(set, &key, &err);
	if (code_read(&c, set, id, at, 100, &err)) {
		int code_ = (int)err.code;

		images_free(set);
		(void)remove(path);
		if (code_ == ERR_UNSUPPORTED)
			SKIP_BECAUSE("no decoder in this build");
		fail_msg("%s", err.what);
	}
	assert_int_equal(c->start, at);
	assert_int_equal(c->len, 8);
	assert_int_equal(c->n_insns, 3);
	assert_true(c->insn[0].has_target && c->insn[0].target == CODE_FAR);
	assert_int_equal(c->insn[1].target, at);
	assert_int_equal(c->n_blocks, 3);
	assert_int_equal(c->block[0].indirect, false);
	assert_int_equal(c->block[1].target, 0);
	code_free(c);
	assert_int_equal(code_read(&c, set, id, at + 1000, 8, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	images_free(set);
	(void)remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_x86), cmocka_unit_test(kinds_of_a64),
		cmocka_unit_test(blocks),	cmocka_unit_test(odd_bytes),
		cmocka_unit_test(odd_words),	cmocka_unit_test(code_of_a_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

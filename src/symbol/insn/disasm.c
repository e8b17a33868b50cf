/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm - see disasm.h. Here: which decoder for which machine, and the bytes of an ELF file's
 * code.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/file_in.h"
#include "symbol/elf_file.h"
#include "symbol/insn/decode.h"
#include "symbol/insn_op.h"

static const struct {
	unsigned machine;
	disasm_decode decode;
} decoders[] = {
	{ EM_X86_64, disasm_x86_64 },
	{ EM_386, disasm_i386 },
	{ EM_AARCH64, disasm_aarch64 },
};

static const struct {
	const char *name, *means;
} classes[] = {
#define INSN_CLASS(id, name, means) { name, means },
#include "symbol/insn_class.def"
#undef INSN_CLASS
};

const char *insn_class_name(enum insn_class c)
{
	return classes[c].name;
}

const char *insn_class_means(enum insn_class c)
{
	return classes[c].means;
}

void disasm_bad(struct insn *in, uint64_t vaddr, const uint8_t *p, uint8_t n)
{
	memset(in, 0, sizeof(*in));
	in->vaddr = vaddr;
	in->len = n;
	in->bad = true;
	in->class = INSN_BAD_CLASS;
	for (int at = snprintf(in->text, sizeof(in->text), ".byte"), i = 0; i < n && i < 8; i++)
		at += snprintf(in->text + at, sizeof(in->text) - (size_t)at, "%s0x%02x",
			       i ? ", " : " ", p[i]);
}

static int decode_machine(unsigned machine, const uint8_t *p, size_t len, uint64_t vaddr, bool text,
			  disasm_each each, void *ctx, struct err *err)
{
	for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++)
		if (decoders[i].machine == machine)
			return decoders[i].decode(p, len, vaddr, text, each, ctx, err);
	(void)err_set(err, ERR_UNSUPPORTED, "no disassembler for ELF machine %u", machine);
	return err_hint(err, "x86-64, i386 and AArch64 are known; annotate --no-asm needs none");
}

int disasm_bytes(unsigned machine, const uint8_t *p, size_t len, uint64_t vaddr,
		 int (*each)(void *ctx, const struct insn *in), void *ctx, struct err *err)
{
	return decode_machine(machine, p, len, vaddr, true, each, ctx, err);
}

int disasm_plain(unsigned machine, const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each,
		 void *ctx, struct err *err)
{
	return decode_machine(machine, p, len, vaddr, false, each, ctx, err);
}

/* A file of debug information alone has segments, too, but its sections of code have no bytes. */
const uint8_t *disasm_code_at(const struct elf_file *f, uint64_t vaddr, uint64_t *len)
{
	for (size_t i = 0; i < f->n_sec; i++)
		if (f->sec[i].type == SHT_NOBITS && vaddr >= f->sec[i].addr &&
		    vaddr - f->sec[i].addr < f->sec[i].size)
			return NULL;
	for (size_t i = 0; i < f->n_seg; i++) {
		const struct elf_seg *s = &f->seg[i];
		uint64_t into = vaddr - s->vaddr, have;

		if (s->type != PT_LOAD || vaddr < s->vaddr || into >= s->filesz ||
		    s->offset >= f->len || into >= f->len - s->offset)
			continue;
		have = s->filesz - into;
		if (have > f->len - s->offset - into)
			have = f->len - s->offset - into;
		if (*len > have)
			*len = have;
		return f->p + s->offset + into;
	}
	return NULL;
}

int disasm_elf(const struct elf_file *f, const char *name, uint64_t vaddr, uint64_t len, bool text,
	       disasm_each each, void *ctx, struct err *err)
{
	const uint8_t *p = disasm_code_at(f, vaddr, &len);

	if (p)
		return decode_machine(f->machine, p, len, vaddr, text, each, ctx, err);
	(void)err_set(err, ERR_NOT_FOUND, "%s: holds no bytes for address 0x%llx", name,
		      (unsigned long long)vaddr);
	return err_hint(err, "a file of debug information alone? --symbols DIR names a folder with "
			     "the program itself");
}

int disasm_file(const char *path, uint64_t vaddr, uint64_t len,
		int (*each)(void *ctx, const struct insn *in), void *ctx, struct err *err)
{
	struct file_map map = { 0 };
	struct elf_file elf;
	int rc = -1;

	if (file_map_open(&map, path, err))
		return -1;
	if (!elf_file_read(&elf, map.p, map.len, path, err)) {
		rc = disasm_elf(&elf, path, vaddr, len, true, each, ctx, err);
		elf_file_free(&elf);
	}
	file_map_close(&map);
	return rc;
}

/* ---- operations ---------------------------------------------------------------------------- */

enum { X86 = 1, ARM64 = 2, BOTH = 3 };

static const struct {
	unsigned char where;
	const char *name, *means;
} ops[] = {
#define INSN_OP(id, where, name, means) { where, name, means },
#include "symbol/insn_op.def"
#undef INSN_OP
};

const char *insn_op_name(enum insn_op op)
{
	return ops[op].name;
}

const char *insn_op_means(enum insn_op op)
{
	return ops[op].means;
}

bool insn_op_is_of(enum insn_op op, unsigned machine)
{
	return ops[op].where & (machine == EM_AARCH64 ? ARM64 : X86);
}

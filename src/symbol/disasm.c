/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm - see disasm.h. Here: which decoder for which machine, and the bytes of an ELF file's
 * code.
 */
#include <elf.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "symbol/disasm_int.h"

static const struct {
	unsigned machine;
	int (*decode)(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		      struct err *err);
} decoders[] = {
	{ EM_X86_64, disasm_x86_64 },
	{ EM_386, disasm_i386 },
	{ EM_AARCH64, disasm_aarch64 },
};

void disasm_bad(struct insn *in, uint64_t vaddr, const uint8_t *p, uint8_t n)
{
	memset(in, 0, sizeof(*in));
	in->vaddr = vaddr;
	in->len = n;
	in->bad = true;
	for (int at = snprintf(in->text, sizeof(in->text), ".byte"), i = 0; i < n && i < 8; i++)
		at += snprintf(in->text + at, sizeof(in->text) - (size_t)at, "%s0x%02x",
			       i ? ", " : " ", p[i]);
}

int disasm_bytes(unsigned machine, const uint8_t *p, size_t len, uint64_t vaddr,
		 int (*each)(void *ctx, const struct insn *in), void *ctx, struct err *err)
{
	for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++)
		if (decoders[i].machine == machine)
			return decoders[i].decode(p, len, vaddr, each, ctx, err);
	(void)err_set(err, ERR_UNSUPPORTED, "no disassembler for ELF machine %u", machine);
	return err_hint(err, "x86-64, i386 and AArch64 are known; source lines need none");
}

/* The file's bytes for [vaddr, vaddr + *len): *len is cut to what the segment holds. */
static const uint8_t *code_at(Elf *elf, const struct file_map *map, uint64_t vaddr, uint64_t *len)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return NULL;
	for (size_t i = 0; i < n && i < 256; i++) {
		GElf_Phdr ph;
		uint64_t into, have;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return NULL;
		if (ph.p_type != PT_LOAD || vaddr < ph.p_vaddr)
			continue;
		into = vaddr - ph.p_vaddr;
		if (into >= ph.p_filesz || ph.p_offset >= map->len ||
		    into >= map->len - ph.p_offset)
			continue;
		have = ph.p_filesz - into;
		if (have > map->len - ph.p_offset - into)
			have = map->len - ph.p_offset - into;
		if (*len > have)
			*len = have;
		return map->p + ph.p_offset + into;
	}
	return NULL;
}

int disasm_file(const char *path, uint64_t vaddr, uint64_t len,
		int (*each)(void *ctx, const struct insn *in), void *ctx, struct err *err)
{
	struct file_map map = { NULL, 0 };
	Elf *elf = NULL;
	const uint8_t *p;
	GElf_Ehdr eh;
	int rc = -1;

	if (file_map_open(&map, path, false, err))
		return -1;
	(void)elf_version(EV_CURRENT);
	elf = map.len ? elf_memory((char *)map.p, map.len) : NULL;
	if (!elf || !gelf_getehdr(elf, &eh)) {
		(void)err_set(err, ERR_FORMAT, "%s: not an ELF file", path);
		goto out;
	}
	p = code_at(elf, &map, vaddr, &len);
	if (!p) {
		(void)err_set(err, ERR_NOT_FOUND, "%s: holds no bytes for address 0x%llx", path,
			      (unsigned long long)vaddr);
		(void)err_hint(err, "a file with debug information only? "
				    "--symbols DIR names a folder with the program itself");
		goto out;
	}
	rc = disasm_bytes(eh.e_machine, p, len, vaddr, each, ctx, err);
out:
	(void)elf_end(elf);
	file_map_close(&map);
	return rc;
}

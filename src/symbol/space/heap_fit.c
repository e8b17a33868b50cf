/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/heap_fit.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

struct image {
	const uint8_t *p;
	size_t len;
	size_t headers, n;
};

static bool piece(const struct image *s, uint64_t at, uint64_t n)
{
	return at <= s->len && n <= s->len - at;
}

static Elf64_Phdr header(const struct image *s, size_t i)
{
	Elf64_Phdr h;

	memcpy(&h, s->p + s->headers + i * sizeof(h), sizeof(h));
	return h;
}

static bool elf_header_of(const struct image *s, uint32_t type, Elf64_Phdr *out)
{
	for (size_t i = 0; i < s->n; i++) {
		*out = header(s, i);
		if (out->p_type == type && piece(s, out->p_offset, out->p_filesz))
			return true;
	}
	return false;
}

/* gcc 14 exports nothing of a static runtime, which wants __sanitizer_symbolize_* then. */
bool heap_fit_names_sanitizer(const char *text, size_t n)
{
	static const char *const words[] = { "libasan.so",
					     "libtsan.so",
					     "liblsan.so",
					     "libhwasan.",
					     "libclang_rt",
					     "__asan_init",
					     "__tsan_init",
					     "__msan_init",
					     "__lsan_init",
					     "__hwasan_in",
					     "__sanitizer_free_hook",
					     "__sanitizer_symbolize" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memmem(text, n, words[i], strlen(words[i])))
			return true;
	return false;
}

/* The names of the dynamic section, by the address that it gives. */
static bool has_sanitizer(const struct image *s)
{
	uint64_t at = 0, size = 0;
	Elf64_Phdr dynamic;
	Elf64_Dyn d;

	if (!elf_header_of(s, PT_DYNAMIC, &dynamic))
		return false;
	for (uint64_t i = 0; i + sizeof(d) <= dynamic.p_filesz; i += sizeof(d)) {
		memcpy(&d, s->p + dynamic.p_offset + i, sizeof(d));
		if (d.d_tag == DT_STRTAB)
			at = d.d_un.d_ptr;
		if (d.d_tag == DT_STRSZ)
			size = d.d_un.d_val;
		if (d.d_tag == DT_NULL)
			break;
	}
	for (size_t i = 0; i < s->n; i++) {
		Elf64_Phdr h = header(s, i);
		uint64_t off = at - h.p_vaddr + h.p_offset;

		if (h.p_type == PT_LOAD && at >= h.p_vaddr && at - h.p_vaddr < h.p_filesz &&
		    piece(s, off, size))
			return heap_fit_names_sanitizer((const char *)s->p + off, size);
	}
	return false;
}

/* Whose loader has another name than glibc's. */
static bool of_other_loader(const struct image *s, const Elf64_Phdr *interp)
{
	const char *path = (const char *)s->p + interp->p_offset, *name;
	size_t n = strnlen(path, interp->p_filesz);

	name = memrchr(path, '/', n);
	name = name ? name + 1 : path;
	return (size_t)(path + n - name) < 8 || memcmp(name, "ld-linux", 8) != 0;
}

static enum heap_fit elf_fit(struct image *s)
{
	Elf64_Phdr interp;
	Elf64_Ehdr e;

	if (s->len < sizeof(e))
		return HEAP_FITS;
	memcpy(&e, s->p, sizeof(e));
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != OWN_MACHINE)
		return HEAP_FIT_MACHINE;
	s->headers = e.e_phoff;
	s->n = e.e_phnum;
	if (e.e_phentsize != sizeof(Elf64_Phdr) ||
	    !piece(s, e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr)))
		return HEAP_FITS;
	if (!elf_header_of(s, PT_INTERP, &interp)) /* static */
		return HEAP_FITS;
	if (of_other_loader(s, &interp))
		return HEAP_FIT_LOADER;
	return has_sanitizer(s) ? HEAP_FIT_SANITIZER : HEAP_FITS;
}

static enum heap_fit script_fit(const char *p, size_t len, char *interpreter)
{
	size_t n = 0, at = 2;

	while (at < len && (p[at] == ' ' || p[at] == '\t'))
		at++;
	for (; at < len && !memchr(" \t\n", p[at], 4); at++) { /* or a NUL */
		if (n + 1 >= HEAP_FIT_NAME)
			return HEAP_FITS; /* more than the kernel takes */
		interpreter[n++] = p[at];
	}
	interpreter[n] = '\0';
	return n ? HEAP_FIT_SCRIPT : HEAP_FITS;
}

enum heap_fit heap_fit(const void *p, size_t len, char interpreter[HEAP_FIT_NAME])
{
	struct image s = { .p = p, .len = len };

	if (len > 2 && !memcmp(p, "#!", 2))
		return script_fit(p, len, interpreter);
	if (len > SELFMAG && !memcmp(p, ELFMAG, SELFMAG))
		return elf_fit(&s);
	return HEAP_FITS;
}

const char *heap_fit_why(enum heap_fit what)
{
	switch (what) {
	case HEAP_FIT_SANITIZER:
		return "it has a sanitizer, which has an allocator of its own";
	case HEAP_FIT_LOADER:
		return "it has another C library than glibc";
	case HEAP_FIT_MACHINE:
		return "it is of another machine, or has 32 bits";
	case HEAP_FITS:
	case HEAP_FIT_SCRIPT:
		break;
	}
	return NULL;
}

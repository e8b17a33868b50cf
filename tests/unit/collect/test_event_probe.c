/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes and breakpoints: places in programs, of a made-up one and of ourselves, and what the
 * kernel counts there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/events/event_int.h"
#include "machines.h"

__attribute__((noinline, used)) int cyclade_test_place_of_a_probe(int x);
__attribute__((noinline, used)) int cyclade_test_place_of_a_probe(int x)
{
	return x * 3 + 1;
}

/* The bytes at the offset found in the file must be those of the function in memory. */
static void symbol_of_ourselves(void **state)
{
	struct err err = ERR_INIT;
	uint8_t bytes[8];
	uint64_t offset;
	FILE *f;

	(void)state;
	assert_int_equal(
		elf_symbol_offset("/proc/self/exe", "cyclade_test_place_of_a_probe", &offset, &err),
		0);
	f = fopen("/proc/self/exe", "rb");
	assert_non_null(f);
	assert_int_equal(fseek(f, (long)offset, SEEK_SET), 0);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	(void)fclose(f);
	assert_memory_equal(bytes, (const void *)(uintptr_t)cyclade_test_place_of_a_probe,
			    sizeof(bytes));
	assert_int_equal(
		elf_symbol_offset("/proc/self/exe", "cyclade_test_place_of_a_prob", &offset, &err),
		-1);
	assert_non_null(strstr(err.hint, "did you mean cyclade_test_place_of_a_probe?"));
}

/* A program whose code is loaded elsewhere than it lies in the file, with names that need care. */
static void made_up_program(void **state)
{
	static const char names[] = "\0glob\0twice\0ver@@V_1\0data\0far\0undef";
	static const struct {
		unsigned name;
		unsigned char info;
		uint16_t section;
		uint64_t value;
	} syms[] = {
		{ 0, 0, 0, 0 },
		{ 1, 0x02, 1, 0x400010 },  /* glob, local: the global one goes before */
		{ 1, 0x12, 1, 0x400020 },  /* glob */
		{ 6, 0x02, 1, 0x400030 },  /* twice, local */
		{ 6, 0x02, 1, 0x400038 },  /* twice, local, elsewhere */
		{ 12, 0x12, 1, 0x400040 }, /* ver@@V_1 */
		{ 21, 0x11, 1, 0x400050 }, /* data: no function */
		{ 26, 0x12, 1, 0x900000 }, /* far: in no segment */
		{ 30, 0x12, 0, 0x400060 }, /* undef */
	};
	static const struct {
		const char *symbol;
		uint64_t offset; /* 0: refused with */
		const char *error;
	} want[] = {
		{ "glob", 0x1020, NULL },	   { "ver", 0x1040, NULL },
		{ "twice", 0, "has 2 functions" }, { "data", 0, "no function" },
		{ "undef", 0, "no function" },	   { "far", 0, "in no loaded segment" },
		{ "glo", 0, "no function" },
	};
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
		Elf64_Shdr sh[4];
		Elf64_Sym sym[sizeof(syms) / sizeof(syms[0])];
		char names[sizeof(names)];
	} f;
	char path[] = "/tmp/cyclade-elf-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	memset(&f, 0, sizeof(f));
	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.eh.e_ident[EI_VERSION] = EV_CURRENT;
	f.eh.e_version = EV_CURRENT;
	f.eh.e_type = ET_EXEC;
	f.eh.e_machine = EM_X86_64;
	f.eh.e_ehsize = sizeof(f.eh);
	f.eh.e_phoff = offsetof(__typeof__(f), ph);
	f.eh.e_phentsize = sizeof(f.ph);
	f.eh.e_phnum = 1;
	f.eh.e_shoff = offsetof(__typeof__(f), sh);
	f.eh.e_shentsize = sizeof(f.sh[0]);
	f.eh.e_shnum = 4;
	f.ph = (Elf64_Phdr){ .p_type = PT_LOAD,
			     .p_offset = 0x1000,
			     .p_vaddr = 0x400000,
			     .p_filesz = 0x100,
			     .p_memsz = 0x100 };
	f.sh[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(__typeof__(f), sym),
				.sh_size = sizeof(f.sym),
				.sh_entsize = sizeof(f.sym[0]),
				.sh_link = 3 };
	f.sh[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(__typeof__(f), names),
				.sh_size = sizeof(names) };
	for (size_t i = 0; i < sizeof(syms) / sizeof(syms[0]); i++)
		f.sym[i] = (Elf64_Sym){ .st_name = syms[i].name,
					.st_info = syms[i].info,
					.st_shndx = syms[i].section,
					.st_value = syms[i].value };
	memcpy(f.names, names, sizeof(names));
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	(void)close(fd);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct err err = ERR_INIT;
		uint64_t offset = 0;
		int rc = elf_symbol_offset(path, want[i].symbol, &offset, &err);

		if (want[i].error ? !rc || !strstr(err.what, want[i].error)
				  : rc || offset != want[i].offset)
			fail_msg("%s: 0x%llx \"%s\"", want[i].symbol, (unsigned long long)offset,
				 err.what);
	}
	(void)unlink(path);
}

/* The same through the grammar: the place of the function, and what stands behind '+'. */
static void uprobe_of_ourselves(void **state)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	char link[128], self[4096];
	uint64_t offset;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(len > 0);
	self[len] = 0;
	(void)snprintf(link, sizeof(link), "%s/usr/bin/self", roots[PLAIN]);
	assert_int_equal(symlink(self, link), 0);
	assert_int_equal(elf_symbol_offset(self, "cyclade_test_place_of_a_probe", &offset, &err),
			 0);
	assert_int_equal(event_parse(&list, roots[PLAIN],
				     "uprobe:/usr/bin/self:cyclade_test_place_of_a_probe+2:u",
				     &err),
			 0);
	assert_int_equal(list.ev.v[0].attr.config2, offset + 2);
	assert_string_equal((const char *)(uintptr_t)list.ev.v[0].attr.config1, self);
	event_list_free(&list);
}

static volatile int watched;

/* Opens the first event of `text` for ourselves; -1 where this machine or its rules forbid it. */
static int open_first(const char *text)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;
	struct perf_event_attr attr;
	int fd = -1;

	if (!event_parse(&list, "", text, &err)) {
		attr = list.ev.v[0].attr;
		attr.size = sizeof(attr);
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	}
	if (fd < 0)
		print_message("%s: %s\n", text, err.what[0] ? err.what : strerror(errno));
	event_list_free(&list);
	return fd;
}

/* What the kernel counts must be what was done: calls, returns, writes, system calls. */
static void the_kernel_counts_it(void **state)
{
	char self[3800], text[4][4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	uint64_t count[4];
	int fd[4], sum = 0;

	(void)state;
	assert_true(len > 0);
	self[len] = 0;
	(void)snprintf(text[0], 4096, "uprobe:%s:cyclade_test_place_of_a_probe:u", self);
	(void)snprintf(text[1], 4096, "uretprobe:%s:cyclade_test_place_of_a_probe:u", self);
	(void)snprintf(text[2], 4096, "mem:%p/4:w:u", (const volatile void *)&watched);
	(void)snprintf(text[3], 4096, "syscalls:sys_enter_getppid");
	for (int i = 0; i < 4; i++)
		fd[i] = open_first(text[i]);
	for (int i = 0; i < 7; i++) {
		sum += cyclade_test_place_of_a_probe(i);
		watched = sum;
		(void)syscall(SYS_getppid);
	}
	for (int i = 0; i < 4; i++) {
		if (fd[i] < 0)
			continue;
		assert_int_equal(read(fd[i], &count[i], sizeof(count[i])), sizeof(count[i]));
		assert_int_equal(count[i], 7);
		(void)close(fd[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbol_of_ourselves),
		cmocka_unit_test(made_up_program),
		cmocka_unit_test(uprobe_of_ourselves),
		cmocka_unit_test(the_kernel_counts_it),
	};

	return cmocka_run_group_tests(tests, machines_make, machines_remove);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel "address": two loads of a random line, whose addresses are known from registers. The
 * first load leaves them alone, the second one overwrites its base. Behind each load a register of
 * its address is cleared: a sample with the registers of a later instruction cannot give the
 * address by chance.
 */
#include "kernels/asm.h"
#include "kernels/run.h"

#define IDLE   X86("lea 1(%%r11), %%eax\n") ARM("add w8, w2, #1\n")
#define IDLE_8 TIMES_4(IDLE) TIMES_4(IDLE)
#define MARKED(name, load)                                                              \
	".globl " name "\n.hidden " name "\n" name ":\n" load ".globl " name "_after\n" \
	".hidden " name "_after\n" name "_after:\n"

#define BASES                                                      \
	X86("mov %[a], %%rsi\nmov %[a], %%rdx\nmov %[i], %%rdi\n") \
	ARM("add x9, %[a], #8\nadd x10, %[a], #16\nmov x11, %[i]\n")
#define LOAD_KEPT   X86("mov 8(%%rsi,%%rdi,8), %%rcx\n") ARM("ldr x1, [x9, x11, lsl #3]\n")
#define LOAD_LOST   X86("mov 16(%%rdx,%%rdi,8), %%rdx\n") ARM("ldr x10, [x10, x11, lsl #3]\n")
#define CLEAR_BASE  X86("xor %%esi, %%esi\n") ARM("mov x9, #0\n")
#define CLEAR_INDEX X86("xor %%edi, %%edi\n") ARM("mov x11, #0\n")
/* Words from line to line: 5 * i + 8 * 43, modulo a power of two, visits each line once. */
#define NEXT_WORD                                                   \
	X86("lea (%[i],%[i],4), %[i]\nadd $344, %[i]\n")            \
	ARM("add %[i], %[i], %[i], lsl #2\nadd %[i], %[i], #344\n") \
	X86("and %[m], %[i]\n") ARM("and %[i], %[i], %[m]\n")

extern const char kernel_address_kept[], kernel_address_kept_after[];
extern const char kernel_address_lost[], kernel_address_lost_after[];

RUN(address)
{
	char *a = w->a;
	uint64_t i = w->at, m = w->mask / 8;

	LOOP(n,
	     BASES MARKED("kernel_address_kept", LOAD_KEPT)
		     CLEAR_BASE IDLE_8 MARKED("kernel_address_lost", LOAD_LOST)
			     CLEAR_INDEX IDLE_8 NEXT_WORD,
	     [a] "+r"(a), [i] "+r"(i), [m] "+r"(m));
	w->at = i;
}

bool kernel_address_place(struct kernel_address *out)
{
#if defined(__x86_64__)
	enum { DX = 3, SI = 4, DI = 5 };

	*out = (struct kernel_address){
		{ { (uintptr_t)kernel_address_kept, (uintptr_t)kernel_address_kept_after, SI, DI, 8,
		    8, false },
		  { (uintptr_t)kernel_address_lost, (uintptr_t)kernel_address_lost_after, DX, DI, 8,
		    16, true } }
	};
#elif defined(__aarch64__)
	*out = (struct kernel_address){
		{ { (uintptr_t)kernel_address_kept, (uintptr_t)kernel_address_kept_after, 9, 11, 8,
		    0, false },
		  { (uintptr_t)kernel_address_lost, (uintptr_t)kernel_address_lost_after, 10, 11, 8,
		    0, true } }
	};
#else
	*out = (struct kernel_address){ .load = { { .load = 0 } } };
#endif
	return HAVE_KERNELS;
}

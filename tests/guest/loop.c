/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop - a program whose instructions are known: `loop N` takes 8 N and some 40 of them in user
 * space (N divisible by 3), 6 N in hot() and 2 N in cold(), both called by work(), all with frame
 * records.
 *
 *	loop N w	first waits for a byte or the end of standard input
 *	loop N l	takes 6 N in leaf(), which has no frame record; its caller is alone()
 *	loop N f	forks; the child does the same work again, the parent waits for it
 *
 * It stands alone, without libc, so that nothing else runs: AArch64 only.
 */
#include <stddef.h>

enum { SYS_READ = 63, SYS_EXIT = 93, SYS_CLONE = 220, SYS_WAIT4 = 260, SIGCHLD_ = 17 };

static long call(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}

/* six instructions a turn */
#define TURNS "1:	nop\n	nop\n	nop\n	nop\n	subs x0, x0, #1\n	b.ne 1b\n"
#define FUNCTION(name, body)                                            \
	".globl " name "\n	.type " name ", %function\n" name ":\n" \
	"	stp x29, x30, [sp, #-16]!\n	mov x29, sp\n" body     \
	"	ldp x29, x30, [sp], #16\n	ret\n	.size " name ", . - " name "\n"

__asm__(".text\n" FUNCTION("hot", TURNS) FUNCTION("cold", TURNS));
__asm__(".globl leaf\n	.type leaf, %function\nleaf:\n	.cfi_startproc\n" TURNS
	"	ret\n	.cfi_endproc\n	.size leaf, . - leaf\n");
void leaf(long turns);
void hot(long turns);
void cold(long turns);
void start(long *sp);

__attribute__((noinline)) static void work(long n)
{
	hot(n);
	cold(n / 3);
	__asm__ volatile(""); /* no tail call: it is their caller */
}

__attribute__((noinline)) static void alone(long n)
{
	leaf(n);
	__asm__ volatile("");
}

void start(long *sp)
{
	const char *s = (const char *)sp[2], *how = sp[0] > 2 ? (const char *)sp[3] : "";
	long n = 0, pid = 1;
	char byte;

	while (*s)
		n = n * 10 + *s++ - '0';
	if (*how == 'w')
		(void)call(SYS_READ, 0, (long)&byte, 1, 0);
	if (*how == 'f')
		pid = call(SYS_CLONE, SIGCHLD_, 0, 0, 0);
	if (*how == 'l')
		alone(n);
	else
		work(n);
	if (*how == 'f' && pid)
		(void)call(SYS_WAIT4, -1, 0, 0, 0);
	(void)call(SYS_EXIT, 0, 0, 0, 0);
}

__asm__(".globl _start\n	.type _start, %function\n_start:\n"
	"	mov x29, #0\n	mov x30, #0\n	mov x0, sp\n	bl start\n"
	"	brk 0\n	.size _start, . - _start\n");

# SPDX-License-Identifier: BSD-3-Clause
"""chains_arm_made - loops of AArch64 whose chains are known by hand, for Neoverse N1, beside chains_made's of x86-64.

    m = made(where)                     # a cross compiler; a program with all LOOPS
    m.record(path, {"add": 8.0}, cpu=N1)
"""
import chains_made

N1, N2, V1, V2 = "0x00000000410fd0c0", "0x00000000410fd493", "0x00000000410fd400", "0x00000000410fd4f0"
N = "\n"


class Loop:
    """`body` runs before "subs x0, x0, #1; b.ne". chain: (low, high) cycles of an iteration; ports: the bound; others: chains of N2, V1, V2."""

    def __init__(self, name, body, chain, ports, verdict, steps, on=None, others=None, mca=True):
        self.name, self.body, self.ports, self.verdict, self.steps, self.on = name, body, ports, verdict, steps, on
        self.chain = chain if isinstance(chain, tuple) else (chain, chain)
        self.others = [x if isinstance(x, tuple) else (x, x) for x in others or [chain] * 3]
        self.mca = mca  # llvm-mca knows enough of it


# An iteration has one more operation for ports 123 (subs) and one for port 0 than its body.
LOOPS = [
    Loop("add", N.join(["add x1, x1, x2"] * 8), 8, 3, "serial", ["add"] * 8, "123"),
    Loop("mul", N.join(["mul w1, w1, w2"] * 4), 8, 4, "serial", ["mul"] * 4, "3"),
    Loop("mul64", N.join(["mul x1, x1, x2"] * 4), 16, 12, "serial", ["mul"] * 4, "m", [8, 8, 8]),
    Loop("shifted", N.join(["add x1, x1, x2, lsl #3", "sub x1, x1, x2, lsl #7", "add x1, x1, w2, sxtw"] * 2), 10, 4, "serial",
         ["add", "sub", "add"] * 2, "3"),
    Loop("flags", N.join(["adcs x1, x1, x2", "adcs x3, x3, x4"] * 2), 3, 5 / 3, None, ["adcs"] * 3),
    Loop("select", N.join(["cmp x1, x2", "csel x1, x3, x4, lt", "cinc x1, x1, ne"] * 2), 6, 7 / 3, "serial", ["cmp", "csel", "cinc"] * 2),
    Loop("fadd", N.join(["fadd d0, d0, d1"] * 4), 8, 2, "serial", ["fadd"] * 4, "89"),
    Loop("fmul", N.join(["fmul v0.2d, v0.2d, v1.2d"] * 4), 12, 2, "serial", ["fmul"] * 4),
    Loop("fma", N.join(["fmadd d0, d0, d1, d2"] * 4), 16, 2, "serial", ["fmadd"] * 4),
    # sums wait for what is added alone: 2 of 4 cycles, where the model has it
    Loop("sum", N.join(["fmla v0.4s, v1.4s, v2.4s"] * 4), (8, 16), 2, "serial", ["fmla"] * 4, None, [(8, 16), 8, 8]),
    Loop("sums", N.join(["madd x1, x2, x3, x1"] * 4), (12, 16), 12, None, ["madd"] * 4, "m", [(4, 8), 4, 4]),
    Loop("crc", N.join(["crc32x w1, w1, x2"] * 4), 8, 4, "serial", ["crc32x"] * 4, "3", [8, 4, 4]),
    Loop("chase", N.join(["ldr x1, [x1]"] * 4), 16, 2, "serial", ["ldr"] * 4, "45"),
    # the base is moved on in a cycle, whatever is loaded
    Loop("moving", N.join(["ldr x1, [x2], #8"] * 4), 4, 2, None, ["ldr"] * 4),
    Loop("index", "ldrb w1, [x2, x1]\neor x1, x1, x3", 5, 1, "serial", ["ldrb", "eor"]),
    Loop("pair", "ldp x1, x3, [x3]\nldp x4, x3, [x3, #16]", 8, 2, "serial", ["ldp", "ldp"], "45"),
    Loop("convert", "scvtf d0, x1\nfcvtzs x1, d0", 10, 2, "serial", ["scvtf", "fcvtzs"], "8", [6, 6, 6]),
    Loop("vector", "add v0.4s, v0.4s, v1.4s\nshl v0.4s, v0.4s, #3\nmul v0.2s, v0.2s, v1.2s\nzip1 v0.4s, v0.4s, v1.4s", 10, 2, "serial",
         ["add", "shl", "mul", "zip1"]),
    Loop("lanes", "ins v0.s[1], w1\numov w1, v0.s[1]", 7, 1, "serial", ["mov", "mov"]),
    # mixed with what does not wait, and two chains
    Loop("mixed", "mul w1, w1, w2\nadd x3, x4, #1\nldr x5, [x6]\nmul w1, w1, w2\nfadd d0, d1, d2\nstr x3, [x6, #64]", 4, 2, "serial", ["mul", "mul"]),
    Loop("two", "add x1, x1, x2\nmul w3, w3, w4\nadd x1, x1, x2\nadd x1, x1, x2\nadd x1, x1, x2\nadd x1, x1, x2", 5, 7 / 3, "serial", ["add"] * 5),
    # many at a time
    Loop("adds", N.join("add x%d, x%d, x17" % (r, r) for r in range(1, 9)), 1, 3, "ports", None, "123"),
    Loop("muls", N.join("mul w%d, w%d, w17" % (r, r) for r in range(1, 9)), 2, 8, "ports", None, "3"),
    Loop("fmas", N.join("fmla v%d.4s, v30.4s, v31.4s" % r for r in range(12)), (2, 4), 6, "ports", None, "89", [(2, 4), 2, 2]),
    Loop("loads", N.join("ldr x%d, [x17, #%d]" % (r, 8 * r) for r in range(1, 9)), 1, 4, "ports", None, "45"),
    # 32 bits of a register are all of it; zeroing a vector breaks its chain, xor does not
    Loop("whole", "mov w1, #1\n" + N.join(["mul w1, w1, w2"] * 3), 1, 3, "ports", None, "3"),
    Loop("vzero", "movi v0.2d, #0\n" + N.join(["fadd d0, d0, d1"] * 4), 1, 2.5, "ports", None, "89"),
    Loop("xor", "eor x1, x1, x1\n" + N.join(["mul w1, w1, w2"] * 3), 7, 3, "serial", ["eor"] + ["mul"] * 3),
    Loop("keep", "movk x1, #1, lsl #16\n" + N.join(["mul w1, w1, w2"] * 3), 7, 3, "serial", ["movk"] + ["mul"] * 3),
]
BY = {x.name: x for x in LOOPS}
MEMORY = """
.globl loop_forward
.type loop_forward, %function
loop_forward:
1: str x1, [x2]
ldr x1, [x2]
subs x0, x0, #1
b.ne 1b
ret
.size loop_forward, . - loop_forward
.globl loop_stack
.type loop_stack, %function
loop_stack:
1: str x1, [sp, #-16]!
add x2, x2, #1
ldr x1, [sp], #16
add x1, x1, #1
subs x0, x0, #1
b.ne 1b
ret
.size loop_stack, . - loop_stack
.globl loop_sve
.type loop_sve, %function
loop_sve:
1: .inst 0x04a00000
subs x0, x0, #1
b.ne 1b
ret
.size loop_sve, . - loop_sve
"""


def source(loops=LOOPS):
    out = [".arch armv8.2-a+crc"]
    for x in loops:
        out += [".p2align 6", ".globl loop_" + x.name, ".type loop_%s, %%function" % x.name, "loop_%s:" % x.name, "1:", x.body,
                "subs x0, x0, #1", "b.ne 1b", "ret", ".size loop_%s, . - loop_%s" % (x.name, x.name)]
    return "\n".join(out) + "\n" + MEMORY


def made(where, loops=LOOPS):
    return chains_made.Made(where, loops=[], compiler="aarch64-linux-gnu-", extra=source(loops))

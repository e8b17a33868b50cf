# SPDX-License-Identifier: BSD-3-Clause
"""chains_made - loops in assembly whose chains are known, as a program and as recordings of timed branch stacks.

    m = Made(where)                     # gcc; a program with all LOOPS, each a function that runs it %rdi times
    m.record(path, {"add": 8.0})        # stacks of these loops, each iteration so many cycles in the mean
    Loop.chain, .ports, .issue          # what an iteration takes on Skylake, by hand
"""
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "perfdata"))
import gen  # noqa: E402

LOADED, DEPTH, PERIOD = 0x7f0000000000, 32, 31
SAMPLE = sum(gen.BIT[n] for n in "IDENTIFIER IP TID TIME CPU PERIOD BRANCH_STACK".split())


class Loop:
    """`body` runs before "dec %rdi; jne"; `before` once. chain: (low, high) cycles of an iteration, ports: the bound, on: its ports,
    verdict: what it is if it takes as long as it says. steps: instructions of the chain, by mnemonic."""

    def __init__(self, name, body, chain, ports, verdict, steps, before="", on=None):
        self.name, self.body, self.before, self.verdict, self.steps = name, body, before, verdict, steps
        self.chain = chain if isinstance(chain, tuple) or chain is None else (chain, chain)
        self.ports, self.on = ports, on
        self.slots = (len(body.splitlines()) + 1) / 4


FLOATS = "mov $0x3ff0000000000001, %rax; " + "; ".join("movq %%rax, %%xmm%d" % i for i in range(16))
N = "\n"
# Cycles and ports of Skylake. Each loop has one more instruction for the ports than its body: dec and jne are one, on 06.
LOOPS = [
    Loop("add", N.join(["add %rax, %rbx"] * 8), 8, 9 / 4, "serial", ["add"] * 8),
    Loop("imul", N.join(["imul %rax, %rbx"] * 4), 12, 4, "serial", ["imul"] * 4, on="1"),
    Loop("fadd", N.join(["addsd %xmm1, %xmm0"] * 4), 16, 2, "serial", ["addsd"] * 4, FLOATS, on="01"),
    Loop("fmul", N.join(["mulsd %xmm1, %xmm0"] * 4), 16, 2, "serial", ["mulsd"] * 4, FLOATS),
    Loop("fma", N.join(["vfmadd231sd %xmm1, %xmm2, %xmm0"] * 4), 16, 2, "serial", ["vfmadd231sd"] * 4, FLOATS),
    Loop("chase", N.join(["mov (%rax), %rax"] * 4), (16, 20), 2, "serial", ["mov"] * 4, "lea cell(%rip), %rax", on="23"),
    Loop("forward", "mov %rbx, (%rsi)\nmov (%rsi), %rbx", (4, 5), 1, "serial", ["mov", "mov"], "lea cell(%rip), %rsi"),
    Loop("push", "push %rbx\nadd $1, %rbx\nmov %rbx, (%rsp)\npop %rbx", (5, 6), 2, "serial", ["add", "mov", "pop"]),
    Loop("mixed", "imul %rax, %rbx\nlea 1(%r8), %r9\nlea 2(%r8), %r10\nadd $3, %r11\nimul %rax, %rbx\nmov (%rsi), %rcx\nxor %ecx, %r8d\nmov (%rsi), %rdx",
         6, 2, "serial", ["imul", "imul"], "lea cell(%rip), %rsi"),
    Loop("two", "add %rax, %rbx\nimul %rax, %rcx\nadd %rax, %rbx\nadd %rax, %rbx\nadd %rax, %rbx\nadd %rax, %rbx", 5, 7 / 4, "serial", ["add"] * 5),
    Loop("carry", N.join(["adc %rax, %rbx"] * 6), 6, 3.5, "serial", ["adc"] * 6, on="06"),
    Loop("flags", "adc $0, %rax\nadc $0, %rbx\nadc $0, %rcx\nadc $0, %rdx", 4, 2.5, "serial", ["adc"] * 4, on="06"),
    # a value goes round three registers: two additions in three iterations, and moves of 0 to 1
    Loop("rotate", "imul %rax, %rbx\nmov %rbx, %r9\nmov %rcx, %rbx\nmov %rdx, %rcx\nmov %r9, %rdx", (1, 7 / 3), 1, None, None),
    Loop("divide", "xor %edx, %edx\nmov $1000, %eax\nor %ebx, %eax\ndiv %ecx\nmov %eax, %ebx", (27, 28), 6, "serial", ["or", "div", "mov"],
         "mov $7, %ecx", on="d"),
    Loop("fdivide", "divsd %xmm1, %xmm0", (13, 14), 4, "serial", ["divsd"], FLOATS, on="f"),
    # many at a time
    Loop("adds", N.join("add %%rax, %%%s" % r for r in "rbx rcx rdx rsi r8 r9 r10 r11".split()), 1, 9 / 4, "ports", None, on="0156"),
    Loop("imuls", N.join("imul %%rax, %%%s" % r for r in "rbx rcx rdx rsi r8 r9".split()), 3, 6, "ports", ["imul"], on="1"),
    Loop("fadds", N.join("addsd %%xmm1, %%xmm%d" % r for r in range(2, 14)), 4, 6, "ports", ["addsd"], FLOATS, on="01"),
    Loop("loads", N.join("mov %d(%%rsi), %%%s" % (8 * i, r) for i, r in enumerate("rbx rcx rdx r8 r9 r10 r11 rax".split())), 1, 4, "ports", ["dec"],
         "lea cell(%rip), %rsi", on="23"),
    Loop("stores", N.join("mov %%rax, %d(%%rsi)" % (8 * i) for i in range(6)), 1, 6, "ports", ["dec"], "lea cell(%rip), %rsi", on="4"),
    # the front end: nops take slots alone
    Loop("nops", N.join(["nop"] * 15), 1, 0.5, "issue", ["dec"]),
    # idioms break chains, parts of registers do not
    Loop("zeroing", "xor %ebx, %ebx\n" + N.join(["imul %rax, %rbx"] * 2), 1, 2, "ports", ["dec"], on="1"),
    Loop("partial", "mov $1, %bl\n" + N.join(["imul %rax, %rbx"] * 2), (6, 7), 2, "serial", ["mov", "imul", "imul"]),
    Loop("whole", "mov $1, %ebx\n" + N.join(["imul %rax, %rbx"] * 2), 1, 2, "ports", ["dec"], on="1"),
    Loop("vzero", "pxor %xmm0, %xmm0\n" + N.join(["addsd %xmm1, %xmm0"] * 4), 1, 2, "ports", ["dec"], FLOATS, on="01"),
    Loop("upper", "cvtsi2sd %rax, %xmm0\ncvtsi2sd %rax, %xmm0", (8, 12), 2, "serial", ["cvtsi2sd"] * 2),
    # memory: a[i] = a[i - 1] + x through an address that moves; the same through one that is not known to be the same
    Loop("recur", "mov -8(%rsi), %rbx\nadd %rax, %rbx\nmov %rbx, (%rsi)\nadd $8, %rsi\nsub %r8, %rsi", None, 1, None, None,
         "lea cell(%rip), %rsi; mov $8, %r8d"),
    Loop("moving", "mov -8(%rsi), %rbx\nadd %rax, %rbx\nmov %rbx, (%rsi)\nadd $8, %rsi", (5, 6), 1, "serial", ["mov", "add", "mov"], "lea cell(%rip), %rsi"),
    Loop("apart", "mov 64(%rsi), %rbx\nadd %rax, %rbx\nmov %rbx, (%rsi)", 1, 1, None, None, "lea cell(%rip), %rsi"),
    Loop("memory", "add %rax, 8(%rsp)", (5, 6), 1, "serial", ["add"], "sub $24, %rsp"),
]
BY = {x.name: x for x in LOOPS}
AFTER = {"memory": "add $24, %rsp"}


def source(loops, extra=""):
    out = [".text"]
    for x in loops:
        out += [".p2align 6", ".globl loop_" + x.name, ".type loop_%s, @function" % x.name, "loop_%s:" % x.name,
                "push %rbx", "mov %rdi, %r12" if 0 else "", x.before.replace("; ", "\n"), ".p2align 6", "1:", x.body, "dec %rdi", "jne 1b",
                AFTER.get(x.name, ""), "pop %rbx", "ret", ".size loop_%s, . - loop_%s" % (x.name, x.name)]
    return "\n".join(out) + "\n" + extra + "\n.bss\n.p2align 12\n.globl cell\ncell: .skip 1 << 16\n.section .note.GNU-stack,\"\",@progbits\n"


class Made:
    def __init__(self, where, loops=LOOPS, extra="", main="int main(void) { return 0; }", compiler=""):
        os.makedirs(where, exist_ok=True)
        self.path = os.path.abspath(os.path.join(where, "loops"))
        with open(self.path + ".s", "w") as f:
            f.write(source(loops, extra))
        with open(self.path + ".c", "w") as f:
            f.write(main)
        subprocess.run([compiler + "gcc", "-O1", "-fPIE", "-pie", "-o", self.path, self.path + ".c", self.path + ".s"], check=True)
        self.code, at = {}, None
        for line in subprocess.run([compiler + "objdump", "-d", "--no-show-raw-insn", self.path], capture_output=True, text=True, check=True).stdout.splitlines():
            if re.match(r"[0-9a-f]+ <", line):
                at = self.code.setdefault(line.split("<")[1].rstrip(">:"), [])
            elif re.match(r"\s*[0-9a-f]+:\t", line):
                at.append((int(line.split(":")[0], 16), " ".join(line.split("\t")[1:]).strip()))
        for line in subprocess.run(["readelf", "-lW", self.path], capture_output=True, text=True, check=True).stdout.splitlines():
            word = line.split()
            if word[:1] == ["LOAD"] and "E" in word[6:-1]:
                self.offset, self.vaddr, self.size = [int(x, 16) for x in (word[1], word[2], word[5])]

    def branches(self, function, taken, n):
        """n taken branches of the function from its loop on, each (from, to); taken(address, text, i): the i-th branch is."""
        code = self.code[function]
        by = {a: k for k, (a, _) in enumerate(code)}
        jump = lambda text: int(re.match(r"[jb][\w.]+\s+([0-9a-f]+)", text).group(1), 16) if re.match(r"[jb][\w.]+\s+[0-9a-f]+ <" + re.escape(function) + "[+>]", text) else None
        back = [(a, jump(text)) for a, text in code if jump(text) is not None and jump(text) <= a]
        out, k, i = [], by[back[-1][1]], 0
        while len(out) < n:
            at, text = code[k]
            to = jump(text)
            if to is not None and (text.startswith("jmp") or taken(at, text, i, to <= at)):
                out.append((at, to))
                k = by[to]
            else:
                k += 1
            i += to is not None
        return out

    def record(self, path, cycles, stacks=40, taken=None, seed=1, cpu="GenuineIntel,6,85,4", precise=2, release=None):
        """cycles: {loop: of an iteration, or a function of the branch's number}; whole ones are drawn so that the mean is right."""
        rnd, w = random.Random(seed), gen.Writer("<")
        a = dict(type=4, config=0x20c4, period=PERIOD, sample=SAMPLE, br=8 | 1, sample_id_all=1, precise_ip=precise, exclude_kernel=1)
        f = gen.File(w, [("br_inst_retired.near_taken", a, [100])], attr_size=112)
        f.features[9] = w.text(cpu)
        if release:
            f.features[4] = w.text(release)
        tail = lambda pid: w.pack("IIQIIQ", pid, pid, 1, 0, 0, 100)
        data = [w.record(gen.COMM, w.pack("II", 20, 20) + gen.text8("made") + tail(20)),
                w.record(gen.MMAP2, w.pack("IIQQQIIQQII", 20, 20, LOADED + self.vaddr, (self.size + 4095) & -4096, self.offset, 8, 1, 42, 0, 5, 2) +
                         gen.text8(self.path) + tail(20), 2)]
        time = 100
        for name, of in cycles.items():
            left = 0.0
            for s in range(stacks):
                decide = (lambda at, text, i, back: back) if taken is None else lambda at, text, i, back: taken(rnd, at, text, back)
                entries = []
                for k, (source_, to) in enumerate(self.branches("loop_" + name, decide, DEPTH)):
                    want = of(source_, to, rnd) if callable(of) else of
                    left += want
                    whole = int(left)
                    left -= whole
                    entries.append((LOADED + source_, LOADED + to, dict(mispred=0, predicted=1, in_tx=0, abort=0, cycles=max(whole, 0), type=0,
                                                                       spec=0, new_type=0, priv=0), 0))
                one = gen.Sample(time, 100)
                one.v.update(TID=(20, 20), TIME=time, IP=entries[-1][1], CPU=0, PERIOD=PERIOD, BRANCH_STACK=(3, entries[::-1]))
                data.append(one.record(w, a))
                time += 1
        f.data = b"".join(data)
        with open(path, "wb") as out:
            out.write(f.build())
        return path

# SPDX-License-Identifier: BSD-3-Clause
"""insn_mix - classes of instructions by objdump's mnemonics: a second opinion on src/symbol/insn.

    for addr, text in listing("objdump", path): x86(text), arm(text)	-> (class, memory: "-", "r", "w", "rw")
"""
import functools
import re
import subprocess

LINE = re.compile(r"\s*([0-9a-f]+):\s+(\S.*)").match
VALUE = re.compile(r"(?<=0x)[0-9a-f]+|(?<=#)-?\d+").sub
PREFIX = r"(?:(?:lock|repz|repnz|rep|bnd|notrack|data16|addr32|cs|ds|es|fs|gs|ss|rex(?:\.\w+)?|xacquire|xrelease)\s+)*"

# The first that matches the whole mnemonic (without prefixes); sizes of AT&T are letters at the end.
X86 = [(c, re.compile(r"(?:%s)$" % p)) for c, p in (
    ("nop", r"nop[wlq]?|endbr(?:32|64)|xchg-nop"),
    ("call", r"call[wq]?"), ("jump", r"jmp[wq]?"), ("return", r"ret[wq]?|iret[qlw]?|sysret[lq]?|lret[qlw]?"),
    ("branch", r"j[a-z]+(?:,p[nt])?|loop(?:ne|e)?|xbegin|xabort"),
    ("system", r"syscall|sysenter|int[13]?|hlt|ud[012]\w*|cpuid|rdtscp?|[lms]fence|pause|xgetbv|v?(?:ld|st)mxcsr|xsave\w*|xrstor\w*|rdpkru|wrpkru|rdpmc|xend|xtest|"
               r"clflush(?:opt)?|clwb|rd[fg]sbase|wr[fg]sbase|fx(?:save|rstor)(?:64)?|rdrand|rdseed|rdpid|umwait|tpause|umonitor|in[bwl]?|out[bwl]?|swapgs|cli|sti|invlpg|"
               r"lgdt|lidt|ltr|l?rdmsr|wrmsr|rdmsr|stac|clac|monitorx?|mwaitx?|vzeroupper-no"),
    ("string", r"(?:movs|stos|lods|scas|cmps)[bwlq]"),
    ("prefetch", r"prefetch\w+"),
    ("stack", r"push[wlqf]*|pop[wlqf]*|leave[wlq]?|enter[wlq]?"),
    ("crypto", r"v?aes\w+|v?pclmul\w*|sha(?:1|256)\w+|v?gf2p8\w+"),
    ("convert", r"v?cvt\w+"),
    ("float", r"f[a-z0-9]+"),  # x87
    ("divide", r"i?div[bwlq]?"), ("multiply", r"i?mul[bwlq]?|mulx[lq]?"),
    ("vector integer", r"k(?:add|and|andn|or|xor|xnor|not|shift[lr]|unpck|ortest|test)[bwdq]*|v?p(?!refetch|ush|op|ause|ext[lq]?$|dep[lq]?$)\w+"),
    ("vector move", r"kmov[bwdq]|v?mov(?:a|u|nt|l|h|lh|hl|d|s|sl|sh)(?:p[sd]|d|q|dq2q)|v?mov(?:dqa|dqu|ntdqa?|ntq|ntp[sd]|ddup|shdup|sldup|mskp[sd]|q2dq|dq2q)(?:8|16|32|64)?|"
                    r"v?mov[sdq]|v?movs[sdh]|v?lddqu|vbroadcast\w+|v?maskmov\w+|v?blendv?p[sd]|vgather\w+|vscatter\w+|vcompressp[sd]|vexpandp[sd]|vextractf\w+|vinsertf\w+|"
                    r"vextracti\w+|vinserti\w+|v?extractps|v?insertps"),
    ("move", r"mov(?:abs)?[bwlq]?|mov[sz][bwl]?[wlq]?|movs[bwl]?[wlq]|movslq|movbe[wlq]?|cmov[a-z]+|xchg[bwlq]?|bswap[lq]?"),
    ("integer", r"(?:add|adc|sub|sbb|cmp|test|and|or|xor|not|neg|inc|dec|sh[lr]|sa[lr]|ro[lr]|rc[lr]|bt[scr]?|lea|cmpxchg(?:8b|16b)?|xadd)[bwlq]?|"
                r"set[a-z]+|bs[fr][wlq]?|[lt]zcnt[wlq]?|popcnt[wlq]?|shld?[wlq]?|shrd[wlq]?|sarx[lq]?|shlx[lq]?|shrx[lq]?|rorx[lq]?|andn[lq]?|bextr[lq]?|blsi[lq]?|blsr[lq]?|"
                r"blsmsk[lq]?|bzhi[lq]?|pdep[lq]?|pext[lq]?|adcx[lq]?|adox[lq]?|c[bwldq]to?[wlqd]?[a-z]*|crc32[bwlq]|cld|std|clc|stc|cmc|[ls]ahf|daa|das|aa[asmd]"),
)]
NUMBERS = re.compile(r"v?(?:f?n?m?(?:add|sub|addsub|subadd)(?:132|213|231)?|add|sub|mul|div|sqrt|max|min|cmp\w*|u?comi|and|andn|or|xor|round|rndscale|rcp|rsqrt|rcp14|rsqrt14|getexp|getmant|"
                     r"scalef|fixupimm|range|reduce|hadd|hsub|addsub|dp|unpckl|unpckh|shuf|perm\w*|fpclass|test|blend[vm]?|alignr|fm\w+|fn\w+)(ps|pd|ss|sd|ph|sh)$")
RMW = re.compile(r"(?:add|adc|sub|sbb|and|or|xor|not|neg|inc|dec|sh[lr]d?|sa[lr]|ro[lr]|rc[lr]|bt[scr]|xadd|cmpxchg(?:8b|16b)?|xchg)[bwlq]?$")
READ_ONLY = re.compile(r"(?:cmp|test|bt|i?div|i?mul|mul)[bwlq]?$")


def plain(text):
    """Without what an operand's value is, of which nothing here depends: of few texts all is told once."""
    return VALUE("1", text.split("<")[0].split(" # ")[0].split("//")[0])


def x86(text):
    """(class, memory) of AT&T text; None: not known here."""
    return x86_plain(plain(text))


@functools.lru_cache(maxsize=None)
def x86_plain(text):
    m = re.match(r"(%s)(\S+)\s*(.*)" % PREFIX, text)
    prefix, word, rest = m.groups()
    rest = rest.split("#")[0].split("<")[0].strip()
    operands = re.findall(r"[^,(]*\([^)]*\)(?:\{[^}]*\})?|[^,]+", rest) if rest else []
    memory = [i for i, o in enumerate(operands) if "(" in o or re.match(r"(?:%[c-g]s:)?0x[0-9a-f]+$|%[c-g]s:", o.strip())]
    vector = re.search(r"%(?:[xyz]mm|mm|k)\d", rest)
    what = next((c for c, p in X86 if p.match(word)), None)
    if what in (None, "vector integer") and NUMBERS.match(word):
        what = "float" if NUMBERS.match(word)[1] in ("ss", "sd", "sh") else "vector float"
    if word in ("vzeroupper", "vzeroall", "emms"):
        what = None  # nothing else does what these do
    if what in ("move", "vector move"):
        what = "vector move" if vector else "move"
    if what == "nop" or "nop" in word or (word.startswith("xchg") and rest == "%ax,%ax"):
        return "nop", "-"
    if "lock" in prefix.split() or (word.startswith("xchg") and memory):
        what = "atomic"
    if what in ("call", "stack", "return", "string", "system", "prefetch") or (what == "float" and word[0] == "f"):
        return what, None  # of the stack or of many places: not judged here
    if not memory or word.startswith("lea"):
        return what, "-"
    if what in ("branch", "jump"):
        return what, "r" if "*" in rest else "-"
    last = memory[-1] == len(operands) - 1
    if not last or READ_ONLY.match(word) or re.match(r"v?u?comi|v?ptest|kortest|crc32|popcnt", word):
        return what, "r"
    if RMW.match(word):
        return what, "rw"
    return what, "w" if len(operands) > 1 or word.startswith("set") else None


ARM = [(c, re.compile(r"(?:%s)$" % p)) for c, p in (
    ("nop", r"nop|bti|hint"), ("call", r"blr?|blraa?z?|blrabz?"), ("jump", r"br?|braaz?|brabz?"), ("return", r"ret|retaa|retab|eret"),
    ("branch", r"b\.\w+|cbn?z|tbn?z"), ("system", r"svc|hvc|smc|hlt|brk|udf|mrs|msr|d[ms]b|isb|sb|sys|dc|ic|at|tlbi|yield|wf[ei]|sevl?|clrex"),
    ("prefetch", r"prf\w+"), ("atomic", r"cas\w*|swp\w*|ld(?:add|clr|eor|set|smax|smin|umax|umin)\w*|st(?:add|clr|eor|set|smax|smin|umax|umin)\w*|ldx[rp]\w*|ldax[rp]\w*|stx[rp]\w*|stlx[rp]\w*"),
    ("crypto", r"aes\w+|sha\d\w+|sm[34]\w+|pmull2?"), ("convert", r"fcvt\w*|[su]cvtf|fjcvtzs"),
)]


def arm(text):
    return arm_plain(plain(text))


@functools.lru_cache(maxsize=None)
def arm_plain(text):
    m = re.match(r"(\S+)\s*(.*)", text)
    word, rest = m.groups()
    rest = rest.split("//")[0].split("<")[0]
    what = next((c for c, p in ARM if p.match(word)), None)
    operands = [o.strip() for o in rest.split(",")]
    registers = re.findall(r"(?<![\w.])[{]?([vzqdshb]\d+)(?:\.\w+)?", rest.split("[")[0] if not re.search(r"\.\w\[", rest) else rest)
    place = re.search(r"(?:^|[ ,])\[", rest)
    reads, writes = bool(place and word.startswith("ld")), bool(place and word.startswith("st"))
    if what == "atomic" and "x" not in re.sub("max", "", word):
        reads = writes = True
    memory = {(0, 0): "-", (1, 0): "r", (0, 1): "w", (1, 1): "rw"}[(int(reads), int(writes))]
    if what == "prefetch":
        return what, "-"
    if what:
        return what, memory
    if registers:
        if re.match(r"(?:ld|st|fmov|movi|mov|mvn|mvni|dup|ins|umov|smov)", word):
            return "vector move", memory
        if word[0] == "f":
            return ("vector float" if operands[0][0] in "v{" else "float"), memory
        return "vector integer", memory
    if re.match(r"s?u?mul|mneg|madd|msub|[su]m(?:ull|ulh|addl|subl|negl)", word):
        return "multiply", memory
    if re.match(r"[su]div", word):
        return "divide", memory
    if re.match(r"ld|st|mov|csel$", word):
        return "move", memory
    return "integer", memory


def listing(objdump, path, *words):
    """(address, text) of all instructions."""
    p = subprocess.Popen([objdump, "-d", "-w", "--no-show-raw-insn", *words, path], stdout=subprocess.PIPE, text=True)
    for line in p.stdout:
        g = LINE(line)
        if g:
            yield int(g[1], 16), g[2].strip()
    p.wait()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/mem_types.py BUILD [DIR [PROGRAM...]] - types of the accesses of large programs, compiled here from Debian's sources with -O2 -g.

Needs apt-get with the network, compilers, tclsh, qemu-x86_64. DIR keeps sources and programs. Each program is followed in the emulator; of the
accesses of its own code outside the stack it prints
  typed      the share that has a type
  pairs      accesses to a structure's field, each beside the one before it to the same address by another instruction
  same       both in the same structure, at the same place
  nested     one structure contains the other
  named      the same place, another name: a union, or memory that was allocated again
  conflict   structures that overlap in part: one of the two is wrong, or memory was allocated again

With the headers of GCC's plugins (gcc-12-plugin-dev) programs are compiled with tests/truth/mem_exprs.cc, which keeps what the compiler itself knows
of each access. Of the accesses that have a type, `checked` are those that it knows something of, and of these
  right      the compiler names the same structure, at the same place
  larger     it names a part of the structure, which is there
  scalar     it names a number or a pointer alone, and the field is one of that size
  kind       another kind of scalar
  wrong      another structure or place, or none where the compiler has one
DIR keeps the programs that were built; those of another compiler have to be deleted.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "tests", "truth"))
import mem_truth  # noqa: E402

SQL = """create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x+1 from n where x<4000) insert into t select x, 'row '||(x*7919%4001), x*1.5 from n;
create index tb on t(b);
select count(*), sum(c), max(b) from t where b > 'row 2';
select b, count(*) from t group by substr(b,1,5) order by 2 desc limit 5;
update t set c=c+1 where a%3=0;
select t1.a, t2.b from t t1 join t t2 on t1.b=t2.b where t1.a<200 order by t2.c limit 3;
delete from t where a%5=0;
"""
LUA = """local t={} for i=1,3000 do t[i]={key=tostring(i*7919%3001),v=i} end
table.sort(t,function(a,b) return a.key<b.key end)
local s={} for i,x in ipairs(t) do s[#s+1]=x.key:upper()..":"..x.v end
local str=table.concat(s,",") local n=0 for w in str:gmatch("%d+") do n=n+tonumber(w) end
local function fib(n) if n<2 then return n end return fib(n-1)+fib(n-2) end
print(n,fib(17),#str:gsub("1","one"))
"""
AWK = 'BEGIN { for (i = 0; i < 3000; i++) { a[i * 7919 % 3001] = i ":" i * i; s = s " " substr(a[i * 7919 % 3001], 2) }\n' \
      'n = split(s, w, " "); asort(w); for (i = 1; i <= n; i++) if (match(w[i], /[0-9]+:/)) m += length(w[i]); print n, m }'
WORDS = "struct word { const char *name; int value; };\n%%\n" + "".join("word%d%s, %d\n" % (i * 7919 % 1009, "abcdefg"[i % 7] * (i % 5), i) for i in range(400))
# without a child, which would write to the same trace
BASH = """declare -A seen; declare -a list
fib() { local n=$1 a; if ((n < 2)); then r=$n; else fib $((n-1)); a=$r; fib $((n-2)); ((r += a)); fi; }
fib 13; for ((i = 0; i < 600; i++)); do w=word$((i * 7919 % 601)); seen[$w]=$i; list+=("$w:$i"); done
for w in "${!seen[@]}"; do case $w in *7) ((n += seen[$w]));; word1*) s+=${w#word};; esac; done
for x in "${list[@]}"; do IFS=: read -r a b <<< "$x"; [[ $a =~ ^word([0-9]+)$ ]] && printf -v t '%s-%05d' "${BASH_REMATCH[1]}" "$b" && out+=$t; done
printf '%d %d %d %s\\n' "$r" "$n" "${#out}" "${s//[13]/x}"
"""
BINUTILS = ("mkdir -p b && cd b && ../configure --disable-nls --disable-gdb --disable-gdbserver --disable-sim --disable-gprofng --disable-werror "
            "--enable-gold --disable-shared --without-debuginfod --without-zstd --disable-libdecnumber --disable-readline "
            "CFLAGS='-O2 -g' CXXFLAGS='-O2 -g' MAKEINFO=true >log && make all-binutils all-gas all-ld all-gold MAKEINFO=true >log && cd .. && "
            "gcc -O2 -g -S -Iinclude -Ib/libiberty -DHAVE_CONFIG_H -o b/demangle.s libiberty/cp-demangle.c")
OBJECTS = ["b/binutils/size.o", "b/binutils/bucomm.o", "b/bfd/.libs/libbfd.a", "b/libiberty/libiberty.a"]
# source package, how it is built, the program, its arguments, what it reads, period
PROGRAMS = [
    ("lua5.4", "cd src && $CC -O2 -g -DLUA_USE_LINUX -o ../program $(ls *.c | grep -v luac.c) -lm -ldl", "program", ["-"], LUA, 17),
    ("sqlite3", "./configure --disable-tcl --disable-readline >log && make sqlite3.c shell.c >log && "
     "$CC -O2 -g -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o program shell.c sqlite3.c -lm", "program", [":memory:"], SQL, 37),
    ("gawk", "./configure --disable-nls --disable-mpfr --without-readline --disable-extensions CFLAGS='-O2 -g' >log && touch awkgram.c command.c */*.c && "
     "make -C support AUTOCONF=: AUTOMAKE=: ACLOCAL=: >log && make AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=: gawk >log",
     "gawk", [AWK], "", 37),
    ("ninja-build", "python3 configure.py --bootstrap >log", "ninja", ["-C", "@DIR@", "-n"], "", 17),
    ("bash", "./configure --disable-nls --without-bash-malloc CFLAGS='-O2 -g' >log && make >log", "bash", ["-s"], BASH, 37),
    ("binutils", BINUTILS, "b/binutils/objdump", ["-d", "-l", "-t", "-r", "b/binutils/bucomm.o"], "", 19),
    ("binutils", BINUTILS, "b/gold/ld-new", ["-e", "main", "--unresolved-symbols=ignore-all", "-o", "linked", *OBJECTS], "", 97),
    ("binutils", BINUTILS, "b/gas/as-new", ["-o", "b/demangle.o", "b/demangle.s"], "", 97),
    ("binutils", BINUTILS, "b/ld/ld-new", ["-e", "main", "--unresolved-symbols=ignore-all", "-o", "linked", "b/gas/as.o", *OBJECTS[-2:]], "", 97),
    ("swig", "./configure --without-pcre --without-alllang --disable-ccache CFLAGS='-O2 -g' CXXFLAGS='-O2 -g' >log && "
     "touch Source/CParse/parser.[ch] Source/Makefile.in aclocal.m4 configure Source/Makefile config.status && "
     "make -C Source YACC=: BISON=: AUTOMAKE=: AUTOCONF=: ACLOCAL=: >log", "Source/eswig",
     ["-c++", "-python", "-ILib", "-ILib/python", "-IExamples/test-suite", "-o", "wrap.cxx", "Examples/test-suite/template_default_arg.i"], "", 197),
    ("cppcheck", "make CXXFLAGS='-O2 -g' cppcheck >log", "cppcheck", ["-q", "lib/color.cpp"], "", 97),
    ("libzstd", "$CC -O2 -g -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_ -Ilib -Ilib/common -o zstd programs/*.c lib/common/*.c lib/compress/*.c "
     "lib/decompress/*.c lib/dictBuilder/*.c", "zstd", ["-b3", "-i0", "lib/compress/zstd_lazy.c"], "", 17),
    ("redis", "make -C src redis-server MALLOC=libc OPTIMIZATION=-O2 DEBUG=-g BUILD_TLS=no CC=\"$CC\" >log", "src/redis-server",
     ["--port", "0", "--unixsocket", "@COMMANDS@/socket", "--appendonly", "yes", "--save", "", "--dir", "@COMMANDS@"], "", 397),
    ("gperf", "./configure CFLAGS='-O2 -g' CXXFLAGS='-O2 -g' >log && make -C lib >log && make -C src >log", "src/gperf", ["-t"], WORDS, 17),
]


def sources(where):
    """Debian's, without touching what apt of this machine knows."""
    parts = os.path.join(where, "parts")
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(where, name), exist_ok=True)
    with open(os.path.join(parts, "src.list"), "w", encoding="utf-8") as f:
        f.write("deb-src http://deb.debian.org/debian bookworm main\n")
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", "Dir::Etc::sourceparts=" + parts,
           "-o", "Dir::State::lists=" + where + "/lists", "-o", "Dir::Cache=" + where + "/cache"]
    subprocess.run(apt + ["update"], check=True)
    return apt


def fetched(apt, where, package):
    tree = os.path.join(where, package)
    if not os.path.isdir(tree):
        down = os.path.join(where, "down-" + package)
        os.makedirs(down, exist_ok=True)
        subprocess.run(apt + ["source", "--download-only", package], check=True, cwd=down)
        tar = sorted(n for n in os.listdir(down) if re.search(r"\.orig\.tar\.\w+$", n))[0]
        os.makedirs(tree)
        subprocess.run(["tar", "xf", os.path.join(down, tar), "-C", tree, "--strip-components=1"], check=True)
    return tree


def ninja_of(where):
    """A graph of 400 files."""
    tree = os.path.join(where, "graph")
    os.makedirs(tree, exist_ok=True)
    with open(os.path.join(tree, "build.ninja"), "w", encoding="utf-8") as f:
        f.write("rule cc\n command = true $in -o $out\n description = CC $out\n")
        for i in range(400):
            open(os.path.join(tree, "s%d.c" % i), "w", encoding="utf-8").close()
            f.write("build o%d.o: cc s%d.c | %s\n  flags = -O%d\n" % (i, i, " ".join("o%d.o" % j for j in range(max(0, i - 3), i)), i % 3))
        f.write("build all: cc %s\ndefault all\n" % " ".join("o%d.o" % i for i in range(400)))
    return tree


def commands_of(where):
    """Redis' log of commands, which it runs when it starts; it ends with an error at what is none."""
    tree = os.path.join(where, "commands", "appendonlydir")
    os.makedirs(tree, exist_ok=True)
    rows = [["SELECT", "0"]]
    for i in range(1500):
        k = str(i * 7919 % 1501)
        rows += [["SET", "key:" + k, "value " * (i % 40)], ["HSET", "hash:" + str(i % 7), "field" + k, k], ["ZADD", "set", k, "member" + k], ["LPUSH", "list" + str(i % 5), k],
                 ["SADD", "tags", k], ["INCR", "n" + str(i % 50)], ["XADD", "stream", str(i + 1) + "-1", "k", k], ["PFADD", "hll", k], ["SETBIT", "bits", k, "1"]]
    rows += [["SORT", "list1", "STORE", "sorted"], ["ZUNIONSTORE", "u", "2", "set", "tags"], ["SINTERSTORE", "i", "tags", "tags"], ["DEL", "hash:1", "set"],
             ["EVAL", "local t={} for i=1,500 do t[i]=redis.call('get','key:'..i) or '' end table.sort(t) return #table.concat(t)", "0"]]
    with open(os.path.join(tree, "appendonly.aof.1.incr.aof"), "wb") as f:
        for row in rows:
            f.write(b"*%d\r\n" % len(row) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in row))
        f.write(b"the end")
    with open(os.path.join(tree, "appendonly.aof.manifest"), "w", encoding="utf-8") as f:
        f.write("file appendonly.aof.1.incr.aof seq 1 type i\n")
    return os.path.dirname(tree)


def traced(tools, program, arguments, text, period, cwd):
    """Accesses of the program's own code: (address in the file, address, store)"""
    trace = os.path.join(cwd, "trace")
    r = subprocess.run(["qemu-x86_64", "-plugin", "%s/accesses.so,out=%s,period=%d,seed=3,lines=off" % (tools, trace, period), program] + arguments,
                       input=text, text=True, capture_output=True, cwd=cwd, check=False)
    if r.returncode:
        print("%s: %d %s" % (program, r.returncode, r.stderr[:200]))
    own, out = [], []
    with open(program, "rb") as f:
        fixed = f.read(18)[16] == 2  # ET_EXEC: addresses are the file's
    with open(trace, encoding="utf-8") as f:
        for row in f:
            w = row.split()
            if w[0] == "map" and w[4] == program:
                own.append((int(w[1], 16), int(w[2], 16), int(w[3], 16)))
            elif w[0] == "access":
                ip = int(w[2], 16)
                out += [(ip if fixed else ip - m[0] + m[2], int(w[3], 16), int(w[5] == "store")) for m in own if m[0] <= ip < m[1]]
    return out


def measured(name, tools, program, accesses):
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True).stdout
    frame = {int(m.group(1), 16) for m in re.finditer(r"^ +([0-9a-f]+):\t.*\(%rsp", code, re.M)}
    wide = {int(m.group(1), 16) for m in re.finditer(r"^ +([0-9a-f]+):\t.*xmm", code, re.M)}  # the emulator makes two of each
    stack = [a for ip, a, _ in accesses if ip in frame]
    low, high = min(stack) - 65536, max(stack) + 65536
    outside = [x for x in accesses if not low <= x[1] <= high]
    places = sorted({(ip, store) for ip, _, store in outside})
    text = subprocess.run([os.path.join(tools, "dump_types"), program], input="".join("%x %d\n" % p for p in places), check=True,
                          capture_output=True, text=True).stdout
    answer = {p: line.split("\t") for p, line in zip(places, text.splitlines())}
    why, pairs, before, wrong = collections.Counter(), collections.Counter(), {}, collections.Counter()
    for ip, address, store in outside:
        a = answer[ip, store]
        why[a[1]] += 1
        if a[1] != "known" or not a[6] or ip in wide or "[]" in a[6]:
            continue
        now = (ip, address - int(a[2]), int(a[3]), a[5])
        last = before.get(address, now)
        before[address] = now
        if last[0] == ip:
            continue
        (_, x, nx, tx), (_, y, ny, ty) = now, last
        kind = ("same" if tx == ty else "named") if (x, nx) == (y, ny) else \
            "nested" if (x <= y and y + ny <= x + nx) or (y <= x and x + nx <= y + ny) else "conflict"
        pairs[kind] += 1
        if kind == "conflict":
            wrong[hex(ip), tx, a[6], hex(last[0]), ty] += 1
    n, all_pairs = len(outside), max(sum(pairs.values()), 1)
    print("| %s | %d | %.1f %% | %d | %s | %s |" % (name, n, 100 * why["known"] / n, all_pairs, " | ".join(
        "%.2f %%" % (100 * pairs[k] / all_pairs) for k in ("same", "nested", "named", "conflict")), compared(program, outside, answer)))
    if os.environ.get("SHOW"):
        print(why.most_common(), *wrong.most_common(8), sep="\n")


def compared(program, outside, answer):
    """with what the compiler knows"""
    truth = mem_truth.truth_of(program)
    if not truth:
        return "not compiled with the plugin"
    layouts = mem_truth.layouts(program, {a[5] for a in answer.values() if a[1] == "known"})
    verdict, wrong = collections.Counter(), collections.Counter()
    for (ip, store), n in collections.Counter((ip, store) for ip, _, store in outside if answer[ip, store][1] == "known").items():
        v = mem_truth.judged(answer[ip, store], truth.get(ip, []), store, layouts)
        verdict[v] += n
        if v in ("wrong", "kind"):
            wrong[v, hex(ip), *answer[ip, store][2:], str(truth[ip])] += n
    checked = sum(verdict[v] for v in mem_truth.CHECKED)
    if os.environ.get("SHOW"):
        print(*wrong.most_common(16), sep="\n")
    return "%.1f %% | %s" % (100 * checked / max(sum(verdict.values()), 1),
                            " | ".join("%.2f %%" % (100 * verdict[v] / max(checked, 1)) for v in mem_truth.CHECKED))


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
    tools = os.path.join(build, "tests", "truth")
    with tempfile.TemporaryDirectory() as tmp:
        where = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else tmp
        apt = sources(where)
        options = " ".join([""] + (mem_truth.built(where) or []))
        env = dict(os.environ, CC="gcc" + options, CXX="g++" + options)
        print("| program | accesses outside the stack | typed | pairs | same | nested | named | conflict | checked | %s |\n%s|" % (
            " | ".join(mem_truth.CHECKED), "|---" * (9 + len(mem_truth.CHECKED))))
        only = sys.argv[3:]
        for package, how, name, arguments, text, period in PROGRAMS:
            if only and os.path.basename(name) not in only:
                continue
            tree = fetched(apt, where, package)
            program = os.path.join(tree, name)
            if not os.path.exists(program):
                subprocess.run(["sh", "-c", "( " + how + " ) 2>errors"], check=True, cwd=tree, env=env)
            arguments = [ninja_of(where) if a == "@DIR@" else a.replace("@COMMANDS@", commands_of(where)) if "@COMMANDS@" in a else a for a in arguments]
            measured(package + " " + os.path.basename(name), tools, program, traced(tools, program, arguments, text, period, tree))


if __name__ == "__main__":
    main()

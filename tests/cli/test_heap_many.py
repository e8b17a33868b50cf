#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record --heap and programs of every day: each of them alone and under the library, with the same output, status and files. CYCLADE_LONG=1 takes
all, and their time: at most 1.5 times as long, and 0.5 ms for each process. Then signals at random moments, to the recorder and to its program: nothing is left of the directory
of logs; CYCLADE_LONG=1 sends 1,000.

A program that does not do the same twice alone is skipped, and so is what is not installed."""
import collections
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import heap_programs  # noqa: E402
from heap_made import LIBRARY  # noqa: E402
from tap import CYCLADE, Tap, run, wait_for  # noqa: E402

LONG = bool(os.environ.get("CYCLADE_LONG"))
t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
PYTHON = {
    "threads": "import threading\nr = [0] * 8\ndef f(i):\n    for k in range(20000): r[i] += len(str(k) * 3)\n"
               "v = [threading.Thread(target=f, args=(i,)) for i in range(8)]\n[x.start() for x in v]; [x.join() for x in v]\nprint(r)",
    "pool": "from concurrent.futures import ThreadPoolExecutor as P\nimport hashlib, zlib\n"
            "print([x for x in P(4).map(lambda i: hashlib.sha256(zlib.compress(bytes([i]) * 100000)).hexdigest()[:8], range(40))])",
    "processes": "import multiprocessing as m\ndef f(i): return sum(len(str(k)) for k in range(i * 1000))\nif __name__ == '__main__':\n    with m.Pool(3) as p: print(p.map(f, range(20)))",
    "children": "import subprocess\nprint([subprocess.run(['sh', '-c', 'echo $((%d * 7)); exit %d' % (i, i)], capture_output=True).returncode for i in range(20)])",
    "json": "import json\nd = {str(i): [i, [i] * 5, {'a': str(i)}] for i in range(20000)}\nprint(len(json.dumps(json.loads(json.dumps(d)))))",
    "sqlite": "import sqlite3\nc = sqlite3.connect('x.db')\nc.execute('create table a (i, t)')\nc.executemany('insert into a values (?, ?)', ((i, str(i) * 5) for i in range(20000)))\n"
              "c.commit()\nprint(c.execute('select sum(i), max(t) from a').fetchall())",
    "ctypes": "import ctypes\nl = ctypes.CDLL(None)\nl.malloc.restype = ctypes.c_void_p\nl.free.argtypes = [ctypes.c_void_p]\n[l.free(l.malloc(i)) for i in range(5000)]\nprint(l.abs(-4))",
    "forks": "import os, threading\nstop = []\ndef f():\n    while not stop: [str(i) for i in range(100)]\nv = [threading.Thread(target=f) for _ in range(3)]\n[x.start() for x in v]\n"
             "for i in range(20):\n    p = os.fork()\n    if not p: os._exit(i)\n    print(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))\nstop.append(1)",
    "signals": "import signal, time\nn = 0\ndef f(*a):\n    global n\n    n += 1\nsignal.signal(signal.SIGALRM, f)\nsignal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n"
               "while n < 20: [str(i) * 4 for i in range(200)]\nprint('end')",
    "exits": "import os, sys\nprint('a', flush=True)\nos.kill(os.getpid(), 11)",
}
C = {
    "pthreads": "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic void *f(void *p) { long n = 0; for (int i = 0; i < 30000; i++) { char *s = malloc(10 + i % 90); s[0] = 1; n += s[0]; free(s); } return (void *)n; }\n"
                "int main(void) { pthread_t t[8]; long n = 0; void *r; for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, f, NULL); for (int i = 0; i < 8; i++) { pthread_join(t[i], &r); n += (long)r; } printf(\"%ld\\n\", n); }",
    "openmp": "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { long n = 0;\n#pragma omp parallel for reduction(+:n)\nfor (int i = 0; i < 50000; i++) { int *p = malloc(i % 200 + 4); *p = 1; n += *p; free(p); } printf(\"%ld\\n\", n); }",
    "c11": "#include <stdio.h>\n#include <stdlib.h>\n#include <threads.h>\nstatic int f(void *p) { for (int i = 0; i < 1000; i++) free(malloc(i)); return 3; }\n"
           "int main(void) { int n = 0, r; for (int i = 0; i < 200; i++) { thrd_t t; thrd_create(&t, f, NULL); thrd_join(t, &r); n += r; } printf(\"%d\\n\", n); }",
    "many": "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic void *f(void *p) { void *v[50]; for (int i = 0; i < 50; i++) v[i] = malloc(i); for (int i = 0; i < 50; i++) free(v[i]); return p; }\n"
            "int main(void) { for (int k = 0; k < 20; k++) { pthread_t t[100]; for (int i = 0; i < 100; i++) if (pthread_create(&t[i], NULL, f, NULL)) return 1; for (int i = 0; i < 100; i++) pthread_join(t[i], NULL); } puts(\"end\"); }",
}
CXX = {
    "async": "#include <cstdio>\n#include <future>\n#include <map>\n#include <string>\n#include <vector>\nint f(int i) { std::map<int, std::string> m; for (int k = 0; k < 3000; k++) m[k * i % 997] += \"x\"; return m.size(); }\n"
             "int main() { std::vector<std::future<int>> v; int n = 0; for (int i = 1; i < 9; i++) v.push_back(std::async(std::launch::async, f, i)); for (auto &x : v) n += x.get(); std::printf(\"%d\\n\", n); }",
    "throws": "#include <cstdio>\n#include <new>\n#include <stdexcept>\n#include <string>\n#include <thread>\nstatic int n; static void f() { for (int i = 0; i < 500; i++) try { if (i % 2) throw std::runtime_error(std::string(50, 'x')); new char[~0ul / 4]; } catch (const std::exception &) { n++; } }\n"
              "int main() { std::thread t(f); t.join(); std::printf(\"%d\\n\", n); }",
}
JAVA = "public class A { public static void main(String[] a) throws Exception { Thread[] t = new Thread[4]; long[] r = new long[4]; for (int i = 0; i < 4; i++) { int k = i; t[i] = new Thread(() -> { for (int j = 0; j < 100000; j++) r[k] += (\"\" + j).length(); }); t[i].start(); } for (Thread x : t) x.join(); System.out.println(r[0] + r[1] + r[2] + r[3]); } }"
NODE = "const { Worker, isMainThread, parentPort } = require('worker_threads'); if (isMainThread) { let n = 0; for (let i = 0; i < 3; i++) new Worker(__filename).on('message', m => { if (++n == 3) console.log(m); }); } " \
       "else { let a = []; for (let i = 0; i < 100000; i++) a.push({ i }); parentPort.postMessage(a.length); }"
# name: command, in a directory of its own beside `in`; those of the short run
SHORT = ("sort", "xz", "sed", "git", "make", "gcc", "sqlite3", "perl", "bash", "python threads", "python forks", "python exits", "c pthreads", "c many", "c++ throws")
COMMANDS = {
    "bash": "bash -c 'for i in {1..100}; do x=$x$i; (exit $((i % 3))); echo $? ${#x}; done; declare -A m; for i in {1..2000}; do m[$i]=$i; done; echo ${#m[@]}'",
    "dash": "dash -c 'i=0; while [ $i -lt 200 ]; do i=$((i + 1)); echo $i | cat; done; exit 7'",
    "pipes": "cat ../in/text | tr a-z A-Z | sort | uniq -c | sort -rn | head -5", "exec": "exec env -i A=1 sh -c 'echo $A; exit 4'", "traps": "trap 'echo got' TERM; kill -TERM $$; echo after",
    "perl": "perl -ne '$h{$_}++ for split; END { print scalar(keys %h), \"\\n\" }' ../in/text", "perl forks": "perl -e 'for (1..20) { if (!fork) { my @a = (1) x 10000; exit $_ } wait; print $? >> 8, \"\\n\" }'",
    "perl threads": "perl -Mthreads -e 'print join(\",\", map { $_->join } map { my $i = $_; threads->create(sub { my @a = map { $_ * $i } 1..5000; scalar @a }) } 1..4), \"\\n\"'",
    "awk": "awk '{ n[$1] += length } END { for (i in n) s += n[i]; print s }' ../in/text", "sed": "sed -E 's/([a-z]+) ([0-9]+)/\\2 \\1/' ../in/text > out", "tclsh": "echo 'for {set i 0} {$i < 20000} {incr i} {lappend l $i}; puts [llength $l]' | tclsh",
    "bc": "echo 'scale=300; 4*a(1)' | bc -l", "jq": "jq -c '.[] | select(.i % 7 == 0)' ../in/json | tail -3", "xmllint": "xmllint --format ../in/xml | tail -3",
    "sort": "sort --parallel=4 -S 4M ../in/text -o out", "sort -u": "sort -u -k2 ../in/text | tail -3", "uniq": "uniq -c ../in/text | tail -3", "comm": "sort ../in/text > a; head -1000 a > b; comm -12 a b | wc", "join": "sort ../in/text > a; join a a | wc",
    "paste": "paste ../in/text ../in/text | md5sum", "cut": "cut -d' ' -f2 ../in/text | sort -n | tail -2", "tac": "tac ../in/text | head -3", "nl": "nl ../in/text | tail -2", "fmt": "fmt ../in/text | tail -2", "pr": "pr -h x -l 60 ../in/text | grep -v 20 | md5sum",
    "column": "head -200 ../in/text | column -t | tail -2", "rev": "rev ../in/text | tail -2", "shuf": "shuf --random-source=../in/text -n 5 ../in/text", "split": "split -l 3000 ../in/text part", "factor": "seq 1000000 1000300 | factor | tail -2", "seq": "seq 1 100000 | wc",
    "od": "od -x ../in/text | tail -2", "xxd": "xxd ../in/text | tail -2", "base64": "base64 ../in/text | tail -2", "md5sum": "md5sum ../in/*", "sha256sum": "sha256sum ../in/*", "wc": "wc ../in/*", "file": "file ../in/*", "diff": "tac ../in/text > a; diff ../in/text a | wc; cmp a ../in/text",
    "patch": "cp ../in/text a; sed 50d a > b; diff -u a b > p; patch a p; cmp a b", "find": "find /usr/include -name 's*.h' -size +2k | sort | wc", "grep": "grep -rc '[a-f]9' ../in/text; grep -E '(a|b)+c?[0-9]{2}' ../in/text | wc", "grep fails": "grep nothing ../in/text",
    "ls": "ls -la /usr/bin | tail -n +4 | wc -l", "du": "du -s ../in/text", "cp": "cp -a ../in copy; ls copy", "tar": "tar cf - -C ../in text json | tar tvf - | wc -l", "gzip": "gzip -9 < ../in/text > out; gzip -t < out", "bzip2": "bzip2 < ../in/text > out", "xz": "xz -T4 --block-size=100000 -2 < ../in/text > out",
    "zstd": "zstd -q -T4 -5 < ../in/text > out; zstd -q -dc < out | cmp - ../in/text", "lz4": "lz4 -q < ../in/text > out", "zip": "zip -qX out.zip ../in/text; unzip -p out.zip | md5sum", "openssl": "openssl enc -aes-256-cbc -K 00 -iv 00 -in ../in/text -out out 2> /dev/null; openssl dgst -sha512 ../in/text", "openssl pem": "openssl asn1parse -in /etc/ssl/certs/ca-certificates.crt | tail -2",
    "gpg": "GNUPGHOME=$PWD gpg -q --batch --list-keys 2> /dev/null; gpg --version | head -1", "curl": "curl -s file://$PWD/../in/text | md5sum", "curl fails": "curl -s http://127.0.0.1:1/", "wget": "wget -q http://127.0.0.1:1/",
    "git": "git init -q .; cp ../in/text a; git add a; GIT_AUTHOR_DATE='1 +0000' GIT_COMMITTER_DATE='1 +0000' git -c user.name=a -c user.email=a@b commit -qm x; git rev-parse HEAD; rm -rf .git", "git pack": "git init -q .; for i in 1 2 3 4 5 6 7 8; do sed ${i}0d ../in/text > $i; done; git add .; git -c user.name=a -c user.email=a@b commit -qm x; git -c pack.threads=4 gc -q; git fsck 2> /dev/null; git ls-files; rm -rf .git",
    "make": "printf 'all: a b c\\na b c:\\n\\tsh -c \"echo $@ > $@\"\\n' > Makefile; make -s -j4", "gcc": "gcc -O2 -c ../in/c.c -o c.o", "g++": "g++ -O1 -c ../in/cxx.cc -o x.o", "link": "gcc ../in/c.c -o c -pthread; ./c", "clang": "clang -O2 -c ../in/c.c -o c.o", "ld.lld": "gcc -c ../in/c.c -o c.o; ld.lld -r c.o -o d.o", "as": "gcc -S ../in/c.c -o c.s; as c.s -o c.o",
    "opt": "clang -O1 -S -emit-llvm ../in/c.c -o c.ll; llvm-as < c.ll | wc", "readelf": "readelf -aW /bin/ls | md5sum", "objdump": "objdump -d /bin/ls | md5sum", "nm": "nm -D /bin/ls | wc", "gdb": "gdb -nx -batch -ex 'info functions main' ../in/c.out", "gdb runs": "gdb -nx -batch -ex 'set startup-with-shell off' -ex 'break main' -ex run -ex 'print 6*7' ../in/c.out 2>&1 | grep 42",
    "cmake": "cmake -E sha1sum ../in/text", "ninja": "printf 'rule c\\n command = cp $in $out\\nbuild a: c ../in/text\\nbuild b: c a\\n' > build.ninja; ninja -j4 | tail -1; rm .ninja*", "meson": "meson --version", "ssh-keygen": "ssh-keygen -q -t rsa -b 1024 -N '' -f k > /dev/null; ssh-keygen -yf k | cut -c1-7; rm k k.pub",
    "sqlite3": "sqlite3 x.db 'pragma threads=4; create table a (i, t); with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000) insert into a select i, hex(i) from n; create index b on a (t); select count(*), max(t) from a;'",
    "node": "node -e 'let m = new Map(); for (let i = 0; i < 100000; i++) m.set(i, String(i)); console.log(m.size)'", "node workers": "node ../in/workers.js", "java": "java -Xmx200m -cp ../in A", "java gc": "java -Xmx60m -XX:+UseParallelGC -cp ../in A", "javac": "cp ../in/A.java .; javac A.java",
    "rustc": "printf 'fn main() { println!(\"{}\", 1); }' > a.rs; rustc -O a.rs -o a; ./a; rm a", "go": "go version", "go runs": "HOME=$PWD/../in GOCACHE=$PWD/../in/cache GOFLAGS=-mod=mod go env GOOS", "dpkg": "dpkg-query -W | wc -l", "dpkg -L": "dpkg -L coreutils | tail -2", "apt-cache": "apt-cache policy bash | head -2", "less": "less -E ../in/text | md5sum", "vim": "vim -es -u NONE -i NONE -c '%s/a/b/g' -c 'w! out' -c q ../in/text", "man": "man --version | head -1",
    "ps": "ps -o comm= -p 1 | wc", "top": "top -bn1 | head -1 | wc -l", "df": "df / | wc -l", "lsof": "lsof -p $$ 2> /dev/null | head -1 | cut -c1-7", "convert": "convert -size 200x200 gradient:red-blue -rotate 30 -depth 8 out.ppm", "dot": "echo 'digraph { a -> b -> c; a -> c }' | dot -Tplain", "qemu": "qemu-x86_64 /bin/true", "valgrind": "valgrind -q --error-exitcode=9 ../in/c.out", "strace": "strace -f -o /dev/null sh -c '/bin/echo a; exit 3'", "date": "TZ=UTC date -d @0", "id": "id", "env": "env -i A=b env",
    "chromium": "chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/p --dump-dom 'data:text/html,<script>document.title=1+1;document.write(6*7)</script>' 2> /dev/null; rm -rf p",
    "timeout": "timeout -s KILL 0.2 sleep 5", "aborts": "python3 -c 'import os; os.abort()'", "setsid": "setsid sh -c 'echo a; exit 2'", "xargs": "seq 1 60 | xargs -P4 -n5 echo | wc", "unshare": "unshare -r true; echo $?", "nice": "nice -n 5 sh -c 'nice'", "ulimit": "ulimit -v 400000; python3 -c 'a = bytearray(50 << 20); print(len(a))'; ulimit -n 8; sh -c 'echo a | cat'",
    **{"python " + name: "python3 ../in/%s.py" % name for name in PYTHON}, **{"c " + name: "../in/c_" + name for name in C}, **{"c++ " + name: "../in/cxx_" + name for name in CXX},
}


def prepare():
    os.mkdir("in")
    rng = random.Random(1)
    with open("in/text", "w", encoding="ascii") as f:
        f.writelines("%s %d\n" % ("".join(rng.choice("abcdef") for _ in range(rng.randint(1, 9))), rng.randint(1, 999)) for _ in range(20000))
    with open("in/json", "w", encoding="ascii") as f:
        f.write("[%s]" % ",".join('{"i":%d,"s":"%s"}' % (i, "x" * (i % 9)) for i in range(3000)))
    with open("in/xml", "w", encoding="ascii") as f:
        f.write("<a>%s</a>" % "".join("<b c='%d'><d/></b>" % i for i in range(3000)))
    for name, text in {**{n + ".py": x for n, x in PYTHON.items()}, "A.java": JAVA, "workers.js": NODE, "c.c": C["pthreads"], "cxx.cc": CXX["async"]}.items():
        with open("in/" + name, "w", encoding="ascii") as f:
            f.write(text)
    for name, text in C.items():
        heap_programs.build("in/c_" + name, text, "-pthread", "-fopenmp", head="")
    for name, text in CXX.items():
        heap_programs.build("in/cxx_" + name, text, "-pthread", cc="c++", head="")
    shutil.copy("in/c_pthreads", "in/c.out")
    if LONG and shutil.which("javac"):
        subprocess.run(["javac", "-d", "in", "in/A.java"], check=True)


def files():
    out = {}
    for d, _, names in os.walk("."):
        for n in names:
            p = os.path.join(d, n)
            if os.path.isfile(p):
                with open(p, "rb") as f:
                    out[p] = hashlib.md5(f.read()).hexdigest()
    return out


def once(command, logged):
    """Its status, output and files, and the seconds of processor time that it and its children took."""
    shutil.rmtree("work", ignore_errors=True)
    shutil.rmtree("logs", ignore_errors=True)
    os.mkdir("work")
    os.mkdir("logs")
    env = dict(os.environ, HOME=os.path.abspath("work"), LC_ALL="C", PYTHONHASHSEED="0")
    if logged:
        env.update(CYCLADE_HEAP="4:1:%d:%s" % (1 << 29, os.path.abspath("logs")), LD_PRELOAD=LIBRARY)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run(["sh", "-c", command], cwd="work", env=env, capture_output=True, timeout=600, check=False, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.chdir("work")
    made = files()
    os.chdir("..")
    return (p.returncode, p.stdout[-3000:], p.stderr[-3000:], made), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tool_of(command):
    """What the command needs to be there: its words that are programs' names where one can stand."""
    found = re.findall(r"(?:^|[;|] *)(?:[A-Z_]+=\S+ )*(?:exec )?([a-z][\w.+-]*)", re.sub(r"'[^']*'", "", command))
    return [x for x in found if x not in ("trap", "kill", "ulimit", "for", "do", "done", "while", "echo", "rm", "printf", "exec", "sed")]


def programs():
    ran, threads = 0, 0
    for name, command in COMMANDS.items():
        if not LONG and name not in SHORT:
            continue
        missing = [x for x in tool_of(command) if not shutil.which(x)]
        if missing:
            t.skip(name, "no " + missing[0])
            continue
        (alone, took), (with_it, took_logged) = once(command, False), once(command, True)
        logs = len(os.listdir("logs"))
        if with_it != alone and once(command, False)[0] != alone:
            t.skip(name, "does not do the same twice alone")
            continue
        ran += 1
        t.equal(with_it, alone, "%s: as alone (%d logs)" % (name, logs))
        if LONG:
            for _ in range(4):
                if took_logged <= 1.5 * took + 0.05 + 0.0005 * logs:
                    break
                took, took_logged = min(took, once(command, False)[1]), min(took_logged, once(command, True)[1])
            t.ok(took_logged <= 1.5 * took + 0.05 + 0.0005 * logs, "%s: its time, %.3f s alone, %.3f s logged" % (name, took, took_logged))
    t.ok(ran >= (90 if LONG else 5), "%d programs" % ran)


# ---- signals ----
LASTS = """
#include <pthread.h>
static void *f(void *p) { for (;;) { free(malloc(100)); usleep(20); } return p; }
int main(void) { pthread_t t; pthread_create(&t, NULL, f, NULL); if (!fork()) { alarm(2); f(NULL); } alarm(1); f(NULL); return 0; }
"""


def left():
    return sorted(n for n in os.listdir("signals") if ".heap-" in n)


def works():
    """Whether a recorder, or who removes its directory, is still at it."""
    here, exe = os.path.realpath("signals"), os.path.realpath(CYCLADE)
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and os.readlink("/proc/%s/cwd" % pid) == here and os.readlink("/proc/%s/exe" % pid) == exe:
                return True
        except OSError:
            pass
    return False


def children(pid):
    """(who removes the directory, the program) of a recorder, or None for each that is not there."""
    found = [None, None]
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            for child in f.read().split():
                found[os.readlink("/proc/%s/exe" % child) != os.path.realpath(CYCLADE)] = int(child)
    except OSError:
        pass
    return found


def signals():
    os.mkdir("signals")
    heap_programs.build("lasts", LASTS, "-pthread", head="#include <stdlib.h>\n#include <unistd.h>\n")
    seed = random.randrange(1 << 30)
    rng, bad, stayed = random.Random(seed), [], collections.Counter()
    kinds = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE, signal.SIGUSR1, signal.SIGALRM, signal.SIGXCPU, signal.SIGSYS]
    n = 1000 if LONG else 12
    for i in range(n):
        p = subprocess.Popen([CYCLADE, "record", "-q", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "../lasts"], cwd="signals", stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(rng.random() ** 2 * 0.4)
        sig, whom = rng.choice(kinds), rng.choice(("recorder", "program", "both", "recorder and keeper"))
        keeper, program = children(p.pid)
        for pid in {"recorder": [], "program": [program], "both": [program], "recorder and keeper": [keeper]}[whom] + ([p.pid] if whom != "program" else []):
            try:
                if not pid:
                    continue
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        p.wait(120)
        wait_for(lambda: not left() or not works())
        if left():
            stayed[whom] += 1
            bad += [] if sig == signal.SIGKILL and whom != "program" else [(i, sig.name, whom, left())]
            try:
                os.killpg(p.pid, signal.SIGKILL)  # or a program of it goes on making logs
            except ProcessLookupError:
                pass
            for name in left():  # the next start removes it if it is some seconds old
                os.utime("signals/" + name, (1, 1))
            run("record", "-q", "--heap", "-e", "cpu-clock:u", "-o", "signals/y.data", "--", "true")
            if left():
                bad.append((i, sig.name, "after the next start", left()))
                shutil.rmtree("signals/" + left()[0])
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    t.ok(not bad, "%d signals: no directory of logs is left (after SIGKILL the next start removed it: %s)" % (n, dict(stayed)), (seed, bad[:10]))


only = sys.argv[1:]  # "programs", "signals": one of them
prepare()
if "signals" not in only:
    programs()
p = run("record", "--heap", "-e", "cpu-clock:u", "-o", "x.data", "--", "true")
if p.returncode:
    t.skip("signals", "record --heap does not run here")
elif "programs" not in only:
    signals()
t.done()

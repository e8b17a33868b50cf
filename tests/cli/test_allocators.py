#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record --heap with other allocators than libc's: jemalloc and tcmalloc, linked and preloaded. Each object that a program touches is
found, and the allocator is really theirs."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import heap_made  # noqa: E402
from heap_made import ALLOC, LIBRARY, read_logs  # noqa: E402
from heap_programs import PROGRAMS, build, judged, said, sampled  # noqa: E402
from tap import SANITIZED, Tap  # noqa: E402

t = Tap()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
LIBRARIES = {"libjemalloc.so.2": "jemalloc (Debian: libjemalloc2)", "libtcmalloc_minimal.so.4": "tcmalloc (Debian: libtcmalloc-minimal4)"}
# malloc_usable_size() is the allocator's own: libc's has 1016 bytes for 1001, the others a class of sizes
CALLS = """
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	char *a = malloc(1001), *b = calloc(7, 143), *c, *d = aligned_alloc(64, 2048);
	size_t n = malloc_usable_size(a);
	if (posix_memalign((void **)&c, 128, 1003)) return 1;
	b = realloc(b, 50021); memset(b, 1, 50021);
	free(a); free(b); free(c); free(d);
	a = malloc(3000017); memset(a, 1, 3000017); free(a);
	printf("%zu\\n", n);
	return 0;
}
"""


def logged(name, preload, directory):
    os.makedirs(directory, exist_ok=True)
    env = dict(os.environ, CYCLADE_HEAP="4:1:0:" + os.path.abspath(directory), LD_PRELOAD=preload)
    p = subprocess.run(["./" + name], env=env, capture_output=True, text=True, timeout=120, check=False)
    return p, read_logs(directory)


def ways(library):
    """How it comes into a program: flags of the linker, LD_PRELOAD."""
    yield "linked", ["-Wl,--no-as-needed", "-l:" + library], LIBRARY
    yield "preloaded", [], LIBRARY + ":" + library


def test_calls(name, flags, preload):
    build(name, CALLS, *flags, head="")
    p, logs = logged(name, preload, name + ".logs")
    log = list(logs.values())[0] if logs else None
    if not t.ok(p.returncode == 0 and not p.stderr and len(logs) == 1, name + ": it runs as ever, and leaves one log", (p.returncode, p.stderr, logs)):
        return
    t.ok(p.stdout.strip() not in ("1016", "1001", "0"), name + ": the allocator is its own", p.stdout)
    sizes = [r[3] for r in log.of(ALLOC)]
    t.ok(all(n in sizes for n in (1001, 2048, 1003, 50021, 3000017)), name + ": each allocation, with what was asked for", sizes)
    t.ok(not [n for n in log.left().values() if n in (1001, 2048, 1003, 50021, 3000017)], name + ": and its end", log.left())


def test_objects(name, kind, flags, preload):
    cc, text = PROGRAMS[kind]
    program = build(name, text, "-no-pie", "-O2", *flags, cc=cc)
    p, logs = logged(name, preload, name + ".logs")
    if not t.ok(p.returncode == 0 and len(logs) == 1, name + ": it runs", (p.returncode, p.stderr)):
        return
    pid, marks, truth = said(p.stdout)
    samples = sampled(truth, pid)
    data = heap_made.write(name + ".data", program, samples, heap_made.feature(name + ".logs", [marks[:2], marks[2:]]), pid)
    right, wrong, unknown, want, found = judged(data, truth, samples)
    t.ok(len(truth) > 4000 and right >= 0.99 * len(truth) and wrong == 0 and right + unknown == len(truth),
         "%s: 99 %% of %d samples have their object, no other has a wrong one" % (name, len(truth)), (right, wrong, unknown, want, found))


def main():
    if SANITIZED:
        t.skip("other allocators", "a sanitizer brings its own")
        t.done()
    for library, what in LIBRARIES.items():
        short = library[3:library.index(".")]
        if subprocess.run(["cc", "-x", "c", "-", "-Wl,--no-as-needed", "-l:" + library, "-o", "try"], input="int main(void) { return 0; }", text=True,
                          capture_output=True, check=False).returncode:
            t.skip(short, "no %s here" % what)
            continue
        for way, flags, preload in ways(library):
            test_calls("%s-%s" % (short, way), flags, preload)
        for kind, (way, flags, preload) in zip(("list", "containers"), ways(library)):
            test_objects("%s-%s-%s" % (short, kind, way), kind, flags, preload)
    t.done()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/sql.py BUILD - queries over a million samples, beside perf script and sqlite3's import.

   BENCH_QUICK=1   a tenth of the samples

The recording: perf record -e cpu-clock of an interpreter, repeated (bench_repeat). Cold: symbols are read from the files.
Warm: from the cache of symbols.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

SAMPLES = 100000 if os.environ.get("BENCH_QUICK") else 1000000
LOAD = "import json, re\nfor k in range(40):\n x = json.dumps([{'a': i, 'b': str(i)} for i in range(20000)])\n json.loads(x); re.findall('[0-9]+9', x)"
FILTER = "SELECT count(*) FROM samples WHERE period > 1"
GROUP = "SELECT function, count(*) FROM samples GROUP BY 1 ORDER BY 2 DESC LIMIT 10"


def measure(*words, **more):
    """Seconds, processor seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def line(what, samples, *words, runs=5, **more):
    got = sorted(measure(*words, **more) for _ in range(runs))
    middle = got[runs // 2]
    least = min(used for _, used in got)
    print("%-48s %7.3f s, least %.3f; processors %.3f s%s" %
          (what, middle[0], got[0][0], least, ", %.1f M rows a second of them" % (samples / least / 1e6) if samples else ""))


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
    cyclade = os.path.join(build, "src", "cli", "cyclade")
    with tempfile.TemporaryDirectory() as where:
        os.environ.update(HOME=where, XDG_CACHE_HOME=os.path.join(where, "cache"))
        short, long, small = (os.path.join(where, n) for n in ("short", "long", "small"))
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "20000", "-o", short, "--", sys.executable, "-c", LOAD],
                       check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "200", "-o", small, "--", "sleep", "0"],
                       check=True, stderr=subprocess.DEVNULL)

        def count(path):
            p = subprocess.run([cyclade, "sql", "-j", path, "SELECT samples FROM runs"], check=True, capture_output=True)
            return json.loads(p.stdout)["rows"][0]["samples"]

        subprocess.run([os.path.join(build, "bench", "bench_repeat"), short, long, str(SAMPLES // count(short) + 1)], check=True)
        n = count(long)
        print("%d samples, %.1f MB; %d processors, load %.1f" % (n, os.path.getsize(long) / 1e6, os.cpu_count(), os.getloadavg()[0]))
        line("first row of a small file", 0, cyclade, "sql", small, "SELECT * FROM samples LIMIT 1")
        line("filtered scan", n, cyclade, "sql", long, FILTER)
        line("GROUP BY function, cold", n, cyclade, "sql", "--no-cache", long, GROUP)
        line("GROUP BY function, warm", n, cyclade, "sql", long, GROUP)
        script = """perf script -i '%s' -F tid,period,ip,sym 2>/dev/null | awk '{ print $1 "," $2 "," $4 }'""" % long
        lines = subprocess.run(["sh", "-c", script + " | wc -l"], capture_output=True, text=True).stdout.strip()
        if lines != str(n):
            print("perf script printed %s of %d samples" % (lines, n))
        imported = os.path.join(where, "imported.db")
        for what, query in (("filtered scan", FILTER), ("GROUP BY function", GROUP)):
            words = "rm -f {0}; {1} | sqlite3 {0} 'CREATE TABLE samples(tid, period INT, function)' '.mode csv' '.import /dev/stdin samples' '{2}'".format(
                imported, script, query)
            line("perf script | sqlite3 .import, " + what, n, "sh", "-c", words, runs=1)
        line("sqlite3 alone, imported: GROUP BY function", n, "sqlite3", imported, GROUP)


if __name__ == "__main__":
    main()

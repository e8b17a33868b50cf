#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Functions of C++ whose names differ in the middle of their template arguments look different on a screen of 80 columns:
in report, in call trees and in the table of run."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap, run  # noqa: E402

CODE = """#include <functional>
#include <map>
#include <string>
namespace engine { namespace storage {
template <class K, class C, class V> struct Table {
	__attribute__((noinline)) unsigned long find_next(std::map<std::string, V> *, unsigned long n) const
	{
		volatile unsigned long s = 0;
		for (unsigned long i = 0; i < n; i++)
			s += i;
		return s;
	}
};
} }
template <class C> using Of = engine::storage::Table<std::map<std::string, std::string>, std::less<C>, std::string>;
int main()
{
	unsigned long s = 0;
	for (int i = 0; i < 10; i++)
		s += Of<int>().find_next(nullptr, 14000000) + Of<long>().find_next(nullptr, 11000000);
	return (int)(s & 1);
}
"""
t = Tap()
if not shutil.which("g++"):
    t.skip("names of C++", "no g++")
    t.done()
tmp = tempfile.TemporaryDirectory()
os.chdir(tmp.name)
open("names.cc", "w").write(CODE)
subprocess.run(["g++", "-O1", "-o", "names", "names.cc"], check=True)
full = [x for x in subprocess.run(["nm", "-C", "names"], capture_output=True, text=True).stdout.splitlines() if "find_next" in x]
t.ok(len(full) == 2 and all(len(x) > 120 for x in full), "two instances with long names", "\n".join(full))
env = {**os.environ, "COLUMNS": "80", "LC_ALL": "C"}


def look(screen, what):
    """What stands for the two functions: the text without shares, which differ anyway."""
    rows = [re.sub(r"\s+", " ", re.sub(r"\+?-?[\d.]+( %)?", "", x)).strip() for x in screen.splitlines()
            if ("find_next" in x or "Table" in x or "engine" in x) and " % " in x]
    t.ok(len(rows) >= 2 and len(set(rows)) >= 2, "%s: two rows that look different" % what, screen)
    t.ok(any("int" in x for x in rows) and any("long" in x for x in rows), "%s: the argument that differs" % what, screen)
    t.ok(all(len(x) <= 80 for x in screen.splitlines() if " % " in x), "%s: no row is wider than the screen" % what, screen)


r = run("record", "-g", "-e", "cpu-clock:u", "-o", "x.data", "--", "./names", env=env)
t.ok(r.returncode == 0, "record", r.stderr)
look(run("report", "x.data", env=env).stdout, "report")
look(run("report", "x.data", "--callers", env=env).stdout, "report --callers")
look(run("report", "x.data", "-g", env=env).stdout, "report -g")
r = run("run", "--", "./names", env=env)
look(r.stdout + r.stderr, "run")
os.chdir("/")
t.done()

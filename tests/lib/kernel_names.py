# SPDX-License-Identifier: BSD-3-Clause
"""A short list of the kernel's names for perf: reading /proc/kallsyms takes most of the time of a small perf script.

    subprocess.run([PERF, "script", *few_names(folder), ...])
    subprocess.run([PERF, "record", ...], env=short_kallsyms(folder))

Each name stands for the 200 behind it, too: a kernel address has a name, but not its own. For tests to which the
kernel's names do not matter; what lies in no kernel or module is unknown all the same."""
import os

from tap import PROGS

EACH = 200


def few_names(folder):
    """perf's words, with a file made there; none where addresses are hidden: perf then knows no kernel names anyway."""
    path = os.path.join(folder, "kallsyms")
    if not os.path.exists(path):
        try:
            with open("/proc/kallsyms", encoding="ascii", errors="replace") as f:
                lines = f.readlines()
        except OSError:
            return ()
        if not any(int(line.split()[0], 16) for line in lines[:10]):
            return ()
        lines = [line for i, line in enumerate(lines) if i % EACH == 0 or line.split()[2] in ("_text", "_stext", "_etext")]
        with open(path, "w", encoding="ascii") as f:
            f.writelines(lines)
    return "--kallsyms", path


def short_kallsyms(folder):
    """The environment in which perf has that list whatever it does; just ours where there is no list."""
    lib, few = os.path.join(PROGS, "libshort_kallsyms.so"), few_names(folder)
    if not few or not os.path.exists(lib):
        return dict(os.environ)
    return dict(os.environ, LD_PRELOAD=lib, SHORT_KALLSYMS=os.path.abspath(few[1]))

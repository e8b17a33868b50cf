# SPDX-License-Identifier: BSD-3-Clause
"""waits_run - C programs whose waits are known, compiled in the current directory, where switches can be recorded.

    if ready(t, TEXT):              # ./prog is there, and record --wait gets call chains of switches
        run("record", "--wait", "-o", "x.data", "--", "./prog")
    compiled(TEXT, "half", "-DN=5") # another one: False without a compiler
"""
import shutil
import subprocess

from tap import run


def compiled(text, name="prog", *words):
    """./NAME of this text. Frame pointers are kept: chains then have the functions of the program."""
    cc = shutil.which("cc") or shutil.which("gcc")
    if not cc:
        return False
    with open(name + ".c", "w", encoding="ascii") as out:
        out.write(text)
    return subprocess.run([cc, "-O1", "-fno-omit-frame-pointer", "-pthread", *words, "-o", name, name + ".c"], capture_output=True, check=False).returncode == 0


def ready(t, text, *words, wakers=False):
    """Whether ./prog is built and switches have chains here (wakers: and wake-ups are recorded). If not, it skips, and says why."""
    if not compiled(text, "prog", *words):
        t.skip("programs", "no C compiler, or headers are missing")
        return False
    p = run("record", "--wait", "-o", "probe.data", "--", "true")
    if p.returncode or "no call chains" in p.stderr or (wakers and "no tracepoints" in p.stderr):
        t.skip("programs", "no call chains of switches, or no wakers: " + p.stderr.strip()[-120:])
        return False
    return True

# SPDX-License-Identifier: BSD-3-Clause
"""screen - cyclade in a terminal of tmux.

    screen.begin(t, directory)          once: the Tap, and where each terminal has its files
    s = Screen("-p", "4711", size=(80, 24), command="top")
    s.shows("functions", "name of the test")
    s.press("j", "Enter")
    s.ended(0, "name")
    s.close()
"""
import os
import subprocess

from tap import CYCLADE, wait_for

WAIT = 60  # seconds, for a slow machine
t = directory = None


def begin(tap, where):
    global t, directory
    t, directory = tap, where


class Screen:
    """A command in a terminal of so many columns and lines; program: other words than cyclade's before those of it."""
    count = 0

    def __init__(self, *words, size=(80, 24), env=(), command="browse", program=None):
        Screen.count += 1
        self.dir = os.path.join(directory, "screen%d" % Screen.count)
        os.mkdir(self.dir)
        self.socket = os.path.join(self.dir, "socket")
        script = os.path.join(self.dir, "script")
        with open(script, "w", encoding="ascii") as f:
            f.write('trap : INT; cd "$1"; shift; stty -a >before; "$@"; echo "ended with $?"; stty -a >after; : >done; exec cat\n')
        self.tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "env", "LC_ALL=C.UTF-8", "COLUMNS=",
                  *env, "sh", script, self.dir, *(program or [CYCLADE, command]), *words)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], capture_output=True, text=True,
                              errors="replace", env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    def lines(self):
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def shows(self, what, name, seconds=WAIT):
        """Whether what (a text, or a function of the lines) comes to be seen."""
        seen = what if callable(what) else lambda lines: any(what in line for line in lines)
        return t.ok(wait_for(lambda: seen(self.lines()), seconds), name, "\n".join(self.lines()))

    def press(self, *keys):
        for k in keys:
            self.tmux("send-keys", *(["-l", k] if len(k) == 1 else [k]))

    def mouse(self, button, column, line):
        """Pressed there, from 1 on: 0 is the left button, 64 and 65 the wheel. As terminals of this kind tell it."""
        for b in (button, 3) if button < 3 else (button,):  # 3: it is let go
            self.tmux("send-keys", "-l", "\033[M" + "".join(chr(32 + x) for x in (b, column, line)))

    def chosen(self):
        """The line of tables with its colours, which mark the one that is shown."""
        return self.tmux("capture-pane", "-p", "-e", "-S", "1", "-E", "1")

    def at(self):
        """The selected row's number in the last line."""
        words = self.lines()[-1].split()
        return int(words[words.index("of") - 1].replace(",", "")) if "of" in words else None

    def is_at(self, row, name):
        t.ok(wait_for(lambda: self.at() == row, WAIT), name, "\n".join(self.lines()))

    def pid(self):
        shell = int(self.tmux("list-panes", "-F", "#{pane_pid}"))
        return int(subprocess.run(["pgrep", "-P", str(shell), "-x", "cyclade"], capture_output=True, text=True).stdout.split()[0])

    def ended(self, code, name):
        ok = wait_for(lambda: os.path.exists(os.path.join(self.dir, "done")), WAIT)
        t.ok(ok and any(line.startswith("ended with %d" % code) for line in self.lines()), name, "\n".join(self.lines()))
        before, after = (open(os.path.join(self.dir, n), encoding="utf-8").read().split(";", 3)[3] for n in ("before", "after")) if ok else (0, 1)
        t.equal(after, before, name + ": the terminal is as it was")
        flags = self.tmux("list-panes", "-F", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}").split()
        t.equal(flags, ["0", "1", "0", "0"], name + ": no other screen, a cursor, no mouse, ordinary keys")

    def close(self):
        self.tmux("kill-server")

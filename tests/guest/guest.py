# SPDX-License-Identifier: BSD-3-Clause
"""guest - boots Debian's AArch64 kernel in QEMU, runs scenes.sh there, and hands back what the scenes left.

    from guest import Guest, missing
    if missing(): ...                      the reason why nothing can be booted, else None
    g = Guest()                            one boot; raises GuestFailed with the end of the console
    g.out("stat_exact"), g.err(...), g.rc(...), g.json(...), g.path("rec.data")

The guest's disk is a file here: the scenes' results come back on it as a tar archive. With -icount shift=0 each
instruction takes one nanosecond and one cycle, and sleeping takes no time of ours: counts are exact, and a busy machine
changes nothing but how long it takes.
"""
import json
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.environ.get("GUEST_BUILT", "")  # where loop is
FOLDER = os.environ.get("CYCLADE_GUEST", "")  # of ci/guest-arm64.sh
CYCLADE = os.environ.get("CYCLADE", "")
QEMU = "qemu-system-aarch64"
DISK = 64 << 20
ONLY = os.environ.get("GUEST_ONLY", "")  # sections of scenes.sh, for a person who writes one
SECONDS = int(os.environ.get("GUEST_SECONDS", "900"))

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin HOME=/root LANG=C.UTF-8 TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tracefs trace /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
insmod /modules/virtio_mmio.ko
insmod /modules/virtio_blk.ko
cd /tmp && mkdir out && sh /scenes.sh
tar -c -f /dev/vda -C /tmp out && sync && echo GUEST-DONE
poweroff -f
"""


class GuestFailed(Exception):
    pass


def missing():
    """Why no guest can be booted here, or None."""
    if not shutil.which(QEMU):
        return "no %s (package qemu-system-arm)" % QEMU
    try:
        with open(os.path.join(FOLDER, "why"), encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        pass
    if not os.path.exists(os.path.join(FOLDER, ".complete")):
        return "no kernel and programs for it (ci/guest-arm64.sh)"
    return None


class Cpio:
    """The archive that a kernel unpacks at boot (newc)."""

    def __init__(self, to):
        self.to = to
        self.inode = 0

    def add(self, name, mode, data=b""):
        self.inode += 1
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % x for x in fields) + name.encode() + b"\0"
        self.to.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))

    def folder(self, name):
        self.add(name, stat.S_IFDIR | 0o755)

    def file(self, name, path, mode=0o755):
        with open(path, "rb") as f:
            self.add(name, stat.S_IFREG | mode, f.read())


def make_initrd(path):
    with open(path, "wb") as f:
        cpio = Cpio(f)
        for name in ("proc", "sys", "dev", "tmp", "root", "etc", "modules"):
            cpio.folder(name)
        for folder in ("root/bin", "root/lib", "modules"):
            name = os.path.basename(folder)
            if name != "modules":
                cpio.folder(name)
            for file in sorted(os.listdir(os.path.join(FOLDER, folder))):
                cpio.file(name + "/" + file, os.path.join(FOLDER, folder, file))
        cpio.file("bin/cyclade", CYCLADE)
        cpio.file("bin/loop", os.path.join(BUILT, "guest_loop"))
        with open(os.path.join(HERE, "scenes.sh"), "rb") as scenes:
            cpio.add("scenes.sh", stat.S_IFREG | 0o644, b"ONLY='%s'\n" % ONLY.encode() + scenes.read())
        cpio.add("init", stat.S_IFREG | 0o755, INIT.encode())
        cpio.add("TRAILER!!!", 0)


class Guest:
    def __init__(self):
        self.made = tempfile.TemporaryDirectory(prefix="cyclade-guest-")
        initrd, disk = self.at("initrd"), self.at("disk")
        make_initrd(initrd)
        with open(disk, "wb") as f:
            f.truncate(DISK)
        with open(self.at("console"), "wb") as console:
            try:
                subprocess.run([QEMU, "-M", "virt", "-cpu", "neoverse-n1,pmu=on", "-smp", "2", "-m", "1000",
                                "-icount", "shift=0,sleep=off", "-net", "none", "-display", "none", "-serial", "stdio",
                                "-monitor", "none", "-no-reboot", "-kernel", os.path.join(FOLDER, "vmlinuz"),
                                "-initrd", initrd, "-append", "console=ttyAMA0 quiet panic=-1",
                                "-drive", "if=none,id=disk,format=raw,file=" + disk,
                                "-device", "virtio-blk-device,drive=disk"],
                               stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, timeout=SECONDS,
                               check=False)
            except subprocess.TimeoutExpired:
                pass
        with open(self.at("console"), encoding="utf-8", errors="replace") as f:
            self.console = f.read()
        if "GUEST-DONE" not in self.console:
            raise GuestFailed("\n".join(self.console.splitlines()[-20:]))
        with tarfile.open(disk) as tar:
            tar.extractall(self.made.name)
        if os.environ.get("GUEST_KEEP"):
            shutil.copytree(self.path(""), os.environ["GUEST_KEEP"], dirs_exist_ok=True)

    def at(self, name):
        return os.path.join(self.made.name, name)

    def path(self, name):
        return os.path.join(self.made.name, "out", name)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def out(self, scene):
        return self.read(scene + ".out")

    def err(self, scene):
        return self.read(scene + ".err")

    def rc(self, scene):
        return int(self.read(scene + ".rc") or -1)

    def json(self, scene):
        """What a scene wrote to its file.json, else {}."""
        try:
            return json.loads(self.read(scene + ".json"))
        except ValueError:
            return {}

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a release consists of: the source archive, twice the same bytes, also from itself; its SBOM; installing and uninstalling; versions and
lists of files that agree in all recipes of packaging/. `make deb-test` builds the packages, which takes minutes."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import CYCLADE, ROOT, SANITIZED, Tap  # noqa: E402

BUILD = os.path.abspath(os.path.join(os.path.dirname(CYCLADE), "..", ".."))
EPOCH = "1700000000"
t = Tap()


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as f:
        return f.read()


def dist(root, *words, **env):
    return subprocess.run([sys.executable, os.path.join(root, "packaging", "dist.py"), *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, SOURCE_DATE_EPOCH=EPOCH, XZ_LEVEL="0", **env))


def content(path):
    with open(path, "rb") as f:
        return f.read()


# ---- versions
version = re.search(r"version: '([0-9.]+)'", read("meson.build"))[1]
places = {
    "NEWS.md": r"^## ([0-9.]+)", "ci/check.sh": r"libcyclade\.so\.([0-9.]+)", "packaging/debian/changelog": r"\Acyclade \(([0-9.]+)-",
    "packaging/cyclade.spec": r"^Version: *([0-9.]+)", "packaging/cyclade.rb": r"cyclade-([0-9.]+)\.tar", "packaging/default.nix": r"version = \"([0-9.]+)\"",
}
for name, pattern in places.items():
    found = set(re.findall(pattern, read(name), re.M))
    t.equal(found, {version}, "%s has the version of meson.build" % name)

# ---- the source archive: from git or MANIFEST, and from what it unpacks to
with tempfile.TemporaryDirectory(prefix="cyclade-dist.") as tmp:
    name = "cyclade-%s.tar.xz" % version
    first = dist(ROOT, "source", tmp + "/1")
    if SANITIZED:
        t.skip("source archive", "a sanitizer sees nothing of it")
    elif first.returncode and "no list of its files" in first.stderr:
        t.skip("source archive", "neither git nor MANIFEST here")
    elif t.ok(first.returncode == 0, "the source archive is written", first.stdout + first.stderr):
        with tarfile.open(tmp + "/1/" + name) as tar:
            members = tar.getmembers()
            tar.extractall(tmp + "/in")
        top = "cyclade-" + version
        names = [m.name for m in members]
        t.ok(names == sorted(names) and all(n.startswith(top + "/") for n in names) and top + "/meson.build" in names and top + "/MANIFEST" in names,
             "its files are below one folder, in order")
        t.equal({(m.uid, m.gid, m.uname, m.mtime) for m in members}, {(0, 0, "root", int(EPOCH))}, "one owner, one time")
        t.ok(all(m.mode in (0o644, 0o755, 0o777) for m in members) and all(m.isfile() or m.issym() for m in members), "files with plain modes")
        known = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False) if shutil.which("git") else None
        if known and known.returncode == 0 and "meson.build" in known.stdout.split("\n"):
            t.equal(sorted(n[len(top) + 1:] for n in names if not n.endswith("/MANIFEST")), sorted(known.stdout.split()), "the files that git knows")
        again = dist(tmp + "/in/" + top, "source", tmp + "/2")
        t.ok(again.returncode == 0 and content(tmp + "/1/" + name) == content(tmp + "/2/" + name), "the archive of the unpacked archive has the same bytes",
             again.stderr)
        os.remove(tmp + "/in/" + top + "/MANIFEST")
        lost = dist(tmp + "/in/" + top, "source", tmp + "/3")
        t.ok(lost.returncode == 1 and "no list of its files" in lost.stderr and not glob.glob(tmp + "/3/*"), "without a list of files nothing is written",
             lost.stderr)

    # ---- the SBOM
    if not SANITIZED and first.returncode == 0:
        with_build = [BUILD] if shutil.which("readelf") and os.path.exists(BUILD + "/config.h") else []
        made = [dist(ROOT, "sbom", tmp + "/" + x, *with_build) for x in "12"]
        path = "/cyclade-%s.spdx.json" % version
        if t.ok(not any(m.returncode for m in made) and content(tmp + "/1" + path) == content(tmp + "/2" + path), "the SBOM is written, twice the same",
                made[0].stderr):
            bom = json.loads(content(tmp + "/1" + path))
            need = ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "relationships")
            t.ok(all(bom.get(k) for k in need) and bom["spdxVersion"] == "SPDX-2.3" and bom["dataLicense"] == "CC0-1.0"
                 and bom["creationInfo"].get("created") and bom["creationInfo"].get("creators"), "it has what SPDX 2.3 requires", bom)
            ids = [p["SPDXID"] for p in bom["packages"]]
            t.ok(len(set(ids)) == len(ids) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i) for i in ids)
                 and all(p.get("name") and p.get("downloadLocation") for p in bom["packages"]), "each package has a name, an identifier of its own and a place", ids)
            ends = {r[k] for r in bom["relationships"] for k in ("spdxElementId", "relatedSpdxElement")}
            t.equal(ends - set(ids), {"SPDXRef-DOCUMENT"}, "relationships are between these")
            t.equal([p["name"] for p in bom["packages"] if p["licenseDeclared"] == "NOASSERTION"], [], "every package has a licence")
            t.ok(not with_build or any(p["name"].startswith("libelf.so") for p in bom["packages"]), "linked libraries are listed", ids)
        dist(ROOT, "sums", tmp + "/1")
        sums = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=tmp + "/1", capture_output=True, text=True, check=False)
        t.ok(sums.returncode == 0 and sums.stdout.count(": OK") == 2, "SHA256SUMS is right", sums.stdout + sums.stderr)

# ---- what is installed: every file is of one Debian package, or left out on purpose; uninstalling leaves nothing
plan = shutil.which("meson") and subprocess.run(["meson", "introspect", "--installed", BUILD], capture_output=True, text=True, check=False)
files = json.loads(plan.stdout) if plan and plan.returncode == 0 else {}
if files:
    prefix = os.path.commonprefix([os.path.dirname(x) for x in files.values()]).rstrip("/")
    installed = sorted(re.sub("^%s/" % re.escape(prefix), "usr/", x) for x in files.values())
    # without dpkg's tools meson does not know that Debian has a directory of libraries for each architecture
    installed = [re.sub("^usr/lib64/", "usr/lib/any/", x) for x in installed]
    taken = {}
    for recipe in glob.glob(os.path.join(ROOT, "packaging", "debian", "*.install")):
        for line in read(recipe).split("\n"):
            pattern = "^" + re.escape(line.strip()).replace(r"\*", "[^/]*") + "(/|$)"
            got = [x for x in installed if line.strip() and re.search(pattern, x)]
            t.ok(got or not line.strip(), "%s: %s is installed" % (os.path.basename(recipe), line))
            for x in got:
                taken.setdefault(x, set()).add(recipe)
    t.equal([x for x in installed if len(taken.get(x, ())) != 1 and not x.endswith("libcyclade.so.0")], [], "each file is in one package")
abi = sorted(re.findall(r"(?m)^(\w+)@@", read("tests", "region", "cyclade.abi")))
t.equal(sorted(re.findall(r"(?m)^ (cyclade_\w+)@", read("packaging", "debian", "libcyclade0.symbols"))), abi, "the package's symbols are those of the library")
fields = dict(re.findall(r"(?m)^([A-Z][A-Za-z-]+): *(.*)", read("packaging", "debian", "control")))
t.ok(len(re.findall(r"(?m)^Package: ", read("packaging", "debian", "control"))) == 3 and fields.get("Architecture"), "debian/control has three packages")

pending = files and not SANITIZED and subprocess.run(["ninja", "-C", BUILD, "-n"], capture_output=True, text=True, check=False)
if pending and "no work to do" in pending.stdout:
    with tempfile.TemporaryDirectory(prefix="cyclade-install.") as tmp:
        env = dict(os.environ, DESTDIR=tmp + "/root")

        def script(*words):
            return subprocess.run(["sh", os.path.join(ROOT, "packaging", "install.sh"), *words], capture_output=True, text=True, check=False, env=env)

        p = script("install", BUILD)
        t.ok(p.returncode == 0 and all(os.path.exists(env["DESTDIR"] + x) for x in files.values()), "install: every file is there", p.stderr)
        for group, why in (("cyclade", "DESTDIR"), ("../x", "no name of a group"), ("-x", "no name of a group")):
            p = script("install", BUILD, group)
            t.ok(p.returncode == 1 and why in p.stderr, "install: group %s is refused here" % group, p.stderr)
        script("install", BUILD)
        with open(env["DESTDIR"] + "/mine", "w", encoding="ascii"):
            pass
        p = script("uninstall", BUILD)
        t.ok(p.returncode == 0 and os.listdir(env["DESTDIR"]) == ["mine"], "uninstall: nothing is left but what is another's", p.stderr)
        left = os.path.join(BUILD, "installed")
        t.ok(not os.path.exists(left) or tmp not in content(left).decode(), "uninstall: and its list is empty")
else:
    t.skip("installing and uninstalling", "a sanitizer sees nothing of it" if SANITIZED else "not everything is built here")
t.done()

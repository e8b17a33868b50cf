#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what a release consists of into a directory: the same bytes whenever it runs on the same files.

    dist.py source DIR          cyclade-VERSION.tar.xz: the files that git knows (in an unpacked archive: those of MANIFEST)
    dist.py binary DIR BUILD    cyclade-VERSION-linux-ARCH.tar.xz: what BUILD installs, stripped, without /usr/local
    dist.py sbom DIR [BUILD]    cyclade-VERSION.spdx.json: licences of what is embedded, libraries of BUILD's program
    dist.py sums DIR            SHA256SUMS of all these

XZ_LEVEL is the level of compression (6). Files have the time SOURCE_DATE_EPOCH; without it, that of the last commit, or of MANIFEST. Equal bytes need the same liblzma.
"""
import hashlib
import io
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MANIFEST = "MANIFEST"
# What comes from others and is part of the program: path, licence, copyright, where it is from
EMBEDDED = [
    ("models/intel", "BSD-3-Clause", "Copyright (c) 2021, Intel Corporation", "https://github.com/intel/perfmon",
     "event encodings, formulas and thresholds; models/LICENSE.perfmon is its licence"),
    ("models/descriptions.zst", "BSD-3-Clause", "Copyright (c) 2021, Intel Corporation", "https://github.com/intel/perfmon",
     "descriptions of Intel's events; models/LICENSE.perfmon is its licence"),
    ("models/amd", "BSD-3-Clause", "Copyright (c) 2026, the cyclade authors", "NOASSERTION",
     "facts from vendors' manuals, in our own words; models/README.md"),
    ("models/arm", "BSD-3-Clause", "Copyright (c) 2026, the cyclade authors", "NOASSERTION",
     "facts from vendors' manuals, in our own words; models/README.md"),
    ("web/dist", "BSD-3-Clause", "Copyright (c) 2026, the cyclade authors", "NOASSERTION",
     "scripts and styles of the HTML report, made from web/src alone; web/LICENSES"),
]
# Licences of the libraries that a program of ours links or opens, as their own distributions state them
LIBRARIES = {
    "libc": "LGPL-2.1-or-later", "libm": "LGPL-2.1-or-later", "ld-linux-x86-64": "LGPL-2.1-or-later", "ld-linux-aarch64": "LGPL-2.1-or-later",
    "libelf": "GPL-2.0-or-later OR LGPL-3.0-or-later", "libdw": "GPL-2.0-or-later OR LGPL-3.0-or-later", "libxxhash": "BSD-2-Clause",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only", "libz": "Zlib", "libcjson": "MIT", "liblzma": "0BSD", "libZydis": "MIT", "libZycore": "MIT",
    "libcapstone": "BSD-3-Clause", "libpfm": "MIT", "libgvc": "EPL-1.0", "libcgraph": "EPL-1.0", "libcdt": "EPL-1.0", "libsqlite3": "blessing",
    "libncursesw": "X11", "libtinfo": "X11", "libedit": "BSD-3-Clause", "libmicrohttpd": "LGPL-2.1-or-later",
    "libdebuginfod": "GPL-2.0-or-later OR LGPL-3.0-or-later", "libiberty": "LGPL-2.0-or-later",
}


def git(*words):
    try:
        p = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return p.stdout if p.returncode == 0 else None


def ours():
    """The repository is this folder's own: an archive may be unpacked inside of another one."""
    top = git("rev-parse", "--show-toplevel")
    return bool(top) and os.path.realpath(top.rstrip("\n")) == os.path.realpath(ROOT)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def version():
    return re.search(r"version: '([0-9.]+)'", read("meson.build"))[1]


def epoch():
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    if ours():
        return int(git("log", "-1", "--format=%ct"))
    return int(os.stat(os.path.join(ROOT, MANIFEST)).st_mtime)


def sources():
    if ours():
        names = git("ls-files", "-z").split("\0")
    elif os.path.exists(os.path.join(ROOT, MANIFEST)):
        names = read(MANIFEST).split("\n")
    else:
        sys.exit("dist: neither a git repository nor an unpacked archive of cyclade: no list of its files")
    return sorted(n for n in names if n)


def write_tar(path, top, entries):
    """entries: name -> bytes, or a path of a file or link; one owner, one time, two modes, the order of names"""
    when = epoch()
    part = path + ".part"
    level = int(os.environ.get("XZ_LEVEL", "6"))
    with lzma.open(part, "wb", preset=level) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(entries):
            what = entries[name]
            info = tarfile.TarInfo(top + "/" + name)
            info.mtime, info.uid, info.gid, info.uname, info.gname, info.mode = when, 0, 0, "root", "root", 0o644
            if isinstance(what, bytes):
                data = what
            elif os.path.islink(what):
                info.type, info.linkname, info.mode, data = tarfile.SYMTYPE, os.readlink(what), 0o777, b""
            else:
                with open(what, "rb") as f:
                    data = f.read()
                if os.stat(what).st_mode & 0o100:
                    info.mode = 0o755
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    os.replace(part, path)
    print(path)


def source(out):
    names = sources()
    if ours() and git("status", "--porcelain", "--untracked-files=no"):
        print("dist: there are changes that are not committed; the archive has them", file=sys.stderr)
    entries = {n: os.path.join(ROOT, n) for n in names}
    entries[MANIFEST] = ("\n".join(names) + "\n").encode()
    if MANIFEST in names:
        sys.exit("dist: %s is written for the archive, and is no file of the repository" % MANIFEST)
    write_tar(os.path.join(out, "cyclade-%s.tar.xz" % version()), "cyclade-" + version(), entries)


def needed(path):
    """The libraries that a file names, and the newest glibc that it asks for"""
    env = dict(os.environ, LC_ALL="C")
    text = subprocess.run(["readelf", "-dV", path], capture_output=True, text=True, check=True, env=env).stdout
    glibc = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", text)}
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text), ".".join(map(str, max(glibc))) if glibc else None


def opened(build):
    """What the program opens at the first need: names of libraries among its texts, and those of config.h"""
    program = os.path.join(build, "src", "cli", "cyclade")
    with open(program, "rb") as f:
        names = {x.decode() for x in re.findall(rb"\0(lib\w+\.so\.\d+)(?=\0)", f.read())}
    with open(os.path.join(build, "config.h"), encoding="utf-8") as f:
        names |= set(re.findall(r'_SO "(lib\w+\.so\.\d+)"', f.read()))
    return sorted(names - set(needed(program)[0]))


def binary(out, build):
    with tempfile.TemporaryDirectory(prefix="cyclade-dist.") as tmp:
        env = dict(os.environ, SOURCE_DATE_EPOCH=str(epoch()))
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--strip", "--destdir", tmp], check=True, env=env)
        entries = {}
        for at, dirs, files in os.walk(tmp):
            for f in files + [d for d in dirs if os.path.islink(os.path.join(at, d))]:
                path = os.path.join(at, f)
                entries[re.sub(r"^usr/local/", "", os.path.relpath(path, tmp))] = path
        if "bin/cyclade" not in entries:
            sys.exit("dist: %s does not install below /usr/local: build with the prefix /usr/local" % build)
        libraries, glibc = needed(entries["bin/cyclade"])
        entries["NEEDS"] = ("The program needs glibc %s or later, and these libraries:\n  %s\nIt opens these where a command needs them:\n  %s\n"
                            "Unpack it in /usr/local, or anywhere: bin/cyclade runs from where it is.\n"
                            % (glibc, "\n  ".join(libraries), "\n  ".join(opened(build)))).encode()
        name = "cyclade-%s-linux-%s" % (version(), os.uname().machine)
        write_tar(os.path.join(out, name + ".tar.xz"), name, entries)


def package(name, spdx, licence, **more):
    return dict({"name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", spdx), "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                 "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION"}, **more)


def sbom(out, build=None):
    main = package("cyclade", "cyclade", "BSD-3-Clause", versionInfo=version(), copyrightText="Copyright (c) 2026, the cyclade authors",
                   supplier="Organization: the cyclade authors", primaryPackagePurpose="APPLICATION")
    packages, relations = [main], [("SPDXRef-DOCUMENT", "DESCRIBES", main["SPDXID"])]
    names = sources()
    for path, licence, owner, origin, comment in EMBEDDED:
        digest = hashlib.sha1()
        for n in names:
            if n == path or n.startswith(path + "/"):
                with open(os.path.join(ROOT, n), "rb") as f:
                    digest.update(n.encode() + b"\0" + f.read())
        packages.append(package(path, "embedded-" + path, licence, copyrightText=owner, downloadLocation=origin, comment=comment,
                                primaryPackagePurpose="SOURCE", versionInfo="sha1 of names and contents " + digest.hexdigest()))
        relations.append((main["SPDXID"], "CONTAINS", packages[-1]["SPDXID"]))
    if build:
        program = os.path.join(build, "src", "cli", "cyclade")
        libraries = [(x, "DYNAMIC_LINK", "linked") for x in needed(program)[0]]
        libraries += [(x, "OPTIONAL_DEPENDENCY_OF", "opened where a command needs it") for x in opened(build)]
        with open(os.path.join(build, "config.h"), encoding="utf-8") as f:
            if "#define HAVE_IBERTY 1" in f.read():
                libraries.append(("libiberty.a", "STATIC_LINK", "demangles names; linked statically"))
        for x, how, comment in libraries:
            packages.append(package(x, "library-" + x, LIBRARIES.get(re.split(r"[.-]so|\.a$", x)[0], "NOASSERTION"), comment=comment,
                                    primaryPackagePurpose="LIBRARY"))
            ends = (main["SPDXID"], how, packages[-1]["SPDXID"])
            relations.append(ends[::-1] if how == "OPTIONAL_DEPENDENCY_OF" else ends)
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "cyclade-" + version(),
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch())), "creators": ["Tool: cyclade-dist-" + version()]},
        "documentDescribes": [main["SPDXID"]], "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": b, "relatedSpdxElement": c} for a, b, c in relations]}
    # the same document has the same name, another one another
    document["documentNamespace"] = "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(document, sort_keys=True)))
    path = os.path.join(out, "cyclade-%s.spdx.json" % version())
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f, indent=1)
        f.write("\n")
    print(path)


def sums(out):
    lines = []
    for name in sorted(os.listdir(out)):
        if re.search(r"\.(tar\.xz|spdx\.json|deb)$", name):
            with open(os.path.join(out, name), "rb") as f:
                lines.append("%s  %s\n" % (hashlib.sha256(f.read()).hexdigest(), name))
    with open(os.path.join(out, "SHA256SUMS"), "w", encoding="utf-8") as f:
        f.write("".join(lines))
    print(os.path.join(out, "SHA256SUMS"))


def main(words):
    known = {"source": (source, 0), "binary": (binary, 1), "sbom": (sbom, 1), "sums": (sums, 0)}
    if len(words) < 2 or words[0] not in known or len(words) > 2 + known[words[0]][1] or (words[0] == "binary" and len(words) < 3):
        sys.exit(__doc__)
    os.makedirs(words[1], exist_ok=True)
    known[words[0]][0](*words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds Debian packages in DIR (dist/deb) from the source archive: `make deb`. Takes minutes; says what it lacks.
# With `test` (make deb-test): lintian without errors and warnings, and the autopkgtests with what is installed then.
cd "$(dirname "$0")/.." || exit 1
dir=${1:-dist/deb}
for tool in dpkg-buildpackage dh meson; do
	command -v $tool >/dev/null || { echo "deb: there is no $tool; install: apt-get install dpkg-dev debhelper meson" >&2; exit 1; }
done
version=$(sed -n "s/^    version: '\(.*\)',$/\1/p" meson.build)
rm -rf "$dir" || exit 1
python3 packaging/dist.py source "$dir" >&2 || exit 1
dir=$(cd "$dir" && pwd)
tree=$dir/cyclade-$version
tar -xf "$tree.tar.xz" -C "$dir" && mv "$tree.tar.xz" "$dir/cyclade_$version.orig.tar.xz" && cp -r packaging/debian "$tree/debian" || exit 1
cd "$tree" || exit 1
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y MANIFEST)} && export SOURCE_DATE_EPOCH
lacks=$(dpkg-checkbuilddeps 2>&1) || { echo "deb: $lacks" >&2; echo "deb: install them: apt-get build-dep $tree" >&2; exit 1; }
log=$dir/build.log
echo "deb: dpkg-buildpackage, some minutes; its output is in $log" >&2
dpkg-buildpackage -us -uc >"$log" 2>&1 || { tail -30 "$log" >&2; exit 1; }
ls "$dir"/*.deb
[ "$2" = test ] || exit 0
command -v lintian >/dev/null || { echo "deb: there is no lintian" >&2; exit 1; }
lintian --tag-display-limit 0 --fail-on error,warning "$dir"/*.changes

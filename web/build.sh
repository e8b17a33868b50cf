#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds web/dist/page.js and page.css (the HTML report), monitor.js and monitor.css (monitor --listen) from web/src; `build.sh --check` builds elsewhere and compares.
# Needs the packages of package-lock.json: npm ci --ignore-scripts
cd "$(dirname "$0")" || exit 1
limit=150000
out=dist
if [ "$1" = --check ]; then
	out=$(mktemp -d) || exit 1
	trap 'rm -rf "$out"' EXIT
fi
node_modules/.bin/tsc -p . || exit 1
node_modules/.bin/esbuild src/main.ts --bundle --minify --charset=utf8 --target=es2020 --format=iife \
	--legal-comments=none --log-level=warning --outfile="$out/page.js" || exit 1
node_modules/.bin/esbuild src/style.css --bundle --minify --charset=utf8 --log-level=warning --outfile="$out/page.css" || exit 1
node_modules/.bin/esbuild src/monitor/main.ts --bundle --minify --charset=utf8 --target=es2020 --format=iife \
	--legal-comments=none --log-level=warning --outfile="$out/monitor.js" || exit 1
node_modules/.bin/esbuild src/monitor/style.css --bundle --minify --charset=utf8 --log-level=warning --outfile="$out/monitor.css" || exit 1
size=$(cat "$out/page.js" "$out/page.css" | wc -c)
[ "$size" -le $limit ] || { echo "build.sh: script and style have $size bytes, $limit at most" >&2; exit 1; }
if [ "$1" = --check ]; then
	for f in page.js page.css monitor.js monitor.css; do
		cmp "dist/$f" "$out/$f" || { echo "build.sh: web/dist/$f is not what web/src gives: run web/build.sh" >&2; exit 1; }
	done
fi
[ "$1" = --check ] && echo "web/dist is what web/src gives: $size bytes" || echo "web/dist: $size bytes"

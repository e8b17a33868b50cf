#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `progress.sh NAME LOG COMMAND ...`: runs COMMAND with its output in LOG; says on stderr every 5 seconds how far it is, as lines of NAME:
# what ninja ([30/240]) or apt-get (APT::Status-Fd=1) write to LOG. Exit code: the command's.
name=$1 log=$2
shift 2
began=$(date +%s)
"$@" >"$log" 2>&1 </dev/null &
pid=$!
(
	while sleep 5 >/dev/null 2>&1 && kill -0 $pid 2>/dev/null; do
		awk -F: -v name="$name" -v s=$(($(date +%s) - began)) '
			/^(dl|pm)status:/ { at = ($1 == "dlstatus" ? "downloading" : $4) ", " int($3) " %" }
			/^\[[0-9]+\/[0-9]+\]/ { split(substr($0, 2), n, /[\/\]]/) }
			END {
				if (n[2] > 0) {
					at = n[1] " of " n[2] " steps"
					if (n[1] > 9)
						left = "; about " int(s * (n[2] - n[1]) / n[1] + 1) " s left"
				}
				print name ":   " (at != "" ? at ", " : "") s " s" left
			}' "$log" >&2
	done
) &
tick=$!
# a shell's background ignores Ctrl-C; what sudo started is not ours to end
trap 'kill $tick; kill $pid 2>/dev/null || echo "$name: what was begun goes on until its end" >&2; exit 130' INT TERM HUP
wait $pid
code=$?
kill $tick 2>/dev/null
exit $code

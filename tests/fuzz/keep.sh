#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# keep.sh TARGET FOLDER writes tests/fuzz/corpus/TARGET.b64. It takes the kept corpus and what a
# run left in FOLDER, and keeps as few and as short inputs as reach all places. Named inputs stay
# as they are and need not be among them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
WH_BUILD=${WH_BUILD:-$top/build}

target=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TMPDIR="$tmp"
mkdir "$tmp/old" "$tmp/new"
[ ! -f "$here/corpus/$target.b64" ] || "$here/pack.py" -x "$here/corpus/$target.b64" "$tmp/old"
"$WH_BUILD/tests/fuzz/$target" -merge=1 -use_counters=0 -max_len="${WH_FUZZ_LONGEST:-1500}" -print_pcs=0 -close_fd_mask=3 \
	"$tmp/new" $([ ! -d "$here/corpus/$target" ] || echo "$here/corpus/$target") "$tmp/old" "$2" >"$tmp/log" 2>&1 || { tail "$tmp/log"; exit 1; }
"$here/pack.py" "$tmp/new" "$here/corpus/$target.b64"
wc -lc "$here/corpus/$target.b64"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh TARGET SECONDS FOLDER [SEED] replays the kept corpus of a fuzz target and the inputs in
# FOLDER. Then, unless SECONDS is 0, it makes new inputs from both, and puts those that reach
# something new into FOLDER. It ends with a line "TARGET: RUNS runs, COVERED places, N inputs", which
# says so if not all that was kept ran. If it found anything, its exit status is not 0, and it says
# what it found and which file has the input.
set -u
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}

target=$1
seconds=$2
folder=$3
seed=${4:-1}
kept=$WH_TOP/tests/fuzz/corpus/$target	# those with a name
dict=$WH_TOP/tests/fuzz/$target.dict
[ -d "$kept" ] || kept=
mkdir -p "$folder"
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' HUP INT PIPE TERM
"$WH_TOP/tests/fuzz/pack.py" -x "$WH_TOP/tests/fuzz/corpus/$target.b64" "$TMPDIR/kept"

# For these targets, long rows of calls are worth more than short inputs.
case $target in
requests | libraries | ring) size="-max_len=600 -len_control=0" ;;
*) size=-max_len=1500 ;;
esac
limit=-max_total_time=$seconds
[ "$seconds" != 0 ] || limit=-runs=0
# A call of a driver may wait for ever (forked.c); a reader may not. shellcheck
# disable=SC2046,SC2086
"$WH_BUILD/tests/fuzz/$target" "$limit" $size -seed="$seed" -timeout=10 -rss_limit_mb=3000 \
	-print_pcs=0 -print_final_stats=1 -close_fd_mask=1 -artifact_prefix="$folder/find-" \
	$([ -f "$dict" ] && echo "-dict=$dict") "$folder" $kept "$TMPDIR/kept" >"$TMPDIR/log" 2>&1
rc=$?
awk -v target="$target" '
	/ cov: /	{ for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1); else if ($i == "corp:") corp = $(i + 1) }
	/\tINITED /	{ kept = 1 }
	/^stat::number_of_executed_units:/ { runs = $2 }
	END {
		sub("/.*", "", corp)
		print target ": " runs + 0 " runs, " cov + 0 " places, " corp + 0 " inputs" (kept ? "" : ", not all kept ones ran")
	}
' "$TMPDIR/log"
[ $rc = 0 ] || { tail -n 60 "$TMPDIR/log"; exit 1; }

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares Linux's own KVM selftests in the emulated host, on its kernel with the series and on
# the same kernel without: the answers have to be the same, point by point.
#
#   upstream.sh [PROGRAM...]
#
# By default all programs run, but those that `unable` lists, with the reason. A program that
# takes more than WH_LIMIT (60) emulated seconds is stopped, on both kernels. The answers are in
# build/bochs/upstream/{with,without}; the table at the end counts them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export WH_TOP=${WH_TOP:-$(cd "$here/../../.." && pwd)}
export WH_BUILD=${WH_BUILD:-$WH_TOP/build}
. "$WH_TOP/tests/tap.sh"
limit=${WH_LIMIT:-60}
out=$WH_BUILD/bochs/upstream
programs=$WH_BUILD/upstream/programs
[ -s "$programs" ] || { echo "upstream.sh: Linux's selftests are not built: make test-upstream" >&2; exit 1; }
mkdir -p "$out"

unable() { sed -n "s/^$1[[:space:]]\{1,\}//p" "$here/unable"; }
chosen() {
	while read -r p; do
		name=$(basename "$p")
		[ $# = 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
		[ -n "$(unable "$name")" ] || echo "$p"
	done <"$programs"
}

# job DIR makes a job that boots one kernel and prints a line `= NAME STATUS` after each program's
# own points. What differs from run to run (addresses, times, seeds) is no point.
job() { # DIR
	rm -rf "$1"
	mkdir -p "$1/tests"
	chosen $only | while read -r p; do cp "$p" "$1/tests/"; strip "$1/tests/$(basename "$p")"; done
	cat >"$1/run" <<RUN
. /job.sh
modprobe kvm_intel 2>/dev/null
for t in /job/tests/*; do
	name=\$(basename "\$t")
	step "\$name"
	timeout -s KILL $limit "\$t" >/tmp/said 2>&1 </dev/null
	rc=\$?
	sed -n -e 's/^\(not \)\{0,1\}ok [0-9]*/\1ok/p' -e 's/^1\.\.[0-9]*/&/p' /tmp/said | sed "s/^/\$name: /"
	# Not every program ends its last line.
	[ \$rc = 0 ] || { tail -n 3 /tmp/said | sed "s/^/# \$name: /"; echo; }
	echo "= \$name \$rc"
done
RUN
}
boot() { # KERNEL NAME
	job "$out/$2.job"
	"$WH_TOP/tests/bochs/run_job.py" --plain --timeout "${WH_JOB_LIMIT:-7200}" --out "$out/$2.out" \
		--cpus 1 --kernel "$WH_BUILD/kernel/$1/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" \
		"$out/$2.job" >"$out/$2" 2>"$out/$2.err"
	echo $? >"$out/$2.rc"
}
only=$*
boot host-next with &
pid=$!
boot host-plain without
wait $pid

points() { grep -v -e '^#' -e '^$' "$out/$1"; }
count() { points "$1" | grep -c "^= [^ ]* $2\$"; }
names() { points "$1" | sed -n "s/^= \([^ ]*\) $2\$/\1/p" | tr '\n' ' '; }
same() { diff <(points without) <(points with); }
complete() { [ "$(points "$1" | grep -c '^= ')" = "$(chosen $only | wc -l)" ]; }

plan 4
ok each_program_was_run_without_the_series complete without
ok each_program_was_run_with_the_series complete with
ok kernel_with_the_series_answers_as_the_one_without same
ok and_its_log_is_clean [ "$(cat "$out/with.rc")" = 0 ]
{
	printf '# %-10s %8s %8s\n' programs without with
	for s in '0 pass' '4 skip' '137 stopped' '254 fail'; do
		printf '# %-10s %8d %8d\n' "${s#* }" "$(count without "${s%% *}")" "$(count with "${s%% *}")"
	done
	echo "# fail on both: $(names without 254)"
	echo "# skipped by both: $(names without 4)"
	echo "# not run here: $(sed -n 's/^\([a-z]\S*\).*/\1/p' "$here/unable" | tr '\n' ' ')"
}
finish

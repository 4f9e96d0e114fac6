#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that tests/others/run.py runs each program of a suite natively and forwarded,
# names those that differ with their first differing lines and ends with status 1 then, tells them
# from those that fail both ways, and stops its server. The suite is made here; its programs are
# scripts and an example. softgpu is behind both ways.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/suite" "$dir/tmp" "$dir/empty" "$dir/bench" "$dir/bench/src"
chmod 755 "$dir"

program() { # NAME TEXT
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/suite/$1"
	chmod +x "$dir/suite/$1"
}
others() { # ARGUMENT...
	TMPDIR=$dir/tmp /usr/bin/python3 "$WH_TOP/tests/others/run.py" --build "$WH_BUILD" "$@" >"$dir/said" 2>"$dir/err"
	rc=$?
}
verdict() { # NAME
	/usr/bin/python3 -c 'import json, sys
tests = json.load(open(sys.argv[1]))["suites"]["programs"]["tests"]
print(*[t["verdict"] + ": " + t.get("why", "") for t in tests if t["name"] == sys.argv[2]])' "$dir/report" "$1"
}

program equal 'echo first; echo "at 0x$(date +%N)"'
program fails 'echo no such thing; exit 3'
program environment 'echo first; echo "over ${WORMHOLE_TRANSPORT:-nothing}"; echo last'
# Without nvcc no example is there, and a script stands for it.
[ ! -x "$WH_BUILD/examples/static/vectorAdd" ] || cp "$WH_BUILD/examples/static/vectorAdd" "$dir/suite/cuda"
[ -e "$dir/suite/cuda" ] || program cuda 'echo PASS'

plan 26
others "programs=$dir/suite" --backend softgpu --json "$dir/report"
is a_difference_is_status_1 $rc 1
like the_table_counts_each_verdict "$(cat "$dir/said")" '^programs  *4  *2  *1  *1$'
like what_differs_is_named "$(cat "$dir/said")" '^programs environment: differs: "over shm", natively "over nothing"$'
is its_lines_are_shown_and_no_others "$(grep '^    ' "$dir/said" | tr -s ' \n' ' ')" " -over nothing +over shm "
is what_is_equal_is_so_in_the_report "$(verdict equal)" "equal: "
is a_cuda_program_runs_both_ways "$(verdict cuda)" "equal: "
is what_fails_both_ways_is_no_difference "$(verdict fails)" "failed natively: status 3: no such thing, both ways"
is the_user_s_folder_is_left_as_it_was "$(ls "$dir/suite" | tr '\n' ' ')" "cuda environment equal fails "
is nothing_of_it_is_left "$(ls "$dir/tmp")" ""
is its_server_has_ended "$(pgrep -f "$dir/tmp")" ""

others "programs=$dir/suite" --backend softgpu --only "equal cuda"
is all_equal_is_status_0 $rc 0
# The number is no other process's.
late="sleep 6173.$$"
program late "$late"
others "programs=$dir/suite" --backend softgpu --only late --timeout 1 --json "$dir/report"
is what_has_no_end_natively_says_so "$(verdict late)" "failed natively: status none after 1 s; not run forwarded"
# It is ended when the first test of two has ended and the second runs.
TMPDIR=$dir/tmp /usr/bin/python3 "$WH_TOP/tests/others/run.py" --build "$WH_BUILD" "programs=$dir/suite" \
	--backend softgpu --only "equal late" --jobs 1 --json "$dir/report" >"$dir/said" 2>"$dir/err" &
ran=$!
until_says() { n=0; until grep -q "$1" "$dir/err"; do n=$((n + 1)); [ $n -lt 600 ] || return 1; sleep 0.1; done; }
until_says "programs: 1 of 2: equal: equal"
ok each_test_is_named_when_it_has_ended test $? = 0
kill "$ran"
timeout 60 tail --pid "$ran" -f /dev/null
ok it_ends_soon test $? = 0
wait "$ran"
rc=$?
is who_ends_it_gets_status_1 $rc 1
like and_the_counts_of_what_had_ended "$(cat "$dir/said")" '^programs  *1  *1  *0  *0$'
like and_the_word_that_others_are_not_in_it "$(cat "$dir/said")" '^programs: ended by a signal'
is so_is_the_file "$(verdict equal)$(verdict late)" "equal: "
is its_programs_have_ended_and_so_has_its_server "$(pgrep -f "$dir/tmp")$(pgrep -fx "$late")" ""
others "programs=$dir/suite" --backend softgpu --only "equal cuda" --list
is list_names_the_tests "$rc $(cut -f 2 "$dir/said" | tr '\n' ' ')" "0 cuda equal "
others "gpu_virt_bench=$dir/bench" --backend softgpu
like a_suite_that_lacks_something_says_what "$rc $(cat "$dir/said")" 'not run: .*/src/main.c is not there'
others "programs=$dir/empty" --backend softgpu
like so_does_one_without_a_program "$rc $(tr '\n' ' ' <"$dir/said")" '^1 .*/empty has no executable file'

others "lupin=$dir/suite" --backend softgpu
like an_unknown_suite_is_named "$rc $(tail -n 1 "$dir/err")" '^2 .*"lupin=.*the suites are .*lupine'
others "lupine=$dir/nowhere" --backend softgpu
like a_folder_that_is_not_there_is_named "$rc $(tail -n 1 "$dir/err")" '^2 .*/nowhere is no folder'
others "programs=$dir/suite" --jobs 0
like a_bad_number_is_named "$rc $(tail -n 1 "$dir/err")" '^2 .*--jobs 0: '
others "programs=$dir/suite" --backend softgpu --build "$dir/empty"
like a_missing_build_is_named "$rc $(tail -n 1 "$dir/err")" '^2 .*/empty/host/wormhole is not there; build it'
finish

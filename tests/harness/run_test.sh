#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that tests/run.sh fails the run for a failure, a wrong plan, a silent end, a
# hang and a test that bails out, and that the last line is the summary.
: "${WH_TOP:=@TOP@}"
. "$WH_TOP/tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# given TEXT makes a build folder with this only test. Then `outcome` runs it.
given() {
	rm -rf "$dir/tests"
	mkdir -p "$dir/tests/unit" "$dir/tests/kernel"
	printf '#!/bin/sh\n%s\n' "$1" >"$dir/tests/unit/x.t"
	chmod +x "$dir/tests/unit/x.t"
}
# Its time limit is for a test that hangs; those that end need no more than a moment of a busy
# machine.
outcome() {
	WH_BUILD=$dir WH_FAST_TIMEOUT=${limit:-60} "$WH_TOP/tests/run.sh" "${1:-fast}" >"$dir/out" 2>&1
	echo "$? $(tail -n 1 "$dir/out" | cut -d' ' -f1-2)"
}

plan 16
given 'echo 1..1; echo ok 1 - a'
is passing_test_passes "$(outcome)" "0 Result: PASS"
is summary_is_kept_in_a_file "$(cat "$dir/tests/summary")" "$(tail -n 1 "$dir/out")"
given 'echo 1..1; echo not ok 1 - a'
is failing_point_fails "$(outcome)" "1 Result: FAIL"
given 'echo 1..2; echo ok 1 - a; echo not ok 2 - b; echo "# got: c"; exit 1'
outcome >/dev/null
is what_failed_is_said_by_name_with_the_reason "$(grep '^# unit/' "$dir/out" | tr '\n' ';')" \
	"# unit/x.t: not ok 2 - b;# unit/x.t: # got: c;"
is what_a_test_said_is_kept "$(tail -n 1 "$dir/tap/unit/x.t")" "# got: c"
given 'echo 1..2; echo ok 1 - a'
is missing_point_fails "$(outcome)" "1 Result: FAIL"
given 'true'
is silent_test_fails "$(outcome)" "1 Result: FAIL"
given 'echo 1..1; echo ok 1 - a; exit 1'
is bad_exit_status_fails "$(outcome)" "1 Result: FAIL"
given 'echo 1..1; exec sleep 1000'
is hanging_test_is_stopped_and_fails "$(limit=1 outcome)" "1 Result: FAIL"
given 'echo 1..1; echo ok 1 - a; echo "Bail out! b"; exit 1'
is test_that_bails_out_fails "$(outcome)" "1 Result: FAIL"
given 'echo "Bail out! b"'
is test_that_bails_out_before_its_plan_fails "$(outcome)" "1 Result: FAIL"
# The first test goes on once the third one runs, which it does when the second one has ended.
given "echo 1..1; until [ -e $dir/third ]; do echo '# busy' >&2; sleep 0.01; done; echo ok 1 - a"
mv "$dir/tests/unit/x.t" "$dir/tests/unit/a.t"
printf '#!/bin/sh\necho 1..1; echo ok 1 - b\n' >"$dir/tests/unit/b.t"
printf '#!/bin/sh\n: >%s/third; echo 1..1; echo ok 1 - c\n' "$dir" >"$dir/tests/unit/c.t"
chmod +x "$dir"/tests/unit/*.t
is test_that_says_what_it_does_keeps_no_other_waiting "$(
	WH_BUILD=$dir WH_TEST_JOBS=2 WH_FAST_TIMEOUT=30 "$WH_TOP/tests/run.sh" fast 2>&1 | tail -n 1 | cut -d' ' -f1-2)" \
	"Result: PASS"
rm "$dir"/tests/unit/?.t
given 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
mkdir "$dir/tests/limits"
printf '#!/bin/sh\necho 1..1; echo ok 1 - a\n' >"$dir/tests/limits/x.t"
chmod +x "$dir/tests/limits/x.t"
outcome >/dev/null
is groups_that_run_after_each_other_are_added_up "$(tail -n 1 "$dir/out" | cut -d, -f1-2)" \
	"Result: PASS  Files=2, Tests=3"
printf '#!/bin/sh\necho 1..1; echo not ok 1 - a\n' >"$dir/tests/limits/x.t"
is failure_of_the_first_of_them_fails "$(outcome)" "1 Result: FAIL"
rm "$dir/tests/limits/x.t"
given 'echo "Bail out! b"'
is fast_leaves_out_slow_groups "$(
	mv "$dir/tests/unit/x.t" "$dir/tests/kernel/"
	outcome fast)" "1 error: no"
is unknown_group_is_an_error "$(outcome nowhere)" "1 error: no"
finish

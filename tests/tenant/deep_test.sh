#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a program whose share of time is used up prepares work meanwhile: hundreds
# of its launches wait in its worker (deep rings, hypercall-abi/shm.h), also with a new event behind
# each, and of two threads. They are made in order and once, also while the share comes and goes, and
# to wait for them takes no CPU.
. "$WH_TOP/tests/tenant/lib.sh"
deep=$WH_BUILD/tests/tenant/bin/deep

# held WORD OPTION... sets what the program measured while it was held back.
held() {
	word=$1
	shift
	# shellcheck disable=SC2046
	set -- $("$wormhole" run "$@" -- "$deep" "$word" 400 2>"$tmp/err")
	posted=${1:-none} all=$2 cpu=$3 how="$4 $5 $6"
	diag "400 launches: $posted ms to post, $all ms until they were done, $cpu ms of CPU; $how"
}
# A program that is not on its CPU posts nothing, so that a busy machine may delay it.
held_without_delay() {
	held "$@"
	below "$posted" "$all / 4"
}
below() { awk "BEGIN { exit !($1 < $2) }"; }
answers() { [ "$(grep -c . "$tmp/out")" -ge "$1" ]; }
# round N makes the running program post launches of all kinds, and prints its answer.
round() {
	echo >&9
	await answers "$1"
	sed -n "$1p" "$tmp/out"
}

plan 16
serve --part-size 64M
tries 3 held_without_delay held --sm 5
ok hundreds_of_launches_wait_in_the_worker below "$posted" "$all / 4"
is results_are_right "$how" "right  "
ok to_wait_for_them_takes_hardly_any_cpu below "$cpu" "$all / 20"
held held --sm 5 --sm-max none --priority low
is also_without_a_ceiling "$how" "right  "
tries 3 held_without_delay events --sm 5
ok so_do_launches_with_an_event_each below "$posted" "$all / 4"
is whose_results_are_right "$how" "right  "
tries 3 held_without_delay threads --sm 5
ok so_do_those_of_two_threads below "$posted" "$all / 4"
is which_are_made_in_order "$how" "right  "
held held --mem 64M
is and_without_a_share "$how" "right  "

"$wormhole" tenant create lab --mem 64M >/dev/null
mkfifo "$tmp/in"
"$wormhole" run --tenant lab -- "$deep" rounds <"$tmp/in" >"$tmp/out" 2>&1 &
exec 9>"$tmp/in"
await answers 1
is a_program_without_a_share_is_right "$(round 2)" right
"$wormhole" limit lab --sm 30
is it_gets_one "$(round 3)" right
is and_goes_on_with_it "$(round 4)" right
"$wormhole" limit lab --sm none
is the_share_goes "$(round 5)" right
is and_it_goes_on "$(round 6)" right
"$wormhole" limit lab --sm 40
is the_share_comes_back "$(round 7)" right
"$wormhole" limit lab --sm none
exec 9>&-
wait $!
is nothing_was_said_of_it "$("$wormhole" logs 2>/dev/null | grep -c 'ring says')" 0
finish

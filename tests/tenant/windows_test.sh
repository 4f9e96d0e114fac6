#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises guarantees, ceilings and classes of shares of time in real time: between processes
# that launch without a pause, over softgpu, in windows of a second. What tenants had in these is shown.
# Bounds are ratios, wide enough for a machine that is busy with other tests. docs/limits.md has
# what is promised; tests/limits/ has it in virtual time and exactly.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
works=$WH_BUILD/tests/limits/bin/gpu_share

# beside OPTIONS OPTIONS lets two tenants with these limits work. It sets $a and $b to their
# percentages of the device's time: the mean, and then five windows of a second.
beside() {
	# shellcheck disable=SC2086 # words
	{
		"$wormhole" tenant create a $1
		"$wormhole" tenant create b $2
	}
	"$wormhole" run --tenant a -- "$works" 2ms 600 "$per_us" >/dev/null 2>&1 &
	pid_a=$!
	"$wormhole" run --tenant b -- "$works" 2ms 600 "$per_us" >/dev/null 2>&1 &
	pid_b=$!
	got=$(/usr/bin/python3 -B "$WH_TOP/tests/tenant/windows.py" "$wormhole" 1 5 a b)
	a=$(echo "$got" | sed -n 's/^a //p')
	b=$(echo "$got" | sed -n 's/^b //p')
	diag "$1: $a; $2: $b"
	kill $pid_a $pid_b
	wait $pid_a $pid_b 2>/dev/null
	for t in a b; do "$wormhole" tenant delete $t --force; done
}
mean() { echo "${1%% *}"; }
most() { echo "${1#* }" | tr ' ' '\n' | sort -n | tail -n 1; }
# at_least PART VALUE OF: is the value at least that part, in percent, of the other?
at_least() { [ -n "$2" ] && [ -n "$3" ] && [ $((100 * $2)) -ge $(($1 * $3)) ]; }
at_most() { [ -n "$2" ] && [ -n "$3" ] && [ $((100 * $2)) -le $(($1 * $3)) ]; }

# tried OPTIONS OPTIONS CONDITION does the same up to five times, until the condition holds: a
# worker that gets no CPU loses its place among those who wait, and has worked all the time in which
# the machine stands still in the middle of its kernel.
tried() {
	for _ in 1 2 3 4 5; do
		beside "$1" "$2"
		eval "$3" && return
	done
	return 1
}
so() { ok "$1" [ "$2" = 0 ]; }

plan 9
serve_or_bail
per_us=$("$wormhole" run -- "$works" calibrate)

# A bucket holds a quarter of a second, which a window may have besides.
tried "--sm 30" "--sm 30 --sm-max none" \
	'at_least 70 "$(mean "$a")" 30 && at_least 115 "$(mean "$b")" "$(mean "$a")" &&
	at_most 110 "$(mean "$a")" 30 && at_most 150 "$(most "$a")" 30'
ok a_guarantee_is_kept_and_without_a_ceiling_a_tenant_has_more \
	eval 'at_least 70 "$(mean "$a")" 30 && at_least 115 "$(mean "$b")" "$(mean "$a")"'
ok a_share_is_a_ceiling at_most 110 "$(mean "$a")" 30
ok in_each_window at_most 150 "$(most "$a")" 30

tried "--sm 10" "--sm 20 --sm-max 50" \
	'at_least 150 "$(mean "$b")" 20 && at_most 110 "$(mean "$b")" 50 && at_most 150 "$(most "$b")" 50'
ok a_ceiling_above_the_share_is_used at_least 150 "$(mean "$b")" 20
ok and_kept at_most 110 "$(mean "$b")" 50
ok in_each_window_as_well at_most 150 "$(most "$b")" 50

tried "--sm 20 --sm-max 70" "--sm 20 --sm-max 70" \
	'at_least 60 "$(mean "$a")" "$(mean "$b")" && at_least 60 "$(mean "$b")" "$(mean "$a")"'
so two_of_a_class_have_the_same $?

tried "--sm 20 --sm-max 70 --priority high" "--sm 20 --sm-max 70 --priority low" \
	'at_least 125 "$(mean "$a")" "$(mean "$b")" && at_least 70 "$(mean "$b")" 20'
ok a_higher_class_has_more_of_what_is_left at_least 125 "$(mean "$a")" "$(mean "$b")"
ok a_lower_one_keeps_its_guarantee at_least 70 "$(mean "$b")" 20
finish

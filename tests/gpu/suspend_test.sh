#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that programs compute on with their values, bit for bit, while their tenant is
# suspended and resumed at random moments; that the device has its memory back meanwhile, as NVML
# says; that this moves at least as many bytes a second as the driver's own calls on a plain
# process, as NVIDIA's cuda-checkpoint makes them; and that on two GPUs a tenant is moved there and
# back likewise. Each program (suspend_values.py) runs natively alone, natively with the driver's
# calls, and in a tenant. Where the driver refuses what a native program has, the tenant's
# suspension has to be refused by name, and the program goes on.
# WH_PYTHON names the python3 that has the frameworks, WH_FRAMEWORKS the wanted ones (torch plain
# cupy jax). WH_WORDS names the wanted programs, `rates' and `move'. WH_SEED repeats the moments.
# WH_SECONDS is the time of each program natively, WH_ROUNDS how often it is suspended, WH_GB what
# is moved to compare rates, WH_LIMIT the seconds after which no more programs start, WH_SERVE more
# options of the server. It takes some eight minutes on a GPU.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
[ "$(id -u)" = 0 ] || skip_all "the server has to reach into workers, which root alone may"
needs_programs "$WH_BUILD/tests/tenant/bin/computes"
seed=${WH_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
programs=$WH_TOP/tests/gpu/suspend_values.py
all="torch plain cupy jax"
if [ "$world_kind" = softgpu ]; then
	# The devices are two, so that the test of moves is tested, too.
	export WORMHOLE_SOFTGPU_MEM=1G,1G
	all=plain gb=${WH_GB:-0.1}
else
	gb=${WH_GB:-8}
fi
began=$(date +%s)

frameworks=
for f in ${WH_FRAMEWORKS:-$all}; do
	if [ "$f" = plain ] || timeout 60 "$python" -c "import $f" 2>/dev/null; then
		frameworks="$frameworks $f"
	else
		missing="${missing:-}$python has no $f. "
	fi
done
wanted() { # NAME
	[ -n "${WH_WORDS:-}" ] || return 0
	for w in $WH_WORDS; do case $1 in *"$w"*) return 0 ;; esac; done
	return 1
}
names=
for f in $frameworks; do
	for n in $("$python" -B "$programs" --list "$f"); do ! wanted "$n" || names="$names $n"; done
done
rates=
! wanted rates || rates=rates
# The first program of these moves, too.
moved=
for n in $names; do
	case $n in torch_training | plain_threads*) [ -n "$moved" ] || ! wanted move || moved=$n ;; esac
done
[ -n "$names$rates" ] || skip_all "none of the programs is wanted here. ${missing:-}"
devices=$(LD_LIBRARY_PATH=$native_path timeout 60 python3 -c 'import ctypes
n, cu = ctypes.c_int(), ctypes.CDLL("libcuda.so.1")
print(n.value if cu.cuInit(0) or cu.cuDeviceGetCount(ctypes.byref(n)) else n.value)')

# rounds FILE OPTION... -- COMMAND... runs suspend_rounds.py; FILE has its words then.
rounds() {
	said=$world_dir/$1
	shift
	python3 -B "$WH_TOP/tests/gpu/suspend_rounds.py" --driver "$driver" --wormhole "$wormhole" \
		--seed "$seed" "$@" >"$said" 2>&1
	rounds_rc=$?
	# Python's own errors count among what is told.
	[ $rounds_rc = 0 ] || diag "$(basename "$said"): $(cut -c1-1500 "$said" | grep -v '^said')"
	return $rounds_rc
}
word() { sed -n "s/^$2 //p" "$world_dir/$1" | head -n 1; }
# native stands before a program's command. A framework finds its own libraries, as its user has it.
# pause ROUNDS prints the longest time between two rounds, so that all of them fit into the program.
pause() { awk -v s="$seconds" -v n="$1" 'BEGIN { m = 0.8 * s / n; print m < 0.6 ? m : 0.6 }'; }
native() { # NAME
	case $world_kind-$1 in
	*-plain*) echo "env LD_LIBRARY_PATH=$(dirname "$driver")" ;;
	softgpu-*) echo "env LD_LIBRARY_PATH=$native_path LD_PRELOAD=$stubs/libwormhole-preload.so" ;;
	*) echo env ;;
	esac
}
# Sets the number of a program's rounds, the time into which they fit, and its length. On a CPU that
# others use as well, a program may be much faster later than it was when it was measured.
measure_of() { # NAME
	seconds=4 times=5
	[ "$1" != torch_training ] || seconds=12 times=20
	[ "$world_kind" != softgpu ] || seconds=2
	seconds=${WH_SECONDS:-$seconds} times=${WH_ROUNDS:-$times}
	length=$seconds
	[ "$world_kind" != softgpu ] || length=$((3 * seconds))
}
create() { "$wormhole" tenant create "$1" --devices 0 --mem none; }
# figures FILE WHO says the medians as a line for people, with the rates of the bytes moved.
figures() {
	diag "$(awk -v who="$2" '
		{ first[$1] = $2 }
		$1 == "off" || $1 == "on" { range[$1] = sprintf("%.3f s (%.3f to %.3f)", $2, $3, $4) }
		END {
			gb = first["moved"] / 1e9
			printf "%s: %d times, off in %s, on in %s", who, first["rounds"], range["off"], range["on"]
			if (gb && first["on"])
				printf "; %.2f GB, %.2f and %.2f GB/s", gb, gb / first["off"], gb / first["on"]
			if (first["calls_on"])
				printf "; the calls alone %.3f and %.3f s", first["calls_off"], first["calls_on"]
			if (gb && first["calls_on"])
				printf ", %.2f and %.2f GB/s", gb / first["calls_off"], gb / first["calls_on"]
			if (first["seconds"])
				printf "; the program took %.1f s", first["seconds"]
			print ""
		}' "$world_dir/$1")"
}

# empty FILE: was all on the device gone, beside what was there before the program? NVML counts in
# pages of the driver, so a little more is no remainder.
empty() {
	[ "$(word "$1" server_says)" = 0 ] || { echo "the server says $(word "$1" server_says) bytes"; return 1; }
	[ -n "$(word "$1" before)" ] || return 0
	echo "NVML: before $(word "$1" before), at most $(word "$1" left_on_device) while it was suspended"
	[ "$(word "$1" left_on_device)" -le $(($(word "$1" before) + 67108864)) ]
}

# compare NAME makes the three points of a program.
compare() {
	n=$1
	measure_of "$n"
	steps='' why="there is no time left (WH_LIMIT)"
	if [ $(($(date +%s) - began)) -lt "${WH_LIMIT:-480}" ]; then
		# shellcheck disable=SC2046
		rounds alone -- $(native "$n") "$python" -B "$programs" "$n" --seconds "$length"
		steps=$(word alone steps)
		why="natively it does not run: $(word alone error) $(word alone why | cut -c1-160)"
	fi
	if [ -z "$steps" ]; then
		skip "${n}_is_suspended_at_random_moments" "$why"
		skip "${n}_leaves_its_device_meanwhile" "$why"
		skip "${n}_has_its_values_bit_for_bit" "$why"
		return
	fi
	diag "$n: $steps steps in $(word alone seconds) s natively: $(word alone said | cut -c1-200)"
	# shellcheck disable=SC2046
	rounds plain --native --rounds 3 --most "$(pause 3)" -- $(native "$n") "$python" -B "$programs" "$n" --steps "$steps"
	refused=$(word plain refused)
	[ -n "$refused" ] || figures plain "$n, natively by the driver's calls"
	create "$n"
	# shellcheck disable=SC2046
	rounds ours --tenant "$n" --rounds "$times" --most "$(pause "$times")" -- \
		"$wormhole" run --tenant "$n" -- "$python" -B "$programs" "$n" --steps "$steps"
	# A worker's managed memory is plain memory, which the driver moves where it refuses a native program's.
	if [ -n "$refused" ] && [ -n "$(word ours refused)" ]; then
		code=$(echo "$refused" | sed 's/.*: //')
		like "${n}_is_refused_with_the_drivers_code" "$(word ours refused)" "$(echo "$code" | tr '()' '..')"
		skip "${n}_leaves_its_device_meanwhile" "natively the driver says $refused"
	else
		[ -z "$refused" ] || diag "$n: natively the driver says $refused"
		figures ours "$n, in a tenant"
		[ -z "$(word ours refused)" ] || diag "$(grep '^why' "$world_dir/ours" | cut -c1-1500)"
		is "${n}_is_suspended_at_random_moments" "$(word ours rounds) $(word ours refused)" "$times "
		ok "${n}_leaves_its_device_meanwhile" empty ours
	fi
	want=$(word alone said)
	if [ -z "$refused" ] && [ "$(word plain said)" != "$want" ]; then
		skip "${n}_has_its_values_bit_for_bit" "natively they are others, too: $(word plain said) $(word plain error)"
	else
		is "${n}_has_its_values_bit_for_bit" "$(word ours said)" "$want"
	fi
	"$wormhole" tenant delete "$n" --force
}

# Both ways move the same bytes, of the same program.
compare_rates() {
	bytes=$(awk -v g="$gb" 'BEGIN { printf "%d", g * 1e9 }')
	computes="$WH_BUILD/tests/tenant/bin/computes 1000000000 $bytes"
	# shellcheck disable=SC2046,SC2086
	rounds plain --native --rounds 4 --kill -- $(native plain) $computes
	create rates
	# shellcheck disable=SC2086
	rounds ours --tenant rates --rounds 4 --kill -- "$wormhole" run --tenant rates -- $computes
	"$wormhole" tenant delete rates --force
	figures plain "rates, natively by the driver's calls"
	figures ours "rates, by wormhole suspend and resume"
	for w in off on; do
		if [ -n "$(word plain refused)" ]; then
			skip "rate_${w}_is_at_least_the_drivers_own" "natively the driver says $(word plain refused)"
		elif [ "$world_kind" = softgpu ]; then
			is "rate_${w}_is_measured" "$(word plain rounds) $(word ours rounds)" "4 4"
		else
			ok "rate_${w}_is_at_least_the_drivers_own" awk "BEGIN { exit !($(word ours $w | cut -d ' ' -f 1) + 0 > 0 &&
				$(word ours $w | cut -d ' ' -f 1) <= $(word plain $w | cut -d ' ' -f 1) / 0.95) }"
		fi
	done
}

move_there_and_back() {
	if [ "${devices:-0}" -lt 2 ] || [ -z "$steps" ]; then
		[ -z "$steps" ] || why="the driver has one device"
		skip tenant_is_moved_there_and_back "$why"
		skip moved_tenant_leaves_its_first_device "$why"
		skip moved_program_has_its_values_bit_for_bit "$why"
		return
	fi
	create moved
	rounds ours --tenant moved --move --rounds 3 --most "$(pause 3)" -- \
		"$wormhole" run --tenant moved -- "$python" -B "$programs" "$moved" --steps "$steps"
	figures ours "$moved, to another device and back"
	is tenant_is_moved_there_and_back "$(word ours rounds) $(word ours refused)" "3 "
	ok moved_tenant_leaves_its_first_device empty ours
	is moved_program_has_its_values_bit_for_bit "$(word ours said)" "$(word alone said)"
	"$wormhole" tenant delete moved --force
}

points=$((1 + 3 * $(echo "$names" | wc -w)))
[ -z "$rates" ] || points=$((points + 2))
[ -z "$moved" ] || points=$((points + 3))
plan $points
diag "the moments come from WH_SEED=$seed. ${missing:-}"
# shellcheck disable=SC2086
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)" ${WH_SERVE:-}
[ -z "$rates" ] || compare_rates
for n in $names; do
	compare "$n"
	[ "$n" != "$moved" ] || move_there_and_back
done
finish

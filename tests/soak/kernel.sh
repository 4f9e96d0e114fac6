#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The kernel's half of `make soak`. For SECONDS it runs rounds of the series' tests on two
# emulated processors, on kernels that look for what a test does not see:
#
# 	kernel.sh SECONDS [SEED]
#
# host-kasan has KASAN, lockdep, PROVE_RCU and KVM_PROVE_MMU, host-kcsan looks for data races,
# host-kcov guides wormhole_cover_test, and host is the kernel of `make test`, on which there is
# time for more. The results are kept in $O/soak/kernel, and a second call goes on after them.
# `rounds` has a line for each round, `table.md` the sums, and `finds/` the whole output of each
# round that failed, with its seed. The exit status is 1 if there is any.
set -eu -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${O:-$top/build}
limit=${1:?usage: kernel.sh SECONDS [SEED]}
dir=$build/soak/kernel
mkdir -p "$dir/finds"
[ -s "$dir/seed" ] || echo "${2:-$(date +%s)}" >"$dir/seed"
touch "$dir/rounds"

# The parts run in turn: KERNEL:JOB. Cases are the points that passed, or what a test says that it
# did.
parts=(host-kasan:large host-kcsan:large host:fire host:vms host-kcov:cover host-kcsan:race host-kasan:race host:fuzz
	host-kcsan:fire host-kcsan:all host-kasan:all host:tables host-kasan:fire host-kcsan:fuzz host-kasan:fuzz
	host-kasan:tables)

environment() {
	case $1 in
	host:fire) echo WH_KILLS=100 WH_CALLS=100000 ;;
	*:fire) echo WH_KILLS=10 WH_CALLS=2000 ;;
	host:fuzz) echo WH_LEAVES=1000000 ;;
	*:fuzz) echo WH_LEAVES=100000 ;;
	*:cover) echo WH_LEAVES=50000 ;;
	*:vms) echo WH_KILLS=40 ;;
	host:tables) echo WH_ROUNDS=2000 ;;
	*) echo WH_ROUNDS=300 ;;
	esac
}

# These points look at the CPU time or the clock, on a machine that is four times slower, or at
# free memory, of which KASAN keeps what was freed for a while.
slow_points='^not ok [0-9]* - (wormhole_)?((park|irq)_test/|zap_test/nor_does_one|fire_test/no_memory_is_lost|life_test/.*_leak_nothing)'

write_job() { # PART SEED
	local job=$dir/job/job test=${1#*:}
	rm -rf "$dir/job"
	mkdir -p "$job/tests"
	if [ "$test" = all ]; then
		cp "$build"/selftests/wormhole_*_test "$job/tests/"
	else
		cp "$build/selftests/wormhole_${test}_test" "$job/tests/"
	fi
	{
		echo "export WH_SEED=$2 WH_PATIENCE=10 TAP_TIMEOUT=1500 $(environment "$1")"
		[ "$test" != all ] || echo "unset WH_KILLS WH_CALLS WH_LEAVES WH_ROUNDS"
		echo '. /job.sh'
		# shellcheck disable=SC2016
		echo 'for t in /job/tests/*; do tap "$(basename "$t")" "$t"; done'
	} >"$job/run"
}

# cases_of TEST LOG prints the numbers that a test says of itself, or the number of its points.
cases_of() { # TEST LOG
	case $1 in
	fire) sed -n 's/^# \([0-9]*\) kills; \([0-9]*\) calls.*/\1 kills, \2 calls/p' "$2" ;;
	vms) sed -n 's/^# \([0-9]*\) shots, .*the bystander: \([0-9]*\) calls.*/\1 shots, \2 calls/p' "$2" ;;
	fuzz) sed -n 's/^# \([0-9]*\) leaves, .*/\1 hypercalls/p' "$2" ;;
	cover) sed -n 's/^# \([0-9]*\) leaves, \([0-9]*\) PCs.*/\1 hypercalls/p' "$2" | tail -n1 ;;
	tables) sed -n 's/^# \([0-9]*\) of \([0-9]*\) wrote.*/\2 tables/p' "$2" ;;
	*) echo "$(grep -c '^ok' "$2") points" ;;
	esac
}

# The part vms is tests/bochs/fire/, which lays out its own machines.
run_part() { # PART SEED
	if [ "$1" = host:vms ]; then
		env WH_SEED="$2" "$(environment "$1")" "$build/tests/bochs/fire.t"
		mkdir -p "$dir/job"
		cp "$build/bochs/fire-2/console" "$dir/job"
		return
	fi
	write_job "$1" "$2"
	"$top/tests/bochs/run_job.py" --timeout 2400 --cpus 2 --out "$dir/job" \
		--kernel "$build/kernel/${1%:*}/bzImage" --initrd "$build/bochs/host.cpio" "$dir/job/job"
}

one_round() { # NUMBER PART
	local kernel=${2%:*} test=${2#*:} seed start=$SECONDS bad log=$dir/log
	seed=$(($(cat "$dir/seed") * 1000003 + $1 * 7919 + 1))
	run_part "$2" $seed >"$log" 2>"$dir/progress" || true
	grep -q '^1\.\.' "$log" || echo "not ok - the machine did not come to an end" >>"$log"
	bad=$(grep '^not ok' "$log" | { [ "$kernel" = host ] && cat || grep -vE "$slow_points"; } |
		wc -l) || true
	if [ "$bad" != 0 ]; then
		{ echo "# round $1, $2, WH_SEED=$seed"; cat "$log" "$dir/job/console"; } >"$dir/finds/$1-${2/:/-}"
	fi
	echo "$1	$2	$((SECONDS - start))	$bad	$(cases_of "$test" "$log")" >>"$dir/rounds"
	tail -n1 "$dir/rounds" | sed 's/^/  SOAK     kernel round /'
}

table() {
	echo "| kernel | test | rounds | cases | seconds | finds |"
	echo "|---|---|---|---|---|---|"
	awk -F'\t' '
	{
		split($2, p, ":"); k = "| " p[1] " | " p[2]
		if (!(k in n)) order[++m] = k
		n[k]++; s[k] += $3; f[k] += $4
		words = split($5, w, " ")
		a[k] += w[1]; aw[k] = w[2]; if (words > 2) { b[k] += w[3]; bw[k] = w[4] }
		total += $3; rounds++; finds += $4
	}
	END {
		for (i = 1; i <= m; i++) { k = order[i]
			printf "%s | %d | %d %s%s | %d | %d |\n", k, n[k], a[k], aw[k],
			       k in b ? " " b[k] " " bw[k] : "", s[k], f[k] }
		printf "| all | | %d | | %d | %d |\n", rounds, total, finds
	}' "$dir/rounds"
}

spent() { awk -F'\t' '{ s += $3 } END { print s + 0 }' "$dir/rounds"; }

while [ "$(spent)" -lt "$limit" ]; do
	n=$(wc -l <"$dir/rounds")
	one_round "$n" "${parts[n % ${#parts[@]}]}"
done
table >"$dir/table.md"
cat "$dir/table.md"
[ -z "$(ls "$dir/finds")" ]

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises the shares of two tenants while the one of 30 % runs programs at random
# (tests/limits/gpu_random.c): kernels of 3 us up to endless ones, graphs, streams, threads,
# pauses, processes that are killed and those that the server ends. In each window of 10 s the
# tenant of 70 % does the work that it does alone, within 2 points. The device works for the first
# tenant for 30 % of the time and at most 2 points more. The test takes a minute and a half;
# WH_WINDOWS (6) and WH_SEED change it.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
bin=$WH_BUILD/tests/limits/bin
needs_programs "$bin/gpu_random"
[ "$world_kind" = gpu ] ||
	skip_all "softgpu works on the CPUs that its clients need: tests/limits/random_share_test.c is its test"
use_run
windows=${WH_WINDOWS:-6}
seed=${WH_SEED:-$(date +%s)}

plan $((2 * windows + 3))
serve --max-kernel 100ms
echo "# seed $seed"
per_us=$("$wormhole" run -- "$bin/gpu_share" calibrate)
"$wormhole" tenant create chance --sm 30
"$wormhole" tenant create steady --sm 70

coproc steady { "$wormhole" run --tenant steady -- "$bin/gpu_share" 100us 0 "$per_us" 1056 asked; }
# work BEFORE SECONDS prints the work done in so many seconds, after so many seconds before.
work() { echo "$1 $2" >&"${steady[1]}"; read -r _ rate <&"${steady[0]}"; echo "$rate"; }
used() {
	"$wormhole" stat --json chance |
		"$python" -c 'import json, sys; print(json.load(sys.stdin)[0]["devices"][0]["gpu_ns"])'
}
within() { awk -v have="$1" -v of="$2" -v least="$3" -v most="$4" \
	'BEGIN { p = 100 * have / of; printf "# %.2f\n", p; exit p < least || p > most }'; }

alone=$(work 2 10)
"$wormhole" run --tenant chance -- "$bin/gpu_random" $((10 * windows + 12)) "$per_us" "$seed" \
	>"$world_dir/chance" 2>"$world_dir/err" &
chance=$!
work 4 1 >/dev/null
for i in $(seq "$windows"); do
	from=$(date +%s%N) before=$(used)
	rate=$(work 0 10)
	gpu=$(($(used) - before)) time=$(($(date +%s%N) - from))
	# The neighbour had 70 of 100 alone; 68 of 70 are two points less.
	ok "neighbour_has_its_share_in_window_$i" within "$rate" "$alone" $((6800 / 70)) 110
	ok "who_leaves_things_to_chance_has_no_more_than_his_in_window_$i" within "$gpu" "$time" 0 32
done
wait "$chance"
sed 's/^/# /' "$world_dir/chance"
ok processes_ended_by_themselves_and_were_killed grep -qE '^[0-9]{2,} processes' "$world_dir/chance"
ok server_is_well "$wormhole" stat
finish

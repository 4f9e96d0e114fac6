#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that a tenant gets its share of the GPU within 2 points, measured as work done
# in the time against the work done without a share: for kernels of 10 us and of 100 us, and for
# two tenants that fill the device together. Launches of 3 us take longer than their kernels, so
# their rate is that of a CPU; for those the test looks at the device's time. The test takes a
# minute; bench/share.sh has all figures.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/limits/bin/gpu_share"
world_stop_server	# bench/share.sh has its own server
[ "$world_kind" = gpu ] ||
	skip_all "softgpu works on the CPUs that its clients need: tests/limits/ has its shares"

# shares ARGUMENT... prints the lines "percent kernels part".
shares() { timeout 60 env WH_BACKEND="$driver" "$WH_TOP/bench/share.sh" "$@" 2>&1 | sed 's/^[a-z]* share //'; }

# near COLUMN COUNT LINES checks that there are COUNT lines, each with that column within 2
# points. Column 3 is work, column 4 is time.
near() {
	echo "$3"
	echo "$3" | awk -v column="$1" -v count="$2" '/^#/ { next } NF != 4 || $1 + 0 < 1 { bad = 1; next }
		{ n++; d = $column * 100 - $1; if (d > 2 || d < -2) bad = 1 } END { exit bad || n != count }'
}

plan 4
ok launches_of_3_us_get_their_part_of_the_time near 4 2 "$(SHARES="10 50" shares one 3us)"
ok kernels_of_10_us_get_their_share near 3 2 "$(SHARES="10 50" shares one 10us)"
ok kernels_of_100_us_get_their_share near 3 2 "$(SHARES="10 50" shares one 100us)"
ok two_tenants_that_fill_the_gpu_get_theirs near 3 2 "$(shares pair 100us 25 2ms 75)"
finish

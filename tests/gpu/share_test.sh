#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A tenant gets its share of the GPU, as work done in the time against the work
# done without a share, within 2 points: for kernels of 3 us and of 100 us, and for
# two tenants that fill the device together. A minute. The rate of 3 us launches
# differs by 4 % from second to second, so of those only small shares are tested;
# bench/share.sh has all figures.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/limits/bin/gpu_share"
world_stop_server	# bench/share.sh has its own
if [ "$world_kind" != gpu ]; then
	echo "TAP version 13"
	echo "1..0 # SKIP softgpu works on the CPUs that its clients need: tests/limits/ has its shares"
	exit 0
fi

# shares ARGUMENT...: the lines "percent kernels part"
shares() { timeout 60 env WH_BACKEND="$driver" "$WH_TOP/bench/share.sh" "$@" 2>&1 | sed 's/^[a-z]* share //'; }

# near COUNT LINES: so many, each within 2 points
near() {
	echo "$2"
	echo "$2" | awk -v count="$1" '/^#/ { next } NF != 3 || $1 + 0 < 1 { bad = 1; next }
		{ n++; d = $3 * 100 - $1; if (d > 2 || d < -2) bad = 1 } END { exit bad || n != count }'
}

plan 3
ok short_kernels_get_their_share near 2 "$(SHARES="10 25" shares one 3us)"
ok kernels_of_100_us_get_their_share near 2 "$(SHARES="10 50" shares one 100us)"
ok two_tenants_that_fill_the_gpu_get_theirs near 2 "$(shares pair 100us 25 2ms 75)"
finish

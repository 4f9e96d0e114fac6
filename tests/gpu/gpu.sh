# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/gpu/*_test.sh: TAP, the worlds, and the GPU, or a skip of the
# whole test. Afterwards in_world and same_everywhere run programs (world.sh).
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"

# WH_TEST_DEVICE=softgpu runs the GPU tests on softgpu: to test the tests.
world_init "${WH_TEST_DEVICE:-gpu}" || skip_all "$world_missing"

world_server

# needs_programs FILE: the tests' programs come from nvcc.
needs_programs() {
	[ -x "$1" ] || skip_all "$(basename "$1") is not built: no nvcc when the tests were built"
}

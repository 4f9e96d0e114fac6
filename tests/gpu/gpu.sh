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

# --- Programs by `wormhole run` ------------------------------------------------------

# use_run: in place of the worlds' server there is one of its own, which serve starts and who
# ends the test stops. $wormhole is the command, $python the one that WH_PYTHON names.
# It finds libraries as an administrator's does: what the worlds name would count before all.
use_run() {
	world_stop_server
	forget_genuine_libraries
	python=${WH_PYTHON:-python3}
	wormhole=$WH_BUILD/host/wormhole
	export WORMHOLE_DIR="$world_dir/server"
	trap '"$wormhole" stop >/dev/null 2>&1; world_end' EXIT
}

# serve OPTION...: the first point of the test.
serve() {
	backend=$driver
	[ "$world_kind" != softgpu ] || backend=softgpu
	ok server_starts env LD_LIBRARY_PATH="$server_path" "$wormhole" serve --backend "$backend" "$@" --daemon
}

# Wheels have their libraries in folders of their own: those of $python, with colons between.
wheels() {
	"$python" -c 'import glob, sys
print(":".join(f for p in sys.path for f in sorted(glob.glob(p + "/nvidia/*/lib"))))'
}

# SPDX-License-Identifier: Apache-2.0
# tests/gpu/*_test.sh source this file: it sets up TAP, the worlds and the GPU, or skips the whole
# test. Afterwards in_world and same_everywhere run programs (world.sh).
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"

# WH_TEST_DEVICE=softgpu runs the GPU tests on softgpu, in order to test the tests.
world_init "${WH_TEST_DEVICE:-gpu}" || skip_all "$world_missing"

world_server

# needs_programs FILE skips the test without this program, which nvcc builds.
needs_programs() {
	[ -x "$1" ] || skip_all "$(basename "$1") is not built: no nvcc when the tests were built"
}

# --- Programs by `wormhole run` ------------------------------------------------------

# use_run replaces the worlds' server by one of its own, which serve starts and the end of the
# test stops. $wormhole is the command, $python the python that WH_PYTHON names. The server finds
# libraries as an administrator's does, so the worlds' variables are removed, because they would
# come first.
use_run() {
	world_stop_server
	forget_genuine_libraries
	python=${WH_PYTHON:-python3}
	wormhole=$WH_BUILD/host/wormhole
	export WORMHOLE_DIR="$world_dir/server"
	trap '"$wormhole" stop --force >/dev/null 2>&1; world_end' EXIT
}

# serve OPTION... starts the server; it is the first point of the test.
serve() {
	backend=$driver
	[ "$world_kind" != softgpu ] || backend=softgpu
	ok server_starts env LD_LIBRARY_PATH="$server_path" "$wormhole" serve --backend "$backend" "$@" --daemon
}

# wheels prints, with colons between them, the folders in which the wheels of $python have their
# libraries.
wheels() {
	"$python" -c 'import glob, sys
print(":".join(f for p in sys.path for f in sorted(glob.glob(p + "/nvidia/*/lib"))))'
}

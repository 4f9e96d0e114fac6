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

# --- Programs that print steps (tests/lib/steps_gpu.h) -------------------------------

# steps LIMIT COMMAND... makes the plan and a point for each step of a program: over shm it has its
# native line. A step that fails natively is a skip. What is behind a bar counts unless two native
# runs differ there. The last two points are that the program ends, and prints no other line.
steps() { # LIMIT COMMAND...
	for w in native again shm; do
		run_steps $w "$@"
	done
	[ -s "$world_dir/native" ] || skip_all "natively nothing: status $(cat "$world_dir/native.rc"), $(tail -n 3 "$world_dir/native.err")"
	cut -d: -f1 "$world_dir/native" | awk '!seen[$0]++' >"$world_dir/names"
	plan $(($(wc -l <"$world_dir/names") + 2))
	while read -r name <&3; do
		one_step "$(echo "$name" | tr -cs '[:alnum:]\n' _)" "$(grep "^$name: " "$world_dir/native")" \
			"$(grep "^$name: " "$world_dir/again")" "$(grep "^$name: " "$world_dir/shm")"
	done 3<"$world_dir/names"
	if [ "$(cat "$world_dir/native.rc")" = 0 ]; then
		is program_ends "$(cat "$world_dir/shm.rc")" 0
	else
		skip program_ends "natively status $(cat "$world_dir/native.rc"): $(tail -n 1 "$world_dir/native.err")"
	fi
	is no_step_is_new "$(cut -d: -f1 "$world_dir/shm" | grep -vxFf "$world_dir/names")" ""
	[ ! -s "$world_dir/native.err" ] || diag "natively it says: $(tail -n 20 "$world_dir/native.err")"
	diag "shm says: $(tail -n 20 "$world_dir/shm.err")"
}

run_steps() { # WORLD LIMIT COMMAND...
	s_world=$1 s_limit=$2
	shift 2
	in_world "$(echo "$s_world" | sed s/again/native/)" shared timeout "$s_limit" "$@" \
		>"$world_dir/$s_world" 2>"$world_dir/$s_world.err"
	echo $? >"$world_dir/$s_world.rc"
}

one_step() { # NAME NATIVE AGAIN SHM
	case $2 in
	*": 0 "*) ;;
	*) skip "$1" "natively: $2"; return ;;
	esac
	case $2 in *" wrong by "*) diag "natively wrong: $2" ;; esac
	if [ "$2" = "$3" ]; then
		is "$1" "$4" "$2"
	else
		diag "two native runs differ: $2 and $3"
		is "$1" "${4%|*}" "${2%|*}"
	fi
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

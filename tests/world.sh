# SPDX-License-Identifier: Apache-2.0
# Tests and benches source this file if they run one CUDA program in several worlds:
#
# 	native		the program on the driver, with nothing of ours between
# 	loopback	our libraries, with the worker's code in the program's process
# 	shm		our libraries, a server and its worker process
#
# The kinds of a program are `shared` (runtime) and `static` (runtime, preload library). The
# driver is softgpu or that of a real GPU. NVIDIA's runtime cannot run on softgpu, so "native"
# there means our runtime over softgpu in the process.
#
# 	world_init softgpu|gpu		comes first; fails with the reason in $world_missing
# 	world_server [OPTION...]	starts the server that shm needs
# 	in_world WORLD KIND COMMAND...	runs a command
#
# The folders of WH_GPU_LIBS, separated by colons, are searched before the usual places.
: "${WH_TOP:?}"
: "${WH_BUILD:=$WH_TOP/build}"
. "$WH_TOP/tests/reach.sh"
stubs=$WH_BUILD/client-stubs
softgpu=${WH_SOFTGPU:-$WH_BUILD/softgpu}
world_dir=
server_pid=

# --- Where NVIDIA's libraries are -------------------------------------------------

library_folders() {
	echo "${WH_GPU_LIBS:-}" | tr : '\n'
	printf '%s\n' /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64 \
		"${CUDA_HOME:-/usr/local/cuda}/lib64" /usr/local/cuda/targets/x86_64-linux/lib
	python3 -c 'import glob, sys
for p in sys.path:
    print(*sorted(glob.glob(p + "/nvidia/*/lib") + glob.glob(p + "/cutensor/lib")), sep="\n")' 2>/dev/null
}

# find_library NAME prints the folder that has the library.
find_library() {
	for f in $world_folders; do
		[ ! -e "$f/$1" ] || { echo "$f"; return 0; }
	done
	f=$(/sbin/ldconfig -p 2>/dev/null | sed -n "s|.*[[:space:]]$1 .*=> \(.*\)/$1\$|\1|p" | head -n 1)
	[ -n "$f" ] && echo "$f"
}

# A GPU answers if cuInit() succeeds and a device exists: a driver without its kernel module is no
# GPU.
gpu_answers() {
	python3 - "$1" <<'PY'
import ctypes, sys
n = ctypes.c_int()
lib = ctypes.CDLL(sys.argv[1])
sys.exit(lib.cuInit(0) or lib.cuDeviceGetCount(ctypes.byref(n)) or n.value == 0)
PY
}

# VARIABLE=SONAME of each library over the driver.
genuine=$(awk '$1 == "library" { print toupper($2) "=" $4 }' "$WH_TOP"/cuda-api/*.api)

# Sets $native_path: every folder of a library that a program may need.
find_native_path() {
	native_path=
	# shellcheck disable=SC2086 # words
	for l in libcuda.so.1 libcudart.so.13 libnvrtc.so.13 libnvJitLink.so.13 $(printf '%s\n' $genuine | sed 's/.*=//'); do
		f=$(find_library $l) || continue
		case :$native_path: in *:"$f":*) ;; *) native_path=${native_path:+$native_path:}$f ;; esac
	done
}

# has_library NAME says whether programs that need the library can run natively here.
has_library() {
	for f in $(echo "$native_path" | tr : ' '); do
		[ ! -e "$f/$1" ] || return 0
	done
	return 1
}

world_init() {
	world_kind=$1
	world_missing=
	world_dir=$(mktemp -d) || return 1
	trap world_end EXIT
	trap 'exit 1' HUP INT PIPE TERM
	unset WORMHOLE_LOG WORMHOLE_STATS
	case $1 in
	softgpu)
		driver=$softgpu/libcuda.so.1
		native_path=$softgpu:$stubs
		server_path=$softgpu
		;;
	gpu)
		world_folders=$(library_folders)
		f=$(find_library libcuda.so.1) ||
			{ world_missing="no libcuda.so.1: no NVIDIA driver"; return 1; }
		driver=$f/libcuda.so.1
		gpu_answers "$driver" ||
			{ world_missing="$driver finds no device"; return 1; }
		find_native_path
		server_path=$native_path
		;;
	esac
	genuine_libraries
}

# --- The server --------------------------------------------------------------------

# Nothing may connect before the server says that it listens. Its output until then is in
# server.start, the later output in server.out.
world_server() { # [OPTION...]
	drain_pid=
	mkfifo "$world_dir/log"
	exec 9<>"$world_dir/log"
	LD_LIBRARY_PATH=$server_path ${WH_SERVER_CPU:+taskset -c "$WH_SERVER_CPU"} \
		"$WH_BUILD/server/wormhole-server" --backend "$driver" \
		--socket "$world_dir/socket" "$@" >"$world_dir/log" 2>&1 9<&- &
	server_pid=$!
	if ! timeout 60 sed -u /listening/q <&9 >"$world_dir/server.start"; then
		cat "$world_dir/server.start" >&2
		echo "Bail out! wormhole-server did not start"
		exit 1
	fi
	cat <&9 >"$world_dir/server.out" 2>&1 &
	drain_pid=$!
}

world_stop_server() {
	[ -n "$server_pid" ] || return 0
	kill "$server_pid" 2>/dev/null
	# drain_pid is at first a shell, which would handle TERM by the trap above, and later cat;
	# so it gets KILL. shellcheck disable=SC2086 # none, where the server did not start
	{ [ -z "$drain_pid" ] || kill -KILL "$drain_pid"; wait "$server_pid" $drain_pid; } 2>/dev/null
	exec 9<&-
	rm -f "$world_dir/log"
	server_pid=
}

world_end() {
	world_stop_server
	rm -rf "$world_dir"
}

# --- Programs ----------------------------------------------------------------------

# Where the worker's side finds the genuine libraries: in the program's process the
# loader would find ours.
forget_genuine_libraries() {
	for l in $genuine; do unset "WORMHOLE_${l%%=*}"; done
}
genuine_libraries() {
	for l in $genuine; do
		for f in $(echo "$server_path" | tr : ' '); do
			[ -e "$f/${l#*=}" ] || continue
			eval "export WORMHOLE_${l%%=*}=\$f/\${l#*=}"
			break
		done
	done
}

# in_world sets what a worker's code in the process, or the server, needs to find its driver.
in_world() { # WORLD KIND COMMAND...
	world=$1 kind=$2
	shift 2
	preload=
	[ "$kind" = shared ] || preload=$stubs/libwormhole-preload.so
	case $world in
	native)
		# On softgpu the static runtime has to be redirected in the native world as well.
		[ "$world_kind" = softgpu ] || preload=
		LD_LIBRARY_PATH=$native_path ${preload:+env LD_PRELOAD="$preload"} "$@"
		;;
	loopback)
		WORMHOLE_TRANSPORT=loopback WORMHOLE_BACKEND=$driver \
		WORMHOLE_SESSION=$WH_BUILD/server/libwormhole-session.so \
		LD_LIBRARY_PATH=$stubs ${preload:+env LD_PRELOAD="$preload"} "$@"
		;;
	shm)
		WORMHOLE_TRANSPORT=shm WORMHOLE_SOCKET=$world_dir/socket \
		LD_LIBRARY_PATH=$stubs ${preload:+env LD_PRELOAD="$preload"} "$@"
		;;
	esac
}

# unsupported FILE prints the error if the backend itself lacks the function, which is no fault of
# forwarding.
unsupported() { # FILE
	sed -n 's/.*\(cudaErrorNotSupported\|CUDA_ERROR_NOT_SUPPORTED\|CUBLAS_STATUS_NOT_SUPPORTED\).*/&/p' "$1" | head -n 1
}

# same_everywhere NAME KIND LIMIT COMMAND... makes three points, for tests with tap.sh: the
# command succeeds natively, and its standard output is exactly the same over loopback and over
# shm. LIMIT is the time of each run in seconds.
same_everywhere() {
	w_name=$1 w_kind=$2 w_limit=$3
	shift 3
	in_world native "$w_kind" timeout "$w_limit" "$@" >"$world_dir/native" 2>"$world_dir/native.err"
	w_rc=$?
	why=$(unsupported "$world_dir/native.err")
	if [ $w_rc != 0 ] && [ "$world_kind" = softgpu ] && [ -n "$why" ]; then
		for w in native loopback shm; do skip "${w_name}_$w" "softgpu: $why"; done
		return
	fi
	is "${w_name}_native_succeeds" "$w_rc" 0
	[ $w_rc = 0 ] || diag "$(tail -n 5 "$world_dir/native.err")"
	for w in loopback shm; do
		in_world $w "$w_kind" timeout "$w_limit" "$@" >"$world_dir/$w" 2>"$world_dir/$w.err"
		w_rc=$?
		[ $w_rc = 0 ] || diag "$w: status $w_rc: $(tail -n 5 "$world_dir/$w.err")"
		diff "$world_dir/native" "$world_dir/$w" >"$world_dir/diff"
		ok "${w_name}_over_${w}_prints_the_same" eval '[ $w_rc = 0 ] && [ ! -s "$world_dir/diff" ]'
		[ ! -s "$world_dir/diff" ] || diag "$(cut -c1-300 "$world_dir/diff" | head -n 20)"
	done
}

# SPDX-License-Identifier: Apache-2.0
# The tests of programs source this file, which sets up what a CUDA program needs around it. With
# `direct`, softgpu's libcuda.so.1 is in the process. With `shm`, a server and its worker run
# softgpu, and the program has the forwarding libcuda.so.1.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
stubs=$WH_BUILD/client-stubs
server_dir=
server_pid=

# use_transport direct|shm sets $shared_path and $static_path, the library paths for programs with
# the shared and with the static runtime.
use_transport() {
	case $1 in
	direct)
		shared_path=$WH_BUILD/softgpu:$stubs
		static_path=$WH_BUILD/softgpu
		;;
	shm)
		shared_path=$stubs
		static_path=$stubs
		start_server
		;;
	esac
}

# start_server waits until the server says that it listens, because nothing may connect before.
start_server() {
	server_dir=$(mktemp -d) || exit 1
	trap stop_server EXIT
	trap 'exit 1' HUP INT PIPE TERM
	mkfifo "$server_dir/log"
	exec 9<>"$server_dir/log"
	WORMHOLE_TRANSPORT=shm
	WORMHOLE_SOCKET=$server_dir/socket
	export WORMHOLE_TRANSPORT WORMHOLE_SOCKET
	"$WH_BUILD/server/wormhole-server" --backend "${WH_BACKEND:-$WH_BUILD/softgpu/libcuda.so.1}" \
		--socket "$WORMHOLE_SOCKET" >"$server_dir/log" 2>&1 9<&- &
	server_pid=$!
	if ! timeout 20 grep -q -m 1 'listening' <&9; then
		echo "Bail out! wormhole-server did not start"
		exit 1
	fi
	cat <&9 >"$server_dir/rest" &
	drain_pid=$!
}

stop_server() {
	kill "$server_pid" 2>/dev/null
	# drain_pid is at first a shell, which would handle TERM by the trap above, and later cat;
	# so it gets KILL.
	kill -KILL "$drain_pid" 2>/dev/null
	wait "$server_pid" "$drain_pid" 2>/dev/null
	rm -rf "$server_dir"
}

# SPDX-License-Identifier: Apache-2.0
# The shm tests source this file: a server of their own over softgpu.
here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
tmp=$(mktemp -d)
chmod 755 "$tmp"	# workers run as other users
# WH_BACKEND may name another driver library behind the server: that of a real GPU.
WH_BACKEND=${WH_BACKEND:-$WH_BUILD/softgpu/libcuda.so.1}
bin=$WH_BUILD/tests/shm/bin
server=

. "$WH_TOP/tests/tap.sh"
export LD_LIBRARY_PATH="$WH_BUILD/client-stubs"
export WORMHOLE_TRANSPORT=shm WORMHOLE_SOCKET="$tmp/server.sock"
unset WORMHOLE_LOG

start_server() {
	# The output of the last server must not count for this one.
	: >"$tmp/server.out"
	"$WH_BUILD/server/wormhole-server" --backend "$WH_BACKEND" "$@" \
		>"$tmp/server.out" 2>"$tmp/server.err" &
	server=$!
	await grep -q listening "$tmp/server.out"
}

stop_server() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	server=
}

# workers prints the worker processes of our server.
workers() { pgrep -P "$server" -f -- --serve; }
no_workers() { [ -z "$(workers)" ]; }

end_test() {
	stop_server
	rm -rf "$tmp"
}
trap end_test EXIT
# When the test is stopped from outside, the trap on EXIT runs as well.
trap 'exit 1' HUP INT PIPE TERM

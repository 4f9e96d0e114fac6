# SPDX-License-Identifier: Apache-2.0
# The tests of tenants source this file, with WH_TOP and WH_BUILD set. It has a server of their
# own over softgpu, and clients that wait for a word.
. "$WH_TOP/tests/tap.sh"
wormhole=$WH_BUILD/host/wormhole
client=$WH_BUILD/tests/tenant/bin/client
tmp=$(mktemp -d)
chmod 755 "$tmp"
export WORMHOLE_DIR="$tmp/d" WH_BUILD
unset WORMHOLE_LOG WORMHOLE_SOCKET WORMHOLE_TRANSPORT CUDA_VISIBLE_DEVICES
for v in $(env | sed -n 's/^\(CUDA_DEVICE_[A-Z_0-9]*\)=.*/\1/p'); do unset "$v"; done

# Nothing outlives these servers but where a test says so (keep_test.sh).
serve() { "$wormhole" serve --backend softgpu --daemon --part-size 16M --state "${STATE:-none}" "$@" >"$tmp/serve" 2>&1; }
# A server is killed by `kill_server` for good: its monitor ends with it, and so do all workers.
server() { cat "$WORMHOLE_DIR/server.lock"; }
monitor() { sed -n 's/^PPid:[^0-9]*//p' "/proc/$(server)/status"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# files_of PID prints what a process has open. Figures of the kernel's are open for the moment of a
# look at them, and not counted.
files_of() { readlink "/proc/$1/fd/"* | sed '/^\/proc\/\|^\/sys\//d; s/[0-9]\{2,\}/N/g' | sort | uniq -c; }
# settled N waits until the server has closed the connections of commands that have ended. N of them stay, one for
# each `wormhole run' with limits.
connections() {
	readlink "/proc/$(server)/fd/"* | sed -n 's/^socket:\[\(.*\)\]$/ \1 /p' >"$tmp/sockets"
	grep ' 03 .*/control\.sock$' /proc/net/unix | grep -cFf "$tmp/sockets"
}
has_connections() { [ "$(connections)" = "$1" ]; }
settled() { await has_connections "$1"; }
kill_server() {
	pid_of_server=$(server)
	kill -KILL "$(monitor)" && await gone "$pid_of_server"
}
# serve_device does the same over softgpu, or over the driver that WH_BACKEND names.
serve_device() {
	[ -n "$WH_BACKEND" ] || { serve "$@"; return; }
	"$wormhole" serve --backend "$WH_BACKEND" --daemon --state "${STATE:-none}" "$@" >"$tmp/serve" 2>&1
}
# serve_or_bail is for a test whose points a program under `run` makes, and not this shell.
serve_or_bail() {
	serve_device && return
	echo "Bail out! no server: $(cat "$tmp/serve")"
	exit 1
}
workers() { pgrep -P "$(monitor)" -f -- --serve; }
has_workers() { [ "$(workers | wc -l)" = "$1" ]; }
files() { (cd "$WORMHOLE_DIR/tenants" 2>/dev/null && ls); }
gone() { ! kill -0 "$1"; }

# killed PID: is another server there in the place of this one?
killed() { [ "$(server)" != "$1" ] && kill -0 "$(server)" 2>/dev/null; }
# kill_alone [PID...] kills the server without its monitor, and these with it, and returns when the
# next server answers.
kill_alone() {
	was=$(server)
	kill -KILL "$was" "$@"
	await killed "$was" && await "$wormhole" tenant list
}

# halt PID stops a process and returns when it is stopped, each of its threads. A signal is only on
# its way when kill(1) returns.
halted() {
	states=$(cat /proc/"$1"/task/*/stat | sed 's/.*) //;s/ .*//' | sort -u)
	[ "$states" = T ]
}
halt() { kill -STOP "$1" && await halted "$1"; }

# start NAME RUN-OPTIONS... -- CLIENT-WORDS... starts a client in the background. It says `ready`
# when it has done all but `wait`, and ends at `finish_client NAME`.
start() {
	name=$1
	shift
	rm -f "$tmp/$name.in"
	mkfifo "$tmp/$name.in"
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# The client must not hold the other clients' standard inputs open. shellcheck
	# disable=SC2086
	(
		for f in $(seq 4 "$fd"); do eval "exec $f>&-"; done
		exec "$wormhole" run $options -- "$client" "$@" ready wait
	) <"$tmp/$name.in" >"$tmp/$name.out" 2>&1 &
	eval "pid_$name=$!"
	eval "exec $((fd += 1))>\"$tmp/$name.in\""
	eval "fd_$name=$fd"
	await grep -q ready "$tmp/$name.out"
}
fd=3
pid() { eval "echo \$pid_$1"; }
finish_client() {
	eval "exec $(eval "echo \$fd_$1")>&-"
	wait "$(pid "$1")"
}

# field TENANT EXPRESSION evaluates Python with the tenant's object of `stat --json` in t, and its
# first device in d.
field() {
	"$wormhole" stat --json "$1" | /usr/bin/python3 -c \
		"import json,sys; t=json.load(sys.stdin)[0]; d=t['devices'][0]; print(($2))"
}
field_is() { [ "$(field "$1" "$2")" = "$3" ]; }

# next NAME sends a line to a client that waits for one (`line`); it returns when the client has
# said `ready` again. One that never does has not gone on, and is a point that fails.
next() {
	before=$(grep -c ready "$tmp/$1.out")
	eval "echo >&\$fd_$1"
	await eval "[ \$(grep -c ready '$tmp/$1.out') -gt $before ]" || ok "${1}_goes_on_when_it_is_told" false
}
# said NAME prints what the client has said besides.
said() { grep -v ready "$tmp/$1.out" | tr '\n' ' '; }

control() {
	/usr/bin/python3 - "$WORMHOLE_DIR/control.sock" "$@" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
for packet in sys.argv[2:]:
    s.send(packet.encode())
    print(s.recv(65536).decode())
END
}

# at_random PROGRAM N runs kills.py or faults.py, N cases of each at random. Its output is in
# $said.
at_random() {
	said=$("$1" "$2" "${WH_SEED:-$(date +%s)}" 2>&1)
}

# A server that is still starting does not hear the first order, and would make files again.
no_server() {
	"$wormhole" stop --force
	! pgrep -f -- "wormhole-server.* --dir $WORMHOLE_DIR( |\$)"
}
clean_up() {
	await no_server || echo "# a server stays in $WORMHOLE_DIR"
	rm -rf "$tmp"
}
trap clean_up EXIT
# The test may be stopped from outside, and its server must not stay.
trap 'exit 1' HUP INT PIPE TERM

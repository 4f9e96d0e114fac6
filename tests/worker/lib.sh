# SPDX-License-Identifier: Apache-2.0
# Tests of commands beside a supervisor source this file, with `build` set. It has a folder and
# processes that end with the test.
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$tmp"' EXIT
# When the test is stopped from outside, the trap on EXIT runs as well.
trap 'exit 1' HUP INT PIPE TERM

# KVM's control device is a stand-in.
wormhole() { LD_PRELOAD=$build/tests/cli/fake_control.so "$build/host/wormhole" "$@"; }

# note_vm ID ROLE PID NAME notes a VM whose VMM is this process, as who starts VMs does.
note_vm() { echo "$2 $3 $(sed 's/.*) //' "/proc/$3/stat" | cut -d' ' -f20) $4" >"$tmp/run/$1"; }
# port_of ID stands in for the VM's port: $tmp/port is the VM's end, and the other one QEMU's socket.
port_of() {
	"$here/port.py" "$tmp/run/$1.control" "$tmp/port" &
	pids="$pids $!"
	await test -e "$tmp/port"
}
# server_vm ID NAME stands in for a server VM: its port, QEMU's socket, and this shell in QEMU's place.
server_vm() {
	mkdir -p "$tmp/run"
	note_vm "$1" 1 $$ "$2"
	port_of "$1"
}

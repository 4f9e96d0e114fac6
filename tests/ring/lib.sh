# SPDX-License-Identifier: Apache-2.0
# The tests of the transport ring source this file with WH_TOP and WH_BUILD set. They have a server
# over softgpu, and client VMs with Debian's cloud kernel under QEMU without KVM, whose consoles are
# $tmp/NAME.log.
. "$WH_TOP/tests/tenant/lib.sh"

ring_lacks() {
	command -v qemu-system-x86_64 >/dev/null || { echo "qemu-system-x86_64 is not installed"; return; }
	for ring_f in bochs/debian/vmlinuz tests/vm/client.cpio; do
		[ -e "$WH_BUILD/$ring_f" ] || { echo "$ring_f is not built: make images"; return; }
	done
}
[ -z "$(ring_lacks)" ] || { rm -rf "$tmp"; skip_all "$(ring_lacks)"; }

vms=
# The VMs of a test that fails or is stopped end with it.
ring_clean_up() {
	for vm_p in $vms; do kill "$vm_p" 2>/dev/null; done
	clean_up
}
trap ring_clean_up EXIT

ring_image() {
	"$WH_TOP/tests/vm/mkinitramfs.sh" "$tmp/overlay.cpio" "$WH_TOP/tests/ring/client.list" &&
		cat "$WH_BUILD/tests/vm/client.cpio" "$tmp/overlay.cpio" >"$tmp/initrd"
}

# vm_run NAME COMMAND... starts a client VM by that command and waits until it listens.
vm_run() {
	vm_name=$1
	shift
	rm -f "$tmp/$vm_name.in" "$tmp/$vm_name.log"
	mkfifo "$tmp/$vm_name.in"
	: >"$tmp/$vm_name.log"
	(
		for f in $(seq 4 "$fd"); do eval "exec $f>&-"; done
		exec "$@" <>"$tmp/$vm_name.in" >>"$tmp/$vm_name.log" 2>&1
	) &
	eval "pid_$vm_name=$!"
	vms="$vms $!"
	eval "exec $((fd += 1))<>\"$tmp/$vm_name.in\""
	vm_wait "$vm_name" '^@listening' || { tail -n 5 "$tmp/$vm_name.log"; return 1; }
}
guest_arguments="console=ttyS0 quiet panic=-1"
# vm_start NAME [OPTION...] does so by `wormhole client start'. What stands in $under is before it.
vm_start() {
	vm_n=$1
	shift
	# shellcheck disable=SC2086
	vm_run "$vm_n" ${under:-} "$wormhole" client start --ring --accel tcg --kernel "$WH_BUILD/bochs/debian/vmlinuz" \
		--initrd "$tmp/initrd" --append "$guest_arguments" --part-size 16M --memory 384 "$@" "$vm_n"
}
vm_say() { printf '%s\n' "$2" >"$tmp/$1.in"; }
# vm_wait NAME PATTERN waits until a line of the console matches. QEMU translates all that the guest
# does, so the limit is for what never comes.
vm_wait() {
	vm_end=$(($(date +%s) + 240))
	until tr -d '\r' <"$tmp/$1.log" | grep -q -e "$2"; do
		[ "$(date +%s)" -lt $vm_end ] || { diag "no '$2' on the console: $(tail -n 5 "$tmp/$1.log")"; return 1; }
		sleep 0.05
	done
}
# vm_prog NAME PROGRAM COMMAND... runs a program there, waits for its end, and prints what it said.
vm_prog() {
	vm_p=$2
	vm_n=$1
	shift 2
	vm_say "$vm_n" "prog $vm_p $*"
	vm_wait "$vm_n" "^@end $vm_p " && section "$vm_n" "$vm_p"
}
# section VM NAME prints what a program printed.
section() { tr -d '\r' <"$tmp/$1.log" | sed -n "/^@begin $2\$/,/^@end $2 /{/^@/!p}"; }
status() { tr -d '\r' <"$tmp/$1.log" | sed -n "s/^@end $2 //p"; }
vm_end() { vm_say "$1" end && wait "$(pid "$1")"; }
# kernel_is_content VM checks that the guest's kernel made no complaint (kernel-report in the guest).
kernel_is_content() { ! tr -d '\r' <"$tmp/$1.log" | grep '^@kernel'; }
memory_of() { "$wormhole" stat --json "${1:-default}" | sed -n 's/.*"memory":[[:space:]]*\([0-9][0-9]*\).*/\1/p' | head -n 1; }
# relays prints those of this test's VMs, which have its folder in their environment.
relays() {
	for relays_p in $(pgrep -x wormhole-relay); do
		! grep -qzx "WORMHOLE_DIR=$WORMHOLE_DIR" "/proc/$relays_p/environ" 2>/dev/null || echo "$relays_p"
	done
}

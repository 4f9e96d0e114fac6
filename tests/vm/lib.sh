# SPDX-License-Identifier: Apache-2.0
# Tests that boot guests under QEMU's TCG, where there is no VMX, source this file with $WH_TOP
# and $WH_BUILD set. Serial consoles go to $tmp/NAME.log.
set -u
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
vms=
cleanup() {
	for pid in $vms; do kill "$pid" 2>/dev/null; done
	wait
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' HUP INT PIPE TERM

# image OUT BASE makes BASE and an overlay, whose list is standard input.
image() {
	cat >"$tmp/list"
	"$WH_TOP/tests/vm/mkinitramfs.sh" "$tmp/overlay.cpio" "$tmp/list" &&
		cat "$WH_BUILD/$2" "$tmp/overlay.cpio" >"$1"
}

# script PATH makes an executable file from standard input.
script() { cat >"$1" && chmod 755 "$1"; }

# vm_start NAME KERNEL INITRD APPEND [QEMU OPTION...] starts a VM.
vm_start() {
	vm_name=$1 vm_kernel=$WH_BUILD/kernel/$2/bzImage vm_initrd=$3 vm_append=$4
	shift 4
	: >"$tmp/$vm_name.log"
	timeout 300 qemu-system-x86_64 -M q35 -accel tcg -cpu max -m 256 \
		-nodefaults -no-user-config -display none -no-reboot \
		-serial "file:$tmp/$vm_name.log" -kernel "$vm_kernel" \
		-initrd "$vm_initrd" -append "$vm_append" "$@" \
		</dev/null >"$tmp/$vm_name.qemu" 2>&1 &
	vm_pid=$!
	vms="$vms $vm_pid"
}

# vm_wait [PID] waits until the VM of the last vm_start, or of the given process, has powered off.
vm_wait() { wait "${1:-$vm_pid}"; }

# vm NAME ... is vm_start, and waits for the end; the log has no carriage returns then.
vm() {
	vm_start "$@"
	vm_wait
	vm_rc=$?
	sed -i 's/\r//' "$tmp/$1.log"
	return $vm_rc
}

server_cmdline=$(cat "$WH_TOP/server/vm/image/cmdline")
client_cmdline=$(cat "$WH_TOP/tests/vm/client-image/cmdline")

# section VM NAME prints what a guest printed between `@begin NAME` and `@end NAME`.
section() { sed -n "/^@begin $2\$/,/^@end $2 /{/^@/!p}" "$tmp/$1.log"; }

logged() { grep -q -e "$2" "$tmp/$1.log" || { tail -n 30 "$tmp/$1.log"; return 1; }; }

# kernel_is_content NAME checks that the guest's kernel made no complaint (kernel-report in the
# guest).
kernel_is_content() { ! grep '^@kernel' "$tmp/$1.log"; }

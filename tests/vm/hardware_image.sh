#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what the hardware image (bench/hardware/) does on a machine without VMX: it boots
# by BIOS and by UEFI from a stick and without one, says what is missing, writes that to the stick
# alone, and goes off. Four machines run side by side under QEMU's TCG.
set -u
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
need_target=hardware-image
need hardware/hardware.img hardware/vmlinuz hardware/initrd hardware/cmdline
tmp=$(mktemp -d)
trap 'kill $machines 2>/dev/null; wait; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT PIPE TERM
machines=
UEFI=/usr/share/OVMF/OVMF_CODE_4M.fd

# machine NAME OPTION... starts one whose serial port goes to NAME.log, and its status to NAME.status.
machine() {
	name=$1
	shift
	{
		timeout 400 qemu-system-x86_64 -machine q35 -accel tcg -cpu max -m 1024 -display none \
			-monitor none -no-reboot -nic none -serial "file:$tmp/$name.log" "$@" >"$tmp/$name.said" 2>&1
		echo $? >"$tmp/$name.status"
	} &
	machines="$machines $!"
}

# fat NAME prints where mtools finds the results' partition of a stick, the third one.
fat() { echo "$tmp/$1.img@@$(($(od -An -t u4 -j 486 -N 4 "$tmp/$1.img") * 512))"; }

# stick NAME [MARKER]... makes a stick on which runs have started, whose results are old.txt.
stick() {
	stick_name=$1
	shift
	cp "$WH_BUILD/hardware/hardware.img" "$tmp/$stick_name.img"
	for marker; do
		echo old.txt | mcopy -i "$(fat "$stick_name")" - "::$marker"
	done
}
from_stick() {
	from=$1
	shift
	machine "$from" -device qemu-xhci -drive "if=none,id=stick,format=raw,file=$tmp/$from.img" \
		-device usb-storage,drive=stick,bootindex=1 "$@"
}
files() { mdir -b -i "$(fat "$1")" :: | sed 's|::/||' | sort | tr '\n' ' '; }
file() { mtype -i "$(fat "$1")" "::$2"; }
ended() { echo "$(cat "$tmp/$1.status") $(grep -c 'reboot: Power down' "$tmp/$1.log")"; }
results() { tr -d '\r' <"$tmp/$1.log" | sed -n '/^----- results -----$/,/^----- end of results -----$/{/^-----/!p}'; }

# A disk of the machine that looks like the stick.
disk() {
	mkfs.vfat -C -n WORMHOLE "$tmp/disk.img" 4096 >/dev/null
	mcopy -i "$tmp/disk.img" "$WH_TOP/bench/hardware/wormhole.txt" ::
	sha256sum <"$tmp/disk.img"
}

plan 12
before=$(disk)
stick bios
stick uefi pass1
stick both pass1 pass2
from_stick bios -drive "file=$tmp/disk.img,format=raw,if=ide"
cp "$(dirname "$UEFI")/OVMF_VARS_4M.fd" "$tmp/vars.fd"
from_stick uefi -drive "if=pflash,format=raw,readonly=on,file=$UEFI" \
	-drive "if=pflash,format=raw,file=$tmp/vars.fd"
from_stick both
machine net -kernel "$WH_BUILD/hardware/vmlinuz" -initrd "$WH_BUILD/hardware/initrd" \
	-append "$(cat "$WH_BUILD/hardware/cmdline") wormhole.wait=0"
# shellcheck disable=SC2086
wait $machines

name=QEMU-TCG-CPU-version-2-5.txt
is boots_by_bios_and_goes_off "$(ended bios)" "0 1"
is results_are_in_a_file_named_by_the_processor_and_no_marker_stays "$(files bios)" "$name wormhole.txt "
like results_say_that_there_is_no_vmx "$(file bios $name)" "^check Intel processor with VMX  *MISSING"
like nothing_else_is_measured_then "$(file bios $name)" "^not_ready$"
is serial_port_has_the_same_results "$(results bios)" "$(file bios $name)"
is disk_of_the_machine_is_not_touched "$(sha256sum <"$tmp/disk.img")" "$before"
is boots_by_uefi_and_goes_off "$(ended uefi)" "0 1"
like second_run_is_without_mitigations "$(file uefi old.txt)" "^cmdline .*mitigations=off wormhole.pass=2$"
is second_run_goes_on_with_the_file_of_the_first "$(files uefi)" "old.txt wormhole.txt "
is no_third_run_starts_where_the_second_had_no_end "$(cat "$tmp/both.status") $(grep -c 'reading what' "$tmp/both.log")" "0 0"
is kernel_and_initrd_boot_without_a_stick_and_go_off "$(ended net)" "0 1"
like results_are_on_the_serial_port_then "$(results net)" "^not_ready$"
finish

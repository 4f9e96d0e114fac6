#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that an image of `wormhole image gpu`, made from a stand-in for NVIDIA's
# driver (tests/vm/nvidia/) with the real kernel, boots from its disk, loads the modules and makes
# their devices. There is no Wormhole under it, so its own module ends the VM.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/vm/lib.sh"
need kernel/server/hash server/vm/guest-module/wormhole_server.ko
VERSION=580.65.06

plan 22
mkdir "$tmp/open"
cp "$WH_TOP"/tests/vm/nvidia/*.c "$WH_TOP/tests/vm/nvidia/Makefile" "$tmp/open/"
printf '# the version, for the modules\n%s\n' $VERSION >"$tmp/open/version"
"$WH_TOP/tests/vm/nvidia/make-run.sh" "$tmp/driver.run" $VERSION "$tmp/open"
image_gpu() { "$WH_BUILD/host/wormhole" image gpu --driver "$tmp/driver.run" --out "$tmp/$1" >"$tmp/$1.made" 2>&1; }
ok image_is_made_with_the_kernel_that_boots_it eval 'image_gpu image || { cat "$tmp/image.made"; false; }'

# vm_image NAME DIR [QEMU OPTION...] starts a VM as `wormhole server start --image DIR` does.
vm_image() {
	vm_image_name=$1 vm_image_dir=$2
	shift 2
	: >"$tmp/$vm_image_name.log"
	sed 's/1-N/1-2/g' "$vm_image_dir/cmdline" >"$tmp/cmdline"
	timeout 300 qemu-system-x86_64 -M q35 -accel tcg -cpu max -m 512 -smp 3 -nodefaults -no-user-config \
		-display none -no-reboot -serial "file:$tmp/$vm_image_name.log" -kernel "$vm_image_dir/bzImage" \
		-append "$(cat "$tmp/cmdline") loglevel=7" \
		-drive if=none,id=root,format=raw,readonly=on,file="$vm_image_dir/root.img" \
		-device virtio-blk-pci,drive=root,bus=pcie.0,addr=0x4 "$@" </dev/null >"$tmp/$vm_image_name.qemu" 2>&1
	vm_image_rc=$?
	sed -i 's/\r//' "$tmp/$vm_image_name.log"
	return $vm_image_rc
}
first_line() { grep -n -m1 -e "$2" "$tmp/$1.log" | cut -d: -f1; }
in_order() { [ "$(first_line "$1" "$2")" -lt "$(first_line "$1" "$3")" ]; }
quiet_about() { ! grep -e "$2" "$tmp/$1.log"; }

vm_image gpu "$tmp/image" -device VGA
point it_boots_from_its_disk_and_powers_off
ok its_root_is_the_disk logged gpu 'VFS: Mounted root (squashfs filesystem) readonly'
ok init_finds_all_that_it_wants quiet_about gpu 'Read-only file system\|: not found\|Device or resource busy'
ok driver_keeps_its_hands_off_the_files logged gpu "stand-in $VERSION, ModifyDeviceFiles 0,"
ok and_does_not_put_the_gpu_to_sleep logged gpu 'DynamicPowerManagement 0$'
ok unified_memory_has_no_hmm logged gpu 'nvidia-uvm: stand-in, major [0-9]*, uvm_disable_hmm 1$'
ok control_file_is_made logged gpu '/dev/nvidiactl c3:ff 666$'
ok file_of_the_gpu_is_made logged gpu '/dev/nvidia0 c3:0 666$'
uvm=$(sed -n 's/.*nvidia-uvm: stand-in, major \([0-9]*\),.*/\1/p' "$tmp/gpu.log")
ok file_of_unified_memory_has_the_number_that_the_kernel_gave \
	logged gpu "/dev/nvidia-uvm $(printf %x "${uvm:-0}"):0 666\$"
ok no_other_file_is_made [ "$(grep -c 'wormhole server: /dev/nvidia' "$tmp/gpu.log")" = 3 ]
ok gpu_starts_with_its_firmware logged gpu 'stand-in started with 5000 bytes of firmware'
ok and_stays_awake quiet_about gpu 'stand-in stopped'
ok gpu_is_named logged gpu 'wormhole server: GPU 0000:00:0[0-9].0 is /dev/nvidia0, A stand-in$'
ok devices_come_before_wormholes_own_module \
	in_order gpu "NVIDIA's driver $VERSION: 1 GPU" 'wormhole_server: the host does not offer Wormhole'
ok without_which_the_server_ends logged gpu 'error: wormhole server: wormhole_server.ko does not load'

# The same image boots on a machine without a GPU.
vm_image none "$tmp/image"
point server_without_a_gpu_ends
ok says_what_the_driver_said logged none 'NVRM: No NVIDIA GPU found'
ok and_the_next_step logged none "error: .* NVIDIA's driver $VERSION: nvidia.ko does not load: has the VM a GPU"
ok and_does_not_load_its_own_module quiet_about none 'wormhole_server'

# This driver's GPU does not start, because its firmware is missing.
rm -r "$tmp/driver.run"
sed -i 's/gsp_ga10x/gsp_other/' "$tmp/open/nvidia.c"
"$WH_TOP/tests/vm/nvidia/make-run.sh" "$tmp/driver.run" $VERSION "$tmp/open"
image_gpu broken
vm_image broken "$tmp/broken" -device VGA
ok gpu_that_does_not_start_is_named logged broken 'error: .*GPU 0000:00:0[0-9].0 does not start'
ok with_the_drivers_words logged broken 'NVRM: no firmware'
finish

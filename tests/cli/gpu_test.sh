#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that `server start --gpu` names what is in the way of passed-through GPUs and
# the next step, and binds the GPUs to vfio-pci. A folder stands in for the host's /sys, /proc and
# /dev. A loop stands in for the kernel and binds what is written to drivers_probe, and a library
# for /dev/kvm-wormhole.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
wormhole=$WH_BUILD/host/wormhole
dir=$(mktemp -d)
kernel=
trap '[ -z "$kernel" ] || kill $kernel; rm -rf "$dir"' EXIT
mkdir "$dir/image" "$dir/bin"
touch "$dir/image/bzImage" "$dir/image/initramfs"
printf '#!/bin/sh\necho became the VMM\n' >"$dir/bin/qemu"
printf '#!/bin/sh\necho "$@" >>%s/modprobe.log\n[ ! -e %s/has-module ] || mkdir -p $WORMHOLE_TEST_ROOT/sys/bus/pci/drivers/vfio-pci\n' \
	"$dir" "$dir" >"$dir/bin/modprobe"
chmod 755 "$dir/bin/modprobe" "$dir/bin/qemu"
GPU=0000:65:00.0

# device ADDRESS VENDOR CLASS GROUP [DRIVER] makes a PCI device of the host.
device() {
	d=$root/sys/bus/pci/devices/$1
	mkdir -p "$d" "$root/sys/kernel/iommu_groups/$4/devices"
	echo "$2" >"$d/vendor"
	echo "$3" >"$d/class"
	echo 0x2330 >"$d/device"
	: >"$d/driver_override"
	[ "$4" = none ] || {
		ln -s "../../../../kernel/iommu_groups/$4" "$d/iommu_group"
		ln -s "../../../../bus/pci/devices/$1" "$root/sys/kernel/iommu_groups/$4/devices/$1"
		: >"$root/dev/vfio/$4"
	}
	[ -z "${5:-}" ] || {
		mkdir -p "$root/sys/bus/pci/drivers/$5"
		: >"$root/sys/bus/pci/drivers/$5/unbind"
		ln -s "../../drivers/$5" "$d/driver"
	}
}

# host [DRIVER [SOUND-DRIVER]] makes a host with a GPU (of a driver, if named), its sound device,
# and the port above them.
host() {
	[ -z "$kernel" ] || { kill $kernel; wait $kernel 2>/dev/null; }
	root=$dir/root
	rm -rf "$root"
	mkdir -p "$root/sys/bus/pci/drivers/vfio-pci" "$root/proc" "$root/dev/vfio"
	device $GPU 0x10de 0x030200 17 "${1:-}"
	device 0000:65:00.1 0x10de 0x040300 17 "${2:-}"
	device 0000:64:00.0 0x8086 0x060400 17 pcieport
	mkfifo "$root/sys/bus/pci/drivers_probe"
	(
		trap 'exit 0' TERM
		exec 3<>"$root/sys/bus/pci/drivers_probe"
		while IFS= read -r -n 12 address <&3; do
			d=$root/sys/bus/pci/devices/$address
			echo "probe $address" >>"$dir/kernel.log"
			rm -f "$d/driver"
			read -r driver <"$d/driver_override"
			[ -e "$dir/stubborn" ] || ln -s "../../drivers/$driver" "$d/driver"
		done
	) &
	kernel=$!
	: >"$dir/kernel.log"
}

start() {
	LD_PRELOAD=$WH_BUILD/tests/cli/fake_control.so WORMHOLE_TEST_ROOT=$root \
		PATH=$dir/bin:$PATH "$wormhole" server start vm --id 7 \
		--image "$dir/image" --window "$dir/w,2M" --qemu "$dir/bin/qemu" "$@" 2>&1
}
driver_of() { basename "$(readlink "$root/sys/bus/pci/devices/$1/driver" || echo none)"; }

plan 59

# --- What there is ------------------------------------------------------------------------
host
device 0000:17:00.0 0x10de 0x030000 3
check() { WORMHOLE_TEST_ROOT=$root "$wormhole" check | grep "^NVIDIA GPU "; }
like check_names_the_first_gpu "$(check)" "  ok  *0000:17:00.0, device 2330$"
like all_gpus_are_named_in_order "$(start --gpu 66:00.0)" "NVIDIA's GPUs here: 0000:17:00.0, $GPU$"

# --- What is in the way -----------------------------------------------------------------
host
is address_without_domain_is_completed "$(start --gpu 65:00.0 --dry-run | sed -n 's/.* vfio-pci,host=\([^ ]*\).*/\1/p')" $GPU
for a in 65:00 65:00.8 65:20.0 0000:65:00.0x gpu0; do
	start --gpu "$a" --dry-run | grep -q "'$a' is not a PCI address" || wrong="$wrong $a"
done
is what_is_no_address_is_named "$wrong" ""
out=$(start --gpu 66:00.0)
like device_that_is_not_there_is_named "$out" "there is no PCI device 0000:66:00.0"
like and_the_gpus_that_are_there "$out" "NVIDIA's GPUs here: $GPU$"
like device_that_is_no_gpu_is_refused "$(start --gpu 65:00.1)" "0000:65:00.1 (vendor 10de, class 040300) is no display"
is and_is_not_touched "$(driver_of 0000:65:00.1)$(cat "$dir/kernel.log")" none
like rebind_without_a_gpu_is_wrong "$(start --rebind)" "give --gpu"

rm "$root/sys/bus/pci/devices/$GPU/iommu_group"
like host_without_an_iommu_is_told_how_to_get_one "$(start --gpu 65:00.0)" "boot the host with intel_iommu=on"

host
device 0000:65:01.0 0x8086 0x020000 17 ixgbe
out=$(start --gpu 65:00.0 --rebind)
like other_device_of_the_group_is_named_with_its_driver "$out" "0000:65:01.0 is in the GPU's IOMMU group and used by the host's driver ixgbe"
is nothing_is_bound_then "$(driver_of $GPU) $(driver_of 0000:65:01.0)" "none ixgbe"
is bridges_of_the_group_are_not_in_the_way "$(echo "$out" | grep -c 0000:64)" 0

host nouveau snd_hda_intel
out=$(start --gpu 65:00.0)
like gpu_of_a_driver_is_refused "$out" "$GPU is used by the host's driver nouveau: --rebind"
like so_is_its_sound "$out" "0000:65:00.1, of the same card, is used by the host's driver snd_hda_intel: --rebind"
is and_they_keep_their_drivers "$(driver_of $GPU) $(driver_of 0000:65:00.1)" "nouveau snd_hda_intel"

# --- What is refused before anything is bound ------------------------------------------------
# refused NAME PATTERN WORD... refuses to bind a GPU that a driver of the host has, and keeps.
refused() {
	host nouveau
	out=$(start --gpu 65:00.0 --rebind "${@:3}")
	like "$1_is_said" "$out" "$2"
	is "and_with_$1_nothing_is_bound" "$(driver_of $GPU)$(cat "$dir/kernel.log")" nouveau
}
FAKE_CONTROL=none refused kernel_without_the_series "/dev/kvm-wormhole is missing; boot a kernel"
FAKE_CONTROL=old refused kernel_of_another_abi "this kernel speaks ABI"
FAKE_CONTROL=denied refused caller_without_the_capability 'permission denied; run as root with CAP_SYS_ADMIN'
FAKE_CONTROL=taken refused id_of_another_vm "a VM with id 7 is alive"
refused qemu_that_is_not_there "no program '$dir/bin/other'" --qemu "$dir/bin/other"
refused image_without_a_kernel "'$dir/bin/bzImage': No such file" --image "$dir/bin"
refused initramfs_that_is_not_there "'$dir/none': No such file" --initrd "$dir/none"
refused window_that_cannot_be "3145728 bytes; it must be a power of two" --window "$dir/v,3M"

# --- Binding -------------------------------------------------------------------------------
host nouveau snd_hda_intel
out=$(start --gpu 65:00.0 --rebind --dry-run)
like dry_run_says_what_would_be_bound "$out" "would bind $GPU to vfio-pci, so far of the driver nouveau"
is and_binds_nothing "$(driver_of $GPU)$(cat "$dir/kernel.log")" nouveau
out=$(start --gpu 65:00.0 --rebind)
is rebind_takes_the_whole_card "$(driver_of $GPU) $(driver_of 0000:65:00.1)" "vfio-pci vfio-pci"
is from_the_drivers_that_had_it "$(cat "$root/sys/bus/pci/drivers/nouveau/unbind")" $GPU
like and_says_so "$out" "binds 0000:65:00.1 to vfio-pci, so far of the driver snd_hda_intel"
is ports_stay_with_the_host "$(driver_of 0000:64:00.0)" pcieport

host
out=$(start --gpu 65:00.0)
is gpu_without_a_driver_is_bound "$(driver_of $GPU)" vfio-pci
is its_idle_sound_is_left_alone "$(driver_of 0000:65:00.1)" none
like then_the_vm_starts "$out" "^became the VMM$"
: >"$dir/kernel.log"
start --gpu 65:00.0 >/dev/null
is bound_already_nothing_is_written "$(cat "$dir/kernel.log")" ""
rm "$root/dev/vfio/17"
like group_file_that_cannot_be_opened_is_named "$(start --gpu 65:00.0)" "/dev/vfio/17': No such file"
host
: >"$dir/stubborn"
like binding_that_does_not_happen_is_said "$(start --gpu 65:00.0)" "$GPU did not bind to vfio-pci"
rm "$dir/stubborn"

# --- Several GPUs ---------------------------------------------------------------------------
OTHER=0000:66:00.0
both() { start --gpu 65:00.0 --gpu 66:00.0 "$@"; }
two() { host "$1"; device $OTHER 0x10de 0x030200 "$2" "${3:-}"; }
two "" 18
is each_gpu_is_passed_through "$(both --dry-run | grep -o 'vfio-pci,host=[^ ]*' | tr '\n' ' ')" \
	"vfio-pci,host=$GPU vfio-pci,host=$OTHER "
is libvirt_passes_each_through "$("$wormhole" xml server vm --id 7 --image "$dir/image" --window /dev/shm/w,2M \
	--gpu 65:00.0 --gpu 66:00.0 | grep -o "bus='0x6[0-9]'" | tr '\n' ' ')" "bus='0x65' bus='0x66' "
like one_that_is_given_twice_is_refused "$(start --gpu 65:00.0 --gpu 0000:65:00.0)" "--gpu: $GPU is given twice"
both >/dev/null
is each_is_bound "$(driver_of $GPU) $(driver_of $OTHER)" "vfio-pci vfio-pci"
two nouveau 18 nouveau
out=$(both)
like what_is_in_the_way_of_the_first_is_said "$out" "$GPU is used by the host's driver nouveau"
like and_of_the_next "$out" "$OTHER is used by the host's driver nouveau"
two nouveau none
out=$(both --rebind)
like while_one_cannot_go "$out" "$OTHER is in no IOMMU group"
is no_other_is_bound "$(driver_of $GPU)$(cat "$dir/kernel.log")" nouveau
two nouveau 17 nouveau
like one_of_a_group_is_in_the_way_of_another "$(start --gpu 65:00.0 --rebind)" "$OTHER is in the GPU's IOMMU group"
both --rebind >/dev/null
is both_of_it_may_go_together "$(driver_of $GPU) $(driver_of $OTHER)" "vfio-pci vfio-pci"

# --- Programs that use it, and a host without the driver ------------------------------------------
host nvidia
mkdir -p "$root/proc/driver/nvidia/gpus/$GPU" "$root/proc/4711/fd" "$root/proc/4712/fd"
printf 'Model: \t\t H100\nDevice Minor: \t 3\n' >"$root/proc/driver/nvidia/gpus/$GPU/information"
echo python3 >"$root/proc/4711/comm"
ln -s /dev/nvidia3 "$root/proc/4711/fd/5"
ln -s /dev/nvidia2 "$root/proc/4712/fd/5"
like program_that_has_the_gpu_open_is_named "$(start --gpu 65:00.0 --rebind)" \
	"used by process 4711 (python3), which has /dev/nvidia3 open"
is and_keeps_it "$(driver_of $GPU)$(cat "$dir/kernel.log")" nvidia
rm -r "$root/proc/4711"
start --gpu 65:00.0 --rebind >/dev/null
is program_of_another_gpu_is_no_hindrance "$(driver_of $GPU)" vfio-pci

host
rmdir "$root/sys/bus/pci/drivers/vfio-pci"
like host_without_vfio_pci_is_told_after_modprobe "$(start --gpu 65:00.0; cat "$dir/modprobe.log")" "no driver vfio-pci"
: >"$dir/has-module"
start --gpu 65:00.0 >/dev/null
is module_that_is_there_is_loaded "$(driver_of $GPU)" vfio-pci
finish

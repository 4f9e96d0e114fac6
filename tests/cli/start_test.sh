#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what `server start` and `client start` would run (--dry-run), and how they
# treat window files.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
wormhole=$WH_BUILD/host/wormhole
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/image"
echo "console=ttyS0 isolcpus=1-N nohz_full=1-N" >"$dir/image/cmdline"
touch "$dir/image/bzImage" "$dir/image/initramfs"

start() {
	role=$1
	shift
	"$wormhole" "$role" start vm --id 7 --image "$dir/image" --dry-run "$@" 2>&1
}

plan 21
line=$(start server --cpus 5 --window "$dir/a,2M" --window "$dir/b,4M" --append quiet)
like goes_through_run "$line" "^wormhole run --role server --id 7 --name vm -- qemu-system-x86_64 "
like worker_cpus_are_isolated "$line" "isolcpus=1-4 nohz_full=1-4 quiet'"
like first_window_has_the_first_slot "$line" "mem-path=$dir/a,size=2097152,share=on -device ivshmem-plain,memdev=window0,bus=pcie.0,addr=0x8 "
like second_window_has_the_next "$line" "mem-path=$dir/b,size=4194304,share=on -device ivshmem-plain,memdev=window1,bus=pcie.0,addr=0x9"
like server_has_a_port_for_the_host "$line" \
	"path=/run/wormhole/7.control,server=on,wait=off -device virtserialport,.*name=org.wormhole.control"
is client_has_none "$(start client --window "$dir/a,2M" | grep -c -e virtserialport -e control)" 0
like limits_go_on_the_kernels_command_line "$(start server --window "$dir/a,2M" --window "$dir/b,2M" \
	--limit 0:mem=2G,sm=30 --limit 1:mem=1G --append quiet)" \
	" wormhole.limit=0:mem=2G,sm=30 wormhole.limit=1:mem=1G quiet'"
like limit_of_no_window_is_named "$(start server --window "$dir/a,2M" --limit 1:mem=2G)" "'1:mem=2G'"
like wrong_limit_is_named "$(start server --window "$dir/a,2M" --limit 0:mem=much)" "'much' is not a size"
is dry_run_makes_no_file "$(ls "$dir")" image
like gpu_is_passed_through "$(start server --window "$dir/a,2M" --gpu 0000:01:00.0)" \
	"-device vfio-pci,host=0000:01:00.0"
like client_has_no_gpu_option "$(start client --window "$dir/a,2M" --gpu x)" "unrecognized option"
like words_after_the_name_go_to_qemu "$(start client --window "$dir/a,2M" -- -device 'a b')" \
	"-device 'a b'$"

truncate -s 3M "$dir/odd"
like size_that_is_no_power_of_two_is_refused "$(start client --window "$dir/odd")" \
	"3145728 bytes; it must be a power of two"
like window_without_whole_pages_of_a_device_is_refused "$(start client --window "$dir/small,1M")" \
	"has 1048576 bytes; it must be a power of two from 2M"
like size_of_what_is_not_there_is_asked_for "$(start client --window "$dir/none")" \
	"'$dir/none' has 0 bytes; it must be a power of two from 2M: give FILE,SIZE"
run_start() { PATH=/nonexistent "$wormhole" client start vm --id 7 --image "$dir/image" "$@" 2>&1; }
run_start --window "$dir/none" >/dev/null
is refused_windows_leave_no_file "$(ls "$dir")" "$(printf 'image\nodd')"
truncate -s 4M "$dir/four"
like other_size_than_the_file_has_is_refused "$(run_start --window "$dir/four,8M")" "has 4194304 bytes, not 8388608"
like size_of_the_file_is_taken "$(start client --window "$dir/four")" "size=4194304,"
like wrong_size_is_named "$(start client --window "$dir/a,big")" "'big' is not a size"
like wrong_machine_is_named "$(start client --window "$dir/a,2M" --machine pc)" "'pc'"
finish

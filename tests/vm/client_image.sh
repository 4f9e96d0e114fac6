#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the client image runs what it is given, on an ordinary kernel, also with
# page-table isolation, and that a window is mapped at its fixed address.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/vm/lib.sh"
need kernel/host/hash tests/vm/client.cpio

plan 11
script "$tmp/job" <<'END'
prog says_hello echo hello
prog fails false
prog finds_the_window window_end find
echo "@pti $(grep -wc -m1 pti /proc/cpuinfo)"
echo "@kaslr $(awk '/Kernel code/ { print $1 }' /proc/iomem) $(awk '$3 == "_text" { print $1 }' /proc/kallsyms)"
END
image "$tmp/image.cpio" tests/vm/client.cpio <<END
file /job $tmp/job 644
file /bin/window_end $WH_BUILD/tests/vm/window_end 755
END
window="-object memory-backend-ram,id=w,size=1M,share=on -device ivshmem-plain,memdev=w"

# shellcheck disable=SC2086
vm plain host "$tmp/image.cpio" "$client_cmdline" $window
point the_client_boots_and_powers_off
ok a_program_runs_between_markers [ "$(section plain says_hello)" = hello ]
ok its_status_is_reported logged plain '^@end fails 1$'
ok a_window_maps_at_its_fixed_address logged plain '^@end finds_the_window 0$'
ok the_end_is_marked logged plain '^@done$'
ok the_kernel_does_not_complain kernel_is_content plain

# shellcheck disable=SC2086
vm pti host "$tmp/image.cpio" "$client_cmdline pti=on" $window
ok it_also_boots_with_page_table_isolation logged pti '^@pti 1$'
ok the_window_maps_there_too logged pti '^@end finds_the_window 0$'
kaslr() { sed -n 's/^@kaslr //p' "$tmp/$1.log"; }
other=pti
echo "# kernel at $(kaslr plain) and at $(kaslr $other)"
# Two of some thousand places are the same now and then, three are not.
# shellcheck disable=SC2086
if [ "$(kaslr plain)" = "$(kaslr $other)" ]; then
	other=again
	vm $other host "$tmp/image.cpio" "$client_cmdline" $window
	echo "# and at $(kaslr $other)"
fi
ok the_kernel_address_is_random [ -n "$(kaslr plain)" -a "$(kaslr plain)" != "$(kaslr $other)" ]

vm listed host "$WH_BUILD/tests/vm/client.cpio" \
	"$client_cmdline wormhole.run=/bin/uname,/bin/false"
ok programs_can_be_named_on_the_command_line [ "$(section listed uname)" = Linux ]
ok each_of_them_runs logged listed '^@end false 1$'
finish

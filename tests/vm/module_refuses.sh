#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the real module refuses a host that does not know Wormhole: no leaf
# answers.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/vm/lib.sh"
need kernel/server/hash server/vm/image/base.cpio

plan 7
script "$tmp/start" <<'END'
#!/bin/sh
insmod /lib/wormhole_server.ko; echo "@again $?"
echo "@left $(ls -d /dev/wormhole* /sys/class/misc/wormhole* /sys/module/wormhole* 2>/dev/null)"
kernel-report
poweroff -f
END
: >"$tmp/empty"
image "$tmp/image.cpio" server/vm/image/base.cpio <<END
file /etc/wormhole/no-module $tmp/empty 644
file /etc/wormhole/start $tmp/start 755
END
vm refused server "$tmp/image.cpio" "$server_cmdline"
point the_server_kernel_boots_and_powers_off
ok the_module_says_why_it_does_not_load \
	logged refused 'wormhole_server: the host does not offer Wormhole to this VM'
ok insmod_fails_with_no_such_device \
	logged refused "insmod: can't insert '/lib/wormhole_server.ko': No such device"
ok it_fails_again_the_same_way logged refused '^@again 19$'
ok no_device_and_no_module_are_left logged refused '^@left $'
ok the_kernel_does_not_complain kernel_is_content refused

vm alone server "$WH_BUILD/server/vm/image/base.cpio" "$server_cmdline"
ok a_server_without_its_module_powers_off logged alone 'reboot: Power down'
finish

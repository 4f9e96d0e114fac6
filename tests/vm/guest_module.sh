#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises the module's contract with user space, and the leaves that it executes, with
# two windows. guest_module_test.c has the points.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/vm/lib.sh"
need kernel/server/hash server/vm/image/base.cpio tests/vm/fake/wormhole_server.ko \
	tests/vm/driver/wh_test_driver.ko

script "$tmp/start" <<'END'
#!/bin/sh
insmod /lib/wh_test_driver.ko
echo "@begin test"
guest_module_test
echo "@end test $?"
kernel-report
poweroff -f
END
image "$tmp/image.cpio" server/vm/image/base.cpio <<END
file /lib/wormhole_server.ko $WH_BUILD/tests/vm/fake/wormhole_server.ko 644
file /lib/wh_test_driver.ko $WH_BUILD/tests/vm/driver/wh_test_driver.ko 644
file /bin/guest_module_test $WH_BUILD/tests/vm/guest_module_test 755
file /etc/wormhole/start $tmp/start 755
END
vm server server "$tmp/image.cpio" "$server_cmdline" -smp 2 \
	-object memory-backend-ram,id=one,size=2M,share=on \
	-object memory-backend-ram,id=two,size=4M,share=on \
	-object memory-backend-ram,id=small,size=1M,share=on \
	-device ivshmem-plain,memdev=one,addr=5 -device ivshmem-plain,memdev=two,addr=4 \
	-device ivshmem-plain,memdev=small,addr=3
section server test
grep '^@kernel' "$tmp/server.log" | sed 's/^/# /'
kernel_is_content server >/dev/null && grep -q '^@end test 0$' "$tmp/server.log"

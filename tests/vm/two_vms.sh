#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that one file on tmpfs is the window of two VMs: the server's module maps a
# part of it, and the client maps the same part through sysfs (window_end.c).
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/vm/lib.sh"
need kernel/server/hash kernel/host/hash server/vm/image/base.cpio tests/vm/client.cpio \
	tests/vm/fake/wormhole_server.ko

plan 5
script "$tmp/start" <<'END'
#!/bin/sh
echo "@begin server"
window_end server
echo "@end server $?"
kernel-report
poweroff -f
END
echo 'prog client window_end client' >"$tmp/job"
image "$tmp/server.cpio" server/vm/image/base.cpio <<END
file /lib/wormhole_server.ko $WH_BUILD/tests/vm/fake/wormhole_server.ko 644
file /bin/window_end $WH_BUILD/tests/vm/window_end 755
file /etc/wormhole/start $tmp/start 755
END
image "$tmp/client.cpio" tests/vm/client.cpio <<END
file /bin/window_end $WH_BUILD/tests/vm/window_end 755
file /job $tmp/job 644
END
file=$(mktemp -p /dev/shm wormhole-test.XXXXXX)
trap 'rm -f "$file"; cleanup' EXIT
window="-object memory-backend-file,id=w,mem-path=$file,size=4M,share=on
	-device ivshmem-plain,memdev=w"

# shellcheck disable=SC2086
vm_start server server "$tmp/server.cpio" "$server_cmdline" $window
server_pid=$vm_pid
# shellcheck disable=SC2086
vm client host "$tmp/client.cpio" "$client_cmdline" $window
point the_client_vm_ends_by_itself
vm_wait "$server_pid"
point the_server_vm_ends_by_itself
sed -i 's/\r//' "$tmp/server.log"
ok the_server_sees_what_the_client_wrote logged server '^@end server 0$'
ok the_client_sees_the_answer logged client '^@end client 0$'
ok neither_kernel_complains eval 'kernel_is_content server && kernel_is_content client'
finish

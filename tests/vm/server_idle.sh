#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises how quiet the server's kernel is by itself, over 5 s of guest time. A worker
# CPU sleeps for seconds. The housekeeping CPU gets only its clock tick, which nohz_full= keeps
# alive and KVM defers while the server is frozen.
: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/vm/lib.sh"
need kernel/server/hash server/vm/image/base.cpio tests/vm/fake/wormhole_server.ko

SECONDS_IDLE=5
plan 9
script "$tmp/start" <<END
#!/bin/sh
# A disk is in use, because a server VM with a GPU has its root on one.
{ mkdir /tmp/disk; mount -t squashfs -o ro /dev/vda /tmp/disk && cat /tmp/disk/start; } >/dev/null || echo @nodisk
# One sleeping task on each worker CPU stands for a worker that is not parked.
for cpu in 1 2; do taskset -c \$cpu sleep 1000 & done
sleep 2
# The function starts no program, because a program would switch tasks itself.
look() { while read -r word number _; do [ "\$word" != ctxt ] || switches=\$number; done </proc/stat; }
read -r since _ </proc/uptime
cat /proc/interrupts >/tmp/before
look
before=\$switches
sleep $SECONDS_IDLE
look
cat /proc/interrupts >/tmp/after
read -r now _ </proc/uptime
echo "@elapsed \$(((\${now%.*} - \${since%.*}) * 100 + 1\${now#*.} - 1\${since#*.}))"
echo "@isolated \$(cat /sys/devices/system/cpu/isolated)"
echo "@clock \$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
# The output is name, CPU and count of each interrupt that came meanwhile.
awk 'FNR == 1 { cpus = NF; next }
     { for (i = 2; i <= cpus + 1 && i <= NF; i++)
		if (FNR == NR) old[\$1, i] = \$i
		else if (\$i != old[\$1, i]) print "@irq", \$1, i - 2, \$i - old[\$1, i] }' \
	/tmp/before /tmp/after
echo "@switches \$((switches - before))"
echo "@controllers \$(cat /sys/fs/cgroup/cgroup.controllers)"
find / \( -path /proc -o -path /sys \) -prune -o -perm -2 ! -type l ! -type c -print |
	sed 's/^/@open /'
kernel-report
poweroff -f
END
: >"$tmp/empty"
mksquashfs "$tmp/start" "$tmp/disk.img" -root-mode 755 -comp zstd -quiet -no-progress >/dev/null
image "$tmp/image.cpio" server/vm/image/base.cpio <<END
file /lib/wormhole_server.ko $WH_BUILD/tests/vm/fake/wormhole_server.ko 644
file /etc/wormhole/no-module $tmp/empty 644
file /etc/wormhole/start $tmp/start 755
END

# irqs AWK-CONDITION prints how many interrupts of that kind came.
irqs() { awk "/^@irq/ && ($1) { n += \$4 } END { print n + 0 }" "$tmp/idle.log"; }
quiet_about_the_disk() { ! grep '^@nodisk' "$tmp/idle.log"; }
at_most() { echo "$1 came, at most $2 expected"; grep '^@irq' "$tmp/idle.log"; [ "$1" -le "$2" ]; }

# The guest's clocks count its instructions, and waiting takes no time (-icount). By the host's
# clock a busy host falsifies what the kernel measures of its timer at boot: each tick may then
# come a little early, and once more.
vm idle server "$tmp/image.cpio" "$server_cmdline" -smp 3 -icount shift=3,sleep=off \
	-drive "if=none,id=disk,format=raw,readonly=on,file=$tmp/disk.img" -device virtio-blk-pci,drive=disk
ok it_has_a_disk quiet_about_the_disk
ok worker_cpus_are_isolated logged idle '^@isolated 1-2$'
ok the_clock_is_the_tsc logged idle '^@clock tsc$'
ok worker_cpus_wake_less_than_once_a_second at_most "$(irqs '$3 > 0')" $((SECONDS_IDLE * 2))
# @elapsed is the time in hundredths of a second.
ok the_first_cpu_gets_only_its_tick at_most "$(irqs '$3 == 0 && $2 != "LOC:"')" 5
ok the_tick_is_100_a_second_at_most at_most "$(irqs '$3 == 0 && $2 == "LOC:"')" \
	$(($(sed -n 's/^@elapsed //p' "$tmp/idle.log") * 105 / 100))
ok nothing_runs_in_the_background \
	at_most "$(sed -n 's/^@switches //p' "$tmp/idle.log")" $((SECONDS_IDLE * 12))
ok memory_and_threads_can_be_bounded logged idle '^@controllers.* memory pids'
nothing_is_open() { grep '^@open' "$tmp/idle.log"; ! grep -q '^@open' "$tmp/idle.log"; }
ok a_workers_user_can_write_nowhere nothing_is_open
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that systemd itself can run the units of the packages. systemd is the first
# process of a bare Debian 12 (systemd.sh).
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no chroot"
for d in host libraries; do
	ls "$build/deb/wormhole-${d}"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
program=$build/examples/shared/vectorAdd
client=$build/tests/tenant/bin/client
need_built "$program" "$client"

. "$top/tests/deb/systemd.sh"
packages=systemd,systemd-sysv,dbus,udev
. "$top/tests/deb/bare.sh"
cp "$program" "$root/opt/program"
cp "$client" "$root/opt/client"
: >"$tmp/log"
boot_systemd || skip_all "$UNITS_LACK"
inside() { booted "$1"; }
state() { inside 'systemctl is-active wormhole'; }
runs() { inside "wormhole run --mem 2G --sm 30 -- /opt/program"; }

plan 51
quietly "apt-get install -y --no-install-recommends ./wormhole-host_*.deb ./wormhole-libraries_*.deb"
is packages_are_installed "$?" 0
is systemd_finds_nothing_wrong_with_units "$(inside 'systemd-analyze verify --man=no \
	wormhole.service wormhole-metrics.service wormhole-server@gpu0.service wormhole-textfile.timer')" ""
is nothing_is_started_by_the_installation "$(state)" inactive
# systemd measures, from 0 to 10, what a service could do that was taken over.
quietly 'systemd-analyze security --no-pager --offline=true --threshold=40 wormhole-metrics.service'
is exporter_can_do_little "$?" 0
quietly 'systemd-analyze security --no-pager --offline=true --threshold=55 wormhole.service'
is and_the_server_no_more_than_it_needs "$?" 0

# --- The server of programs --------------------------------------------------------------------
quietly "systemctl enable --now wormhole"
is without_a_gpu_it_does_not_start "$?" 1
like and_the_journal_has_the_reason "$(inside 'journalctl -u wormhole')" 'wormhole: error: .*libcuda'
ok and_it_is_not_tried_for_ever await_inside 'systemctl is-failed wormhole'
quietly 'echo "SERVE_OPTIONS=--backend softgpu" >/etc/default/wormhole; systemctl reset-failed wormhole; systemctl start wormhole'
is with_the_options_of_etc_default_it_starts "$? $(state)" "0 active"
like and_a_program_runs_as_a_tenant "$(runs)" "^vectorAdd: PASS"
like whose_workers_have_all_protections "$(inside 'wormhole stat' | grep -v '^$')" \
	"^workers are protected by: user calls files network"
is and_nothing_is_refused_to_it "$(inside 'journalctl -u wormhole' | grep -c 'not permitted\|Permission denied\|Read-only')" 0
quietly 'systemctl start wormhole-metrics'
figures='import urllib.request as u; print(u.urlopen("http://127.0.0.1:9477/metrics", timeout=10).read().decode())'
await eval 'nsenter -t "$first" -n /usr/bin/python3 -c "$figures" >"$tmp/figures" 2>&1'
like figures_are_served_beside_it "$(cat "$tmp/figures")" "^wormhole_up 1"
quietly 'systemctl stop wormhole-metrics'
if (ulimit -l unlimited) 2>/dev/null; then
	like memory_may_be_locked "$(inside 'cat /proc/$(systemctl show -P MainPID wormhole)/limits')" \
		"^Max locked memory *unlimited"
else
	skip memory_may_be_locked "root here may not raise that limit"
fi
quietly 'systemctl daemon-reload'
like also_when_units_were_read_anew "$(runs)" "^vectorAdd: PASS"

# Its log is the journal, where `wormhole logs` looks.
mkfifo "$root/tmp/stay"
inside 'wormhole run --mem 64M --tenant alpha -- /opt/client alloc=4096 ready wait </tmp/stay' >"$tmp/client" &
exec 5>"$root/tmp/stay"
await grep -q ready "$tmp/client"
worker=$(pgrep -f -- --serve)
journal='journalctl -u wormhole -u wormhole-programs.scope'
says() { echo "$1" >"/proc/$worker/fd/2"; await_inside "$journal | grep -q 'worker of alpha: $1'"; }
ok its_messages_are_in_the_journal says before
is and_in_no_file "$(ls "$root/run/wormhole/server.log" 2>/dev/null)" ""
is with_their_levels "$(inside "$journal"' -p warning -o cat' | grep -c 'info: ')" 0
like wormhole_logs_finds_them "$(inside 'wormhole logs')" 'worker of alpha: before$'
is and_a_tenants_alone "$(inside 'wormhole logs alpha' | sed 's/.*]: //')" "worker of alpha: before"
is the_last_of_them_are_counted "$(says two; inside 'wormhole logs alpha --lines 1' | sed 's/.*]: //')" "worker of alpha: two"
inside 'wormhole logs alpha --follow --lines 0' >"$tmp/follow" 5>&- &
follows() { echo after >"/proc/$worker/fd/2"; grep -q 'worker of alpha: after$' "$tmp/follow"; }
ok and_those_to_come_are_followed await follows
is without_those_that_were "$(grep -c 'before\|two' "$tmp/follow")" 0
exec 5>&-

# Programs live through a restart, and through kill -9 of what is found.
mkfifo "$root/tmp/live"
inside 'wormhole run --mem 64M -- /opt/client alloc=4096 ready line alloc=4096 ready line alloc=4096 ready line alloc=4096 ready wait </tmp/live' >"$tmp/live" &
exec 7>"$root/tmp/live"
await grep -q ready "$tmp/live"
goes_on() { echo >&7; await eval '[ "$(grep -cx ok "$tmp/live")" = '"$1"' ]'; }
quietly 'systemctl restart wormhole'
is it_can_be_restarted "$? $(state)" "0 active"
ok while_a_program_computes_on goes_on 2
was=$(inside 'systemctl show -P MainPID wormhole')
quietly "kill -9 $was"
ok killed_it_comes_back await_inside "systemctl is-active wormhole && [ \$(systemctl show -P MainPID wormhole) != $was ]"
like and_a_program_runs_again "$(runs)" "^vectorAdd: PASS"
ok and_the_one_that_ran_runs_on goes_on 3
quietly 'kill -9 "$(cat /run/wormhole/server.lock)"'
ok also_when_the_server_is_killed goes_on 4
exec 7>&-
quietly 'wormhole stop --when-idle'
await_inside '[ "$(systemctl is-active wormhole)" = inactive ]'
is ended_by_its_own_command_it_stays_so "$(state) $(inside 'systemctl show -P NRestarts wormhole')" "inactive 1"
is and_nobody_asks_the_server_that_ended \
	"$(inside 'journalctl --sync; journalctl -q -u wormhole | grep "no server answers"')" ""
quietly 'systemctl start multi-user.target'
ok it_starts_with_the_machine await_inside 'systemctl is-active wormhole'

quietly 'systemctl stop wormhole'
is stopped_it_leaves_no_process "$(pgrep -fl /usr/lib/wormhole)" ""
is and_no_cgroup "$(inside "find /sys/fs/cgroup -path '*wormhole.service*'")" ""
is and_no_socket "$(inside 'find /run/wormhole -type s')" ""
quietly 'systemctl disable wormhole'
is disabled_it_leaves_no_link "$(find "$root/etc/systemd" -name '*wormhole*')" ""

# --- Figures for node_exporter ------------------------------------------------------------------
folder=/var/lib/prometheus/node-exporter
quietly "mkdir -p $folder; systemctl enable --now wormhole-textfile.timer"
ok figures_are_written_for_node_exporter await_inside "test -s $folder/wormhole.prom"

# --- Server VMs ----------------------------------------------------------------------------------
echo 'SERVER_OPTIONS="--id 1 --memory 1024"' >"$root/etc/wormhole/gpu0.conf"
quietly 'systemctl start wormhole-server@gpu0'
is without_the_control_device_no_server_vm_starts "$? $(inside 'systemctl show -P ActiveState wormhole-server@gpu0')" "1 inactive"
misc=$(ls /sys/class/misc | head -n 1)
if [ -n "$misc" ]; then
	# udev gets a device that exists here; it only says what it would do.
	rules=$root/lib/udev/rules.d/60-wormhole-host.rules
	cp "$rules" "$tmp/rules"
	sed -i "s/kvm-wormhole/$misc/" "$rules"
	out=$(inside "udevadm test /sys/class/misc/$misc")
	cp "$tmp/rules" "$rules"
	like which_is_roots_alone "$out" "60-wormhole-host.rules:[0-9]* MODE 0600"
	like and_told_to_systemd "$out" "^TAGS=.*:systemd:"
else
	skip which_is_roots_alone "no misc device here"
	skip and_told_to_systemd "no misc device here"
fi
# A container has no units for devices. The unit is changed as if the device were there; it comes
# as far as the command.
sed -e '/dev-kvm/d' "$root/lib/systemd/system/wormhole-server@.service" \
	>"$root/etc/systemd/system/wormhole-server@.service"
quietly 'systemctl daemon-reload; systemctl start wormhole-server@other'
is where_it_is_a_server_vm_without_options_is_let_be "$? $(inside 'systemctl show -P ConditionResult wormhole-server@other')" "0 no"
quietly 'systemctl start wormhole-server@gpu0'
ok one_that_cannot_start_fails await_inside 'systemctl is-failed wormhole-server@gpu0'
like and_its_options_are_words "$(inside 'journalctl -u wormhole-server@gpu0')" 'wormhole: error: .* --window is needed'
rm "$root/etc/systemd/system/wormhole-server@.service" "$root/etc/wormhole/gpu0.conf"

# --- Upgrade and removal -------------------------------------------------------------------------
quietly 'systemctl daemon-reload; dpkg -i wormhole-host_*.deb'
is an_upgrade_does_not_start_what_was_stopped "$(state)" inactive
quietly 'systemctl enable --now wormhole'
program_of_server() { inside 'stat -Lc %i "/proc/$(cat /run/wormhole/server.lock)/exe"'; }
was=$(program_of_server)
mkfifo "$root/tmp/on"
inside 'wormhole run --mem 64M -- /opt/client alloc=4096 ready line alloc=4096 ready wait </tmp/on' >"$tmp/client" &
exec 6>"$root/tmp/on"
await grep -q ready "$tmp/client"
quietly 'dpkg -i wormhole-host_*.deb'
is but_what_runs_is_the_new_one "$? $(state) $(program_of_server | grep -cx "$was")" "0 active 0"
echo >&6
ok and_its_programs_run_on await eval '[ "$(grep -cx ok "$tmp/client")" = 2 ]'
exec 6>&-
# An instance that goes on stands in for QEMU.
printf '[Service]\nExecStart=/bin/sleep 1000\n' >"$root/run/systemd/system/wormhole-server@other.service"
quietly 'systemctl daemon-reload; systemctl start wormhole-server@other; apt-get purge -y wormhole-host wormhole-libraries'
is one_that_runs_ends_with_its_package "$? $(state)" "0 inactive"
is as_do_server_vms "$(inside 'systemctl is-active wormhole-server@other')" inactive
is of_whose_units_nothing_is_left "$(find "$root/etc/systemd" "$root/lib/systemd" "$root/var/lib/systemd" -name '*wormhole*')" ""
is nor_of_its_files "$(find "$root/usr/lib/wormhole" "$root/etc/wormhole" "$root/run/wormhole" 2>/dev/null)" ""
is nor_of_the_figures_that_node_exporter_reads "$(ls "$root$folder")" ""
[ "$tap_failed" = 0 ] || diag "$(cat "$tmp/log" "$tmp/systemd"; inside 'journalctl -n 40')"
finish

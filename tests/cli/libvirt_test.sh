#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that libvirt accepts what `wormhole xml` prints. It starts a libvirtd of its
# own with our emulator, hook, service and command; QEMU runs under TCG, without a guest. Others
# stand in for the kernel's control device (fake_control.c) and for a guest of the server VM,
# whose supervisor runs here.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
PATH=$PATH:/usr/sbin:/sbin
for c in libvirtd virsh virt-xml-validate qemu-system-x86_64 unshare; do
	command -v $c >/dev/null || skip_all "no $c: libvirt-daemon-system, libvirt-clients, qemu-system-x86"
done
[ "$(id -u)" = 0 ] || skip_all "qemu:///system is root's"
if [ "$1" != inside ]; then
	unshare -m true 2>/dev/null || skip_all "no mount namespaces here"
	exec unshare -m --propagation private sh "$0" inside
fi

# --- A host of its own: nothing of this machine's libvirt is seen or changed ---------------
export TMPDIR=/tmp
tmp=$(mktemp -d)
tag=wormhole-test-$$
chmod 755 "$tmp"
stop() {
	for p in server client twin plain; do $virsh destroy $p >/dev/null 2>&1; done
	for p in "$tmp"/*.pid /run/libvirtd.pid /run/libvirt/qemu/*.pid; do [ ! -s "$p" ] || kill $(cat "$p") 2>/dev/null; done
	wait
	rm -rf "$tmp" /dev/shm/$tag.*
}
virsh="virsh -q -c qemu:///system"
trap stop EXIT
# The test may be stopped from outside, and its daemons must not stay.
trap 'exit 1' HUP INT PIPE TERM
mkdir "$tmp/etc" "$tmp/server"
cp -r /etc/libvirt/. "$tmp/etc"
rm -rf "$tmp/etc/qemu" "$tmp/etc/hooks"
mkdir -p "$tmp/etc/hooks/qemu.d" "$tmp/etc/qemu"
for d in /run /var/lib/libvirt /var/log/libvirt /var/cache/libvirt; do
	mount -t tmpfs none $d || skip_all "no file systems can be mounted here"
done
mkdir -p /run/lock
mount --bind "$tmp/etc" /etc/libvirt
# The test has no virtlogd and makes no cgroups. If a domain can have a /dev of its own, it has
# one by default, with our devices that cgroup_device_acl names.
printf '%s\n' 'stdio_handler = "file"' 'cgroup_controllers = [ ]' >>/etc/libvirt/qemu.conf
own_dev=
own_dev() {
	# libvirt enters a domain's namespace by its number, which leaves a chroot. It would then
	# make the devices in the /dev of the machine around it.
	mkdir "$tmp/dev" && nsenter -m -t $$ test -d "$tmp/dev" || return 1
	# Not every root may make devices, so all of them are made elsewhere before anything is
	# removed.
	mount -t tmpfs -o mode=755 dev "$tmp/dev" && mkdir "$tmp/dev/pts" "$tmp/dev/shm" || return 1
	for d in null:3 zero:5 full:7 random:8 urandom:9 kvm-wormhole:3; do
		mknod -m 666 "$tmp/dev/${d%:*}" c 1 "${d#*:}" || return 1
	done
	echo >"$tmp/dev/null" && ln -s pts/ptmx "$tmp/dev/ptmx" && mount -t tmpfs shm "$tmp/dev/shm" &&
		mount -t devpts -o newinstance,ptmxmode=666 devpts "$tmp/dev/pts" || return 1
	# libvirt would take each mount below /dev along. They are unmounted lazily, as this shell
	# has /dev/null open, which is one of them in a container.
	for m in $(awk '$5 ~ "^/dev/" { print $5 }' /proc/self/mountinfo); do umount -l "$m" || return 1; done
	mount --move "$tmp/dev" /dev
}
acl=$(sed -n '/^#cgroup_device_acl/,/^#\]/s/^#//p' /etc/libvirt/qemu.conf)
if own_dev 2>/dev/null; then
	echo "$acl" | sed 's|"/dev/null"|"/dev/kvm-wormhole", &|' >>/etc/libvirt/qemu.conf
else
	own_dev=none
	echo 'namespaces = [ ]' >>/etc/libvirt/qemu.conf
fi

log=$tmp/log
: >"$log"
touch "$tmp/nobody"
cp "$WH_TOP/packaging/libvirt/emulator" "$tmp/emulator.real"
sed "s|exec /usr/lib/wormhole/libvirt|WORMHOLE=$tmp/wormhole exec $WH_TOP/packaging/libvirt|" \
	"$WH_TOP/packaging/libvirt/hook" >"$tmp/hook"
cat >"$tmp/emulator" <<EOF
#!/bin/sh
WORMHOLE=$tmp/wormhole exec sh $tmp/emulator.real "\$@"
EOF
# The log has a line for each limit that was taken, and for each change of the host. While nobody
# is in the server VM, no answer comes, however long the command waits; here it waits no more than
# a second.
cat >"$tmp/wormhole" <<EOF
#!/bin/sh
[ ! -e $tmp/taken ] || export FAKE_CONTROL=taken
wormhole="env LD_PRELOAD=$WH_BUILD/tests/cli/fake_control.so FAKE_LOG=$log FAKE_RUN=/run/wormhole $WH_BUILD/host/wormhole"
short=
[ ! -e $tmp/nobody ] || short=--timeout=1
case \$1 in
stat)
	[ ! -e $tmp/gate ] || touch $tmp/asks
	while [ -e $tmp/gate ]; do sleep 0.1; done
	exec \$wormhole "\$@" \$short
	;;
limit) \$wormhole "\$@" \$short && echo "\$*" | sed 's/ --timeout=15\$//' >>$log ;;
*) exec \$wormhole "\$@" ;;
esac
EOF
cat >"$tmp/worker" <<EOF
#!/bin/sh
case "\$*" in
*--devices*) exec $WH_BUILD/tests/worker/devices.py "\${*##* }" ;;
*) exec tail -f /dev/null ;;
esac
EOF
chmod 755 "$tmp/worker"
chmod 755 "$tmp/hook" "$tmp/emulator" "$tmp/wormhole"

# waits PATTERN FILE N waits until so many lines match, for at most 60 s.
waits() {
	waits_left=600
	until [ "$(grep -c -e "$1" "$2")" -ge "$3" ]; do
		waits_left=$((waits_left - 1))
		[ $waits_left -gt 0 ] || { cat "$2"; return 1; }
		sleep 0.1
	done
}
# boots stands for the boot of the server VM: QEMU's socket was there before, with nobody behind
# it.
boots() {
	rm -f /run/wormhole/1.control "$tmp/port"
	"$WH_BUILD/tests/worker/port.py" /run/wormhole/1.control "$tmp/port" &
	echo $! >"$tmp/guest.pid"
	until [ -e "$tmp/port" ]; do sleep 0.1; done
	FAKE_WINDOWS=2 "$WH_BUILD/tests/worker/fake_supervisor" --device /dev/null --worker "$tmp/worker" --backend b \
		--cpus 3 --tenants "$tmp/tenants" --nvml none --channel "$tmp/port" 2>>"$tmp/supervisor" &
	echo $! >>"$tmp/guest.pid"
	rm -f "$tmp/nobody"
}
ends() {
	touch "$tmp/nobody"
	# shellcheck disable=SC2046
	kill $(cat "$tmp/guest.pid")
	rm -f "$tmp/guest.pid" /run/wormhole/1.control
}
# has prints the limits that the supervisor applies to the client.
has() {
	"$tmp/wormhole" stat --json 1/window0 | /usr/bin/python3 -c 'import json, sys
d = json.load(sys.stdin)[0]["devices"][0]
print(d["memory_limit"] >> 20, d["sm_percent"], d["sm_policy"])'
}
# most prints the ceiling and the class that it applies.
most() {
	"$tmp/wormhole" stat --json 1/window0 | /usr/bin/python3 -c 'import json, sys
d = json.load(sys.stdin)[0]["devices"][0]
print(d["sm_max_percent"], d["priority"])'
}
logged() { tr '\n' ';' <"$log"; : >"$log"; }
fails() { ! "$@"; }
tenant() { $virsh metadata client https://wormhole.invalid/libvirt/tenant/1 --live --config "$@"; }
# tcg replaces what needs VMX, and a right that containers lack, by what TCG can do.
tcg() { sed -e "s/type='kvm'/type='qemu'/" -e '/host-passthrough/d' -e '/<memoryBacking>/,/<.memoryBacking>/d'; }

xml() {
	xml_role=$1 xml_name=$2
	shift 2
	"$WH_BUILD/host/wormhole" xml "$xml_role" "$xml_name" --emulator "$tmp/emulator" \
		--memory 32 --window "/dev/shm/$tag.0,2M" "$@"
}
truncate -s 1M "$tmp/server.img" "$tmp/client.img"
server() { xml server server --id 1 --disk "$tmp/server.img" --window "/dev/shm/$tag.1,4M" "$@"; }
client() { xml client client --id 2 --disk "$tmp/client.img" --server 1 --max-pairs 4 --mem 2G --sm 30 "$@"; }
validates() { "$@" >"$tmp/look.xml" && virt-xml-validate "$tmp/look.xml" domain; }
# wrong OPTIONS... prints what `wormhole xml client` says of them, and how it ends.
wrong() {
	wrong_said=$(xml client client --id 2 --disk d "$@" 2>&1 >/dev/null)
	echo "ends with $?: $wrong_said"
}
defined() { "$@" | tcg >"$tmp/look.xml" && $virsh define "$tmp/look.xml"; }

plan 52
ok server_validates validates server
ok client_validates validates client
mkdir "$tmp/image"
touch "$tmp/image/root.img"
ok server_with_an_image_and_a_gpu_validates validates xml server gpu0 --id 3 --image "$tmp/image" --gpu 65:00.0 \
	--append 'a<b & "c"' --limit 0:mem=2G
like words_of_the_kernel_are_escaped "$(cat "$tmp/look.xml")" "<cmdline>.*wormhole.limit=0:mem=2G a&lt;b &amp; \"c\"</cmdline>"
like the_gpu_is_vfios "$(cat "$tmp/look.xml")" "<address domain='0x0000' bus='0x65' slot='0x00' function='0x0'/>"
ok client_with_a_ceiling_and_a_class_validates validates client --sm-max none --priority high
like which_are_in_its_metadata "$(cat "$tmp/look.xml")" " mem='2G' sm='30' sm-max='none' priority='high'/>"
like another_class_is_wrong_usage "$(wrong --server 1 --sm 30 --priority urgent)" "ends with 2: .*'urgent' is neither low"
like and_so_is_a_ceiling_without_a_share "$(wrong --server 1 --sm-max 50)" "ends with 2: .*of a share of time: give --sm"
like and_a_class_without_a_server "$(wrong --sm 30 --priority low)" "ends with 2: .*give --server"
is window_elsewhere_is_wrong_usage "$("$WH_BUILD/host/wormhole" xml client c --id 2 --disk d --window /tmp/w,2M 2>/dev/null; echo $?)" 2

libvirtd --daemon -p /run/libvirtd.pid 2>"$tmp/libvirtd.err"
for d in server client; do ok libvirt_defines_the_$d defined $d; done

is without_the_hook_a_domain_with_a_role_does_not_start "$($virsh start client >"$tmp/out" 2>&1; echo $?)" 1
like and_its_emulator_says_why "$(cat "$tmp/out")" 'has no role: is the hook'
# On a busy machine libvirt comes late. The reason of an emulator that has ended by then would be
# lost.
is which_it_does_not_before_libvirt_is_at_its_monitor "$(/usr/bin/python3 -c 'import select, socket, subprocess, sys
at = socket.socket(socket.AF_UNIX)
at.bind(sys.argv[2])
at.listen(1)
monitor = "socket,id=charmonitor,fd=%d,server=on,wait=off" % at.fileno()
p = subprocess.Popen([sys.argv[1], "-uuid", "none", "-chardev", monitor], pass_fds=[at.fileno()], stderr=subprocess.PIPE)
early = select.select([p.stderr], [], [], 1)[0]
c = socket.socket(socket.AF_UNIX)
c.connect(sys.argv[2])
print(bool(early), b"has no role" in p.stderr.read(), p.wait())' "$tmp/emulator" "$tmp/monitor")" "False True 1"
cp "$tmp/hook" /etc/libvirt/hooks/qemu.d/wormhole
kill "$(cat /run/libvirtd.pid)"
while [ -e /run/libvirtd.pid ]; do sleep 0.1; done
libvirtd --daemon -p /run/libvirtd.pid 2>>"$tmp/libvirtd.err"

cat >"$tmp/plain.xml" <<EOF
<domain type='qemu'><name>plain</name><memory unit='MiB'>32</memory><os><type arch='x86_64'>hvm</type></os></domain>
EOF
$virsh create "$tmp/plain.xml" >"$tmp/out" 2>&1
is domain_without_a_role_is_let_alone "$?:$(cat "$tmp/out"):$(find /run/wormhole -name '*.json'):$(logged)" "0:::"
$virsh destroy plain

touch "$tmp/taken"
like what_the_command_refuses_is_what_virsh_says "$($virsh start server 2>&1)" 'a VM with id 1 is alive'
rm "$tmp/taken"
ok server_starts $virsh start server
is it_has_its_role_before_it_is_qemu "$(logged)" "server 1;"
is and_root_without_capabilities "$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p; s/^CapEff:\t//p' \
	"/proc/$(cat /run/libvirt/qemu/server.pid)/status" | tr '\n' ' ')" "0 0000000000000000 "
if [ "$own_dev" = none ]; then
	skip the_control_device_is_in_its_own_dev "no /dev of this test's own here"
else
	ok the_control_device_is_in_its_own_dev test -c "/proc/$(cat /run/libvirt/qemu/server.pid)/root/dev/kvm-wormhole"
fi
is windows_are_devices_in_their_order "$($virsh qemu-monitor-command --hmp server 'info pci' | tr -d '\r' |
	grep -A1 'device *[89],' | grep -c '1af4:1110') $(stat -c %s /dev/shm/$tag.1)" "2 4194304"

is client_whose_limits_cannot_be_set_does_not_start "$($virsh start client >"$tmp/out" 2>&1; echo $?) $(logged)" "1 "
like and_the_reason_is_the_servers "$(cat "$tmp/out")" '1/window0: the supervisor in the server VM does not answer'
boots
ok client_starts $virsh start client
is its_limits_come_before_it_is_allowed "$(logged)" \
	"limit 1/window0 --mem=2G --sm=30 --sm-policy=temporal --sm-max=hard --priority=normal;allow 2 1 window 0 pairs 4;client 2;"
is the_supervisor_has_them "$(has)" "2048 30 temporal"
is both_are_vms_to_the_command "$("$tmp/wormhole" stat | grep -o '^[sc][a-z]* [12]' | tr '\n' ';')" "server 1;client 2;"

xml client twin --id 2 --disk "$tmp/client.img" | tcg >"$tmp/twin.xml"
like domain_with_the_same_id_is_named "$($virsh create "$tmp/twin.xml" 2>&1)" 'id 2 is that of domain client'

WORMHOLE=$tmp/wormhole "$WH_TOP/packaging/libvirt/wormhole-libvirt" watch >"$tmp/watch" 2>&1 &
echo $! >"$tmp/watch.pid"
: >"$log"
tenant --key wormhole --set '<tenant mem="3G" sm="50"/>'
ok metadata_of_a_running_domain_change_its_limits waits '^limit 1/window0 --mem=3G --sm=50 ' "$log" 1
is and_the_supervisor_has_them "$(has)" "3072 50 temporal"
tenant --key wormhole --set '<tenant mem="lots"/>'
ok what_is_no_limit_is_named_with_its_domain waits "^client: .*'lots' is not a size" "$tmp/watch" 1
is and_the_old_one_stays "$(has)" "3072 50 temporal"
tenant --key wormhole --set '<tenant mem="3G" sm="50" sm-max="70" priority="low"/>'
ok ceiling_and_class_follow_the_metadata waits ' --sm-max=70 --priority=low$' "$log" 1
is and_the_supervisor_has_these_too "$(most)" "70 low"
# refused REGEX ATTRIBUTES: they are refused with this reason, and the old ones stay.
refused() {
	tenant --key wormhole --set "<tenant $2/>"
	waits "^client: .*$1" "$tmp/watch" 1 && [ "$(has) $(most)" = "3072 50 temporal 70 low" ]
}
ok what_is_no_ceiling_is_named refused "--sm-max: 'all' is" 'sm="50" sm-max="all"'
ok and_what_is_no_class refused "--priority: 'urgent' is neither" 'sm="50" priority="urgent"'
ok ceiling_below_the_share_is_refused refused '30 % is below the share of 40 %' 'sm="40" sm-max="30"'
ok and_one_of_a_share_of_the_sms refused 'those of a share of time' 'sm="40" sm-max="none" policy="spatial"'
ok and_a_word_that_tenant_has_not refused 'policy, sm-max, priority, not class' 'sm="40" class="high"'
tenant --key wormhole --set '<tenant sm="20" policy="spatial"/>'
waits '^limit 1/window0 --mem=none --sm=20 ' "$log" 1
is what_is_left_out_has_no_limit "$(has)" "0 20 spatial"
is nor_another_ceiling_or_class "$(most)" "20 normal"
tenant --remove
waits '^limit 1/window0 --mem=none --sm=none ' "$log" 1
is without_the_element_there_is_none "$(has)" "0 100 none"
tenant --key wormhole --set '<tenant mem="4G" sm="20"/>'
waits '^limit 1/window0 --mem=4G --sm=20 ' "$log" 1
is and_with_it_there_is_again "$(has)" "4096 20 temporal"
: >"$log"

$virsh destroy server
ends
is with_its_server_a_client_loses_the_permission "$(logged)" "deny 2;"
$virsh start server
waits 'window0: the supervisor in the server VM does not answer' "$tmp/watch" 1
is and_does_not_have_it_back_without_limits "$(logged)" "server 1;"
touch "$tmp/gate"
until [ -e "$tmp/asks" ]; do sleep 0.1; done
ok hooks_do_not_wait_while_it_is_asked flock -n /run/wormhole/libvirt/lock true
rm "$tmp/gate"
boots
waits '^allow' "$log" 1
is but_with_the_limits_that_it_had "$(logged)" "limit 1/window0 --mem=4G --sm=20 --sm-policy=temporal --sm-max=hard --priority=normal;allow 2 1 window 0 pairs 4;"
is which_the_new_supervisor_has "$(has)" "4096 20 temporal"

$virsh destroy client
is client_that_ends_is_denied "$(logged)" "deny 2;"
ends
$virsh destroy server
is nothing_is_left "$(ls /run/wormhole/libvirt) $(ls /run/wormhole)" "lock libvirt"
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the package of Kubernetes' drivers works in a bare Debian 12: that both run and say
# what they lack, that systemd finds no fault in their units, and that nothing is left of it. systemd then runs
# them as docs/kubernetes.md says, beside a server over softgpu. A stand-in for the API server is on this
# machine (tests/kubernetes/api.py), and the kubelet's side in the system (kubelet.py, node_kubelet.py).
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no chroot"
for d in host libraries kubernetes; do
	ls "$build/deb/wormhole-${d}"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
. "$top/tests/deb/systemd.sh"
packages=systemd,systemd-sysv,dbus,udev
. "$top/tests/deb/bare.sh"

# --- A node n1 of a cluster ----------------------------------------------------------------------
cluster=$root/opt/cluster
client=$build/tests/tenant/bin/client
schemas=$build/kubernetes-schemas/_definitions.json
slice=/apis/resource.k8s.io/v1/resourceslices/n1-gpu.wormhole.invalid
claim=aaaaaaaa-0000-4000-8000-00000000000
api=
make_node() {
	/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || { UNITS_LACK="no python3-jsonschema here"; return 1; }
	[ -e "$schemas" ] || { UNITS_LACK="no schemas of Kubernetes: tools/get-kubernetes.sh"; return 1; }
	[ -e "$client" ] || { UNITS_LACK="$client is not built"; return 1; }
	echo n1 >"$root/etc/hostname"
	mkdir -p "$cluster" "$cluster/build"
	ln -s /usr/lib/wormhole/kubernetes "$cluster/build/kubernetes"
	ln -s /var/lib/kubelet "$cluster/kubelet"
	cp "$top/tests/kubernetes/kubelet.py" "$top/tests/kubernetes/node_kubelet.py" "$client" "$cluster/"
}
start_api() {
	WH_BUILD=$build /usr/bin/python3 "$top/tests/kubernetes/api.py" "$cluster" 2>"$tmp/api" &
	api=$!
	await test -e "$cluster/kubeconfig"
	mkdir "$root/etc/kubernetes"
	cp "$cluster/kubeconfig" "$root/etc/kubernetes/wormhole.conf"
}
python() { inside "WH_BUILD=/opt/cluster/build /usr/bin/python3 -B /opt/cluster/$*"; }
kubelet() { python kubelet.py /opt/cluster "$@"; }
node() { python node_kubelet.py /opt/cluster "$@"; }
# What is published: the memory and the share of each device.
capacities() { kubelet GET $slice | grep -o '"\(memory\|share\)": {"value": "[^"]*"' | sed 's/.*"\([^"]*\)"$/\1/' | tr '\n' ' '; }
published() { [ "$(capacities)" = "$1" ]; }
figures() { inside "wormhole stat claim-$claim$1 --json" | sed -n 's/^.*"\(memory_limit\|sm_percent\)":[^0-9]*\([0-9]*\).*/\2/p' | sort -u | tr '\n' ' '; }
program_sees() { inside "wormhole run --tenant claim-$claim$1 -- /opt/cluster/client info"; }
active() { inside "systemctl is-active $*" | tr '\n' ' '; }
# What a unit's hardening has kept from its process, after the kubelet has made its folders.
kept_from() { inside "journalctl -q -u $1" | grep -v 'a kubelet makes' | grep -i 'not permitted\|denied\|read-only\|traceback\|wormhole: error'; }

# node_points are of the units, by the commands of docs/kubernetes.md.
node_points() {
	start_api
	printf '%s\n' 'SERVE_OPTIONS="--backend softgpu"' WORMHOLE_SOFTGPU_MEM=8G >"$root/etc/default/wormhole"
	# A node's first boot may start the units before a kubelet, which makes its folders.
	rm -r "$root/var/lib/kubelet"
	inside "systemctl start wormhole-kubernetes wormhole-device-plugin" >>"$tmp/log"
	for u in $units; do
		await_inside "journalctl -q -u $u | grep 'wormhole: error: '"
		like "${u%.service}_says_that_there_is_no_kubelets_folder" "$(inside "journalctl -q -u $u -o cat")" \
			"^wormhole: error: .*/var/lib/kubelet.* a kubelet makes .* when it starts$"
	done
	inside "systemctl stop wormhole-device-plugin" >>"$tmp/log"
	mkdir -p "$root/var/lib/kubelet/plugins_registry" "$root/var/lib/kubelet/device-plugins"
	node serve >"$tmp/kubelet" &
	await test -S "$cluster/kubelet.control"
	inside "systemctl enable --now wormhole wormhole-kubernetes" >>"$tmp/log"
	is units_start_by_the_pages_command "$? $(active wormhole wormhole-kubernetes)" "0 active active "
	await published "8192Mi 100 "
	is devices_are_published_for_the_hosts_name "$(capacities)" "8192Mi 100 "
	kubelet claim ${claim}1 memory=4Gi share=30 >>"$tmp/log"
	answer=$(kubelet prepare ${claim}1)
	like claim_gets_a_device "$answer" "\"cdi_device_ids\": \[\"wormhole/tenant=claim-${claim}1\"\]"
	is its_tenant_has_4_gib_and_30_percent "$(figures 1)" "30 4294967296 "
	like program_sees_4_gib "$(program_sees 1)" "^total 4294967296 "
	inside "systemctl restart wormhole-kubernetes" >>"$tmp/log"
	is next_driver_answers_the_same "$(active wormhole-kubernetes) $(kubelet prepare ${claim}1)" "active  $answer"
	inside "rm /run/cdi/wormhole-claim-${claim}1.json; systemctl restart wormhole" >>"$tmp/log"
	await test -e "$root/run/cdi/wormhole-claim-${claim}1.json"
	is next_server_has_the_claim "$(active wormhole wormhole-kubernetes) $(program_sees 1 | cut -d' ' -f-2)" "active active  total 4294967296"
	is taken_back_its_tenant_ends "$(kubelet unprepare ${claim}1; inside 'wormhole tenant list' | grep -c claim-)" "${claim}1 {}
0"
	is nothing_is_refused_to_the_driver "$(kept_from wormhole-kubernetes)" ""
	node_plugin_points
	inside "systemctl stop wormhole-kubernetes wormhole-device-plugin wormhole" >>"$tmp/log"
	is units_stop_for_good "$? $(active wormhole wormhole-kubernetes wormhole-device-plugin)" "0 inactive inactive inactive "
	by_hand_points
	kill $api
	inside "systemctl disable wormhole wormhole-kubernetes wormhole-device-plugin" >>"$tmp/log"
	rm -r "$cluster" "$root/etc/kubernetes"
}
node_plugin_points() {
	inside "systemctl enable --now wormhole-device-plugin" >>"$tmp/log"
	is unit_of_the_device_plugin_gives_hamis_resources "$(node await_plugins)" \
		'{"gpu": [10, 10], "gpucores": [100, 100], "gpumem": [8192, 8192], "gpumem-percentage": [100, 100]}'
	node admit team/a gpu=1 gpumem=4096 gpucores=30 >>"$tmp/log"
	like its_container_gets_a_device "$(node start team/a)" '^\["wormhole/share=vgpu-[0-9]*"\]$'
	is nothing_is_refused_to_it "$(kept_from wormhole-device-plugin)" ""
}
by_hand_points() {
	inside "WORMHOLE_SOFTGPU_MEM=8G wormhole serve --daemon --backend softgpu" >>"$tmp/log"
	kubelet DELETE $slice >>"$tmp/log"
	inside "wormhole-kubernetes --node n1 --kubeconfig /etc/kubernetes/wormhole.conf" >"$tmp/driver" &
	await published "8192Mi 100 "
	kubelet claim ${claim}2 memory=4Gi share=30 >>"$tmp/log"
	kubelet prepare ${claim}2 >>"$tmp/log"
	is by_hand_it_is_the_same "$(capacities) $(figures 2)" "8192Mi 100  30 4294967296 "
	kubelet unprepare ${claim}2 >>"$tmp/log"
	pkill -f '^/usr/bin/python3 -B /usr/sbin/wormhole-kubernetes '
	inside "wormhole stop" >>"$tmp/log"
}

if make_node && boot_systemd; then
	inside() { booted "$1"; }
	plan 29
else
	plan 14
	skip units_run "$UNITS_LACK"
fi
files >"$tmp/files"
out=$(inside "apt-get install -y --no-install-recommends ./wormhole-host_*.deb ./wormhole-libraries_*.deb ./wormhole-kubernetes_*.deb")
like package_is_installed "$? $out" "^Setting up wormhole-kubernetes"
is nothing_is_started_by_that "$(pgrep -f "^/usr/bin/python3 .*wormhole-" | wc -l)" 0
units="wormhole-kubernetes.service wormhole-device-plugin.service"
is systemd_finds_no_fault_in_its_units "$(inside "cd /lib/systemd/system && systemd-analyze verify --man=no $units" | grep wormhole-)" ""
# NAME EXPOSURE RATING: 0 is the least that a unit may do, 10 is all.
for u in $units; do
	like "${u%.service}_may_do_little" "$(inside "systemd-analyze security --offline=yes --no-pager $u" | tail -n 1)" "exposure level for $u: [0-2]\.[0-9] OK"
done
inside "wormhole serve --backend softgpu --daemon" >"$tmp/serve"
inside "mkdir -p /var/lib/kubelet/device-plugins; timeout 3 wormhole-device-plugin --period 0.2" >"$tmp/plugin"
like plugin_says_that_there_is_no_kubelet "$(cat "$tmp/plugin")" "^wormhole: warn: there is no kubelet at /var/lib/kubelet/device-plugins/kubelet.sock"
like driver_says_which_package_it_needs "$(inside "wormhole-kubernetes --node n1")" "^wormhole: error: .*python3-kubernetes"
inside "apt-get install -y ./wormhole-host_*.deb ./wormhole-libraries_*.deb ./wormhole-kubernetes_*.deb python3-kubernetes" >"$tmp/log"
like and_then_which_cluster_it_is_for "$(inside "wormhole-kubernetes --node n1")" "^wormhole: error: the API server is unknown: .*; name a file by --kubeconfig"
like manifests_are_there "$(inside 'ls /usr/share/doc/wormhole-kubernetes/examples' | tr '\n' ' ')" "^Containerfile base claims hami pods softgpu $"
is both_have_a_page "$(inside 'ls /usr/share/man/man8' | grep -c '^wormhole-\(kubernetes\|device-plugin\)')" 2
inside "wormhole stop --force" >>"$tmp/log"
[ -n "$UNITS_LACK" ] || node_points
[ "$tap_failed" = 0 ] || diag "$(cat "$tmp/log" "$tmp/api" "$tmp/driver"; inside 'journalctl -n 40')"
inside "apt-get purge -y wormhole-kubernetes wormhole-host wormhole-libraries && rm -r /var/lib/kubelet" >"$tmp/log"
is package_is_removed "$?" 0
inside "apt-get autoremove -y --purge" >"$tmp/log"
is no_file_is_left "$(files | grep -v '^./\(var/lib/\(systemd\|wormhole\)\|usr/lib/python3\)' | comm -13 "$tmp/files" - | grep -i 'wormhole\|kubelet')" ""
if command -v lintian >/dev/null; then
	lintian --allow-root -I --tag-display-limit 0 "$build"/deb/wormhole-kubernetes_*.deb >"$tmp/lintian" 2>&1
	is lintian_finds_no_error_and_no_warning "$(grep '^[EW]:' "$tmp/lintian")" ""
else
	skip lintian_finds_no_error_and_no_warning "no lintian here"
fi
finish

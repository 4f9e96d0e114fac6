#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the package of Kubernetes' drivers works in a bare Debian 12: that both run and say
# what they lack, that systemd finds no fault in their units, and that nothing is left of it.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no chroot"
for d in host libraries kubernetes; do
	ls "$build/deb/wormhole-${d}"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
packages=systemd
. "$top/tests/deb/bare.sh"

plan 13
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
inside "apt-get install -y --no-install-recommends python3-kubernetes" >"$tmp/log"
like and_then_which_cluster_it_is_for "$(inside "wormhole-kubernetes --node n1")" "^wormhole: error: the API server is unknown: .*; name a file by --kubeconfig"
like manifests_are_there "$(inside 'ls /usr/share/doc/wormhole-kubernetes/examples' | tr '\n' ' ')" "^Containerfile base claims hami pods softgpu $"
is both_have_a_page "$(inside 'ls /usr/share/man/man8' | grep -c '^wormhole-\(kubernetes\|device-plugin\)')" 2
inside "wormhole stop --force; apt-get purge -y wormhole-kubernetes wormhole-host wormhole-libraries; rm -r /var/lib/kubelet" >"$tmp/log"
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

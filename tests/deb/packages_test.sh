#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The packages in a bare Debian 12, made by mmdebstrap in a folder (60 MB from the archive):
# a tenant over softgpu in three commands, all programs of a client, and nothing left
# when they are removed. docs/install.md has the same commands.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no chroot"
for d in host libraries client kvm-dkms; do
	ls "$build/deb/wormhole-${d}"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
command -v mmdebstrap >/dev/null || skip_all "no mmdebstrap here"
program=$build/examples/shared/vectorAdd
fixed=$build/examples/static/vectorAdd
need_built "$program" "$fixed"
# In namespaces of its own: what is mounted and started goes with the test.
[ "${1:-}" = inside ] || exec unshare -m -p -f --kill-child "$0" inside

tmp=$(mktemp -d)
root=$tmp/root
# Below it this machine's files are mounted, too: nothing is removed there, all of it is one
# mount that goes.
trap 'umount -R "$tmp" && rmdir "$tmp"' EXIT
mount -t tmpfs -o mode=755 bare "$tmp" || { trap - EXIT; skip_all "no tmpfs may be mounted here"; }
mmdebstrap --quiet --variant=apt --skip=cleanup/apt,check/empty --dpkgopt=force-unsafe-io \
	bookworm "$root" "$top/tests/deb/bookworm.list" >"$tmp/log" 2>&1 ||
	skip_all "no bare Debian 12 is to be had: $(tail -n 1 "$tmp/log")"
mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=755 dev "$root/dev" &&
	mount -t tmpfs -o mode=755 run "$root/run" ||
	skip_all "nothing may be mounted here"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for f in null zero full random urandom tty; do
	touch "$root/dev/$f"
	mount --bind "/dev/$f" "$root/dev/$f"
done
cp /etc/resolv.conf "$root/etc/"
cp "$program" "$root/opt/program"
cp "$fixed" "$root/opt/static"
mkdir "$root/debs"
cp "$build"/deb/*.deb "$root/debs"

inside() {
	# shellcheck disable=SC2154
	chroot "$root" env -i ${http_proxy:+"http_proxy=$http_proxy"} PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		DEBIAN_FRONTEND=noninteractive sh -c "cd /debs; $1" 2>&1
}
# What is there, but for what apt and dpkg note about their own work.
files() {
	(cd "$root" && find . -xdev ! -path './var/lib/apt/*' ! -path './var/lib/dpkg/*' \
		! -path './var/log/*' ! -path './var/cache/*' | sort)
}
installed() { inside "dpkg-query -W -f '\${Package}\n'"; }

plan 21
files >"$tmp/files"
installed >"$tmp/packages"

# --- A tenant in three commands ------------------------------------------------------------
out=$(inside "apt-get install -y --no-install-recommends ./wormhole-host_*.deb ./wormhole-libraries_*.deb")
like packages_of_a_host_are_installed "$? $out" "^Setting up wormhole-host"
is nothing_is_started_by_that "$(inside 'ls /run/wormhole 2>/dev/null')" ""
inside "wormhole serve --backend softgpu --daemon" >"$tmp/serve"
is programs_are_served_over_softgpu "$?" 0
out=$(inside "wormhole run --mem 2G --sm 30 -- /opt/program")
like and_one_runs_as_a_tenant "$? $out" "^0 vectorAdd: PASS"
out=$(inside "wormhole run --mem 2G --sm 30 -- /opt/static")
like so_does_one_with_a_static_runtime "$? $out" "^0 vectorAdd: PASS"
like wormhole_check_says_ready "$(inside 'wormhole check programs')" "^programs of this machine: ready, on softgpu"
is nothing_of_it_lacks_a_library "$(inside 'LD_LIBRARY_PATH=/usr/lib/wormhole/client-stubs ldd /usr/bin/wormhole /usr/lib/wormhole/*/*' |
	grep 'not found')" ""
inside "wormhole tenant create alice --mem 64M --sm 30"
is containers_are_a_tenants_clients_by_a_device "$(inside 'wormhole cdi alice; ls /run/cdi' | tr '\n' ' ')" \
	"wormhole/tenant=alice wormhole-alice.json "
is whose_libraries_and_socket_are_there "$(inside 'for f in $(sed -n "s/.*\"hostPath\":[^\"]*\"\(.*\)\".*/\1/p" /run/cdi/wormhole-alice.json); do
	test -e $f && echo $f; done' | tr '\n' ' ')" "/usr/lib/wormhole/client-stubs /run/wormhole/tenants/alice.sock "
out=$(inside "/opt/program")
like without_wormhole_run_the_program_finds_no_cuda "$? $out" "^127 .*libcudart.so.13: cannot open"

# --- A client VM's programs ----------------------------------------------------------------
inside "apt-get install -y ./wormhole-client_*.deb" >"$tmp/log"
is package_of_a_client_is_installed "$?" 0
like the_loader_finds_cuda_there "$(inside 'ldconfig -p')" "libcuda.so.1 .* => /usr/lib/wormhole/client-stubs/libcuda.so.1"
out=$(inside "/opt/program")
like every_program_is_led_to_the_server "$? $out" "^0 vectorAdd: PASS"
out=$(inside ". /etc/profile && /opt/static")
like one_with_a_static_runtime_in_a_login_shell "$? $out" "^0 vectorAdd: PASS"
like and_in_a_unit "$(inside 'env $(cat /usr/lib/wormhole/client/client.env) /opt/static')" "^vectorAdd: PASS"
inside "apt-get remove -y wormhole-client" >"$tmp/log"
is client_is_removed "$? $(inside 'ldconfig -p' | grep wormhole)" "0 "

# --- Nothing is left --------------------------------------------------------------------------
inside 'kill $(cat /run/wormhole/server.lock)'
inside "apt-get purge -y wormhole-host wormhole-libraries" >"$tmp/log"
is host_is_removed "$?" 0
inside "apt-get autoremove -y --purge" >"$tmp/log"
is no_package_is_left "$(installed | comm -13 "$tmp/packages" -)" ""
is no_file_is_left "$(files | comm -13 "$tmp/files" -)" ""
is and_none_is_lost "$(files | comm -23 "$tmp/files" -)" ""

# --- Debian's own check of packages --------------------------------------------------------
if command -v lintian >/dev/null; then
	is lintian_finds_no_error "$(lintian --allow-root "$build"/deb/*.deb 2>&1 | grep '^E:')" ""
else
	skip lintian_finds_no_error "no lintian here"
fi
finish

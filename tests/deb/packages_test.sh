#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the packages work in a bare Debian 12, which mmdebstrap makes in a folder
# (60 MB from the archive): a tenant over softgpu in three commands, all programs of a client, and
# nothing left when they are removed. docs/install.md has the same commands.
top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
. "$top/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "not root: no chroot"
for d in host libraries client kvm-dkms; do
	ls "$build/deb/wormhole-${d}"_*.deb >/dev/null 2>&1 || skip_all "no packages: make deb"
done
program=$build/examples/shared/vectorAdd
fixed=$build/examples/static/vectorAdd
need_built "$program" "$fixed"
. "$top/tests/deb/bare.sh"
cp "$program" "$root/opt/program"
cp "$fixed" "$root/opt/static"

plan 27
files >"$tmp/files"
installed >"$tmp/packages"

# --- A tenant in three commands ------------------------------------------------------------
out=$(inside "apt-get install -y ./wormhole-host_*.deb ./wormhole-libraries_*.deb")
like packages_of_a_host_are_installed "$? $out" "^Setting up wormhole-host"
is with_what_programs_need_alone "$(installed | comm -13 "$tmp/packages" - | tr '\n' ' ')" "libcjson1 wormhole-host wormhole-libraries "
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
is what_that_mounts_is_there "$(inside 'for f in $(sed -n "s/.*\"hostPath\":[^\"]*\"\(.*\)\".*/\1/p" /run/cdi/wormhole-alice.json); do
	test -e $f && echo $f; done' | tr '\n' ' ')" "/usr/lib/wormhole/client-stubs /run/wormhole/tenants/alice.sock /dev/null "
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
# A login shell that goes on: bash asks what to do before each prompt, and has no terminal here.
inside "bash -lic 'apt-get remove -y wormhole-client >/dev/null; eval \"\$PROMPT_COMMAND\"; ls /opt; env'" >"$tmp/shell"
is client_is_removed "$? $(inside 'ldconfig -p' | grep wormhole)" "0 "

is a_shell_that_had_its_variables_goes_on "$(sed -n '/^program$/,$p' "$tmp/shell" | grep -c 'ld.so\|^LD_') $(grep -c '^program$' "$tmp/shell")" "0 1"

# --- Nothing is left --------------------------------------------------------------------------
# The server that was started by hand runs still. There are devices for containers, and one whose
# server was killed.
inside 'wormhole cdi --share carol --mem 64M --sm 10; touch /run/cdi/wormhole-dead.json
	printf /run/cdi/wormhole-dead.json >/run/wormhole/tenants/dead.cdi; touch /etc/wormhole/gpu0.conf' >"$tmp/log"
is there_are_devices_of_three_kinds "$(ls "$root/run/cdi" | tr '\n' ' ')" "wormhole-alice.json wormhole-dead.json wormhole-share-carol.json "
inside "apt-get purge -y wormhole-host wormhole-libraries" >"$tmp/log"
is host_is_removed "$?" 0
is no_process_of_it_is_left "$(cat "$root"/proc/[0-9]*/comm 2>/dev/null | grep wormhole)" ""
is nor_a_file_of_a_server_or_of_containers "$(cd "$root/run" && find . -name '*wormhole*' -o -name cdi)" ""
inside "apt-get autoremove -y --purge" >"$tmp/log"
is no_package_is_left "$(installed | comm -13 "$tmp/packages" -)" ""
is no_file_is_left "$(files | comm -13 "$tmp/files" -)" ""
is and_none_is_lost "$(files | comm -23 "$tmp/files" -)" ""

# --- Debian's own check of packages --------------------------------------------------------
if command -v lintian >/dev/null; then
	lintian --allow-root -I --tag-display-limit 0 "$build"/deb/*.deb >"$tmp/lintian" 2>&1
	is lintian_finds_no_error_and_no_warning "$(grep '^[EW]:' "$tmp/lintian")" ""
	is and_all_programs_have_debians_flags "$(grep ' hardening-' "$tmp/lintian")" ""
else
	skip lintian_finds_no_error_and_no_warning "no lintian here"
	skip and_all_programs_have_debians_flags "no lintian here"
fi
finish

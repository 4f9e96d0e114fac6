#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that an installation finds its own parts, and needs nothing of the build
# folder.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

mapped() { grep -h "$1" "/proc/$2/maps" | awk '{ print $NF }' | sort -u; }

plan 7
ok install_succeeds make -C "$WH_TOP" O="$WH_BUILD" install DESTDIR="$tmp/root" PREFIX=/opt/wormhole
prefix=$tmp/root/opt/wormhole
wormhole=$prefix/bin/wormhole
ok installed_server_starts serve
is completion_is_installed "$("$wormhole" completion bash)" "$(cat "$prefix/share/bash-completion/completions/wormhole")"
start a --mem 64M --tenant a -- alloc=1048576
like program_works "$(cat "$tmp/a.out")" ready
is client_library_is_the_installed_one "$(mapped libcuda "$(pid a)")" "$prefix/lib/wormhole/client-stubs/libcuda.so.1"
is driver_is_the_installed_one "$(mapped libcuda "$(workers)")" "$prefix/lib/wormhole/softgpu/libcuda.so.1"
is nothing_is_of_the_build_folder "$(mapped "$WH_BUILD/[hcs]" "$(workers)")$(readlink "/proc/$(server)/exe")" \
	"$prefix/lib/wormhole/server/wormhole-server"
finish_client a
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installed as NAME.t and NAME_static.t: runs bin/NAME with our libcudart.so.13
# over softgpu, or, for a static runtime, with the preload library.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
name=$(basename "$0" .t)
program=$WH_BUILD/tests/cudart/bin/$name

if [ ! -x "$program" ]; then
	echo "1..0 # SKIP nvcc was not there when the tests were built"
	exit 0
fi
case $name in
*_static)
	LD_PRELOAD=$WH_BUILD/client-stubs/libwormhole-preload.so
	LD_LIBRARY_PATH=$WH_BUILD/softgpu
	export LD_PRELOAD
	;;
*)
	LD_LIBRARY_PATH=$WH_BUILD/softgpu:$WH_BUILD/client-stubs
	;;
esac
export LD_LIBRARY_PATH
exec "$program"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The script is installed as NAME.t, NAME_static.t and NAME_shm.t. It runs bin/NAME over softgpu
# in its process, the same with a static runtime (as NAME_stripped.t, without a symbol table) and
# the preload library, and over a server and its worker. The program itself says what it promises.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/cudart/environment.sh"
name=$(basename "$0" .t)
program=$WH_BUILD/tests/cudart/bin/${name%_shm}

[ -x "$program" ] || skip_all "nvcc, or for CUDA 11 and 12 their headers, were not there when the tests were built"
case $name in
*_static | *_stripped)
	use_transport direct
	LD_LIBRARY_PATH=$static_path LD_PRELOAD=$stubs/libwormhole-preload.so "$program"
	;;
*_shm)
	use_transport shm
	LD_LIBRARY_PATH=$shared_path "$program"
	;;
*)
	use_transport direct
	LD_LIBRARY_PATH=$shared_path "$program"
	;;
esac

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that a kernel cannot reach its worker's own memory, or that the server has
# said at its start that this driver lets kernels reach their whole process (HMM). It is always
# the one that agrees with what the driver says of itself.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
needs_programs "$WH_BUILD/tests/attack/bin/kernel_reach"
[ "$(id -u)" = 0 ] || skip_all "needs root to look into the worker"

# hmm prints CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS of the first device.
hmm() {
	LD_LIBRARY_PATH=$server_path python3 - "$driver" <<'PY'
import ctypes, sys
lib, on = ctypes.CDLL(sys.argv[1]), ctypes.c_int(-1)
print(on.value if lib.cuInit(0) or lib.cuDeviceGetAttribute(ctypes.byref(on), 88, 0) else on.value)
PY
}

# reach prints what a kernel gets: whether it saw its target, and whether the launch failed.
reach() { # read|write
	export ATTACK_SERVER=$server_pid
	in_world shm shared timeout 60 "$WH_BUILD/tests/attack/bin/kernel_reach" "$1" 2>&1 |
		sed 's/ 0 / without an error, /; s/ [1-9][0-9]* / with an error, /'
}

plan 3
case $(hmm) in
0)	diag "this driver has no HMM, or it is off"
	said=0 result="with an error, not seen" ;;
1)	diag "HMM is on"
	said=1 result="without an error, seen" ;;
*)	diag "the driver does not say whether HMM is on"
	said="the driver's word" result= ;;
esac

is server_says_when_kernels_reach_its_workers \
	"$(grep -c '^wormhole: warn: device 0: kernels reach all memory' "$world_dir/server.start")" "$said"
is kernel_gets_what_that_means_when_it_reads "$(reach read)" "read $result"
is kernel_gets_what_that_means_when_it_writes "$(reach write)" "write $result"
finish

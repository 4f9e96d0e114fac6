# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of libraries: the server of the shm tests, and fake libraries.
. "$(dirname "$0")/shm.sh"
bin=$WH_BUILD/tests/lib/bin
# Where a worker may write, in whose sandbox the fake libraries are: Landlock leaves /dev/shm.
FAKE_LOG=$(mktemp /dev/shm/wormhole-lib.XXXXXX)
export FAKE_LOG
chmod 666 "$FAKE_LOG"
# Tenants with users of their own have a /dev/shm of their own.
export WORMHOLE_WORKER_UID=none
trap 'rm -f "$FAKE_LOG"; finish' EXIT
export WORMHOLE_CUBLAS="$bin/fake_cublas.so" WORMHOLE_CURAND="$bin/fake_curand.so"
# Of cublasLt there is softgpu's.
export WORMHOLE_CUBLASLT="$WH_BUILD/softgpu/libcublasLt.so.13"
export WORMHOLE_CUDNN="$bin/fake_cudnn.so" WORMHOLE_NVML="$bin/fake_nvml.so"
export WORMHOLE_CUFFT="$bin/fake_cufft.so" WORMHOLE_CUSPARSELT="$bin/fake_cusparselt.so"
export WORMHOLE_CUSPARSE="$bin/fake_cusparse.so" WORMHOLE_CUSOLVER="$bin/fake_cusolver.so"
export WORMHOLE_NCCL="$bin/fake_nccl.so"
: >"$FAKE_LOG"

use_loopback() {
	export WORMHOLE_TRANSPORT=loopback WORMHOLE_BACKEND="$WH_BACKEND"
	export WORMHOLE_SESSION="$WH_BUILD/server/libwormhole-session.so"
}

# Requests of a program that does something so many times, and how many are waited for.
requests() { # PROGRAM COUNT [WHAT]
	WORMHOLE_STATS=1 timeout 60 "$bin/$1" "${3:-requests}" "$2" 2>&1 >"$tmp/out" |
		sed -n 's/^wormhole: \([0-9]*\) requests went to the worker, \([0-9]*\) of .*/\1 \2/p'
}

# A hundred times more: requests, and waits.
hundred() { # PROGRAM [WHAT]
	few=$(requests "$1" 6 "${2:-}") && many=$(requests "$1" 106 "${2:-}") && [ "${few% *}" -gt 0 ] || return 1
	echo "$((${many% *} - ${few% *})) $((${many#* } - ${few#* }))"
}

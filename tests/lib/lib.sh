# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of libraries: the server of the shm tests, and fake libraries.
. "$(dirname "$0")/shm.sh"
bin=$WH_BUILD/tests/lib/bin
# Where a worker may write, in whose sandbox the fake libraries are: Landlock leaves /dev/shm.
FAKE_LOG=$(mktemp /dev/shm/wormhole-lib.XXXXXX)
export FAKE_LOG
chmod 666 "$FAKE_LOG"
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

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that NCCL's ranks have their native values, on one GPU or two: alone, in one
# thread, in threads and in processes. two_gpus_test.sh tests the same by PyTorch.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
prog=$WH_BUILD/tests/lib/bin/nccl_gpu
needs_programs "$prog"
folder=$(find_library libnccl.so.2) || skip_all "no libnccl.so.2 on this machine"
[ "$world_kind" = gpu ] || skip_all "NCCL has no kernels for softgpu"

values() { # WORLD COMMAND...
	said=$world_dir/$1
	shift
	{ timeout 120 "$@" "$prog" && timeout 120 "$@" "$prog" processes; } >"$said" 2>"$said.err" ||
		diag "$(basename "$said"): status $?: $(tail -n 3 "$said.err")"
}

plan 8
serve --libraries "$folder"
# Multicast does not exist everywhere, and is off in workers, so it is off natively as well.
values native env LD_LIBRARY_PATH="$folder:$native_path" NCCL_NVLS_ENABLE=0
values forwarded "$wormhole" run --
for way in one_rank "one_thread all_reduce" "one_thread all_gather" "one_thread ring" "one_thread split" threads \
	processes; do
	want=$(grep "^$way " "$world_dir/native" | sort)
	is "$(echo "$way" | tr ' ' _)" "$(grep "^$way " "$world_dir/forwarded" | sort)" "${want:-"nothing natively"}"
done
finish

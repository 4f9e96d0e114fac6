#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the programs of a tenant of one of two GPUs (--devices) see that GPU
# alone, by the driver, by NVML and by PyTorch, and that their memory lies there.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
await_limit=30
uuids=$(nvidia-smi --query-gpu=uuid --format=csv,noheader 2>/dev/null)
[ "$(echo "$uuids" | wc -l)" = 2 ] || skip_all "no two GPUs on this machine"
second=$(echo "$uuids" | tail -n 1)

# The program prints what it sees, the UUID of each device on a line; then it takes 1 GiB and
# waits for a line.
cat >"$world_dir/program.py" <<'PY'
import ctypes, sys, uuid
cu = ctypes.CDLL("libcuda.so.1")
n, held, context, seen = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_ubyte * 16)()
assert not cu.cuInit(0) and not cu.cuDeviceGetCount(ctypes.byref(n))
for i in range(n.value):
    assert not cu.cuDeviceGetUuid_v2(seen, i)
    print("GPU-" + str(uuid.UUID(bytes=bytes(seen))))
print("one more:", cu.cuDeviceGetUuid_v2(seen, n.value), flush=True)
if "hold" in sys.argv:
    assert not cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) and not cu.cuCtxSetCurrent(context)
    assert not cu.cuMemAlloc_v2(ctypes.byref(held), ctypes.c_size_t(1 << 30))
    print("held", flush=True)
    sys.stdin.readline()
PY

used() { # DEVICE: MiB
	nvidia-smi -i "$1" --query-gpu=memory.used --format=csv,noheader,nounits
}

# grown OPTION... sets two variables to how many MiB more each GPU has in use while a program
# holds 1 GiB.
grown() {
	mkfifo "$world_dir/end"
	first_before=$(used 0) second_before=$(used 1)
	"$wormhole" run "$@" -- "$python" "$world_dir/program.py" hold <"$world_dir/end" >"$world_dir/hold" 2>&1 &
	pid=$!
	exec 5>"$world_dir/end"
	await grep -q '^held' "$world_dir/hold"
	first_grown=$(($(used 0) - first_before)) second_grown=$(($(used 1) - second_before))
	exec 5>&-
	wait $pid || diag "$(cat "$world_dir/hold")"
	rm "$world_dir/end"
}

plan 8
serve --libraries "${WH_GPU_LIBS:+$WH_GPU_LIBS:}$(wheels)"
is tenant_without_a_word_has_both "$("$wormhole" run -- "$python" "$world_dir/program.py" 2>&1)" "$uuids
one more: 101"
is with_one_it_has_that_one "$("$wormhole" run --devices 1 -- "$python" "$world_dir/program.py" 2>&1)" "$second
one more: 101"
is so_it_has_by_its_uuid "$("$wormhole" run --devices "$second" -- "$python" "$world_dir/program.py" 2>&1)" "$second
one more: 101"
is and_by_nvml "$("$wormhole" run --devices 1 -- nvidia-smi --query-gpu=uuid --format=csv,noheader 2>&1)" "$second"
grown --devices 1 --mem 4G
ok its_memory_lies_there [ "$second_grown" -ge 1024 ]
ok and_none_on_the_other [ "$first_grown" -lt 1024 ]
if "$python" -c 'import torch' 2>/dev/null; then
	is pytorch_computes_there "$("$wormhole" run --devices 1 -- "$python" -c 'import torch
x = torch.arange(1024, device="cuda")
print(torch.cuda.device_count(), (x * x).sum().item(), "GPU-" + str(torch.cuda.get_device_properties(0).uuid))' 2>&1)" \
		"1 357389824 $second"
else
	skip pytorch_computes_there "no torch in $python"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that Python packages, as people install them, use Wormhole's libraries under
# plain `wormhole run`: every mapped CUDA library that Wormhole has, in the program and in a child
# of it, is Wormhole's. WH_PYTHON is the python3 that has the packages; a package that it lacks is
# skipped. The server's libraries are found as for the other tests (WH_GPU_LIBS).
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
use_run
LIBRARIES=$WH_BUILD/client-stubs
export LIBRARIES

# program NAME prints a program which, with a child of it, says what it computed, and then each
# file that is mapped in place of one of ours.
program() { # NAME
	cat <<'PY'
import os, re, sys

def foreign():
    ours = os.path.realpath(os.environ['LIBRARIES'])
    served = {n for n in os.listdir(ours) if re.fullmatch(r'lib.*\.so\.\d+', n)}
    mapped = {l.split(maxsplit=5)[5].strip() for l in open('/proc/self/maps') if '.so' in l}
    names = {p: os.path.basename(p) for p in mapped}
    of_served = {p for p, n in names.items() if any(n == s or n.startswith(s + '.') for s in served)}
    here = sorted(p for p in of_served if os.path.dirname(os.path.realpath(p)) == ours)
    print('ours:', *[os.path.basename(p) for p in here], file=sys.stderr)
    return sorted(of_served - set(here)), {os.path.basename(p) for p in here}

def compute():
PY
	case $1 in
	torch) cat <<'PY'
    import torch
    a = torch.arange(16., device='cuda').reshape(4, 4)
    return (a @ a).sum().item()
PY
		;;
	cupy) cat <<'PY'
    import cupy
    a = cupy.arange(16, dtype=cupy.float32).reshape(4, 4)
    return float((a @ a).sum())
PY
		;;
	jax) cat <<'PY'
    import jax.numpy as jnp
    a = jnp.arange(16.).reshape(4, 4)
    return float((a @ a).sum())
PY
		;;
	esac
	cat <<'PY'

print('value', compute())
others, here = foreign()
print('others', *others)
print('enough', {'libcuda.so.1', 'libcudart.so.13'} <= here)
sys.stdout.flush()
if sys.argv[1:] != ['child']:
    os.system(f'"{sys.executable}" "{sys.argv[0]}" child')
PY
}

# check PACKAGE checks that it computes right, and that all that is mapped is ours, in the program
# and in its child.
check() {
	if ! "$python" -c "import $1" 2>/dev/null; then
		for p in computes_right maps_ours_alone maps_ours; do skip "$1_$p" "$python has no $1"; done
		return
	fi
	program "$1" >"$world_dir/use_$1.py"
	timeout 300 "$wormhole" run -- "$python" "$world_dir/use_$1.py" >"$world_dir/$1.out" 2>"$world_dir/$1.err"
	diag "$(grep '^ours:' "$world_dir/$1.err" | head -n 1)"
	is "$1_computes_right" "$(grep value "$world_dir/$1.out" | tr '\n' ' ')" "value 3920.0 value 3920.0 "
	is "$1_maps_ours_alone" "$(grep others "$world_dir/$1.out" | tr '\n' ' ')" "others others "
	is "$1_maps_ours" "$(grep enough "$world_dir/$1.out" | tr '\n' ' ')" "enough True enough True "
	[ $tap_failed = 0 ] || diag "$(tail -n 20 "$world_dir/$1.err")"
}

plan 12
serve
for p in torch cupy jax; do check $p; done

# A program that uses no library of CUDA has none of them mapped.
is program_without_cuda_maps_nothing_of_ours "$("$wormhole" run -- "$python" -c "
print(*[l for l in open('/proc/self/maps') if '$LIBRARIES/libcu' in l or '$LIBRARIES/libn' in l])")" ""
said=$("$wormhole" run -- "$python" -c 'import ctypes, glob, sys
found = [f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib/libnvrtc.so.13")] + ["libnvrtc.so.13"]
p, n = ctypes.c_void_p(), ctypes.CDLL(found[0])
print(n.nvrtcCreateProgram(ctypes.byref(p), b"__global__ void f() {}", b"f.cu", 0, None, None), n.nvrtcCompileProgram(p, 0, None))' 2>&1)
case $said in
*OSError*) skip genuine_nvrtc_compiles_without_a_word "no libnvrtc.so.13 on this machine" ;;
*) is genuine_nvrtc_compiles_without_a_word "$said" "0 0" ;;
esac
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes build/nvcc a CUDA 13.0 compiler: a link to the toolkit whose nvcc is on PATH or in
# /usr/local/cuda, if that is a 13.x; otherwise NVIDIA's own packages from PyPI, pinned by
# hash (nvcc-requirements.txt). `--pypi` takes those in any case. The script compiles a
# kernel in both forms before it reports that the compiler works.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${WH_BUILD:-$here/../build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
dest=$build/nvcc
. "$here/follow.sh"

fail() {
	echo "error: no CUDA 13 compiler: $1" >&2
	echo "error: put nvcc 13.x on PATH, or make pypi.org reachable, and run again" >&2
	exit 1
}

# Compiles and links one kernel with the compiler in $1, static and shared.
works() {
	try=$(mktemp -d)
	cat >"$try/k.cu" <<-'END'
		#include <cuda_runtime.h>
		__global__ void k(double *p) { p[threadIdx.x] += 1; }
		int main() { k<<<1, 32>>>(nullptr); return cudaGetLastError(); }
	END
	rc=0
	for form in static shared; do
		"$1/bin/nvcc" -cudart $form -arch=compute_75 -o "$try/k" \
			"$try/k.cu" >"$try/log" 2>&1 || rc=1
	done
	[ $rc = 0 ] || sed 's/^/  /' "$try/log" >&2
	rm -rf "$try"
	return $rc
}

is_13() {
	"$1" --version 2>/dev/null | grep -q 'release 13\.'
}

from_path() {
	found=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || return 1
	is_13 "$found" || return 1
	# nvcc may be a wrapper in another folder, so ask it where its toolkit is.
	top=$("$found" --dryrun -x cu -c /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')
	top=$(cd "${top:-$(dirname "$(readlink -f "$found")")/..}" && pwd) || return 1
	[ -e "$top/include/cuda_runtime_api.h" ] || return 1
	rm -rf "$dest"
	ln -s "$top" "$dest"
}

# Runs a command with its output in $dest.log, and reports from time to time that it still
# runs.
patiently() {
	"$@" </dev/null >"$dest.log" 2>&1 &
	follow $! 5 so_far
}

so_far() { echo "  NVCC     $1 s"; }

from_pypi() {
	new=$dest.new
	rm -rf "$new"
	mkdir -p "$new"
	echo "  NVCC     100 MB from pypi.org into build/nvcc"
	patiently "$here/pip.sh" install --progress-bar off --no-deps \
		--require-hashes --only-binary :all: --target "$new" \
		-r "$here/nvcc-requirements.txt" ||
		{ cat "$dest.log" >&2; fail "no nvcc 13.x on PATH, and its packages cannot be had from PyPI"; }
	rm -f "$dest.log"
	cu=$new/nvidia/cu13
	chmod -R u+x,go+rX "$cu/bin" "$cu/nvvm/bin"
	ln -sfn lib "$cu/lib64"
	ln -sfn libcudart.so.13 "$cu/lib/libcudart.so"
	rm -rf "$dest"
	mv "$cu" "$dest"
	mv "$new"/*.dist-info "$dest"/ 2>/dev/null || true
	rm -rf "$new"
}

if [ "${1:-}" != --pypi ]; then
	[ ! -x "$dest/bin/nvcc" ] || ! is_13 "$dest/bin/nvcc" || exit 0
	if from_path && works "$dest"; then
		exit 0
	fi
fi
from_pypi
works "$dest" || fail "the compiler from PyPI does not compile (is g++ installed?)"

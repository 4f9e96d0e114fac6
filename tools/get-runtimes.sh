#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# get-runtimes.sh [BUILD...]: puts CUDA runtimes of other versions than the compiler's, static and
# shared, and their headers into build/runtimes/BUILD, from NVIDIA's packages on PyPI, pinned by
# hash (runtimes.txt). Without an argument, those that tests build programs with; without them,
# these tests say so and skip.
#
# get-runtimes.sh FILE.deb: puts the static runtime of Debian's package nvidia-cuda-dev (non-free; of bookworm 774 MB,
# of bullseye 557 MB) beside them. PyPI has no static runtime of CUDA 11.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${WH_BUILD:-$here/../build}
mkdir -p "$build/runtimes"
dest=$(cd "$build/runtimes" && pwd)

fetch() { # PACKAGE BUILD HASH
	tmp=$(mktemp -d "$dest/new.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	echo "$1==$2 --hash=$3" >"$tmp/wanted"
	echo "  DEPS     $1==$2 from pypi.org into build/runtimes"
	if ! "$here/pip.sh" download --progress-bar off --no-deps --require-hashes \
		--only-binary :all: -d "$tmp" -r "$tmp/wanted" </dev/null >"$tmp/log" 2>&1; then
		echo "warn: $1==$2 cannot be had from PyPI: $(tail -n 1 "$tmp/log")" >&2
		rm -rf "$tmp"
		return 0
	fi
	mkdir "$tmp/$2"
	/usr/bin/python3 - "$tmp"/*.whl "$tmp/$2" <<-'END'
		import os, re, sys, zipfile
		with zipfile.ZipFile(sys.argv[1]) as z:
		    for name in z.namelist():
		        m = re.search(r'/(include/[^.]*[.]h(pp)?|lib/(libcudart[^/]*))$', name)
		        if m:
		            path = os.path.join(sys.argv[2], m[3] or m[1])
		            os.makedirs(os.path.dirname(path), exist_ok=True)
		            with open(path, 'wb') as f:
		                f.write(z.read(name))
	END
	rm -rf "${dest:?}/$2"
	mv "$tmp/$2" "$dest/"
	rm -rf "$tmp"
}

unpack() { # FILE: it needs the shared runtime of the same build, as libcudart11.0 (= 11.8.89~11.8.0-5~deb12u1)
	of=$(dpkg-deb -f "$1" Depends 2>/dev/null | sed -n 's/.*libcudart[0-9.]* (= \([0-9.]*\)~.*/\1/p')
	[ -n "$of" ] || { echo "error: $1: no file of Debian's package nvidia-cuda-dev" >&2; exit 2; }
	to=$dest/$of
	mkdir -p "$to"
	dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/lib/x86_64-linux-gnu/libcudart_static.a >"$to/new.a"
	mv "$to/new.a" "$to/libcudart_static.a"
}

[ $# != 0 ] || set -- $(awk '$4 == "tests" { print $2 }' "$here/runtimes.txt")
for wanted; do
	case $wanted in *.deb) unpack "$wanted"; continue ;; esac
	[ ! -e "$dest/$wanted/include" ] || continue
	line=$(awk -v b="$wanted" '$2 == b' "$here/runtimes.txt")
	[ -n "$line" ] || { echo "error: tools/runtimes.txt has no '$wanted': it names $(awk \
		'!/^#/ { printf "%s ", $2 }' "$here/runtimes.txt")" >&2; exit 2; }
	# shellcheck disable=SC2086 # words
	fetch $line
done

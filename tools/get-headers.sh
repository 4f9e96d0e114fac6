#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts nvml.h, and the headers of libraries that the toolkit in build/nvcc lacks or
# has in another version, into build/headers: from NVIDIA's packages on PyPI, pinned
# by hash. Which ones stands in the heads of cuda-api/*.api and *.refused.
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

# Its headers, and nothing else of it, into $dest.
fetch() { # NAME==VERSION HASH
	tmp=$(mktemp -d "$build/headers.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	echo "$1 --hash=$2" >"$tmp/wanted"
	echo "  HEADERS  $1 from pypi.org into build/headers"
	"$here/pip.sh" download --progress-bar off --no-deps \
		--require-hashes --only-binary :all: -d "$tmp/wheel" -r "$tmp/wanted" \
		</dev/null >"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; fail "$1 cannot be had from PyPI"; }
	/usr/bin/python3 - "$tmp/wheel" "$dest" <<-'END'
		import os, sys, zipfile
		wheels, dest = sys.argv[1:]
		for wheel in os.listdir(wheels):
		    with zipfile.ZipFile(os.path.join(wheels, wheel)) as z:
		        for name in z.namelist():
		            folder, _, header = name.rpartition('/include/')
		            if folder and header.endswith('.h'):
		                header = os.path.join(dest, header)
		                os.makedirs(os.path.dirname(header), exist_ok=True)
		                with open(header, 'wb') as f:
		                    f.write(z.read(name))
	END
	rm -rf "$tmp"
	trap - EXIT
}

# The functions that a header declares have numbers (cuda-api/ids-cublas.lock): its version counts.
is_in() { # FOLDER FILE [MACRO=NUMBER...]
	in=$1/$2
	[ -e "$in" ] || return 1
	shift 2
	for word in "$@"; do
		grep -Eq "define ${word%%=*} +${word#*=}(\$|[[:space:]])" "$in" || return 1
	done
}

wanted=$(/usr/bin/python3 -B "$here/../cuda-api/heads.py" --headers)

# Prints those of $wanted that are not there, as PACKAGE HASH FILE [MACRO=NUMBER...].
lacking() {
	echo "$wanted" | while read -r package hash file words; do
		# shellcheck disable=SC2086 # words
		case $words in
		pinned) words= ;;
		*) ! is_in "$build/nvcc/include" "$file" $words || continue ;;
		esac
		# shellcheck disable=SC2086
		is_in "$dest" "$file" $words || echo "$package $hash $file${words:+ $words}"
	done
}

# Most of a fetch is waiting, so all of them wait at the same time.
fetches=
for package in $(lacking | cut -d' ' -f1,2 | sort -u | tr ' ' ,); do
	fetch "${package%,*}" "${package#*,}" &
	fetches="$fetches $!"
done
for pid in $fetches; do
	wait "$pid"
done
lacking | while read -r package hash file words; do
	fail "$package brought no $file${words:+ of $words}"
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# get-clients.sh: puts a virtual environment for each client of tools/clients.txt, a Python package
# that uses CUDA, into build/clients, from PyPI, pinned by hash. Without them, tests/clients says so
# and skips.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${WH_BUILD:-$here/../build}
mkdir -p "$build"
dest=$(cd "$build" && pwd)/clients
list=$here/clients.txt
[ ! -e "$dest/made" ] || ! cmp -s "$list" "$dest/made" || exit 0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rm -rf "$dest"
mkdir "$dest"

install_all() {
	for name in $(awk '!/^#/ { print $1 }' "$list" | sort -u); do
		awk -v n="$name" '$1 == n { print $2 "==" $3 " --hash=" $4 }' "$list" >"$tmp/wanted"
		echo "  DEPS     $(awk '{ printf "%s ", $1 }' "$tmp/wanted")from pypi.org into build/clients" >&2
		/usr/bin/python3 -m venv --without-pip "$dest/$name" &&
			"$here/pip.sh" --python "$dest/$name/bin/python" install \
				--progress-bar off --no-deps --require-hashes --only-binary :all: -r "$tmp/wanted" \
				>"$tmp/log" 2>&1 || return
	done
}

if ! install_all </dev/null; then
	echo "warn: no clients: $(tail -n 1 "$tmp/log" 2>/dev/null); their test will be skipped" >&2
	rm -rf "$dest"
	exit 0
fi
cp "$list" "$dest/made"

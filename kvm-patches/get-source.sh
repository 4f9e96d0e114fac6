#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Where the tarball of a kernel's source is:
#
#   get-source.sh BASE        prints its path
#
# BASE says what a series needs (BASE, 6.12/BASE). A package of the machine's own
# Debian is in /usr/src, or where KERNEL_TARBALL says. One of another suite (a
# BASE with a line `suite`) is fetched into $O/kernel/source by
# tools/debian-download.sh, unless it is there; KERNEL_NEXT_TARBALL=FILE: a copy
# at hand instead. O defaults to build/ of this tree.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ $# != 1 ] || [ ! -r "${1:-}" ]; then
	sed -n '4,12s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
value() { sed -n "s/^$1 //p" "$base"; }
die() { printf 'error: %s\n' "$@" >&2; exit 1; }

base=$1
package=$(value package)
suite=$(value suite)
tarball=$package.tar.xz
if [ -z "$suite" ]; then
	found=${KERNEL_TARBALL:-/usr/src/$tarball}
	[ -r "$found" ] || die "$found is missing (Debian package $package)"
	echo "$found"
	exit
fi

release=$(value release)
sha256=$(value sha256)
out=${O:-$here/../build}/kernel/source
right() { [ -f "$1" ] && [ "$(sha256sum <"$1")" = "$sha256  -" ]; }

# The package holds the tarball; its bytes are what BASE names.
fetch() {
	local deb
	rm -rf "$out/deb"
	"$here/../tools/debian-download.sh" "$suite" binary "$package=$release" "$out/deb" || return 1
	deb=$(echo "$out/deb/$package"_*.deb)
	dpkg-deb --fsys-tarfile "$deb" | tar -x -O "./usr/src/$tarball" >"$out/$tarball.part"
	rm -rf "$out/deb"
	right "$out/$tarball.part" || { echo "$deb holds another $tarball"; return 1; }
	mv "$out/$tarball.part" "$out/$tarball"
}

mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ -n "${KERNEL_NEXT_TARBALL:-}" ]; then
	right "$KERNEL_NEXT_TARBALL" ||
		die "KERNEL_NEXT_TARBALL=$KERNEL_NEXT_TARBALL is not $tarball of $release (SHA-256 $sha256)"
	echo "$KERNEL_NEXT_TARBALL"
	exit
fi
exec 9>"$out/.lock"
flock 9
if ! right "$out/$tarball"; then
	echo "  KERNEL   get $package $release of $suite (160 MB)" >&2
	fetch >"$out/log" 2>&1 || {
		tail -n 12 "$out/log" >&2
		die "$package $release could not be fetched from Debian's $suite (above, and $out/log)" \
			"without such a mirror: get it from snapshot.debian.org, unpack $tarball" \
			"and say where it is: KERNEL_NEXT_TARBALL=FILE"
	}
fi
echo "$out/$tarball"

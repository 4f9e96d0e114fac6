#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Bochs that the tests boot: Bochs 3.0 from Debian trixie's source package with the
# patches beside this file, cached by content:
#
#   get-bochs.sh        $O/bochs-3.0/bochs, config.log, build.log, hash
#   get-bochs.sh DIR    $O/bochs-NAME, with an instrumentation library of ours of that name
#                       (`make bench`; slower, and no test boots it)
#
# The source comes by tools/debian-download.sh, or from a local copy that BOCHS_TARBALL=FILE
# names. O defaults to build/ of this tree, JOBS to the number of CPUs.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=${O:-$here/../../build}
instrument=${1:+$(cd "$1" && pwd)}
out=$build/bochs-${instrument:+$(basename "$instrument")}
[ -n "$instrument" ] || out=$build/bochs-3.0
jobs=${JOBS:-$(nproc)}
suite=trixie
version=3.0+dfsg
tarball=bochs_$version.orig.tar.xz
sha256=78f6c73d4a6472d5130a87ab9dc306d02c7c71ed8e25b3a8ef642e2a7acd282b
patches=("$here"/{tlb,microcode,smp,interrupts,la57}.patch)
# What the host needs of a machine, and nothing that it has no use for. Without
# a debugger Bochs may chain the handlers of instructions.
options=(--with-nogui --enable-smp --enable-cpu-level=6 --enable-x86-64
	--enable-vmx=2 --enable-avx --enable-evex --enable-cet --enable-protection-keys --enable-fpu
	--enable-a20-pin --enable-pci --disable-debugger --disable-debugger-gui --disable-docbook
	--disable-cdrom --disable-xpm --disable-stats)
# A repeated instruction that is made in one go shows none of its accesses.
if [ -n "$instrument" ]; then
	options+=(--enable-instrumentation="instrument/$(basename "$instrument")" --enable-fast-function-calls
		--enable-handlers-chaining --enable-trace-linking)
else
	options+=(--enable-all-optimizations)
fi
cflags=-O2
unset MAKEFLAGS MFLAGS MAKELEVEL O
mkdir -p "$out"
out=$(cd "$out" && pwd)

say() { printf '  %-8s %s\n' BOCHS "$*"; }
die() { printf 'error: Bochs: %s\n' "$@" >&2; exit 1; }
. "$here/../../tools/follow.sh"

so_far() { # WHAT LOG SECONDS
	say "$1: $3 s, $(wc -l <"$2") lines, $(grep -oE '[A-Za-z0-9_-]+\.(cc|c)\b' "$2" | tail -n1)"
}

# Run a command with its output in a log, and say every 5 s how far it is.
progress() {
	local what=$1 log=$2 start=$SECONDS
	shift 2
	"$@" >"$log" 2>&1 </dev/null &
	follow $! 5 so_far "$what" "$log" || return 1
	say "$what: done in $((SECONDS - start)) s"
}

right() { [ -f "$1" ] && [ "$(sha256sum <"$1")" = "$sha256  -" ]; }

download() {
	local dir=$out/apt
	rm -rf "$dir"
	"$here/../../tools/debian-download.sh" "$suite" source bochs "$dir" || return 1
	right "$dir/$tarball" || { echo "$suite has another source than $tarball:"; ls "$dir"; return 1; }
	mv "$dir/$tarball" "$out/$tarball"
	rm -rf "$dir"
}

get_source() {
	# The other build may have fetched it.
	if [ -z "${BOCHS_TARBALL:-}" ] && [ -n "$instrument" ] && right "$build/bochs-3.0/$tarball"; then
		BOCHS_TARBALL=$build/bochs-3.0/$tarball
	fi
	if [ -n "${BOCHS_TARBALL:-}" ]; then
		right "$BOCHS_TARBALL" || die "BOCHS_TARBALL=$BOCHS_TARBALL is not $tarball (SHA-256 $sha256)"
		cp "$BOCHS_TARBALL" "$out/$tarball"
	fi
	right "$out/$tarball" && return
	if progress "get source of $suite" "$out/source.log" download; then
		return
	fi
	tail -n 12 "$out/source.log" >&2
	die "$tarball could not be fetched from Debian's $suite (above, and $out/source.log)" \
		"without such a mirror: get it from snapshot.debian.org (source package bochs, $version-1)" \
		"and say where it is: BOCHS_TARBALL=FILE make images"
}

unpack() {
	rm -rf "$out/src"
	mkdir -p "$out/src"
	tar -xJf "$out/$tarball" -C "$out/src" --strip-components=1
	cat "${patches[@]}" | patch -d "$out/src" -p1 -F0 --no-backup-if-mismatch || return 1
	[ -z "$instrument" ] || cp -r "$instrument" "$out/src/instrument/"
}

configure() { cd "$out/src" && CFLAGS=$cflags CXXFLAGS=$cflags ./configure "${options[@]}"; }

step() {
	local log=$out/$2
	progress "$1" "$log" "${@:3}" || { tail -n 30 "$log" >&2; die "$1 failed, see $log"; }
}

exec 8>"$out/.lock"
until flock -w 8 8; do
	say "another make builds it, waiting"
done
hash=$({ cat "${patches[@]}" ${instrument:+"$instrument"/*}; ${CXX:-g++} --version | head -n1; sed -n '/^set -eu/,$p' "$0"; } |
	sha256sum | cut -d' ' -f1)
if [ "$(cat "$out/hash" 2>/dev/null)" = "$hash" ]; then
	say "3.0 is current"
	exit 0
fi
rm -f "$out/hash"
get_source
step unpack unpack.log unpack
step configure config.log configure
step build build.log make -C "$out/src" -j"$jobs" bochs
strip -o "$out/bochs.new" "$out/src/bochs"
mv "$out/bochs.new" "$out/bochs"
rm -rf "$out/src"
echo "$hash" >"$out/hash"

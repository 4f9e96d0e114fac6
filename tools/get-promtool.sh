#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Provides build/promtool, which checks the output of `wormhole metrics`: a link to the
# machine's own, or the program of Debian's package prometheus. That package is unpacked and
# not installed, since it would start a server. Without promtool, tests say so and skip.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${WH_BUILD:-$here/../build}
[ ! -x "$build/promtool" ] || exit 0
mkdir -p "$build"
if command -v promtool >/dev/null; then
	ln -sf "$(command -v promtool)" "$build/promtool"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo "  DEPS     promtool, of Debian's prometheus"
if ! (cd "$tmp" && apt-get -q download prometheus >"$tmp/log" 2>&1 &&
	dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool); then
	echo "warn: no promtool: $(tail -n 1 "$tmp/log"); its tests will be skipped" >&2
	exit 0
fi
mv "$tmp/usr/bin/promtool" "$build/promtool"
